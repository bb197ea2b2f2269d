#include "bench/driver/jobs/machine.h"

#include "os/process/machine.h"

namespace tasuki::bench {

nlohmann::json describe_machine() {
  const os::MachineDescription m = os::describe_machine();
  nlohmann::json caches = nlohmann::json::object();
  for (const auto& [name, bytes] : m.caches) caches[name] = bytes;
  return {
      {"cpu", m.cpu},
      {"cores", m.cores},
      {"cores_usable", m.cores_usable},
      {"memory_bytes", m.memory_bytes},
      {"kernel", m.kernel},
      {"os", m.system},
      {"caches", caches},
      {"hypervisor", m.hypervisor},
      {"governor", m.governor},
  };
}

}  // namespace tasuki::bench
