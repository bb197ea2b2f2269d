#!/bin/sh
# Installs the MPI programs of others that test/programs runs, where they are missing and where this can be done: Debian and its
# relatives, as root or with password-less sudo. Says nothing when all is there. What cannot be installed is named with the reason, the
# tests that need it skip, and the exit code stays 0: these programs are no part of Tasuki.
#
#   scripts/install-real-programs.sh DIRECTORY [--builds]     mpi4py's own tests, and an environment with its wheel, go to DIRECTORY; with
#                                                             --builds also an mpi4py for MPICH, which takes minutes to compile
set -u
directory=${1:?usage: install-real-programs.sh DIRECTORY [--builds]}
builds=${2:-}
mpi4py=3.1.4 # Debian 12's, so that its tests fit both builds
wheel=4.1.0  # one for all MPI libraries

programs() { # package, and a file that it brings
  cat <<'END'
hpcc                /usr/bin/hpcc
netpipe-openmpi     /usr/bin/NPopenmpi
netpipe-mpich2      /usr/bin/NPmpich2
scalapack-mpi-test  /usr/lib/x86_64-linux-gnu/scalapack/mpich-tests/xdlu
mumps-test          /usr/lib/mumps/dsimpletest
lammps              /usr/bin/lmp
python3-mpi4py      /usr/lib/python3/dist-packages/mpi4py/MPI.pxd
python3-petsc4py    /usr/lib/python3/dist-packages/petsc4py.pth
python3-pip         /usr/bin/pip3
libpython3.11       /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0
END
}

root=
[ "$(id -u)" -eq 0 ] || root="sudo -n"
can_install() {
  command -v apt-get >/dev/null 2>&1 && { [ -z "$root" ] || $root true 2>/dev/null; }
}

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
apt() {
  # shellcheck disable=SC2086 # $root is empty or two words
  $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1 </dev/null
}

missing() {
  programs | while read -r package file; do [ -e "$file" ] || echo "$package"; done | tr '\n' ' '
}

wanted=$(missing)
if [ -n "$wanted" ]; then
  if can_install; then
    echo "install-real-programs: apt-get install $wanted"
    # shellcheck disable=SC2086 # a list of words
    if ! apt install --no-install-recommends $wanted; then
      apt update
      # One by one: a package that this distribution lacks must not keep the others away.
      for package in $wanted; do
        apt install --no-install-recommends "$package" || echo "install-real-programs: no $package: $(tail -n 1 "$log")"
      done
    fi
  else
    echo "install-real-programs: not installed, and apt-get as root is not at hand: $wanted"
  fi
fi

mkdir -p "$directory" || exit 1
# pip runs the package's build system to learn its name, and that of mpi4py 3.1 needs a setuptools of its time.
constraint=$directory/pip-constraint.txt
echo 'setuptools<70' >"$constraint"
pip() {
  PIP_CONSTRAINT=$constraint timeout 240 /usr/bin/python3 -m pip -q --disable-pip-version-check "$@" >>"$log" 2>&1 </dev/null
}

if [ ! -d "$directory/mpi4py-$mpi4py/test" ]; then
  if pip download --no-deps --no-binary mpi4py -d "$directory" "mpi4py==$mpi4py"; then
    tar -xzf "$directory/mpi4py-$mpi4py.tar.gz" -C "$directory"
  else
    echo "install-real-programs: no tests of mpi4py: $(tail -n 1 "$log")"
  fi
fi
if [ ! -e "$directory/venv/installed" ]; then
  rm -rf "${directory:?}/venv"
  if /usr/bin/python3 -m venv --without-pip --system-site-packages "$directory/venv" >>"$log" 2>&1 &&
    pip --python "$directory/venv/bin/python" install --ignore-installed --only-binary mpi4py "mpi4py==$wheel"; then
    touch "$directory/venv/installed"
  else
    echo "install-real-programs: no mpi4py of PyPI: $(tail -n 1 "$log")"
  fi
fi
if [ "$builds" = --builds ] && [ ! -d "$directory/mpi4py-mpich/mpi4py" ] && [ -d "$directory/mpi4py-$mpi4py" ]; then
  # pip fills the directory at the end: a build that was interrupted leaves none.
  if ! MPICC=$(command -v mpicc.mpich) pip install --no-deps --no-binary mpi4py --target "$directory/mpi4py-mpich" \
    "mpi4py==$mpi4py"; then
    echo "install-real-programs: no mpi4py for MPICH: $(tail -n 1 "$log")"
  fi
fi
exit 0
