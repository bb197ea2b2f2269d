// A2AT: all-to-all on a square torus with four messages at a time, one for each injection port, so chosen
// that all directed links carry the same number of messages. (Shibamura et al., "Optimization and Simulation
// Evaluation of an All-to-all Communication Using Packet Pacing", section 2 and figure 4; the algorithm is
// that of its reference 2.) All numbers below are relative coordinates of the destination; n is the extent, m
// is (n - 1) / 2 rounded down. A message goes x links in one dimension and y in the other.
//
//   for i = 1 .. m:      phase 1   (i, 0)     (-i, 0)     (0, i)      (0, -i)      i links
//                        phase 2   (i, i)     (-i, -i)    (i, -i)     (-i, i)      2 i
//     for j = 1 .. i-1:  phase 3   (i, j)     (-i, -j)    (j, i)      (-j, -i)     i + j
//                        phase 4   (-i, j)    (i, -j)     (-j, i)     (j, -i)      i + j
//   for n even:
//     k = 1 .. n/2 - 1:  phase 5   (n/2, -k)  (n/2, k)    (-k, n/2)   (k, n/2)     n/2 + k
//                        phase 6   (n/2, n/2) (n/2, 0)    (0, n/2)                 n; n/2
//
// Each line is a round, since a rank waits for all its messages before it goes on: m (m + 1) of them, and n/2
// more when n is even. That is 20 for 9x9, number 14 being phase 2 of i = 4, eight links, as the paper's
// section 4.4 has it. In phases 1 to 4 each direction of links carries as many messages as they have links to
// go; in 5 and 6 both ways to n/2 are equally long, routing takes one of them, and the load is uneven.
//
// The listing of figure 4 is damaged in the copy that we have. Read as it stands,
//   phase 4 sends (-i, i), (i, -i), (-i, j), (j, -i): the diagonals, which phase 2 has sent already, and half
//     of the second kind of quadrant; and it stands outside phase 3's condition 0 < j < i <= (n-1)/2;
//   the even phases stand inside the loop over i, and have i/2 where only n/2 makes sense; phase 5 sends to
//   negative and positive halves at once, with (-n/2, -k) and (-k, -n/2) for what is the same
//     node as (n/2, -k) and (-k, n/2);
//   phase 6 has four messages, (-n/2, 0) beside (n/2, 0), which is the same node: one destination twice.
// What stands above is the one reading that sends every other rank its block once, for odd and even n, agrees
// with the listing wherever that is possible (the NICs of phase 4 follow its order), and has the paper's
// number of sequences. Receives are those of the messages that all the others send to this rank in the same
// round, as phases 1 and 2 of the listing have them: from the opposite relative coordinates.
#include <array>
#include <cerrno>

#include "schedule/algorithms.h"
#include "schedule/algorithms/alltoall.h"

namespace tasuki::schedule {
namespace {

struct Offset {
  int64_t x, y;
};

// The four messages of a round; the last round of an even extent has three.
struct Quartet {
  std::array<Offset, 4> to;
  size_t count = 4;
};

uint32_t rounds_of(uint32_t n) {
  const uint32_t m = (n - 1) / 2;
  return m * (m + 1) + (n % 2 == 0 ? n / 2 : 0);
}

Quartet quartet(uint32_t n, uint32_t round) {
  const int64_t m = (n - 1) / 2, half = n / 2;
  const int64_t beyond = round - m * (m + 1);
  if (beyond == half - 1) return {{{{half, half}, {half, 0}, {0, half}, {0, 0}}}, 3};
  if (beyond >= 0) {
    const int64_t k = beyond + 1;
    return {{{{half, -k}, {half, k}, {-k, half}, {k, half}}}};
  }
  int64_t i = 1;  // i has 2 i rounds
  while (round >= i * (i + 1)) i++;
  const int64_t within = round - i * (i - 1), j = within / 2;
  if (within == 0) return {{{{i, 0}, {-i, 0}, {0, i}, {0, -i}}}};
  if (within == 1) return {{{{i, i}, {-i, -i}, {i, -i}, {-i, i}}}};
  if (within % 2 == 0) return {{{{i, j}, {-i, -j}, {j, i}, {-j, -i}}}};
  return {{{{-i, j}, {i, -j}, {-j, i}, {j, -i}}}};
}

Result<Outline> outline(const Parameters& p) {
  if (p.shape.size() != 2 || p.shape[0] != p.shape[1] || !p.wraps)
    return Status::error(EINVAL, "a2at: needs a square torus of two dimensions, for example 8x8");
  return alltoall_outline(p, rounds_of(p.shape[0]));
}

void emit(const Parameters& p, uint32_t rank, uint32_t, uint32_t round, std::vector<Step>& out) {
  const uint32_t n = p.shape[0];
  const int64_t x = rank % n, y = rank / n;
  const auto at = [&](int64_t dx, int64_t dy) {
    return static_cast<uint32_t>((x + dx + n) % n + (y + dy + n) % n * n);
  };
  if (n > 1) {
    const Quartet q = quartet(n, round);
    for (size_t k = 0; k < q.count; k++) out.push_back(receive_block(p, at(-q.to[k].x, -q.to[k].y)));
    for (size_t k = 0; k < q.count; k++)
      out.push_back(send_block(p, at(q.to[k].x, q.to[k].y), static_cast<int16_t>(k)));
  }
  if (round == 0) out.push_back(own_block(p, rank));
}

}  // namespace

const Algorithm kA2at{
    "a2at", "alltoall", "four messages at a time with equal load on all links of a square torus",
    true,   &outline,   &emit};

}  // namespace tasuki::schedule
