"""Runs a tutorial as its reader would: writes its files and runs its commands, in order, in an empty folder.

    run_tutorial.py docs/tutorials/coarrays.md --tree build --links mpicc=/usr/bin/mpicc.openmpi mpirun=/usr/bin/mpirun.openmpi

In the Markdown, a comment before a fenced block says what the page itself does not need to say:

    <!-- file: ring.c -->                 the block is written to this file
    <!-- exit: 1 -->                      the last command of the console block ends with this exit code (otherwise each ends with 0)
    <!-- needs: slurm; else: bash job.sh -->   without it (see NEEDS) the block is not run, or the other command is run in its place
    <!-- not run: reason -->              the console block is never run
    <!-- figures: vary -->                in the output of the console block a number stands for any number

A line of a ```console block that begins with "$ " is a command, and lines that begin with "> " continue it. The other lines are output:
each of them must be in what the commands of the block print, in any order. Blanks stand for any blanks, and "..." stands for any text; a
line "..." stands for any lines. The test prints every command that was not run, with the reason.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import slurm  # noqa: E402

HERE = pathlib.Path(__file__).parent
LIMIT = 120  # seconds for one command


def can_run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False) if shutil.which(command[0]) else None
    return done is not None and done.returncode == 0


def podman_runs():
    """Containers need rights that a sandbox may withhold; whether they are there, only a container tells."""
    return can_run("podman", "run", "--rm", "--rootfs", "/:O", "true")


def make_command(path, script):
    """Not a link: Hydra looks for its parts beside the name by which it was called."""
    path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    path.chmod(0o755)


def make_podman(folder, scratch):
    """A `podman` that keeps its storage in the scratch folder, and asks for no more than this process may have."""
    real = shutil.which("podman")
    if real is None:
        return
    make_command(folder / "podman", f"""\
