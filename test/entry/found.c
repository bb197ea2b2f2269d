// What a program finds by dlsym or a weak reference works, whether or not the MPI library has it: mpi4py asks
// so for every function of MPI-4, and uses those that it finds. Arguments: the shim's list of exported names,
// the library's file name.
//
// A name that the process has and the library lacks must be called here, on a communicator that Tasuki
// handles and on one that it passes on.
#include <dlfcn.h>

#include "../p2p/check.h"

static MPI_Comm comm;
static int other;
static int numbers[4], in[4];
static char packed[100];
static MPI_Status status;
static MPI_Request request[2];
static const MPI_Count four = 4, room = sizeof packed;
static MPI_Count at;
static MPI_Message message;
static int has;  // the library has the function

static void fresh(void) {
  for (int i = 0; i < 4; i++) {
    numbers[i] = 1000 * rank + i;
    in[i] = -1;
  }
  at = 0;
}

static void arrived(int from) {
  for (int i = 0; i < 4; i++) CHECK_EQ(in[i], 1000 * from + i);
}

// Each function by its name, as the program would declare it.
static void (*function)(void);
#define CALL(type) ((type)function)

typedef int (*Send)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int (*Isend)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int (*Recv)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
typedef int (*Irecv)(void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
typedef int (*Mrecv)(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*);
typedef int (*Imrecv)(void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Request*);
typedef int (*Bcast)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int (*Collect)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm);
typedef int (*CollectAt)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm);
typedef int (*Ibcast)(void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request*);
typedef int (*Icollect)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm,
                        MPI_Request*);
typedef int (*IcollectAt)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm,
                          MPI_Request*);
typedef int (*Sendrecv)(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int,
                        int, MPI_Comm, MPI_Status*);
typedef int (*Isendrecv)(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                         MPI_Comm, MPI_Request*);
typedef int (*IsendrecvC)(const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int,
                          int, MPI_Comm, MPI_Request*);
typedef int (*Replace)(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
typedef int (*Ireplace)(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
typedef int (*IreplaceC)(void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request*);
typedef int (*Pack)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm);
typedef int (*Unpack)(const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype, MPI_Comm);
typedef int (*PackExternal)(const char*, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*);
typedef int (*UnpackExternal)(const char*, const void*, MPI_Count, MPI_Count*, void*, MPI_Count,
                              MPI_Datatype);
typedef int (*Attach)(void*, MPI_Count);
typedef int (*Detach)(void*, MPI_Count*);
typedef int (*Put)(const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win);
typedef int (*Rput)(const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win,
                    MPI_Request*);
typedef int (*Accumulate)(const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                          MPI_Op, MPI_Win);
typedef int (*Raccumulate)(const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                           MPI_Op, MPI_Win, MPI_Request*);
typedef int (*Fetch)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Aint,
                     MPI_Count, MPI_Datatype, MPI_Op, MPI_Win);
typedef int (*Rfetch)(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Aint,
                      MPI_Count, MPI_Datatype, MPI_Op, MPI_Win, MPI_Request*);

static void post(void) {
  MPI_Irecv(in, 4, MPI_INT, other, 5, comm, &request[0]);
}

static void received(void) {
  MPI_Wait(&request[0], &status);
  arrived(other);
}

