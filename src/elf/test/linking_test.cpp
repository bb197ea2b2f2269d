// What a dynamic linker reads: of a library that is known (sample.c), of real files, and of corrupt ones,
// each of which breaks one rule or is changed at random.
#include "elf/linking.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "elf/machine.h"
#include "elf/test/bytes.h"

#ifndef DT_RELR  // glibc has them since 2.36
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

namespace tasuki::elf {
namespace {

Result<Linking> read_both(const Bytes& bytes) {
  const Result<Image> image = read_image(source(bytes));
  if (!image.ok()) return image.status();
  if (!image.value().dynamic) return Status::error(EINVAL, "no dynamic section");
  return read_linking(source(bytes), image.value());
}

// What those who bind the image rely on.
void check_promises(const Image& image, const Linking& linking) {
  ASSERT_FALSE(linking.symbols.empty());
  for (const Relocation& r : linking.relocations) {
    ASSERT_LT(r.symbol, linking.symbols.size());
    if (r.type != kCopy) {
      ASSERT_TRUE(image.holds(r.where, 8, !linking.text_relocations));
    }
  }
  const char* const begin = linking.strings.data();
  for (size_t i = 1; i < linking.symbols.size(); i++) {
    const std::string_view name = linking.symbols[i].name;
    ASSERT_GE(name.data(), begin);
    ASSERT_LT(name.data() + name.size(), begin + linking.strings.size());
    ASSERT_EQ(name.data()[name.size()], '\0');
  }
  for (const Range& array : {linking.preinit_array, linking.init_array, linking.fini_array}) {
    if (array.size == 0) continue;
    ASSERT_EQ(array.size % 8, 0u);
    ASSERT_TRUE(image.holds(array.address, array.size, false));
  }
  uint64_t offset;
  if (linking.unwind_table != 0) {
    ASSERT_TRUE(image.file_offset(linking.unwind_table, 4, &offset));
  }
}

void check(const Bytes& bytes, int* good) {
  const Result<Image> image = read_image(source(bytes));
  if (!image.ok() || !image.value().dynamic) return;
  const Result<Linking> linking = read_linking(source(bytes), image.value());
  if (!linking.ok()) {
    EXPECT_EQ(linking.status().err(), EINVAL);
    EXPECT_FALSE(linking.status().message().empty());
    return;
  }
  check_promises(image.value(), linking.value());
  ++*good;
}

// The library of sample.c, to be changed.
class Sample : public testing::Test {
 protected:
  Sample() : bytes(load(TASUKI_ELF_SAMPLE)), image(read_image(source(bytes)).value()) {}

  // A copy with another value of the dynamic section's entry. `tag` need not be there: it takes the place of
  // DT_RELACOUNT, which nobody asks for, or that of `instead`.
  Bytes with(int64_t tag, uint64_t value, int64_t instead = DT_RELACOUNT) const {
    uint8_t* at = nullptr;
    Bytes b = bytes;
    for (const int64_t wanted : {tag, instead}) {
      uint64_t offset = 0;
      EXPECT_TRUE(image.file_offset(image.dynamic->address, image.dynamic->size, &offset));
      for (; at == nullptr; offset += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, b.data() + offset, sizeof entry);
        if (entry.d_tag == wanted) at = b.data() + offset;
        if (entry.d_tag == DT_NULL) break;
      }
    }
    Elf64_Dyn entry;
    entry.d_tag = tag;
    entry.d_un.d_val = value;
    EXPECT_NE(at, nullptr);
    if (at != nullptr) memcpy(at, &entry, sizeof entry);
    return b;
  }
  uint64_t value(int64_t tag) const {
    uint64_t offset = 0;
    EXPECT_TRUE(image.file_offset(image.dynamic->address, image.dynamic->size, &offset));
    for (Elf64_Dyn entry{};; offset += sizeof entry) {
      memcpy(&entry, bytes.data() + offset, sizeof entry);
      if (entry.d_tag == tag || entry.d_tag == DT_NULL) return entry.d_tag == tag ? entry.d_un.d_val : 0;
    }
  }
  // The bytes of a table's entry in `b`.
  uint8_t* at(Bytes& b, int64_t tag, uint64_t inside) const {
    uint64_t offset = 0;
    EXPECT_TRUE(image.file_offset(value(tag) + inside, 8, &offset));
    return b.data() + offset;
  }
  static std::string error_of(const Bytes& b) {
    const Result<Linking> linking = read_both(b);
    EXPECT_FALSE(linking.ok());
    EXPECT_EQ(linking.status().err(), EINVAL);
    return linking.status().message();
  }
  Linking read() const {
    Result<Linking> linking = read_both(bytes);
    EXPECT_TRUE(linking.ok()) << linking.status().message();
    return linking.ok() ? std::move(linking.value()) : Linking();
  }

