#!/usr/bin/env python3
"""`tasuki doctor` tells the truth about programs of every kind, and about this machine.

    doctor_test.py TASUKI CC MPICC...
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

tasuki, cc, mpiccs = sys.argv[1], sys.argv[2], sys.argv[3:]
os.chdir(tempfile.mkdtemp())
failures = []


def check(what, good, detail=""):
    print("ok  " if good else "FAIL", what)
    if not good:
        failures.append(what)
        print(detail)


def doctor(*args, env=None):
    environment = {**os.environ, **(env or {})}
    done = subprocess.run([tasuki, "doctor", "--json", *args], stdout=subprocess.PIPE, env=environment, timeout=120)
    report = json.loads(done.stdout)
    assert report["usable"] == (done.returncode == 0), (report["usable"], done.returncode)
    return report


def compile(name, text, *flags, compiler=cc):
    with open(name + ".c", "w") as f:
        f.write(text)
    subprocess.run([compiler, name + ".c", "-o", name, *flags], check=True)
    return "./" + name


def of_section(report, section):
    return [f for f in report["findings"] if f["section"] == section]


def expect_program(path, verdict, words):
    """The program section has a finding of this verdict with these words; the exit code agrees."""
    report = doctor(path)
    found = of_section(report, "program")
    good = any(f["verdict"] == verdict and words in f["text"] for f in found)
    good = good and (verdict != "problem" or not report["usable"])
    if verdict != "problem":
        good = good and all(f["verdict"] != "problem" for f in found)
    check(f"{path}: {verdict}, '{words}'", good, json.dumps(found, indent=1))
    return found


# The machine.
report = doctor()
machine = {f["name"]: f for f in report["findings"]}
check("this machine is usable", report["usable"], json.dumps(report, indent=1))
check("a trial shares an address space", machine["trial with two tasks"]["verdict"] == "ok")
limit = int(open("/proc/sys/vm/max_map_count").read())
most = max(n for n in range(limit) if n * (400 + 2 * n) + 1000 <= limit)
check("max_map_count is the kernel's", machine["vm.max_map_count"]["text"].startswith(f"{limit}: up to {most} ranks"),
      machine["vm.max_map_count"])
check("cores are those of the affinity mask", machine["cores"]["text"].startswith(f"{len(os.sched_getaffinity(0))} of "),
      machine["cores"])
check("every MPI that has a compiler here has its library listed",
      len([f for f in of_section(report, "MPI") if f["name"] == "library"]) >= len(mpiccs), of_section(report, "MPI"))

one = min(os.sched_getaffinity(0))
bound = subprocess.run(["taskset", "-c", str(one), tasuki, "doctor", "--json"], stdout=subprocess.PIPE)
cores = [f for f in json.loads(bound.stdout)["findings"] if f["name"] == "cores"][0]
check("a tighter mask is seen", cores["text"].startswith("1 of "), cores)
limited = subprocess.run(["sh", "-c", f"ulimit -v 8000000; exec {tasuki} doctor --json"], stdout=subprocess.PIPE)
space = [f for f in json.loads(limited.stdout)["findings"] if f["name"] == "RLIMIT_AS"][0]
check("an address space limit is a note with a remedy", space["verdict"] == "note" and "ulimit" in space["remedy"], space)
off = [f for f in doctor(env={"TASUKI": "off"})["findings"] if f["name"] == "TASUKI"]
check("TASUKI=off is pointed out", len(off) == 1 and off[0]["verdict"] == "note", off)

# Programs.
plain = "int main(void) { return 0; }\n"
expect_program(compile("shared", plain, "-fPIE", "-pie"), "ok", "share an address space")
expect_program(compile("fixed", plain, "-fno-pie", "-no-pie"), "problem", "position independent")
expect_program(compile("static", plain, "-static"), "problem", "statically linked")
expect_program(compile("static_pie", plain, "-static-pie"), "problem", "statically linked")
expect_program(compile("asan", plain, "-fsanitize=address"), "problem", "sanitizer")
expect_program("./not_there", "problem", "No such file")
expect_program("./shared.c", "problem", "Permission denied")
os.chmod(compile("setuid", plain), 0o4755)
expect_program("./setuid", "problem", "setuid")
with open("shared", "rb") as whole, open("cut", "wb") as cut:
    cut.write(whole.read(3000))
os.chmod("cut", 0o755)
expect_program("./cut", "problem", "cannot be loaded")
for name, first, verdict in (("script.py", sys.executable, "ok"), ("script.sh", "/bin/sh", "note")):
    with open(name, "w") as f:
        f.write(f"#!{first}\n")
    os.chmod(name, 0o755)
    expect_program("./" + name, verdict, "is a script for " + first)
gone = compile("libgone.so", "int gone(void) { return 0; }\n", "-shared", "-fPIC", "-Wl,-soname,libgone.so")
compile("lost", "int gone(void);\nint main(void) { return gone(); }\n", gone, "-Wl,-rpath,$ORIGIN")
expect_program("./lost", "ok", "share an address space")
os.remove("libgone.so")
expect_program("./lost", "problem", "is not found")

# A Python that cannot share, behind pyenv's shim: the advice is one that ends, not to compile it or to name the shim again.
here = os.getcwd()
for directory in ("shims", "distribution", "home/.pyenv/versions/3/bin", "bin"):
    os.makedirs(directory)
for name, content in (("shims/python3", "#!/usr/bin/env bash\nexec pyenv exec python3\n"),
                      ("bin/pyenv", f"#!/bin/sh\necho {here}/distribution/python3\n")):
    with open(name, "w") as f:
        f.write(content)
    os.chmod(name, 0o755)
for tool in ("env", "bash"):  # and no Python of this machine
    os.symlink(shutil.which(tool), f"bin/{tool}")
os.rename("fixed", "distribution/python3")
python_path = {"PATH": f"{here}/shims:{here}/bin", "HOME": here + "/home"}
found = of_section(doctor("python3", env=python_path), "program")
remedies = " ".join(f["remedy"] for f in found)
check("a shim of pyenv is looked behind", f"tasuki run {here}/distribution/python3" in found[0]["remedy"], found)
check("nobody is told to compile Python", "-fPIE" not in remedies and "use a Python that is position independent" in remedies, found)
check("nor to use what was asked about", "tasuki run" not in found[-1]["remedy"], found)
os.rename("shared", "home/.pyenv/versions/3/bin/python3")
found = of_section(doctor("python3", env=python_path), "program")
check("a Python that can share is named", f"tasuki run {here}/home/.pyenv/versions/3/bin/python3" in found[-1]["remedy"], found)

mpi = "#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n"
for i, mpicc in enumerate(mpiccs):
    program = compile(f"mpi{i}", mpi, compiler=mpicc)
    family = "Open MPI" if "openmpi" in mpicc else "MPICH"
    found = expect_program(program, "ok", family)
    check(f"{mpicc}: its shim is named", any("libtasuki-" in f["text"] for f in found), found)

sys.exit(1 if failures else 0)
