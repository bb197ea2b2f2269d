#!/usr/bin/env python3
"""Random programs of XcalableMP C compute what a sequential model computes.

    coarray_global.py --tree build --mpi openmpi --seed N --seconds S [--keep FOLDER]

A program has node arrays, templates and distributed arrays of one to three dimensions: block, cyclic, block-cyclic and gblock, permuted and
shifted alignments, replicated dimensions, single elements, shadows. It assigns sections with `array`, divides loops, moves sections with
gmove, reflects and reads shadows, reduces and broadcasts variables, parameters among them, and puts and gets sections of coarrays. Now and
then, and at the end, every element on every node that has it is compared with what is computed here, one element after the other.
A program that differs is kept, and its seed printed: with that seed and `--seconds 0` it is made again.
"""
import argparse
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

TYPES = {"unsigned": 2**32, "unsigned short": 2**16, "double": 0}
INDEX = "ijk"


class Template:
    """Dimension 0 is the first in parentheses. formats: (text, is it distributed, may it have shadows)."""

    def __init__(self, r, number, nodes):
        self.name, self.nodes = f"t{number}", nodes
        free = r.choice([0, 0, 0, 1]) if len(nodes.sizes) < 3 else 0
        kinds = [True] * len(nodes.sizes) + [False] * free
        r.shuffle(kinds)
        self.lower, self.upper, self.formats, self.maps = [], [], [], ""
        node = 0
        for k, distributed in enumerate(kinds):
            size, lower = r.randint(3, 11), r.choice([0, 0, 0, 1, 3, -2])
            self.lower.append(lower), self.upper.append(lower + size - 1)
            if not distributed:
                self.formats.append(("*", False, False))
                continue
            count = nodes.sizes[node]
            node += 1
            kind = r.choice(["block", "block", "width", "cyclic", "dealt", "gblock"])
            if kind == "block":
                self.formats.append(("block", True, True))
            elif kind == "width":
                self.formats.append((f"block({-(-size // count) + r.choice([0, 0, 1, 2])})", True, True))
            elif kind == "cyclic":
                self.formats.append(("cyclic", True, False))
            elif kind == "dealt":
                self.formats.append((f"cyclic({r.randint(1, 4)})", True, False))
            else:
                cuts = sorted(r.randint(0, size) for _ in range(count - 1))
                sizes = [b - a for a, b in zip([0] + cuts, cuts + [size])]
                name = f"map{number}_{k}"
                self.maps += f"static const int {name}[{count}] = {{{', '.join(map(str, sizes))}}};\n"
                self.formats.append((f"gblock({name})", True, True))

    def text(self):
        shape = ",".join(f"{a}:{b}" for a, b in zip(self.lower, self.upper))
        return (f"{self.maps}#pragma xmp template {self.name}({shape})\n"
                f"#pragma xmp distribute {self.name}({','.join(f[0] for f in self.formats)}) onto {self.nodes.name}\n")


