# SPDX-License-Identifier: MIT
"""What library.bats asks of the Python module. usage: library.py WHAT FILE..."""
import collections
import json
import math
import subprocess
import sys

import devtrace


def sql(path, query):
	"""The rows of `devtrace sql', which knows nothing of the module."""
	out = subprocess.run(["devtrace", "sql", "--json", path, query], capture_output=True, text=True, check=True).stdout
	return [tuple(json.loads(line).values()) for line in out.splitlines()]


def same(path):
	fields = ("thread", "process", "depth", "core", "name", "begin_ns", "end_ns", "duration_ns", "self_ns", "begin_ticks",
		  "end_ticks", "flags", "args", "result", "text", "arguments")
	want = sql(path, "SELECT thread, process, depth, core, function, begin, end, duration, self, begin_ticks, end_ticks, "
			 "flags, arg0, arg1, arg2, arg3, result0, text, arguments, ended, timed, recursive FROM calls")
	with devtrace.open(path) as t:
		got = []
		for c in t.calls(fields=fields):
			args = [a - (1 << 64) if a is not None and a >> 63 else a for a in c.args] + [None] * (4 - len(c.args))
			result = c.result - (1 << 64) if c.result is not None and c.result >> 63 else c.result
			got.append((c.thread, c.process, c.depth, c.core, c.name, c.begin_ns, c.end_ns, c.duration_ns, c.self_ns,
				    None if c.begin_ns is None else c.begin_ticks, None if c.end_ns is None else c.end_ticks, c.flags,
				    *args, result, c.text, json.dumps(c.arguments) if c.arguments is not None else None, c.ended,
				    int(c.timed), int(c.recursive)))
		want = [(*r[:7], *(None if v is None else round(v, 1) for v in r[7:9]), *r[9:18],
			 None if r[18] is None else json.dumps(json.loads(r[18])), *r[19:]) for r in want]
		got = [(*r[:7], *(None if v is None else round(v, 1) for v in r[7:9]), *r[9:]) for r in got]
		only = collections.Counter(got) - collections.Counter(want), collections.Counter(want) - collections.Counter(got)
		assert not only[0] and not only[1], [list(o)[:2] for o in only]
		print(len(got), "calls")

		names = ("begin_ns", "end_ns", "duration_ns", "thread", "function", "flags", "arg0", "result")
		columns = t.columns(*names, by_time=True)
		by_time = list(t.calls(fields=("begin_ns", "end_ns", "duration_ns", "thread", "function", "flags", "args", "result"),
				       by_time=True))
		assert all(len(columns[n]) == len(by_time) for n in names)
		for i, c in enumerate(by_time):
			assert (c.begin_ns, c.end_ns, c.thread, c.function, c.flags) == (
				None if columns["begin_ns"][i] == -1 << 63 else columns["begin_ns"][i],
				None if columns["end_ns"][i] == -1 << 63 else columns["end_ns"][i],
				columns["thread"][i], columns["function"][i], columns["flags"][i])
			d = columns["duration_ns"][i]
			assert c.duration_ns == d or (c.duration_ns is None and math.isnan(d))
			assert not c.args or c.args[0] == columns["arg0"][i]
			assert c.result is None or c.result == columns["result"][i]
		ends = [c.end_ns for c in by_time if c.end_ns is not None and not c.flags & 8]
		assert ends == sorted(ends) or path == "s.db"


def lost(path):
	try:
		with devtrace.open(path) as t:
			list(t.calls())
	except devtrace.IncompleteWarning as w:
		print(f"{type(w).__name__}: {w}")


if __name__ == "__main__":
	globals()[sys.argv[1]](*sys.argv[2:])
