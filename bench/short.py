#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What devtrace adds to short commands: wall time of `devtrace ls' and of recording a program that does nothing, with memos,
beside `ls' alone; of several devtraces in turn, medians.
usage: short.py [ROUNDS] DEVTRACE..."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

rounds = int(sys.argv[1]) if sys.argv[1].isdigit() else 21
builds = sys.argv[2 if sys.argv[1].isdigit() else 1:]
quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}

with tempfile.TemporaryDirectory() as d:
    os.environ['DEVTRACE_MEMOS'] = d + '/memos'
    nothing = d + '/nothing'
    subprocess.run(['gcc', '-O1', '-o', nothing, '-x', 'c', '-'], input=b'int main(void) { return 0; }', check=True)
    commands = {('ls', 'alone'): ['ls'], ('record', 'alone'): [nothing]}
    for b in builds:
        commands['ls', b] = [b, 'ls']
        commands['record', b] = [b, 'record', '-o', d + '/t.db', nothing]
    took = {c: [] for c in commands}
    for i in range(rounds + 1):
        for c, words in commands.items():
            begin = time.monotonic()
            subprocess.run(words, **quiet)
            if i:  # the first time the memos are made
                took[c].append(time.monotonic() - begin)
    for (what, how), times in sorted(took.items()):
        print('%-8s %8.1f ms  %s' % (what, statistics.median(times) * 1e3, how))
