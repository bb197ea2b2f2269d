#!/usr/bin/env python3
"""tasukicc as a command: everything but the meaning of single programs (run_programs.py).

    driver_test.py TREE MPICC PKGCONFIG|''

TREE has the shape of an installation; its libdlmmpi is the double of stub_dlm.c, so programs run without a launcher.
"""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import cc, check, compile_as, files, program_says, run, write

tree, family = pathlib.Path(sys.argv[1]).resolve(), sys.argv[3]

HEADER = """
#define N 100
extern dlm double shared[N];
extern dlm int table[];
double total(void);
"""
ARRAYS = """
#include "arrays.h"
dlm double shared[N];
dlm int table[] = {1, 2, 3};
static dlm double hidden[N] = {7};
double total(void) {
  double sum = hidden[0];
  for (int i = 0; i < N; i++) sum += shared[i];
  return sum;
}
"""
USES = """
#include "arrays.h"
static dlm int hidden[3] = {4};
void fill(void) {
  for (int i = 0; i < N; i++) shared[i] = i + table[2] - 3 + hidden[0] - 4;
}
"""
MAIN = """
#include <stdio.h>
double total(void);
void fill(void);
int main(int argc, char** argv) {
  fill();
  printf("%d %g %s\\n", argc, total(), argv[0] ? "ok" : "");
  return 0;
}
"""
SAID = "1 4957 ok\n"


def several_files():
    write("arrays.h", HEADER), write("arrays.c", ARRAYS), write("uses.c", USES), write("main.c", MAIN)
    program_says("several sources in one command", cc("arrays.c", "uses.c", "main.c", "-o", "program"), SAID)
    built = cc("-c", "arrays.c", "uses.c", "main.c")
    check("-c of several sources", built.code == 0 and {"arrays.o", "uses.o", "main.o"} <= set(files()), built)
    program_says("objects", cc("arrays.o", "uses.o", "main.o", "-o", "program"), SAID)
    program_says("objects and sources, main first", cc("main.o", "uses.c", "arrays.o", "-o", "program"), SAID)
    run("ar", "rcs", "libarrays.a", "arrays.o", "uses.o")
    program_says("an archive by its path", cc("main.c", "libarrays.a", "-o", "program"), SAID)
    program_says("an archive by -l", cc("main.o", "-L.", "-larrays", "-o", "program"), SAID)
    run("ar", "rcs", "libmain.a", "main.o")
    program_says("main out of an archive", cc("libmain.a", "arrays.o", "uses.o", "-o", "program"), SAID)
    built = cc("-shared", "-fPIC", "arrays.c", "uses.c", "-o", "libshared.so")
    check("a shared library", built.code == 0, built)
    program_says("a program on it", cc("main.c", "-L.", "-lshared", "-Wl,-rpath,.", "-o", "program"), SAID)
    built = cc("-shared", "-fPIC", "arrays.c", "-o", "libbase.so")
    program_says("arrays of a shared library, used by a program", cc("uses.c", "main.c", "-L.", "-lbase", "-Wl,-rpath,.", "-o", "program"), SAID)
    run("ld", "-r", "arrays.o", "uses.o", "-o", "joined.o")
    program_says("objects joined by ld -r", cc("joined.o", "main.o", "-o", "program"), SAID)
    for options in ("-O2 -flto", "-no-pie -O1", "-fPIE -pie -g", "-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections",
                    "-fuse-ld=gold", "-fsanitize=address,undefined", "-O3 -march=native -fopenmp", "-fcommon", "-fvisibility=hidden",
                    "-pipe -Wl,-z,now -rdynamic", "-x c", "-std=gnu99 -funsigned-char"):
        if "address" in options and run("sh", "-c", "echo 'int main(){return 0;}' | gcc -fsanitize=address -x c - -o probe && ./probe").code:
            print("skip: this machine's gcc has no working AddressSanitizer")
            continue
        program_says(options, cc(*shlex.split(options), "arrays.c", "uses.c", "main.c", "-o", "program"), SAID, ASAN_OPTIONS="detect_leaks=0")
    write("words", "arrays.c 'uses.c'\n \"main.c\" -o program\n")
    os.remove("program")
    program_says("a file of arguments", cc("@words"), SAID)
    write("main.cc", '#include <cstdio>\nextern "C" double total(); extern "C" void fill();\n'
                "int main(int n, char**) { fill(); std::printf(\"%d %g ok\\n\", n, total()); }\n")
    run("g++", "-c", "main.cc", "-o", "cxx.o")
    program_says("main in C++", cc("cxx.o", "arrays.o", "uses.o", "-lstdc++", "-o", "program"), SAID)

    tentative = "dlm int common_array[5];\n"
    write("one.c", tentative + "int f(void) { return ++common_array[4]; }\n")
    write("two.c", tentative.replace("5", "8") + "int f(void);\n#include <stdio.h>\nint main(void) { f(); printf(\"%d %d\\n\", common_array[4], common_array[7]++); }\n")
    program_says("common symbols are one array", cc("-fcommon", "one.c", "two.c", "-o", "program"), "1 0\n")
    write("weak1.c", "dlm int w[2] __attribute__((weak)) = {1, 2};\nint f(void) { return w[1]; }\n")
    write("weak2.c", "__attribute__((weak)) dlm int w[2] = {1, 2};\nint f(void);\n#include <stdio.h>\nint main(void) { printf(\"%d %d\\n\", w[0]++, f()); return w[0] != 2; }\n")
    program_says("weak arrays are one array", cc("weak1.c", "weak2.c", "-o", "program"), "1 2\n")
    built = cc("-fno-common", "one.c", "two.c", "-o", "program2")
    check("without them two definitions are two", built.code != 0 and "multiple definition of" in built.err, built)


