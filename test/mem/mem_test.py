#!/usr/bin/env python3
"""Programs that know nothing of cluster memory, plain and under `tasuki mem`: output, files and exit code must be the same.

    mem_test.py --case sort --launcher openmpi --mpirun /usr/bin/mpirun.openmpi --tasuki build/bin/tasuki
                --programs build/test/mem --scratch DIRECTORY [--faults signal]
    mem_test.py --case allocations_sizes --launcher double --double build/test/mem/double/libtasuki-mem.so ...

A run counts only when pages were sent away (the counters say so): one in which everything stayed local proves nothing.
`double`: without MPI, with a double of the pager. `store`: without a launcher, pages go to a disk. `lend`: the same, to lenders. Exit code 77:
skipped, the reason is printed.
"""
import argparse
import contextlib
import glob
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys

import lender

MIB = 1 << 20


class Skip(Exception):
    pass


class Failure(Exception):
    pass


class Case:
    """command; local: MiB of pages; swaps: must pages have been sent away?; counters: what --stats must say, or a function of it; page: --stats writes a page; store: another directory; each: every rank runs it, with a pager of its own: "store", "lend";
    code: the exit code where it is not the plain one; says: what standard error must hold; files: name -> content; out: a file that the command writes; same: is the output that of the plain run?"""

    def __init__(self, command, local=8, memory=400, swaps=True, code=None, says="", files=None, out=None, same=True, settings=(),
                 double_local=None, timeout=150, stdout=None, counters=None, page=False, store=None, each=None):
        self.command, self.local, self.memory, self.swaps, self.code, self.says = command, local, memory, swaps, code, says
        self.files, self.out, self.same, self.settings, self.timeout = files or {}, out, same, list(settings), timeout
        self.double_local = double_local if double_local is not None else local
        self.stdout, self.counters, self.page, self.store = stdout, counters or {}, page, store
        self.each = each


def need(name):
    path = shutil.which(name, path="/usr/bin:/bin")
    if path is None:
        raise Skip(f"{name} is not installed")
    return path


def text(lines):
    """the same for every run, and not in order"""
    numbers = random.Random(5)
    return "".join("%016x%032x %d\n" % (numbers.getrandbits(64), numbers.getrandbits(128), n) for n in range(lines)).encode()


# --- the test's own program: src is allocations.c

def allocations(what, **more):
    def case(options):
        return Case([f"{options.programs}/mem_allocations", what, "24"], **more)
    return case


# --- programs of others, with data larger than the local memory

def sort(options):
    return Case([need("sort"), "-S", "20M", "--parallel=2", "in", "-o", "out"], local=4, out="out", files={"in": text(100000)},
                double_local=16)


def xz(options):
    command = f"exec {need('xz')} -6 -T1 -c <in >out"  # a shell, which Open MPI's terminal as standard output asks for
    return Case(["/bin/sh", "-c", command], local=32, out="out", files={"in": text(60000)})


def zstd(options):
    command = f"exec {need('zstd')} -19 --single-thread -q -c <in >out"
    return Case(["/bin/sh", "-c", command], local=24, out="out", files={"in": text(40000)}, double_local=64)


def bzip2(options):
    return Case(["/bin/sh", "-c", f"exec {need('bzip2')} -9 -c <in >out"], local=4, out="out", files={"in": text(40000)}, double_local=7)


NUMPY = b"""import numpy as np
a = np.arange(2000000, dtype=np.float64)
b = np.sin(a) + a[::-1] * 1e-3
c = np.empty_like(a)
for i in range(3):
    c[:] = a * 0.5 + b
    a, b = c.copy(), np.cumsum(a)
b.sort()
print(repr(float(a.sum())), repr(float(b[12345])), repr(float(np.linalg.norm(c))))
b.tofile("out")
d = np.fromfile("out")
print(bool((d == b).all()), bytes(d)[:100].hex())
"""


