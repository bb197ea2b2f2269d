#!/usr/bin/env python3
"""scripts/dist/wheel.py: what it makes of a tree lands in the right places of an environment, and is the same each time.

    wheel_test.py WHEEL_PY"""
import base64
import csv
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

script = sys.argv[1]
failures = 0


def check(what, good, detail=""):
    global failures
    if not good:
        print(f"FAIL {what} {detail}")
        failures += 1


def make(tree, out):
    return subprocess.run([sys.executable, script, "--tree", tree, "--version", "1.2", "--out", out], capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    tree = work / "tree"
    for name, text in {"bin/tasuki": "program", "lib/tasuki/openmpi/libdlmmpi.so.0": "library", "include/tasuki/dlm.h": "",
                       "lib/tasuki/python/dlm/__init__.py": "import ctypes\n", "share/doc/tasuki/README.md": "# Tasuki 襷\n",
                       "share/doc/tasuki/LICENSE": "BSD"}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    (tree / "bin/tasuki").chmod(0o755)
    (tree / "lib/tasuki/openmpi/libdlmmpi.so").symlink_to("libdlmmpi.so.0")
    made = make(tree, work / "first")
    name = "tasuki-1.2-py3-none-manylinux_2_28_x86_64.whl"
    check("a wheel", made.returncode == 0 and made.stdout == f"{work}/first/{name}\n", made)
    with zipfile.ZipFile(work / "first" / name) as wheel:
        files = {entry.filename: entry for entry in wheel.infolist()}
        check("places", set(files) == {
            "tasuki-1.2.data/scripts/tasuki", "tasuki-1.2.data/data/lib/tasuki/openmpi/libdlmmpi.so.0",
            "tasuki-1.2.data/data/lib/tasuki/openmpi/libdlmmpi.so", "dlm/__init__.py", "tasuki-1.2.data/data/include/tasuki/dlm.h",
            "tasuki-1.2.data/data/share/doc/tasuki/README.md", "tasuki-1.2.data/data/share/doc/tasuki/LICENSE",
            *(f"tasuki-1.2.dist-info/{file}" for file in ("METADATA", "WHEEL", "RECORD", "LICENSE"))}, set(files))  # fmt: skip
        check("a program can be executed", files["tasuki-1.2.data/scripts/tasuki"].external_attr >> 16 == 0o100755)
        check("a header cannot", files["tasuki-1.2.data/data/include/tasuki/dlm.h"].external_attr >> 16 == 0o100644)
        # The linker takes a text in place of a link, and finds the library beside it by -L.
        check("links", wheel.read("tasuki-1.2.data/data/lib/tasuki/openmpi/libdlmmpi.so") == b"INPUT(libdlmmpi.so.0)\n")
        metadata = wheel.read("tasuki-1.2.dist-info/METADATA").decode()
        check("metadata", "\nVersion: 1.2\n" in metadata and metadata.endswith("\n\n# Tasuki 襷\n"), metadata)
        record = list(csv.reader(wheel.read("tasuki-1.2.dist-info/RECORD").decode().splitlines()))
        check("all files are recorded", {row[0] for row in record} == set(files), record)
        for path, digest, size in record:
            if path.endswith("/RECORD"):
                check("but not the record's own digest", digest == size == "")
                continue
            data = wheel.read(path)
            expected = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            check(f"the record of {path}", digest == expected and size == str(len(data)), (digest, size))

    os.utime(tree / "bin/tasuki", (1, 1))
    make(tree, work / "second")
    check("the same bytes", (work / "first" / name).read_bytes() == (work / "second" / name).read_bytes())
    (tree / "lib/tasuki/elsewhere").symlink_to("/usr/lib")
    made = make(tree, work / "third")
    check("a link that a wheel cannot have", made.returncode == 1 and "lib/tasuki/elsewhere is a link to /usr/lib" in made.stderr, made)
sys.exit(1 if failures else 0)
