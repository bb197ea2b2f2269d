// Messages of more than 2 GiB, the first words of every 4 KiB verified. Without an argument one of them;
// `all`: by derived types with holes (more than 4 GiB), into a buffer that is too short, and (MPI-4) by the
// functions with large counts.
#include "check.h"

static const size_t bytes = (2ull << 30) + (100u << 20) + 4096 + 8;

static double free_gib(void) {
  char line[256];
  unsigned long kib = 0;
  FILE* f = fopen("/proc/meminfo", "r");
  if (!f) return 0;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1) break;
  fclose(f);
  return (double)kib / (1 << 20);
}

// Words that differ all over the message: one in 4096 bytes is enough to see a piece that is missing or
// misplaced.
static unsigned long long word_at(size_t i, unsigned salt) {
  return i * 0x9e3779b97f4a7c15u + salt;
}

static void mark(char* p, unsigned salt) {
  for (size_t i = 0; i + 8 <= bytes; i += 4096) {
    unsigned long long word = word_at(i, salt);
    memcpy(p + i, &word, 8);
  }
}

static void expect(const char* p, unsigned salt) {
  for (size_t i = 0; i + 8 <= bytes; i += 4096) {
    unsigned long long word;
    memcpy(&word, p + i, 8);
    if (word != word_at(i, salt)) {
      fprintf(stderr, "first wrong word at byte %zu\n", i);
      CHECK(!"message is whole");
    }
  }
}

// Two elements of 33500 blocks of 16 pages, with a page free after each block: 4.1 GiB of data.
enum { page_bytes = 4096, filled = 16, blocks_each = 33500 };
static const size_t pages = (size_t)2 * blocks_each * filled;

// Where the data's page `k` lies. The second element begins where the first one's last block ends.
static size_t place_of(size_t k) {
  size_t element = k / ((size_t)blocks_each * filled), block = k / filled % blocks_each;
  size_t extent = (size_t)(blocks_each - 1) * (filled + 1) + filled;
  return (element * extent + block * (filled + 1) + k % filled) * page_bytes;
}

