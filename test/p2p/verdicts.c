// Prints what calls say that have nothing to send, whose message does not fit, or that complete several
// requests of which one has failed: classes, statuses, what is left. Plain and under Tasuki the lines are the
// same (mpi_run.py --compare).
#include <stdarg.h>

#include "check.h"

enum { room_for_lines = 1 << 20, most = 300000 };
static char lines[room_for_lines];
static size_t used;
static MPI_Comm comm, quiet;  // with a handler that counts; for what the program itself has to say
static int handler_calls, handler_class;
static MPI_Comm handler_comm;
static unsigned char out[most], in[2 * most];

static const char* class_name(int code) {
  static char number[32];
  if (code == MPI_SUCCESS) return "success";
  switch (error_class(code)) {
    case MPI_ERR_BUFFER:
      return "MPI_ERR_BUFFER";
    case MPI_ERR_COUNT:
      return "MPI_ERR_COUNT";
    case MPI_ERR_TYPE:
      return "MPI_ERR_TYPE";
    case MPI_ERR_TAG:
      return "MPI_ERR_TAG";
    case MPI_ERR_RANK:
      return "MPI_ERR_RANK";
    case MPI_ERR_REQUEST:
      return "MPI_ERR_REQUEST";
    case MPI_ERR_TRUNCATE:
      return "MPI_ERR_TRUNCATE";
    case MPI_ERR_IN_STATUS:
      return "MPI_ERR_IN_STATUS";
    case MPI_ERR_PENDING:
      return "MPI_ERR_PENDING";
    case MPI_ERR_ARG:
      return "MPI_ERR_ARG";
  }
  snprintf(number, sizeof number, "class %d", error_class(code));
  return number;
}

__attribute__((format(printf, 1, 2))) static void say(const char* format, ...) {
  va_list list;
  va_start(list, format);
  used += (size_t)vsnprintf(lines + used, room_for_lines - used, format, list);
  va_end(list);
  CHECK(used < room_for_lines);
}

static int line_number;
static void begin_line(void) {
  handler_calls = 0;
  say("rank %d line %04d ", rank, ++line_number);
}

static void count_errors(MPI_Comm* c, int* code, ...) {
  handler_calls++;
  handler_class = error_class(*code);
  handler_comm = *c;
}

// What a call returned, and what its error handler was told.
static int failed;  // MPICH since 4.3 returns no error of which a handler has been told
static void say_code(int code) {
  failed = code != MPI_SUCCESS || handler_calls != 0;
  say("%s", class_name(code));
  if (handler_calls != 0)
    say(" (handler: %d, %s, %s)", handler_calls, class_name(handler_class),
        handler_comm == comm             ? "comm"
        : handler_comm == MPI_COMM_WORLD ? "MPI_COMM_WORLD"
        : handler_comm == MPI_COMM_SELF  ? "MPI_COMM_SELF"
                                         : "another communicator");
  handler_calls = 0;
}

// MPICH over UCX does not set the count of a truncated message.
static int count_matters = 1;

static void say_status(const MPI_Status* s, MPI_Datatype type) {
  int elements = 0, cancelled = 0;
  MPI_Test_cancelled(s, &cancelled);
  say(" [source %d tag %d error %s", s->MPI_SOURCE, s->MPI_TAG,
      s->MPI_ERROR == -4713 ? "untouched" : class_name(s->MPI_ERROR));
  if (s->MPI_SOURCE == -4711) {
    say("]");
    return;
  }
  if (!count_matters) {
    if (under_tasuki()) CHECK_EQ(count_of(s, MPI_BYTE), 0);
    say("]");
    return;
  }
  MPI_Get_elements(s, type, &elements);
  say(" bytes %d count %d elements %d%s]", count_of(s, MPI_BYTE), count_of(s, type), elements,
      cancelled ? " cancelled" : "");
}

// ---- what is nothing to send may have any type

