# tasuki_library(NAME layout LAYER 1 DEPENDS base SOURCES a.cpp b.cpp)
#
# Declares one part of src/ as a static library `tasuki_<name>` and keeps the architecture true:
#   * an edge to a part of the same or a higher layer is refused at configure time;
#   * so is an #include "part/..." of a part that DEPENDS does not name (directly or through others);
#   * so is <mpi.h> outside the parts that declare MPI_ALLOWED.
# tasuki_folder() says the same of the folders beside src/.
function(tasuki_library)
  cmake_parse_arguments(L "MPI_ALLOWED;INTERFACE" "NAME;LAYER" "DEPENDS;SOURCES" ${ARGN})
  set(target tasuki_${L_NAME})

  set(reachable ${L_NAME})
  foreach(dep ${L_DEPENDS})
    get_property(dep_layer GLOBAL PROPERTY TASUKI_LAYER_${dep})
    if("${dep_layer}" STREQUAL "")
      message(FATAL_ERROR "src/${L_NAME}: depends on '${dep}', which is not declared before it. "
                          "Parts are declared from low to high layers in src/CMakeLists.txt.")
    endif()
    if(NOT dep_layer LESS L_LAYER)
      message(FATAL_ERROR "src/${L_NAME} (layer ${L_LAYER}) must not depend on src/${dep} (layer ${dep_layer}): "
                          "arrows point to lower layers only, see docs/architecture.md.")
    endif()
    get_property(dep_reachable GLOBAL PROPERTY TASUKI_REACHABLE_${dep})
    list(APPEND reachable ${dep_reachable})
  endforeach()
  list(REMOVE_DUPLICATES reachable)
  set_property(GLOBAL PROPERTY TASUKI_LAYER_${L_NAME} ${L_LAYER})
  set_property(GLOBAL PROPERTY TASUKI_REACHABLE_${L_NAME} "${reachable}")
  tasuki_check_includes(${L_NAME} src/${L_NAME} "${reachable}" "${L_MPI_ALLOWED}")

  if(L_INTERFACE)
    return()
  endif()
  add_library(${target} STATIC ${L_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE tasuki_options)
  foreach(dep ${L_DEPENDS})
    target_link_libraries(${target} PUBLIC tasuki_${dep})
  endforeach()
endfunction()

# tasuki_folder(NAME tools PATH tools DEPENDS base bench): a folder beside src/ may include its own headers (as "tools/..."), those of the parts
# and folders that DEPENDS names, and what these depend on. Nothing in src/ may include it. Declared after the parts of src/.
function(tasuki_folder)
  cmake_parse_arguments(F "MPI_ALLOWED" "NAME;PATH" "DEPENDS" ${ARGN})
  set(reachable ${F_NAME})
  foreach(dep ${F_DEPENDS})
    get_property(dep_reachable GLOBAL PROPERTY TASUKI_REACHABLE_${dep})
    if("${dep_reachable}" STREQUAL "")
      message(FATAL_ERROR "${F_PATH}: depends on '${dep}', which is not declared before it.")
    endif()
    list(APPEND reachable ${dep_reachable})
  endforeach()
  set_property(GLOBAL PROPERTY TASUKI_REACHABLE_${F_NAME} "${reachable}")
  tasuki_check_includes(${F_NAME} ${F_PATH} "${reachable}" "${F_MPI_ALLOWED}")
endfunction()

# `path` is the folder of `part`; programs that its tests compile are not the project's code.
function(tasuki_check_includes part path reachable mpi_allowed)
  get_property(parts GLOBAL PROPERTY TASUKI_PARTS)
  get_property(folders GLOBAL PROPERTY TASUKI_FOLDERS)
  list(APPEND parts ${folders})
  set(directory ${PROJECT_SOURCE_DIR}/${path})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${directory}/*.h ${directory}/*.cpp ${directory}/*.c)
  if(NOT path MATCHES "^src/")
    list(FILTER files EXCLUDE REGEX "^${directory}/test/.*[.]c$")
  endif()
  foreach(file ${files})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line ${lines})
      # In quotes or angle brackets, from src/ or by a relative path.
      if(line MATCHES "[<\"]([.]+/|src/)*([a-z]+)/" AND NOT CMAKE_MATCH_2 IN_LIST reachable AND CMAKE_MATCH_2 IN_LIST parts)
        message(FATAL_ERROR "${file}: ${line}\n  ${path} does not depend on ${CMAKE_MATCH_2}; "
                            "declare the edge in its CMakeLists.txt if the layers allow it.")
      endif()
      if(line MATCHES "[<\"]mpi\\.h[>\"]" AND NOT mpi_allowed)
        message(FATAL_ERROR "${file}: mpi.h is legal only in the parts declared MPI_ALLOWED.")
      endif()
    endforeach()
  endforeach()
endfunction()

# tasuki_rooms(PATH src/pager ROOMS stores mappers core [WITHOUT_MPI stores] [BESIDE_ABOVE]): the folders inside a part, from low to high. A file
# may include those of its own room and of the rooms before it. What lies beside the rooms is for all of them; with BESIDE_ABOVE it is above
# them, and none may include it. Tests are not looked at.
function(tasuki_rooms)
  cmake_parse_arguments(R "BESIDE_ABOVE" "PATH" "ROOMS;WITHOUT_MPI" ${ARGN})
  string(REGEX REPLACE "^src/" "" prefix ${R_PATH})
  foreach(room ${R_ROOMS})
    if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${R_PATH}/${room})
      message(FATAL_ERROR "${R_PATH} has no folder ${room}.")
    endif()
  endforeach()
  set(above ${R_ROOMS})
  foreach(room ${R_ROOMS})
    list(REMOVE_ITEM above ${room})
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${R_PATH}/${room}/*.h ${PROJECT_SOURCE_DIR}/${R_PATH}/${room}/*.cpp
         ${PROJECT_SOURCE_DIR}/${R_PATH}/${room}/*.c)
    foreach(file ${files})
      file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include")
      foreach(line ${lines})
        if(line MATCHES "\"${prefix}/(.+)/[^/\"]+\"" AND CMAKE_MATCH_1 IN_LIST above)
          message(FATAL_ERROR "${file}: ${line}\n  ${R_PATH}/${room} must not depend on ${R_PATH}/${CMAKE_MATCH_1}: "
                              "the rooms of ${R_PATH} are, from low to high, ${R_ROOMS}.")
        endif()
        if(R_BESIDE_ABOVE AND line MATCHES "\"${prefix}/[^/\"]+\"")
          message(FATAL_ERROR "${file}: ${line}\n  ${R_PATH}/${room} must not depend on what lies beside the rooms of ${R_PATH}.")
        endif()
        if(line MATCHES "[<\"]mpi\\.h[>\"]" AND room IN_LIST R_WITHOUT_MPI)
          message(FATAL_ERROR "${file}: no mpi.h in ${R_PATH}/${room}.")
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()

# tasuki_unit_test(layout SOURCES test/a_test.cpp [DEPENDS extra targets]): GoogleTest beside the code, label `unit`.
function(tasuki_unit_test part)
  if(NOT TASUKI_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${part}_test ${T_SOURCES})
  target_link_libraries(${part}_test PRIVATE tasuki_${part} ${T_DEPENDS} tasuki_options GTest::gtest GTest::gtest_main
                                             Threads::Threads)
  gtest_discover_tests(${part}_test TEST_PREFIX ${part}. PROPERTIES LABELS unit TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()
