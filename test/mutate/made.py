#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes faults by chance, for mutate.py --list: a comparison one off, a sign turned, a call left out. Nobody has thought
of them, so how many the tests catch says how many they would of those that nobody has thought of; some change nothing
that anybody sees (a block that is not freed, a branch that is never taken), which a person has to sort out.

usage: made.py SEED N [PATH...] >LIST      of files whose path begins with a PATH, as git has them
       mutate.py --list LIST
"""
import collections
import os
import random
import re
import subprocess
import sys

ROOT = os.environ.get('DEVTRACE_ROOT') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# what in a line becomes what
CHANGES = [(r' < ', ' <= '), (r' > ', ' >= '), (r' <= ', ' < '), (r' >= ', ' > '), (r' == ', ' != '), (r' != ', ' == '), (r' && ', ' || '), (r' \|\| ', ' && '),
           (r' \+ ', ' - '), (r' - ', ' + '), (r'\+ 1\b', '+ 2'), (r'- 1\b', '- 2'), (r'\b0\b', '1'), (r'\b1\b', '0'), (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'),
           (r' \+= ', ' -= '), (r'\+\+', '--'), (r'!(?=[a-z(])', ''), (r' << ', ' >> '), (r' & ', ' | '), (r'\bcontinue;', 'break;'), (r'\bbreak;', 'continue;')]
# lines that are no code, or of which a fault would show nothing
NOTHING = re.compile(r'^\s*(\*|/\*|//|"|#|static |const |extern |case |default:|\})|free\(|alloc\(|no_memory|out of memory|assert')
CALL = re.compile(r'^\t+[a-z_0-9]+\(.*\);$|^\t+[^=]* [-+|&]?= [^=].*;$')
# what runs in traced processes has tests that take long, tables of other processors none here
LEFT_OUT = re.compile(r'^(test|bench|examples|python|packaging|kernel|bpf)/|/target/|aarch64|prototypes')


def tests_of(path):
    """Those nearest to a file: what golden.t prints, the unit tests that have its folder's functions, the cases of its name."""
    stem = os.path.basename(path)[:-2].split('-')[0]
    units = [f[:-2] for f in sorted(os.listdir(f'{ROOT}/test/unit')) if f.startswith('test-') and f.endswith('.c')
             and re.search(rf'"{re.escape(path[:-2])}\.h"', open(f'{ROOT}/test/unit/{f}').read())]
    cases = [f'cases/{stem}'] if os.path.exists(f'{ROOT}/test/cases/{stem}.bats') else []
    return ['golden/golden', *('unit/' + u for u in units), *cases]


def change(rng, line):
    """Another line in place of this one, or None."""
    if not line.startswith('\t') or NOTHING.search(line):
        return None
    if CALL.match(line) and rng.random() < 0.25:
        return line[:len(line) - len(line.lstrip('\t'))] + ';'
    able = [(m, by) for what, by in CHANGES for m in re.finditer(what, line)]
    if not able:
        return None
    m, by = rng.choice(able)
    return line[:m.start()] + by + line[m.end():]


def main():
    rng, n = random.Random(int(sys.argv[1])), int(sys.argv[2])
    names = subprocess.run(['git', 'ls-files', '*.c'], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    lines = []
    for name in names:
        if LEFT_OUT.search(name) or not (sys.argv[3:] == [] or name.startswith(tuple(sys.argv[3:]))):
            continue
        with open(f'{ROOT}/{name}') as f:
            text = f.read().split('\n')
        often = collections.Counter(text)
        lines += [(name, i, line) for i, line in enumerate(text, 1) if often[line] == 1]
    while n and lines:
        name, i, line = lines.pop(rng.randrange(len(lines)))
        new = change(rng, line)
        if new is None:
            continue
        n -= 1
        print(f'{name}: line {i}, by chance\ntests: {" ".join(tests_of(name))}\n-{line}\n+{new}\n')


if __name__ == '__main__':
    main()