def wrong_links():
    write("plain_use.c", "extern double shared[];\nvoid fill(void) { shared[0] = 1; }\n")
    built = cc("plain_use.c", "arrays.o", "main.o", "-o", "wrong")
    check("an extern without dlm", built.code != 0 and "'shared' is a dlm array: declare it 'extern dlm'" in built.err and not os.path.exists("wrong"), built)
    built = cc("uses.o", "main.o", "-o", "wrong")
    check("an extern dlm without a definition", built.code != 0 and "no file defines it with dlm" in built.err, built)
    flags = shlex.split(cc("--dlm-libs").out)
    built = run(harness.mpicc, "arrays.o", "uses.o", "main.o", *flags, "-o", "unprepared")
    seen = run("./unprepared")
    check("linked without tasukicc: it says so", built.code == 0 and seen.code == 1 and "not linked by tasukicc" in seen.err and
          re.search(r"\w+\.c:\d+: dlm array '\w+'", seen.err), f"{built}{seen}")
    built = cc("-static", "arrays.o", "uses.o", "main.o", "-o", "wrong")
    check("-static", built.code != 0 and "link without -static" in built.err, built)


def other_versions():
    """Objects of versions of tasukicc that know other records."""
    newer = compile_as("newer", "arrays.c", "uses.c")
    program_says("records of a later version", cc(*newer, "main.c", "-o", "program"), SAID)
    program_says("records of two versions", cc(newer[0], "uses.c", "main.c", "-o", "program"), SAID)
    older = compile_as("without sizes", "arrays.c")
    built = cc(*older, "uses.c", "main.c", "-o", "program")
    seen = run("./program") if built.code == 0 else built
    check("records without sizes", seen.code == 1 and re.search(r"the record of a dlm array in \./program gives \d+ as its size in bytes, which no "
                                                                r"version of it has: .*compile it again", seen.err), seen)


def full_cluster():
    write("big.c", "#include <stdio.h>\ndlm char small[1000];\n\ndlm double large[1000][1000];\nint main(void) { puts(\"started\"); return small[0]; }\n")
    check("a large array compiles", cc("big.c", "-o", "big").code == 0)
    seen = run("./big", DLM_DOUBLE_LIMIT="1000000")
    check("a full cluster names the array", seen.code == 1 and seen.out == "" and "big.c:4: dlm array 'large' of 7.6 MiB: no more memory" in seen.err and
          "mpirun -n" in seen.err, seen)
    check("with enough it starts", run("./big", DLM_DOUBLE_LIMIT="8001000").out == "started\n")
    write("overflow.c", "dlm char a[1UL << 60], b[1UL << 60];\nint main(void) { return a[0]; }\n")
    built = cc("overflow.c", "-o", "overflow")
    seen = run("./overflow")
    check("sizes that no machine has", built.code == 0 and seen.code == 1 and "overflow.c:1: dlm array 'a' of 1.0 EiB" in seen.err, f"{built}{seen}")
    write("alignment.c", "dlm char a[3] __attribute__((aligned(1 << 28)));\nint main(void) { return ((unsigned long)a & ((1 << 28) - 1)) != 0; }\n")
    check("a large alignment", cc("alignment.c", "-o", "alignment").code == 0 and run("./alignment").code == 0)


