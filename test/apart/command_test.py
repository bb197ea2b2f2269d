"""Ranks that share a segment, from outside: what `tasuki run` says and refuses, jobs of which only some ranks can share an address space,
and processes into which the segment does not fit."""
import argparse
import os
import resource
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--mpirun", required=True)
parser.add_argument("--tasuki", required=True)
parser.add_argument("--shared", required=True, help="position independent")
parser.add_argument("--fixed", required=True, help="the same program at a fixed address")
options = parser.parse_args()

root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(*arguments, limits=None, **settings):
    """Exit code, what it printed, what it complained of."""
    def limit():
        for what, value in (limits or {}).items():
            resource.setrlimit(what, (value, value))
    done = subprocess.run([options.mpirun, *arguments], capture_output=True, text=True, timeout=100, preexec_fn=limit,
                          env={**os.environ, **root, "TASUKI_STATS": "1", **settings})
    return done.returncode, done.stdout, done.stderr


def expect(condition, what, result):
    if not condition:
        sys.exit(f"FAILED: {what}: exit code {result[0]}\n{result[1]}{result[2]}")


def statistics(errors):
    """How many messages of each rank that has printed its own Tasuki has carried."""
    ranks = [dict(word.split("=") for word in line.split() if "=" in word) for line in errors.splitlines() if line.startswith("tasuki: rank")]
    return [int(rank["sent"]) + int(rank["received"]) for rank in ranks]


def passes(result, what, ranks):
    """It does what it does without Tasuki, and so many ranks had their messages carried."""
    expect(result[0] == 0 and "passed" in result[1], what, result)
    expect(sum(carried > 0 for carried in statistics(result[2])) == ranks, f"{what}: messages of {ranks} ranks", result)


def before():
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


files = before()
run_ = ["-n", "2", options.tasuki, "run"]

result = run(*run_, options.fixed)
passes(result, "at a fixed address", 2)
expect(result[2].count("is not position independent") == 1, "the reason is said once", result)
expect("take another way" in result[2], "and what becomes of the messages", result)

result = run(*run_, options.shared, TASUKI_SPACE="off", TASUKI_SEGMENT="64KiB")
passes(result, "TASUKI_SPACE=off", 2)
expect("process of its own" not in result[2] and "TASUKI_S" not in result[2], "nothing is said of what the user asked for", result)

result = run(*run_, "--require", options.shared, TASUKI_SPACE="off")
expect(result[0] != 0 and "TASUKI_SPACE=off" in result[2] and "--require" in result[2], "a contradiction is named", result)

# Two ranks in an address space, two in a segment, and the library between the pairs.
passes(run(*run_, options.shared, ":", *run_, options.fixed), "both kinds in one job", 4)
passes(run(*run_, options.fixed, ":", *run_, options.shared), "both kinds in the other order", 4)
# One of each: nobody to share with.
passes(run("-n", "1", options.tasuki, "run", options.shared, ":", "-n", "1", options.tasuki, "run", options.fixed), "one of each kind", 0)

# Where the segment does not fit, or cannot be made, messages are the library's.
passes(run(*run_, options.fixed, limits={resource.RLIMIT_AS: 64 << 30}), "limited addresses", 0)
passes(run(*run_, options.fixed, limits={resource.RLIMIT_FSIZE: 64 << 20}), "limited files", 0)

left = {name for name in before() - files if "tasuki" in name}
expect(not left, f"left in /dev/shm: {left}", result)
