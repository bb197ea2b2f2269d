# Writes which commit is built: a line of --version; nothing outside of a checkout. Run at each build; the file changes with the commit only.
#   cmake -DSOURCE=... -DOUTPUT=.../commit.h -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=10 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE failed ERROR_QUIET)
set(text "#define TASUKI_COMMIT \"commit: ${commit}\\n\"\n")
if(failed OR NOT EXISTS ${SOURCE}/.git)
  set(text "#define TASUKI_COMMIT \"\"\n")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)
