#!/bin/sh
# Runs a command on an emulated machine whose processor has memory protection keys, for `tasuki run --guard`:
#
#   scripts/run-with-keys.sh 'cd build && ctest -R task.guard --output-on-failure'
#
# The machine has this one's file tree, which it cannot change (what it writes is gone when it ends), two
# processors, and Debian's kernel. Everything is emulated, so it is 5 to 20 times slower. Needs root, and from
# apt qemu-system-x86, busybox-static and cpio; the kernel is fetched without being installed.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
for tool in qemu-system-x86_64 busybox cpio; do
  command -v $tool > /dev/null || {
    echo "run-with-keys: $tool is missing (apt-get install --no-install-recommends qemu-system-x86 busybox-static cpio)" >&2
    exit 2
  }
done
[ $# -eq 1 ] || {
  echo "usage: scripts/run-with-keys.sh 'COMMAND'" >&2
  exit 2
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p share kernel first/bin first/modules first/proc first/dev first/sys first/lower first/up first/mnt
package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
apt-get -qq download "$package" > /dev/null 2>&1
dpkg -x linux-image*.deb kernel
cp "$(command -v busybox)" first/bin/busybox
for name in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci fscache netfs 9pnet 9pnet_virtio 9p overlay; do
  find kernel -name "$name.ko" -exec cp {} first/modules/ \;
done
printf '%s\n' "$1" > share/command
cat > first/init <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
$b mount -t sysfs sys /sys
# In any order: those whose needs are not loaded yet come in a later turn.
for turn in 1 2 3 4; do for module in /modules/*.ko; do $b insmod $module 2> /dev/null; done; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,cache=loose,msize=524288,ro root /lower
$b mount -t tmpfs tmpfs /up
$b mkdir /up/changes /up/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/up/changes,workdir=/up/work overlay /mnt
$b mount -t tmpfs -o mode=1777 tmpfs /mnt/tmp
$b mkdir /mnt/tmp/share
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 share /mnt/tmp/share
$b mount -t proc proc /mnt/proc
$b mount -t sysfs sys /mnt/sys
$b mount --bind /dev /mnt/dev
$b mkdir -p /mnt/dev/shm /mnt/dev/pts
$b mount -t tmpfs tmpfs /mnt/dev/shm
$b mount -t devpts pts /mnt/dev/pts
$b ip link set lo up
$b chroot /mnt /bin/sh /tmp/share/start
$b poweroff -f
INIT
chmod +x first/init
cat > share/start <<START
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd '$here'
sh /tmp/share/command > /tmp/share/output 2>&1
echo \$? > /tmp/share/status
START
(cd first && find . | cpio --quiet -o -H newc | gzip -1 > ../first.gz)
qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 4G -nographic -no-reboot \
  -kernel kernel/boot/vmlinuz-* -initrd first.gz -append "console=ttyS0 quiet panic=-1" \
  -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
  -virtfs "local,path=$work/share,mount_tag=share,security_model=none" > console 2>&1 < /dev/null
cat share/output
[ -f share/status ] || {
  echo "run-with-keys: the machine did not start:" >&2
  tail -n 20 console >&2
  exit 2
}
exit "$(cat share/status)"
