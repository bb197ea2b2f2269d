#include "bench/driver/benchmarks/memory_paper.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/bytes.h"
#include "bench/driver/figures/text.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

// How a number follows from the rows of a measurement.
enum class Quantity {
  megabytes,      // read and written by the program, MB/s
  plain_seconds,  // a repetition with malloc
  relative,       // time of a repetition over that with malloc
  relative_job,   // the same of the whole program, with what comes before and after
  fetched,        // bytes that come in a repetition, over the program's data
  swap_rate,      // bytes that come over the time that the program waits for them, MB/s
  over_as1,       // time of a repetition over that with protocol as1
  swap_over_as1,  // the same of the time for which a swap keeps the program waiting
  over_one,       // time of a repetition over that with one server
  again,          // a page that is sent again and again, MB/s
  scattered,      // pages from everywhere to everywhere, MB/s
};

const char* unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::megabytes:
    case Quantity::swap_rate:
    case Quantity::again:
    case Quantity::scattered:
      return "MB/s";
    case Quantity::plain_seconds:
      return "s";
    case Quantity::fetched:
      return "of the data";
    default:
      return "times";
  }
}

struct Kernel {
  const char *name, *size, *part;
};

struct PaperNumber {
  const char *where, *what;  // of the paper
  const char* paper_size;
  Quantity quantity;
  double paper[2];  // Myri-10G with four links, with two; 0: not given
  Kernel kernel;
  double ratio = 100;
  const char* protocol = "as1";
  uint64_t page = kMiB;
  int servers = 1;
};

constexpr const char* kParts[] = {"copy", "scale", "add", "triad"};
constexpr Kernel kHimenoL = {"himeno", "L", ""}, kHimenoM = {"himeno", "M", ""},
                 kDouble = {"himeno-double", "M", ""}, kIs = {"is", "B", ""}, kMg = {"mg", "A", ""},
                 kCg = {"cg", "C", ""}, kFt = {"ft", "A", ""}, kBt = {"bt", "A", ""},
                 kBtSmall = {"bt", "W", ""}, kSp = {"sp", "A", ""};
// Of the paper's 1 MiB, as their data and ours are: 15 GB to 1.9, 51.5 to .28, 3.6 to .45 and so on.
constexpr uint64_t kPageHimeno = 128 * kKiB, kPageIs = 8 * kKiB, kPageMg = 128 * kKiB, kPageCg = 512 * kKiB,
                   kPageFt = 64 * kKiB, kPageBt = 64 * kKiB, kPageSp = 64 * kKiB;

// Table 3: in the order of kParts.
struct Stream {
  const char *what, *size;
  double ratio;
  int servers;
  double paper[4][2];
};
constexpr Stream kStreams[] = {
    {"remote", "2.4 GB", 4.2, 1, {{613.81, 493.70}, {607.38, 492.42}, {596.70, 483.29}, {593.98, 481.99}}},
    {"remote", "24 GB", 4.35, 1, {{593.79, 479.03}, {578.25, 466.90}, {579.82, 470.25}, {579.42, 469.86}}},
    {"remote, 4 nodes", "96 GB", 27.3, 3, {{0, 443.17}, {0, 495.43}, {0, 464.78}, {0, 463.87}}},
    {"remote, 8 nodes", "144 GB", 14.56, 7, {{524.88, 0}, {520.75, 0}, {514.33, 0}, {519.05, 0}}},
};

std::vector<PaperNumber> stream_numbers() {
  static constexpr double kMalloc[] = {2657.95, 2655.63, 2746.98, 2695.07};
  static constexpr double kLocal[] = {2829.35, 2692.67, 2893.66, 2820.04};
  using Q = Quantity;
  std::vector<PaperNumber> all;
  for (int i = 0; i < 4; i++) {
    const Kernel kernel = {"stream", "768MiB", kParts[i]};
    all.push_back({"table 3, fig. 10", "STREAM, malloc", "2.4 GB", Q::megabytes, {kMalloc[i], 0}, kernel, 0});
    all.push_back({"table 3, fig. 10", "STREAM, all local", "2.4 GB", Q::megabytes, {kLocal[i], 0}, kernel});
    for (const Stream& s : kStreams) {
      PaperNumber n = {
          "table 3, fig. 10", s.what, s.size, Q::megabytes, {s.paper[i][0], s.paper[i][1]}, kernel};
      n.ratio = s.ratio;
      n.servers = s.servers;
      all.push_back(n);
    }
  }
  return all;
}

