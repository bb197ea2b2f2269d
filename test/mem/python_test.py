#!/usr/bin/env python3
"""The Python package under a launcher: python_test.py --mpi openmpi --mpirun FILE --home BUILD --scratch DIRECTORY [--module]
[--settings text]. Exit code 77: there is no Python with NumPy here."""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def python_with_numpy():
    for candidate in (sys.executable, "/usr/bin/python3", shutil.which("python3")):
        if candidate and subprocess.run([candidate, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return candidate
    return None


def fields_of_header(path):
    """the names in struct dlm_counters, in order"""
    text = re.search(r"struct dlm_counters \{(.*?)\n\};", open(path, encoding="utf-8").read(), re.S).group(1)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return [name for line in re.findall(r"(?:uint64_t|double) ([^;]*);", text) for name in re.split(r",\s*", line)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("mpi", "mpirun", "home", "scratch", "settings"):
        parser.add_argument("--" + name, default="")
    parser.add_argument("--module", action="store_true")
    options = parser.parse_args()
    python = python_with_numpy()
    if python is None:
        print("skipped: no python3 with numpy (Debian package python3-numpy)")
        return 77
    os.makedirs(options.scratch, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI")}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONPATH=f"{options.home}/lib/tasuki/python",
               PYTHONDONTWRITEBYTECODE="1")

    def run(arguments, settings):
        launch = [options.mpirun] + (["--oversubscribe"] if options.mpi == "openmpi" else []) + ["-n", "3", python]
        launch += (["-m", "dlm"] if options.module else []) + [f"{HERE}/arrays.py"] + arguments + ["--"] + settings
        return subprocess.run(launch, cwd=options.scratch, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
                              check=False)

    result = run(["one", "--", "two"], ["--local=8MiB", "--memory=100MiB"] + options.settings.split())
    print(result.stdout, result.stderr, sep="")
    if result.returncode or result.stdout.replace("\r", "") != "arrays: as they should be\n" or result.stderr:
        return 1
    # The exit code of the script is that of the job; a wrong setting ends it before the script's first line.
    if run(["mistake"], []).returncode != 5:
        return 1
    wrong = run([], ["--protocol=none"])
    if wrong.returncode == 0 or "protocol" not in wrong.stderr or wrong.stdout.strip("\r\n="):
        print(wrong)
        return 1
    # What is wrong with the command is said by one rank, without a traceback, though the others were there before it.
    late = ["sh", "-c", 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 || sleep 0.5; exec "$@"', "sh"]
    for arguments, code, says in ((["--help"], 0, "usage:"), ([], 2, "usage:"), (["--stats", "x.py"], 2, "--stats is not an option"),
                                  (["none.py"], 1, "cannot open none.py")) if options.module else ():
        launch = [options.mpirun] + (["--oversubscribe"] if options.mpi == "openmpi" else []) + ["-n", "3"] + late + [python, "-m", "dlm"]
        result = subprocess.run(launch + arguments, cwd=options.scratch, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=100, check=False)
        output = result.stdout + result.stderr
        if result.returncode != code or output.count(says) != 1 or "Traceback" in output:
            print(arguments, result)
            return 1
    # The structure is declared twice.
    check = subprocess.run([python, "-c", "import re,sys; text=open(sys.argv[1]).read(); print(re.findall(r'\"(\\w+)\"', "
                            "text[text.index('class _Stats'):text.index('def _library_path')]))",
                            f"{options.home}/lib/tasuki/python/dlm/__init__.py"], capture_output=True, text=True, check=True)
    expected = fields_of_header(f"{options.home}/include/tasuki/dlm.h")
    if eval(check.stdout) != expected:  # a list of strings
        print(f"struct dlm_counters: {expected}\n_Stats: {check.stdout}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
