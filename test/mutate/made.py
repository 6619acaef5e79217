#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes faults by chance, for mutate.py --list: a comparison one off, a sign turned, a call left out. Nobody has thought
of them, so how many the tests catch says how many they would of those that nobody has thought of; some change nothing
that anybody sees (a block that is not freed, a branch that is never taken), which a person has to sort out.

usage: made.py SEED N [PATH...] >LIST      of files whose path begins with a PATH, as git has them
       mutate.py --list LIST
"""
import bisect
import collections
import json
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
LEFT_OUT = re.compile(r'^(test|bench|examples|python|packaging|kernel|bpf|target)/|/target/|aarch64|prototypes')


# Tests of what a folder's files do, where a file's own name says nothing: quick ones first
NEAR = {'align/': 'cases/diff cases/merge', 'analyse/': 'cases/report cases/calls cases/waits. view/plots view/why', 'arch/': 'unit/test-plan unit/test-relocate known/probes cases/plans',
        'cmd/': 'cases/usage cases/wrong cases/terminal cases/json', 'core/': 'cases/ctl cases/patterns', 'elf/': 'cases/names cases/patterns cases/usdt found/found',
        'export/': 'cases/formats cases/export cases/perfetto cases/ctf cases/streams', 'filter/': 'cases/filter cases/sieve cases/sums', 'fleet/': 'cases/fleet cases/hosts',
        'hook/': 'cases/record cases/attach cases/switches cases/choosing cases/processes cases/rseq probe/probe', 'import/': 'cases/import. cases/import-tools cases/ctf',
        'instrument/': 'instrument/driver instrument/copy instrument/text instrument/matrix', 'library/': 'cases/library',
        'process/': 'cases/record cases/attach cases/processes cases/namespaces cases/confine cases/rights cases/limits', 'remote/': 'cases/remote cases/serve cases/hosts',
        'session/': 'cases/record cases/ctl cases/attach cases/sieve cases/sums cases/processes cases/choosing cases/session cases/until cases/names cases/points cases/budget cases/switches', 'show/': 'cases/calls cases/cat cases/report cases/arguments cases/failed cases/texts cases/constants',
        'sql/': 'cases/sql cases/library', 'store/': 'cases/check. cases/record cases/older cases/merge cases/cat cases/hostile', 'symbols/': 'cases/names cases/choosing cases/arguments cases/libcalls cases/plans cases/handed cases/texts cases/jit cases/debuginfod found/found',
        'view/': 'cases/view view/parts cases/hosts view/find view/heat view/range view/page'}
MAP = os.path.join(ROOT, 'build', 'lines-of-tests')  # what test/coverage/each.py has written
SECONDS = 90  # of the tests that a fault is tried with, as each.py has measured them
CASES = 30


def commands():
    """those of golden.t; their numbers begin with 1"""
    with open(f'{ROOT}/test/golden/commands') as f:
        return [line.strip() for line in f if line.strip() and not line.startswith('#')]


def known():
    """[(test, case, seconds, how many lines it runs, {file: lines})] of each.py's map"""
    if not os.path.exists(MAP):
        return []
    with open(MAP) as f:
        return [(test, case, seconds, sum(map(len, lines.values())), lines) for test, case, seconds, lines in map(json.loads, f)]


def by_lines(tests, path, line):
    """Those of each.py's map that run the line: of cases the ones that run little else, as long as there is time for more."""
    run = sorted({n for *_, lines in tests for n in lines.get(path, [])})
    before = run[bisect.bisect_right(run, line) - 1] if run and run[0] <= line else None
    able = [t for t in tests if before is not None and before in t[4].get(path, [])]
    whole = sorted((seconds, test) for test, case, seconds, *_ in able if not case)
    names = [re.sub(r'\.(bats|t)$', '', test) for seconds, test in whole if seconds < SECONDS]
    cases, left, n = collections.defaultdict(list), SECONDS, 0
    stem = os.path.basename(path)[:-2].split('-')[0]
    number = {c: i for i, c in enumerate(commands(), 1)}
    for test, case, seconds, many, lines in sorted((t for t in able if t[1] and (t[0].endswith('.bats') or t[1] in number)), key=lambda t: (stem not in t[0], t[3] / len(t[4][path]))):
        cost = seconds + (0 if cases[test] else 2)
        if n < CASES and cost <= left:
            left, n = left - cost, n + 1
            cases[test].append(str(number[case]) if test.endswith('.t') else re.sub(r'[^A-Za-z0-9]', '.', case))
        elif not cases[test]:
            del cases[test]
    return names + [f'{test}:{",".join(c)}' if test.endswith('.t') else f'{test}:^({"|".join(c)})$' for test, c in cases.items()]


