#include "message/cost/left.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "base/mpi_abi.h"
#include "base/take_word.h"

namespace tasuki::message {
namespace {

bool parse_number(std::string_view text, uint64_t* number) {
  return parse_bytes(text, ByteUnits::binary, number);
}

// "8" or "8-256".
bool parse_range(std::string_view text, uint64_t* least, uint64_t* most) {
  const size_t dash = text.find('-');
  if (!parse_number(text.substr(0, dash), least)) return false;
  *most = *least;
  return dash == std::string_view::npos || (parse_number(text.substr(dash + 1), most) && *least <= *most);
}

bool parse_operation(std::string_view name, Collective* operation) {
  for (size_t i = 0; i < std::size(kCollectiveNames); i++)
    if (name == kCollectiveNames[i]) {
      *operation = static_cast<Collective>(i);
      return true;
    }
  return false;
}

bool parse_rule(std::string_view text, LeftRule* rule) {
  const size_t at = text.find('@'), colon = text.substr(0, at).find(':');
  if (!parse_operation(text.substr(0, std::min(at, colon)), &rule->operation)) return false;
  if (colon != std::string_view::npos &&
      !parse_range(text.substr(0, at).substr(colon + 1), &rule->smallest, &rule->largest))
    return false;
  if (at == std::string_view::npos) return true;
  uint64_t fewest = 0, most = 0;
  if (!parse_range(text.substr(at + 1), &fewest, &most) || most > UINT32_MAX) return false;
  rule->fewest = static_cast<uint32_t>(fewest);
  rule->most = static_cast<uint32_t>(most);
  return true;
}

// Whether rules may speak of bytes.
bool has_equal_bytes(Collective c) {
  switch (c) {
    case Collective::allgatherv:
    case Collective::alltoallv:
    case Collective::alltoallw:
    case Collective::barrier:
    case Collective::gatherv:
    case Collective::reduce_scatter:
    case Collective::scatterv:
      return false;
    default:
      return true;
  }
}

constexpr double kFasterByLibrary = 0.95;

// The rules for one operation and number of ranks, by ascending bytes.
std::vector<LeftRule> rules_by_bytes(std::vector<LeftSample> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const LeftSample& a, const LeftSample& b) { return a.bytes < b.bytes; });
  const LeftSample& first = samples.front();
  const auto is_left = [](const LeftSample& s) { return s.ratio < kFasterByLibrary; };
  LeftRule all{};
  all.operation = first.operation;
  all.fewest = all.most = first.ranks;
  if (!has_equal_bytes(first.operation))
    return std::all_of(samples.begin(), samples.end(), is_left) ? std::vector<LeftRule>{all}
                                                                : std::vector<LeftRule>{};
  std::vector<LeftRule> rules;
  for (size_t i = 0; i < samples.size(); i++) {
    if (!is_left(samples[i])) continue;
    LeftRule rule = all;
    rule.smallest = i == 0 ? 1 : samples[i].bytes;
    while (i + 1 < samples.size() && is_left(samples[i + 1])) i++;
    rule.largest = samples[i].bytes;
    rules.push_back(rule);
  }
  return rules;
}

std::string range_text(const std::string& least, const std::string& most) {
  return most == least ? least : least + "-" + most;
}

}  // namespace

bool LeftCollectives::have(Collective operation, uint64_t bytes, uint32_t ranks) const {
  for (uint32_t i = 0; i < count; i++) {
    const LeftRule& r = rules[i];
    if (r.operation != operation || ranks < r.fewest || ranks > r.most) continue;
    if (bytes == kAnyBytes ? r.smallest == 0 && r.largest == UINT64_MAX
                           : bytes >= r.smallest && bytes <= r.largest)
      return true;
  }
  return false;
}

Status parse_left(std::string_view text, std::string_view library, LeftCollectives* left) {
  LeftCollectives all = *left;
  while (!text.empty()) {
    std::string_view word = take_word(&text, ',');
    const std::string_view whole = word;
    std::string_view of = library;
    if (const size_t slash = word.find('/'); slash != std::string_view::npos) {
      of = word.substr(0, slash);
      word.remove_prefix(slash + 1);
    }
    LeftRule rule{};
    if (!is_name_of_abi(of) || !parse_rule(word, &rule))
      return Status::error(EINVAL,
                           "\"" + std::string(whole) +
                               "\" is no rule (examples: barrier, allreduce:8-4KiB, mpich/scan:8@2-4)");
    if (of != library) continue;
    if (all.count == LeftCollectives::kMost)
      return Status::error(E2BIG, "more than " + std::to_string(LeftCollectives::kMost) + " rules");
    all.rules[all.count++] = rule;
  }
  *left = all;
  return Status();
}

std::vector<LeftRule> rules_for(const std::vector<LeftSample>& samples) {
  std::map<std::pair<Collective, uint32_t>, std::vector<LeftSample>> cases;
  for (const LeftSample& s : samples) cases[{s.operation, s.ranks}].push_back(s);
  std::vector<LeftRule> all;
  std::vector<LeftRule> before;  // of the same operation and the next smaller number of ranks
  for (const auto& [key, measured] : cases) {
    const bool same = !before.empty() && before.front().operation == key.first;
    std::vector<LeftRule> rules = rules_by_bytes(measured);
    for (LeftRule& rule : rules) {
      const auto as_before = std::find_if(all.begin(), all.end(), [&](const LeftRule& r) {
        return same && r.operation == rule.operation && r.most == before.front().most &&
               r.smallest == rule.smallest && r.largest == rule.largest;
      });
      if (as_before == all.end()) {
        all.push_back(rule);
      } else {
        as_before->most = rule.most;
      }
    }
    before = std::move(rules);
  }
  return all;
}

std::string left_text(const LeftRule& r) {
  std::string text = kCollectiveNames[static_cast<size_t>(r.operation)];
  if (r.smallest != 0 || r.largest != UINT64_MAX)
    text += ":" + range_text(bytes_text(r.smallest, BytesStyle::compact),
                             bytes_text(r.largest, BytesStyle::compact));
  if (r.fewest != 2 || r.most != UINT32_MAX)
    text += "@" + range_text(std::to_string(r.fewest), std::to_string(r.most));
  return text;
}

}  // namespace tasuki::message
