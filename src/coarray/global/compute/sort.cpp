// xmp_sort_up and xmp_sort_down (XcalableMP 1.4, section 7.9). Each node sorts what it has; samples of all
// say which values are whose, so that each node gets about as many; these are sorted and go to their places.
// Equal values are told apart by where they come from, so that many of them do not meet on one node. (H. Shi,
// J. Schaeffer: Parallel sorting by regular sampling, J. Parallel Distrib. Comput. 14, 1992.)
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "coarray/global/compute/procedures.h"
#include "coarray/global/exchange/orders.h"
#include "coarray/global/exchange/patient.h"
#include "coarray/global/records/types.h"
#include "coarray/sync/collectives.h"

namespace tasuki::coarray {
namespace {

constexpr int64_t kSamples = 32;  // of each node's share, from all nodes together

// Of floating-point numbers what is no number is last, in either direction.
template <typename T>
struct Before {
  bool up;
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
    return up ? a < b : b < a;
  }
};

template <typename T>
struct Sample {
  T value;
  int node;
  int64_t index;  // on the node, when it is sorted
};

template <typename T>
void append(std::vector<char>* bytes, const T* from, size_t count) {
  const char* begin = reinterpret_cast<const char*>(from);
  bytes->insert(bytes->end(), begin, begin + count * sizeof(T));
}
template <typename T>
void take_all(const std::vector<std::vector<char>>& parcels, std::vector<T>* all) {
  for (const std::vector<char>& parcel : parcels) {
    const size_t before = all->size();
    all->resize(before + parcel.size() / sizeof(T));
    if (!parcel.empty()) memcpy(static_cast<void*>(all->data() + before), parcel.data(), parcel.size());
  }
}

// The first values of each node's share but the first one's.
template <typename T>
std::vector<Sample<T>> borders(Sync* sync, const std::vector<T>& mine, const Team& team, Before<T> before) {
  int64_t total = static_cast<int64_t>(mine.size());
  allreduce(sync, &total, 1, MPI_INT64_T, MPI_SUM, users_comm(team));
  const int64_t step = total / (kSamples * team.size()) + 1;
  std::vector<char> samples;
  for (size_t i = 0; i < mine.size(); i += static_cast<size_t>(step)) {
    const Sample<T> sample = {mine[i], team.me, static_cast<int64_t>(i)};
    append(&samples, &sample, 1);
  }
  std::vector<Sample<T>> all;
  take_all(exchange(sync, team, std::vector<std::vector<char>>(static_cast<size_t>(team.size()), samples)),
           &all);
  std::sort(all.begin(), all.end(), [&](const Sample<T>& a, const Sample<T>& b) {
    if (before(a.value, b.value) || before(b.value, a.value)) return before(a.value, b.value);
    return std::tie(a.node, a.index) < std::tie(b.node, b.index);
  });
  std::vector<Sample<T>> result;
  for (size_t n = 1; n < static_cast<size_t>(team.size()); n++)
    result.push_back(all[n * all.size() / static_cast<size_t>(team.size())]);
  return result;
}

// How many of this node's values come before the border.
template <typename T>
size_t count_before(const std::vector<T>& mine, const Sample<T>& border, int me, Before<T> before) {
  const auto [first, last] = std::equal_range(mine.begin(), mine.end(), border.value, before);
  if (me != border.node) return static_cast<size_t>((me < border.node ? last : first) - mine.begin());
  return static_cast<size_t>(border.index);
}

template <typename T>
void sort(Sync* sync, const Team& team, const ElementMap& to, const ElementMap& from, bool up) {
  const Before<T> before = {up};
  std::vector<T> mine;
  if (from.speaks())
    from.each_owned([&](int64_t, int64_t at) {
      mine.emplace_back();
      memcpy(&mine.back(), from.memory() + at, sizeof(T));
    });
  std::sort(mine.begin(), mine.end(), before);
  if (from.count() == 0) return;
  std::vector<std::vector<char>> parcels(static_cast<size_t>(team.size()));
  size_t begin = 0, node = 0;
  for (const Sample<T>& border : borders(sync, mine, team, before)) {
    const size_t end = count_before(mine, border, team.me, before);
    append(&parcels[node++], mine.data() + begin, end - begin);
    begin = end;
  }
  append(&parcels[node], mine.data() + begin, mine.size() - begin);
  mine.clear();
  take_all(exchange(sync, team, parcels), &mine);
  std::sort(mine.begin(), mine.end(), before);

  int64_t place = sum_before(sync, static_cast<int64_t>(mine.size()), team);
  Orders orders(sync, team, sizeof(T));
  std::vector<char> values;
  for (const T& value : mine) {
    to.each_copy(&place, [&](Spot spot) {
      orders.add(spot);
      append(&values, &value, 1);
    });
    place++;
  }
  orders.store(to.memory(), values);
}

void sort(Procedures* parts, xmp_desc_t v1, xmp_desc_t v2, bool up, const char* name) {
  const Procedure call(parts, name);
  const Collective here(&parts->collectives, call.team(), call.where());
  const tasuki_xmp_array &target = call.array(v1, "v1", 1), &source = call.array(v2, "v2", 1);
  call.same_type(target, source);
  call.same_extent(target, 0, source, 0);
  bool ordered = false;
  with_type(source.type - 1, [&](auto sample) {
    using Given = decltype(sample);
    // There is no std::vector of bool whose elements have addresses.
    using T = std::conditional_t<std::is_same_v<Given, bool>, unsigned char, Given>;
    if constexpr (std::is_arithmetic_v<T>) {
      ordered = true;
      sort<T>(&parts->sync, call.team(), call.elements(target), call.elements(source), up);
    }
  });
  if (!ordered)
    fail(call.where(), "%s: the elements of '%s' are no real numbers, and have no order", name, source.name);
  parts->transfers.complete();
}

}  // namespace

void Procedures::sort_up(xmp_desc_t v1, xmp_desc_t v2) {
  sort(this, v1, v2, true, "xmp_sort_up");
}

void Procedures::sort_down(xmp_desc_t v1, xmp_desc_t v2) {
  sort(this, v1, v2, false, "xmp_sort_down");
}

}  // namespace tasuki::coarray
