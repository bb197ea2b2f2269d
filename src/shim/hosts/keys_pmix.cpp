// Open MPI and its launcher use PMIx. PMIx_Put and PMIx_Get are an open interface, and PMIx_Init counts how
// often a process calls it, so a rank can be a client of its own beside the library. Look-ups are answered
// from what MPI_Init's exchange has brought to the host: 5 to 100 us where there is a text, and at once where
// there is none. Measured with PMIx 4.2.2 and Open MPI 4.1.4.
//
// The shim is not linked with PMIx and declares the few names that it uses, as the PMIx standard has them
// since version 2.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "generated/pmpi.h"
#include "shim/hosts/keys.h"

namespace tasuki::shim {
namespace {

struct Proc {
  char name_space[256];
  uint32_t rank;
};
struct Value {
  uint16_t type;
  union {
    bool flag;
    char* string;
    uint64_t words[3];
  } data;
};
struct Info {
  char key[512];
  uint32_t flags;
  Value value;
};
constexpr uint16_t kBool = 1, kString = 3;
constexpr uint8_t kGlobal = 3;  // scope: ranks of this host and of others
constexpr int kSuccess = 0;
constexpr const char* kKey = "tasuki";
constexpr const char* kOptional = "pmix.optional";  // ask nobody beyond this host

}  // namespace

struct Keys::Channel {
  Proc self;
  const char* (*version)();
  int (*init)(Proc* self, Info* infos, size_t count);
  int (*put)(uint8_t scope, const char* key, Value* value);
  int (*get)(const Proc* of, const char* key, const Info* infos, size_t count, Value** value);
  int (*finalize)(const Info* infos, size_t count);

  bool load() {
    void* library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto find = [library](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      return *function != nullptr;
    };
    return find(&version, "PMIx_Get_version") && find(&init, "PMIx_Init") && find(&put, "PMIx_Put") &&
           find(&get, "PMIx_Get") && find(&finalize, "PMIx_Finalize");
  }
};

Keys::Keys() = default;
Keys::~Keys() {
  close();
}

bool Keys::leave(const std::string& text) {
  // An Open MPI with a PMIx inside is no client of the library that is found here: the launcher's version
  // tells them apart.
  const char* launcher = getenv("PMIX_VERSION");
  if (launcher == nullptr || getenv("PMIX_RANK") == nullptr) return false;
  // Open MPI 5.0.11 cannot have it: after any PMIx_Init by others its MPI_Init fails ("local rank: not
  // found"), in a plain program, too (PMIx 5.0.11).
  if (strtol(launcher, nullptr, 10) >= 5) return false;
  Channel channel{};
  if (!channel.load() || strstr(channel.version(), launcher) == nullptr) return false;
  if (channel.init(&channel.self, nullptr, 0) != kSuccess) return false;
  Value value{};
  value.type = kString;
  value.data.string = const_cast<char*>(text.c_str());
  channel_ = new Channel(channel);
  // MPI_Init commits it with what the library itself puts. A commit of our own before could let other ranks'
  // look-ups find an incomplete set.
  if (channel.put(kGlobal, kKey, &value) == kSuccess) return true;
  close();
  return false;
}

// By default Open MPI exchanges everything in MPI_Init, and ends this before MPI_Init ends. With one of these
// parameters it may end later, and a text could be there for some ranks only. Their values are variables of
// the library (MPI_T would tell them too, after 210 ms in which it opens all components).
bool Keys::exchanged() const {
  if (channel_ == nullptr) return false;
  Dl_info library = {};
  if (dladdr(reinterpret_cast<const void*>(pmpi().Comm_rank), &library) == 0) return false;
  void* handle = dlopen(library.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return false;
  bool known = false, later = false;
  for (const char* name : {"opal_pmix_base_async_modex", "ompi_async_mpi_init"}) {
    const void* parameter = dlsym(handle, name);
    if (parameter == nullptr) continue;
    known = true;
    later = later || *static_cast<const bool*>(parameter);
  }
  dlclose(handle);
  return known && !later;
}

bool Keys::find(int world_rank, std::string* text) {
  if (channel_ == nullptr) return false;
  Proc of = channel_->self;
  of.rank = static_cast<uint32_t>(world_rank);
  Info optional{};
  strcpy(optional.key, kOptional);
  optional.value.type = kBool;
  optional.value.data.flag = true;
  Value* value = nullptr;
  if (channel_->get(&of, kKey, &optional, 1, &value) != kSuccess || value == nullptr) return false;
  const bool good = value->type == kString && value->data.string != nullptr;
  if (good) {
    *text = value->data.string;
    free(value->data.string);
  }
  free(value);
  return good;
}

void Keys::close() {
  if (channel_ != nullptr) channel_->finalize(nullptr, 0);
  delete channel_;
  channel_ = nullptr;
}

}  // namespace tasuki::shim
