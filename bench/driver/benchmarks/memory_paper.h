// `tasuki bench memory --paper`: the numbers of DLM-MPI's evaluation (Midorikawa et al., section 4) beside
// ours.
//
// The paper's nodes had 32 GB; here the data are smaller. Where a figure depends on how many pages are local,
// our pages are smaller by the same factor, so that as many are; bandwidths and times of single swaps are
// measured with its 1 MiB. Servers are on another host (network namespaces) and send messages, as the paper's
// did. Each number is measured twice: in the paper's way (its protocol and page size, its replacement, no
// cache, no read-ahead, the requests sent by the thread that computes), and as Tasuki does it if nothing is
// set.
#pragma once

#include "bench/driver/benchmarks/memory.h"

namespace tasuki::bench {

// What the table needs, and nothing else.
std::vector<MemoryGroup> paper_groups();

// The table, of a measurement that run_memory() has made of some of these groups:
//
//   [{where, what, unit, paper: [of Myri-10G with four links, with two; null: not given], paper_size, size,
//     way, page, as_paper, tasuki}]
//
// as_paper and tasuki are numbers; null: cannot be measured here, and the measurement's notes say why.
nlohmann::json paper_rows(const nlohmann::json& measurement);

// The same as a table in Markdown, and one of the kernels at the classes W and A.
std::string paper_table(const nlohmann::json& measurement);

}  // namespace tasuki::bench
