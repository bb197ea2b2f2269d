"""Two ranks of a program under Tasuki with settings, for tests that read what TASUKI_STATS says."""
import os
import subprocess
import sys


def stderr_of(mpirun, tasuki, program, **settings):
    environment = {**os.environ, "TASUKI_STATS": "1", **settings}
    if os.getuid() == 0:
        environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    done = subprocess.run([mpirun, "-n", "2", tasuki, "run", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=environment)
    if done.returncode != 0:
        sys.exit(f"FAILED: {settings}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr
