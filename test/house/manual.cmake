# The settings table of the manual is the program's own: compares docs/manual.md with what `tasuki settings --markdown`
# prints (or, with -DUPDATE=ON, rewrites it).
#   cmake -DTASUKI=build/bin/tasuki -DMANUAL=docs/manual.md [-DUPDATE=ON] -P manual.cmake
set(begin "<!-- begin: tasuki settings --markdown -->\n")
set(end "<!-- end -->")

execute_process(COMMAND ${TASUKI} settings --markdown OUTPUT_VARIABLE table RESULT_VARIABLE rc)
if(NOT rc EQUAL 0 OR NOT table MATCHES "TASUKI_STATS")
  message(FATAL_ERROR "${TASUKI} settings --markdown failed (${rc}): ${table}")
endif()
file(READ ${MANUAL} manual)
string(FIND "${manual}" "${begin}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${MANUAL} has no line ${begin}")
endif()
string(LENGTH "${begin}" length)
math(EXPR start "${at} + ${length}")
string(SUBSTRING "${manual}" 0 ${start} before)
string(SUBSTRING "${manual}" ${start} -1 rest)
string(FIND "${rest}" "${end}" stop)
string(SUBSTRING "${rest}" 0 ${stop} current)
string(SUBSTRING "${rest}" ${stop} -1 after)

if(UPDATE)
  file(WRITE ${MANUAL} "${before}${table}${after}")
elseif(NOT current STREQUAL table)
  message(FATAL_ERROR "The settings table of ${MANUAL} is not what the program has; run: make manual\n"
                      "manual:\n${current}\nprogram:\n${table}")
endif()

# Every command has a section.
execute_process(COMMAND ${TASUKI} --help OUTPUT_VARIABLE help)
string(REGEX REPLACE ".*Subcommands:\n" "" help "${help}")
string(REGEX MATCHALL "(^|\n)  [a-z-]+ " lines "${help}")
if(NOT lines)
  message(FATAL_ERROR "${TASUKI} --help lists no commands: ${help}")
endif()
foreach(line ${lines})
  string(STRIP "${line}" name)
  string(FIND "${manual}" "\n### `tasuki ${name}`\n" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${MANUAL} has no section '### `tasuki ${name}`'")
  endif()
endforeach()
