// One-sided communication. In each epoch every place of every window is written by at most one rank, or by all with an operation
// whose result does not depend on the order, so the contents after it are known to all.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "typed.h"

namespace stress {
namespace {

// Epochs of the library's own windows may be slow on a busy machine: few and small.
constexpr int64_t kSlot = 4096;

unsigned char byte_of(uint64_t seed, int origin, int target, int epoch, int64_t i) {
  return static_cast<unsigned char>(
      word_of(seed + static_cast<uint64_t>((origin * 16 + target) * 64 + epoch), static_cast<uint64_t>(i)));
}

// A window with a slot for each rank, made in one of the ways that MPI has.
struct Window {
  MPI_Win win = MPI_WIN_NULL;
  unsigned char* memory = nullptr;
  std::vector<unsigned char> own;
  MPI_Aint base = 0;  // of a dynamic window: what displacements are counted from, at each rank
  std::vector<MPI_Aint> bases;
  int64_t bytes;
  int how;

  Window(Random& random, MPI_Comm comm, int64_t bytes_, bool dynamic = true)
      : bytes(bytes_), how(draw(random, 0, dynamic ? 2 : 1)) {
    const int unit = 1;
    if (kOpenMpi && size_of(comm) == 1) how = 0;  // Open MPI 4.1 has no window of a process's own memory then
    const size_t ranks = static_cast<size_t>(size_of(comm));
    bases.assign(ranks, 0);
    if (how == 0) {
      step("MPI_Win_allocate");
      MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &memory, &win);
    } else {
      own.assign(static_cast<size_t>(bytes) + 1, 0);
      memory = own.data();
      if (how == 1) {
        step("MPI_Win_create");
        MPI_Win_create(memory, bytes, unit, MPI_INFO_NULL, comm, &win);
      } else {
        step("MPI_Win_create_dynamic");
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
        MPI_Win_attach(win, memory, bytes);
        MPI_Get_address(memory, &base);
        MPI_Allgather(&base, 1, MPI_AINT, bases.data(), 1, MPI_AINT, comm);
      }
    }
    memset(memory, 0, static_cast<size_t>(bytes));
    MPI_Barrier(comm);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  MPI_Aint at(int rank, int64_t offset) const { return bases[static_cast<size_t>(rank)] + offset; }
  void free(MPI_Comm comm) {
    MPI_Barrier(comm);
    if (how == 2) MPI_Win_detach(win, memory);
    step("MPI_Win_free");
    MPI_Win_free(&win);
  }
};

struct Put {
  int origin, target, kind;  // 0 put, 1 accumulate with MPI_REPLACE, 2 get
  int64_t ints;
  bool strided;
};

std::vector<Put> make_epoch(Random& random, int ranks, int most) {
  std::vector<Put> list;
  for (int o = 0; o < ranks; o++)
    for (int t = 0; t < ranks; t++)
      if (random.chance(100 * most / std::max(ranks, most)))
        list.push_back({o, t, draw(random, 0, 2), draw_size(random, kSlot / 2) / 4, random.chance(30)});
  return list;
}

}  // namespace

// Fences, and post-start-complete-wait, with puts, gets and replacing accumulates.
void windows(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), epochs = draw(random, 1, 4);
  const uint64_t seed = random.next();
  Window w(random, comm, kSlot * ranks);
  // What every window holds: the slot of origin o at target t.
  std::vector<std::vector<unsigned char>> model(static_cast<size_t>(ranks * ranks),
                                                std::vector<unsigned char>(kSlot, 0));
  auto slot = [&](int o, int t) -> std::vector<unsigned char>& {
    return model[static_cast<size_t>(o * ranks + t)];
  };
  MPI_Group all, partners;
  MPI_Comm_group(comm, &all);
  MPI_Datatype every_second;
  MPI_Type_create_resized(MPI_INT, 0, 8, &every_second);
  MPI_Type_commit(&every_second);
  if (random.chance(50)) {
    step("first fence");
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
  }
  for (int e = 0; e < epochs; e++) {
    const std::vector<Put> list = make_epoch(random, ranks, 4);
    const bool fence = random.chance(50), test = random.chance(30);
    std::vector<int> to, from;
    for (int r = 0; r < ranks; r++) {
      if (std::any_of(list.begin(), list.end(),
                      [&](const Put& p) { return p.origin == me && p.target == r; }))
        to.push_back(r);
      if (std::any_of(list.begin(), list.end(),
                      [&](const Put& p) { return p.origin == r && p.target == me; }))
        from.push_back(r);
    }
    if (fence) {
      step("MPI_Win_fence opens");
      MPI_Win_fence(0, w.win);
    } else {
      step("MPI_Win_post, MPI_Win_start");
      MPI_Group_incl(all, static_cast<int>(from.size()), from.data(), &partners);
      MPI_Win_post(partners, 0, w.win);
      MPI_Group_free(&partners);
      MPI_Group_incl(all, static_cast<int>(to.size()), to.data(), &partners);
      MPI_Win_start(partners, 0, w.win);
      MPI_Group_free(&partners);
    }
    std::vector<std::vector<unsigned char>> buffers;
    buffers.reserve(list.size());
    step("epoch: puts and gets");
    for (const Put& p : list) {
      buffers.emplace_back(static_cast<size_t>(4 * p.ints) + 8, 0x5a);
      if (p.origin != me) continue;
      unsigned char* b = buffers.back().data();
      const int n = static_cast<int>(p.ints);
      const MPI_Datatype type = p.strided ? every_second : MPI_INT;
      const MPI_Aint at = w.at(p.target, kSlot * p.origin);
      if (p.kind < 2)
        for (int64_t i = 0; i < 4 * p.ints; i++) b[i] = byte_of(seed, p.origin, p.target, e, i);
      if (p.kind == 0) MPI_Put(b, n, MPI_INT, p.target, at, n, type, w.win);
      if (p.kind == 1) MPI_Accumulate(b, n, MPI_INT, p.target, at, n, type, MPI_REPLACE, w.win);
      if (p.kind == 2) MPI_Get(b, n, MPI_INT, p.target, at, n, type, w.win);
      figures.epochs++;
    }
    if (fence) {
      step("MPI_Win_fence closes");
      MPI_Win_fence(0, w.win);
    } else {
      step("MPI_Win_complete");
      MPI_Win_complete(w.win);
      if (test) {
        step("MPI_Win_test");
        for (int done = 0; !done;) MPI_Win_test(w.win, &done);
      } else {
        step("MPI_Win_wait");
        MPI_Win_wait(w.win);
      }
    }
    for (size_t k = 0; k < list.size(); k++) {
      const Put& p = list[k];
      std::vector<unsigned char>& s = slot(p.origin, p.target);
      for (int64_t i = 0; i < 4 * p.ints; i++) {
        const size_t at = static_cast<size_t>(p.strided ? i / 4 * 8 + i % 4 : i);
        if (p.kind < 2) s[at] = byte_of(seed, p.origin, p.target, e, i);
        if (p.kind == 2 && p.origin == me && buffers[k][static_cast<size_t>(i)] != s[at])
          fail(__FILE__, __LINE__,
               "MPI_Get from " + std::to_string(p.target) + ": byte " + std::to_string(i));
      }
      for (size_t i = static_cast<size_t>(4 * p.ints); i < buffers[k].size(); i++)
        CHECK_EQ(buffers[k][i], 0x5a);
    }
    if (!fence) {
      step("barrier after the epoch");
      MPI_Barrier(comm);
    }
    for (int o = 0; o < ranks; o++)
      for (size_t i = 0; i < static_cast<size_t>(kSlot); i++)
        if (w.memory[static_cast<size_t>(o) * kSlot + i] != slot(o, me)[i])
          fail(__FILE__, __LINE__,
               std::string(fence ? "fence" : "post and wait") + ": byte " + std::to_string(i) + " from " +
                   std::to_string(o) + " in epoch " + std::to_string(e));
    if (!fence) MPI_Barrier(comm);  // nobody writes while somebody looks
    if (fence) MPI_Win_fence(0, w.win);
  }
  MPI_Type_free(&every_second);
  MPI_Group_free(&all);
  w.free(comm);
}

