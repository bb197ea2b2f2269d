# The architecture that is built for. TASUKI_ARCHITECTURE: x86_64 or aarch64, as `uname -m` says it.
# TASUKI_LIBC_VERSION: the version that the symbols of its first glibc have.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(TASUKI_ARCHITECTURE x86_64)
  set(TASUKI_LIBC_VERSION GLIBC_2.2.5)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TASUKI_ARCHITECTURE aarch64)
  set(TASUKI_LIBC_VERSION GLIBC_2.17)
else()
  message(FATAL_ERROR "Tasuki is written for Linux on x86-64, and in parts for aarch64 (docs/aarch64.md); this is ${CMAKE_SYSTEM_PROCESSOR}.")
endif()
