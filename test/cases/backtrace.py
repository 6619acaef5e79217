#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the stacks that record --backtrace keeps with those that gdb shows at a breakpoint of the same calls.

usage: backtrace.py DEVTRACE WORDS BREAKPOINT PROG [ARG]...      OPTIONS in the environment: of record (-l)
Prints how many stacks are equal, how deep the deepest is, and which are not. A stack of devtrace's ends at main.
Of gdb's frames those are left out that no return address leads to: what is inlined, and what has jumped away.
"""
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

GDB = '''
set pagination off
set confirm off
set breakpoint pending on
set debuginfod enabled off
handle SIGUSR1 SIGUSR2 nostop noprint pass
python
import gdb, json
out = open(%r, 'w')
def files():
    found = {}
    for line in gdb.execute('info proc mappings', to_string=True).splitlines():
        words = line.split()
        if len(words) >= 5 and words[-1].startswith('/'):
            found.setdefault(words[-1], []).append((int(words[0], 16), int(words[1], 16)))
    return found
class Break(gdb.Breakpoint):
    def stop(self):
        frames, known, f = [], files(), gdb.newest_frame().older()
        while f is not None and f.is_valid():
            if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                for path, parts in known.items():
                    if any(low <= f.pc() < high for low, high in parts):
                        frames.append((path.rsplit('/', 1)[-1], f.pc() - min(low for low, high in parts)))
            f = f.older()
        out.write(json.dumps(frames) + '\\n')
        out.flush()
        return False
end
python Break(%r)
run
'''


def ours(devtrace, words, program, file):
    options = os.environ.get('OPTIONS', '-l').split()
    subprocess.run([devtrace, 'record', *options, '--backtrace=' + words, '-o', file, *program], check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    db = sqlite3.connect(file)
    stacks = {}
    for (stack,) in db.execute('SELECT id FROM stack'):
        stacks[stack] = tuple((os.path.basename(path or '?'), address - (low or 0)) for address, low, path in db.execute(
            'SELECT s.address, m.base, m.path FROM stack_frame s LEFT JOIN function f '
            'ON f.id = s.function LEFT JOIN module m ON m.id = f.module WHERE s.stack = ? ORDER BY level', (stack,)))
    ended = collections.Counter(row[0] for row in db.execute(
        "SELECT ended FROM backtrace b JOIN stack s ON s.id = b.stack WHERE ended != ''"))
    return [stacks[row[0]] for row in db.execute('SELECT stack FROM backtrace ORDER BY ticks')], ended


def theirs(breakpoint, program, tmp):
    with open(os.path.join(tmp, 'commands'), 'w') as f:
        f.write(GDB % (os.path.join(tmp, 'frames'), breakpoint))
    subprocess.run(['gdb', '-nx', '-batch', '-x', os.path.join(tmp, 'commands'), '--args', *program], check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(os.path.join(tmp, 'frames')) as f:
        return [tuple(map(tuple, json.loads(line))) for line in f]


def main():
    devtrace, words, breakpoint, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        mine, ended = ours(devtrace, words, program, os.path.join(tmp, 'trace.db'))
        left = theirs(breakpoint, program, tmp)
    equal, bad = 0, []
    for stack in mine:
        for i, other in enumerate(left):
            if stack and other[:len(stack)] == stack:
                equal += 1
                del left[i]
                break
        else:
            bad.append(stack)
    print(f'{len(mine)} stacks, {equal} equal, deepest {max(map(len, mine), default=0)}')
    for text, n in sorted(ended.items()):
        print(f'{n} ended: {text}')
    for stack in bad[:5]:
        print('not in gdb:', stack)
    for stack in left[:20]:
        if not stack or stack[0][0] != 'ld-linux-x86-64.so.2':
            print('not in devtrace:', stack)
    return bool(bad)


sys.exit(main())
