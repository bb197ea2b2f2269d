/** @file
 * What an MPI program can tell Tasuki's simulator, and ask it, beyond MPI. Include it after mpi.h.
 *
 * The same program runs on any MPI library. There the functions that tell something do nothing, and those
 * that ask say that there is no torus, no neighbour, and one NIC.
 *
 * The paper on NSIM (packet pacing) has these functions as part of its MGEN interface: relative
 * coordinates, the NIC by which a message leaves, and the gap between its packets. Only the program's main
 * thread may call them. None of them communicates or fails.
 */
#ifndef TASUKI_SIM_H
#define TASUKI_SIM_H

#ifdef __cplusplus
extern "C" {
#endif

/** @cond the simulator's own functions; null elsewhere */
#define TASUKI_SIM_WEAK __attribute__((weak))
TASUKI_SIM_WEAK void tasuki_sim_impl_compute(double seconds);
TASUKI_SIM_WEAK int tasuki_sim_impl_dimensions(int most, int* extents);
TASUKI_SIM_WEAK int tasuki_sim_impl_coordinates(int rank, int most, int* coordinates);
TASUKI_SIM_WEAK int tasuki_sim_impl_neighbor(int n, const int* displacement);
TASUKI_SIM_WEAK int tasuki_sim_impl_nics(void);
TASUKI_SIM_WEAK void tasuki_sim_impl_set_nic(int nic);
TASUKI_SIM_WEAK void tasuki_sim_impl_set_gap(double packet_times);
/** @endcond */

/** Says whether the program runs in the simulator.
 *
 * @return 1 in the simulator, else 0 */
static inline int tasuki_sim_active(void) {
  return tasuki_sim_impl_compute != 0;
}

/** Lets this rank compute for so many simulated seconds. Other computation takes no simulated time, unless
 * the machine file has a `software.compute_scale`. */
static inline void tasuki_sim_compute(double seconds) {
  if (tasuki_sim_impl_compute) tasuki_sim_impl_compute(seconds);
}

/** Asks for the shape of the machine's torus or mesh.
 *
 * @param most room in `extents`, in numbers
 * @param extents gets up to `most` extents, dimension 0 first
 * @return the number of dimensions; 0 if the machine is no torus or mesh, or outside of the simulator */
static inline int tasuki_sim_dimensions(int most, int* extents) {
  return tasuki_sim_impl_dimensions ? tasuki_sim_impl_dimensions(most, extents) : 0;
}

/** Asks for the coordinates of a rank in the torus or mesh.
 *
 * @param rank a rank of MPI_COMM_WORLD
 * @param most room in `coordinates`, in numbers
 * @param coordinates gets up to `most` coordinates, dimension 0 (which varies fastest) first
 * @return the number of dimensions; 0 if there are none */
static inline int tasuki_sim_coordinates(int rank, int most, int* coordinates) {
  return tasuki_sim_impl_coordinates ? tasuki_sim_impl_coordinates(rank, most, coordinates) : 0;
}

/** Asks for the rank at a displacement from this one, around the rings of a torus.
 *
 * @param n number of dimensions in `displacement`
 * @param displacement nodes in each dimension, dimension 0 first
 * @return the rank of MPI_COMM_WORLD; with several ranks on a node, the one with the same place on that
 *        node; -1 if there is none */
static inline int tasuki_sim_neighbor(int n, const int* displacement) {
  return tasuki_sim_impl_neighbor ? tasuki_sim_impl_neighbor(n, displacement) : -1;
}

/** Asks for the number of NICs of a node.
 *
 * @return the number; 1 outside of the simulator */
static inline int tasuki_sim_nics(void) {
  return tasuki_sim_impl_nics ? tasuki_sim_impl_nics() : 1;
}

/** Chooses the NIC by which this rank's messages leave from now on.
 *
 * @param nic its number, modulo the number of NICs; -1: all NICs in turn */
static inline void tasuki_sim_set_nic(int nic) {
  if (tasuki_sim_impl_set_nic) tasuki_sim_impl_set_nic(nic);
}

/** Chooses the time between two packets of this rank's messages from now on.
 *
 * @param packet_times the time, in times that a full packet takes on the link, rounded to 1/256; negative:
 *        what the command line says (--pace) */
static inline void tasuki_sim_set_gap(double packet_times) {
  if (tasuki_sim_impl_set_gap) tasuki_sim_impl_set_gap(packet_times);
}

#ifdef MPI_VERSION
/** Does an MPI_Isend by a NIC and with a gap of its own; the choices for later messages become -1 (NIC in
 * turn, gap of the command line).
 *
 * @return what MPI_Isend returns */
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