static int starts_with(const char* name, const char* prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

// The one-sided functions: the other rank's numbers, on top of ours, get here; or ours get there.
static int call_one_sided(const char* name) {
  static const char* const kNames[] = {
      "MPI_Put_c",  "MPI_Get_c",  "MPI_Accumulate_c",  "MPI_Get_accumulate_c",
      "MPI_Rput_c", "MPI_Rget_c", "MPI_Raccumulate_c", "MPI_Rget_accumulate_c"};
  size_t n = 0;
  while (n < sizeof kNames / sizeof kNames[0] && strcmp(name, kNames[n]) != 0) n++;
  if (n == sizeof kNames / sizeof kNames[0]) return 0;
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof numbers, sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  const int reads = strstr(name, "et") != NULL;
  memcpy(memory, reads ? numbers : in, sizeof numbers);
  MPI_Barrier(comm);
  MPI_Win_lock_all(0, win);
  request[0] = MPI_REQUEST_NULL;
  int rc = MPI_ERR_OTHER;
  if (n == 0) rc = CALL(Put)(numbers, four, MPI_INT, other, 0, 4, MPI_INT, win);
  if (n == 1) rc = CALL(Put)(in, four, MPI_INT, other, 0, 4, MPI_INT, win);
  if (n == 2) rc = CALL(Accumulate)(numbers, four, MPI_INT, other, 0, 4, MPI_INT, MPI_REPLACE, win);
  if (n == 3) rc = CALL(Fetch)(in, four, MPI_INT, in, four, MPI_INT, other, 0, 4, MPI_INT, MPI_NO_OP, win);
  if (n == 4) rc = CALL(Rput)(numbers, four, MPI_INT, other, 0, 4, MPI_INT, win, &request[0]);
  if (n == 5) rc = CALL(Rput)(in, four, MPI_INT, other, 0, 4, MPI_INT, win, &request[0]);
  if (n == 6)
    rc = CALL(Raccumulate)(numbers, four, MPI_INT, other, 0, 4, MPI_INT, MPI_REPLACE, win, &request[0]);
  if (n == 7)
    rc = CALL(Rfetch)(NULL, 0, MPI_INT, in, four, MPI_INT, other, 0, 4, MPI_INT, MPI_NO_OP, win, &request[0]);
  CHECK_EQ(rc, MPI_SUCCESS);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  if (!reads) memcpy(in, memory, sizeof in);
  arrived(other);
  MPI_Win_free(&win);
  return 1;
}

// Returns whether it knows how.
// The collective functions that move data, blocking or not (MPI_I...). What comes: two numbers of each rank, or of a neighbour.
static int call_collective(const char* name) {
  const int later = name[4] == 'I';
  const char* kind = name + (later ? 5 : 4);
  const int alltoall = strstr(kind, "lltoall_c") != NULL, first = alltoall ? 2 * rank : 0, two = 2, ends = 0;
  if (strcmp(kind + 1, "llgather_c") == 0 || strcmp(kind + 1, "lltoall_c") == 0) {
    if (later)
      CHECK_EQ(CALL(Icollect)(numbers, 2, MPI_INT, in, 2, MPI_INT, comm, &request[0]), MPI_SUCCESS);
    else
      CHECK_EQ(CALL(Collect)(numbers, 2, MPI_INT, in, 2, MPI_INT, comm), MPI_SUCCESS);
    if (later) MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) CHECK_EQ(in[i], 1000 * (i / 2) + first + i % 2);
  } else if (starts_with(kind + 1, "eighbor_all") && (alltoall || strstr(kind, "_allgather_c"))) {
    // In a row of two each has one neighbour: rank 0 behind it, rank 1 before it.
    MPI_Comm row;
    MPI_Cart_create(comm, 1, &two, &ends, 0, &row);
    if (later)
      CHECK_EQ(CALL(Icollect)(numbers, 2, MPI_INT, in, 2, MPI_INT, row, &request[0]), MPI_SUCCESS);
    else
      CHECK_EQ(CALL(Collect)(numbers, 2, MPI_INT, in, 2, MPI_INT, row), MPI_SUCCESS);
    if (later) MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) CHECK_EQ(in[i], i / 2 == other ? 1000 * other + first + i % 2 : -1);
    MPI_Comm_free(&row);
  } else if (strcmp(kind + 1, "ather_c") == 0 || strcmp(kind + 1, "catter_c") == 0) {
    const int gathers = kind[1] == 'a';
    if (later)
      CHECK_EQ(CALL(IcollectAt)(numbers, 2, MPI_INT, in, 2, MPI_INT, 1, comm, &request[0]), MPI_SUCCESS);
    else
      CHECK_EQ(CALL(CollectAt)(numbers, 2, MPI_INT, in, 2, MPI_INT, 1, comm), MPI_SUCCESS);
    if (later) MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) {
      if (gathers)
        CHECK_EQ(in[i], rank == 1 ? 1000 * (i / 2) + i % 2 : -1);
      else
        CHECK_EQ(in[i], i < 2 ? 1000 + 2 * rank + i : -1);
    }
  } else if (strcmp(kind + 1, "cast_c") == 0) {
    if (rank == 1) memcpy(in, numbers, sizeof in);
    if (later)
      CHECK_EQ(CALL(Ibcast)(in, four, MPI_INT, 1, comm, &request[0]), MPI_SUCCESS);
    else
      CHECK_EQ(CALL(Bcast)(in, four, MPI_INT, 1, comm), MPI_SUCCESS);
    if (later) MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    arrived(1);
  } else {
    return call_one_sided(name);
  }
  return 1;
}

