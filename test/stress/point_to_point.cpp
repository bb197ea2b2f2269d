// Messages between all ranks at once: every mode of sending, every form of receiving, every way to complete, types on both sides.
#include <algorithm>
#include <cstring>
#include <memory>

#include "completion.h"
#include "typed.h"

namespace stress {
namespace {

enum class Send {
  send,
  ssend,
  bsend,
  rsend,
  isend,
  issend,
  ibsend,
  irsend,
  persistent,
  sync,
  null_pair,
  packed,
  freed
};
enum class Receive { irecv, persistent, recv, probe, mprobe, improbe, iprobe, null_pair, unpacked };
constexpr int kSends = 13, kReceives = 9;

struct Plan {
  int from, to, tag;
  Send send;
  Receive receive;
  bool any_source, send_bottom, receive_bottom, free_type;
  std::unique_ptr<Message> message;
  bool posted() const { return receive == Receive::irecv || receive == Receive::persistent; }
};

bool blocks(Send s) {
  return s == Send::send || s == Send::ssend || s == Send::null_pair;
}

std::vector<Plan> make_plan(Random& random, int ranks, bool* ready) {
  std::vector<Plan> plan(static_cast<size_t>(draw(random, 1, 4 + 3 * std::min(ranks, 5))));
  int tag = 0;
  *ready = false;
  for (Plan& p : plan) {
    p.from = draw(random, 0, ranks - 1);
    p.to = draw(random, 0, ranks - 1);
    // Few tags: messages of the same sender with the same tag must arrive in the order in which they were sent. A tag of its
    // own lets a receive have any source.
    p.any_source = random.chance(20);
    p.tag = p.any_source ? 100 + tag++ : draw(random, 0, 2);
    p.send = static_cast<Send>(random.between(0, kSends - 1));
    p.receive = static_cast<Receive>(random.between(0, kReceives - 1));
    p.send_bottom = random.chance(10) && p.send != Send::packed;  // MPICH's MPI_Pack refuses MPI_BOTTOM
    p.receive_bottom = random.chance(10);
    p.free_type = random.chance(30);
    // Threads and a small buffer that is used again and again: plain Open MPI 4.1 hangs.
    if (job.multiple && (p.send == Send::bsend || p.send == Send::ibsend)) p.send = Send::isend;
    if (p.send == Send::rsend || p.send == Send::irsend)
      p.receive = random.chance(60) ? Receive::irecv : Receive::persistent;
    // One order for each pair and tag: all of them are posted before anything is sent, or none.
    for (const Plan& q : plan) {
      if (&q == &p) break;
      if (q.from != p.from || q.to != p.to || q.tag != p.tag) continue;
      if (q.posted() && !p.posted()) p.receive = Receive::irecv;
      if (!q.posted() && p.posted()) p.receive = Receive::recv;
      break;
    }
    // What waits for its receive must find it posted, or two ranks wait for each other.
    if (blocks(p.send) && !p.posted()) p.send = Send::isend;
    if ((p.send == Send::rsend || p.send == Send::irsend) && !p.posted()) p.send = Send::issend;
    // Plain MPICH 4.0 and Open MPI 4.1 lose a message to oneself whose request is freed before its receive is there.
    if (p.send == Send::freed && p.from == p.to) p.send = Send::isend;
    if (p.send == Send::rsend || p.send == Send::irsend) *ready = true;
    const bool simple = random.chance(45);
    p.message = std::make_unique<Message>(random_message(random, simple));
    if (p.send == Send::packed || p.receive == Receive::unpacked) p.send_bottom = p.receive_bottom = false;
  }
  return plan;
}

// A typed buffer as a call wants it: by its address, or absolutely, from MPI_BOTTOM.
struct Buffer {
  Memory memory;
  std::unique_ptr<Type> own;
  MPI_Datatype absolute = MPI_DATATYPE_NULL, type;
  void* at;
  int count;
  Buffer(const Side& side, uint64_t fill, bool bottom)
      : memory(side, fill), own(std::make_unique<Type>(side)) {
    type = *own;
    at = memory.at();
    count = side.count;
    if (bottom && count > 0) {
      MPI_Aint where;
      MPI_Get_address(at, &where);
      MPI_Type_create_hindexed(1, &count, &where, type, &absolute);
      MPI_Type_commit(&absolute);
      own.reset();
      type = absolute;
      at = MPI_BOTTOM;
      count = 1;
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(); }
  void release() {
    own.reset();
    if (absolute != MPI_DATATYPE_NULL) MPI_Type_free(&absolute);
  }
};

class Round {
 public:
  Round(Random& random, MPI_Comm comm) : comm_(comm), me_(rank_in(comm)) {
    plan_ = make_plan(random, size_of(comm), &ready_);
    Random mine = own(random, comm);
    buffers_.resize(2 * plan_.size());
    packed_.resize(plan_.size());
    step("p2p: posting receives");
    for (size_t k = 0; k < plan_.size(); k++)
      if (plan_[k].to == me_ && plan_[k].posted()) post(k);
    if (ready_) {
      step("p2p: barrier before ready sends");
      MPI_Barrier(comm);
    }
    for (size_t k = 0; k < plan_.size(); k++)
      if (plan_[k].from == me_) send(k);
    for (size_t k = 0; k < plan_.size(); k++)
      if (plan_[k].to == me_ && !plan_[k].posted()) receive(k);
    step("p2p: completing");
    complete_all(mine, requests_, [&](size_t i, const MPI_Status& s) {
      if (of_[i] >= 0) judge(static_cast<size_t>(of_[i]), s);
    });
    for (MPI_Request& r : requests_)
      if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
    step("p2p: barrier at the end");
    MPI_Barrier(comm);  // what was freed has been received
    step("p2p: judging send buffers");
    for (size_t k = 0; k < plan_.size(); k++)
      if (plan_[k].from == me_ &&
          Memory(plan_[k].message->send, plan_[k].message->send_fill).bytes != buffers_[2 * k]->memory.bytes)
        fail(__FILE__, __LINE__, "the send buffer was written: " + name(k));
  }

