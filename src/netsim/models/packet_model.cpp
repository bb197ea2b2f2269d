// The packet model on one thread or several. Threads work on parts of the network side by side for windows of
// time that are shorter than any way from one router to another (conservative synchronisation; windows.h).
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "netsim/engine/partition.h"
#include "netsim/engine/windows.h"
#include "netsim/models/models.h"

namespace tasuki::netsim {
namespace {

using Wall = std::chrono::steady_clock;

class Simulation {
 public:
  Simulation(const Machine& machine, const Topology& topology, Driver& driver, const Options& options)
      : machine_(machine),
        topology_(topology),
        options_(options),
        clock_(machine),
        start_(Wall::now()),
        threads_(std::max(1u, std::min(options.threads, topology.routers()))),
        driver_(driver),
        windows_(threads_, driver.any_thread()) {
    std::vector<uint32_t> ends;
    for (uint32_t i = 0; i < threads_; i++)
      ends.push_back(static_cast<uint32_t>(uint64_t{topology.routers()} * (i + 1) / threads_));
    for (uint32_t i = 0; i < threads_; i++) {
      parts_.push_back(std::make_unique<Part>(machine, topology, clock_, driver, options,
                                              i == 0 ? 0 : ends[i - 1], ends[i], threads_));
      parts_.back()->partition.ends = ends;
    }
  }

  Result<Results> run() {
    if (threads_ == 1) {
      run_alone();
    } else {
      Status status = run_together();
      if (!status.ok()) return status;
    }
    return finish();
  }

 private:
  struct Part {
    Part(const Machine& m, const Topology& t, const Clock& c, Driver& d, const Options& o, uint32_t first,
         uint32_t end, uint32_t threads)
        : partition(m, t, c, d, o, first, end) {
      for (auto& o2 : outboxes) o2.resize(threads);
    }
    Partition partition;
    std::vector<std::vector<Mail>> outboxes[2];  // this window's and the one before
    Tick next[2] = {kNever, kNever};
  };

  void run_alone() {
    Partition& p = parts_[0]->partition;
    p.start();
    constexpr Tick kStride = 4096;
    for (Tick t = p.next(); t != kNever && p.failure.at == kNever; t = p.next()) {
      p.run_until(t + kStride);
      report_progress(p);
    }
  }

  Status run_together() {
    // More threads than cores are of use only where each has a part that no other may work on.
    const bool any = driver_.any_thread();
    const uint32_t wanted =
        any ? std::min(threads_, std::max(1u, std::thread::hardware_concurrency())) : threads_;
    std::vector<std::thread> others;
    Status status;
    try {
      for (uint32_t i = 1; i < wanted; i++) others.emplace_back([this, i] { run_windows(i); });
    } catch (const std::system_error& e) {
      // The others do its work, if they may.
      if (!any) {
        status = Status::error(e.code().value(), "cannot start " + std::to_string(wanted) +
                                                     " threads: " + e.code().message() +
                                                     "; use a lower number of --threads");
        windows_.stop();
      }
    }
    if (status.ok()) run_windows(0);
    for (std::thread& t : others) t.join();
    return status;
  }

  void run_windows(uint32_t me) {
    windows_.run(
        me, [this](uint32_t part, uint64_t window) { work(part, window); },
        [this](uint64_t window) { return conclude(window); });
  }

  // Running out of memory ends it for all, after this window.
  void work(uint32_t part, uint64_t window) {
    Part& mine = *parts_[part];
    const size_t side = window % 2;
    for (auto& box : mine.outboxes[side]) box.clear();
    mine.partition.outbox = mine.outboxes[side].data();
    mine.partition.first_mail = kNever;
    try {
      if (window == 0) {
        mine.partition.start();
      } else {
        for (const auto& from : parts_)
          for (const Mail& mail : from->outboxes[1 - side][part]) mine.partition.receive(mail);
        mine.partition.run_until(end_);
      }
      mine.next[side] = std::min(mine.partition.next(), mine.partition.first_mail);
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
    }
  }

  // What all parts have done in a window says where the next one ends; false: there is none.
  bool conclude(uint64_t window) {
    Tick next = kNever;
    bool failed = out_of_memory_;
    for (const auto& part : parts_) {
      next = std::min(next, part->next[window % 2]);
      failed = failed || part->partition.failure.at != kNever;
    }
    if (next == kNever || failed) return false;
    end_ = next + clock_.lookahead;
    if (window % 64 == 0) report_progress(parts_[0]->partition);
    return true;
  }

