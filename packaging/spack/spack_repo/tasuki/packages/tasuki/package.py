# Tasuki for Spack 1.0 and newer (docs/installing.md says how):
#
#   spack repo add packaging/spack/spack_repo/tasuki
#   git archive --prefix=tasuki-0.1.0/ -o tasuki-0.1.0.tar.gz HEAD
#   spack install --no-checksum tasuki ^openmpi
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Tasuki(CMakePackage):
    """Communication layer for MPI programs, on top of Open MPI or MPICH: the ranks of a node in
    one address space, messages with derived datatypes copied once, cluster memory for sequential
    programs, coarrays, and a simulator of networks."""

    # The archive of the sources lies where spack is called.
    manual_download = True
    url = f"file://{os.getcwd()}/tasuki-0.1.0.tar.gz"
    download_instr = (
        "There is no tasuki-0.1.0.tar.gz in this folder. In a checkout of Tasuki, call "
        "`git archive --prefix=tasuki-0.1.0/ -o tasuki-0.1.0.tar.gz HEAD` and spack install."
    )

    license("BSD-3-Clause")

    version("0.1.0")

    variant("python", default=True, description="The module dlm: NumPy arrays in cluster memory")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.11:", type="build")

    # Compiled in, or linked statically where there is a static library. Spack's compiler wrapper
    # finds no headers of packages of type "build".
    depends_on("cli11")
    depends_on("nlohmann-json")
    depends_on("tomlplusplus@3")
    depends_on("xxhash")
    depends_on("boost@1.65:+context context-impl=fcontext")
    depends_on("lz4")
    depends_on("liburing")
    # Loaded by programs that ask for it, by `tasuki tune`, and by tasukicc to read a program.
    depends_on("isa-l")
    depends_on("hwloc@2")
    depends_on("llvm@14:+clang")

    # What is built serves every library of the same ABI: that of Open MPI, or that of MPICH, Intel
    # MPI and MVAPICH. At run time, tasukicc calls mpicc, and mpirun starts `tasuki run`.
    depends_on("mpi@3.1:", type=("build", "link", "run"))
    depends_on("python@3.8:", when="+python", type="run")
    depends_on("py-numpy", when="+python", type="run")

    requires("platform=linux", msg="Tasuki runs on x86-64 with Linux")
    requires("target=x86_64:", msg="Tasuki runs on x86-64 with Linux")
    conflicts("%gcc@:11", msg="Tasuki is written in C++20: gcc 12 or clang")

    sanity_check_is_file = [
        "bin/tasuki",
        "bin/tasukicc",
        "lib/tasuki/libtasuki-task.so",
        "include/tasuki/dlm.h",
    ]

    def cmake_args(self):
        of_open_mpi = ("openmpi", "hpcx-mpi", "nvhpc", "spectrum-mpi")
        family, other = "OPENMPI", "MPICH"
        if self.spec["mpi"].name not in of_open_mpi:
            family, other = other, family
        return [
            self.define(f"MPICC_{family}", self.spec["mpi"].mpicc),
            self.define(f"MPICC_{other}", "none"),
            self.define("TASUKI_TESTS", False),
            self.define("TASUKI_WERROR", False),
        ]

    def setup_run_environment(self, env):
        env.set("TASUKI_LIBCLANG", join_path(self.spec["llvm"].prefix.lib, "libclang.so"))
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", self.prefix.lib.tasuki.python)

    def test_version(self):
        """the command says its version"""
        said = which(self.prefix.bin.tasuki)("--version", output=str.split)
        assert f"tasuki {self.spec.version}" in said
