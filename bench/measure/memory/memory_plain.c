// malloc; or a mapped file, which the system writes back when memory is short.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/memory/memory.h"

void memory_kind_start(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
}

const char* memory_kind(const char* folder) {
  return folder != NULL ? "file" : "plain";
}

void* memory_kind_get(const char* folder, size_t bytes) {
  void* p = NULL;
  if (folder == NULL) {
    errno = posix_memalign(&p, 64, bytes);
    return errno == 0 ? p : NULL;
  }
  char path[4096];
  if (snprintf(path, sizeof path, "%s/tasuki-memory-XXXXXX", folder) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  const int fd = mkstemp(path);
  if (fd < 0) return NULL;
  unlink(path);  // it goes when the program goes
  // Its blocks are taken now: a full disk must be an error here, not a signal later.
  if ((errno = posix_fallocate(fd, 0, (off_t)bytes)) == 0)
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return p == MAP_FAILED ? NULL : p;
}

int memory_kind_counters(double* values, int most) {
  (void)values;
  (void)most;
  return 0;
}
const char* memory_kind_counter(int i, bool* level) {
  (void)i;
  (void)level;
  return "";
}
int memory_kind_end(int code) {
  return code;
}
