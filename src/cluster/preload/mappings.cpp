// mmap and its relatives: large private anonymous memory goes to the cluster like that of malloc. What libc
// maps for itself (its allocator, stacks, files) does not come by here.
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/pinning.h"
#include "generated/next.h"
#include "os/memory/mapping.h"
#include "pager/pager.h"
#include "tasuki/dlm.h"

namespace tasuki::cluster::preload {
namespace {

using MapFunction = void* (*)(void*, size_t, int, int, int, off_t);

// Said once: a program that does this may do it often.
void refuse(const char* what) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  const InternalScope internal;
  log(LogLevel::warning,
      "%s is not possible in cluster memory and fails; TASUKI_MEM_MMAP=off keeps what the program maps local",
      what);
}

// Address space for later.
bool reserves(int protection, int flags) {
  return protection == PROT_NONE || (flags & MAP_NORESERVE) != 0;
}

bool goes_to_cluster(size_t length, int protection, int flags, int fd) {
  // MAP_STACK: the kernel writes there.
  constexpr int kHarmless =
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_NONBLOCK | MAP_DENYWRITE | MAP_EXECUTABLE | MAP_FILE;
  return length >= g_map_threshold.load(std::memory_order_relaxed) &&
         (protection == (PROT_READ | PROT_WRITE) || protection == PROT_NONE) &&
         (flags & (MAP_PRIVATE | MAP_ANONYMOUS)) == (MAP_PRIVATE | MAP_ANONYMOUS) &&
         (flags & ~(kHarmless | MAP_NORESERVE)) == 0 && fd < 0 && wants_cluster() && length <= PTRDIFF_MAX &&
         (!reserves(protection, flags) || may_reserve(length));
}

// MAP_FAILED with ENOMEM.
void* map_cluster(size_t length, int protection, Origin origin) {
  length = os::page_ceil(length);
  void* const p = allocate(length, os::page_size(), origin);
  if (p == nullptr) return MAP_FAILED;
  const InternalScope internal;
  if (protection == (PROT_READ | PROT_WRITE) || dlm_protect(p, length, protection) == 0) return p;
  release(p);
  errno = ENOMEM;
  return MAP_FAILED;
}

// The mapped block that holds [at, at + length) completely: 1. A part of it, or of a block of malloc: -1.
// None: 0.
struct Place {
  uintptr_t begin = 0;
  Block block{};
};
int find_place(const void* at, size_t length, Place* place) {
  if (!g_cluster.near(at, length)) [[likely]]
    return 0;
  if (t_internal != 0) return 0;  // the pager at work
  if (find_block_around(at, &place->begin, &place->block)) {
    const uintptr_t end = place->begin + os::page_ceil(place->block.bytes);
    return reinterpret_cast<uintptr_t>(at) + length <= end ? 1 : -1;
  }
  return touches(at, length) ? -1 : 0;
}

// A range over several blocks, or over one and other memory, part by part. The first that fails ends it.
template <class Call>
int by_block(void* at, size_t length, const Call& call) {
  for (char *p = static_cast<char*>(at), *const end = p + os::page_ceil(length); p < end;) {
    const size_t part = part_at(p, static_cast<size_t>(end - p));
    if (const int result = call(p, part); result != 0) return result;
    p += part;
  }
  return 0;
}

// What is not possible with cluster memory: all blocks of the range are ordinary memory from now on. False:
// one of them cannot be, and `what` fails.
bool let_go_of(void* at, size_t length, const char* what) {
  const auto let_go_at = [](void* p, size_t) {
    Place place;
    const int found = find_place(p, 1, &place);
    return found == 0 || (place.block.mapped() && let_go(place.begin)) ? 0 : -1;
  };
  if (is_alone()) {  // what is there is the child's already
    const InternalScope internal;
    if (pager::Pager* const pager = attached_pager()) pager->pin(at, length, true);
    return true;
  }
  if (by_block(at, length, let_go_at) == 0) return true;
  refuse(what);
  errno = ENOMEM;
  return false;
}

// Zeros in a part of a block, whole pages as a rule.
void clear(void* at, size_t length) {
  const int error = errno;
  const InternalScope internal;
  pager::Pager* const pager = attached_pager();  // in a forked child, too
  if (pager == nullptr || !pager->discard(at, length).ok()) memset(at, 0, length);
  errno = error;
}

// What the program may do there from now on. 0, or -1 with errno.
int protect(void* at, size_t length, int protection) {
  const InternalScope internal;
  return is_alone() ? next_mprotect()(at, length, protection) : dlm_protect(at, length, protection);
}

// -1: not the same everywhere. (What a forked child has changed is known to the kernel only.)
int protection_of(const void* at, size_t length) {
  const InternalScope internal;
  const pager::Pager* const pager = attached_pager();
  return pager != nullptr ? pager->protection(at, length) : PROT_READ | PROT_WRITE;
}

// Zeros with this protection. 0, or -1 with errno.
int renew(void* at, size_t length, int protection) {
  constexpr int kUsual = PROT_READ | PROT_WRITE;
  const bool usual = protect(at, length, kUsual) == 0;  // what is locked is cleared by writing
  clear(at, length);
  return usual && protection == kUsual ? 0 : protect(at, length, protection);
}

// A part of a mapped block is not the program's any more.
void take_away(uintptr_t begin, void* at, size_t length) {
  const int error = errno;
  // Before the block can be given back. Where there are too many mappings the program could still access it.
  (void)renew(at, length, PROT_NONE);
  errno = error;
  unmapped(begin, at, length);
}

// Fresh memory in place of a block's.
void* map_over(uintptr_t begin, void* at, size_t length, int protection) {
  if (renew(at, length, protection) != 0) return MAP_FAILED;
  mapped_again(begin, at, length);
  return at;
}

// A file's bytes in place of a block's, as MAP_PRIVATE has them: whether later changes of the file are seen
// is nobody's promise.
void* copy_over(uintptr_t begin, void* at, size_t length, int protection, int fd, off_t offset) {
  char first;
  if (pread(fd, &first, 1, offset) < 0) {
    if (errno != EBADF) errno = EACCES;
    return MAP_FAILED;
  }
  if (map_over(begin, at, os::page_ceil(length), PROT_READ | PROT_WRITE) == MAP_FAILED) return MAP_FAILED;
  for (size_t done = 0; done < length;) {
    const ssize_t got =
        pread(fd, static_cast<char*>(at) + done, length - done, offset + static_cast<off_t>(done));
    if (got == 0 || (got < 0 && errno != EINTR)) break;  // behind the end zeros, where there would be SIGBUS
    if (got > 0) done += static_cast<size_t>(got);
  }
  const bool usual = protection == (PROT_READ | PROT_WRITE);
  return usual || protect(at, os::page_ceil(length), protection) == 0 ? at : MAP_FAILED;
}

void* map(MapFunction next_map, void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  if (goes_to_cluster(length, protection, flags, fd))
    return map_cluster(length, protection, reserves(protection, flags) ? Origin::reserve : Origin::mmap);
  Place place;
  const int found = (flags & MAP_FIXED) != 0 ? find_place(at, length, &place) : 0;
  if (found == 0) return next_map(at, length, protection, flags, fd, offset);
  constexpr int kFresh = MAP_ANONYMOUS | MAP_PRIVATE;
  if (found > 0 && (flags & kFresh) == kFresh)
    return map_over(place.begin, at, os::page_ceil(length), protection);
  if (found > 0 && (flags & kFresh) == MAP_PRIVATE)
    return copy_over(place.begin, at, length, protection, fd, offset);
  if ((flags & kFresh) == kFresh) {
    const auto map_part = [&](void* p, size_t part) {
      return map(next_map, p, part, protection, flags, fd, offset) != MAP_FAILED ? 0 : -1;
    };
    return by_block(at, length, map_part) == 0 ? at : MAP_FAILED;
  }
  // Shared memory in a part of it, or a file over several of them.
  return let_go_of(at, length, "this mmap with MAP_FIXED")
             ? next_map(at, length, protection, flags, fd, offset)
             : MAP_FAILED;
}

// A part of a block, or all of it, elsewhere with more behind it. MAP_FAILED with ENOMEM: it stays.
void* larger(const Place& place, void* at, size_t old_length, size_t length) {
  const bool all = reinterpret_cast<uintptr_t>(at) == place.begin && old_length == place.block.bytes &&
                   place.block.holes == nullptr;
  if (all && !is_alone()) {
    void* const moved = resize(at, length);
    return moved != nullptr ? moved : MAP_FAILED;
  }
  void* const moved =
      is_alone() ? next_mmap()(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                 : map_cluster(length, PROT_READ | PROT_WRITE, Origin::mmap);
  if (moved == MAP_FAILED) return moved;
  memcpy(moved, at, old_length);
  take_away(place.begin, at, old_length);
  return moved;
}

int advise(void* at, size_t length, int advice, bool posix) {
  const InternalScope internal;
  const auto tell = [&](dlm_advice what) {
    dlm_advise(at, length, what);  // advice only: what the pager cannot do is no error
    return 0;
  };
  switch (advice) {
    case MADV_DONTNEED:
      // POSIX's only says that the contents are not needed now; Linux' own promises zeros.
      if (posix) return tell(DLM_DONE_WITH);
      [[fallthrough]];
    case MADV_FREE:
      if (reinterpret_cast<uintptr_t>(at) % os::page_size() != 0) {
        errno = EINVAL;
        return -1;
      }
      clear(at, os::page_ceil(length));
      return 0;
    case MADV_NORMAL:
      return tell(DLM_NORMAL);
    case MADV_SEQUENTIAL:
      return tell(DLM_SEQUENTIAL);
    case MADV_RANDOM:
      return tell(DLM_RANDOM);
    case MADV_WILLNEED:
      return tell(DLM_WILL_NEED);
    case MADV_COLD:
    case MADV_PAGEOUT:
      return tell(DLM_DONE_WITH);
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_DONTDUMP:
    case MADV_DODUMP:
    case MADV_DONTFORK:
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
      return 0;
    default:
      errno = EINVAL;
      return -1;
  }
}

}  // namespace
}  // namespace tasuki::cluster::preload

