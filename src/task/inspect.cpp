#include "task/inspect.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "elf/image.h"
#include "elf/linking.h"
#include "os/files/descriptor.h"
#include "task/space.h"

namespace tasuki::task {
namespace {

constexpr int kMaxObjects = 10000;

class Memory {
 public:
  explicit Memory(pid_t pid)
      : fd_(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC)) {}
  bool valid() const { return fd_.valid(); }
  template <typename T>
  bool read(uint64_t address, T* value) const {
    return pread(fd_.get(), value, sizeof *value, static_cast<off_t>(address)) ==
           static_cast<ssize_t>(sizeof *value);
  }
  std::string text(uint64_t address) const {
    std::string s;
    char c;
    while (s.size() < 4096 && read(address + s.size(), &c) && c != '\0') s += c;
    return s;
  }

 private:
  os::Fd fd_;
};

struct MapsLine {
  uint64_t begin, end;
  std::string permissions, file;
};

std::vector<MapsLine> maps_of(pid_t pid) {
  std::vector<MapsLine> all;
  std::ifstream in("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    MapsLine m;
    std::string range, offset, device, inode;
    fields >> range >> m.permissions >> offset >> device >> inode;
    std::getline(fields >> std::ws, m.file);
    const size_t dash = range.find('-');
    if (dash == std::string::npos) continue;
    m.begin = strtoull(range.c_str(), nullptr, 16);
    m.end = strtoull(range.c_str() + dash + 1, nullptr, 16);
    all.push_back(std::move(m));
  }
  return all;
}

// What is mapped at an address; empty: no file.
std::string file_at(const std::vector<MapsLine>& maps, uint64_t address) {
  for (const MapsLine& m : maps)
    if (address >= m.begin && address < m.end) return m.file;
  return {};
}

// Plain copies of what lies in the other address space.
struct RawSpace {
  alignas(Space) unsigned char bytes[sizeof(Space)];
  const Space& get() const { return *reinterpret_cast<const Space*>(bytes); }
};
struct RawSlot {
  alignas(TaskSlot) unsigned char bytes[sizeof(TaskSlot)];
  const TaskSlot& get() const { return *reinterpret_cast<const TaskSlot*>(bytes); }
};

bool find_slot(const Memory& memory, const std::vector<MapsLine>& maps, pid_t pid, RawSpace* space,
               RawSlot* slot) {
  for (const MapsLine& m : maps) {
    if (m.permissions.compare(0, 4, "rw-s") != 0 || !memory.read(m.begin, space)) continue;
    const Space& s = space->get();
    if (s.magic != kSpaceMagic || s.version != kSpaceVersion) continue;
    for (uint32_t i = 0; i < s.task_count; i++)
      if (memory.read(m.begin + sizeof(Space) + i * sizeof(TaskSlot), slot) && slot->get().pid.load() == pid)
        return true;
  }
  return false;
}

// Address of a symbol that a library defines, relative to where it is loaded; 0 if it has none.
uint64_t symbol_address(const std::string& path, const char* name) {
  const os::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return 0;
  const elf::ByteSource file{fd.get(), nullptr, static_cast<uint64_t>(st.st_size)};
  const Result<elf::Image> image = elf::read_image(file);
  if (!image.ok() || !image.value().dynamic) return 0;
  const Result<elf::Linking> linking = elf::read_linking(file, image.value());
  const elf::Symbol* symbol = linking.ok() ? linking.value().find(name) : nullptr;
  return symbol != nullptr ? symbol->value : 0;
}

}  // namespace

Result<TaskView> inspect_task(pid_t pid) {
  const std::vector<MapsLine> maps = maps_of(pid);
  const Memory memory(pid);
  if (maps.empty() || !memory.valid())
    return Status::error(
        ESRCH, "cannot look into process " + std::to_string(pid) + " (does it exist, is it yours?)");
  RawSpace space;
  RawSlot slot;
  if (!find_slot(memory, maps, pid, &space, &slot))
    return Status::error(ENOENT, "process " + std::to_string(pid) + " is not a task of tasuki run");
  const TaskSlot& t = slot.get();
  TaskView view;
  view.index = t.index;
  view.task_count = space.get().task_count;
  view.launcher_rank = t.launcher_rank;
  view.program = memory.text(reinterpret_cast<uint64_t>(t.program));

  const std::string loader = file_at(maps, t.interpreter);
  const uint64_t symbol = symbol_address(loader, "_r_debug");
  r_debug debug;
  if (symbol == 0 || !memory.read(t.interpreter + symbol, &debug))
    return Status::error(ENOTSUP,
                         "the task's dynamic linker " + loader + " does not tell what it has loaded");
  uint64_t at = reinterpret_cast<uint64_t>(debug.r_map);
  for (int n = 0; at != 0 && n < kMaxObjects; n++) {
    link_map map;
    if (!memory.read(at, &map)) break;
    // Of the program the map has no name.
    std::string file = n == 0 ? file_at(maps, reinterpret_cast<uint64_t>(map.l_ld))
                              : memory.text(reinterpret_cast<uint64_t>(map.l_name));
    struct stat st;
    if (stat(file.c_str(), &st) == 0)
      view.objects.push_back({std::move(file), map.l_addr});  // the vDSO has no file
    at = reinterpret_cast<uint64_t>(map.l_next);
  }
  return view;
}

}  // namespace tasuki::task
