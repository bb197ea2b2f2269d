#include "mpi/functions.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "mpi/slots.h"

namespace tasuki::mpi {

std::atomic<bool> g_loaded{false};

namespace {

std::mutex g_mutex;
// Of the first attempt. Never destroyed: MPI ends when the process does.
const Status* g_result = nullptr;
const Symbols* g_symbols = nullptr;
const Library* g_library = nullptr;

Status fill() {
  const Result<Library> library = find_or_load(kFamily);
  if (!library.ok()) return library.status();
  g_library = new Library(library.value());
  g_symbols = new Symbols(library.value());
  for (const Slot* slots : {kSlots, kProgramSlots})
    for (const Slot* slot = slots; slot != nullptr && slot->name != nullptr; slot++)
      *slot->address = g_symbols->find(slot->name);
  log(LogLevel::debug, "MPI library of this process: %s (%s)", library.value().path.c_str(),
      names_of(kFamily)->title);
  return {};
}

// "MPICH Version:      4.0.2", "Open MPI v4.1.4, package: ..."
bool is_version_before(const char* format, int major, int minor) {
  const auto get_version = reinterpret_cast<int (*)(char*, int*)>(extension("PMPI_Get_library_version"));
  if (get_version == nullptr) return false;
  constexpr size_t kLongest = 16384;  // MPICH's: 8192
  const auto text = std::make_unique<char[]>(kLongest);
  int length = 0, its_major = 0, its_minor = 0;
  get_version(text.get(), &length);
  return sscanf(text.get(), format, &its_major, &its_minor) == 2 &&
         (its_major < major || (its_major == major && its_minor < minor));
}

}  // namespace

Status load() {
  const std::lock_guard lock(g_mutex);
  if (g_result == nullptr) {
    g_result = new Status(fill());
    g_loaded.store(g_result->ok(), std::memory_order_release);
  }
  return *g_result;
}

void load_or_end() {
  const Status loaded = load();
  if (loaded.ok()) return;
  log(LogLevel::error, "%s", loaded.message().c_str());
  exit(1);
}

void* extension(const char* name) {
  need_library();
  return g_symbols->find(name);
}

bool is_mpich_before(int major, int minor) {
  return is_version_before("MPICH Version: %d.%d", major, minor);
}

bool is_open_mpi_before(int major) {
  return is_version_before("Open MPI v%d.%d", major, 0);
}

void end_without_exit() {
  if (kFamily != MpiAbi::openmpi && load().ok()) run_destructors(*g_library);
}

}  // namespace tasuki::mpi
