#!/usr/bin/env python3
"""lower.py: reads LLVM IR from standard input and writes it with structures copied and cleared member by member.

The checker wants every place of memory read by accesses of the size by which it was written. Compilers copy a structure as bytes (memcpy,
memset); this makes loads and stores of its members of that, as an optimising compiler does.
"""
import re
import sys

types = {}
MOST = 600  # members


def split(text):
    """The parts of a list, which may be lists."""
    parts, depth, begin, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        quoted ^= c == '"'
        if quoted:
            continue
        depth += c in '[{<(' and 1 or c in ']}>)' and -1
        if c == ',' and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    rest = text[begin:].strip()
    return parts + [rest] if rest else parts


def members(kind):
    """[(path, type)] of all that is no structure or array."""
    kind = types.get(kind, kind)
    if kind.endswith('*') or re.fullmatch(r'i\d+|double|float|ptr', kind):
        return [([], kind)]
    if array := re.fullmatch(r'\[(\d+) x (.+)\]', kind):
        inner = members(array[2])
        if int(array[1]) * len(inner) > MOST:
            raise OverflowError
        return [([i] + path, leaf) for i in range(int(array[1])) for path, leaf in inner]
    if structure := re.fullmatch(r'<?\{(.*)\}>?', kind):
        parts = split(structure[1])
        fill = [bool(re.fullmatch(r'\[[1-7] x i8\]', part)) and (kind[0] == '<' or part is parts[-1]) for part in parts]
        found = [([i] + path, leaf) for i, part in enumerate(parts) if not fill[i] for path, leaf in members(part)]
        if len(found) > MOST:
            raise OverflowError
        return found
    raise ValueError(kind)


def lowered(number, to, origin):
    """What stands for the copy of `origin` (None: zeros) to `to`, both (type, value)."""
    lines = []
    for i, (path, leaf) in enumerate(members(to[0])):
        name = f'%lowered.{number}.{i}'
        index = ''.join(f', i32 {p}' for p in [0] + path)
        value = 'null' if leaf.endswith('*') else '0.0' if leaf in ('double', 'float') else '0'
        if origin is not None:
            value = f'{name}.value'
            lines.append(f'  {name}.from = getelementptr inbounds {origin[0]}, {origin[0]}* {origin[1]}{index}')
            lines.append(f'  {value} = load {leaf}, {leaf}* {name}.from')
        lines.append(f'  {name}.to = getelementptr inbounds {to[0]}, {to[0]}* {to[1]}{index}')
        lines.append(f'  store {leaf} {value}, {leaf}* {name}.to')
    return lines


def main():
    text = sys.stdin.read().split('\n')
    for line in text:
        if named := re.fullmatch(r'(%.+) = type (.+)', line):
            types[named[1]] = named[2]
    known = {}
    for number, line in enumerate(text):
        if line.startswith('define'):
            known = {}
        if cast := re.match(r' +(%\S+) = bitcast (.+)\* (%\S+|@\S+) to i8\*', line):
            known[cast[1]] = (cast[2], cast[3])
        constant = r'bitcast \((.+?)\* (@(?:"[^"]+"|[^ ,()]+)) to i8\*\)'
        copy = re.match(r' +call void @llvm\.mem(cpy|set)\.\S+?\(i8\*(?: align \d+)? (%[^, ]+|' + constant + r'), '
                        r'(?:i8\*(?: align \d+)? (%[^, ]+|' + constant + r')|i8 0),', line)
        if copy:
            to = known.get(copy[2]) or (copy[3] and (copy[3], copy[4]))
            origin = None
            if copy[1] == 'cpy':
                origin = known.get(copy[5]) or (copy[6] and (copy[6], copy[7]))
            try:
                if to and (copy[1] == 'set' or (origin and origin[0] == to[0])):
                    print('\n'.join(lowered(number, to, origin)))
                    continue
            except (OverflowError, ValueError):
                pass
        print(line)


main()