// A ratio of 0: with malloc.
std::vector<PaperNumber> all_numbers() {
  using Q = Quantity;
  std::vector<PaperNumber> all = stream_numbers();
  const PaperNumber others[] = {
      {"fig. 11",
       "Himeno, pages of 1 MiB",
       "15 GB",
       Q::relative,
       {2.3, 2.6},
       kHimenoL,
       6.9,
       "as1",
       kPageHimeno},
      {"fig. 11",
       "Himeno, of 2 MiB",
       "15 GB",
       Q::relative,
       {2.3, 2.6},
       kHimenoL,
       6.9,
       "as1",
       2 * kPageHimeno},
      {"fig. 12",
       "Himeno, 4 nodes for 2",
       "15 GB",
       Q::over_one,
       {1, 0},
       kHimenoL,
       6.9,
       "as1",
       kPageHimeno,
       3},
      {"fig. 12",
       "Himeno, 8 nodes for 2",
       "15 GB",
       Q::over_one,
       {1, 0},
       kHimenoL,
       6.9,
       "as1",
       kPageHimeno,
       7},
      {"fig. 13", "Himeno, CS for AS1", "15 GB", Q::over_as1, {1.19, 1.17}, kHimenoL, 6.9, "cs", kPageHimeno},
      {"section 4.3", "Himeno XLARGE", "112 GB", Q::relative, {2.32, 0}, kHimenoL, 17.4, "as1", kPageHimeno},
      {"section 4.3", "Himeno, double", "241 GB", Q::relative, {4.68, 0}, kDouble, 8.1, "as1", kPageHimeno},
      {"figs. 14, 16", "page while AS1 waits", "239 MB", Q::swap_rate, {1149, 935}, kHimenoM, 7},
      {"figs. 15, 17", "the same, much local", "239 MB", Q::swap_rate, {1149, 935}, kHimenoM, 75},
      {"figs. 16, 18", "a swap, CS for AS1", "239 MB", Q::swap_over_as1, {1.4, 0}, kHimenoM, 7, "cs"},
      {"figs. 16, 18", "the same, much local", "239 MB", Q::swap_over_as1, {2, 0}, kHimenoM, 75, "cs"},
      {"fig. 19", "1 MB, second touch", "-", Q::again, {3395, 2142}, kHimenoM, 7},
      {"fig. 19", "1 MB, 100 iterations", "-", Q::scattered, {637, 580}, kHimenoM, 7},
      {"table 6", "CG-C with malloc", "1.2 GB", Q::plain_seconds, {87.82 / 10, 0}, kCg, 0},
      {"table 6", "IS-D with malloc", "51.5 GB", Q::plain_seconds, {1809.03 / 10, 0}, kIs, 0},
      {"table 6", "MG-C with malloc", "3.6 GB", Q::plain_seconds, {190.90 / 20, 0}, kMg, 0},
      {"table 6", "BT-C with malloc", "5.1 GB", Q::plain_seconds, {226.66 / 10, 0}, kBt, 0},
      {"table 6", "SP-C with malloc", "1.3 GB", Q::plain_seconds, {85.55 / 10, 0}, kSp, 0},
      {"table 6", "FT-C with malloc", "7.0 GB", Q::plain_seconds, {497.19 / 20, 0}, kFt, 0},
      {"fig. 20", "IS-D, 41 % local, CS", "51.5 GB", Q::relative, {1.0, 0}, kIs, 41, "cs", kPageIs},
      {"fig. 20", "IS-D, 20 %, CS", "51.5 GB", Q::relative, {1.45, 0}, kIs, 20, "cs", kPageIs},
      {"fig. 20", "the same, fetched", "51.5 GB", Q::fetched, {0.35, 0}, kIs, 20, "cs", kPageIs},
      {"fig. 20", "IS-D, 2 %, CS", "51.5 GB", Q::relative, {4.34, 0}, kIs, 2, "cs", kPageIs},
      {"fig. 20", "the same, fetched", "51.5 GB", Q::fetched, {5.04, 0}, kIs, 2, "cs", kPageIs},
      {"fig. 21", "MG-C, all local", "3.6 GB", Q::relative, {1.19, 0}, kMg, 100, "as1", kPageMg},
      {"fig. 21", "MG-C, 73 %, fetched", "3.6 GB", Q::fetched, {1.96, 0}, kMg, 73, "as1", kPageMg},
      {"fig. 21", "MG-C, 44 %, fetched", "3.6 GB", Q::fetched, {2.99, 0}, kMg, 44, "as1", kPageMg},
      {"fig. 21", "MG-C, 15 %, fetched", "3.6 GB", Q::fetched, {4.54, 0}, kMg, 15, "as1", kPageMg},
      {"fig. 21", "MG-C, 6 %", "3.6 GB", Q::relative, {3.55, 4.22}, kMg, 6, "as1", kPageMg},
      {"fig. 22", "CG-C, 43 %", "1.2 GB", Q::relative, {1.1, 0}, kCg, 43, "as1", kPageCg},
      {"fig. 22", "CG-C, 36 %, fetched", "1.2 GB", Q::fetched, {4.99, 0}, kCg, 36, "as1", kPageCg},
      {"fig. 22", "CG-C, 9 %, fetched", "1.2 GB", Q::fetched, {10.07, 0}, kCg, 9, "as1", kPageCg},
      {"fig. 22", "CG-C, 4 %", "1.2 GB", Q::relative, {4, 0}, kCg, 4, "as1", kPageCg},
      {"fig. 22", "CG-C, 4 %, CS for AS1", "1.2 GB", Q::over_as1, {1.2, 0}, kCg, 4, "cs", kPageCg},
      {"fig. 23", "CG-C, the job, 43 %", "1.2 GB", Q::relative_job, {1, 0}, kCg, 43, "as1", kPageCg},
      {"fig. 23", "CG-C, the job, 3 %", "1.2 GB", Q::relative_job, {90, 0}, kCg, 3, "as1", kPageCg / 2},
      {"fig. 24", "FT-C, all local", "7.0 GB", Q::relative, {1.16, 0}, kFt, 100, "as1", kPageFt},
      {"fig. 24", "FT-C, 92 %, fetched", "7.0 GB", Q::fetched, {0.48, 0}, kFt, 92, "as1", kPageFt},
      {"fig. 24", "FT-C, 60 %, fetched", "7.0 GB", Q::fetched, {0.97, 0}, kFt, 60, "as1", kPageFt},
      {"fig. 24", "FT-C, 19 %", "7.0 GB", Q::relative, {1.69, 1.86}, kFt, 19, "as1", kPageFt},
      {"fig. 25", "FT-C, 15 %, CS", "7.0 GB", Q::relative, {54.1, 71.2}, kFt, 15, "cs", kPageFt},
      {"fig. 26", "BT-C, all local", "5.1 GB", Q::relative, {1.18, 0}, kBt, 100, "as1", kPageBt},
      {"fig. 26", "BT-C, 62 %", "5.1 GB", Q::relative, {1.94, 2.14}, kBt, 62, "as1", kPageBt},
      {"fig. 26", "BT-C, 21 %", "5.1 GB", Q::relative, {31.0, 47.46}, kBt, 21, "as1", kPageBt},
      {"fig. 27", "SP-C, 32 %", "1.3 GB", Q::relative, {2.19, 2.72}, kSp, 32, "as1", kPageSp},
      {"fig. 27", "SP-C, 16 %", "1.3 GB", Q::relative, {427, 0}, kSp, 16, "as1", kPageSp},
      {"section 4.5.6",
       "BT-B, 25 %, pages of 1 MiB",
       "-",
       Q::relative,
       {684.5, 0},
       kBtSmall,
       25,
       "as1",
       16 * kKiB},
      {"section 4.5.6", "BT-B, 25 %, of 16 KiB", "-", Q::relative, {5.5, 0}, kBt, 25, "as1", 4 * kKiB},
      {"section 4.5.6", "BT-B, 5 %, of 512 KiB", "-", Q::relative, {1037, 0}, kBtSmall, 5, "as1", 8 * kKiB},
      {"section 4.5.6", "BT-B, 5 %, of 32 KiB", "-", Q::relative, {17.5, 22.9}, kBt, 5, "as1", 8 * kKiB},
  };
  all.insert(all.end(), std::begin(others), std::end(others));
  return all;
}

