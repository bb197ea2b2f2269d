#include "simmpi/calls/collective_operations.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "experiment/experiment.h"
#include "schedule/schedule.h"
#include "simmpi/calls/user_requests.h"
#include "simmpi/objects/datatype.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

constexpr int kLanes = 64;
// What real libraries change their algorithm at, roughly: latency against bandwidth.
constexpr uint64_t kShortBlock = 256;  // of an all-to-all
constexpr uint64_t kShortReduction = 64 << 10;
constexpr uint64_t kShortAllgather = 64 << 10;  // all of it
constexpr uint64_t kSegment = 16 << 10;         // of a pipelined broadcast that the user has chosen

Request* send_to(const Collective& c, int peer, const Buffer& b) {
  return begin_send(c.comm, c.comm->collective_context(), peer, c.tag, b, c.control);
}
Request* receive_from(const Collective& c, int peer, const Buffer& b) {
  return begin_receive(c.comm, c.comm->collective_context(), peer, c.tag, b, c.control);
}

Buffer part(const Typed& t, uint64_t from, uint64_t bytes) {
  return {t.region(), from, bytes};
}

bool has_content(const Collective& c) {
  return c.control || c.comm->rank->simulation.options.payload;
}

// ---- schedules
class Executor {
 public:
  Executor(const Collective& c, const schedule::Schedule& s, std::vector<Typed> buffers, MPI_Op op)
      : c_(c), schedule_(s), buffers_(std::move(buffers)), op_(op) {}

  void run() {
    std::vector<Request*> lanes;
    for (uint32_t lane = 1; lane < schedule_.lanes(); lane++) {
      Request* r = new_request(Request::Kind::operation);
      r->operation = [this, lane] {
        run_lane(lane);
        return MPI_SUCCESS;
      };
      start_operation(r);
      lanes.push_back(r);
    }
    run_lane(0);
    finish(&lanes);
  }

 private:
  void run_lane(uint32_t lane) {
    std::vector<schedule::Step> steps;
    std::vector<Request*> requests;
    const auto self = static_cast<uint32_t>(c_.comm->self);
    const uint64_t context = c_.comm->collective_context();
    for (uint32_t round = 0; round < schedule_.rounds(lane); round++) {
      schedule_.round(self, lane, round, steps);
      for (const schedule::Step& s : steps) {
        const Buffer b = s.bytes != 0 && s.peer != schedule::kNoPeer
                             ? part(buffers_[s.buffer], s.offset, s.bytes)
                             : bytes_at(nullptr, 0);
        const int tag = c_.tag + static_cast<int>(lane) % kLanes;
        switch (s.action) {
          case schedule::Action::send:
            requests.push_back(send_paced(s, tag, b));
            break;
          case schedule::Action::receive:
            requests.push_back(begin_receive(c_.comm, context, static_cast<int>(s.peer), tag, b, c_.control));
            break;
          case schedule::Action::copy:
            local_copy(s);
            break;
          case schedule::Action::reduce:
            local_reduce(s);
            break;
        }
      }
      finish(&requests);
    }
  }

  Request* send_paced(const schedule::Step& s, int tag, const Buffer& b) {
    Rank& rank = *c_.comm->rank;
    Request* r = new_request(Request::Kind::send);
    r->internal = true;
    r->control = c_.control;
    r->region = b.region;
    r->from = b.from;
    r->bytes = b.bytes;
    r->peer = static_cast<int>(s.peer);
    r->peer_world = c_.comm->local->world(r->peer);
    r->tag = tag;
    r->self = c_.comm->self;
    r->context = c_.comm->collective_context();
    r->nic = s.nic;
    r->gap = s.gap != 0 ? static_cast<int64_t>(s.gap) : rank.next_gap;
    rank.start_send(r);
    return r;
  }

  void local_copy(const schedule::Step& s) {
    if (!has_content(c_)) return;
    const std::unique_ptr<char[]> between(new char[s.bytes]);
    layout::pack(between.get(), buffers_[s.from_buffer].region(), s.from_offset, s.bytes);
    layout::unpack(buffers_[s.buffer].region(), s.offset, s.bytes, between.get());
  }
  void local_reduce(const schedule::Step& s) {
    if (!has_content(c_)) return;
    const Typed &to = buffers_[s.buffer], &from = buffers_[s.from_buffer];
    const uint64_t size = to.type->size();
    tasuki::simmpi::reduce(op_, handle(to.type), from.at(static_cast<int64_t>(s.from_offset / size)).address,
                           to.at(static_cast<int64_t>(s.offset / size)).address, s.bytes / size);
  }