  const Bytes bytes;
  const Image image;
  static constexpr uint64_t kFar = uint64_t{1} << 40;
};

TEST_F(Sample, IsReadWhole) {
  const Linking linking = read();
  check_promises(image, linking);
  EXPECT_NE(image.thread_local_size, 0u);
  EXPECT_EQ(linking.search_path, "/first:/second");
  EXPECT_FALSE(linking.text_relocations);
  EXPECT_NE(linking.unwind_table, 0u);
  EXPECT_GE(linking.init_array.size, 8u);
  EXPECT_GE(linking.fini_array.size, 8u);

  const Symbol* word = linking.find("elf_sample_word");
  const Symbol* function = linking.find("elf_sample_function");
  const Symbol* zeros = linking.find("elf_sample_zeros");
  const Symbol* chosen = linking.find("elf_sample_chosen");
  ASSERT_TRUE(word != nullptr && function != nullptr && zeros != nullptr && chosen != nullptr);
  EXPECT_TRUE(word->defined);
  EXPECT_EQ(word->size, sizeof(int));
  EXPECT_TRUE(image.holds(word->value, word->size, true));
  int seven = 0;
  uint64_t offset = 0;
  ASSERT_TRUE(image.file_offset(word->value, sizeof seven, &offset));
  memcpy(&seven, bytes.data() + offset, sizeof seven);
  EXPECT_EQ(seven, 7);
  EXPECT_FALSE(function->resolver);
  EXPECT_FALSE(image.holds(function->value, 1, true));
  EXPECT_EQ(zeros->size, 10000u);
  EXPECT_TRUE(image.holds(zeros->value, zeros->size, true));
  EXPECT_FALSE(image.file_offset(zeros->value, zeros->size, &offset));
  EXPECT_TRUE(chosen->resolver);
  EXPECT_EQ(linking.find("elf_sample_thread_local"), nullptr);
  EXPECT_EQ(linking.find("elf_sample_elsewhere"), nullptr);
  const auto elsewhere = std::find_if(linking.symbols.begin(), linking.symbols.end(),
                                      [](const Symbol& s) { return s.name == "elf_sample_elsewhere"; });
  ASSERT_NE(elsewhere, linking.symbols.end());
  EXPECT_FALSE(elsewhere->defined);
  EXPECT_TRUE(elsewhere->weak);

  // Both pointers are relocated: the one that others can name by name, the other by its place.
  const auto of = [&](const char* pointer) -> const Relocation* {
    for (const Relocation& r : linking.relocations)
      if (r.where == linking.find(pointer)->value) return &r;
    return nullptr;
  };
  ASSERT_TRUE(of("elf_sample_pointer") != nullptr && of("elf_sample_relative") != nullptr);
  EXPECT_EQ(of("elf_sample_pointer")->type, kAddress);
  EXPECT_EQ(linking.symbols[of("elf_sample_pointer")->symbol].name, "elf_sample_word");
  EXPECT_EQ(of("elf_sample_relative")->type, kRelative);
  EXPECT_TRUE(image.holds(static_cast<uint64_t>(of("elf_sample_relative")->addend), 4, true));
}

TEST_F(Sample, IsReadTheSameFromADescriptor) {
  FILE* file = fopen(TASUKI_ELF_SAMPLE, "rb");
  ASSERT_NE(file, nullptr);
  const Result<Linking> linking = read_linking({fileno(file), nullptr, bytes.size()}, image);
  fclose(file);
  ASSERT_TRUE(linking.ok());
  const Linking same = read();
  EXPECT_EQ(linking.value().symbols.size(), same.symbols.size());
  EXPECT_EQ(linking.value().relocations.size(), same.relocations.size());
  EXPECT_EQ(linking.value().unwind_table, same.unwind_table);
}

TEST_F(Sample, OldSearchPathsAndHashTables) {
  // DT_RPATH where there is no DT_RUNPATH.
  EXPECT_EQ(read_both(with(DT_RPATH, value(DT_RUNPATH), DT_RUNPATH)).value().search_path, "/first:/second");
  // A DT_HASH that says how many symbols there are: made of what a symbol's bytes happen to be.
  const uint64_t count = read().symbols.size();
  Bytes b = with(DT_HASH, value(DT_SYMTAB), DT_GNU_HASH);
  const uint32_t head[2] = {1, static_cast<uint32_t>(count)};
  memcpy(at(b, DT_SYMTAB, 0), head, sizeof head);
  EXPECT_EQ(read_both(b).value().symbols.size(), count);
  const uint32_t more[2] = {1, 1 << 30};
  memcpy(at(b, DT_SYMTAB, 0), more, sizeof more);
  EXPECT_EQ(error_of(b), "symbols outside the segments");
  // Without a table nothing is found, but what relocations name is there.
  Result<Linking> nameless = read_both(with(DT_DEBUG, 0, DT_GNU_HASH));
  ASSERT_TRUE(nameless.ok());
  EXPECT_EQ(nameless.value().find("elf_sample_word"), nullptr);
  check_promises(image, nameless.value());
}

TEST_F(Sample, TablesOutsideTheFileAreRefused) {
  const std::string strings = "the dynamic section points outside the file";
  EXPECT_EQ(error_of(with(DT_STRTAB, kFar)), strings);
  EXPECT_EQ(error_of(with(DT_STRTAB, ~uint64_t{0})), strings);
  EXPECT_EQ(error_of(with(DT_STRSZ, kFar)), strings);
  EXPECT_EQ(error_of(with(DT_STRSZ, bytes.size())), strings);
  EXPECT_EQ(error_of(with(DT_SYMTAB, kFar)), "symbols outside the segments");
  EXPECT_EQ(error_of(with(DT_SYMTAB, ~uint64_t{0})), "symbols outside the segments");
  const std::string hash = "the hash table lies outside the segments";
  EXPECT_EQ(error_of(with(DT_GNU_HASH, kFar)), hash);
  EXPECT_EQ(error_of(with(DT_GNU_HASH, ~uint64_t{0} - 8)), hash);
  EXPECT_EQ(error_of(with(DT_HASH, kFar, DT_GNU_HASH)), hash);
  EXPECT_EQ(error_of(with(DT_HASH, ~uint64_t{0}, DT_GNU_HASH)), hash);
  // Too many buckets, a filter that is too large.
  const uint32_t large = 1 << 30;
  for (const uint64_t field : {0, 8}) {
    Bytes b = bytes;
    memcpy(at(b, DT_GNU_HASH, field), &large, sizeof large);
    EXPECT_EQ(error_of(b), hash);
  }
  // A chain that begins or ends behind the segment.
  Bytes b = bytes;
  uint32_t head[4];
  memcpy(head, at(b, DT_GNU_HASH, 0), sizeof head);
  memcpy(at(b, DT_GNU_HASH, sizeof head + head[2] * 8), &large, sizeof large);
  EXPECT_EQ(error_of(b), hash);
}

TEST_F(Sample, NamesOutsideTheStringTableAreRefused) {
  EXPECT_EQ(error_of(with(DT_NEEDED, kFar)), "a library's name lies outside the string table");
  EXPECT_EQ(error_of(with(DT_NEEDED, value(DT_STRSZ))), "a library's name lies outside the string table");
  EXPECT_EQ(error_of(with(DT_RUNPATH, value(DT_STRSZ))), "the search path lies outside the string table");
  EXPECT_EQ(error_of(with(DT_RPATH, kFar, DT_RUNPATH)), "the search path lies outside the string table");
  // A table that ends inside its last string.
  Bytes b = with(DT_NEEDED, 1);
  memset(at(b, DT_STRTAB, 0), 'a', value(DT_STRSZ));
  EXPECT_EQ(error_of(b), "a library's name lies outside the string table");
  b = bytes;
  const uint32_t name = static_cast<uint32_t>(value(DT_STRSZ));
  memcpy(at(b, DT_SYMTAB, sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_name)), &name, sizeof name);
  EXPECT_EQ(error_of(b), "a symbol's name lies outside the string table");
}