struct type {
  const char* name;
  MPI_Datatype type;
};

enum form { send, ssend, bsend, rsend, isend, issend, ibsend, irsend, send_init, bsend_init, send_forms };
static const char* const send_names[] = {"MPI_Send",      "MPI_Ssend",     "MPI_Bsend",  "MPI_Rsend",
                                         "MPI_Isend",     "MPI_Issend",    "MPI_Ibsend", "MPI_Irsend",
                                         "MPI_Send_init", "MPI_Bsend_init"};

static int do_send(enum form form, const void* buf, int count, MPI_Datatype t, int to, int tag,
                   MPI_Request* r) {
  switch (form) {
    case send:
      return MPI_Send(buf, count, t, to, tag, comm);
    case ssend:
      return MPI_Ssend(buf, count, t, to, tag, comm);
    case bsend:
      return MPI_Bsend(buf, count, t, to, tag, comm);
    case rsend:
      return MPI_Rsend(buf, count, t, to, tag, comm);
    case isend:
      return MPI_Isend(buf, count, t, to, tag, comm, r);
    case issend:
      return MPI_Issend(buf, count, t, to, tag, comm, r);
    case ibsend:
      return MPI_Ibsend(buf, count, t, to, tag, comm, r);
    case irsend:
      return MPI_Irsend(buf, count, t, to, tag, comm, r);
    case send_init:
      return MPI_Send_init(buf, count, t, to, tag, comm, r);
    default:
      return MPI_Bsend_init(buf, count, t, to, tag, comm, r);
  }
}

static void one_send(enum form form, const void* buf, int count, const struct type* t, int to, int tag) {
  MPI_Request into = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL;
  MPI_Status s;
  int error, missing = 1;
  STEP(send_names[form]);
  if (to >= 0) MPI_Irecv(in, BYTES(64), rank, tag, comm, &into);
  begin_line();
  say("%s(%s, %d, %s, %s): ", send_names[form], buf ? "data" : "NULL", count, t->name,
      to >= 0 ? "self" : "nobody");
  say_code(error = do_send(form, buf, count, t->type, to, tag, &r));
  if (error == MPI_SUCCESS && form >= send_init) {
    say(", MPI_Start: ");
    say_code(error = MPI_Start(&r));
  }
  if (error == MPI_SUCCESS && r != MPI_REQUEST_NULL) {
    say(", MPI_Wait: ");
    say_code(error = MPI_Wait(&r, MPI_STATUS_IGNORE));
  }
  if (r != MPI_REQUEST_NULL && form >= send_init) MPI_Request_free(&r);
  if (to >= 0) {
    if (error != MPI_SUCCESS) MPI_Cancel(&into);
    MPI_Wait(&into, &s);
    MPI_Test_cancelled(&s, &missing);
    if (!missing) say(", received %d bytes", count_of(&s, MPI_BYTE));
  }
  say("\n");
}

