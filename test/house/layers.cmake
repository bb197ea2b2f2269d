# The layer check refuses what docs/architecture.md forbids, and says why; and lets the legal through. Configures small
# projects that use the real cmake/TasukiLibrary.cmake.
#   cmake -DSOURCE=<repository> -DWORK=<scratch directory> -P layers.cmake
set(failures 0)

# case(<name> <text that the refusal must contain, or "" for success> <content of src/CMakeLists.txt> [<file below src/> <content>]...)
function(case name expect parts)
  set(dir ${WORK}/${name})
  file(REMOVE_RECURSE ${dir})
  file(MAKE_DIRECTORY ${dir}/src/low ${dir}/src/beside ${dir}/src/high)
  file(WRITE ${dir}/CMakeLists.txt
       "cmake_minimum_required(VERSION 3.25)\nproject(tiny LANGUAGES NONE)\n"
       "include(${SOURCE}/cmake/TasukiLibrary.cmake)\nadd_subdirectory(src)\n")
  file(WRITE ${dir}/src/CMakeLists.txt
       "set_property(GLOBAL PROPERTY TASUKI_PARTS low beside high)\nset_property(GLOBAL PROPERTY TASUKI_FOLDERS tools command house/kitchen house/hall)\n${parts}\n")
  file(WRITE ${dir}/src/low/low.h "#pragma once\n")
  file(WRITE ${dir}/src/high/high.h "#pragma once\n")
  set(at 3)
  while(at LESS ARGC)
    set(file ${ARGV${at}})
    math(EXPR at "${at} + 1")
    file(WRITE ${dir}/src/${file} "${ARGV${at}}\n")
    math(EXPR at "${at} + 1")
  endwhile()
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${dir} -B ${dir}/build RESULT_VARIABLE rc OUTPUT_VARIABLE out
                          ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out "${out}") # CMake wraps its messages
  string(FIND "${out}" "${expect}" at)
  if(expect STREQUAL "" AND NOT rc EQUAL 0)
    message(SEND_ERROR "${name}: a legal project was refused: ${out}")
  elseif(NOT expect STREQUAL "" AND (rc EQUAL 0 OR at EQUAL -1))
    message(SEND_ERROR "${name}: expected a refusal that says '${expect}', got ${rc}: ${out}")
  else()
    message(STATUS "${name}: as expected")
  endif()
endfunction()

set(low "tasuki_library(INTERFACE NAME low LAYER 1)")
set(beside "tasuki_library(INTERFACE NAME beside LAYER 1)")
set(high "tasuki_library(INTERFACE NAME high LAYER 2 DEPENDS low)")

case(legal "" "${low}\n${high}" high/a.cpp "#include \"low/low.h\"\n#include \"high/high.h\"\n#include <vector>")
case(upward_edge "src/low (layer 1) must not depend on src/high (layer 2)"
     "tasuki_library(INTERFACE NAME high LAYER 2)\ntasuki_library(INTERFACE NAME low LAYER 1 DEPENDS high)")
case(sideways_edge "src/beside (layer 1) must not depend on src/low (layer 1)"
     "${low}\ntasuki_library(INTERFACE NAME beside LAYER 1 DEPENDS low)")
case(undeclared_part "src/high: depends on 'nowhere', which is not declared before it"
     "tasuki_library(INTERFACE NAME high LAYER 2 DEPENDS nowhere)")
case(upward_include "src/low does not depend on high" "${low}\n${high}" low/a.cpp "#include \"high/high.h\"")
case(undeclared_include "src/high does not depend on beside" "${low}\n${beside}\n${high}" high/a.cpp
     " #  include \"beside/b.h\"")
case(include_in_header "src/low does not depend on high" "${low}\n${high}" low/deep/b.h "#include \"high/high.h\"")
case(include_in_brackets "src/low does not depend on high" "${low}\n${high}" low/a.cpp "#include <high/high.h>")
case(relative_include "src/low does not depend on high" "${low}\n${high}" low/deep/a.cpp
     "#include \"../../high/high.h\"")
case(legal_brackets "" "${low}\n${high}" high/a.cpp "#include <sys/stat.h>\n#include <low/low.h>")
case(mpi_header "mpi.h is legal only in the parts declared MPI_ALLOWED" "${low}" low/a.c "#include <mpi.h>")
case(mpi_allowed "" "tasuki_library(INTERFACE NAME low LAYER 1 MPI_ALLOWED)" low/a.c "#include <mpi.h>")
set(tools "tasuki_folder(PATH tools DEPENDS high)")
case(folder_legal "" "${low}\n${high}\n${tools}" ../tools/a.cpp "#include \"high/high.h\"\n#include \"low/low.h\"\n#include \"tools/a.h\"")
case(folder_undeclared_part "tools: depends on 'high', which is not declared before it" "${tools}")
case(folder_undeclared_include "tools does not depend on beside" "${low}\n${beside}\n${high}\n${tools}" ../tools/a.cpp
     "#include \"beside/b.h\"")
