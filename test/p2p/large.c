// One message of more than 2 GiB: by a derived type, and (MPI-4) by the functions with large counts.
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
static void mark(char* p, unsigned salt) {
  for (size_t i = 0; i + 8 <= bytes; i += 4096) {
    unsigned long long word = i * 0x9e3779b97f4a7c15u + salt;
    memcpy(p + i, &word, 8);
  }
}

static void expect(const char* p, unsigned salt) {
  for (size_t i = 0; i + 8 <= bytes; i += 4096) {
    unsigned long long word;
    memcpy(&word, p + i, 8);
    if (word != i * 0x9e3779b97f4a7c15u + salt) {
      fprintf(stderr, "first wrong word at byte %zu\n", i);
      CHECK(!"message is whole");
    }
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 2);
  int enough = free_gib() > 12;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!enough) {
    if (rank == 0) printf("SKIP: less than 12 GiB of memory are free (%.1f)\n", free_gib());
    MPI_Finalize();
    return 77;
  }
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
  for (int way = 0; way < 2; way++) {
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
  return end();
}