 private:
  MPI_Comm comm_;
  int me_;
  bool ready_ = false;
  std::vector<Plan> plan_;
  std::vector<std::unique_ptr<Buffer>> buffers_;  // two for each message: send, receive
  std::vector<std::vector<char>> packed_;
  std::vector<MPI_Request> requests_;
  std::vector<int> of_;  // the message that a request receives, -1: a send's

  std::string name(size_t k) const {
    const Plan& p = plan_[k];
    return "message " + std::to_string(k) + " from " + std::to_string(p.from) + " to " +
           std::to_string(p.to) + " tag " + std::to_string(p.tag) + " send " +
           std::to_string(static_cast<int>(p.send)) + " receive " +
           std::to_string(static_cast<int>(p.receive)) + " bottom " + std::to_string(p.send_bottom) +
           std::to_string(p.receive_bottom) + "\n  " + describe(*p.message);
  }

  MPI_Request* request(int of) {
    requests_.push_back(MPI_REQUEST_NULL);
    of_.push_back(of);
    return &requests_.back();
  }

  int source(const Plan& p) const { return p.any_source ? MPI_ANY_SOURCE : p.from; }

  Buffer& receive_buffer(size_t k) {
    const Plan& p = plan_[k];
    buffers_[2 * k + 1] =
        std::make_unique<Buffer>(p.message->receive, p.message->receive_fill, p.receive_bottom);
    return *buffers_[2 * k + 1];
  }

