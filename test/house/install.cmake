# An installed tree runs from anywhere: installs to a temporary prefix, moves it, runs it there with nothing of the build
# tree in the environment, and looks for paths and libraries that would tie it to a place
# or to one MPI.
#   cmake -DBUILD=<build tree> -DWORK=<scratch directory> -DSHIMS="libtasuki-openmpi.so;..." -P install.cmake
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first OUTPUT_VARIABLE out ERROR_VARIABLE out
                RESULT_VARIABLE rc)
if(NOT rc EQUAL 0)
  message(FATAL_ERROR "install failed: ${out}")
endif()
file(RENAME ${WORK}/first ${WORK}/second)
set(prefix ${WORK}/second)

foreach(file bin/tasuki bin/tasukicc lib/tasuki/libdlmmain.a include/tasuki/dlm.h include/tasuki/xmp.h include/tasuki/compiler/dlm_arrays.h
             include/tasuki/compiler/local_view.h include/tasuki/compiler/global_view.h share/doc/tasuki/README.md share/doc/tasuki/LICENSE share/doc/tasuki/docs/manual.md
             share/doc/tasuki/docs/tutorials/slurm.md share/man/man1/tasuki.1 share/man/man1/tasuki-run.1 share/man/man1/tasukicc.1)
  if(NOT EXISTS "${prefix}/${file}")
    message(SEND_ERROR "not installed: ${file}")
  endif()
endforeach()
foreach(shim ${SHIMS})
  if(NOT EXISTS "${prefix}/lib/tasuki/${shim}")
    message(SEND_ERROR "not installed: lib/tasuki/${shim}")
  endif()
endforeach()

set(expected 0) # exit code
# run(<text that the output must contain> <arguments of tasuki...>)
function(run expect)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH --unset=LD_PRELOAD "${prefix}/bin/tasuki" ${ARGN}
                  WORKING_DIRECTORY / OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE rc TIMEOUT 60)
  string(FIND "${out}" "${expect}" at)
  if(NOT rc EQUAL expected OR at EQUAL -1)
    message(SEND_ERROR "${prefix}/bin/tasuki ${ARGN}: exit ${rc}, expected '${expect}' in:\n${out}")
  endif()
endfunction()
run("TASUKI_STATS" settings)
run("tasuki " --version)
run("" run --require -n 2 /bin/true)
run("they share an address space" doctor)
list(REMOVE_ITEM SHIMS libtasuki-abi.so) # few machines have a library of that ABI, which doctor would name it with
foreach(shim ${SHIMS})
  run("shim ${shim}" doctor)
endforeach()

# What the README and the pages on the simulator say, from the installed tree.
execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/../sim/sim_test.py commands --tasuki "${prefix}/bin/tasuki"
                        --docs "${prefix}/share/doc/tasuki" OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE rc)
if(NOT rc EQUAL 0)
  message(SEND_ERROR "commands of the documentation: ${out}")
endif()

execute_process(COMMAND "${prefix}/bin/tasukicc" --dlm-cflags OUTPUT_VARIABLE out RESULT_VARIABLE rc)
if(NOT rc EQUAL 0 OR NOT out STREQUAL "-I${prefix}/include/tasuki\n")
  message(SEND_ERROR "tasukicc --dlm-cflags: exit ${rc}, ${out}")
endif()

# A place that LD_PRELOAD cannot name: said, and the program runs.
file(RENAME ${WORK}/second "${WORK}/a place")
set(prefix "${WORK}/a place")
run("LD_PRELOAD cannot name a directory with a blank" run -n 2 /bin/true)
set(expected 1)
run("install Tasuki elsewhere" doctor)
set(expected 0)
file(RENAME "${WORK}/a place" ${WORK}/second)
set(prefix ${WORK}/second)

file(GLOB_RECURSE files "${prefix}/bin/*" "${prefix}/lib/*" "${prefix}/libexec/*")
foreach(file ${files})
  execute_process(COMMAND readelf -d "${file}" OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(dynamic MATCHES "R(UN)?PATH[^\n]*\\[([^\n]*)\\]" AND NOT CMAKE_MATCH_2 MATCHES "^\\$ORIGIN")
    message(SEND_ERROR "${file} looks for libraries at a fixed place: ${CMAKE_MATCH_2}")
  endif()
  if(dynamic MATCHES "NEEDED[^\n]*\\[(lib(mpi|mpich|mpi_[a-z0-9_]*|mpifort|mpichfort|open-pal|open-rte|pmix|pmi2?)[.]so[^\n]*)\\]")
    message(SEND_ERROR "${file} is linked with an MPI library, ${CMAKE_MATCH_1}: it would not run with one of another name (src/mpi)")
  endif()
  file(STRINGS "${file}" strings REGEX "${BUILD}/(bin|lib|libexec)")
  if(strings)
    message(SEND_ERROR "${file} names the build tree: ${strings}")
  endif()
endforeach()
