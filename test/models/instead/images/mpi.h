// Stands for MPI where images reach each other's memory: what is declared here is never called.
#pragma once

#include <cstddef>

using MPI_Comm = int;
using MPI_Request = int;
using MPI_Datatype = int;
using MPI_Op = int;
struct MPI_Status {
  int MPI_SOURCE;
};
inline constexpr MPI_Comm MPI_COMM_NULL = 0;
inline constexpr MPI_Datatype MPI_INT = 0, MPI_CHAR = 0;
inline constexpr MPI_Op MPI_SUM = 0;
inline constexpr int MPI_ANY_SOURCE = -1;
#define MPI_STATUS_IGNORE (static_cast<MPI_Status*>(nullptr))

int PMPI_Alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int PMPI_Iallreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int PMPI_Iprobe(int, int, MPI_Comm, int*, MPI_Status*);
int PMPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int PMPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int PMPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int PMPI_Request_free(MPI_Request*);
int PMPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int PMPI_Test(MPI_Request*, int*, MPI_Status*);
