// LLNL UMap: pages of a file, filled and written back by its threads. Its settings are environment variables
// (UMAP_PAGESIZE, UMAP_BUFSIZE in pages).
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <umap/umap.h>
#include <unistd.h>

#include "measure/memory/memory.h"

void memory_kind_start(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
}

const char* memory_kind(const char* folder) {
  (void)folder;
  return "umap";
}

void* memory_kind_get(const char* folder, size_t bytes) {
  const size_t page = umapcfg_get_umap_page_size();
  const size_t length = (bytes + page - 1) / page * page;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/tasuki-memory-XXXXXX", folder != NULL ? folder : "/dev/shm") >=
      (int)sizeof path) {
    errno = ENAMETOOLONG;
    return NULL;
  }
  const int fd = mkstemp(path);  // stays open: UMap reads and writes it
  if (fd < 0) return NULL;
  unlink(path);
  if ((errno = posix_fallocate(fd, 0, (off_t)length)) != 0) return NULL;
  void* p = umap(NULL, length, PROT_READ | PROT_WRITE, UMAP_PRIVATE, fd, 0);
  return p == UMAP_FAILED ? NULL : p;
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
  fflush(stdout);
  _exit(code);  // its threads need not end
}
