// MPI_Put, MPI_Get, MPI_Accumulate and their like on the memory of another task: the caller copies or
// updates, and all is complete on return. So flushes and the ends of epochs only order (windows.cpp).
//
// Budget: a put of 8 bytes with its flush 28 ns, which is what Open MPI's osc/sm needs (MPICH 800): three
// look-ups, one copy, no lock, no allocation; the memory fence of the flush is a third of it.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/copy.h"
#include "generated/pmpi.h"
#include "os/memory/keys.h"
#include "shim/calls/task_state.h"
#include "shim/entry/stand_in.h"
#include "shim/objects/updates.h"
#include "shim/objects/windows.h"

namespace tasuki::shim::delegate {
namespace {

// From here on idle tasks help; below, one task is through before another has noticed. A contiguous get of
// 64 KiB took 1.8 to 2.2 us with a helper and 1.6 alone, one of 256 KiB 5.2 to 7.6 and 7.5 (AMD EPYC).
constexpr uint64_t kShareFrom = 64 << 10;
constexpr uint64_t kShareDenseFrom = 256 << 10;

struct Buffer {
  void* base;
  MPI_Count count;
  MPI_Datatype handle;
};

Buffer buffer(const void* base, MPI_Count count, MPI_Datatype type) {
  return {const_cast<void*>(base), count, type};
}

// Where an operation goes.
struct Place {
  int rank;
  MPI_Aint displacement;
  MPI_Count count;
  MPI_Datatype handle;
};

// A buffer whose type has been looked up, as a region. Types that are not understood are packed and unpacked
// by the library: the region is then a copy of the packed bytes.
class Typed {
 public:
  Typed() = default;
  ~Typed() { free(copy_); }
  Typed(const Typed&) = delete;
  Typed& operator=(const Typed&) = delete;

  // False: the library knows better what is wrong with it.
  bool open(const Buffer& b) { return look_up(b) && (!is_opaque() || copy_packed()); }
  // The same in two steps; the second one is for opaque types.
  bool look_up(const Buffer& b) {
    if (b.count < 0) return false;
    if (b.count == 0) return true;
    type_ = g_process.types.find(b.handle, g_process.quiet_comm).value_or(nullptr);
    if (type_ == nullptr) return false;
    buffer_ = b;
    region_ = region_of(b.base, b.count, type_);
    return true;
  }
  bool is_opaque() const { return type_ != nullptr && type_->opaque; }
  bool copy_packed() {
    const uint64_t n = static_cast<uint64_t>(buffer_.count) * type_->size;
    copy_ = static_cast<char*>(malloc(n + 1));
    if (copy_ == nullptr) return false;
    MPI_Count position = 0;
    stand_in::pack(buffer_.base, buffer_.count, buffer_.handle, copy_, static_cast<MPI_Count>(n), &position,
                   g_process.quiet_comm);
    region_ = {copy_, n, layout::byte_layout()};
    return true;
  }
  // What was written to the copy, if there is one, to where it belongs.
  void close() const {
    if (copy_ == nullptr) return;
    MPI_Count position = 0;
    const os::WritesAllowed allowed;  // for the library, too
    stand_in::unpack(copy_, static_cast<MPI_Count>(region_.count), &position, buffer_.base, buffer_.count,
                     buffer_.handle, g_process.quiet_comm);
  }
  const layout::Region& region() const { return region_; }
  TypeInfo* type() const { return type_; }
  uint64_t bytes() const { return type_ == nullptr ? 0 : layout::bytes(region_); }

 private:
  Buffer buffer_{};
  layout::Region region_{nullptr, 0, layout::byte_layout()};
  TypeInfo* type_ = nullptr;
  char* copy_ = nullptr;
};

// A flush counts the call (Engine::count_call): who only puts does not wait for anybody.
void count_operation(uint64_t bytes) {
  Engine& e = g_process.engine;
  e.count(e.stats().one_sided);
  e.count(e.stats().one_sided_bytes, bytes);
}

// The window, if this process itself does what is asked of this target there. `updates`: those of members
// elsewhere are the library's, and atomic with others of the library only.
enum class What : bool { copies, updates };
WindowInfo* direct(MPI_Win win, int rank, What what) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || (what == What::updates && w->mixed)) return nullptr;
  if (rank == MPI_PROC_NULL) return w->mixed ? nullptr : w;
  return rank >= 0 && rank < w->count && w->is_direct(rank) ? w : nullptr;
}