// Locks: puts into slots of one's own, requests, flushes, sums from all ranks into the same numbers.
void locks(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), rounds = draw(random, 1, 3);
  const uint64_t seed = random.next();
  constexpr int kSums = 16;
  Window w(random, comm, kSums * 8 + kSlot * ranks, false);
  std::vector<int64_t> sums(static_cast<size_t>(kSums * ranks));
  for (int e = 0; e < rounds; e++) {
    const bool everybody = random.chance(40), exclusive = random.chance(40), requests = random.chance(30);
    if (everybody) {
      step("MPI_Win_lock_all");
      MPI_Win_lock_all(0, w.win);
    }
    for (int d = 0; d < ranks; d++) {
      const int t = (me + d) % ranks;
      const int64_t bytes = 256;
      if (!everybody) {
        step("MPI_Win_lock");
        MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, t, 0, w.win);
      }
      std::vector<unsigned char> out(static_cast<size_t>(bytes)), in(static_cast<size_t>(bytes));
      for (int64_t i = 0; i < bytes; i++) out[static_cast<size_t>(i)] = byte_of(seed, me, t, e, i);
      const MPI_Aint at = kSums * 8 + kSlot * me;
      if (requests) {
        MPI_Request r;
        step("MPI_Rput");
        MPI_Rput(out.data(), static_cast<int>(bytes), MPI_BYTE, t, at, static_cast<int>(bytes), MPI_BYTE,
                 w.win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Win_flush(t, w.win);
        step("MPI_Rget");
        MPI_Rget(in.data(), static_cast<int>(bytes), MPI_BYTE, t, at, static_cast<int>(bytes), MPI_BYTE,
                 w.win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
      } else {
        MPI_Put(out.data(), static_cast<int>(bytes), MPI_BYTE, t, at, static_cast<int>(bytes), MPI_BYTE,
                w.win);
        step("MPI_Win_flush");
        MPI_Win_flush(t, w.win);
        MPI_Get(in.data(), static_cast<int>(bytes), MPI_BYTE, t, at, static_cast<int>(bytes), MPI_BYTE,
                w.win);
      }
      int64_t add[kSums];
      for (int k = 0; k < kSums; k++)
        add[k] = static_cast<int64_t>(
            word_of(seed + static_cast<uint64_t>(e), static_cast<uint64_t>(me * kSums + k)) % 1000);
      MPI_Accumulate(add, kSums, MPI_INT64_T, t, 0, kSums, MPI_INT64_T, MPI_SUM, w.win);
      if (everybody) {
        MPI_Win_flush_all(w.win);
      } else {
        step("MPI_Win_unlock");
        MPI_Win_unlock(t, w.win);
      }
      if (in != out)
        fail(__FILE__, __LINE__,
             "what was put into the window of " + std::to_string(t) + " is not what was got back");
      figures.epochs++;
    }
    if (everybody) {
      step("MPI_Win_unlock_all");
      MPI_Win_unlock_all(w.win);
    }
    step("locks: barrier");
    MPI_Barrier(comm);
    for (int r = 0; r < ranks; r++)
      for (int k = 0; k < kSums; k++)
        sums[static_cast<size_t>(k)] += static_cast<int64_t>(
            word_of(seed + static_cast<uint64_t>(e), static_cast<uint64_t>(r * kSums + k)) % 1000);
    step("MPI_Win_lock of the own window");
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w.win);
    for (int k = 0; k < kSums; k++) {
      int64_t value;
      memcpy(&value, w.memory + 8 * k, 8);
      CHECK_EQ(value, sums[static_cast<size_t>(k)]);
    }
    for (int o = 0; o < ranks; o++)
      for (int64_t i = 0; i < 256; i++)
        CHECK_EQ(w.memory[kSums * 8 + kSlot * o + i], byte_of(seed, o, me, e, i));
    MPI_Win_unlock(me, w.win);
    step("locks: second barrier");
    MPI_Barrier(comm);
  }
  w.free(comm);
}

