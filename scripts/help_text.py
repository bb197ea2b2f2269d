"""What --help of a command says, taken apart: for the man pages and the completions of shells."""
import re
import subprocess


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Help:
    """One paragraph, the usage line, and sections of entries (what is written, what it means) or of plain lines."""

    def __init__(self, text):
        self.description, self.usage, self.sections, self.footer = "", "", {}, []
        section = None
        for line in text.splitlines():
            heading = re.fullmatch(r"([A-Z][\w ]+):", line)
            if line.startswith("Usage: "):
                self.usage = line.removeprefix("Usage: ")
            elif heading:
                section = self.sections.setdefault(heading[1], [])
            elif line.startswith("  ") and section is not None:
                section.append(line)
            elif line.strip():
                if self.usage:
                    self.footer.append(line)
                else:
                    self.description += (" " if self.description else "") + line

    def entries(self, section):
        """(name, meaning): the meaning is in the same line behind two blanks or behind the column, or in the lines below."""
        found = []
        for line in self.sections.get(section, []):
            entry = re.match(r"  (\S.{26}\S) (\S.*)|  (\S.*?)(?:  +(\S.*))?$", line)
            if line.startswith(" " * 10) and found:
                found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
            elif entry:
                found.append([(entry[1] or entry[3]).strip(), (entry[2] or entry[4] or "").strip()])
        return found

    def subcommands(self):
        return self.entries("Subcommands")

    def options(self):
        """([-h, --help], meaning) for each."""
        return [(re.split(r"[ =]", names)[0].split(","), meaning) for names, meaning in self.entries("Options") if names.startswith("-")]
