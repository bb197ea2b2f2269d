// What MPI keeps for each rank.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simmpi/objects/comm.h"

namespace tasuki::simmpi {

struct Keyval {
  MPI_Comm_copy_attr_function* comm_copy = nullptr;
  MPI_Comm_delete_attr_function* comm_delete = nullptr;
  MPI_Type_copy_attr_function* type_copy = nullptr;
  MPI_Type_delete_attr_function* type_delete = nullptr;
  void* extra = nullptr;
};

struct Errhandler {
  static constexpr uint32_t kMagic = 0x45525248;
  uint32_t magic = kMagic;
  MPI_Comm_errhandler_function* function = nullptr;
};

struct Info {
  static constexpr uint32_t kMagic = 0x494e464f;
  uint32_t magic = kMagic;
  std::vector<std::pair<std::string, std::string>> entries;
};

struct MpiState {
  explicit MpiState(Rank& rank);
  ~MpiState();

  bool initialized = false, finalized = false;
  int thread_level = MPI_THREAD_SINGLE;
  Comm* world;
  Comm* self;
  std::map<int, Keyval> keyvals;
  int next_keyval = 1000;
  int64_t last_cpu = 0;  // of the host, in picoseconds, when the last call ended (compute_scale)
  // MPI_Buffer_attach
  void* buffer = nullptr;
  int64_t buffer_size = 0;
  int64_t buffer_used = 0;
  std::vector<Request*> buffered;
  std::vector<std::string> error_texts;  // of codes and classes of the user, from MPI_ERR_LASTCODE + 1
  std::vector<int> error_classes;
  std::map<uint64_t, uint32_t> group_creations;  // MPI_Comm_create_group, by members and tag
  int universe = 0;                              // MPI_UNIVERSE_SIZE
};

}  // namespace tasuki::simmpi
