#!/usr/bin/env python3
"""Python under `tasuki run` where its command is not position independent, as Debian's: its ranks are tasks, of the interpreter's library,
and nothing tells a script so.

test_python.py SCENARIO, and the arguments of test_run.py; --parts DIRECTORY has what looks like a Python (src/task/test/python_parts.c).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import test_run
from test_run import check, equal

PYTHON = "/usr/bin/python3"

# What scripts can see of the interpreter. A module of its own, because a child that is spawned imports the main module again.
REPORT = """
import ctypes, multiprocessing, os, site, subprocess, sys, sysconfig

def show(name, value):
    print(name, '=', value, flush=True)

def who():
    return sys.executable, sys.prefix, os.readlink('/proc/self/exe')

def main():
    for name in ('executable', '_base_executable', 'prefix', 'base_prefix', 'exec_prefix', 'base_exec_prefix', 'argv', 'orig_argv', 'path',
                 'version', 'flags', 'builtin_module_names', 'abiflags', 'platlibdir', 'warnoptions', '_xoptions'):
        show(name, getattr(sys, name, None))
    show('who', who())
    show('paths', sysconfig.get_paths())
    show('site', getattr(site, 'ENABLE_USER_SITE', None))
    ctypes.pythonapi.Py_GetProgramFullPath.restype = ctypes.c_wchar_p
    show('pythonapi', ctypes.pythonapi.Py_GetProgramFullPath())
    show('variables', sorted(n for n in os.environ if n.startswith(('PY', 'PROBE', '__PY'))))
    show('child', subprocess.run([sys.executable, '-c', 'import sys; print(sys.executable, sys.prefix)'], capture_output=True).stdout)
    for method in os.environ.get('PROBE_POOLS', '').split():
        with multiprocessing.get_context(method).Pool(1) as pool:
            show(method, pool.apply(who))
"""
MAIN = """
import report
if __name__ == '__main__':
    report.main()
"""


def fixed_python():
    """Debian's, with its library; else this test has nothing to show."""
    with open(PYTHON, "rb") as file:
        kind = file.read(18)[16]
    reason = "is position independent" if kind != 2 else ""
    if not reason:
        version = subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
        reason = f"has no shared library here (apt-get install libpython{version})" if f"libpython{version}.so.1.0 " not in known else ""
    if reason:
        print(f"skipped: {PYTHON} {reason}")
        sys.exit(77)


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755 if executable else 0o644)
    return path


def same(b, command, least=1, **more):
    """The command does the same plainly and as a task. `least`: lines of output, so that nothing passes by saying nothing."""
    plain = b.run(1, command, tasuki=False, **more)
    shared = b.run(1, command, options=["--require"], **more)
    what = " ".join(command)[-60:]
    check(len((plain.stdout + plain.stderr).splitlines()) >= least, f"{what}: plainly it says only {plain.stdout}{plain.stderr}")
    for a, b_ in zip(plain.stdout.splitlines(), shared.stdout.splitlines()):
        equal(b_, a, what)
    equal(shared.stdout, plain.stdout, what)
    equal(shared.returncode, plain.returncode, f"{what}: exit code; {shared.stderr}")
    if b.launcher == "none":  # launchers have a say there
        equal(*(re.sub("0x[0-9a-f]+", "ADDRESS", err) for err in (shared.err, plain.err)), f"{what}: standard error")


