# Tests that run under an MPI launcher.
#
#   tasuki_mpi_test(NAME ordering SOURCES ordering.c RANKS 2 4
#                   [ARGS a b] [LABELS l] [TIMEOUT s] [ENV K=V ...] [LIBRARIES target ...]
#                   [EXPECT_EXIT n | EXPECT_EXIT_<mpi> n,n...] [OUTSIDE n] [NO_TRAFFIC] [NO_STATS] [PLAIN_ONLY | TASUKI_ONLY | COMPARE])
#
# For each MPI of TASUKI_TESTED_MPIS this builds `<name>-<mpi>` and adds
#   mpi.<name>.<mpi>.<n>.plain   once, at the first rank count: proves the test itself, against the MPI library alone. A control: such
#                                tests have the label `slow` too, and `make test-slow` runs them, unless PLAIN_ONLY says that there is no other
#   mpi.<name>.<mpi>.<n>.tasuki  at every rank count, under `tasuki run`
# all with the label `mpi` and a time limit. A run under Tasuki counts as passed only when every rank reported
# (TASUKI_STATS=1) that Tasuki moved messages itself: NO_TRAFFIC drops the "at least one message" part for
# programs that send none there, NO_STATS the whole check for programs that never reach MPI_Finalize. OUTSIDE n starts
# the last n ranks without Tasuki. A run that leaves a process behind has failed.
# EXPECT_EXIT is the launcher's exit code, EXPECT_EXIT_<mpi> the one that a launcher has for itself; of several, any.
# With COMPARE the test under Tasuki runs the program plainly first, and fails when it prints other lines under Tasuki.
# Exit code 77 of a program is a skip, and its reason is printed.
#
# Those without EXPECT_EXIT and the label `slow` are also written to test/programs.json in the build tree, for MPI libraries that are not the build's
# (test/matrix).
#
# tasuki_mpi_run(NAME n COMMAND prog args ... MPI openmpi RANKS 2 4 [the options above]) adds the runs of a program that
# is already there: a Fortran test, an interpreter, an installed third-party program.
#
# `make test` gives ctest four slots a core. A test under a launcher takes two of them, as does every test that keeps more than one
# process busy (PROCESSORS 2). With three it has at most two launchers beside it on two cores: ranks of MPICH that wait do not give their
# core away, so jobs with more of them than there are cores are slow enough; and some tests are about who comes in time. COST is about how
# many seconds a long test takes: those start first, so that none runs alone at the end.
#
# TASUKI_PATIENCE multiplies all time limits: a cross-compiled test runs on an emulated machine (scripts/aarch64-tests.sh).
set(TASUKI_PATIENCE 1)
if(CMAKE_CROSSCOMPILING)
  set(TASUKI_PATIENCE 20)
endif()
set(TASUKI_MPI_HARNESS ${PROJECT_SOURCE_DIR}/test/mpi_run.py)
set(TASUKI_MPI_FLAGS NO_TRAFFIC NO_STATS PLAIN_ONLY TASUKI_ONLY COMPARE)
set(TASUKI_MPI_VALUES NAME TIMEOUT EXPECT_EXIT EXPECT_EXIT_mpich EXPECT_EXIT_openmpi OUTSIDE)
set(TASUKI_MPI_LISTS RANKS ARGS LABELS ENV)

# tasuki_mpi_program(NAME n SOURCES ... ARGS ... RANKS ... OPTIONS ... EVIDENCE ... [TASUKI_ONLY]): a line of test/programs.json, once for each NAME.
# OPTIONS and EVIDENCE are those of the harness, for all runs and for those under Tasuki.
function(tasuki_mpi_program)
  cmake_parse_arguments(P "TASUKI_ONLY" "NAME" "SOURCES;ARGS;RANKS;OPTIONS;EVIDENCE" ${ARGN})
  get_property(names GLOBAL PROPERTY TASUKI_MPI_PROGRAM_NAMES)
  if(P_NAME IN_LIST names)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY TASUKI_MPI_PROGRAM_NAMES ${P_NAME})
  set(sources "")
  foreach(source ${P_SOURCES})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/test)
    list(APPEND sources ${source})
  endforeach()
  set(P_SOURCES ${sources})
  foreach(list SOURCES ARGS OPTIONS EVIDENCE)
    list(TRANSFORM P_${list} REPLACE "^(.+)$" "\"\\1\"" OUTPUT_VARIABLE quoted)
    list(JOIN quoted ", " P_${list})
  endforeach()
  list(JOIN P_RANKS ", " P_RANKS)
  set(plain true)
  if(P_TASUKI_ONLY)
    set(plain false)
  endif()
  string(CONCAT line "{\"name\": \"${P_NAME}\", \"sources\": [${P_SOURCES}], \"arguments\": [${P_ARGS}], \"ranks\": [${P_RANKS}], "
                     "\"options\": [${P_OPTIONS}], \"evidence\": [${P_EVIDENCE}], \"plain\": ${plain}}")
  set_property(GLOBAL APPEND PROPERTY TASUKI_MPI_PROGRAMS ${line})
endfunction()

