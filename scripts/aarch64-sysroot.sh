#!/bin/sh
# Makes a folder in which a compiler for aarch64 finds what Tasuki is built from, and an emulator what it runs with: the libraries of
# Debian's arm64, both MPIs among them. The packages are unpacked, not installed: none of their scripts runs, and no root is needed.
#
#   scripts/aarch64-sysroot.sh FOLDER     does nothing if the folder is complete
#
# SUITE=bookworm: the Debian release, this machine's unless said otherwise. Packages come from the mirror that dist/mirror.sh names.
set -eu

[ $# = 1 ] || { echo "usage: scripts/aarch64-sysroot.sh FOLDER" >&2; exit 2; }
folder=$1
[ ! -e "$folder/complete" ] || exit 0
scripts=$(cd "$(dirname "$0")" && pwd)
mirror=$("$scripts/dist/mirror.sh")
stop() {
  echo "aarch64-sysroot.sh: $1" >&2
  exit 1
}
[ -n "$mirror" ] || stop "this machine's apt has no mirror; name one in DEBIAN_MIRROR"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || stop "apt-get install debian-archive-keyring"
# shellcheck disable=SC1091 # of the system
suite=${SUITE:-$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")}

rm -rf "$folder"
mkdir -p "$folder/usr/lib" "$folder/usr/bin" "$folder/usr/sbin" "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
folder=$(cd "$folder" && pwd)
# As a new installation has it: one folder by two names.
for name in bin lib sbin; do ln -s "usr/$name" "$folder/$name"; done
echo "deb [signed-by=$keyring] $mirror $suite main" >"$folder/apt/sources.list"
: >"$folder/apt/status"
apt() {
  apt-get -q -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::Etc::sourcelist="$folder/apt/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
    -o Dir::Cache="$folder/apt/cache" -o APT::Sandbox::User=root -o APT::Install-Recommends=false -o Acquire::Languages=none "$@"
}
apt update || stop "$mirror has no $suite for arm64; name a mirror that has in DEBIAN_MIRROR"
# What scripts/bootstrap.sh installs for the machine itself, but for the tools; and what tests need: a shell, Python, ctest.
apt install --yes --download-only dash coreutils python3 libpython3.11 cmake libc6-dev libstdc++-12-dev libopenmpi-dev openmpi-bin libmpich-dev mpich \
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libboost-context-dev libgtest-dev libxxhash-dev libclang-dev liblz4-dev libisal-dev libhwloc-dev liburing-dev ||
  stop "packages for arm64 could not be fetched"
# And for scripts/aarch64-machine.sh: the kernel without what it depends on, which is for installing it.
kernel=$(apt-cache -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::Etc::sourcelist="$folder/apt/sources.list" \
  -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
  -o Dir::Cache="$folder/apt/cache" depends linux-image-arm64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
(cd "$folder/apt/cache/archives" && apt download "$kernel" busybox-static) || stop "packages for arm64 could not be fetched"
for package in "$folder"/apt/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner --exclude='./usr/share/doc' --exclude='./dev'
  rm "$package"
done
rm -rf "$folder/apt"
# Links to absolute paths, as they are right in /.
find "$folder/usr" "$folder/etc" -type l -lname '/*' | while read -r link; do
  ln -sfnr "$folder$(readlink "$link")" "$link"
done
# In the place of the wrappers of both MPIs, which are programs for aarch64 or know the root folder only: what those would say.
wrapper() { # name, flags of compiling, flags of linking
  cat >"$folder/$1" <<WRAPPER
#!/bin/sh
set -- aarch64-linux-gnu-gcc --sysroot=$folder $2 "\$@" $3
case " \$* " in *" -show "*) echo "\$@" ;; *) exec "\$@" ;; esac
WRAPPER
  chmod +x "$folder/$1"
}
libraries=$folder/usr/lib/aarch64-linux-gnu
wrapper mpicc.openmpi "-I$libraries/openmpi/include" "-L$libraries/openmpi/lib -lmpi"
wrapper mpicc.mpich "-I$folder/usr/include/aarch64-linux-gnu/mpich" "-L$libraries -lmpich"
: >"$folder/complete"