static int call(const char* name) {
  fresh();
  if (starts_with(name, "MPI_Ibsend") || starts_with(name, "MPI_Isend_c") ||
      starts_with(name, "MPI_Issend") || starts_with(name, "MPI_Irsend") ||
      (strstr(name, "end_init") && !starts_with(name, "MPI_Psend"))) {
    post();
    MPI_Barrier(comm);
    CHECK_EQ(CALL(Isend)(numbers, four, MPI_INT, other, 5, comm, &request[1]), MPI_SUCCESS);
    const int persistent = strstr(name, "init") != NULL;
    if (persistent) MPI_Start(&request[1]);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(&request[1]);
    received();
  } else if (strcmp(name, "MPI_Send_c") == 0 || starts_with(name, "MPI_Ssend_c") ||
             starts_with(name, "MPI_Rsend_c") || starts_with(name, "MPI_Bsend_c")) {
    post();
    MPI_Barrier(comm);
    CHECK_EQ(CALL(Send)(numbers, four, MPI_INT, other, 5, comm), MPI_SUCCESS);
    received();
    // More elements than an int can count, in no bytes.
    MPI_Datatype nothing;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_Irecv(in, 0, MPI_INT, other, 6, comm, &request[0]);
    MPI_Barrier(comm);
    CHECK_EQ(CALL(Send)(numbers, 3000000000, nothing, other, 6, comm), MPI_SUCCESS);
    MPI_Wait(&request[0], &status);
    CHECK_EQ(count_of(&status, MPI_INT), 0);
    MPI_Type_free(&nothing);
  } else if (strcmp(name, "MPI_Recv_c") == 0) {
    MPI_Isend(numbers, 4, MPI_INT, other, 5, comm, &request[1]);
    CHECK_EQ(CALL(Recv)(in, four, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status), MPI_SUCCESS);
    CHECK_EQ(status.MPI_SOURCE, other);
    CHECK_EQ(count_of(&status, MPI_INT), 4);
    arrived(other);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
  } else if (strcmp(name, "MPI_Irecv_c") == 0 || strcmp(name, "MPI_Recv_init_c") == 0) {
    CHECK_EQ(CALL(Irecv)(in, four, MPI_INT, other, 5, comm, &request[0]), MPI_SUCCESS);
    const int persistent = strstr(name, "init") != NULL;
    if (persistent) MPI_Start(&request[0]);
    MPI_Send(numbers, 4, MPI_INT, other, 5, comm);
    received();
    if (persistent) MPI_Request_free(&request[0]);
  } else if (strcmp(name, "MPI_Mrecv_c") == 0 || strcmp(name, "MPI_Imrecv_c") == 0) {
    MPI_Isend(numbers, 4, MPI_INT, other, 5, comm, &request[1]);
    MPI_Mprobe(other, 5, comm, &message, &status);
    if (name[4] == 'M') {
      CHECK_EQ(CALL(Mrecv)(in, four, MPI_INT, &message, &status), MPI_SUCCESS);
      arrived(other);
    } else {
      CHECK_EQ(CALL(Imrecv)(in, four, MPI_INT, &message, &request[0]), MPI_SUCCESS);
      received();
    }
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
  } else if (strcmp(name, "MPI_Sendrecv_c") == 0) {
    CHECK_EQ(CALL(Sendrecv)(numbers, four, MPI_INT, other, 5, in, four, MPI_INT, other, 5, comm, &status),
             MPI_SUCCESS);
    CHECK_EQ(count_of(&status, MPI_INT), 4);
    arrived(other);
  } else if (starts_with(name, "MPI_Isendrecv") && !strstr(name, "replace")) {
    if (strstr(name, "_c"))
      CHECK_EQ(
          CALL(IsendrecvC)(numbers, four, MPI_INT, other, 5, in, four, MPI_INT, other, 5, comm, &request[0]),
          MPI_SUCCESS);
    else
      CHECK_EQ(CALL(Isendrecv)(numbers, 4, MPI_INT, other, 5, in, 4, MPI_INT, other, 5, comm, &request[0]),
               MPI_SUCCESS);
    received();
    if (!has) CHECK_EQ(status.MPI_SOURCE, other);
  } else if (strstr(name, "endrecv_replace")) {
    memcpy(in, numbers, sizeof in);
    if (name[4] == 'S') {
      CHECK_EQ(CALL(Replace)(in, four, MPI_INT, other, 5, other, 5, comm, &status), MPI_SUCCESS);
    } else {
      if (strstr(name, "_c"))
        CHECK_EQ(CALL(IreplaceC)(in, four, MPI_INT, other, 5, other, 5, comm, &request[0]), MPI_SUCCESS);
      else
        CHECK_EQ(CALL(Ireplace)(in, 4, MPI_INT, other, 5, other, 5, comm, &request[0]), MPI_SUCCESS);
      MPI_Wait(&request[0], &status);
    }
    // Not so in plain MPICH 4.0.
    if (!has) CHECK_EQ(count_of(&status, MPI_INT), 4);
    arrived(other);
  } else if (strcmp(name, "MPI_Pack_c") == 0 || strcmp(name, "MPI_Unpack_c") == 0) {
    int position = 0;
    if (name[4] == 'P') {
      CHECK_EQ(CALL(Pack)(numbers, four, MPI_INT, packed, room, &at, comm), MPI_SUCCESS);
      MPI_Unpack(packed, (int)at, &position, in, 4, MPI_INT, comm);
    } else {
      MPI_Pack(numbers, 4, MPI_INT, packed, sizeof packed, &position, comm);
      CHECK_EQ(CALL(Unpack)(packed, position, &at, in, four, MPI_INT, comm), MPI_SUCCESS);
    }
    CHECK_EQ(at, position);
    arrived(rank);
  } else if (strcmp(name, "MPI_Pack_external_c") == 0 || strcmp(name, "MPI_Unpack_external_c") == 0) {
    MPI_Aint position = 0;
    if (name[4] == 'P') {
      CHECK_EQ(CALL(PackExternal)("external32", numbers, four, MPI_INT, packed, room, &at), MPI_SUCCESS);
      MPI_Unpack_external("external32", packed, (MPI_Aint)at, &position, in, 4, MPI_INT);
    } else {
      MPI_Pack_external("external32", numbers, 4, MPI_INT, packed, sizeof packed, &position);
      CHECK_EQ(CALL(UnpackExternal)("external32", packed, position, &at, in, four, MPI_INT), MPI_SUCCESS);
    }
    CHECK_EQ(at, position);
    arrived(rank);
  } else if (strcmp(name, "MPI_Buffer_attach_c") == 0 || strcmp(name, "MPI_Buffer_detach_c") == 0) {
    static char more[5000];
    void* old;
    int size;
    MPI_Buffer_detach(&old, &size);
    void* was = NULL;
    if (name[11] == 'a') {
      CHECK_EQ(CALL(Attach)(more, sizeof more), MPI_SUCCESS);
      int n = 0;
      MPI_Buffer_detach(&was, &n);
      at = n;
    } else {
      MPI_Buffer_attach(more, sizeof more);
      CHECK_EQ(CALL(Detach)(&was, &at), MPI_SUCCESS);
    }
    CHECK(was == more);
    CHECK_EQ(at, sizeof more);
    MPI_Buffer_attach(old, size);
  } else {
    return call_collective(name);
  }
  return 1;
}