// At both classes with a quarter of the data local, and with all: what the paper's figures 20 to 27 show, and
// the two kernels that it leaves out.
constexpr const char* kNpb[] = {"bt", "sp", "lu", "ft", "mg", "cg", "ep", "is"};
constexpr const char* kClasses[] = {"W", "A"};

MemoryKernel memory_kernel(const Kernel& kernel) {
  const std::string name = kernel.name;
  if (name == "bt" || name == "sp") return {name, kernel.size, "", 1, 0, 1};  // what takes minutes once
  return {name, kernel.size, "", 1, name == "himeno" ? 0 : 1, 2};
}

MemoryPoint tasuki_point(double ratio, int servers) {
  MemoryPoint point;
  point.kind = "cluster";
  point.ratio = ratio;
  point.servers = servers;
  point.where = "hosts";
  return point;
}

MemoryPoint paper_point(const PaperNumber& number, const char* protocol, int servers) {
  MemoryPoint point = tasuki_point(number.ratio, servers);
  point.protocol = protocol;
  point.page = number.page;
  point.settings = "faults=userfault-sigbus copies=exclusive replacement=address";
  return point;
}

const json* find_row(const json& m, const Kernel& kernel, const MemoryPoint& point) {
  const std::string mpi = point.kind == "plain" ? "" : m["mpi"].get<std::string>();
  const std::string name = point_name(memory_kernel(kernel), kernel.part, point, mpi);
  for (const json& row : m["rows"])
    if (row["pattern"] == name) return &row;
  return nullptr;
}