def stages():
    write("stage.c", "#include <stdio.h>\ndlm double a[3] = {1.5};\nint main(void) { printf(\"%g\\n\", a[0]); return 0; }\n")
    for option in ("-E", "-M", "-MM", "--version", "-dumpmachine"):
        ours, theirs = cc(option, "stage.c"), run(harness.mpicc, option, "stage.c")
        check(f"{option} is the compiler's", (ours.code, ours.out) == (theirs.code, theirs.out), ours)
    check("-E -o", cc("-E", "stage.c", "-o", "stage.i").code == 0)
    program_says("a preprocessed source", cc("stage.i", "-o", "program"), "1.5\n")
    check("-S", cc("-S", "stage.c").code == 0 and "__dlm_a" in pathlib.Path("stage.s").read_text())
    check("-S -o", cc("-S", "-O2", "stage.c", "-o", "other.s").code == 0 and os.path.exists("other.s"))
    check("-fsyntax-only makes nothing", cc("-fsyntax-only", "stage.c", "-o", "nothing").code == 0 and not os.path.exists("nothing"))
    os.remove("program")
    source = pathlib.Path("stage.c").read_text()
    program_says("a source from the standard input", run(harness.tasukicc, "-x", "c", "-", "-o", "program", stdin=source), "1.5\n")
    built = run(harness.tasukicc, "-x", "c", "-", "-o", "program", stdin="int main(void) { return 0; }")
    check("also without dlm", built.code == 0 and run("./program").code == 0, built)
    write("odd name's.txt", source)
    program_says("an odd name and -x c", cc("-x", "c", "odd name's.txt", "-o", "program"), "1.5\n")
    write("sub/below.c", source)
    check("the object lands here", cc("-c", "sub/below.c").code == 0 and os.path.exists("below.o"))
    check("-c -o elsewhere", cc("-c", "sub/below.c", "-o", "sub/x.o").code == 0 and os.path.exists("sub/x.o"))
    built = cc("-c", "stage.c", "sub/below.c", "-o", "x.o")
    check("-o for two objects is the compiler's error", built.code != 0 and not os.path.exists("x.o"), built)
    built = cc("-c", "stage.c", "-o", "none/x.o")
    check("an output that cannot be", built.code != 0, built)
    built = cc("missing.c")
    check("a file that is not there", built.code != 0 and "missing.c" in built.err, built)
    shown = cc("--dlm-show", "stage.c")
    check("--dlm-show", shown.code == 0 and "(*__dlm_a)[3]" in shown.out, shown)
    check("no arguments", cc().code == 2 and "tasukicc prog.c" in cc("--help").out)
    for name in ("a.out", "program"):
        if os.path.exists(name):
            os.remove(name)
    program_says("a.out", cc("stage.c"), "1.5\n", "./a.out")
    check("nothing stays in the temporary folder", files(harness.temporary) == [], files(harness.temporary))


def dependencies():
    write("inc/dep.h", "#define SIZE 3\n"), write("dep.c", '#include "inc/dep.h"\ndlm int a[SIZE];\nint main(void) { return a[0]; }\n')
    write("plain_dep.c", '#include "inc/dep.h"\nint a[SIZE];\nint main(void) { return a[0]; }\n')
    for options in ("-MD -c", "-MMD -c -o sub/out.o", "-MMD -MF named.dep -MT goal -c", "-MD -MP -o prog"):
        seen = []
        for compiler, source in ((harness.tasukicc, "dep.c"), (harness.mpicc, "plain_dep.c")):
            shutil.rmtree("deps", ignore_errors=True)
            os.makedirs("deps/sub"), shutil.copytree("inc", "deps/inc"), shutil.copy(source, "deps/it.c")
            done = subprocess.run([compiler, *shlex.split(options), "it.c"], cwd="deps", env={**os.environ, "MPICC": harness.mpicc, "TMPDIR": harness.temporary})
            found = {p.name: p.read_text() for p in pathlib.Path("deps").rglob("*.d*") if p.suffix in (".d", ".dep")}
            seen.append((done.returncode, found))
        check(f"{options}: the dependencies are the compiler's", seen[0] == seen[1] and seen[0][1], seen)