// As mpi4py declares what it looks for.
extern int MPI_Comm_flush_buffer(MPI_Comm) __attribute__((weak));

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm idup;
  static char space[100000];
  char line[256], name[256], tried[128];
  int found = 0, missing = 0, called = 0;
  CHECK_EQ(ranks, 2);
  other = 1 - rank;
  MPI_Comm_idup(MPI_COMM_WORLD, &idup, &request[0]);
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  MPI_Buffer_attach(space, sizeof space);
  void* library = argc > 2 ? dlopen(argv[2], RTLD_NOLOAD | RTLD_LAZY) : NULL;
  CHECK(library != NULL);
  FILE* exports = fopen(argv[1], "r");
  CHECK(exports != NULL);
  while (fgets(line, sizeof line, exports)) {
    if (sscanf(line, " MPI_%100[A-Za-z_0-9];", tried) != 1) continue;
    snprintf(name, sizeof name, "MPI_%s", tried);
    STEP(name);
    *(void**)&function = dlsym(RTLD_DEFAULT, name);
    has = dlsym(library, name) != NULL;
    if (has) CHECK(function != NULL);
    if (strcmp(name, "MPI_Comm_flush_buffer") == 0) CHECK_EQ(MPI_Comm_flush_buffer != NULL, has);
    if (function == NULL) {
      missing++;
      continue;
    }
    found++;
    comm = MPI_COMM_WORLD;
    int known = call(name);
    comm = idup;
    if (known) call(name);
    called += known;
    if (!known && !has) fail_at(__FILE__, __LINE__, name, 0, 0, 0);
  }
  fclose(exports);
  CHECK(found > 50);
  if (rank == 0) printf("%d found, %d not, %d called\n", found, missing, called);
  void* buffer;
  int size;
  MPI_Buffer_detach(&buffer, &size);
  MPI_Comm_free(&idup);
  return end();
}
