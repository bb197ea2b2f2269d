#!/bin/sh
# Each public function has a description: Doxygen says nothing about the public headers.
#   api_test.sh SCRATCH-FOLDER       (in the source folder)
if ! command -v doxygen >/dev/null 2>&1; then
  echo "skipped: doxygen is not installed (apt-get install doxygen)"
  exit 77
fi
mkdir -p "$1" && { cat docs/api/Doxyfile && echo "OUTPUT_DIRECTORY = \"$1\""; } | doxygen -
