#!/usr/bin/env python3
"""The program memory-page makes the page that --stats FILE.html writes in programs with dlm arrays, and says what is wrong.

page_program_test.py --page build/libexec/tasuki/memory-page --example build/src/cluster/cluster_report_example --tasuki build/bin/tasuki"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("page", "example", "tasuki"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = lambda name: os.path.join(folder, name)

        def page(name, counters):
            result = subprocess.run([options.page] + name, input=counters, capture_output=True, env={}, check=False, timeout=60)
            return result.returncode, result.stderr.decode()

        for name in ("own.html", "own.json"):
            subprocess.run([options.example, file(name)], check=True, timeout=60)
        own, counters = (open(file(name), "rb").read() for name in ("own.html", "own.json"))
        check(page([file("made.html")], counters) == (0, ""), "memory-page with counters")
        check(open(file("made.html"), "rb").read() == own, "the pages differ")
        for wrong in (b"", b"{}", b"[1]", counters[:-100]):
            code, said = page([file("none.html")], wrong)
            check(code == 1 and "has no counters" in said and not os.path.exists(file("none.html")), (wrong, code, said))
        code, said = page([file("no/folder.html")], counters)
        check(code == 1 and "no/folder.html: cannot be written: No such file" in said, (code, said))
        check(page([], b"")[0] == 2, "memory-page without a file")

        # Found missing before the program starts.
        os.mkdir(file("bin"))
        alone = shutil.copy(options.tasuki, file("bin/tasuki"))
        result = subprocess.run([alone, "mem", f"--stats={file('x.html')}", "/bin/true"], capture_output=True, text=True, check=False, timeout=60)
        check(result.returncode == 1 and "libexec/tasuki/memory-page: No such file" in result.stderr, result)


if __name__ == "__main__":
    main()