using namespace tasuki::cluster;
using namespace tasuki::cluster::preload;
namespace os = tasuki::os;

TASUKI_WRAPPER(void*, mmap, void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  return map(next_mmap(), at, length, protection, flags, fd, offset);
}
TASUKI_WRAPPER(void*, mmap64, void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  return map(next_mmap64(), at, length, protection, flags, fd, offset);
}

TASUKI_WRAPPER(int, munmap, void* at, size_t length) {
  Place place;
  const int found = find_place(at, length, &place);
  if (found == 0) return next_munmap()(at, length);
  const bool of_mmap = found < 0 || place.block.mapped();
  if (!of_mmap) refuse("munmap of memory that mmap did not give");
  if (!of_mmap || reinterpret_cast<uintptr_t>(at) % os::page_size() != 0 || length == 0) {
    errno = EINVAL;
    return -1;
  }
  if (found < 0) return by_block(at, length, tasuki_dlm_munmap);
  // The block is gone when the last piece of it goes.
  if (length < place.block.bytes)
    take_away(place.begin, at, os::page_ceil(length));
  else
    unmapped(place.begin, at, os::page_ceil(length));
  return 0;
}

TASUKI_WRAPPER(void*, mremap, void* at, size_t old_length, size_t length, int flags, ...) {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    target = va_arg(arguments, void*);
    va_end(arguments);
  }
  Place place;
  const int found = find_place(at, old_length, &place);
  if (target != nullptr || (flags & MREMAP_DONTUNMAP) != 0) {
    const bool possible = (found == 0 || let_go_of(at, old_length, "this mremap")) &&
                          (target == nullptr || let_go_of(target, length, "this mremap"));
    return possible ? next_mremap()(at, old_length, length, flags, target) : MAP_FAILED;
  }
  if (found == 0) return next_mremap()(at, old_length, length, flags, target);
  old_length = os::page_ceil(old_length);
  length = os::page_ceil(length);
  if (found < 0 || !place.block.mapped() || length == 0) {
    refuse("this mremap");
    errno = EINVAL;
    return MAP_FAILED;
  }
  if (length <= old_length) {
    if (length < old_length) take_away(place.begin, static_cast<char*>(at) + length, old_length - length);
    return at;
  }
  if ((flags & MREMAP_MAYMOVE) == 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  const int protection = protection_of(at, old_length);
  if (protection < 0) {  // as of several mappings
    errno = EFAULT;
    return MAP_FAILED;
  }
  const bool usual = protection == (PROT_READ | PROT_WRITE);
  if (!usual && protect(at, old_length, PROT_READ | PROT_WRITE) != 0) return MAP_FAILED;
  void* const moved = larger(place, at, old_length, length);
  if (!usual)
    (void)(moved != MAP_FAILED ? protect(moved, length, protection) : protect(at, old_length, protection));
  return moved;
}

