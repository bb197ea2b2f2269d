// Many small objects, in a table, found and erased by several threads: what an allocator that maps its own
// memory makes of it.  mem_nodes [entries]
//
// All tables are full at the same time: on a busy machine a thread could else be done before the next one
// starts, and all of them take the memory of one.
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

uint64_t next(uint64_t* x) {
  *x = *x * 6364136223846793005u + 1442695040888963407u;
  return *x >> 20;
}

uint64_t work(uint64_t seed, long entries, std::barrier<>* all_full) {
  std::unordered_map<uint64_t, std::string> table;
  uint64_t x = seed, sum = 0;
  for (long i = 0; i < entries; i++) table[next(&x)] = "a value with the number " + std::to_string(i);
  all_full->arrive_and_wait();
  x = seed;
  for (long i = 0; i < entries; i++) {
    const auto found = table.find(next(&x));
    if (found == table.end() || found->second != "a value with the number " + std::to_string(i)) return 0;
    sum = sum * 31 + found->second.size();
    if (i % 3 == 0) table.erase(found);
  }
  return sum + table.size();
}

}  // namespace

int main(int argc, char** argv) {
  const long entries = argc > 1 ? atol(argv[1]) : 60'000;
  std::vector<std::thread> threads;
  std::barrier all_full(3);
  uint64_t sums[3] = {};
  for (uint64_t t = 0; t < 3; t++)
    threads.emplace_back([&sums, &all_full, t, entries] { sums[t] = work(t + 1, entries, &all_full); });
  for (std::thread& thread : threads) thread.join();
  for (const uint64_t sum : sums) printf("%llu\n", static_cast<unsigned long long>(sum));
}
