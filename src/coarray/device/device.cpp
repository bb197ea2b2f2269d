#include "coarray/device/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/log.h"
#include "base/settings.h"
#include "coarray/device/openacc.h"
#include "coarray/local/fail.h"
#include "mpi/functions.h"
#include "os/process/self.h"

namespace tasuki::coarray {
namespace {

// The driver's limit for 2D and 3D copies.
constexpr uint64_t kLargestPitch = (uint64_t{1} << 31) - 1;

// All calls are made in the context that holds the memory, whatever the program uses.
class InContext {
 public:
  InContext(const cuda::Driver& driver, cuda::Context context) : driver_(driver) {
    driver_.context_push(context);
  }
  ~InContext() {
    cuda::Context context = nullptr;
    driver_.context_pop(&context);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  const cuda::Driver& driver_;
};

// The host's number: that of its first image.
void hosts(const Team& world, std::vector<int>* host, int* place, int* count) {
  MPI_Comm neighbours;
  int first = world.me;
  PMPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, world.me, MPI_INFO_NULL, &neighbours);
  PMPI_Comm_rank(neighbours, place);
  PMPI_Comm_size(neighbours, count);
  PMPI_Bcast(&first, 1, MPI_INT, 0, neighbours);
  PMPI_Comm_free(&neighbours);
  host->resize(static_cast<size_t>(world.size()));
  PMPI_Allgather(&first, 1, MPI_INT, host->data(), 1, MPI_INT, world.comm);
}

bool mpi_takes_device_addresses() {
  int (*ask)() = nullptr;
  void* address = mpi::extension("MPIX_Query_cuda_support");
  if (address == nullptr) return false;
  memcpy(&ask, &address, sizeof address);
  return ask() == 1;
}

cuda::Pointer number(const char* p) {
  return reinterpret_cast<cuda::Pointer>(p);
}

}  // namespace

void Device::check(int result, const char* what) const {
  if (result == 0) return;
  const char* text = nullptr;
  driver_.error_text(result, &text);
  fail({nullptr, 0}, "%s: the CUDA driver says: %s (error %d)", what, text != nullptr ? text : "unknown",
       result);
}

// What the setting and the program want, here: *wanted says whether it is an error if there is none.
bool Device::open_driver(const char** why, bool* wanted) {
  const std::string setting = setting_text("TASUKI_CUDA");
  *wanted = setting != "auto" && setting != "off";
  *why = "TASUKI_CUDA=off";
  if (setting == "off") return false;
  *why = "the compute regions of this program run on the host";
  if (setting == "auto" && openacc::regions() == openacc::Where::host) return false;
  if (!cuda::load(setting == "auto" ? "libcuda.so.1" : setting.c_str(), &driver_, why)) return false;
  int count = 0;
  *why = "the driver finds no device";
  return driver_.init(0) == 0 && driver_.device_count(&count) == 0 && count > 0;
}

void Device::start(const Team& world) {
  const char* why = nullptr;
  bool wanted = false;
  const bool there = open_driver(&why, &wanted);
  if (wanted && !there)
    fail({nullptr, 0}, "TASUKI_CUDA=%s is no CUDA driver that can be used: %s", setting_text("TASUKI_CUDA"),
         why);
  int mine[2] = {there ? 1 : 0, there ? 0 : 1}, any[2];
  PMPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, world.comm);
  if (any[0] != 0 && any[1] != 0 && !there)
    fail({nullptr, 0},
         "image %d has no device for its coarrays (%s), and others have one; run all images where there are "
         "devices, "
         "or set TASUKI_CUDA=off",
         world.me + 1, why);
  if (any[0] != 0 && any[1] != 0) PMPI_Barrier(world.comm);  // the others tell it
  if (!there) {
    log(LogLevel::debug, "coarrays: device memory is host memory: %s", why);
    return;
  }
  kind_ = Kind::cuda;
  std::vector<int> host;
  int place = 0, neighbours = 0, count = 0, device = 0;
  hosts(world, &host, &place, &neighbours);
  check(driver_.device_count(&count), "the number of devices");
  // Images of a host take turns at its devices, unless the user has said which.
  const char* chosen = getenv("ACC_DEVICE_NUM");
  const int ordinal = chosen != nullptr && *chosen != '\0' ? atoi(chosen) : place % count;
  has_regions_ = openacc::regions() == openacc::Where::device;
  if (has_regions_) context_ = openacc::use_device(ordinal);
  if (context_ == nullptr) {
    check(driver_.device_get(&device, ordinal), "the device");
    check(driver_.context_retain(&context_, device), "the device's context");
  }
  log(LogLevel::debug, "coarrays: image %d uses device %d of %d", world.me + 1, ordinal, count);
}

