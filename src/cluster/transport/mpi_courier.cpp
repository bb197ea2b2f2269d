#include "cluster/transport/mpi_courier.h"

#include <algorithm>
#include <cstring>

#include "cluster/transport/idle.h"
#include "cluster/transport/mpi_call.h"
#include "cluster/transport/packed.h"
#include "os/process/cpu.h"
#include "os/process/process.h"

namespace tasuki::cluster {

namespace {

constexpr int kLookMilliseconds = 10;

// As the end of a sentence that begins with a server's name.
Status in_words(int rc, const char* call) {
  Status status = mpi_status(rc, call);
  return status.ok() ? status : Status::error(status.err(), ": " + status.message());
}

}  // namespace

MpiCourier::MpiCourier(MPI_Comm comm, std::vector<std::string> names, const Options& options)
    : Courier(std::move(names), options.keeps_on),
      comm_(comm),
      unit_(options.unit_bytes),
      packed_(options.packed),
      staged_(options.packed || options.keeps_on),
      crowded_(options.crowded),
      timeout_ns_(static_cast<int64_t>(options.timeout_s) * 1'000'000'000),
      far_(options.far),
      beating_(servers(), false),
      releasing_(servers(), 0) {}

void MpiCourier::give_up(uint32_t server) {
  // The requests stay MPI's, and what they refer to is never used again.
  for (size_t i = owners_.size(); i-- > 0;) {
    const Transfer* t = owners_[i];
    if (t->server != server) continue;
    if (t->kind == Kind::get || t->kind == Kind::put) {
      lost_.push_back(t->token);
      moving_--;
    }
    requests_[i] = requests_.back();
    requests_.pop_back();
    owners_[i] = owners_.back();
    owners_.pop_back();
  }
  releasing_[server] = 0;
  beating_[server] = false;
}

Result<MpiCourier::Transfer*> MpiCourier::take(uint32_t server, Kind kind, uint64_t token) {
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
  transfer->kind = kind;
  transfer->token = token;
  transfer->to = nullptr;
  transfer->begin_ns = time_.now();
  return transfer;
}

// True when nothing can be sent to its server any more: then it has come to its end.
bool MpiCourier::gone(Transfer* transfer) {
  if (alive(transfer->server)) return false;
  if (transfer->kind == Kind::get || transfer->kind == Kind::put) lost_.push_back(transfer->token);
  free_.push_back(transfer);
  return true;
}

Status MpiCourier::start(Transfer* transfer, MPI_Request request, int rc, const char* call) {
  Status status = failure(transfer->server, in_words(rc, call));
  if (!status.ok() || gone(transfer)) return status;
  requests_.push_back(request);
  owners_.push_back(transfer);
  switch (transfer->kind) {
    case Kind::get:
    case Kind::put:
      moving_++;
      break;
    case Kind::release:
      releasing_[transfer->server]++;
      break;
    case Kind::beat:
      beating_[transfer->server] = true;
      break;
    case Kind::goodbye:
      break;
  }
  return {};
}

// The request is given up at once: that the data moved implies that the header was received, and only then is
// its memory used again (MPI standard, 3.7.3, the advice on MPI_REQUEST_FREE).
Status MpiCourier::send_header(Transfer* transfer, const Header& header) {
  memcpy(transfer->message, &header, sizeof header);
  MPI_Request request;
  const int rank = static_cast<int>(transfer->server) + 1;
  int rc = PMPI_Isend(transfer->message, sizeof header, MPI_BYTE, rank, kHeaderTag, comm_, &request);
  if (rc == MPI_SUCCESS) rc = PMPI_Request_free(&request);
  return failure(transfer->server, in_words(rc, "MPI_Isend"));
}

Status MpiCourier::get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) {
  Result<Transfer*> taken = take(server, Kind::get, token);
  if (!taken.ok()) return taken.status();
  Transfer* t = taken.value();
  if (gone(t)) return {};
  size_t bytes = units * unit_;
  if (staged_) {
    t->slot = slot;
    t->units = units;
    t->to = to;
    if (packed_) bytes = packed_most(units, unit_);
    t->extra.resize(bytes);
    to = t->extra.data();
  }
  const int tag = kFirstDataTag + static_cast<int>(t->index);
  MPI_Request request;
  const int rc =
      PMPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(server) + 1, tag, comm_, &request);
  Status status = start(t, request, rc, "MPI_Irecv");
  if (!status.ok() || !alive(server)) return status;
  return send_header(t, {Op::get, units, slot, static_cast<uint32_t>(tag), 0});
}

