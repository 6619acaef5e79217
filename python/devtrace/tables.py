# SPDX-License-Identifier: MIT
"""The tables of `devtrace sql', by Python's module sqlite3 and devtrace's extension for it."""
from collections import namedtuple

from . import library as lib


def _row(cursor, row):
	kind = getattr(cursor, "kind", None)
	names = tuple(d[0] for d in cursor.description)
	if kind is None or cursor.names != names:
		cursor.names = names
		cursor.kind = kind = namedtuple("Row", names, rename=True)
	return tuple.__new__(kind, row)


class _Tables:
	def __init__(self, db):
		import sqlite3

		class Cursor(sqlite3.Cursor):
			pass

		self.db, self.cursor, self.error = db, Cursor, sqlite3.Error

	def execute(self, query, parameters):
		return self._rows(self.db.cursor(self.cursor), query, parameters)

	def _rows(self, cursor, query, parameters):
		try:
			cursor.execute(query, parameters)
		except self.error as e:
			raise lib.TraceError(f"{e}: {query}") from None
		return self._each(cursor)

	def _each(self, cursor):
		try:
			yield from cursor
		except self.error as e:
			raise lib.TraceError(str(e)) from None

	def close(self):
		self.db.close()


def connect(path):
	"""Opens the tables of the trace at path. In a database in memory: so the file itself is read by devtrace only."""
	try:
		import sqlite3
	except ImportError:
		raise lib.Error("sql() needs Python's module sqlite3, which this Python was built without") from None
	db = sqlite3.connect(":memory:", isolation_level=None)
	if not hasattr(db, "enable_load_extension"):
		raise lib.Error("sql() needs extensions of SQLite, which this Python was built without; `devtrace sql' does not")
	extension = lib.extension()
	try:
		db.enable_load_extension(True)
		db.execute("SELECT load_extension(?, 'sqlite3_devtracesqlite_init')", (extension,))
		db.enable_load_extension(False)
	except sqlite3.Error as e:
		raise lib.LibraryError(f"the extension for SQLite can not be loaded ({e}): `make install' of devtrace installs it; "
				       "DEVTRACE_SQLITE can name another place") from None
	quoted = path.replace("'", "''")
	for (name,) in db.execute("SELECT name FROM pragma_module_list WHERE name LIKE 'devtrace\\_%' ESCAPE '\\'").fetchall():
		db.execute(f"CREATE VIRTUAL TABLE temp.{name[len('devtrace_'):]} USING {name}('{quoted}')")
	db.row_factory = _row
	return _Tables(db)
