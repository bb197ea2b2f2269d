#!/usr/bin/env python3
"""A project of somebody else (project/) that uses an installed Tasuki, in a tree that was moved after its installation.

    packages_test.py cmake|pkgconfig --build BUILD | --tree TREE --mpi FAMILY MPICC MPIRUN [--mpi ...] [--cmake CMAKE]

cmake      find_package(Tasuki): programs in C and C++ with each component, built and run; versions; what is absent is named
pkgconfig  the same programs, with the options that pkg-config gives

BUILD is installed; a TREE is one that is there already: an unpacked archive, an environment with the wheel. It is only read.
Exit code: 0 passed, 77 skipped: there is no pkg-config."""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent / "project"
LANGUAGES = {"C": "c", "CXX": "cpp"}
SAYS = {"dlm": "dlm: 999", "xmp": "xmp: 1 of 2", "sim": "sim: 6 on 8x8"}
failures = []


def run(command, **more):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, **more)


def check(what, good, seen=""):
    print(f"{'ok' if good else 'FAIL'}: {what}", flush=True)
    if not good:
        failures.append(what)
        print("   " + str(seen).replace("\n", "\n   "), flush=True)


class Tree:
    """An installation, and how programs of it are started."""

    def __init__(self, prefix, scratch):
        self.prefix, self.scratch = prefix, scratch
        # What a user may have set must not lead elsewhere.
        for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "TASUKI_HOME", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH"):
            os.environ.pop(name, None)

    def runs(self, what, component, program, mpirun):
        command = [mpirun, "-n", 2, program]
        if component == "sim":
            command = [self.prefix / "bin/tasuki", "sim", "--machine", "torus2d-8x8", "-n", 4, program]
        done = run(command)
        check(f"{what} runs", done.returncode == 0 and SAYS[component] in done.stdout, f"exit code {done.returncode}\n{done.stdout}")

    def checks_links(self, what, component, program):
        """Found at run time is the library of this tree; that of the simulator is chosen where the program is started."""
        dynamic = run(["readelf", "-d", program]).stdout
        paths = re.findall(r"R(?:UN)?PATH\)[^\[]*\[([^\]]*)\]", dynamic)
        inside = any(os.path.realpath(path).startswith(str(self.prefix) + os.sep) for path in ":".join(paths).split(":") if path)
        check(f"{what} finds its library at run time", inside != (component == "sim"), dynamic)


def cmake_project(options, tree, name, *definitions, ask="", languages="C;CXX"):
    """Configures the project; returns its build folder, and what CMake said with its exit code."""
    folder = tree.scratch / name
    done = run([options.cmake, "-S", PROJECT, "-B", folder, f"-DCMAKE_PREFIX_PATH={tree.prefix}", f"-DASK={ask}",
                f"-DLANGUAGES={languages}", *definitions])
    return folder, done


def compilers(mpicc):
    mpicc = pathlib.Path(mpicc)
    return {"C": mpicc, "CXX": mpicc.with_name(re.sub(r"^mpicc", "mpicxx", mpicc.name))}


