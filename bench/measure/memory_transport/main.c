// memory-transport-<mpi> [--sizes BYTES,...] [--seconds S] [--area BYTES] [--out FILE]: what moving a page
// costs here without any pager: the limit that `tasuki bench memory` compares with. Rank 0 asks, rank 1 (or
// each of the others in turns) has the pages. For each size, in bytes per second of pages:
//
//   fetch     a request of 32 bytes, the page comes
//   fetch4    the same with four on their way
//   swap      a request, and a page that leaves while the other comes
//   again     as fetch, the same page to the same place, so that caches may have it (DLM-MPI, figure 19)
//   window    a copy from memory that both ranks share (MPI_Win_allocate_shared), where they can
//   copy      a copy inside rank 0
//
// The median over short blocks of pages, so that what else the machine does counts little.
// Areas are larger than caches and walked from page to page, as a pager walks its local memory and its slots.
#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRequest = 1, kPage = 2, kBack = 3, kMostSizes = 16, kFlight = 4, kMostBlocks = 1000 };
enum what { kFetch, kSwap, kStop };
struct request {
  uint64_t what, size, page;
  uint64_t slot;  // of the page that leaves
};

static size_t g_area = (size_t)64 << 20;
static double g_seconds = 0.15;
static char* g_pages;  // of this rank
static int g_servers;

