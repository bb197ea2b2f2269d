"""Makes the man pages of the commands from what their --help prints: one page for each command and subcommand.

    man_pages.py OUTPUT-FOLDER build/bin/tasuki build/bin/tasukicc
"""
import os
import pathlib
import re
import sys

from help_text import Help, output_of

SECTIONS = {"Positionals": "ARGUMENTS", "Options": "OPTIONS", "Subcommands": "COMMANDS"}


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return "\\&" + text if text.startswith(".") else text


def entry_lines(entries):
    for name, meaning in entries:
        written = roff(name.replace(",-", ", -"))
        # A long list of words breaks behind its commas.
        written = re.sub(r"\{.*\}", lambda words: words[0].replace(",", ",\\:"), written)
        yield from (".TP", f".B {written}", roff(meaning) or "\\ ")


def settings_lines(tasuki):
    for line in output_of(tasuki, "settings", "--markdown").splitlines():
        cells = re.match(r"\| `(\w+)` \| (.*?) \| (.*?) \| (.*) \|$", line)
        if cells:
            default = f", default {cells[3]}" if cells[3] else ""
            yield from (".TP", f".BR {cells[1]} \\ ({roff(cells[2])}{roff(default)})".replace("\\ (", '" ("', 1) + '"', roff(cells[4].replace("`", "")))


def page(words, told, version, settings, others):
    name = "-".join(words)
    description = re.sub(r"^[Tt]asuki(cc)?: ", "", told.description)
    what = description.rstrip(".")
    if what[1].islower():
        what = what[0].lower() + what[1:]
    usage = told.usage.removeprefix(" ".join(words)).strip()
    lines = [f'.TH {name.upper()} 1 "" "{version}" Tasuki', ".ad l", ".SH NAME", f"{roff(name)} \\- {roff(what)}", ".SH SYNOPSIS",
             f".B {roff(' '.join(words))}", roff(usage), ".SH DESCRIPTION", roff(description[0].upper() + description[1:])]
    for text in told.footer:
        lines += [".PP", roff(text)]
    for section in told.sections:
        lines.append(f".SH {SECTIONS.get(section, section.upper())}")
        if section == "Subcommands":
            for sub, meaning in told.entries(section):
                lines += [".TP", f".BR {roff(name)}\\-{roff(sub)} (1)", roff(meaning)]
        elif section in SECTIONS:
            lines += entry_lines(told.entries(section))
        else:
            lines += [".nf", *(roff(line) for line in told.sections[section]), ".fi"]
    if settings:
        lines += [".SH ENVIRONMENT", *settings]
    lines += [".SH SEE ALSO"]
    lines += [f".BR {roff(other)} (1)" + ("," if other != others[-1] else "") for other in others]
    lines += [".PP", "The manual and the tutorials are in share/doc/tasuki of the installation."]
    return "\n".join(lines) + "\n"


def write_pages(folder, program, words, version):
    told = Help(output_of(program, *words[1:], "--help"))
    subs = [name for name, _ in told.subcommands()]
    parent = ["-".join(words[:-1])] if len(words) > 1 else []
    others = parent + (["tasukicc"] if words == ["tasuki"] else []) or ["tasuki"]
    settings = list(settings_lines(program)) if words == ["tasuki"] else []
    (folder / ("-".join(words) + ".1")).write_text(page(words, told, version, settings, others), encoding="utf-8")
    for sub in subs:
        write_pages(folder, program, [*words, sub], version)


def main():
    folder, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("tasuki*.1"):
        old.unlink()
    os.environ["TASUKI_LOG"] = "error"
    version = output_of(programs[0], "--version").splitlines()[0].replace("tasuki", "Tasuki")
    for program in programs:
        write_pages(folder, program, [pathlib.Path(program).name], version)


if __name__ == "__main__":
    main()
