#include "message/collectives/tell.h"

namespace tasuki::message {

void tell_others(Engine& engine, const Member& me, int32_t kind, const char* data, uint32_t bytes) {
  for_others(me, [&](int to) {
    engine.send_inline(me.slots[to], collective(me.context), kind, me.rank, data, bytes);
    return true;
  });
}

bool hear(Engine& engine, const Member& me, int from, const layout::Region& into, Told* told) {
  Request* r = engine.take_request();
  if (r == nullptr) return false;
  r->region = into;
  r->context = collective(me.context);
  r->tag = kAnyTag;
  r->peer = me.slots[from];
  engine.receive(r);
  *told = {r->status_tag, r->status_bytes, r->truncated != 0};
  engine.give_request(r);
  return true;
}

}  // namespace tasuki::message
