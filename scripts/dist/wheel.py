#!/usr/bin/env python3
"""Makes a wheel of the tree that scripts/dist/build.sh made: its files land in the environment's own bin, lib/tasuki, include and share,
where every command finds its parts as in any installation. The same tree gives the same bytes.

    wheel.py --tree TREE --version VERSION --out FOLDER

Wheels have no links: where a library has one for the linker, the wheel has a text that says the same to it. SOURCE_DATE_EPOCH is the time
of all files."""
import argparse
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

TAG = "py3-none-manylinux_2_28_x86_64"
METADATA = """Metadata-Version: 2.1
Name: tasuki
Version: {version}
Summary: A communication layer for MPI programs: ranks of a node in one address space, cluster memory, coarrays, a network simulator
License: BSD-3-Clause
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: C++
Classifier: Topic :: System :: Distributed Computing
Provides-Extra: tasukicc
Requires-Dist: libclang>=14; extra == "tasukicc"
Provides-Extra: dlm
Requires-Dist: numpy; extra == "dlm"
Description-Content-Type: text/markdown

"""


def content(path):
    """The bytes of a file; of a link to a library beside it, what says the same to a linker."""
    if not path.is_symlink():
        return path.read_bytes()
    target = os.readlink(path)
    if "/" in target or ".so" not in target:
        sys.exit(f"wheel.py: {path} is a link to {target}, which a wheel cannot have")
    return f"INPUT({target})\n".encode()


def place(relative, data):
    """Where a file of the tree is in the wheel. `import dlm` finds the package among those of the environment."""
    if relative.parts[:3] == ("lib", "tasuki", "python"):
        return "/".join(relative.parts[3:])
    if relative.parts[0] == "bin":
        return f"{data}/scripts/{relative.name}"
    return f"{data}/data/{relative}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    tree, name = options.tree, f"tasuki-{options.version}"
    info = f"{name}.dist-info"

    files = {}  # place in the wheel -> bytes, executable
    for path in sorted(tree.rglob("*")):
        if path.is_symlink() or path.is_file():
            executable = not path.is_symlink() and os.access(path, os.X_OK)
            files[place(path.relative_to(tree), f"{name}.data")] = (content(path), executable)
    if not any(path.endswith("/scripts/tasuki") for path in files):
        sys.exit(f"wheel.py: {tree} has no bin/tasuki")
    readme = (tree / "share/doc/tasuki/README.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = ((METADATA.format(version=options.version) + readme).encode(), False)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: tasuki\nRoot-Is-Purelib: true\nTag: {TAG}\n".encode(), False)
    files[f"{info}/LICENSE"] = ((tree / "share/doc/tasuki/LICENSE").read_bytes(), False)

    record = f"{info}/RECORD"
    lines = []
    for path, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    files[record] = (("".join(lines) + f"{record},,\n").encode(), False)

    options.out.mkdir(parents=True, exist_ok=True)
    wheel = options.out / f"{name}-{TAG}.whl"
    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, (data, executable) in files.items():
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    print(wheel)


if __name__ == "__main__":
    main()