Status MpiCourier::put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from,
                       uint64_t token) {
  Result<Transfer*> taken = take(server, Kind::put, token);
  if (!taken.ok()) return taken.status();
  Transfer* t = taken.value();
  if (gone(t)) return {};
  size_t bytes = units * unit_;
  if (staged_) {
    t->extra.resize(packed_ ? packed_most(units, unit_) : bytes);
    if (packed_)
      bytes = pack(from, units, unit_, t->extra.data());
    else
      memcpy(t->extra.data(), from, bytes);
    from = t->extra.data();
  }
  const int tag = kFirstDataTag + static_cast<int>(t->index);
  Status status =
      send_header(t, {Op::put, units, slot, static_cast<uint32_t>(tag), static_cast<uint32_t>(bytes)});
  if (!status.ok() || gone(t)) return status;
  // Synchronous: complete means that the server has matched it. So puts cannot pile up there, however small
  // they are, and the tag is free again.
  MPI_Request request;
  const int rc = PMPI_Issend(from, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(server) + 1, tag,
                             comm_, &request);
  return start(t, request, rc, "MPI_Issend");
}

Status MpiCourier::release(uint32_t server, const Range* ranges, uint32_t count) {
  Result<Transfer*> taken = take(server, Kind::release, 0);
  if (!taken.ok()) return taken.status();
  Transfer* t = taken.value();
  if (gone(t)) return {};
  const size_t bytes = sizeof(Header) + count * sizeof(Range);
  t->extra.resize(kMostHeaderBytes);
  const Header header{Op::release, 0, 0, 0, count};
  memcpy(t->extra.data(), &header, sizeof header);
  memcpy(t->extra.data() + sizeof header, ranges, count * sizeof(Range));
  MPI_Request request;
  const int rc = PMPI_Issend(t->extra.data(), static_cast<int>(bytes), MPI_BYTE, static_cast<int>(server) + 1,
                             kHeaderTag, comm_, &request);
  return start(t, request, rc, "MPI_Issend");
}

Status MpiCourier::poll() {
  if (requests_.empty()) return {};
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int rc = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                               statuses_.data());
  int kind = MPI_SUCCESS;
  if (rc != MPI_SUCCESS) PMPI_Error_class(rc, &kind);
  if (rc != MPI_SUCCESS && kind != MPI_ERR_IN_STATUS)
    return Status::error(EIO, "memory servers: " + mpi_status(rc, "MPI_Testsome").message());
  if (count <= 0) {
    empty_polls_++;
    if (crowded_) os::cpu_yield();
    // A poll lasts as long as those who get the core meanwhile want: milliseconds on a crowded host.
    return empty_polls_ % 64 == 0 ? check_time() : Status();
  }
  empty_polls_ = 0;
  ended_.clear();
  for (size_t i = 0; i < static_cast<size_t>(count); i++)
    ended_.push_back({owners_[static_cast<size_t>(indices_[i])], i,
                      kind == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : MPI_SUCCESS});
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (int i = 0; i < count; i++) {
    const size_t index = static_cast<size_t>(indices_[static_cast<size_t>(i)]);
    requests_[index] = requests_.back();
    requests_.pop_back();
    owners_[index] = owners_.back();
    owners_.pop_back();
  }
  Status status;
  for (const Ended& ended : ended_) {
    Status one = end(ended);
    if (status.ok()) status = one;
  }
  return status;
}

Status MpiCourier::end(const Ended& ended) {
  Transfer* t = ended.transfer;
  const bool moved = t->kind == Kind::get || t->kind == Kind::put;
  if (moved) moving_--;
  if (t->kind == Kind::release && releasing_[t->server] > 0) releasing_[t->server]--;
  if (t->kind == Kind::beat) beating_[t->server] = false;
  // After an error MPI may still use its memory.
  if (ended.error == MPI_SUCCESS) free_.push_back(t);
  Status status = failure(t->server, in_words(ended.error, "MPI_Testsome"));
  const bool arrived = ended.error == MPI_SUCCESS;
  if (arrived) status = arrive(*t, statuses_[ended.status]);
  if (moved && status.ok()) (arrived ? done_ : lost_).push_back(t->token);
  return status;
}

Status MpiCourier::arrive(const Transfer& t, const MPI_Status& status) const {
  if (t.to == nullptr) return {};
  if (!packed_) {
    memcpy(t.to, t.extra.data(), t.units * unit_);
    return {};
  }
  int bytes = 0;
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  if (unpack(t.extra.data(), static_cast<size_t>(bytes), t.units, unit_, t.to)) return {};
  return Status::error(EIO, name(t.server) + ": slot " + std::to_string(t.slot) +
                                " came back as something that cannot be decompressed");
}

