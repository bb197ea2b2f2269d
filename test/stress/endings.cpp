// Ways to end, orderly and not. What the launcher's exit code may be then is known to kinds.py; that the job ends at all, and leaves
// nothing behind, is what the stress command looks at.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "stress.h"

namespace stress {
namespace {

int handler_code;
void exit_in_handler(int) {
  exit(handler_code);
}

void finalize_at_exit() {
  MPI_Finalize();
}

// What the others do while one of them ends: every kind of call that waits.
void wait_for_ever(int kind, int who) {
  int x = 0, flag = 0;
  MPI_Request r;
  MPI_Status s;
  MPI_Message m;
  MPI_Win win;
  static char bytes[1 << 20];
  switch (kind) {
    case 0:
      MPI_Recv(&x, 1, MPI_INT, who, 9999, MPI_COMM_WORLD, &s);
      break;
    case 1:
      MPI_Ssend(&x, 1, MPI_INT, who, 9998, MPI_COMM_WORLD);
      break;
    case 2:
      MPI_Barrier(MPI_COMM_WORLD);
      break;
    case 3:
      MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 9999, MPI_COMM_WORLD, &r);
      while (!flag) MPI_Test(&r, &flag, &s);
      break;
    case 4:
      MPI_Mprobe(who, 9999, MPI_COMM_WORLD, &m, &s);
      break;
    case 5:
      MPI_Bcast(bytes, sizeof bytes, MPI_BYTE, who, MPI_COMM_WORLD);
      break;
    case 6:
      MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case 7:
      MPI_Send(bytes, sizeof bytes, MPI_BYTE, who, 9997, MPI_COMM_WORLD);
      break;
    default:
      MPI_Win_create(&x, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int end_before_init(const std::string& way, int number) {
  // MPI_Init is not reached: by all, or by one (the environment's rank).
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == nullptr) rank = getenv("PMI_RANK");
  const int me = rank ? atoi(rank) : 0;
  if (way == "before_init_all") exit(number);
  if (way == "before_init_one" && me == 0) exit(number);
  if (way == "before_init_kill" && me == 0) raise(SIGKILL);
  return 0;
}

int end_by(const std::string& way, int number, Random& random) {
  const int who = draw(random, 0, job.ranks - 1);
  const bool me = job.rank == who;
  const int kind = (draw(random, 0, 8) + job.rank * draw(random, 0, 1)) % 9;
  step("ending");
  if (way == "all_exit") exit(number);
  if (way == "all_leave") _exit(number);
  if (way == "at_exit") {
    atexit(finalize_at_exit);
    exit(number);
  }
  if (way.rfind("finalized", 0) == 0) {
    MPI_Finalize();
    if (way == "finalized_return") return me ? number : 0;
    if (way == "finalized_leave" && me) _exit(number);
    if (way == "finalized_exec" && me)
      execl("/bin/sh", "sh", "-c", ("exit " + std::to_string(number)).c_str(), nullptr);
    if (way == "finalized_kill" && me) raise(SIGKILL);
    return 0;
  }
  if (way == "communicating_exit") {  // with requests that nobody has completed
    static char bytes[1 << 20], in[1 << 20];
    MPI_Request r;
    MPI_Irecv(in, sizeof in, MPI_BYTE, (job.rank + 1) % job.ranks, 9, MPI_COMM_WORLD, &r);
    MPI_Isend(bytes, sizeof bytes, MPI_BYTE, (job.rank + 1) % job.ranks, 9, MPI_COMM_WORLD, &r);
    exit(number);
  }
  if (!me) {
    wait_for_ever(kind, who);
    return 1;
  }
  if (random.chance(70)) usleep(static_cast<useconds_t>(draw(random, 1, 300)) * 1000);
  if (way == "mpi_abort") MPI_Abort(random.chance(50) ? MPI_COMM_WORLD : MPI_COMM_SELF, number);
  if (way == "error") MPI_Send(&handler_code, 1, MPI_INT, job.ranks + 5, 1, MPI_COMM_WORLD);
  if (way == "exit") exit(number);
  if (way == "leave") _exit(number);
  if (way == "abort") abort();
  if (way == "segv") *static_cast<volatile int*>(nullptr) = 1;
  if (way == "kill") raise(number);
  if (way == "exec") execl("/bin/sh", "sh", "-c", ("exit " + std::to_string(number)).c_str(), nullptr);
  if (way == "handler") {
    handler_code = number;
    signal(SIGUSR1, exit_in_handler);
    raise(SIGUSR1);
  }
  if (way == "thread") {
    std::thread([=] { exit(number); }).detach();
    pause();
  }
  fprintf(stderr, "FAIL: unknown way to end: %s\n", way.c_str());
  return 1;
}

}  // namespace stress
