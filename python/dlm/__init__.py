"""Arrays for NumPy in cluster memory: rank 0 of an MPI job computes, the other ranks lend their memory.

    import dlm                                   # memory servers end in here
    a = dlm.zeros((200000, 10000))               # a numpy.ndarray; its memory is in the whole job
    ...
    mpirun -n 4 python3 script.py args -- -f memfile          # what stands behind the last "--" are settings
    mpirun -n 4 python3 -m dlm script.py args -- --stats      # the script need not import dlm first

Import it first: the lines above the import run on all ranks. An array's memory is given back when the array and all
views of it are gone. `a.copy()`, `a + b` and other results of NumPy are in local memory; give it the place for its
result (`numpy.add(a, b, out=c)`), or run the whole program under `tasuki mem`, which needs no import at all.

Needs NumPy and an installation of Tasuki: this package is found in PREFIX/lib/tasuki/python, or in the environment of Python
that Tasuki was installed in as a package; the library in PREFIX/lib/tasuki/MPI. TASUKI_HOME=PREFIX names another one.
"""

import ctypes
import os
import sys
import warnings

# The MPI library whose launcher started this process, by a variable that it sets.
_LAUNCHERS = (("openmpi", "OMPI_COMM_WORLD_RANK"), ("mpich", "PMI_RANK"), ("mpich", "PMI_FD"), ("mpich", "PALS_RANKID"),
              ("mpich", "MV2_COMM_WORLD_RANK"))
_LIBRARY = "libdlmmpi.so.0"  # the name without a number is the linker's
_USAGE = """usage: mpirun -n 4 python3 -m dlm SCRIPT [arguments] [-- settings]

Rank 0 runs the script, the other ranks lend their memory. Settings: python3 -m dlm SCRIPT -- --help"""


def _command_line():
    """The words that started this process. Before Python 3.10 only the kernel tells."""
    if hasattr(sys, "orig_argv"):
        return sys.orig_argv
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]


def _run_as_module():
    """`python -m dlm` imports this file before its own __main__."""
    return sys.argv[:1] == ["-m"] and "-m" in _command_line()


def _check_module_arguments():
    """Says what is wrong with `python -m dlm ...` before anything starts. One rank says it, and only that one fails: launchers
    end the others at the first failure, which might be the speaker before it speaks."""
    script = sys.argv[1] if len(sys.argv) > 1 else "--"
    if not script.startswith("-"):
        return
    if any(os.environ.get(name, "0") != "0" for _, name in _LAUNCHERS if name != "PMI_FD"):
        sys.exit(0)
    wanted = script in ("-h", "--help")
    if script not in ("-h", "--help", "--"):
        print(f"dlm: {script} is not an option of `python -m dlm`: settings stand behind the last \"--\", options of Python before -m",
              file=sys.stderr)
    print(_USAGE, file=sys.stdout if wanted else sys.stderr)
    sys.exit(0 if wanted else 2)


if _run_as_module():
    _check_module_arguments()

import numpy  # noqa: E402  what the module says about its arguments needs none

__all__ = ["empty", "zeros", "ones", "full", "from_array", "advise", "stats"]

_ADVICE = ("normal", "sequential", "random", "will_need", "done_with", "keep_local")


class _Stats(ctypes.Structure):
    """struct dlm_counters of dlm.h"""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "page_bytes", "local_bytes", "server_bytes", "allocated_bytes", "resident_bytes", "faults", "first_touches", "rescues",
        "write_faults", "swaps_in", "bytes_in", "swaps_out", "bytes_out", "drops", "prefetched")] + [
            (name, ctypes.c_double) for name in ("wait_previous", "wait_page", "in_seconds", "out_seconds", "map_seconds")] + [
                ("beside_bytes", ctypes.c_uint64)]


def _library_path():
    home = os.environ.get("TASUKI_HOME")
    here = os.path.dirname(os.path.abspath(__file__))
    directory = os.path.join(home, "lib", "tasuki") if home else os.path.dirname(os.path.dirname(here))
    if not home and os.path.basename(directory) != "tasuki":
        # In an environment of Python: its lib has python3.x/site-packages/dlm and tasuki.
        directory = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "tasuki")
    wanted = [mpi for mpi, variable in _LAUNCHERS if variable in os.environ]
    mpi4py = sys.modules.get("mpi4py.MPI")
    if mpi4py:  # the MPI library is there
        wanted = ["openmpi" if mpi4py.Get_library_version().startswith("Open MPI") else "mpich"]
    for mpi in wanted[:1] or ["openmpi", "mpich"]:
        path = os.path.join(directory, mpi, _LIBRARY)
        if os.path.exists(path):
            return path
    raise ImportError(f"dlm: there is no {'/'.join(wanted[:1] or ['openmpi|mpich'])}/{_LIBRARY} in {directory}: set TASUKI_HOME to where "
                      "Tasuki is installed (or was built), with the MPI library of this job's launcher")


