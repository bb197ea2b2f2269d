#include "os/memory/break.h"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/memory/mapping.h"
#include "os/raw.h"

namespace tasuki::os {
namespace {

constexpr int kStatFields = 52;

// Numbers of /proc/self/stat, counted as in proc(5) from 1; those before the third are not numbers. False if
// they cannot be read.
bool read_own_stat(uint64_t (&fields)[kStatFields + 1]) {
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[2048];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return false;
  text[n] = '\0';
  const char* at = strrchr(text, ')');  // the name may hold blanks and parentheses
  if (at == nullptr || at[1] == '\0' || at[2] == '\0') return false;
  at += 3;  // behind the state, which is field 3
  for (int i = 4; i <= kStatFields; i++) {
    char* end;
    fields[i] = strtoull(at, &end, 10);
    if (end == at) return false;
    at = end;
  }
  return true;
}

// The calls below are libc's, so that it remembers the break as it becomes: from an older one it would take a
// refusal for success.
uintptr_t current_break() {
  return reinterpret_cast<uintptr_t>(sbrk(0));
}

// The kernel refuses a break below the place where the heap begins (brk(2), `start_brk`), whoever asks: so
// the heap begins where the break is. Needs Linux 3.18 with CONFIG_CHECKPOINT_RESTORE, which distributions
// have, and no privilege.
bool begin_heap_at_break() {
  uint64_t f[kStatFields + 1];
  if (!read_own_stat(f)) return false;
  prctl_mm_map map = {};  // no auxiliary vector: it stays
  map.start_code = f[26];
  map.end_code = f[27];
  map.start_stack = f[28];
  map.start_data = f[45];
  map.end_data = f[46];
  map.arg_start = f[48];
  map.arg_end = f[49];
  map.env_start = f[50];
  map.env_end = f[51];
  map.exe_fd = ~uint32_t{0};  // as it is
  map.start_brk = map.brk = current_break();
  return raw_syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, raw_arg(&map), sizeof map, 0) == 0;
}

// The break goes up, and what lies below it is unmapped. Since Linux 6.1 the kernel refuses to lower it into
// a range where nothing is mapped; before, the first so many bytes can be taken away, and no memory that
// anybody uses goes with them.
void leave_gap_below_break() {
  constexpr size_t kMost = size_t{1} << 30;
  for (size_t length = kMost; length >= page_size();
       length /= 2) {  // less where memory may not be overcommitted
    void* const before = sbrk(static_cast<intptr_t>(length));
    if (before == reinterpret_cast<void*>(-1)) continue;
    munmap(before, length);
    return;
  }
}

}  // namespace

bool stop_the_break(HeapStart heap) {
  // To the end of its page: within a page it moves whatever is mapped behind.
  if (brk(reinterpret_cast<void*>(page_ceil(current_break()))) != 0) return false;
  if (heap == HeapStart::stays || !begin_heap_at_break()) leave_gap_below_break();
  if (reserve(page_size(), sbrk(0)) != nullptr) return true;
  return errno == EEXIST;  // something is mapped there already: the break cannot grow either
}

bool stop_the_break() {
  return stop_the_break(HeapStart::moves);
}

}  // namespace tasuki::os