// Counters that all ranks move at the same time: every value is seen by exactly one of them.
void atomics(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), home = draw(random, 0, ranks - 1),
            times = draw(random, 1, 10);
  const int kind = draw(random, 0, kOpenMpi ? 1 : 2);  // Open MPI 4.1's MPI_Compare_and_swap crashes
  Window w(random, comm, 64, false);
  std::vector<int> seen;
  step("atomics: MPI_Win_lock_all");
  MPI_Win_lock_all(0, w.win);
  for (int n = 0; n < times; n++) {
    int64_t one = 1, before = -1;
    if (kind == 0) {
      step("MPI_Fetch_and_op");
      MPI_Fetch_and_op(&one, &before, MPI_INT64_T, home, 0, MPI_SUM, w.win);
      MPI_Win_flush(home, w.win);
    } else if (kind == 1) {
      step("MPI_Get_accumulate");
      MPI_Get_accumulate(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, home, 0, 1, MPI_INT64_T, MPI_SUM,
                         w.win);
      MPI_Win_flush(home, w.win);
    } else {
      step("MPI_Compare_and_swap");
      int64_t guess = 0;
      for (;;) {
        const int64_t next = guess + 1;
        MPI_Compare_and_swap(&next, &guess, &before, MPI_INT64_T, home, 0, w.win);
        MPI_Win_flush(home, w.win);
        if (before == guess) break;
        guess = before;
      }
    }
    seen.push_back(static_cast<int>(before));
    figures.epochs++;
  }
  step("atomics: MPI_Win_unlock_all");
  MPI_Win_unlock_all(w.win);
  std::vector<int> all(static_cast<size_t>(times * ranks));
  MPI_Gather(seen.data(), times, MPI_INT, all.data(), times, MPI_INT, 0, comm);
  if (me == 0) {
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); i++) CHECK_EQ(all[i], static_cast<int>(i));
  }
  w.free(comm);
}

