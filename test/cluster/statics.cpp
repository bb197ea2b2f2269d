// Objects of static duration keep cluster memory until their destructors have run, in the program without
// dlm_shutdown: exit code 0, and the destructor saw its data.
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

#include "dlm.h"

namespace {

struct Holder {
  static constexpr size_t kCount = 2 << 20;
  unsigned* data = nullptr;
  ~Holder() {
    if (data == nullptr) return;  // a memory server: never assigned
    for (size_t i = 0; i < kCount; i++)
      if (data[i] != i * 3) {
        fprintf(stderr, "statics: element %zu is %u\n", i, data[i]);
        _exit(99);
      }
    dlm_free(data);
    printf("verified\n");
  }
};
Holder holder;

}  // namespace

int main(int argc, char** argv) {
  dlm_startup(&argc, &argv);
  holder.data = static_cast<unsigned*>(dlm_alloc(Holder::kCount * sizeof(unsigned)));
  if (holder.data == nullptr) return 98;
  for (size_t i = 0; i < Holder::kCount; i++) holder.data[i] = static_cast<unsigned>(i * 3);
  return 0;
}
