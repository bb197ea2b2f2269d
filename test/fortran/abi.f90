! A Fortran program of the MPI-5 standard ABI, linked with libmpifort_abi. The constants are the ABI's own: predefined handles are the
! same numbers in Fortran as in C. So it needs no mpif.h and no module, which compilers do not share. No derived types: of those,
! the libmpifort_abi of Intel MPI 2021.18 hands out addresses cut to 32 bits, which nothing accepts.
program abi
  implicit none
  integer, parameter :: comm_world = 257, type_integer = 537, any_source = -1, status_size = 8
  integer :: rank, ranks, error, pair, request, status(status_size), statuses(status_size, 2), requests(2), i
  integer :: matrix(8, 8), got(8), count
  external :: mpi_init, mpi_comm_rank, mpi_comm_size, mpi_send, mpi_recv, mpi_isend, mpi_irecv
  external :: mpi_wait, mpi_waitall, mpi_get_count, mpi_bcast, mpi_barrier, mpi_abort, mpi_finalize
  call mpi_init(error)
  call mpi_comm_rank(comm_world, rank, error)
  call mpi_comm_size(comm_world, ranks, error)
  matrix = reshape([(i + 100 * rank, i = 1, 64)], [8, 8])
  got = 0
  if (rank == 0) then
    call mpi_send(matrix(1, 3), 8, type_integer, 1, 5, comm_world, error)
    call mpi_isend(matrix(1, 4), 8, type_integer, 1, 6, comm_world, request, error)
    call mpi_wait(request, status, error)
  else if (rank == 1) then
    call mpi_recv(got, 8, type_integer, any_source, 5, comm_world, status, error)
    call mpi_get_count(status, type_integer, count, error)
    if (count /= 8 .or. status(1) /= 0 .or. any(got /= [(16 + i, i = 1, 8)])) call fail('receive')
    call mpi_irecv(got, 8, type_integer, 0, 6, comm_world, request, error)
    call mpi_wait(request, status, error)
    if (any(got /= [(24 + i, i = 1, 8)])) call fail('wait')
  end if
  ! Both ways at once.
  pair = ieor(rank, 1)
  if (pair < ranks) then
    call mpi_irecv(got, 8, type_integer, pair, 7, comm_world, requests(1), error)
    call mpi_isend(matrix(1, 1), 8, type_integer, pair, 7, comm_world, requests(2), error)
    call mpi_waitall(2, requests, statuses, error)
    if (statuses(2, 1) /= 7 .or. any(got /= [(i + 100 * pair, i = 1, 8)])) call fail('waitall')
  end if
  call mpi_bcast(matrix, 64, type_integer, 0, comm_world, error)
  if (any(matrix /= reshape([(i, i = 1, 64)], [8, 8]))) call fail('bcast')
  call mpi_barrier(comm_world, error)
  call mpi_finalize(error)
contains
  subroutine fail(what)
    character(*), intent(in) :: what
    print *, 'rank', rank, ': wrong data by ', what, got
    call mpi_abort(comm_world, 1, error)
  end subroutine
end program
