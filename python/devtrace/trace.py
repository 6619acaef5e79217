# SPDX-License-Identifier: MIT
"""A trace: its descriptions, and what leads to its calls, records, and tables."""
import os
import warnings
import weakref
from collections import namedtuple
from ctypes import POINTER, byref, pointer, sizeof

from . import library as lib
from .calls import IncompleteWarning, calls, columns

Summary = namedtuple("Summary", [n for n, _ in lib.Summary._fields_])
Thread = namedtuple("Thread", [n for n, _ in lib.Thread._fields_])
Process = namedtuple("Process", [n for n, _ in lib.Process._fields_])
Module = namedtuple("Module", [n for n, _ in lib.Module._fields_])
Function = namedtuple("Function", [n for n, _ in lib.Function._fields_])
Record = namedtuple("Record", ["ticks", "kind", "thread", "function", "core", "pc", "sp", "values", "flags"])
# `values[0]' records of a core are missing, made between the ticks values[1] and values[2] (0: not known)
LOST = "!"

# what to_pandas() has if nothing else is said
PANDAS = ("function", "begin_ns", "end_ns", "duration_ns", "self_ns", "thread", "process", "depth", "flags", "id", "parent")


class _Names(dict):
	"""Names of functions by their ids, each asked for once."""

	def __init__(self, trace):
		self.trace = weakref.proxy(trace)

	def __missing__(self, function):
		f = self.trace.function(function)
		self[function] = name = f.shown if f else "?"
		return name


