// Any bytes give an answer: real programs, every truncation of their headers, and thousands of mutations.
#include "elf/image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "base/cpu.h"
#include "elf/machine.h"
#include "elf/test/bytes.h"

namespace tasuki::elf {
namespace {

using Kind = Image::Kind;

Image read_bytes(const Bytes& bytes) {
  Result<Image> image = read_image(source(bytes));
  EXPECT_TRUE(image.ok()) << image.status().message();
  return image.ok() ? image.value() : Image();
}

// Of bytes that are refused.
Status error_of(const Bytes& bytes) {
  const Result<Image> image = read_image(source(bytes));
  EXPECT_FALSE(image.ok());
  return image.status();
}

// What those who load the image and ld.so rely on.
void check_promises(const Result<Image>& result, uint64_t size) {
  if (!result.ok()) {
    EXPECT_FALSE(result.status().message().empty());
    EXPECT_TRUE(result.status().err() == ENOEXEC || result.status().err() == ENOTSUP ||
                result.status().err() == EINVAL);
    return;
  }
  const Image& image = result.value();
  ASSERT_NE(image.kind, Kind::foreign);
  ASSERT_FALSE(image.segments.empty());
  uint64_t end = 0;
  for (const Segment& s : image.segments) {
    ASSERT_LE(s.offset + s.file_size, size);
    ASSERT_LE(s.file_size, s.memory_size);
    ASSERT_GE(s.address / page_size() * page_size(), end);
    ASSERT_EQ(s.address % page_size(), s.offset % page_size());
    end = (s.address + s.memory_size + page_size() - 1) / page_size() * page_size();
    ASSERT_LE(end, kUserSpaceEnd);
  }
  ASSERT_EQ(image.span(), end);
  if (image.dynamic) {
    uint64_t offset = 0;
    ASSERT_TRUE(image.file_offset(image.dynamic->address, image.dynamic->size, &offset));
    ASSERT_LE(offset + image.dynamic->size, size);
  }
}

TEST(Elf, ReadsRealPrograms) {
  const Image sh = read_bytes(load("/bin/sh"));
  EXPECT_EQ(sh.kind, Kind::dynamic_program);
  EXPECT_TRUE(sh.position_independent);
  EXPECT_EQ(sh.interpreter, kLoader);
  EXPECT_NE(std::find(sh.needed.begin(), sh.needed.end(), "libc.so.6"), sh.needed.end());
  EXPECT_FALSE(sh.sanitizer);
  const Image loader = read_bytes(load(kLoader));
  EXPECT_EQ(loader.kind, Kind::static_program);
  EXPECT_NE(loader.program_headers, 0u);
  check_promises(sh, load("/bin/sh").size());
}

TEST(Elf, ReadsFromADescriptorAsFromMemory) {
  const Bytes bytes = load("/bin/true");
  FILE* file = fopen("/bin/true", "rb");
  ASSERT_NE(file, nullptr);
  const Result<Image> image = read_image({fileno(file), nullptr, bytes.size()});
  // A file that has become shorter than it was said to be.
  char two[2];
  EXPECT_FALSE(ByteSource({fileno(file), nullptr, bytes.size() + 1}).read(bytes.size() - 1, two, sizeof two));
  fclose(file);
  ASSERT_TRUE(image.ok());
  const Image same = read_bytes(bytes);
  EXPECT_EQ(image.value().needed, same.needed);
  EXPECT_EQ(image.value().entry, same.entry);
  EXPECT_EQ(image.value().segments.size(), same.segments.size());
}

TEST(Elf, SaysWhatAFileIs) {
  EXPECT_EQ(error_of({}).err(), EINVAL);
  const std::string script = "#!/bin/sh\n" + std::string(100, '#');
  EXPECT_EQ(error_of(Bytes(script.begin(), script.end())).err(), ENOEXEC);
  Bytes b = load("/bin/true");
  b[offsetof(Elf64_Ehdr, e_machine)] = kMachine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
  EXPECT_EQ(error_of(b).err(), ENOTSUP);
  b = load("/bin/true");
  b[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(error_of(b).err(), ENOTSUP);
  b = load("/bin/true");
  b[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  EXPECT_EQ(error_of(b).err(), EINVAL);
  EXPECT_EQ(error_of(b).message(), "not a program");
  b[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
  EXPECT_EQ(read_bytes(b).kind, Kind::fixed_address);
  EXPECT_FALSE(read_bytes(b).position_independent);
}

TEST(Elf, FindsMemoryInTheFile) {
  Image image;
  image.segments = {{0x1000, 0x2000, 0x800, 0x800, PROT_READ}, {0x2000, 0x4000, 0x10, 0x1000, PROT_WRITE}};
  uint64_t offset = 0;
  EXPECT_TRUE(image.file_offset(0x2000, 0x800, &offset));
  EXPECT_EQ(offset, 0x1000u);
  EXPECT_TRUE(image.file_offset(0x4008, 8, &offset));
  EXPECT_EQ(offset, 0x2008u);
  EXPECT_TRUE(image.file_offset(0x2800, 0, &offset));
  EXPECT_FALSE(image.file_offset(0x2000, 0x801, &offset));
  EXPECT_FALSE(image.file_offset(0x27ff, ~uint64_t{0}, &offset));
  EXPECT_FALSE(image.file_offset(0x1fff, 1, &offset));
  EXPECT_FALSE(image.file_offset(0x4009, 8, &offset));
  EXPECT_TRUE(image.holds(0x4009, 8, /*writable=*/true));
  EXPECT_TRUE(image.holds(0x4ff8, 8, /*writable=*/true));
  EXPECT_FALSE(image.holds(0x4ff9, 8, /*writable=*/true));
  EXPECT_FALSE(image.holds(0x2000, 8, /*writable=*/true));
  EXPECT_TRUE(image.holds(0x2000, 8, /*writable=*/false));
  EXPECT_EQ(image.span(), (0x5000 + page_size() - 1) / page_size() * page_size());
}

// Each field of a program header that a rule speaks of, set to what breaks the rule.
TEST(Elf, RefusesSegmentsAgainstTheRules) {
  const Bytes whole = load("/bin/true");
  Elf64_Ehdr header;
  memcpy(&header, whole.data(), sizeof header);
  // The bytes with a change in the n-th header of a type.
  const auto with = [&](uint32_t type, int n, const auto& change) {
    Bytes b = whole;
    for (size_t i = 0; i < header.e_phnum; i++) {
      uint8_t* at = b.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
      Elf64_Phdr p;
      memcpy(&p, at, sizeof p);
      if (p.p_type != type || n-- != 0) continue;
      change(p);
      memcpy(at, &p, sizeof p);
      return error_of(b).message();
    }
    ADD_FAILURE() << "no such header";
    return std::string();
  };
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_offset = uint64_t{1} << 40; }),
            "truncated: a segment ends behind the file");
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_offset = ~uint64_t{0}; }),
            "truncated: a segment ends behind the file");
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_memsz = p.p_filesz - 1; }),
            "a segment is smaller in memory than in the file");
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_memsz = ~uint64_t{0}; }),
            "a segment's address is out of range");
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_vaddr = kUserSpaceEnd; }),
            "a segment's address is out of range");
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_vaddr += 8; }), "a segment is not aligned to pages");
  EXPECT_EQ(with(PT_LOAD, 1, [](Elf64_Phdr& p) { p.p_vaddr %= page_size(); }),
            "segments overlap or are not in order");
  EXPECT_EQ(with(PT_LOAD, 0, [](Elf64_Phdr& p) { p.p_memsz += 100 * page_size(); }),
            "segments overlap or are not in order");
  EXPECT_EQ(with(PT_LOAD, 0, [](Elf64_Phdr& p) { p.p_align = 3; }),
            "a segment's alignment is not a power of two");
  EXPECT_EQ(with(PT_DYNAMIC, 0, [](Elf64_Phdr& p) { p.p_vaddr = uint64_t{1} << 40; }),
            "the dynamic section lies outside the segments");
  EXPECT_EQ(with(PT_DYNAMIC, 0, [](Elf64_Phdr& p) { p.p_filesz = ~uint64_t{0}; }),
            "the dynamic section lies outside the segments");
  EXPECT_EQ(with(PT_INTERP, 0, [](Elf64_Phdr& p) { p.p_filesz = 1; }),
            "the interpreter's name has no sane length");
  EXPECT_EQ(with(PT_INTERP, 0, [](Elf64_Phdr& p) { p.p_offset = ~uint64_t{0}; }),
            "truncated: no interpreter's name");
  EXPECT_EQ(with(PT_INTERP, 0, [](Elf64_Phdr& p) { p.p_filesz--; }), "the interpreter's name does not end");
}

TEST(Elf, EveryTruncationIsForeign) {
  const Bytes whole = load("/bin/true");
  for (size_t n = 0; n < 4096; n++)
    EXPECT_FALSE(
        read_image(source(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)))).ok());
  for (size_t n = 4096; n < whole.size() - 4096; n += 997) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    check_promises(read_image(source(cut)), n);
  }
}

TEST(Elf, SurvivesMutations) {
  const Bytes whole = load("/bin/true");
  std::mt19937_64 random(20240601);
  int still_programs = 0;
  for (int i = 0; i < 20000; i++) {
    const Bytes b = mutate(whole, random);
    const Result<Image> image = read_image(source(b));
    check_promises(image, b.size());
    still_programs += image.ok() ? 1 : 0;
    if (testing::Test::HasFatalFailure()) FAIL() << "mutation " << i;
  }
  EXPECT_GT(still_programs, 1000);  // the mutations are not all trivially rejected
}

}  // namespace
}  // namespace tasuki::elf
