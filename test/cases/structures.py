#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose functions take and return structures by chance, with numbers between them: where the numbers are is the
compiler's word, what they are is known.

usage: structures.py make SEED [--cxx] >PROGRAM.c
       structures.py check SEED [--cxx] <CALLS     what devtrace -A prints of it: nothing that it shows may be another value
"""
import random
import re
import sys

FUNCTIONS = 60
SCALARS = {'char': 1, 'signed char': 1, 'short': 2, 'int': 4, 'long': 8, 'float': 4, 'double': 8, 'unsigned char': 1, '_Bool': 1, 'void *': 8,
           'long double': 16, '__int128': 16, 'v8': 8, 'v16': 16, 'v32': 32, '_Complex float': 8, '_Complex double': 16, 'enum e': 4}
PLAIN = ['signed char', 'short', 'int', 'long', 'float', 'double', 'unsigned char']
HEAD = '''typedef float v8 __attribute__((vector_size(8)));
typedef float v16 __attribute__((vector_size(16)));
typedef double v32 __attribute__((vector_size(32)));
enum e { ZERO, MANY = 1 << 20 };
'''


class Type:
    """name; members: [(name, type, elements or 0, bits or 0)]; sure: it is known where what comes behind it is, and value
    whether what is in it is to be compared"""

    def __init__(self, name, kind='', members=(), packed=False, owned=False, base=None):
        self.name, self.kind, self.members, self.packed, self.owned, self.base = name, kind, list(members), packed, owned, base

    def all(self):
        return ([('', self.base, 0, 0)] if self.base else []) + self.members

    def sure(self):
        if not self.members and not self.base:
            return self.name != 'v32'
        return all(t.sure() for _, t, _, _ in self.all())

    def value(self):
        if self.kind == 'union' or self.base or self.owned:
            return False
        if not self.members:
            return self.name in PLAIN
        return all(t.value() for _, t, _, _ in self.members)


class Made:
    def __init__(self, seed, cxx):
        self.rng, self.cxx, self.text, self.n = random.Random(seed), cxx, [], 0
        names = [n for n in SCALARS if not (cxx and n.startswith('_'))]
        self.scalars = [Type(n) for n in names]
        self.plain = [t for t in self.scalars if t.name in PLAIN]
        self.types = []
        for i in range(FUNCTIONS):
            self.types.append(self.structure(i))
        self.calls = [self.function(i) for i in range(FUNCTIONS)]

    def structure(self, i):
        rng = self.rng
        kind = 'union' if rng.random() < 0.12 else 'struct'
        few = self.plain if rng.random() < 0.6 else self.scalars
        members = []
        for k in range(rng.choice([1, 1, 2, 2, 2, 3, 4, 6])):
            t = rng.choice(few)
            if self.types and rng.random() < 0.15 and not (self.cxx and kind == 'union'):
                t = rng.choice(self.types)
            n = rng.randrange(1, 4) if rng.random() < 0.15 else 0
            bits = rng.randrange(1, 9 * {'int': 3, 'long': 5}.get(t.name, 0) + 1) if t.name in ('int', 'long') and not n and rng.random() < 0.25 else 0
            members.append((f'm{k}', t, n, bits))
        packed = rng.random() < 0.1
        owned = self.cxx and kind == 'struct' and rng.random() < 0.12
        base = rng.choice(self.types) if self.cxx and kind == 'struct' and self.types and rng.random() < 0.15 else None
        base = None if base and base.kind == 'union' else base
        t = Type(f'{kind} s{i}', kind, members, packed, owned, base)
        lines = ''.join(f'\t{m.name} {name}{f"[{n}]" if n else ""}{f" : {bits}" if bits else ""};\n' for name, m, n, bits in members)
        if owned:
            lines += f'\ts{i}() {{ }}\n\ts{i}(const s{i} &x) {{ __builtin_memcpy((void *)this, &x, sizeof(x)); }}\n\t~s{i}() {{ }}\n'
        self.text.append(f'{kind} {"__attribute__((packed)) " if packed else ""}s{i}{f" : {base.name[7:]}" if base else ""} {{\n{lines}}};\n')
        return t

    def number(self, t, bits=0):
        """a small one that the type can hold, another each time as far as it can"""
        self.n += 1
        if t.name == 'char':
            return 65 + self.n % 26  # a letter: nothing that split() takes for more
        top = {'_Bool': 2, 'enum e': 1}.get(t.name, 100)
        return self.n % min(top, 1 << (bits - 1) if bits else top)

    def fill(self, t, where, out):
        """assignments to all in it; what devtrace is to show, or None"""
        if not t.members:
            n = self.number(t)
            if t.name == 'void *':
                out.append(f'{where} = (void *){n}l;')
            elif t.name.startswith('v'):
                out.append(f'{where}[0] = {n};')
            else:
                out.append(f'{where} = ({t.name}){n};')
            return str(n)
        shown = []
        for name, m, n, bits in t.members if t.kind == 'struct' else t.members[:1]:
            if n:
                shown.append(f'{name}={{' + ', '.join(self.fill(m, f'{where}.{name}[{i}]', out) for i in range(n)) + '}')
            elif bits:
                v = self.number(m, bits)
                out.append(f'{where}.{name} = {v};')
                shown.append(f'{name}={v}')
            else:
                shown.append(f'{name}=' + self.fill(m, f'{where}.{name}', out))
        return '{' + ', '.join(shown) + '}'

    def function(self, i):
        """its parameters, in order: (name, type, what it is to be shown as)"""
        rng, out, parameters = self.rng, [], []
        result = rng.choice(self.scalars) if rng.random() < 0.25 else self.types[i]
        wants = [result] + ([rng.choice(self.types + self.scalars)] if rng.random() < 0.5 else [])
        for k, t in enumerate(wants):
            for name, number in rng.sample([(f'l{k}', self.scalars_named('long')), (f'd{k}', self.scalars_named('double'))], rng.choice([1, 2])):
                parameters.append((name, number))
            parameters.append((f'a{k}', t))
        parameters += [('l9', self.scalars_named('long')), ('d9', self.scalars_named('double'))]
        words = ', '.join(f'{t.name} {name}' for name, t in parameters)
        kept = ' '.join(f'__asm__ volatile("" : : "m"({name}));' for name, _ in parameters)
        self.text.append(f'__attribute__((noinline)) {result.name} f{i}({words})\n{{\n\t{kept}\n\treturn a0;\n}}\n')
        shown = []
        for name, t in parameters:
            self.text.append(f'static {t.name} x{i}_{name};\n')
            shown.append((name, t, self.fill(t, f'x{i}_{name}', out)))
        self.text.append(f'static void call{i}(void)\n{{\n\t' + '\n\t'.join(out) + f'\n\tf{i}(' + ', '.join(f'x{i}_{name}' for name, _ in parameters) + ');\n}\n')
        return shown

    def scalars_named(self, name):
        return next(t for t in self.scalars if t.name == name)

    def program(self):
        calls = ''.join(f'\tcall{i}();\n' for i in range(FUNCTIONS))
        return HEAD + ''.join(self.text) + f'int main(void)\n{{\n{calls}\treturn 0;\n}}\n'


def split(text):
    """at commas that are in no braces"""
    parts, depth = [''], 0
    for c in text:
        depth += (c in '{(') - (c in '})')
        if c == ',' and not depth:
            parts.append('')
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def check(made, lines):
    seen, known, unknown, shown, wrong = 0, 0, 0, 0, []
    for line in lines:
        m = re.search(r' f(\d+)\((.*)\)(?: = (.*))?$', line.rstrip())
        if not m:
            continue
        seen += 1
        wants = made.calls[int(m[1])]
        a0 = next((t, want) for name, t, want in wants if name == 'a0')
        sure = a0[0].sure()
        for text, (name, t, want) in zip(split(m[2]), wants):
            is_name, _, value = text.partition('=')
            structure = bool(t.members)
            sure = sure and t.sure()
            if is_name != name:
                wrong.append(f'f{m[1]}: {text}: not {name}')
            elif value == '?':
                unknown += name[0] in 'ld' and sure
            elif name[0] in 'ld':
                known += 1
                if value != want:
                    wrong.append(f'f{m[1]}: {text}, not {want}: {line.strip()}')
            elif structure and t.value():
                shown += 1
                if value != want:
                    wrong.append(f'f{m[1]}: {text}, not {want}')
        if m[3] and '{' in m[3] and a0[0].value():
            shown += 1
            if m[3] != a0[1]:
                wrong.append(f'f{m[1]}: result {m[3]}, not {a0[1]}')
    print(f'{seen} calls, {known} numbers, {unknown} more that could be known, {shown} structures')
    for w in wrong:
        print(w)
    return 1 if wrong or seen < FUNCTIONS // 2 or known < seen or 5 * unknown > known or shown < 5 else 0


def main():
    made = Made(sys.argv[2], '--cxx' in sys.argv)
    if sys.argv[1] == 'make':
        print(made.program())
        return 0
    return check(made, sys.stdin)


if __name__ == '__main__':
    sys.exit(main())
