"""Tests of `tasuki bench space` from outside: space_test.py CASE --mpi openmpi --tasuki PATH."""
from common import args, bench, check, measured

SHORT = ["--seconds", "1", "--rounds", "3"]
SIZES = {"fault": [4 << 20], "mmap": [64 << 10, 256 << 10, 1 << 20, 16 << 20], "readv": [64 << 10, 1 << 20]}


def operations():
    """More ranks than cores, and one alone; each operation of another kind."""
    names = ("fault", "mmap", "readv", "thread", "fork", "spawn", "start")
    m, text, html = measured("space", "--ranks", "1,3", "--operations", ",".join(names), *SHORT)
    found = {(r["operation"], r["bytes"], r["ranks"]) for r in m["rows"]}
    check(found == {(o, s, n) for o in names for s in SIZES.get(o, [0]) for n in (1, 3)}, "other rows", found)
    check(f"-- {args.mpi}, 3 ranks" in text and "start and end of the job" in text, "no table", text)
    check("shared address space" in html, "no page")
    for r in m["rows"]:
        if "refused" in r:  # a container may forbid it
            check(r["operation"] == "readv" and "not permitted" in text, "refused", r)
            continue
        check(r["plain_us"] > 0 and r["tasuki_us"] > 0 and r["ratio"] > 0, "no time", r)
        if r["operation"] != "start":
            check(r["plain_slowest_us"] > 0 and r["tasuki_slowest_us"] > 0, "no slowest rank", r)
    check(not any("not all of them share" in note for note in m["notes"]), "no shared address space", m["notes"])


def plain():
    """Plain MPI twice: nobody is told that the ranks share nothing."""
    m, _, _ = measured("space", "--ranks", "2", "--operations", "malloc,madvise,mprotect", "--runner", "", *SHORT)
    check([r["operation"] for r in m["rows"]] == ["malloc"] * 4 + ["madvise", "mprotect"], "rows", m["rows"])
    check(not any("not all of them share" in note for note in m["notes"]), "a note", m["notes"])


def wrong():
    """A job that does not do what it is asked for is found out."""
    text = bench("space", "--mpi", args.mpi, "--ranks", "2", "--operations", "readv,spawn", *SHORT, "--runner",
                 f"env LD_PRELOAD={args.corrupt}", code=1)
    check("not permitted: Tasuki: process_vm_readv: Operation not permitted" in text, "a refused call", text)
    check("spawn, 2 ranks" in text and "/bin/true ended with status" in text, "a program that has not run", text)


globals()[args.case]()
