// What the simulator refuses to load, and in which words; the rules of ELF files themselves are tested with
// their reader (src/elf/test).
#include "simmpi/program/image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "elf/machine.h"

namespace tasuki::simmpi {
namespace {

// A file with these bytes.
class File {
 public:
  explicit File(const std::string& content) {
    const int fd = mkstemp(path_);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { unlink(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/tasuki-image-XXXXXX";
};

std::string program() {
  std::ifstream in("/bin/true", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// With a change in the first program header of a type with these flags at least.
template <typename Change>
std::string changed(uint32_t type, uint32_t flags, const Change& change) {
  std::string bytes = program();
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; i++) {
    char* at = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr p;
    memcpy(&p, at, sizeof p);
    if (p.p_type != type || (p.p_flags & flags) != flags) continue;
    change(p);
    memcpy(at, &p, sizeof p);
    return bytes;
  }
  ADD_FAILURE() << "no such program header";
  return bytes;
}

void expect_refused(const std::string& content, int error, const std::string& says) {
  const File file(content);
  const auto image = Image::open(file.path());
  ASSERT_FALSE(image.ok()) << says;
  EXPECT_EQ(image.status().err(), error);
  EXPECT_EQ(image.status().message().rfind(file.path() + ": " + says, 0), 0u) << image.status().message();
}

TEST(Image, LoadsAProgramMoreThanOnce) {
  const auto image = Image::open("/bin/true");
  ASSERT_TRUE(image.ok()) << image.status().message();
  const Image& i = *image.value();
  EXPECT_NE(i.file().entry, 0u);
  char* const first = i.map();
  char* const second = i.map();
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_NE(first, second);
  for (const elf::Segment& s : i.file().segments) {
    EXPECT_TRUE(i.inside(s.address, s.memory_size));
    EXPECT_EQ(memcmp(first + s.address, second + s.address, s.memory_size), 0);
  }
  i.unmap(first);
  i.unmap(second);
  EXPECT_FALSE(i.inside(i.span(), 1));
  EXPECT_FALSE(i.inside(1, ~uint64_t{0}));
}

TEST(Image, SaysWhatItRefuses) {
  EXPECT_EQ(Image::open("/no/such/program").status().err(), ENOENT);
  EXPECT_EQ(Image::open("/tmp").status().message(), "/tmp: not a regular file");
  expect_refused("", ENOEXEC, "not a valid ELF file: shorter than an ELF header");
  expect_refused("#!/bin/sh\n" + std::string(100, '#'), ENOEXEC, "not a program in ELF format (a script?)");
  std::string b = program();
  b[offsetof(Elf64_Ehdr, e_machine)] =
      static_cast<char>(elf::kMachine == EM_AARCH64 ? EM_X86_64 : EM_AARCH64);
  expect_refused(b, ENOEXEC, std::string("not for ") + elf::kMachineName);
  b = program();
  b[offsetof(Elf64_Ehdr, e_type)] = ET_EXEC;
  expect_refused(b, ENOEXEC, "has a fixed address");
  b[offsetof(Elf64_Ehdr, e_type)] = ET_REL;
  expect_refused(b, ENOEXEC, "not a valid ELF file: not a program");
  expect_refused(program().substr(0, 2000), ENOEXEC, "not a valid ELF file: truncated: a segment");
  expect_refused(changed(PT_DYNAMIC, 0, [](Elf64_Phdr& p) { p.p_type = PT_NULL; }), ENOEXEC,
                 "is linked statically");
  expect_refused(changed(PT_DYNAMIC, 0, [](Elf64_Phdr& p) { p.p_vaddr = uint64_t{1} << 35; }), ENOEXEC,
                 "not a valid ELF file: the dynamic section");
  expect_refused(changed(PT_GNU_STACK, 0,
                         [](Elf64_Phdr& p) {
                           p.p_type = PT_TLS;
                           p.p_memsz = 8;
                         }),
                 ENOTSUP, "has thread-local variables");
}

// Valid for the kernel, not for a copy for each rank.
TEST(Image, RefusesSegmentsThatItCannotCopy) {
  expect_refused(changed(PT_LOAD, PF_X, [](Elf64_Phdr& p) { p.p_memsz++; }), ENOEXEC,
                 "not a valid ELF file: a read-only segment that is not all in the file");
  expect_refused(changed(PT_LOAD, PF_W, [](Elf64_Phdr& p) { p.p_memsz = (uint64_t{1} << 36) + 1; }), ENOEXEC,
                 "not a valid ELF file: a segment beyond all sense");
}

}  // namespace
}  // namespace tasuki::simmpi
