#!/bin/sh
# Tries a release on a machine that has nothing of Tasuki's build: a newly installed Debian with its own Open MPI, MPICH and compiler, in a
# folder (chroot). A user without rights installs the wheel there by pip, and unpacks the archive; both go through scripts/dist/try.sh. The
# last line says how many seconds passed from `pip install` to the first typed message.
#
#   scripts/clean-machine.sh [SUITE [OUT]]     bullseye, bookworm or trixie (default); the folder with the release (out: make dist)
#
# Needs root and debootstrap. The machines stay in MACHINES (/var/tmp/tasuki-machines), 1 GB each, for the next time. Packages come from the
# mirror that dist/mirror.sh names. libclang comes from PyPI by this machine's pip; without it tasukicc is not tried.
set -eu

suite=${1:-trixie}
out=$(cd "${2:-out}" && pwd)
scripts=$(cd "$(dirname "$0")" && pwd)
machine=${MACHINES:-/var/tmp/tasuki-machines}/$suite
stop() {
  echo "clean-machine.sh: $1" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || stop "debootstrap and chroot need root"
command -v debootstrap >/dev/null || stop "debootstrap not found: apt-get install debootstrap"
wheel=$(find "$out" -maxdepth 1 -name 'tasuki-*.whl')
archive=$(find "$out" -maxdepth 1 -name 'tasuki-*.tar.xz')
for file in "$wheel" "$archive"; do
  [ -f "$file" ] || stop "$out must have one wheel and one archive (make dist); found: ${file:-none}"
done

# enter COMMAND...: runs it in the machine. The mounts are those of this command alone.
enter() {
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount sh -ec '
    machine=$1
    shift
    mount --rbind /dev "$machine/dev"
    mount --rbind /sys "$machine/sys"
    mount -t proc proc "$machine/proc"
    exec chroot "$machine" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 "$@"' enter "$machine" "$@"
}

if [ ! -e "$machine/complete" ]; then
  mirror=$("$scripts/dist/mirror.sh")
  echo "clean-machine.sh: installing Debian $suite in $machine"
  rm -rf "$machine"
  mkdir -p "$machine"
  # Without a mirror: debootstrap's own.
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$machine" ${mirror:+"$mirror"} >"$machine.log" 2>&1 ||
    stop "debootstrap failed; its output is in $machine.log"
  cp /etc/resolv.conf "$machine/etc/resolv.conf"
  printf '%s\n' 'APT::Install-Recommends "false";' 'Acquire::Languages "none";' >"$machine/etc/apt/apt.conf.d/90clean-machine"
  apt-config dump | grep -e '^Acquire::Check-' >>"$machine/etc/apt/apt.conf.d/90clean-machine" || true
  enter sh -ec 'export DEBIAN_FRONTEND=noninteractive
    apt-get -q update
    apt-get -q -y install gcc libc6-dev python3-venv python3-numpy openmpi-bin libopenmpi-dev mpich libmpich-dev xz-utils
    useradd --create-home visitor' >"$machine.log" 2>&1 || stop "installing packages failed; the output is in $machine.log"
  : >"$machine/complete"
fi

# MPICH looks up the name of the host.
cp /etc/hosts "$machine/etc/hosts"
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
