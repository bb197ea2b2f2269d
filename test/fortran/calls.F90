! Every MPI function that Tasuki takes over, called from Fortran and checked by what arrives. One text for the three
! bindings: compiled with -DUSE_MPIF_H, -DUSE_MPI or -DUSE_MPI_F08; with -DHAVE_MPI4 also the functions of MPI-4.
! -DMPICH allows for two errors of MPICH 4.0: its mpi_f08 counts indices from 0, its other bindings return
! MPI_UNDEFINED + 1. Runs on an even number of ranks; rank 2k exchanges with rank 2k+1.
#if defined(USE_MPI_F08)
#define USE_BINDING use mpi_f08
#define INCLUDE_BINDING
#define HANDLE(t) type(t)
#define STATUS(s) type(MPI_Status) :: s
#define STATUSES(s,n) type(MPI_Status) :: s(n)
#define FIELD(s,f) s%f
#define FIELD_OF(s,i,f) s(i)%f
#elif defined(USE_MPI)
#define USE_BINDING use mpi
#define INCLUDE_BINDING
#define HANDLE(t) integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s,n) integer :: s(MPI_STATUS_SIZE, n)
#define FIELD(s,f) s(f)
#define FIELD_OF(s,i,f) s(f,i)
#else
#define USE_BINDING
#define INCLUDE_BINDING include 'mpif.h'
#define HANDLE(t) integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s,n) integer :: s(MPI_STATUS_SIZE, n)
#define FIELD(s,f) s(f)
#define FIELD_OF(s,i,f) s(f,i)
#endif

module common_data
  implicit none
  integer, parameter :: n = 1000
  integer :: rank, ranks, partner
  logical :: even
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
    flush (6)
    call abort_all()
  end subroutine

  subroutine abort_all()
    USE_BINDING
    INCLUDE_BINDING
    integer :: ierr
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  subroutine barrier()
    USE_BINDING
    INCLUDE_BINDING
    integer :: ierr
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end subroutine

  ! What `from` sends under `tag`.
  function pattern(from, tag) result(a)
    integer, intent(in) :: from, tag
    integer :: a(n), i
    a = [(from * 1000003 + tag * 1009 + i, i=1, n)]
  end function
end module

program calls
  use common_data
  USE_BINDING
  implicit none
  INCLUDE_BINDING
  integer :: ierr, provided
  logical :: flag

  ! Both ways to begin are taken, one in each binding.
#if defined(USE_MPI)
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, ierr)
  call check(provided >= MPI_THREAD_SINGLE, 'thread level')
#else
  provided = MPI_THREAD_SINGLE
  call MPI_Init(ierr)
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call check(mod(ranks, 2) == 0, 'needs an even number of ranks')
  partner = ieor(rank, 1)
  even = mod(rank, 2) == 0

  call blocking()
  call nonblocking()
  call completion()
  call one_of_several()
  call persistent()
  call probing()
  call packing()
  call external()
  call collective()
  call requests()
  call addresses()
  call communicators()
  call topologies()
  call one_sided()
#ifdef HAVE_MPI4
  call exchange_requests()
  call persistent_collective()
#endif

  call MPI_Finalize(ierr)
  call MPI_Finalized(flag, ierr)
  call check(flag, 'finalized')
  if (rank == 0) print '(a)', 'ok'

