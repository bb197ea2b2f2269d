#!/bin/sh
# Gets a kernel with larger pages for scripts/aarch64-machine.sh: with 16 KiB from Debian's backports; with 64 KiB, of which Debian has no
# package, built from Debian's kernel sources. That one has what the emulated machine and the tests need, and nothing else: no modules, no
# huge pages, no control groups, no debugging.
#
#   scripts/aarch64-kernel.sh 16k|64k     does nothing if TASUKI_SYSROOT-kernels has that kernel
#
# JOBS and TASUKI_SYSROOT as for scripts/aarch64.sh, SUITE as for scripts/aarch64-sysroot.sh. To build takes 2 GB and 15 minutes of one
# processor. Packages that are missing are installed.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
TASUKI_SYSROOT=${TASUKI_SYSROOT:-$here/build-aarch64-sysroot}
stop() {
  echo "aarch64-kernel: $1" >&2
  exit 1
}
pages=${1:-}
case "$pages" in 16k | 64k) ;; *) stop "usage: scripts/aarch64-kernel.sh 16k|64k" ;; esac
result=$TASUKI_SYSROOT-kernels/$pages
[ ! -e "$result/kernel" ] || exit 0

# Both leave `kernel`, and its `modules` if it has any, in the current folder.
fetch() {
  mirror=$("$here/scripts/dist/mirror.sh")
  # shellcheck disable=SC1091 # of the system
  suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}
  mkdir -p lists/partial cache/archives/partial
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite-backports main" >sources.list
  : >status
  cat >apt.conf <<CONF
APT::Architecture "arm64";
APT::Architectures "arm64";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::Etc::sourcelist "$PWD/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$PWD/lists";
Dir::State::status "$PWD/status";
Dir::Cache "$PWD/cache";
CONF
  export APT_CONFIG="$PWD/apt.conf"
  apt-get -q -q update || stop "$mirror has no $suite-backports for arm64; name a mirror that has in DEBIAN_MIRROR"
  package=$(apt-cache depends "linux-image-arm64-$pages" | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
  apt-get -q -q download "$package" || stop "$package could not be fetched"
  dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x --wildcards './boot/vmlinuz-*' './lib/modules/*'
  mv boot/vmlinuz-* kernel
  mv lib/modules modules
}

build() {
  for pair in aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu flex:flex bison:bison bc:bc xz:xz-utils make:make; do
    command -v "${pair%%:*}" >/dev/null || missing="${missing:-} ${pair#*:}"
  done
  if [ -n "${missing:-}" ]; then
    echo "aarch64-kernel: apt-get install$missing"
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing >/dev/null 2>&1 ||
      stop "that failed; install these packages and run again"
  fi
  package=$(apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9].*\)/\1/p' | head -n 1)
  [ -n "$package" ] || stop "apt knows no linux-source; run apt-get update"
  apt-get -q -q -o APT::Sandbox::User=root download "$package" || stop "$package could not be fetched"
  dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -O "./usr/src/$package.tar.xz" | tar -x -J --strip-components=1
  # All else is off, or what the kernel does not ask about: what experts only can switch off is on.
  for name in "ARM64_$(echo "$pages" | tr k K)_PAGES" \
    ARM64_VA_BITS_48 HIGH_RES_TIMERS BLK_DEV_INITRD RD_GZIP BINFMT_ELF BINFMT_SCRIPT COREDUMP SYSVIPC CROSS_MEMORY_ATTACH SHMEM \
    TMPFS AIO IO_URING USERFAULTFD SECCOMP SECCOMP_FILTER NAMESPACES UTS_NS IPC_NS USER_NS PID_NS NET_NS NET UNIX INET PCI \
    PCI_HOST_GENERIC VIRTIO_MENU VIRTIO_PCI NETWORK_FILESYSTEMS NET_9P NET_9P_VIRTIO 9P_FS OVERLAY_FS DEVTMPFS TTY UNIX98_PTYS \
    SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE PROC_FS PROC_SYSCTL PROC_PAGE_MONITOR SYSFS ADVISE_SYSCALLS MEMBARRIER \
    CHECKPOINT_RESTORE; do
    echo "CONFIG_$name=y"
  done >wanted
  export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
  make -s KCONFIG_ALLCONFIG=wanted allnoconfig
  # A name that this kernel does not have, or that something else switches off, is a mistake here.
  while read -r line; do grep -q "^$line\$" .config || stop "$line is not in the configuration"; done <wanted
  make -s -j "${JOBS:-$(nproc)}" Image
  cp arch/arm64/boot/Image kernel
}

rm -rf "$result"
mkdir -p "$result/work"
cd "$result/work"
case "$pages" in 16k) fetch ;; 64k) build ;; esac
[ ! -e modules ] || mv modules ..
mv kernel ..
cd ..
rm -rf work
