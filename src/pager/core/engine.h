// The pager's engine: pages, their transfers, and the loop that serves faults. Everything but the entry points of Pager runs in the
// thread of serve(), so nothing here needs a lock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>

#include "os/descriptor.h"
#include "pager/core/page_state.h"
#include "pager/core/replacement.h"
#include "pager/core/streams.h"
#include "pager/mappers/mapper.h"
#include "pager/pager.h"
#include "pager/run_set.h"

namespace tasuki::pager {

double seconds();

// Pages that travel in one direction, and the time during which there were any.
struct Traffic {
  uint32_t pages = 0;
  double since = 0, busy = 0;
  void begin() {
    if (pages++ == 0) since = seconds();
  }
  void end() {
    if (--pages == 0) busy += seconds() - since;
  }
};

struct Region {
  uint32_t id = 0;
  std::byte* at = nullptr;
  size_t bytes = 0;  // as asked for
  uint64_t units = 0;
  bool watched = false;  // false: plain memory, because everything fits
  Locality locality;
  std::vector<PageId> page;    // of each unit: the page that it belongs to; kNoPage: none, then
  std::vector<uint32_t> slot;  // its slot + 1, or 0: never written
  std::vector<std::pair<uint64_t, uint64_t>>
      pins;  // while it is not watched: units [first, end) that pin() holds
};

struct Wait {  // of a thread in a fault
  int thread = 0;
  double since = 0;
};

struct Page {
  Region* region = nullptr;
  uint64_t first = 0;
  uint32_t units = 0;
  PageState state;
  bool demanded = false;  // a fault waits or waited; else fetched ahead
  bool listed = false;    // with the replacement policy
  bool alive = false;
  uint32_t keep = 0;       // pins; not a victim
  uint32_t transfers = 0;  // under way
  bool predicted_write = false;
  bool hashed = false;
  uint64_t hash[2] = {};  // of the bytes that the store has
  bool unmapped = false;  // the pieces came from unmap()
  bool kept = false;      // keep_local
  double busy = 0;        // since when somebody outside uses its physical memory (Mapper::unmap); 0: nobody
  uint64_t born = 0;      // when it appeared, counted in pages
  double appeared = 0;    // when it woke a thread; 0: it did not
  Pieces pieces;          // arriving, leaving, limbo: where the bytes are
  std::vector<Wait> waits;
};

class Engine final : public Pager {
 public:
  Engine(const Options& options, Store* store, std::unique_ptr<Mapper> mapper);
  ~Engine() override;

  Result<void*> allocate(size_t bytes, size_t alignment, size_t page_bytes) override;
  Status free(void* p) override;
  Result<void*> reallocate(void* p, size_t bytes) override;
  size_t size_of(const void* p) const override;
  bool touches(const void* p, size_t bytes) const override;
  Status advise(void* p, size_t bytes, Advice advice) override;
  size_t pin(const void* p, size_t bytes, bool write) override;
  void unpin(const void* p, size_t bytes) override;
  bool needs_pin() const override { return !mapper_->serves_kernel(); }
  Stats stats() const override;
  std::vector<ThreadStats> thread_stats() const override;
  std::string mechanism() const override { return mapper_->name(); }
  Status serve() override;
  void stop() override;

 private:
  struct Command {
    std::function<bool()> work;  // true: done; false: call again after some progress
    bool done = false;
  };
  struct Fault {  // a fault and what was decided about it, once, however often it must wait
    os::FaultEvent event;
    double since = 0;
    bool planned = false, waited = false;
    FetchPlan plan;
  };
  struct Ahead {
    uint32_t region;
    uint64_t first;
    uint32_t units, page;
    bool backward, write;
    int64_t stride;
  };