contains

  subroutine blocking()
    integer :: a(n), b(n), turn, count
    integer, allocatable :: room(:)
    integer :: detached
    STATUS(status)
    ! Buffered sends come from this room.
    allocate (room(n * 4 + 10000))
    call MPI_Buffer_attach(room, size(room) * 4, ierr)
    do turn = 0, 1
      if (mod(rank, 2) == turn) then
        call MPI_Send(pattern(rank, 1), n, MPI_INTEGER, partner, 1, MPI_COMM_WORLD, ierr)
        call MPI_Ssend(pattern(rank, 2), n, MPI_INTEGER, partner, 2, MPI_COMM_WORLD, ierr)
        call MPI_Bsend(pattern(rank, 3), n, MPI_INTEGER, partner, 3, MPI_COMM_WORLD, ierr)
        ! The receive for this one is posted: the partner says so.
        call MPI_Recv(a, 0, MPI_INTEGER, partner, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        call MPI_Rsend(pattern(rank, 4), n, MPI_INTEGER, partner, 4, MPI_COMM_WORLD, ierr)
        a(1:10) = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        call MPI_Send(a(1:10:3), 4, MPI_INTEGER, partner, 5, MPI_COMM_WORLD, ierr)
      else
        call MPI_Recv(a, n, MPI_INTEGER, partner, 1, MPI_COMM_WORLD, status, ierr)
        call check(ierr == MPI_SUCCESS, 'error code of recv')
        call check(all(a == pattern(partner, 1)), 'send')
        call check(FIELD(status, MPI_SOURCE) == partner, 'source in the status')
        call check(FIELD(status, MPI_TAG) == 1, 'tag in the status')
        call MPI_Get_count(status, MPI_INTEGER, count, ierr)
        call check(count == n, 'count in the status')
        call MPI_Recv(a, n, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status, ierr)
        call check(all(a == pattern(partner, 2)), 'ssend')
        call check(FIELD(status, MPI_SOURCE) == partner, 'source of a message from anywhere')
        call MPI_Recv(a, n, MPI_INTEGER, partner, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
        call check(all(a == pattern(partner, 3)), 'bsend')
        call check(FIELD(status, MPI_TAG) == 3, 'tag of a message of any tag')
        call receive_ready(a)
        call check(all(a == pattern(partner, 4)), 'rsend')
        call MPI_Recv(b, n, MPI_INTEGER, partner, 5, MPI_COMM_WORLD, status, ierr)
        call MPI_Get_count(status, MPI_INTEGER, count, ierr)
        call check(count == 4 .and. all(b(1:4) == [1, 4, 7, 10]), 'a strided section')
      end if
    end do
    call MPI_Sendrecv(pattern(rank, 6), n, MPI_INTEGER, partner, 6, b, n, MPI_INTEGER, partner, 6, &
                      MPI_COMM_WORLD, status, ierr)
    call check(all(b == pattern(partner, 6)) .and. FIELD(status, MPI_SOURCE) == partner, 'sendrecv')
    a = pattern(rank, 7)
    call MPI_Sendrecv_replace(a, n, MPI_INTEGER, partner, 7, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(all(a == pattern(partner, 7)), 'sendrecv_replace')
    call MPI_Recv(a, n, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierr)
    call check(FIELD(status, MPI_SOURCE) == MPI_PROC_NULL, 'receive from nobody')
    detached = 0
    call detach(room, detached)
    call check(detached == size(room) * 4, 'size of the detached buffer')
  end subroutine

  subroutine receive_ready(a)
    integer, asynchronous, intent(inout) :: a(n)
    HANDLE(MPI_Request) :: request
    call MPI_Irecv(a, n, MPI_INTEGER, partner, 4, MPI_COMM_WORLD, request, ierr)
    call MPI_Send(a, 0, MPI_INTEGER, partner, 40, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine

  ! What comes back as the address differs: mpi_f08 gives a C pointer, the others leave it alone.
  subroutine detach(room, bytes)
#if defined(USE_MPI_F08)
    use, intrinsic :: iso_c_binding
    integer, target, intent(in) :: room(:)
    integer, intent(out) :: bytes
    type(c_ptr) :: address
    call MPI_Buffer_detach(address, bytes, ierr)
    call check(c_associated(address, c_loc(room)), 'address of the detached buffer')
#else
    integer, intent(inout) :: room(:)
    integer, intent(out) :: bytes
    call MPI_Buffer_detach(room, bytes, ierr)
#endif
  end subroutine

  subroutine nonblocking()
    integer, asynchronous :: out(n, 4), in(n, 4), room(n * 2 + 10000)
    integer :: i, bytes
    HANDLE(MPI_Request) :: sends(4), receives(4)
    STATUSES(statuses, 4)
    call MPI_Buffer_attach(room, size(room) * 4, ierr)
    do i = 1, 4
      out(:, i) = pattern(rank, i)
      call MPI_Irecv(in(1, i), n, MPI_INTEGER, partner, i, MPI_COMM_WORLD, receives(i), ierr)
    end do
    call barrier()
    call MPI_Isend(out(1, 1), n, MPI_INTEGER, partner, 1, MPI_COMM_WORLD, sends(1), ierr)
    call MPI_Issend(out(1, 2), n, MPI_INTEGER, partner, 2, MPI_COMM_WORLD, sends(2), ierr)
    call MPI_Ibsend(out(1, 3), n, MPI_INTEGER, partner, 3, MPI_COMM_WORLD, sends(3), ierr)
    call MPI_Irsend(out(1, 4), n, MPI_INTEGER, partner, 4, MPI_COMM_WORLD, sends(4), ierr)
    call MPI_Waitall(4, receives, statuses, ierr)
    call MPI_Waitall(4, sends, MPI_STATUSES_IGNORE, ierr)
    do i = 1, 4
      call check(all(in(:, i) == pattern(partner, i)), 'non-blocking send')
      call check(FIELD_OF(statuses, i, MPI_TAG) == i, 'tag in an array of statuses')
      call check(FIELD_OF(statuses, i, MPI_SOURCE) == partner, 'source in an array of statuses')
      call check(sends(i) == MPI_REQUEST_NULL .and. receives(i) == MPI_REQUEST_NULL, 'requests after waitall')
    end do
    call detach(room, bytes)
  end subroutine

  subroutine completion()
    integer, asynchronous :: in(n, 3)
    integer :: i, count
    logical :: flag
    HANDLE(MPI_Request) :: receives(3)
    STATUS(status)
    STATUSES(statuses, 3)
    ! test: not done before the partner has sent, done some time after
    call MPI_Irecv(in(1, 1), n, MPI_INTEGER, partner, 11, MPI_COMM_WORLD, receives(1), ierr)
    call MPI_Test(receives(1), flag, status, ierr)
    call check(.not. flag, 'test before the message was sent')
    call barrier()
    call MPI_Send(pattern(rank, 11), n, MPI_INTEGER, partner, 11, MPI_COMM_WORLD, ierr)
    do while (.not. flag)
      call MPI_Test(receives(1), flag, status, ierr)
    end do
    call check(all(in(:, 1) == pattern(partner, 11)) .and. FIELD(status, MPI_TAG) == 11, 'test')
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == n, 'count after test')
    ! testall, with and without statuses
    do i = 1, 3
      call MPI_Irecv(in(1, i), n, MPI_INTEGER, partner, 11 + i, MPI_COMM_WORLD, receives(i), ierr)
    end do
    call MPI_Testall(3, receives, flag, MPI_STATUSES_IGNORE, ierr)
    call check(.not. flag, 'testall before the messages were sent')
    call barrier()
    do i = 1, 3
      call MPI_Send(pattern(rank, 11 + i), n, MPI_INTEGER, partner, 11 + i, MPI_COMM_WORLD, ierr)
    end do
    do while (.not. flag)
      call MPI_Testall(3, receives, flag, statuses, ierr)
    end do
    do i = 1, 3
      call check(all(in(:, i) == pattern(partner, 11 + i)), 'testall')
      call check(FIELD_OF(statuses, i, MPI_TAG) == 11 + i, 'statuses of testall')
      call check(receives(i) == MPI_REQUEST_NULL, 'requests after testall')
    end do
  end subroutine

  ! What the MPI library alone returns for the first of several requests: 1, as it must be in Fortran, or an error.
  integer function first_index()
    integer, asynchronous :: in(1)
    integer :: index
    HANDLE(MPI_Request) :: request(1)
    call MPI_Irecv(in, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request(1), ierr)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierr)
    call MPI_Waitany(1, request, index, MPI_STATUS_IGNORE, ierr)
#ifdef MPICH
    call check(index == 0 .or. index == 1, 'index of the only request')
#else
    call check(index == 1, 'index of the only request')
#endif
    first_index = index
  end function

  subroutine check_undefined(index, what)
    integer, intent(in) :: index
    character(*), intent(in) :: what
#ifdef MPICH
    call check(index == MPI_UNDEFINED .or. index == MPI_UNDEFINED + 1, what)
#else
    call check(index == MPI_UNDEFINED, what)
#endif
  end subroutine

  subroutine one_of_several()
    integer, asynchronous :: in(n, 3)
    integer :: i, index, outcount, indices(3)
    logical :: flag
    HANDLE(MPI_Request) :: receives(3)
    STATUS(status)
    STATUSES(statuses, 3)
    integer :: before_first
    before_first = first_index() - 1
    do i = 1, 3
      call MPI_Irecv(in(1, i), n, MPI_INTEGER, partner, 20 + i, MPI_COMM_WORLD, receives(i), ierr)
    end do
    call MPI_Testany(3, receives, index, flag, status, ierr)
    call check(.not. flag, 'testany with nothing done')
    call MPI_Testsome(3, receives, outcount, indices, statuses, ierr)
    call check(outcount == 0, 'testsome with nothing done')
    call barrier()
    call MPI_Send(pattern(rank, 22), n, MPI_INTEGER, partner, 22, MPI_COMM_WORLD, ierr)
    call MPI_Waitany(3, receives, index, status, ierr)
    call check(index == before_first + 2 .and. receives(2) == MPI_REQUEST_NULL, 'index of waitany')
    call check(receives(1) /= MPI_REQUEST_NULL .and. receives(3) /= MPI_REQUEST_NULL, 'others after waitany')
    call check(all(in(:, 2) == pattern(partner, 22)) .and. FIELD(status, MPI_TAG) == 22, 'waitany')
    call barrier()
    call MPI_Send(pattern(rank, 23), n, MPI_INTEGER, partner, 23, MPI_COMM_WORLD, ierr)
    call MPI_Waitsome(3, receives, outcount, indices, statuses, ierr)
    call check(outcount == 1 .and. indices(1) == before_first + 3 .and. FIELD_OF(statuses, 1, MPI_TAG) == 23, 'waitsome')
    call check(all(in(:, 3) == pattern(partner, 23)) .and. receives(3) == MPI_REQUEST_NULL, 'data of waitsome')
    call barrier()
    call MPI_Send(pattern(rank, 21), n, MPI_INTEGER, partner, 21, MPI_COMM_WORLD, ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(3, receives, index, flag, MPI_STATUS_IGNORE, ierr)
    end do
    call check(index == before_first + 1 .and. all(in(:, 1) == pattern(partner, 21)), 'testany')
    ! nothing left
    call MPI_Waitany(3, receives, index, MPI_STATUS_IGNORE, ierr)
    call check_undefined(index, 'waitany without active requests')
    call MPI_Testany(3, receives, index, flag, status, ierr)
    call check(flag, 'testany without active requests')
    call check_undefined(index, 'index of testany without active requests')
    call MPI_Waitsome(3, receives, outcount, indices, MPI_STATUSES_IGNORE, ierr)
    call check(outcount == MPI_UNDEFINED, 'waitsome without active requests')
    ! testsome finds the second of two
    call MPI_Irecv(in(1, 1), n, MPI_INTEGER, partner, 24, MPI_COMM_WORLD, receives(1), ierr)
    call MPI_Irecv(in(1, 3), n, MPI_INTEGER, partner, 25, MPI_COMM_WORLD, receives(3), ierr)
    call MPI_Send(pattern(rank, 25), n, MPI_INTEGER, partner, 25, MPI_COMM_WORLD, ierr)
    outcount = 0
    do while (outcount == 0)
      call MPI_Testsome(3, receives, outcount, indices, statuses, ierr)
    end do
    call check(outcount == 1 .and. indices(1) == before_first + 3 .and. FIELD_OF(statuses, 1, MPI_TAG) == 25, 'testsome')
    call check(all(in(:, 3) == pattern(partner, 25)), 'data of testsome')
    call barrier()
    call MPI_Send(pattern(rank, 24), n, MPI_INTEGER, partner, 24, MPI_COMM_WORLD, ierr)
    call MPI_Wait(receives(1), status, ierr)
    call check(all(in(:, 1) == pattern(partner, 24)) .and. FIELD(status, MPI_TAG) == 24, 'the last one')
  end subroutine

  subroutine persistent()
    integer, asynchronous :: out(n, 4), in(n, 4), room(n * 2 + 10000)
    integer :: i, round, bytes
    HANDLE(MPI_Request) :: sends(4), receives(4)
    call MPI_Buffer_attach(room, size(room) * 4, ierr)
    call MPI_Send_init(out(1, 1), n, MPI_INTEGER, partner, 31, MPI_COMM_WORLD, sends(1), ierr)
    call MPI_Ssend_init(out(1, 2), n, MPI_INTEGER, partner, 32, MPI_COMM_WORLD, sends(2), ierr)
    call MPI_Bsend_init(out(1, 3), n, MPI_INTEGER, partner, 33, MPI_COMM_WORLD, sends(3), ierr)
    call MPI_Rsend_init(out(1, 4), n, MPI_INTEGER, partner, 34, MPI_COMM_WORLD, sends(4), ierr)
    do i = 1, 4
      call MPI_Recv_init(in(1, i), n, MPI_INTEGER, partner, 30 + i, MPI_COMM_WORLD, receives(i), ierr)
    end do
    do round = 1, 3
      do i = 1, 4
        out(:, i) = pattern(rank, 30 + i) + round
      end do
      call MPI_Startall(4, receives, ierr)
      call barrier()
      call MPI_Start(sends(1), ierr)
      call MPI_Startall(3, sends(2:4), ierr)
      call MPI_Waitall(4, sends, MPI_STATUSES_IGNORE, ierr)
      call MPI_Waitall(4, receives, MPI_STATUSES_IGNORE, ierr)
      do i = 1, 4
        call check(all(in(:, i) == pattern(partner, 30 + i) + round), 'persistent')
        call check(sends(i) /= MPI_REQUEST_NULL, 'a persistent request lives on')
      end do
    end do
    do i = 1, 4
      call MPI_Request_free(sends(i), ierr)
      call MPI_Request_free(receives(i), ierr)
      call check(sends(i) == MPI_REQUEST_NULL .and. receives(i) == MPI_REQUEST_NULL, 'freed requests')
    end do
    call detach(room, bytes)
  end subroutine

  subroutine probing()
    integer, asynchronous :: in(n), in2(n)
    integer :: tag, count
    logical :: flag
    HANDLE(MPI_Request) :: sends(5), request
    HANDLE(MPI_Message) :: message
    STATUS(status)
    integer, asynchronous :: out(n, 5)
    call MPI_Iprobe(partner, 50, MPI_COMM_WORLD, flag, status, ierr)
    call check(.not. flag, 'iprobe before the message was sent')
    call MPI_Improbe(partner, 50, MPI_COMM_WORLD, flag, message, status, ierr)
    call check(.not. flag, 'improbe before the message was sent')
    call barrier()
    do tag = 1, 5
      out(:, tag) = pattern(rank, 40 + tag)
      call MPI_Isend(out(1, tag), n, MPI_INTEGER, partner, 40 + tag, MPI_COMM_WORLD, sends(tag), ierr)
    end do
    call MPI_Probe(MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, count, ierr)
    call check(count == n .and. FIELD(status, MPI_SOURCE) == partner, 'probe')
    call MPI_Recv(in, n, MPI_INTEGER, partner, 41, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(partner, 41)), 'receive after probe')
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(partner, 42, MPI_COMM_WORLD, flag, status, ierr)
    end do
    call check(FIELD(status, MPI_TAG) == 42, 'iprobe')
    call MPI_Mprobe(partner, 42, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, ierr)
    call MPI_Mrecv(in, n, MPI_INTEGER, message, status, ierr)
    call check(all(in == pattern(partner, 42)) .and. message == MPI_MESSAGE_NULL, 'mprobe and mrecv')
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(partner, 43, MPI_COMM_WORLD, flag, message, status, ierr)
    end do
    call check(FIELD(status, MPI_TAG) == 43, 'improbe')
    call MPI_Imrecv(in2, n, MPI_INTEGER, message, request, ierr)
    call MPI_Wait(request, status, ierr)
    call check(all(in2 == pattern(partner, 43)), 'imrecv')
    call MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, message, status, ierr)
    call check(message == MPI_MESSAGE_NO_PROC, 'a message from nobody')
    call MPI_Mrecv(in, n, MPI_INTEGER, message, status, ierr)
    call check(FIELD(status, MPI_SOURCE) == MPI_PROC_NULL, 'receive of a message from nobody')
    call MPI_Recv(in, n, MPI_INTEGER, partner, 44, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Recv(in2, n, MPI_INTEGER, partner, 45, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(partner, 44)) .and. all(in2 == pattern(partner, 45)), 'the rest after probes')
    call MPI_Waitall(5, sends, MPI_STATUSES_IGNORE, ierr)
  end subroutine

  subroutine packing()
    integer :: a(n), b(n), packed(n + 1), position
    a = pattern(rank, 77)
    position = 4
    call MPI_Pack(a, n, MPI_INTEGER, packed, 4 * (n + 1), position, MPI_COMM_WORLD, ierr)
    call check(position == 4 * (n + 1) .and. all(packed(2:) == a), 'Pack')
    position = 4
    call MPI_Unpack(packed, 4 * (n + 1), position, b, n, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(position == 4 * (n + 1) .and. all(b == a), 'Unpack')
  end subroutine

  subroutine external()
    integer :: a(n), b(n), packed(n)
    integer(MPI_ADDRESS_KIND) :: position
    a = pattern(rank, 79)
    position = 0
    call MPI_Pack_external('external32', a, n, MPI_INTEGER, packed, 4_MPI_ADDRESS_KIND * n, position, ierr)
    call check(position == 4 * n, 'Pack_external')
    position = 0
    call MPI_Unpack_external('external32', packed, 4_MPI_ADDRESS_KIND * n, position, b, n, MPI_INTEGER, ierr)
    call check(position == 4 * n .and. all(b == a), 'Unpack_external')
  end subroutine

  subroutine collective()
    integer :: a(n), one
    a = pattern(rank, 78)
    one = rank
    call MPI_Bcast(a, n, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    call check(all(a == pattern(1, 78)), 'Bcast')
    call MPI_Bcast(one, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call check(one == 0, 'Bcast of a scalar')
  end subroutine

  subroutine requests()
    integer, asynchronous :: in(n), out(n)
    logical :: flag
    HANDLE(MPI_Request) :: request
    STATUS(status)
    call MPI_Irecv(in, n, MPI_INTEGER, partner, 60, MPI_COMM_WORLD, request, ierr)
    call MPI_Cancel(request, ierr)
    call MPI_Wait(request, status, ierr)
    call MPI_Test_cancelled(status, flag, ierr)
    call check(flag, 'a cancelled receive')
    call MPI_Irecv(in, n, MPI_INTEGER, partner, 61, MPI_COMM_WORLD, request, ierr)
    call MPI_Request_get_status(request, flag, status, ierr)
    call check(.not. flag, 'status of a request before the message was sent')
    call barrier()
    call MPI_Send(pattern(rank, 61), n, MPI_INTEGER, partner, 61, MPI_COMM_WORLD, ierr)
    do while (.not. flag)
      call MPI_Request_get_status(request, flag, status, ierr)
    end do
    call check(FIELD(status, MPI_TAG) == 61 .and. request /= MPI_REQUEST_NULL, 'status of a request')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(partner, 61)), 'data after request_get_status')
    ! a request that is freed before it is done: the message still arrives
    out = pattern(rank, 62)
    call MPI_Isend(out, n, MPI_INTEGER, partner, 62, MPI_COMM_WORLD, request, ierr)
    call MPI_Request_free(request, ierr)
    call check(request == MPI_REQUEST_NULL, 'a freed request')
    call MPI_Recv(in, n, MPI_INTEGER, partner, 62, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(partner, 62)), 'message of a freed request')
    call barrier()
  end subroutine

  ! Absolute addresses: MPI_BOTTOM is a variable of the library in Fortran, not a null pointer.
  subroutine addresses()
    integer, target :: in(n), out(n)
    integer(MPI_ADDRESS_KIND) :: displacements(2)
    HANDLE(MPI_Datatype) :: send_type, recv_type
    out = pattern(rank, 70)
    in = 0
    call MPI_Get_address(out(1), displacements(1), ierr)
    call MPI_Get_address(out(n / 2 + 1), displacements(2), ierr)
    call MPI_Type_create_struct(2, [n / 2, n / 2], displacements, [MPI_INTEGER, MPI_INTEGER], send_type, ierr)
    call MPI_Type_commit(send_type, ierr)
    call MPI_Get_address(in(1), displacements(1), ierr)
    call MPI_Get_address(in(n / 2 + 1), displacements(2), ierr)
    call MPI_Type_create_struct(2, [n / 2, n / 2], displacements, [MPI_INTEGER, MPI_INTEGER], recv_type, ierr)
    call MPI_Type_commit(recv_type, ierr)
    call MPI_Sendrecv(MPI_BOTTOM, 1, send_type, partner, 70, MPI_BOTTOM, 1, recv_type, partner, 70, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call keep(in)
    call check(all(in == pattern(partner, 70)), 'MPI_BOTTOM')
    call MPI_Type_free(send_type, ierr)
    call MPI_Type_free(recv_type, ierr)
  end subroutine

  ! The compiler cannot know that `a` was changed through its address; after this call it has to believe it.
  subroutine keep(a)
    integer, intent(inout) :: a(:)
    integer, volatile :: one
    one = 1
    a(one) = a(one) + one - 1
  end subroutine

  ! Each rank sends to the next of `comm` and receives from the one before.
  subroutine ring(comm, what)
    HANDLE(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: what
    integer :: me, size, in(n)
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, size, ierr)
    call MPI_Sendrecv(pattern(me, 80), n, MPI_INTEGER, mod(me + 1, size), 80, in, n, MPI_INTEGER, &
                      mod(me - 1 + size, size), 80, comm, MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(mod(me - 1 + size, size), 80)), what)
  end subroutine

  subroutine communicators()
    integer :: i, in(n), other
    HANDLE(MPI_Comm) :: made, half, inter
    HANDLE(MPI_Group) :: world, evens
    call MPI_Comm_dup(MPI_COMM_WORLD, made, ierr)
    call ring(made, 'dup')
    call MPI_Comm_free(made, ierr)
    call MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, made, ierr)
    call ring(made, 'dup_with_info')
    call MPI_Comm_free(made, ierr)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierr)
    call ring(half, 'split')
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, made, ierr)
    call ring(made, 'split_type')
    call MPI_Comm_free(made, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    call MPI_Group_incl(world, ranks / 2, [(i, i=0, ranks - 2, 2)], evens, ierr)
    call MPI_Comm_create(MPI_COMM_WORLD, evens, made, ierr)
    call check(even .eqv. made /= MPI_COMM_NULL, 'members of a created communicator')
    if (even) then
      call ring(made, 'create')
      call MPI_Comm_free(made, ierr)
      call MPI_Comm_create_group(MPI_COMM_WORLD, evens, 5, made, ierr)
      call ring(made, 'create_group')
      call MPI_Comm_free(made, ierr)
    end if
    call MPI_Group_free(world, ierr)
    call MPI_Group_free(evens, ierr)
    ! The two halves: rank k of one talks to rank k of the other.
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, merge(ranks - 1, ranks - 2, even), 9, inter, ierr)
    call MPI_Comm_rank(half, other, ierr)
    call MPI_Sendrecv(pattern(rank, 81), n, MPI_INTEGER, other, 81, in, n, MPI_INTEGER, other, 81, inter, &
                      MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(partner, 81)), 'inter-communicator')
    call MPI_Intercomm_merge(inter, .not. even, made, ierr)
    call ring(made, 'intercomm_merge')
    call MPI_Comm_rank(made, i, ierr)
    call check(even .eqv. i < ranks / 2, 'the order of the merged halves')
    call MPI_Comm_free(made, ierr)
    call MPI_Comm_free(inter, ierr)
    call MPI_Comm_free(half, ierr)
  end subroutine

  subroutine topologies()
    integer :: i, source, dest, in(n), coordinates(2), next, before
    logical :: periods(2)
    HANDLE(MPI_Comm) :: grid, row, graph
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [ranks / 2, 2], [.true., .false.], .false., grid, ierr)
    call ring(grid, 'cart_create')
    call MPI_Cart_get(grid, 2, coordinates, periods, coordinates, ierr)
    call check(periods(1) .and. .not. periods(2), 'periods of the grid')
    call MPI_Cart_shift(grid, 0, 1, source, dest, ierr)
    call MPI_Sendrecv(pattern(rank, 90), n, MPI_INTEGER, dest, 90, in, n, MPI_INTEGER, source, 90, grid, &
                      MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(source, 90)), 'shift on the grid')
    call MPI_Cart_sub(grid, [.false., .true.], row, ierr)
    call ring(row, 'cart_sub')
    call MPI_Comm_size(row, i, ierr)
    call check(i == 2, 'size of a row')
    call MPI_Comm_free(row, ierr)
    call MPI_Comm_free(grid, ierr)
    ! a ring as a graph, three times
    next = mod(rank + 1, ranks)
    before = mod(rank - 1 + ranks, ranks)
    call MPI_Graph_create(MPI_COMM_WORLD, ranks, [(i, i=1, ranks)], [(mod(i, ranks), i=1, ranks)], .false., graph, ierr)
    call ring(graph, 'graph_create')
    call MPI_Comm_free(graph, ierr)
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [next], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierr)
    call ring(graph, 'dist_graph_create')
    call MPI_Comm_free(graph, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, ierr)
    call ring(graph, 'dist_graph_create_adjacent')
    call MPI_Comm_free(graph, ierr)
  end subroutine

  ! Window memory of the partner.
  subroutine one_sided()
    integer, asynchronous, save :: memory(8) = 0, other(1)
    integer, asynchronous :: mine(4), fetched(4)
    integer(MPI_ADDRESS_KIND) :: at
    logical :: done
    HANDLE(MPI_Win) :: win, second
    HANDLE(MPI_Group) :: world, peer
    HANDLE(MPI_Request) :: requests(2)
    mine = rank + [10, 20, 30, 40]
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierr)
    call MPI_Group_incl(world, 1, [partner], peer, ierr)
    call MPI_Win_create(memory, 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_create(other, 4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, second, ierr)
    call MPI_Win_free(second, ierr)
    call MPI_Win_fence(0, win, ierr)
    at = 1
    call MPI_Put(mine, 4, MPI_INTEGER, partner, at, 16, MPI_BYTE, win, ierr)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierr)
    call check(all(memory(2:5) == partner + [10, 20, 30, 40]) .and. memory(1) == 0 .and. memory(6) == 0, 'put and fence')

    call MPI_Win_post(peer, 0, win, ierr)
    call MPI_Win_start(peer, 0, win, ierr)
    at = 3
    call MPI_Get(fetched, 8, MPI_BYTE, partner, at, 2, MPI_INTEGER, win, ierr)
    call MPI_Win_complete(win, ierr)
    call MPI_Win_wait(win, ierr)
    call check(all(fetched(1:2) == rank + [30, 40]), 'get, post and start')
    call MPI_Win_post(peer, 0, win, ierr)
    call MPI_Win_start(peer, 0, win, ierr)
    at = 2
    call MPI_Accumulate(mine, 2, MPI_INTEGER, partner, at, 2, MPI_INTEGER, MPI_SUM, win, ierr)
    call MPI_Win_complete(win, ierr)
    done = .false.
    do while (.not. done)
      call MPI_Win_test(win, done, ierr)
    end do
    call check(all(memory(3:4) == 2 * partner + [30, 50]), 'accumulate')
    call barrier()

    at = 5
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, partner, 0, win, ierr)
    call MPI_Get_accumulate(mine, 1, MPI_INTEGER, fetched, 1, MPI_INTEGER, partner, at, 1, MPI_INTEGER, MPI_REPLACE, win, ierr)
    call MPI_Win_flush(partner, win, ierr)
    call MPI_Fetch_and_op(mine, fetched(2), MPI_INTEGER, partner, at, MPI_MAX, win, ierr)
    call MPI_Win_flush_local(partner, win, ierr)
    call MPI_Win_unlock(partner, win, ierr)
    call check(fetched(1) == 0 .and. fetched(2) == rank + 10, 'get_accumulate, fetch_and_op')
    call MPI_Win_lock(MPI_LOCK_SHARED, partner, 0, win, ierr)
    call MPI_Compare_and_swap(mine(4), mine(1), fetched(1), MPI_INTEGER, partner, at, win, ierr)
    call MPI_Win_flush_all(win, ierr)
    call MPI_Win_flush_local_all(win, ierr)
    call MPI_Win_unlock(partner, win, ierr)
    call check(fetched(1) == rank + 10, 'compare_and_swap')

    call MPI_Win_lock_all(0, win, ierr)
    call MPI_Rget(fetched, 1, MPI_INTEGER, partner, at, 1, MPI_INTEGER, win, requests(1), ierr)
    at = 6
    call MPI_Rput(mine, 1, MPI_INTEGER, partner, at, 1, MPI_INTEGER, win, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call check(fetched(1) == rank + 40, 'rget')
    call MPI_Win_flush(partner, win, ierr)
    call MPI_Raccumulate(mine, 1, MPI_INTEGER, partner, at, 1, MPI_INTEGER, MPI_SUM, win, requests(1), ierr)
    call MPI_Rget_accumulate(mine, 1, MPI_INTEGER, fetched, 1, MPI_INTEGER, partner, at, 1, MPI_INTEGER, MPI_NO_OP, &
                             win, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call MPI_Win_sync(win, ierr)
    call MPI_Win_unlock_all(win, ierr)
    call check(fetched(1) == 2 * rank + 20, 'rput, raccumulate, rget_accumulate')
    call MPI_Win_free(win, ierr)
    call MPI_Group_free(peer, ierr)
    call MPI_Group_free(world, ierr)
  end subroutine

#ifdef HAVE_MPI4
  subroutine exchange_requests()
    integer, asynchronous :: in(n), out(n)
    HANDLE(MPI_Request) :: request
    out = pattern(rank, 95)
    call MPI_Isendrecv(out, n, MPI_INTEGER, partner, 95, in, n, MPI_INTEGER, partner, 95, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all(in == pattern(partner, 95)), 'isendrecv')
    call MPI_Isendrecv_replace(out, n, MPI_INTEGER, partner, 96, partner, 96, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all(out == pattern(partner, 95)), 'isendrecv_replace')
  end subroutine

  subroutine persistent_collective()
    integer, asynchronous :: a(n)
    integer :: turn
    HANDLE(MPI_Request) :: request
    call MPI_Bcast_init(a, n, MPI_INTEGER, 1, MPI_COMM_WORLD, MPI_INFO_NULL, request, ierr)
    do turn = 1, 2
      a = pattern(rank, 96 + turn)
      call MPI_Start(request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      call check(all(a == pattern(1, 96 + turn)), 'bcast_init')
    end do
    call MPI_Request_free(request, ierr)
  end subroutine
#endif
end program