class Trace:
	"""An open trace. One thread at a time may use it. It is a context manager: at its end it is closed."""

	def __init__(self, path):
		self.path = os.fspath(path)
		self._at = None
		self._passes = weakref.WeakSet()
		self._sql = None
		self._library = lib.load()
		error = lib.ErrorText()
		self._at = self._library.devtrace_open(os.fsencode(self.path), byref(error))
		if not self._at:
			raise lib.TraceError(str(error))
		self._names = _Names(self)

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.close()

	def __del__(self):
		self.close()

	def __repr__(self):
		return f"<devtrace.Trace {self.path!r}{'' if self._at else ', closed'}>"

	def close(self):
		"""Closes the trace, and ends all that still reads it."""
		for p in list(self._passes):
			p.end()
		if self._sql:
			self._sql.close()
		if self._at:
			self._library.devtrace_close(self._at)
		self._at = self._sql = None

	def _pointer(self):
		if not self._at:
			raise lib.TraceError(f"{self.path}: the trace has been closed")
		return self._at

	# ---- descriptions ----

	def refresh(self):
		"""Looks for what has been added to a file that is being written."""
		error = lib.ErrorText()
		if self._library.devtrace_refresh(self._pointer(), byref(error)):
			raise lib.TraceError(str(error))
		self._names.clear()

	@property
	def summary(self):
		"""Totals of the trace: records, lost, first and last (ticks), ns_per_tick, begin_realtime (ns since 1970, or
		None), and how many cores, threads, processes, modules and functions there are."""
		s = lib.Summary()
		self._library.devtrace_get_summary(self._pointer(), byref(s), sizeof(s))
		all = Summary(*(getattr(s, n) for n, _ in s._fields_))
		return all._replace(begin_realtime=None) if all.begin_realtime == lib.UNKNOWN else all

	def _get(self, what, kind, made, i):
		x = kind()
		if getattr(self._library, what)(self._pointer(), i, byref(x), sizeof(x)):
			return None
		return made(*(lib.text(v) if isinstance(v, bytes) else v for v in (getattr(x, n) for n, _ in x._fields_)))

	@property
	def threads(self):
		"""A list of all threads: id, process, number (the kernel's), name."""
		return [self._get("devtrace_get_thread", lib.Thread, Thread, i) for i in range(self.summary.threads)]

	@property
	def processes(self):
		"""A list of all processes: id, parent, number, status, begin_ticks, end_ticks, program, command."""
		return [self._get("devtrace_get_process", lib.Process, Process, i) for i in range(self.summary.processes)]

	@property
	def modules(self):
		"""A list of all programs and libraries: id, process, base, low, high, path, build_id."""
		return [self.module(i) for i in range(1, self.summary.modules + 1)]

	@property
	def functions(self):
		"""A list of all functions: id, module, address, size, line, name, shown, file."""
		return [self.function(i) for i in range(1, self.summary.functions + 1)]

	def module(self, id):
		"""The module of that id, or None."""
		return self._get("devtrace_get_module", lib.Module, Module, id)

	def function(self, id):
		"""The function of that id (call.function), or None."""
		return self._get("devtrace_get_function", lib.Function, Function, id)

	def meta(self, key):
		"""What is known of the recording (doc/format.md, "meta"), or None."""
		return lib.text(self._library.devtrace_meta(self._pointer(), key.encode()))

	def ns(self, ticks):
		"""The time of a tick, in ns from the first record."""
		return self._library.devtrace_ns(self._pointer(), ticks)

	def ticks(self, ns):
		"""The first tick whose time is ns or later."""
		return self._library.devtrace_ticks(self._pointer(), ns)

	# ---- calls and records ----

	def _choice(self, flags, words, span):
		lost = self.summary.lost
		if lost:
			warnings.warn(f"{self.path}: {lost} records were lost: calls are missing, or have the flag 64", IncompleteWarning,
				      stacklevel=4)
		choice = lib.Choice(sizeof(lib.Choice), flags, words.encode() if words else None)
		begin, end = span
		if begin is not None:
			choice.from_ticks = self.ticks(begin)
		if end is not None:
			# the last tick that is not later
			choice.to_ticks = max(self.ticks(end + 1) - 1, 1)
		return choice

	def calls(self, filter=None, *, from_ns=None, to_ns=None, by_time=False, fields=None, values=False, texts=False,
		  pointer_names=False):
		"""An iterator over the calls, as named tuples. They come when they end: a callee before its caller.

		filter: words as for `devtrace calls -f', such as "function:read* time>10us".
		from_ns, to_ns: only records of this span are read; of calls that reach out of it only that is known.
		by_time: in the order of time; otherwise a thread may be ahead of another, which is faster.
		fields: their names. Without it: name, begin_ns, duration_ns, self_ns, thread, depth, flags, function. There are also
			end_ns, begin_ticks, end_ticks, process, core, id, parent (numbers of this pass; 0: not known), and:
		values: also args, a tuple of the argument registers that were recorded, and result.
		texts: also these, and text, the line of `devtrace calls', and arguments, a dict by names.
		pointer_names: texts say what pointers lead to; for this, files that the trace names are read.

		What is not known is None."""
		flags = ((lib.VALUES if values else 0) | (lib.TEXTS if texts else 0) | (lib.BY_TIME if by_time else 0) |
			 (lib.POINTER_NAMES if pointer_names else 0))
		return calls(self, filter, (from_ns, to_ns), fields, flags)

	def columns(self, *names, filter=None, from_ns=None, to_ns=None, by_time=False):
		"""Whole columns of the calls: a dict of arrays, numpy's if that is installed, otherwise those of the module array.

		names: of the fields of calls, but `name'; begin_ticks, end_ticks, core, arg0 to arg3, result, arguments_known
		and results_known (bits). Without names: those of calls. What is not known is -2**63 in begin_ns and end_ns,
		nan in duration_ns and self_ns, 2**32-1 in thread and process, 65535 in core."""
		names = names or PANDAS
		return columns(self, names, filter, (from_ns, to_ns), by_time)

	def to_pandas(self, *names, filter=None, from_ns=None, to_ns=None, by_time=False):
		"""The same as a pandas.DataFrame, with the column `name', a categorical, if `function' is among the names."""
		try:
			import pandas
		except ImportError:
			raise lib.Error("to_pandas() needs pandas, which is not installed (Debian: python3-pandas); "
					"columns() does without") from None
		data = self.columns(*names, filter=filter, from_ns=from_ns, to_ns=to_ns, by_time=by_time)
		frame = pandas.DataFrame(data)
		if "function" in data:
			ids = frame["function"].astype("category")
			frame.insert(0, "name", ids.map(self._names.__getitem__).astype("category"))
		return frame

	def records(self, *, from_ns=None, to_ns=None, by_time=True, values=True):
		"""An iterator over the records, as named tuples: ticks, kind (a letter, doc/format.md), thread, function, core, pc,
		sp, values, flags. Kind devtrace.LOST: records are missing here, as many as values[0] says."""
		choice = self._choice((lib.VALUES if values else 0) | (lib.BY_TIME if by_time else 0), None, (from_ns, to_ns))
		return _records(_Records(self, choice))

	# ---- SQL ----

	def sql(self, query, parameters=()):
		"""Asks the tables of `devtrace sql' (doc/sql.md); an iterator over rows, which are named tuples."""
		self._pointer()
		if not self._sql:
			from .tables import connect
			self._sql = connect(self.path)
		return self._sql.execute(query, parameters)


class _Records:
	"""A pass over the records."""

	def __init__(self, trace, choice):
		error = lib.ErrorText()
		self.library = trace._library
		self.path = trace.path
		self.at = self.library.devtrace_records_begin(trace._pointer(), byref(choice), byref(error))
		if not self.at:
			raise lib.TraceError(str(error))
		trace._passes.add(self)

	def end(self):
		if self.at:
			self.library.devtrace_records_end(self.at)
		self.at = None


def _records(p):
	out, error = POINTER(lib.Record)(), lib.ErrorText()
	try:
		while True:
			if not p.at:
				raise lib.TraceError(f"{p.path}: the trace has been closed")
			rc = p.library.devtrace_records_next(p.at, byref(out), byref(error))
			if rc < 0:
				raise lib.TraceError(str(error))
			if not rc:
				return
			r = out.contents
			yield Record(r.ticks, r.kind.decode("latin-1"), None if r.thread == lib.NONE else r.thread, r.function,
				     None if r.core == lib.NO_CORE else r.core, r.pc, r.sp,
				     tuple(v if r.values >> i & 1 else None for i, v in enumerate(r.value[:r.values.bit_length()])),
				     r.flags)
	finally:
		p.end()
