// Images that the reader takes are mapped without touching anything outside their own reservation.
#include "task/start/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "elf/machine.h"
#include "os/memory/mapping.h"

namespace tasuki::task {
namespace {

TEST(Load, LoadsMutatedLoaders) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a process whose address space is as full as some of these want it";
#endif
  std::ifstream in(elf::kLoader, std::ios::binary);
  const std::vector<uint8_t> whole(std::istreambuf_iterator<char>(in), {});
  std::mt19937_64 random(7);
  char path[] = "/tmp/tasuki-elf-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  unlink(path);
  int loaded = 0;
  for (int i = 0; i < 300; i++) {
    std::vector<uint8_t> b = whole;
    if (i > 0) {
      // Inside the program headers.
      const uint64_t value = random() % 2 != 0 ? random() % 0x100000 : random();
      memcpy(b.data() + 64 + random() % 600, &value, size_t{1} << random() % 4);
    }
    ASSERT_EQ(pwrite(fd, b.data(), b.size(), 0), static_cast<ssize_t>(b.size()));
    const Result<elf::Image> image = elf::read_image({fd, nullptr, b.size()});
    if (!image.ok()) continue;
    Placement placement(static_cast<uint64_t>(i));
    Result<LoadedImage> r = load_image(image.value(), fd, &placement);
    if (!r.ok()) continue;
    loaded++;
    EXPECT_TRUE(os::unmap(reinterpret_cast<void*>(r.value().begin), r.value().end - r.value().begin));
  }
  close(fd);
  EXPECT_GT(loaded, 50);
}

}  // namespace
}  // namespace tasuki::task