  const Collective& c_;
  const schedule::Schedule& schedule_;
  std::vector<Typed> buffers_;
  MPI_Op op_;
};

// Runs the schedule of that name. `named`: the buffers that it knows by name; others are scratch of `type`.
void run_schedule(const Collective& c, const char* operation, const char* by_default, schedule::Parameters p,
                  const std::vector<std::pair<std::string, Typed>>& named, Datatype* type,
                  MPI_Op op = MPI_OP_NULL) {
  Simulation& simulation = c.comm->rank->simulation;
  const auto chosen = simulation.options.collectives.find(operation);
  const bool own_choice = chosen != simulation.options.collectives.end();
  const schedule::Algorithm* algorithm = schedule::find(own_choice ? chosen->second : by_default);
  const netsim::Machine& machine = simulation.machine;
  Status shaped = p.ranks == machine.nodes() ? experiment::take_shape(machine, algorithm->needs_shape, &p)
                  : algorithm->needs_shape
                      ? Status::error(EINVAL, "a communicator that does not fill the machine has no shape")
                      : Status();
  schedule::Parameters cut = p;
  if (own_choice && p.bytes > kSegment && strcmp(operation, "broadcast") == 0) cut.segment = kSegment;
  auto made = shaped.ok() ? schedule::make(*algorithm, cut) : Result<schedule::Schedule>(shaped);
  if (!made.ok() && own_choice) {
    // A chosen schedule that does not fit is no reason to end a program: MPI would do without it, too.
    simulation.say_once(std::string("--collective ") + operation + "=" + algorithm->name + ": " +
                        made.status().message() + "; done by " + by_default + " instead");
    algorithm = schedule::find(by_default);
    made = schedule::make(*algorithm, p);
  }
  if (!made.ok())
    fail_rank(1, std::string(operation) + " by " + algorithm->name + ": " + made.status().message());
  const schedule::Schedule& s = made.value();
  std::vector<Typed> buffers;
  std::vector<std::unique_ptr<Scratch>> scratch;
  for (const schedule::Buffer& b : s.buffers()) {
    const auto known =
        std::find_if(named.begin(), named.end(), [&](const auto& n) { return n.first == b.name; });
    if (known != named.end()) {
      buffers.push_back(known->second);
      continue;
    }
    const uint64_t size = std::max<uint64_t>(1, type->size());
    scratch.push_back(std::make_unique<Scratch>((b.bytes + size - 1) / size, type));
    buffers.push_back(scratch.back()->typed());
  }
  Executor(c, s, std::move(buffers), op).run();
}

schedule::Parameters parameters(const Collective& c, uint64_t bytes) {
  schedule::Parameters p;
  p.ranks = static_cast<uint32_t>(c.comm->size());
  p.bytes = bytes;
  return p;
}

}  // namespace

// ---- buffers
uint64_t Typed::bytes() const {
  return count * type->size();
}
layout::Region Typed::region() const {
  return {static_cast<char*>(address), count, type->layout};
}
Typed Typed::at(int64_t element) const {
  return {reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) +
                                  static_cast<uintptr_t>(element * type->extent())),
          count, type};
}
Buffer whole(const Typed& t) {
  return {t.region(), 0, t.bytes()};
}

void copy(const Typed& to, const Typed& from) {
  const uint64_t n = std::min(to.bytes(), from.bytes());
  if (n == 0 || to.address == from.address) return;
  if (layout::equal(to.type->layout, from.type->layout)) {
    layout::copy(to.region(), from.region(), 0, n);
    return;
  }
  const std::unique_ptr<char[]> between(new char[n]);
  layout::pack(between.get(), from.region(), 0, n);
  layout::unpack(to.region(), 0, n, between.get());
}

