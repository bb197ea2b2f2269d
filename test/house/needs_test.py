#!/usr/bin/env python3
"""scripts/dist/needs.py finds what a file needs beyond what is allowed: a newer glibc, a library, a fixed place, another loader.

    needs_test.py NEEDS_PY CC"""
import pathlib
import subprocess
import sys
import tempfile

needs, compiler = sys.argv[1:3]
# memfd_create came with glibc 2.27.
PROGRAM = "#define _GNU_SOURCE\n#include <sys/mman.h>\nint main(void) { return memfd_create(\"x\", 0) < 0; }\n"
failures = 0


def check(what, tree, arguments, rc, *texts):
    global failures
    run = subprocess.run([sys.executable, needs, tree, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != rc or any(text not in run.stdout for text in texts) or (rc == 0 and not texts and run.stdout):
        print(f"{what}: exit {run.returncode}, expected {rc} and {texts} in:\n{run.stdout}")
        failures += 1


def build(folder, output, source, *flags):
    path = folder / output
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([compiler, "-x", "c", "-", "-x", "none", "-o", path, *flags], input=source, text=True, check=True)
    return path


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    elsewhere = build(work / "elsewhere", "libmpi.so.40", "int far(void) { return 0; }\n", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40")
    far = "int far(void);\nint main(void) { return far(); }\n"

    tree = work / "good"
    build(tree, "bin/app", PROGRAM)
    (tree / "bin/script").write_text("#!/bin/sh\n")
    check("nothing to say", tree, ["--glibc", "99.0"], 0)
    check("a list", tree, ["--glibc", "99.0", "--list"], 0, "bin/app: glibc ", "libc.so.6", "1 files; together they need glibc 2.")
    check("a newer glibc", tree, ["--glibc", "2.26"], 1, "bin/app: needs GLIBC_2.27: memfd_create")
    # 2.9 is older than 2.26.
    check("numbers, not texts", tree, ["--glibc", "2.9"], 1, "bin/app: needs GLIBC_2.27: memfd_create")

    tree = work / "own"
    build(tree, "lib/libown.so.1", "int far(void) { return 0; }\n", "-shared", "-fPIC", "-Wl,-soname,libown.so.1")
    build(tree, "bin/app", far, tree / "lib/libown.so.1", "-Wl,-rpath,$ORIGIN/../lib")
    check("a library of the tree", tree, ["--glibc", "99.0"], 0)
    (tree / "lib/libown.so.1").unlink()
    check("a library that is not there", tree, ["--glibc", "99.0"], 1, "bin/app: needs libown.so.1")

    tree = work / "mpi"
    build(tree, "libexec/openmpi/server", far, elsewhere)
    check("an MPI library", tree, ["--glibc", "99.0"], 1, "libexec/openmpi/server: needs libmpi.so.40")

    tree = work / "places"
    build(tree, "lib/libfixed.so", "int x;\n", "-shared", "-fPIC", "-Wl,-rpath,/build/lib")
    build(tree, "bin/other", PROGRAM, "-Wl,--dynamic-linker=/opt/ld.so")
    check("fixed places", tree, ["--glibc", "99.0"], 1, "lib/libfixed.so: looks for libraries in /build/lib",
          "bin/other: is started by /opt/ld.so")

    (work / "empty").mkdir()
    check("a tree without programs", work / "empty", [], 1, "no ELF file")
sys.exit(1 if failures else 0)
