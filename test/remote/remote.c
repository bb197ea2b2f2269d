// Typed messages that the MPI library moves, in every mode and form between ranks 0 and 1, printed: what
// arrived (a hash of the whole buffer, gaps included), and all that the status tells. The test compares the
// lines of a plain run with those of runs where both sides pack, or only one. Further ranks only stand by.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static int step;

enum { kSpan = 6 << 20, kMargin = 256 };
static unsigned char *out, *in;

static uint64_t hash(const unsigned char* p, size_t n) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < n; i += 8) {
    uint64_t w = 0;
    memcpy(&w, p + i, n - i < 8 ? n - i : 8);
    h = (h ^ w) * 1099511628211u;
    h ^= h >> 29;
  }
  return h;
}

static void prepare(void) {
  uint64_t x = (uint64_t)++step * 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i < kSpan; i += 8) {
    x += 0x9e3779b97f4a7c15u;
    uint64_t y = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    memcpy(out + i, &y, 8);
  }
  memset(in, 0xee, kSpan);
}

// What a receive into `in` has brought. Without a status: buffer only.
static void report(const char* what, int type_number, long bytes, const MPI_Status* s, MPI_Datatype type) {
  printf("%d %s type %d, %ld bytes: %016llx", rank, what, type_number, bytes,
         (unsigned long long)hash(in, kSpan));
  if (s != MPI_STATUS_IGNORE) {
    int count = -7, elements = -7, cancelled = -7, size;
    MPI_Count elements_x = -7;
    MPI_Get_count(s, type, &count);
    MPI_Get_elements(s, type, &elements);
    MPI_Get_elements_x(s, type, &elements_x);
    MPI_Test_cancelled(s, &cancelled);
    MPI_Type_size(type, &size);
    printf(" from %d tag %d count %d elements %d %lld cancelled %d", s->MPI_SOURCE, s->MPI_TAG, count,
           elements, (long long)elements_x, cancelled);
  }
  printf("\n");
}

// ---- types

enum { kTypes = 7 };
static MPI_Datatype types[kTypes];
static int elements_of[kTypes];  // basic elements of one

static void make_types(void) {
  MPI_Type_vector(16, 1, 3, MPI_DOUBLE, &types[0]);
  MPI_Type_vector(8, 64, 100, MPI_INT, &types[1]);
  int lengths[3] = {1, 3, 2};
  MPI_Aint at[3] = {24, 0, 40};
  MPI_Datatype of[3] = {MPI_INT, MPI_DOUBLE, MPI_SHORT}, plain;
  MPI_Type_create_struct(3, lengths, at, of, &plain);
  MPI_Type_create_resized(plain, 0, 56, &types[2]);
  MPI_Type_free(&plain);
  int list[40];
  for (int i = 0; i < 40; i++) list[i] = (i * 7) % 40 * 3;
  MPI_Type_create_indexed_block(40, 2, list, MPI_FLOAT, &types[3]);
  int sizes[3] = {12, 10, 20}, part[3] = {6, 5, 11}, first[3] = {3, 2, 4};
  MPI_Type_create_subarray(3, sizes, part, first, MPI_ORDER_C, MPI_FLOAT, &types[4]);
  MPI_Type_vector(5, 1, -2, MPI_DOUBLE, &plain);  // downwards
  MPI_Type_create_resized(plain, -64, 88, &types[5]);
  MPI_Type_free(&plain);
  MPI_Type_contiguous(100, MPI_INT, &types[6]);  // dense
  for (int t = 0; t < kTypes; t++) MPI_Type_commit(&types[t]);
}

static MPI_Comm comm;

// Plain MPICH 4.0 over UCX calls long messages truncated when it cuts them inside an element of another size.
#ifdef MPICH_VERSION
enum { kCutsElements = 1, kMixed = 5 };
#else
enum { kCutsElements = 0, kMixed = 2 };
#endif

// ---- the two sides

enum mode { Send, Ssend, Rsend, Bsend, Isend, Issend, Sendrecv, Init, kModes };
static const char* const kModeNames[] = {"Send",  "Ssend",  "Rsend",    "Bsend",
                                         "Isend", "Issend", "Sendrecv", "Init"};
enum form {
  Recv,
  RecvAny,
  RecvNoStatus,
  Probe,
  Mprobe,
  Irecv,
  IrecvTest,
  IrecvAll,
  IrecvAny,
  IrecvSome,
  kForms
};
static const char* const kFormNames[] = {"Recv",  "any",      "ignore",  "Probe",   "Mprobe",
                                         "Irecv", "get+test", "Testall", "Waitany", "Waitsome"};

