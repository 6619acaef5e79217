#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how many calls a second the Python module iterates, on one core.

usage: PYTHONPATH=python DEVTRACE_LIBRARY=build/libdevtrace.so.1 bench/python.py TRACE [SLICES]

The ways of reading take turns, SLICES times (200), each with the next 20,000 calls. What is printed of each are
medians: by the clock, by the processor time of the process, and by the clock of those slices in which the process had
its core for itself (processor time at least 95 % of the clock's); and how many of the slices these were. On a machine
with other work the first says what that leaves, the last what the module does."""
import itertools
import statistics
import sys
import time
import warnings

import devtrace

CALLS = 20000
WAYS = (
	("calls()", {}),
	("calls(fields=name, duration_ns)", {"fields": ("name", "duration_ns")}),
	("calls(values=True)", {"values": True}),
)


def slices(trace, choice):
	"""Times of CALLS calls each, by the clock and of the processor, in seconds; again from the beginning, if need be."""
	while True:
		calls = trace.calls(**choice)
		while True:
			clock, processor = time.perf_counter(), time.process_time()
			n = 0
			for _ in itertools.islice(calls, CALLS):
				n += 1
			if n < CALLS:
				break
			yield time.perf_counter() - clock, time.process_time() - processor


def columns(trace):
	"""The same of columns(), whole; the time is that of CALLS calls."""
	while True:
		clock, processor = time.perf_counter(), time.process_time()
		n = len(trace.columns("function", "duration_ns")["function"])
		yield (time.perf_counter() - clock) * CALLS / n, (time.process_time() - processor) * CALLS / n


def rate(times):
	return f"{CALLS / statistics.median(times) / 1e6:.2f}" if times else "-"


def main(path, turns=200):
	warnings.simplefilter("ignore")
	with devtrace.open(path) as t:
		if sum(1 for _ in itertools.islice(t.calls(), CALLS)) < CALLS:
			sys.exit(f"{path}: has fewer than {CALLS} calls")
		ways = {name: slices(t, choice) for name, choice in WAYS}
		ways["columns(function, duration_ns)"] = columns(t)
		times = {name: [] for name in ways}
		for turn in range(turns):
			# a whole reading is long enough for one turn in twenty
			for name, each in list(ways.items())[::1 if turn % 2 else -1]:
				if not name.startswith("columns") or turn % 20 == 0:
					times[name].append(next(each))
	print("million calls a second           clock  processor  alone  (of slices)")
	for name, of in times.items():
		alone = [clock for clock, processor in of if processor >= 0.95 * clock]
		print(f"{name:32} {rate([c for c, _ in of]):>5} {rate([p for _, p in of]):>10} {rate(alone):>6}  ({len(alone)} of {len(of)})")


if __name__ == "__main__":
	if len(sys.argv) not in (2, 3):
		sys.exit(__doc__)
	main(sys.argv[1], *map(int, sys.argv[2:]))
