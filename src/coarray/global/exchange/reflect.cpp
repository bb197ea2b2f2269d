// reflect and reduce_shadow (XcalableMP 1.4, sections 4.6.1 and 4.6.10; XcalableACC 2.2.1).
//
// Budget: a reflect that was done before with the same widths allocates nothing; each piece is copied once, from the owner's memory
// into the shadow, by the node that has the shadow; scattered elements twice.
#include <map>

#include "coarray/global/exchange/async.h"
#include "coarray/global/exchange/shadows.h"
#include "coarray/global/records/types.h"
#include "coarray/local/runtime.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

// The others say that their elements may be read, ..
void arrive(const Exchange& e, std::vector<uint64_t>* meetings) {
  Runtime& r = runtime();
  r.transfers.complete();
  meetings->clear();
  for (int partner : e.partners) meetings->push_back(r.sync.arrive(partner));
}

// .. which is waited for.
void come(const Exchange& e, const std::vector<uint64_t>& meetings, Where where) {
  Runtime& r = runtime();
  for (size_t i = 0; i < e.partners.size(); i++)
    if (!r.sync.come(e.partners[i], meetings[i]))
      fail(where, "image %d, with which shadows are to be exchanged, has left main",
           r.number_of(e.partners[i]));
  // What they stored is seen after this.
  r.transfers.complete();
}

void bind(const Held& held, const Link& link, Operand* to, Operand* from, Where where) {
  *to = link.to;
  *from = link.from;
  to->place = place_in(held, link.to_rank, link.to_at, where);
  from->place = place_in(held, link.from_rank, link.from_at, where);
}

using Add = void (*)(char* to, const char* from, uint64_t bytes);

template <typename T>
void add(char* to, const char* from, uint64_t bytes) {
  T* sum = reinterpret_cast<T*>(to);
  const T* more = reinterpret_cast<const T*>(from);
  for (uint64_t i = 0; i < bytes / sizeof(T); i++) sum[i] = static_cast<T>(sum[i] + more[i]);
}

Add add_of(int type, Where where) {
  Add function = nullptr;
  if (!with_type(type, [&]<typename T>(T) { function = add<T>; }))
    fail(where, "reduce_shadow adds numbers; this array has none");
  return function;
}

// Caches are the host's.
bool is_staged(const Held& held, const Link& link) {
  return !held.device && Exchange::scattered(link);
}

void copy_shadows(const Held& held, const Exchange& e, Where where) {
  Transfers& transfers = runtime().transfers;
  char* next = e.stage.data();
  Operand to, from;
  for (const Link& link : e.links) {
    bind(held, link, &to, &from, where);
    if (is_staged(held, link)) {
      const uint64_t bytes = from.extent.shape.bytes();
      to = dense_operand(next, bytes);
      next += bytes;
    }
    transfers.copy(to, from, Through::at_complete);
  }
  transfers.complete_local();
}

void write_scattered(const Held& held, const Exchange& e, Where where) {
  const char* next = e.stage.data();
  Operand to, from;
  for (const Link& link : e.links) {
    if (!is_staged(held, link)) continue;
    bind(held, link, &to, &from, where);
    const uint64_t bytes = from.extent.shape.bytes();
    runtime().transfers.copy(to, dense_operand(const_cast<char*>(next), bytes), Through::at_return);
    next += bytes;
  }
}

// What comes from a shadow arrives dense, and is added run by run.
void add_shadows(const Held& held, const Exchange& e, Add function, Where where) {
  struct Sum {
    Add function;
    const char* next;
  };
  Transfers& transfers = runtime().transfers;
  const auto memory = std::make_unique<char[]>(2 * e.largest);
  Operand to, from;
  for (const Link& link : e.links) {
    bind(held, link, &to, &from, where);
    if (held.device) {
      const uint64_t bytes = from.extent.shape.bytes();
      const Operand more = dense_operand(memory.get(), bytes),
                    all = dense_operand(memory.get() + bytes, bytes);
      transfers.copy(more, from, Through::at_return);
      transfers.copy(all, to, Through::at_return);
      function(memory.get() + bytes, memory.get(), bytes);
      transfers.copy(to, all, Through::at_return);
      continue;
    }
    transfers.copy(dense_operand(memory.get(), from.extent.shape.bytes()), from, Through::at_return);
    Sum sum = {function, memory.get()};
    transfers.for_each_run(to, &sum, [](void* context, char* address, uint64_t length) {
      Sum* s = static_cast<Sum*>(context);
      s->function(address, s->next, length);
      s->next += length;
      return true;
    });
  }
}