void Device::mirror(Segment* segment, Memory* memory) {
  const Team& team = *segment->team;
  segment->mirror = std::make_unique<Mirror>();
  Mirror& mirror = *segment->mirror;
  if (!apart()) {
    mirror.begin = segment->begin;
    mirror.direct = segment->direct;
    return;
  }
  cuda::Pointer begin = 0;
  {
    const InContext here(driver_, context_);
    if (driver_.allocate(&begin, segment->bytes) != 0)
      fail({nullptr, 0}, "no device memory for %llu bytes of coarrays in each image",
           static_cast<unsigned long long>(segment->bytes));
    check(driver_.copy_to_device(begin, segment->begin, segment->bytes), "initial values");
    check(driver_.context_synchronize(), "initial values");
  }
  mirror.begin = reinterpret_cast<char*>(begin);
  mirror.mapped = has_regions_ && openacc::map(segment->begin, mirror.begin, segment->bytes);
  know(segment->begin, segment->bytes, mirror.begin);
  reach(segment, *memory);
  int lacks = std::count(mirror.direct.begin(), mirror.direct.end(), nullptr) > 0, any = 0;
  int able[2] = {mpi_takes_device_addresses() ? 1 : 0, 0};
  PMPI_Allreduce(&lacks, &any, 1, MPI_INT, MPI_MAX, team.comm);
  PMPI_Allreduce(&able[0], &able[1], 1, MPI_INT, MPI_MIN, team.comm);
  if (any != 0 && able[1] != 0) mirror.window = memory->adopt(team, mirror.begin, segment->bytes);
  PMPI_Barrier(team.comm);  // all have their initial values
}

// Which images' mirrors the driver reaches from here.
void Device::reach(Segment* segment, const Memory& memory) {
  const Team& team = *segment->team;
  Mirror& mirror = *segment->mirror;
  struct Part {
    uint64_t process, driver, begin;
    int has_handle;
    cuda::IpcHandle handle;
  };
  Part mine{};
  const InContext here(driver_, context_);
  mine.process = static_cast<uint64_t>(os::pid_of_self());
  memcpy(&mine.driver, &driver_.copy_on_device, sizeof mine.driver);
  mine.begin = number(mirror.begin);
  mine.has_handle = driver_.ipc_get(&mine.handle, mine.begin) == 0;
  std::vector<Part> parts(static_cast<size_t>(team.size()));
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, parts.data(), sizeof mine, MPI_BYTE, team.comm);
  std::vector<int> host;
  int place = 0, neighbours = 0;
  hosts(team, &host, &place, &neighbours);
  const auto me = static_cast<size_t>(team.me);
  for (size_t i = 0; i < parts.size(); i++) {
    char* direct = nullptr;
    cuda::Pointer opened = 0;
    if (i == me) {
      direct = mirror.begin;
    } else if (memory.windows_only() || host[i] != host[me]) {
      direct = nullptr;
    } else if (parts[i].process == mine.process && parts[i].driver == mine.driver) {
      direct = reinterpret_cast<char*>(parts[i].begin);
    } else if (parts[i].has_handle != 0 && driver_.ipc_open(&opened, parts[i].handle, 1) == 0) {
      direct = reinterpret_cast<char*>(opened);
      mirror.opened.push_back(direct);
    }
    mirror.direct.push_back(direct);
  }
}

