#include "layout/test/check.h"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace tasuki::layout::testing {
namespace {

struct Range {
  uint64_t from, n;
};

// [from, from + n) cut at random places, in random order.
std::vector<Range> partition(Choices& c, uint64_t from, uint64_t n) {
  std::vector<uint64_t> cuts{from, from + n};
  for (uint64_t i = c.below(6); i > 0; i--) cuts.push_back(from + c.below(n + 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Range> ranges;
  for (size_t i = 1; i < cuts.size(); i++) ranges.push_back({cuts[i - 1], cuts[i] - cuts[i - 1]});
  for (size_t i = ranges.size(); i > 1; i--) std::swap(ranges[i - 1], ranges[c.below(i)]);
  return ranges;
}

std::vector<char> gather(const Buffer& b) {
  std::vector<char> packed(b.packed());
  for (uint64_t i = 0; i < packed.size(); i++) packed[i] = *b.address(i);
  return packed;
}

bool self_overlapping(const Buffer& b) {
  std::vector<char*> all;
  for (uint64_t i = 0; i < b.packed(); i++) all.push_back(b.address(i));
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) != all.end();
}

using Runs = std::vector<std::pair<char*, uint64_t>>;

Runs expected_runs(const Buffer& b, uint64_t from, uint64_t n) {
  Runs runs;
  for (uint64_t i = from; i < from + n; i++) {
    if (!runs.empty() && runs.back().first + runs.back().second == b.address(i))
      runs.back().second++;
    else
      runs.push_back({b.address(i), 1});
  }
  return runs;
}

Runs visited_runs(const Buffer& b, uint64_t from, uint64_t n) {
  Runs runs;
  const auto visit = [](void* context, char* address, uint64_t length) {
    static_cast<Runs*>(context)->push_back({address, length});
    return true;
  };
  for_each_run(b.region(), from, n, visit, &runs);
  return runs;
}

class Case {
 public:
  Case(Choices& c, bool threads) : c_(c), threads_(threads) {}

  void properties(const TypeTree& t) {
    const Layout* l = t.layout.get();
    expect(size(l) == t.model.bytes.size(), "size");
    expect(lower_bound(l) == t.model.lower_bound(), "lower bound");
    expect(extent(l) == t.model.extent(), "extent");
    expect(true_lower_bound(l) == t.model.true_lower(), "true lower bound");
    expect(true_extent(l) == t.model.true_upper() - t.model.true_lower(), "true extent");
    const Buffer one(t, 1);
    expect(run_count(l) == expected_runs(one, 0, one.packed()).size(), "run count");
    const Buffer many(t, 3);
    const Runs runs = expected_runs(many, 0, many.packed());
    char* start = nullptr;
    expect(is_dense(many.region(), &start) == (runs.size() <= 1), "density");
    if (runs.size() == 1) expect(start == runs[0].first, "start of dense bytes");
  }

  void one_sided(const TypeTree& t) {
    Buffer b(t, c_.below(4));
    b.fill(c_);
    const std::vector<char> expected = gather(b);
    const uint64_t n = b.packed(), from = c_.below(n + 1), length = c_.below(n - from + 1);

    std::vector<char> packed(n);
    pack(packed.data(), b.region(), 0, n);
    expect(packed == expected, "pack of all");
    std::fill(packed.begin(), packed.end(), 0);
    for (const Range r : partition(c_, 0, n)) {
      std::vector<char> part(r.n);
      pack(part.data(), b.region(), r.from, r.n);
      std::copy(part.begin(), part.end(), packed.begin() + static_cast<int64_t>(r.from));
    }
    expect(packed == expected, "pack of parts");
    expect(visited_runs(b, from, length) == expected_runs(b, from, length), "runs of a part");

    if (self_overlapping(b)) return;
    b.fill(c_);
    std::vector<char> wanted = b.memory();
    for (uint64_t i = from; i < from + length; i++) wanted[b.address(i) - b.memory().data()] = expected[i];
    for (const Range r : partition(c_, from, length)) {
      const std::vector<char> part(expected.begin() + static_cast<int64_t>(r.from),
                                   expected.begin() + static_cast<int64_t>(r.from + r.n));
      unpack(b.region(), r.from, r.n, part.data());
    }
    expect(b.memory() == wanted, "unpack of parts");
  }

  void two_sided(const TypeTree& from_tree, const TypeTree& to_tree) {
    Buffer src(from_tree, 1 + c_.below(4)), dst(to_tree, 1 + c_.below(4));
    if (self_overlapping(dst)) return;
    src.fill(c_);
    dst.fill(c_);
    const uint64_t n = std::min(src.packed(), dst.packed()), from = c_.below(n + 1), length = n - from;
    std::vector<char> wanted = dst.memory();
    for (uint64_t i = from; i < n; i++) wanted[dst.address(i) - dst.memory().data()] = *src.address(i);
    const std::vector<Range> ranges = partition(c_, from, length);
    const auto take = [&](size_t first, size_t step) {
      for (size_t i = first; i < ranges.size(); i += step)
        copy(dst.region(), src.region(), ranges[i].from, ranges[i].n);
    };
    if (threads_) {
      std::vector<std::thread> workers;
      for (size_t w = 0; w < 3; w++) workers.emplace_back(take, w, 3);
      for (std::thread& w : workers) w.join();
    } else {
      take(0, 1);
    }
    expect(dst.memory() == wanted, "copy");
  }

  std::string wrong;

 private:
  void expect(bool right, const char* what) {
    if (!right) wrong += std::string(wrong.empty() ? "" : ", ") + what;
  }

  Choices& c_;
  bool threads_;
};

std::string check_pair(Choices& c, const TypeTree& a, const TypeTree& b, bool threads) {
  if (!a.layout || !b.layout) return "not built: " + a.text + " or " + b.text;
  const auto span = [](const TypeTree& t) {
    return t.model.true_upper() - t.model.true_lower() + 4 * std::abs(t.model.extent());
  };
  if (span(a) + span(b) > 1 << 21) return "";  // so wide that all time would go into filling memory
  Case check(c, threads);
  check.properties(a);
  check.one_sided(a);
  check.two_sided(a, b);
  check.two_sided(b, a);
  check.two_sided(a, a);
  return check.wrong.empty() ? "" : check.wrong + " wrong for " + a.text + " and " + b.text;
}

}  // namespace

std::string check_patterns(Choices& c, bool threads) {
  const TypeTree a = random_pattern(c), b = random_pattern(c);
  return check_pair(c, a, b, threads);
}

std::string check_case(Choices& c, uint64_t limit, bool threads) {
  const TypeTree a = random_tree(c, static_cast<int>(c.between(0, 6)), limit);
  const TypeTree b = random_tree(c, static_cast<int>(c.between(0, 6)), limit);
  return check_pair(c, a, b, threads);
}

}  // namespace tasuki::layout::testing
