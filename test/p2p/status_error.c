// What functions that return one status leave in its MPI_ERROR: nothing, says MPI (4.1, 3.2.5), but libraries set
// it in some functions, and programs read it. Plain and under Tasuki the lines are the same (mpi_run.py --compare).
#include "check.h"

enum { sent = 24, fits = 5, too_long = 10, untouched = -4713 };
static MPI_Comm comm;
static MPI_Status s;
static int line, told;  // lines; how often a handler was told of an error since the last one

static void say(const char* what, int code) {
  char error[20] = "untouched";
  if (s.MPI_ERROR != untouched)
    snprintf(error, sizeof error, "%d", s.MPI_ERROR == MPI_SUCCESS ? 0 : error_class(s.MPI_ERROR));
  printf("%02d %s: returns %d, MPI_ERROR %s", line++, what, code == MPI_SUCCESS ? 0 : error_class(code),
         error);
  if (told != 0) printf(", %d told", told);
  printf("\n");
  told = 0;
  memset(&s, 0, sizeof s);
  s.MPI_ERROR = untouched;
}

static void count_errors(MPI_Comm* c, int* code, ...) {
  (void)c, (void)code;
  told++;
}

#define UNTIL_FOUND(call) \
  do {                    \
    rc = call;            \
  } while (!flag && rc == MPI_SUCCESS)

static void receive(void) {
  int in[too_long], rc, flag, which;
  MPI_Request r, two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message m;
  STEP("blocking");
  rc = MPI_Recv(in, fits, MPI_INT, 0, 0, comm, &s);
  say("Recv", rc);
  STEP("one request");
  MPI_Irecv(in, fits, MPI_INT, 0, 1, comm, &r);
  rc = MPI_Wait(&r, &s);
  say("Wait", rc);
  MPI_Irecv(in, fits, MPI_INT, 0, 2, comm, &r);
  UNTIL_FOUND(MPI_Test(&r, &flag, &s));
  say("Test", rc);
  STEP("one of several");
  MPI_Irecv(in, fits, MPI_INT, 0, 3, comm, &two[0]);
  rc = MPI_Waitany(2, two, &which, &s);
  say("Waitany", rc);
  MPI_Irecv(in, fits, MPI_INT, 0, 4, comm, &two[0]);
  UNTIL_FOUND(MPI_Testany(2, two, &which, &flag, &s));
  say("Testany", rc);
  STEP("probe");
  rc = MPI_Probe(0, 5, comm, &s);
  say("Probe", rc);
  UNTIL_FOUND(MPI_Iprobe(0, 5, comm, &flag, &s));
  say("Iprobe", rc);
  rc = MPI_Mprobe(0, 5, comm, &m, &s);
  say("Mprobe", rc);
  rc = MPI_Mrecv(in, fits, MPI_INT, &m, &s);
  say("Mrecv", rc);
  UNTIL_FOUND(MPI_Improbe(0, 6, comm, &flag, &m, &s));
  say("Improbe", rc);
  MPI_Imrecv(in, fits, MPI_INT, &m, &r);
  rc = MPI_Wait(&r, &s);
  say("Imrecv", rc);
  STEP("get_status");
  MPI_Irecv(in, fits, MPI_INT, 0, 7, comm, &r);
  UNTIL_FOUND(MPI_Request_get_status(r, &flag, &s));
  say(flag ? "Request_get_status" : "Request_get_status, flag 0", rc);
  if (r != MPI_REQUEST_NULL) MPI_Wait(&r, MPI_STATUS_IGNORE);
  STEP("persistent");
  MPI_Recv_init(in, fits, MPI_INT, 0, 8, comm, &r);
  MPI_Start(&r);
  rc = MPI_Wait(&r, &s);
  say("Recv_init", rc);
  if (rc == MPI_SUCCESS) {
    rc = MPI_Wait(&r, &s);
    say("inactive Wait", rc);
    rc = MPI_Test(&r, &flag, &s);
    say("inactive Test", rc);
    rc = MPI_Request_get_status(r, &flag, &s);
    say("inactive get_status", rc);
    two[0] = r;
    rc = MPI_Waitany(2, two, &which, &s);
    say("inactive Waitany", rc);
    rc = MPI_Testany(2, two, &which, &flag, &s);
    say("inactive Testany", rc);
  }
  if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
  STEP("rest");
  for (int tag = 9; tag < sent; tag++) MPI_Recv(in, too_long, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
}

// Both ranks; rank 0 sends so many elements.
static void exchange(int elements) {
  int out[too_long] = {0}, in[too_long], rc;
  STEP("exchange");
  rc = MPI_Sendrecv(out, rank == 0 ? elements : 1, MPI_INT, 1 - rank, 30, in, fits, MPI_INT, 1 - rank, 30,
                    comm, &s);
  if (rank == 1) say("Sendrecv", rc);
  if (rank == 0)
    rc = MPI_Sendrecv(out, elements, MPI_INT, 1, 31, in, fits, MPI_INT, 1, 31, comm, &s);
  else
    rc = MPI_Sendrecv_replace(out, fits, MPI_INT, 0, 31, 0, 31, comm, &s);
  told = 0;  // Open MPI 4.1.0 tells also of success
  if (rank == 1) say("Sendrecv_replace", rc);
}

static void nobody(void) {
  int out[1] = {0}, in[1], rc, flag, which;
  MPI_Request r = MPI_REQUEST_NULL, two[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Message m;
  STEP("MPI_PROC_NULL");
  rc = MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &s);
  say("Recv from nobody", rc);
  rc = MPI_Probe(MPI_PROC_NULL, 0, comm, &s);
  say("Probe of nobody", rc);
  rc = MPI_Iprobe(MPI_PROC_NULL, 0, comm, &flag, &s);
  say("Iprobe of nobody", rc);
  rc = MPI_Mprobe(MPI_PROC_NULL, 0, comm, &m, &s);
  say("Mprobe of nobody", rc);
  rc = MPI_Mrecv(in, 1, MPI_INT, &m, &s);
  say("Mrecv from nobody", rc);
  rc = MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &s);
  say("Sendrecv with nobody", rc);
  rc = MPI_Sendrecv_replace(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, comm, &s);
  say("Sendrecv_replace with nobody", rc);
  MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &r);
  rc = MPI_Wait(&r, &s);
  say("Irecv from nobody", rc);
  STEP("MPI_REQUEST_NULL");
  rc = MPI_Wait(&r, &s);
  say("Wait for nothing", rc);
  rc = MPI_Test(&r, &flag, &s);
  say("Test of nothing", rc);
  rc = MPI_Request_get_status(r, &flag, &s);
  say("Request_get_status of nothing", rc);
  rc = MPI_Waitany(2, two, &which, &s);
  say("Waitany of nothing", rc);
  rc = MPI_Testany(2, two, &which, &flag, &s);
  say("Testany of nothing", rc);
}

