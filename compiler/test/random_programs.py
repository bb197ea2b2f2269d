#!/usr/bin/env python3
"""Random C programs print the same with dlm arrays as with ordinary ones.

    random_programs.py TREE MPICC COUNT [SEED]

Few names for many things: arrays with dlm and without, at file scope and static in functions, in nested scopes, shadowed by variables,
parameters, members, labels, tags, types, constants; initialised in all ways; used by index, by pointer, by sizeof, through macros and
functions. A program that fails is kept, and its name printed.
"""
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

tree, mpicc, count = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])
first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
tasukicc = str(tree / "bin" / "tasukicc")
environment = {**os.environ, "MPICC": mpicc, "LC_ALL": "C"}
flags = shlex.split(subprocess.run([tasukicc, "--dlm-cflags", "--dlm-libs"], stdout=subprocess.PIPE, text=True, check=True,
                                   env=environment).stdout)

NAMES = ["a", "b", "c", "d", "x", "y"]
TYPES = ["int", "unsigned char", "double", "long long", "short", "float", "struct pair", "word"]


class Array:
    def __init__(self, type, dims):
        self.type, self.dims = type, dims


class Scalar:
    pass


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.scopes = [{}]
        self.lines = []
        self.depth = 0
        self.functions = []
        self.made = 0  # structures

    def emit(self, text):
        # Line breaks and macros in odd places.
        if self.r.random() < 0.05 and not text.startswith("#"):
            text = text.replace(" = ", "\n =\n ", 1)
        self.lines.append("  " * self.depth + text)

    def find(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def arrays(self):
        seen = {n: self.find(n) for n in NAMES}
        return [(n, a) for n, a in seen.items() if isinstance(a, Array)]

    # ---- declarations
    def constants(self, type, dims):
        """An initialiser in braces, with holes and designators."""
        r = self.r
        if not dims:
            if type == "struct pair":
                return r.choice(["{%d, %d}", "{.second = %d, .first = %d}"]) % (r.randrange(9), r.randrange(9))
            return str(r.randrange(100))
        parts, at = [], 0
        while at < dims[0] and r.random() < 0.75:
            if r.random() < 0.3:
                at = r.randrange(dims[0])
                parts.append(f"[{at}] = " + self.constants(type, dims[1:]))
            else:
                parts.append(self.constants(type, dims[1:]))
            at += 1
        return "{" + ", ".join(parts or [self.constants(type, dims[1:])]) + r.choice(["", ","]) + "}"

    def declarator(self, name, dims, first_empty=False):
        text = name
        if self.r.random() < 0.15:
            text = f"({name})"
        return text + "".join(f"[{'' if first_empty and i == 0 else self.bound(d)}]" for i, d in enumerate(dims))

    def bound(self, d):
        arrays = [(n, a) for n, a in self.arrays() if a.dims[0] == d]
        if arrays and self.r.random() < 0.5:
            name = self.r.choice(arrays)[0]
            return f"sizeof {name} / sizeof {name}[0]"
        return str(d)

    def declare_arrays(self, static):
        r = self.r
        type = r.choice(TYPES)
        dlm = r.random() < 0.75
        words = ["dlm"] * dlm + ["static"] * (static or r.random() < 0.3) + ["volatile"] * (r.random() < 0.1)
        const = r.random() < 0.15
        words += ["const"] * const
        r.shuffle(words)
        where = r.randrange(3)
        head = " ".join([*words, type] if where < 2 else [*words[1:], type, *words[:1]])
        parts, new = [], {}
        for name in r.sample(NAMES, r.randrange(1, 4)):
            if name in self.scopes[-1]:
                continue
            dims = [r.randrange(1, 6) for _ in range(r.choice([1, 1, 2, 3]))]
            text = self.declarator(name, dims)
            if r.random() < 0.5 or const:
                text += " = " + self.constants(type, dims)
            elif r.random() < 0.2:
                start = ", ".join(self.constants(type, dims[1:]) for _ in range(dims[0]))
                text = self.declarator(name, dims, True) + " = {" + start + "}"
            parts.append(text)
            array = Array(type, dims)
            array.const = const
            # Already in scope for the next declarator.
            self.scopes[-1][name] = array
        if parts:
            self.emit(f"{head} {', '.join(parts)};")

    def declare_other(self):
        """The same names for something else."""
        r = self.r
        free = [n for n in NAMES if n not in self.scopes[-1]]
        if not free:
            return
        name = r.choice(free)
        kind = r.randrange(5)
        self.scopes[-1][name] = "not yet"  # it means itself in its own initialiser
        if kind == 0:
            self.emit(f"int {name} = {self.expression(1)};")
            self.scopes[-1][name] = Scalar()
        elif kind == 1:
            self.emit(f"enum {{ {name} = {r.randrange(50)} }};")
            self.scopes[-1][name] = Scalar()
        elif kind == 2:
            self.emit(f"typedef int {name};")
            self.scopes[-1][name] = "type"
        elif kind == 3:
            self.made += 1
            self.emit(f"struct {{ int {name}; struct pair {r.choice(NAMES)}_; }} s{self.made} = {{ .{name} = {self.expression(1)} }};")
            self.emit(f"sum += s{self.made}.{name} + (&s{self.made})->{name};")
            del self.scopes[-1][name]
        else:
            dims = [r.randrange(1, 5)]
            self.emit(f"double {name}[{dims[0]}] = {{0}};")
            array = Array("double", dims)
            array.const = False
            self.scopes[-1][name] = array

    # ---- expressions
    def element(self, name, array):
        r = self.r
        text = name
        if r.random() < 0.1:
            text = f"({name})"
        for d in array.dims:
            i = r.randrange(d)
            form = r.randrange(6)
            index = str(i) if r.random() < 0.7 else f"k % {d}"
            if form == 0:
                text = f"(*({text} + {index}))"
            elif form == 1 and text == name:
                text = f"(*&{text})[{index}]"
            elif form == 2 and text == name:
                text = f"AT({name}, {index})"
            else:
                text = f"{text}[{index}]"
        if array.type == "struct pair":
            text += r.choice([".first", ".second"])
        return text

    def expression(self, depth=0):
        r = self.r
        arrays = self.arrays()
        kind = r.randrange(11)
        if arrays and kind < 5:
            return "(int)" + self.element(*r.choice(arrays))
        if arrays and kind == 5:
            name, array = r.choice(arrays)
            return r.choice([f"(int)sizeof {name}", f"(int)sizeof({name}[0])", f"(int)(sizeof {name} / sizeof *{name})",
                             f"(int)sizeof(__typeof__({name}))", f"(int)(&{name}[1] - {name})", f"(int)((char*)(&{name} + 1) - (char*){name})",
                             f"({name} == &{name}[0])", f"COUNT({name})"])
        if arrays and kind == 6:
            name, array = r.choice(arrays)
            return f"bytes_of(&{name}, sizeof {name})"
        if arrays and kind == 7 and self.functions:
            return f"{r.choice(self.functions)}({self.expression(depth + 1) if depth < 2 else 1})"
        if kind == 8 and depth < 3:
            name = r.choice(NAMES)
            self.scopes.append({name: Scalar()})
            text = f"({{ int {name} = {r.randrange(9)}; {name} + {self.expression(depth + 1)}; }})"
            self.scopes.pop()
            # `name` is in scope of its own initialiser, which is a constant.
            return text
        scalars = [n for n in NAMES if isinstance(self.find(n), Scalar)]
        if scalars and kind == 9:
            return r.choice(scalars)
        if depth < 3 and kind == 10:
            return f"({self.expression(depth + 1)} {r.choice('+-^|&')} {self.expression(depth + 1)})"
        return str(r.randrange(100))

    # ---- statements
    def statement(self, nesting):
        r = self.r
        kind = r.randrange(12)
        writable = [(n, a) for n, a in self.arrays() if not a.const]
        if kind < 4 and writable:
            name, array = r.choice(writable)
            op = r.choice(["=", "+=", "-="])
            self.emit(f"{self.element(name, array)} {op} {self.expression()} & 63;")
        elif kind < 6:
            self.emit(f"sum = sum * 31 + {self.expression()};")
        elif kind == 6 and nesting < 3:
            self.block(nesting, r.choice(["", "if (k % 2 == 0) ", "for (int i = 0; i < 2; i++) "]))
        elif kind == 7 and nesting < 3:
            name = r.choice(NAMES)
            self.scopes.append({name: Scalar()})
            self.block(nesting, f"for (int {name} = 0, i = {name}; {name} < 2 && i < 9; {name}++) ")
            self.scopes.pop()
        elif kind == 8:
            self.emit(f"sum += {self.expression()};")
        elif kind == 9:
            self.declare_other()
        elif kind == 10 and writable:
            name, array = r.choice(writable)
            self.emit(f"fill(&{name}, sizeof {name}, {r.randrange(1, 7)});" if array.type not in ("double", "float") else
                      f"{self.element(name, array)} = {r.randrange(50)};")
        else:
            self.declare_arrays(True)

    def block(self, nesting, head=""):
        self.emit(head + "{")
        self.depth += 1
        self.scopes.append({})
        for _ in range(self.r.randrange(1, 6)):
            self.statement(nesting + 1)
        self.scopes.pop()
        self.depth -= 1
        self.emit("}")

    def function(self, number):
        r = self.r
        name = f"f{number}"
        parameter = r.choice(NAMES)
        # A label with the name of an array.
        label = r.choice(NAMES)
        self.emit(f"static {r.choice(['', 'inline '])}long {name}(int {parameter}) {{")
        self.depth += 1
        self.scopes.append({parameter: Scalar()})
        self.emit("static int calls; if (++calls > 20) return 1;")
        self.emit(f"int k = {parameter} & 7; unsigned long sum = 0;")
        self.emit(f"if (k < 0) goto {label};")
        for _ in range(r.randrange(3, 10)):
            self.statement(0)
        self.emit(f"{label}:")
        self.emit("return sum;")
        self.scopes.pop()
        self.depth -= 1
        self.emit("}")
        self.functions.append(name)

    def pointers(self):
        """Other objects with the addresses of arrays in their initialisers; what reads through them."""
        r, reads = self.r, []
        for name, array in list(self.scopes[0].items()):
            if not isinstance(array, Array) or len(array.dims) != 1 or r.random() < 0.5:
                continue
            at, number = r.randrange(array.dims[0]), len(reads)
            address = r.choice([f"&{name}[{at}]", f"{name} + {at}", f"(void*)(({name}) + {at})"])
            member = ".first" if array.type == "struct pair" else ""
            type = f"{array.type} const volatile"
            form = r.randrange(3)
            if form == 0:
                self.lines.append(f"{r.choice(['', 'static '])}{type} *{r.choice(['', 'const '])}q{number} = {address};")
                reads.append(f"(*q{number}){member}")
            elif form == 1:
                self.lines.append(f"static {type} *q{number}[] = {{[{at}] = {address}, 0}};")
                reads.append(f"(*q{number}[{at}]){member} + (int)(sizeof q{number} / sizeof *q{number})")
            else:
                self.lines.append(f"{r.choice(['', 'const '])}struct {{ int n; {type} *p; }} q{number} = {{.n = sizeof {name}, .p = {address}}};")
                reads.append(f"(*q{number}.p){member} + q{number}.n")
        return reads

    def text(self):
        r = self.r
        self.lines = ["#include <stdio.h>", "#include <string.h>", "struct pair { int first, second; };", "typedef unsigned word;",
                      "#define AT(array, i) (array)[i]", "#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))",
                      "static int bytes_of(const volatile void* p, size_t n) {",
                      "  unsigned s = 7; const volatile unsigned char* q = p; while (n-- > 0) s = s * 31 + *q++; return (int)(s & 0xffff); }",
                      "static void fill(volatile void* p, size_t n, int v) { volatile unsigned char* q = p; while (n-- > 0) *q++ = (unsigned char)v; }",
                      "struct a { int b; struct { int c; } d; };"]
        for _ in range(r.randrange(2, 5)):
            self.declare_arrays(False)
        if not any(isinstance(a, Array) for a in self.scopes[0].values()):
            self.lines.append("dlm int a[2];")
        pointers = self.pointers()
        for i in range(r.randrange(1, 5)):
            self.function(i)
            if r.random() < 0.3:
                self.declare_arrays(False)
        self.emit("int main(void) {")
        self.depth = 1
        self.emit("unsigned long sum = 0; int k = 3;")
        for name in self.functions:
            self.emit(f"for (int i = 0; i < 3; i++) printf(\"{name} %ld\\n\", {name}(i));")
        for _ in range(r.randrange(2, 4)):
            self.block(0)
        for pointer in pointers:
            self.emit(f"printf(\"%d\\n\", (int){pointer});")
        for name, array in self.scopes[0].items():
            self.emit(f"printf(\"{name} %zu %d\\n\", sizeof {name}, bytes_of(&{name}, sizeof {name}));")
        self.emit("printf(\"%ld\\n\", sum); return 0;")
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, env=environment)