Scratch::Scratch(uint64_t count, Datatype* type) : typed_{nullptr, count, type} {
  const int64_t low = std::min<int64_t>(0, layout::true_lower_bound(type->layout));
  const int64_t high =
      std::max(layout::true_lower_bound(type->layout) + layout::true_extent(type->layout), type->extent());
  const int64_t step = std::max<int64_t>(0, type->extent());
  const auto n = static_cast<size_t>(high - low + step * static_cast<int64_t>(count == 0 ? 0 : count - 1));
  memory_ = static_cast<char*>(calloc(1, n + 16));
  if (memory_ == nullptr)
    fail_rank(1, "no memory for a collective operation: " + std::to_string(n) + " bytes");
  typed_.address = memory_ - low;
}
Scratch::~Scratch() {
  free(memory_);
}

Collective next_collective(Comm* comm) {
  const uint32_t n = comm->operations++;
  return {comm, static_cast<int>(n % (1u << 24)) * kLanes};
}

// ---- by schedules
void barrier(const Collective& c) {
  if (c.comm->size() > 1) run_schedule(c, "barrier", "dissemination", parameters(c, 0), {}, byte_type());
}

void broadcast(const Collective& c, const Typed& data, int root) {
  if (c.comm->size() < 2 || data.bytes() == 0) return;
  schedule::Parameters p = parameters(c, data.bytes());
  p.root = static_cast<uint32_t>(root);
  run_schedule(c, "broadcast", "binomial", p, {{"data", data}}, byte_type());
}

void alltoall(const Collective& c, const Typed& send, const Typed& receive, uint64_t send_count,
              uint64_t receive_count) {
  const uint64_t block = receive_count * receive.type->size();
  if (send_count * send.type->size() != block)
    fail_rank(MPI_ERR_TRUNCATE, "MPI_Alltoall: sends and receives different amounts");
  if (block == 0) return;
  if (c.comm->size() == 1) {
    copy(receive, send);
    return;
  }
  run_schedule(c, "alltoall", block <= kShortBlock ? "bruck" : "pairwise", parameters(c, block),
               {{"send", send}, {"receive", receive}}, byte_type());
}

void allreduce(const Collective& c, const Typed& data, MPI_Op op) {
  if (c.comm->size() < 2 || data.bytes() == 0) return;
  if (!commutes(op)) {
    reduce(c, data, op, 0);
    Collective second = c;
    second.tag++;
    broadcast(second, data, 0);
    return;
  }
  schedule::Parameters p = parameters(c, data.bytes());
  p.element = static_cast<uint32_t>(data.type->size());
  const bool is_short = data.bytes() <= kShortReduction || data.count < static_cast<uint64_t>(c.comm->size());
  run_schedule(c, "allreduce", is_short ? "recursive-doubling" : "ring-allreduce", p, {{"data", data}},
               data.type, op);
}

// ---- others
void gather(const Collective& c, const Typed& send, const Blocks& receive, int root) {
  std::vector<Request*> requests;
  if (c.comm->self != root) {
    requests.push_back(send_to(c, root, whole(send)));
  } else {
    for (int i = 0; i < c.comm->size(); i++)
      if (i == root) {
        if (send.type != nullptr && has_content(c)) copy(receive(i), send);
      } else {
        requests.push_back(receive_from(c, i, whole(receive(i))));
      }
  }
  finish(&requests);
}

void scatter(const Collective& c, const Blocks& send, const Typed& receive, int root) {
  std::vector<Request*> requests;
  if (c.comm->self != root) {
    requests.push_back(receive_from(c, root, whole(receive)));
  } else {
    for (int i = 0; i < c.comm->size(); i++)
      if (i == root) {
        if (receive.type != nullptr && has_content(c)) copy(receive, send(i));
      } else {
        requests.push_back(send_to(c, i, whole(send(i))));
      }
  }
  finish(&requests);
}

namespace {

// Binomial tree over ranks relative to the root: rank r's subtree is r .. r + width - 1.
struct Subtree {
  int relative, width;
};
Subtree subtree(const Collective& c, int root) {
  const int n = c.comm->size(), r = (c.comm->self - root + n) % n;
  int width = 1;
  while (r % (2 * width) == 0 && width < n) width *= 2;
  return {r, std::min(width, n - r)};
}

}  // namespace

