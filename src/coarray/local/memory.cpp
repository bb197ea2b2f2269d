#include "coarray/local/memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>

#include "base/cpu.h"
#include "base/log.h"
#include "base/settings.h"
#include "coarray/local/outstanding.h"
#include "coarray/local/windows.h"
#include "os/memory/host_memory.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"
#include "os/process/self.h"
#include "task/space.h"

namespace tasuki::coarray {
namespace {

// Larger parts begin at a multiple of this in every image. Where they began anywhere, a stencil (Himeno M,
// MPICH, plain mpirun) had a third of its time more in the image whose array was 64 bytes before another
// one's place modulo 4096: loads that look as if they met the stores just before wait for them.
constexpr uint64_t kCompared = 4096, kLeastAligned = 16 * kCompared;

// A number that the tasks of a space agree on and no other space has.
uint64_t number_of_space() {
  task::TaskSlot* slot = task::self();
  if (slot == nullptr) return 0;
  os::g_guarded = slot->key != 0;
  std::atomic<void*>& root = slot->space->roots[task::kRootCoarray];
  void* known = root.load(std::memory_order_acquire);
  if (known == nullptr) {
    void* page = os::map_open_memory(os::page_size());
    if (page == nullptr) return 0;
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t number =
        static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    const uint64_t mixed = number ^ (static_cast<uint64_t>(os::pid_of_self()) << 48) ^ os::host_number();
    memcpy(page, &mixed, sizeof mixed);
    if (root.compare_exchange_strong(known, page, std::memory_order_acq_rel))
      known = page;
    else
      os::unmap(page, os::page_size());
  }
  uint64_t number;
  memcpy(&number, known, sizeof number);
  return number;
}

// MPI's unified model leaves it to the processor's own order.
bool wants_sync(MPI_Win window) {
  if (!kKeepsOrder) return true;
  int *model = nullptr, known = 0;
  PMPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &known);
  return known == 0 || *model != MPI_WIN_UNIFIED;
}

char* aligned(void* p, uint64_t alignment) {
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(p) + alignment - 1) & ~(alignment - 1));
}

}  // namespace

Segment::Segment() = default;
Segment::~Segment() = default;

void Memory::start(const Team& world) {
  enum { automatic, host, window };
  const int wanted = setting_choice("TASUKI_COARRAY");
  windows_only_ = wanted == window;
  space_ = number_of_space();
  const bool one_space = alike(world, space_);
  if (wanted == automatic && space_ != 0 && one_space) {
    reach_ = Reach::space;
    near_.assign(world.ranks.size(), 1);
    return;
  }
  MPI_Comm neighbours;
  int count = 0;
  PMPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, world.me, MPI_INFO_NULL, &neighbours);
  PMPI_Comm_size(neighbours, &count);
  std::vector<int> here(static_cast<size_t>(count));
  PMPI_Allgather(&world.ranks[static_cast<size_t>(world.me)], 1, MPI_INT, here.data(), 1, MPI_INT,
                 neighbours);
  near_.assign(world.ranks.size(), 0);
  for (int rank : here) near_[static_cast<size_t>(rank)] = 1;
  PMPI_Comm_free(&neighbours);
  reach_ = wanted != window && count == world.size() ? Reach::host : Reach::window;
  if (wanted == window) space_ = 0;
}

// Each image maps its own part, the others know the address.
bool Memory::map_plainly(Segment* segment, uint64_t alignment, bool wanted) {
  segment->mapped = os::page_ceil(segment->bytes + (alignment > os::page_size() ? alignment : 0));
  segment->mapping = wanted ? os::map_open_memory(segment->mapped) : nullptr;  // all images put there
  if (segment->mapping != nullptr) segment->begin = aligned(segment->mapping, alignment);
  return segment->mapping != nullptr;
}

bool Memory::make_window(Segment* segment, uint64_t alignment) {
  // The same in all images of a host; Open MPI hangs in MPI_Win_allocate_shared when it has not so much.
  if (segment->bytes / os::page_size() > os::physical_memory() / os::page_size()) return false;
  // MPICH 4.0.2 puts to a wrong place on the same host when a part's size is not a multiple of 16.
  const uint64_t room = segment->bytes + (alignment > 16 ? alignment : 0);
  const auto bytes = static_cast<MPI_Aint>((room + 63) & ~uint64_t{63});
  MPI_Info info;
  void* memory = nullptr;
  PMPI_Info_create(&info);
  // The runtime's own message is the better one.
  PMPI_Comm_set_errhandler(segment->team->comm, MPI_ERRORS_RETURN);
  int rc;
  if (reach_ == Reach::host) {
    // In one piece: with a part for each rank MPICH would look for an address that is free in all of them.
    rc = PMPI_Win_allocate_shared(bytes, 1, info, segment->team->comm, &memory, &segment->window);
  } else {
    PMPI_Info_set(info, "same_disp_unit", "true");
    PMPI_Info_set(info, "same_size", "true");
    rc = PMPI_Win_allocate(bytes, 1, info, segment->team->comm, &memory, &segment->window);
  }
  PMPI_Info_free(&info);
  PMPI_Comm_set_errhandler(segment->team->comm, MPI_ERRORS_ARE_FATAL);
  if (rc != MPI_SUCCESS) {
    explain_no_window(rc);
    return false;
  }
  segment->mapping = memory;
  segment->begin = aligned(memory, alignment);
  memset(segment->begin, 0, segment->bytes);
  PMPI_Win_lock_all(MPI_MODE_NOCHECK, segment->window);
  segment->needs_sync = wants_sync(segment->window);
  return true;
}

