#include "message/transfers/transfer.h"

#include <algorithm>

#include "message/shared/wait.h"
#include "message/transfers/key.h"
#include "message/transfers/pipeline.h"
#include "message/transfers/ways.h"
#include "os/memory/keys.h"

namespace tasuki::message {
namespace {

// A pipelined transfer needs some units to overlap its two stages.
constexpr uint64_t kPipelineFrom = 2 << 10;

TransferMode choose(const TransferPolicy& policy, const Request* send, const Request* receive,
                    uint64_t bytes) {
  switch (policy.protocol) {
    case Protocol::direct:
      return TransferMode::direct;
    case Protocol::pipelined:
      return TransferMode::pipelined;
    case Protocol::eager:
      return TransferMode::alone;
    case Protocol::automatic:
      break;
  }
  const auto stream = [&] { return key_of_message(key_of_send(send), send->owner, receive->region).value(); };
  Way way = find_way(
      policy, stream, is_dense_run(send->region), [send] { return layout::footprint(send->region); }, receive,
      bytes);
  if (way == Way::pipelined && bytes < kPipelineFrom) way = Way::alone;
  // Of other messages nobody asks.
  if (way == Way::pipelined || send->waits != 0)
    note_way(*send->owner->staging, key_of_send(send).value(), way == Way::pipelined);
  switch (way) {
    case Way::pipelined:
      return TransferMode::pipelined;
    case Way::direct:
      return TransferMode::direct;
    case Way::alone:
      break;
  }
  return TransferMode::alone;
}

End first_end(const Transfer& t) {
  return t.first_front != 0 ? End::front : End::back;
}
End second_end(const Transfer& t) {
  return t.first_front != 0 ? End::back : End::front;
}

void direct_side(Transfer& t, End end, bool stay, uint64_t* copied, uint64_t* claims) {
  Claim c;
  while (claim(t, end, t.largest_claim, &c)) {
    *copied += copy_claim(t, c);
    ++*claims;
    if (give_back(t, c.count) || !stay) return;
  }
}

}  // namespace

void complete(Request* r) {
  Endpoint* owner = r->owner;
  r->state.store(RequestState::done, std::memory_order_release);
  wake(owner);
}

bool give_back(Transfer& t, uint32_t units) {
  if (t.pending.fetch_sub(units, std::memory_order_acq_rel) != units) return false;
  Staging* staging = t.mode == TransferMode::pipelined ? t.staging : nullptr;
  const bool first_sends = t.first->kind == RequestKind::send;
  Request* sender = first_sends ? t.first : t.second;
  Request* receiver = first_sends ? t.second : t.first;
  // The receiver may look at the staging buffer until it sees that it is done; the sender may want the buffer
  // for its next message as soon as it is.
  complete(receiver);
  if (staging != nullptr) staging->busy.store(0, std::memory_order_release);
  complete(sender);
  return true;
}

bool goes_ahead(const TransferPolicy& policy, const Request* send) {
  if (!policy.ahead || send->waits == 0 || layout::bytes(send->region) < kPipelineFrom) return false;
  if (policy.protocol != Protocol::automatic) return policy.protocol == Protocol::pipelined;
  return went_pipelined(*send->owner->staging, key_of_send(send).value());
}

void move_message(const TransferPolicy& policy, JobBoard& board, Request* first, Request* second,
                  uint64_t bytes, TransferStats* stats) {
  const bool second_is_source = second->kind == RequestKind::send;
  const Request* send = second_is_source ? second : first;
  const Request* receive = second_is_source ? first : second;
  const TransferMode mode = choose(policy, send, receive, bytes);
  Transfer& t = first->transfer;
  uint64_t claims = 0;
  const auto pipelined = [&] {
    return mode == TransferMode::pipelined && bytes != 0 && open_pipeline(t, first, send, bytes);
  };
  if (send->ahead != 0 || pipelined()) {
    t.bytes = bytes;
    t.destination = receive->region;
    t.second = second;
    (second_is_source ? t.source_here : t.destination_here).store(1, std::memory_order_release);
    first->state.store(RequestState::active, std::memory_order_release);
    if (second_is_source) {
      expect(t.destination_here, first);
      pack_side(t, &stats->pipelined_bytes, &claims);
    } else {
      expect(t.source_here, first);
      unpack_side(t, &stats->pipelined_bytes, &claims);
    }
  } else if (mode == TransferMode::alone || bytes == 0) {
    if (bytes != 0) {
      const os::WritesAllowed allowed;
      layout::copy(receive->region, send->region, 0, bytes);
    }
    stats->alone_bytes += bytes;
    complete(first);
    complete(second);
    return;
  } else {
    t.source = send->region;
    t.destination = receive->region;
    t.bytes = bytes;
    cut(t, policy.claim_bytes);
    t.is_transfer = 1;
    t.mode = TransferMode::direct;
    t.first = first;
    t.second = second;
    t.first_front = first->owner->slot < second->owner->slot ? 1 : 0;  // see job.h
    open_job(t);
    first->state.store(RequestState::active, std::memory_order_release);
    if (bytes >= policy.from.announce_from) announce(board, t);
    direct_side(t, second_end(t), true, &stats->direct_bytes, &claims);
    withdraw(board, t);
  }
  give_back(t, 1);
}

void help(Request* first, bool stay, TransferStats* stats) {
  Transfer& t = first->transfer;
  if (t.mode == TransferMode::direct) {
    direct_side(t, first_end(t), stay, &stats->direct_bytes, &stats->claims_helped);
  } else if (stay && first->kind == RequestKind::send) {
    t.source_here.store(1, std::memory_order_release);
    pack_side(t, &stats->pipelined_bytes, &stats->claims_helped);
  } else if (stay) {
    t.destination_here.store(1, std::memory_order_release);
    unpack_side(t, &stats->pipelined_bytes, &stats->claims_helped);
  }
}

}  // namespace tasuki::message