def unchanged_without_dlm():
    write("no_dlm.c", '#include <stdio.h>\nint dlm;\nint main(void) { printf("%d %s\\n", dlm, "dlm int a[3];"); return 0; }\n')
    for options in ("-O2 -g -c -o", "-O2 -o"):
        cc(*options.split(), "ours", "no_dlm.c"), run(harness.mpicc, *options.split(), "theirs", "no_dlm.c")
        check(f"without dlm the same file: {options}", pathlib.Path("ours").read_bytes() == pathlib.Path("theirs").read_bytes())


def libraries():
    write("library.c", "#include <dlm.h>\n#include <stdio.h>\nint main(int n, char** v) {\n  dlm_startup(&n, &v);\n"
          "  double* x = dlm_alloc(80);\n  x[9] = n;\n  printf(\"%g\\n\", x[9]);\n}\n")
    flags = shlex.split(cc("--dlm-cflags", "--dlm-libs").out)
    program_says("the library form, with the flags", run(harness.mpicc, "library.c", *flags, "-o", "program"), "1\n")
    program_says("the library form, by tasukicc", cc("library.c", "-o", "program"), "1\n")
    check("its object", cc("-c", "library.c").code == 0)
    program_says("is linked with the library", cc("library.o", "-o", "program"), "1\n")
    run_path = run("readelf", "-d", "program").out
    check("found at run time", f"{tree}/lib/tasuki/{family}" in run_path, run_path)
    if shutil.which("pkg-config"):
        packages = str(tree / "lib" / "pkgconfig")
        got = run("pkg-config", "--cflags", "--libs", f"dlmmpi-{family}", PKG_CONFIG_PATH=packages)
        program_says("the library form, by pkg-config", run(harness.mpicc, "library.c", *shlex.split(got.out), "-o", "program"), "1\n")
    else:
        print("skip: no pkg-config")

    write("plugin.c", "static dlm int a[3] = {5};\ndlm int b[2];\nint *p = b;\nint plug(void) { b[0]++; return a[0] + *p; }\n")
    write("host.c", "#include <dlfcn.h>\n#include <stdio.h>\ndlm int own[2];\nint main(void) {\n"
          "  for (int i = 0; i < 2; i++) {\n    void* l = dlopen(\"./plugin.so\", RTLD_NOW);\n    if (!l) return puts(dlerror());\n"
          "    printf(\"%d \", ((int (*)(void))dlsym(l, \"plug\"))() + own[0]);\n    if (i == 0) dlclose(l);\n  }\n  puts(\"\");\n}\n")
    check("a plugin", cc("-shared", "-fPIC", "plugin.c", "-o", "plugin.so").code == 0)
    program_says("is loaded, unloaded and loaded", cc("host.c", "-ldl", "-o", "program"), "6 6 \n")


def compilers():
    built = cc("stage.c", "-o", "program", MPICC=f"{harness.mpicc} -DFROM_MPICC -O1")
    program_says("MPICC with options", built, "1.5\n")
    seen = cc("--dlm-libs", MPICC="no-such-mpicc")
    check("MPICC that is not there", seen.code != 0 and "cannot start 'no-such-mpicc'" in seen.err and "MPICC" in seen.err, seen)
    seen = cc("stage.c", "-o", "none", MPICC="gcc -nostdinc")
    check("MPICC without MPI", seen.code != 0 and not os.path.exists("none"), seen)
    seen = cc("--dlm-libs", MPICC="gcc -isystem .")
    write("fake/mpi.h", "#define SOME_MPI 1\n")
    seen = cc("--dlm-libs", MPICC="gcc -isystem fake")
    check("an MPI of neither family", seen.code != 0 and "neither Open MPI nor of the MPICH family" in seen.err, seen)
    if shutil.which("clang"):
        wrapper = {"openmpi": {"OMPI_CC": "clang"}, "mpich": {"MPICH_CC": "clang"}}[family]
        program_says("clang as the compiler", cc("arrays.c", "uses.c", "main.c", "-O2", "-o", "program", **wrapper), SAID)
    else:
        print("skip: no clang")


