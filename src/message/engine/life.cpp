// An engine's beginning, its pools, and what it copies for itself.
#include "message/engine.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "message/engine/inside.h"
#include "message/transfers/trials.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::message {
namespace {

// Zeros, by a store for each 16 bytes: of a memset of some hundred bytes gcc makes `rep stos`, which takes 10
// ns to begin, an eighth of a non-blocking message.
template <size_t... I>
void clear(char* memory, std::index_sequence<I...>) {
  using Store [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = char;
  ((*reinterpret_cast<Store*>(memory + I * sizeof(Store)) = Store{}), ...);
}
template <typename T>
void clear(T* what) {
  constexpr size_t kStores = sizeof(T) / 16, kRest = sizeof(T) % 16;
  static_assert(std::is_trivially_destructible_v<T>);
  char* memory = reinterpret_cast<char*>(what);
  clear(memory, std::make_index_sequence<kStores>());
  memset(memory + kStores * 16, 0, kRest);
}

}  // namespace

void Request::reset() {
  clear(static_cast<Operation*>(this));
  clear(&owners);
  part[0] = part[1] = nullptr;
}

Endpoint* Engine::make_endpoint(Board* board, int32_t slot) {
  const size_t size = sizeof(Endpoint) + board->task_count * sizeof(Peer);
  void* memory = map_forever(size + board->task_count * sizeof(uint16_t));
  Staging* staging = static_cast<Staging*>(map_forever(sizeof(Staging)));
  Streams* streams = static_cast<Streams*>(map_forever(sizeof(Streams)));
  if (memory == nullptr || staging == nullptr || streams == nullptr) return nullptr;
  board_ = board;
  // Fresh zeros are the initial state of everything in it, and untouched pages of unused peers cost no
  // memory.
  self_ = static_cast<Endpoint*>(memory);
  self_->slot = slot;
  self_->process = os::pid_of_self();
  self_->staging = staging;
  staging->owner = self_;
  self_->streams = streams;
  relays_.open(self_);
  self_->senders = reinterpret_cast<uint16_t*>(static_cast<char*>(memory) + size);
  return self_;
}

void Engine::set_options(const Options& options) {
  options_ = options;
  options_.wait.apart = options.apart;
  if (!options.apart) return;
  TransferPolicy& policy = options_.transfer;
  if (policy.protocol != Protocol::eager) policy.protocol = Protocol::pipelined;
  policy.learns = false;
  policy.from.announce_from = UINT64_MAX;  // nobody else can copy
}

bool Engine::set_costs(const CostTable& table) {
  if (!table.several() || options_.apart) return true;
  Distance* distances = static_cast<Distance*>(map_forever(board_->task_count * sizeof(Distance)));
  if (distances == nullptr) return false;
  for (uint32_t i = 0; i < board_->task_count; i++) {
    const Endpoint* e = endpoint(static_cast<int32_t>(i));
    distances[i] = e == nullptr ? Distance::machine : distance(self_->place, e->place);
  }
  for (size_t d = 0; d < kDistances; d++) {
    policies_[d] = options_.transfer;
    policies_[d].costs = table.at[d];
    policies_[d].from = thresholds(table.at[d]);
  }
  distances_ = distances;
  return true;
}

Request* Engine::take_request() {
  Request* r;
  {
    const LockIf guard(options_.threads, pool_lock_);
    r = requests_.take();
  }
  if (r != nullptr) r->owner = self_;
  return r;
}

void Engine::give_request(Request* r) {
  r->reset();
  const LockIf guard(options_.threads, pool_lock_);
  requests_.give(r);
}

Cell* Engine::take_cell(uint64_t bytes, Ring* debtor) {
  const LockIf guard(options_.threads, pool_lock_);
  return cells_.take(bytes, self_, debtor);
}

// Takes back cells that have come home, so that their memory can leave after a burst.
void Engine::tidy() {
  if (self_->returned.load(std::memory_order_relaxed) == nullptr) return;
  const LockIf guard(options_.threads, pool_lock_);
  cells_.collect(self_);
}

uint64_t Engine::take_released() {
  const LockIf guard(options_.threads, pool_lock_);
  cells_.collect(self_);
  return cells_.take_released();
}

uint32_t Engine::next_attachment() {
  const LockIf guard(options_.threads, pool_lock_);
  return cells_.next_attachment();
}

void Engine::copy(const layout::Region& destination, const layout::Region& source, uint64_t bytes,
                  const Part& part) {
  // A request brings memory for a job that outlives every late helper.
  Request* r = options_.apart ? nullptr : take_request();
  if (r == nullptr) return copy_part(destination, source, bytes, part);
  copy_shared(board_->jobs, destination, source, bytes, options_.transfer.claim_bytes, r->transfer, part);
  give_request(r);
}

}  // namespace tasuki::message