failures = []
arrays = 0
for seed in range(first, first + count):
    text = Program(seed).text()
    optimize = ["-O0", "-O2", "-O1"][seed % 3]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "it.c").write_text(text)
        plain = run([mpicc, "-Ddlm=", "-w", optimize, "it.c", "-o", "plain", *flags], folder)
        if plain.returncode != 0:
            failures.append(seed)
            print(f"FAIL {seed}: the generator made no C program\n{plain.stderr}\n{text}")
            continue
        built = run([tasukicc, "-w", optimize, "it.c", "-o", "program"], folder)
        expected = run(["./plain"], folder)
        seen = run(["./program"], folder) if built.returncode == 0 else built
        arrays += text.count("dlm ")
        if (seen.returncode, seen.stdout) != (expected.returncode, expected.stdout):
            failures.append(seed)
            kept = pathlib.Path(tempfile.gettempdir()) / f"tasukicc-random-{seed}.c"
            kept.write_text(text)
            print(f"FAIL {seed} {optimize}: {kept}\n{built.stderr}--- tasukicc {seen.returncode}\n{seen.stdout}--- plain {expected.returncode}\n{expected.stdout}")
print(f"{count} programs, {arrays} declarations with dlm, {len(failures)} failures: {failures}")
sys.exit(1 if failures else 0)
