#!/bin/sh
# Tries a release on a machine that has nothing of Tasuki's build: a newly installed Debian with its own Open MPI, MPICH and compiler, in a
# folder (chroot). A user without rights installs the wheel there by pip, and unpacks the archive; both go through scripts/dist/try.sh. The
# last line says how many seconds passed from `pip install` to the first typed message. With --deb it tries Debian packages: it installs them in a
# copy of the machine (an overlay, which is thrown away), and goes through scripts/dist/try.sh and test/packages there.
#
#   scripts/clean-machine.sh [SUITE [OUT]]     bullseye, bookworm or trixie (default); the folder with the release (out: make dist)
#   scripts/clean-machine.sh --deb [SUITE [OUT]]     bookworm (default); the folder with the packages (out/deb: make deb)
#
# dist/machine.sh installs the machines, and says what it needs for that. libclang comes from PyPI by this machine's pip; without it tasukicc is not tried.
set -eu

kind=release default_suite=trixie default_out=out
if [ "${1:-}" = --deb ]; then
  kind=deb default_suite=bookworm default_out=out/deb
  shift
fi
suite=${1:-$default_suite}
out=$(cd "${2:-$default_out}" && pwd)
scripts=$(cd "$(dirname "$0")" && pwd)
stop() {
  echo "clean-machine.sh: $1" >&2
  exit 1
}
if [ $kind = release ]; then
  wheel=$(find "$out" -maxdepth 1 -name 'tasuki-*.whl')
  archive=$(find "$out" -maxdepth 1 -name 'tasuki-*.tar.xz')
  for file in "$wheel" "$archive"; do
    [ -f "$file" ] || stop "$out must have one wheel and one archive (make dist); found: ${file:-none}"
  done
elif ! ls "$out"/tasuki_*.deb >/dev/null 2>&1; then
  stop "$out has no packages (make deb)"
fi

machine=$("$scripts/dist/machine.sh" "$suite")
# enter COMMAND...: runs it in the machine. What it writes goes to $overlay, if that is set.
overlay=
enter() {
  OVERLAY=$overlay "$scripts/dist/machine.sh" "$suite" "$@"
}

if [ $kind = deb ]; then
  overlay=$(mktemp -d "$machine.XXXXXX")
  trap 'rm -rf "$overlay"' EXIT
  mkdir -p "$overlay/upper/release" "$overlay/work" "$overlay/root"
  cp "$out"/*.deb "$scripts/dist/try.sh" "$overlay/upper/release"
  rm -f "$overlay"/upper/release/*-dbgsym_*.deb
  cp -R "$scripts/../test/packages" "$overlay/upper/release"
  cat >"$overlay/upper/release/visit.sh" <<'END'
set -eu
say() { printf '== %s\n' "$*"; }
. /etc/os-release
say "$PRETTY_NAME: $(dpkg-query -W -f '${Package} ${Version}  ' '*tasuki*')"
mkdir try
failed=0
sh /release/try.sh try || failed=1
say "pkg-config, CMake"
for way in pkgconfig cmake; do
  python3 /release/packages/packages_test.py $way --tree /usr --mpi openmpi /usr/bin/mpicc.openmpi /usr/bin/mpirun.openmpi \
    --mpi mpich /usr/bin/mpicc.mpich /usr/bin/mpirun.mpich >$way.log 2>&1 || { failed=1; cat $way.log; }
  tail -n 1 $way.log
done
exit $failed
END
  chmod -R a+rX "$overlay/upper/release"
  enter sh -ec 'export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    apt-get -q -y install /release/*.deb g++ make cmake pkgconf libclang1-14' >"$machine.log" 2>&1 ||
    stop "installing the packages failed; the output is in $machine.log"
  enter setpriv --reuid visitor --regid visitor --init-groups env HOME=/home/visitor sh -c 'cd && rm -rf try && sh /release/visit.sh'
  # And what is removed leaves nothing.
  # shellcheck disable=SC2016 # for the inner shell
  enter sh -ec 'apt-get -q -y purge "*tasuki*" >/dev/null 2>&1
    left=$(find /usr /etc /var/lib -path "*tasuki*" ! -path "/var/lib/apt/*" 2>/dev/null)
    [ -z "$left" ] || { echo "clean-machine.sh: purged packages left: $left" >&2; exit 1; }'
  exit
fi
release=$machine/release
rm -rf "$release" "$machine/home/visitor/try"
mkdir -p "$release" "$machine/home/visitor/try"
cp "$wheel" "$archive" "$scripts/dist/try.sh" "$release"
with=
if python3 -m pip download --quiet --no-deps --dest "$release" libclang >"$release/pip.log" 2>&1; then
  with='[tasukicc]'
else
  echo "clean-machine.sh: pip has no libclang ($(tail -n 1 "$release/pip.log")): tasukicc is not tried"
fi
cat >"$release/visit.sh" <<'END'
set -eu
with=$1
cd "$HOME/try"
say() { printf '== %s\n' "$*"; }
. /etc/os-release
say "$PRETTY_NAME, $(getconf GNU_LIBC_VERSION), $(gcc --version | head -n 1)"
mkdir wheel archive
python3 -m venv --system-site-packages environment
began=$(date +%s)
environment/bin/pip install --quiet --no-index --find-links /release "tasuki$with"
say "the wheel, with pip $(environment/bin/pip --version | cut -d' ' -f2)"
failed=0
(PATH=$PWD/environment/bin:$PATH && sh /release/try.sh wheel) || failed=1
say "the archive"
tar -xJf /release/tasuki-*.tar.xz
libclang=$(echo "$PWD"/environment/lib/python3*/site-packages/clang/native/libclang.so)
(
  PATH=$(echo "$PWD"/tasuki-*/bin):$PATH
  PYTHONPATH=$(echo "$PWD"/tasuki-*/lib/tasuki/python)
  export PATH PYTHONPATH
  [ ! -e "$libclang" ] || export TASUKI_LIBCLANG="$libclang"
  sh /release/try.sh archive
) || failed=1
[ ! -e wheel/first-message ] || say "$(($(cat wheel/first-message) - began)) s from pip install to the first typed message"
exit $failed
END
chown -R --reference="$machine/home/visitor" "$machine/home/visitor/try"
chmod -R a+rX "$release"
enter setpriv --reuid visitor --regid visitor --init-groups env HOME=/home/visitor sh /release/visit.sh "$with"
