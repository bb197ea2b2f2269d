#!/usr/bin/env python3
"""Puts what was measured into the documents.

    scripts/evidence.py out/ddt-openmpi.json out/ddt-mpich.json    # tasuki bench ddt --json: README.md, docs/performance.md
    scripts/evidence.py out/paper.json                             # tasuki bench memory --paper --json: docs/pager-paper.md
"""
import json
import pathlib
import sys

BEGIN, END = "<!-- begin: evidence -->\n", "<!-- end -->"
SHOWN = 8  # rows a file: one of each pattern family is enough


def ratio(row):
    return row["touched_plain_us"] / row["touched_tasuki_us"]


def shown(rows):
    """The largest row of every pattern, spread evenly from the best ratio to the worst."""
    largest = {}
    for row in rows:
        if row["pattern"] not in largest or row["bytes"] > largest[row["pattern"]]["bytes"]:
            largest[row["pattern"]] = row
    ranked = sorted(largest.values(), key=ratio, reverse=True)
    if len(ranked) <= SHOWN:
        return ranked
    return [ranked[round(i * (len(ranked) - 1) / (SHOWN - 1))] for i in range(SHOWN)]


def flat(value):
    return ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def described(machine):
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['os']}, {machine['kernel']}"


def put(page, text, begin=BEGIN):
    path = pathlib.Path(__file__).resolve().parent.parent / page
    before, rest = path.read_text(encoding="utf-8").split(begin, 1)
    path.write_text(before + begin + text + rest[rest.index(END):], encoding="utf-8")
    print(text)


def paper(run):
    if not run["verified"]:
        sys.exit("not every row is verified")
    put("docs/pager-paper.md", run["paper"]["table"] + f"\nMachine: {described(run['machine'])}; {run['versions']['mpi']}; "
        f"{run['date'][:10]}. Every result was verified.\n")


def main(paths):
    runs = [json.loads(pathlib.Path(p).read_text()) for p in paths]
    if not runs:
        sys.exit(__doc__)
    if len(runs) == 1 and "paper" in runs[0]:
        return paper(runs[0])
    for path, run in zip(paths, runs):
        if not all(row["verified"] for row in run["rows"]):
            sys.exit(f"{path}: not every row is verified")
    summary = "Time of plain MPI divided by the time of Tasuki, for typed messages of applications between two ranks of a node (`make demo`).\n"
    summary += "*Touched*: the data are written before each message and read after it, as applications do; *untouched*: the same buffers\n"
    summary += "are sent again and again.\n\n"
    summary += f"| MPI | {len(runs[0]['rows'])} messages | touched | untouched |\n|---|---|--:|--:|\n"
    rows = ("Half round trips in µs, touched buffers; the rows range from the best ratio to the worst among the largest messages of the\n"
            "patterns. The limit is what the machine takes without any message: one core reads what the other one has written, and one copy:\n\n")
    rows += "| MPI | pattern | bytes | plain MPI | Tasuki | ratio | limit | untouched: ratio |\n|---|---|--:|--:|--:|--:|--:|--:|\n"
    for run in runs:
        name = " ".join(run["versions"].get("mpi", "?").split("\n")[0].replace(" Version:", " ").split())
        worst = min(run["rows"], key=ratio)
        summary += f"| {name} | geometric mean | **{run['geomean_touched']:.2f}** | **{run['geomean']:.2f}** |\n"
        summary += f"| | worst: {worst['pattern']}, {worst['bytes']} bytes | {ratio(worst):.2f} | {worst['ratio']:.2f} |\n"
        for row in shown(run["rows"]):
            rows += (f"| {name} | {row['pattern']} | {row['bytes']} | {row['touched_plain_us']:.2f} | {row['touched_tasuki_us']:.2f} "
                     f"| {ratio(row):.1f} | {row['limit_us']:.2f} | {row['ratio']:.1f} |\n")
        rows += (f"| {name} | **all {len(run['rows'])} rows** | | | | **{run['geomean_touched']:.2f}** | "
                 f"{run['geomean_limit']:.2f} of it | **{run['geomean']:.2f}** |\n")
    summary += f"\nMachine: {described(runs[0]['machine'])}. Every byte was verified.\n"
    put("README.md", summary)
    put("docs/performance.md", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
