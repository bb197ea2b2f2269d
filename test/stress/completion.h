// Completes all of a list of requests, in one of the many ways that MPI has.
#pragma once

#include <numeric>

#include "stress.h"

namespace stress {

// `done(i, status)` is called once for each request that was active. Persistent ones stay, inactive.
template <typename Done>
void complete_all(Random& mine, std::vector<MPI_Request>& requests, Done done) {
  const int n = static_cast<int>(requests.size());
  std::vector<MPI_Status> statuses(static_cast<size_t>(n) + 1);
  std::vector<int> indices(static_cast<size_t>(n) + 1);
  auto at = [](int i) { return static_cast<size_t>(i); };
  int index, flag = 0, count;
  switch (draw(mine, 0, 7)) {
    case 0:
      step("MPI_Waitall");
      MPI_Waitall(n, requests.data(), statuses.data());
      for (int i = 0; i < n; i++) done(at(i), statuses[at(i)]);
      return;
    case 1:
      step("MPI_Testall");
      while (!flag) MPI_Testall(n, requests.data(), &flag, statuses.data());
      for (int i = 0; i < n; i++) done(at(i), statuses[at(i)]);
      return;
    case 2:
      step("MPI_Waitany");
      for (int left = n; left > 0; left--) {
        MPI_Waitany(n, requests.data(), &index, &statuses[0]);
        CHECK(index >= 0 && index < n);
        done(at(index), statuses[0]);
      }
      return;
    case 3:
      step("MPI_Waitsome");
      for (int left = n; left > 0; left -= count) {
        MPI_Waitsome(n, requests.data(), &count, indices.data(), statuses.data());
        CHECK(count > 0 && count <= left);
        for (int i = 0; i < count; i++) done(at(indices[at(i)]), statuses[at(i)]);
      }
      return;
    case 4:
      step("MPI_Testany");
      for (int left = n; left > 0;) {
        MPI_Testany(n, requests.data(), &index, &flag, &statuses[0]);
        if (!flag) continue;
        CHECK(index >= 0 && index < n);
        done(at(index), statuses[0]);
        left--;
      }
      return;
    case 5:
      step("MPI_Testsome");
      for (int left = n; left > 0; left -= count) {
        MPI_Testsome(n, requests.data(), &count, indices.data(), statuses.data());
        CHECK(count >= 0 && count <= left);
        for (int i = 0; i < count; i++) done(at(indices[at(i)]), statuses[at(i)]);
      }
      return;
    case 6: {  // one after the other, in an order of its own
      std::vector<int> order(at(n));
      std::iota(order.begin(), order.end(), 0);
      mine.shuffle(order);
      step("MPI_Wait in any order");
      for (int i : order) {
        MPI_Wait(&requests[at(i)], &statuses[0]);
        done(at(i), statuses[0]);
      }
      return;
    }
    default:
      step("MPI_Request_get_status and MPI_Test");
      for (int i = 0; i < n; i++) {
        for (flag = 0; !flag;) MPI_Request_get_status(requests[at(i)], &flag, &statuses[0]);
        for (flag = 0; !flag;) MPI_Test(&requests[at(i)], &flag, &statuses[0]);
        done(at(i), statuses[0]);
      }
  }
}

}  // namespace stress
