#!/usr/bin/env python3
"""docs/status/xmp.md is made from xmp_features.txt, and what that says is true.

    status_test.py [--update] [--library LIBTASUKIXMP]

Fails if the page is another than the one that the file gives; if a program that a row names is not there or does not contain what the row
says; if a program of xmp/ tests nothing; and if a function is listed as missing that xmp.h declares or the library exports, or the other way round.
"""
import argparse
import html
import pathlib
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--update", action="store_true"), parser.add_argument("--library")
given = parser.parse_args()
here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]
page = root / "docs" / "status" / "xmp.md"
HEAD = """<!-- Made by compiler/test/status_test.py --update from compiler/test/xmp_features.txt; a test compares them. -->

# XcalableMP C

This page says which features of the specifications XcalableMP 1.4 and XcalableACC 1.0 for C `tasukicc` and its library have: {yes} of {all}
features, and {partly} in part. A program that checks itself tests each of them, on 1, 2, 4 and 6 images, with both MPI libraries, without and
with `tasuki run`. The programs are in `compiler/test/xmp`; those that need no compiler are in `test/coarray`.
"""
wrong = []


class Row:
    def __init__(self, line):
        self.feature, programs, contained, self.remark = ([field.strip() for field in re.split(r"\s;(?:\s|$)", line)] + [""] * 4)[:4]
        self.function = (re.fullmatch(r"`(xmpc?_\w+)`", self.feature) or [None, None])[1]
        self.there = "no" if programs == "-" else "partly" if programs.startswith("~") else "yes"
        self.programs = [] if programs == "-" else [p.strip() for p in programs.lstrip("~").split(",")]
        self.contained = [text.strip() for text in contained.split(" & ") if text.strip()]
        if self.function and not self.contained:
            self.contained = [self.function + "("]
        if self.there == "partly" and not self.remark or self.there != "no" and not (self.programs[0] and self.contained):
            wrong.append(f"this line lacks something (see the head of xmp_features.txt): {line}")

    def text(self):
        tested = ", ".join(f"`{pathlib.Path(p).name if '/' in p else p + '.c'}`" for p in self.programs)
        # A bar would end the cell, even in code.
        feature = re.sub(r"`([^`]*\|[^`]*)`", lambda code: f"<code>{html.escape(code[1]).replace('|', '&#124;')}</code>", self.feature)
        return f"| {feature}{': ' * bool(self.remark)}{self.remark} | {self.there} | {tested} |\n"


def path_of(program):
    return root / program if "/" in program else here / "xmp" / f"{program}.c"


def squeezed(text):
    return re.sub(r"[ \t]+", "", re.sub(r"\\\\\n", " ", text))


def contains(text, wanted):
    return re.search(".*".join(re.escape(squeezed(part)) for part in wanted.split("...")), text) is not None


def check(row):
    texts = []
    for program in row.programs:
        if path_of(program).is_file():
            texts.append(squeezed(path_of(program).read_text()))
        else:
            wrong.append(f"{row.feature}: there is no program {program}")
    wrong.extend(f"{row.feature}: {', '.join(row.programs)} does not contain '{wanted}'"
                 for wanted in row.contained if row.programs and not any(contains(text, wanted) for text in texts))


def check_functions(functions):
    known = set(re.findall(r"\b(xmpc?_\w+)\(", re.sub(r"/\*.*?\*/", "", (root / "include" / "tasuki" / "xmp.h").read_text(), flags=re.S)))
    where = "declared in xmp.h"
    if given.library:
        symbols = subprocess.run(["nm", "-D", "--defined-only", given.library], check=True, capture_output=True, text=True).stdout
        exported = set(re.findall(r" T (xmpc?_\w+)(?:@|$)", symbols, re.M))
        wrong.extend(f"{name} is {where}, but not exported" for name in known - exported)
        wrong.extend(f"{name} is exported, but not {where}" for name in exported - known)
    for name, there in functions.items():
        if (name in known) != (there != "no"):
            wrong.append(f"{name} is listed as {there}, and it is {'' if name in known else 'not '}{where}")
    wrong.extend(f"{name} is {where}, but not listed" for name in known - set(functions))


def main():
    rows, table = [], ""
    for line in (here / "xmp_features.txt").read_text().splitlines():
        if line.startswith("= "):
            table += f"\n## {line[2:]}\n\n| feature | there | tested by |\n|---|---|---|\n"
        elif line.strip() and not line.startswith("#"):
            rows.append(Row(line))
            check(rows[-1])
            table += rows[-1].text()
    check_functions({row.function: row.there for row in rows if row.function})
    named = {program for row in rows for program in row.programs}
    wrong.extend(f"{p.name} tests nothing" for p in sorted((here / "xmp").glob("*.c")) if p.stem not in named | {"around"})
    count = {there: sum(row.there == there for row in rows) for there in ("yes", "partly")}
    text = HEAD.format(all=len(rows), **count) + table
    if given.update:
        page.write_text(text)
    elif page.read_text() != text:
        wrong.append(f"{page} is not what xmp_features.txt gives; run: compiler/test/status_test.py --update")
    print(f"{len(rows)} features, {count['yes']} there, {count['partly']} in part")
    print("".join(f"  {one}\n" for one in wrong), end="")
    sys.exit(1 if wrong else 0)


main()
