// device_transfer: puts, gets and sections with an operand in device memory. What lies apart is packed on the device, where it lies; the host
// only turns round what is wanted in descending order.
#pragma once

#include "coarray/device/courier.h"
#include "coarray/device/device.h"
#include "coarray/local/transfer.h"

namespace tasuki::coarray {

class DeviceTransfers {
 public:
  DeviceTransfers(Device* device, Transfers* transfers) : device_(*device), transfers_(*transfers) {}

  // Collective over all images, when there is a device. `distant`: an image may want memory on the device of another that the driver and
  // windows do not reach.
  void start(Memory* memory, bool distant, const Team& world);
  // Behind the last transfer of any image.
  void stop() { courier_.stop(); }

  // As Transfers' own; at least one operand is in device memory.
  void copy(const Operand& to, const Operand& from, Through through);
  void fill(const Operand& to, const char* value, uint64_t element);
  void complete() { device_.synchronize(); }

 private:
  void copy_here(const Operand& to, const Operand& from);
  void by_host(const Operand& to, const Operand& from);
  // `here` is dense.
  void remote(const Operand& there, const Operand& here, bool put, Through through);
  void by_courier(const Operand& there, const Operand& here, bool put);
  void by_window(Operand there, const Operand& here, bool put, Through through);
  void by_host_window(const Operand& there, const Operand& here, bool put);

  Device& device_;
  Transfers& transfers_;
  Courier courier_;
};

}  // namespace tasuki::coarray
