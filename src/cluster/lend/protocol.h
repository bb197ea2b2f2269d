// What a lender (`tasuki lend`) and those who borrow its memory send each other: two streams of each
// borrower, one for gets and one for puts, so that a page that somebody waits for does not stand
// behind those that leave. On each stream answers come in the order of the requests. Both sides run on
// machines of the same byte order, which kMagic tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace tasuki::cluster::lend {

inline constexpr uint64_t kMagic = 0x74617375'6b692d6c;
inline constexpr uint32_t kVersion = 2;
inline constexpr uint16_t kPort = 7411;

// What keeps other users of the network out, in a file that only its user can read. It travels as it is, and
// so do the pages: as with MPI over TCP, the network itself is trusted.
struct Key {
  char bytes[32];
};
// TASUKI_LEND_KEY, else .config/tasuki/lend.key in the home of the user. EINVAL: there is no home.
Result<std::string> key_file();
// EACCES: others can read it; ENOENT; EINVAL: its length. make_key() makes the file if there is none.
Result<Key> read_key(const std::string& file);
Result<Key> make_key(const std::string& file);
bool same(const Key& a, const Key& b);  // in a time that does not tell where they differ

// aside: gets of a forked child of the borrower. Its parent's streams are the child's, too, and keep the
// memory as long as one of both lives; but only the parent speaks there.
enum class Stream : uint32_t { gets, puts, aside };

// The first message of each stream.
struct Hello {
  uint64_t magic;
  uint32_t version;
  Stream stream;
  Key key;
  uint64_t borrower;    // a random number, the same for its streams
  uint64_t unit_bytes;  // of a slot
  uint64_t bytes;       // wanted; 0: all that one borrower may have. Of the first stream
  uint32_t parts;       // processes of the job, which share what 0 bytes stand for
  char name[128];       // for people: "program on host (pid 1)"
};
// Its answer, when the memory is there; before, once a second, with EINPROGRESS and what is there yet.
struct Welcome {
  uint64_t magic;
  int32_t error;
  uint32_t version;
  uint64_t bytes;  // lent
  char text[256];  // of the error
};

enum class Op : uint32_t { get = 1, put };
struct Request {
  Op op;
  uint32_t units;
  uint64_t slot;
};
// To a get, with the units behind it, and to a put; and among those to puts, once, that the lender was asked
// to leave: it does as soon as the borrower, which has other lenders for its pages, has closed its streams.
struct Answer {
  uint64_t slot;
  uint32_t units;
  uint32_t check;  // kMagic's lower half, or kLeaves
};
inline constexpr uint32_t kLeaves = 0x6c656176;
inline Answer answer_to(const Request& request) {
  return {request.slot, request.units, static_cast<uint32_t>(kMagic)};
}

}  // namespace tasuki::cluster::lend
