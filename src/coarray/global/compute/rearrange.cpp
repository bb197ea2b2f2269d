// xmp_scatter, xmp_gather, xmp_pack and xmp_unpack (XcalableMP 1.4, section 7.9): copies whose places stand
// in arrays.
#include <cstring>
#include <numeric>

#include "coarray/global/compute/procedures.h"
#include "coarray/global/exchange/orders.h"
#include "coarray/global/exchange/patient.h"
#include "coarray/global/records/types.h"
#include "coarray/sync/collectives.h"

namespace tasuki::coarray {
namespace {

// This node's part of an index array, in the order of its elements.
std::vector<int64_t> integers_of(const Procedure& call, const tasuki_xmp_array& a) {
  const ElementMap elements = call.elements(a);
  std::vector<int64_t> result;
  bool whole = false;
  with_type(a.type - 1, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T>) {
      whole = true;
      elements.each_owned([&](int64_t, int64_t at) {
        T value;
        memcpy(&value, elements.memory() + at, sizeof value);
        result.push_back(static_cast<int64_t>(value));
      });
    }
  });
  if (!whole)
    fail(call.where(), "%s: '%s' holds subscripts and must be an array of integers", call.name(), a.name);
  return result;
}

// The elements of an array that index arrays name, `count` of them on this node.
class Named {
 public:
  Named(const Procedure& call, const tasuki_xmp_array& a, const tasuki_xmp_array& like,
        const std::vector<xmp_desc_t>& indices)
      : call_(call), a_(a) {
    if (indices.size() != static_cast<size_t>(a.dimensions))
      fail(call.where(), "%s: '%s' has %d dimensions, and there are %zu index arrays", call.name(), a.name,
           a.dimensions, indices.size());
    for (xmp_desc_t d : indices) {
      const tasuki_xmp_array& index = call.array(d, "idx");
      call.same_mapping(index, like);
      subscripts_.push_back(integers_of(call, index));
    }
  }
  // The subscripts that element k names.
  void at(size_t k, int64_t* x) const {
    for (size_t d = 0; d < subscripts_.size(); d++) {
      x[d] = subscripts_[d][k];
      if (x[d] < 0 || x[d] >= a_.extent[d])
        fail(call_.where(), "%s: dimension %zu of '%s' goes from 0 to %lld; the index array has %lld",
             call_.name(), d + 1, a_.name, a_.extent[d] - 1, static_cast<long long>(x[d]));
    }
  }

 private:
  const Procedure& call_;
  const tasuki_xmp_array& a_;
  std::vector<std::vector<int64_t>> subscripts_;
};

void append(std::vector<char>* values, const char* from, uint64_t bytes) {
  values->insert(values->end(), from, from + bytes);
}

void write_owned(const ElementMap& x, const std::vector<char>& values) {
  const uint64_t element = x.geometry().element;
  const char* next = values.data();
  x.each_owned([&](int64_t, int64_t at) {
    memcpy(x.memory() + at, next, element);
    next += element;
  });
}

// ElementMap of an array that a mask selects; without one, all. They are counted in the order of the array's
// elements.
struct Selected {
  std::vector<int64_t> place;  // among the selected ones, of those that this node has
  std::vector<int64_t> at;     // bytes in this node's memory of the array
  int64_t count = 0;           // on all nodes
};

// The order of elements is divided into equal parts, one for each node, which counts what is selected there.
Selected selected(const Procedure& call, const tasuki_xmp_array& a, xmp_desc_t mask) {
  const ElementMap elements = call.elements(a);
  Selected result;
  if (mask == nullptr) {
    result.count = elements.count();
    elements.each_owned([&](int64_t number, int64_t at) {
      result.place.push_back(number);
      result.at.push_back(at);
    });
    return result;
  }
  const tasuki_xmp_array& m = call.array(mask, "mask");
  if (m.type - 1 != TASUKI_XMP_BOOL)
    fail(call.where(), "%s: the mask '%s' must be an array of _Bool", call.name(), m.name);
  call.same_mapping(m, a);
  std::vector<char> chosen;
  const ElementMap truth = call.elements(m);
  truth.each_owned([&](int64_t, int64_t at) { chosen.push_back(truth.memory()[at]); });

  Sync& sync = call.parts().sync;
  const Team& team = call.team();
  const int64_t part = std::max<int64_t>(1, ceil_div(elements.count(), team.size()));
  Orders marks(&sync, team, 1), places(&sync, team, sizeof(int64_t));
  size_t k = 0;
  elements.each_owned([&](int64_t number, int64_t at) {
    if (chosen[k++] == 0) return;
    const Spot spot = {static_cast<int>(number / part), number % part};
    if (elements.speaks()) marks.add(spot);
    places.add({spot.node, spot.at * static_cast<int64_t>(sizeof(int64_t))});
    result.at.push_back(at);
  });
  std::vector<char> marked(static_cast<size_t>(part), 0);
  marks.store(marked.data(), std::vector<char>(elements.speaks() ? result.at.size() : 0, 1));
  result.count = std::accumulate(marked.begin(), marked.end(), int64_t{0});
  int64_t before = sum_before(&sync, result.count, team);
  allreduce(&sync, &result.count, 1, MPI_INT64_T, MPI_SUM, users_comm(team));
  std::vector<int64_t> counted;
  for (char mark : marked) {
    counted.push_back(before);
    before += mark;
  }
  const std::vector<char> got = places.fetch(reinterpret_cast<const char*>(counted.data()));
  result.place.resize(result.at.size());
  if (!got.empty()) memcpy(result.place.data(), got.data(), got.size());
  return result;
}

