// Reductions between the tasks of one communicator. Vectors are cut in slices, one for each task, which
// combines all ranks' elements of its slice in place, where they are: every element is read once for the
// result, on as many cores as there are tasks.
//
// Order: that of the ranks, whatever the operation. How neighbours are grouped depends on the number of tasks
// alone, so that results are the same from run to run, for each size, and on all tasks. It is the grouping of
// recursive doubling (Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, section 4), in which libraries
// combine small vectors: of 2^k tasks halves of halves; what are more than 2^k combine in pairs first.
#pragma once

#include "message/collectives/meeting.h"

namespace tasuki::message {

// An operation on rows of elements, which knows their type.
struct Combination {
  uint64_t size;  // bytes from one element to the next, at most kLargestElement
  // right[i] = left[i] op right[i], of `elements` elements.
  void (*combine)(const void* context, const char* left, char* right, uint64_t elements);
  const void* context;
};

// Partial results lie on the stack of a thread that may be the user's, so many bytes for each level of the
// grouping but one.
inline constexpr uint64_t kReductionPiece = 2 << 10;
inline constexpr uint64_t kLargestElement = kReductionPiece;

// Elements [begin, end) of vectors.
struct Range {
  uint64_t begin, end;
};

// The same range of the vectors of all ranks, combined as the operations below do it: for those that do not
// block. Its first element goes to `to`. `aside`: that may be in one of the vectors.
void combine_vectors(const char* const* vectors, int ranks, const Range& range, char* to,
                     const Combination& c, bool aside);

// What the first `ranks` have together in that range, from left to right, as scan() below does it. It may be
// in one of the vectors.
void fold_vectors(const char* const* vectors, int ranks, const Range& range, char* to, const Combination& c);

// One rank's vectors; the same one twice: in place.
struct Vectors {
  const char* send;
  char* receive;
};

enum class Scan : bool { inclusive, exclusive };
// The same range of a scan, for all ranks at once.
void scan_vectors(const Vectors* vectors, int ranks, Scan kind, const Range& range, const Combination& c);

// Elements that are combined at once.
inline uint64_t elements_in_piece(const Combination& c) {
  return kReductionPiece / c.size;
}

// All return false if there is no memory, in which case no task can go on. `send` and `receive` are rows of
// elements; they are the same, or do not overlap.

// MPI_Allreduce; MPI_Reduce, where `receive` is the root's alone.
bool reduce_for_all(Meeting& m, const char* send, char* receive, uint64_t elements, const Combination& c);
bool reduce_for_root(Meeting& m, int root, const char* send, char* receive, uint64_t elements,
                     const Combination& c);
// MPI_Reduce_scatter of so many elements: this task gets [begin, begin + count).
bool reduce_and_scatter(Meeting& m, const char* send, char* receive, uint64_t elements, uint64_t begin,
                        uint64_t count, const Combination& c);
// MPI_Scan and MPI_Exscan: what the ranks up to this one, or those before it, have. The first gets nothing
// from the latter.
bool scan(Meeting& m, Scan kind, const char* send, char* receive, uint64_t elements, const Combination& c);

}  // namespace tasuki::message