  void report_progress(const Partition& p) {
    if (options_.progress == nullptr) return;
    const auto now = Wall::now();
    if (now - last_progress_ < std::chrono::milliseconds(400)) return;
    last_progress_ = now;
    options_.progress({p.now() * clock_.tick, p.events() * threads_, seconds_since_start()},
                      options_.progress_context);
  }

  double seconds_since_start() const { return std::chrono::duration<double>(Wall::now() - start_).count(); }

  Result<Results> finish() {
    if (out_of_memory_) throw std::bad_alloc();
    const Failure* first = nullptr;
    int64_t stuck = 0;
    for (const auto& part : parts_) {
      const Failure& f = part->partition.failure;
      stuck += part->partition.in_network();
      if (f.at != kNever &&
          (first == nullptr || f.at < first->at || (f.at == first->at && f.node < first->node)))
        first = &f;
    }
    if (first != nullptr) return Status::error(ECANCELED, first->why);
    if (stuck != 0) {
      std::string where;
      for (const auto& part : parts_) where += part->partition.waiting_channels();
      return Status::error(EDEADLK,
                           std::to_string(stuck) + " packets wait for each other in the network:" + where);
    }
    for (const auto& part : parts_)
      if (!part->partition.is_empty())
        return Status::error(EPROTO,
                             "internal error: the network is idle, but credits or packets are missing");
    return collect();
  }

  Results collect() {
    Results r;
    r.model = "packet";
    r.threads = threads_;
    r.classes = topology_.classes();
    r.channels = machine_.channels;
    r.class_links.assign(r.classes.size(), 0);
    for (const Link& l : topology_.links())
      if (l.router != kNone) r.class_links[l.link_class]++;
    r.links.resize(topology_.links().size());
    Partition& p0 = parts_[0]->partition;
    uint32_t link_shift = 0;
    std::vector<double> load(r.classes.size());
    double busiest = 0;
    for (const auto& part : parts_) {
      Partition& p = part->partition;
      p.report(&r);
      if (&p != &p0) {
        p0.busy().merge(p.busy());
        p0.buffered().merge(p.buffered());
      }
      link_shift = std::max(link_shift, p.link_busy().shift());
      for (size_t c = 0; c < load.size(); c++) load[c] += p.ideal_load()[c];
      busiest = std::max(busiest, p.busiest_node());
    }
    r.end *= clock_.tick;
    for (LinkTotals& l : r.links) l.busy *= clock_.tick;
    add_timelines(&r, p0.busy(), p0.buffered(), link_shift);
    r.ideal = ideal_time(machine_, r.class_links, load, busiest);
    for (const LinkTotals& l : r.links) r.hash = mix(r.hash + l.packets) + mix(l.bytes) + mix(l.busy);
    r.hash = mix(r.hash + r.end);
    r.wall_s = seconds_since_start();
    return r;
  }

  void add_timelines(Results* r, const Recorder& busy, const Recorder& buffered, uint32_t link_shift) {
    // All three with the same bins, as wide as the widest, none beyond the end.
    Partition& p0 = parts_[0]->partition;
    const uint32_t shift = std::max({busy.shift(), buffered.shift(), link_shift});
    p0.busy().widen_to(shift);
    p0.buffered().widen_to(shift);
    r->bin_width = (Tick{1} << shift) * clock_.tick;
    const size_t bins = std::min<size_t>(busy.bins(), r->end == 0 ? 0 : (r->end - 1) / r->bin_width + 1);
    const double width = static_cast<double>(Tick{1} << shift);
    r->busy = p0.busy().rows_of(bins, static_cast<double>(clock_.tick));
    r->buffered = p0.buffered().rows_of(bins, 1 / width);
    for (const auto& part : parts_) {
      Recorder& links = part->partition.link_busy();
      if (links.rows() == 0) continue;
      links.widen_to(shift);
      for (const auto& row : links.rows_of(bins, 255 / width)) {
        r->link_busy.emplace_back(bins);
        for (size_t b = 0; b < bins; b++)
          r->link_busy.back()[b] = static_cast<uint8_t>(std::min(255.0, row[b] + 0.5));
      }
    }
  }

  const Machine& machine_;
  const Topology& topology_;
  const Options& options_;
  const Clock clock_;
  const Wall::time_point start_;
  Wall::time_point last_progress_ = start_;
  const uint32_t threads_;
  Driver& driver_;
  Windows windows_;
  std::vector<std::unique_ptr<Part>> parts_;
  Tick end_ = 0;  // of the window
  std::atomic<bool> out_of_memory_{false};
};

}  // namespace

Result<Results> run_packet_model(const Machine& machine, const Topology& topology, Driver& driver,
                                 const Options& options) {
  return Simulation(machine, topology, driver, options).run();
}

}  // namespace tasuki::netsim
