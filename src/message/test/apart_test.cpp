// Tasks that are apart: they share a segment, but none of the memory that programs send and receive. In most
// tests threads play them; in the last ones processes do, whose buffers and layouts nobody else can read.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>

#include "message/shared/memory.h"
#include "message/test/world.h"
#include "message/transfers/relay.h"
#include "os/memory/mapping.h"

namespace tasuki::message {
namespace {

constexpr size_t kLarge = 3 * kRelayUnits * kRelayUnitBytes + 777;  // more than a relay holds at once

struct Apart : World {
  explicit Apart(int tasks, uint64_t eager = 64 << 10, bool oversubscribed = true)
      : World(tasks, Protocol::automatic, eager, 4 << 10, oversubscribed, true) {}
};

TEST(Apart, EverySizeArrivesWhicheverSideIsFirst) {
  for (const size_t n : {size_t{0}, size_t{1}, size_t{41}, size_t{1000}, size_t{6144}, size_t{30000},
                         size_t{65536}, size_t{65537}, size_t{300000}, kLarge}) {
    for (const uint64_t eager : {uint64_t{0}, uint64_t{64} << 10}) {
      for (const bool receiver_first : {false, true}) {
        Apart w(2, eager);
        std::vector<char> in(n, 0), out = pattern(n, 1);
        Request *s = nullptr, *r = nullptr;
        if (receiver_first) r = irecv(w[1], bytes_of(in), 0, 5);
        s = isend(w[0], bytes_of(out), 1, 5);
        if (!receiver_first) r = irecv(w[1], bytes_of(in), 0, 5);
        while (!w[1].poll(r, true)) w[0].poll(s, true);
        while (!w[0].poll(s, true)) {
        }
        EXPECT_EQ(in, out) << n << " bytes, eager " << eager << ", receiver first " << receiver_first;
        EXPECT_EQ(r->status_bytes, n);
        EXPECT_EQ(r->status_source, 0);
      }
    }
  }
}

TEST(Apart, TruncationDeliversWhatFits) {
  for (const size_t n : {size_t{100}, size_t{3000}, size_t{30000}, size_t{200000}, kLarge}) {
    for (const bool receiver_first : {false, true}) {
      Apart w(2);
      std::vector<char> out = pattern(n, 1), in(n / 2, 0), after = in;
      Request* r = receiver_first ? irecv(w[1], bytes_of(in), 0, 1) : nullptr;
      Request* s = isend(w[0], bytes_of(out), 1, 1);
      if (r == nullptr) r = irecv(w[1], bytes_of(in), 0, 1);
      while (!w[1].poll(r, true)) w[0].poll(s, true);
      w[0].wait(s);
      EXPECT_TRUE(r->truncated);
      EXPECT_EQ(r->status_bytes, n / 2);
      EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
    }
  }
}

TEST(Apart, SynchronousSendsCompleteOnlyWhenMatched) {
  for (const size_t n : {size_t{0}, size_t{8}, size_t{30000}, size_t{300000}}) {
    Apart w(2);
    std::vector<char> out = pattern(n, 1), in(n);
    Request* s = isend(w[0], bytes_of(out), 1, 1, SendMode::synchronous);
    for (int i = 0; i < 1000; i++) ASSERT_FALSE(w[0].poll(s, false));
    Request* r = irecv(w[1], bytes_of(in), 0, 1);
    while (!w[1].poll(r, false)) w[0].poll(s, false);
    EXPECT_TRUE(w[0].poll(s, true));
    EXPECT_EQ(in, out);
  }
}

// What a sender moves on for a receiver that does not look lies in cells until that one does.
TEST(Apart, AFullRingIsMovedOnWithoutTheReceiver) {
  Apart w(2);
  constexpr int kMessages = 5 * static_cast<int>(kRingSlots);
  std::vector<std::vector<char>> in(kMessages);
  std::vector<Request*> receives;
  for (int i = 0; i < kMessages; i++) {
    in[static_cast<size_t>(i)].resize(static_cast<size_t>(i % 90));
    if (i % 3 != 0) receives.push_back(irecv(w[1], bytes_of(in[static_cast<size_t>(i)]), 0, i));
  }
  std::vector<std::vector<char>> out;
  for (int i = 0; i < kMessages; i++) {
    out.push_back(pattern(static_cast<size_t>(i % 90), static_cast<unsigned>(i)));
    finish(w[0], isend(w[0], bytes_of(out.back()), 1, i));
    std::fill(out.back().begin(), out.back().end(), 0);
  }
  for (int i = 0; i < kMessages; i += 3)
    receives.push_back(irecv(w[1], bytes_of(in[static_cast<size_t>(i)]), 0, i));
  for (Request* r : receives) finish(w[1], r);
  for (int i = 0; i < kMessages; i++)
    EXPECT_EQ(in[static_cast<size_t>(i)], pattern(static_cast<size_t>(i % 90), static_cast<unsigned>(i)))
        << i;
}

TEST(Apart, ALargeMessageGoesOnWhileItsProgramIsElsewhere) {
  for (const bool sender_elsewhere : {false, true}) {
    Apart w(2);
    ASSERT_TRUE(w[0].start_thread() && w[1].start_thread());
    std::vector<char> out = pattern(kLarge, 1), in(kLarge);
    Request* r = irecv(w[1], bytes_of(in), 0, 1);
    Request* s = isend(w[0], bytes_of(out), 1, 1);
    // Only one of the two does anything more.
    if (sender_elsewhere)
      w[1].wait(r);
    else
      w[0].wait(s);
    // The other one has been served by its thread, or is about to be.
    while (r->state.load() != RequestState::done || s->state.load() != RequestState::done)
      std::this_thread::yield();
    EXPECT_EQ(in, out);
    w[0].stop_thread();
    w[1].stop_thread();
  }
}

// In all orders and ways, by threads that wait for each other.
TEST(Apart, RandomMessagesOfAllSizes) {
  for (const bool oversubscribed : {true, false}) {
    constexpr int kTasks = 3, kMessages = 400;
    Apart w(kTasks, 64 << 10, oversubscribed);
    for (int i = 0; i < kTasks; i++) ASSERT_TRUE(w[i].start_thread());
    std::vector<size_t> sizes;
    std::mt19937 random(5);
    for (int i = 0; i < kMessages; i++) {
      const unsigned bits = random() % 20;
      sizes.push_back(random() % ((size_t{1} << bits) + 1));
    }
    w.run([&](int me) {
      std::mt19937 own(static_cast<unsigned>(me));
      std::vector<std::vector<char>> in, out;
      std::vector<Request*> all;
      in.reserve(kMessages * kTasks);
      out.reserve(kMessages * kTasks);
      for (int i = 0; i < kMessages; i++) {
        const size_t n = sizes[static_cast<size_t>(i)];
        for (int peer = 0; peer < kTasks; peer++) {
          in.emplace_back(n);
          all.push_back(irecv(w[me], bytes_of(in.back()), peer, i));
          out.push_back(pattern(n, static_cast<unsigned>(i * kTasks + me)));
          const SendMode mode = own() % 4 == 0 ? SendMode::synchronous : SendMode::standard;
          all.push_back(isend(w[me], bytes_of(out.back()), peer, i, mode));
        }
        if (own() % 8 == 0) {
          for (Request* r : all) finish(w[me], r);
          all.clear();
        }
      }
      for (Request* r : all) finish(w[me], r);
      for (int i = 0; i < kMessages; i++)
        for (int peer = 0; peer < kTasks; peer++)
          EXPECT_EQ(in[static_cast<size_t>(i * kTasks + peer)],
                    pattern(sizes[static_cast<size_t>(i)], static_cast<unsigned>(i * kTasks + peer)));
    });
    for (int i = 0; i < kTasks; i++) w[i].stop_thread();
  }
}

// ---- processes

// Doubles with gaps, of another layout in each process, in memory that the other one has not.
struct Strided {
  Strided(int me, uint64_t doubles)
      : stride(me == 0 ? 16 : 24),
        count(doubles),
        memory(static_cast<char*>(os::map_memory(os::page_ceil(doubles * stride)))),
        layout(layout::make_hvector(doubles, 8, static_cast<int64_t>(stride), layout::byte_layout())) {}
  ~Strided() {
    layout::release(layout);
    os::unmap(memory, os::page_ceil(count * stride));
  }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;