bool address(const WindowInfo* w, const Place& at, char** address) {
  if (at.displacement < 0 && !w->dynamic) return false;
  const WindowPart& part = w->part(at.rank);
  *address = part.base + at.displacement * static_cast<MPI_Aint>(part.displacement_unit);
  return true;
}

// The MPI error code, raised, of what this process has done itself; nothing: the call is the library's.
using Done = std::optional<int>;

enum class Direction : bool { put, get };

// Between types that are known and understood: nearly all transfers. False: none of those.
bool transfer_known(Direction direction, const Buffer& mine, const Place& at, char* there) {
  const TypeInfo* here_type = g_process.types.usable(mine.handle);
  const TypeInfo* there_type = at.handle == mine.handle ? here_type : g_process.types.usable(at.handle);
  if (here_type == nullptr || there_type == nullptr || here_type->opaque || there_type->opaque) return false;
  if (mine.count <= 0 || at.count <= 0) return false;
  const uint64_t bytes = static_cast<uint64_t>(mine.count) * here_type->size;
  if (bytes != static_cast<uint64_t>(at.count) * there_type->size) return false;
  const bool put = direction == Direction::put;
  if (here_type->dense && there_type->dense && bytes < kShareDenseFrom) {
    char* const here = static_cast<char*>(mine.base) + here_type->offset;
    there += there_type->offset;
    const os::WritesAllowed allowed;
    copy_run(put ? there : here, put ? here : there, bytes);
  } else {
    const layout::Region here_region = region_of(mine.base, mine.count, here_type);
    const layout::Region there_region = region_of(there, at.count, there_type);
    g_process.engine.copy(put ? there_region : here_region, put ? here_region : there_region, bytes,
                          kShareFrom);
  }
  count_operation(bytes);
  return true;
}

Done transfer(Direction direction, const Buffer& mine, const Place& at, MPI_Win win) {
  const WindowInfo* w = direct(win, at.rank, What::copies);
  if (w == nullptr) return {};
  if (at.rank == MPI_PROC_NULL) return MPI_SUCCESS;
  char* there = nullptr;
  if (!address(w, at, &there)) return {};
  if (__builtin_expect(transfer_known(direction, mine, at, there), 1)) return MPI_SUCCESS;
  Typed here, theirs;
  if (!here.open(mine) || !theirs.open({there, at.count, at.handle})) return {};
  const uint64_t bytes = std::min(here.bytes(), theirs.bytes());
  const bool put = direction == Direction::put;
  const Typed &to = put ? theirs : here, &from = put ? here : theirs;
  g_process.engine.copy(to.region(), from.region(), bytes, kShareFrom);
  to.close();
  count_operation(bytes);
  return MPI_SUCCESS;
}

// One number: the counters and locks of programs. False: something else.
bool accumulate_number(const WindowInfo* w, const Buffer& mine, const Buffer* result, const Place& at,
                       MPI_Op op, char* there) {
  if (at.count != 1 || mine.handle != at.handle || mine.count != 1) return false;
  if (result != nullptr && (result->handle != at.handle || result->count != 1)) return false;
  TypeInfo* t = g_process.types.usable(at.handle);
  if (t == nullptr || !t->predefined || !t->dense || t->size == 0) return false;
  const Element e = element_of(at.handle, t, g_process.types, g_process.quiet_comm);
  if (e.number == Number::none) return false;
  update_number(w->part(at.rank), op, e, there, static_cast<const char*>(mine.base),
                result != nullptr ? static_cast<char*>(result->base) : nullptr);
  count_operation(t->size);
  return true;
}

