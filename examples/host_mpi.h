/* What an MPI library is given of memory on a device: its address there, or, with -DHOST_MPI, a copy on the host
 * (plain Open MPI and MPICH take addresses of the host only). Nothing of this has an effect without OpenACC. */
#ifndef HOST_MPI_H
#define HOST_MPI_H

#define PRAGMA_(...) _Pragma(#__VA_ARGS__)
#ifdef HOST_MPI
#define USE_DEVICE(...)
#define TO_HOST(...) PRAGMA_(acc update self(__VA_ARGS__))
#define TO_DEVICE(...) PRAGMA_(acc update device(__VA_ARGS__))
#else
#define USE_DEVICE(...) PRAGMA_(acc host_data use_device(__VA_ARGS__))
#define TO_HOST(...)
#define TO_DEVICE(...)
#endif

#endif
