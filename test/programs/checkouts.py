"""Programs of others that are built from checkouts, with the compilers of an MPI: the path of each.

`options`: sources (a folder with checkouts, by the names of their repositories), keep (where what is built stays), mpi, scratch (the
build's log).
"""
import os
import shutil
import subprocess

import real  # Skip: what cannot be had

NPB_FOLDER, NPB_CHECKOUT = "NPB3.3-MPI", "NAS-Parallel-Benchmark"
NPB_SETTINGS = ("MPIF77={mpif90} -fallow-argument-mismatch -fallow-invalid-boz -std=legacy\\nFLINK=$(MPIF77)\\n"
                "FFLAGS=-O2\\nFLINKFLAGS=-O2\\nMPICC={mpicc}\\nCLINK=$(MPICC)\\nCFLAGS=-O2\\nCLINKFLAGS=-O2\\nCC=cc\\n"
                "BINDIR=../bin\\nRAND=randi8\\n")


def build(options, folder, commands, program):
    """A copy of the checkout, built."""
    if not options.sources or not os.path.isdir(os.path.join(options.sources, folder)):
        raise real.Skip(f"no checkout {folder} in the folder of --sources")
    copy = os.path.join(options.keep, "built", options.mpi, folder)
    path = os.path.join(copy, program)
    if os.path.exists(path):
        return path
    if not os.path.isdir(copy):
        shutil.copytree(os.path.join(options.sources, folder), copy)
    names = {tool: f"{tool}.{options.mpi}" for tool in ("mpicc", "mpicxx", "mpif90")}
    with open(os.path.join(options.scratch, "build.log"), "w") as log:
        for command in commands:
            if subprocess.run(command.format(**names), shell=True, cwd=copy, stdout=log, stderr=log, check=False).returncode:
                raise real.Skip(f"cannot be built: see {log.name}")
    return path


def npb(options, kernel, kind, ranks):
    return build(options, NPB_CHECKOUT, [f"mkdir -p {NPB_FOLDER}/bin", f"printf '{NPB_SETTINGS}' >{NPB_FOLDER}/config/make.def",
                                         f"make -C {NPB_FOLDER} {kernel} CLASS={kind} NPROCS={ranks}"],
                 f"{NPB_FOLDER}/bin/{kernel}.{kind}.{ranks}")


def cloverleaf(options):
    return build(options, "CloverLeaf_MPI", ["make COMPILER=GNU MPI_COMPILER={mpif90} C_MPI_COMPILER={mpicc} FLAGS_GNU=-O2 CFLAGS_GNU=-O2 "
                                             "OMP_GNU= OPTIONS=-fallow-argument-mismatch"], "clover_leaf")


def comd(options):
    return build(options, "CoMD", ["cp src-mpi/Makefile.vanilla src-mpi/Makefile", "mkdir -p bin", "make -C src-mpi CC={mpicc}"],
                 "bin/CoMD-mpi")


def minimd(options):
    return build(options, "miniMD", ["make -C ref openmpi CC={mpicxx} LINK={mpicxx} AVX=no"], "ref/miniMD_openmpi")


def snap(options):
    return build(options, "SNAP", ["make -C src FORTRAN={mpif90} OPENMP=no"], "src/gsnap")


def hpcg(options):
    return build(options, "hpcg", ["mkdir -p built", "cd built && ../configure Linux_MPI && make CXX={mpicxx}"], "built/bin/xhpcg")


def tealeaf(options):
    return build(options, "TeaLeaf_ref", ["make COMPILER=GNU MPI_COMPILER={mpif90} C_MPI_COMPILER={mpicc} CFLAGS_GNU=-O2 OMP_GNU= "
                                          "FLAGS_GNU='-O2 -cpp -ffree-line-length-none' OPTIONS=-fallow-argument-mismatch"], "tea_leaf")


def minighost(options):
    # The C part calls a function that MPI-3 removed, and MPI_Abort with its arguments exchanged.
    return build(options, "miniGhost", ["sed -i 's/MPI_Errhandler_set/MPI_Comm_set_errhandler/; s/MPI_Abort ( -1, MPI_COMM_WORLD )/"
                                        "MPI_Abort ( MPI_COMM_WORLD, -1 )/' ref/main.c",
                                        "make -C ref -f makefile.mpi.gnu FC={mpif90} CC={mpicc} LD={mpif90} MPI_INCLUDE= "
                                        "OPT_F='-O2 -fallow-argument-mismatch -ffree-line-length-none'"], "ref/miniGhost.x")