json quotient(const json& a, const json& b) {
  if (!a.is_number() || !b.is_number() || b.get<double>() == 0) return {};
  return a.get<double>() / b.get<double>();
}

json at(const json* row, const char* key) {
  return row != nullptr ? row->value(key, json()) : json();
}
json counter(const json* row, const char* key) {
  return row != nullptr && row->contains("counters") ? (*row)["counters"].value(key, json()) : json();
}

// For which a swap keeps the program waiting, in seconds.
json swap_seconds(const json* row) {
  const json previous = counter(row, "wait_previous"), page = counter(row, "wait_page");
  if (!page.is_number()) return {};
  return quotient(page.get<double>() + previous.get<double>(), counter(row, "swaps_in"));
}

json transport_rate(const json& m, const char* key) {
  for (const json& t : m["transport"])
    if (t["where"] == "hosts" && t["mpi"] == m["mpi"])
      for (const json& s : t["sizes"])
        if (s["page"] == kMiB) return s[key].get<double>() / 1e6;
  return {};
}

// `reference`: for the quantities that are over another one's.
json value(const json& m, Quantity quantity, const Kernel& kernel, const json* row, const json* reference) {
  switch (quantity) {
    case Quantity::megabytes: {
      const json rate = at(row, "gbps");
      return rate.is_number() ? json(rate.get<double>() * 1000) : json();
    }
    case Quantity::plain_seconds:
      return at(row, "seconds");
    case Quantity::relative:
      return at(row, "relative");
    case Quantity::relative_job:
      return quotient(at(row, "job_seconds"), at(find_row(m, kernel, MemoryPoint()), "job_seconds"));
    case Quantity::fetched:
      return quotient(counter(row, "bytes_in"), at(row, "bytes"));
    case Quantity::swap_rate: {
      const json rate = quotient(counter(row, "bytes_in"), counter(row, "wait_page"));
      return rate.is_number() ? json(rate.get<double>() / 1e6) : json();
    }
    case Quantity::over_as1:
    case Quantity::over_one:
      return quotient(at(row, "seconds"), at(reference, "seconds"));
    case Quantity::swap_over_as1:
      return quotient(swap_seconds(row), swap_seconds(reference));
    case Quantity::again:
      return transport_rate(m, "again");
    case Quantity::scattered:
      return transport_rate(m, "fetch");
  }
  return {};
}

bool compares_protocols(Quantity quantity) {
  return quantity == Quantity::over_as1 || quantity == Quantity::swap_over_as1;
}
bool has_reference(Quantity quantity) {
  return compares_protocols(quantity) || quantity == Quantity::over_one;
}
// Of the MPI library alone.
bool is_transport(Quantity quantity) {
  return quantity == Quantity::again || quantity == Quantity::scattered;
}

MemoryPoint reference_point(const PaperNumber& n) {
  return paper_point(n, "as1", n.quantity == Quantity::over_one ? 1 : n.servers);
}

std::string number_text(const json& number) {
  if (!number.is_number()) return "not measured";
  const double v = number.get<double>();
  char text[32];
  snprintf(text, sizeof text, v >= 100 ? "%.0f" : v >= 10 ? "%.1f" : "%.2f", v);
  return text;
}

std::string paper_text(const json& paper) {
  std::string text;
  for (const json& number : paper)
    if (number.is_number()) text += (text.empty() ? "" : ", ") + number_text(number);
  return text;
}

}  // namespace

std::vector<MemoryGroup> paper_groups() {
  std::vector<MemoryGroup> groups;
  for (const PaperNumber& n : all_numbers()) {
    MemoryGroup& group = group_of(&groups, memory_kernel(n.kernel));
    if (n.ratio == 0 || is_transport(n.quantity)) continue;
    if (has_reference(n.quantity)) add_point(&group, reference_point(n));
    add_point(&group, paper_point(n, n.protocol, n.servers));
    if (!compares_protocols(n.quantity)) add_point(&group, tasuki_point(n.ratio, n.servers));
    if (n.quantity == Quantity::over_one) add_point(&group, tasuki_point(n.ratio, 1));
  }
  for (const char* name : kNpb)
    for (const char* letter : kClasses)
      for (const double ratio : {100.0, 25.0})
        add_point(&group_of(&groups, memory_kernel({name, letter, ""})), tasuki_point(ratio, 1));
  return groups;
}