TEST_F(Sample, SymbolsOutsideTheSegmentsAreRefused) {
  const Linking linking = read();
  const auto index = linking.defined.at("elf_sample_word");
  Bytes b = bytes;
  memcpy(at(b, DT_SYMTAB, index * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value)), &kFar, sizeof kFar);
  EXPECT_EQ(error_of(b), "a symbol outside the segments");
  // An absolute one is no place in the segments.
  const uint16_t absolute = SHN_ABS;
  memcpy(at(b, DT_SYMTAB, index * sizeof(Elf64_Sym)) + offsetof(Elf64_Sym, st_shndx), &absolute,
         sizeof absolute);
  EXPECT_TRUE(read_both(b).ok());
}

TEST_F(Sample, CodeOutsideTheSegmentsIsRefused) {
  EXPECT_EQ(error_of(with(DT_INIT, kFar)), "code outside the segments");
  EXPECT_EQ(error_of(with(DT_FINI, image.span())), "code outside the segments");
  Bytes b = bytes;
  memcpy(b.data() + offsetof(Elf64_Ehdr, e_entry), &kFar, sizeof kFar);
  EXPECT_EQ(error_of(b), "code outside the segments");
  const std::string constructors = "constructors outside the segments";
  EXPECT_EQ(error_of(with(DT_INIT_ARRAY, kFar)), constructors);
  EXPECT_EQ(error_of(with(DT_INIT_ARRAYSZ, kFar)), constructors);
  EXPECT_EQ(error_of(with(DT_INIT_ARRAYSZ, ~uint64_t{7})), constructors);
  EXPECT_EQ(error_of(with(DT_INIT_ARRAYSZ, 9)), constructors);
  EXPECT_EQ(error_of(with(DT_FINI_ARRAY, ~uint64_t{0})), constructors);
  EXPECT_EQ(error_of(with(DT_FINI_ARRAYSZ, kFar)), constructors);
  EXPECT_EQ(error_of(with(DT_PREINIT_ARRAYSZ, kFar)), constructors);
}

