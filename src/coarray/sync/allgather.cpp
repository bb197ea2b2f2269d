#include "coarray/sync/allgather.h"

#include <cstring>

namespace tasuki::coarray {

void Allgather::start(const Team& world) {
  world_ = &world;
  const auto count = static_cast<size_t>(world.size());
  numbers_.assign(count, 0);
  if (!memory_.all_direct()) return;
  segment_ = memory_.allocate(world, 2 * count * sizeof(Parcel), alignof(Parcel));
  if (segment_ == nullptr) fail({nullptr, 0}, "no memory for the synchronization of images");
}

void Allgather::gather(const Team& team, const void* mine, size_t bytes, char* all, Where where) {
  const auto me = static_cast<size_t>(world_->me);
  const auto each_other = [&](auto visit) {
    for (int i = 0; i < team.size(); i++)
      if (i != team.me)
        visit(i, static_cast<size_t>(world_->index[static_cast<size_t>(team.ranks[static_cast<size_t>(i)])]));
  };
  each_other([&](int, size_t image) {
    const uint64_t number = ++numbers_[image];
    Parcel& parcel = this->parcel(image, me, number);
    memcpy(parcel.bytes, mine, bytes);
    parcel.number.store(number, std::memory_order_release);
  });
  memcpy(all + static_cast<size_t>(team.me) * bytes, mine, bytes);
  each_other([&](int member, size_t image) {
    const uint64_t number = numbers_[image];
    const Parcel& parcel = this->parcel(me, image, number);
    const auto is_here = [&] { return parcel.number.load(std::memory_order_acquire) == number; };
    for (Waiter waiter(&patience_); !is_here(); waiter.turn())
      if (sync_.has_ended(static_cast<int>(image)) && !is_here())
        fail(where, "image %d waits here for image %d, which has ended", teams_.number_of(world_->me),
             teams_.number_of(static_cast<int>(image)));
    memcpy(all + static_cast<size_t>(member) * bytes, parcel.bytes, bytes);
  });
}

}  // namespace tasuki::coarray
