#!/bin/sh
# Builds the parts that have been tried on aarch64 for it, on this machine, and runs their unit tests in an emulator of user programs:
# what docs/aarch64.md says about them is what this command has shown.
#
#   scripts/aarch64.sh [TARGET...]     builds these targets instead, and runs nothing
#
# BUILD=build-aarch64, JOBS=n, TASUKI_SYSROOT=FOLDER (default: BUILD-sysroot; 2 GB). Packages that are missing are installed, as
# scripts/bootstrap.sh does it; the compiler is Debian's cross compiler.
set -eu

cd "$(dirname "$0")/.."
build=${BUILD:-build-aarch64}
jobs=${JOBS:-$(nproc)}
TASUKI_SYSROOT=${TASUKI_SYSROOT:-$PWD/$build-sysroot}
export TASUKI_SYSROOT
for pair in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64-static:qemu-user-static; do
  command -v "${pair%%:*}" >/dev/null || missing="${missing:-} ${pair#*:}"
done
if [ -n "${missing:-}" ]; then
  echo "aarch64: apt-get install$missing"
  # shellcheck disable=SC2086 # a list of words
  DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing >/dev/null 2>&1 || {
    echo "aarch64: that failed; install these packages and run again" >&2
    exit 1
  }
fi
scripts/aarch64-sysroot.sh "$TASUKI_SYSROOT"
test -f "$build/build.ninja" || cmake --preset aarch64 -B "$build"
if [ $# -gt 0 ]; then
  exec cmake --build "$build" --parallel "$jobs" --target "$@"
fi
parts="base elf os schedule task"
# shellcheck disable=SC2046,SC2086 # lists of words
cmake --build "$build" --parallel "$jobs" --target tasuki-task $(printf '%s_test ' $parts)
scripts=$PWD/scripts
cd "$build"
exec "$scripts/ctest.sh" --output-on-failure --parallel "$jobs" --tests-regex "^($(echo "$parts" | tr ' ' '|'))$"
