# SPDX-License-Identifier: MIT
"""Calls, as named tuples and as columns. They come from the library in blocks of columns: a call of a C function for
each of them would take longer than all the rest."""
import json
import warnings
from array import array
from collections import namedtuple
from ctypes import addressof, byref, c_char_p, c_uint32
from functools import lru_cache
from itertools import chain, repeat
from operator import getitem
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
_NOT_BOTH = lib.NO_ENTRY | lib.NO_EXIT
# what is not known of calls that have one of these flags
_UNKNOWN_IF = {"begin_ns": lib.NO_ENTRY, "end_ns": lib.NO_EXIT, "duration_ns": _NOT_BOTH, "self_ns": _NOT_BOTH}


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
	"""The class of calls with these fields. It is made of one row, as by its _make(): a named tuple's own way, from a
	function with a parameter for each field, takes twice the time."""
	of = {name: value for name, value in vars(namedtuple("Call", fields)).items() if name != "__new__"}
	# for copy.copy()
	of["__getnewargs__"] = lambda call: (tuple(call),)
	return type("Call", (_OfCall, tuple), {**of, "__slots__": (), "__module__": __name__})


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


def _without(column, positions):
	"""A list of what a column has, None at some positions."""
	values = column.tolist()
	for i in positions:
		values[i] = None
	return values


def _none_for(column, unknown):
	"""A list of what a column has, None instead of a number that stands for what is not known."""
	values, i = column.tolist(), -1
	try:
		while True:
			i = values.index(unknown, i + 1)
			values[i] = None
	except ValueError:
		return values


class _Positions:
	"""Where in a block flags are set: there are few kinds of flags, so that each call need not be looked at."""

	def __init__(self, column, n):
		flags = column[:n]
		self.kinds = [(kind, [i for i, f in enumerate(flags) if f == kind]) for kind in {*flags} if kind & _NOT_BOTH]

	def of(self, mask):
		return [i for kind, positions in self.kinds if kind & mask for i in positions]


class _Values:
	"""Arguments and results of a block."""
	four = Struct("=4Q")

	def __init__(self, p):
		self.p = p
		# by what is known: the first so many
		self.slices = [slice(0, m.bit_length()) for m in range(16)]

	def arguments(self, n):
		known = self.p.column["arguments_known"][:n]
		rows = self.four.iter_unpack(memoryview(self.p.column["argument"]).cast("B")[:32 * n])
		kinds = {*known}
		if kinds == {15}:
			return rows
		# registers are recorded from the first one on; where they are not, what is missing is None
		if all(m & (m + 1) == 0 for m in kinds):
			return map(getitem, rows, map(self.slices.__getitem__, known))
		return [tuple(v if m >> i & 1 else None for i, v in enumerate(row[:m.bit_length()]))
			for row, m in zip(rows, known)]

	def results(self, n):
		known = self.p.column["results_known"][:n]
		first = self.p.column["result"][:4 * n:4]
		if all(m & 1 for m in {*known}):
			return first
		return [v if m & 1 else None for v, m in zip(first, known)]


def _same(column, n):
	"""Says whether all of a column is the same."""
	whole = memoryview(column).cast("B")[:n * column.itemsize]
	return whole[column.itemsize:] == whole[:-column.itemsize]


def _cut(column, n):
	return column if n == BLOCK else column[:n]


def _rows(p, fields, names, of, n, flags):
	"""For each field, what it is in the calls of a block: things that can be iterated."""
	positions = _Positions(p.column["flags"], n) if flags & _NOT_BOTH and {*fields} & {*_UNKNOWN_IF} else None
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
		elif positions and field in _UNKNOWN_IF:
			yield _without(column[:n], positions.of(_UNKNOWN_IF[field]))
		elif field in ("thread", "process") and flags & lib.SOME_UNKNOWN:
			yield _none_for(column[:n], lib.NONE)
		elif field in ("thread", "process", "flags") and _same(column, n):
			yield repeat(column[0], n)
		elif field == "core":
			yield _none_for(column[:n], lib.NO_CORE)
		else:
			yield _cut(column, n)


def _blocks(p, fields, names):
	"""Iterators over the calls of each block."""
	make = _kind(fields)
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
	wanted |= {"flags"} if wanted & {*_UNKNOWN_IF} else set()
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