class Nodes:
    def __init__(self, r, number, ranks):
        self.name = f"p{number}"
        self.sizes = [ranks]
        while len(self.sizes) < 3 and r.random() < .6:
            k = r.randrange(len(self.sizes))
            divisors = [d for d in range(1, self.sizes[k] + 1) if self.sizes[k] % d == 0]
            d = r.choice(divisors)
            self.sizes[k:k + 1] = [d, self.sizes[k] // d]


class Array:
    """with_: by dimension, the template's dimension or None; offset: what is added; one: by template dimension, an element or None."""

    def __init__(self, r, number, template):
        self.name, self.t = f"a{number}", template
        self.type = r.choice(["unsigned"] * 4 + ["double", "unsigned short"])
        dims = list(range(len(template.lower)))
        r.shuffle(dims)
        aligned = dims[:r.choice([len(dims)] * 3 + [max(1, len(dims) - 1)])]
        self.with_ = list(aligned)
        if len(self.with_) < 3 and r.random() < .25:
            self.with_.insert(r.randrange(len(self.with_) + 1), None)
        self.one = [None] * len(template.lower)
        for k in dims:
            if k not in aligned and r.random() < .4:
                self.one[k] = r.randint(template.lower[k], template.upper[k])
        self.extent, self.offset, self.shadow = [], [], []
        for k in self.with_:
            if k is None:
                self.extent.append(r.randint(2, 4)), self.offset.append(0), self.shadow.append((0, 0))
                continue
            size = template.upper[k] - template.lower[k] + 1
            extent = r.choice([size, size, size, max(1, size - 1), max(1, size - 2)])
            self.extent.append(extent)
            self.offset.append(template.lower[k] + r.randint(0, size - extent))
            self.shadow.append((r.randint(0, 2), r.randint(0, 2)) if template.formats[k][2] and r.random() < .4 else (0, 0))
        self.kind = r.choice(["file", "file", "file", "automatic"])
        self.value = {x: 0 for x in self.all()}

    def all(self):
        return itertools.product(*(range(e) for e in self.extent))

    def store(self, x, value):
        self.value[x] = value % TYPES[self.type] if TYPES[self.type] else value

    def text(self):
        shape = "".join(f"[{e}]" for e in self.extent)
        source = "".join("[*]" if k is None else f"[{INDEX[d]}]" for d, k in enumerate(self.with_))
        target = []
        for k, one in enumerate(self.one):
            if k in self.with_:
                d = self.with_.index(k)
                target.append(shifted(INDEX[d], self.offset[d]))
            else:
                target.append("*" if one is None else str(one))
        result = f"{self.type} {self.name}{shape};\n#pragma xmp align {self.name}{source} with {self.t.name}({','.join(target)})\n"
        if any(s != (0, 0) for s in self.shadow):
            result += f"#pragma xmp shadow {self.name}" + "".join(f"[{a}:{b}]" for a, b in self.shadow) + "\n"
        return result

    def alike(self, other):
        """The same elements of both are on the same nodes."""
        return (self.t is other.t and self.with_ == other.with_ and self.one == other.one and
                self.offset == other.offset and self.extent == other.extent)


def shifted(name, offset):
    return name if offset == 0 else f"{name}{offset:+d}"


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.seed, self.ranks = seed, r.choice([1, 2, 2, 3, 4, 4, 5, 6])
        self.nodes = [Nodes(r, n, self.ranks) for n in range(r.randint(1, 2))]
        self.templates = [Template(r, n, r.choice(self.nodes)) for n in range(r.randint(1, 3))]
        self.arrays = []
        for n in range(r.randint(3, 6)):
            made = Array(r, n, r.choice(self.templates))
            # Some that are alike, so that one can be computed from the other.
            if self.arrays and r.random() < .5:
                like = r.choice(self.arrays)
                made.t, made.with_, made.one, made.extent, made.offset = like.t, like.with_, like.one, like.extent, like.offset
                made.shadow = [(r.randint(0, 2), r.randint(0, 2)) if k is not None and like.t.formats[k][2] and r.random() < .5
                               else (0, 0) for k in like.with_]
                made.value = {x: 0 for x in made.all()}
            self.arrays.append(made)
        # Of all nodes alike, and of each node its own.
        self.local = {x: 0 for x in itertools.product(range(12), range(6))}
        self.own = [{x: 0 for x in range(10)} for _ in range(self.ranks)]
        self.coarray = [{x: 0 for x in itertools.product(range(5), range(6))} for _ in range(self.ranks)]
        self.lines, self.checks = [], 0

    # ---- parts of statements

    def number(self):
        return self.r.randrange(100)

    def section(self, extent):
        """lower, count, stride"""
        r = self.r
        if r.random() < .3:
            return 0, extent, 1
        lower, stride = r.randrange(extent), r.choice([1, 1, 1, 2, 3, -1, -2])
        most = (extent - lower + stride - 1) // stride if stride > 0 else lower // -stride + 1
        return lower, r.randint(1, most), stride

    def section_text(self, extent, s):
        lower, count, stride = s
        if s == (0, extent, 1) and self.r.random() < .6:
            return "[:]"
        return f"[{lower}:{count}" + (f":{stride}" if stride != 1 or self.r.random() < .1 else "") + "]"

    def subscripts(self, extents):
        """One of (section) or index for each dimension; at least one section."""
        forced = self.r.randrange(len(extents))
        return [self.section(e) if d == forced or self.r.random() < .75 else self.r.randrange(e) for d, e in enumerate(extents)]

    def text_of(self, name, extents, parts):
        return name + "".join(f"[{p}]" if isinstance(p, int) else self.section_text(e, p) for e, p in zip(extents, parts))

    @staticmethod
    def elements(parts):
        """Their indices in order."""
        return list(itertools.product(*([p] if isinstance(p, int) else [p[0] + q * p[2] for q in range(p[1])] for p in parts)))

    def matching(self, extents, counts, slack=None):
        """Subscripts of an array of these extents with sections of these lengths in this order; None."""
        places = [d for d in range(len(extents))]
        if len(counts) > len(places):
            return None
        chosen = sorted(self.r.sample(places, len(counts)))
        parts, n = [], 0
        for d, e in enumerate(extents):
            if d not in chosen:
                parts.append(self.r.randrange(e))
                continue
            count = counts[n]
            n += 1
            if count > e:
                return None
            strides = [s for s in (1, 1, 2, -1) if (count - 1) * abs(s) < e]
            stride = self.r.choice(strides)
            span = (count - 1) * abs(stride)
            low = self.r.randint(0, e - 1 - span)
            parts.append((low if stride > 0 else low + span, count, stride))
        return parts

    def reference(self, template, subscripts):
        """`subscripts` by dimension: an index, (lower, upper, stride), ":" or "*"; in parentheses or brackets."""
        if self.r.random() < .3:
            def one(s):
                if isinstance(s, tuple):
                    lower, upper, stride = s
                    return f"{lower}:{(upper - lower) // stride + 1}" + (f":{stride}" if stride != 1 else "")
                return str(s)
            return template.name + "".join(f"[{one(s)}]" for s in reversed(subscripts))

        def one(s):
            return f"{s[0]}:{s[1]}" + (f":{s[2]}" if s[2] != 1 else "") if isinstance(s, tuple) else str(s)
        return f"{template.name}({','.join(map(one, subscripts))})"

    def value_text(self, array):
        return "(unsigned long)" if TYPES[array.type] else ""

    # ---- statements

    def array(self):
        r, a = self.r, self.r.choice(self.arrays)
        parts = self.subscripts(a.extent)
        on = []
        for k in range(len(a.t.lower)):
            if k not in a.with_:
                on.append(":" if a.one[k] is None or r.random() < .5 else a.one[k])
                continue
            d = a.with_.index(k)
            p = parts[d]
            if isinstance(p, int):
                on.append(p + a.offset[d])
            elif r.random() < .4:
                on.append(":")
            else:
                begin = p[0] + a.offset[d]
                on.append((begin, begin + (p[1] - 1) * p[2], p[2]))
        counts = [p[1] for p in parts if not isinstance(p, int)]
        where = self.elements(parts)
        terms, values = [], [0] * len(where)
        for n in range(r.randint(1, 3)):
            sign = r.choice(["+", "+", "-", "*"]) if n and TYPES[a.type] else "+"
            text, operand = self.operand(a, parts, counts, where)
            terms.append((sign if n else "") + text)
            values = operand if n == 0 else [{"+": x + y, "-": x - y, "*": x * y}[sign] for x, y in zip(values, operand)]
            if sign == "*":
                break
        assign = r.choice(["=", "=", "=", "+="])
        if assign == "+=":
            values = [a.value[x] + v for x, v in zip(where, values)]
        text = "".join(terms) if "*" not in "".join(t[0] for t in terms) or len(terms) < 3 else self.grouped(terms)
        self.lines.append(f"#pragma xmp array on {self.reference(a.t, on)}\n  {self.text_of(a.name, a.extent, parts)} {assign} {text};")
        for x, v in zip(where, values):
            a.store(x, v)

    @staticmethod
    def grouped(terms):
        return "(" + "".join(terms[:-1]) + ")" + terms[-1]

    def operand(self, a, parts, counts, where):
        r = self.r
        kind = r.random()
        same = [b for b in self.arrays if b.alike(a) and bool(TYPES[b.type]) == bool(TYPES[a.type])]
        if kind < .5 and same:
            b = r.choice(same)
            return self.value_text(a) + self.text_of(b.name, b.extent, parts), [b.value[x] for x in where]
        if kind < .75 and TYPES[a.type]:
            found = self.matching((12, 6), counts)
            if found:
                return self.value_text(a) + self.text_of("local", (12, 6), found), [self.local[x] for x in self.elements(found)]
        value = self.number()
        return f"{value}" if not TYPES[a.type] else f"{value}ul", [value] * len(where)

    def loop(self):
        r, a = self.r, self.r.choice(self.arrays)
        same = [b for b in self.arrays if b.alike(a) and bool(TYPES[b.type]) == bool(TYPES[a.type])]
        b = r.choice(same)
        heads, ranges = "", []
        for d, e in enumerate(a.extent):
            lower, count, stride = self.section(e)
            ranges.append([lower + q * stride for q in range(count)])
            i, end = INDEX[d], lower + count * stride
            heads += f"for (int {i} = {lower}; {i} {'<' if stride > 0 else '>'} {end}; {i} += {stride}) "
        on = [(a.one[k] if a.one[k] is not None else "*") if k not in a.with_ else
              shifted(INDEX[a.with_.index(k)], a.offset[a.with_.index(k)]) for k in range(len(a.t.lower))]
        used = [INDEX[d] for d, k in enumerate(a.with_) if k is not None]
        index = "".join(f"[{INDEX[d]}]" for d in range(len(a.extent)))
        factors = [r.randint(1, 9) for _ in a.extent]
        position = " + ".join(f"{f} * {INDEX[d]}" for d, f in enumerate(factors))
        old = {x: b.value[x] for x in itertools.product(*ranges)}
        # A sum, unless one node's elements count on others, too.
        reduced = r.random() < .4 and TYPES[a.type] and all(one is None for one in a.one)
        clause = " reduction(+:sum)" if reduced else ""
        body = f"{a.name}{index} = {self.value_text(a)}{b.name}{index} + {position};"
        if reduced:
            body = f"{{ {body} sum += {a.name}{index}; }}"
            heads = "sum = 0;\n" + f"#pragma xmp loop ({','.join(used)}) on {self.reference(a.t, on)}{clause}\n  " + heads
        else:
            heads = f"#pragma xmp loop ({','.join(used)}) on {self.reference(a.t, on)}\n  " + heads
        self.lines.append(heads + body)
        for x in itertools.product(*ranges):
            a.store(x, old[x] + sum(f * i for f, i in zip(factors, x)))
        if reduced:
            total = sum(a.value[x] for x in itertools.product(*ranges)) % 2**64
            self.lines.append(f"  CHECK(sum == {total}ul, \"sum\");")

    def gmove(self):
        r, a = self.r, self.r.choice(self.arrays)
        parts = self.subscripts(a.extent)
        counts = [p[1] for p in parts if not isinstance(p, int) and p[1] > 1]
        where = self.elements(parts)
        left = self.text_of(a.name, a.extent, parts)
        others = [b for b in self.arrays if b.type == a.type]
        b = r.choice(others)
        kind = r.random()
        if kind < .6:
            found = self.matching(b.extent, counts)
            if found and (b is not a or not set(self.elements(found)) & set(where)):
                mode = r.choice(["", "", "", " in", " out"])
                around = "xmp_sync_all(NULL);\n" if mode else ""
                right = self.text_of(b.name, b.extent, found)
                values = [b.value[x] for x in self.elements(found)]
                self.lines.append(f"{around}#pragma xmp gmove{mode}\n  {left} = {right};\n{around}")
                for x, v in zip(where, values):
                    a.store(x, v)
                return
        found = self.matching((12, 6), counts) if a.type == "unsigned" else None
        if found and kind < .8:
            self.lines.append(f"#pragma xmp gmove\n  {left} = {self.text_of('local', (12, 6), found)};")
            for x, v in zip(where, [self.local[y] for y in self.elements(found)]):
                a.store(x, v)
        elif found:
            self.lines.append(f"#pragma xmp gmove\n  {self.text_of('local', (12, 6), found)} = {left};")
            for x, v in zip(self.elements(found), [a.value[y] for y in where]):
                self.local[x] = v
        else:
            value = self.number()
            self.lines.append(f"#pragma xmp gmove\n  {left} = {value};")
            for x in where:
                a.store(x, value)

    def stencil(self):
        """a's shadow, read by b, which is alike."""
        r = self.r
        pairs = [(a, b) for a in self.arrays for b in self.arrays
                 if a is not b and a.alike(b) and a.type == b.type and any(s != (0, 0) for s in a.shadow)]
        if not pairs:
            return self.gmove()
        a, b = r.choice(pairs)
        shift = [r.randint(-s[0], s[1]) for s in a.shadow]
        ranges = [(max(0, -s), min(e, e - s)) for s, e in zip(shift, a.extent)]
        if any(x >= y for x, y in ranges):
            return self.gmove()
        on = [(a.one[k] if a.one[k] is not None else "*") if k not in a.with_ else
              shifted(INDEX[a.with_.index(k)], a.offset[a.with_.index(k)]) for k in range(len(a.t.lower))]
        self.lines.append(f"#pragma xmp reflect ({a.name})")
        if r.random() < .5:
            heads = "".join(f"for (int {INDEX[d]} = {x}; {INDEX[d]} < {y}; {INDEX[d]}++) " for d, (x, y) in enumerate(ranges))
            used = [INDEX[d] for d, k in enumerate(a.with_) if k is not None]
            index = "".join(f"[{INDEX[d]}]" for d in range(len(a.extent)))
            moved = "".join(f"[{shifted(INDEX[d], s)}]" for d, s in enumerate(shift))
            self.lines.append(f"#pragma xmp loop ({','.join(used)}) on {self.reference(a.t, on)}\n  {heads}{b.name}{index} = {a.name}{moved};")
        else:
            on = [(a.one[k] if a.one[k] is not None else ":") if k not in a.with_ else
                  (ranges[a.with_.index(k)][0] + a.offset[a.with_.index(k)],
                   ranges[a.with_.index(k)][1] - 1 + a.offset[a.with_.index(k)], 1) for k in range(len(a.t.lower))]
            left = [(x, y - x, 1) for x, y in ranges]
            right = [(x + s, y - x, 1) for (x, y), s in zip(ranges, shift)]
            self.lines.append(f"#pragma xmp array on {self.reference(a.t, on)}\n  {self.text_of(b.name, b.extent, left)} = "
                              f"{self.text_of(a.name, a.extent, right)};")
        for x in itertools.product(*(range(*one) for one in ranges)):
            b.store(x, a.value[tuple(i + s for i, s in zip(x, shift))])

    def variables(self):
        """reduction and bcast of what each node has of its own, as a variable or as a parameter."""
        r, base = self.r, self.number()
        where = r.choice(["plain", "fixed", "sized"])
        for node in range(self.ranks):
            self.own[node] = {x: (node + 1) * 7 + base * x for x in range(10)}
        self.lines.append(f"for (int x = 0; x < 10; x++) own[x] = (unsigned)xmp_node_num() * 7 + {base} * (unsigned)x;")
        kind = r.choice(["sum", "max", "bcast"])
        text = {"sum": "#pragma xmp reduction (+:own)", "max": "#pragma xmp reduction (max:own)", "bcast": "#pragma xmp bcast (own)"}[kind]
        sender = 0
        if kind == "bcast" and len(self.nodes[0].sizes) == 1 and r.random() < .7:
            sender = r.randrange(self.ranks)
            text += f" from {self.nodes[0].name}({sender + 1})"
        self.lines.append(text if where == "plain" else self.function(text, where))
        values = {x: {"sum": lambda all: sum(all) % 2**32, "max": max, "bcast": lambda all: all[sender]}[kind](
            [self.own[n][x] for n in range(self.ranks)]) for x in range(10)}
        self.own = [dict(values) for _ in range(self.ranks)]
        self.lines.append("".join(f"  CHECK(own[{x}] == {values[x]}u, \"own\");" for x in range(10)))

    def function(self, directive, where):
        name = f"f{len(self.functions)}"
        self.functions.append((f"static void {name}(unsigned own[10]) {{\n" if where == "fixed" else
                               f"static void {name}(int n, unsigned own[n * 2]) {{\n") + directive + "\n}\n")
        return f"{name}(own);" if where == "fixed" else f"{name}(5, own);"

    def remote(self):
        """A put or a get between two images."""
        r = self.r
        me, other = r.randrange(self.ranks), r.randrange(self.ranks)
        parts = self.subscripts((5, 6))
        found = self.matching((5, 6), [p[1] for p in parts if not isinstance(p, int)])
        if not found:
            return
        left, right = self.text_of("c", (5, 6), parts), self.text_of("c", (5, 6), found)
        put = r.random() < .5
        to, source = (other, me) if put else (me, other)
        values = [self.coarray[source][x] for x in self.elements(found)]
        image = f":[{other + 1}]"
        self.lines.append(f"if (xmp_node_num() == {me + 1}) {left}{image if put else ''} = {right}{'' if put else image};\n  xmp_sync_all(NULL);")
        for x, v in zip(self.elements(parts), values):
            self.coarray[to][x] = v

    # ---- checks

    def check(self, a):
        self.checks += 1
        name = f"expected{self.checks}"
        values = ", ".join(repr(float(v)) if not TYPES[a.type] else str(v) for v in (a.value[x] for x in a.all()))
        shape = "".join(f"[{e}]" for e in a.extent)
        self.tables.append(f"static const {a.type} {name}[] = {{{values}}};\n")
        flat = ""
        for d, e in enumerate(a.extent):
            flat = f"({flat}) * {e} + {INDEX[d]}" if flat else INDEX[d]
        heads = "".join(f"for (int {INDEX[d]} = 0; {INDEX[d]} < {e}; {INDEX[d]}++) " for d, e in enumerate(a.extent))
        index = "".join(f"[{INDEX[d]}]" for d in range(len(a.extent)))
        on = [(a.one[k] if a.one[k] is not None else "*") if k not in a.with_ else
              shifted(INDEX[a.with_.index(k)], a.offset[a.with_.index(k)]) for k in range(len(a.t.lower))]
        used = [INDEX[d] for d, k in enumerate(a.with_) if k is not None]
        self.lines.append(f"#pragma xmp loop ({','.join(used)}) on {self.reference(a.t, on)}\n  {heads}"
                          f"CHECK({a.name}{index} == {name}[{flat}], \"{a.name}\");")
        # All of it, whoever has it.
        self.lines.append(f"{{ {a.type} all{shape};\n#pragma xmp gmove\n  all{'[:]' * len(a.extent)} = {a.name}{'[:]' * len(a.extent)};\n"
                          f"  {heads}CHECK(all{index} == {name}[{flat}], \"{a.name} as a whole\"); }}")

    def text(self):
        self.functions, self.tables = [], []
        for a in self.arrays:
            for x in a.all():
                a.store(x, self.number())
            init = [(a.value[x]) for x in a.all()]
            self.lines.append(f"{{ static const {a.type} all{''.join(f'[{e}]' for e in a.extent)} = {{{self.nested(a, init)}}};\n"
                              f"#pragma xmp gmove\n  {a.name}{'[:]' * len(a.extent)} = all{'[:]' * len(a.extent)}; }}")
        self.lines.append("for (int x = 0; x < 12; x++) for (int y = 0; y < 6; y++) local[x][y] = (unsigned)(10 * x + y);")
        self.local = {(x, y): 10 * x + y for x, y in self.local}
        self.lines.append("for (int x = 0; x < 5; x++) for (int y = 0; y < 6; y++) c[x][y] = (unsigned)(100 * xmp_node_num() + 10 * x + y);\n"
                          "  xmp_sync_all(NULL);")
        self.coarray = [{(x, y): 100 * (n + 1) + 10 * x + y for x, y in c} for n, c in enumerate(self.coarray)]
        kinds = [self.array] * 5 + [self.loop] * 3 + [self.gmove] * 3 + [self.stencil] * 2 + [self.variables, self.remote]
        for n in range(24):
            self.r.choice(kinds)()
            if self.r.random() < .25:
                self.check(self.r.choice(self.arrays))
        for a in self.arrays:
            self.check(a)
        values = ", ".join(str(self.coarray[n][x]) for n in range(self.ranks) for x in itertools.product(range(5), range(6)))
        self.tables.append(f"static const unsigned expected_c[] = {{{values}}};\nstatic const unsigned expected_local[] = "
                           f"{{{', '.join(str(self.local[x]) for x in itertools.product(range(12), range(6)))}}};\n")
        self.lines.append("for (int x = 0; x < 30; x++) CHECK(c[x / 6][x % 6] == expected_c[(xmp_node_num() - 1) * 30 + x], \"c\");\n"
                          "  for (int x = 0; x < 72; x++) CHECK(local[x / 6][x % 6] == expected_local[x], \"local\");")
        files = "".join(a.text() for a in self.arrays if a.kind == "file")
        automatic = "".join(a.text() for a in self.arrays if a.kind == "automatic")
        body = "\n  ".join(self.lines)
        return ("#include <stdio.h>\n#include <xmp.h>\n"
                "static int bad;\n#define CHECK(good, what) \\\n  do { \\\n"
                "    if (!(good) && bad++ < 3) printf(\"FAIL line %d, node %d: %s\\n\", __LINE__, xmp_node_num(), what); \\\n  } while (0)\n" +
                "".join(f"#pragma xmp nodes {n.name}({','.join(map(str, n.sizes))})\n" for n in self.nodes) +
                "".join(t.text() for t in self.templates) + files +
                "static unsigned local[12][6], own[10], c[5][6]:[*];\nstatic unsigned long sum;\n" + "".join(self.tables) + "".join(self.functions) +
                f"int main(void) {{\n{automatic}  (void)sum;\n  {body}\n  return bad != 0;\n}}\n")

    @staticmethod
    def nested(a, values):
        for e in reversed(a.extent[1:]):
            values = ["{" + ", ".join(map(str, values[n:n + e])) + "}" for n in range(0, len(values), e)]
        return ", ".join(map(str, values))


def attempt(options, seed, folder):
    """What is wrong with the program of this seed; empty: nothing."""
    program = Program(seed)
    path = folder / f"coarray-{seed}.c"
    path.write_text(program.text())
    r = random.Random(f"{seed}/surroundings")
    env = {name: value for name, value in os.environ.items() if not name.startswith("TASUKI")}
    env.update({"MPICC": f"mpicc.{options.mpi}", "LC_ALL": "C", "TASUKI_COARRAY": r.choice(["auto", "auto", "host", "window"])})
    if os.getuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    bin = options.tree / "bin"
    compiled = [str(bin / "tasukicc"), "-w", *r.choice([[], ["-O2"], ["-fcheck=bounds"]]), str(path), "-o", str(folder / "program")]
    launched = [f"mpirun.{options.mpi}"] + (["--oversubscribe"] if options.mpi == "openmpi" else []) + ["-n", str(program.ranks)]
    launched += r.choice([[], [str(bin / "tasuki"), "run"] if (bin / "tasuki").exists() else []]) + [str(folder / "program")]
    for command, limit in ((compiled, 120), (launched, 90)):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, stdin=subprocess.DEVNULL,
                                  timeout=limit, cwd=folder, errors="replace")
        except subprocess.TimeoutExpired as late:
            return f"TASUKI_COARRAY={env['TASUKI_COARRAY']} {' '.join(command)}: not ended after {limit} s\n{late.output or ''}"
        if done.returncode != 0 or "FAIL" in done.stdout:
            return f"TASUKI_COARRAY={env['TASUKI_COARRAY']} {' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2500:]}"
    path.unlink()
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--keep", type=pathlib.Path, help="where programs that fail stay; default: the current folder")
    options = parser.parse_args()
    options.tree = options.tree.resolve()
    keep = (options.keep or pathlib.Path.cwd()).resolve()
    end, count, seed, failed = time.monotonic() + options.seconds, 0, options.seed, 0
    while count == 0 or time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            wrong = attempt(options, seed, folder)
            if wrong:
                failed += 1
                kept = keep / f"coarray-{seed}.c"
                kept.write_bytes((folder / f"coarray-{seed}.c").read_bytes())
                print(f"FAIL seed {seed} (--mpi {options.mpi} --seed {seed} --seconds 0): {kept}\n{wrong}", flush=True)
        count += 1
        seed += 1
    print(f"{count} programs from seed {options.seed}, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
