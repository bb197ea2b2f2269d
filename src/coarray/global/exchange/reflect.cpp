#include "coarray/global/exchange/reflect.h"

#include <memory>

#include "coarray/global/records/types.h"

namespace tasuki::coarray {
namespace {

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

}  // namespace

// The others say that their elements may be read, ..
void Reflections::arrive(const Exchange& e, std::vector<uint64_t>* meetings) {
  transfers_.complete();
  meetings->clear();
  for (int partner : e.partners) meetings->push_back(sync_.arrive(partner));
}

// .. which is waited for.
void Reflections::come(const Exchange& e, const std::vector<uint64_t>& meetings, Where where) {
  for (size_t i = 0; i < e.partners.size(); i++)
    if (!sync_.come(e.partners[i], meetings[i]))
      fail(where, "image %d, with which shadows are to be exchanged, has left main",
           teams_.number_of(e.partners[i]));
  // What they stored is seen after this.
  transfers_.complete();
}

void Reflections::copy_shadows(const Held& held, const Exchange& e, Where where) {
  char* next = e.stage.data();
  Operand to, from;
  for (const Link& link : e.links) {
    bind(held, link, &to, &from, where);
    if (is_staged(held, link)) {
      const uint64_t bytes = from.extent.shape.bytes();
      to = dense_operand(next, bytes);
      next += bytes;
    }
    transfers_.copy(to, from, Through::at_complete);
  }
  transfers_.complete_local();
}

void Reflections::write_scattered(const Held& held, const Exchange& e, Where where) {
  const char* next = e.stage.data();
  Operand to, from;
  for (const Link& link : e.links) {
    if (!is_staged(held, link)) continue;
    bind(held, link, &to, &from, where);
    const uint64_t bytes = from.extent.shape.bytes();
    transfers_.copy(to, dense_operand(const_cast<char*>(next), bytes), Through::at_return);
    next += bytes;
  }
}

// What comes from a shadow arrives dense, and is added run by run.
void Reflections::add_shadows(const Held& held, const Exchange& e, Add function, Where where) {
  struct Sum {
    Add function;
    const char* next;
  };
  const auto memory = std::make_unique<char[]>(2 * e.largest);
  Operand to, from;
  for (const Link& link : e.links) {
    bind(held, link, &to, &from, where);
    if (held.device) {
      const uint64_t bytes = from.extent.shape.bytes();
      const Operand more = dense_operand(memory.get(), bytes),
                    all = dense_operand(memory.get() + bytes, bytes);
      transfers_.copy(more, from, Through::at_return);
      transfers_.copy(all, to, Through::at_return);
      function(memory.get() + bytes, memory.get(), bytes);
      transfers_.copy(to, all, Through::at_return);
      continue;
    }
    transfers_.copy(dense_operand(memory.get(), from.extent.shape.bytes()), from, Through::at_return);
    Sum sum = {function, memory.get()};
    transfers_.for_each_run(to, &sum, [](void* context, char* address, uint64_t length) {
      Sum* s = static_cast<Sum*>(context);
      s->function(address, s->next, length);
      s->next += length;
      return true;
    });
  }
}

// From the first meeting, which has begun, to the end.
void Reflections::finish_exchange(const Held& held, const Exchange& e, Add function,
                                  std::vector<uint64_t>* meetings, Where where) {
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

class Reflections::Later : public Pending {
 public:
  Later(Reflections* all, const Held& held, const Exchange& exchange, Add function, Where where)
      : all_(*all), held_(held), exchange_(exchange), function_(function), where_(where) {
    all_.arrive(exchange_, &meetings_);
  }
  bool ready() override {
    for (size_t i = 0; i < meetings_.size(); i++)
      if (!all_.sync_.has_come(exchange_.partners[i], meetings_[i])) return false;
    return true;
  }
  void finish() override { all_.finish_exchange(held_, exchange_, function_, &meetings_, where_); }

 private:
  Reflections& all_;
  Held held_;
  const Exchange& exchange_;
  Add function_;
  Where where_;
  std::vector<uint64_t> meetings_;
};

void Reflections::exchange(const Held& held, const Exchange& e, unsigned flags, int async, Add function,
                           Where where) {
  if ((flags & TASUKI_XMP_ASYNC) != 0) {
    asynchronous_.add(async, std::make_unique<Later>(this, held, e, function, where));
    return;
  }
  arrive(e, &meetings_);
  finish_exchange(held, e, function, &meetings_, where);
}

void Reflections::exchange(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags,
                           int async, Add function, const char* directive, Where where) {
  const Held held = arrays_.held(a, flags, where);
  exchange(held,
           exchanges_.of(*held.geometry, widths_of(a, width, flags, directive, where), function != nullptr),
           flags, async, function, where);
}

void Reflections::reflect(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags, int async,
                          Where where) {
  exchange(a, width, flags, async, nullptr, "reflect", where);
}

void Reflections::prepare(const tasuki_xmp_array& a, const tasuki_xmp_width* width, unsigned flags,
                          Where where) {
  const Held held = arrays_.held(a, 0, where);
  prepared_[&a] = &exchanges_.of(*held.geometry, widths_of(a, width, flags, "reflect_init", where), false);
}

void Reflections::reflect_prepared(const tasuki_xmp_array& a, unsigned flags, int async, Where where) {
  const Held held = arrays_.held(a, flags, where);
  const auto found = prepared_.find(&a);
  if (found == prepared_.end() || found->second->geometry != held.geometry)
    fail(where, "reflect_do of '%s' comes behind a reflect_init of it, which says what is to be done",
         a.name);
  exchange(held, *found->second, flags, async, nullptr, where);
}

void Reflections::reduce_shadow(const tasuki_xmp_array& a, int type, const tasuki_xmp_width* width,
                                unsigned flags, int async, Where where) {
  exchange(a, width, flags, async, add_of(type, where), "reduce_shadow", where);
}

}  // namespace tasuki::coarray
