#include "pager/test/store_conformance.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_map>
#include <unordered_set>

namespace tasuki::pager {
namespace {

using Clock = std::chrono::steady_clock;

// The contents of a unit are a function of its slot and of how often it was put.
void fill(std::byte* unit, size_t bytes, Slot slot, uint64_t version, bool compressible) {
  std::mt19937_64 random(slot * 0x9e3779b97f4a7c15u + version);
  // Some units of zeros, some that repeat themselves, some that do not, some of one byte, some that do not in one half.
  const uint64_t kind = compressible ? (slot + version) % 5 : 2;
  if (kind == 3) {
    memset(unit, static_cast<int>(version * 37 & 0xff), bytes);
    return;
  }
  const uint64_t period = kind == 0 ? 0 : kind == 1 ? 16 : UINT64_MAX;
  uint64_t word = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    if (kind != 0 && (i / 8) % period == 0) word = random();
    if (kind == 2) word = random();
    if (kind == 4) word = i < bytes / 2 ? random() : 0;
    memcpy(unit + i, &word, 8);
  }
  // All others tell slot and version.
  memcpy(unit + bytes - 16, &slot, 8);
  memcpy(unit + bytes - 8, &version, 8);
}

class Check {
 public:
  Check(Store& store, const Conformance& options)
      : store_(store), options_(options), random_(options.seed), unit_(store.unit_bytes()) {}

