#include "dlm/courier.h"

#include <algorithm>
#include <cstring>

#include "dlm/idle.h"
#include "dlm/mpi_call.h"
#include "dlm/packed.h"
#include "os/cpu.h"

namespace tasuki::dlm {

Courier::Courier(MPI_Comm comm, std::vector<std::string> names, const Options& options)
    : comm_(comm),
      names_(std::move(names)),
      unit_(options.unit_bytes),
      packed_(options.packed),
      crowded_(options.crowded),
      timeout_ns_(static_cast<int64_t>(options.timeout_s) * 1'000'000'000),
      releasing_(names_.size(), 0) {}

Courier::~Courier() = default;

Status Courier::failed(const Status& status, uint32_t server) const {
  if (status.ok()) return status;
  return Status::error(status.err(), "memory server " + names_[server] + ": " + status.message());
}

Result<Courier::Transfer*> Courier::take(uint32_t server) {
  while (free_.empty() && transfers_.size() == kMostTransfers) {
    Status status = poll();
    if (!status.ok()) return status;
  }
  if (free_.empty()) {
    transfers_.push_back(std::make_unique<Transfer>());
    transfers_.back()->index = static_cast<uint32_t>(transfers_.size() - 1);
    free_.push_back(transfers_.back().get());
  }
  Transfer* transfer = free_.back();
  free_.pop_back();
  transfer->server = server;
  transfer->release = false;
  transfer->to = nullptr;
  transfer->begin_ns = now_ns();
  return transfer;
}

Status Courier::start(Transfer* transfer, MPI_Request request, int rc, const char* call) {
  Status status = failed(mpi_status(rc, call), transfer->server);
  if (!status.ok()) return status;
  requests_.push_back(request);
  owners_.push_back(transfer);
  return {};
}

// The request is given up at once: that the data moved implies that the header was received, and only then is
// its memory used again (MPI standard, 3.7.3, the advice on MPI_REQUEST_FREE).
Status Courier::send_header(Transfer* transfer, const Header& header) {
  memcpy(transfer->message, &header, sizeof header);
  MPI_Request request;
  const int rank = static_cast<int>(transfer->server) + 1;
  int rc = PMPI_Isend(transfer->message, sizeof header, MPI_BYTE, rank, kHeaderTag, comm_, &request);
  if (rc == MPI_SUCCESS) rc = PMPI_Request_free(&request);
  return failed(mpi_status(rc, "MPI_Isend"), transfer->server);
}

Status Courier::get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) {
  Result<Transfer*> taken = take(server);
  if (!taken.ok()) return taken.status();
  Transfer* t = taken.value();
  t->token = token;
  size_t bytes = units * unit_;
  if (packed_) {
    t->slot = slot;
    t->units = units;
    t->to = to;
    bytes = packed_most(units, unit_);
    t->extra.resize(bytes);
    to = t->extra.data();
  }
  const int tag = kFirstDataTag + static_cast<int>(t->index);
  MPI_Request request;
  const int rc =
      PMPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(server) + 1, tag, comm_, &request);
  Status status = start(t, request, rc, "MPI_Irecv");
  if (!status.ok()) return status;
  moving_++;
  return send_header(t, {Op::get, units, slot, static_cast<uint32_t>(tag), 0});
}

Status Courier::put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from, uint64_t token) {
  Result<Transfer*> taken = take(server);
  if (!taken.ok()) return taken.status();
  Transfer* t = taken.value();
  t->token = token;
  size_t bytes = units * unit_;
  if (packed_) {
    t->extra.resize(packed_most(units, unit_));
    bytes = pack(from, units, unit_, t->extra.data());
    from = t->extra.data();
  }
  const int tag = kFirstDataTag + static_cast<int>(t->index);
  Status status =
      send_header(t, {Op::put, units, slot, static_cast<uint32_t>(tag), static_cast<uint32_t>(bytes)});
  if (!status.ok()) return status;
  // Synchronous: complete means that the server has matched it. So puts cannot pile up there, however small they
  // are, and the tag is free again.
  MPI_Request request;
  const int rc = PMPI_Issend(from, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(server) + 1, tag,
                             comm_, &request);
  status = start(t, request, rc, "MPI_Issend");
  if (!status.ok()) return status;
  moving_++;
  return {};
}

