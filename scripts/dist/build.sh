#!/bin/sh
# Builds the release: a tree that runs from anywhere, on every x86-64 Linux with glibc 2.28 or newer, as an archive and as a wheel for pip.
# The same sources, compiler and packages give the same bytes.
#
#   scripts/dist/build.sh [BUILD [OUT]]      build tree (build-dist), folder for the results (out)
#
# Writes OUT/tasuki-VERSION-x86_64-linux.tar.xz, its list of components (.spdx.json), the wheel and SHA256SUMS. JOBS=n; DEBIAN_MIRROR: see
# sysroot.sh.
set -eu

cd "$(dirname "$0")/../.."
source=$(pwd)
mkdir -p "${1:-build-dist}" "${2:-out}"
build=$(cd "${1:-build-dist}" && pwd)
out=$(cd "${2:-out}" && pwd)
glibc=2.28
[ "$(uname -m)" = x86_64 ] || { echo "build.sh: releases are built on x86-64" >&2; exit 1; }

version=$(sed -n 's/^project(tasuki VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=tasuki-$version-x86_64-linux
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# Names, dates and sorting of all that is made are those of no place.
export LC_ALL=C TZ=UTC
umask 022

sysroot=$build/sysroot
scripts/dist/sysroot.sh "$sysroot"

# gcc keeps its own libraries, and takes those of glibc, with the code that starts a program, from the sysroot.
libraries=$sysroot/usr/lib/x86_64-linux-gnu
paths="-ffile-prefix-map=$sysroot=/ -ffile-prefix-map=$build=/build -ffile-prefix-map=$source=/tasuki"
compile="--sysroot=$sysroot -B$libraries -include $source/scripts/dist/older_glibc.h -DTASUKI_OLDEST_GLIBC=2028 $paths"
link="-L$libraries -L$sysroot/lib/x86_64-linux-gnu -Wl,--allow-shlib-undefined"
# Its name changes with it, so that all is linked again. Compiled without the file that is included before all others: that one asks for what
# this one defines.
additions=$build/older_glibc-$(sha256sum scripts/dist/older_glibc.c | cut -c1-12).o
gcc --sysroot="$sysroot" -O2 -fPIC -Wall -Wextra -Werror -c scripts/dist/older_glibc.c -o "$additions"

# What newer versions of glibc have in libc.so.6 is in libraries of its own there.
standard="$additions -lpthread -ldl"

# The paths in which programs look for libraries are those of the installed tree from the start: build IDs are made of what is linked.
cmake -G Ninja -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTASUKI_TESTS=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON \
  -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ \
  -DCMAKE_C_FLAGS="$compile" -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DCMAKE_CXX_FLAGS="$compile -D_GLIBCXX_GTHREAD_USE_WEAK=0" -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DCMAKE_EXE_LINKER_FLAGS="$link" -DCMAKE_SHARED_LINKER_FLAGS="$link" -DCMAKE_MODULE_LINKER_FLAGS="$link" \
  -DCMAKE_C_STANDARD_LIBRARIES="$standard" -DCMAKE_CXX_STANDARD_LIBRARIES="$standard"
cmake --build "$build" --parallel "${JOBS:-$(nproc)}"

tree=$build/release/$name
rm -rf "$tree"
cmake --install "$build" --strip --prefix "$tree" >/dev/null
python3 scripts/dist/components.py --build "$build" --tree "$tree" --version "$version" >"$out/$name.spdx.json"
cp "$out/$name.spdx.json" "$tree/share/doc/tasuki/components.spdx.json"

python3 scripts/dist/needs.py "$tree" --glibc "$glibc" --list
if tied=$(grep -rlF -e "$source" -e "$build" "$tree"); then
  echo "build.sh: these files of the tree name folders of the build: $tied" >&2
  exit 1
fi

archive=$build/release/$name.tar
tar --create --file "$archive" --directory "$build/release" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
  --owner=0 --group=0 --numeric-owner --mode=u+w,go=u-w "$name"
xz --threads=1 -9 --extreme --stdout "$archive" >"$out/$name.tar.xz"
wheel=$(python3 scripts/dist/wheel.py --tree "$tree" --version "$version" --out "$out")
cd "$out"
sha256sum "$name.tar.xz" "$name.spdx.json" "$(basename "$wheel")" | tee SHA256SUMS
wc -c "$name.tar.xz" "$wheel"