case(folder_in_part "src/low does not depend on tools" "${low}" low/a.cpp "#include \"tools/a.h\"")
set(rooms "${low}\ntasuki_rooms(PATH src/low ROOMS cellar attic WITHOUT_MPI cellar)")
set(mpi_rooms "tasuki_library(INTERFACE NAME low LAYER 1 MPI_ALLOWED)\ntasuki_rooms(PATH src/low ROOMS cellar attic WITHOUT_MPI cellar)")
case(rooms_legal "" "${mpi_rooms}" low/attic/a.cpp "#include <mpi.h>\n#include \"low/cellar/b.h\"\n#include \"low/low.h\"\n#include \"low/attic/a.h\"" low/cellar/b.h "")
case(rooms_upward "src/low/cellar must not depend on src/low/attic" "${rooms}" low/cellar/b.h "#include \"low/attic/a.h\"" low/attic/a.h "")
case(rooms_mpi "no mpi.h in src/low/cellar" "${mpi_rooms}" low/cellar/b.h "#include <mpi.h>" low/attic/a.h "")
case(rooms_missing "src/low has no folder attic" "${rooms}" low/cellar/b.h "")
case(rooms_undeclared "low/porch/c.h: porch is not a room" "${rooms}" low/cellar/b.h "" low/attic/a.h "" low/porch/c.h "")
case(rooms_undeclared_deep "low/cellar/shelf/c.cpp: cellar/shelf is not a room" "${rooms}" low/cellar/b.h "" low/attic/a.h "" low/cellar/shelf/c.cpp "")
case(rooms_code_in_page "low/page/c.cpp: page is not a room" "${rooms}" low/cellar/b.h "" low/attic/a.h "" low/page/c.cpp "")
case(rooms_beside_rooms "" "${rooms}" low/cellar/b.h "" low/attic/a.h "" low/test/a.cpp "#include \"low/attic/a.h\"" low/test/deep/a.c "" low/fuzz/a.cpp ""
     low/attic/page/a.js "" low/page/b.css "")
case(rooms_brackets "src/low/cellar must not depend on src/low/attic" "${rooms}" low/cellar/b.h "#include <low/attic/a.h>" low/attic/a.h "")
case(rooms_relative "src/low/cellar must not depend on src/low/attic" "${rooms}" low/cellar/b.h "#include \"../attic/a.h\"" low/attic/a.h "")
case(rooms_relative_absent "src/low/cellar must not depend on src/low/attic" "${rooms}" low/cellar/b.h "#include \"../attic/absent.h\"" low/attic/a.h "")
case(rooms_relative_legal "" "${rooms}" low/attic/a.h "#include \"../cellar/b.h\"\n#include <low/cellar/b.h>\n#include \"a.h\"" low/cellar/b.h "")
set(circle "so src/low/cellar must not include it: a circle")
case(rooms_circle "${circle}" "${rooms}" low/cellar/b.h "#include \"low/low.h\"" low/low.h "#include \"low/cellar/c.h\"" low/attic/a.h "")
case(rooms_circle_of_lower "${circle}" "${rooms}" low/cellar/b.cpp "#include \"../low.h\"" low/low.h "#include \"attic/a.h\"" low/attic/a.h "")
case(rooms_circle_by_others "${circle}" "${rooms}" low/cellar/b.h "#include <low/low.h>" low/low.h "#include \"low/more.h\"" low/more.h "#include \"low/attic/a.h\""
     low/attic/a.h "")
case(rooms_circle_by_source "${circle}" "${rooms}" low/cellar/b.h "#include \"low/low.h\"" low/low.cpp "#include \"low/attic/a.h\"" low/attic/a.h "")
case(rooms_beside_below "" "${rooms}" low/cellar/b.h "#include \"low/plain.h\"" low/plain.h "#include \"low/low.h\"" low/attic/a.h "#include \"low/middle.h\""
     low/middle.h "#include \"low/cellar/b.h\"" low/all.h "#include \"low/attic/a.h\"" low/all.cpp "")
case(folder_in_folder "tools does not depend on command" "${low}\n${high}\n${tools}" ../tools/a.cpp "#include \"command/a.h\"")
case(folder_mpi "mpi.h is legal only in the parts declared MPI_ALLOWED" "${low}\n${high}\n${tools}" ../tools/a.c "#include <mpi.h>")
case(folder_tests "" "${low}\n${high}\n${tools}" ../tools/test/a.c "#include <mpi.h>")
set(kitchen "tasuki_folder(PATH house/kitchen)")
set(hall "tasuki_folder(PATH house/hall DEPENDS house/kitchen)")
case(folder_beside_folder "house/kitchen does not depend on house/hall" "${kitchen}\n${hall}" ../house/kitchen/a.cpp "#include \"house/hall/b.h\"")
case(folder_beside_folder_legal "" "${kitchen}\n${hall}" ../house/hall/a.cpp "#include \"house/kitchen/b.h\"\n#include \"house/hall/a.h\"")
case(folder_relative "house/kitchen does not depend on house/hall" "${kitchen}\n${hall}" ../house/kitchen/a.cpp "#include \"../hall/b.h\"")
case(folder_unknown "shed is not among the folders of src/CMakeLists.txt" "tasuki_folder(PATH shed)")
