#!/usr/bin/env python3
"""Two hosts on one machine: network namespaces with hostnames and /dev/shm of their own, joined by a veth pair; a script
stands in for ssh. Called like test_run.py; exits with 77 where such namespaces are not permitted."""
import os
import re
import subprocess
import sys
import tempfile
import time

import test_run
from test_run import Failure, check, equal, lines

INSIDE = "TASUKI_TEST_HOST_A"
NET, HOST_A, HOST_B = "10.99.7.0/24", "10.99.7.1", "10.99.7.2"
SKIPPED = 77

# sysfs shows the network devices of the namespace in which it was mounted, and UCX reads them there.
SETUP = "mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm && hostname {name} && ip link set lo up"

# Called like ssh: AGENT [options] HOST COMMAND...
AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
if [ "$host" = {host_b} ]; then exec nsenter -t {holder} --net --uts --mount sh -c "$*"; fi
exec sh -c "$*"
"""


def enter_first_host():
    """This script again, on host A."""
    if INSIDE in os.environ:
        return
    script = SETUP.format(name="tasuki-a") + " && ip link add probe0 type veth peer name probe1 && ip link del probe0"
    text = ""
    for unshare in (["unshare", "--net", "--uts", "--mount"],
                    ["unshare", "--user", "--map-root-user", "--net", "--uts", "--mount"]):
        result = subprocess.run(unshare + ["sh", "-c", script + ' && "$@"', "sh", "true"], capture_output=True, text=True)
        text += result.stderr
        if result.returncode == 0:
            os.environ[INSIDE] = "yes"
            os.execvp("unshare", unshare + ["sh", "-c", script + ' && exec "$@"', "sh", sys.executable] + sys.argv)
    print(f"skipped: no right to make network namespaces and veth pairs here:\n{text}")
    sys.exit(SKIPPED)


class SecondHost:
    def __init__(self, directory, seconds=600):
        script = SETUP.format(name="tasuki-b") + f" && echo ready && exec sleep {seconds}"
        self.process = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", script],
                                        stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline() == "ready\n", "the second host")
        pid = str(self.process.pid)
        # One name on both sides: what is told to MPI by the environment must hold on both.
        for command in (["ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", pid],
                        ["ip", "address", "add", HOST_A + "/24", "dev", "veth0"], ["ip", "link", "set", "veth0", "up"],
                        self.enter() + ["ip", "address", "add", HOST_B + "/24", "dev", "veth0"],
                        self.enter() + ["ip", "link", "set", "veth0", "up"]):
            subprocess.run(command, check=True)
        self.agent = os.path.join(directory, "agent")
        with open(self.agent, "w") as f:
            f.write(AGENT.format(host_b=HOST_B, holder=pid))
        os.chmod(self.agent, 0o755)

    def enter(self):
        return ["nsenter", "-t", str(self.process.pid), "--net", "--uts", "--mount"]

    def end(self):
        self.process.kill()
        self.process.wait()
        # The other host's end goes with its namespace, but when is the kernel's affair.
        subprocess.run(["ip", "link", "del", "veth0"], capture_output=True)


def launch_options(b, host, ranks=(2, 2)):
    """mpirun's, for so many ranks on each host."""
    hosts = f"{HOST_A}:{ranks[0]},{HOST_B}:{ranks[1]}"
    if b.launcher == "openmpi":
        settings = {"plm_rsh_agent": host.agent, "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": NET,
                    "btl_tcp_if_include": NET, "pml": "ob1", "btl": "tcp,vader,self", "mpi_yield_when_idle": "1"}
        b.env.update({"OMPI_MCA_" + name: value for name, value in settings.items()})
        return ["--host", hosts]
    b.env.update(UCX_TLS="tcp,self", UCX_NET_DEVICES="veth0")
    return ["-hosts", hosts, "-launcher", "ssh", "-launcher-exec", host.agent, "-localhost", HOST_A]


def scenario_hosts(b):
    """Messages inside a host are Tasuki's, on every communicator; those between hosts the MPI library's. Start and end do not hang."""
    with tempfile.TemporaryDirectory() as directory:
        host = SecondHost(directory)
        try:
            launch = launch_options(b, host)
            rounds = 8
            program = [b.program(f"exchange-{b.launcher}"), str(rounds), "quiet", "pause"]
            expected = [f"rank {i} of 4 ok, 2 on its node" for i in range(4)]
            plain = b.run(4, program, tasuki=False, launch=launch, timeout=60)
            equal((plain.returncode, lines(plain.stdout)), (0, expected), plain.stderr)
            b.env["TASUKI_STATS"] = "1"
            for _ in range(3):
                shared = b.run(4, program, launch=launch, timeout=60)
                equal((shared.returncode, lines(shared.stdout)), (0, expected), shared.stderr)
                # In each round three messages of each rank on the communicator of its node; on the two of all ranks one each to
                # the other rank of the node, and two to the right neighbour, which every rank has on its node in one of them.
                received = dict(re.findall(r"tasuki: rank (\d+):.*\breceived=(\d+)", shared.stderr))
                equal(received, {str(i): str(7 * rounds) for i in range(4)}, shared.stderr)
            b.wait_until_gone()
            check_second = subprocess.run(host.enter() + ["cat", "/proc/net/unix"], capture_output=True, text=True)
            check("@tasuki." not in check_second.stdout, "a socket on the second host")
        finally:
            host.end()


if __name__ == "__main__":
    enter_first_host()
    sys.exit(test_run.main(globals()))
