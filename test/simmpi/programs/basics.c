// Messages in all modes, wildcards, probing, persistent requests, groups, communicators, topologies, datatypes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(c)                                                     \
  do {                                                               \
    if (!(c)) {                                                      \
      fprintf(stderr, "rank %d: line %d: %s\n", rank, __LINE__, #c); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                  \
    }                                                                \
  } while (0)

static int rank, size;
int global = 5;   // initialised data
static int zero;  // bss
static int* pointer = &global;

static void modes(void) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int out = rank, in = -1;
  MPI_Status st;
  MPI_Request r[2];
  MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &st);
  CHECK(in == before && st.MPI_SOURCE == before && st.MPI_TAG == 1);
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
  MPI_Issend(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &r[1]);
  MPI_Status sts[2];
  MPI_Waitall(2, r, sts);
  int n;
  MPI_Get_count(&sts[0], MPI_INT, &n);
  CHECK(in == before && n == 1 && sts[0].MPI_TAG == 7 && r[0] == MPI_REQUEST_NULL);
  // Buffered, then probed.
  char *buffer = malloc(10000 + MPI_BSEND_OVERHEAD), message[1000];
  MPI_Buffer_attach(buffer, 10000);
  memset(message, rank & 127, sizeof message);
  MPI_Bsend(message, 1000, MPI_CHAR, next, 2, MPI_COMM_WORLD);
  memset(message, 1, sizeof message);
  MPI_Probe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &st);
  MPI_Get_count(&st, MPI_CHAR, &n);
  CHECK(n == 1000 && st.MPI_SOURCE == before);
  MPI_Recv(message, 1000, MPI_CHAR, st.MPI_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(message[0] == (before & 127) && message[999] == (before & 127));
  void* back;
  int bytes;
  MPI_Buffer_detach(&back, &bytes);
  CHECK(back == buffer && bytes == 10000);
  free(buffer);
  // Persistent, three times; matched probe; cancel.
  MPI_Request p[2];
  MPI_Recv_init(&in, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &p[0]);
  MPI_Send_init(&out, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &p[1]);
  for (int i = 0; i < 3; i++) {
    out = rank * 10 + i;
    MPI_Startall(2, p);
    MPI_Waitall(2, p, MPI_STATUSES_IGNORE);
    CHECK(in == before * 10 + i);
  }
  MPI_Request_free(&p[0]);
  MPI_Request_free(&p[1]);
  MPI_Isend(&out, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &r[0]);
  MPI_Message m;
  MPI_Mprobe(before, 4, MPI_COMM_WORLD, &m, &st);
  MPI_Mrecv(&in, 1, MPI_INT, &m, &st);
  CHECK(in == before * 10 + 2 && m == MPI_MESSAGE_NULL);
  int flag = 0;
  while (!flag) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(&in, 1, MPI_INT, before, 99, MPI_COMM_WORLD, &r[0]);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], &st);
  MPI_Test_cancelled(&st, &flag);
  CHECK(flag);
  MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &st);
  CHECK(st.MPI_SOURCE == MPI_PROC_NULL);
  // A long message, in order with short ones of the same tag.
  const int many = 100000;
  double *a = malloc(sizeof(double) * many), *b = malloc(sizeof(double) * many);
  for (int i = 0; i < many; i++) a[i] = rank + i;
  MPI_Isend(a, many, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(&out, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &r[1]);
  MPI_Recv(b, many, MPI_DOUBLE, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&in, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < many; i++) CHECK(b[i] == before + i);
  free(a);
  free(b);
  // Waitany over wildcards.
  if (rank == 0) {
    int values[64], got = 0;
    MPI_Request q[64];
    for (int i = 1; i < size && i < 64; i++) MPI_Irecv(&values[i], 1, MPI_INT, i, 6, MPI_COMM_WORLD, &q[i]);
    q[0] = MPI_REQUEST_NULL;
    for (int i = 1; i < size && i < 64; i++) {
      int index;
      MPI_Waitany(size < 64 ? size : 64, q, &index, &st);
      CHECK(values[index] == index * index);
      got++;
    }
    CHECK(got == (size < 64 ? size : 64) - 1);
  } else if (rank < 64) {
    int v = rank * rank;
    MPI_Ssend(&v, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
}

static int copies, deletions;
static int copy_attribute(MPI_Comm c, int k, void* extra, void* in, void* out, int* flag) {
  (void)c;
  (void)k;
  (void)extra;
  copies++;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_attribute(MPI_Comm c, int k, void* v, void* extra) {
  (void)c;
  (void)k;
  (void)v;
  (void)extra;
  deletions++;
  return MPI_SUCCESS;
}

static void communicators(void) {
  MPI_Comm dup, half, cart, row;
  int key, flag, r, n;
  void* value;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, 0);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_attr(dup, key, (void*)100);
  MPI_Comm again;
  MPI_Comm_dup(dup, &again);
  MPI_Comm_get_attr(again, key, &value, &flag);
  CHECK(flag && value == (void*)101 && copies == 1);
  MPI_Comm_free(&again);
  CHECK(deletions == 1 && again == MPI_COMM_NULL);
  MPI_Comm_compare(dup, MPI_COMM_WORLD, &r);
  CHECK(r == MPI_CONGRUENT);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_size(half, &n);
  MPI_Comm_rank(half, &r);
  CHECK(n == (size + 1 - rank % 2) / 2);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
  int expected = 0;
  for (int i = rank % 2; i < size; i += 2) expected += i;
  CHECK(sum == expected);
  // Keys turn the order around.
  MPI_Group all, sub;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(half, &sub);
  int zero_rank = 0, world;
  MPI_Group_translate_ranks(sub, 1, &zero_rank, all, &world);
  CHECK(world == (size - 1 - rank % 2) / 2 * 2 + rank % 2);
  MPI_Group_free(&sub);
  MPI_Group_free(&all);
  int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], up, down;
  MPI_Dims_create(size, 2, dims);
  CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
  MPI_Cart_coords(cart, rank, 2, coords);
  CHECK(coords[0] * dims[1] + coords[1] == rank);
  MPI_Cart_shift(cart, 1, 1, &down, &up);
  CHECK((coords[1] == dims[1] - 1) == (up == MPI_PROC_NULL) && (coords[1] == 0) == (down == MPI_PROC_NULL));
  int remain[2] = {0, 1};
  MPI_Cart_sub(cart, remain, &row);
  MPI_Comm_size(row, &n);
  CHECK(n == dims[1]);
  int around[4] = {-1, -1, -1, -1};
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, around, 1, MPI_INT, cart);
  MPI_Cart_shift(cart, 0, 1, &down, &up);
  CHECK(around[0] == down && around[1] == up);
  MPI_Comm_free(&row);
  MPI_Comm_free(&cart);
  MPI_Comm_free(&half);
  MPI_Comm_free(&dup);
  if (size > 1) {
    MPI_Comm part, inter, merged;
    const int upper = rank >= (size + 1) / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, upper ? 0 : (size + 1) / 2, 5, &inter);
    MPI_Comm_remote_size(inter, &n);
    CHECK(n == (upper ? (size + 1) / 2 : size / 2));
    MPI_Intercomm_merge(inter, upper, &merged);
    MPI_Comm_rank(merged, &r);
    CHECK(r == rank);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
  }
}

