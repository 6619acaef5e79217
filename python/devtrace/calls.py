# SPDX-License-Identifier: MIT
"""Calls, as named tuples and as columns. They come from the library in blocks of columns: a call of a C function for
each of them would take longer than all the rest."""
import json
import warnings
from array import array
from collections import namedtuple
from ctypes import addressof, byref, c_char_p, c_uint32
from functools import lru_cache, partial
from itertools import chain
from struct import Struct

from . import library as lib

BLOCK = 2048  # rows at a time: what they take stays in a processor's cache

# of a call, if nothing else is said: each costs time, if there are millions of calls
FIELDS = ("name", "begin_ns", "duration_ns", "self_ns", "thread", "depth", "flags", "function")
VALUES = ("args", "result")
TEXTS = ("text", "arguments")
# all that there are
ALL = ("name", *lib.COLUMNS, *VALUES, *TEXTS)

_ENDED = {}


class IncompleteWarning(UserWarning):
	"""Something is missing in what was read: records were lost, or a filter asks for what was not recorded."""


class _OfCall:
	"""What all kinds of calls have."""
	__slots__ = ()

	@property
	def ended(self):
		"""How it ended: "returned", "tail", "unwound", "open", "unseen", "lost", "paused" or "backward" (doc/sql.md)."""
		word = _ENDED.get(self.flags)
		if word is None:
			word = _ENDED[self.flags] = lib.load().devtrace_ended(self.flags).decode()
		return word

	@property
	def timed(self):
		"""True: begin and end are known, and belong to the same call, so that its duration counts in sums."""
		return not self.flags & (8 | 16 | 64 | 2048 | 4096 | 8192)

	@property
	def recursive(self):
		"""True: it is within another call of the same function, in the same thread."""
		return bool(self.flags & 128)

	def __getattr__(self, name):
		# `ended' and the like ask for the flags
		if name in ALL:
			raise AttributeError(f"'{name}' has not been read: calls(fields=(..., '{name}'))")
		raise AttributeError(f"a call has no '{name}'; its fields are {', '.join(ALL)}")


@lru_cache(maxsize=64)
def _kind(fields):
	return type("Call", (_OfCall, namedtuple("Call", fields)), {"__slots__": (), "__module__": __name__})


class Pass:
	"""A pass over a trace's calls: columns that are filled again and again."""

	def __init__(self, trace, columns, flags, words, span):
		self.trace = trace
		self.library = lib.load()
		choice = trace._choice(flags, words, span)
		error = lib.ErrorText()
		self.at = self.library.devtrace_calls_begin(trace._pointer(), byref(choice), byref(error))
		if not self.at:
			raise lib.TraceError(str(error))
		trace._passes.add(self)
		self.column = {}
		self.list = (lib.Column * len(columns))()
		for i, name in enumerate(columns):
			self.list[i].which, self.column[name] = self._room(name)
			self.list[i].at = self._address(self.column[name])

	@staticmethod
	def _room(name):
		if name in ("argument", "result"):
			return lib.ARGUMENT if name == "argument" else lib.RESULT, array("Q", bytes(32 * BLOCK))
		if name in ("text", "arguments"):
			return lib.TEXT if name == "text" else lib.ARGUMENTS_TEXT, (c_char_p * BLOCK)()
		which, kind = lib.COLUMNS[name]
		return which, array(kind, bytes(array(kind).itemsize * BLOCK))

	@staticmethod
	def _address(room):
		return room.buffer_info()[0] if isinstance(room, array) else addressof(room)

	def fill(self):
		"""Fills the columns; the number of rows, 0 at the end, and the flags that any of them has."""
		if not self.at:
			raise lib.TraceError(f"{self.trace.path}: the trace has been closed")
		flags, error = c_uint32(), lib.ErrorText()
		n = self.library.devtrace_calls_fill(self.at, self.list, len(self.list), BLOCK, byref(flags), byref(error))
		if n < 0:
			raise lib.TraceError(str(error))
		if not n:
			note = lib.text(self.library.devtrace_calls_note(self.at))
			if note:
				warnings.warn(note, IncompleteWarning, stacklevel=3)
		return n, flags.value

	def end(self):
		if self.at:
			self.library.devtrace_calls_end(self.at)
		self.at = None


def _none_for(values, unknown):
	return [None if v == unknown else v for v in values]


def _number(v):
	return None if v != v else v


