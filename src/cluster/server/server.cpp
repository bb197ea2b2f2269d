#include "cluster/server/server.h"

#include <algorithm>
#include <cstring>

#include "cluster/transport/mpi_call.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/process/self.h"

namespace tasuki::cluster {

Server::Server(MPI_Comm comm, const Memory& memory, Idle idle)
    : comm_(comm),
      memory_(memory),
      idle_(idle),
      headers_(kHeaders * kMostHeaderBytes),
      patience_ns_(int64_t{memory.patience_s} * 1'000'000'000) {}

Server::~Server() {
  if (lengths_ != nullptr) os::unmap(lengths_, os::page_ceil(memory_.slots * sizeof(uint32_t) + 1));
}

Result<int> Server::run() {
  const pid_t parent = os::parent_of_self();
  requests_.resize(kHeaders, MPI_REQUEST_NULL);
  if (memory_.packed) {
    lengths_ = static_cast<uint32_t*>(os::map_memory(os::page_ceil(memory_.slots * sizeof(uint32_t) + 1)));
    if (lengths_ == nullptr) return Status::error(ENOMEM, "no address space for a table of its pages");
  }
  for (size_t i = 0; i < kHeaders; i++) {
    Status status = mpi_status(PMPI_Recv_init(&headers_[i * kMostHeaderBytes], kMostHeaderBytes, MPI_BYTE, 0,
                                              kHeaderTag, comm_, &requests_[i]),
                               "MPI_Recv_init");
    if (status.ok()) status = mpi_status(PMPI_Start(&requests_[i]), "MPI_Start");
    if (!status.ok()) return status;
  }
  while (!goodbye_ || !active_.empty() || !deferred_.empty()) {
    bool found = false;
    Status status = poll(&found);
    if (!status.ok()) return status;
    if (found) {
      idle_.active();
      heard_ns_ = -1;
      continue;
    }
    idle_.wait();
    if (idle_.asleep()) status = check_silence();
    if (!status.ok()) return status;
    // A launcher that was killed cannot end its ranks.
    if (idle_.asleep() && os::parent_of_self() != parent)
      return Status::error(ECHILD, "the process that started this memory server is gone");
  }
  Status status = abruptly_ ? Status() : close();
  if (!status.ok()) return status;
  return exit_code_;
}

Status Server::check_silence() {
  if (patience_ns_ == 0) return {};
  const int64_t now = time_.now();
  if (heard_ns_ < 0) heard_ns_ = now;
  if (now - heard_ns_ <= patience_ns_) return {};
  return Status::error(ETIMEDOUT,
                       "nothing was heard from rank 0 for " + std::to_string(patience_ns_ / 1'000'000'000) +
                           " s: its host or the network is down, or it was stopped for longer than "
                           "--timeout; this server ends");
}

Status Server::poll(bool* found) {
  int count = 0;
  indices_.resize(requests_.size());
  Status status = mpi_status(PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                           indices_.data(), MPI_STATUSES_IGNORE),
                             "MPI_Testsome");
  if (!status.ok() || count <= 0) return status;
  *found = true;
  // From the back: what ended leaves its place to the last one.
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  bool ended = false;
  for (int i = 0; i < count; i++) {
    const size_t index = static_cast<size_t>(indices_[static_cast<size_t>(i)]);
    if (index < kHeaders) {
      arrived_[index] = true;
      continue;
    }
    requests_[index] = requests_.back();
    requests_.pop_back();
    Operation& operation = active_[index - kHeaders];
    if (memory_.packed && operation.header.op == Op::put) status = scatter(operation);
    if (!status.ok()) return status;
    operation = std::move(active_.back());
    active_.pop_back();
    ended = true;
  }
  if (ended) status = start_deferred();
  // Receives are matched in the order in which they were posted, though they may complete in another one.
  while (status.ok() && arrived_[next_header_]) {
    const size_t index = static_cast<size_t>(next_header_);
    arrived_[index] = false;
    next_header_ = (next_header_ + 1) % kHeaders;
    status = handle(&headers_[index * kMostHeaderBytes]);
    if (status.ok()) status = mpi_status(PMPI_Start(&requests_[index]), "MPI_Start");
  }
  return status;
}

Status Server::handle(const std::byte* message) {
  Operation operation;
  memcpy(&operation.header, message, sizeof(Header));
  const Header header = operation.header;
  switch (header.op) {
    case Op::get:
    case Op::put:
      return enqueue(operation);
    case Op::release:
      for (uint32_t i = 0; i < header.count; i++) {
        Range range;
        memcpy(&range, message + sizeof(Header) + i * sizeof(Range), sizeof range);
        operation.header.slot = range.slot;
        // In pieces whose length fits; a conflict then holds up only one of them.
        while (range.units > 0) {
          operation.header.units = static_cast<uint32_t>(std::min<uint64_t>(range.units, 1u << 30));
          Status status = enqueue(operation);
          if (!status.ok()) return status;
          operation.header.slot += operation.header.units;
          range.units -= operation.header.units;
        }
      }
      return {};
    case Op::beat:
      patience_ns_ = int64_t{header.units} * 1'000'000'000;
      return {};
    case Op::goodbye:
      goodbye_ = true;
      abruptly_ = header.units != 0;
      exit_code_ = static_cast<int>(header.slot);
      return {};
  }
  return Status::error(EPROTO, "a message of unknown kind from rank 0");
}

Status Server::enqueue(Operation operation) {
  const Header& h = operation.header;
  if (h.slot > memory_.slots || h.units > memory_.slots - h.slot || memory_.at == nullptr)
    return Status::error(EPROTO, "rank 0 asked for slots that this server does not have");
  const auto blocks = [&](const Operation& other) { return other.conflicts(operation); };
  if (std::any_of(active_.begin(), active_.end(), blocks) ||
      std::any_of(deferred_.begin(), deferred_.end(), blocks)) {
    deferred_.push_back(std::move(operation));
    return {};
  }
  return start(std::move(operation));
}

Status Server::start(Operation operation) {
  const Header h = operation.header;
  if (h.op == Op::release) {
    release(h);
    return {};
  }
  std::byte* at = memory_.at + h.slot * memory_.unit_bytes;
  int bytes = static_cast<int>(h.units * memory_.unit_bytes);
  if (memory_.packed) {
    if (h.op == Op::get)
      gather(&operation);
    else
      operation.packed.resize(h.count);
    at = operation.packed.data();
    bytes = static_cast<int>(operation.packed.size());
  }
  const int tag = static_cast<int>(h.tag);
  MPI_Request request;
  Status status = h.op == Op::put
                      ? mpi_status(PMPI_Irecv(at, bytes, MPI_BYTE, 0, tag, comm_, &request), "MPI_Irecv")
                      : mpi_status(PMPI_Isend(at, bytes, MPI_BYTE, 0, tag, comm_, &request), "MPI_Isend");
  if (!status.ok()) return status;
  requests_.push_back(request);
  active_.push_back(std::move(operation));
  return {};
}

void Server::gather(Operation* operation) const {
  const Header& h = operation->header;
  const uint32_t* lengths = lengths_ + h.slot;
  size_t bytes = h.units * sizeof(uint32_t);
  for (uint32_t i = 0; i < h.units; i++) bytes += lengths[i];
  operation->packed.resize(bytes);
  std::byte* out = operation->packed.data();
  memcpy(out, lengths, h.units * sizeof(uint32_t));
  out += h.units * sizeof(uint32_t);
  for (uint32_t i = 0; i < h.units; i++) {
    memcpy(out, memory_.at + (h.slot + i) * memory_.unit_bytes, lengths[i]);
    out += lengths[i];
  }
}

Status Server::scatter(const Operation& operation) {
  const Header& h = operation.header;
  const std::byte* in = operation.packed.data() + h.units * sizeof(uint32_t);
  const std::byte* end = operation.packed.data() + operation.packed.size();
  for (uint32_t i = 0; i < h.units; i++) {
    uint32_t length = 0;
    if (in <= end) memcpy(&length, operation.packed.data() + i * sizeof length, sizeof length);
    if (in > end || length > memory_.unit_bytes || length > static_cast<size_t>(end - in))
      return Status::error(EPROTO, "rank 0 sent packed pages that are not");
    std::byte* unit = memory_.at + (h.slot + i) * memory_.unit_bytes;
    memcpy(unit, in, length);
    in += length;
    // What a page does not need any more goes back to the system: that is what compression saves here.
    uint32_t& kept = lengths_[h.slot + i];
    const size_t now = os::page_ceil(length), before = os::page_ceil(kept);
    if (before > now) give_back(h.slot * memory_.unit_bytes + i * memory_.unit_bytes + now, before - now);
    kept = length;
  }
  return {};
}

Status Server::start_deferred() {
  // In order, and none past an earlier one that it conflicts with.
  std::deque<Operation> waiting;
  waiting.swap(deferred_);
  for (Operation& operation : waiting) {
    Status status = enqueue(std::move(operation));
    if (!status.ok()) return status;
  }
  return {};
}

void Server::release(const Header& header) {
  give_back(header.slot * memory_.unit_bytes, header.units * memory_.unit_bytes);
  if (memory_.packed) memset(lengths_ + header.slot, 0, header.units * sizeof(uint32_t));
}

// Whole pages of the system; a unit may be less than one.
void Server::give_back(size_t offset, size_t bytes) {
  const size_t begin = os::page_ceil(offset), end = os::page_floor(offset + bytes);
  if (begin >= end) return;
  if (memory_.file >= 0)
    os::punch_hole(memory_.file, begin, end - begin);
  else
    os::discard(memory_.at + begin, end - begin);
}

Status Server::close() {
  Status status;
  for (size_t i = 0; i < kHeaders && status.ok(); i++) {
    status = mpi_status(PMPI_Cancel(&requests_[i]), "MPI_Cancel");
    if (status.ok()) status = mpi_status(PMPI_Wait(&requests_[i], MPI_STATUS_IGNORE), "MPI_Wait");
    if (status.ok()) status = mpi_status(PMPI_Request_free(&requests_[i]), "MPI_Request_free");
  }
  return status;
}

}  // namespace tasuki::cluster
