// MPI_Pack and MPI_Unpack by layouts, large ones shared with every idle task of the node (job.h).
//
// What is packed here may be unpacked by the library and the other way round (undecodable types, other
// communicators), so both must write the same bytes: the type map's, in order, without a header. Whether the
// library in use does that is tried out once.
#include <cstdlib>
#include <cstring>

#include "base/copy.h"
#include "generated/pmpi.h"
#include "shim/calls/task_state.h"

namespace tasuki::shim {
namespace {

bool library_packs_bytes_in_order() {
  struct Sample {
    int number;
    char letter;
    double value;
  };
  Sample sample;
  memset(&sample, 0x5a, sizeof sample);
  sample.number = 0x01020304;
  sample.letter = 'T';
  sample.value = 3.0625;
  int lengths[3] = {1, 1, 1};
  MPI_Aint displacements[3] = {offsetof(Sample, value), offsetof(Sample, letter), offsetof(Sample, number)};
  MPI_Datatype types[3] = {MPI_DOUBLE, MPI_CHAR, MPI_INT};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  char expected[13], packed[64] = {};
  memcpy(expected, &sample.value, 8);
  expected[8] = sample.letter;
  memcpy(expected + 9, &sample.number, 4);
  if (pmpi().Type_create_struct(3, lengths, displacements, types, &type) != MPI_SUCCESS) return false;
  int position = 0;
  bool same = pmpi().Type_commit(&type) == MPI_SUCCESS &&
              pmpi().Pack(&sample, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF) == MPI_SUCCESS;
  pmpi().Type_free(&type);
  same = same && position == 13 && memcmp(packed, expected, 13) == 0;
  return same;
}

}  // namespace

bool formats_agree() {
  static const bool agree = library_packs_bytes_in_order();
  return agree;
}

namespace delegate {
namespace {

// From here on a pack is shared: below, one task has done it before another has noticed (1 MiB takes 60 us).
constexpr uint64_t kShareFrom = 128 << 10;

// One argument list for both directions: `typed` is packed from or unpacked to, `position` an int or, with
// large counts, an MPI_Count.
//
// Budget: 11 ns for 8 bytes altogether (MPICH itself 12, Open MPI 27), no allocation, no system call.
class Packing {
 public:
  Packing(const void* typed, MPI_Count count, MPI_Datatype type, const void* buffer, MPI_Count room,
          void* position, bool large, MPI_Comm comm)
      : position_(position), large_(large) {
    if (count <= 0 || position == nullptr || buffer == nullptr || !formats_agree()) return;
    if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF && g_process.comms.find(comm) == nullptr) return;
    const TypeInfo* t = g_process.types.known(type);
    if (t == nullptr || t->opaque || (typed == nullptr && t->predefined)) return;
    bytes_ = static_cast<uint64_t>(count) * t->size;
    from_ = large ? *static_cast<MPI_Count*>(position) : *static_cast<int*>(position);
    if (from_ < 0 || from_ > room || bytes_ > static_cast<uint64_t>(room - from_)) return;
    packed_ = static_cast<char*>(const_cast<void*>(buffer)) + from_;
    typed_ = static_cast<char*>(const_cast<void*>(typed));
    count_ = static_cast<uint64_t>(count);
    layout_ = t->layout;
    dense_ = t->dense ? typed_ + t->offset : nullptr;
    handled_ = true;
  }
  bool handled() const { return handled_; }

  void pack() {
    if (shared())
      share(packed(), typed());
    else if (dense_ != nullptr)
      copy_run(packed_, dense_, bytes_);
    else
      layout::pack(packed_, typed(), 0, bytes_);
    advance();
  }
  void unpack() {
    if (shared())
      share(typed(), packed());
    else if (dense_ != nullptr)
      copy_run(dense_, packed_, bytes_);
    else
      layout::unpack(typed(), 0, bytes_, packed_);
    advance();
  }

 private:
  bool shared() const { return bytes_ >= kShareFrom; }
  void share(const layout::Region& to, const layout::Region& from) const {
    g_process.engine.copy(to, from, bytes_);
  }
  // Regions are made where they are used: this object then stays in registers.
  layout::Region typed() const { return {typed_, count_, layout_}; }
  layout::Region packed() const { return {packed_, bytes_, layout::byte_layout()}; }
  void advance() {
    if (large_)
      *static_cast<MPI_Count*>(position_) += static_cast<MPI_Count>(bytes_);
    else
      *static_cast<int*>(position_) += static_cast<int>(bytes_);
  }

  void* position_;
  bool large_, handled_ = false;
  MPI_Count from_ = 0;
  uint64_t bytes_ = 0;
  char* packed_ = nullptr;
  char* dense_ = nullptr;  // the first byte of a dense typed buffer
  char* typed_ = nullptr;
  uint64_t count_ = 0;
  const layout::Layout* layout_ = nullptr;
};

// The library has the first word on every type: what it accepts is known from then on.
int pass_and_learn(MPI_Count count, MPI_Datatype type, Pass pass) {
  const int rc = pass();
  if (rc == MPI_SUCCESS && count > 0) g_process.types.remember(type);
  return rc;
}

}  // namespace

int pack(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
         void* position, bool large, MPI_Comm comm, Pass pass) {
  Packing p(inbuf, incount, type, outbuf, outsize, position, large, comm);
  if (!p.handled()) return pass_and_learn(incount, type, pass);
  p.pack();
  return MPI_SUCCESS;
}

int unpack(const void* inbuf, MPI_Count insize, void* position, void* outbuf, MPI_Count outcount,
           MPI_Datatype type, bool large, MPI_Comm comm, Pass pass) {
  Packing p(outbuf, outcount, type, inbuf, insize, position, large, comm);
  if (!p.handled()) return pass_and_learn(outcount, type, pass);
  p.unpack();
  return MPI_SUCCESS;
}

}  // namespace delegate
}  // namespace tasuki::shim
