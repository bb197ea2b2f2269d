#include "cluster/transport/checksum_store.h"

#include <gtest/gtest.h>

#include <cstring>

#include "pager/stores/ram_store.h"
#include "pager/test/store_conformance.h"

namespace tasuki::cluster {
namespace {

// A store that changes one byte of one slot on its way back.
class Faulty final : public pager::Store {
 public:
  Faulty(pager::Store* inner, pager::Slot bad) : inner_(inner), bad_(bad) {}
  size_t unit_bytes() const override { return inner_->unit_bytes(); }
  uint64_t slots() const override { return inner_->slots(); }
  uint64_t run_limit(pager::Slot slot) const override { return inner_->run_limit(slot); }
  Status get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) override {
    if (slot <= bad_ && bad_ < slot + units) hit_ = to + (bad_ - slot) * unit_bytes() + 77;
    return inner_->get(slot, units, to, ticket);
  }
  Status put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) override {
    return inner_->put(slot, units, from, ticket);
  }
  Status release(pager::Slot slot, uint32_t units) override { return inner_->release(slot, units); }
  Status progress(pager::Tickets* completed) override {
    Status status = inner_->progress(completed);
    if (hit_ != nullptr) *hit_ ^= std::byte{1};
    hit_ = nullptr;
    return status;
  }
  bool busy() const override { return inner_->busy(); }
  std::string describe(pager::Slot slot) const override {
    return "slot " + std::to_string(slot) + " of somebody";
  }

 private:
  pager::Store* inner_;
  pager::Slot bad_;
  std::byte* hit_ = nullptr;
};

TEST(ChecksumStore, IsAStore) {
  auto ram = pager::RamStore::create(4096, 300);
  auto store = ChecksumStore::create(ram.value().get());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(pager::check_store(*store.value(), {.operations = 5000}), "");
}

TEST(ChecksumStore, NamesTheSlotThatChanged) {
  auto ram = pager::RamStore::create(4096, 300);
  Faulty faulty(ram.value().get(), 42);
  auto store = ChecksumStore::create(&faulty);
  std::vector<std::byte> page(4 * 4096);
  pager::Tickets completed;
  ASSERT_TRUE(store.value()->put(38, 4, page.data(), 1).ok());
  ASSERT_TRUE(store.value()->put(42, 4, page.data(), 2).ok());
  ASSERT_TRUE(store.value()->progress(&completed).ok());
  ASSERT_TRUE(store.value()->get(38, 4, page.data(), 3).ok());
  EXPECT_TRUE(store.value()->progress(&completed).ok());
  ASSERT_TRUE(store.value()->get(40, 4, page.data(), 4).ok());
  const Status status = store.value()->progress(&completed);
  EXPECT_EQ(status.err(), EIO);
  EXPECT_NE(status.message().find("slot 42 of somebody"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace tasuki::cluster
