# tasuki_generate_entries(<family> OUTPUT_SOURCES <var> INCLUDE_DIR <var> [VERSION_SCRIPT <var>])
#
# Generates the MPI entry points of one shim (family: openmpi, mpich or abi) from gen/*.toml into the build tree. The
# sources include "generated/pmpi.h" (found through INCLUDE_DIR, as the shim's own code finds it), "shim/delegates.h"
# and "shim/entry/library.h"; the code that implements the delegates is the caller's. Link the shim with
# -Wl,--version-script=<VERSION_SCRIPT>, which exports the entry points and nothing else, and with ${CMAKE_DL_LIBS}.
function(tasuki_generate_entries family)
  cmake_parse_arguments(G "" "OUTPUT_SOURCES;INCLUDE_DIR;VERSION_SCRIPT" "" ${ARGN})
  set(include_dir ${PROJECT_BINARY_DIR}/gen/${family})
  set(out ${include_dir}/generated)
  set(generated ${out}/handles.h ${out}/pmpi.h ${out}/pmpi.cpp ${out}/entries.cpp ${out}/exports.map)
  set(gen ${PROJECT_SOURCE_DIR}/gen)
  # A target of its own: several targets may compile the generated sources, only one rule may write them.
  if(NOT TARGET tasuki_gen_${family})
    add_custom_command(OUTPUT ${generated}
      COMMAND ${TASUKI_PYTHON} ${gen}/generate.py --family ${family} --out ${out}
      DEPENDS ${gen}/generate.py ${gen}/mpi_api.toml ${gen}/handled.toml
      COMMENT "Generating the MPI entry points for ${family}" VERBATIM)
    add_custom_target(tasuki_gen_${family} DEPENDS ${generated})
  endif()
  set(entry ${PROJECT_SOURCE_DIR}/src/shim/entry)
  set(${G_OUTPUT_SOURCES} ${out}/pmpi.cpp ${out}/entries.cpp ${entry}/later.cpp ${entry}/library.cpp ${entry}/profiler.cpp ${entry}/stand_in.cpp PARENT_SCOPE)
  set(${G_INCLUDE_DIR} ${include_dir} PARENT_SCOPE)
  if(G_VERSION_SCRIPT)
    set(${G_VERSION_SCRIPT} ${out}/exports.map PARENT_SCOPE)
  endif()
endfunction()