static void fail(const char* text) {
  fprintf(stderr, "memory-transport: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Every word of a page of a server says whose it is.
static uint64_t word(uint64_t server, uint64_t at) {
  return server << 48 ^ at * 0x9e3779b97f4a7c15u;
}

static void serve(int rank) {
  uint64_t* words = (uint64_t*)(void*)g_pages;
  for (size_t i = 0; i < g_area / 8; i++) words[i] = word((uint64_t)rank, i);
  MPI_Barrier(MPI_COMM_WORLD);
  char* slots = malloc(g_area);  // where pages come to
  if (slots == NULL) fail("no memory");
  for (;;) {
    struct request r;
    MPI_Recv(&r, sizeof r, MPI_BYTE, 0, kRequest, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (r.what == kStop) break;
    MPI_Request back;
    if (r.what == kSwap)
      MPI_Irecv(slots + r.slot * r.size, (int)r.size, MPI_BYTE, 0, kBack, MPI_COMM_WORLD, &back);
    MPI_Send(g_pages + r.page * r.size, (int)r.size, MPI_BYTE, 0, kPage, MPI_COMM_WORLD);
    if (r.what == kSwap) MPI_Wait(&back, MPI_STATUS_IGNORE);
  }
  free(slots);
}

static void check(const char* page, int server, size_t at, size_t size) {
  const uint64_t first = word((uint64_t)server, at / 8), last = word((uint64_t)server, (at + size) / 8 - 1);
  if (memcmp(page, &first, 8) != 0 || memcmp(page + size - 8, &last, 8) != 0)
    fail("a page came with other contents");
}

// Rates of blocks of pages, until the time is over.
struct blocks {
  double began, block_began;
  uint64_t in_block;  // pages
  int count;
  double rates[kMostBlocks];
};

static void begin(struct blocks* b) {
  b->began = b->block_began = MPI_Wtime();
  b->in_block = 0;
  b->count = 0;
}

// After each page; false: enough.
static bool next(struct blocks* b, size_t size) {
  const double now = MPI_Wtime();
  if (++b->in_block >= 8 && now - b->block_began > g_seconds / 40) {
    b->rates[b->count++] = (double)b->in_block * (double)size / (now - b->block_began);
    b->block_began = now;
    b->in_block = 0;
  }
  return b->count < 5 || (now - b->began < g_seconds && b->count < kMostBlocks);
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(struct blocks* b) {
  qsort(b->rates, (size_t)b->count, sizeof b->rates[0], compare);
  return b->rates[b->count / 2];
}

// An order that no hardware foresees: a step of about five eighths of the pages.
static uint64_t scattered(uint64_t n, uint64_t pages) {
  return n * (pages * 5 / 8 | 1) % pages;
}

// Moves pages of one size in one way; bytes per second.
static double fetch(size_t size, uint64_t pages, int flight, enum what what) {
  const uint64_t warm = 2 * (uint64_t)flight;
  MPI_Request coming[kFlight];
  char* buffer[kFlight] = {NULL};
  struct request sent[kFlight];
  uint64_t asked = 0, done = 0;
  struct blocks blocks;
  for (bool more = true; more;) {
    while (asked < done + (uint64_t)flight) {
      const int slot = (int)(asked % (uint64_t)flight), server = 1 + (int)(asked % (uint64_t)g_servers);
      struct request* r = &sent[slot];
      *r = (struct request){what, size, scattered(asked, pages), asked % pages};
      buffer[slot] = g_pages + asked % pages * size;
      MPI_Irecv(buffer[slot], (int)size, MPI_BYTE, server, kPage, MPI_COMM_WORLD, &coming[slot]);
      MPI_Send(r, sizeof *r, MPI_BYTE, server, kRequest, MPI_COMM_WORLD);
      if (what == kSwap)
        MPI_Send(g_pages + (asked + pages / 2) % pages * size, (int)size, MPI_BYTE, server, kBack,
                 MPI_COMM_WORLD);
      asked++;
    }
    const int slot = (int)(done % (uint64_t)flight);
    MPI_Wait(&coming[slot], MPI_STATUS_IGNORE);
    check(buffer[slot], 1 + (int)(done % (uint64_t)g_servers), sent[slot].page * size, size);
    done++;
    if (done == warm) begin(&blocks);
    if (done > warm) more = next(&blocks, size);
  }
  for (uint64_t i = done; i < asked; i++) MPI_Wait(&coming[i % (uint64_t)flight], MPI_STATUS_IGNORE);
  return median(&blocks);
}

static double copy(const char* from, size_t size) {
  const uint64_t pages = g_area / size;
  struct blocks blocks;
  uint64_t n = 0;
  begin(&blocks);
  do {
    memcpy(g_pages + n % pages * size, from + scattered(n, pages) * size, size);
    n++;
  } while (next(&blocks, size));
  return median(&blocks);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  g_servers = ranks - 1;
  if (ranks < 2) fail("needs two ranks or more");
  size_t sizes[kMostSizes] = {4096, 16384, 65536, 262144, 1048576, 2097152};
  int count = 6;
  const char* out_name = NULL;
  const struct option names[] = {{"sizes", required_argument, NULL, 's'},
                                 {"seconds", required_argument, NULL, 't'},
                                 {"area", required_argument, NULL, 'a'},
                                 {"out", required_argument, NULL, 'o'},
                                 {NULL, 0, NULL, 0}};
  for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
    switch (c) {
      case 's':
        count = 0;
        for (char* word_at = strtok(optarg, ","); word_at != NULL && count < kMostSizes;
             word_at = strtok(NULL, ","))
          sizes[count++] = strtoull(word_at, NULL, 10);
        break;
      case 't':
        g_seconds = strtod(optarg, NULL);
        break;
      case 'a':
        g_area = strtoull(optarg, NULL, 10);
        break;
      case 'o':
        out_name = optarg;
        break;
      default:
        fail("usage: memory-transport [--sizes B,...] [--seconds S] [--area B] [--out FILE]");
    }
  }
  for (int i = 0; i < count; i++)
    if (sizes[i] < 64 || sizes[i] % 8 != 0 || sizes[i] > (1 << 22) || g_area / sizes[i] < 2 * kFlight)
      fail("sizes are multiples of 8 up to 4 MiB, eight of them fit into the area");

  g_pages = malloc(g_area);
  if (g_pages == NULL) fail("no memory");
  memset(g_pages, 1, g_area);

  // A window that rank 1 owns, if ranks 0 and 1 share memory.
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int here;
  MPI_Comm_size(node, &here);
  MPI_Win window = MPI_WIN_NULL;
  char* shared = NULL;
  const bool together = here == ranks;
  if (together) {
    MPI_Win_allocate_shared(rank == 1 ? (MPI_Aint)g_area : 0, 1, MPI_INFO_NULL, node, &shared, &window);
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(window, 1, &bytes, &unit, &shared);
    if (rank == 1) memset(shared, 1, g_area);
  }

  int ok = 1;
  if (rank == 0) {
    FILE* out = out_name != NULL ? fopen(out_name, "w") : stdout;
    if (out == NULL) fail(strerror(errno));
    MPI_Barrier(MPI_COMM_WORLD);
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    for (int i = 0; i < length; i++)
      if (library[i] == '"' || library[i] == '\\' || (unsigned char)library[i] < ' ') library[i] = ' ';
    fprintf(out, "{\"servers\":%d,\"mpi\":\"%s\",\"compiler\":\"%s\",\"sizes\":[", g_servers, library,
            __VERSION__);
    char* other = malloc(g_area);
    if (other == NULL) fail("no memory");
    memset(other, 2, g_area);
    for (int i = 0; i < count; i++) {
      const uint64_t pages = g_area / sizes[i];
      fprintf(out, "%s{\"page\":%zu,\"fetch\":%.6g,\"fetch4\":%.6g,\"swap\":%.6g,\"again\":%.6g,",
              i == 0 ? "" : ",", sizes[i], fetch(sizes[i], pages, 1, kFetch),
              fetch(sizes[i], pages, kFlight, kFetch), fetch(sizes[i], pages, 1, kSwap),
              fetch(sizes[i], 1, 1, kFetch));
      if (together)
        fprintf(out, "\"window\":%.6g,", copy(shared, sizes[i]));
      else
        fputs("\"window\":null,", out);
      fprintf(out, "\"copy\":%.6g}", copy(other, sizes[i]));
    }
    fputs("]}\n", out);
    ok = fflush(out) == 0 && ferror(out) == 0;
    if (out != stdout) fclose(out);
    struct request stop = {kStop, 0, 0, 0};
    for (int s = 1; s < ranks; s++) MPI_Send(&stop, sizeof stop, MPI_BYTE, s, kRequest, MPI_COMM_WORLD);
    free(other);
  } else {
    serve(rank);
  }
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  MPI_Comm_free(&node);
  free(g_pages);
  MPI_Finalize();
  return ok ? 0 : 1;
}