def scenario_python(b):
    fixed_python()
    with tempfile.TemporaryDirectory() as root:
        b.env.update(PATH=f"{os.path.dirname(PYTHON)}:{b.env['PATH']}", PYTHONDONTWRITEBYTECODE="1")
        for name in ("PYTHONHOME", "PYTHONPATH"):
            b.env.pop(name, None)
        write(f"{root}/report.py", REPORT)
        script = write(f"{root}/main.py", MAIN)
        for name, options in (("venv", []), ("copies", ["--copies"])):
            subprocess.run([PYTHON, "-m", "venv", "--without-pip", *options, f"{root}/{name}"], check=True)
        packages = subprocess.run([f"{root}/venv/bin/python", "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True,
                                  text=True, check=True).stdout.strip()
        write(f"{packages}/inside/report.py", REPORT)
        write(f"{packages}/inside/__main__.py", MAIN.replace("import", "from . import"))
        os.symlink(f"{root}/venv/bin/python3", f"{root}/link")
        more = {"cwd": root}
        for command in (["python3", script, "a", "two words", ""], [f"{root}/venv/bin/python", "main.py"]):
            same(b, command, 20, env=dict(b.env, PROBE_POOLS="fork spawn forkserver"), **more)
        if b.launcher != "none":
            return
        for command in ([PYTHON, script], ["venv/bin/python3", script], [f"{root}/link", script], [f"{root}/copies/bin/python3", script],
                        [f"{root}/venv/bin/python", "-m", "inside", "x"], ["python3", "-c", MAIN, "-c", "y"], ["python3", "-E", "main.py"],
                        ["python3", "-I", "-S", "-c", f"import sys; sys.path.insert(0, {root!r});{MAIN}"],
                        ["python3", "-X", "utf8", "-W", "error", "-O", "main.py"]):
            same(b, command, 20, **more)
        # Where its library's own idea of where it is would show.
        for variables in ({"PYTHONHOME": "/usr"}, {"PYTHONPATH": f"{root}:/nowhere"}, {"PYTHONPLATLIBDIR": "lib"}):
            same(b, ["python3", "main.py"], 20, env=dict(b.env, **variables), **more)
        for line in ("#!/usr/bin/env python3", f"#!{PYTHON} -E", f"#!{root}/venv/bin/python", "#!/usr/bin/env -S python3 -E -O"):
            same(b, [write(f"{root}/script", f"{line}\n{MAIN}", executable=True), "z"], 20, **more)
        write(f"{root}/folder/__main__.py", MAIN)
        same(b, ["python3", "folder"], 1, env=dict(b.env, PYTHONPATH=root), **more)
        # How it ends, what it says then, and what it says without a script.
        for code in ("raise SystemExit(3)", "import sys; sys.exit('a text')", "def f():\n  1 / 0\nf()", "import os; os.abort()",
                     "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
                     "import atexit, threading; atexit.register(print, 'last'); threading.Thread(target=print, args=('thread',)).start()",
                     "import ctypes; ctypes.string_at(1)"):
            same(b, ["python3", "-X", "faulthandler", "-c", code], 0, **more)
        same(b, ["python3", "-c", "print(open('/proc/self/comm').read())"], **more)
        for arguments in (["--version"], ["-VV"], ["-h"], ["--nonsense"], ["nowhere.py"], ["-c", "print(("]):
            same(b, ["python3", *arguments], **more)
        outputs = []
        for tasuki in (False, True):
            with open(write(f"{root}/input.py", "import sys\nprint(sys.argv, sys.orig_argv)\n"), encoding="utf-8") as file:
                outputs.append(b.run(1, [PYTHON, "-", "x"], tasuki=tasuki, stdin=file, options=["--require"]).stdout)
        equal(outputs[1], outputs[0], "a script from standard input")
        check(PYTHON in outputs[0], outputs[0])


def scenario_python_library(b):
    """Without a library that fits, the run goes on plainly, and one line says what to install; where sharing is required, it is an error.
    `tasuki doctor` says the same."""
    with tempfile.TemporaryDirectory() as root:
        def python(program, library=""):
            shutil.rmtree(f"{root}/bin", ignore_errors=True)
            os.makedirs(f"{root}/bin")
            os.makedirs(f"{root}/lib", exist_ok=True)
            if library:
                shutil.copy(f"{b.args.parts}/{library}", f"{root}/lib/libpython3.11.so.1.0")
            return shutil.copy(f"{b.args.parts}/{program}", f"{root}/bin/python3")

        def told(program):
            return subprocess.run([b.args.tasuki, "doctor", program], env=b.env, capture_output=True, text=True, check=False)

        for program, library, why, remedy in (
                ("program-of-nobody", "", "its library libpython3.99.so.1.0 is not installed",
                 "Debian, Ubuntu: apt-get install libpython3.99;"),
                ("program", "library-newer", f"{root}/lib/libpython3.11.so.1.0 is of Python 3.11.4, not 3.11.2", "install both from one"),
                ("program-without", "", "is no CPython of version 3.8 or newer", "use a Python that")):
            # Nothing of this machine's is found where the loader looks: what is beside the program is asked first, and named.
            path = python(program, library)
            env = dict(b.env, LD_LIBRARY_PATH=f"{root}/lib")
            plain = b.run(2, [path], env=env)
            equal((plain.returncode, plain.stdout), (0, ""), why)
            equal(plain.err.count("\n"), 1, f"lines about it: {plain.err}")
            said = f"is not position independent, and {why} ({remedy}"
            check(said in plain.err and "runs as a process of its own" in plain.err, plain.err)
            for options, variables in ((["--require"], {}), ([], {"TASUKI_REQUIRE": "on"})):
                refused = b.run(2, [path], options=options, env=dict(env, **variables))
                equal(refused.returncode, 1, f"where sharing is required: {refused.stderr}")
                check(why in refused.err and "it cannot share the address space" in refused.err, refused.err)
            doctor = told(path)
            check(doctor.returncode != 0 and why in doctor.stdout and remedy in doctor.stdout, doctor.stdout)
            check("-fPIE" not in doctor.stdout and f"tasuki run {path}" not in doctor.stdout, f"advice in a circle: {doctor.stdout}")
        if os.path.exists(PYTHON):
            equal(told(PYTHON).returncode, 0, "doctor on a Python that can share")


if __name__ == "__main__":
    sys.exit(test_run.main(globals()))
