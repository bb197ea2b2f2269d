"""What python_test.py runs under a launcher: arrays in cluster memory are as any others."""
import gc
import os
import subprocess
import sys

import dlm
import numpy as np

MIB = 1 << 20


def allocated():
    return dlm.stats()["allocated_bytes"]


def contents():
    n = 3 * MIB
    a = dlm.empty(n)
    assert isinstance(a, np.ndarray) and a.dtype == np.float64 and a.shape == (n,) and not a.any()
    a[:] = np.arange(n)
    a *= 0.5
    assert a.sum() == 0.5 * (n - 1) * n / 2
    b = dlm.from_array(a[::-1])
    np.add(a, b, out=b)
    assert (b == 0.5 * (n - 1)).all()
    m = dlm.zeros((300, 40, 50), dtype="i4", order="F")
    assert m.flags.f_contiguous and not m.any()
    m[...] = np.arange(m.size).reshape(m.shape)
    assert (m.T == np.arange(m.size).reshape(300, 40, 50).T).all()
    assert (dlm.ones((7, 9), np.uint8) == 1).all() and (dlm.full((5,), 2.5) == 2.5).all() and dlm.full(3, 7).dtype == np.int64
    record = dlm.empty(100, dtype=[("name", "S8"), ("x", "f8")])
    record["x"] = 1.5
    record["name"] = b"abc"
    assert record[99].item() == (b"abc", 1.5)
    assert dlm.empty((0, 5)).shape == (0, 5) and dlm.empty(()).shape == ()
    assert dlm.empty(10000, page_size=65536).sum() == 0
    assert dlm.from_array([1, 2, 3], dtype="f4").dtype == np.float32
    return a, b


def life():
    """memory goes when the last view goes"""
    before = allocated()
    a = dlm.zeros((1000, 1000))
    assert allocated() >= before + 8000000
    row = a[500, 10:20]
    row[:] = 3
    del a
    gc.collect()
    assert allocated() >= before + 8000000 and row.sum() == 30
    transposed = row.reshape(2, 5).T
    del row
    gc.collect()
    assert transposed.sum() == 30
    del transposed
    gc.collect()
    assert allocated() == before, (allocated(), before)
    for _ in range(50):  # more in all than there is
        dlm.empty(16 * MIB, np.uint8)[::4096] = 1
    assert allocated() == before


def mistakes():
    def raises(kind, function, *arguments, **named):
        try:
            function(*arguments, **named)
        except kind as error:
            assert "dlm" in str(error), error
        else:
            raise AssertionError(f"{function} did not raise {kind}")
    raises(MemoryError, dlm.empty, 1 << 45)
    raises(MemoryError, dlm.empty, 100, page_size=5000)
    raises(TypeError, dlm.empty, 10, dtype=object)
    raises(ValueError, dlm.empty, (3, -1))
    raises(ValueError, dlm.empty, 3, order="K")
    raises(ValueError, dlm.advise, dlm.empty(10), "soon")
    raises(ValueError, dlm.advise, np.empty(10), "random")


def files(a):
    a.tofile("array")
    b = dlm.empty(a.size)
    with open("array", "rb") as file:
        assert file.readinto(b) == a.nbytes
    assert (a == b).all()
    assert (np.fromfile("array") == a).all()
    os.write(os.open("array", os.O_WRONLY | os.O_TRUNC), memoryview(a))
    assert os.path.getsize("array") == a.nbytes


def advice(a):
    for what in ("sequential", "done_with", "will_need", "random", "normal"):
        dlm.advise(a, what)
        dlm.advise(a[::-3], what)
    assert a[12345] == 12345 * 0.5


def children():
    assert "LD_PRELOAD" not in os.environ
    assert subprocess.run(["/bin/echo", "x"], stdout=subprocess.PIPE, check=True).stdout == b"x\n"
    a = dlm.ones(100000)
    pid = os.fork()
    if pid == 0:
        del a
        gc.collect()
        os._exit(21)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 21
    assert a.sum() == 100000


if sys.argv[1:] == ["mistake"]:
    raise SystemExit(5)
assert sys.argv[1:] == ["one", "--", "two"], sys.argv
first, second = contents()
life()
mistakes()
files(first)
advice(first)
children()
counters = dlm.stats()
assert counters["swaps_out"] > 0 and counters["faults"] > 0, counters
kept_to_the_end = dlm.ones(2 * MIB)
print("arrays: as they should be")
