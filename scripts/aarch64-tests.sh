#!/bin/sh
# Builds for aarch64 what runs under a launcher, and runs its tests and the unit tests on an emulated machine, with Debian's arm64 kernel
# and MPI libraries: what docs/aarch64.md says about them is what this command has shown. It takes hours, for the night.
#
#   scripts/aarch64-tests.sh [REGEX]     only the tests whose names match, e.g. '^task\..*none|^mpi.blocking'
#
# BUILD, JOBS and TASUKI_SYSROOT as for scripts/aarch64.sh, PAGES as for scripts/aarch64-machine.sh.
set -eu

cd "$(dirname "$0")/.."
build=${BUILD:-build-aarch64}
TASUKI_SYSROOT=${TASUKI_SYSROOT:-$PWD/$build-sysroot}
export TASUKI_SYSROOT
units="base os elf layout schedule task message"
# These need what the machine lacks: a debugger, namespaces, libseccomp, more processors or time.
without='^task\.(debugger|hosts|seccomp|.*_namespace|read_only|.*_shared_memory|sessions|many|python)'
# shellcheck disable=SC2046,SC2086 # lists of words
scripts/aarch64.sh tasuki tasuki-task python-main tasuki_shim_openmpi tasuki_shim_mpich stray_write $(printf '%s_test ' $units) \
  test/task/all test/p2p/all test/coll/all test/types/all
if [ $# -eq 0 ]; then
  scripts/aarch64-machine.sh "for unit in $units; do echo \$unit; '$build'/bin/\${unit}_test --gtest_brief=1 || failed=1; done; exit \${failed:-0}" || code=1
fi
scripts/aarch64-machine.sh "cd '$build' && ctest --output-on-failure -LE slow -R '${1:-^(task|mpi)\.}' -E '$without'" || code=1
exit "${code:-0}"
