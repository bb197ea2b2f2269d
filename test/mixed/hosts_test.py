#!/usr/bin/env python3
"""The random program about matching on two and on three hosts, in network namespaces: ranks of one host exchange messages by memory, those
of different hosts by the MPI library, on the same communicators. Called like ../task/test_run.py."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "task"))
import test_hosts  # noqa: E402
import test_run  # noqa: E402
from test_run import check, equal  # noqa: E402

SEEDS = (1, 2)
SECONDS = "3"

AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
case $host in
{cases}
esac
exec sh -c "$*"
"""


def address(number):
    return test_hosts.HOST_A[:test_hosts.HOST_A.rindex(".") + 1] + str(number)


class Hosts:
    """This host and `count - 1` others. A bridge joins them, so that each of them has one network device, and all have one name for it:
    what is told to MPI by the environment must hold everywhere."""

    def __init__(self, directory, count):
        self.count = count
        self.holders = []
        self.run(["ip", "link", "add", "veth0", "type", "bridge"])
        self.run(["ip", "address", "add", address(1) + "/24", "dev", "veth0"])
        self.run(["ip", "link", "set", "veth0", "up"])
        for number in range(2, count + 1):
            script = test_hosts.SETUP.format(name=f"tasuki-{number}") + " && echo ready && exec sleep 600"
            holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
            self.holders.append(holder)
            check(holder.stdout.readline() == "ready\n", f"host {number}")
            port = f"port{number}"
            self.run(["ip", "link", "add", port, "type", "veth", "peer", "name", "veth0", "netns", str(holder.pid)])
            self.run(["ip", "link", "set", port, "master", "veth0", "up"])
            self.run(self.enter(number) + ["ip", "address", "add", address(number) + "/24", "dev", "veth0"])
            self.run(self.enter(number) + ["ip", "link", "set", "veth0", "up"])
        self.agent = os.path.join(directory, "agent")
        cases = "\n".join(f'{address(n)}) exec {" ".join(self.enter(n))} sh -c "$*" ;;' for n in range(2, count + 1))
        with open(self.agent, "w") as file:
            file.write(AGENT.format(cases=cases))
        os.chmod(self.agent, 0o755)

    def enter(self, number):
        return ["nsenter", "-t", str(self.holders[number - 2].pid), "--net", "--uts", "--mount"]

    @staticmethod
    def run(command):
        result = subprocess.run(command, capture_output=True, text=True)
        check(result.returncode == 0, f"{command}: {result.stderr}")

    def launch_options(self, b, ranks):
        """mpirun's, for so many ranks on each host."""
        options = test_hosts.launch_options(b, self)
        names = ",".join(f"{address(i + 1)}:{n}" for i, n in enumerate(ranks))
        options[options.index("--host" if b.launcher == "openmpi" else "-hosts") + 1] = names
        return options

    def end(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
        for number in range(2, self.count + 1):
            subprocess.run(["ip", "link", "del", f"port{number}"], capture_output=True)
        subprocess.run(["ip", "link", "del", "veth0"], capture_output=True)


def run_on(b, ranks):
    with tempfile.TemporaryDirectory() as directory:
        hosts = Hosts(directory, len(ranks))
        try:
            launch = hosts.launch_options(b, ranks)
            b.env["TASUKI_STATS"] = "1"
            for i, seed in enumerate(SEEDS):
                # MPICH before 4.2 over UCX and TCP can hang in MPI_Finalize if ranks come to it at the same time (docs/tasks.md).
                program = [b.program(f"mixed-{b.launcher}"), "--seed", str(seed), "--seconds", SECONDS, "--pause"]
                for tasuki in (False, True) if i == 0 else (True,):
                    result = b.run(sum(ranks), program, tasuki=tasuki, launch=launch, timeout=150)
                    text = f"seed {seed}, Tasuki {tasuki}: {result.returncode}\n{result.stdout}\n{result.stderr}"
                    check(result.returncode == 0 and "passed" in result.stdout, text)
                    moved = {rank: int(sent) + int(received) for rank, sent, received in
                             re.findall(r"tasuki: rank (\d+):.*?\bsent=(\d+).*?\breceived=(\d+)", result.stderr)}
                    if tasuki:
                        equal(sorted(moved), sorted(str(r) for r in range(sum(ranks))), "ranks with statistics")
                        # Every rank has others on its host, and moved messages to them itself.
                        check(all(n > 0 for n in moved.values()), f"{moved}\n{text}")
                    else:
                        equal(moved, {}, text)
        finally:
            hosts.end()


def scenario_two_hosts(b):
    """Two hosts, with two ranks on one and three on the other."""
    run_on(b, (2, 3))


def scenario_three_hosts(b):
    """Three hosts with two ranks each."""
    run_on(b, (2, 2, 2))


if __name__ == "__main__":
    test_hosts.enter_first_host()
    sys.exit(test_run.main(globals()))
