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


def records(path):
	want = sql(path, "SELECT ticks, kind, thread, function, core, pc, sp, value0, value1, value2, value3, flags FROM records")
	with devtrace.open(path) as t:
		got = []
		lost = 0
		for r in t.records():
			if r.kind == devtrace.LOST:
				lost += r.values[0]
				continue
			values = [v - (1 << 64) if v is not None and v >> 63 else v for v in r.values] + [None] * (4 - len(r.values))
			f = t.function(r.function)
			got.append((r.ticks, r.kind, r.thread, f.shown if f else None, r.core, r.pc, r.sp, *values, r.flags))
		assert lost == (sql(path, "SELECT coalesce(sum(records), 0) FROM lost")[0][0]), lost
	only = collections.Counter(got) - collections.Counter(want), collections.Counter(want) - collections.Counter(got)
	assert not only[0] and not only[1], [list(o)[:2] for o in only]
	print(len(got), "records")


def spans(path):
	"""Of a span of time: the calls that lie in it are those of the whole, the others are said to reach out of it."""
	with devtrace.open(path) as t:
		end = t.ns(t.summary.last)
		for part in ((0.2, 0.4), (0, 0.1), (0.9, 1), (0.5, 0.5)):
			begin, until = (int(end * p) for p in part)
			want = collections.Counter(sql(path, f"SELECT thread, function, begin, end FROM calls WHERE begin >= {begin} AND "
							     f"end <= {until} AND ended = 'returned' AND NOT flags & 16"))
			got = collections.Counter((c.thread, c.name, c.begin_ns, c.end_ns) for c in t.calls(
				from_ns=begin, to_ns=until, fields=("thread", "name", "begin_ns", "end_ns", "flags"))
				if c.ended == "returned" and not c.flags & 16)
			assert got == want, (part, list((got - want) + (want - got))[:3])
			times = [t.ns(r.ticks) for r in t.records(from_ns=begin, to_ns=until) if r.kind != devtrace.LOST]
			assert all(begin <= x <= until for x in times)
			assert len(times) == sql(path, f"SELECT count(*) FROM records WHERE time BETWEEN {begin} AND {until}")[0][0]
		assert not list(t.calls(from_ns=end + 1000, to_ns=end + 2000))


def pandas(path):
	"""Columns and frames, of numpy and pandas, beside SQL's sums."""
	import numpy
	import pandas
	with devtrace.open(path) as t:
		columns = t.columns("function", "duration_ns", "begin_ns", "thread", "core", "arg0")
		assert all(isinstance(c, numpy.ndarray) for c in columns.values())
		assert [str(c.dtype) for c in columns.values()] == ["uint32", "float64", "int64", "uint32", "uint16", "uint64"]
		frame = t.to_pandas()
		assert list(frame.columns) == ["name", "function", "begin_ns", "end_ns", "duration_ns", "self_ns", "thread", "process",
					       "depth", "flags", "id", "parent"]
		assert isinstance(frame["name"].dtype, pandas.CategoricalDtype)
		want = sql(path, "SELECT function, count(*), sum(duration), sum(self), min(begin), max(depth) FROM calls "
				 "WHERE duration IS NOT NULL GROUP BY 1 ORDER BY 1")
		by_name = frame[frame["duration_ns"].notna()].groupby("name", observed=True)
		got = by_name.agg(n=("name", "size"), duration=("duration_ns", "sum"), own=("self_ns", "sum"), begin=("begin_ns", "min"),
				  depth=("depth", "max")).sort_index()
		assert len(got) == len(want) > 0
		for (name, row), w in zip(sorted(got.iterrows()), want):
			assert (name, row["n"], row["begin"], row["depth"]) == (w[0], w[1], w[4], w[5]), (name, row, w)
			assert math.isclose(row["duration"], w[2], rel_tol=1e-9) and math.isclose(row["own"], w[3], rel_tol=1e-9, abs_tol=1)
		threads = t.to_pandas("thread", "duration_ns", filter="time>1us").groupby("thread").size()
		assert sorted(threads.items()) == sql(path, "SELECT thread, count(*) FROM calls WHERE duration > 1000 GROUP BY 1 ORDER BY 1")
		none = t.to_pandas(filter="function:no_such_function")
		assert len(none) == 0 and "name" in none
		print(len(frame), "rows")


def without(path):
	"""Without numpy and pandas: arrays, and what says how to get frames."""
	from array import array
	with devtrace.open(path) as t:
		columns = t.columns("function", "duration_ns")
		assert all(isinstance(c, array) for c in columns.values())
		print(len(columns["function"]), "calls")
		try:
			t.to_pandas()
		except devtrace.Error as e:
			print(e)


def named(path):
	"""Calls are named tuples."""
	import copy
	with devtrace.open(path) as t:
		c = next(iter(t.calls()))
		assert isinstance(c, tuple) and c._fields == ("name", "begin_ns", "duration_ns", "self_ns", "thread", "depth", "flags", "function")
		assert c == tuple(c) and c[0] == c.name and c._asdict() == dict(zip(c._fields, c))
		assert c._replace(depth=99).depth == 99 and c._replace(depth=99)[:5] == c[:5]
		assert copy.copy(c) == copy.deepcopy(c) == c
		assert repr(c).startswith(f"Call(name='{c.name}', begin_ns=")
		name, *_, function = c
		assert (name, function) == (c.name, c.function)
		for wrong in ("result", "nonsense"):
			try:
				getattr(c, wrong)
			except AttributeError as e:
				print(e)


def closed(path):
	t = devtrace.open(path)
	passes = iter(t.calls()), iter(t.records()), t.sql("SELECT function FROM calls")
	for p in passes:
		next(p)
	t.close()
	t.close()
	for p in passes[:2]:
		try:
			# what has been read already may still come
			for _ in p:
				pass
			print("no error")
		except devtrace.TraceError as e:
			print(e)
	for what in (lambda: t.calls(), lambda: t.summary, lambda: t.sql("SELECT 1"), lambda: t.columns(), lambda: t.function(1)):
		try:
			what()
			print("no error")
		except devtrace.TraceError as e:
			assert str(e) == f"{path}: the trace has been closed", e


def growing(path, program):
	"""A trace that is being written: what the program says, it has called by then."""
	with devtrace.open(path) as t:
		before = len(list(t.calls(fields=("name",))))
		subprocess.run(["touch", program], check=True)
		for line in sys.stdin:
			if line.strip() == "ended":
				break
		t.refresh()
		count = collections.Counter(c.name for c in t.calls(fields=("name",)))
		assert before <= sum(count.values()) and t.summary.records == sql(path, "SELECT count(*) FROM records")[0][0]
		print(count["leaf"])


def count(path):
	with devtrace.open(path) as t:
		print(sum(1 for c in t.calls(fields=("name",)) if c.name == "leaf"), len(t.columns("function", filter="leaf")["function"]))


def lost(path):
	try:
		with devtrace.open(path) as t:
			list(t.calls())
	except devtrace.IncompleteWarning as w:
		print(f"{type(w).__name__}: {w}")


if __name__ == "__main__":
	globals()[sys.argv[1]](*sys.argv[2:])