json paper_rows(const json& m) {
  json rows = json::array();
  for (const PaperNumber& n : all_numbers()) {
    const json* any = find_row(m, n.kernel, MemoryPoint());
    if (any == nullptr) continue;  // not asked for
    json as_paper, tasuki;
    const bool plain = n.ratio == 0;
    const json* row = find_row(m, n.kernel, plain ? MemoryPoint() : paper_point(n, n.protocol, n.servers));
    const json* reference = has_reference(n.quantity) ? find_row(m, n.kernel, reference_point(n)) : nullptr;
    as_paper = value(m, n.quantity, n.kernel, row, reference);
    if (!plain && !compares_protocols(n.quantity) && !is_transport(n.quantity)) {
      const json* one =
          n.quantity == Quantity::over_one ? find_row(m, n.kernel, tasuki_point(n.ratio, 1)) : nullptr;
      tasuki = value(m, n.quantity, n.kernel, find_row(m, n.kernel, tasuki_point(n.ratio, n.servers)), one);
    }
    json paper = json::array();
    for (const double number : n.paper) paper.push_back(number > 0 ? json(number) : json());
    std::string what = n.what;
    if (std::string(n.kernel.name) == "stream") what += std::string(", ") + n.kernel.part;
    const bool paged = !plain && !is_transport(n.quantity);
    rows.push_back({{"where", n.where},
                    {"what", what},
                    {"unit", unit_of(n.quantity)},
                    {"paper", paper},
                    {"paper_size", n.paper_size},
                    {"size", is_transport(n.quantity) ? json() : at(any, "bytes")},
                    {"kernel", std::string(n.kernel.name) + " " + n.kernel.size},
                    {"ratio", paged ? json(n.ratio) : json()},
                    {"way", paged ? json(n.protocol) : json()},
                    {"page", paged ? json(n.page) : json()},
                    {"as_paper", as_paper},
                    {"tasuki", tasuki}});
  }
  return rows;
}

std::string paper_table(const json& m) {
  const json rows = paper_rows(m);
  if (rows.empty()) return "";
  std::string out =
      "| DLM-MPI | | its data | its number | | our data | local | its way | here, its way | Tasuki |\n"
      "|---|---|--:|--:|---|--:|--:|---|--:|--:|\n";
  for (const json& r : rows) {
    const std::string size =
        r["size"].is_number() ? bytes_text(r["size"].get<uint64_t>(), BytesStyle::rounded) : "-";
    char local[32] = "-";
    if (r["ratio"].is_number()) snprintf(local, sizeof local, "%g %%", r["ratio"].get<double>());
    std::string way = "-";
    if (r["way"].is_string())
      way = r["way"].get<std::string>() + ", " + bytes_text(r["page"].get<uint64_t>(), BytesStyle::compact);
    const bool alone =
        r["tasuki"].is_null() && (r["unit"] != "times" || r["way"] == "cs" || r["ratio"].is_null());
    append(&out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
           r["where"].get<std::string>().c_str(), r["what"].get<std::string>().c_str(),
           r["paper_size"].get<std::string>().c_str(), paper_text(r["paper"]).c_str(),
           r["unit"].get<std::string>().c_str(), size.c_str(), local, way.c_str(),
           number_text(r["as_paper"]).c_str(), alone ? "-" : number_text(r["tasuki"]).c_str());
  }
  out += "\n| NPB | data | malloc, s | all local | 25 % local | the job, 25 % |\n|---|--:|--:|--:|--:|--:|\n";
  for (const char* name : kNpb)
    for (const char* letter : kClasses) {
      const Kernel kernel = {name, letter, ""};
      const json* plain = find_row(m, kernel, MemoryPoint());
      const json *all = find_row(m, kernel, tasuki_point(100, 1)),
                 *part = find_row(m, kernel, tasuki_point(25, 1));
      if (plain == nullptr) continue;
      append(&out, "| %s-%s | %s | %s | %s | %s | %s |\n", name, letter,
             bytes_text((*plain)["bytes"].get<uint64_t>(), BytesStyle::rounded).c_str(),
             number_text(at(plain, "seconds")).c_str(), number_text(at(all, "relative")).c_str(),
             number_text(at(part, "relative")).c_str(),
             number_text(value(m, Quantity::relative_job, kernel, part, nullptr)).c_str());
    }
  return out;
}

}  // namespace tasuki::bench