  void post(size_t k) {
    const Plan& p = plan_[k];
    Buffer& b = receive_buffer(k);
    MPI_Request* r = request(static_cast<int>(k));
    if (p.receive == Receive::irecv) {
      MPI_Irecv(b.at, b.count, b.type, source(p), p.tag, comm_, r);
    } else {
      MPI_Recv_init(b.at, b.count, b.type, source(p), p.tag, comm_, r);
      MPI_Start(r);
    }
    if (p.free_type) b.release();
  }

  void send(size_t k) {
    step("p2p: sending");
    const Plan& p = plan_[k];
    buffers_[2 * k] = std::make_unique<Buffer>(p.message->send, p.message->send_fill, p.send_bottom);
    Buffer& b = *buffers_[2 * k];
    const int to = p.to, tag = p.tag;
    switch (p.send) {
      case Send::send:
        step("MPI_Send");
        MPI_Send(b.at, b.count, b.type, to, tag, comm_);
        break;
      case Send::ssend:
        step("MPI_Ssend");
        MPI_Ssend(b.at, b.count, b.type, to, tag, comm_);
        break;
      case Send::bsend:
        MPI_Bsend(b.at, b.count, b.type, to, tag, comm_);
        break;
      case Send::rsend:
        MPI_Rsend(b.at, b.count, b.type, to, tag, comm_);
        break;
      case Send::isend:
        MPI_Isend(b.at, b.count, b.type, to, tag, comm_, request(-1));
        break;
      case Send::issend:
        MPI_Issend(b.at, b.count, b.type, to, tag, comm_, request(-1));
        break;
      case Send::ibsend:
        MPI_Ibsend(b.at, b.count, b.type, to, tag, comm_, request(-1));
        break;
      case Send::irsend:
        MPI_Irsend(b.at, b.count, b.type, to, tag, comm_, request(-1));
        break;
      case Send::persistent:
      case Send::sync: {
        MPI_Request* r = request(-1);
        if (p.send == Send::persistent) {
          MPI_Send_init(b.at, b.count, b.type, to, tag, comm_, r);
        } else {
          MPI_Ssend_init(b.at, b.count, b.type, to, tag, comm_, r);
        }
        MPI_Start(r);
        break;
      }
      case Send::null_pair:
        step("MPI_Sendrecv from nobody");
        MPI_Sendrecv(b.at, b.count, b.type, to, tag, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, comm_,
                     MPI_STATUS_IGNORE);
        break;
      case Send::packed: {
        int size, position = 0;
        MPI_Pack_size(b.count, b.type, comm_, &size);
        packed_[k].resize(static_cast<size_t>(size) + 1);
        MPI_Pack(b.at, b.count, b.type, packed_[k].data(), size, &position, comm_);
        MPI_Isend(packed_[k].data(), position, MPI_PACKED, to, tag, comm_, request(-1));
        break;
      }
      case Send::freed: {
        MPI_Request r;
        MPI_Isend(b.at, b.count, b.type, to, tag, comm_, &r);
        MPI_Request_free(&r);
        break;
      }
    }
    if (p.free_type) b.release();
    figures.messages++;
    figures.bytes += static_cast<uint64_t>(p.message->bytes());
  }

