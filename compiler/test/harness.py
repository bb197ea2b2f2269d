"""What the tests of tasukicc as a command share: a folder of their own, calls of the compiler, checks that are counted."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Set by start().
tasukicc = mpicc = temporary = None
failures = []
checks = 0


def check(what, good, detail=""):
    global checks
    checks += 1
    print("ok  " if good else "FAIL", what, flush=True)
    if not good:
        failures.append(what)
        print(detail, flush=True)


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __str__(self):
        return f"exit code {self.code}\n{self.out}{self.err}"


def run(*command, stdin="", **environment):
    words = [str(word) for word in command]
    full = {**os.environ, "MPICC": mpicc, "LC_ALL": "C", "TMPDIR": temporary, **environment}
    full = {k: v for k, v in full.items() if v is not None}
    return Result(subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, input=stdin, timeout=60, env=full))


def cc(*arguments, **environment):
    return run(tasukicc, *arguments, **environment)


def write(name, text):
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(name).write_text(text)


def files(folder="."):
    return sorted(p.name for p in pathlib.Path(folder).iterdir())


def compile_as(version, *sources):
    """Objects as another version of tasukicc would make them of these sources. `newer`: its records have more members; `without sizes`: as
    before records had sizes."""
    objects = []
    for source in sources:
        text = cc("--emit", source).out
        if version == "newer":
            text, count = re.subn(r"(struct __tasuki_(?:dlm_array|xmp_(?:coarray|nodes|descriptor|template|array)) \{[^{}]*)\}", r"\1long appended[3]; }", text)
        else:
            text, count = re.subn(r"(?:unsigned long|unsigned) struct_size; |sizeof\(struct __tasuki_\w+\), ", "", text)
        check(f"{source} is emitted with records", count > 0, text)
        stem = source.removesuffix(".c") + "_" + version.replace(" ", "_")
        write(stem + ".c", text)
        built = run(mpicc, "-w", "-c", stem + ".c", "-o", stem + ".o")
        check(f"{source} of another version", built.code == 0, built)
        objects.append(stem + ".o")
    return objects


def program_says(what, built, expected, program="./program", code=0, **environment):
    if built.code != 0:
        return check(what, False, built)
    seen = run(program, **environment)
    check(what, seen.code == code and seen.out == expected, seen)


def main(tree, compiler, parts):
    """Runs the parts in a new folder, which goes, and ends the process with what came out."""
    global tasukicc, mpicc, temporary
    tasukicc, mpicc = str(pathlib.Path(tree).resolve() / "bin" / "tasukicc"), compiler
    temporary = tempfile.mkdtemp(prefix="tasukicc-test-tmp-")
    work = tempfile.mkdtemp(prefix="tasukicc-test-")
    os.chdir(work)
    try:
        for part in parts:
            part()
        check("nothing stays in the temporary folder at the end", files(temporary) == [], files(temporary))
    finally:
        os.chdir("/")
        shutil.rmtree(work)
        shutil.rmtree(temporary)
    print(f"{checks} checks, {len(failures)} failures: {failures}")
    sys.exit(1 if failures else 0)
