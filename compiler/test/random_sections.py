#!/usr/bin/env python3
"""Random array assignments and references compute what they say.

    random_sections.py TREE MPICC COUNT [SEED]

A program works on the memory of all images of stub_xmp.c, which run nothing themselves, with copies between sections of all shapes, elemental
expressions, scalars, compound assignments and index expressions with side effects; parts of sections are written in all forms. The
same is computed here, one element after the other. A program that differs is kept, and its name printed.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

tree, mpicc, count = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])
first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
IMAGES = 3
environment = {**os.environ, "MPICC": mpicc, "LC_ALL": "C", "DOUBLE_IMAGES": str(IMAGES)}
TYPES = {"unsigned": 2**32, "unsigned short": 2**16, "unsigned long": 2**64}
# name: type, dimensions, is it a coarray
ARRAYS = {"a": ("unsigned", (12,), True), "b": ("unsigned", (12,), False), "m": ("unsigned", (4, 6), True), "n": ("unsigned", (5, 3), False),
          "h": ("unsigned short", (12,), True), "g": ("unsigned short", (3, 4), False), "q": ("unsigned long", (2, 3, 4), True),
          "s": ("unsigned", (), True)}


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.memory = {}
        self.lines = []
        self.counter = 0
        for name, (kind, dims, coarray) in ARRAYS.items():
            size = 1
            for d in dims:
                size *= d
            for image in range(1, IMAGES + 1) if coarray else [0]:
                self.memory[name, image] = [0] * size

    def offset(self, name, index):
        at = 0
        for d, i in zip(ARRAYS[name][1], index):
            assert 0 <= i < d
            at = at * d + i
        return at

    def image(self, name):
        """The image to use and how it is written: 0 is the variable's own."""
        if not ARRAYS[name][2] or self.r.random() < .3:
            return (1 if ARRAYS[name][2] else 0), ""
        image = self.r.randint(1, IMAGES)
        return image, f":[{self.number(image)}]"

    def number(self, value):
        """A number as an expression; now and then one that must be evaluated once."""
        kind = self.r.random()
        if kind < .6:
            return str(value)
        if kind < .7:
            return f"({value + 3} - 3)"
        if kind < .8:
            return f"one * {value}"
        if kind < .9:
            return f"(one ? {value} : 7)"
        self.counter += 1
        return f"next({self.counter}, {value})"

    def section(self, name, needs_section=True):
        """Text and list of offsets, and the lengths of its sections."""
        text, indices, shape = name, [[]], []
        dims = ARRAYS[name][1]
        forced = self.r.randrange(len(dims)) if needs_section else -1
        for k, d in enumerate(dims):
            if k != forced and self.r.random() < .4:
                i = self.r.randrange(d)
                text += f"[{self.number(i)}]"
                indices = [x + [i] for x in indices]
                continue
            lower, stride = self.r.randrange(d), self.r.choice([1, 1, 1, 2, 3, -1, -1, -2])
            most = (d - lower + stride - 1) // stride if stride > 0 else lower // -stride + 1
            length = most if self.r.random() < .4 else self.r.randint(1, most)
            written = self.number(lower) if lower != 0 or stride < 0 or self.r.random() < .5 else ""
            written += ":" + (self.number(length) if length != most or self.r.random() < .5 else "")
            if stride != 1 or self.r.random() < .2:
                written += ":" + self.number(stride)
            elif self.r.random() < .1:
                written += ":"
            text += f"[{written}]"
            shape.append(length)
            indices = [x + [lower + j * stride] for x in indices for j in range(length)]
        image, suffix = self.image(name)
        return text + suffix, (name, image), [self.offset(name, i) for i in indices], shape

    def matching(self, wanted):
        for _ in range(300):
            saved = self.counter, self.r.getstate()
            result = self.section(self.r.choice([n for n in ARRAYS if ARRAYS[n][1]]))
            if wanted(result):
                return result
            self.counter = saved[0]
        return None

    def scalar(self):
        """Text and value of something without sections."""
        kind = self.r.random()
        if kind < .4:
            value = self.r.randrange(50)
            return f"{value}u", value
        if kind < .6:
            value = self.r.randrange(50)
            return f"(unsigned){self.number(value)}", value
        text, where, offset, _ = self.element()
        return text, self.memory[where][offset]

    def element(self):
        name = self.r.choice(list(ARRAYS))
        index = [self.r.randrange(d) for d in ARRAYS[name][1]]
        image, suffix = self.image(name)
        return name + "".join(f"[{self.number(i)}]" for i in index) + suffix, (name, image), self.offset(name, index), ARRAYS[name][0]

    def store(self, where, offsets, values):
        modulus = TYPES[ARRAYS[where[0]][0]]
        for o, v in zip(offsets, values):
            self.memory[where][o] = v % modulus

    def operand(self, shape, depth):
        """An elemental expression: its text and values; all in unsigned long, so that no rule of conversion matters."""
        n = 1
        for s in shape:
            n *= s
        kind = self.r.random()
        if depth > 2 or kind < .35:
            found = self.matching(lambda s: s[3] == shape) if self.r.random() < .8 else None
            if found:
                return "(unsigned long)" + found[0], [self.memory[found[1]][o] for o in found[2]], True
            text, value = self.scalar()
            return f"(unsigned long)({text})", [value] * n, False
        left, a, x = self.operand(shape, depth + 1)
        right, b, y = self.operand(shape, depth + 1)
        if kind < .9:
            op = self.r.choice(["+", "-", "*", "^", "|", "&"])
            values = [eval(f"({p}) {op} ({q})") % 2**64 for p, q in zip(a, b)]
            return f"({left} {op} {right})", values, x or y
        if kind < .95 and (x or y):
            return f"mix({left}, {right})", [(p * 3 + q) % 2**64 for p, q in zip(a, b)], True
        return f"({left} > {right} ? 7ul : 5ul)", [7 if p > q else 5 for p, q in zip(a, b)], x or y

    def statement(self):
        kind, before = self.r.random(), self.counter
        if kind < .3:  # a copy, any shapes
            left = self.section(self.r.choice([n for n in ARRAYS if ARRAYS[n][1]]))
            right = self.matching(lambda s: len(s[2]) == len(left[2]))
            if right:
                self.lines.append(f"{left[0]} = {right[0]};")
                self.store(left[1], left[2], [self.memory[right[1]][o] for o in right[2]])
            else:
                self.counter = before
        elif kind < .65:
            left = self.section(self.r.choice([n for n in ARRAYS if ARRAYS[n][1]]))
            right, values, _ = self.operand(left[3], 0)
            if self.r.random() < .2:
                op = self.r.choice(["+", "-", "*", "^", "|"])
                old = [self.memory[left[1]][o] for o in left[2]]
                values = [eval(f"({p}) {op} ({q})") for p, q in zip(old, values)]
                self.lines.append(f"{left[0]} {op}= {right};")
            else:
                self.lines.append(f"{left[0]} = {right};")
            self.store(left[1], left[2], values)
        elif kind < .75:  # one value for all
            left = self.section(self.r.choice([n for n in ARRAYS if ARRAYS[n][1]]))
            text, value = self.scalar()
            self.lines.append(f"{left[0]} = {text};")
            self.store(left[1], left[2], [value] * len(left[2]))
        else:
            left, where, offset, _ = self.element()
            if self.r.random() < .2:
                op = self.r.choice(["++", "--"])
                self.lines.append(f"{left}{op};" if self.r.random() < .5 else f"{op}{left};")
                self.store(where, [offset], [self.memory[where][offset] + (1 if op == "++" else -1)])
                return
            text, value = self.scalar()
            op = self.r.choice(["", "", "+", "-", "*", "^"])
            old = self.memory[where][offset]
            self.lines.append(f"{left} {op}= {text};")
            self.store(where, [offset], [eval(f"({old}) {op} ({value})") if op else value])

    def text(self):
        for name, (kind, dims, coarray) in ARRAYS.items():
            for image in range(1, IMAGES + 1) if coarray else [0]:
                for o in range(len(self.memory[name, image])):
                    value = self.r.randrange(1000)
                    self.memory[name, image][o] = value
        start = self.initial()
        for _ in range(40):
            self.statement()
        body = "\n  ".join(self.lines)
        declarations = "".join(f"{kind} {name}{''.join(f'[{d}]' for d in dims)}{':[*]' if coarray else ''};\n"
                               for name, (kind, dims, coarray) in ARRAYS.items())
        return ("#include <stdio.h>\n" + declarations + "static int one = 1, made[10000];\n"
                "static int next(int number, int value) {\n  if (made[number]++ != 0) printf(\"%d is evaluated again\\n\", number);\n  return value;\n}\n"
                "static unsigned long mix(unsigned long x, unsigned long y) { return 3 * x + y; }\n"
                f"int main(void) {{\n  {start}\n  {body}\n  {self.printing()}\n  for (int i = 1; i <= {self.counter}; i++)\n"
                "    if (made[i] == 0) printf(\"%d is not evaluated\\n\", i);\n  (void)mix(0, 0);\n  return 0;\n}\n")

    def each(self, what):
        result = []
        for name, (kind, dims, coarray) in ARRAYS.items():
            for image in range(1, IMAGES + 1) if coarray else [0]:
                for o, value in enumerate(self.memory[name, image]):
                    index, rest = [], o
                    for d in reversed(dims):
                        index.insert(0, rest % d)
                        rest //= d
                    result.append(what(name + "".join(f"[{i}]" for i in index) + (f":[{image}]" if coarray else ""), value))
        return result

    def initial(self):
        return " ".join(self.each(lambda place, value: f"{place} = {value};"))

    def printing(self):
        return " ".join(self.each(lambda place, value: f'printf("{place} %lu\\n", (unsigned long){place});'))

    def expected(self):
        return "".join(self.each(lambda place, value: f"{place} {value}\n"))


failed = 0
for seed in range(first, first + count):
    program = Program(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "random.c"
        path.write_text(program.text())
        built = subprocess.run([str(tree / "bin" / "tasukicc"), "-fcheck=bounds", str(path), "-o", f"{folder}/program"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=environment, timeout=120)
        output = built.stdout
        if built.returncode == 0:
            seen = subprocess.run([f"{folder}/program"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=60)
            output = seen.stdout
            if seen.returncode == 0 and output == program.expected():
                continue
        failed += 1
        kept = tempfile.NamedTemporaryFile(prefix=f"tasukicc-sections-{seed}-", suffix=".c", delete=False)
        kept.write(path.read_bytes())
        wrong = [f"{s} is expected, {o} is there" for s, o in zip(program.expected().splitlines(), output.splitlines()) if s != o]
        print(f"FAIL seed {seed}: {kept.name}\n" + "\n".join(wrong[:5] if built.returncode == 0 else [output[:2000]]), flush=True)
print(f"{count} programs, {failed} failures")
sys.exit(1 if failed else 0)
