#!/bin/sh
# Installs what a build of Tasuki needs and this machine lacks. On Debian and its relatives with root (or
# password-less sudo) it installs; elsewhere it names each missing thing and the command that installs it,
# and exits with 1. Does nothing, silently, when nothing is missing.
#
# An MPI of your own is as good as Debian's two: put its mpicc into PATH, or name it by MPICC_OPENMPI or MPICC_MPICH.
#
#   scripts/bootstrap.sh              install what is missing
#   scripts/bootstrap.sh --check      only say what is missing
#   scripts/bootstrap.sh --for test   install what tests want, too; if that cannot be, the tests that want it
#                                     are skipped
#   scripts/bootstrap.sh --for deb    install what Debian packages are made with (scripts/dist/deb.sh), too
set -u

check='' purpose=build
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=yes ;;
    --for)
      shift
      purpose=${1:-}
      ;;
    *) purpose= ;;
  esac
  case $purpose in
    build | test | deb) shift ;;
    *)
      echo "usage: scripts/bootstrap.sh [--check] [--for build|test|deb]" >&2
      exit 2
      ;;
  esac
done

# One line a dependency: package, kind of check, what to look for. A thing that is there is not asked about,
# wherever it came from: a cmake of your own is as good as Debian's.
dependencies() {
  cat <<'END'
build-essential      command  g++
build-essential      command  make
cmake                cmake    3.25
ninja-build          command  ninja
git                  command  git
python3              command  python3
gfortran             command  gfortran
clang                command  clang++
clang-format         command  clang-format
openmpi-bin          mpi      mpirun.openmpi
libopenmpi-dev       mpi      mpicc.openmpi
mpich                mpi      mpirun.mpich
libmpich-dev         mpi      mpicc.mpich
libcli11-dev         header   CLI/CLI.hpp
nlohmann-json3-dev   header   nlohmann/json.hpp
libtomlplusplus-dev  header   toml++/toml.h
libboost-context-dev header   boost/context/detail/fcontext.hpp
libgtest-dev         header   gtest/gtest.h
libxxhash-dev        header   xxhash.h
libclang-dev         path     /usr/lib/llvm-*/include/clang-c/Index.h
liblz4-dev           header   lz4.h
libisal-dev          header   isa-l/erasure_code.h
libhwloc-dev         header   hwloc.h
liburing-dev         header   liburing.h
END
  [ "$purpose" = deb ] || return 0
  cat <<'END'
debhelper            command  dh
dh-python            command  dh_python3
lintian              command  lintian
dpkg-dev             command  dpkg-buildpackage
END
}
# What only tests use, and can do without: some 90 MB, for which `make demo` does not wait. One of a line's programs is enough.
extras() {
  cat <<'END'
doxygen                 command doxygen
redis-tools             command redis-check-rdb
python3-seccomp         path /usr/lib/python3/dist-packages/seccomp.*.so
libpython3.11           path /usr/lib/*/libpython3.11.so.1.0
libjemalloc2            path /usr/lib/*/libjemalloc.so.2
libmimalloc2.0          path /usr/lib/*/libmimalloc.so.2.0
chromium-headless-shell command chromium-headless-shell chromium chromium-browser google-chrome chrome
END
}

# Any MPI will do for a build (cmake/TasukiMpi.cmake): one that MPICC_OPENMPI or MPICC_MPICH names, any mpicc in PATH, one of Debian's two.
has_own_mpi() { # not Debian's
  for mpicc in "${MPICC_OPENMPI:-none}" "${MPICC_MPICH:-none}"; do
    [ "$mpicc" = none ] || return 0
  done
  command -v mpicc >/dev/null 2>&1 || return 1
  case $(readlink -f "$(command -v mpicc)") in
    /usr/bin/mpicc.* | /usr/bin/opal_wrapper) return 1 ;;
  esac
}
has_debian_mpi() { # family
  command -v "mpicc.$1" >/dev/null 2>&1 && command -v "mpirun.$1" >/dev/null 2>&1
}

present() { # kind, what
  case $1 in
    mpi) has_own_mpi || has_debian_mpi openmpi || has_debian_mpi mpich ;;
    command) command -v "$2" >/dev/null 2>&1 ;;
    path)
      # shellcheck disable=SC2086 # a pattern
      ls $2 >/dev/null 2>&1
      ;;
    header) command -v g++ >/dev/null 2>&1 && echo "#include <$2>" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 ;;
    cmake)
      have=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
      [ -n "$have" ] && [ "$(printf '%s\n%s\n' "$2" "$have" | sort -V | head -n 1)" = "$2" ]
      ;;
  esac
}

absent_extras() { # "package what" lines
  # Where there is one of Debian's two, the other one.
  if [ -z "$check" ] && present mpi && ! has_own_mpi; then
    dependencies | while read -r package kind what; do
      [ "$kind" = mpi ] && ! command -v "$what" >/dev/null 2>&1 && echo "$package $what"
    done
  fi
  [ "$purpose" = test ] || return 0
  extras | while read -r package kind programs; do
    for program in $programs; do
      present "$kind" "$program" && continue 2
    done
    echo "$package ${programs%% *}"
  done
}

missing() { # "package what" lines
  dependencies | while read -r package kind what; do
    present "$kind" "$what" && continue
    [ "$kind" = cmake ] && what="cmake >= $what"
    echo "$package $what"
  done
}

complain() { # reason
  echo "Tasuki's $purpose lacks:" >&2
  { missing; absent_extras; } | while read -r package what; do
    echo "  $what: apt-get install $package" >&2
  done
  echo "$1" >&2
  exit 1
}

names() { # of "package what" lines
  cut -d' ' -f1 | sort -u | paste -sd ' ' -
}
needed=$(missing | names)
wanted=$(absent_extras | names)
packages="$needed${needed:+${wanted:+ }}$wanted"
[ -n "$packages" ] || exit 0

[ -n "$check" ] && complain "Install them, for example: apt-get install $packages"
# Without these extras some tests are skipped, and one MPI is not built for, no more.
do_without() { # reason
  echo "bootstrap: $1; what wants $wanted is left out" >&2
  exit 0
}
if ! command -v apt-get >/dev/null 2>&1; then
  [ -n "$needed" ] || do_without "this machine has no apt-get"
  complain "This machine has no apt-get: install the equivalents with your package manager and run again."
fi
root=
if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    root="sudo -n"
  else
    [ -n "$needed" ] || do_without "apt-get needs root"
    complain "That needs root: sudo apt-get install $packages"
  fi
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
apt() {
  # shellcheck disable=SC2086 # $root is empty or two words
  $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null
}
echo "bootstrap: apt-get install $packages"
# The package lists are fetched only when there are none, or when they turn out to be too old.
if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then
  apt update
fi
install() { # packages; with newer lists if that fails
  # shellcheck disable=SC2086 # a list of words
  apt install --no-install-recommends $1 || { apt update && apt install --no-install-recommends $1; }
}
if [ -n "$needed" ] && ! install "$needed"; then
  tail -n 30 "$log" >&2
  complain "apt-get install $needed failed: its last lines are above."
fi
hash -r
[ -z "$(missing)" ] || complain "These are still missing after the installation: is a newer distribution needed?"
[ -z "$wanted" ] || install "$wanted" || do_without "apt-get install $wanted failed"
exit 0
