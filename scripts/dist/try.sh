#!/bin/sh
# A short test of every part of an installed Tasuki, as its user would make it: the commands of the documentation, with this machine's
# compilers and MPI libraries. Prints a line for each part; exits with 1 if one failed.
#
#   scripts/dist/try.sh FOLDER      an empty folder to work in; tasuki and tasukicc are found by PATH
#
# Every mpicc.NAME of this machine with its mpirun.NAME is used (Debian's names), else mpicc and mpirun. What cannot be tried here says why.
set -u
cd "$1" || exit 1

if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
failed=0
verdict() { # word, what
  printf '%-5s %s\n' "$1" "$2"
}
# attempt WHAT TEXT COMMAND...: it ends with 0, and its output has TEXT (a basic regular expression; empty: any output will do).
attempt() {
  what=$1 text=$2
  shift 2
  timeout 120 "$@" >log 2>&1
  code=$?
  if [ $code -eq 0 ] && { [ -z "$text" ] || grep -q -e "$text" log; }; then
    verdict ok "$what"
  else
    verdict FAIL "$what: exit code $code, expected 0 and '$text' in the output of: $*"
    sed 's/^/      /' log
    failed=1
  fi
}

cat >typed.c <<'END'
#include <mpi.h>
#include <stdio.h>
enum { n = 512 };
static double matrix[n][n];
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Datatype column;
  MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < n; i++) matrix[i][0] = rank == 0 ? i : -1;
  if (rank == 0) MPI_Send(matrix, 1, column, 1, 7, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Recv(&matrix[0][5], 1, column, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) wrong += matrix[i][5] != i;
    printf("typed message: %d wrong\n", wrong);
  }
  MPI_Finalize();
  return wrong != 0;
}
END
cat >coarray.c <<'END'
#include <stdio.h>
#include <xmp.h>
int a[4]:[*];
int main(void) {
  const int me = xmp_this_image(), right = me % xmp_num_images() + 1;
  a[0:4] = me;
  xmp_sync_all(NULL);
  a[0:2]:[right] = a[2:2];
  xmp_sync_all(NULL);
  printf("image %d: %d %d\n", me, a[0], a[3]);
  return 0;
}
END
cat >sort.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const size_t n = 3 << 20;
  unsigned *data = malloc(n * sizeof *data), state = 1;
  for (size_t i = 0; i < n; i++) data[i] = state = state * 1664525u + 1013904223u;
  unsigned long sum = 0;
  for (size_t i = n; i-- > 0;) sum += data[i] % 1000;
  printf("sum %lu\n", sum);
  free(data);
  return 0;
}
END
cat >simulated.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum of ranks: %d\n", sum);
  MPI_Finalize();
  return 0;
}
END
cat >array.py <<'END'
import dlm
a = dlm.zeros((300, 1000))
a += 2
print("array:", a.sum())
END

gcc -O1 sort.c -o sort || failed=1
sum=$(./sort)
attempt "tasuki mem --store" "$sum" tasuki mem --local 4MiB --store . ./sort
attempt "tasuki --version" '^tasuki [0-9]' tasuki --version
attempt "tasuki doctor" 'they share an address space' tasuki doctor

libclang=yes
tasukicc --emit coarray.c 2>&1 | grep -q 'finds none' && libclang=

set --
for mpi in openmpi mpich; do
  if command -v mpicc.$mpi >/dev/null && command -v mpirun.$mpi >/dev/null; then set -- "$@" .$mpi; fi
done
if [ $# -eq 0 ] && command -v mpicc >/dev/null; then set -- ""; fi
[ $# -gt 0 ] || verdict skip "run, dlm and tasukicc: no mpicc on PATH"
for suffix in "$@"; do
  name=mpirun$suffix
  if mpicc"$suffix" typed.c -o "typed$suffix" >log 2>&1; then
    attempt "$name -n 2 tasuki run ./typed" 'typed message: 0 wrong' \
      env TASUKI_STATS=1 "mpirun$suffix" -n 2 tasuki run --require "./typed$suffix"
    # The time is for scripts/clean-machine.sh.
    if grep -q 'sent=[1-9]' log; then [ -e first-message ] || date +%s >first-message; else
      verdict FAIL "$name -n 2 tasuki run ./typed: Tasuki moved no message"
      failed=1
    fi
  else
    verdict FAIL "mpicc$suffix typed.c"
    sed 's/^/      /' log
    failed=1
  fi
  if [ -z "$libclang" ]; then
    verdict skip "tasukicc: no libclang"
  else
    attempt "tasukicc with mpicc$suffix" '' env MPICC="mpicc$suffix" tasukicc -O2 coarray.c -o "coarray$suffix"
  fi
  [ ! -x "coarray$suffix" ] || {
    attempt "coarrays under $name" 'image 2: 1 2' "mpirun$suffix" -n 2 "./coarray$suffix"
    attempt "coarrays under $name and tasuki run" 'image 2: 1 2' "mpirun$suffix" -n 2 tasuki run --require "./coarray$suffix"
  }
  attempt "tasuki mem: ranks of $name lend" "$sum" "mpirun$suffix" -n 2 tasuki mem --local 4MiB ./sort
  if python3 -c 'import numpy' 2>/dev/null; then
    attempt "python3 -m dlm under $name" 'array: 600000' "mpirun$suffix" -n 2 python3 -m dlm array.py
  else
    verdict skip "python3 -m dlm: no numpy"
  fi
done
attempt "tasuki sim --schedule" 'a2at' tasuki sim --machine torus2d-8x8 --schedule a2at --bytes 4KiB
attempt "tasuki simcc" '' tasuki simcc simulated.c -o simulated
attempt "tasuki sim ./simulated" 'sum of ranks: 120' tasuki sim --machine torus2d-8x8 -n 16 ./simulated
exit $failed
