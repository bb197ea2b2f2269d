#!/usr/bin/env python3
"""A library for programs, or one that is preloaded, exports what its headers declare, with a version, and what stands in for functions of others,
without one; nothing else.

    exports.py LIBRARY VERSION [HEADER...] [--also NAME...] [--unversioned TABLE] [--wrappers FILE...]

--also: names that no public header declares. --unversioned: a table of gen/ whose functions have no version, nor has MPI_Finalize (and the mark
of who wraps it).
--wrappers: sources whose TASUKI_WRAPPER have none either, and whose TASUKI_HIDDEN_WRAPPER have libc's and are not the default."""
import argparse
import pathlib
import re
import subprocess
import sys
import tomllib


def declared(path):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", pathlib.Path(path).read_text(encoding="utf-8"), flags=re.S)
    inline = set(re.findall(r"\binline\b[^;{]*?\b(\w+)\s*\(", text))
    return set(re.findall(r"\b((?:dlm|tasuki_dlm|xmp|xmpc|tasuki_xmp)_\w+)\s*\(", text)) - inline


def wrapped(path):
    """TASUKI_WRAPPER(type, name, ...), TASUKI_HIDDEN_WRAPPER alike, and of a file's own macros, TASUKI_WRAP_OPEN(name), all arguments"""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    names = set(re.findall(r"^TASUKI_WRAPPER\([^,]+,\s*(\w+)", text, flags=re.M))
    names |= {name + "@GLIBC_2.2.5" for name in re.findall(r"^TASUKI_HIDDEN_WRAPPER\([^,]+,\s*(\w+)", text, flags=re.M)}
    for arguments in re.findall(r"^TASUKI_WRAP_\w+\(([\w, ]+)\)", text, flags=re.M):
        names |= set(arguments.replace(",", " ").split())
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("version")
    parser.add_argument("headers", nargs="*")
    parser.add_argument("--also", nargs="*", default=[])
    parser.add_argument("--unversioned")
    parser.add_argument("--wrappers", nargs="*", default=[])
    options = parser.parse_args()
    wanted = {f"{name}@@{options.version}" for header in options.headers for name in declared(header)}
    wanted |= {f"{name}@@{options.version}" for name in options.also}
    if options.unversioned:
        with open(options.unversioned, "rb") as file:
            calls = [call["is"] for call in tomllib.load(file)["call"] if not call.get("uses")]
        wanted |= {re.match(r"[^(]*?(\w+)\(", call).group(1) for call in calls} | {"MPI_Finalize", "tasuki_calls_pmpi"}
    wanted |= {name for path in options.wrappers for name in wrapped(path)}
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", options.library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    found = {line.split()[2] for line in lines if line.split()[1] != "A"}
    for what, names in (("is declared and not exported", wanted - found), ("is exported and not declared", found - wanted)):
        for name in sorted(names):
            print(f"{options.library}: {name} {what}")
    return 1 if wanted != found else 0


if __name__ == "__main__":
    sys.exit(main())
