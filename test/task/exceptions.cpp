// C++ exceptions across a library that the dynamic linker finds by $ORIGIN, and one that dlopen finds so.
#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>

void throw_from_library(int value);

int main() {
  int caught = 0;
  for (int i = 0; i < 1000; i++) {
    try {
      throw_from_library(i);
    } catch (const std::runtime_error& e) {
      caught++;
    }
  }
  void* plugin = dlopen("$ORIGIN/origin/libplugin.so", RTLD_NOW);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const auto answer = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_answer"));
  std::printf("caught %d plugin %d\n", caught, answer != nullptr ? answer() : -1);
  return caught == 1000 && answer != nullptr && answer() == 42 ? 0 : 1;
}
