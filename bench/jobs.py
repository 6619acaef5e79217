#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures report and check with one thread and with two, in turn: elapsed time, medians. usage: bench/jobs.py TRACE [ROUNDS]"""
import os
import statistics
import subprocess
import sys
import time

DEVTRACE = os.path.join(os.environ.get('DEVTRACE_BUILD') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'build'), 'devtrace')
for command in ('report', 'check'):
    took = {1: [], 2: []}
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 7):
        for jobs, times in took.items():
            begun = time.monotonic()
            subprocess.run([DEVTRACE, command, '-j', str(jobs), sys.argv[1]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            times.append(time.monotonic() - begun)
    one, two = (statistics.median(times) for times in took.values())
    print(f'{command}: {one:.3f} s with one thread, {two:.3f} s with two: {one / two:.2f} times as fast')