enum { recv_forms = 4 };
static void one_receive(int form, void* buf, int count, const struct type* t, int from, int tag) {
  static const char* const names[] = {"MPI_Recv", "MPI_Irecv", "MPI_Recv_init", "MPI_Mrecv"};
  MPI_Request r = MPI_REQUEST_NULL, sent = MPI_REQUEST_NULL;
  MPI_Message m = MPI_MESSAGE_NULL;
  MPI_Status s;
  int error;
  STEP(names[form]);
  poison(&s);
  if (from >= 0) MPI_Isend(out, 0, MPI_BYTE, rank, tag, comm, &sent);
  if (form == 3) MPI_Mprobe(from, tag, comm, &m, MPI_STATUS_IGNORE);
  begin_line();
  say("%s(%s, %d, %s, %s): ", names[form], buf ? "room" : "NULL", count, t->name,
      from >= 0 ? "self" : "nobody");
  if (form == 0)
    error = MPI_Recv(buf, count, t->type, from, tag, comm, &s);
  else if (form == 1)
    error = MPI_Irecv(buf, count, t->type, from, tag, comm, &r);
  else if (form == 2)
    error = MPI_Recv_init(buf, count, t->type, from, tag, comm, &r);
  else
    error = MPI_Mrecv(buf, count, t->type, &m, &s);
  say_code(error);
  if (error == MPI_SUCCESS && form == 2) {
    say(", MPI_Start: ");
    say_code(error = MPI_Start(&r));
  }
  if (error == MPI_SUCCESS && r != MPI_REQUEST_NULL) {
    say(", MPI_Wait: ");
    say_code(error = MPI_Wait(&r, &s));
  }
  if (r != MPI_REQUEST_NULL && form == 2) MPI_Request_free(&r);
  if (error == MPI_SUCCESS) say_status(&s, MPI_BYTE);
  if (error != MPI_SUCCESS && from >= 0 && form != 3)
    MPI_Recv(in, BYTES(0), rank, tag, comm, MPI_STATUS_IGNORE);
  if (m != MPI_MESSAGE_NULL) MPI_Mrecv(in, BYTES(0), &m, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  say("\n");
}

static void one_exchange(int form, void* buf, int count, const struct type* t, int peer, int tag) {
  static const char* const names[] = {"MPI_Sendrecv, sent", "MPI_Sendrecv, received", "MPI_Sendrecv_replace"};
  MPI_Status s;
  int error;
  STEP(names[form]);
  poison(&s);
  begin_line();
  say("%s(%s, %d, %s, %s): ", names[form], buf ? "data" : "NULL", count, t->name,
      peer >= 0 ? "self" : "nobody");
  if (form == 0)
    error = MPI_Sendrecv(buf, count, t->type, peer, tag, in, BYTES(8), peer, tag, comm, &s);
  else if (form == 1)
    error = MPI_Sendrecv(out, BYTES(0), peer, tag, buf, count, t->type, peer, tag, comm, &s);
  else
    error = MPI_Sendrecv_replace(buf, count, t->type, peer, tag, peer, tag, comm, &s);
  say_code(error);
  if (error == MPI_SUCCESS) say_status(&s, MPI_BYTE);
  say("\n");
}

static void nothing_to_send(void) {
  MPI_Datatype pair, vector, committed, freed;
  static char attached[1 << 16];
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_contiguous(0, MPI_INT, &freed);
  MPI_Type_dup(MPI_INT, &committed);
  MPI_Type_commit(&committed);
  const struct type types[] = {{"MPI_DATATYPE_NULL", MPI_DATATYPE_NULL},
                               {"an uncommitted contiguous type", pair},
                               {"an uncommitted vector", vector},
                               {"an uncommitted type of no bytes", freed},
                               {"MPI_INT", MPI_INT},
                               {"a committed type", committed}};
  MPI_Buffer_attach(attached, sizeof attached);
  int tag = 0;
  for (int t = 0; t < 6; t++)
    for (int count = 0; count < 2; count++)
      for (int with = 0; with < 2; with++)
        for (int nobody = 0; nobody < 2; nobody++) {
          int peer = nobody ? MPI_PROC_NULL : rank;
          // MPI_BOTTOM is an address like any other with a type of one's own, and a crash in the plain library;
          // so is, in Open MPI, what is wrong with a persistent request.
          int fault = !with && count != 0;
          if (fault && t == 5) continue;
#ifdef OPEN_MPI
          fault = fault || t < 4;
#endif
          for (enum form form = send; form < send_forms; form++)
            if (!(fault && form >= send_init))
              one_send(form, with ? out : NULL, count, &types[t], peer, tag++);
          for (int form = 0; form < recv_forms; form++)
            if (!(fault && form >= 2) && !(form == 3 && nobody))
              one_receive(form, with ? in : NULL, count, &types[t], peer, tag++);
          for (int form = 0; form < 3; form++)
            if (!(fault && form == 2)) one_exchange(form, with ? in : NULL, count, &types[t], peer, tag++);
        }
  void* was;
  int size;
  MPI_Buffer_detach(&was, &size);
  MPI_Type_free(&pair);
  MPI_Type_free(&vector);
  MPI_Type_free(&freed);
  MPI_Type_free(&committed);
}

// ---- messages that end within an element, or do not fit

// How many packed bytes of the receive buffer are those that were sent.
static int right_bytes(const void* buffer, int count, MPI_Datatype type, int bytes) {
  static unsigned char packed[most];
  int position = 0;
  MPI_Pack(buffer, count, type, packed, most, &position, MPI_COMM_SELF);
  for (int i = 0; i < bytes; i++)
    if (packed[i] != out[i]) return i;
  return bytes;
}

enum { receive_calls = 8 };
static const char* const receive_names[receive_calls] = {
    "MPI_Recv",      "MPI_Irecv and MPI_Wait",   "MPI_Irecv and MPI_Test",    "MPI_Irecv and MPI_Waitany",
    "MPI_Recv_init", "MPI_Mprobe and MPI_Mrecv", "MPI_Mprobe and MPI_Imrecv", "MPI_Sendrecv"};

static int receive_by(int call, int count, MPI_Datatype type, int from, MPI_Status* s, int posted_first) {
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Message m;
  int flag = 0, index, error = MPI_SUCCESS;
  switch (call) {
    case 0:
      if (posted_first) MPI_Barrier(quiet);
      return MPI_Recv(in, count, type, from, 5, comm, s);
    case 4:
      MPI_Recv_init(in, count, type, from, 5, comm, &r);
      MPI_Start(&r);
      if (posted_first) MPI_Barrier(quiet);
      error = MPI_Wait(&r, s);
      MPI_Request_free(&r);
      return error;
    case 5:
    case 6:
      if (posted_first) MPI_Barrier(quiet);
      MPI_Mprobe(from, 5, comm, &m, MPI_STATUS_IGNORE);
      if (call == 5) return MPI_Mrecv(in, count, type, &m, s);
      MPI_Imrecv(in, count, type, &m, &r);
      return MPI_Wait(&r, s);
    case 7:
      if (posted_first) MPI_Barrier(quiet);
      return MPI_Sendrecv(out, BYTES(4), MPI_PROC_NULL, 5, in, count, type, from, 5, comm, s);
  }
  MPI_Irecv(in, count, type, from, 5, comm, &r);
  if (posted_first) MPI_Barrier(quiet);
  if (call == 1) return MPI_Wait(&r, s);
  if (call == 3) return MPI_Waitany(1, &r, &index, s);
  while (!flag) error = MPI_Test(&r, &flag, s);
  return error;
}

static void one_message(const struct type* t, int count, int bytes, int call, int posted_first, int to_self) {
  int size, error, sender = to_self ? 1 : 0;
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Status s;
  STEP(receive_names[call]);
  MPI_Type_size(t->type, &size);
  if (!posted_first && rank == sender) MPI_Isend(out, BYTES(bytes), 1, 5, comm, &sent);
  if (!posted_first) MPI_Barrier(quiet);
  if (rank == 1) {
    memset(in, 0, sizeof in);
    poison(&s);
    begin_line();
    if (posted_first && to_self) MPI_Isend(out, BYTES(bytes), 1, 5, comm, &sent);
    error = receive_by(call, count, t->type, sender, &s, posted_first);
    say("%s, %d of %s%s%s, message of %d bytes: ", receive_names[call], count, t->name,
        posted_first ? ", posted first" : "", to_self ? ", from itself" : "", bytes);
    say_code(error);
#ifndef OPEN_MPI
    count_matters = !failed;
#endif
    say_status(&s, t->type);
    count_matters = 1;
    if (error == MPI_SUCCESS) say(" right: %d", right_bytes(in, count, t->type, count_of(&s, MPI_BYTE)));
    say("\n");
  } else {
    if (posted_first) MPI_Barrier(quiet);
    if (posted_first && !to_self) MPI_Isend(out, BYTES(bytes), 1, 5, comm, &sent);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Barrier(quiet);
}

static void messages(void) {
  MPI_Datatype every_other, gaps, three, blocks;
  int lengths[2] = {1, 1};
  MPI_Aint at[2] = {0, 4};
  MPI_Datatype members[2] = {MPI_CHAR, MPI_INT};
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
  MPI_Type_create_struct(2, lengths, at, members, &gaps);
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_vector(2, 3, 5, MPI_CHAR, &blocks);
  MPI_Type_commit(&every_other);
  MPI_Type_commit(&gaps);
  MPI_Type_commit(&three);
  MPI_Type_commit(&blocks);
  const struct type types[] = {{"MPI_BYTE", MPI_BYTE},
                               {"MPI_INT", MPI_INT},
                               {"contiguous(3, MPI_INT)", three},
                               {"vector(2, 1, 2, MPI_INT)", every_other},
                               {"struct(char, int)", gaps},
                               {"vector(2, 3, 5, MPI_CHAR)", blocks}};
  static const int sizes[] = {0, 1, 4, 5, 6, 7, 8, 10, 12, 13, 16, 17, 24, 25};
  for (int t = 0; t < 6; t++)
    for (int k = 0; k < 14; k++)
      for (int posted_first = 0; posted_first < 2; posted_first++)
        for (int to_self = 0; to_self < 2; to_self++)
          one_message(&types[t], 2, sizes[k], k % 2, posted_first, to_self);
  // In every way that messages of a size go, and by every call.
  static const int larger[] = {700, 6000, 70000, most};
  for (int t = 0; t < 6; t += 1)
    for (int k = 0; k < 4; k++)
      for (int call = 0; call < receive_calls; call++) {
        int size, n;
#ifdef OPEN_MPI
        if (call == 4) continue;  // it frees a persistent request that has failed
#endif
#ifdef I_MPI_VERSION
        if (call == 6) continue;  // its errors reach the communicator's handler, those of MPI_Irecv do not
#endif
        MPI_Type_size(types[t].type, &size);
        n = larger[k] / 2 / size;
        one_message(&types[t], n, n * size + 1, call, (call + k + t) % 2, 0);
        one_message(&types[t], n, n * size - size / 2, call, (call + k + t) % 2, 0);
      }
  MPI_Type_free(&every_other);
  MPI_Type_free(&gaps);
  MPI_Type_free(&three);
  MPI_Type_free(&blocks);
}

// ---- several requests, of which some have failed

enum list_call { waitall, testall, waitsome, testsome, waitany, testany, list_calls };
static const char* const list_names[] = {"MPI_Waitall",  "MPI_Testall", "MPI_Waitsome",
                                         "MPI_Testsome", "MPI_Waitany", "MPI_Testany"};

static void say_list_status(const MPI_Status* s, char what) {
  // MPICH sets nothing but the error of a send, and not the error of what is nothing.
  if (what == 's' || what == 'n') {
    say(" [%s]", what == 'n' ? "" : s->MPI_ERROR == -4713 ? "untouched" : class_name(s->MPI_ERROR));
    return;
  }
#ifndef OPEN_MPI
  count_matters = !failed || s->MPI_ERROR == MPI_SUCCESS;
#endif
  say_status(s, MPI_INT);
  count_matters = 1;
}

// Of which request the i-th status is.
static char which_status(enum list_call call, const char* what, int i, int index, const int* indices,
                         int count) {
  if (call == waitall || call == testall) return what[i];
  if (call == waitsome || call == testsome) return i < count ? what[indices[i]] : ' ';
  return i == 0 && index >= 0 ? what[index] : ' ';
}

// What each request of a list is: 'o' fits, 't' is truncated, 'n' MPI_REQUEST_NULL, 's' a send, 'p' a message
// that comes after the call only, 'O' and 'T' persistent, 'i' an inactive one.
static void one_list(enum list_call call, const char* what, int ignore) {
  enum { most_of_list = 8 };
  MPI_Request r[most_of_list];
  MPI_Status s[most_of_list], last;
  int n = (int)strlen(what), index = -1, flag = 0, count = 0, indices[most_of_list], error = MPI_SUCCESS;
  STEP(list_names[call]);
  if (rank == 0) {
    for (int i = 0; i < n; i++)
      if (strchr("otOT", what[i])) MPI_Send(out, BYTES(strchr("oO", what[i]) ? 4 : 9), 1, i, comm);
    MPI_Barrier(quiet);
    MPI_Barrier(quiet);
    for (int i = 0; i < n; i++) {
      if (what[i] == 's') MPI_Recv(in, BYTES(8), 1, i, comm, MPI_STATUS_IGNORE);
      if (what[i] == 'p') MPI_Send(out, BYTES(4), 1, i, comm);
    }
    MPI_Barrier(quiet);
    return;
  }
  for (int i = 0; i < n; i++) {
    r[i] = MPI_REQUEST_NULL;
    poison(&s[i]);
    if (strchr("otp", what[i])) MPI_Irecv(in + 64 * i, BYTES(4), 0, i, comm, &r[i]);
    if (strchr("OTi", what[i])) MPI_Recv_init(in + 64 * i, BYTES(4), 0, i, comm, &r[i]);
    if (strchr("OT", what[i])) MPI_Start(&r[i]);
    if (what[i] == 's') MPI_Isend(out, BYTES(4), 0, i, comm, &r[i]);
  }
  MPI_Barrier(quiet);
  // All that will be complete is complete before the call: what it says is no matter of time.
  for (int i = 0; i < n; i++)
    for (flag = 0; strchr("otOTs", what[i]) && !flag;) MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE);
  flag = 0;
  begin_line();
  MPI_Status* statuses = ignore ? MPI_STATUSES_IGNORE : s;
  MPI_Status* status = ignore ? MPI_STATUS_IGNORE : s;
  if (call == waitall) error = MPI_Waitall(n, r, statuses);
  if (call == testall) error = MPI_Testall(n, r, &flag, statuses);
  if (call == waitsome) error = MPI_Waitsome(n, r, &count, indices, statuses);
  if (call == testsome) error = MPI_Testsome(n, r, &count, indices, statuses);
  if (call == waitany) error = MPI_Waitany(n, r, &index, status);
  if (call == testany) error = MPI_Testany(n, r, &index, &flag, status);
  say("%s of %s%s: ", list_names[call], what, ignore ? ", no statuses" : "");
  say_code(error);
  say(" flag %d index %d of %d:", flag, index, count);
  for (int i = 0; i < count; i++) say(" %d", indices[i]);
  for (int i = 0; i < n && !ignore; i++)
    say_list_status(&s[i], which_status(call, what, i, index, indices, count));
  say(" left:");
  for (int i = 0; i < n; i++) say(" %s", r[i] == MPI_REQUEST_NULL ? "-" : "+");
  say("\n");
  MPI_Barrier(quiet);
  for (int i = 0; i < n; i++) {
    if (r[i] == MPI_REQUEST_NULL) continue;
    begin_line();
    poison(&last);
    say("... request %d: ", i);
    say_code(MPI_Wait(&r[i], &last));
    say_list_status(&last, what[i]);
    say("\n");
    if (strchr("OTi", what[i])) MPI_Request_free(&r[i]);
  }
  MPI_Barrier(quiet);
}

#if defined(OPEN_MPI)
enum { is_open_mpi = OMPI_MAJOR_VERSION, is_late_mpich = 0 };
#elif defined(MPICH_NUMVERSION) && !defined(I_MPI_VERSION)
enum { is_open_mpi = 0, is_late_mpich = MPICH_NUMVERSION >= 40200000 };
#else  // Intel MPI, and the mpi.h of the standard ABI
enum { is_open_mpi = 0, is_late_mpich = 1 };
#endif

static void each_list(const char* const lists[], enum list_call left_out) {
  for (; *lists != NULL; lists++)
    for (enum list_call call = waitall; call < list_calls; call++)
      for (int ignore = 0; ignore < 2 && call != left_out; ignore++)
        // Open MPI 5 loses the error, and completes what has failed at a later call.
        if (is_open_mpi < 5 || call != waitall || !ignore) one_list(call, *lists, ignore);
}

static void lists(void) {
  static const char* const complete[] = {"t", "ot", "to", "oto", "tno", "nt", "sot", "tso", NULL};
  static const char* const all_failed[] = {"ttt", NULL};
  static const char* const persistent[] = {"OtO", NULL};
  static const char* const persistent_failed[] = {"T", "OTO", "TOi", "iTo", "tOT", NULL};
  static const char* const waiting[] = {"tp", "pt", "otp", "pOtpo", "npt", NULL};
  each_list(complete, list_calls);
  // Open MPI frees persistent requests that have failed, and all other failed ones of the list. MPICH since
  // 4.2 forgets the status of a persistent request that has been asked for it, and says success of a failed
  // one in MPI_Waitsome.
  if (!is_open_mpi) each_list(all_failed, list_calls);
  if (!is_late_mpich) each_list(persistent, list_calls);
  if (!is_open_mpi && !is_late_mpich) each_list(persistent_failed, list_calls);
  // MPICH waits for all, also when one has failed; since 4.2 an MPI_Testall that fails completes none.
  if (!is_late_mpich) each_list(waiting, is_open_mpi ? list_calls : waitall);
}

// ---- an error that ends the job

static int fatal(const char* call) {
  MPI_Request r[2];
  MPI_Status s[2];
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  if (rank == 0) {
    MPI_Send(out, BYTES(900), 1, 5, comm);
    MPI_Send(out, BYTES(4), 1, 6, comm);
    MPI_Recv(in, BYTES(4), 1, 7, comm, &s[0]);
  } else if (strcmp(call, "recv") == 0) {
    MPI_Recv(in, BYTES(800), 0, 5, comm, &s[0]);
  } else {
    MPI_Irecv(in, BYTES(800), 0, 5, comm, &r[0]);
    MPI_Irecv(in, BYTES(4), 0, 6, comm, &r[1]);
    if (strcmp(call, "wait") == 0)
      MPI_Wait(&r[0], &s[0]);
    else
      MPI_Waitall(2, r, s);
  }
  return 1;
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  begin(&argc, &argv);
  CHECK_EQ(ranks, 2);
  fill(out, sizeof out, 1);
  MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "verdicts");
  if (argc > 2) return fatal(argv[2]);
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  const char* what = argc > 1 ? argv[1] : "all";
  if (strcmp(what, "all") == 0 || strcmp(what, "nothing") == 0) nothing_to_send();
  if (strcmp(what, "all") == 0 || strcmp(what, "messages") == 0) messages();
  if (strcmp(what, "all") == 0 || strcmp(what, "lists") == 0) lists();
  // By one rank: launchers mix what several print.
  STEP("print");
  if (rank == 1) {
    MPI_Send(lines, (int)used, MPI_CHAR, 0, 0, quiet);
  } else {
    MPI_Status s;
    fwrite(lines, 1, used, stdout);
    MPI_Recv(lines, room_for_lines, MPI_CHAR, 1, 0, quiet, &s);
    fwrite(lines, 1, (size_t)count_of(&s, MPI_CHAR), stdout);
    fflush(stdout);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&quiet);
  return end();
}