  // engine.cpp: the loop, commands
  void run(const std::function<bool()>& work) const;
  bool run_commands();
  bool serve_faults();
  size_t next_faults(os::FaultEvent* events, size_t max);
  void catch_faults();
  bool progress();
  void rest(bool idle);
  Result<void*> do_allocate(size_t bytes, size_t alignment, size_t page_bytes);
  bool do_free(Region* region);
  Status watch(Region* region);
  Status hold_pins(Region* region);
  Region* region_of(const void* address) const;
  Region* region_and_end(const std::byte* at, const std::byte** end);
  Page* page_of(const Region* region, uint64_t unit);
  void unpin_piece(Region* region, const std::byte* from, const std::byte* to);
  uint64_t capacity() const;
  uint64_t largest_page() const { return std::min<uint64_t>(local_units_ / 8, 512); }
  bool single_swap() const { return options_.protocol != Protocol::ahead; }

  // engine_pages.cpp: what happens to a page
  bool serve(Fault* fault);
  bool bring(Region* region, uint64_t unit, const FetchPlan& plan, bool write, const Wait* wait);
  void act(PageId id, Action action);
  void appear(PageId id);
  void transfer(PageId id, bool in);
  void completed(PageId id);
  void rescue(PageId id, bool write);
  bool evict(PageId id);
  void set_busy(PageId id, double since);
  bool all_stay() const;
  void join_neighbours(PageId id, double young);
  bool evict_one();
  void evict_surplus();
  bool reclaim_one();
  bool make_room(uint32_t units);
  bool keep_room();
  bool read_ahead();
  void plan_ahead(Region* region, const FetchPlan& plan);
  PageId new_page(Region* region, uint64_t first, uint32_t units);
  void end_page(PageId id);
  void list(PageId id);
  void unlist(PageId id);
  bool give_slots(Page* page);
  void take_slots(Region* region, uint64_t first, uint64_t units);
  bool steal_slots(const Page* except);
  void hold(PageId id, bool keep, int pins);
  bool same_as_stored(Page* page) const;
  void fail(const Status& status);

  Options options_;
  Store* store_;
  std::unique_ptr<Mapper> mapper_;
  Streams streams_;
  std::unique_ptr<Replacement> policy_;
  PageList limbo_, busy_;
  RunSet free_slots_;
  uint64_t slots_ = 0;

  std::deque<Page> pages_;
  std::vector<PageId> free_pages_;
  std::map<uintptr_t, std::unique_ptr<Region>>
      regions_;  // by address; changed by serve()'s thread under names_mutex_
  std::unordered_map<uint32_t, Region*> region_by_id_;
  mutable Region* last_region_ = nullptr;
  uint32_t next_region_ = 1;
  uint64_t local_units_ = 0, spare_ = 0, used_ = 0, limbo_units_ = 0, allocated_units_ = 0,
           resident_units_ = 0, resident_pages_ = 0, kept_units_ = 0, promised_units_ = 0, held_units_ = 0,
           page_limit_ = UINT64_MAX;
  uint64_t low_ = 0, high_ = 0, leaving_units_ = 0, busy_units_ = 0;
  bool watching_ = false, filling_ = false;
  uint64_t appeared_ = 0;
  uint32_t in_flight_ = 0;  // pages with transfers
  std::deque<Ahead> ahead_;
  std::deque<Fault> deferred_;
  std::unordered_map<int, ThreadStats> threads_;
  std::vector<Ticket> tickets_;
  std::vector<PageId> arrived_;  // cs, cross: their swap is not over
  PageId steal_hand_ = 0;
  size_t commands_waiting_ = 0;
  double idle_since_ = 0;
  Traffic coming_, going_;
  Stats stats_;
  Status failure_;

  os::Fd event_, catcher_end_;
  std::atomic<bool> stop_{false}, serving_{false};
  bool ended_ = false;  // serve() has returned; under mutex_
  std::atomic<uintptr_t> lowest_{UINTPTR_MAX}, highest_{0};
  mutable std::mutex names_mutex_;
  mutable std::mutex mutex_;
  mutable std::condition_variable done_;
  mutable std::deque<Command*> commands_;
  std::deque<os::FaultEvent> caught_;  // as2: by the catching thread, under mutex_
};

}  // namespace tasuki::pager
