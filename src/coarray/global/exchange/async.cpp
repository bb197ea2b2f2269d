#include "coarray/global/exchange/async.h"

#include <algorithm>

#include "coarray/global/records/templates.h"
#include "coarray/local/runtime.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace tasuki::coarray {

Asynchronous& asynchronous() {
  static auto* the = new Asynchronous;
  return *the;
}

void Asynchronous::wait(int id) {
  for (Begun& begun : begun_)
    if (begun.id == id) begun.operation->finish();
  std::erase_if(begun_, [&](const Begun& begun) { return begun.id == id; });
}

bool Asynchronous::test(int id) {
  const bool all = std::all_of(begun_.begin(), begun_.end(), [&](const Begun& begun) {
    return begun.id != id || begun.operation->ready();
  });
  if (all) wait(id);
  return all;
}

void Asynchronous::wait_all() {
  for (Begun& begun : begun_) begun.operation->finish();
  begun_.clear();
}

}  // namespace tasuki::coarray

EXPORT void tasuki_xmp_wait_async(int count, const int* ids, const tasuki_xmp_on* on, const char* file,
                                  int line) {
  // Issued on these nodes: the others have nothing to wait for.
  if (on != nullptr && !executes(*on, {file, line})) return;
  for (int i = 0; i < count; i++) asynchronous().wait(ids[i]);
}

EXPORT int xmp_test_async(int async_id) {
  return asynchronous().test(async_id) ? 1 : 0;
}