def numpy(options):
    python = need("python3")
    if subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip(f"{python} has no numpy (Debian package python3-numpy)")
    return Case([python, "figures.py"], local=24, out="out", files={"figures.py": NUMPY})


MULTIPROCESSING = b"""import hashlib, multiprocessing, random, subprocess
data = bytearray(random.Random(1).randbytes(1000) * 40000)
small = [str(i) * 10 for i in range(200000)]
def work(k):
    digest = hashlib.md5(memoryview(data)[k * 4000000:(k + 1) * 4000000])
    digest.update("".join(small[k::8]).encode())
    data[39000000 + k * 4096] = 1
    return digest.hexdigest()
fork = multiprocessing.get_context("fork")
with fork.Pool(3) as pool:
    before = pool.map(work, range(9))
    data[:20000000] = bytes(20000000)
    print(before, pool.map(work, range(9)) == before)
processes = [fork.Process(target=work, args=(k,)) for k in range(3)]
for process in processes: process.start()
data[20000000:] = bytes(20000000)
for process in processes: process.join()
print([process.exitcode for process in processes], subprocess.run(["echo", "end"], preexec_fn=lambda: None).returncode, sum(data))
"""


def multiprocessing(options):
    return Case([need("python3"), "children.py"], local=16, files={"children.py": MULTIPROCESSING}, settings=["--mmap", "on"])


def own_allocator(library, *command):
    """its memory is asked for without the promise that there is any (MAP_NORESERVE), and MPI's threads would have theirs from it too"""
    def case(options):
        found = glob.glob(f"/usr/lib/*/{library}")
        if not found:
            raise Skip(f"{library} is not installed")
        return Case(["env", f"LD_PRELOAD={found[0]}", *(f"{options.programs}/{word}" if word.startswith("mem_") else word for word in command or ["mem_nodes"])], local=12,
                    memory=2000)
    return case


NODE = b"""const count = 300000, table = new Map();
const key = i => i * 2654435761 % 4294967296;
for (let i = 0; i < count; i++) table.set(key(i), "value " + i);
let length = 0;
for (let i = 0; i < count; i++) length += table.get(key(i)).length;
const bytes = Buffer.alloc(30 << 20, 7);
let sum = 0;
for (let i = 0; i < bytes.length; i += 4096) sum += bytes[i];
console.log([length, table.size, sum].join(" "));
"""


def node(options):
    """V8 reserves half a MiB of addresses for each 256 KiB of its heap, and protects what it compiles"""
    return Case([need("node"), "table.js"], local=32, memory=2000, settings=["--mmap", "on", "--threshold", "256KiB"], files={"table.js": NODE})


JAVA = b"""import java.util.*;
public class Table {
  public static void main(String[] arguments) {
    Map<Long, String> table = new HashMap<>();
    Random random = new Random(1);
    for (int i = 0; i < 200000; i++) table.put(random.nextLong(), "value " + i);
    random.setSeed(1);
    long length = 0, sum = 0;
    for (int i = 0; i < 200000; i++) length += table.get(random.nextLong()).length();
    int[] numbers = new int[8000000];
    for (int i = 0; i < numbers.length; i++) numbers[i] = i;
    for (int number : numbers) sum += number;
    System.out.println(length + " " + table.size() + " " + sum);
  }
}
"""


def java(options):
    """the heap is reserved first, a file mapped into it, and a page of it guarded"""
    return Case([need("java"), "-Xmx256m", "Table.java"], local=48, memory=12000, settings=["--mmap", "on"], files={"Table.java": JAVA})


def small(options):
    """small objects go to cluster memory once there are many of them"""
    return Case([f"{options.programs}/mem_nodes"], local=12)


def objects(what, **more):
    def case(options):
        settings = ["--small", "on"] if options.launcher == "double" else []
        return Case([f"{options.programs}/mem_objects", what], settings=settings, **more)
    return case


def small_off(options):
    """what the limit does not hold for is told"""
    return Case([f"{options.programs}/mem_nodes", "300000"], swaps=False, settings=["--small", "off"],
                says=re.compile(r"mem_nodes had \d\d+ MiB of local memory beside the 8 MiB of --local"))


