# What the build needs from the system, each named with the command that installs it when it is missing
# (scripts/bootstrap.sh installs all of it).
function(tasuki_need_header header package)
  string(MAKE_C_IDENTIFIER TASUKI_HEADER_${header} variable)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} not found. On Debian: apt-get install ${package}")
  endif()
  # Behind all others: a prefix may have an mpi.h, too.
  if(NOT ${variable} IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    add_compile_options("SHELL:-idirafter ${${variable}}")
  endif()
endfunction()

tasuki_need_header(CLI/CLI.hpp libcli11-dev)
tasuki_need_header(nlohmann/json.hpp nlohmann-json3-dev)
tasuki_need_header(toml++/toml.h libtomlplusplus-dev)
tasuki_need_header(xxhash.h libxxhash-dev)
tasuki_need_header(lz4.h liblz4-dev)
find_library(TASUKI_LZ4 NAMES liblz4.a lz4) # static: libdlmmpi then needs nothing but MPI at run time
mark_as_advanced(TASUKI_LZ4)
if(NOT TASUKI_LZ4)
  message(FATAL_ERROR "liblz4 not found. On Debian: apt-get install liblz4-dev")
endif()

tasuki_need_header(isa-l/erasure_code.h libisal-dev) # the library itself is loaded when a program asks for it
tasuki_need_header(hwloc.h libhwloc-dev) # so is this one, when `tasuki tune` asks
tasuki_need_header(liburing.h liburing-dev)
find_library(TASUKI_URING NAMES liburing.a uring) # static, for the same reason
mark_as_advanced(TASUKI_URING)
if(NOT TASUKI_URING)
  message(FATAL_ERROR "liburing not found. On Debian: apt-get install liburing-dev")
endif()

# The simulator's ranks are fibers. Linked statically where that is possible: the tasuki command then needs nothing at run time.
tasuki_need_header(boost/context/detail/fcontext.hpp libboost-context-dev)
find_library(TASUKI_BOOST_CONTEXT NAMES libboost_context.a boost_context)
mark_as_advanced(TASUKI_BOOST_CONTEXT)
if(NOT TASUKI_BOOST_CONTEXT)
  message(FATAL_ERROR "libboost_context not found. On Debian: apt-get install libboost-context-dev")
endif()

# tasukicc understands C with libclang. Distributions keep it beside their other versions of LLVM.
file(GLOB llvm_folders /usr/lib/llvm-1[4-9] /usr/lib/llvm-[2-9][0-9])
find_path(TASUKI_LIBCLANG_INCLUDE clang-c/Index.h HINTS ${llvm_folders} PATH_SUFFIXES include)
find_library(TASUKI_LIBCLANG NAMES clang HINTS ${llvm_folders} PATH_SUFFIXES lib)
mark_as_advanced(TASUKI_LIBCLANG_INCLUDE TASUKI_LIBCLANG)
if(NOT TASUKI_LIBCLANG_INCLUDE OR NOT TASUKI_LIBCLANG)
  message(FATAL_ERROR "libclang (14 or newer) not found. On Debian: apt-get install libclang-dev")
endif()

# Generators and tests run in Python: in the interpreter itself, as what version managers put before it is a shell script that looks
# for it each time.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable)"
                OUTPUT_VARIABLE TASUKI_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

if(TASUKI_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest not found. On Debian: apt-get install libgtest-dev, or configure with -DTASUKI_TESTS=OFF")
  endif()
endif()
