// Reductions of large vectors that do not block. Each task tells all others where its vectors are. From then
// on whoever looks at the operation takes a unit of the vectors that nobody has taken, combines it where it
// lies, and writes the result to all that get it. So a task that waits needs no other one to do anything
// more: the others may be busy with something that waits for this task.
//
// Order and grouping are those of the operations that block (reduction.h).
#pragma once

#include <optional>
#include <vector>

#include "message/collectives/parts.h"
#include "message/collectives/reduction.h"

namespace tasuki::message {

// Which units have been taken: in the memory of the first task of the communicator.
struct alignas(kLine) JointUnits {
  std::atomic<uint64_t> taken;
  alignas(kLine) std::atomic<uint64_t> done;
  std::atomic<int> left;  // tasks that do not look any more
  int members;
  JointUnits* next;  // of the pool's
};

// The units of the operations that one task has begun as the first of their communicators. Some of the others
// may still look at those of an operation that is complete here. Thread-safe.
class JointPool {
 public:
  // nullptr: no memory.
  JointUnits* take(int members);

 private:
  SpinLock lock_;
  JointUnits* all_ = nullptr;
};

// What one task gives and gets; all name the same elements.
struct JointVectors {
  const char* send;
  char* receive;      // nullptr: it gets nothing; what `send` is: in place
  uint64_t elements;  // of `send`
};

// One task's side of one operation. Used by one thread at a time.
class JointReduction {
 public:
  // `ends`: by rank, up to which element of the result it gets, from where that of the rank before ends; the
  // result lies at the beginning of its `receive`. Empty: whoever gets something gets all.
  // `scan`: each gets the result of a scan; `ends` is empty then.
  JointReduction(Engine& engine, const Member& me, const JointVectors& vectors, std::vector<uint64_t> ends,
                 const Combination& c, std::optional<Scan> scan = std::nullopt);
  JointReduction(const JointReduction&) = delete;
  JointReduction& operator=(const JointReduction&) = delete;
  ~JointReduction();

  // False: no memory, in which case no other task can go on.
  bool begin(Parts& parts, JointPool& pool);
  // Does one unit, if all have begun. True: the operation is complete here.
  bool look();

 private:
  struct Shown {
    const char* send;
    char* receive;
    JointUnits* units;  // of the first task
  };
  void combine(uint64_t unit) const;
  void learn();
  void give(const char* piece, uint64_t begin, uint64_t end) const;

  Engine& engine_;
  const Member me_;
  const JointVectors vectors_;
  const std::vector<uint64_t> ends_;
  const Combination c_;
  const std::optional<Scan> scan_;
  const uint64_t piece_, unit_, units_;  // elements of a piece and of a unit; units
  std::vector<Shown> shown_;             // by rank
  std::vector<layout::Region> places_;   // of these
  std::vector<char> aside_;              // what this task gives, where its result would lie over it
  std::vector<const char*> sends_;       // by rank, when all are known,
  std::vector<Vectors> all_;             //   and of a scan both
  Request* arriving_ = nullptr;          // what the others show
  uint32_t idle_looks_ = 0;
  bool complete_ = false;
};

}  // namespace tasuki::message