# --- starts, ends and mistakes

def missing(options):
    return Case(["/nonexistent/program"], swaps=False, same=False, says="execvp error on file /nonexistent/program",
                code={"double": [127], "openmpi": [127], "mpich": [255]})


# A command without the rest of its build, as `make demo` leaves it. Rank 0, which says so, comes late: launchers end the job at the first
# rank that fails.
def incomplete(options):
    alone = os.path.join(options.scratch, "bin", "tasuki")
    os.makedirs(os.path.dirname(alone), exist_ok=True)
    shutil.copy(options.tasuki, alone)
    options.tasuki = os.path.join(options.scratch, "late")
    with open(options.tasuki, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\n[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != 0 ] || sleep 0.5\nexec {alone} "$@"\n')
    os.chmod(options.tasuki, 0o755)
    return Case(["/bin/true"], swaps=False, same=False, says="libtasuki-mem.so, which is not there: in a source tree `make build` makes it", code=[1])


def static(options):
    return Case([f"{options.programs}/mem_static"], swaps=False, same=False, says="mem_static is statically linked: it cannot use cluster memory",
                code=[1])


def mpi_program(options):
    return Case([f"{options.programs}/mem_mpi-{options.launcher}"], swaps=False, same=False, says="is an MPI program: the memory that other ranks lend is for programs of one process",
                code=[1])


def each_rank(options):
    return Case([f"{options.programs}/mem_each_rank-{options.launcher}"], local=6, each="store")


def each_rank_lend(options):
    """To two lenders, of which each keeps a copy."""
    return Case([f"{options.programs}/mem_each_rank-{options.launcher}"], local=6, each="lend", settings=["--replicas", "2"])


def each_rank_faults(options):
    """said once"""
    return Case([f"{options.programs}/mem_each_rank-{options.launcher}"], local=6, swaps=False, same=False, each="store", settings=["--faults", "userfault-copy"],
                says=re.compile(r"\A(?!.*needs a pager.*needs a pager).*needs a pager that moves pages .*leave out --faults", re.S), code=[1])


def bad_setting(options):
    return Case(["/bin/true"], swaps=False, same=False, settings=["--page-size", "5000"], says='"5000": accepted is auto, or a multiple of 4KiB', code=[1])


def settings_file(options):
    return Case([f"{options.programs}/mem_allocations", "io", "24"], settings=["--config", "settings.toml"],
                files={"settings.toml": b'protocol = "cs"\npage-size = "16KiB"\n'}, counters={"protocol": "cs", "page_size": "16 KiB"})


def bad_settings_file(options):
    """said once, though two programs could read the file"""
    return Case(["/bin/true"], swaps=False, same=False, settings=["--config", "settings.toml"], files={"settings.toml": b'fill = "odd"\n'},
                says=re.compile(r'\A(?!.*accepted is.*accepted is).*settings.toml:1: fill = "odd": accepted is one of rank', re.S), code=[1])


def memory_file(options):
    sizes = lambda servers: [server["bytes"] >> 20 for server in servers] == [100, 60]
    return Case([f"{options.programs}/mem_allocations", "io", "24"], settings=["-f", "sizes of ranks"], files={"sizes of ranks": b"7 # rank 0\n\n100\n60MiB\n"},
                counters={"servers": sizes})


def short_memory_file(options):
    return Case(["/bin/true"], swaps=False, same=False, settings=["-f", "sizes"], files={"sizes": b"7\n100\n"}, code=[1],
                says="sizes:2: the file ends after 2 sizes, but the job has 3 ranks")


def bad_memory_file(options):
    """said once"""
    return Case(["/bin/true"], swaps=False, same=False, settings=["-f", "sizes"], files={"sizes": b"7\n10O\n8\n"}, code=[1],
                says=re.compile(r'\A(?!.*not a number.*not a number).*sizes:2: "10O" is not a number of MB', re.S))


def no_memory_file(options):
    return Case(["/bin/true"], swaps=False, same=False, settings=["-f", "none"], code=[1], says="none: No such file or directory (the file of memory sizes)")


def value_as_program(options):
    return Case(["off", "/bin/true"], swaps=False, same=False, settings=["--checksum"], says="there is no program off; if it is the value of --checksum, write --checksum=off",
                code=[2])


def bad_choice(options):
    return Case(["/bin/true"], swaps=False, same=False, settings=["--protocol", "none"], says="--protocol none is not one of ahead|cs", code=[2])


def fixed_address(options):
    return Case([f"{options.programs}/mem_fixed", "io", "24"])


def script(options):
    return Case(["./script", "a", "b"], swaps=False, says="ran other programs",
                files={"script": b"#!/bin/sh\necho \"$0 $@\"\n/bin/echo child\ntrue\n"})


def script_exec(options):
    inner = f"{options.programs}/mem_allocations"
    return Case(["./script"], files={"script": f"#!/usr/bin/env bash\n/bin/echo child $(basename x)\nexec {inner} io 24\n".encode()})


def preload(options):
    """what the user preloads comes with the program, wherever it is said; the library also uses memory before main"""
    program, library = f"{options.programs}/mem_allocations", f"{options.programs}/mem_loading_library.so"
    return Case(["env", f"LD_PRELOAD={library}", "sh", "-c", f"LD_PRELOAD=$LD_PRELOAD:libutil.so.1 exec {program} io 24"])


def threads(options):
    return Case([f"{options.programs}/mem_cancel"])


def handlers(options):
    return Case([f"{options.programs}/mem_handlers"])


def compressed(make):
    """a cache that is too small for what leaves, so that pages come back from it and from behind it"""
    def case(options):
        made = make(options)
        made.settings += ["--compressed-cache", "1MiB"] + ([] if options.launcher == "store" else ["--window", "off"])
        made.counters["cache"] = lambda c: c["hits"] > 0 and c["misses"] > 0 and 0 < c["most_bytes"] <= c["bytes"] == MIB and c["bytes_out"] > 0
        return made
    return case


def plugin(options):
    os.environ["HWLOC_PLUGINS_PATH"] = f"{options.programs}/plugins"
    return allocations("io")(options)


def loading(options):
    return Case([f"{options.programs}/mem_loading", f"{options.programs}/mem_loading_library.so"], says=re.compile(""))  # what is local is told


def ends(what, **more):
    def case(options):
        return Case([f"{options.programs}/mem_ends", what], **more)
    return case


def child(options):
    """where the pager has SIGSEGV for itself, what the kernel says of it must do"""
    if options.faults == "signal" or options.launcher == "double":
        return allocations("child", same=False, stdout="killed\ndone child\n")(options)
    return allocations("child")(options)


def child_far(options):
    """a child does not speak MPI"""
    return allocations("child", same=False, stdout="killed\ndone child\n", settings=["--window", "off"], says="a forked child has no cluster memory")(options)


def file_limit(options):
    """the disk has room, the process may not have it: an allocation fails, and nobody is ended by SIGXFSZ"""
    return Case(["/bin/sh", "-c", f"ulimit -f 1000; exec {options.programs}/mem_allocations full 24"], swaps=False, same=False,
                stdout="Cannot allocate memory after some: 0\nagain: 0\ndone full\n", says="the limit of file sizes (ulimit -f) is below")


CASES = {f.__name__: f for f in (small, small_off, node, java, sort, xz, zstd, bzip2, numpy, multiprocessing, missing, incomplete, static, child, child_far, mpi_program, each_rank, each_rank_faults, each_rank_lend, bad_setting, bad_choice, settings_file, bad_settings_file, memory_file, short_memory_file, bad_memory_file, no_memory_file, value_as_program, fixed_address, script,
                                 script_exec, threads, handlers, loading, plugin, preload, file_limit)}
CASES.update({
    "sizes": allocations("sizes"),
    "small_on": allocations("sizes", settings=["--small", "on"]),
    "small_io": allocations("io", settings=["--small", "on"]),
    "objects": objects("all", local=12),
    "objects_kernel": objects("kernel"),
    "objects_forks": objects("forks"),
    "own_malloc": lambda options: Case([f"{options.programs}/mem_own_malloc"], swaps=False, settings=["--small", "on"]),
    "objects_library": objects("library", local=12),
    "objects_cancel": objects("cancel"),
    "concurrent": allocations("threads"),
    "forks": allocations("forks"),
    "maps": allocations("maps", settings=["--mmap", "on"]),
    "jemalloc": own_allocator("libjemalloc.so.2"),
    "mimalloc": own_allocator("libmimalloc.so.2.0"),
    "jemalloc_objects": own_allocator("libjemalloc.so.2", "mem_objects", "all"),
    "protects": allocations("protects", settings=["--mmap", "on"]),
    "protects_alone": allocations("protects_alone", settings=["--mmap", "on"]),
    # Told although nothing is in cluster memory.
    "small_only": allocations("small", swaps=False, settings=["--small", "off"], says=re.compile(r"mem_allocations had \d+ MiB of local memory beside the 8 MiB")),
    "maps_off": allocations("maps", settings=["--mmap", "off"], swaps=False),
    "threshold": allocations("io", settings=["--threshold", "1GiB"], swaps=False),
    "io": allocations("io"),
    "at_exit": allocations("exit"),
    "_exit": allocations("_exit"),
    "close": allocations("close", swaps=False),
    "null": allocations("null", same=False, code={"double": [-11], "openmpi": [139], "mpich": [11, 139]}),
    "exec": allocations("exec", says="replaces itself by /bin/echo"),
    "full": allocations("full", memory=100, swaps=False, same=False, stdout="Cannot allocate memory after some: 1\nagain: 1\ndone full\n",
                        says=re.compile(r"(?s)^(?!.*no room.*no room).*no room for an allocation of \d+ MiB, which fails: \d+ MiB are in use")),
    "closes": allocations("closes"),
    "streams": allocations("streams"),
    "descendants": allocations("descendants", settings=["--mmap", "on"]),
    # MPICH's launcher reports the signal of the rank, or the one with which it ended the others.
    "free": allocations("free", same=False, swaps=False, code={"double": [-6], "openmpi": [134], "mpich": [6, 9, 15, 134]},
                        says="is not the beginning of an allocation"),
    "ends_starts": ends("starts"),
    "ends_exit": ends("exit"),
    "ends_exit_thread": ends("exit_thread"),
    "ends_quick_exit": ends("quick_exit"),
    "ends_last_thread": ends("last_thread"),
    "ends_abort": ends("abort", same=False, swaps=False, code={"double": [-6], "openmpi": [134], "mpich": [6, 9, 15, 134]}, stdout=None),
    "page": allocations("io", page=True, counters={"format": "tasuki dlm stats 1"}),
    "page_children": ends("children", page=True, counters={"program": "mem_ends"}),
    "no_directory": allocations("io", swaps=False, same=False, store="/nowhere/at all", stdout="", code=[1],
                                says="no page file: /nowhere/at all: No such file or directory; name a directory"),
    "store_too_large": allocations("io", swaps=False, same=False, memory=900 << 20, stdout="", code=[1],
                                   says=re.compile("--store-size 900 TiB: the file system of .* has only .* left")),
    "store_alone": allocations("io", swaps=True, settings=["--store", "."], counters={"disk": lambda disk: disk["bytes_out"] > 0}),
    "compressed_sort": compressed(sort),
    "compressed_threads": compressed(allocations("threads")),
    "compressed_forks": compressed(allocations("forks")),
    "compressed_too_small": allocations("io", swaps=False, same=False, settings=["--compressed-cache", "8KiB"], stdout="", code=[1],
                                        says="--compressed-cache: a compressed cache of 8 KiB is too small: it needs 256 KiB at least"),
    "compressed_word": allocations("io", swaps=False, same=False, settings=["--compressed-cache", "much"], stdout="", code=[1, 2],
                                   says="accepted is none, or a size such as 500MiB or 20GiB"),
    "alone": allocations("io", swaps=False, says="no memory server: "),
})


def prepare(case, directory):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    for name, content in case.files.items():
        with open(os.path.join(directory, name), "wb") as file:
            file.write(content)
        os.chmod(os.path.join(directory, name), 0o755)


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI")}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="2", LC_ALL="C")
    return env


def run(command, directory, env, timeout):
    # Standard output is no file of the launcher's that could be read late: what a hung run had said is seen.
    with open(os.path.join(directory, "stdout"), "wb") as out, open(os.path.join(directory, "stderr"), "wb") as err:
        try:
            code = subprocess.run(command, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=timeout,
                                  check=False).returncode
        except subprocess.TimeoutExpired:
            raise Failure(f"{' '.join(command)} hangs") from None
    read = lambda name: open(os.path.join(directory, name), "rb").read()
    return code, read("stdout"), read("stderr").decode(errors="replace")


def data_of_page(content, case):
    if f"<title>Cluster memory of {os.path.basename(case.command[0])}</title>" not in content:
        raise Failure(f"the page has another title: {content[:500]}")
    return re.search(r'<script type="application/json"[^>]*>(.*?)</script>', content, re.S).group(1)


def launch(options, ranks):
    """what stands before a command; 0 ranks: nothing"""
    return [options.mpirun] + (["--oversubscribe"] if options.launcher == "openmpi" else []) + ["-n", str(ranks)] if ranks else []


def under_tasuki(options, case):
    with contextlib.ExitStack() as stack:
        lenders = []
        if options.launcher == "lend" or case.each == "lend":
            for _ in range(2):
                lenders.append(stack.enter_context(lender.Lender(options.tasuki, options.scratch, "--memory", f"{case.memory}MiB")))
        return run_under_tasuki(options, case, lenders)


def run_under_tasuki(options, case, lenders):
    directory = os.path.join(options.scratch, "mem")
    prepare(case, directory)
    env = environment()
    if options.launcher == "double":
        env.update(MEM_DOUBLE_LOCAL=str(case.double_local * MIB), MEM_DOUBLE_CAPACITY=str(case.memory * MIB), MEM_DOUBLE_REPORT="1")
        for setting, value in zip(case.settings[::2], case.settings[1::2]):
            env["TASUKI_MEM_" + setting[2:].upper()] = value
        script_text = f"export TASUKI_MEM_ROOT=$$ LD_PRELOAD={options.double}; exec \"$@\""
        code, out, err = run(["/bin/sh", "-c", script_text, "sh"] + case.command, directory, env, case.timeout)
        found = re.search(r"double: at most (\d+) bytes, (\d+) faults", err)
        away = int(found.group(2)) * 4096 > case.double_local * MIB if found else None
        return directory, code, out, err, away
    stats = os.path.join(options.scratch, "stats.html" if case.page else "stats.json")
    for name in glob.glob(os.path.join(options.scratch, "stats.*")):
        os.remove(name)
    ranks = 1 if options.case in ("alone", "store_alone") else 3
    local = f"{200 if options.case == 'alone' else case.local}MiB"
    borrow = ["--lenders", ",".join(one.at for one in lenders)]
    if lenders:
        env["TASUKI_LEND_KEY"] = lenders[0].key
    if options.launcher == "store":
        command = [options.tasuki, "mem", "--store", case.store or options.scratch, "--store-size", f"{case.memory}MiB"]
    elif options.launcher == "lend":
        command = [options.tasuki, "mem", "--memory", f"{case.memory // 2}MiB"] + borrow
    elif case.each == "lend":
        command = launch(options, ranks) + [options.tasuki, "mem", "--memory", f"{case.memory // 4}MiB"] + borrow
    else:
        command = launch(options, ranks) + [options.tasuki, "mem", "--memory", f"{case.memory // 2}MiB"] + (["--store", options.scratch] if case.each else [])
    command += [f"--stats={stats}", "--local", local]
    if options.faults:
        command += ["--faults", options.faults]
    code, out, err = run(command + case.settings + case.command, directory, env, case.timeout)
    away = None
    if case.each:
        counters = [json.load(open(name, encoding="utf-8")) for name in glob.glob(os.path.join(options.scratch, "stats.[0-9].json"))]
        return directory, code, out, err, len(counters) == ranks and all(c["swaps"]["bytes_out"] > 0 for c in counters)
    if os.path.exists(stats) and os.path.getsize(stats) > 0:  # it is made at the start
        content = open(stats, encoding="utf-8").read()
        counters = json.loads(data_of_page(content, case) if case.page else content)
        away = counters["swaps"]["bytes_out"] > 0
        print("mechanism:", counters["mechanism"], "swaps:", counters["swaps"])
        for name, value in case.counters.items():
            if not (value(counters[name]) if callable(value) else counters[name] == value):
                err += f"\ntasuki: the counters say {name} {counters[name]}, not {'that' if callable(value) else value}"
    if options.faults and "not permitted" in err:
        raise Skip(err.strip())
    return directory, code, out, err, away


def check(options):
    case = CASES[options.case](options)
    directory, code, out, err, away = under_tasuki(options, case)
    problems = []
    expected = case.code
    if case.same:
        plain = os.path.join(options.scratch, "plain")
        prepare(case, plain)
        plain_code, plain_out, _ = run(launch(options, 3 if case.each else 0) + case.command, plain, environment(), case.timeout)
        expected = expected or [plain_code]
        # Open MPI gives ranks a terminal for their output.
        if out.replace(b"\r\n", b"\n") != plain_out:
            problems.append(f"standard output differs: {hashlib.md5(plain_out).hexdigest()} plain ({len(plain_out)} bytes), "
                            f"{hashlib.md5(out).hexdigest()} ({len(out)} bytes)")
        if case.out:
            contents = [open(path, "rb").read() if os.path.exists(path) else b"" for path in
                        (os.path.join(d, case.out) for d in (plain, directory))]
            if not contents[0] or contents[0] != contents[1]:
                problems.append(f"the file {case.out} differs ({len(contents[0])} bytes plain, {len(contents[1])})")
    elif case.stdout is not None and out.decode().replace("\r\n", "\n") != case.stdout:
        problems.append(f"it printed {out.decode()!r}, not {case.stdout!r}")
    if isinstance(expected, dict):
        expected = expected["double" if options.launcher in ("store", "lend") else options.launcher]  # each without a launcher
    if code not in (expected or [0]):
        problems.append(f"exit code {code}, expected {expected or [0]}")
    if callable(case.says):
        case.says = case.says(options)
    if not re.search(case.says if isinstance(case.says, re.Pattern) else re.escape(case.says), err):
        problems.append(f"standard error does not say {case.says!r}")
    if not case.says and "tasuki:" in err:
        problems.append("standard error has a message of Tasuki's")
    # A program that dies has no counters.
    if case.swaps and not away and not (isinstance(case.code, dict) and away is None):
        problems.append("nothing was sent away: the run proves nothing" if away is not None else "there are no counters")
    if problems:
        print(err[-4000:])
        raise Failure("\n".join(problems))


def main():
    parser = argparse.ArgumentParser()
    for name in ("case", "launcher", "mpirun", "tasuki", "programs", "scratch", "double", "faults"):
        parser.add_argument("--" + name, default="")
    options = parser.parse_args()
    for name in ("tasuki", "programs", "scratch", "double"):
        setattr(options, name, os.path.abspath(getattr(options, name)))
    os.makedirs(options.scratch, exist_ok=True)
    try:
        check(options)
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    except Failure as why:
        print(f"mem_test: {options.case}: {why}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