class _Values:
	"""Arguments and results of a block."""
	four = Struct("=4Q")

	def __init__(self, p):
		self.p = p
		self.slices = [slice(0, bin(m).count("1")) for m in range(16)]

	def arguments(self, n):
		known = self.p.column["arguments_known"][:n]
		rows = self.four.iter_unpack(memoryview(self.p.column["argument"]).cast("B")[:32 * n])
		if known.count(15) == n:
			return rows
		# registers are recorded from the first one on; where they are not, what is missing is None
		if all(m & (m + 1) == 0 for m in set(known)):
			return [row[:m.bit_length()] for row, m in zip(rows, known)]
		return [tuple(v if m >> i & 1 else None for i, v in enumerate(row[:m.bit_length()]))
			for row, m in zip(rows, known)]

	def results(self, n):
		known = self.p.column["results_known"][:n]
		first = self.p.column["result"][:4 * n:4]
		if min(known) & 1 and all(m & 1 for m in set(known)):
			return first
		return [v if m & 1 else None for v, m in zip(first, known)]


def _cut(column, n):
	return column if n == BLOCK else column[:n]


def _rows(p, fields, names, of, n, flags):
	"""For each field, what it is in the calls of a block: things that can be iterated."""
	for field in fields:
		column = p.column.get(field)
		if field == "name":
			yield map(names, _cut(p.column["function"], n))
		elif field == "args":
			yield of.arguments(n)
		elif field == "result":
			yield of.results(n)
		elif field == "text":
			yield [s.decode(errors="replace") for s in column[:n]]
		elif field == "arguments":
			yield [json.loads(s) if s else None for s in column[:n]]
		elif field in ("begin_ns", "end_ns") and flags & (lib.NO_ENTRY | lib.NO_EXIT):
			yield _none_for(column[:n], lib.UNKNOWN)
		elif field in ("duration_ns", "self_ns") and flags & (lib.NO_ENTRY | lib.NO_EXIT):
			yield map(_number, column[:n])
		elif field in ("thread", "process") and flags & lib.SOME_UNKNOWN:
			yield _none_for(column[:n], lib.NONE)
		elif field == "core":
			yield _none_for(column[:n], lib.NO_CORE)
		else:
			yield _cut(column, n)


def _blocks(p, fields, names):
	"""Iterators over the calls of each block."""
	make = partial(tuple.__new__, _kind(fields))
	of = _Values(p)
	try:
		while True:
			n, flags = p.fill()
			if not n:
				return
			yield map(make, zip(*_rows(p, fields, names, of, n, flags)))
	finally:
		p.end()


def _check(names, known):
	for name in names:
		if name not in known:
			raise lib.TraceError(f"a call has no '{name}'; there are {', '.join(known)}")


def calls(trace, words, span, fields, flags):
	"""An iterator over the calls of a trace."""
	fields = tuple(fields or FIELDS)
	if flags & (lib.VALUES | lib.TEXTS):
		fields += tuple(f for f in VALUES if f not in fields)
	if flags & lib.TEXTS:
		fields += tuple(f for f in TEXTS if f not in fields)
	_check(fields, ALL)
	wanted = {"function" if f == "name" else "argument" if f == "args" else f for f in fields}
	wanted |= {"arguments_known"} if "args" in fields else set()
	wanted |= {"results_known"} if "result" in fields else set()
	flags |= lib.VALUES if wanted & {"argument", "result", "arguments_known", "results_known"} else 0
	flags |= lib.TEXTS if wanted & {*TEXTS} else 0
	p = Pass(trace, sorted(wanted), flags, words, span)
	return chain.from_iterable(_blocks(p, fields, trace._names.__getitem__))


def columns(trace, names, words, span, by_time):
	"""Whole columns of the calls of a trace: a dict of arrays."""
	known = [*lib.COLUMNS, "arg0", "arg1", "arg2", "arg3", "result"]
	_check(names, known)
	wanted = [n for n in names if n in lib.COLUMNS]
	arguments = [n for n in names if n.startswith("arg") and n[3:].isdigit()]
	wanted += ["argument"] if arguments else []
	wanted += ["result"] if "result" in names else []
	flags = (lib.VALUES if {"argument", "result", "arguments_known", "results_known"} & {*wanted} else 0) | (
		lib.BY_TIME if by_time else 0)
	out = {n: array("Q") if n in arguments or n == "result" else array(lib.COLUMNS[n][1]) for n in names}
	p = Pass(trace, wanted, flags, words, span)
	try:
		while True:
			n, _ = p.fill()
			if not n:
				break
			for name in names:
				if name in arguments:
					out[name] += p.column["argument"][int(name[3:]):4 * n:4]
				elif name == "result":
					out[name] += p.column["result"][:4 * n:4]
				else:
					out[name] += _cut(p.column[name], n)
	finally:
		p.end()
	try:
		import numpy
	except ImportError:
		return out
	return {name: numpy.frombuffer(a, dtype=a.typecode) if len(a) else numpy.empty(0, dtype=a.typecode)
		for name, a in out.items()}