// From the first meeting, which has begun, to the end.
void finish_exchange(const Held& held, const Exchange& e, Add function, std::vector<uint64_t>* meetings,
                     Where where) {
  come(e, *meetings, where);
  if (function == nullptr)
    copy_shadows(held, e, where);
  else
    add_shadows(held, e, function, where);
  // Nobody reads here any more after this.
  arrive(e, meetings);
  come(e, *meetings, where);
  if (function == nullptr) write_scattered(held, e, where);
}

class Shadows : public Pending {
 public:
  Shadows(const Held& held, const Exchange& exchange, Add function, Where where)
      : held_(held), exchange_(exchange), function_(function), where_(where) {
    arrive(exchange_, &meetings_);
  }
  bool ready() override {
    for (size_t i = 0; i < meetings_.size(); i++)
      if (!runtime().sync.has_come(exchange_.partners[i], meetings_[i])) return false;
    return true;
  }
  void finish() override { finish_exchange(held_, exchange_, function_, &meetings_, where_); }

 private:
  Held held_;
  const Exchange& exchange_;
  Add function_;
  Where where_;
  std::vector<uint64_t> meetings_;
};

Widths widths_of(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags,
                 const char* directive, Where where) {
  Widths w;
  w.orthogonal = (flags & TASUKI_XMP_ORTHOGONAL) != 0;
  for (int d = 0; d < a.dimensions; d++) {
    w.below[d] = width == nullptr ? -1 : width[d].below;
    w.above[d] = width == nullptr ? -1 : width[d].above;
    w.periodic[d] = width != nullptr && width[d].periodic != 0;
    const bool full = a.shadow[d][0] < 0;
    if (!full && (w.below[d] > a.shadow[d][0] || w.above[d] > a.shadow[d][1]))
      fail(where, "%s: dimension %d of '%s' has a shadow of %d:%d elements; %d:%d are asked for", directive,
           d + 1, a.name, a.shadow[d][0], a.shadow[d][1], w.below[d], w.above[d]);
  }
  return w;
}

// Those of reflect_init.
std::map<const tasuki_xmp_array*, const Exchange*>& begun() {
  static auto* the = new std::map<const tasuki_xmp_array*, const Exchange*>;
  return *the;
}

void exchange(const Held& held, const Exchange& e, unsigned flags, int async, Add function, Where where) {
  if ((flags & TASUKI_XMP_ASYNC) != 0) {
    asynchronous().add(async, std::make_unique<Shadows>(held, e, function, where));
    return;
  }
  static auto* meetings = new std::vector<uint64_t>;
  arrive(e, meetings);
  finish_exchange(held, e, function, meetings, where);
}

void exchange(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags, int async,
              Add function, const char* directive, Where where) {
  const Held held = arrays().held(a, flags, where);
  exchange(held,
           exchange_of(*held.geometry, widths_of(a, width, flags, directive, where), function != nullptr),
           flags, async, function, where);
}

}  // namespace

EXPORT void tasuki_xmp_reflect(const tasuki_xmp_array* a, const tasuki_xmp_width* width, unsigned flags,
                               int async, const char* file, int line) {
  exchange(*a, width, flags, async, nullptr, "reflect", {file, line});
}

EXPORT void tasuki_xmp_reflect_init(const tasuki_xmp_array* a, const tasuki_xmp_width* width, unsigned flags,
                                    int, const char* file, int line) {
  const Where where = {file, line};
  const Held held = arrays().held(*a, 0, where);
  begun()[a] = &exchange_of(*held.geometry, widths_of(*a, width, flags, "reflect_init", where), false);
}

EXPORT void tasuki_xmp_reflect_do(const tasuki_xmp_array* a, unsigned flags, int async, const char* file,
                                  int line) {
  const Where where = {file, line};
  const Held held = arrays().held(*a, flags, where);
  const auto found = begun().find(a);
  if (found == begun().end() || found->second->geometry != held.geometry)
    fail(where, "reflect_do of '%s' comes behind a reflect_init of it, which says what is to be done",
         a->name);
  exchange(held, *found->second, flags, async, nullptr, where);
}

EXPORT void tasuki_xmp_reduce_shadow(const tasuki_xmp_array* a, int type, const tasuki_xmp_width* width,
                                     unsigned flags, int async, const char* file, int line) {
  exchange(*a, width, flags, async, add_of(type, {file, line}), "reduce_shadow", {file, line});
}
