#!/usr/bin/env python3
"""docs/status/xmp.md says yes and partly only of what a program of xmp/ tests, and leaves out none of them."""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
rows = re.findall(r"^\| (.*) \| (\w+) \| (?:`(\w+)\.c`)? ?\|$", (here.parents[1] / "docs" / "status" / "xmp.md").read_text(), re.M)
rows = [row for row in rows if row[0] != "feature"]
programs = {p.stem for p in (here / "xmp").glob("*.c")} - {"around"}
wrong = [row for row in rows if row[1] not in ("yes", "partly", "no") or (row[1] == "no") != (row[2] == "") or (row[2] and row[2] not in programs)]
missing = programs - {row[2] for row in rows}
print(f"{len(rows)} features; wrong: {wrong}; programs without a feature: {missing}")
sys.exit(1 if wrong or missing or len(rows) < 15 else 0)
