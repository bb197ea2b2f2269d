"""A Slurm cluster of one node that lives in a folder: this machine, with no daemon of the system, no database and no munge.

Only root can run it, because the node's daemon starts jobs for users. The daemons end with the `with` block.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import time


def installed():
    return os.getuid() == 0 and all(shutil.which(name) for name in ("slurmctld", "slurmd", "srun", "sbatch"))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    def __init__(self, folder, wanted=True):
        self.folder, self.wanted = pathlib.Path(folder), wanted and installed()
        self.environment, self.daemons = {}, []

    def __enter__(self):
        if not self.wanted:
            return self
        self.folder.mkdir()
        host = socket.gethostname().split(".")[0]
        controller, node = free_ports(2)
        conf = self.folder / "slurm.conf"
        conf.write_text(f"""ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
SelectType=select/cons_tres
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""", encoding="utf-8")
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self.environment = {"SLURM_CONF": str(conf)}
        everything = {**os.environ, **self.environment}
        for command in (["slurmctld", "-D", "-c"], ["slurmd", "-D"]):
            with open(self.folder / f"{command[0]}.log", "w", encoding="utf-8") as log:
                self.daemons.append(subprocess.Popen(command, env=everything, stdin=subprocess.DEVNULL, stdout=log, stderr=log))  # pylint: disable=consider-using-with
        end = time.monotonic() + 30
        while subprocess.run(["srun", "--immediate=5", "true"], env=everything, capture_output=True, check=False).returncode != 0:
            if time.monotonic() > end:
                self.__exit__()
                raise RuntimeError("Slurm does not start here:\n" + self.logs())
            time.sleep(0.2)
        return self

    def logs(self):
        return "\n".join(f"{log.name}:\n{log.read_text(encoding='utf-8')[-2000:]}" for log in sorted(self.folder.glob("*.log")))

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
