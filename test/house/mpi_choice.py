#!/usr/bin/env python3
"""Which MPI a build takes (cmake/TasukiMpi.cmake), asked in a project that has nothing else, with made-up installations of MPI.

    mpi_choice.py CMAKE GENERATOR MAKE_PROGRAM CC SCRATCH
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = {
    "openmpi": "#define OPEN_MPI 1\n#define OMPI_MAJOR_VERSION 7\n#define OMPI_MINOR_VERSION 1\n#define OMPI_RELEASE_VERSION 2\n",
    "mpich": '#define MPICH_VERSION "6.5"\n#define MPICH 1\n',
    "intel": '#define MPICH_VERSION "3.4a2"\n#define I_MPI_VERSION "2030.1.0"\n',
    "abi": "#define MPI_ABI_VERSION 2\n#define MPI_ABI_SUBVERSION 1\n",
    "strange": "",
}
SAYS = {"openmpi": "mpirun (Open MPI) 7.1.2", "mpich": "HYDRA build details:", "intel": "Intel(R) MPI Library for Linux* OS",
        "abi": "HYDRA build details:"}


class Place:
    def __init__(self, cmake, generator, make, cc, scratch):
        self.cmake, self.generator, self.make, self.cc = cmake, generator, make, cc
        self.scratch = pathlib.Path(scratch)
        shutil.rmtree(self.scratch, ignore_errors=True)
        (self.scratch / "project").mkdir(parents=True)
        (self.scratch / "project/CMakeLists.txt").write_text(
            f'cmake_minimum_required(VERSION 3.25)\nproject(choice NONE)\nlist(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)\ninclude(TasukiMpi)\n'
            'foreach(mpi ${TASUKI_TESTED_MPIS})\n  message(STATUS "taken ${mpi} ${TASUKI_MPICC_${mpi}} ${TASUKI_MPIRUN_${mpi}} ${TASUKI_MPI_LAUNCHER_${mpi}}")\nendforeach()\n'
            'message(STATUS "built for ${TASUKI_MPIS}.")\n')
        self.configured = 0

    def install(self, prefix, kind, *, mpicc="mpicc", mpirun="mpirun", launcher=None, version="4.0"):
        """bin/ of a made-up installation."""
        folder = self.scratch / prefix
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        include = folder / f"include-{mpicc}"
        include.mkdir()
        major, minor = version.split(".")
        (include / "mpi.h").write_text(HEADERS[kind] + f"#define MPI_VERSION {major}\n#define MPI_SUBVERSION {minor}\n")
        flags = f"-I{include} -L{folder}/lib -lmpi"
        self.script(folder / "bin" / mpicc, f'[ "$1" = -show ] && exec echo cc {flags}\nexec {self.cc} -I{include} "$@"')
        if mpirun:
            self.script(folder / "bin" / mpirun, f"echo '{SAYS[launcher or kind]}'")
        return folder / "bin"

    def script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def configure(self, *path, env=None, options=()):
        """(worked, what it says); programs come from these folders only."""
        self.configured += 1
        build = self.scratch / f"build{self.configured}"
        base = {k: v for k, v in os.environ.items() if k not in ("MPICC_OPENMPI", "MPICC_MPICH", "MPICC_ABI")}
        done = subprocess.run([self.cmake, "-G", self.generator, f"-DCMAKE_MAKE_PROGRAM={self.make}", "-S", self.scratch / "project", "-B", build,
                               "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", *options],
                              env=base | {"PATH": ":".join(map(str, path)) or "/nowhere"} | (env or {}), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return done.returncode == 0, " ".join(done.stdout.split())


def check(result, worked, *says):
    missing = [text for text in says if text not in result[1]]
    if result[0] != worked or missing:
        sys.exit(f"configured: {result[0]}; not said: {missing}\n{result[1]}")


def main():
    place = Place(*sys.argv[1:])
    opt = place.install("opt/mpich", "mpich")
    intel = place.install("opt/intel", "intel")
    other = place.install("opt/openmpi", "openmpi")
    old = place.install("opt/old", "mpich", version="3.0")
    debian = place.install("usr", "openmpi", mpicc="mpicc.openmpi", mpirun="mpirun.openmpi")
    place.install("usr", "mpich", mpicc="mpicc.mpich", mpirun="mpirun.mpich")
    place.install("usr", "openmpi")  # the name that the alternatives give one of them

    # Debian's names, both families.
    check(place.configure(debian), True, f"taken openmpi {debian}/mpicc.openmpi {debian}/mpirun.openmpi",
          f"taken mpich {debian}/mpicc.mpich {debian}/mpirun.mpich", "Open MPI 7.1.2 (MPI 4.0)", "MPICH 6.5 (MPI 4.0)")
    # One family, by PATH: what will not be built is said.
    check(place.configure(opt), True, f"taken mpich {opt}/mpicc {opt}/mpirun", "no mpicc of Open MPI", "nothing is tested with it")
    check(place.configure(other), True, f"taken openmpi {other}/mpicc {other}/mpirun", "no mpicc of MPICH's family")
    # Any order in PATH; the first of a family.
    check(place.configure(other, intel, opt), True, f"taken openmpi {other}/mpicc", f"taken mpich {intel}/mpicc {intel}/mpirun", "Intel MPI 2030.1.0")
    # Named in the environment or by -D, which goes before all names.
    check(place.configure(debian, env={"MPICC_MPICH": f"{intel}/mpicc"}), True, f"taken mpich {intel}/mpicc {intel}/mpirun",
          f"taken openmpi {debian}/mpicc.openmpi")
    check(place.configure(options=[f"-DMPICC_OPENMPI={other}/mpicc"]), True, f"taken openmpi {other}/mpicc {other}/mpirun", "no mpicc of MPICH")
    # Not all that there is.
    check(place.configure(debian, options=["-DMPICC_MPICH=none"]), True, f"taken openmpi {debian}/mpicc.openmpi", "(looked for: MPICC_MPICH=none)",
          "built for openmpi.")
    # The standard ABI has no family's libraries of Tasuki's, and any launcher.
    place.install("opt/mpich", "abi", mpicc="mpicc_abi")
    check(place.configure(opt), True, f"taken abi {opt}/mpicc_abi {opt}/mpirun mpich", "MPI-5 standard ABI 2.1 (MPI 4.0)", "built for mpich.")
    check(place.configure(debian), True, "no mpicc of the MPI-5 standard ABI", "its shim is built", "built for openmpi;mpich.")
    standard = place.install("opt/standard", "abi", mpicc="cc_of_abi", launcher="openmpi")
    check(place.configure(debian, env={"MPICC_ABI": f"{standard}/cc_of_abi"}), True, f"taken abi {standard}/cc_of_abi {standard}/mpirun openmpi")
    check(place.configure(debian, env={"MPICC_ABI": f"{other}/mpicc"}), False, "is no mpicc of the MPI-5 standard ABI: it is Open MPI 7.1.2")
    # Mistakes.
    check(place.configure(debian, env={"MPICC_MPICH": f"{other}/mpicc"}), False, f"MPICC_MPICH={other}/mpicc is no mpicc of MPICH's family",
          "it is Open MPI 7.1.2")
    check(place.configure(env={"MPICC_MPICH": "/nowhere/mpicc"}), False, "MPICC_MPICH=/nowhere/mpicc: there is no such program")
    check(place.configure(env={"MPICC_MPICH": f"{old}/mpicc"}), False, "MPI 3.1 is needed")
    strange = place.install("opt/strange", "strange", mpirun="")
    check(place.configure(env={"MPICC_OPENMPI": f"{strange}/mpicc"}), False, "neither Open MPI's nor one of MPICH's family")
    check(place.configure(), False, "No MPI found")
    # A launcher of another family beside the wrapper is not taken, and that is said.
    alone = place.install("opt/alone", "mpich", launcher="openmpi")
    check(place.configure(alone), True, f"taken mpich {alone}/mpicc", "no launcher of it")


if __name__ == "__main__":
    main()