  double& at(uint64_t i) { return *reinterpret_cast<double*>(memory + i * stride); }
  void fill(uint64_t seed) {
    for (uint64_t i = 0; i < count; i++) at(i) = static_cast<double>(seed + i);
  }
  bool holds(uint64_t seed) {
    bool all = true;
    for (uint64_t i = 0; i < count; i++) all = all && at(i) == static_cast<double>(seed + i);
    return all;
  }
  layout::Region region() const { return {memory, 1, layout}; }

  uint64_t stride, count;
  char* memory;
  const layout::Layout* layout;
};

// What one of the two says to the other: 64 messages of each size there and back, right or not.
bool converse(Engine& e, int me, uint64_t doubles, bool blocking) {
  Strided buffer(me, doubles);
  bool right = true;
  for (uint64_t i = 0; i < 64; i++) {
    for (int turn = 0; turn < 2; turn++) {
      const uint64_t seed = 100 * i + static_cast<uint64_t>(turn);
      if (turn == me) {
        buffer.fill(seed);
        finish(e, isend(e, buffer.region(), 1 - me, 3, SendMode::standard, blocking ? 1 : 0));
      } else {
        Request* r = make(e, buffer.region(), 1 - me, 3);
        blocking ? e.receive(r) : e.start_receive(r);
        e.wait(r);
        e.give_request(r);
        right = right && buffer.holds(seed);
      }
    }
  }
  return right;
}

TEST(Apart, ProcessesReadNothingOfEachOther) {
  // The memory of both, and in front of it where the engines are announced.
  constexpr uint64_t kSlice = 64 << 20;
  char* const shared = static_cast<char*>(os::map_shared(3 * kSlice));
  ASSERT_NE(shared, nullptr);
  Board* board = reinterpret_cast<Board*>(shared);
  board->task_count = 2;
  const auto play = [&](int me) {
    // The buffers of one are where the other can read nothing.
    if (me == 1) os::reserve(256 << 20);
    use_slice(shared + static_cast<uint64_t>(me + 1) * kSlice, kSlice);
    Engine e;
    Engine::Options o{};
    o.eager_bytes = 64 << 10;
    o.transfer.ahead = true;
    o.wait = {2000, false, nullptr};
    o.apart = true;
    e.set_options(o);
    board->member(me).endpoint.store(e.make_endpoint(board, me));
    while (board->member(1 - me).endpoint.load() == nullptr) std::this_thread::yield();
    bool right = e.start_thread();
    for (const uint64_t doubles : {2, 40, 300, 2000, 8000, 9000, 100'000})
      for (const bool blocking : {true, false}) right = converse(e, me, doubles, blocking) && right;
    e.stop_thread();
    return right;
  };
  pid_t pids[2];
  for (int me = 0; me < 2; me++) {
    pids[me] = fork();
    if (pids[me] == 0) _exit(play(me) ? 0 : 1);
  }
  for (const pid_t pid : pids) {
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  os::unmap(shared, 3 * kSlice);
}

// Nothing is left of a task's memory but some requests.
std::vector<Cell*> take_all_memory(World& w, Engine& e) {
  for (int i = 0; i < 2; i++) w[i].give_request(w[i].take_request());
  std::vector<Cell*> all;
  for (uint64_t bytes = 1 << 20; bytes >= 64; bytes /= 2)
    while (Cell* cell = e.take_cell(bytes)) all.push_back(cell);
  return all;
}

// A sender whose slice is full sends messages that stay in the ring, and then one that needs no memory.
bool sends_in_order(bool apart) {
  constexpr int kSmall = 20;
  World w(2, Protocol::automatic, 64 << 10, 4 << 10, true, apart);
  Engine& e = w[0];
  const std::vector<Cell*> all = take_all_memory(w, e);
  std::vector<char> small = pattern(300, 1), large = pattern(100'000, 2), in(100'000);
  std::thread sender([&] {
    for (int i = 0; i < kSmall; i++) finish(e, isend(e, bytes_of(small), 1, 3));
    Request* r = isend(e, bytes_of(large), 1, 3, SendMode::synchronous);
    while (!e.poll(r, true)) std::this_thread::yield();
  });
  // What is sent small is in the ring by then, and the large one would be in the queue.
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(50)) std::this_thread::yield();
  bool right = true;
  for (int i = 0; i <= kSmall; i++) {
    if (i == kSmall)  // which tasks that are apart pass through some
      for (Cell* cell : all) return_cell(cell);
    Request* r = irecv(w[1], bytes_of(in), 0, 3);
    w[1].wait(r);
    right = right && r->status_bytes == (i < kSmall ? small.size() : large.size());
    w[1].give_request(r);
  }
  sender.join();
  return right && in == large;
}

// To itself, where nobody else could ever make room: an error, not a hang.
bool says_so_to_itself(bool apart) {
  World w(2, Protocol::automatic, 64 << 10, 4 << 10, true, apart);
  Engine& e = w[0];
  take_all_memory(w, e);
  std::vector<char> small = pattern(300, 1), large = pattern(100'000, 2);
  finish(e, isend(e, bytes_of(small), 0, 3));
  return !e.start_send(make(e, bytes_of(large), 0, 3), SendMode::standard);
}

// Whether it is true in a process with little memory for messages.
bool holds_with_little_memory(bool (*what)(bool), bool apart) {
  constexpr uint64_t kSlice = 16 << 20;
  const pid_t pid = fork();
  if (pid == 0) {
    use_slice(static_cast<char*>(os::map_shared(kSlice)), kSlice);
    _exit(what(apart) ? 0 : 1);
  }
  int status = -1;
  return waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(Apart, NoMessageOvertakesThoseThatThereIsNoMemoryFor) {
  for (const bool apart : {false, true})
    EXPECT_TRUE(holds_with_little_memory(&sends_in_order, apart)) << "apart " << apart;
  EXPECT_TRUE(holds_with_little_memory(&says_so_to_itself, true));  // after some seconds
}

}  // namespace
}  // namespace tasuki::message
