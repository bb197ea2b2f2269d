#!/bin/sh
# Makes a folder with the headers and libraries of an older glibc, for `gcc --sysroot`: those of Debian 11 (glibc 2.31). All other headers
# in it are links to this machine's. What Debian 11 has beyond glibc 2.28, scripts/dist/older_glibc.h and .c take away again.
#
#   scripts/dist/sysroot.sh FOLDER       does nothing if it is there
#
# The packages come from the mirror that mirror.sh names. (Some day bullseye moves to Debian's archive.)
set -eu

folder=$1
suite=bullseye
[ ! -e "$folder/complete" ] || exit 0

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for command in apt-get dpkg-deb; do
  command -v $command >/dev/null || { echo "sysroot.sh: $command not found: releases are built on Debian" >&2; exit 1; }
done
[ -e $keyring ] || { echo "sysroot.sh: $keyring not found: apt-get install debian-archive-keyring" >&2; exit 1; }
mirror=$("$(dirname "$0")/mirror.sh")
[ -n "$mirror" ] || { echo "sysroot.sh: apt names no mirror; run apt-get update, or set DEBIAN_MIRROR" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/packages"
folder=$(cd "$folder" && pwd)
echo "deb [signed-by=$keyring] $mirror $suite main" >"$folder/apt/sources.list"
: >"$folder/apt/status"
apt() {
  apt-get -q -q -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" -o Dir::Cache="$folder/apt/cache" \
    -o APT::Sandbox::User=root -o Acquire::Languages=none "$@"
}
apt update || { echo "sysroot.sh: $mirror has no $suite; name a mirror that has in DEBIAN_MIRROR" >&2; exit 1; }
(cd "$folder/packages" && apt download libc6 libc6-dev)
for package in "$folder"/packages/*.deb; do
  dpkg-deb -x "$package" "$folder"
  dpkg-deb -W "$package" >>"$folder/packages/list" # name, version
done
rm -rf "$folder/apt"

# Links inside are absolute, as they are right in /.
find "$folder/lib" "$folder/lib64" "$folder/usr/lib" -type l -lname '/lib/*' | while read -r link; do
  ln -sfnr "$folder$(readlink "$link")" "$link"
done
multiarch=$(basename "$folder"/usr/lib/*-linux-gnu)
for headers in include "include/$multiarch"; do
  for file in /usr/"$headers"/*; do
    [ -e "$folder/usr/$headers/$(basename "$file")" ] || ln -s "$file" "$folder/usr/$headers/"
  done
done
: >"$folder/complete"
