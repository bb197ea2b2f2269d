// What MPI libraries of one ABI do differently, by their versions. The shim does as the library does.
#pragma once

namespace tasuki::shim {

struct Habits {
  // MPICH before 4.0 and since 4.2: MPI_Wait and MPI_Test raise errors on the communicator of the request.
  bool requests_have_communicator = false;
  // Intel MPI: so they do for what MPI_Imrecv has started.
  bool matched_have_communicator = false;
  // MPICH since 4.2: calls that have no communicator raise errors on MPI_COMM_SELF, if that has an error
  // handler.
  bool blames_self = false;
  // MPICH before 4.0: MPI_Waitsome and MPI_Testsome tell no error handler.
  bool some_tell_nobody = false;
  // MPICH since 4.2, Intel MPI: MPI_Waitall without statuses completes all requests but persistent ones, also
  // those after one that has failed.
  bool bare_waitall_goes_on = false;
  // Intel MPI: a message may end inside an element of a datatype whose elements have several sizes.
  bool accepts_part_of_mixed = false;
  // MPICH since 4.3: what returns is MPI_SUCCESS once a handler of the program's has been told of the error.
  bool handled_is_success = false;
  // MPICH since 4.1: of several pieces between two ranks the first gets the last place, in some topologies or
  // in all, in MPI_Neighbor_alltoallv and _alltoallw, too. Libraries with other names may do so.
  bool turns_all_pairs_around = false;
  // Functions that return one status leave its MPI_ERROR (MPI-4.0, 3.2.5), but some libraries set it in
  // some of them, and programs have come to read it. Open MPI before 4.0.7 and 4.1.2 sets it in all of these:
  struct SetsError {
    bool received = false;      // MPI_Recv and other calls that wait, MPI_Mprobe, MPI_Request_get_status
    bool probed = false;        // MPI_Probe, MPI_Iprobe; MPICH 4 over UCX
    bool replaced = false;      // MPI_Sendrecv_replace; MPICH and Intel MPI
    bool nothing = false;       // where nothing was active; MPICH since 4.2
    bool nothing_seen = false;  // MPI_Request_get_status there; Intel MPI, too
  } sets_error;
};

// Of a library that describes itself (MPI_Get_library_version) like this.
Habits habits_of(const char* version_text);

extern Habits g_habits;

// After MPI_Init: asks the library.
void learn_habits();

}  // namespace tasuki::shim
