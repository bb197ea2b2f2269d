// The runs that the paper's experiments consist of, each once, its result kept in a file: a run that was
// interrupted goes on where it stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "netsim/machine/machine.h"

namespace tasuki::tool {

struct PaperPoint {
  uint32_t extent = 9;  // nodes in each of the two dimensions
  std::string algorithm = "a2at";
  uint64_t bytes = 1 << 20;
  std::vector<double> bias;  // empty: unpaced; one: of all sequences; else by sequence. Gap: hops - 1 + bias
  int sequence = -1;         // only this one, from 0
  bool barriers = false;
  netsim::Time skew = 0;
  bool timeline = false;  // keep what happened over time

  std::string key() const;
};

struct PaperResult {
  double time_s = 0, ideal_s = 0;
  double link_busy = 0;        // mean over links and time
  double worst_imbalance = 0;  // s: ends of a sequence
  std::vector<std::string> classes;
  double bin_s = 0;
  std::vector<std::vector<double>> throughput;  // [class][bin], GB/s of a link
  std::vector<std::vector<double>> buffered;    // [class * channels + channel][bin], share of the buffers
};

class PaperPoints {
 public:
  // `machine`: the paper's, whose extents are replaced. `file`: where results are kept, each under all that
  // it depends on: the version of the simulator's results, every value of the machine, the point.
  PaperPoints(netsim::Machine machine, std::string file);
  Status load();
  // Runs those that have no result yet, cheap ones first, so many side by side.
  Status run(const std::vector<PaperPoint>& points, uint32_t workers);
  bool has(const PaperPoint& p) const { return results_.count(key_of(p)) != 0; }
  // Precondition: run() has had it.
  const PaperResult& at(const PaperPoint& p) const { return results_.at(key_of(p)); }
  // "1 0123456789abcdef": version and machine, for the names of other things that are kept.
  const std::string& world() const { return world_; }

 private:
  Result<PaperResult> attempt(const PaperPoint& p) const;
  Status save() const;
  std::string key_of(const PaperPoint& p) const { return world_ + " " + p.key(); }
  netsim::Machine machine_;
  std::string world_;
  std::string file_;
  std::map<std::string, PaperResult> results_;
};

}  // namespace tasuki::tool