Status Courier::release(uint32_t server, const Range* ranges, uint32_t count) {
  Result<Transfer*> taken = take(server);
  if (!taken.ok()) return taken.status();
  Transfer* t = taken.value();
  t->release = true;
  const size_t bytes = sizeof(Header) + count * sizeof(Range);
  t->extra.resize(kMostHeaderBytes);
  const Header header{Op::release, 0, 0, 0, count};
  memcpy(t->extra.data(), &header, sizeof header);
  memcpy(t->extra.data() + sizeof header, ranges, count * sizeof(Range));
  MPI_Request request;
  const int rc = PMPI_Issend(t->extra.data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(server) + 1,
                             kHeaderTag, comm_, &request);
  Status status = start(t, request, rc, "MPI_Issend");
  if (!status.ok()) return status;
  releasing_[server]++;
  return {};
}

Status Courier::poll() {
  if (requests_.empty()) return {};
  indices_.resize(requests_.size());
  if (packed_) statuses_.resize(requests_.size());
  int count = 0;
  Status status = mpi_status(PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                           indices_.data(), packed_ ? statuses_.data() : MPI_STATUSES_IGNORE),
                             "MPI_Testsome");
  if (!status.ok()) return Status::error(EIO, "a memory server failed: " + status.message());
  if (count <= 0) {
    empty_polls_++;
    if (crowded_) os::cpu_yield();
    return empty_polls_ % 4096 == 0 ? check_time() : Status();
  }
  empty_polls_ = 0;
  for (int i = 0; packed_ && i < count; i++) {
    const size_t k = static_cast<size_t>(i);
    status = unpack_into_place(*owners_[static_cast<size_t>(indices_[k])], statuses_[k]);
    if (!status.ok()) return status;
  }
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (int i = 0; i < count; i++) {
    const size_t index = static_cast<size_t>(indices_[static_cast<size_t>(i)]);
    Transfer* t = owners_[index];
    requests_[index] = requests_.back();
    requests_.pop_back();
    owners_[index] = owners_.back();
    owners_.pop_back();
    if (t->release) {
      releasing_[t->server]--;
    } else {
      moving_--;
      done_.push_back(t->token);
    }
    free_.push_back(t);
  }
  return {};
}

Status Courier::unpack_into_place(const Transfer& t, const MPI_Status& status) const {
  if (t.to == nullptr) return {};
  int bytes = 0;
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  if (unpack(t.extra.data(), static_cast<size_t>(bytes), t.units, unit_, t.to)) return {};
  return Status::error(EIO, "memory server " + names_[t.server] + ": slot " + std::to_string(t.slot) +
                                " came back as something that cannot be decompressed");
}

Status Courier::check_time() {
  if (timeout_ns_ == 0) return {};
  const int64_t now = now_ns();
  for (const Transfer* t : owners_)
    if (now - t->begin_ns > timeout_ns_)
      return Status::error(ETIMEDOUT, "memory server " + names_[t->server] + " has not answered for " +
                                          std::to_string(timeout_ns_ / 1'000'000'000) +
                                          " s: its host or the network is down, or --timeout is too short");
  return {};
}

Status Courier::progress(std::vector<uint64_t>* completed) {
  Status status = poll();
  completed->insert(completed->end(), done_.begin(), done_.end());
  done_.clear();
  return status;
}

Status Courier::goodbye(int exit_code) {
  while (!requests_.empty()) {
    Status status = poll();
    if (!status.ok()) return status;
  }
  done_.clear();
  for (uint32_t server = 0; server < names_.size(); server++) {
    const Header header{Op::goodbye, 0, static_cast<uint64_t>(exit_code), 0, 0};
    Status status = failed(mpi_status(PMPI_Send(&header, sizeof header, MPI_BYTE,
                                                static_cast<int>(server) + 1, kHeaderTag, comm_),
                                      "MPI_Send"),
                           server);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace tasuki::dlm
