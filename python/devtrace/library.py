# SPDX-License-Identifier: MIT
"""libdevtrace (include/libdevtrace.h) by ctypes: its functions and structures, and finding it."""
import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, \
	c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

INTERFACE = 1
SONAME = "libdevtrace.so.1"
UNKNOWN = -1 << 63
NONE = 0xffffffff
NO_CORE = 0xffff
VALUES, TEXTS, BY_TIME, POINTER_NAMES = 1, 2, 4, 8
NO_ENTRY, NO_EXIT = 16, 2048
SOME_UNKNOWN = 1 << 31


class Error(Exception):
	"""What went wrong, in one line. All exceptions of this module are of this class."""


class LibraryError(Error):
	"""libdevtrace.so.1 is not there, or is another version than this module needs."""


class TraceError(Error):
	"""A trace can not be read: no such file, not a trace, damaged; or what is asked of it is wrong."""


class ErrorText(Structure):
	_fields_ = [("text", c_char * 512)]

	def __str__(self):
		return self.text.decode(errors="replace")


class Summary(Structure):
	_fields_ = [("records", c_uint64), ("lost", c_uint64), ("first", c_uint64), ("last", c_uint64),
		    ("ns_per_tick", c_double), ("begin_realtime", c_int64), ("cores", c_uint32), ("threads", c_uint32),
		    ("processes", c_uint32), ("modules", c_uint32), ("functions", c_uint32)]


class Thread(Structure):
	_fields_ = [("id", c_uint32), ("process", c_uint32), ("number", c_uint32), ("name", c_char_p)]


class Process(Structure):
	_fields_ = [("id", c_uint32), ("parent", c_uint32), ("number", c_uint32), ("status", c_int32),
		    ("begin_ticks", c_uint64), ("end_ticks", c_uint64), ("program", c_char_p), ("command", c_char_p)]


class Module(Structure):
	_fields_ = [("id", c_uint32), ("process", c_uint32), ("base", c_uint64), ("low", c_uint64), ("high", c_uint64),
		    ("path", c_char_p), ("build_id", c_char_p)]


class Function(Structure):
	_fields_ = [("id", c_uint32), ("module", c_uint32), ("address", c_uint64), ("size", c_uint64),
		    ("line", c_uint32), ("name", c_char_p), ("shown", c_char_p), ("file", c_char_p)]


class Choice(Structure):
	_fields_ = [("size", c_size_t), ("flags", c_uint32), ("filter", c_char_p), ("from_ticks", c_uint64),
		    ("to_ticks", c_uint64)]


class Column(Structure):
	_fields_ = [("which", c_uint), ("at", c_void_p)]


class Record(Structure):
	_fields_ = [("ticks", c_uint64), ("sp", c_uint64), ("pc", c_uint64), ("value", c_uint64 * 4),
		    ("thread", c_uint32), ("function", c_uint32), ("core", c_uint16), ("kind", c_char),
		    ("values", c_uint8), ("flags", c_uint8)]


# columns of calls: number in the library, type as in the module array
COLUMNS = {"id": (1, "Q"), "parent": (2, "Q"), "begin_ticks": (3, "Q"), "end_ticks": (4, "Q"), "begin_ns": (5, "q"),
	   "end_ns": (6, "q"), "duration_ns": (7, "d"), "self_ns": (8, "d"), "thread": (9, "I"), "process": (10, "I"),
	   "function": (11, "I"), "depth": (12, "I"), "flags": (13, "I"), "core": (14, "H"),
	   "arguments_known": (15, "B"), "results_known": (16, "B")}
# these have four numbers in each row
ARGUMENT, RESULT = 17, 18
TEXT, ARGUMENTS_TEXT = 19, 20

_functions = {
	"devtrace_interface": (c_int, []),
	"devtrace_open": (c_void_p, [c_char_p, POINTER(ErrorText)]),
	"devtrace_close": (None, [c_void_p]),
	"devtrace_refresh": (c_int, [c_void_p, POINTER(ErrorText)]),
	"devtrace_get_summary": (None, [c_void_p, POINTER(Summary), c_size_t]),
	"devtrace_meta": (c_char_p, [c_void_p, c_char_p]),
	"devtrace_ns": (c_int64, [c_void_p, c_uint64]),
	"devtrace_ticks": (c_uint64, [c_void_p, c_int64]),
	"devtrace_get_thread": (c_int, [c_void_p, c_uint32, POINTER(Thread), c_size_t]),
	"devtrace_get_process": (c_int, [c_void_p, c_uint32, POINTER(Process), c_size_t]),
	"devtrace_get_module": (c_int, [c_void_p, c_uint32, POINTER(Module), c_size_t]),
	"devtrace_get_function": (c_int, [c_void_p, c_uint32, POINTER(Function), c_size_t]),
	"devtrace_calls_begin": (c_void_p, [c_void_p, POINTER(Choice), POINTER(ErrorText)]),
	"devtrace_calls_end": (None, [c_void_p]),
	"devtrace_calls_fill": (c_int64, [c_void_p, POINTER(Column), c_uint, c_size_t, POINTER(c_uint32),
					  POINTER(ErrorText)]),
	"devtrace_calls_note": (c_char_p, [c_void_p]),
	"devtrace_ended": (c_char_p, [c_uint32]),
	"devtrace_records_begin": (c_void_p, [c_void_p, POINTER(Choice), POINTER(ErrorText)]),
	"devtrace_records_end": (None, [c_void_p]),
	"devtrace_records_next": (c_int, [c_void_p, POINTER(POINTER(Record)), POINTER(ErrorText)]),
}

_loaded = None


def beside(name):
	"""The path of a file of devtrace's in the folder lib/ that this module is installed under; None: it is not there."""
	path = os.path.abspath(__file__)
	for _ in range(4):
		path = os.path.dirname(path)
	path = os.path.join(path, name)
	return path if os.path.exists(path) else None


def _describe(library, name):
	for function, (result, arguments) in _functions.items():
		try:
			f = getattr(library, function)
		except AttributeError:
			raise LibraryError(f"{name} has no {function}(): it is not libdevtrace, or one of another version; "
					   "install the library and this module from the same devtrace") from None
		f.restype = result
		f.argtypes = arguments


def load():
	"""The library: what the variable DEVTRACE_LIBRARY names, what was installed with this module, or what the loader finds."""
	global _loaded
	if _loaded:
		return _loaded
	name = os.environ.get("DEVTRACE_LIBRARY") or beside(SONAME) or SONAME
	try:
		library = ctypes.CDLL(name)
	except OSError as e:
		raise LibraryError(f"libdevtrace can not be loaded ({e}): `make install' of devtrace installs it; "
				   "DEVTRACE_LIBRARY can name another place") from None
	_describe(library, name)
	found = library.devtrace_interface()
	if found < INTERFACE:
		raise LibraryError(f"{name} is of interface {found}, this module needs {INTERFACE} or later: "
				   "install the library and this module from the same devtrace")
	_loaded = library
	return library


def text(s):
	"""A string of the library's."""
	return s.decode(errors="replace") if s is not None else None


def extension():
	"""The path of the extension for SQLite (doc/sql.md)."""
	name = os.environ.get("DEVTRACE_SQLITE")
	if name:
		return name
	library = os.environ.get("DEVTRACE_LIBRARY")
	if library and os.path.exists(os.path.join(os.path.dirname(library), "libdevtrace-sqlite.so")):
		return os.path.join(os.path.dirname(library), "libdevtrace-sqlite.so")
	return beside("libdevtrace-sqlite.so") or "libdevtrace-sqlite.so"