TEST_F(Sample, RelocationsOutsideTheSegmentsAreRefused) {
  const std::string table = "relocations outside the segments", place = "a relocation outside the data";
  EXPECT_EQ(error_of(with(DT_JMPREL, kFar)), table);
  EXPECT_EQ(error_of(with(DT_PLTRELSZ, kFar)), table);
  EXPECT_EQ(error_of(with(DT_PLTRELSZ, ~uint64_t{0})), table);
  EXPECT_EQ(error_of(with(DT_PLTRELSZ, sizeof(Elf64_Rela) - 1)), table);
  EXPECT_EQ(error_of(with(DT_RELA, kFar)), table);
  EXPECT_EQ(error_of(with(DT_RELASZ, value(DT_RELASZ) + 1)), table);

  Bytes b = bytes;
  memcpy(at(b, DT_RELA, offsetof(Elf64_Rela, r_offset)), &kFar, sizeof kFar);
  EXPECT_EQ(error_of(b), place);
  // In code: only where DT_TEXTREL says so.
  const uint64_t code = value(DT_INIT);
  memcpy(at(b, DT_RELA, offsetof(Elf64_Rela, r_offset)), &code, sizeof code);
  EXPECT_EQ(error_of(b), place);
  b = with(DT_TEXTREL, 0);
  memcpy(at(b, DT_RELA, offsetof(Elf64_Rela, r_offset)), &code, sizeof code);
  EXPECT_TRUE(read_both(b).value().text_relocations);
  // Of a symbol that is not there.
  b = bytes;
  const uint64_t info = ELF64_R_INFO(uint64_t{1} << 30, kAddress);
  memcpy(at(b, DT_RELA, offsetof(Elf64_Rela, r_info)), &info, sizeof info);
  EXPECT_EQ(error_of(b), "symbols outside the segments");
}