static void types(void) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int a[10][10], b[10][10];
  memset(b, 0, sizeof b);
  for (int i = 0; i < 100; i++) a[i / 10][i % 10] = rank * 1000 + i;
  MPI_Datatype column, block;
  MPI_Type_vector(10, 1, 10, MPI_INT, &column);
  MPI_Type_commit(&column);
  int starts[2] = {2, 3}, sub[2] = {4, 5}, full[2] = {10, 10};
  MPI_Type_create_subarray(2, full, sub, starts, MPI_ORDER_C, MPI_INT, &block);
  MPI_Type_commit(&block);
  MPI_Sendrecv(&a[0][2], 1, column, next, 0, &b[0][7], 1, column, before, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < 10; i++) CHECK(b[i][7] == before * 1000 + i * 10 + 2);
  memset(b, 0, sizeof b);
  MPI_Sendrecv(a, 1, block, next, 0, b, 1, block, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 10; i++)
    for (int j = 0; j < 10; j++)
      CHECK(b[i][j] == (i >= 2 && i < 6 && j >= 3 && j < 8 ? before * 1000 + i * 10 + j : 0));
  int ni, na, nd, combiner;
  MPI_Type_get_envelope(block, &ni, &na, &nd, &combiner);
  CHECK(ni == 8 && na == 0 && nd == 1 && combiner == MPI_COMBINER_SUBARRAY);
  int ints[8];
  MPI_Datatype old;
  MPI_Type_get_contents(block, 8, 0, 1, ints, 0, &old);
  CHECK(ints[0] == 2 && ints[1] == 10 && ints[3] == 4 && ints[6] == 3 && ints[7] == MPI_ORDER_C &&
        old == MPI_INT);
  struct {
    char c;
    double d;
  } s = {(char)rank, rank * 0.5}, t;
  MPI_Aint at[2] = {0, (char*)&s.d - (char*)&s}, lb, extent;
  int lengths[2] = {1, 1};
  MPI_Datatype parts[2] = {MPI_CHAR, MPI_DOUBLE}, record;
  MPI_Type_create_struct(2, lengths, at, parts, &record);
  MPI_Type_commit(&record);
  MPI_Type_get_extent(record, &lb, &extent);
  CHECK(lb == 0 && extent == sizeof s);
  MPI_Status st;
  MPI_Sendrecv(&s, 1, record, next, 0, &t, 1, record, before, 0, MPI_COMM_WORLD, &st);
  int n;
  MPI_Get_elements(&st, record, &n);
  CHECK(t.c == (char)before && t.d == before * 0.5 && n == 2);
  char packed[64];
  int position = 0;
  MPI_Pack(&s, 1, record, packed, 64, &position, MPI_COMM_WORLD);
  CHECK(position == 9);
  position = 0;
  memset(&t, 0, sizeof t);
  MPI_Unpack(packed, 64, &position, &t, 1, record, MPI_COMM_WORLD);
  CHECK(t.d == rank * 0.5);
  MPI_Type_free(&record);
  MPI_Type_free(&block);
  MPI_Type_free(&column);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(global == 5 && zero == 0 && pointer == &global);
  global += rank;
  zero = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*pointer == 5 + rank && zero == rank);
  const double begin = MPI_Wtime();
  modes();
  communicators();
  types();
  CHECK(MPI_Wtime() > begin);
  CHECK(*pointer == 5 + rank && zero == rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ok %d\n", size);
  MPI_Finalize();
  return 0;
}
