"""Every relative link of every Markdown file leads to a file of the repository, and every anchor to a heading.

    links.py [REPOSITORY]

Links to the web are not followed.
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def without_code(text):
    """The text with fenced blocks, indented blocks behind a blank line and code spans blanked out; line numbers stay."""
    lines, fence, before = [], False, ""
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fence, line = not fence, ""
        elif fence or (line.startswith("    ") and before.strip() == "" and not re.match(r"\s*([-*]|\d+\.) ", line)):
            lines.append("")
            continue
        before = line
        lines.append(re.sub(r"`[^`]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`" if "](" in code[0] else code[0], line))
    return lines


def anchors(path):
    """The anchors that GitHub and mkdocs make of the headings: lower case, punctuation dropped, blanks as dashes."""
    names, count = set(), {}
    for line in without_code(path.read_text(encoding="utf-8")):
        heading = re.match(r"#{1,6} (.*)", line)
        if heading is None:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count[name] = count.get(name, -1) + 1
        names.add(name if count[name] == 0 else f"{name}-{count[name]}")
    return names


def check(page, root, known):
    wrong = []
    for number, line in enumerate(without_code(page.read_text(encoding="utf-8")), 1):
        for link in LINK.findall(line):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            where = f"{page.relative_to(root)}:{number}: {link}"
            if not target.exists():
                wrong.append(f"{where}: there is no such file")
            elif root not in target.parents:
                wrong.append(f"{where}: outside of the repository")
            elif anchor and target.suffix == ".md" and anchor not in known.setdefault(target, anchors(target)):
                wrong.append(f"{where}: there is no such heading")
    return wrong


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=False)
    pages = [root / name for name in listed.stdout.split("\n") if name] if listed.returncode == 0 else sorted(root.glob("*.md")) + sorted(
        root.glob("docs/**/*.md"))
    pages = [page for page in pages if page.exists()]
    known, wrong = {}, []
    for page in pages:
        wrong += check(page, root, known)
    print(*wrong, sep="\n")
    print(f"{len(pages)} pages, {len(wrong)} wrong links")
    return 1 if wrong or len(pages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