def libclang_elsewhere():
    """It is loaded when a file is read, from where the system, a Python environment or the user has it."""
    seen = cc("arrays.c", "uses.c", "main.c", "-o", "none", TASUKI_LIBCLANG="/nowhere/libclang.so")
    check("TASUKI_LIBCLANG names nothing", seen.code != 0 and "TASUKI_LIBCLANG" in seen.err and "/nowhere/libclang.so" in seen.err and not os.path.exists("none"), seen)
    seen = cc("stage.c", "-o", "none", TASUKI_LIBCLANG="libm.so.6")
    check("TASUKI_LIBCLANG names another library", seen.code != 0 and "libm.so.6 lacks clang_" in seen.err, seen)
    check("what needs no libclang works without", cc("--dlm-libs", TASUKI_LIBCLANG="/nowhere/libclang.so").code == 0)
    # As `pip install` leaves them: tasukicc in bin, the package below lib.
    write("bad/version.c", "typedef struct { const void *data; unsigned flags; } Text;\n"
          "Text clang_getClangVersion(void) { return (Text){\"clang version 9.0.1\", 0}; }\n"
          "const char *clang_getCString(Text t) { return t.data; }\n"
          "void clang_disposeString(Text t) { (void)t; }\n")
    names = re.findall(r"X\((\w+)\)", pathlib.Path(__file__).parents[1].joinpath("meaning/libclang.h").read_text())
    known = {"getClangVersion", "getCString", "disposeString"}
    write("bad/others.c", "".join(f"void clang_{name}(void) {{}}\n" for name in names if name not in known and name != "name"))
    packages = pathlib.Path("environment/lib/python3.9/site-packages/clang/native")
    packages.mkdir(parents=True), pathlib.Path("environment/bin").mkdir()
    built = run("gcc", "-shared", "-fPIC", "bad/version.c", "bad/others.c", "-o", packages / "libclang.so")
    check("an old libclang", built.code == 0, built)
    shutil.copy(harness.tasukicc, "environment/bin/tasukicc"), os.symlink(tree / "lib/tasuki", "environment/lib/tasuki")
    translate = [pathlib.Path("environment/bin/tasukicc").resolve(), "--emit", "arrays.c"]
    seen = run(*translate, TASUKI_LIBCLANG=packages.resolve() / "libclang.so")
    check("is refused", seen.code != 0 and "is too old (clang version 9.0.1)" in seen.err, seen)
    seen = run(*translate)
    check("and passed over for the system's", seen.code == 0 and seen.out == cc("--emit", "arrays.c").out != "", seen)
    own = os.path.realpath(os.environ.get("TASUKI_TEST_LIBCLANG", ""))
    if os.path.isfile(own):
        (packages / "libclang.so").unlink(), os.symlink(own, packages / "libclang.so")
        maps = run("env", "LD_DEBUG=files", *translate).err
        check("that of the environment comes first", str(packages.resolve() / "libclang.so") in maps, maps[-2000:])


def interrupted():
    write("slow", "#!/bin/sh\nexec sleep 20\n"), os.chmod("slow", 0o755)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        process = subprocess.Popen([harness.tasukicc, "stage.c", "-o", "never"], env={**os.environ, "MPICC": "./slow", "TMPDIR": harness.temporary})
        while not files(harness.temporary):
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal_number)
        process.wait(timeout=30)
        check(f"{signal_number.name} ends it and leaves nothing", process.returncode == -signal_number and not files(harness.temporary) and not os.path.exists("never"),
              (process.returncode, files(harness.temporary)))


def debugging():
    write("lines.c", "#include <stdio.h>\n#define LOOP \\\n  for (int i = 0; i < 3; i++)\n\ndlm int a[3];\n\nint main(void) {\n  LOOP {\n    a[i] = i;\n  }\n"
          "  printf(\"%d\\n\",\n         a[2]);\n  return 0;\n}\n")

    def lines(*command):
        done = run(*command, "-g", "-O0", "-c", "lines.c", "-o", "lines.o")
        check("it compiles with -g", done.code == 0, done)
        text = run("readelf", "--debug-dump=decodedline", "lines.o").out
        return {(m.group(1), m.group(2)) for m in re.finditer(r"^(lines\.c)\s+(\d+)\s+\S+", text, re.M)}
    ours, theirs = lines(harness.tasukicc), lines(harness.mpicc, "-Ddlm=")
    check("debuggers see the user's lines", theirs <= ours and ours - theirs <= {("lines.c", "7")} and len(theirs) > 5, (ours, theirs))
    names = run("readelf", "--debug-dump=info", "lines.o").out
    check("and the user's file", re.search(r"DW_TAG_compile_unit.*?DW_AT_name\s*:[^\n]*lines\.c", names, re.S), names[:2000])


harness.main(tree, sys.argv[2], (several_files, wrong_links, other_versions, full_cluster, stages, dependencies, unchanged_without_dlm, libraries, compilers, libclang_elsewhere, interrupted, debugging))
