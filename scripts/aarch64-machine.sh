#!/bin/sh
# Runs a command on an emulated aarch64 machine with an arm64 kernel: what an emulator of user programs does not have (tasks,
# userfaultfd, signals with all that the kernel says of a fault).
#
#   scripts/aarch64-machine.sh 'build-aarch64/bin/os_test'
#
# PAGES=4k, 16k, 64k: the size of the kernel's pages. Those of Debian 12 have 4 KiB; scripts/aarch64-kernel.sh gets the others.
#
# The machine's file tree is the sysroot (TASUKI_SYSROOT; scripts/aarch64.sh makes it) with this source tree at its own path; it cannot
# change either (what it writes is gone when it ends). Its Python has the path of this machine's, too: the build tree names that in tests.
# Two processors; everything is emulated, so it is 10 to 30 times slower. Needs from apt qemu-system-arm and cpio; kernel and busybox come
# from Debian's arm64 packages, and stay in the sysroot.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
TASUKI_SYSROOT=${TASUKI_SYSROOT:-$here/build-aarch64-sysroot}
stop() {
  echo "aarch64-machine: $1" >&2
  exit 2
}
for tool in qemu-system-aarch64 cpio; do
  command -v $tool >/dev/null || stop "$tool is missing (apt-get install --no-install-recommends qemu-system-arm cpio)"
done
[ $# -eq 1 ] || stop "usage: scripts/aarch64-machine.sh 'COMMAND'"
[ -e "$TASUKI_SYSROOT/complete" ] || stop "no sysroot in $TASUKI_SYSROOT: run scripts/aarch64.sh first"
root=$(cd "$TASUKI_SYSROOT" && pwd)
environment=
case "${PAGES:-4k}" in
  4k)
    kernel=$(find "$root/boot" -name 'vmlinuz-*' 2>/dev/null | sort | tail -n 1)
    modules=$root/lib/modules
    [ -n "$kernel" ] || stop "the sysroot has no kernel: remove it and run scripts/aarch64.sh"
    ;;
  *)
    TASUKI_SYSROOT=$root "$here/scripts/aarch64-kernel.sh" "$PAGES"
    kernel=$root-kernels/$PAGES/kernel
    modules=$root-kernels/$PAGES/modules
    # UCX, which MPICH has, changes the first instructions of functions of libc, and tests that. QEMU 7.2 goes on with the old ones where a
    # page has 64 KiB and was copied for that change.
    [ "$PAGES" = 16k ] || environment="export UCX_MEM_EVENTS=n"
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(python3 -c 'import sys; print(sys.executable)')
cd "$work"
mkdir -p share first/bin first/modules first/proc first/dev first/sys first/lower first/tree first/up first/mnt
cp "$root/bin/busybox" first/bin/busybox
for name in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci fscache netfs 9pnet 9pnet_virtio 9p overlay; do
  [ ! -d "$modules" ] || find "$modules/" -name "$name.ko*" -exec cp {} first/modules/ \;
done
for module in first/modules/*.xz; do [ ! -e "$module" ] || xz -d "$module"; done
printf '%s\n' "$1" >share/command
cat >first/init <<INIT
#!/bin/busybox sh
b=/bin/busybox
\$b mount -t proc proc /proc
\$b mount -t devtmpfs dev /dev
\$b mount -t sysfs sys /sys
# In any order: those whose needs are not loaded yet come in a later turn.
for turn in 1 2 3 4; do for module in /modules/*.ko; do \$b insmod \$module 2>/dev/null; done; done
\$b mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=524288,ro root /lower
\$b mount -t tmpfs tmpfs /up
\$b mkdir /up/changes /up/work
\$b mount -t overlay -o lowerdir=/lower,upperdir=/up/changes,workdir=/up/work overlay /mnt
\$b mkdir -p /mnt/tmp /mnt/proc /mnt/sys /mnt/dev /mnt/root
\$b mount -t tmpfs -o mode=1777 tmpfs /mnt/tmp
\$b mkdir -p '/mnt$here' /mnt/tmp/share
\$b mkdir /source /up/source /up/source-work
\$b mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=524288,ro tree /source
\$b mount -t overlay -o lowerdir=/source,upperdir=/up/source,workdir=/up/source-work overlay '/mnt$here'
\$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 share /mnt/tmp/share
\$b mount -t proc proc /mnt/proc
\$b mount -t sysfs sys /mnt/sys
\$b mount --bind /dev /mnt/dev
\$b mkdir -p /mnt/dev/shm /mnt/dev/pts
\$b mount -t tmpfs tmpfs /mnt/dev/shm
\$b mount -t devpts pts /mnt/dev/pts
\$b ip link set lo up
echo root:x:0:0:root:/root:/bin/sh >/mnt/etc/passwd
\$b hostname aarch64
\$b chroot /mnt /bin/sh /tmp/share/start
\$b poweroff -f
INIT
chmod +x first/init
cat >share/start <<START
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mkdir -p '$(dirname "$python")'
[ -e '$python' ] || ln -s /usr/bin/python3 '$python'
$environment
cd '$here'
sh /tmp/share/command >/tmp/share/output 2>&1
echo \$? >/tmp/share/status
START
(cd first && find . | cpio --quiet -o -H newc | gzip -1 >../first.gz)
qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -accel tcg,thread=multi -smp 2 -m 3G -nic none -nographic -no-reboot \
  -kernel "$kernel" -initrd first.gz -append "console=ttyAMA0 quiet panic=-1" \
  -virtfs "local,path=$root,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
  -virtfs "local,path=$here,mount_tag=tree,security_model=none,readonly=on,multidevs=remap" \
  -virtfs "local,path=$work/share,mount_tag=share,security_model=none" >console 2>&1 </dev/null || true
[ -f share/status ] || {
  echo "aarch64-machine: the machine did not start:" >&2
  tail -n 20 console >&2
  exit 2
}
cat share/output
exit "$(cat share/status)"
