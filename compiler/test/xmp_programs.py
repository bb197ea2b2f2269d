#!/usr/bin/env python3
"""Programs of XcalableMP C that check themselves (xmp/*.c), compiled by tasukicc.

    xmp_programs.py TREE MPICC [--launcher COMMAND] [--ranks 1,2,4,6] [--plain-ranks 1,2,3] [--tasuki COMMAND] [NAME...]

Without a launcher TREE has the library of stub_xmp.c, and each program is a process of its own, plain and with -fcheck=bounds and with its
`// options:`; what needs real images says `// double: no`, what needs an option of tasukicc at all says `// needs: OPTION`. With a launcher the programs are linked into one, which runs as an MPI job with
each number of ranks, without (or with the plain numbers) and with `tasuki run` before it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("tree"), parser.add_argument("mpicc"), parser.add_argument("--launcher"), parser.add_argument("--ranks", default="1,2,4,6")
parser.add_argument("--plain-ranks"), parser.add_argument("--tasuki"), parser.add_argument("names", nargs="*")
given = parser.parse_args()
here = pathlib.Path(__file__).resolve().parent / "xmp"
tasukicc = str(pathlib.Path(given.tree).resolve() / "bin" / "tasukicc")
environment = {**os.environ, "MPICC": given.mpicc, "LC_ALL": "C", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
if os.getuid() == 0:
    environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
failures = []


def call(*command, cwd, timeout=120):
    return subprocess.run([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, env=environment)


def passed(name, done):
    if done.returncode == 0:
        return print("ok  ", name, flush=True)
    failures.append(name)
    print(f"FAIL {name}: exit code {done.returncode}\n{done.stdout[-3000:]}", flush=True)


def options_of(path):
    found = re.search(r"^// options: *(.*)$", path.read_text(), re.M)
    return [shlex.split(one) for one in found.group(1).split(";")] if found else [[]]


def needs_of(path):
    found = re.search(r"^// needs: *(.*)$", path.read_text(), re.M)
    return shlex.split(found.group(1)) if found else []


def alone(path):
    with tempfile.TemporaryDirectory() as folder:
        for options in (*options_of(path), ["-fcheck=bounds"]):
            built = call(tasukicc, "-Wall", "-Werror", "-Wno-unknown-pragmas", *needs_of(path), *options, path, "-o", "program", "-lm", cwd=folder)
            passed(f"{path.name} {' '.join(options)}", built if built.returncode else call("./program", cwd=folder, timeout=20))


def together(paths, folder):
    """Each program's main has a name of its own, and its other names stay in its object."""
    objects = []
    for path in paths:
        object, name = f"{path.stem}.o", f"test_{path.stem}"
        for command in ((tasukicc, "-O1", *needs_of(path), f"-Dmain={name}", "-c", path, "-o", object), ("objcopy", f"--keep-global-symbol={name}", object)):
            done = call(*command, cwd=folder)
            if done.returncode:
                passed(path.name, done)
                break
        else:
            objects.append((object, name))
    calls = "".join(f'  if (xmp_node_num() == 1) puts("{name}"), fflush(stdout);\n  if ({name}() != 0) return 1;\n  xmp_sync_all(NULL);\n'
                    for _, name in objects)
    (pathlib.Path(folder) / "all.c").write_text("#include <stdio.h>\n#include <xmp.h>\n" + "".join(f"int {n}(void);\n" for _, n in objects) +
                                                f"int main(void) {{\n{calls}  return 0;\n}}\n")
    needs = {need for path in paths for need in needs_of(path)}
    return call(tasukicc, *sorted(needs), "all.c", *(o for o, _ in objects), "-lm", "-o", "all", cwd=folder)


def main():
    paths = [p for p in sorted(here.glob("*.c")) if not given.names or p.stem in given.names]
    if given.launcher is None:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(alone, [p for p in paths if "// double: no" not in p.read_text()]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            built = together(paths, folder)
            if built.returncode:
                passed("the link", built)
            else:
                runs = [(ranks, []) for ranks in (given.plain_ranks or given.ranks).split(",")]
                if given.tasuki:
                    runs += [(ranks, [given.tasuki, "run"]) for ranks in given.ranks.split(",")]
                for ranks, before in runs:
                    passed(f"{ranks} ranks {' '.join(before)}", call(*shlex.split(given.launcher), ranks, *before, "./all", cwd=folder))
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
