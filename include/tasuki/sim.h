/* What MPI programs can tell and ask Tasuki's simulator beyond MPI. The same program runs on any MPI library: there the
   functions do nothing, and coordinates and neighbours are MPI_UNDEFINED. Include after mpi.h.

   The paper on NSIM (packet pacing) has these as part of its MGEN interface: relative coordinates, the NIC that a message leaves
   by, and the gap between its packets. Times are simulated seconds. Call from the program's main thread of execution only. */
#ifndef TASUKI_SIM_H
#define TASUKI_SIM_H

#ifdef __cplusplus
extern "C" {
#endif

/* The simulator's own; null elsewhere. */
#define TASUKI_SIM_WEAK __attribute__((weak))
TASUKI_SIM_WEAK void tasuki_sim_impl_compute(double seconds);
TASUKI_SIM_WEAK int tasuki_sim_impl_dimensions(int most, int* extents);
TASUKI_SIM_WEAK int tasuki_sim_impl_coordinates(int rank, int most, int* coordinates);
TASUKI_SIM_WEAK int tasuki_sim_impl_neighbor(int n, const int* displacement);
TASUKI_SIM_WEAK int tasuki_sim_impl_nics(void);
TASUKI_SIM_WEAK void tasuki_sim_impl_set_nic(int nic);
TASUKI_SIM_WEAK void tasuki_sim_impl_set_gap(double packet_times);

/* Does the program run in the simulator? */
static inline int tasuki_sim_active(void) {
  return tasuki_sim_impl_compute != 0;
}

/* This rank computes for so long. (Other computation takes no simulated time, unless the machine file says so by compute_scale.) */
static inline void tasuki_sim_compute(double seconds) {
  if (tasuki_sim_impl_compute) tasuki_sim_impl_compute(seconds);
}

/* The machine's torus or mesh: returns its number of dimensions (0: it is none) and writes up to `most` extents. */
static inline int tasuki_sim_dimensions(int most, int* extents) {
  return tasuki_sim_impl_dimensions ? tasuki_sim_impl_dimensions(most, extents) : 0;
}

/* Coordinates of a rank of MPI_COMM_WORLD there, dimension 0 fastest. Returns the number of dimensions, 0 if there are none. */
static inline int tasuki_sim_coordinates(int rank, int most, int* coordinates) {
  return tasuki_sim_impl_coordinates ? tasuki_sim_impl_coordinates(rank, most, coordinates) : 0;
}

/* The rank of MPI_COMM_WORLD at a displacement from this one: `n` numbers, dimension 0 first; around the rings of a torus.
   -1: there is none. With several ranks on a node: the one with the same place on that node. */
static inline int tasuki_sim_neighbor(int n, const int* displacement) {
  return tasuki_sim_impl_neighbor ? tasuki_sim_impl_neighbor(n, displacement) : -1;
}

/* NICs of a node; and the one that this rank's messages leave by from now on (modulo their number; -1: in turn). */
static inline int tasuki_sim_nics(void) {
  return tasuki_sim_impl_nics ? tasuki_sim_impl_nics() : 1;
}
static inline void tasuki_sim_set_nic(int nic) {
  if (tasuki_sim_impl_set_nic) tasuki_sim_impl_set_nic(nic);
}

/* The time between two packets of this rank's messages from now on, in times of a full packet on the link, to 1/256; negative:
   what the command line says (--pace). */
static inline void tasuki_sim_set_gap(double packet_times) {
  if (tasuki_sim_impl_set_gap) tasuki_sim_impl_set_gap(packet_times);
}

#ifdef MPI_VERSION
/* MPI_Isend by a NIC and with a gap of its own. */
static inline int tasuki_sim_isend(const void* buffer, int count, MPI_Datatype type, int to, int tag,
                                   MPI_Comm comm, int nic, double packet_times, MPI_Request* request) {
  int result;
  tasuki_sim_set_nic(nic);
  tasuki_sim_set_gap(packet_times);
  result = MPI_Isend(buffer, count, type, to, tag, comm, request);
  tasuki_sim_set_nic(-1);
  tasuki_sim_set_gap(-1);
  return result;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
