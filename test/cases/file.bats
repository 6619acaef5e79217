#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Trace files that are not there, not ours, not whole, or still growing: every command that reads.
load read-helper

# every command refuses FILE with status 1 and one line that holds TEXT
refuse() {
	local c
	for c in cat calls report "plot --text" hist count "export --barrelfish -o /dev/null"; do
		run devtrace $c "$1"
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
		[[ "$output" == "devtrace: $1: "*"$2"* ]]
	done
}

@test "missing, foreign, empty files, folders and devices are told apart" {
	refuse none.db "no such file"
	mkdir d
	refuse d "is a directory"
	: >empty
	refuse empty "is empty"
	echo "some text" >text
	refuse text "not a devtrace trace"
	sqlite3 other.db 'CREATE TABLE t(x)'
	refuse other.db "not a devtrace trace"
	refuse /dev/null "not a regular file"
	mkfifo fifo && refuse fifo "not a regular file"
}

@test "a newer format, a cut-off and a damaged file are told" {
	unsound bad.db newer.db cut.db
	maketrace -n 100000 t.db
	cp t.db newer.db
	sqlite3 newer.db 'PRAGMA user_version=99'
	refuse newer.db "newer devtrace"
	head -c 100000 t.db >cut.db
	refuse cut.db "cut off"
	cp t.db bad.db
	# bytes in the middle of the first chunk's blobs
	sqlite3 bad.db 'UPDATE chunk SET events = CAST(substr(events, 1, 2000) || zeroblob(50) || substr(events, 2051) AS BLOB) WHERE id = 1'
	refuse bad.db "damaged"
}

@test "a file that somebody is just writing to, its header first, is waited for" {
	maketrace -n 100000 t.db
	python3 - <<-'P' &
		import os, sqlite3, time
		db = sqlite3.connect("t.db", isolation_level=None)
		db.execute("BEGIN EXCLUSIVE")
		size = os.path.getsize("t.db")
		f = os.open("t.db", os.O_RDWR)
		end = os.pread(f, size, size // 2)
		os.truncate("t.db", size // 2)
		open("locked", "w").close()
		time.sleep(0.5)
		os.pwrite(f, end, size // 2)
		db.execute("ROLLBACK")
	P
	until [ -e locked ]; do sleep 0.01; done
	devtrace count t.db
	wait $!
}

@test "without permission there is a clear line" {
	[ "$(id -u)" != 0 ] || skip "root may read everything"
	maketrace -n 10 t.db
	chmod 0 t.db
	refuse t.db "ermission denied"
}

@test "a trace in a folder that may not be written can be read" {
	mkdir d
	maketrace -n 1000 d/t.db
	chmod 500 d
	[ "$(devtrace cat d/t.db | wc -l)" = 1000 ]
	chmod 700 d
}

@test "a trace is a plain database, private, in one file" {
	maketrace -n 1000 t.db
	[ "$(ls t.db*)" = t.db ]
	[ "$(stat -c %a t.db)" = 600 ]
	[ "$(sqlite3 t.db 'PRAGMA integrity_check')" = ok ]
	[ "$(sqlite3 t.db 'SELECT sum(records) FROM chunk')" = 1000 ]
	[ "$(sqlite3 t.db 'PRAGMA application_id')" = $((0x64747263)) ]
}

@test "only traces and empty files are overwritten" {
	echo precious >x
	run maketrace -n 10 x
	[ "$status" = 1 ]
	[ "$(cat x)" = precious ]
	: >y
	maketrace -n 10 y
	maketrace -n 20 y
	[ "$(devtrace cat y | wc -l)" = 20 ]
}

@test "help, wrong options and too many files" {
	for c in cat calls report plot; do
		run devtrace $c --help
		[ "$status" = 0 ]
		[[ "$output" == "usage: devtrace $c "* ]]
		run devtrace $c --no-such-option
		[ "$status" = 2 ]
		run devtrace $c a.db b.db
		[ "$status" = 2 ]
		[[ "${lines[0]}" == *"one trace file at a time"* ]]
	done
}

@test "output that cannot be written is an error" {
	[ -e /dev/full ] || skip
	maketrace -n 100000 t.db
	for c in cat calls report "plot --text"; do
		run sh -c "devtrace $c t.db >/dev/full"
		[ "$status" = 1 ]
	done
}

@test "a space, ? and % in the name do no harm" {
	mkdir d
	maketrace -n 10 'd/a ?b%20#.db'
	chmod 500 d
	[ "$(devtrace cat 'd/a ?b%20#.db' | wc -l)" = 10 ]
	chmod 700 d
}
