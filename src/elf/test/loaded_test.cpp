// What is loaded into the test itself.
#include "elf/loaded.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tasuki::elf {
namespace {

int own_word = 1;

// The first object whose range holds the address; the dynamic linker's record of it.
const link_map* object_of(const void* address) {
  Dl_info info;
  link_map* map = nullptr;
  return dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 ? map : nullptr;
}

TEST(Loaded, RangesHoldWhatIsInThem) {
  struct Found {
    int own, c_library, stack;
  } found{};
  int on_stack = 0;
  struct Search {
    Found* found;
    const int* on_stack;
  } search{&found, &on_stack};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        const Search& s = *static_cast<const Search*>(data);
        const LoadedRange range = loaded_range(*object);
        EXPECT_LT(range.begin, range.end);
        EXPECT_FALSE(range.holds(range.end));
        s.found->own += range.holds(reinterpret_cast<uintptr_t>(&own_word));
        s.found->c_library += range.holds(reinterpret_cast<uintptr_t>(dlsym(RTLD_NEXT, "getpid")));
        s.found->stack += range.holds(reinterpret_cast<uintptr_t>(s.on_stack));
        return 0;
      },
      &search);
  EXPECT_EQ(found.own, 1);
  EXPECT_EQ(found.c_library, 1);
  EXPECT_EQ(found.stack, 0);
}

TEST(Loaded, SymbolsOfTheCLibrary) {
  const link_map* c = object_of(dlsym(RTLD_NEXT, "getpid"));
  ASSERT_NE(c, nullptr);
  const LoadedSymbols symbols(c->l_ld, c->l_addr);
  EXPECT_TRUE(symbols.define("getpid"));
  EXPECT_TRUE(symbols.define("qsort"));
  EXPECT_FALSE(symbols.define("no_such_function"));
  EXPECT_FALSE(symbols.refer_to("getpid"));
}

TEST(Loaded, SymbolsOfALibraryThatUsesOthers) {
  void* library = dlopen(TASUKI_ELF_SAMPLE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const link_map* object = object_of(dlsym(library, "elf_sample_word"));
  ASSERT_NE(object, nullptr);
  const LoadedSymbols symbols(object->l_ld, object->l_addr);
  EXPECT_TRUE(symbols.define("elf_sample_word"));
  EXPECT_TRUE(symbols.refer_to("elf_sample_elsewhere"));
  EXPECT_FALSE(symbols.define("elf_sample_elsewhere"));
  EXPECT_FALSE(symbols.refer_to("elf_sample_word"));
  dlclose(library);
}

}  // namespace
}  // namespace tasuki::elf
