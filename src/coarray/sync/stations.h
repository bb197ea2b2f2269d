// stations: what each image says of itself to those that wonder why it does not come: that it is in a
// collective operation of the MPI library, or that it waits for others in a loop of the runtime, and where in
// the program.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "coarray/local/fail.h"
#include "coarray/local/memory.h"
#include "coarray/local/team.h"

namespace tasuki::coarray {

// In the memory of the image that waits. Others read it at any time: who concludes something from it reads it
// twice, a while apart.
struct Station {
  uint64_t team;    // it is in a collective operation of this team; 0: it is not
  uint64_t number;  // of that operation
  uint64_t wait;    // the number of a wait that takes long already; 0: it does not wait
  int64_t line;
  int32_t image;  // the one that it waits for, as an index in `world`; -1: several
  int32_t tag;
  uint32_t told;  // used of image 0: some image has told of a standstill
  char file[96];
  char what[44];
};

class Stations {
 public:
  explicit Stations(Memory* memory) : memory_(*memory) {}

  // Collective over all images.
  void start(const Team& world);

  Station& own() { return *reinterpret_cast<Station*>(segment_->begin); }
  // Others see what has been written there.
  void publish() {
    if (segment_->needs_sync) PMPI_Win_sync(segment_->window);
  }
  void set_place(Where where);
  size_t count() const { return segment_->direct.size(); }
  // True for one image only, of all that ask.
  bool is_first_to_tell();

  // Reads those of all images, one after the other.
  class Reader {
   public:
    // The next image's, into `now`; false: not yet.
    bool read(Stations* stations, size_t image, Station* now);
    // What is still on its way has come.
    void stop();

   private:
    bool started_ = false;
    Station arriving_ = {};
    MPI_Request request_ = MPI_REQUEST_NULL;
  };

 private:
  Memory& memory_;
  Segment* segment_ = nullptr;
  const char* file_ = nullptr;  // as it stands in own()
};

}  // namespace tasuki::coarray
