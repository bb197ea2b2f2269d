// C++: constructors and destructors by rank, exceptions across MPI calls, streams with a format of their own.
#include <mpi.h>

#include <iomanip>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static int constructed = 0;
struct Counter {
  Counter() { constructed++; }
  ~Counter() { std::cout << "destroyed " << constructed << "\n"; }
} counter;
static std::map<std::string, int> table{{"a", 1}, {"b", 2}};

static int thrower(int rank, int size) {
  int sum = 0;
  try {
    if (rank % 2 == 0) throw std::runtime_error("even " + std::to_string(rank));
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  } catch (const std::exception& e) {
    // Another rank runs, and throws, while this exception is being handled.
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (std::string(e.what()) != "even " + std::to_string(rank)) MPI_Abort(MPI_COMM_WORLD, 3);
    try {
      throw;
    } catch (const std::runtime_error&) {
      if (sum != size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 4);
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (constructed != 1 || table.size() != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  constructed += rank;
  table["rank"] = rank;
  std::cout << "half a line, ";
  if (rank == 1) std::cout << std::setprecision(3);
  MPI_Barrier(MPI_COMM_WORLD);
  std::cout << "the other half: rank " << rank << " " << 3.14159265 << std::endl;
  const int sum = thrower(rank, size);
  if (table["rank"] != rank || sum != size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 5);
  MPI_Finalize();
  return 0;
}