function(tasuki_mpi_run)
  cmake_parse_arguments(R "${TASUKI_MPI_FLAGS}" "${TASUKI_MPI_VALUES};MPI" "${TASUKI_MPI_LISTS};COMMAND;SOURCES" ${ARGN})
  if(R_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tasuki_mpi_run(${R_NAME}): unknown arguments ${R_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT R_TIMEOUT)
    set(R_TIMEOUT 60)
  endif()
  set(options --timeout ${R_TIMEOUT})
  foreach(pair ${R_ENV})
    list(APPEND options --env ${pair})
  endforeach()
  if(DEFINED R_OUTSIDE)
    # For that long the others wait for those that do not come.
    list(APPEND options --outside ${R_OUTSIDE} --env TASUKI_JOIN_TIMEOUT=2)
  endif()
  if(R_COMPARE)
    list(APPEND options --compare)
  endif()
  set(evidence "")
  if(R_NO_TRAFFIC)
    set(evidence --no-traffic)
  elseif(R_NO_STATS)
    set(evidence --no-stats)
  endif()
  set(launcher ${TASUKI_MPI_LAUNCHER_${R_MPI}})
  if(DEFINED R_EXPECT_EXIT_${launcher})
    set(R_EXPECT_EXIT ${R_EXPECT_EXIT_${launcher}})
  endif()
  if(DEFINED R_EXPECT_EXIT)
    list(APPEND options --expect-exit ${R_EXPECT_EXIT})
  elseif(R_SOURCES AND NOT slow IN_LIST R_LABELS)
    set(only "")
    if(R_TASUKI_ONLY)
      set(only TASUKI_ONLY)
    endif()
    tasuki_mpi_program(NAME ${R_NAME} SOURCES ${R_SOURCES} ARGS ${R_ARGS} RANKS ${R_RANKS} OPTIONS ${options} EVIDENCE ${evidence} ${only})
  endif()
  list(APPEND options --mpi ${launcher} --mpirun ${TASUKI_MPIRUN_${R_MPI}})
  list(APPEND R_COMMAND ${R_ARGS})
  list(GET R_RANKS 0 first)
  foreach(n ${R_RANKS})
    set(tests "")
    set(controls "")
    if(n EQUAL first AND NOT R_TASUKI_ONLY AND NOT R_COMPARE)
      set(test mpi.${R_NAME}.${R_MPI}.${n}.plain)
      add_test(NAME ${test} COMMAND ${TASUKI_PYTHON} ${TASUKI_MPI_HARNESS} ${options} --ranks ${n} -- ${R_COMMAND})
      list(APPEND tests ${test})
      if(NOT R_PLAIN_ONLY)
        list(APPEND controls ${test})
      endif()
    endif()
    if(NOT R_PLAIN_ONLY)
      set(test mpi.${R_NAME}.${R_MPI}.${n}.tasuki)
      add_test(NAME ${test} COMMAND ${TASUKI_PYTHON} ${TASUKI_MPI_HARNESS} ${options} ${evidence} --ranks ${n}
                                    --tasuki $<TARGET_FILE:tasuki> -- ${R_COMMAND})
      list(APPEND tests ${test})
    endif()
    # ctest's own limit is the second line of defence: the harness ends the job first and says where it hung.
    math(EXPR limit "(${R_TIMEOUT} + 20) * ${TASUKI_PATIENCE}")
    set(processors 2)
    if(launcher STREQUAL mpich AND n GREATER 2)
      set(processors 3)
    endif()
    set_tests_properties(${tests} PROPERTIES LABELS "mpi;${R_LABELS}" TIMEOUT ${limit} PROCESSORS ${processors}
                                             SKIP_RETURN_CODE 77 ENVIRONMENT TASUKI_TEST_PATIENCE=${TASUKI_PATIENCE})
    if(controls)
      set_tests_properties(${controls} PROPERTIES LABELS "mpi;control;slow;${R_LABELS}")
    endif()
  endforeach()
endfunction()

function(tasuki_mpi_test)
  if(NOT TASUKI_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "${TASUKI_MPI_FLAGS}" "${TASUKI_MPI_VALUES}" "${TASUKI_MPI_LISTS};SOURCES;LIBRARIES" ${ARGN})
  if(T_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tasuki_mpi_test(${T_NAME}): unknown arguments ${T_UNPARSED_ARGUMENTS}")
  endif()
  set(pass "")
  foreach(flag ${TASUKI_MPI_FLAGS})
    if(T_${flag})
      list(APPEND pass ${flag})
    endif()
  endforeach()
  foreach(value NAME TIMEOUT EXPECT_EXIT EXPECT_EXIT_mpich EXPECT_EXIT_openmpi OUTSIDE RANKS ARGS LABELS ENV)
    if(DEFINED T_${value})
      list(APPEND pass ${value} ${T_${value}})
    endif()
  endforeach()
  foreach(mpi ${TASUKI_TESTED_MPIS})
    set(target ${T_NAME}-${mpi})
    add_executable(${target} ${T_SOURCES})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    target_link_libraries(${target} PRIVATE tasuki_options mpi_${mpi} Threads::Threads ${T_LIBRARIES})
    # The executable must be what users have: position independent, as Debian's compilers make it.
    target_link_options(${target} PRIVATE -pie)
    tasuki_mpi_run(MPI ${mpi} COMMAND $<TARGET_FILE:${target}> SOURCES ${T_SOURCES} ${pass})
  endforeach()
endfunction()