  void receive(size_t k) {
    const Plan& p = plan_[k];
    Buffer& b = receive_buffer(k);
    const int from = source(p), tag = p.tag;
    MPI_Status s;
    MPI_Message message;
    int there = 0;
    switch (p.receive) {
      case Receive::probe:
        step("MPI_Probe");
        MPI_Probe(from, tag, comm_, &s);
        check_status(k, s);
        MPI_Recv(b.at, b.count, b.type, s.MPI_SOURCE, s.MPI_TAG, comm_, &s);
        break;
      case Receive::iprobe:
        step("MPI_Iprobe");
        while (!there) MPI_Iprobe(from, tag, comm_, &there, &s);
        check_status(k, s);
        MPI_Recv(b.at, b.count, b.type, from, tag, comm_, &s);
        break;
      case Receive::mprobe:
        step("MPI_Mprobe");
        MPI_Mprobe(from, tag, comm_, &message, &s);
        check_status(k, s);
        MPI_Mrecv(b.at, b.count, b.type, &message, &s);
        break;
      case Receive::improbe: {
        step("MPI_Improbe");
        while (!there) MPI_Improbe(from, tag, comm_, &there, &message, &s);
        check_status(k, s);
        MPI_Request r;
        MPI_Imrecv(b.at, b.count, b.type, &message, &r);
        MPI_Wait(&r, &s);
        break;
      }
      case Receive::null_pair:
        step("MPI_Sendrecv to nobody");
        MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, b.at, b.count, b.type, from, tag, comm_, &s);
        break;
      case Receive::unpacked: {
        step("MPI_Probe before MPI_Unpack");
        MPI_Probe(from, tag, comm_, &s);
        int bytes, position = 0;
        MPI_Get_count(&s, MPI_PACKED, &bytes);
        if (p.message->receive_count < 0 || p.receive_bottom) {
          MPI_Recv(b.at, b.count, b.type, from, tag, comm_, &s);
          break;
        }
        std::vector<char> packed(static_cast<size_t>(bytes) + 1);
        MPI_Recv(packed.data(), bytes, MPI_PACKED, from, tag, comm_, &s);
        MPI_Unpack(packed.data(), bytes, &position, b.at, static_cast<int>(p.message->receive_count), b.type,
                   comm_);
        judge_bytes(k);
        return;
      }
      default:
        step("MPI_Recv");
        MPI_Recv(b.at, b.count, b.type, from, tag, comm_, &s);
    }
    judge(k, s);
  }

  void check_status(size_t k, const MPI_Status& s) {
    const Plan& p = plan_[k];
    if (s.MPI_SOURCE != p.from || s.MPI_TAG != p.tag)
      fail(__FILE__, __LINE__,
           "source " + std::to_string(s.MPI_SOURCE) + ", tag " + std::to_string(s.MPI_TAG) + ": " + name(k));
    if (p.receive_bottom || (p.free_type && p.posted())) return;  // counts whole buffers; the type is gone
    int count;
    MPI_Get_count(&s, buffers_[2 * k + 1]->type, &count);
    if ((count == MPI_UNDEFINED ? -1 : count) != p.message->receive_count)
      fail(__FILE__, __LINE__,
           "the count is " + std::to_string(count) + ", expected " +
               std::to_string(p.message->receive_count) + ": " + name(k));
  }

  void judge(size_t k, const MPI_Status& s) {
    check_status(k, s);
    judge_bytes(k);
  }

