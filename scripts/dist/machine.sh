#!/bin/sh
# A newly installed Debian with its own Open MPI, MPICH and compiler, in a folder (chroot): installs it if it is not there yet, and runs a command
# in it as root.
#
#   scripts/dist/machine.sh SUITE [COMMAND...]     bullseye, bookworm or trixie; without a command it prints the machine's folder
#
#   MACHINES=FOLDER    where machines stay for the next time (/var/tmp/tasuki-machines), 1 GB each
#   OVERLAY=FOLDER     what the command writes goes to FOLDER/upper; the folders upper, work and root are there
#   SHARE=FOLDER       the command sees this folder as /mnt
#
# Needs root and debootstrap. Packages come from the mirror that dist/mirror.sh names. The mounts are those of the command alone.
set -eu

suite=${1:?usage: machine.sh SUITE [COMMAND...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
machine=${MACHINES:-/var/tmp/tasuki-machines}/$suite
stop() {
  echo "machine.sh: $1" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || stop "debootstrap and chroot need root"
command -v debootstrap >/dev/null || stop "debootstrap not found: apt-get install debootstrap"

enter() { # COMMAND...
  # shellcheck disable=SC2016 # for the inner shell
  unshare --mount sh -ec '
    machine=$1
    overlay=$2
    share=$3
    shift 3
    if [ -n "$overlay" ]; then
      mount -t overlay overlay -o "lowerdir=$machine,upperdir=$overlay/upper,workdir=$overlay/work" "$overlay/root"
      machine=$overlay/root
    fi
    mount --rbind /dev "$machine/dev"
    mount --rbind /sys "$machine/sys"
    mount -t proc proc "$machine/proc"
    [ -z "$share" ] || mount --bind "$share" "$machine/mnt"
    exec chroot "$machine" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 "$@"' \
    enter "$machine" "${OVERLAY:-}" "${SHARE:-}" "$@"
}

if [ ! -e "$machine/complete" ]; then
  mirror=$("$here/mirror.sh")
  echo "machine.sh: installing Debian $suite in $machine" >&2
  rm -rf "$machine"
  mkdir -p "$machine"
  # Without a mirror: debootstrap's own.
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$machine" ${mirror:+"$mirror"} >"$machine.log" 2>&1 ||
    stop "debootstrap failed; its output is in $machine.log"
  cp /etc/resolv.conf "$machine/etc/resolv.conf"
  printf '%s\n' 'APT::Install-Recommends "false";' 'Acquire::Languages "none";' >"$machine/etc/apt/apt.conf.d/90clean-machine"
  apt-config dump | grep -e '^Acquire::Check-' >>"$machine/etc/apt/apt.conf.d/90clean-machine" || true
  (
    OVERLAY='' SHARE=''
    enter sh -ec 'export DEBIAN_FRONTEND=noninteractive
      apt-get -q update
      apt-get -q -y install gcc libc6-dev python3-venv python3-numpy openmpi-bin libopenmpi-dev mpich libmpich-dev xz-utils
      useradd --create-home visitor' >"$machine.log" 2>&1
  ) || stop "installing packages failed; the output is in $machine.log"
  : >"$machine/complete"
fi

if [ $# -eq 0 ]; then
  echo "$machine"
  exit
fi
# MPICH looks up the name of the host.
cp /etc/hosts "$machine/etc/hosts"
enter "$@"
