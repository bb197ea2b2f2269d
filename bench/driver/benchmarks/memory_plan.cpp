// Which measurements `tasuki bench memory` makes.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/bytes.h"
#include "bench/driver/benchmarks/memory_paper.h"

namespace tasuki::bench {
namespace {

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;

std::vector<std::string> split(const std::string& text, char separator, size_t most) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (parts.size() + 1 < most) {
    const size_t at = text.find(separator, from);
    if (at == std::string::npos) break;
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

MemoryPoint cluster(double ratio) {
  MemoryPoint p;
  p.kind = "cluster";
  p.ratio = ratio;
  return p;
}

// UMap's page size is its user's business; this one did best of those that do not crash it (peers of the same
// run are compared at their best).
MemoryPoint peer(const std::string& kind, double ratio) {
  MemoryPoint p;
  p.kind = kind;
  p.ratio = ratio;
  if (kind == "umap") p.page = 64 * KiB;
  return p;
}

const std::vector<double> kRatios = {100, 75, 50, 25, 10, 5, 2};
const std::vector<uint64_t> kPages = {0, 4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, MiB, 2 * MiB};
const std::vector<std::string> kProtocols = {"ahead", "cs", "cross", "as1", "as2"};

// A look at everything in about three minutes on two cores.
std::vector<MemoryGroup> tour(size_t mpis) {
  std::vector<MemoryGroup> groups;
  MemoryGroup& stream = group_of(&groups, {"stream", "768MiB", "triad", 1, 1, 2});
  for (const double ratio : {100.0, 5.0}) add_point(&stream, cluster(ratio));
  for (const char* kind : {"swap-disk", "file-disk", "umap"}) add_point(&stream, peer(kind, 5));

  MemoryGroup& himeno = group_of(&groups, {"himeno", "M", "", 1, 1, 3});
  for (const double ratio : {100.0, 50.0, 25.0, 7.0}) add_point(&himeno, cluster(ratio));
  for (const char* protocol : {"cs", "cross", "as1", "as2"}) {
    MemoryPoint p = cluster(7);
    p.protocol = protocol;
    p.page = MiB;
    add_point(&himeno, p);
  }
  MemoryPoint same = cluster(7);
  same.page = MiB;
  add_point(&himeno, same);
  MemoryPoint two = cluster(7);
  two.servers = 2;
  add_point(&himeno, two);

  MemoryGroup& random = group_of(&groups, {"random-update", "256MiB", "", 1, 1, 2});
  for (const uint64_t page : {uint64_t{0}, 4 * KiB, 16 * KiB, 64 * KiB}) {
    MemoryPoint p = cluster(25);
    p.page = page;
    add_point(&random, p);
  }
  MemoryGroup& bt = group_of(&groups, {"bt", "W", "", 1, 1, 3});
  for (const uint64_t page : {uint64_t{0}, 16 * KiB, 64 * KiB}) {
    MemoryPoint p = cluster(25);
    p.page = page;
    add_point(&bt, p);
  }
  static constexpr struct {
    const char *name, *size;
  } kOthers[] = {{"matvec", "4000"}, {"is", "A"}, {"cg", "A"}, {"mg", "W"},
                 {"ft", "W"},        {"sp", "W"}, {"lu", "W"}};
  for (const auto& other : kOthers)
    for (const double ratio : {50.0, 10.0})
      add_point(&group_of(&groups, {other.name, other.size, "", 1, 1, 3}), cluster(ratio));
  for (MemoryGroup& g : groups)
    for (size_t i = 0, n = g.points.size(); i < n; i++)
      for (size_t mpi = 1; mpi < mpis && g.points[i].kind == "cluster"; mpi++) {
        MemoryPoint p = g.points[i];
        p.mpi = mpi;
        add_point(&g, p);
      }
  return groups;
}

// Figures 10 to 27 of DLM-MPI, with all kernels.
std::vector<MemoryGroup> evaluation(size_t mpis) {
  std::vector<MemoryGroup> groups;
  static constexpr struct {
    const char *name, *size;
  } kKernels[] = {{"stream", "768MiB"},
                  {"himeno", "M"},
                  {"himeno", "L"},
                  {"himeno-double", "M"},
                  {"matvec", "8000"},
                  {"is", "B"},
                  {"cg", "B"},
                  {"mg", "A"},
                  {"ft", "A"},
                  {"bt", "A"},
                  {"sp", "B"},
                  {"lu", "B"},
                  {"ep", "S"},
                  {"random-update", "256MiB"},
                  {"random-read", "256MiB"}};
  for (const auto& k : kKernels) {
    const MemoryKernel kernel{k.name, k.size, "", 1, 1, 3};
    MemoryGroup& group = group_of(&groups, kernel);
    for (const double ratio : kRatios) {
      for (size_t mpi = 0; mpi < mpis; mpi++) {
        MemoryPoint p = cluster(ratio);
        p.mpi = mpi;
        add_point(&group, p);
      }
      MemoryPoint far = cluster(ratio);
      far.where = "hosts";
      if (ratio <= 25) add_point(&group, far);
    }
  }
  // Protocols (figures 13 to 18), servers (12), page sizes (11, and 4.5.6), replacement.
  const MemoryKernel himeno = {"himeno", "M", "", 1, 1, 3};
  for (const double ratio : kRatios) {
    for (const std::string& protocol : kProtocols) {
      MemoryPoint p = cluster(ratio);
      p.protocol = protocol;
      p.page = MiB;
      add_point(&group_of(&groups, himeno), p);
    }
    for (const int servers : {2, 4}) {
      MemoryPoint p = cluster(ratio);
      p.servers = servers;
      add_point(&group_of(&groups, himeno), p);
    }
  }
  for (const char* policy : {"fifo", "address"}) {
    MemoryPoint p = cluster(10);
    p.settings = std::string("replacement=") + policy;
    add_point(&group_of(&groups, himeno), p);
  }
  for (const double ratio : {25.0, 10.0, 5.0})
    for (const uint64_t page : kPages) {
      MemoryPoint p = cluster(ratio);
      p.page = page;
      add_point(&group_of(&groups, himeno), p);
      add_point(&group_of(&groups, {"mg", "A", "", 1, 1, 3}), p);
      // With a small class: large pages make these programs hundreds of times slower, which is the point.
      add_point(&group_of(&groups, {"bt", "W", "", 1, 1, 3}), p);
      add_point(&group_of(&groups, {"sp", "W", "", 1, 1, 3}), p);
      if (page <= 256 * KiB) add_point(&group_of(&groups, {"random-update", "256MiB", "", 1, 1, 3}), p);
    }
  for (const char* name : {"stream", "himeno", "mg", "cg", "is", "random-update"})
    for (const auto& k : kKernels)
      if (std::string(k.name) == name && std::string(k.size) != "L")
        add_point(&group_of(&groups, {k.name, k.size, "", 4, 1, 3}), cluster(10));
  // What a user would pick instead, where a single sweep already takes long.
  for (const MemoryKernel& kernel : {MemoryKernel{"stream", "768MiB", "triad", 1, 1, 2, "beside the peers"},
                                     MemoryKernel{"himeno", "M", "", 1, 1, 1, "beside the peers"}}) {
    MemoryGroup& group = group_of(&groups, kernel);
    for (const double ratio : {50.0, 10.0, 5.0}) {
      add_point(&group, cluster(ratio));
      for (const char* kind : kMemoryPeers) add_point(&group, peer(kind, ratio));
    }
  }
  return groups;
}

Result<MemoryKernel> kernel_of(const std::string& text) {
  const std::vector<std::string> words = split(text, ':', 3);
  if (std::find(std::begin(kMemoryKernels), std::end(kMemoryKernels), words[0]) == std::end(kMemoryKernels)) {
    std::string known;
    for (const char* name : kMemoryKernels) known += std::string(known.empty() ? "" : ", ") + name;
    return Status::error(EINVAL, "--kernels '" + text + "': no such kernel; there are " + known);
  }
  MemoryKernel kernel;
  kernel.name = words[0];
  if (words.size() > 1) kernel.size = words[1];
  if (words.size() > 2) {
    kernel.parts = words[2];
    std::replace(kernel.parts.begin(), kernel.parts.end(), '+', ',');
  }
  return kernel;
}

template <typename T>
std::vector<T> or_else(const std::vector<T>& chosen, const std::vector<T>& otherwise) {
  return chosen.empty() ? otherwise : chosen;
}

std::vector<MemoryGroup> combinations(const MemoryChoice& c, const std::vector<MemoryKernel>& kernels,
                                      size_t mpis) {
  std::vector<MemoryGroup> groups;
  for (MemoryKernel kernel : kernels)
    for (const int threads : or_else(c.threads, {1})) {
      kernel.threads = threads;
      MemoryGroup& group = group_of(&groups, kernel);
      for (const double ratio : or_else(c.ratios, c.full ? kRatios : std::vector<double>{100, 25, 5})) {
        MemoryPoint p = cluster(ratio);
        for (p.mpi = 0; p.mpi < mpis; p.mpi++)
          for (const std::string& where : or_else(c.where, {"node"}))
            for (const int servers : or_else(c.servers, {1}))
              for (const std::string& protocol : or_else(c.protocols, {""}))
                for (const uint64_t page : or_else(c.pages, {0}))
                  for (const std::string& settings : or_else(c.settings, {""})) {
                    p.where = where, p.servers = servers, p.protocol = protocol, p.page = page;
                    p.settings = settings;
                    add_point(&group, p);
                  }
        for (const std::string& kind : c.peers)
          if (ratio < 100) add_point(&group, peer(kind, ratio));
      }
    }
  return groups;
}

}  // namespace

void add_point(MemoryGroup* group, const MemoryPoint& point) {
  if (std::find(group->points.begin(), group->points.end(), point) == group->points.end())
    group->points.push_back(point);
}

MemoryGroup& group_of(std::vector<MemoryGroup>* groups, const MemoryKernel& kernel) {
  for (MemoryGroup& g : *groups)
    if (g.kernel == kernel) return g;
  groups->push_back({kernel, {}});
  return groups->back();
}

Result<std::vector<MemoryGroup>> plan(const MemoryChoice& c, size_t mpis) {
  const bool how = !c.ratios.empty() || !c.pages.empty() || !c.protocols.empty() || !c.where.empty() ||
                   !c.peers.empty() || !c.servers.empty() || !c.threads.empty() || !c.settings.empty();
  if (c.paper && (how || c.full || c.repetitions > 0 || c.warm >= 0))
    return Status::error(EINVAL, "--paper decides what is measured: only --kernels goes with it");
  std::vector<MemoryKernel> kernels;
  for (const std::string& text : c.kernels) {
    Result<MemoryKernel> kernel = kernel_of(text);
    if (!kernel.ok()) return kernel.status();
    kernels.push_back(kernel.value());
  }
  std::vector<MemoryGroup> groups;
  if ((c.full || c.paper) && !how) {
    groups = c.paper ? paper_groups() : evaluation(mpis);
    std::erase_if(groups, [&kernels](const MemoryGroup& g) {
      return !kernels.empty() && std::none_of(kernels.begin(), kernels.end(), [&g](const MemoryKernel& k) {
        return k.name == g.kernel.name && (k.size.empty() || k.size == g.kernel.size);
      });
    });
  } else if (!how && kernels.empty()) {
    groups = tour(mpis);
  } else {
    groups = combinations(c, or_else(kernels, {{"stream", "768MiB", "triad"}, {"himeno", "M"}}), mpis);
  }
  for (MemoryGroup& g : groups) {
    if (c.warm >= 0) g.kernel.warm = c.warm;
    if (c.repetitions > 0) g.kernel.repetitions = c.repetitions;
    if (c.no_peers) std::erase_if(g.points, [](const MemoryPoint& p) { return p.kind != "cluster"; });
  }
  return groups;
}

std::string servers_text(int servers) {
  if (servers == 0) return "a disk";
  return std::to_string(servers) + (servers == 1 ? " server" : " servers");
}

std::string point_name(const MemoryKernel& kernel, const std::string& part, const MemoryPoint& point,
                       const std::string& mpi) {
  std::string name = kernel.name + (part.empty() ? "" : "." + part);
  if (!kernel.size.empty()) name += " " + kernel.size;
  name += ", " + point.kind;
  char ratio[32];
  snprintf(ratio, sizeof ratio, " %g %%", point.ratio);
  if (point.kind != "plain") name += ratio;
  if (point.kind == "cluster" || point.kind == "umap")
    name += ", page " + (point.page == 0 ? "auto" : bytes_text(point.page, BytesStyle::compact));
  if (point.kind == "cluster") {
    if (!point.protocol.empty()) name += ", " + point.protocol;
    name += ", " + servers_text(point.servers);
    name += ", " + point.where + ", " + mpi;
    if (!point.settings.empty()) name += ", " + point.settings;
  }
  if (!kernel.label.empty()) name += ", " + kernel.label;
  if (kernel.threads > 1) name += ", " + std::to_string(kernel.threads) + " threads";
  return name;
}

}  // namespace tasuki::bench