void gather_equal(const Collective& c, const Typed& send, const Typed& receive, int root) {
  const int n = c.comm->size(), self = c.comm->self;
  const uint64_t block = self == root && send.type == nullptr ? receive.bytes() : send.bytes();
  const Subtree t = subtree(c, root);
  const std::unique_ptr<char[]> all(new char[block * static_cast<uint64_t>(t.width) + 1]);
  const Typed own{all.get(), block, byte_type()};
  if (has_content(c))
    copy(own, send.type != nullptr ? send : receive.at(self * static_cast<int64_t>(receive.count)));
  int step = 1;
  for (; step < n && t.relative % (2 * step) == 0; step *= 2) {
    if (t.relative + step >= n) continue;
    const int width = std::min(step, n - t.relative - step);
    finish(receive_from(
        c, (self + step) % n,
        bytes_at(all.get() + block * static_cast<uint64_t>(step), block * static_cast<uint64_t>(width))));
  }
  if (self != root) {
    finish(send_to(c, (self - step + n) % n, bytes_at(all.get(), block * static_cast<uint64_t>(t.width))));
    return;
  }
  for (int i = 0; i < n && has_content(c); i++)
    copy(receive.at((i + root) % n * static_cast<int64_t>(receive.count)),
         {all.get() + block * static_cast<uint64_t>(i), block, byte_type()});
}

void scatter_equal(const Collective& c, const Typed& send, const Typed& receive, int root) {
  const int n = c.comm->size(), self = c.comm->self;
  const uint64_t block = self == root && receive.type == nullptr ? send.bytes() : receive.bytes();
  const Subtree t = subtree(c, root);
  const std::unique_ptr<char[]> all(new char[block * static_cast<uint64_t>(t.width) + 1]);
  int step = 1;
  while (step < n && t.relative % (2 * step) == 0) step *= 2;
  if (self == root) {
    for (int i = 0; i < n && has_content(c); i++)
      copy({all.get() + block * static_cast<uint64_t>(i), block, byte_type()},
           send.at((i + root) % n * static_cast<int64_t>(send.count)));
  } else {
    finish(
        receive_from(c, (self - step + n) % n, bytes_at(all.get(), block * static_cast<uint64_t>(t.width))));
  }
  std::vector<Request*> requests;
  for (step /= 2; step > 0; step /= 2) {
    if (t.relative + step >= n) continue;
    const int width = std::min(step, n - t.relative - step);
    requests.push_back(send_to(
        c, (self + step) % n,
        bytes_at(all.get() + block * static_cast<uint64_t>(step), block * static_cast<uint64_t>(width))));
  }
  finish(&requests);
  if (receive.type != nullptr && has_content(c)) copy(receive, {all.get(), block, byte_type()});
}

// Few bytes: all blocks travel in log2(n) steps, packed (Bruck). Many: around the ring.
void allgather(const Collective& c, const Blocks& receive) {
  const int n = c.comm->size(), self = c.comm->self;
  std::vector<uint64_t> at(static_cast<size_t>(n) + 1, 0);  // packed, from this rank's block on
  for (int i = 0; i < n; i++)
    at[static_cast<size_t>(i) + 1] = at[static_cast<size_t>(i)] + receive((self + i) % n).bytes();
  const uint64_t total = at[static_cast<size_t>(n)];
  if (total <= kShortAllgather) {
    const std::unique_ptr<char[]> all(new char[total + 1]);
    const auto packed = [&](int i) {
      return Typed{all.get() + at[static_cast<size_t>(i)],
                   at[static_cast<size_t>(i) + 1] - at[static_cast<size_t>(i)], byte_type()};
    };
    copy(packed(0), receive(self));
    for (int have = 1; have < n; have *= 2) {
      const int more = std::min(have, n - have);
      const auto bytes = [&](int from, int to) {
        return at[static_cast<size_t>(to)] - at[static_cast<size_t>(from)];
      };
      std::vector<Request*> requests;
      requests.push_back(
          receive_from(c, (self + have) % n,
                       bytes_at(all.get() + at[static_cast<size_t>(have)], bytes(have, have + more))));
      requests.push_back(send_to(c, (self - have + n) % n, bytes_at(all.get(), bytes(0, more))));
      finish(&requests);
    }
    for (int i = 1; i < n && has_content(c); i++) copy(receive((self + i) % n), packed(i));
    return;
  }
  for (int step = 1; step < n; step++) {
    std::vector<Request*> requests;
    requests.push_back(receive_from(c, (self - 1 + n) % n, whole(receive((self - step + n) % n))));
    requests.push_back(send_to(c, (self + 1) % n, whole(receive((self - step + 1 + n) % n))));
    finish(&requests);
  }
}

