#include "task/object/exports.h"

#include <dlfcn.h>

namespace tasuki::task {

// The linker puts one behind the other.
static_assert(sizeof(NextFunction) == 16);

void* NextFunction::find() {
  void* const found = dlsym(RTLD_NEXT, name_);
  found_.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace tasuki::task

extern "C" {
// The linker's names for both ends of the section.
extern __attribute__((visibility("hidden"))) tasuki::task::NextFunction __start_tasuki_next[];
extern __attribute__((visibility("hidden"))) tasuki::task::NextFunction __stop_tasuki_next[];
}

namespace {

__attribute__((constructor(101))) void find_all() {
  for (tasuki::task::NextFunction* f = __start_tasuki_next; f != __stop_tasuki_next; f++) f->find();
}

}  // namespace