// Memory of a window that all ranks load from and store to.
void shared_windows(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), rounds = draw(random, 1, 4);
  const int64_t words = draw(random, 1, 2000);
  const uint64_t seed = random.next();
  const bool apart = random.chance(40);
  MPI_Info info;
  MPI_Info_create(&info);
  if (apart) MPI_Info_set(info, "alloc_shared_noncontig", "true");
  MPI_Win win;
  uint64_t* mine;
  step("MPI_Win_allocate_shared");
  MPI_Win_allocate_shared(8 * words, 8, info, comm, &mine, &win);
  MPI_Info_free(&info);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  std::vector<uint64_t*> at(static_cast<size_t>(ranks));
  for (int r = 0; r < ranks; r++) {
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(win, r, &bytes, &unit, &at[static_cast<size_t>(r)]);
    CHECK(bytes >= 8 * words);  // Open MPI says how many pages' bytes there are
    CHECK_EQ(unit, 8);
  }
  for (int e = 0; e < rounds; e++) {
    const int target = (me + e) % ranks;  // everybody writes the memory of one
    for (int64_t i = 0; i < words; i++)
      at[static_cast<size_t>(target)][i] =
          word_of(seed + static_cast<uint64_t>(e * 100 + target), static_cast<uint64_t>(i));
    MPI_Win_sync(win);
    step("shared window: barrier");
    MPI_Barrier(comm);
    MPI_Win_sync(win);
    for (int r = 0; r < ranks; r++)
      for (int64_t i = 0; i < words; i += 7)
        if (at[static_cast<size_t>(r)][i] !=
            word_of(seed + static_cast<uint64_t>(e * 100 + r), static_cast<uint64_t>(i)))
          fail(__FILE__, __LINE__,
               "shared window: word " + std::to_string(i) + " of rank " + std::to_string(r));
    step("shared window: second barrier");
    MPI_Barrier(comm);
    figures.epochs++;
  }
  MPI_Win_unlock_all(win);
  step("MPI_Win_free of a shared window");
  MPI_Win_free(&win);
}

}  // namespace stress
