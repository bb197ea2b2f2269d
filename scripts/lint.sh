#!/bin/sh
# What a machine can say about the style: formatting of tracked C and C++ files; shell scripts, when shellcheck is
# installed. The layers are checked by every configure run (cmake/TasukiLibrary.cmake).
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0

# Deleted but not yet committed files are still listed by git.
sources=$(git ls-files '*.h' '*.c' '*.cpp' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
echo "lint: $(echo "$sources" | wc -l) sources, $(clang-format --version)"
echo "$sources" | xargs clang-format --dry-run -Werror --ferror-limit=3 || {
  echo "lint: run 'make format'" >&2
  bad=1
}

# clang-format leaves comments alone. Tables in them (words with gaps between) may be wider; examples and tests may be, too.
wide=$(echo "$sources" | grep -v -e '^examples/' -e '^test/' -e '/test/' | LC_ALL=C.UTF-8 xargs grep -nE '^.{111}' | grep -vE '^[^:]*:[0-9]*:.*[^ ]  +[^ ]')
[ -z "$wide" ] || {
  echo "lint: lines of more than 110 columns:" >&2
  echo "$wide" >&2
  bad=1
}

scripts=$(git ls-files '*.sh' .ci/run)
if command -v shellcheck >/dev/null 2>&1; then
  echo "lint: $(echo "$scripts" | wc -l) shell scripts"
  echo "$scripts" | xargs shellcheck || bad=1
else
  echo "lint: shellcheck is not installed: shell scripts are not checked (apt-get install shellcheck)"
fi
exit $bad
