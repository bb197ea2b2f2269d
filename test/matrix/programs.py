#!/usr/bin/env python3
"""The programs of test/p2p, test/types and test/coll with one MPI library, plainly and under `tasuki run`: what each came to.

    programs.py --library library.json --programs build/test/programs.json --tasuki PREFIX/bin/tasuki --out FOLDER [--jobs N] [--only REGEX]

library.json: "family" of the launcher (openmpi, mpich), "mpicc", "launcher", "env" for compiling and running, "run_env" for running only.
Writes FOLDER/results.json, and what each run printed beside it. It needs nothing but Python, so that it runs on any machine.

A program is compiled by the library's own mpicc and runs under Tasuki on its smallest number of ranks and on the largest one up to
--most-ranks, and plainly once. What has failed is run once more, and counts only if it fails again.

  passed    under Tasuki; "alone" says if it failed plainly
  skipped   the program says that it makes no sense here
  lacks     the library has not got a function that the program calls
  library   fails under Tasuki and plainly
  tasuki    fails under Tasuki only
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

TEST = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TEST))
import mpi_compile  # noqa: E402

GROUPS = {"p2p": "point to point", "types": "typed", "coll": "collective"}
# What a compiler or linker says of a name of MPI that it does not find.
UNKNOWN = re.compile(r"(?:undefined reference to |implicit declaration of function |unknown type name |error: )\W(MPI\w+)")
VERSION = r"""#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, version, subversion;
  MPI_Init(&argc, &argv);
  MPI_Get_library_version(text, &length);
  MPI_Get_version(&version, &subversion);
  printf("library %d.%d %s\n", version, subversion, text);
  MPI_Finalize();
  return 0;
}
"""


def group_of(program):
    """Of the folder; programs elsewhere whose promise is about derived types are with the typed ones."""
    folder = program["sources"][0].split("/")[0]
    return "typed" if folder in GROUPS and program["name"].endswith("_types") else GROUPS.get(folder)


class Library:
    def __init__(self, options):
        self.options = options
        self.about = json.loads(options.library.read_text())
        self.env = {**os.environ, **self.about.get("env", {})}
        self.run_env = {**self.env, **self.about.get("run_env", {})}

    def compile(self, name, sources):
        """The program, or None and what the compiler said."""
        output = self.options.out / name
        done = subprocess.run(mpi_compile.command(self.about["mpicc"], sources, output), env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        (self.options.out / f"{name}.compiler.log").write_text(text)
        return (output if done.returncode == 0 else None), text

    def run(self, program, command, ranks, tasuki, attempt=1):
        """passed, skipped, hung or failed"""
        words = [sys.executable, TEST / "mpi_run.py", "--mpi", self.about["family"], "--mpirun", self.about["launcher"], "--ranks", ranks,
                 *program["options"]]
        if tasuki:
            words += ["--tasuki", self.options.tasuki, *program["evidence"]]
        done = subprocess.run([str(word) for word in [*words, "--", *command]], env=self.run_env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        log = f"{program['name']}.{ranks}.{'tasuki' if tasuki else 'plain'}{'' if attempt == 1 else '.again'}.log"
        (self.options.out / log).write_bytes(done.stdout)
        outcome = {0: "passed", 77: "skipped", 124: "hung"}.get(done.returncode, "failed")
        if outcome in ("hung", "failed") and attempt == 1:
            return self.run(program, command, ranks, tasuki, attempt=2)
        return outcome

    def version(self):
        source = self.options.out / "version.c"
        source.write_text(VERSION)
        program, text = self.compile("version", [source])
        if not program:
            sys.exit(f"programs.py: {self.about['mpicc']} does not compile MPI programs:\n{text}")
        launch = [self.about["launcher"], "-n", "1", program]
        done = subprocess.run([str(word) for word in launch], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, timeout=120,
                              env={**self.run_env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        said = re.search(r"^library (\S+) (.*)$", done.stdout.decode(errors="replace"), re.M)
        if done.returncode != 0 or not said:
            sys.exit(f"programs.py: {launch} ended with {done.returncode}:\n{done.stdout.decode(errors='replace')}")
        return {"standard": said.group(1), "library": said.group(2)}

    def judge(self, program):
        result = {"name": program["name"], "group": group_of(program)}
        executable, text = self.compile(program["name"], [self.options.sources / source for source in program["sources"]])
        if not executable:
            missing = sorted(set(UNKNOWN.findall(text)))
            return {**result, "verdict": "lacks" if missing else "library", "why": ", ".join(missing) or "it does not compile"}
        command = [executable, *program["arguments"]]
        fitting = [n for n in program["ranks"] if n <= self.options.most_ranks]
        ranks = sorted({fitting[0], fitting[-1]})
        under = {n: self.run(program, command, n, tasuki=True) for n in ranks}
        bad = [n for n in ranks if under[n] in ("hung", "failed")]
        plain = None
        if program["plain"] or bad:
            plain = self.run(program, command, bad[0] if bad else ranks[0], tasuki=False)
        executable.unlink()
        if bad:
            verdict = "library" if plain in ("hung", "failed") else "tasuki"
            return {**result, "verdict": verdict, "why": f"{under[bad[0]]} on {bad[0]} ranks"}
        if "skipped" in under.values():
            return {**result, "verdict": "skipped"}
        return {**result, "verdict": "passed", "alone": plain or "not run"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--sources", type=pathlib.Path, default=TEST, help="where the sources of the list are")
    parser.add_argument("--tasuki", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--most-ranks", type=int, default=4)
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    programs = [p for p in json.loads(options.programs.read_text()) if group_of(p) and options.only.search(p["name"])
                and p["ranks"][0] <= options.most_ranks]
    if not programs:
        parser.error(f"{options.programs} has no program of {', '.join(GROUPS)} that --only and --most-ranks leave")
    library = Library(options)
    version = library.version()
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(library.judge, programs):
            results.append(result)
            if result["verdict"] != "passed" or result["alone"] in ("hung", "failed"):
                print(f"  {result['name']}: {result['verdict']} {result.get('why', '')}{result.get('alone', '')}", flush=True)
    (options.out / "results.json").write_text(json.dumps({"version": version, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
