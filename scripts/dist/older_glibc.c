// What the compiler's static libraries, and headers of glibc 2.31, take from a glibc newer than 2.28. Linked
// into each file of a build for an older glibc (scripts/dist/build.sh); hidden, so that nothing else in a
// process sees it.
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// 2.30
pid_t gettid(void) {
  return (pid_t)syscall(SYS_gettid);
}

// 2.29
int getcpu(unsigned* cpu, unsigned* node) {
  return (int)syscall(SYS_getcpu, cpu, node, NULL);
}

// 2.32. False is always safe: libstdc++ then counts references atomically.
char __libc_single_threaded = 0;

// 2.36; std::random_device uses it.
uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
    if (errno != EINTR) abort();
  return value;
}

// 2.35; the unwinder of gcc 12 finds by it the table of the object that an address is in. The structure is
// glibc's (dlfcn.h), part of its ABI.
#ifndef DLFO_STRUCT_HAS_EH_DBASE  // the headers know it
struct dl_find_object {
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  struct link_map* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long reserved[7];
};
int _dl_find_object(void* pc, struct dl_find_object* result);
#endif

struct search {
  uintptr_t pc;
  struct dl_find_object* result;
};

static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct search* search = data;
  uintptr_t start = UINTPTR_MAX, end = 0, eh_frame = 0;
  int inside = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    const uintptr_t at = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) eh_frame = at;
    if (header->p_type != PT_LOAD) continue;
    if (search->pc >= at && search->pc - at < header->p_memsz) inside = 1;
    if (at < start) start = at;
    if (at + header->p_memsz > end) end = at + header->p_memsz;
  }
  if (!inside || eh_frame == 0) return inside;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void*)start;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_link_map = NULL;
  search->result->dlfo_eh_frame = (void*)eh_frame;
  return 2;
}

int _dl_find_object(void* pc, struct dl_find_object* result) {
  struct search search = {(uintptr_t)pc, result};
  return dl_iterate_phdr(visit, &search) == 2 ? 0 : -1;
}

#pragma GCC visibility pop
