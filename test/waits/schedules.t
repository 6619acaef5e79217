#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Waits of calls, against made-up schedules whose waits are known: threads that run on some cores in turn, make calls there,
and wait. With all switches there, report, sql, and sql of each thread alone say exactly what was waited. Where switches of a
core are lost, each call has waited at least what is said, and at most `unseen' more; and one thread alone says the same.

usage: schedules.t [SEED]   SEEDS: how many of each kind (30)
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get('DEVTRACE_BUILD') or os.path.join(HERE, '..', '..', 'build')
DEVTRACE = os.path.abspath(os.path.join(BUILD, 'devtrace'))
WRITETRACE = os.path.abspath(os.path.join(HERE, '..', '..', 'build', 'test', 'tool', 'writetrace'))
NOBODY = 4294967295


class Schedule:
    """A trace's events, and what its calls waited."""

    def __init__(self, seed, gaps):
        self.random = random.Random(seed)
        self.cores = self.random.randint(1, 4)
        self.threads = range(1, self.random.randint(2, 6) + 1)
        self.events = []    # (ticks, core, thread, words)
        self.own, self.whole = {}, {}   # by function: what its calls waited themselves; by outermost call: all of its waits
        self.stack = {t: [] for t in self.threads}
        self.left, self.outermost = {}, {}
        self.run()
        self.events.sort(key=lambda e: e[0])
        self.text = self.write(gaps)

    def switch(self, ticks, core, thread):
        self.events.append((ticks, core, thread, f'S main 0 {ticks} {thread}'))

    def back(self, thread, ticks):
        begin = self.left.pop(thread, None)
        if begin is not None and self.stack[thread]:
            function, call = self.stack[thread][-1][0], self.outermost[thread]
            self.own[function] = self.own.get(function, 0) + ticks - begin
            self.whole[call] = self.whole.get(call, 0) + ticks - begin

    def enter_or_leave(self, thread, core, ticks):
        calls = self.stack[thread]
        if not calls or (len(calls) < 6 and self.random.random() < .5):
            function, sp = self.random.choice('fgh'), 0x7ff000 * (thread + 1) - 64 * len(calls)
            if not calls:
                self.outermost[thread] = (thread, ticks)
            calls.append((function, sp))
            self.events.append((ticks, core, thread, f'E {function} {sp} {ticks}'))
        else:
            function, sp = calls.pop()
            self.events.append((ticks, core, thread, f'X {function} {sp} {ticks}'))

    def run(self):
        r = self.random
        now, last = [1000] * self.cores, [None] * self.cores
        ready = {t: 1000 + r.randint(0, 500) for t in self.threads}
        for _ in range(400):
            core = min(range(self.cores), key=lambda c: now[c])
            able = [t for t in ready if ready[t] <= now[core] + 2000]
            if not able:
                now[core] += 500
                continue
            thread = r.choice(able)
            ticks = max(now[core], ready[thread]) + r.choice([0, r.randint(1, 50)])
            if last[core] is not None and ticks > last[core]:
                self.switch(last[core], core, NOBODY)
            self.back(thread, ticks)
            self.switch(ticks, core, thread)
            for _ in range(r.randint(1, 8)):
                ticks += r.randint(5, 300)
                self.enter_or_leave(thread, core, ticks)
            ticks += r.randint(5, 300)
            self.left[thread] = last[core] = now[core] = ticks
            ready[thread] = ticks + r.randint(0, 3000)
        for core, ticks in enumerate(last):
            if ticks:
                self.switch(ticks, core, NOBODY)
        end = max(e[0] for e in self.events) + 100
        for thread in self.threads:
            if self.stack[thread]:
                self.back(thread, end)
                self.switch(end, 0, thread)
                while self.stack[thread]:
                    end += 10
                    function, sp = self.stack[thread].pop()
                    self.events.append((end, 0, thread, f'X {function} {sp} {end}'))
                end += 10
                self.switch(end, 0, NOBODY)

    def write(self, gaps):
        """The events as writetrace wants them, without the switches of some times on some cores."""
        end = self.events[-1][0]
        begins = [(self.random.randrange(self.cores), self.random.randint(0, end)) for _ in range(gaps)]
        lost = [(core, begin, begin + self.random.randint(500, 8000)) for core, begin in begins]
        out = ['clock 0 0', 'clock 10000000 10000000', 'function main', 'function f', 'function g', 'function h', 'kinds']
        seen, gone, since = ([0] * self.cores for _ in range(3))
        for ticks, core, thread, words in self.events:
            if words[0] == 'S':
                if any(c == core and b <= ticks <= e for c, b, e in lost):
                    since[core] = since[core] if gone[core] else seen[core]
                    gone[core] += 1
                    continue
                if gone[core]:
                    out += [f'at {core} {thread}', f'unseen {gone[core]} {since[core]}']
                    gone[core] = 0
                seen[core] = ticks
            out += [f'at {core} {thread}', words]
        for core in range(self.cores):
            if gone[core]:
                out += [f'at {core} 1', f'unseen {gone[core]} {since[core]}']
        return '\n'.join(out) + '\n'


def run(*words, **how):
    return subprocess.run(words, text=True, capture_output=True, check=True, **how).stdout


def sql(trace, query):
    return [line.split() for line in run(DEVTRACE, 'sql', '-n', trace, query).splitlines()]


def exact(schedule, trace):
    """What is wrong where all switches are there; '': nothing."""
    report = {}
    for line in run(DEVTRACE, 'report', '--json', trace).splitlines():
        row = json.loads(line)
        if 'self_wait_ns' in row:
            report[row['function']] = row['self_wait_ns']
    query = 'SELECT function, sum(self_waited) FROM calls GROUP BY 1'
    together = {f: float(waited) for f, waited in sql(trace, query)}
    apart = {}
    for thread in schedule.threads:
        for f, waited in sql(trace, query.replace('GROUP', f'WHERE thread = {thread} GROUP')):
            apart[f] = apart.get(f, 0) + float(waited)
    for f in 'fgh':
        said = [report.get(f), together.get(f), apart.get(f)]
        if any(x is None or abs(x - schedule.own.get(f, 0)) > 1 for x in said):
            return f'{f}: report, sql, and sql by thread say {said}, not {schedule.own.get(f, 0)}'
    return ''


def bounded(schedule, trace):
    query = 'SELECT thread, begin_ticks, waited, unseen FROM calls WHERE parent IS NULL AND timed'
    together = sql(trace, query)
    for thread, begin, waited, unseen in together:
        truth = schedule.whole.get((int(thread), int(begin)), 0)
        if not float(waited) - 1 <= truth <= float(waited) + float(unseen) + 1:
            return f'thread {thread} at {begin}: waited {waited}, unseen {unseen}, but it was {truth}'
    apart = [row for thread in schedule.threads for row in sql(trace, f'{query} AND thread = {thread}')]
    if sorted(together) != sorted(apart):
        return f'by thread: {sorted(set(map(tuple, together)) ^ set(map(tuple, apart)))[:4]}'
    return '' if together else 'no calls'


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    n = int(os.environ.get('SEEDS', 30))
    print(f'1..2\n# seeds from {first}')
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 't.db')
        for number, (check, gaps, what) in enumerate([(exact, 0, 'waits are what they were'),
                                                     (bounded, 3, 'where switches are lost, at least and at most')], 1):
            wrong = ''
            for seed in range(first, first + n):
                schedule = Schedule(seed, gaps and 1 + seed % 4)
                run(WRITETRACE, trace, input=schedule.text)
                wrong = check(schedule, trace)
                if wrong:
                    print(f'# seed {seed}: {wrong}')
                    break
            print(f'{"not " if wrong else ""}ok {number} - {what}', flush=True)


main()
