#!/usr/bin/env python3
"""scripts/matrix.py on one MPI library: one program of each group passes, and programs whose fate is known get the verdicts that they must.

    matrix_test.py --mpi mpich --mpicc /usr/bin/mpicc.mpich --mpirun /usr/bin/mpirun.mpich --tasuki build/bin/tasuki
                   --programs build/test/programs.json --scratch FOLDER
"""
import argparse
import importlib
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Under Tasuki rank 0 finds TASUKI_STATS in its environment: mpi_run.py puts it there.
KNOWN = {
    "passes": ("passed", "passed", "if (0)"),
    "fails": ("library", None, "if (1)"),
    "fails_under_tasuki": ("tasuki", None, 'if (getenv("TASUKI_STATS"))'),
    "fails_alone": ("passed", "failed", 'if (!getenv("TASUKI_STATS"))'),
    "skips": ("skipped", None, "if (1) { MPI_Finalize(); exit(77); } else if (1)"),
    "lacks": ("lacks", None, "if (MPIX_No_such_function())"),
    "fails_once": ("passed", "passed", 'if (getenv("TASUKI_STATS") && rank == 0 && once())'),
    "passes_types": ("passed", "passed", "if (0)"),
}
SOURCE = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int rank;
int once(void) {  /* the first time that it is asked */
  FILE* file = fopen(ONCE, "r");
  if (file) return fclose(file), 0;
  return fclose(fopen(ONCE, "w")), 1;
}
int main(int argc, char** argv) {
  int value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CONDITION MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Finalize();
  return 0;
}
"""


def run(options, folder, programs, *more):
    folder.mkdir(parents=True)
    library = {"family": options.mpi, "mpicc": options.mpicc, "launcher": options.mpirun}
    (folder / "library.json").write_text(json.dumps(library))
    subprocess.run([sys.executable, ROOT / "test/matrix/programs.py", "--library", folder / "library.json", "--programs", programs,
                    "--tasuki", options.tasuki, "--out", folder, *more], check=True)
    return json.loads((folder / "results.json").read_text())


def known(options, matrix):
    folder = options.scratch / "known"
    sources = options.scratch / "sources"
    (sources / "p2p").mkdir(parents=True)
    lines = []
    for name, (_, _, condition) in KNOWN.items():
        (sources / f"p2p/{name}.c").write_text(SOURCE.replace("CONDITION", condition).replace("ONCE", f'"{sources / "once"}"'))
        lines.append({"name": name, "sources": [f"p2p/{name}.c"], "arguments": [], "ranks": [2], "options": ["--timeout", "60"],
                      "evidence": [], "plain": True})
    (sources / "programs.json").write_text(json.dumps(lines))
    found = run(options, folder, sources / "programs.json", "--sources", sources)
    for result in found["results"]:
        verdict, alone, _ = KNOWN[result["name"]]
        if (result["verdict"], result.get("alone")) != (verdict, alone):
            sys.exit(f"matrix_test: {result}, expected {verdict} and {alone}")
    if len(found["results"]) != len(KNOWN) or found["results"][-1]["group"] != "typed":
        sys.exit(f"matrix_test: {found}")
    text = matrix.table([(matrix.LIBRARIES[0], found)])
    for expected in ("| 3 of 5, 2 skipped | 1 of 1 | none |", "Fail under Tasuki only:\n\n- `fails_under_tasuki`: MPICH 3.4.1\n",
                     "Fail with the library alone, too:\n\n- `fails`: ", "and pass under Tasuki:\n\n- `fails_alone`: ",
                     "- `lacks` (MPIX_No_such_function): ", "- `skips`: "):
        if expected not in text:
            sys.exit(f"matrix_test: no '{expected}' in\n{text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], required=True)
    parser.add_argument("--mpicc", required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--tasuki", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.scratch = options.scratch.resolve()
    shutil.rmtree(options.scratch, ignore_errors=True)
    sys.path.insert(0, str(ROOT / "scripts"))
    matrix = importlib.import_module("matrix")
    known(options, matrix)
    quick = run(options, options.scratch / "quick", options.programs, "--only", matrix.QUICK)
    bad = [result for result in quick["results"] if result["verdict"] != "passed"]
    if bad or {result["group"] for result in quick["results"]} != set(matrix.GROUPS.values()):
        sys.exit(f"matrix_test: {quick}")
    print(matrix.table([(matrix.LIBRARIES[0], quick)]))


if __name__ == "__main__":
    main()