void holds(const Procedure& call, const tasuki_xmp_array& v, const Selected& some) {
  if (some.count > v.extent[0])
    fail(call.where(), "%s: %lld elements are selected, and '%s' has %lld", call.name(),
         static_cast<long long>(some.count), v.name, v.extent[0]);
}

}  // namespace

void Procedures::scatter(xmp_desc_t x, xmp_desc_t a, const std::vector<xmp_desc_t>& indices) {
  const Procedure call(this, "xmp_scatter");
  const Collective here(&collectives, call.team(), call.where());
  const tasuki_xmp_array &target = call.array(x, "x"), &source = call.array(a, "a");
  call.same_type(target, source);
  const Named named(call, target, source, indices);
  const ElementMap to = call.elements(target), from = call.elements(source);
  Orders orders(&sync, call.team(), target.element);
  std::vector<char> values;
  int64_t at_x[TASUKI_XMP_DIMENSIONS];
  size_t k = 0;
  from.each_owned([&](int64_t, int64_t at) {
    named.at(k++, at_x);
    if (!from.speaks()) return;
    to.each_copy(at_x, [&](Spot spot) {
      orders.add(spot);
      append(&values, from.memory() + at, source.element);
    });
  });
  orders.store(to.memory(), values);
  transfers.complete();
}

void Procedures::gather(xmp_desc_t x, xmp_desc_t a, const std::vector<xmp_desc_t>& indices) {
  const Procedure call(this, "xmp_gather");
  const Collective here(&collectives, call.team(), call.where());
  const tasuki_xmp_array &target = call.array(x, "x"), &source = call.array(a, "a");
  call.same_type(target, source);
  const Named named(call, source, target, indices);
  const ElementMap to = call.elements(target), from = call.elements(source);
  Orders orders(&sync, call.team(), target.element);
  int64_t at_a[TASUKI_XMP_DIMENSIONS];
  for (size_t k = 0; k < static_cast<size_t>(to.owned()); k++) {
    named.at(k, at_a);
    orders.add(from.nearest(at_a));
  }
  write_owned(to, orders.fetch(from.memory()));
  transfers.complete();
}

void Procedures::pack(xmp_desc_t v, xmp_desc_t a, xmp_desc_t mask) {
  const Procedure call(this, "xmp_pack");
  const Collective here(&collectives, call.team(), call.where());
  const tasuki_xmp_array &target = call.array(v, "v", 1), &source = call.array(a, "a");
  call.same_type(target, source);
  const Selected some = selected(call, source, mask);
  holds(call, target, some);
  const ElementMap to = call.elements(target), from = call.elements(source);
  Orders orders(&sync, call.team(), target.element);
  std::vector<char> values;
  for (size_t k = 0; from.speaks() && k < some.at.size(); k++)
    to.each_copy(&some.place[k], [&](Spot spot) {
      orders.add(spot);
      append(&values, from.memory() + some.at[k], source.element);
    });
  orders.store(to.memory(), values);
  transfers.complete();
}

void Procedures::unpack(xmp_desc_t a, xmp_desc_t v, xmp_desc_t mask) {
  const Procedure call(this, "xmp_unpack");
  const Collective here(&collectives, call.team(), call.where());
  const tasuki_xmp_array &target = call.array(a, "a"), &source = call.array(v, "v", 1);
  call.same_type(target, source);
  const Selected some = selected(call, target, mask);
  holds(call, source, some);
  const ElementMap to = call.elements(target), from = call.elements(source);
  Orders orders(&sync, call.team(), target.element);
  for (int64_t place : some.place) orders.add(from.nearest(&place));
  const std::vector<char> values = orders.fetch(from.memory());
  for (size_t k = 0; k < some.at.size(); k++)
    memcpy(to.memory() + some.at[k], values.data() + k * target.element, target.element);
  transfers.complete();
}

}  // namespace tasuki::coarray
