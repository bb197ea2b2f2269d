// Bruck's all-to-all: log2(ranks) messages a rank instead of ranks - 1, for short blocks, whose bytes travel
// about log2(ranks) / 2 times.
//
// 1. Rotate: block i of `work` becomes the one for the rank i further on.
// 2. For k = 0, 1, ...: the blocks whose number i has bit k set go to the rank 2^k further on, where they
//    keep their number. So a block travels i ranks in all. They are packed into one message.
// 3. Block i of `work` is now the one from the rank i before: put it there.
#include "schedule/algorithms.h"
#include "schedule/algorithms/alltoall.h"

namespace tasuki::schedule {
namespace {

constexpr uint8_t kWork = 2, kPacked = 3, kArrived = 4;

// Blocks with bit k among 0 .. ranks - 1.
uint64_t blocks_with_bit(uint32_t ranks, uint32_t k) {
  const uint64_t half = uint64_t{1} << k, rest = ranks % (2 * half);
  return ranks / (2 * half) * half + (rest > half ? rest - half : 0);
}

Result<Outline> outline(const Parameters& p) {
  Outline o = alltoall_outline(p, 2 + 3 * log2_up(p.ranks));
  uint64_t most = 0;
  for (uint32_t k = 0; k < log2_up(p.ranks); k++) most = std::max(most, blocks_with_bit(p.ranks, k));
  o.buffers.push_back({"work", p.ranks * p.bytes});
  o.buffers.push_back({"packed", most * p.bytes});
  o.buffers.push_back({"arrived", most * p.bytes});
  return o;
}

// Copies the blocks with bit k of `work` together, or back.
void copy_blocks(const Parameters& p, uint32_t k, bool back, std::vector<Step>& out) {
  const uint64_t half = uint64_t{1} << k;
  uint64_t done = 0;
  for (uint64_t begin = half; begin < p.ranks; begin += 2 * half) {
    const uint64_t blocks = std::min<uint64_t>(half, p.ranks - begin);
    const uint64_t spread = begin * p.bytes, dense = done * p.bytes, bytes = blocks * p.bytes;
    out.push_back(back ? local_step(Action::copy, {kWork, spread, bytes}, kArrived, dense)
                       : local_step(Action::copy, {kPacked, dense, bytes}, kWork, spread));
    done += blocks;
  }
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const uint64_t n = p.ranks, bytes = p.bytes;
  if (round == 0) {
    out.push_back(local_step(Action::copy, {kWork, 0, (n - rank) * bytes}, kSendBuffer, rank * bytes));
    if (rank != 0)
      out.push_back(local_step(Action::copy, {kWork, (n - rank) * bytes, rank * bytes}, kSendBuffer, 0));
    return;
  }
  const uint32_t k = (round - 1) / 3;
  if (k == log2_up(p.ranks)) {
    for (uint32_t i = 0; i < p.ranks; i++)
      out.push_back(local_step(Action::copy, block(p, kReceiveBuffer, rank_before(rank, i, p.ranks)), kWork,
                               i * bytes));
    return;
  }
  const uint64_t together = blocks_with_bit(p.ranks, k) * bytes;
  switch ((round - 1) % 3) {
    case 0:
      copy_blocks(p, k, false, out);
      break;
    case 1:
      out.push_back(receive_step(rank_before(rank, uint64_t{1} << k, p.ranks), {kArrived, 0, together}));
      out.push_back(send_step(rank_after(rank, uint64_t{1} << k, p.ranks), {kPacked, 0, together}));
      break;
    default:
      copy_blocks(p, k, true, out);
      break;
  }
}

}  // namespace

const Algorithm kBruck{"bruck", "alltoall", "log2(ranks) messages, blocks travel several times",
                       false,   &outline,   &emit};

}  // namespace tasuki::schedule
