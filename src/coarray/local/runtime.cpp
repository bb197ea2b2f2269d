#include "coarray/local/runtime.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "coarray/global/compute/operations.h"
#include "coarray/global/exchange/async.h"
#include "coarray/global/records/arrays.h"
#include "coarray/local/windows.h"
#include "os/cpu.h"

namespace tasuki::coarray {
namespace {

constexpr uint64_t kUsualAlignment = 64;
constexpr const char* kAllocated = "an allocated coarray";

// The pointer of a coarray, whatever its type: all pointers to objects have one representation here.
void* value_of(const tasuki_xmp_coarray* record) {
  void* value = nullptr;
  memcpy(&value, record->pointer, sizeof value);
  return value;
}

uint64_t up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// The same in all images of one program.
uint64_t fingerprint(const std::vector<tasuki_xmp_coarray*>& records) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const tasuki_xmp_coarray* record : records) {
    const uint64_t bytes = record->bytes;
    XXH3_64bits_update(&state, &bytes, sizeof bytes);
    if (record->name != nullptr) XXH3_64bits_update(&state, record->name, strlen(record->name) + 1);
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace

Runtime* the_runtime = nullptr;

Runtime& make_runtime() {
  the_runtime = new Runtime;
  return *the_runtime;
}

void Runtime::not_started(const char* function) const {
  fail({nullptr, 0},
       state_ == State::off
           ? "%s is called before the runtime has started: link the program with tasukicc, or "
             "call xmp_init_mpi at the beginning of main"
           : "%s is called after the end of the program",
       function);
}

void Runtime::add(tasuki_xmp_coarray* record) {
  if (record->state[1] != nullptr) return;
  record->state[1] = record;
  if (state_ == State::running)
    fail({record->file, record->line},
         "the coarray '%s' is in a library that was loaded after the start of the program; coarrays of file "
         "scope get their memory in all images together, at the start: link the library with the program",
         record->name);
  records_.push_back(record);
}

void Runtime::add(tasuki_xmp_nodes* record) {
  if (record->state[1] != nullptr) return;
  record->state[1] = record;
  nodes_.push_back(record);
  if (state_ == State::running) teams.nodes(*record);
}

void Runtime::set_first_image(int first, const char* file) {
  if (first_image_file_ != nullptr && first != first_image)
    fail({nullptr, 0}, "%s counts images from %d, %s from %d; compile all files of a program in the same way",
         first_image_file_, first_image, file, first);
  first_image = first;
  first_image_file_ = file;
}

void Runtime::start(int* argc, char*** argv, bool ours) {
  if (state_ != State::off) return;
  int initialised = 0, level = 0;
  PMPI_Initialized(&initialised);
  if (initialised == 0) {
    permit_windows();
    // By the name that programs use, so that what stands before the MPI library starts too.
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
  }
  finalise_ = ours || initialised == 0;
  pid_ = getpid();
  teams.start(MPI_COMM_WORLD, &sync);
  const Team& world = teams.world();
  memory.start(world);
  sync.start(&memory, world);
  allgather.start(&memory, world);
  stations.start(&memory, world);
  state_ = State::running;
  Segment* coarrays = give_memory();
  for (const tasuki_xmp_nodes* record : nodes_) teams.nodes(*record);
  start_device({coarrays, arrays().start()});
  sync.barrier(world);
  static bool arranged = false;
  if (!arranged) atexit([] { runtime().end(); });
  arranged = true;
  static const char* const reaches[] = {"one address space", "shared memory of the host", "windows of MPI"};
  log(LogLevel::debug, "coarrays: image %d of %d, by %s", world.me + first_image, world.size(),
      reaches[static_cast<int>(memory.reach())]);
}

// All coarrays of file scope in one segment, and those with device memory in another, which is returned. Memory first, then what is known,
// then what needs the addresses.
Segment* Runtime::give_memory() {
  std::vector<Coarray> all;
  std::map<void*, size_t> known;
  for (tasuki_xmp_coarray* record : records_) {
    if (record->pointer == nullptr) continue;
    const auto [entry, fresh] = known.try_emplace(record->pointer, all.size());
    if (fresh) all.push_back({.record = record});
    Coarray& coarray = all[entry->second];
    coarray.bytes = std::max<uint64_t>(coarray.bytes, record->bytes);
    coarray.alignment = std::max<uint64_t>(coarray.alignment, record->alignment);
    coarray.device = coarray.device || (record->flags & TASUKI_XMP_DEVICE) != 0;
  }
  if (!alike(teams.world(), fingerprint(records_)))
    fail({nullptr, 0}, "the images have different coarrays: all must run the same program");
  place_in_segment(all, false);
  Segment* mirrored = place_in_segment(all, true);
  for (const tasuki_xmp_coarray* record : records_)
    if (record->image != nullptr) memcpy(value_of(record), record->image, record->image_bytes);
  for (const tasuki_xmp_coarray* record : records_)
    if (record->compute != nullptr) record->compute();
  return mirrored;
}

void Runtime::start_device(const std::vector<Segment*>& mirrored) {
  const Team& world = teams.world();
  if (!uses_device_ && std::count(mirrored.begin(), mirrored.end(), nullptr) == std::ssize(mirrored)) return;
  device.start(world);
  bool distant = uses_device_ && world.size() > 1;
  for (Segment* segment : mirrored) {
    if (segment == nullptr) continue;
    to_device(segment);
    const std::vector<char*>& direct = segment->mirror->direct;
    distant = distant ||
              (segment->mirror->window == nullptr && std::count(direct.begin(), direct.end(), nullptr) > 0);
  }
  if (!device.apart()) return;
  device_transfers.start(&memory, distant, world);
  transfers.set_device(&device_transfers);
}

// Those with device memory, or those without.
Segment* Runtime::place_in_segment(const std::vector<Coarray>& all, bool mirrored) {
  uint64_t total = 0, alignment = kUsualAlignment;
  std::vector<std::pair<void*, uint64_t>> places;
  for (const Coarray& coarray : all) {
    if (coarray.device != mirrored) continue;
    const uint64_t own = std::max(coarray.alignment, kUsualAlignment), at = up(total, own);
    places.emplace_back(coarray.record->pointer, at);
    total = at + std::max<uint64_t>(coarray.bytes, 1);
    alignment = std::max(alignment, own);
  }
  if (total == 0) return nullptr;
  Segment* segment = memory.allocate(teams.world(), total, alignment);
  if (segment == nullptr)
    fail({nullptr, 0},
         "no memory for %llu bytes of coarrays in each image; the largest may be allocated in parts "
         "(xmp_comalloc), or more hosts be used",
         static_cast<unsigned long long>(total));
  for (const auto& [pointer, offset] : places) {
    void* at = segment->begin + offset;
    memcpy(pointer, &at, sizeof at);
  }
  return segment;
}

void Runtime::end() {
  if (state_ != State::running || getpid() != pid_ || has_failed()) return;
  int finalised = 0;
  PMPI_Finalized(&finalised);
  if (finalised != 0)
    fail({nullptr, 0}, "the program has called MPI_Finalize before the end of its coarrays");
  while (teams.nesting() > 0) teams.leave();  // exit() inside tasks
  asynchronous().wait_all();
  transfers.complete();
  {
    const Waiting here("has left main", -1, {nullptr, 0});
    sync.stopped([this] { collectives.look(teams); });
  }
  collectives.stop_looking();
  patience.stop();
  state_ = State::ended;
  device_transfers.stop();
  const auto has_mirror = [](const auto& segment) { return segment->mirror != nullptr; };
  for (const auto& all = memory.segments(); device.apart();) {
    const auto last = std::find_if(all.rbegin(), all.rend(), has_mirror);
    if (last == all.rend()) break;
    device.unmirror(last->get(), &memory);
  }
  device.stop();
  transfers.set_device(nullptr);
  transfers.stop();
  memory.release_all();
  free_operations();
  teams.stop();
  if (memory.between_hosts()) sleep_before_finalize();
  if (finalise_) MPI_Finalize();
}

std::string Runtime::name_of(const void* p) const {
  for (const tasuki_xmp_coarray* record : records_) {
    if (record->pointer == nullptr) continue;
    const char* begin = static_cast<const char*>(value_of(record));
    const char* at = static_cast<const char*>(p);
    if (at >= begin && at < begin + record->bytes) return "the coarray '" + std::string(record->name) + "'";
  }
  return kAllocated;
}

void Runtime::no_image(int image, const char* what, Where where) const {
  const int count = teams.current().size();
  fail(where, "%s names image %d, but there are images %d to %d%s", what, image, first_image,
       first_image + count - 1,
       teams.nesting() > 0 ? " in this task"
       : image >= first_image + count
           ? "; start the program with more of them (mpirun -n), or correct the number"
           : "");
}

int Runtime::rank_elsewhere(int image, const char* what, Where where) const {
  if (!is_elsewhere(image)) no_image(image, what, where);
  return image - kElsewhere;
}

int Runtime::number_of(int world_index) const {
  const int rank = teams.world().ranks[static_cast<size_t>(world_index)];
  const int index = teams.current().index[static_cast<size_t>(rank)];
  return (index >= 0 ? index : world_index) + first_image;
}

// Of a coarray that was allocated by another set of images than now executes; or the reason why there is none.
Place Runtime::distant_place(const void* p, uint64_t bytes, int image, Where where) {
  const Team& team = teams.current();
  const int index = current_index(image);
  const std::string who =
      is_elsewhere(image) ? "an image of its node array" : "image " + std::to_string(image);
  Segment* segment = memory.find(p, bytes);
  if (segment == nullptr) {
    require_start("a reference to another image");
    if (memory.find(p, 0) != nullptr)
      fail(where, "the reference to %s reaches beyond the end of %s", who.c_str(), name_of(p).c_str());
    fail(where,
         "the reference to %s is to memory that is no coarray; only coarrays of file scope and memory "
         "of xmp_comalloc can be reached from other images",
         who.c_str());
  }
  const int rank =
      index >= 0 ? team.ranks[static_cast<size_t>(index)] : rank_elsewhere(image, name_of(p).c_str(), where);
  const int target = segment->team->index[static_cast<size_t>(rank)];
  if (target < 0)
    fail(where, "%s has no part of this coarray, which was allocated in a task of other images", who.c_str());
  return place_of(segment, target, p);
}

void Runtime::to_device(Place* place, const void* p, Where where) const {
  const Mirror* mirror = place->segment->mirror.get();
  if (mirror == nullptr)
    fail(where, "%s has no device memory; write #pragma acc declare create(name) behind its declaration",
         name_of(p).c_str());
  if (!device.apart()) return;
  char* direct = mirror->direct[static_cast<size_t>(place->target)];
  place->direct = direct != nullptr ? direct + place->offset : nullptr;
  place->device = true;
}

char* Runtime::device_address(const void* p, Where where) {
  const Segment* segment = memory.find(p, 0);
  if (segment == nullptr) return static_cast<char*>(const_cast<void*>(p));
  // Clauses of OpenACC may have put a distributed array there; coarrays of file scope have a mirror, or no device memory.
  if (segment->mirror == nullptr && name_of(p) == kAllocated) {
    char* copy = device.apart() ? device_copy(p, 1) : static_cast<char*>(const_cast<void*>(p));
    if (copy != nullptr) return copy;
  }
  Place place = place_of(const_cast<Segment*>(segment), segment->team->me, p);
  to_device(&place, p, where);
  return place.direct;
}

char* Runtime::device_copy(const void* p, uint64_t bytes) {
  return device.address(memory.find(p, bytes), p, bytes);
}

void Runtime::release(Segment* segment) {
  transfers.complete();
  // Releasing is collective, and one that has left main, such as by exit() in a task, takes no part any more.
  if (sync.barrier(*segment->team) != 0) return;
  device.unmirror(segment, &memory);
  device.forget(segment->begin, segment->bytes);
  memory.release(segment);
}

void* Runtime::allocate(uint64_t bytes, bool on_device, Where where) {
  const Team& team = teams.current();
  if (!alike(team, bytes))
    fail(where,
         "the images ask for different sizes of one coarray: %llu bytes here; allocate the largest in all",
         static_cast<unsigned long long>(bytes));
  Segment* segment = memory.allocate(team, bytes, kUsualAlignment);
  if (segment == nullptr)
    fail(where, "no memory for a coarray of %llu bytes in each image",
         static_cast<unsigned long long>(bytes));
  if (on_device) to_device(segment);
  return segment->begin;
}

void Runtime::release(void* p, Where where) {
  if (p == nullptr) return;
  const auto& all = memory.segments();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s->begin == p; });
  if (found == all.end() || name_of(p) != kAllocated)
    fail(where, "xmp_cofree: %p is not what xmp_comalloc has returned", p);
  release(found->get());
}

}  // namespace tasuki::coarray
