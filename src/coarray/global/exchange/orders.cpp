#include "coarray/global/exchange/orders.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "coarray/global/exchange/patient.h"

namespace tasuki::coarray {

std::vector<std::vector<char>> exchange(Sync* sync, const Team& team,
                                        const std::vector<std::vector<char>>& parcels) {
  const auto nodes = static_cast<size_t>(team.size());
  std::vector<int64_t> sizes(nodes), expected(nodes);
  int64_t most = 0;
  for (size_t n = 0; n < nodes; n++) {
    sizes[n] = static_cast<int64_t>(parcels[n].size());
    most = std::max(most, sizes[n]);
  }
  MPI_Comm comm = users_comm(team);
  patiently(
      sync, [&] { MPI_Alltoall(sizes.data(), 1, MPI_INT64_T, expected.data(), 1, MPI_INT64_T, comm); },
      [&](MPI_Request* r) {
        PMPI_Ialltoall(sizes.data(), 1, MPI_INT64_T, expected.data(), 1, MPI_INT64_T, comm, r);
      });
  allreduce(sync, &most, 1, MPI_INT64_T, MPI_MAX, comm);
  std::vector<std::vector<char>> result(nodes);
  for (size_t n = 0; n < nodes; n++) result[n].resize(static_cast<size_t>(expected[n]));
  // MPI counts in int, over all nodes together.
  const int64_t chunk = std::max<int64_t>(1, INT_MAX / static_cast<int64_t>(nodes) & ~int64_t{63});
  std::vector<char> out, in;
  std::vector<int> out_counts(nodes), in_counts(nodes), out_places(nodes), in_places(nodes);
  for (int64_t done = 0; done < most; done += chunk) {
    out.clear();
    int next = 0;
    for (size_t n = 0; n < nodes; n++) {
      out_counts[n] = static_cast<int>(std::clamp<int64_t>(sizes[n] - done, 0, chunk));
      in_counts[n] = static_cast<int>(std::clamp<int64_t>(expected[n] - done, 0, chunk));
      out_places[n] = static_cast<int>(out.size());
      in_places[n] = next;
      next += in_counts[n];
      if (out_counts[n] > 0)
        out.insert(out.end(), parcels[n].begin() + done, parcels[n].begin() + done + out_counts[n]);
    }
    in.resize(static_cast<size_t>(next));
    patiently(
        sync,
        [&] {
          MPI_Alltoallv(out.data(), out_counts.data(), out_places.data(), MPI_BYTE, in.data(),
                        in_counts.data(), in_places.data(), MPI_BYTE, comm);
        },
        [&](MPI_Request* r) {
          PMPI_Ialltoallv(out.data(), out_counts.data(), out_places.data(), MPI_BYTE, in.data(),
                          in_counts.data(), in_places.data(), MPI_BYTE, comm, r);
        });
    for (size_t n = 0; n < nodes; n++)
      std::copy_n(in.begin() + in_places[n], in_counts[n], result[n].begin() + std::min(done, expected[n]));
  }
  return result;
}

void Orders::add(Spot spot) {
  if (stretches_.empty() || stretches_.back().node != spot.node) stretches_.push_back({spot.node, 0});
  stretches_.back().count++;
  std::vector<Order>& orders = wanted_[static_cast<size_t>(spot.node)];
  const auto bytes = static_cast<int64_t>(element_);
  if (orders.empty() || orders.back().at + orders.back().count * bytes != spot.at)
    orders.push_back({spot.at, 0});
  orders.back().count++;
}

std::vector<std::vector<Orders::Order>> Orders::orders_at_all() const {
  std::vector<std::vector<char>> parcels;
  for (const std::vector<Order>& orders : wanted_) {
    const char* begin = reinterpret_cast<const char*>(orders.data());
    parcels.emplace_back(begin, begin + orders.size() * sizeof(Order));
  }
  std::vector<std::vector<Order>> result;
  for (const std::vector<char>& parcel : exchange(&sync_, team_, parcels)) {
    result.emplace_back(parcel.size() / sizeof(Order));
    if (!parcel.empty()) memcpy(result.back().data(), parcel.data(), parcel.size());
  }
  return result;
}

std::vector<char> Orders::fetch(const char* memory) const {
  std::vector<std::vector<char>> answers;
  for (const std::vector<Order>& orders : orders_at_all()) {
    answers.emplace_back();
    for (const Order& order : orders)
      answers.back().insert(answers.back().end(), memory + order.at,
                            memory + order.at + order.count * static_cast<int64_t>(element_));
  }
  const std::vector<std::vector<char>> got = exchange(&sync_, team_, answers);
  std::vector<int64_t> next(got.size(), 0);
  std::vector<char> values;
  for (const Stretch& stretch : stretches_) {
    const auto node = static_cast<size_t>(stretch.node);
    const int64_t bytes = stretch.count * static_cast<int64_t>(element_);
    values.insert(values.end(), got[node].begin() + next[node], got[node].begin() + next[node] + bytes);
    next[node] += bytes;
  }
  return values;
}

void Orders::store(char* memory, const std::vector<char>& values) const {
  std::vector<std::vector<char>> parcels(wanted_.size());
  auto from = values.begin();
  for (const Stretch& stretch : stretches_) {
    const auto to = from + stretch.count * static_cast<int64_t>(element_);
    std::vector<char>& parcel = parcels[static_cast<size_t>(stretch.node)];
    parcel.insert(parcel.end(), from, to);
    from = to;
  }
  const std::vector<std::vector<Order>> orders = orders_at_all();
  const std::vector<std::vector<char>> got = exchange(&sync_, team_, parcels);
  for (size_t n = 0; n < got.size(); n++) {
    const char* next = got[n].data();
    for (const Order& order : orders[n]) {
      const size_t bytes = static_cast<size_t>(order.count) * element_;
      memcpy(memory + order.at, next, bytes);
      next += bytes;
    }
  }
}

}  // namespace tasuki::coarray
