// Any bytes give an answer: real programs, every truncation of their headers, and thousands of mutations.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "os/mapping.h"
#include "task/elf.h"

namespace tasuki::task {
namespace {

using Bytes = std::vector<uint8_t>;
using Kind = ElfImage::Kind;

Bytes load(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

ElfImage read_bytes(const Bytes& bytes) {
  return read_elf({-1, bytes.data(), bytes.size()});
}

// What load_image and ld.so rely on.
void check_promises(const ElfImage& image, uint64_t size) {
  if (image.kind == Kind::foreign) {
    EXPECT_FALSE(image.defect.empty());
    return;
  }
  ASSERT_FALSE(image.segments.empty());
  uint64_t end = 0;
  for (const Segment& s : image.segments) {
    ASSERT_LE(s.offset + s.file_size, size);
    ASSERT_LE(s.file_size, s.memory_size);
    ASSERT_GE(os::page_floor(s.address), end);
    ASSERT_EQ(s.address % os::kPageSize, s.offset % os::kPageSize);
    end = os::page_ceil(s.address + s.memory_size);
    ASSERT_LE(end, uint64_t{1} << 47);
  }
}

TEST(Elf, ReadsRealPrograms) {
  const ElfImage sh = read_bytes(load("/bin/sh"));
  EXPECT_EQ(sh.kind, Kind::dynamic_program);
  EXPECT_EQ(sh.interpreter, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_NE(std::find(sh.needed.begin(), sh.needed.end(), "libc.so.6"), sh.needed.end());
  EXPECT_FALSE(sh.sanitizer);
  const ElfImage loader = read_bytes(load("/lib64/ld-linux-x86-64.so.2"));
  EXPECT_EQ(loader.kind, Kind::static_program);
  EXPECT_NE(loader.program_headers, 0u);
  check_promises(sh, load("/bin/sh").size());
}

TEST(Elf, EveryTruncationIsForeign) {
  const Bytes whole = load("/bin/true");
  for (size_t n = 0; n < 4096; n++)
    EXPECT_EQ(read_bytes(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))).kind,
              Kind::foreign);
  for (size_t n = 4096; n < whole.size() - 4096; n += 997) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    check_promises(read_bytes(cut), n);
  }
}

TEST(Elf, SurvivesMutations) {
  const Bytes whole = load("/bin/true");
  std::mt19937_64 random(20240601);
  int still_programs = 0;
  for (int i = 0; i < 20000; i++) {
    Bytes b = whole;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int c = 0; c < changes; c++) {
      // The headers mostly; the dynamic section and its strings too.
      const size_t at = random() % (random() % 4 != 0 ? 1024 : b.size());
      static const uint64_t kNasty[] = {
          0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, ~uint64_t{0}, uint64_t{1} << 63};
      const uint64_t value = random() % 2 != 0 ? kNasty[random() % std::size(kNasty)] : random();
      const size_t width = std::min<size_t>(size_t{1} << random() % 4, b.size() - at);
      memcpy(b.data() + at, &value, width);
    }
    if (random() % 16 == 0) b.resize(random() % b.size());
    const ElfImage image = read_bytes(b);
    check_promises(image, b.size());
    still_programs += image.kind != Kind::foreign ? 1 : 0;
    if (testing::Test::HasFatalFailure()) FAIL() << "mutation " << i;
  }
  EXPECT_GT(still_programs, 1000);  // the mutations are not all trivially rejected
}

// Images that pass are mapped without touching anything outside their own reservation.
TEST(Elf, LoadsMutatedLoaders) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a process whose address space is as full as some of these want it";
#endif
  const Bytes whole = load("/lib64/ld-linux-x86-64.so.2");
  std::mt19937_64 random(7);
  char path[] = "/tmp/tasuki-elf-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  unlink(path);
  int loaded = 0;
  for (int i = 0; i < 300; i++) {
    Bytes b = whole;
    if (i > 0) {
      // Inside the program headers.
      const uint64_t value = random() % 2 != 0 ? random() % 0x100000 : random();
      memcpy(b.data() + 64 + random() % 600, &value, size_t{1} << random() % 4);
    }
    ASSERT_EQ(pwrite(fd, b.data(), b.size(), 0), static_cast<ssize_t>(b.size()));
    const ElfImage image = read_elf({fd, nullptr, b.size()});
    if (image.kind == Kind::foreign) continue;
    Placement placement(static_cast<uint64_t>(i));
    Result<LoadedImage> r = load_image(image, fd, &placement);
    if (!r.ok()) continue;
    loaded++;
    EXPECT_TRUE(os::unmap(reinterpret_cast<void*>(r.value().begin), r.value().end - r.value().begin));
  }
  close(fd);
  EXPECT_GT(loaded, 50);
}

}  // namespace
}  // namespace tasuki::task