# words in the commands of test/golden that run what is in a folder; of the others all do
GOLDEN = {'session/': r'^session', 'hook/': r'^session', 'process/': r'^session|^screen|import', 'instrument/': r'^#', 'import/': r'import|foreign', 'remote/': r'serve|fetch', 'view/': r'pages|view',
          'sql/': r'\bsql\b|merge', 'fleet/': r'merge', 'align/': r'merge|diff', 'export/': r'export|flame|plot', 'elf/': r'list|code|bare|^session', 'symbols/': r'list|code|bare|^session', 'arch/': r'code|bare|^session'}


def golden_of(path):
    """golden.t, or only the commands of it that are near"""
    if path.startswith('cmd/tui'):
        words = '^screen'
    elif path.startswith('cmd/'):
        word = re.escape(os.path.basename(path)[:-2].split('-')[0])
        words = rf'\b{word}s?\b' if any(re.search(rf'devtrace {word}\b', c) for c in commands()) else ''
    else:
        words = next((w for folder, w in GOLDEN.items() if path.startswith(folder)), '')
    numbers = [str(i) for i, c in enumerate(commands(), 1) if re.search(words, c)]
    return ['golden/golden' + (':' + ','.join(numbers) if words else '')] if numbers else []


def by_names(path):
    """What golden.t prints, the unit tests that have the file's header, the cases of its words, those of its folder."""
    words = os.path.basename(path)[:-2].split('-')
    units = []
    for f in sorted(os.listdir(f'{ROOT}/test/unit')):
        with open(f'{ROOT}/test/unit/{f}') as source:
            if f.startswith('test-') and f.endswith('.c') and re.search(rf'"{re.escape(path[:-2])}\.h"', source.read()):
                units.append('unit/' + f[:-2])
    near = [(f'test/unit/test-{w}.c', f'unit/test-{w}') for w in words] + [(f'test/{d}/{w}.{end}', f'{d}/{w}.')
            for w in words for w in (w, w + 's') for d, end in (('cases', 'bats'), ('view', 't'))]
    named = [name for file, name in near if os.path.exists(f'{ROOT}/{file}')]
    near = [n for folder, names in NEAR.items() if path.startswith(folder) for n in names.split()]
    return list(dict.fromkeys([*units, *golden_of(path), *named, *near]))


def tests_of(tests, path, line):
    """those that run the line, and those that are near by name, of which the map does not know what they run"""
    names = {test for test, *_ in tests}
    return by_lines(tests, path, line) + [n for n in by_names(path) if not any(t.startswith(n.split(':')[0]) for t in names)]


def change(rng, line):
    """Another line in place of this one, or None."""
    if not line.startswith('\t') or NOTHING.search(line):
        return None
    if CALL.match(line) and rng.random() < 0.25:
        return line[:len(line) - len(line.lstrip('\t'))] + '(void)0;'
    able = [(m, by) for what, by in CHANGES for m in re.finditer(what, line)]
    if not able:
        return None
    m, by = rng.choice(able)
    return line[:m.start()] + by + line[m.end():]


def main():
    rng, n = random.Random(int(sys.argv[1])), int(sys.argv[2])
    tests = known()
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
        print(f'{name}: line {i}, by chance\ntests: {" ".join(tests_of(tests, name, i))}\n-{line}\n+{new}\n')


if __name__ == '__main__':
    main()
