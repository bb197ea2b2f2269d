"""The man pages are well formed, there is one for each command, and each option of --help is on the command's page.

    man_test.py FOLDER-OF-PAGES build/bin/tasuki build/bin/tasukicc
"""
import pathlib
import re
import shutil
import subprocess
import sys


def help_of(command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def options_of(text):
    """What stands at the beginning of an entry of the options: -f, --page-size."""
    section = text.partition("\nOptions:\n")[2].partition("\n\n")[0]
    return [name for line in section.splitlines() if re.match(r"  -", line) for name in line.split()[0].split(",")]


def subcommands_of(text):
    section = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in section.splitlines() if re.match(r"  \w", line)]


def check(folder, program, words):
    """What is wrong with the pages of a command and of its subcommands, and how many pages these are."""
    name = "-".join(words)
    page, text = folder / f"{name}.1", help_of([program, *words[1:]])
    if not page.exists():
        return [f"{page} is missing"], 0
    wrong, pages = [], 1
    options = options_of(text)
    if not options:
        wrong.append(f"{name}: --help lists no options")
    source = page.read_text(encoding="utf-8")
    for option in options:
        if not re.search(r"(?m)^\.B (.*, )?" + re.escape(option.replace("-", "\\-")) + r"(\W|$)", source):
            wrong.append(f"{page}: {option} is not there")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", page], capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stderr:
            wrong.append(f"{page}: groff: {done.stderr}")
    for sub in subcommands_of(text):
        more, count = check(folder, program, [*words, sub])
        wrong, pages = wrong + more, pages + count
    return wrong, pages


def main():
    folder, wrong, pages = pathlib.Path(sys.argv[1]), [], 0
    for program in sys.argv[2:]:
        more, count = check(folder, program, [pathlib.Path(program).name])
        wrong, pages = wrong + more, pages + count
    print(*wrong, sep="\n")
    print(f"{pages} pages" + ("" if shutil.which("groff") else "; groff is not installed: their form was not checked"))
    return 1 if wrong or pages < 20 or pages != len(list(folder.glob("*.1"))) else 0


if __name__ == "__main__":
    sys.exit(main())