  void judge_bytes(size_t k) {
    Memory wanted = expected(*plan_[k].message);
    compare(plan_[k].message->receive, buffers_[2 * k + 1]->memory, wanted, plan_[k].message->elements,
            name(k));
  }
};

}  // namespace

void point_to_point(Random& random, MPI_Comm comm) {
  Round round(random, comm);
}

// Receives of any source and any tag, while each rank sends to many: what one sender sends arrives in order, with the tag, the
// length and the bytes of the next of its messages.
void streams(Random& random, MPI_Comm comm) {
  const int ranks = size_of(comm), me = rank_in(comm), each = draw(random, 1, 30);
  const int64_t most = random.chance(80) ? 3000 : 80000;
  const uint64_t seed = random.next();
  auto length = [&](int from, int to, int k) {
    Random r(seed + static_cast<uint64_t>((from * 64 + to) * 64 + k));
    return draw_size(r, most) / 4 * 4;
  };
  auto fill = [&](int from, int to, int k) {
    return seed ^ static_cast<uint64_t>((from * 64 + to) * 64 + k + 1) * 77;
  };
  auto tag = [&](int from, int to, int k) { return static_cast<int>(fill(from, to, k) % 5); };
  Random mine = own(random, comm);

  // A window of receives that are posted ahead; the rest comes one by one, in forms of all kinds.
  const int expected_messages = each * ranks, window = std::min(expected_messages, draw(mine, 0, 8));
  std::vector<MPI_Request> requests;
  std::vector<std::vector<unsigned char>> in(static_cast<size_t>(window)), out;
  for (auto& buffer : in) {
    buffer.assign(static_cast<size_t>(most) + 4, 0xee);
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(buffer.data(), static_cast<int>(most / 4), MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
              &requests.back());
  }
  std::vector<MPI_Request> sends;
  for (int k = 0; k < each; k++)
    for (int d = 0; d < ranks; d++) {
      const int to = (me + d) % ranks;
      out.emplace_back(static_cast<size_t>(length(me, to, k)));
      for (size_t i = 0; i < out.back().size(); i++)
        out.back()[i] = static_cast<unsigned char>(word_of(fill(me, to, k), i));
      sends.push_back(MPI_REQUEST_NULL);
      const int n = static_cast<int>(out.back().size() / 4);
      if (mine.chance(20)) {
        MPI_Issend(out.back().data(), n, MPI_INT, to, tag(me, to, k), comm, &sends.back());
      } else {
        MPI_Isend(out.back().data(), n, MPI_INT, to, tag(me, to, k), comm, &sends.back());
      }
      figures.messages++;
      figures.bytes += out.back().size();
    }
  std::vector<int> seen(static_cast<size_t>(ranks));
  auto judge = [&](const std::vector<unsigned char>& buffer, const MPI_Status& s) {
    CHECK(s.MPI_SOURCE >= 0 && s.MPI_SOURCE < ranks);
    const int k = seen[static_cast<size_t>(s.MPI_SOURCE)]++;
    CHECK(k < each);
    CHECK_EQ(s.MPI_TAG, tag(s.MPI_SOURCE, me, k));
    int count;
    MPI_Get_count(&s, MPI_INT, &count);
    const int64_t bytes = length(s.MPI_SOURCE, me, k);
    CHECK_EQ(count, bytes / 4);
    for (size_t i = 0; i < static_cast<size_t>(bytes); i++)
      if (buffer[i] != static_cast<unsigned char>(word_of(fill(s.MPI_SOURCE, me, k), i)))
        fail(__FILE__, __LINE__,
             "byte " + std::to_string(i) + " of " + std::to_string(bytes) + " from " +
                 std::to_string(s.MPI_SOURCE));
    for (size_t i = static_cast<size_t>(bytes); i < buffer.size(); i++) CHECK_EQ(buffer[i], 0xee);
  };
  step("streams: waiting for posted receives");
  for (int w = 0; w < window; w++) {  // in the order in which they were posted: so they match
    MPI_Status s;
    MPI_Wait(&requests[static_cast<size_t>(w)], &s);
    judge(in[static_cast<size_t>(w)], s);
  }
  step("streams: receiving");
  std::vector<unsigned char> buffer;
  for (int got = window; got < expected_messages; got++) {
    MPI_Status s;
    buffer.assign(static_cast<size_t>(most) + 4, 0xee);
    const int form = draw(mine, 0, 3), count = static_cast<int>(most / 4);
    if (form == 0) {
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
      MPI_Recv(buffer.data(), count, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, comm, &s);
    } else if (form == 1) {
      MPI_Message message;
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &s);
      MPI_Mrecv(buffer.data(), count, MPI_INT, &message, &s);
    } else if (form == 2) {
      MPI_Request r;
      MPI_Irecv(buffer.data(), count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r);
      int done = 0;
      while (!done) MPI_Test(&r, &done, &s);
    } else {
      MPI_Recv(buffer.data(), count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
    }
    judge(buffer, s);
  }
  step("streams: completing sends");
  complete_all(mine, sends, [](size_t, const MPI_Status&) {});
  step("streams: barrier");
  MPI_Barrier(comm);  // the next round's messages must not match this one's receives
}

}  // namespace stress
