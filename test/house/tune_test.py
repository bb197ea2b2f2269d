#!/usr/bin/env python3
"""What `tasuki run` makes of the files of `tasuki tune`: its own, another machine's, broken ones, none.

    tune_test.py TASUKI
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tasuki = sys.argv[1]
folder = pathlib.Path(tempfile.mkdtemp(prefix="tasuki-tune-"))
failures = []


def check(what, good, detail=""):
    print("ok  " if good else "FAIL", what)
    if not good:
        failures.append(what)
        print(detail)


def run(home=folder / "nowhere", setting="TASUKI_COSTS", **settings):
    """The setting that a task gets, the constants or another one, or None, and what was said."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TASUKI") and k != "XDG_CONFIG_HOME"}
    environment |= {"HOME": str(home), **settings}
    done = subprocess.run([tasuki, "run", "-n", "1", "env"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                          timeout=60)
    found = [line.split("=", 1)[1] for line in done.stdout.splitlines() if line.startswith(setting + "=")]
    check("the program runs", done.returncode == 0, done.stderr)
    return (found[0] if found else None), done.stderr


def numbers(constants):
    return {k: float(v) for k, v in (word.split("=") for word in constants.split())}


def measured(directory):
    """`tasuki tune` measures, prints, and writes what it printed."""
    file = directory / "tune.toml"
    done = subprocess.run([tasuki, "tune", "--output", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=380)
    check("it shows its constants", "staged_byte" in done.stdout and "handshake" in done.stdout, done.stdout)
    if done.returncode == 1 and "nothing is stored: " in done.stderr:
        print("     the machine is too busy to be measured: a file by hand")
        check("nothing is stored", not file.exists())
        file.write_text("format = 1\n[machine]\ncpu = 'Z80'\ncores = 1\n[costs]\nline = 1.0\npage = 1.0\nrun = 1.0\nbyte = 0.1\n"
                        "staged_byte = 0.2\nhandshake = 100.0\nunit = 100.0\n")
        said = run(TASUKI_TUNE=str(file))[1]
        cores, cpu = re.search(r"this one has (\d+) of (.*)\)\. ", said).groups()
        file.write_text(file.read_text().replace("cpu = 'Z80'", f"cpu = '{cpu}'").replace("cores = 1", f"cores = {cores}"))
    else:
        check("tasuki tune ends well", done.returncode == 0, done.stdout + done.stderr)
    return file


def main():
    if len(os.sched_getaffinity(0)) < 2:
        done = subprocess.run([tasuki, "tune", "--dry-run"], stderr=subprocess.PIPE, text=True, timeout=60)
        check("one core is not enough, and it says so", done.returncode == 1 and "one core" in done.stderr, done.stderr)
        return
    good = measured(folder)
    constants, said = run(TASUKI_TUNE=str(good))
    check("its own file is used, silently", constants is not None and said == "", said)
    check("all constants are positive", constants is not None and all(v > 0 for v in numbers(constants).values()), constants)

    home = folder / "home"
    (home / ".config" / "tasuki").mkdir(parents=True)
    shutil.copy(good, home / ".config" / "tasuki" / "tune.toml")
    check("so is the one at home", run(home)[0] == constants)
    check("and the one of XDG_CONFIG_HOME", run(XDG_CONFIG_HOME=str(home / ".config"))[0] == constants)
    check("off leaves it alone", run(home, TASUKI_TUNE="off") == (None, ""))
    check("constants given by hand win", run(home, TASUKI_COSTS="line=1")[0] == "line=1")
    check("without a file nothing is said", run() == (None, ""))

    # Rules: what is left to the MPI library.
    rules = folder / "rules.toml"
    with_rules = 'left = ["mpich/allreduce:8B-64B@2", "scan"]\n' + good.read_text()
    rules.write_text(with_rules)
    check("rules are handed on", run(setting="TASUKI_LEFT", TASUKI_TUNE=str(rules)) == ("mpich/allreduce:8B-64B@2,scan", ""))
    check("beside the constants", run(TASUKI_TUNE=str(rules))[0] == constants)
    check("rules given by hand win", run(setting="TASUKI_LEFT", TASUKI_TUNE=str(rules), TASUKI_LEFT="off")[0] == "off")
    rules.write_text("\n".join(line for line in with_rules.splitlines() if line.startswith(("format", "left", "[machine]", "cpu", "cores"))))
    check("rules need no constants", run(setting="TASUKI_LEFT", TASUKI_TUNE=str(rules))[0] == "mpich/allreduce:8B-64B@2,scan")
    check("then the built-in ones hold", run(TASUKI_TUNE=str(rules)) == (None, ""))

    # Constants for several distances.
    text = good.read_text()
    cpu = next(line for line in text.splitlines() if line.startswith("cpu"))
    far = "[costs.machine]\n" + "".join(f"{k} = {v * 2}\n" for k, v in numbers(constants).items())
    lists = cpu + '\ncaches = ["0", "1"]\npackages = ["0", "1"]'
    distances = folder / "distances.toml"
    distances.write_text(text.replace(cpu, lists) + "\n" + far)
    handed, said = run(TASUKI_TUNE=str(distances))
    parts = handed.split("; ") if handed else []
    check("constants of distances are handed on, and which cores share what",
          len(parts) == 4 and parts[0] == constants and parts[1].startswith("machine: ") and parts[2:] == ["caches: 0 1", "packages: 0 1"] and
          said == "", f"{handed} {said}")
    check("each with its own", len(parts) == 4 and
          all(abs(v - 2 * numbers(constants)[k]) < 1e-9 for k, v in numbers(parts[1].removeprefix("machine: ")).items()), handed)

    for name, content, words in [
            ("foreign", text.replace(cpu, "cpu = 'Z80'"), "another machine"),
            ("broken", text + "\n]", "line "),
            ("short", "\n".join(line for line in text.splitlines() if not line.startswith("line")), "costs.line"),
            ("absurd", "\n".join("line = -4.0" if line.startswith("line") else line for line in text.splitlines()), "not times"),
            ("newer", text.replace("format = 1", "format = 2"), "format"),
            ("misspelt", 'left = ["scan", "alreduce:8"]\n' + text, '"alreduce:8" is no rule'),
            ("numbers", "left = [8]\n" + text, "no text"),
            ("nowhere", text + "\n" + far, "which cores share"),
            ("no-cores", text.replace(cpu, lists.replace('"1"', '"x"')) + "\n" + far, "which cores share"),
            ("core-numbers", text.replace(cpu, lists.replace('"1"', "1")) + "\n" + far, "no text"),
            ("half", text.replace(cpu, lists) + "\n" + far.replace("unit =", "unite ="), "costs.machine.unit"),
            ("empty", "", "format")]:
        file = folder / (name + ".toml")
        file.write_text(content)
        constants, said = run(TASUKI_TUNE=str(file))
        check(f"{name}: not used, and why is said once", constants is None and said.count("is not used") == 1 and words in said, said)
    constants, said = run(TASUKI_TUNE=str(folder / "none.toml"))
    check("a file that is named must be there", constants is None and "No such file" in said, said)

    # By these constants lines cost all, and a byte through the buffer next to nothing.
    unfit = folder / "unfit.toml"
    values = {"line": 500.0, "page": 500.0, "run": 0.01, "byte": 0.01, "staged_byte": 0.01, "handshake": 0.01, "unit": 0.01}
    machine = "\n".join(["[machine]"] + [line for line in text.splitlines() if line.startswith(("cpu", "cores"))])
    unfit.write_text(f"format = 1\n{machine}\n[costs]\n" + "".join(f"{k} = {v}\n" for k, v in values.items()))
    for file, code, words in [(good, 0, "fits this machine"), (unfit, 1, "does not fit"), (folder / "none.toml", 2, "`tasuki tune` writes one")]:
        before = file.read_text() if file.exists() else None
        # What is measured while others run may make any file fit: once more.
        for _ in range(3):
            done = subprocess.run([tasuki, "tune", "--check", "--output", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=120)
            said = done.stdout + done.stderr
            if done.returncode == code:
                break
        check(f"checked: {file.name}", (done.returncode == code and words in said) or
              (done.returncode == 2 and "too busy" in said and before is not None) or
              # What was measured while others ran may not hold now.
              (file == good and done.returncode == 1 and "does not fit" in said), f"{done.returncode}: {said}")
        check("and left alone", (file.read_text() if file.exists() else None) == before)

    done = subprocess.run([tasuki, "tune", "--output", "/proc/none/tune.toml"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=240)
    check("a file that cannot be written is an error", done.returncode == 1 and "/proc/none/tune.toml" in done.stderr, done.stderr)


try:
    main()
finally:
    shutil.rmtree(folder)
sys.exit(1 if failures else 0)
