# SPDX-License-Identifier: MIT
"""Reading what devtrace has recorded.

	import devtrace

	with devtrace.open("devtrace.db") as t:
		for c in t.calls("time>1ms"):
			print(c.name, c.begin_ns, c.duration_ns, c.thread)

doc/python.md of devtrace has more examples. All exceptions are devtrace.Error, with one line of text.
"""
from .calls import IncompleteWarning
from .library import Error, LibraryError, TraceError
from .trace import LOST, Function, Module, Process, Record, Summary, Thread, Trace

__all__ = ["open", "Trace", "Record", "Summary", "Thread", "Process", "Module",
	   "Function", "LOST", "Error", "LibraryError", "TraceError", "IncompleteWarning"]


def open(path="devtrace.db"):
	"""Opens a trace file. It is closed at the end of a `with', or by close()."""
	return Trace(path)
