# Warnings and sanitizers that every target of the project shares.
add_library(tasuki_options INTERFACE)
target_compile_options(tasuki_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wundef
  $<$<BOOL:${TASUKI_WERROR}>:-Werror>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>)
if(TASUKI_SANITIZE)
  target_compile_options(tasuki_options INTERFACE -fsanitize=${TASUKI_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tasuki_options INTERFACE -fsanitize=${TASUKI_SANITIZE})
  # GCC finds uninitialised variables in the standard library's own code when it instruments it. ThreadSanitizer knows nothing of fences.
  target_compile_options(tasuki_options INTERFACE "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-tsan>")
endif()
find_package(Threads REQUIRED)