Segment* Memory::allocate(const Team& team, uint64_t bytes, uint64_t alignment) {
  auto segment = std::make_unique<Segment>();
  segment->bytes = std::max<uint64_t>(bytes, 1);
  segment->team = &team;
  if (bytes >= kLeastAligned) alignment = std::max<uint64_t>(alignment, kCompared);
  const auto count = static_cast<size_t>(team.size());
  const bool got = reach_ == Reach::space ? map_plainly(segment.get(), alignment, true)
                                          : make_window(segment.get(), alignment);
  struct Offer {
    uint64_t got, space, address, displacement;
  };
  const Offer mine = {got, space_, reinterpret_cast<uint64_t>(segment->begin),
                      static_cast<uint64_t>(segment->begin - static_cast<char*>(segment->mapping))};
  std::vector<Offer> parts(count);
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, parts.data(), sizeof mine, MPI_BYTE, team.comm);
  if (std::any_of(parts.begin(), parts.end(), [](const Offer& part) { return part.got == 0; })) {
    // A window is left to the end of the job, which is near.
    if (segment->mapped != 0 && segment->mapping != nullptr) os::unmap(segment->mapping, segment->mapped);
    return nullptr;
  }
  segment->direct.assign(count, nullptr);
  for (size_t i = 0; i < count; i++) {
    segment->home.push_back(parts[i].address);
    segment->displacement.push_back(static_cast<MPI_Aint>(parts[i].displacement));
    const bool here = static_cast<int>(i) == team.me;
    segment->near.push_back(near_[static_cast<size_t>(team.ranks[i])]);
    // A guarded task may not write to what the library has mapped for another one: its own mapping of shared
    // memory, or the window, leads there.
    const bool open = reach_ == Reach::space || !os::g_guarded;
    if (here || (space_ != 0 && parts[i].space == space_ && open)) {
      segment->direct[i] = reinterpret_cast<char*>(parts[i].address);
    } else if (reach_ == Reach::host) {
      MPI_Aint size = 0;
      int unit = 0;
      void* base = nullptr;
      PMPI_Win_shared_query(segment->window, static_cast<int>(i), &size, &unit, &base);
      segment->direct[i] = static_cast<char*>(base) + parts[i].displacement;
    }
  }
  if (reach_ == Reach::window) segment->outstanding = std::make_unique<Outstanding>(*segment);
  PMPI_Barrier(team.comm);  // all of it is zero
  segments_.push_back(std::move(segment));
  return segments_.back().get();
}

Segment* Memory::adopt(const Team& team, char* begin, uint64_t bytes) {
  auto segment = std::make_unique<Segment>();
  segment->begin = begin;
  segment->bytes = bytes;
  segment->team = &team;
  const auto count = static_cast<size_t>(team.size());
  segment->direct.assign(count, nullptr);
  segment->displacement.assign(count, 0);
  for (int rank : team.ranks) segment->near.push_back(near_[static_cast<size_t>(rank)]);
  PMPI_Win_create(begin, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, team.comm, &segment->window);
  PMPI_Win_lock_all(MPI_MODE_NOCHECK, segment->window);
  segment->outstanding = std::make_unique<Outstanding>(*segment);
  segments_.push_back(std::move(segment));
  return segments_.back().get();
}

void Memory::release(Segment* segment) {
  if (last_ == segment) last_ = nullptr;
  if (segment->window != MPI_WIN_NULL) {
    PMPI_Win_unlock_all(segment->window);
    PMPI_Win_free(&segment->window);
  } else {
    PMPI_Barrier(segment->team->comm);  // nobody uses it any more
    os::unmap(segment->mapping, segment->mapped);
  }
  std::erase_if(segments_, [&](const auto& known) { return known.get() == segment; });
}

void Memory::release_all() {
  while (!segments_.empty()) release(segments_.back().get());
}

Segment* Memory::search(const void* p, uint64_t length) {
  for (const auto& segment : segments_)
    if (segment->holds(p, length)) return last_ = segment.get();
  return nullptr;
}

}  // namespace tasuki::coarray