static void holes(void) {
  size_t extent = place_of(pages - 1) + page_bytes;
  char* p = malloc(rank == 0 ? extent : pages * page_bytes);
  CHECK(p != NULL);
  MPI_Datatype page, rows;
  MPI_Status s;
  MPI_Count count;
  int n;
  MPI_Type_contiguous(page_bytes, MPI_BYTE, &page);
  MPI_Type_vector(blocks_each, filled, filled + 1, page, &rows);
  MPI_Type_commit(&page);
  MPI_Type_commit(&rows);

  STEP("from a type with holes");
  if (rank == 0) {
    memset(p, 0x55, extent);
    for (size_t k = 0; k < pages; k++) {
      unsigned long long word = word_at(k, 21);
      memcpy(p + place_of(k), &word, 8);
    }
    MPI_Send(p, 2, rows, 1, 7, MPI_COMM_WORLD);
  } else {
    memset(p, 0, pages * page_bytes);
    MPI_Recv(p, (int)pages, page, 0, 7, MPI_COMM_WORLD, &s);
    CHECK_EQ(count_of(&s, page), pages);
    CHECK_EQ(count_of(&s, rows), 2);
    MPI_Get_elements_x(&s, page, &count);
    CHECK_EQ(count, pages * page_bytes);
    MPI_Get_elements(&s, page, &n);
    CHECK_EQ(n, MPI_UNDEFINED);
    for (size_t k = 0; k < pages; k++) {
      unsigned long long word;
      memcpy(&word, p + k * page_bytes, 8);
      CHECK_EQ(word, word_at(k, 21));
      CHECK_EQ(p[k * page_bytes + page_bytes - 1], 0x55);
    }
  }

  STEP("into a type with holes");
  if (rank == 0) {
    memset(p, 0x33, extent);
    MPI_Request r;
    MPI_Irecv(p, 2, rows, 1, 8, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, &s);
    CHECK_EQ(count_of(&s, rows), 2);
    size_t end = 0;
    for (size_t k = 0; k < pages; k++) {
      unsigned long long word;
      memcpy(&word, p + place_of(k), 8);
      CHECK_EQ(word, word_at(k, 21));
      if (place_of(k) != end) CHECK_EQ(first_not(p + end, place_of(k) - end, 0x33), -1);
      end = place_of(k) + page_bytes;
    }
  } else {
    MPI_Send(p, (int)pages, page, 0, 8, MPI_COMM_WORLD);
  }
  MPI_Type_free(&rows);
  MPI_Type_free(&page);
  free(p);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 2);
  int all_of_it = argc > 1 && strcmp(argv[1], "all") == 0, needed = all_of_it ? 14 : 6;
  int enough = free_gib() > needed;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!enough) skip("less than %d GiB of memory are free (%.1f)", needed, free_gib());
  char* p = malloc(bytes);
  CHECK(p != NULL);
  memset(p, rank, bytes);
  MPI_Datatype page, all;
  MPI_Status s;
  MPI_Count count;

  STEP("one element of a large type");
  MPI_Type_contiguous(4096, MPI_BYTE, &page);
  MPI_Datatype parts[2] = {page, MPI_BYTE};
  int blocks[2] = {(int)(bytes / 4096), (int)(bytes % 4096)};
  MPI_Aint at[2] = {0, (MPI_Aint)(bytes / 4096 * 4096)};
  MPI_Type_create_struct(2, blocks, at, parts, &all);
  MPI_Type_commit(&all);
  MPI_Type_commit(&page);
  for (int way = 0; way < (all_of_it ? 2 : 1); way++) {
    MPI_Request r;
    if (rank == 0) {
      mark(p, (unsigned)way);
      if (way == 0) {
        MPI_Send(p, 1, all, 1, way, MPI_COMM_WORLD);
      } else {
        MPI_Isend(p, 1, all, 1, way, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
      }
    } else {
      if (way == 0) {
        MPI_Probe(0, way, MPI_COMM_WORLD, &s);
        MPI_Get_elements_x(&s, MPI_BYTE, &count);
        CHECK_EQ(count, bytes);
        MPI_Recv(p, 1, all, 0, way, MPI_COMM_WORLD, &s);
      } else {
        MPI_Irecv(p, 1, all, 0, way, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, &s);
      }
      CHECK_EQ(s.MPI_SOURCE, 0);
      CHECK_EQ(count_of(&s, all), 1);
      MPI_Get_elements_x(&s, all, &count);
      CHECK_EQ(count, bytes);
      CHECK_EQ(count_of(&s, MPI_BYTE), MPI_UNDEFINED);
      expect(p, (unsigned)way);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  if (!all_of_it) {
    MPI_Type_free(&all);
    MPI_Type_free(&page);
    free(p);
    return end();
  }

  STEP("many elements of a small type, received as others");
  if (rank == 0) {
    mark(p, 7);
    MPI_Send(p, (int)(bytes / 8), MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
  } else {
    memset(p, 0, bytes);
    MPI_Recv(p, (int)(bytes / 8), MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, &s);
    CHECK_EQ(count_of(&s, MPI_DOUBLE), bytes / 8);
    expect(p, 7);
  }

  STEP("a buffer that is too short");
  const size_t less = bytes / 8 - 1000;
  if (rank == 0) {
    mark(p, 8);
    MPI_Send(p, (int)(bytes / 8), MPI_DOUBLE, 1, 9, MPI_COMM_WORLD);
  } else {
    memset(p, 0, bytes);
    memset(p + 8 * less, 0x44, bytes - 8 * less);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQ(error_class(MPI_Recv(p, (int)less, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, &s)), MPI_ERR_TRUNCATE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    // Plain Open MPI 4.1 writes beyond the end of so large a buffer.
    if (under_tasuki()) CHECK_EQ(first_not(p + 8 * less, bytes - 8 * less, 0x44), -1);
  }
  MPI_Barrier(MPI_COMM_WORLD);

#if MPI_VERSION >= 4
  STEP("large counts");
  if (rank == 0) {
    mark(p, 9);
    MPI_Send_c(p, (MPI_Count)bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
    MPI_Recv_c(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request r;
    MPI_Isend_c(p, (MPI_Count)bytes, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  } else {
    memset(p, 0, bytes);
    MPI_Recv_c(p, (MPI_Count)bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &s);
    MPI_Get_count_c(&s, MPI_BYTE, &count);
    CHECK_EQ(count, bytes);
    expect(p, 9);
    memset(p, 0, bytes);
    MPI_Send_c(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    MPI_Message m;
    MPI_Mprobe(0, 6, MPI_COMM_WORLD, &m, &s);
    MPI_Get_count_c(&s, MPI_BYTE, &count);
    CHECK_EQ(count, bytes);
    MPI_Mrecv_c(p, (MPI_Count)bytes, MPI_BYTE, &m, &s);
    MPI_Get_count_c(&s, MPI_BYTE, &count);
    CHECK_EQ(count, bytes);
    expect(p, 9);
  }
#endif
  MPI_Type_free(&all);
  MPI_Type_free(&page);
  free(p);
  MPI_Barrier(MPI_COMM_WORLD);
  holes();
  return end();
}
