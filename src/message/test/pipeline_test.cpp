// Messages that are packed before their receive is there, and what becomes of them when it never comes.
#include "message/transfers/pipeline.h"

#include "message/test/world.h"
#include "message/transfers/staged.h"

namespace tasuki::message {
namespace {

constexpr uint64_t kRoom = kStagingSlots * kStagingBytes;

// A send that has looked for its receive in vain, a few times.
Request* waiting_send(World& w, layout::Region region, int to = 1) {
  Request* s = isend(w[0], region, to, 3, SendMode::synchronous, 1);
  for (int i = 0; i < 20; i++) EXPECT_FALSE(w[0].poll(s, true));
  return s;
}

uint64_t packed_bytes(World& w) {
  return w[0].stats().transfer.pipelined_bytes;
}

TEST(Pipeline, AWaitingSendPacksWhatTheBufferHasRoomFor) {
  for (const size_t n : {size_t{2048}, size_t{20000}, size_t{65536}, size_t{200001}, size_t{1000000}}) {
    World w(2, Protocol::pipelined, 0);
    std::vector<char> out = pattern(n, 1), in(n, 0);
    Request* s = waiting_send(w, bytes_of(out));
    EXPECT_EQ(packed_bytes(w), std::min<uint64_t>(n, kRoom)) << n;
    Request* r = irecv(w[1], bytes_of(in), 0, 3);
    while (!w[1].poll(r, true)) w[0].poll(s, true);
    finish(w[0], s);
    EXPECT_EQ(in, out) << n;
    EXPECT_EQ(r->status_bytes, n);
  }
}

// The receiver alone copies what is not packed: nobody is held up by a sender that does not run.
TEST(Pipeline, TheReceiverNeedsNoSenderForTheRest) {
  World w(2, Protocol::pipelined, 0);
  std::vector<char> out = pattern(1000000, 1), in(out.size(), 0);
  Request* s = waiting_send(w, bytes_of(out));
  Request* r = irecv(w[1], bytes_of(in), 0, 3);
  finish(w[1], r);
  EXPECT_EQ(in, out);
  finish(w[0], s);
}

TEST(Pipeline, AShorterReceiveTakesWhatFits) {
  for (const size_t room : {size_t{0}, size_t{1}, size_t{5000}, size_t{29999}, size_t{300000}}) {
    for (const size_t n : {size_t{30000}, size_t{400000}}) {
      if (room >= n) continue;
      World w(2, Protocol::pipelined, 0);
      std::vector<char> out = pattern(n, 1), in(n, 7), expected = out;
      std::fill(expected.begin() + static_cast<ptrdiff_t>(room), expected.end(), 7);
      Request* s = waiting_send(w, bytes_of(out));
      w.run([&](int me) {
        if (me == 0) return finish(w[0], s);
        Request* r = irecv(w[1], {in.data(), room, layout::byte_layout()}, 0, 3);
        w[1].wait(r);
        EXPECT_EQ(r->truncated, 1);
        EXPECT_EQ(r->status_bytes, room);
        w[1].give_request(r);
      });
      EXPECT_EQ(in, expected) << room << " of " << n;
    }
  }
}

// The buffer is one message's at a time. A cancelled one gives it back.
TEST(Pipeline, TheBufferIsGivenBack) {
  World w(3, Protocol::pipelined, 0);
  std::vector<char> out = pattern(30000, 1), in(out.size()), other(out.size());
  Request* first = waiting_send(w, bytes_of(out), 1);
  Request* second = waiting_send(w, bytes_of(out), 2);
  EXPECT_EQ(first->ahead, 1);
  EXPECT_EQ(second->ahead, 0);
  EXPECT_EQ(packed_bytes(w), out.size());
  EXPECT_TRUE(w[0].cancel(first));
  finish(w[0], first);
  Request* third = waiting_send(w, bytes_of(out), 1);
  EXPECT_EQ(third->ahead, 1);
  Request* r = irecv(w[2], bytes_of(other), 0, 3);
  while (!w[2].poll(r, true)) w[0].poll(second, true);
  finish(w[1], irecv(w[1], bytes_of(in), 0, 3));
  finish(w[0], second);
  finish(w[0], third);
  EXPECT_EQ(in, out);
  EXPECT_EQ(other, out);
}

// A send whose receive does not come leaves the buffer to others, and arrives the way that it is decided.
TEST(Pipeline, ASendThatWaitsLongGivesTheBufferUp) {
  World w(3, Protocol::pipelined, 0);
  std::vector<char> out = pattern(30000, 1), in(out.size()), other(out.size());
  Request* first = waiting_send(w, bytes_of(out), 1);
  for (int i = 0; i < 10000; i++) ASSERT_FALSE(w[0].poll(first, true));
  EXPECT_EQ(first->ahead, 0);
  Request* second = waiting_send(w, bytes_of(out), 2);
  EXPECT_EQ(second->ahead, 1);
  for (auto [rank, buffer] : {std::pair(1, &in), std::pair(2, &other)}) {
    Request* r = irecv(w[rank], bytes_of(*buffer), 0, 3);
    while (!w[rank].poll(r, true)) w[0].poll(rank == 1 ? first : second, true);
    EXPECT_EQ(*buffer, out);
  }
  finish(w[0], first);
  finish(w[0], second);
}

// A message that may be buffered and whose receive is late is completed by packing it whole; then the buffer is
// free.
TEST(Pipeline, ALateReceiveFindsAMessageInACell) {
  constexpr size_t kBytes = kMostStaged + 1;
  World w(2, Protocol::pipelined, 1 << 20, 4 << 10, false);
  w[1].self()->waiting.store(1);  // in a call of MPI: messages are not put into cells at once
  std::vector<char> first = pattern(kBytes, 1), second = pattern(kBytes, 2), in(kBytes);
  for (std::vector<char>* out : {&first, &second}) {
    const std::vector<char> expected = *out;
    Request* s = isend(w[0], bytes_of(*out), 1, 3, SendMode::standard, 1);
    EXPECT_EQ(s->ahead, 1);
    finish(w[0], s);
    std::fill(out->begin(), out->end(), 0);
    finish(w[1], irecv(w[1], bytes_of(in), 0, 3));
    EXPECT_EQ(in, expected);
  }
}

// A task that comes late with a pointer to an earlier job of this memory claims nothing before the
// destination is known.
TEST(Pipeline, NobodyElseClaimsAheadOfTheReceive) {
  World w(2, Protocol::pipelined, 0);
  std::vector<char> out = pattern(30000, 1);
  Request* s = waiting_send(w, bytes_of(out));
  Claim c;
  EXPECT_FALSE(claim(s->transfer, End::front, 1, &c));
  EXPECT_FALSE(claim(s->transfer, End::back, 1, &c));
  EXPECT_TRUE(w[0].cancel(s));
}

TEST(Pipeline, AHintIsOfTheLastMessageOfItsKind) {
  auto s = std::make_unique<Staging>();
  EXPECT_FALSE(went_pipelined(*s, 0));
  EXPECT_FALSE(went_pipelined(*s, 12345));
  note_way(*s, 12345, true);
  EXPECT_TRUE(went_pipelined(*s, 12345));
  EXPECT_FALSE(went_pipelined(*s, 12345 + (uint64_t{1} << 40)));  // of the same place
  note_way(*s, 12345 + (uint64_t{1} << 40), false);               // says nothing of the other
  EXPECT_TRUE(went_pipelined(*s, 12345));
  note_way(*s, 12345, false);
  EXPECT_FALSE(went_pipelined(*s, 12345));
}

// Messages of a stream that is decided to go pipelined are packed ahead; those of another kind are not.
TEST(Pipeline, OnlyWhatWentPipelinedIsPackedAhead) {
  World w(2, Protocol::automatic, 0);
  const layout::Layout* sparse = layout::make_hvector(16384, 8, 1040, layout::byte_layout());
  std::vector<char> out = pattern(16384 * 1040, 1), in(out.size(), 0), dense(3000), got(3000);
  for (int i = 0; i < 2; i++) {
    Request* s = waiting_send(w, {out.data(), 1, sparse});
    EXPECT_EQ(s->ahead, i);  // the model says so of NAS_MG_x, 128 KiB
    Request* r = irecv(w[1], {in.data(), 1, sparse}, 0, 3);
    while (!w[1].poll(r, true)) w[0].poll(s, true);
    finish(w[0], s);
    w[1].give_request(r);
    Request* d = waiting_send(w, bytes_of(dense));
    EXPECT_EQ(d->ahead, 0);
    finish(w[1], irecv(w[1], bytes_of(got), 0, 3));
    finish(w[0], d);
  }
  for (size_t i = 0; i < 16384 * 8; i++) ASSERT_EQ(in[i / 8 * 1040 + i % 8], out[i / 8 * 1040 + i % 8]) << i;
  layout::release(sparse);
}

}  // namespace
}  // namespace tasuki::message