static void send_one(enum mode mode, int count, MPI_Datatype type, int tag) {
  unsigned char* p = out + kMargin;
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int ready = 0;
  switch (mode) {
    case Send:
      MPI_Send(p, count, type, 1, tag, comm);
      break;
    case Ssend:
      MPI_Ssend(p, count, type, 1, tag, comm);
      break;
    case Rsend:
      MPI_Recv(&ready, 1, MPI_INT, 1, 99, comm, MPI_STATUS_IGNORE);
      MPI_Rsend(p, count, type, 1, tag, comm);
      break;
    case Bsend:
      MPI_Bsend(p, count, type, 1, tag, comm);
      break;
    case Isend:
      MPI_Isend(p, count, type, 1, tag, comm, &r[0]);
      break;
    case Issend:
      MPI_Issend(p, count, type, 1, tag, comm, &r[1]);
      break;
    case Sendrecv:
      MPI_Sendrecv(p, count, type, 1, tag, NULL, 0, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
      break;
    default:
      MPI_Send_init(p, count, type, 1, tag, comm, &r[0]);
      MPI_Start(&r[0]);
      MPI_Wait(&r[0], MPI_STATUS_IGNORE);
      MPI_Request_free(&r[0]);
  }
  // The buffer is the user's again only after the wait; a freed type is alive until then.
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void receive_one(enum mode mode, enum form form, int count, MPI_Datatype type, int tag,
                        MPI_Status* s) {
  unsigned char* p = in + kMargin;
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status all[3];
  MPI_Message m;
  int flag = 0, index = -1, indices[3], n;
  if (mode == Rsend) {  // posted before the sender knows
    MPI_Irecv(p, count, type, 0, tag, comm, &r[1]);
    MPI_Send(&flag, 1, MPI_INT, 0, 99, comm);
    MPI_Wait(&r[1], s);
    return;
  }
  switch (form) {
    case Recv:
      MPI_Recv(p, count, type, 0, tag, comm, s);
      return;
    case RecvAny:
      MPI_Recv(p, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, s);
      return;
    case RecvNoStatus:
      MPI_Recv(p, count, type, 0, tag, comm, MPI_STATUS_IGNORE);
      return;
    case Probe:
      MPI_Probe(0, MPI_ANY_TAG, comm, s);
      report("probe", -1, 0, s, type);
      MPI_Recv(p, count, type, s->MPI_SOURCE, s->MPI_TAG, comm, s);
      return;
    case Mprobe:
      MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &m, s);
      MPI_Mrecv(p, count, type, &m, s);
      return;
    default:
      break;
  }
  MPI_Irecv(p, count, type, form == IrecvAny ? MPI_ANY_SOURCE : 0, tag, comm, &r[1]);
  if (form == Irecv) {
    MPI_Wait(&r[1], s);
  } else if (form == IrecvTest) {
    while (!flag) MPI_Request_get_status(r[1], &flag, s);
    report("complete", -1, 0, s, type);  // what is complete may be read
    flag = 0;
    while (!flag) MPI_Test(&r[1], &flag, s);
  } else if (form == IrecvAll) {
    while (!flag) MPI_Testall(3, r, &flag, all);
    *s = all[1];
  } else if (form == IrecvAny) {
    MPI_Waitany(3, r, &index, s);
    printf("%d index %d\n", rank, index);
  } else {
    MPI_Waitsome(3, r, &n, indices, all);
    printf("%d some %d index %d\n", rank, n, indices[0]);
    *s = all[0];
  }
  if (r[1] != MPI_REQUEST_NULL) printf("%d request left\n", rank);
}

static void one(enum mode mode, enum form form, int t, int send_count, int receive_count,
                MPI_Datatype receive_type) {
  prepare();
  int size;
  MPI_Type_size(types[t], &size);
  MPI_Status s;
  memset(&s, 0, sizeof s);
  char name[64];
  snprintf(name, sizeof name, "%s %s", kModeNames[mode], kFormNames[form]);
  if (rank == 0) {
    send_one(mode, send_count, types[t], 1000 + step);
  } else {
    receive_one(mode, form, receive_count, receive_type, 1000 + step, &s);
    report(name, t, (long)size * send_count, form == RecvNoStatus && mode != Rsend ? MPI_STATUS_IGNORE : &s,
           receive_type);
  }
}

static void matrix(void) {
  static const long bytes[] = {0, 1, 4000, 70000, 300000, 700000};
  for (int t = 0; t < kTypes; t++)
    for (int k = 0; k < 6; k++) {
      if (types[t] == types[2] && k > 2 && kCutsElements) continue;
      int size;
      MPI_Type_size(types[t], &size);
      const int count = (int)((bytes[k] + size - 1) / size);
      for (int n = 0; n < 4; n++) {  // a part of the table for each pair of type and size
        const int pick = (t * 6 + k) * 4 + n;
        one((enum mode)(pick % kModes), (enum form)(pick * 7 / 3 % kForms), t, count, count, types[t]);
      }
      one(Isend, (enum form)(Irecv + (t + k) % 5), t, count, count, types[t]);
    }
}

// Other types on the receiving side, shorter messages than were asked for, parts of elements.
static void mixes(void) {
  for (int form = 0; form < kForms; form++) {
    one(Send, (enum form)form, 0, 1000, 16000, MPI_DOUBLE);  // the receiver is dense
    one(Send, (enum form)form, 0, 1000, 5000, types[0]);     // shorter than asked for
    one(Send, (enum form)form, 0, 999, 3300, types[5]);      // ends within an element: 5 doubles each
    one(Send, (enum form)form, 6, 64 * 77, 1000, types[1]);  // the sender is dense, a part arrives
    one(Isend, (enum form)form, 0, 0, 50, types[0]);         // nothing arrives
  }
}

// Persistent requests that are started again and again, with other data each time, and end in every way.
static void persistent(void) {
  enum { kRequests = 4, kRounds = 6 };
  static const int kCount[kRequests] = {60, 40, 100, 3};
  MPI_Request r[kRequests + 1];
  r[kRequests] = MPI_REQUEST_NULL;
  for (int k = 0; k < kRequests; k++) {
    const int t = k == 3 ? 6 : k;
    unsigned char* const at =
        (rank == 0 ? out : in) + kMargin + (size_t)k * (kSpan - 2 * kMargin) / kRequests;
    if (rank == 1)
      MPI_Recv_init(at, kCount[k], types[t], 0, 2000 + k, comm, &r[k]);
    else if (k % 2 == 0)
      MPI_Send_init(at, kCount[k], types[t], 1, 2000 + k, comm, &r[k]);
    else
      MPI_Ssend_init(at, kCount[k], types[t], 1, 2000 + k, comm, &r[k]);
  }
  for (int round = 0; round < kRounds; round++) {
    prepare();
    MPI_Status s[kRequests + 1];
    memset(s, 0, sizeof s);
    if (round % 2 == 0)
      MPI_Startall(kRequests, r);
    else
      for (int k = 0; k < kRequests; k++) MPI_Start(&r[k]);
    int flag = 0, which, n = 0, some[kRequests + 1];
    switch (round) {
      case 0:
        for (int k = 0; k < kRequests; k++) MPI_Wait(&r[k], &s[k]);
        break;
      case 1:
        for (int k = 0; k < kRequests; k++)
          for (flag = 0; !flag;) MPI_Test(&r[k], &flag, &s[k]);
        break;
      case 2:
        MPI_Waitall(kRequests + 1, r, s);
        break;
      case 3:
        while (!flag) MPI_Testall(kRequests + 1, r, &flag, s);
        break;
      case 4:
        for (int k = 0; k < kRequests; k++) {
          MPI_Status one_status;
          MPI_Waitany(kRequests + 1, r, &which, &one_status);
          s[which] = one_status;
        }
        break;
      default:
        for (int k = 0; k < kRequests; k += n) {
          MPI_Status several[kRequests + 1];
          MPI_Waitsome(kRequests + 1, r, &n, some, several);
          for (int i = 0; i < n; i++) s[some[i]] = several[i];
        }
    }
    for (int k = 0; k < kRequests; k++) {
      if (r[k] == MPI_REQUEST_NULL) printf("%d persistent request gone\n", rank);
      if (rank == 1) report("persistent", k, round, &s[k], types[k == 3 ? 6 : k]);
    }
    MPI_Waitany(kRequests, r, &which, &s[0]);  // all are inactive
    printf("%d none active: %d\n", rank, which == MPI_UNDEFINED);
  }
  // A send that is freed while it is active.
  prepare();
  MPI_Startall(2, r);
  if (rank == 0) MPI_Request_free(&r[0]);
  if (rank == 1) MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Wait(&r[1], MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Request_free(&r[0]);
  for (int k = 1; k < kRequests; k++) MPI_Request_free(&r[k]);
  MPI_Barrier(comm);
}

// A message that ends inside an element of the receive: MPICH calls it truncated, Open MPI does not.
static void part_of_element(void) {
  MPI_Datatype chars, numbers;
  MPI_Type_vector(4097, 1, 2, MPI_CHAR, &chars);
  MPI_Type_vector(2000, 1, 2, MPI_INT, &numbers);
  MPI_Type_commit(&chars);
  MPI_Type_commit(&numbers);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int form = 0; form < 4; form++) {
    prepare();
    MPI_Request r = MPI_REQUEST_NULL;
    int rc = MPI_SUCCESS, class = -1, which, flag = 0;
    MPI_Status s;
    if (rank == 0) MPI_Send(out + kMargin, 1, chars, 1, 6, MPI_COMM_WORLD);
    if (rank == 1 && form > 0) MPI_Irecv(in + kMargin, 1, numbers, 0, 6, MPI_COMM_WORLD, &r);
    if (rank == 1 && form == 0) rc = MPI_Recv(in + kMargin, 1, numbers, 0, 6, MPI_COMM_WORLD, &s);
    if (form == 1) rc = MPI_Wait(&r, &s);
    if (form == 2) rc = MPI_Waitany(1, &r, &which, &s);
    if (form == 3)
      while (!flag && rc == MPI_SUCCESS) rc = MPI_Test(&r, &flag, &s);
    MPI_Error_class(rc, &class);
    printf("%d a part of an element, form %d: %d\n", rank, form, class == MPI_ERR_TRUNCATE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&chars);
  MPI_Type_free(&numbers);
}

// Errors are returned, with the class that plain MPI gives; what arrives then is not defined.
static void errors(void) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int form = 0; form < 2; form++) {
    prepare();
    if (rank == 0) {
      MPI_Send(out + kMargin, 100, types[0], 1, 5, comm);
    } else {
      MPI_Status s;
      int rc, class = -1;
      if (form == 0) {
        rc = MPI_Recv(in + kMargin, 50, types[0], 0, 5, comm, &s);
      } else {
        MPI_Request r;
        MPI_Irecv(in + kMargin, 50, types[0], 0, 5, comm, &r);
        rc = MPI_Wait(&r, &s);
        if (r != MPI_REQUEST_NULL) printf("%d request left\n", rank);
      }
      MPI_Error_class(rc, &class);
      printf("%d truncated: %d, beyond it %d\n", rank, class == MPI_ERR_TRUNCATE,
             in[kMargin + 50 * 16 * 24 + 1] != 0xee);
    }
  }
  if (rank == 0) {
    int rc, class = -1;
    MPI_Request r;
    MPI_Datatype fresh;
    MPI_Type_vector(4, 1, 3, MPI_DOUBLE, &fresh);
    rc = MPI_Send(out, 1, fresh, 1, 5, comm);
    MPI_Error_class(rc, &class);
    printf("%d not committed: %d\n", rank, class == MPI_ERR_TYPE);
    MPI_Type_free(&fresh);
    rc = MPI_Send(out + kMargin, 1000, types[0], 77, 5, comm);
    MPI_Error_class(rc, &class);
    printf("%d no such rank: %d\n", rank, class == MPI_ERR_RANK);
    rc = MPI_Isend(out + kMargin, 1000, types[0], 1, -5, comm, &r);
    MPI_Error_class(rc, &class);
    printf("%d bad tag: %d\n", rank, class == MPI_ERR_TAG);
    rc = MPI_Send(out + kMargin, -1, types[0], 1, 5, comm);
    MPI_Error_class(rc, &class);
    printf("%d bad count: %d\n", rank, class == MPI_ERR_COUNT);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

// Both directions at once; lists that mix typed and dense; a type freed while it is in use; a freed send; a
// cancelled receive; MPI_PROC_NULL; MPI_BOTTOM.
static void crowd(void) {
  MPI_Request r[12];
  MPI_Status s[12];
  prepare();
  const int other = 1 - rank;
  int n = 0;
  for (int k = 0; k < 4; k++) {
    MPI_Datatype d;
    MPI_Type_vector(3000, 2, 4 + k, MPI_INT, &d);
    MPI_Type_commit(&d);
    MPI_Irecv(in + kMargin + (k << 20), 2, d, other, k, comm, &r[n++]);
    MPI_Type_free(&d);
  }
  MPI_Irecv(in + (5 << 20), 5000, MPI_INT, other, 4, comm, &r[n++]);
  for (int k = 0; k < 4; k++) {
    MPI_Datatype d;
    MPI_Type_create_hvector(6000, 1, 12 + 4 * k, MPI_INT, &d);
    MPI_Type_commit(&d);
    MPI_Isend(out + kMargin + k * 1000, 2, d, other, k, comm, &r[n++]);
    MPI_Type_free(&d);
  }
  MPI_Isend(out, 5000, MPI_INT, other, 4, comm, &r[n++]);
  r[n++] = MPI_REQUEST_NULL;
  int done = 0;
  while (done < 5) {  // the receives one by one, then the rest
    int index;
    MPI_Waitany(5, r, &index, &s[0]);
    int count;
    MPI_Get_count(&s[0], MPI_INT, &count);
    if (count != (index < 4 ? 12000 : 5000)) printf("%d count %d of %d\n", rank, count, index);
    done++;
  }
  MPI_Waitall(n, r, s);
  for (int i = 0; i < n; i++)
    if (r[i] != MPI_REQUEST_NULL) printf("%d request %d left\n", rank, i);
  report("crowd", 0, 0, MPI_STATUS_IGNORE, MPI_INT);

  prepare();
  MPI_Sendrecv(out + kMargin, 3000, types[kMixed], other, 1, in + kMargin, 3000, types[kMixed], other, 1,
               comm, &s[0]);
  report("exchange", 2, 0, &s[0], types[kMixed]);
  prepare();
  MPI_Sendrecv(out + kMargin, 9000, MPI_DOUBLE, other, 1, in + kMargin, 600, types[0], other, 1, comm, &s[0]);
  report("exchange", 0, 0, &s[0], types[0]);
  prepare();
  memcpy(in, out, kSpan);
  MPI_Sendrecv_replace(in + kMargin, 3000, types[kMixed], other, 1, other, 1, comm, &s[0]);
  report("replace", 2, 0, &s[0], types[kMixed]);

  prepare();
  MPI_Recv(in + kMargin, 3000, types[kMixed], MPI_PROC_NULL, 1, comm, &s[0]);
  report("nobody", 2, 0, &s[0], types[kMixed]);
  MPI_Send(out + kMargin, 3000, types[kMixed], MPI_PROC_NULL, 1, comm);

  prepare();
  MPI_Irecv(in + kMargin, 3000, types[kMixed], other, 17, comm, &r[0]);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], &s[0]);
  MPI_Test_cancelled(&s[0], &n);
  printf("%d cancelled %d %d\n", rank, n, r[0] == MPI_REQUEST_NULL);
  report("cancelled", 2, 0, MPI_STATUS_IGNORE, MPI_INT);

  prepare();
  MPI_Irecv(in + kMargin, 30000, types[0], other, 18, comm, &r[0]);
  MPI_Isend(out + kMargin, 8000, types[0], other, 18, comm, &r[1]);
  MPI_Request_free(&r[1]);
  MPI_Wait(&r[0], &s[0]);
  report("freed send", 0, 0, &s[0], types[0]);
  MPI_Sendrecv(NULL, 0, MPI_INT, other, 20, NULL, 0, MPI_INT, other, 20, comm, MPI_STATUS_IGNORE);

  prepare();
  MPI_Datatype absolute;
  MPI_Aint at[2];
  int lengths[2] = {3000, 2000};
  MPI_Get_address(in + kMargin, &at[0]);
  MPI_Get_address(in + (1 << 20), &at[1]);
  MPI_Type_create_hindexed(2, lengths, at, types[kMixed], &absolute);
  MPI_Type_commit(&absolute);
  MPI_Irecv(MPI_BOTTOM, 1, absolute, other, 19, comm, &r[0]);
  MPI_Send(out + kMargin, 5000, types[kMixed], other, 19, comm);
  MPI_Wait(&r[0], &s[0]);
  report("bottom", 2, 0, &s[0], types[kMixed]);
  MPI_Type_free(&absolute);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank);
  if (freopen(path, "w", stdout) == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  out = malloc(kSpan);
  in = malloc(kSpan);
  static char attached[4 << 20];
  MPI_Buffer_attach(attached, sizeof attached);
  make_types();
  comm = MPI_COMM_WORLD;
  if (rank < 2) {
    matrix();
    mixes();
    errors();
    part_of_element();
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(comm);
  if (rank < 2) crowd();
  MPI_Comm_free(&comm);
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, rank, &pair);
  comm = pair;
  if (rank < 2) persistent();
  MPI_Comm_free(&pair);
  for (int t = 0; t < kTypes; t++) MPI_Type_free(&types[t]);
  void* address;
  int size;
  MPI_Buffer_detach(&address, &size);
  free(in);
  free(out);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
