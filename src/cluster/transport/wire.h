// What rank 0 and the servers send each other. Everything is between rank 0 and one server, in a communicator
// of its own; all ranks run the same build of this library (checked by kMagic and kVersion at the start).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tasuki::cluster {

inline constexpr uint64_t kMagic = 0x74617375'6b692d6d;
inline constexpr uint32_t kVersion = 2;

// Tags. A transfer's data travel with a tag of its own, which is free again when both sides have matched it:
// a get when its data are there, a put (sent synchronously) when it completed.
inline constexpr int kHeaderTag = 1;
inline constexpr int kFirstDataTag = 16;
inline constexpr uint32_t kMostTransfers = 8192;  // MPI promises tags up to 32767

// A server on another host hears from rank 0 at least every quarter of its patience, though nothing is
// swapped: else it takes rank 0, or the network, for dead.
enum class Op : uint32_t { get = 1, put, release, goodbye, beat };

struct Header {
  Op op;
  uint32_t
      units;  // goodbye: 1: without MPI_Finalize; beat: the server's patience from now on, in s; 0: endless
  uint64_t slot;   // of the server; goodbye: the exit code
  uint32_t tag;    // of the data
  uint32_t count;  // release: ranges that follow; put of packed units: their bytes
};
struct Range {
  uint64_t slot, units;
};
inline constexpr uint32_t kRangesInMessage = 120;
inline constexpr size_t kMostHeaderBytes =
    sizeof(Header) + kRangesInMessage * sizeof(Range);  // eager everywhere

// At the start: rank 0 broadcasts what it wants, each server offers, rank 0 deals.
struct Plan {
  uint64_t magic;
  uint32_t version;
  int32_t end;  // not negative: nothing begins, end with this exit code
  uint64_t unit_bytes;
  uint32_t share;     // servers on rank 0's host: offer a memory file
  uint32_t packed;    // data travel as packed.h says
  uint32_t patience;  // of servers on other hosts, in s; 0: endless
};
struct Offer {
  int32_t error;  // errno; the text says why
  int32_t file;   // descriptor of the memory file in process `pid`; -1: none
  int64_t pid;
  uint64_t bytes;   // to lend, a multiple of the unit
  uint64_t cookie;  // stands behind the file's last byte
  uint32_t on_root_host;
  char host[64];
  char text[256];
};
struct Deal {
  int32_t end;
  uint32_t shared;  // rank 0 uses the memory itself
};

}  // namespace tasuki::cluster