static void sends(void) {
  int out[1] = {0}, rc, flag, which;
  MPI_Request r;
  STEP("sends");
  MPI_Isend(out, 1, MPI_INT, 0, 98, comm, &r);
  rc = MPI_Wait(&r, &s);
  say("Wait for a send", rc);
  MPI_Isend(out, 1, MPI_INT, 0, 98, comm, &r);
  rc = MPI_Waitany(1, &r, &which, &s);
  say("Waitany for a send", rc);
  MPI_Isend(out, 1, MPI_INT, 0, 98, comm, &r);
  UNTIL_FOUND(MPI_Test(&r, &flag, &s));
  say("Test of a send", rc);
  MPI_Isend(out, 1, MPI_INT, 0, 98, comm, &r);
  UNTIL_FOUND(MPI_Request_get_status(r, &flag, &s));
  say("Request_get_status of a send", rc);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  STEP("not yet, and cancelled");
  MPI_Irecv(out, 1, MPI_INT, 0, 99, comm, &r);
  rc = MPI_Test(&r, &flag, &s);
  say("Test of what has not come", rc);
  MPI_Cancel(&r);
  rc = MPI_Wait(&r, &s);
  say("Wait for what is cancelled", rc);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK_EQ(ranks, 2);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  s.MPI_ERROR = untouched;
  int out[too_long] = {0}, in[1];
  for (int elements = fits; elements <= too_long; elements += too_long - fits) {
    if (rank == 0)
      for (int tag = 0; tag < sent; tag++) MPI_Send(out, elements, MPI_INT, 1, tag, comm);
    else
      receive();
    exchange(elements);
  }
  if (rank == 1) {
    nobody();
    sends();
  } else {
    for (int i = 0; i < 4; i++) MPI_Recv(in, 1, MPI_INT, 1, 98, comm, MPI_STATUS_IGNORE);
  }
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  return end();
}
