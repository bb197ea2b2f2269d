#!/usr/bin/env python3
"""The programs in libexec/tasuki that bin/tasuki becomes: their help is that of one command, and a missing one is named.
parts_test.py TASUKI"""
import os
import shutil
import subprocess
import sys
import tempfile

PARTS = {"bench": "tasuki-bench", "sim": "tasuki-sim", "tune": "tasuki-bench"}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout, result.stderr


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def main():
    tasuki = os.path.realpath(sys.argv[1])
    overview = run(tasuki, "--help")
    check(overview[0] == 0, overview)
    for command in PARTS:
        check(f"\n  {command} " in overview[1], f"{command} in\n{overview[1]}")
        code, out, err = run(tasuki, command, "--help")
        check(code == 0 and f"tasuki {command}" in out, (command, code, out, err))
        check(run(tasuki, "--help", command) == (code, out, err), f"--help {command}")
        code, out, err = run(tasuki, command, "--no-such-option")
        check(code in (1, 2) and err.startswith(("tasuki", "A subcommand", "The following")), (command, code, out, err))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        alone = shutil.copy(tasuki, os.path.join(folder, "bin", "tasuki"))
        for command, program in PARTS.items():
            code, out, err = run(alone, command, "--help")
            missing = os.path.join(folder, "libexec", "tasuki", program)
            check(code == 127 and missing in err and "No such file" in err and "install Tasuki again" in err, (command, code, out, err))
            check(f"no `tasuki {command}`" in run(alone, "doctor")[1], f"doctor names {command}")
        check(run(alone, "settings")[0] == 0, "what bin/tasuki does itself")
        os.makedirs(os.path.dirname(missing))
        with open(os.path.join(folder, "libexec", "tasuki", "tasuki-sim"), "w") as file:
            file.write("no program")
        code, out, err = run(alone, "sim", "--help")
        check(code == 126 and "Permission denied" in err, (code, out, err))


if __name__ == "__main__":
    main()