// `result`: nullptr, or what MPI_Get_accumulate fetches into.
Done accumulate(const Buffer& mine, const Buffer* result, const Place& at, MPI_Op op, MPI_Win win) {
  const WindowInfo* w = direct(win, at.rank, What::updates);
  if (w == nullptr || !is_update(op)) return {};
  if (at.rank == MPI_PROC_NULL) return MPI_SUCCESS;
  char* there = nullptr;
  if (!address(w, at, &there)) return {};
  if (accumulate_number(w, mine, result, at, op, there)) return MPI_SUCCESS;
  Typed here, theirs, fetched;
  const bool reads = op != MPI_NO_OP;
  if (!theirs.look_up({there, at.count, at.handle}) || (reads && !here.open(mine)) ||
      (result != nullptr && !fetched.open(*result)))
    return {};
  uint64_t bytes = theirs.bytes();
  if (reads) bytes = std::min(bytes, here.bytes());
  if (result != nullptr) bytes = std::min(bytes, fetched.bytes());
  if (bytes == 0) return MPI_SUCCESS;
  const Element e = element_of(at.handle, theirs.type(), g_process.types, g_process.quiet_comm);
  if (e.type == nullptr) return raise_in(win, MPI_ERR_TYPE);
  WindowPart& part = w->part(at.rank);
  {
    // The copy of a target that the library packs must still be true when it is written back.
    const bool whole = theirs.is_opaque();
    const LockIf lock(whole, part.updates);
    if (whole && !theirs.copy_packed()) return raise_in(win, MPI_ERR_NO_MEM);
    update(g_process.engine, part, whole ? Updates::held : Updates::free, op, e, theirs.region(),
           here.region(), result != nullptr ? &fetched.region() : nullptr, bytes);
    if (op != MPI_NO_OP) theirs.close();
  }
  fetched.close();
  count_operation(bytes);
  return MPI_SUCCESS;
}

int answer(const Done& done, Pass pass) {
  return done ? *done : pass();
}

// What is done already as an operation with a request.
int answer(const Done& done, MPI_Win win, MPI_Request* request, Pass pass) {
  if (!done) return pass();
  if (*done != MPI_SUCCESS) return *done;
  Request* r = g_process.requests.take();
  if (r == nullptr) return raise_in(win, MPI_ERR_NO_MEM);
  r->kind = RequestKind::send;
  r->state.store(RequestState::done, std::memory_order_relaxed);
  *request = g_process.requests.handle_for(r);
  return MPI_SUCCESS;
}

}  // namespace

int put(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
        MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, Pass pass) {
  return answer(transfer(Direction::put, buffer(origin, count, type),
                         {rank, displacement, target_count, target_type}, win),
                pass);
}

int get(void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
        MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, Pass pass) {
  return answer(transfer(Direction::get, buffer(origin, count, type),
                         {rank, displacement, target_count, target_type}, win),
                pass);
}

int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
               MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, Pass pass) {
  return answer(accumulate(buffer(origin, count, type), nullptr,
                           {rank, displacement, target_count, target_type}, op, win),
                pass);
}

int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                   MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                   MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, Pass pass) {
  const Buffer fetched = buffer(result, result_count, result_type);
  return answer(accumulate(buffer(origin, count, type), &fetched,
                           {rank, displacement, target_count, target_type}, op, win),
                pass);
}

int rput(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
         MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  return answer(transfer(Direction::put, buffer(origin, count, type),
                         {rank, displacement, target_count, target_type}, win),
                win, request, pass);
}

int rget(void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
         MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  return answer(transfer(Direction::get, buffer(origin, count, type),
                         {rank, displacement, target_count, target_type}, win),
                win, request, pass);
}

int raccumulate(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  return answer(accumulate(buffer(origin, count, type), nullptr,
                           {rank, displacement, target_count, target_type}, op, win),
                win, request, pass);
}

int rget_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                    MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                    MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                    MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  const Buffer fetched = buffer(result, result_count, result_type);
  return answer(accumulate(buffer(origin, count, type), &fetched,
                           {rank, displacement, target_count, target_type}, op, win),
                win, request, pass);
}

int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement,
                 MPI_Op op, MPI_Win win, Pass pass) {
  const Buffer fetched = buffer(result, 1, type);
  return answer(accumulate(buffer(origin, 1, type), &fetched, {rank, displacement, 1, type}, op, win), pass);
}

int compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int rank,
                     MPI_Aint displacement, MPI_Win win, Pass pass) {
  const WindowInfo* w = direct(win, rank, What::updates);
  if (w == nullptr) return pass();
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  char* there = nullptr;
  const TypeInfo* t = g_process.types.find(type, g_process.quiet_comm).value_or(nullptr);
  if (t == nullptr || !t->predefined || !t->dense || !address(w, {rank, displacement, 1, type}, &there))
    return pass();
  shim::compare_and_swap(w->part(rank), there, origin, compare, result, t->size);
  count_operation(t->size);
  return MPI_SUCCESS;
}

}  // namespace tasuki::shim::delegate