options="--runtime runc --storage-driver vfs --root {scratch}/podman --runroot {scratch}/podman-run"
[ "$1" = run ] || exec {real} $options "$@"
shift
exec {real} $options run --network host --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$@"
""")


NEEDS = {
    "slurm": (slurm.installed, "Slurm does not run here: that needs root, and apt-get install slurm-wlm"),
    "bwrap": (lambda: can_run("bwrap", "--dev-bind", "/", "/", "true"), "bubblewrap does not run here: apt-get install bubblewrap"),
    "podman": (podman_runs, "podman does not run here: that needs root, and apt-get install podman runc"),
    "userns": (lambda: can_run("unshare", "--user", "--map-current-user", "--mount", "true"), "user namespaces are not permitted here"),
    "core": (lambda: pathlib.Path("/proc/sys/kernel/core_pattern").read_text(encoding="utf-8").strip() == "core"
             and can_run("sh", "-c", "ulimit -c unlimited"), "core files do not go to the working directory here (kernel.core_pattern)"),
}


class Failed(Exception):
    pass


class Block:
    """A fenced block: its language, its lines, what the comments before it say, and the line of the page where it begins."""

    def __init__(self, language, notes, line):
        self.language, self.notes, self.line, self.lines = language, notes, line, []

    def commands(self):
        """[command], [shown output]"""
        commands, shown = [], []
        for line in self.lines:
            if line.startswith("$ "):
                commands.append(line[2:])
            elif line.startswith("> ") and not shown and commands:
                commands[-1] += "\n" + line[2:]
            elif line.strip() not in ("", "..."):
                shown.append(line)
        return commands, shown


def read_blocks(text):
    blocks, block, notes = [], None, {}
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line == "```":
                blocks.append(block)
                block = None
            else:
                block.lines.append(line)
        elif fence := re.fullmatch(r"```(\w+)", line):
            block, notes = Block(fence[1], notes, number), {}
        elif note := re.fullmatch(r"<!-- (file|exit|needs|figures|not run): (.*) -->", line):
            notes[note[1]] = note[2]
        elif line.strip():
            notes = {}
    if block is not None:
        raise Failed(f"line {block.line}: the block has no end")
    return blocks


NUMBER = r"\d+(?:\.\d+)?"


def pattern(shown, figures_vary):
    """A regular expression for a line of output as the page shows it."""
    def word(part):
        if part.isspace():
            return r"\s+"
        if part == "...":
            return ".*"
        return NUMBER if figures_vary and re.fullmatch(NUMBER, part) else re.escape(part)
    parts = re.split(rf"(\.\.\.|\s+|{NUMBER})", shown.strip())
    return re.compile(r"\s*" + "".join(map(word, parts)) + r"\s*")


def missing_lines(shown, output, figures_vary):
    """The shown lines that the output lacks; a line of output serves one shown line."""
    left, missing = output.splitlines(), []
    for line in shown:
        wanted = pattern(line, figures_vary)
        found = next((at for at, text in enumerate(left) if wanted.fullmatch(text)), None)
        if found is None:
            missing.append(line)
        else:
            del left[found]
    return missing


class Shell:
    """Runs commands one by one; the working directory, exported variables and the limit of core files last, as in the reader's shell."""

    def __init__(self, folder, state, environment):
        self.folder, self.state, self.environment = folder, state, environment
        state.write_text("", encoding="utf-8")

    def run(self, command):
        state = shlex.quote(str(self.state))
        script = f". {state}\n{command}\nrc=$?\nwait\n{{ export -p; echo \"ulimit -S -c $(ulimit -S -c)\"; echo cd \"$(printf %q \"$PWD\")\"; }} > {state}\nexit $rc\n"
        with subprocess.Popen(["bash", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True) as job:
            try:
                output, _ = job.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired as expired:
                os.killpg(job.pid, signal.SIGKILL)
                raise Failed(f"`{command}` did not end in {LIMIT} s") from expired
        return job.returncode, output


def run_block(shell, block, not_run):
    commands, shown = block.commands()
    if not commands:
        raise Failed(f"line {block.line}: a console block without a command")
    reason = block.notes.get("not run")
    if "needs" in block.notes:
        need, _, instead = (word.strip() for word in block.notes["needs"].partition("; else:"))
        holds, why = NEEDS[need]
        if not holds():
            if instead:
                not_run.extend((c, f"{why}; run in its place: {instead}") for c in commands)
                commands = [instead]
            else:
                reason = why
    if reason:
        not_run.extend((c, reason) for c in commands)
        return
    everything = ""
    for at, command in enumerate(commands):
        print(f"$ {command}", flush=True)
        code, output = shell.run(command)
        print(output, end="" if output.endswith("\n") or not output else "\n", flush=True)
        everything += output
        expected = int(block.notes.get("exit", 0)) if at == len(commands) - 1 else 0
        if code != expected:
            raise Failed(f"line {block.line}: `{command}` ended with exit code {code}, not {expected}")
    if missing := missing_lines(shown, everything, block.notes.get("figures") == "vary"):
        raise Failed(f"line {block.line}: the page shows these lines, and the commands do not print them:\n" + "\n".join(missing))


def run_page(page, shell):
    blocks = read_blocks(page.read_text(encoding="utf-8"))
    not_run, ran = [], 0
    for block in blocks:
        if "file" in block.notes:
            path = shell.folder / block.notes["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        elif block.language == "console":
            before = len(not_run)
            run_block(shell, block, not_run)
            ran += len(not_run) == before
    if ran == 0:
        raise Failed("no block was run")
    for command, why in not_run:
        print(f"NOT RUN: {command}\n    because: {why}")
    print(f"{page.name}: {ran} console blocks run, {len(not_run)} commands not run")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--tree", type=pathlib.Path, required=True, help="the build tree, or an installed one")
    parser.add_argument("--links", nargs="*", default=[], help="NAME=COMMAND: which commands the page's mpicc, mpirun are")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tutorial-") as scratch:
        folder, names = pathlib.Path(scratch, "work"), pathlib.Path(scratch, "bin")
        folder.mkdir()
        names.mkdir()
        for link in arguments.links:
            name, _, command = link.partition("=")
            make_command(names / name, f'exec {command} "$@"\n')
        make_podman(names, scratch)
        # The page's "$HOME/tasuki" is the tree under test.
        (pathlib.Path(scratch) / "tasuki").symlink_to(arguments.tree.resolve())
        os.environ["PATH"] = f"{names}:{arguments.tree.resolve()}/bin:{os.environ['PATH']}"
        environment = {**os.environ, "HOME": scratch, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        shell = Shell(folder, pathlib.Path(scratch, "state"), environment)
        with slurm.Cluster(pathlib.Path(scratch, "slurm"), wanted="slurm" in arguments.page.stem) as cluster:
            environment.update(cluster.environment)
            try:
                run_page(arguments.page, shell)
            except Failed as error:
                print(f"FAILED: {arguments.page}: {error}")
                print(cluster.logs())
                return 1
    return 0



if __name__ == "__main__":
    sys.exit(main())
