#include "message/shared/queues.h"

namespace tasuki::message {
namespace {

RequestQueue& queue_of(Endpoint* e, const Request* r) {
  return r->peer == kAnySource ? e->posted_any : e->peer(r->peer).posted;
}

bool matches(const Envelope* m, uint32_t context, int32_t tag) {
  return m->context == context && (tag == kAnyTag || m->tag == tag);
}

// The first receive in the queue that matches and that `is_free` lets pass.
template <typename IsFree>
Request* first_match(const RequestQueue& q, uint32_t context, int32_t tag, IsFree is_free) {
  for (Request* r = q.oldest; r != nullptr; r = r->newer)
    if (r->context == context && (r->tag == tag || r->tag == kAnyTag) && is_free(r)) return r;
  return nullptr;
}

// The same of both queues in which a receive for this source may be.
template <typename IsFree>
Request* first_posted(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag, IsFree is_free) {
  if (e->posted_count == 0) return nullptr;
  Request* named = first_match(e->peer(source_slot).posted, context, tag, is_free);
  Request* any = e->posted_any_count == 0 ? nullptr : first_match(e->posted_any, context, tag, is_free);
  return named == nullptr ? any : any == nullptr || named->posted_at < any->posted_at ? named : any;
}

// The message, unless a posted receive may still get it.
Envelope* unclaimed(Endpoint* e, Envelope* m) {
  if (__builtin_expect(e->contested.load(std::memory_order_relaxed) == 0, 1)) return m;
  return find_posted(e, m->context, m->source_slot, m->tag) == nullptr ? m : nullptr;
}

// Doubly linked queues through two members of their nodes.
template <typename Node, typename Base, typename Queue>
void link(Queue& q, Node* n, Node* Base::*newer, Node* Base::*older) {
  n->*newer = nullptr;
  n->*older = q.newest;
  (q.newest != nullptr ? q.newest->*newer : q.oldest) = n;
  q.newest = n;
}

template <typename Node, typename Base, typename Queue>
void unlink(Queue& q, Node* n, Node* Base::*newer, Node* Base::*older) {
  (n->*older != nullptr ? (n->*older)->*newer : q.oldest) = n->*newer;
  (n->*newer != nullptr ? (n->*newer)->*older : q.newest) = n->*older;
}

template <typename Node, typename Base, typename Queue>
void exchange(Queue& q, Node* n, Node* by, Node* Base::*newer, Node* Base::*older) {
  by->*newer = n->*newer;
  by->*older = n->*older;
  (n->*older != nullptr ? (n->*older)->*newer : q.oldest) = by;
  (n->*newer != nullptr ? (n->*newer)->*older : q.newest) = by;
}

}  // namespace

void post(Endpoint* e, Request* r) {
  r->posted_at = e->next_posted++;
  link(queue_of(e, r), r, &Operation::newer, &Operation::older);
  r->queued = 1;
  e->posted_count++;
  if (r->peer == kAnySource) e->posted_any_count++;
}

void unpost(Endpoint* e, Request* r) {
  unlink(queue_of(e, r), r, &Operation::newer, &Operation::older);
  r->queued = 0;
  e->posted_count--;
  if (r->peer == kAnySource) e->posted_any_count--;
}

Request* find_posted(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag) {
  return first_posted(e, context, source_slot, tag, [](const Request*) { return true; });
}

Request* expected_by(Endpoint* e, const Envelope* m) {
  const uint32_t look = ++e->looks;
  for (const Envelope* earlier = e->unexpected.oldest; earlier != nullptr; earlier = earlier->newer) {
    Request* const r = first_posted(e, earlier->context, earlier->source_slot, earlier->tag,
                                    [look](const Request* posted) { return posted->given_in != look; });
    if (earlier == m) return r;
    if (r != nullptr) r->given_in = look;
  }
  return nullptr;
}

Request* take_posted(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag, const Envelope* own) {
  Request* r = find_posted(e, context, source_slot, tag);
  if (r == nullptr) return nullptr;
  if (r->reserved != 0) {
    r->wanted.store(1, std::memory_order_relaxed);
    e->contested.store(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (__builtin_expect(e->contested.load(std::memory_order_relaxed) != 0, 0)) {
    const Envelope* m = e->peer(source_slot).unexpected.oldest;
    while (m != own && !matches(m, r->context, r->tag)) m = m->newer_of_sender;
    if (m != own) return nullptr;
  }
  unpost(e, r);
  return r;
}

void append_unexpected(Endpoint* e, Envelope* m) {
  link(e->unexpected, m, &Envelope::newer, &Envelope::older);
  link(e->peer(m->source_slot).unexpected, m, &Envelope::newer_of_sender, &Envelope::older_of_sender);
  e->arrivals.fetch_add(1, std::memory_order_release);
}

void remove_unexpected(Endpoint* e, Envelope* m) {
  unlink(e->unexpected, m, &Envelope::newer, &Envelope::older);
  unlink(e->peer(m->source_slot).unexpected, m, &Envelope::newer_of_sender, &Envelope::older_of_sender);
}

void replace_unexpected(Endpoint* e, Envelope* m, Envelope* by) {
  exchange(e->unexpected, m, by, &Envelope::newer, &Envelope::older);
  exchange(e->peer(m->source_slot).unexpected, m, by, &Envelope::newer_of_sender, &Envelope::older_of_sender);
}

Envelope* find_unexpected(Endpoint* e, uint32_t context, int32_t source_slot, int32_t tag) {
  if (source_slot == kAnySource) {
    for (Envelope* m = e->unexpected.oldest; m != nullptr; m = m->newer)
      if (matches(m, context, tag)) return unclaimed(e, m);
    return nullptr;
  }
  for (Envelope* m = e->peer(source_slot).unexpected.oldest; m != nullptr; m = m->newer_of_sender)
    if (matches(m, context, tag)) return unclaimed(e, m);
  return nullptr;
}

}  // namespace tasuki::message
