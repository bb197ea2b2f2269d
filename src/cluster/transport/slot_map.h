// Which servers hold a slot: the slots of the store are the memory of all servers, one after the other or in
// blocks by turns, once or several times.
#pragma once

#include <cstdint>
#include <vector>

namespace tasuki::cluster {

enum class Fill { rank, interleave };

class SlotMap {
 public:
  struct Place {
    uint32_t server;  // index into the capacities
    uint64_t slot;    // of that server
    uint64_t run;     // slots from here on that follow each other there
  };

  // `capacities`: slots of each server. `copies`: every slot has places on so many different servers; there
  // are as many slots as can have them. `block`: slots that stay together when servers take turns.
  SlotMap(const std::vector<uint64_t>& capacities, Fill fill, uint32_t copies, uint64_t block);

  uint64_t slots() const { return slots_; }
  uint32_t copies() const { return copies_; }
  // `copy` < copies().
  Place find(uint64_t slot, uint32_t copy) const;
  uint64_t run_limit(uint64_t slot) const;

 private:
  struct Block {
    uint32_t server;
    uint32_t block;
  };
  void lay_out_by_rank(const std::vector<uint64_t>& capacities);
  void lay_out_by_turns(const std::vector<uint64_t>& capacities);

  uint32_t copies_;
  uint64_t slots_ = 0;
  // By rank: the servers' slots end to end; copy c of slot s stands at s + c * slots_. first_[i] is where
  // server i begins. No server has more than slots_ of them, so two positions that are slots_ apart are never
  // on the same one.
  std::vector<uint64_t> first_;
  // By turns: for each block its places.
  uint64_t block_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace tasuki::cluster