void Device::unmirror(Segment* segment, Memory* memory) {
  if (!apart() || segment->mirror == nullptr) return;
  Mirror& mirror = *segment->mirror;
  synchronize();
  if (mirror.mapped) openacc::unmap(segment->begin);
  if (mirror.window != nullptr) memory->release(mirror.window);
  forget(segment->begin, segment->bytes);
  const InContext here(driver_, context_);
  for (char* other : mirror.opened) driver_.ipc_close(number(other));
  PMPI_Barrier(segment->team->comm);  // nobody has it open any more
  driver_.free(number(mirror.begin));
  segment->mirror.reset();
}

void Device::stop() {
  if (!apart()) return;
  synchronize();
  const InContext here(driver_, context_);
  if (scratch_.memory != nullptr) driver_.free(number(scratch_.memory));
  if (pinned_.memory != nullptr) driver_.free_pinned(pinned_.memory);
  scratch_ = pinned_ = {};
  kind_ = Kind::host;
}

char* Device::address(const Segment* segment, const void* host, uint64_t bytes) {
  const char* at = static_cast<const char*>(host);
  if (segment != nullptr && segment->mirror != nullptr) return segment->mirror->begin + (at - segment->begin);
  if (!has_regions_) return nullptr;
  char* device = openacc::device_address(host, bytes);
  if (device != nullptr && segment != nullptr) know(at, bytes, device);
  return device;
}

void Device::know(const char* host, uint64_t bytes, char* device) {
  const std::lock_guard guard(guard_);
  for (Known& known : known_)
    if (known.host == host) {
      known = {host, known.device == device ? std::max(known.bytes, bytes) : bytes, device};
      return;
    }
  known_.push_back({host, bytes, device});
}

void Device::forget(const char* host, uint64_t bytes) {
  if (!apart()) return;
  const std::lock_guard guard(guard_);
  std::erase_if(known_, [&](const Known& known) { return known.host >= host && known.host < host + bytes; });
}

char* Device::known_address(const char* host, uint64_t bytes) {
  const std::lock_guard guard(guard_);
  for (const Known& known : known_)
    if (host >= known.host && host + bytes <= known.host + known.bytes)
      return known.device + (host - known.host);
  return nullptr;
}

void Device::finish_regions() {
  openacc::wait_all();
  if (apart()) synchronize();
}

void Device::synchronize() {
  if (!busy_.exchange(false)) return;
  const InContext here(driver_, context_);
  check(driver_.context_synchronize(), "a copy between devices");
}

char* Device::scratch(uint64_t bytes) {
  if (scratch_.bytes >= bytes) return scratch_.memory;
  synchronize();
  const InContext here(driver_, context_);
  if (scratch_.memory != nullptr) driver_.free(number(scratch_.memory));
  scratch_ = {};
  cuda::Pointer memory = 0;
  check(driver_.allocate(&memory, bytes), "device memory to pack a section in");
  scratch_ = {reinterpret_cast<char*>(memory), bytes};
  return scratch_.memory;
}

char* Device::pinned(uint64_t bytes) {
  if (pinned_.bytes >= bytes) return pinned_.memory;
  const InContext here(driver_, context_);
  if (pinned_.memory != nullptr) driver_.free_pinned(pinned_.memory);
  pinned_ = {};
  void* memory = nullptr;
  check(driver_.allocate_pinned(&memory, bytes), "memory to stage transfers in");
  pinned_ = {static_cast<char*>(memory), bytes};
  return pinned_.memory;
}

// `depth` planes of `height` rows of `width` bytes.
struct Device::Piece {
  Bytes to, from;
  uint64_t width, height, depth;
  uint64_t to_pitch, from_pitch, to_plane, from_plane;
};

