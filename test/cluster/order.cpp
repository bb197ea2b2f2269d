// A memory server keeps the order of operations on the same slots, whatever order their data come in: rank 0
// speaks the protocol itself, and sends data late. Two ranks.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cluster/server/server.h"

using namespace tasuki;
using cluster::Header;
using cluster::Op;

namespace {

constexpr size_t kUnit = size_t{1} << 20;  // long enough that no library sends one without its receiver
constexpr uint64_t kSlots = 8;

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      fprintf(stderr, "order: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 99);                                         \
    }                                                                        \
  } while (0)

void say(Op op, uint32_t units, uint64_t slot, uint32_t tag) {
  const Header header{op, units, slot, tag, 0};
  MPI_Send(&header, sizeof header, MPI_BYTE, 1, cluster::kHeaderTag, MPI_COMM_WORLD);
}

void release(uint64_t slot, uint64_t units) {
  struct {
    Header header;
    cluster::Range range;
  } message = {{Op::release, 0, 0, 0, 1}, {slot, units}};
  MPI_Send(&message, sizeof message, MPI_BYTE, 1, cluster::kHeaderTag, MPI_COMM_WORLD);
}

void send_data(uint32_t units, uint32_t tag, char value) {
  const std::vector<char> data(units * kUnit, value);
  MPI_Ssend(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1, static_cast<int>(tag), MPI_COMM_WORLD);
}

void expect_data(uint32_t units, uint32_t tag, char value) {
  std::vector<char> data(units * kUnit, static_cast<char>(~value));
  MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1, static_cast<int>(tag), MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  for (const char c : data) CHECK(c == value);
}

void lead() {
  // A get behind a put whose data are still to come: it waits for them.
  say(Op::put, 2, 1, 20);
  say(Op::get, 1, 2, 21);
  usleep(50'000);
  send_data(2, 20, 'a');
  expect_data(1, 21, 'a');

  // Meanwhile other slots are served: nothing blocks.
  say(Op::put, 1, 0, 20);
  say(Op::put, 1, 5, 21);
  say(Op::get, 1, 5, 22);
  send_data(1, 21, 'b');
  expect_data(1, 22, 'b');
  send_data(1, 20, 'c');

  // A put behind a get that has not left: the get has the old bytes, and so for a whole chain.
  say(Op::get, 1, 0, 20);
  say(Op::put, 1, 0, 21);
  say(Op::get, 1, 0, 22);
  say(Op::put, 1, 0, 23);
  say(Op::get, 1, 0, 24);
  usleep(50'000);
  MPI_Request later[2];
  const std::vector<char> first(kUnit, 'd'), second(kUnit, 'e');
  MPI_Isend(second.data(), kUnit, MPI_BYTE, 1, 23, MPI_COMM_WORLD, &later[0]);
  MPI_Isend(first.data(), kUnit, MPI_BYTE, 1, 21, MPI_COMM_WORLD, &later[1]);
  usleep(50'000);
  expect_data(1, 20, 'c');
  expect_data(1, 22, 'd');
  expect_data(1, 24, 'e');
  MPI_Waitall(2, later, MPI_STATUSES_IGNORE);

  // A release waits for the put before it, and the put behind it for the release.
  say(Op::put, 1, 3, 20);
  release(2, 3);
  say(Op::put, 1, 4, 21);
  say(Op::get, 1, 3, 22);
  say(Op::get, 1, 4, 23);
  usleep(20'000);
  send_data(1, 20, 'f');
  send_data(1, 21, 'g');
  expect_data(1, 22, 0);
  expect_data(1, 23, 'g');

  // Two gets do not wait for each other; goodbye waits for all that was before it.
  say(Op::get, 1, 4, 20);
  say(Op::get, 1, 4, 21);
  expect_data(1, 21, 'g');
  say(Op::put, 1, 7, 22);
  say(Op::goodbye, 0, 0, 0);
  usleep(20'000);
  send_data(1, 22, 'h');
  expect_data(1, 20, 'g');
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = -1, code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    lead();
    printf("in order\n");
  } else {
    void* aligned = aligned_alloc(4096, kSlots * kUnit);
    CHECK(aligned != nullptr);
    memset(aligned, 0, kSlots * kUnit);
    cluster::Server::Memory lent;
    lent.at = static_cast<std::byte*>(aligned);
    lent.unit_bytes = kUnit;
    lent.slots = kSlots;
    cluster::Server server(MPI_COMM_WORLD, lent, cluster::Idle(false));
    const Result<int> end = server.run();
    CHECK(end.ok());
    code = end.value();
    CHECK(lent.at[7 * kUnit] == std::byte{'h'});
    free(aligned);
  }
  MPI_Finalize();
  return code;
}
