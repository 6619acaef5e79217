#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that go back and forth between stacks, by chance, and no record tells of a change: all calls are known.

usage: stacks.py make SEED >TEXT         for writetrace
       stacks.py check SEED <CALLS       lines "thread|function|begin|end" of those that returned
"""
import random
import sys


class Made:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.text, self.calls = ['clock 0 0', 'clock 20000000 10000000'], []
        names = [f'f{i}' for i in range(6)]
        threads = list(range(1, rng.randrange(2, 5)))
        far = rng.choice([1 << 36, 1 << 20, 40000, 28000])  # from stack to stack: more than a call's frame may have
        self.text += [f'thread {t} t{t}' for t in threads] + [f'function {n}' for n in names]
        tick, stacks = 1000, {t: [[] for _ in range(rng.randrange(1, 6))] for t in threads}
        order = {t: rng.sample(range(len(stacks[t])), len(stacks[t])) for t in threads}
        now = {t: 0 for t in threads}
        for _ in range(rng.randrange(100, 1200)):
            t = rng.choice(threads)
            if rng.random() < 0.2:
                now[t] = rng.randrange(len(stacks[t]))
            s = stacks[t][now[t]]
            tick += rng.randrange(1, 90)
            self.text.append(f'at 0 {t}')
            if s and (rng.random() < 0.48 or len(s) > 12):
                name, sp, begin = s.pop()
                self.text.append(f'X {name} {sp:#x} {tick}')
                self.calls.append((t, name, begin, tick))
            else:
                sp = (s[-1][1] if s else 0x100000000000 * t + far * order[t][now[t]]) - 16 * rng.randrange(1, 40)
                s.append((rng.choice(names), sp, tick))
                self.text.append(f'E {s[-1][0]} {sp:#x} {tick} 1 2')


made = Made(sys.argv[2])
if sys.argv[1] == 'make':
    print('\n'.join(made.text))
    sys.exit(0)
got = set()
for line in sys.stdin:
    thread, name, begin, end = line.strip().split('|')
    got.add((int(thread), name, int(begin), int(end)))
want = set(made.calls)
for what, calls in ('missing', want - got), ('too many', got - want):
    for x in sorted(calls, key=lambda c: c[2])[:5]:
        print(what, x)
sys.exit(got != want or len(want) < 20)
