// transfers: puts, gets and sections, wherever their operands lie: the router above what moves bytes of the
// host (local/host_transfers.h), the device's driver (device/device.h) and the couriers of other images
// (device/courier.h).
//
// What lies apart in device memory is packed on the device; the host only turns round what is wanted in
// descending order.
#pragma once

#include "coarray/device/courier.h"
#include "coarray/device/device.h"
#include "coarray/local/direction.h"
#include "coarray/local/host_transfers.h"
#include "coarray/local/place.h"

namespace tasuki::coarray {

class Transfers {
 public:
  Transfers(Memory* memory, HostTransfers* host, Device* device, Courier* courier)
      : memory_(*memory), host_(*host), device_(*device), courier_(*courier) {}

  // Collective over all images, when there is a device. `distant`: an image may want memory on the device of
  // another that the driver and windows do not reach.
  void start_device(bool distant, const Team& world);
  // Behind the last transfer of any image.
  void stop_device() {
    courier_.stop();
    with_device_ = false;
  }

  // Bytes of the host in one piece, which may overlap.
  void put(const Place& to, const void* from, uint64_t bytes, Through through) {
    host_.put(to, from, bytes, through);
  }
  void get(void* to, const Place& from, uint64_t bytes, Through through) {
    host_.get(to, from, bytes, through);
  }

  // Equal numbers of bytes. As if all of `from` were read first.
  void copy(const Operand& to, const Operand& from, Through through) {
    if (to.place.device || from.place.device) [[unlikely]]
      return copy_with_device(to, from, through);
    host_.copy(to, from, through);
  }
  // One element, `element` bytes, to all of `to`.
  void fill(const Operand& to, const char* value, uint64_t element) {
    if (to.place.device) [[unlikely]]
      return fill_device(to, value, element);
    host_.fill(to, value, element);
  }

  // The contiguous pieces of a section that is on the host here, in order; as layout::for_each_run.
  void for_each_run(const Operand& here, void* context,
                    bool (*visit)(void* context, char* address, uint64_t length)) {
    host_.for_each_run(here, context, visit);
  }

  void complete_local() {
    if (with_device_) [[unlikely]]
      device_.synchronize();
    host_.complete_local();
  }
  void complete() {
    // What is stored into a direct image is there for all that is stored later, and for all who see that:
    // more is not needed (Fortran 2008, 8.5.1: who reads what another image writes is ordered after it).
    // Copies that go past the caches end with a fence of their own.
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    if (!memory_.all_direct() || with_device_) complete_all();
  }

 private:
  void complete_all();
  // At least one operand is in device memory.
  void copy_with_device(const Operand& to, const Operand& from, Through through);
  void fill_device(const Operand& to, const char* value, uint64_t element);
  void copy_here(const Operand& to, const Operand& from);
  void by_host(const Operand& to, const Operand& from);
  // `here` is dense.
  void remote(const Operand& there, const Operand& here, Direction direction, Through through);
  void by_courier(const Operand& there, const Operand& here, Direction direction);
  void by_window(Operand there, const Operand& here, Direction direction, Through through);
  void by_host_window(const Operand& there, const Operand& here, Direction direction);

  Memory& memory_;
  HostTransfers& host_;
  Device& device_;
  Courier& courier_;
  bool with_device_ = false;
};

}  // namespace tasuki::coarray
