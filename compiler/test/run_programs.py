#!/usr/bin/env python3
"""Programs that tasukicc compiles, and programs that it refuses.

    run_programs.py TREE MPICC accept|reject|xmp_reject [--launcher COMMAND] [NAME...]

TREE has the shape of an installation; its libdlmmpi is the double of stub_dlm.c, so programs run without a launcher. With one, TREE is
the real thing: each program is built once and runs as an MPI job.

accept: each program, built with tasukicc and built by the MPI compiler with the word dlm defined away, ends and prints alike, at each
of its `// options:`. `// arrays: N` says how many arrays must have come out of the cluster's memory.
reject, xmp_reject: each `// error at COLUMN: TEXT` stands before the line that an error must name; there are no other errors, each comes with
advice (or, with `// from: the compiler`, need not), the exit code is not zero and nothing is left behind. `// note: TEXT` is in one of the
advices. `// file:` says where the errors are, if not in the program itself.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
tree, mpicc, what = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
wanted = sys.argv[4:]
launcher = []
if "--launcher" in wanted:
    at = wanted.index("--launcher")
    launcher = shlex.split(wanted[at + 1])
    del wanted[at:at + 2]
tasukicc = str(tree / "bin" / "tasukicc")
environment = {**os.environ, "MPICC": mpicc, "LC_ALL": "C"}
for name in ("DLM_DOUBLE_LIMIT", "DLM_DOUBLE_REPORT"):
    environment.pop(name, None)
if os.getuid() == 0:
    environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
plain_flags = shlex.split(subprocess.run([tasukicc, "--dlm-cflags", "--dlm-libs"], stdout=subprocess.PIPE, text=True, check=True,
                                         env=environment).stdout)
failures = []


def fail(name, why, detail=""):
    failures.append(name)
    print(f"FAIL {name}: {why}\n{detail}", flush=True)


def call(command, cwd, timeout=300, **more):
    return subprocess.run([str(word) for word in command], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, env={**environment, **more})


def directive(text, name, default=""):
    found = re.search(rf"^// {name}: *(.*)$", text, re.M)
    return found.group(1) if found else default


def accept(path):
    text = path.read_text()
    for options in directive(text, "options").split(";")[:1 if launcher else None]:
        name = f"{path.name} {options.strip()}"
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(path, folder)
            beside = path.with_suffix(".inc")
            if beside.exists():
                shutil.copy(beside, folder)
            words = shlex.split(options)
            define = "-DPLAIN" if "plain: keep" in text else "-Ddlm="
            plain = call([mpicc, *words, define, "-w", "-Wno-error", path.name, "-o", "plain", *plain_flags, "-lm"], folder)
            if plain.returncode != 0:
                fail(name, "is no C program", plain.stderr)
                continue
            built = call([tasukicc, *words, path.name, "-o", "program", "-lm"], folder)
            if built.returncode != 0:
                fail(name, "does not compile", built.stderr)
                continue
            reference = call([mpicc, *words, define, path.name, "-c", "-o", "plain.o", *plain_flags[:1]], folder)
            if built.stderr != reference.stderr:
                fail(name, "gets other diagnostics", f"--- tasukicc\n{built.stderr}--- {mpicc}\n{reference.stderr}")
            left = sorted(f.name for f in pathlib.Path(folder).iterdir())
            if left != sorted([path.name, "plain", "plain.o", "program", *([beside.name] if beside.exists() else [])]):
                fail(name, f"leaves {left}")
            arguments = shlex.split(directive(text, "arguments"))
            before = arguments[:len(arguments) - arguments[::-1].index("--") - 1] if "--" in arguments else arguments
            expected = call(["./plain", *before], folder)
            seen = call([*launcher, "./program", *arguments], folder, DLM_DOUBLE_REPORT="report")
            errors = "" if launcher else seen.stderr  # launchers speak of exit codes
            if (seen.returncode, seen.stdout, errors) != (expected.returncode, expected.stdout, expected.stderr):
                fail(name, f"runs otherwise: exit code {seen.returncode}, not {expected.returncode}",
                     f"--- tasukicc\n{seen.stdout}{seen.stderr}--- plain\n{expected.stdout}{expected.stderr}")
                continue
            if launcher:
                print("ok  ", name, flush=True)
                continue
            report = (pathlib.Path(folder) / "report").read_text()
            arrays = re.search(r"allocations (\d+)", report).group(1)
            largest = int(directive(text, "smaller than", "1000000000"))
            size = (pathlib.Path(folder) / "program").stat().st_size
            if size > largest:
                fail(name, f"is a file of {size} bytes")
            if arrays not in directive(text, "arrays").split() or not re.search(r"startups [12] .*shutdowns 1", report):
                fail(name, f"uses the library in another way: {report}")
            print("ok  ", name, report.strip(), flush=True)


def reject(path):
    text = path.read_text()
    file = directive(text, "file", path.name)
    expected = []
    for number, line in enumerate((path.parent / file).read_text().splitlines(), 1):
        found = re.match(r"\s*// error(?: at (\d+))?: (.*)$", line)
        if found:
            expected.append((number + 1, int(found.group(1) or 0), found.group(2)))
    assert expected, path
    options = shlex.split(directive(text, "options"))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, folder)
        for extra in path.parent.glob("*.h"):
            shutil.copy(extra, folder)
        before = sorted(f.name for f in pathlib.Path(folder).iterdir())
        for mode in (["-o", "program"], ["-c"], ["-S"], ["-fsyntax-only"]):
            built = call([tasukicc, *options, path.name, *mode], folder)
            name = f"{path.name} {' '.join(mode)}"
            if built.returncode == 0:
                fail(name, "is taken", built.stderr)
                break
            if sorted(f.name for f in pathlib.Path(folder).iterdir()) != before:
                fail(name, "leaves something behind")
            errors = re.findall(r"^(\S+?):(\d+):(?:(\d+):)? error: (.*)$", built.stderr, re.M)
            missing = [e for e in expected
                       if not any(f == file and int(n) == e[0] and (e[1] == 0 or c == str(e[1])) and e[2] in t for f, n, c, t in errors)]
            if missing or len(errors) != len(expected):
                fail(name, f"is refused otherwise; missing: {missing}", built.stderr)
                break
            notes = re.findall(r": note: (.*)$", built.stderr, re.M)
            unsaid = [n for n in re.findall(r"^\s*// note: (.*)$", text, re.M) if not any(n in note for note in notes)]
            if unsaid:
                fail(name, f"does not say: {unsaid}", built.stderr)
                break
            advice = "compiler" not in directive(text, "from", "tasukicc")
            if advice and len(notes) < len(expected):
                fail(name, "gets no advice", built.stderr)
                break
        else:
            print("ok  ", path.name, *(f"{n}: {t}" for n, _, t in expected), sep="\n       ", flush=True)


def main():
    if what in ("accept", "reject", "xmp_reject"):
        paths = [p for p in sorted((here / what).glob("*.c")) if not wanted or p.stem in wanted]
        with concurrent.futures.ThreadPoolExecutor(1 if launcher else 2) as pool:
            list(pool.map(accept if what == "accept" else reject, paths))
    else:
        sys.exit(f"what is {what}?")
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
