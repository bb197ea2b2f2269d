// tasuki/dlm.hpp: containers in cluster memory behave as others do. With the double, or under a launcher.
#include <tasuki/dlm.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

template <typename T>
using Vector = std::vector<T, tasuki::dlm::allocator<T>>;

#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) {                                           \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                               \
    }                                                             \
  } while (0)

struct alignas(4096) Page {
  std::uint64_t words[512];
};

void allocators() {
  static_assert(std::allocator_traits<tasuki::dlm::allocator<int>>::is_always_equal::value);
  static_assert(sizeof(Vector<int>) == sizeof(std::vector<int>));
  tasuki::dlm::allocator<int> ints;
  tasuki::dlm::allocator<std::string> strings(ints);
  CHECK(ints == tasuki::dlm::allocator<int>(strings));
  int* none = ints.allocate(0);
  CHECK(none != nullptr);
  ints.deallocate(none, 0);

  Vector<std::uint32_t> v;
  for (std::uint32_t i = 0; i < 6000000; i++) v.push_back(i * 2654435761u);
  std::vector<std::uint32_t> plain(v.begin(), v.end());
  std::sort(v.begin(), v.end());
  std::sort(plain.begin(), plain.end());
  CHECK(std::equal(v.begin(), v.end(), plain.begin(), plain.end()));
  Vector<std::uint32_t> w = std::move(v);
  CHECK(w.size() == 6000000 && v.empty());
  v = w;
  CHECK(v == w);
  v.swap(w);
  w.clear();
  w.shrink_to_fit();
  CHECK(std::accumulate(v.begin(), v.end(), std::uint64_t{0}) ==
        std::accumulate(plain.begin(), plain.end(), std::uint64_t{0}));

  Vector<std::string> texts;
  for (int i = 0; i < 100000; i++) texts.push_back("text number " + std::to_string(i));
  std::reverse(texts.begin(), texts.end());
  CHECK(texts.front() == "text number 99999" && texts.back() == "text number 0");

  Vector<Page> pages(300);
  CHECK(reinterpret_cast<std::uintptr_t>(pages.data()) % 4096 == 0);
  for (Page& page : pages) CHECK(page.words[17] == 0);

  std::unordered_map<int, int, std::hash<int>, std::equal_to<int>,
                     tasuki::dlm::allocator<std::pair<const int, int>>>
      map;
  for (int i = 0; i < 500; i++) map[i] = i * i;  // every node takes a page
  CHECK(map.at(21) == 441);
}

void failures() {
  bool thrown = false;
  try {
    Vector<char> all(std::size_t{1} << 50);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
  thrown = false;
  try {
    (void)tasuki::dlm::allocator<std::uint64_t>().allocate(SIZE_MAX / 4);
  } catch (const std::bad_array_new_length&) {
    thrown = true;
  }
  CHECK(thrown);
  tasuki::dlm::memory_resource cluster;
  thrown = false;
  try {
    std::pmr::vector<char> all(std::size_t{1} << 50, &cluster);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown);
}

// What is asked of the upstream resource.
class Counting : public std::pmr::memory_resource {
 public:
  std::size_t largest = 0, now = 0;

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    largest = std::max(largest, bytes);
    now += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    now -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

void resources() {
  Counting local;
  tasuki::dlm::memory_resource cluster(1 << 20, &local), same(1 << 20, &local), other(1 << 16, &local);
  CHECK(cluster == same && cluster != other && cluster != local &&
        cluster != *std::pmr::get_default_resource());
  {
    std::pmr::vector<std::pmr::string> lines(&cluster);
    for (int i = 0; i < 200000; i++)
      lines.emplace_back("a line that is too long for the string itself: " + std::to_string(i));
    CHECK(lines[123456] == "a line that is too long for the string itself: 123456");
    CHECK(lines.get_allocator().resource() == &cluster && lines[0].get_allocator().resource() == &cluster);
    std::pmr::map<int, std::pmr::vector<double>> rows(&cluster);
    for (int i = 0; i < 8; i++) rows[i].assign(200000, i + 0.5);
    CHECK(rows[7][199999] == 7.5);
    std::pmr::vector<std::pmr::string> elsewhere(lines, std::pmr::get_default_resource());
    CHECK(elsewhere == lines);
  }
  CHECK(local.largest < 1 << 20 && local.largest > 0 && local.now == 0);
  std::pmr::monotonic_buffer_resource pool(4 << 20, &cluster);
  std::pmr::deque<long> numbers(&pool);
  for (long i = 0; i < 1000000; i++) numbers.push_back(i);
  CHECK(std::accumulate(numbers.begin(), numbers.end(), 0L) == 499999500000L);
}

Vector<std::string> g_late;  // destroyed behind main

}  // namespace

int main(int argc, char** argv) {
  dlm_startup(&argc, &argv);
  allocators();
  failures();
  resources();
  for (int i = 0; i < 50000; i++) g_late.push_back("a text of the static kind, number " + std::to_string(i));
  std::printf("containers: as they should be\n");
  return 0;
}
