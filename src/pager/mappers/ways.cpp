#include "pager/mappers/ways.h"

#include <functional>

namespace tasuki::pager {
namespace {

struct Way {
  const char* name;
  bool serves_kernel;
  Faults faults;  // that asks for it
  std::function<Result<std::unique_ptr<Mapper>>(const Options&)> make;
};

// A thread that faults calls the store itself, perhaps the MPI library.
bool calls_in_handlers(const Options& options) {
  return options.threadless || options.protocol == Protocol::as1;
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"userfaultfd, pages moved", true, Faults::userfault,
       [](const Options&) { return make_userfault_mapper(false); }},
      {"userfaultfd, pages copied", true, Faults::userfault,
       [](const Options&) { return make_copy_mapper(false); }},
      {"userfaultfd (faults of user code), pages moved", false, Faults::userfault_user_mode,
       [](const Options&) { return make_userfault_mapper(true); }},
      {"userfaultfd (faults of user code), pages copied", false, Faults::userfault_user_mode,
       [](const Options&) { return make_copy_mapper(true); }},
      {"userfaultfd (SIGBUS), pages moved by the thread that faults", false, Faults::userfault_sigbus,
       [](const Options& options) { return make_sigbus_mapper(calls_in_handlers(options)); }},
      {"SIGSEGV, pages mapped", false, Faults::signal, [](const Options&) { return make_signal_mapper(); }},
  };
  return all;
}

}  // namespace

Result<std::unique_ptr<Mapper>> make_mapper(const Options& options) {
  const Faults faults = options.faults;
  if (faults == Faults::userfault_copy) return make_copy_mapper(false);
  Status refused;
  for (const Way& way : ways()) {
    if (faults != Faults::automatic && faults != way.faults) continue;
    Result<std::unique_ptr<Mapper>> mapper = way.make(options);
    if (mapper.ok()) return mapper;
    if (refused.ok()) refused = mapper.status();
  }
  return refused;
}

std::vector<FaultWay> fault_ways() {
  std::vector<FaultWay> all;
  for (const Way& way : ways()) {
    const Result<std::unique_ptr<Mapper>> mapper = way.make({});
    all.push_back({way.name, mapper.ok() ? "" : mapper.status().message(), way.serves_kernel});
  }
  return all;
}

}  // namespace tasuki::pager
