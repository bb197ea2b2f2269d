// courier: brings bytes to and from the device memory of images whose device no driver call and no window
// reaches from here: those of other hosts, with an MPI library that takes addresses of the host only.
//
// Each image has some *boxes* in coarray memory of its host, and a thread that carries between them and its
// device, without calls of MPI. What is wanted has a name that both know: its address on the other image's
// host. An image that puts locks a box, fills it, and gives the number of the order; the thread answers with
// the same number. What a box holds lies densely; the order says how it lies on the device. One transfer uses
// two boxes in turn, so that the next part travels while the device takes the one before.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "coarray/device/device.h"
#include "coarray/local/direction.h"
#include "coarray/local/host_transfers.h"
#include "coarray/local/memory.h"
#include "coarray/local/place.h"
#include "coarray/sync/patience.h"

namespace tasuki::coarray {

class Courier {
 public:
  static constexpr uint64_t kPart = 256 << 10;

  Courier(HostTransfers* transfers, Device* device, Patience* patience)
      : transfers_(*transfers), device_(*device), patience_(*patience) {}

  // Collective over all images.
  void start(Memory* memory, const Team& world);
  // Behind the last order of any image.
  void stop();
  bool works() const { return boxes_ != nullptr; }

  // Bytes that lie densely, in parts of kPart at most: part() for each in order, then end(). `place` is of
  // device memory, with the shape in ascending order; `here` is on the host or on the device. A put's bytes
  // may be changed when part() returns; a get's are there after end().
  void part(const Place& place, const Shape& shape, Bytes here, Direction direction);
  void end();

 private:
  static constexpr int kBoxes = 4;
  struct Order;
  struct Box;
  struct Open {
    Box* box = nullptr;  // in this image's boxes, for addresses
    int target = 0;
    int32_t number = 0;
    Bytes here{};
    uint64_t bytes = 0;
    Direction direction = Direction::put;
  };
  void finish(Open* open);
  void serve();
  bool serve_once();

  HostTransfers& transfers_;
  Device& device_;
  Patience& patience_;
  Segment* boxes_ = nullptr;
  int32_t me_ = 0;
  Open open_[2];
  int turn_ = 0;
  int next_box_ = 0;
  std::thread thread_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace tasuki::coarray