void alltoall_blocks(const Collective& c, const Blocks& send, const Blocks& receive) {
  const int n = c.comm->size(), self = c.comm->self;
  if (!c.comm->inter() && has_content(c)) copy(receive(self), send(self));
  for (int step = c.comm->inter() ? 0 : 1; step < n; step++) {
    std::vector<Request*> requests;
    const int to = (self + step) % n, from = (self - step + n) % n;
    requests.push_back(receive_from(c, from, whole(receive(from))));
    requests.push_back(send_to(c, to, whole(send(to))));
    finish(&requests);
  }
}

// Along a binomial tree. An operator that does not commute gets the ranks in order: then the tree's root is
// rank 0.
void reduce(const Collective& c, const Typed& data, MPI_Op op, int root) {
  const int n = c.comm->size(), self = c.comm->self;
  if (n < 2 || data.count == 0) return;
  const int top = commutes(op) ? root : 0;
  const int relative = (self - top + n) % n;
  const Scratch other(data.count, data.type), mine(data.count, data.type);
  // Not in the user's buffer, which of most ranks must not change.
  Typed have = mine.typed(), spare = other.typed();
  if (has_content(c)) copy(have, data);
  for (int step = 1; step < n; step *= 2) {
    if (relative % (2 * step) != 0) {
      finish(send_to(c, (self - step + n) % n, whole(have)));
      break;
    }
    if (relative + step >= n) continue;
    finish(receive_from(c, (self + step) % n, whole(spare)));
    if (!has_content(c)) continue;
    reduce(op, handle(data.type), have.address, spare.address,
           data.count);  // lower ranks are the left operand
    std::swap(have, spare);
  }
  if (top != root) {
    if (self == top) finish(send_to(c, root, whole(have)));
    if (self == root) finish(receive_from(c, top, whole(data)));
  } else if (self == root && has_content(c)) {
    copy(data, have);
  }
}

// After step d a rank has combined itself and the 2^d - 1 before it.
void scan(const Collective& c, const Typed& data, MPI_Op op, bool exclusive, void* result) {
  const int n = c.comm->size(), self = c.comm->self;
  const Scratch total_memory(data.count, data.type), received_memory(data.count, data.type),
      before_memory(data.count, data.type);
  Typed total = total_memory.typed(), received = received_memory.typed(), before = before_memory.typed();
  bool any_before = false;
  if (has_content(c)) copy(total, data);
  const MPI_Datatype type = handle(data.type);
  for (int step = 1; step < n; step *= 2) {
    std::vector<Request*> requests;
    if (self - step >= 0) requests.push_back(receive_from(c, self - step, whole(received)));
    if (self + step < n) requests.push_back(send_to(c, self + step, whole(total)));
    finish(&requests);
    if (self - step < 0 || !has_content(c)) continue;
    // received op before, received op total: the received are lower ranks'.
    const Scratch left_memory(data.count, data.type);
    const Typed& left = left_memory.typed();
    copy(left, received);
    if (any_before) {
      reduce(op, type, left.address, before.address, data.count);
    } else {
      copy(before, left);
      any_before = true;
    }
    copy(left, received);
    reduce(op, type, left.address, total.address, data.count);
  }
  const Typed out{result, data.count, data.type};
  if (!has_content(c)) return;
  if (!exclusive)
    copy(out, total);
  else if (any_before)
    copy(out, before);
}

void barrier(Comm* comm) {
  Collective c = next_collective(comm);
  c.control = true;
  barrier(c);
}

void allgather_bytes(Comm* comm, void* all, uint64_t each) {
  Collective c = next_collective(comm);
  c.control = true;
  allgather(c, [&](int i) {
    return Typed{static_cast<char*>(all) + each * static_cast<uint64_t>(i), each, byte_type()};
  });
}

}  // namespace tasuki::simmpi