def by_cmake(options, tree):
    version = re.search(r"([0-9]+)\.([0-9]+)\.[0-9]+", run([tree.prefix / "bin/tasuki", "--version"]).stdout)
    wanted = f"{version[1]}.{version[2]}"
    for mpi, mpicc, mpirun in options.mpi:
        chosen = [f"-DMPI_{language}_COMPILER={compiler}" for language, compiler in compilers(mpicc).items()]
        folder, done = cmake_project(options, tree, mpi, *chosen, ask=f"{wanted} REQUIRED COMPONENTS dlm xmp sim")
        check(f"{mpi}: find_package({wanted})", done.returncode == 0 and f"{version[0]} dlm=TRUE xmp=TRUE sim=TRUE" in done.stdout,
              done.stdout)
        built = run([options.cmake, "--build", folder])
        check(f"{mpi}: the project builds", built.returncode == 0, built.stdout)
        for component in SAYS if built.returncode == 0 else ():
            for ending in LANGUAGES.values():
                what, program = f"{mpi}: {component}.{ending}", folder / f"{component}_{ending}"
                tree.checks_links(what, component, program)
                tree.runs(what, component, program, mpirun)
    mpi, mpicc, _ = options.mpi[0]
    chosen = [f"-DMPI_{language}_COMPILER={compiler}" for language, compiler in compilers(mpicc).items()]
    for language in LANGUAGES:
        _, done = cmake_project(options, tree, f"only_{language}", *chosen, ask="REQUIRED", languages=language)
        check(f"a project in {language} only", done.returncode == 0 and "dlm=TRUE xmp=TRUE sim=TRUE" in done.stdout, done.stdout)

    _, done = cmake_project(options, tree, "newer", *chosen, ask="99.0 REQUIRED")
    check("a version that is not there", done.returncode != 0 and f"version: {version[0]}" in done.stdout, done.stdout)
    _, done = cmake_project(options, tree, "unknown", *chosen, ask="REQUIRED COMPONENTS sim warp")
    check("a component that does not exist", done.returncode != 0 and "warp: no such component: there are dlm, xmp, sim" in done.stdout,
          done.stdout)
    _, done = cmake_project(options, tree, "choice", *chosen, "-DTasuki_MPI=lam", ask="REQUIRED COMPONENTS dlm")
    check("a family that does not exist", done.returncode != 0 and "Tasuki_MPI is 'lam'" in done.stdout, done.stdout)
    _, done = cmake_project(options, tree, "no_mpi", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON")
    check("without MPI the simulator is left", done.returncode == 0 and "dlm=FALSE xmp=FALSE sim=TRUE" in done.stdout, done.stdout)
    check("and the reason is said", "without dlm: find_package(MPI) finds no MPI" in done.stdout, done.stdout)

    # An installation that lacks something: the configuration alone, with the headers.
    poor = tree.scratch / "poor"
    config = next(tree.prefix.glob("lib/**/cmake/Tasuki"))
    shutil.copytree(config, poor / config.relative_to(tree.prefix))
    shutil.copytree(tree.prefix / "include/tasuki", poor / "include/tasuki")
    _, done = cmake_project(options, Tree(poor, tree.scratch), "lacks", *chosen, ask="REQUIRED COMPONENTS xmp sim")
    said = re.sub(r"\s+", " ", done.stdout)
    library = f"{poor}/lib/tasuki/{mpi}/libtasukixmp.so.0"
    check("components that were not built are named", done.returncode != 0 and f"xmp: there is no {library}" in said
          and "sim: there is no" in said, done.stdout)


def by_pkgconfig(options, tree):
    pkg_config = shutil.which("pkg-config")
    if not pkg_config:
        print("skip: no pkg-config")
        sys.exit(77)
    os.environ["PKG_CONFIG_LIBDIR"] = str(next(tree.prefix.glob("lib/**/pkgconfig/tasuki-sim.pc")).parent)
    known = {line.split()[0] for line in run([pkg_config, "--list-all"]).stdout.splitlines()}
    used = set()
    for mpi, mpicc, mpirun in options.mpi:
        for component, package in (("dlm", f"dlmmpi-{mpi}"), ("xmp", f"tasukixmp-{mpi}"), ("sim", "tasuki-sim")):
            used.add(package)
            flags = run([pkg_config, "--cflags", "--libs", package])
            check(f"pkg-config knows {package}", flags.returncode == 0, flags.stdout)
            if flags.returncode != 0:
                continue
            for language, ending in LANGUAGES.items():
                compiler = {"C": "cc", "CXX": "c++"}[language] if component == "sim" else compilers(mpicc)[language]
                what, program = f"{mpi}: {component}.{ending} by pkg-config", tree.scratch / f"{component}_{ending}_{mpi}"
                built = run([compiler, PROJECT / f"{component}.{ending}", *shlex.split(flags.stdout), "-o", program])
                check(f"{what} is built", built.returncode == 0, built.stdout)
                if built.returncode == 0:
                    tree.checks_links(what, component, program)
                    tree.runs(what, component, program, mpirun)
    if options.build:
        check("there are no other packages", known == used, f"{known} {used}")
    done = run([pkg_config, "--atleast-version=99", "tasuki-sim"])
    check("a version that is not there", done.returncode != 0, done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["cmake", "pkgconfig"])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--tree", type=pathlib.Path)
    parser.add_argument("--mpi", nargs=3, action="append", required=True)
    parser.add_argument("--cmake", default="cmake")
    options = parser.parse_args()
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    os.environ.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
    with tempfile.TemporaryDirectory(prefix="tasuki-packages-") as temporary:
        scratch = pathlib.Path(os.path.realpath(temporary))
        prefix = options.tree and pathlib.Path(os.path.realpath(options.tree))
        if not prefix:
            done = run([options.cmake, "--install", options.build, "--prefix", "/opt/first"],
                       env={**os.environ, "DESTDIR": str(scratch / "root")})
            check("cmake --install to DESTDIR", done.returncode == 0, done.stdout)
            prefix = scratch / "moved"
            (scratch / "root/opt/first").rename(prefix)
        {"cmake": by_cmake, "pkgconfig": by_pkgconfig}[options.way](options, Tree(prefix, scratch))
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