Status MpiCourier::check_time() {
  if (timeout_ns_ == 0) return {};
  const int64_t now = time_.now();
  for (size_t i = 0; i < owners_.size(); i++) {
    if (now - owners_[i]->begin_ns <= timeout_ns_) continue;
    Status status = failure(
        owners_[i]->server,
        Status::error(ETIMEDOUT, " has not answered for " + std::to_string(timeout_ns_ / 1'000'000'000) +
                                     " s: its host or the network is down, or --timeout is too short"));
    if (!status.ok()) return status;
    i = SIZE_MAX;  // that server's are gone: once more from the beginning
  }
  return {};
}

// Synchronous: so rank 0 hears of the end of a server that it does not need at the moment. While a debugger
// is here the program may be stopped for as long as its user thinks.
Status MpiCourier::beat(bool for_ever) {
  beaten_ns_ = time_.now();
  const bool endless = for_ever || os::is_traced();
  for (uint32_t server = 0; server < far_.size(); server++) {
    if (!far_[server] || beating_[server] || !alive(server)) continue;
    if (free_.empty() && transfers_.size() == kMostTransfers) continue;  // it hears enough
    const Result<Transfer*> taken = take(server, Kind::beat, 0);
    if (!taken.ok()) return taken.status();
    Transfer* t = taken.value();
    const auto patience = endless ? 0u : static_cast<uint32_t>(timeout_ns_ / 1'000'000'000);
    const Header header{Op::beat, patience, 0, 0, 0};
    memcpy(t->message, &header, sizeof header);
    MPI_Request request;
    const int rc = PMPI_Issend(t->message, sizeof header, MPI_BYTE, static_cast<int>(server) + 1, kHeaderTag,
                               comm_, &request);
    Status status = start(t, request, rc, "MPI_Issend");
    if (!status.ok()) return status;
  }
  return {};
}

int MpiCourier::longest_rest_ms() {
  if (timeout_ns_ == 0 || std::find(far_.begin(), far_.end(), true) == far_.end()) return -1;
  if (!requests_.empty()) return kLookMilliseconds;
  const int64_t left = beaten_ns_ + timeout_ns_ / 4 - time_.now();
  return left <= 0 ? 0 : static_cast<int>(left / 1'000'000) + 1;
}

void MpiCourier::let_wait() {
  if (timeout_ns_ == 0) return;
  finish();  // what may be under way had a limit
  static_cast<void>(beat(true));
  finish();
}

Status MpiCourier::progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) {
  Status status;
  if (timeout_ns_ > 0 && !far_.empty() && ++calls_ % (busy() ? 1024 : 1) == 0 &&
      time_.now() - beaten_ns_ > timeout_ns_ / 4)
    status = beat(false);
  if (status.ok()) status = poll();
  completed->insert(completed->end(), done_.begin(), done_.end());
  lost->insert(lost->end(), lost_.begin(), lost_.end());
  done_.clear();
  lost_.clear();
  return status;
}

void MpiCourier::finish() {
  keep_on();
  // Where pages travel from and to the program's own memory, MPI may still use that of a server that was
  // lost: it must not get to it.
  while (!requests_.empty() && (staged_ || !lost_any())) {
    const Status status = poll();
    if (status.ok()) continue;
    for (uint32_t server = 0; server < servers(); server++) lose(server, ": " + status.message());
  }
  done_.clear();
  lost_.clear();
}

void MpiCourier::goodbye(int exit_code, bool abruptly) {
  finish();
  for (uint32_t server = 0; server < servers(); server++) {
    if (!alive(server)) continue;
    const Result<Transfer*> taken = take(server, Kind::goodbye, 0);
    if (!taken.ok() || gone(taken.value())) continue;
    Transfer* t = taken.value();
    const Header header{Op::goodbye, abruptly ? 1u : 0u, static_cast<uint64_t>(exit_code), 0, 0};
    memcpy(t->message, &header, sizeof header);
    MPI_Request request;
    const int rc = PMPI_Isend(t->message, sizeof header, MPI_BYTE, static_cast<int>(server) + 1, kHeaderTag,
                              comm_, &request);
    static_cast<void>(start(t, request, rc, "MPI_Isend"));  // losing it is no error any more
  }
  finish();
}

}  // namespace tasuki::cluster