TASUKI_WRAPPER(int, mprotect, void* at, size_t length, int protection) {
  Place place;
  const int found = find_place(at, length, &place);
  if (found == 0) [[likely]]
    return next_mprotect()(at, length, protection);
  if (found > 0) return protect(at, length, protection);
  return by_block(at, length, [&](void* p, size_t part) { return tasuki_dlm_mprotect(p, part, protection); });
}

TASUKI_WRAPPER(int, pkey_mprotect, void* at, size_t length, int protection, int key) {
  Place place;
  if (find_place(at, length, &place) == 0) [[likely]]
    return next_pkey_mprotect()(at, length, protection, key);
  if (key == -1) return tasuki_dlm_mprotect(at, length, protection);
  refuse("pkey_mprotect");
  errno = EINVAL;
  return -1;
}

TASUKI_WRAPPER(int, madvise, void* at, size_t length, int advice) {
  Place place;
  const int found = find_place(at, length, &place);
  if (found == 0) [[likely]]
    return next_madvise()(at, length, advice);
  if (found < 0)
    return by_block(at, length, [&](void* p, size_t part) { return tasuki_dlm_madvise(p, part, advice); });
  return advise(at, length, advice, false);
}

TASUKI_WRAPPER(int, posix_madvise, void* at, size_t length, int advice) {
  Place place;
  const int found = find_place(at, length, &place);
  if (found == 0) [[likely]]
    return next_posix_madvise()(at, length, advice);
  const int error = errno;
  const int result =
      found < 0 || advise(at, length, advice == POSIX_MADV_DONTNEED ? MADV_DONTNEED : advice, true) != 0
          ? EINVAL
          : 0;
  errno = error;
  return result;
}

TASUKI_WRAPPER(int, mlock, const void* at, size_t length) {
  Place place;
  if (find_place(at, length, &place) == 0) [[likely]]
    return next_mlock()(at, length);
  const tasuki::cluster::InternalScope internal;
  return dlm_advise(const_cast<void*>(at), length, DLM_KEEP_LOCAL);
}

TASUKI_WRAPPER(int, munlock, const void* at, size_t length) {
  Place place;
  if (find_place(at, length, &place) == 0) [[likely]]
    return next_munlock()(at, length);
  const tasuki::cluster::InternalScope internal;
  return dlm_advise(const_cast<void*>(at), length, DLM_NORMAL);
}
