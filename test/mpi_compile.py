"""Compiles a program of these folders with the compiler wrapper of an MPI library that is not the build's."""
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def command(compiler, sources, output, *flags):
    """compiler: the library's mpicc; for C++ its mpicxx is taken."""
    compiler = pathlib.Path(compiler)
    if pathlib.Path(sources[0]).suffix == ".cpp":
        compiler = compiler.with_name(compiler.name.replace("mpicc", "mpicxx"))
        # Without MPI's old C++ bindings, which need a library of their own.
        flags = (*flags, "-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")
    # gcc takes ignored statuses for arrays of no bytes.
    words = [compiler, "-D_GNU_SOURCE", "-O1", "-w", f"-I{HERE / 'p2p'}", *sources, "-o", output, *flags, "-lpthread"]
    return [str(word) for word in words]


def program(compiler, sources, output, *flags, env=None):
    subprocess.run(command(compiler, sources, output, *flags), check=True, env=env)
    return output
