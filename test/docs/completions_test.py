"""The shells complete commands and options from the files that are made for them; zsh and fish are asked where they are installed.

    completions_test.py SHARE-FOLDER
"""
import pathlib
import shutil
import subprocess
import sys

# What is typed, its last word unfinished; what is offered among others; what is not.
CASES = [("tasuki be", ["bench"], []), ("tasuki bench ", ["ddt", "compare"], ["run"]), ("tasuki bench ddt --pat", ["--pattern"], []),
         ("tasuki run --re", ["--require"], []), ("tasuki run ./app --re", [], ["--require"]), ("tasukicc --e", ["--emit"], [])]

BASH = """source "{file}"
COMP_WORDS=({words}) COMP_CWORD={last}
_{name}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

# The functions that complete in an interactive zsh, as far as they are used.
ZSH = """_describe() {{ print -rl -- "${{(P@)2}}" }}
_files() {{ }}
words=({words}) CURRENT={count}
source "{file}"
"""


def offered(shell, share, line):
    words = line.split(" ")
    name = words[0]
    quoted = " ".join(f"'{w}'" for w in words)
    if shell == "bash":
        file = share / "bash-completion/completions" / name
        command = ["bash", "--norc", "-c", BASH.format(file=file, name=name, words=quoted, last=len(words) - 1)]
    elif shell == "zsh":
        file = share / "zsh/site-functions" / f"_{name}"
        command = ["zsh", "-f", "-c", ZSH.format(file=file, words=quoted, count=len(words))]
    else:
        file = share / "fish/vendor_completions.d" / f"{name}.fish"
        command = ["fish", "--no-config", "-c", f"source {file}; complete -C '{line}'"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.stderr:
        sys.exit(f"{shell}, {line!r}: {done.stderr}")
    return {entry.split(":")[0].split("\t")[0] for entry in done.stdout.splitlines()}


def main():
    share, wrong = pathlib.Path(sys.argv[1]), []
    shells = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]
    for shell in shells:
        for line, some, none in CASES:
            # fish does not see where the words of a program begin.
            if shell == "fish" and none and not some:
                continue
            found = offered(shell, share, line)
            if not set(some) <= found or set(none) & found:
                wrong.append(f"{shell}, {line!r}: {sorted(found)}")
    print(*wrong, sep="\n")
    print(f"{len(CASES)} lines in {', '.join(shells)}: {len(wrong)} wrong")
    return 1 if wrong or "bash" not in shells else 0


sys.exit(main())