template <typename Copy>
Copy Device::ends(const Piece& p) {
  Copy c{};
  c.from_type = p.from.device ? cuda::MemoryType::device : cuda::MemoryType::host;
  if (p.from.device)
    c.from_device = number(p.from.at);
  else
    c.from_host = p.from.at;
  c.from_pitch = p.from_pitch;
  c.to_type = p.to.device ? cuda::MemoryType::device : cuda::MemoryType::host;
  if (p.to.device)
    c.to_device = number(p.to.at);
  else
    c.to_host = p.to.at;
  c.to_pitch = p.to_pitch;
  c.width = p.width;
  c.height = p.height;
  return c;
}

void Device::copy_piece(const Piece& p) {
  const bool planes = p.depth > 1 && p.to_plane % p.to_pitch == 0 && p.from_plane % p.from_pitch == 0;
  if (p.depth > 1 && !planes) {
    Piece one = p;
    one.depth = 1;
    for (uint64_t i = 0; i < p.depth; i++) {
      copy_piece(one);
      one.to.at += p.to_plane;
      one.from.at += p.from_plane;
    }
    return;
  }
  if (p.height > 1 && std::max(p.to_pitch, p.from_pitch) > kLargestPitch) {
    Piece row = p;
    row.depth = row.height = 1;
    for (uint64_t k = 0; k < p.depth; k++) {
      for (uint64_t i = 0; i < p.height; i++) {
        row.to.at = p.to.at + k * p.to_plane + i * p.to_pitch;
        row.from.at = p.from.at + k * p.from_plane + i * p.from_pitch;
        copy_piece(row);
      }
    }
    return;
  }
  if (planes) {
    auto c = ends<cuda::Copy3D>(p);
    c.from_height = p.from_plane / p.from_pitch;
    c.to_height = p.to_plane / p.to_pitch;
    c.depth = p.depth;
    return check(driver_.copy_3d(&c), "a copy of device memory");
  }
  if (p.height > 1) {
    const auto c = ends<cuda::Copy2D>(p);
    return check(driver_.copy_2d(&c), "a copy of device memory");
  }
  check(p.to.device && p.from.device ? driver_.copy_on_device(number(p.to.at), number(p.from.at), p.width)
        : p.to.device                ? driver_.copy_to_device(number(p.to.at), p.from.at, p.width)
                                     : driver_.copy_to_host(p.to.at, number(p.from.at), p.width),
        "a copy of device memory");
}

void Device::copy(Bytes to, const Shape& to_shape, Bytes from, const Shape& from_shape) {
  // A dense end takes the loops of the other.
  Shape a = to_shape, b = from_shape;
  if (a.dense()) a = dense_like(b);
  if (b.dense()) b = dense_like(a);
  const int depth = a.depth;
  Piece piece{to, from, a.block, 1, 1, a.block, a.block, 0, 0};
  const auto level = [&](int i) { return static_cast<uint64_t>(a.levels[i].count); };
  const auto stride = [](const Shape& s, int i) { return static_cast<uint64_t>(s.levels[i].stride); };
  int outer = depth;
  if (depth >= 1) {
    outer = depth - 1;
    piece.height = level(outer);
    piece.to_pitch = stride(a, outer);
    piece.from_pitch = stride(b, outer);
  }
  if (depth >= 2) {
    outer = depth - 2;
    piece.depth = level(outer);
    piece.to_plane = stride(a, outer);
    piece.from_plane = stride(b, outer);
  }
  const InContext here(driver_, context_);
  uint64_t at[kMostDimensions] = {};
  while (true) {
    copy_piece(piece);
    int i = outer;
    while (i-- > 0) {
      piece.to.at += stride(a, i);
      piece.from.at += stride(b, i);
      if (++at[i] < level(i)) break;
      piece.to.at -= level(i) * stride(a, i);
      piece.from.at -= level(i) * stride(b, i);
      at[i] = 0;
    }
    if (i < 0) break;
  }
  if (to.device) busy_ = true;
}

}  // namespace tasuki::coarray
