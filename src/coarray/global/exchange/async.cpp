#include "coarray/global/exchange/async.h"

#include <algorithm>

namespace tasuki::coarray {

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
