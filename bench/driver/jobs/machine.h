// What a reader of a measurement must know about the machine.
#pragma once

#include <nlohmann/json.hpp>

namespace tasuki::bench {

// cpu, cores, cores_usable, memory_bytes, kernel, os, caches (name -> bytes), hypervisor (bool), governor.
nlohmann::json describe_machine();

}  // namespace tasuki::bench
