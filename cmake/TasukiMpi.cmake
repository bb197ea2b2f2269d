# The MPI libraries that the shim, the benchmarks and the tests are built for, side by side: openmpi and mpich.
#
# For each one that is found: TASUKI_MPIS holds its name, an interface target `mpi_<name>` carries its flags,
# and TASUKI_MPIRUN_<name>, TASUKI_MPIFORT_<name> hold its launcher and Fortran compiler.
set(TASUKI_MPIS "")
foreach(mpi openmpi mpich)
  find_program(TASUKI_MPICC_${mpi} NAMES mpicc.${mpi})
  find_program(TASUKI_MPIRUN_${mpi} NAMES mpirun.${mpi})
  find_program(TASUKI_MPIFORT_${mpi} NAMES mpif90.${mpi} mpifort.${mpi})
  if(NOT TASUKI_MPICC_${mpi} OR NOT TASUKI_MPIRUN_${mpi})
    message(WARNING "mpicc.${mpi} or mpirun.${mpi} not found: nothing is built for it. "
                    "Install it with: apt-get install ${mpi}-bin lib${mpi}-dev (openmpi) or mpich libmpich-dev (mpich)")
    continue()
  endif()
  execute_process(COMMAND ${TASUKI_MPICC_${mpi}} -show OUTPUT_VARIABLE show OUTPUT_STRIP_TRAILING_WHITESPACE)
  separate_arguments(show UNIX_COMMAND "${show}")
  add_library(mpi_${mpi} INTERFACE)
  add_library(mpi_${mpi}_headers INTERFACE)
  # Without MPI's old C++ bindings: mpi.h would make C++ code refer to symbols of a library of their own.
  foreach(target mpi_${mpi} mpi_${mpi}_headers)
    target_compile_definitions(${target} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    # GCC takes MPICH's MPI_STATUSES_IGNORE for an array that is too small.
    target_compile_options(${target} INTERFACE
      $<$<AND:$<COMPILE_LANGUAGE:C>,$<C_COMPILER_ID:GNU>>:-Wno-stringop-overflow$<SEMICOLON>-Wno-stringop-overread>)
  endforeach()
  foreach(flag ${show})
    if(flag MATCHES "^-I(.*)")
      target_include_directories(mpi_${mpi} SYSTEM INTERFACE ${CMAKE_MATCH_1})
      target_include_directories(mpi_${mpi}_headers SYSTEM INTERFACE ${CMAKE_MATCH_1})
    elseif(flag MATCHES "^-L(.*)")
      target_link_directories(mpi_${mpi} INTERFACE ${CMAKE_MATCH_1})
    elseif(flag MATCHES "^-l(.*)")
      target_link_libraries(mpi_${mpi} INTERFACE ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(APPEND TASUKI_MPIS ${mpi})
endforeach()
if(NOT TASUKI_MPIS)
  message(FATAL_ERROR "No MPI found. On Debian: apt-get install libopenmpi-dev openmpi-bin libmpich-dev mpich")
endif()
