#!/bin/sh
# Builds the site of the documentation: docs/ and the pages to which it links, and the API reference of the public headers. A broken link,
# a missing anchor, or a public function without a description ends it with an error.
#
#   scripts/build-docs.sh DIRECTORY     the site is then DIRECTORY/site/index.html; it works offline, without a server
#
# Doxygen comes from the distribution, mkdocs-material from PyPI into a virtual environment in DIRECTORY.
set -eu
directory=${1:?usage: build-docs.sh DIRECTORY}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
cd "$(dirname "$0")/.."

if ! command -v doxygen >/dev/null 2>&1; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "build-docs: doxygen is missing: apt-get install doxygen" >&2
    exit 1
  fi
  echo "build-docs: apt-get install doxygen"
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends doxygen >"$directory/apt.log" 2>&1 || {
    tail -n 5 "$directory/apt.log" >&2
    exit 1
  }
fi
if [ ! -x "$directory/venv/bin/mkdocs" ]; then
  echo "build-docs: pip install mkdocs-material"
  python3 -m venv "$directory/venv"
  "$directory/venv/bin/pip" -q --disable-pip-version-check install 'mkdocs-material>=9.5,<10' || {
    rm -rf "$directory/venv"
    exit 1
  }
fi

# The pages keep their places relative to each other, so that their links hold here as they do in the repository.
pages=$directory/pages
rm -rf "$pages" "$directory/site"
mkdir -p "$pages"
git ls-files '*.md' 'include/tasuki/*.h' examples LICENSE | tar -c -T - | tar -x -C "$pages"
rm -rf "$pages/docs/api"
{
  cat docs/api/Doxyfile
  echo "OUTPUT_DIRECTORY = \"$directory\""
  echo "HTML_OUTPUT = pages/docs/api"
} | doxygen -

# With -q mkdocs would not count its warnings, which --strict makes errors.
NO_MKDOCS_2_WARNING=1 TASUKI_PAGES=$pages TASUKI_SITE=$directory/site "$directory/venv/bin/mkdocs" build --strict \
  --config-file mkdocs.yml >"$directory/mkdocs.log" 2>&1 || {
  grep -v '^INFO' "$directory/mkdocs.log" >&2
  exit 1
}
echo "build-docs: $directory/site/index.html"