def _load():
    """The library; where it is there already (`tasuki mem`, `python -m dlm`), that one."""
    there = ctypes.CDLL(None)
    if hasattr(there, "dlm_startup"):
        return there
    path = _library_path()
    if _run_as_module() and not any(c in path for c in " :"):
        # Before libc, so that its wrappers of system calls are in front. What this process starts is not concerned.
        os.environ["LD_PRELOAD"] = ":".join(p for p in (path, os.environ.get("LD_PRELOAD")) if p)
        os.execv(sys.executable, [sys.executable] + _command_line()[1:])
    return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def _declare(library):
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    for name, result, arguments in (("dlm_startup", ctypes.c_int, [pointer, pointer]), ("dlm_alloc", pointer, [size]),
                                    ("dlm_alloc_paged", pointer, [size, size]), ("dlm_free", None, [pointer]),
                                    ("dlm_advise", ctypes.c_int, [pointer, size, ctypes.c_int]),
                                    ("dlm_stats", ctypes.c_int, [pointer, size])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def _start(library):
    """dlm_startup with this process's arguments; takes what it takes out of sys.argv."""
    # Kept for ever: the library looks at the list until the program ends.
    argv = (ctypes.c_char_p * (len(sys.argv) + 1))(*[os.fsencode(a) for a in sys.argv], None)
    argc = ctypes.c_int(len(sys.argv))
    place = ctypes.cast(argv, ctypes.c_void_p)
    library.dlm_startup(ctypes.byref(argc), ctypes.byref(place))
    del sys.argv[argc.value:]
    return argv


def _forget_preload():
    """Programs that this one starts run as ever."""
    entries = [p for p in os.environ.get("LD_PRELOAD", "").split(":") if p]
    kept = [p for p in entries if os.path.basename(p) != _LIBRARY]
    if len(kept) == len(entries):
        return
    if kept:
        os.environ["LD_PRELOAD"] = ":".join(kept)
    else:
        del os.environ["LD_PRELOAD"]


def _wrappers_in_front(library):
    """Is the library's read() the one that other libraries call?"""
    address = lambda function: ctypes.cast(function, ctypes.c_void_p).value
    return address(ctypes.CDLL(None).read) == address(library.read)


_library = _load()
_declare(_library)
_forget_preload()
_argv = _start(_library)
if _library.tasuki_dlm_needs_wrappers() and not _wrappers_in_front(_library):
    warnings.warn("the kernel cannot serve page faults here: reading and writing files straight from arrays (tofile, fromfile, readinto) "
                  "fails with EFAULT; start with `python -m dlm script.py`", RuntimeWarning, stacklevel=2)


class _Block:
    """A piece of cluster memory; NumPy's arrays refer to it as the owner of their memory."""

    def __init__(self, nbytes, page_size):
        self._address = None
        # Zero bytes have no address of their own.
        address = _library.dlm_alloc_paged(max(nbytes, 1), page_size) if page_size else _library.dlm_alloc(max(nbytes, 1))
        if not address:
            raise MemoryError(f"dlm: no room for {nbytes} bytes in the cluster (or a page size that is not a multiple of 4096 up to 2 MiB): "
                              f"{stats()['allocated_bytes']} bytes are in use")
        self._address = address
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3}

    def __del__(self, free=_library.dlm_free):
        if self._address:
            free(self._address)
            self._address = None


def empty(shape, dtype=float, order="C", page_size=0):
    """As numpy.empty; the elements are zero. page_size: bytes of this array's pages, 0: the job's setting."""
    dtype = numpy.dtype(dtype)
    if dtype.hasobject:
        raise TypeError("dlm: arrays of Python objects cannot be in cluster memory")
    if order not in ("C", "F"):
        raise ValueError("dlm: order must be 'C' or 'F'")
    try:
        shape = tuple(int(n) for n in shape)
    except TypeError:
        shape = (int(shape),)
    if any(n < 0 for n in shape):
        raise ValueError("dlm: negative dimensions are not allowed")
    nbytes = dtype.itemsize
    for n in shape:
        nbytes *= n
    block = _Block(nbytes, page_size)
    return numpy.ndarray(shape, dtype, buffer=numpy.asarray(block), order=order)


def zeros(shape, dtype=float, order="C", page_size=0):
    """As numpy.zeros. Costs nothing: fresh cluster memory is zero."""
    return empty(shape, dtype, order, page_size)


def full(shape, value, dtype=None, order="C", page_size=0):
    """As numpy.full."""
    array = empty(shape, numpy.asarray(value).dtype if dtype is None else dtype, order, page_size)
    array[...] = value
    return array


def ones(shape, dtype=float, order="C", page_size=0):
    """As numpy.ones."""
    return full(shape, 1, dtype, order, page_size)


def from_array(array, dtype=None, order="C", page_size=0):
    """A copy in cluster memory."""
    array = numpy.asarray(array)
    copy = empty(array.shape, array.dtype if dtype is None else dtype, order, page_size)
    copy[...] = array
    return copy


def advise(array, advice):
    """What the program will do with the array (or view): one of "normal", "sequential", "random", "will_need", "done_with", "keep_local";
    see dlm_advise in dlm.h. Never changes contents."""
    if advice not in _ADVICE:
        raise ValueError(f"dlm: {advice!r} is not one of {', '.join(_ADVICE)}")
    low = high = array.ctypes.data
    if array.size == 0:
        return
    for n, stride in zip(array.shape, array.strides):
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    ctypes.set_errno(0)
    if _library.dlm_advise(low, high + array.itemsize - low, _ADVICE.index(advice)):
        raise ValueError("dlm: advise: the array is not in cluster memory, or more than three quarters of the local memory was to be kept")


def stats():
    """The counters of struct dlm_counters (dlm.h), as a dictionary."""
    counters = _Stats()
    if _library.dlm_stats(ctypes.byref(counters), ctypes.sizeof(counters)):
        raise RuntimeError("dlm: there is no cluster memory in a forked child")
    return {name: getattr(counters, name) for name, _ in _Stats._fields_}
