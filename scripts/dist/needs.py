#!/usr/bin/env python3
"""What the ELF files of a tree need of the system that they are copied to: versions of glibc's symbols, and libraries.

    needs.py TREE [--glibc 2.28] [--list]

Prints a line for each need that a system with that glibc does not meet, and for each library that is neither in the tree nor among those
that every such system has, and exits with 1: no file needs a library of MPI. --list: also what each file needs. Some programs of
`tasuki bench` need OpenMP."""
import argparse
import pathlib
import re
import subprocess
import sys

SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2", "libgcc_s.so.1"}
# libgcc_s.so.1 of the oldest compiler that came with glibc 2.28.
NEWEST = {"GCC": (8,)}
LOADER = "/lib64/ld-linux-x86-64.so.2"
OPENMP = re.compile(r"libexec/tasuki/memory-(plain|dlm-\w+)")


def number(version):
    return tuple(int(part) for part in version.split("."))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def dynamic(path, tag):
    return re.findall(rf"\({tag}\)[^\[]*\[(.*)\]", output("readelf", "-dW", path))


def elf_files(tree):
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                head = file.read(18)
            if head[:4] == b"\x7fELF" and head[16:18] in (b"\2\0", b"\3\0"):
                yield path


class File:
    def __init__(self, path):
        self.path = path
        self.libraries = dynamic(path, "NEEDED")
        self.names = dynamic(path, "SONAME") + [path.name]
        self.search = [part for tag in ("RPATH", "RUNPATH") for folders in dynamic(path, tag) for part in folders.split(":")]
        self.interpreters = re.findall(r"program interpreter: (.*)\]", output("readelf", "-lW", path))
        # The loader refuses a file for a version that its library lacks, also if only weak symbols have it.
        self.versions = {}  # (library, version) -> symbols
        library = None
        for line in output("readelf", "-VW", path).partition(".gnu.version_r")[2].splitlines():
            if match := re.search(r"Version: \d+  File: (\S+)  Cnt", line):
                library = match.group(1)
            elif match := re.search(r"Name: (\S+)  Flags", line):
                self.versions[library, match.group(1)] = set()
        for symbol, version in re.findall(r"UND (\S+?)@+(\S+)", output("readelf", "--dyn-syms", "-W", path)):
            for (library, known), symbols in self.versions.items():
                if known == version:
                    symbols.add(symbol)

    def glibc(self):
        return max((split(version)[1] for _, version in self.versions if split(version)[0] == "GLIBC"), default=(0,))


def split(version):
    """GLIBC_2.28 -> ("GLIBC", (2, 28)); GLIBC_PRIVATE -> ("GLIBC_PRIVATE", (0,))"""
    match = re.fullmatch(r"(\w+)_([\d.]+)", version)
    return (match.group(1), number(match.group(2))) if match else (version, (0,))


def text(version):
    return ".".join(str(part) for part in version)


def complaints(file, place, own, glibc):
    allowed = SYSTEM | own
    if OPENMP.fullmatch(str(place)):
        allowed = allowed | {"libgomp.so.1"}
    for library in file.libraries:
        if library not in allowed:
            yield f"needs {library}, which is not among the libraries that every system has"
    newest = NEWEST | {"GLIBC": glibc}
    for (library, version), symbols in sorted(file.versions.items()):
        family, count = split(version)
        if library in SYSTEM and (family not in newest or count > newest[family]):
            yield f"needs {version}: {' '.join(sorted(symbols)) or 'no symbol'}"
    for folder in file.search:
        if not folder.startswith("$ORIGIN"):
            yield f"looks for libraries in {folder or 'the current folder'}"
    for interpreter in file.interpreters:
        if interpreter != LOADER:
            yield f"is started by {interpreter}, not by {LOADER}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--glibc", default="2.28")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    files = [File(path) for path in elf_files(options.tree)]
    if not files:
        print(f"{options.tree}: there is no ELF file in it")
        return 1
    own = {name for file in files for name in file.names}
    bad = 0
    for file in files:
        place = file.path.relative_to(options.tree)
        if options.list:
            soname = "".join(f" ({name})" for name in file.names[:-1])
            print(f"{place}{soname}: glibc {text(file.glibc())}; {' '.join(file.libraries)}")
        for complaint in complaints(file, place, own, number(options.glibc)):
            print(f"{place}: {complaint}")
            bad += 1
    if options.list:
        print(f"{len(files)} files; together they need glibc {text(max(file.glibc() for file in files))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
