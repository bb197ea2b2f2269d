// The binary interfaces of MPI libraries: the one list of those that Tasuki has a shim for (gen/generate.py
// and cmake/TasukiMpi.cmake use the same names).
#pragma once

#include <string_view>

namespace tasuki {

// `standard`: that of MPI-5 (libmpi_abi). `none`: no MPI. `unknown`: several at once.
enum class MpiAbi { none, openmpi, mpich, standard, unknown };

struct MpiAbiNames {
  MpiAbi abi;
  const char* name;        // in settings and names of files
  const char* title;       // for people
  const char* shim;        // its file in lib/tasuki
  const char* sonames[3];  // of the C library, most likely first; ends with nullptr
  const char* stems[3];    // what file names of the C library begin with; ends with nullptr
};

inline constexpr MpiAbiNames kMpiAbis[] = {
    {MpiAbi::openmpi, "openmpi", "Open MPI", "libtasuki-openmpi.so", {"libmpi.so.40"}, {"libmpi.so."}},
    {MpiAbi::mpich,
     "mpich",
     "MPICH's family",
     "libtasuki-mpich.so",
     {"libmpich.so.12", "libmpi.so.12"},
     {"libmpi.so.", "libmpich.so."}},
    // Before the standard was final, libraries had number 0.
    {MpiAbi::standard,
     "abi",
     "the MPI-5 standard ABI",
     "libtasuki-abi.so",
     {"libmpi_abi.so.1", "libmpi_abi.so.0"},
     {"libmpi_abi.so."}},
};

// nullptr: `none` and `unknown`.
constexpr const MpiAbiNames* names_of(MpiAbi abi) {
  for (const MpiAbiNames& names : kMpiAbis)
    if (names.abi == abi) return &names;
  return nullptr;
}

constexpr bool is_name_of_abi(std::string_view name) {
  for (const MpiAbiNames& names : kMpiAbis)
    if (name == names.name) return true;
  return false;
}

// Is this the file name of a C library of the ABI? libmpi.so.12 and libmpi.so.40 are not told apart.
constexpr bool is_library_of(const MpiAbiNames& abi, std::string_view file_name) {
  for (const char* const* stem = abi.stems; *stem != nullptr; stem++)
    if (file_name.starts_with(*stem)) return true;
  return false;
}

}  // namespace tasuki
