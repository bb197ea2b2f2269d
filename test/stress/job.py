"""One job of the stress command: started in a corner of its own, watched, and searched for what it leaves behind.

Where it is permitted (root, mostly) the job sees a /dev/shm and a /tmp that nobody else uses, so every file that is there afterwards
is the job's. Elsewhere only TMPDIR is its own.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import mpi_run  # noqa: E402: the harness of all tests under a launcher

# /tmp first: both folders lie in the /dev/shm that is covered then.
OWN_MOUNTS = '{ [ "$2" = - ] || mount --bind "$2" /tmp; } && mount --bind "$1" /dev/shm && shift 2 && exec "$@"'
LAUNCHERS = re.compile(r"^(mpirun|mpiexec|hydra|orted|prted|timeout|unshare|taskset|stress-ng|sh$)")


def own_mounts_permitted():
    return subprocess.run(["unshare", "-m", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0 \
        if shutil.which("unshare") else False


UNDER_WAY = set()  # the launchers of all jobs


class Outcome:
    def __init__(self, code, hung, output, left):
        self.code, self.hung, self.output, self.left = code, hung, output, left


def is_private(folder):
    """May /tmp be covered without hiding what the job needs?"""
    return not str(pathlib.Path(folder).resolve()).startswith("/tmp/")


def carry_out(run, folder, options):
    """Starts the run, waits for its end or its time limit, returns its Outcome. `folder` keeps output and traces."""
    folder.mkdir(parents=True)
    mark = f"MPI_RUN_JOB={os.getpid()}.{time.time_ns()}"
    # In memory, as the real ones are: Open MPI warns about a session directory on a network's file system.
    corner = pathlib.Path(f"/dev/shm/tasuki-stress.{os.getpid()}.{time.time_ns()}")
    shared, temporary = corner / "shm", corner / "tmp"
    shared.mkdir(parents=True)
    temporary.mkdir()
    os.chmod(temporary, 0o1777)
    env = {**run.environment(), **dict([mark.split("=", 1)])}
    command = list(run.command)
    if options.own_mounts:
        cover = is_private(options.tree) and is_private(os.getcwd())
        command = ["unshare", "-m", "sh", "-c", OWN_MOUNTS, "stress", str(shared), str(temporary) if cover else "-"] + command
        env["TMPDIR"] = "/tmp" if cover else str(temporary)
    else:
        env["TMPDIR"] = str(temporary)
    try:
        return watch(run, folder, options, command, env, mark, (shared, temporary))
    finally:
        shutil.rmtree(corner, ignore_errors=True)


def watch(run, folder, options, command, env, mark, places):
    path = folder / "output"
    hung = False
    with open(path, "wb") as output:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True, cwd=folder)
        UNDER_WAY.add(process)
        try:
            process.wait(run.limit)
        except subprocess.TimeoutExpired:
            hung = True
            job = mpi_run.descendants(process.pid)
            trace(job, folder, options, run)
            end(process, job)
        finally:
            UNDER_WAY.discard(process)
    left = []
    for pid, name in mpi_run.left_behind(mark):
        if not hung:
            left.append(f"process {pid} ({name})")
            trace({pid: mpi_run.processes().get(pid, (0, 0, "?", name))}, folder, options, run)
        mpi_run.send(pid, signal.SIGKILL)
    for place, shown in zip(places, ("/dev/shm", "/tmp")):
        files = [p for p in sorted(place.rglob("*")) if not p.is_dir() or p.is_socket()]
        if not hung and not run.may_leave_files:
            left += [f"{shown}/{p.relative_to(place)}" for p in files]
    return Outcome(process.returncode, hung, path.read_text(errors="replace"), left)


def end_all():
    """The command itself was interrupted: what it started ends too."""
    for process in list(UNDER_WAY):
        job = mpi_run.descendants(process.pid)
        mpi_run.send(process.pid, signal.SIGTERM)
        time.sleep(0.5)
        for pid in job:
            mpi_run.send(pid, signal.SIGKILL)


def end(process, job):
    """As a user would end it, then for good."""
    mpi_run.send(process.pid, signal.SIGTERM)
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        pass
    for pid in job:
        mpi_run.send(pid, signal.SIGKILL)
    process.wait()


def trace(job, folder, options, run):
    """Where each process of a job that hangs is: in the kernel, in its own words (SIGALRM), and by the debugger."""
    lines = []
    for pid, (parent, _, state, name) in sorted(job.items()):
        threads = []
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                threads.append(pathlib.Path(f"/proc/{pid}/task/{thread}/wchan").read_text() or "0")
        except OSError:
            pass
        lines.append(f"{pid} (parent {parent}) {name}: state {state}, threads wait in {', '.join(threads)}")
    (folder / "processes").write_text("\n".join(lines) + "\n")
    ranks = [pid for pid in job if not LAUNCHERS.match(job[pid][3])]
    if shutil.which("gdb"):
        # gdb may need long on a busy machine; what hangs hangs in all ranks alike, mostly.
        until = time.monotonic() + 60
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pid: debugger(pid, folder, options, run, until), ranks))
    # Programs of the stress command answer SIGALRM by naming the step they are in.
    if run.answers_alarm:
        for pid in ranks:
            mpi_run.send(pid, signal.SIGALRM)
        time.sleep(1)


def debugger(pid, folder, options, run, until):
    words = ["-batch", "-nx", "-ex", "set pagination off", "-ex", "thread apply all bt 25"]
    # Only tasuki's own command finds the symbols of a task: the kernel does not know which libraries it has loaded.
    attach = [[str(options.tree / "bin" / "tasuki"), "gdb", str(pid), "--"] + words] if run.tasuki else []
    attach.append(["gdb", "-p", str(pid)] + words)
    for command in attach:
        if time.monotonic() > until:
            return
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
        except (subprocess.TimeoutExpired, OSError):
            continue
        if b"#0" in done.stdout:
            (folder / f"trace.{pid}").write_bytes(done.stdout)
            return