  std::string run() {
    if (store_.slots() == 0) return "no slots to test";
    check(store_.reserve(store_.slots()), "reserve");
    edges();
    for (uint64_t i = 0; i < options_.operations && error_.empty(); i++) {
      if (transfers_.size() >= options_.in_flight || (!transfers_.empty() && chance(20))) progress();
      random_step();
    }
    drain();
    read_all();
    release_all();
    if (error_.empty() && store_.busy()) fail("busy() although everything completed");
    return error_;
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  using Buffer = std::unique_ptr<std::byte[], Free>;  // as the pager's: aligned
  struct Transfer {
    Slot slot;
    uint32_t units;
    bool get;
    Buffer buffer;
    uint32_t parts = 1;  // calls of the store with the same ticket
  };

  Buffer make_buffer(uint32_t units) const {
    return Buffer(static_cast<std::byte*>(std::aligned_alloc(4096, units * unit_)));
  }

  bool chance(unsigned percent) { return random_() % 100 < percent; }
  void fail(const std::string& text) {
    if (error_.empty()) error_ = text + " (seed " + std::to_string(options_.seed) + ")";
  }
  void check(const Status& status, const char* what) {
    if (!status.ok()) fail(std::string(what) + ": " + status.message());
  }

  uint32_t run_from(Slot slot) {
    const uint64_t limit = store_.run_limit(slot);
    if (limit == 0 || limit > store_.slots() - slot) {
      fail("run_limit(" + std::to_string(slot) + ") is " + std::to_string(limit));
      return 1;
    }
    return static_cast<uint32_t>(std::min<uint64_t>(limit, options_.longest));
  }

  bool free_run(Slot slot, uint32_t units) const {
    for (uint32_t i = 0; i < units; i++)
      if (moving_.contains(slot + i)) return false;
    return true;
  }

  void put(Slot slot, uint32_t units) {
    Buffer buffer = make_buffer(units);
    for (uint32_t i = 0; i < units; i++)
      fill(&buffer[i * unit_], unit_, slot + i, versions_[slot + i] = ++version_, options_.compressible);
    start({slot, units, false, std::move(buffer)});
  }

  void get(Slot slot, uint32_t units) {
    Buffer buffer = make_buffer(units);
    memset(buffer.get(), 0xa5, units * unit_);
    start({slot, units, true, std::move(buffer)});
  }

  void start(Transfer transfer) {
    const Ticket ticket = next_ticket_++ * 7 + 3;  // a store must not take tickets for indices
    for (uint32_t i = 0; i < transfer.units; i++) moving_.insert(transfer.slot + i);
    Transfer& t = transfers_[ticket] = std::move(transfer);
    t.parts = t.units > 1 && chance(30) ? 2 : 1;
    for (uint32_t part = 0; part < t.parts; part++) {
      const uint32_t begin = t.units * part / t.parts, units = t.units * (part + 1) / t.parts - begin;
      std::byte* at = t.buffer.get() + begin * unit_;
      if (chance(30))
        check(t.get ? store_.get_later(t.slot + begin, units, at, ticket)
                    : store_.put_later(t.slot + begin, units, at, ticket),
              t.get ? "get_later" : "put_later");
      else
        check(t.get ? store_.get(t.slot + begin, units, at, ticket)
                    : store_.put(t.slot + begin, units, at, ticket),
              t.get ? "get" : "put");
    }
    if (!store_.busy()) fail("not busy with a transfer under way");
  }

  void release(Slot slot, uint32_t units) {
    for (uint32_t i = 0; i < units; i++) versions_.erase(slot + i);
    check(store_.release(slot, units), "release");
  }

  void progress() {
    Tickets completed;
    if (chance(50)) check(store_.copy_left(), "copy_left");
    check(store_.progress(&completed), "progress");
    for (const Ticket ticket : completed) {
      const auto found = transfers_.find(ticket);
      if (found == transfers_.end()) return fail("completed a ticket that is not under way");
      if (--found->second.parts > 0) continue;
      finish(found->second);
      transfers_.erase(found);
    }
  }

  void finish(const Transfer& t) {
    std::unique_ptr<std::byte[]> expected = std::make_unique<std::byte[]>(unit_);
    for (uint32_t i = 0; i < t.units; i++) {
      moving_.erase(t.slot + i);
      if (!t.get) continue;
      fill(expected.get(), unit_, t.slot + i, versions_[t.slot + i], options_.compressible);
      const std::byte* unit = &t.buffer[i * unit_];
      if (memcmp(expected.get(), unit, unit_) == 0) continue;
      uint64_t slot, version;
      memcpy(&slot, unit + unit_ - 16, 8);
      memcpy(&version, unit + unit_ - 8, 8);
      fail("slot " + std::to_string(t.slot + i) + ": not what was put last: expected version " +
           std::to_string(versions_[t.slot + i]) + ", found slot " + std::to_string(slot) + " version " +
           std::to_string(version));
    }
    // The memory is the caller's again: what is written there now must reach nobody.
    if (!t.get) memset(t.buffer.get(), 0xee, t.units * unit_);
    // The order that a server must keep: a get right behind the put that completed.
    if (!t.get && chance(30)) again_.push_back({t.slot, t.units});
  }

  void drain() {
    const Clock::time_point begin = Clock::now();
    while (!transfers_.empty() && error_.empty()) {
      progress();
      if (Clock::now() - begin > std::chrono::duration<double>(options_.give_up_after_s))
        fail(std::to_string(transfers_.size()) + " transfers did not complete");
    }
  }

  void random_step() {
    if (!again_.empty()) {
      const auto [slot, units] = again_.back();
      again_.pop_back();
      if (free_run(slot, units) && all_there(slot, units)) get(slot, units);
      return;
    }
    // Crowded into few slots in one half of the steps, for conflicts; all of them in the other.
    const uint64_t among = chance(50) ? std::min<uint64_t>(store_.slots(), 64) : store_.slots();
    const Slot slot = random_() % among;
    const uint32_t longest = run_from(slot);
    const uint32_t units = 1 + static_cast<uint32_t>(random_() % longest);
    if (!free_run(slot, units)) return;
    const unsigned kind = static_cast<unsigned>(random_() % 100);
    if (kind < 50)
      put(slot, units);
    else if (kind < 90 && all_there(slot, units))
      get(slot, units);
    else if (kind >= 90)
      release(slot, units);
  }

  bool all_there(Slot slot, uint32_t units) const {
    for (uint32_t i = 0; i < units; i++)
      if (!versions_.contains(slot + i)) return false;
    return true;
  }

  // The first and the last slot, the longest run, and both sides of every border between runs.
  void edges() {
    put(0, run_from(0));
    drain();
    Slot border = 0;
    for (int i = 0; i < 64 && border < store_.slots() && error_.empty(); i++) {
      const uint64_t limit = store_.run_limit(border);
      const Slot last = border + limit - 1;
      if (free_run(last, 1)) put(last, 1);
      border = last + 1;
      if (border < store_.slots() && free_run(border, 1)) put(border, 1);
      drain();
    }
    const Slot last = store_.slots() - 1;
    if (free_run(last, 1)) put(last, 1);
    drain();
    read_all();
  }

  void read_all() {
    std::vector<Slot> slots;
    for (const auto& [slot, version] : versions_) slots.push_back(slot);
    for (const Slot slot : slots) {
      if (!error_.empty()) return;
      get(slot, 1);
      while (transfers_.size() >= options_.in_flight && error_.empty()) progress();
    }
    drain();
  }

  void release_all() {
    for (Slot slot = 0; slot < store_.slots() && error_.empty();) {
      const uint32_t units = static_cast<uint32_t>(std::min<uint64_t>(store_.run_limit(slot), 1u << 20));
      release(slot, units);
      slot += units;
    }
    if (!error_.empty()) return;
    put(0, run_from(0));  // usable as before
    drain();
    read_all();
  }

  Store& store_;
  Conformance options_;
  std::mt19937_64 random_;
  size_t unit_;
  uint64_t version_ = 0, next_ticket_ = 0;
  std::unordered_map<Slot, uint64_t> versions_;  // what was put last
  std::unordered_map<Ticket, Transfer> transfers_;
  std::unordered_set<Slot> moving_;
  std::vector<std::pair<Slot, uint32_t>> again_;
  std::string error_;
};

}  // namespace

std::string check_store(Store& store, const Conformance& options) {
  return Check(store, options).run();
}

}  // namespace tasuki::pager