// DT_RELR in the place of DT_RELA; the table is made in memory that nothing else needs (DT_RELA's own).
TEST_F(Sample, RelativeRelocations) {
  const uint64_t word = read().find("elf_sample_relative")->value;
  const uint64_t table = value(DT_RELA);
  const auto with_relative = [&](std::vector<uint64_t> words, uint64_t size) {
    Bytes b = with(DT_RELR, table, DT_RELA);
    uint64_t offset = 0;
    EXPECT_TRUE(image.file_offset(image.dynamic->address, image.dynamic->size, &offset));
    for (Elf64_Dyn entry{};; offset += sizeof entry) {
      memcpy(&entry, b.data() + offset, sizeof entry);
      if (entry.d_tag == DT_RELASZ) break;
      EXPECT_NE(entry.d_tag, DT_NULL);
    }
    const Elf64_Dyn bytes_of{DT_RELRSZ, {size}};
    memcpy(b.data() + offset, &bytes_of, sizeof bytes_of);
    uint64_t in_file = 0;
    EXPECT_TRUE(image.file_offset(table, words.size() * 8, &in_file));
    memcpy(b.data() + in_file, words.data(), words.size() * 8);
    return b;
  };
  const Result<Linking> read = read_both(with_relative({word, 0b11}, 16));
  ASSERT_TRUE(read.ok()) << read.status().message();
  std::vector<uint64_t> found;
  for (const Relocation& r : read.value().relocations)
    if (r.type == kRelative) found.push_back(r.where);
  EXPECT_EQ(found, (std::vector<uint64_t>{word, word + 8}));

  EXPECT_EQ(error_of(with_relative({word}, 9)), "relocations outside the segments");
  EXPECT_EQ(error_of(with_relative({word}, kFar)), "relocations outside the segments");
  EXPECT_EQ(error_of(with_relative({kFar}, 8)), "a relocation outside the data");
  EXPECT_EQ(error_of(with_relative({value(DT_INIT) & ~uint64_t{1}}, 8)), "a relocation outside the data");
  EXPECT_EQ(error_of(with_relative({word, uint64_t{1} << 63 | 1, ~uint64_t{0}, ~uint64_t{0}}, 32)),
            "a relocation outside the data");
}

TEST_F(Sample, UnwindTablesOutsideTheFileAreRefused) {
  ASSERT_TRUE(image.unwind_header);
  const std::string refused = "the unwind table lies outside the segments";
  Image changed = image;
  const auto error = [&] {
    const Result<Linking> linking = read_linking(source(bytes), changed);
    return linking.ok() ? std::string() : linking.status().message();
  };
  changed.unwind_header = Range{image.unwind_header->address, 7};
  EXPECT_EQ(error(), refused);
  changed.unwind_header = Range{kFar, 8};
  EXPECT_EQ(error(), refused);
  changed.unwind_header = Range{~uint64_t{0}, 8};
  EXPECT_EQ(error(), refused);
  // A header of another form has no table that is known.
  uint64_t offset = 0;
  ASSERT_TRUE(image.file_offset(image.unwind_header->address, 8, &offset));
  Bytes b = bytes;
  b[offset] = 2;
  EXPECT_EQ(read_both(b).value().unwind_table, 0u);
  b = bytes;
  memset(b.data() + offset + 4, 0x7f, 4);
  EXPECT_EQ(read_both(b).value().unwind_table, 0u);
}

TEST(Linking, ReadsRealFiles) {
  int good = 0;
  for (const char* path : {"/bin/true", "/bin/sh", kLoader, "/proc/self/exe"}) check(load(path), &good);
  EXPECT_EQ(good, 4);
  const Result<Linking> loader = read_both(load(kLoader));
  ASSERT_TRUE(loader.ok());
  EXPECT_NE(loader.value().find("_r_debug"), nullptr);
  EXPECT_EQ(loader.value().find("no_such_symbol"), nullptr);
}

TEST_F(Sample, SurvivesMutations) {
  std::mt19937_64 random(20261017);
  int good = 0;
  for (int i = 0; i < 20000; i++) {
    Bytes b = mutate(bytes, random);
    // The tables stand at the beginning, the dynamic section does not.
    if (random() % 2 != 0) {
      uint64_t offset = 0;
      ASSERT_TRUE(image.file_offset(image.dynamic->address, image.dynamic->size, &offset));
      const uint64_t place = offset + random() % image.dynamic->size / 8 * 8;
      const uint64_t value = random() % 2 != 0 ? random() % (2 * image.span()) : random();
      if (place + sizeof value <= b.size()) memcpy(b.data() + place, &value, sizeof value);
    }
    check(b, &good);
    if (HasFatalFailure()) FAIL() << "mutation " << i;
  }
  EXPECT_GT(good, 1000);
}

}  // namespace
}  // namespace tasuki::elf
