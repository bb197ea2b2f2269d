// Which way a matched message goes, by the model and by what its stream has learned.
#pragma once

#include "message/cost/cost.h"
#include "message/shared/shared.h"
#include "message/transfers/transfer.h"
#include "message/transfers/trials.h"
#include "os/clock.h"

namespace tasuki::message {

// Scattered layouts are told from dense ones at a glance.
inline bool is_dense_run(const layout::Region& r) {
  char* start;
  return layout::run_count(r.layout) == 1 && layout::is_dense(r, &start);
}

// `stream()`: key_of_message(). `source()`: the Footprint of a source that is or is not dense.
template <typename Stream, typename Source>
Way find_way(const TransferPolicy& policy, Stream stream, bool dense_source, Source source,
             const Request* receive, uint64_t bytes) {
  // Below, a stream's own state costs more than there is to gain.
  constexpr uint64_t kLearnFrom = 2 << 10, kLearnDenseFrom = 16000;
  const bool dense = dense_source && is_dense_run(receive->region);
  const Way of_dense = bytes >= policy.from.share_dense_from ? Way::direct : Way::alone;
  const auto model = [&] {
    Prospects p = prospects(policy.costs, source(), layout::footprint(receive->region));
    if (dense) p.best = of_dense;
    return p;
  };
  if (!policy.learns || bytes < (dense ? kLearnDenseFrom : kLearnFrom))
    return dense ? of_dense : model().best;
  return receive->owner->streams->next(stream(), model, os::monotonic_ns);
}

}  // namespace tasuki::message
