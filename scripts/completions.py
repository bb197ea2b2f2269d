"""Makes completions for bash, zsh and fish from what --help of the commands prints, in the folders where these shells look for them.

    completions.py SHARE-FOLDER build/bin/tasuki build/bin/tasukicc
"""
import os
import pathlib
import sys

from help_text import Help, output_of

MADE = "# Made from --help: completes commands and options; behind those, files."

BASH = """{made}
_{name}() {{
  local path={name} word
  COMPREPLY=()
  local -A commands=({commands}) options=({options})
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ $word == -* ]] && continue
    [[ " ${{commands[$path]}} " == *" $word "* ]] || return  # a program and its own words
    path+=" $word"
  done
  word=${{COMP_WORDS[COMP_CWORD]}}
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${{options[$path]}}" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "${{commands[$path]}}" -- "$word")
  fi
}}
complete -o default -F _{name} {name}
"""

ZSH = """#compdef {name}
{made}
_{name}() {{
  local at={name} word
  local -a found
  local -A commands=({commands}) options=({options})
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    [[ $word == -* ]] && continue
    (( ${{${{(f)commands[$at]}}[(I)$word:*]}} )) || {{ _files; return; }}  # a program and its own words
    at+=" $word"
  done
  if [[ $words[CURRENT] == -* ]]; then
    found=("${{(@f)options[$at]}}")
  else
    found=("${{(@f)commands[$at]}}")
  fi
  [[ -n $found[1] ]] && _describe {name} found && return
  _files
}}
_{name} "$@"
"""


class Command:
    def __init__(self, program, words):
        told = Help(output_of(program, *words[1:], "--help"))
        self.words, self.options = words, told.options()
        self.subcommands = [(Command(program, [*words, name]), meaning) for name, meaning in told.subcommands()]

    def all(self):
        yield self
        for sub, _ in self.subcommands:
            yield from sub.all()


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def brief(meaning):
    """The first sentence, without what shells take for something of their own."""
    return meaning.split(". ")[0].rstrip(".").replace(":", " -").replace("\\", "")


def for_bash(root):
    def table(entries):
        return " ".join(f"[{quoted(' '.join(c.words))}]={quoted(' '.join(words))}" for c, words in entries if words)

    return BASH.format(made=MADE, name=root.words[0], commands=table((c, [s.words[-1] for s, _ in c.subcommands]) for c in root.all()),
                       options=table((c, [name for names, _ in c.options for name in names]) for c in root.all()))


def for_zsh(root):
    def table(entries):
        return " ".join(f"{quoted(' '.join(c.words))} {quoted(chr(10).join(lines))}" for c, lines in entries)

    return ZSH.format(made=MADE, name=root.words[0],
                      commands=table((c, [f"{s.words[-1]}:{brief(m)}" for s, m in c.subcommands]) for c in root.all()),
                      options=table((c, [f"{name}:{brief(m)}" for names, m in c.options for name in names]) for c in root.all()))


def for_fish(root):
    name, lines = root.words[0], [MADE]
    for c in root.all():
        # This command's words are there, and none of its subcommands.
        inner = " ".join(s.words[-1] for s, _ in c.subcommands)
        conditions = [f"__fish_seen_subcommand_from {word}" for word in c.words[1:]]
        conditions += [f"not __fish_seen_subcommand_from {inner}"] if inner else []
        when = f" -n {quoted('; and '.join(conditions))}" if conditions else ""
        lines += [f"complete -c {name}{when} -f -a {s.words[-1]} -d {quoted(brief(m))}" for s, m in c.subcommands]
        for names, meaning in c.options:
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" if len(n) == 2 else f"-o {n[1:]}" for n in names)
            lines.append(f"complete -c {name}{when} {flags} -d {quoted(brief(meaning))}")
    return "\n".join(lines) + "\n"


def main():
    share = pathlib.Path(sys.argv[1])
    os.environ["TASUKI_LOG"] = "error"
    for program in sys.argv[2:]:
        name = pathlib.Path(program).name
        root = Command(program, [name])
        for folder, file, text in (("bash-completion/completions", name, for_bash(root)), ("zsh/site-functions", f"_{name}", for_zsh(root)),
                                   ("fish/vendor_completions.d", f"{name}.fish", for_fish(root))):
            (share / folder).mkdir(parents=True, exist_ok=True)
            (share / folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
