#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what test/programs/again.c has said with what `devtrace sql` says of the trace.

usage: again.py DEVTRACE TRACE SAID [HOW...]
inner     the program's numbers are those of another PID namespace: only how many threads made how many calls is compared
switches  the switches to each thread lie around its calls, and there are some
vfork     a vfork's child has made one call of work() before it executed
Says how many threads there were, of how many numbers; on differences, the first of them, and exits with 1.
"""
import collections
import csv
import io
import subprocess
import sys

dt, trace, said, *how = sys.argv[1:]
MOST = 20e6  # ns between a thread's first or last call and a switch to it


def ask(query):
    out = subprocess.run([dt, 'sql', '--csv', trace, query], capture_output=True, text=True, check=True)
    return list(csv.DictReader(io.StringIO(out.stdout)))


bad = []
threads = {t['thread']: t for t in ask('SELECT thread, process, name, number FROM threads')}
processes = {p['process']: p for p in ask('SELECT process, number, begin, "end" FROM processes')}
calls = collections.Counter()
span = {}
for c in ask('SELECT thread, process, function, begin, "end", duration FROM calls ORDER BY begin'):
    t, begin, end = c['thread'], int(c['begin']), int(c['end'] or c['begin'])
    calls[t] += c['function'] == 'work'
    span[t] = (span[t][0], max(span[t][1], end)) if t in span else (begin, end)
    if not c['duration'] and c['function'] != 'stay':
        bad.append(f'a call of {c["function"]} in thread {t} has no end')
    p = processes.get(c['process'])
    if p is None:
        bad.append(f'process {c["process"]} of thread {t} is not there')
    elif p['end'] and begin > int(p['end']):
        bad.append(f'thread {t} makes a call after the end of its process {c["process"]}')

want = collections.defaultdict(list)
for line in open(said, encoding='ascii'):
    number, process, name, n = line.split()
    want[number].append((process, name, int(n)))
got = collections.defaultdict(list)
for t in sorted(span, key=span.get):
    got[threads[t]['number']].append((processes[threads[t]['process']]['number'], threads[t]['name'], calls[t]))

if 'inner' in how:
    a = collections.Counter(n for x in want.values() for _, _, n in x)
    if a != collections.Counter(calls[t] for t in span):
        bad.append(f'said {a}, seen {collections.Counter(calls[t] for t in span)}')
else:
    for number in sorted(want | got, key=int):
        a, b = want[number], got[number]
        if len(a) != len(b):
            bad.append(f'number {number}: said {a}, seen {b}')
        for x, y in zip(a, b):
            # a name is of the time at which the thread was first seen: it may be the one it was made with
            if x[0] != y[0] or x[2] != y[2] or y[1] not in (x[1], '', 'again', 'exe', 'child') and x[1] != '?':
                bad.append(f'number {number}: said {x}, seen {y}')
if 'switches' in how:
    seen, late = collections.Counter(), []
    for s in ask('SELECT time, thread FROM switches WHERE thread IS NOT NULL'):
        t = s['thread']
        seen[t] += 1
        if t in span and t != threads[t]['process'] and not span[t][0] - MOST < int(s['time']) < span[t][1] + MOST:
            late.append(f'thread {t} comes to a core at {s["time"]}; its calls are in {span[t]}')
    # a thread may lose its core between its last call and its end
    if len({line.split()[1] for line in late}) > len(span) / 100:
        bad += late
    bad += [f'no switch to thread {t}' for t in span if not seen[t]]
for line in bad[:10]:
    print(line)
n = sum(map(len, want.values()))
print(f'{n} threads, {len(want)} numbers' + (f', {len(bad)} differences' if bad else ''))
sys.exit(bool(bad))
