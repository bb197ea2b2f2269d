#!/usr/bin/env python3
"""tasukicc as a command for programs with coarrays: files, links, dependencies, and what a checked program says when it ends early.

    xmp_driver_test.py TREE MPICC LAUNCHER
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import harness
from harness import cc, check, compile_as, files, run, write

launcher = shlex.split(sys.argv[3])
if os.getuid() == 0:
    os.environ["OMPI_ALLOW_RUN_AS_ROOT"] = os.environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"


def job(ranks, program="./program", **environment):
    return run(*launcher, ranks, program, **environment)


def job_says(what, built, expected, program="./program"):
    if built.code != 0:
        return check(what, False, built)
    seen = job(2, program)
    check(what, seen.code == 0 and seen.out == expected, seen)


HEADER = """
#include <xmp.h>
#define N 8
extern int shared[N]:[*];
extern double grid[3][N]:[2][*];
void put(int to);
"""
ARRAYS = """
#include "arrays.h"
int shared[N]:[*] = {1, 2};
double grid[3][N]:[2][*];
static int hidden[N]:[*] = {[3] = 5};
int hidden_of(int image) { return hidden[3]:[image]; }
"""
USES = """
#include "arrays.h"
static int hidden[2]:[*] = {7};
void put(int to) {
  shared[4:4]:[to] = xmp_this_image() * 10 + hidden[0];
  grid[1][0:N]:[to][1] = 0.5;
}
"""
MAIN = """
#include <stdio.h>
#include "arrays.h"
int hidden_of(int);
int main(int argc, char** argv) {
  const int me = xmp_this_image(), other = 3 - me;
  put(other);
  xmp_sync_all(NULL);
  if (me == 1) printf("%d %d %d %g %d %s\\n", argc, shared[1], shared[7], grid[1][7], hidden_of(2), argv[0] ? "ok" : "");
  return 0;
}
"""
SAID = "1 2 27 0.5 5 ok\n"
# The global view: the same directives in each file; one of them has the arrays.
SPREAD_HEADER = """
#include <stdio.h>
#include <xmp.h>
#define N 12
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1,0:N-1)
#pragma xmp distribute c(*,cyclic(2)) onto p
extern double spread[N];
#pragma xmp align spread[i] with t(i)
#pragma xmp shadow spread[1]
extern int dealt[N][N];
#pragma xmp align dealt[i][j] with c(j,i)
extern float *open;
#pragma xmp align open[i] with t(i)
void fill(void);
int sum(void);
"""
SPREAD_ARRAYS = """
#include "spread.h"
double spread[N];
int dealt[N][N];
float *open;
"""
SPREAD_USES = """
#include "spread.h"
void fill(void) {
  open = xmp_malloc(xmp_desc_of(open), N);
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) spread[i] = i, open[i] = 100;
#pragma xmp reflect (spread)
#pragma xmp loop (i, j) on c(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) dealt[i][j] = 1;
}
"""
SPREAD_MAIN = """
#include "spread.h"
int main(void) {
  int n = 0;
  fill();
#pragma xmp loop on t(i) reduction(+:n)
  for (int i = 1; i < N; i++) n += (int)(spread[i - 1] + open[i]);
#pragma xmp loop (i, j) on c(j,i) reduction(+:n)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) n += dealt[i][j];
  int all[N];
#pragma xmp gmove
  all[:] = dealt[3][:];
  if (xmp_node_num() == 1) printf("%d %d\\n", n, all[N - 1]);
  return 0;
}
"""
SPREAD_SAID = "1299 1\n"


def several_files():
    write("arrays.h", HEADER), write("arrays.c", ARRAYS), write("uses.c", USES), write("main.c", MAIN)
    job_says("several sources in one command", cc("arrays.c", "uses.c", "main.c", "-o", "program"), SAID)
    built = cc("-c", "arrays.c", "uses.c", "main.c")
    check("-c of several sources", built.code == 0 and {"arrays.o", "uses.o", "main.o"} <= set(files()), built)
    job_says("objects, main first", cc("main.o", "uses.c", "arrays.o", "-o", "program"), SAID)
    run("ar", "rcs", "libarrays.a", "arrays.o", "uses.o")
    job_says("an archive", cc("main.o", "-L.", "-larrays", "-o", "program"), SAID)
    built = cc("-shared", "-fPIC", "arrays.c", "uses.c", "-o", "libshared.so")
    check("a shared library", built.code == 0, built)
    job_says("a program on it", cc("main.c", "-L.", "-lshared", "-Wl,-rpath,.", "-o", "program"), SAID)
    for options in ("-O2 -flto", "-O3 -fopenmp", "-fcheck=bounds -g", "-ffunction-sections -fdata-sections -Wl,--gc-sections", "-std=gnu99"):
        job_says(options, cc(*shlex.split(options), "arrays.c", "uses.c", "main.c", "-o", "program"), SAID)
    write("spread.h", SPREAD_HEADER), write("spread.c", SPREAD_ARRAYS), write("spread_use.c", SPREAD_USES), write("spread_main.c", SPREAD_MAIN)
    job_says("distributed arrays of several sources", cc("spread_use.c", "spread_main.c", "spread.c", "-o", "program"), SPREAD_SAID)
    built = cc("-c", "-fcheck=bounds", "spread.c", "spread_use.c", "spread_main.c")
    check("-c of several sources with distributed arrays", built.code == 0, built)
    job_says("their objects", cc("spread_main.o", "spread.o", "spread_use.o", "-o", "program"), SPREAD_SAID)
    write("stage.c", "int a:[*];\nint main(void) { a:[1] = 2; return 0; }\n")
    check("-S", cc("-S", "stage.c").code == 0 and "tasuki_xmp_put" in pathlib.Path("stage.s").read_text())
    check("-E -o, and the preprocessed source", cc("-E", "stage.c", "-o", "stage.i").code == 0 and cc("stage.i", "-o", "staged").code == 0)
    check("-fsyntax-only makes nothing", cc("-fsyntax-only", "stage.c", "-o", "nothing").code == 0 and not os.path.exists("nothing"))
    shown = cc("--emit", "stage.c")
    check("--emit", shown.code == 0 and "tasuki_xmp_put" in shown.out and '"stage.c", 2' in shown.out, shown)


def wrong_links():
    built = cc("uses.o", "main.o", "-o", "wrong")
    check("an extern coarray that no file defines", built.code != 0 and "shared" in built.err and not os.path.exists("wrong"), built)
    write("plain_use.c", "extern int shared[];\nint hidden_of(int i) { return shared[i]; }\nvoid put(int to) { shared[0] = to; }\n")
    built = cc("plain_use.c", "arrays.o", "main.o", "-o", "wrong")
    check("an extern without codimensions", built.code != 0 and "shared" in built.err and not os.path.exists("wrong"), built)
    header = "#pragma xmp nodes p(*)\n#pragma xmp template t(0:9)\n#pragma xmp distribute t(block) onto p\n"
    write("aligned.c", header + "extern int spread[10];\n#pragma xmp align spread[i] with t(i)\nint *of(void) { return &spread[0]; }\n")
    write("defined.c", header + "int spread[10];\n#pragma xmp align spread[i] with t(i)\n")
    write("plain.c", "int spread[10];\nint main(void) { return 0; }\n")
    write("extern.c", "extern int spread[10];\nint main(void) { return spread[0]; }\n")
    built = cc("aligned.c", "plain.c", "-o", "wrong")
    check("an extern distributed array that no file aligns", built.code != 0 and "'spread' is declared as an extern distributed" in built.err, built)
    built = cc("defined.c", "extern.c", "-o", "wrong")
    check("a distributed array without align", built.code != 0 and "'spread' is a distributed array" in built.err, built)
    built = cc("-static", "arrays.o", "uses.o", "main.o", "-o", "wrong")
    check("-static", built.code != 0 and "link without -static" in built.err, built)


def other_versions():
    """Objects of versions of tasukicc that know other records."""
    arrays = compile_as("newer", "arrays.c", "uses.c")
    job_says("coarrays of a later version", cc(*arrays, "main.c", "-o", "program"), SAID)
    spread = compile_as("newer", "spread.c", "spread_use.c", "spread_main.c")
    job_says("records of a later version", cc(*spread, "-o", "program"), SPREAD_SAID)
    job_says("records of two versions", cc(spread[0], "spread_use.c", "spread_main.c", "-o", "program"), SPREAD_SAID)
    for what, old, others in (("a coarray", "arrays.c", ("uses.c", "main.c")), ("a node array", "spread.c", ("spread_use.c", "spread_main.c"))):
        built = cc(*compile_as("without sizes", old), *others, "-o", "program")
        seen = job(2) if built.code == 0 else built
        check(f"{what} without a size", seen.code != 0 and re.search(rf"the record of {what} in \S*/program gives \d+ as its size in bytes, which no "
                                                                     r"version of it has: .*compile it again", seen.err), seen)


def dependencies():
    write("inc/dep.h", "#define SIZE 3\n")
    write("dep.c", '#include "inc/dep.h"\nint a[SIZE]:[*];\nint main(void) { return a[0]:[1]; }\n')
    write("plain_dep.c", '#include "inc/dep.h"\nint a[SIZE];\nint main(void) { return a[0]; }\n')
    for options in ("-MD -c", "-MMD -c -o sub/out.o", "-MMD -MF named.dep -MT goal -c", "-MD -MP -o prog"):
        seen = []
        for compiler, source in ((harness.tasukicc, "dep.c"), (harness.mpicc, "plain_dep.c")):
            shutil.rmtree("deps", ignore_errors=True)
            os.makedirs("deps/sub"), shutil.copytree("inc", "deps/inc"), shutil.copy(source, "deps/it.c")
            done = subprocess.run([compiler, *shlex.split(options), "it.c"], cwd="deps",
                                  env={**os.environ, "MPICC": harness.mpicc, "TMPDIR": harness.temporary})
            found = {p.name: p.read_text() for p in pathlib.Path("deps").rglob("*.d*") if p.suffix in (".d", ".dep")}
            seen.append((done.returncode, found))
        check(f"{options}: the dependencies are the compiler's", seen[0] == seen[1] and seen[0][1], seen)
    built = cc("-MMD", "-MF", "none/dep.d", "-c", "dep.c", "-o", "dep.o")
    check("dependencies that cannot be written", built.code != 0 and "none/dep.d" in built.err and "expected" not in built.err, built)


def checked_programs():
    """What -fcheck=bounds stops: image, section and line are named, and the job ends."""
    program = ("#include <xmp.h>\n#include <stdlib.h>\nint v[10]:[*], m[4][5]:[2][*];\nint main(int argc, char** argv) {\n"
               "  const int i = atoi(argv[1]), n = atoi(argv[2]), image = atoi(argv[3]);\n  int b[10] = {0};\n"
               "  if (xmp_this_image() == 1) {\n    STATEMENT\n  }\n  xmp_sync_all(NULL);\n  return b[0];\n}\n")
    cases = {
        "an index": ("b[0] = v[i]:[image];", "9 1 2", "10 1 2", ("bounds.c:8", "'v'", "10")),
        "an index of the second dimension": ("m[1][i]:[image][1] = 3;", "4 1 2", "5 1 2", ("bounds.c:8", "'m'", "5")),
        "a section": ("v[i:n]:[image] = b[0:n];", "3 7 2", "3 8 2", ("bounds.c:8", "'v'", "3")),
        "a local section": ("v[0:2]:[image] = b[i:n];", "8 2 2", "9 2 2", ("bounds.c:8", "'b'", "9")),
        "a section downwards": ("v[i:n:-2]:[image] = 1;", "8 5 2", "8 6 2", ("bounds.c:8", "'v'", "8")),
        "an image": ("b[0] = v[i]:[image];", "0 1 2", "0 1 3", ("bounds.c:8", "image 3", "2")),
        "an image of two codimensions": ("b[0] = m[0][i]:[image][1];", "0 1 2", "0 1 3", ("bounds.c:8", "'m'", "3")),
        "unequal counts": ("v[0:n]:[image] = b[0:i];", "4 4 2", "4 5 2", ("bounds.c:8", "4", "5")),
    }
    for what, (statement, good, bad, named) in cases.items():
        write("bounds.c", program.replace("STATEMENT", statement))
        built = cc("-fcheck=bounds", "bounds.c", "-o", "bounds")
        if built.code != 0:
            check(what, False, built)
            continue
        seen = run(*launcher, 2, "./bounds", *good.split())
        check(f"{what} within its bounds", seen.code == 0, seen)
        seen = run(*launcher, 2, "./bounds", *bad.split())
        check(f"{what} outside: code and message", seen.code != 0 and all(word in seen.err for word in named), seen)


TRANSFORM = """#include <xmp.h>
#include <stdlib.h>
#pragma xmp nodes p[*]
#pragma xmp template t[12]
#pragma xmp distribute t[block] onto p
#pragma xmp template c[12]
#pragma xmp distribute c[cyclic] onto p
#pragma xmp template tt[6][4]
#pragma xmp distribute tt[block][*] onto p
double v[12], w[12], x[6][4], y[6][4], z[4][6];
float f[12];
int i[12], far[12], plain[12], co[12]:[*];
_Bool m[12];
char odd[6][4];
struct point { double x; } s[12];
double *later;
#pragma xmp align v[i] with t[i]
#pragma xmp align w[i] with t[i]
#pragma xmp align x[i][j] with tt[i][j]
#pragma xmp align y[i][j] with tt[i][j]
#pragma xmp align z[i][*] with tt[i][*]
#pragma xmp align f[i] with t[i]
#pragma xmp align i[i] with t[i]
#pragma xmp align far[i] with c[i]
#pragma xmp align m[i] with t[i]
#pragma xmp align odd[i][j] with tt[i][j]
#pragma xmp align s[i] with t[i]
#pragma xmp align later[i] with t[i]
int main(int argc, char** argv) {
  const int wrong = atoi(argv[1]);
#pragma xmp loop on t[k]
  for (int k = 0; k < 12; k++) i[k] = wrong == 9 ? 12 : 11 - k, m[k] = 1;
  xmp_gather(v[:], w[:], i[:]);
"""
TRANSFORMS = (("xmp_transpose(x[:][:], y[:][:], 0)", "xmp_transpose: dimension 1 of 'x' has 6 elements, and dimension 2 of 'y' has 4"),
              ("xmp_transpose(x[:][:], v[:], 0)", "xmp_transpose: 'v' has 1 dimensions; the argument 'a' has 2"),
              ("xmp_matmul(x[:][:], x[:][:], y[:][:])", "xmp_matmul: dimension 1 of 'y' has 6 elements, and dimension 2 of 'x' has 4"),
              ("xmp_matmul(x[:][:], odd[:][:], z[:][:])", "xmp_matmul: the elements of 'x' and 'odd' are of different types"),
              ("xmp_sort_up(v[:], f[:])", "xmp_sort_up: the elements of 'v' and 'f' are of different types"),
              ("xmp_sort_down(s[:], s[:])", "xmp_sort_down: the elements of 's' are no real numbers"),
              ("xmp_gather(v[:], w[:], w[:])", "xmp_gather: 'w' holds subscripts and must be an array of integers"),
              ("xmp_gather(v[:], w[:], far[:])", "xmp_gather: 'far' must be aligned as 'v' is"),
              ("", "xmp_gather: dimension 1 of 'w' goes from 0 to 11; the index array has 12"),
              ("xmp_gather(v[:], w[:], i[:], i[:])", "xmp_gather: 'w' has 1 dimensions, and there are 2 index arrays"),
              ("xmp_scatter(x[:][:], v[:], i[:])", "xmp_scatter: 'x' has 2 dimensions, and there are 1 index arrays"),
              ("xmp_scatter(v[:], w[:], xmp_desc_of(t))", "xmp_scatter: the argument 'idx' is not the descriptor of a distributed array"),
              ("xmp_pack(v[:], x[:][:])", "xmp_pack: 24 elements are selected, and 'v' has 12"),
              ("xmp_pack(v[:], w[:], i[:])", "xmp_pack: the mask 'i' must be an array of _Bool"),
              ("xmp_pack(v[:], co[:])", "xmp_pack: the argument 'a' is not the descriptor of a distributed array"),
              ("xmp_unpack(x[:][:], v[:], m[:])", "xmp_unpack: 'm' has 1 dimensions, and 'x' has 2"),
              ("xmp_sort_up(xmp_desc_of(later), v[:])", "xmp_sort_up: the distributed array 'later' has no memory yet; xmp_malloc gives it some"))


def transformations():
    """Arguments that do not fit: a message with the line of the call, and the end of the job."""
    calls = [call for call, _ in TRANSFORMS]
    write("transform.c", TRANSFORM + "".join(f"  if (wrong == {k}) {call or '0'};\n" for k, call in enumerate(calls, 1)) + "  return 0;\n}\n")
    built = cc("transform.c", "-o", "transform")
    if built.code != 0:
        return check("transformational procedures", False, built)
    seen = run(*launcher, 2, "./transform", 0)
    check("transformational procedures whose arguments fit", seen.code == 0, seen)
    first = TRANSFORM.count("\n")
    for k, call in enumerate(calls, 1):
        message = dict(TRANSFORMS)[call]
        seen = run(*launcher, 2, "./transform", k)
        check(call or "a subscript that is none", seen.code != 0 and f"transform.c:{first + k if call else first}: error: {message}" in seen.err, seen)
    for call, message in (("xmp_sort_up(plain[:], v[:])", "'plain' is no node array, template, distributed array or coarray"),
                          ("xmp_sort_up(v[0:12], w[:])", "'xmp_sort_up' takes whole arrays, and this is a part of one")):
        write("wrong.c", TRANSFORM + f"  {call};\n  return 0;\n}}\n")
        built = cc("wrong.c", "-o", "wrong")
        check(call, built.code != 0 and f"wrong.c:{first + 1}:" in built.err and message in built.err, built)


def advice():
    """What the user's compiler does not know."""
    for left, form in (("a:[2]", "a[:]:[image] = .."), ("m:[1]", "m[:][:]:[image] = .."), ("m[i]:[1]", "m[i][:]:[image] = ..")):
        write("whole.c", f"int a[9]:[*], m[2][3]:[*], b[9];\nint main(void) {{\n  int i = 0;\n  {left} = b;\n  return i;\n}}\n")
        built = cc("-c", "whole.c")
        check(f"{left} = b", built.code != 0 and f"whole.c:4:3: note: to assign to an array in another image, write a section: {form}" in built.err, built)
    write("bits.c", "struct { int x : 3; } s:[*];\nint main(void) {\n  return s.x:[1];\n}\n")
    built = cc("-c", "bits.c")
    check("s.x:[1] of a bit-field", built.code != 0 and "bits.c:3:12: note: the bit-field 'x' of another image" in built.err, built)


def nonblock():
    write("nb.c", "#include <xmp.h>\nint a[9]:[*], b[9];\nint main(void) {\n#pragma xmp nonblock\n  {\n    a[0:9]:[1] = b[:];\n  }\n"
          "#pragma xmp nonblock (remote)\n  a[0:9]:[1] = b[:];\n#pragma xmp wait_nonblock (local)\n#pragma xmp wait_nonblock\n  a[0:9]:[1] = b[:];\n  return 0;\n}\n")
    text = cc("--emit", "nb.c").out
    flags = [line.split("}, ")[-1].split(",")[0] for line in text.splitlines() if "tasuki_xmp_copy(&(" in line]
    check("nonblock regions are told by flags", flags == ["1", "2", "0"], text[-2000:])
    check("wait_nonblock", "tasuki_xmp_wait_nonblock(1, " in text and "tasuki_xmp_wait_nonblock(0, " in text, text[-2000:])


harness.main(sys.argv[1], sys.argv[2], (several_files, wrong_links, other_versions, dependencies, checked_programs, transformations, advice, nonblock))
