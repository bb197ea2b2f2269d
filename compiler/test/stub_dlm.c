/* libdlmmpi for tests of the compiler alone: dlm.h's functions on ordinary memory, without MPI.
 *
 * DLM_DOUBLE_LIMIT: bytes in the "cluster". DLM_DOUBLE_REPORT: a file that gets a line at the end: startups, calls of
 * alloc, bytes. All memory lies in one reservation, so that a program can ask whether an address is in it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tasuki/dlm.h>

#define EXPORT __attribute__((visibility("default")))

static char* memory;
static size_t used, limit;
static int startups, allocations, shutdowns;
static const size_t kReserved = (size_t)1 << 40;

static void report(void) {
  const char* path = getenv("DLM_DOUBLE_REPORT");
  if (path == NULL) return;
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "startups %d allocations %d bytes %zu shutdowns %d\n", startups, allocations, used,
          shutdowns);
  fclose(file);
}

static void at_end(void) {
  dlm_shutdown();
  report();
}

EXPORT int dlm_startup(int* argc, char*** argv) {
  if (startups++ > 0) return 0;
  const char* text = getenv("DLM_DOUBLE_LIMIT");
  limit = text != NULL ? strtoull(text, NULL, 10) : (size_t)1 << 40;
  memory = mmap(NULL, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    perror("dlm double");
    exit(1);
  }
  if (argc != NULL && argv != NULL) {
    for (int i = *argc - 1; i > 0; i--) {
      if (strcmp((*argv)[i], "--") != 0) continue;
      *argc = i;
      (*argv)[i] = NULL;
      break;
    }
  }
  atexit(at_end);
  return 0;
}

EXPORT int dlm_shutdown(void) {
  shutdowns++;
  return 0;
}

EXPORT void* dlm_aligned_alloc(size_t alignment, size_t bytes) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > (size_t)1 << 30) {
    errno = EINVAL;
    return NULL;
  }
  if (memory == NULL || bytes > limit || used > limit - bytes) {
    errno = ENOMEM;
    return NULL;
  }
  /* Never more than asked for, and misaligned on purpose where that is allowed. */
  static char* at;
  if (at == NULL) at = memory;
  if (alignment == 64 && (uintptr_t)at % 128 == 0) at += 64;
  char* const result = (char*)(((uintptr_t)at + alignment - 1) / alignment * alignment);
  at = result + bytes;
  used += bytes;
  allocations++;
  return result;
}

EXPORT void* dlm_alloc(size_t bytes) {
  return bytes == 0 ? NULL : dlm_aligned_alloc(64, bytes);
}

EXPORT void dlm_free(void* p) {
  (void)p;
}

EXPORT int dlm_stats(struct dlm_counters* stats, size_t bytes) {
  if (startups == 0) {
    errno = EINVAL;
    return -1;
  }
  memset(stats, 0, bytes);
  stats->allocated_bytes = used;
  return 0;
}

/* For test programs: is the address in the cluster's memory? */
EXPORT int dlm_double_owns(const void* p) {
  return memory != NULL && (const char*)p >= memory && (const char*)p < memory + kReserved;
}
