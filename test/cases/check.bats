#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace check
load read-helper

@test "check: sound traces, made up and recorded; kinds of faults, each with its place" {
	sample t.db
	run devtrace check t.db
	[ "$status" = 0 ]
	[[ $output == *"sound: "*"the same in report, in view, in sql"* ]]
	run devtrace check -q t.db
	[ "$status" = 0 ]
	[ -z "$output" ]
	unsound bad.db old.db
	cp t.db bad.db
	sqlite3 bad.db "UPDATE chunk SET max_ticks = max_ticks + 1; UPDATE function SET module = 9 WHERE id = 1"
	run devtrace check bad.db
	[ "$status" = 1 ]
	[ "${lines[0]}" = "bad.db: 1 row of a table is not what it has to be: function 1: there is no module 9" ]
	[[ ${lines[1]} == "bad.db: "*"chunk"*"as "*"row"* ]]
	[ "${lines[-1]}" = "bad.db: not sound" ]
	# of several files the one that is not; what is none
	run devtrace check -q t.db bad.db nosuch.db
	[ "$status" = 1 ]
	[[ $output == *"nosuch.db: no such file"* ]]
	run devtrace check -x
	[ "$status" = 2 ]
}

@test "check: records out of order are known of older recordings, and of a dump its own" {
	unsound old.db
	writetrace old.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function f a:i4@0;v
	E f 0x1000 100
	X f 0x1000 90
	TEXT
	run devtrace check old.db
	[ "$status" = 1 ]
	[[ $output == *"1 record is earlier than one before it on its core: record 1 of core 0, 10 ticks earlier"* ]]
	[[ $output == *"before 2026-11-24 recorded it"*"record again"* ]]
	sqlite3 old.db "INSERT INTO meta VALUES ('revision', '1')"
	run devtrace check old.db
	[ "$status" = 1 ]
	[[ $output != *"record again"* ]]
}

@test "check: whatever is in the file, it ends by itself, and says that it is not sound" {
	local seed
	maketrace -n 60000 -c 2 -t 3 -l 9000 -m 20 t.db >made
	devtrace view --index t.db
	for seed in $(seq 30); do
		cp t.db d.db
		python3 - d.db "$seed" <<-'P'
			import random, sys
			random.seed(int(sys.argv[2]))
			f = open(sys.argv[1], 'r+b')
			b = bytearray(f.read())
			for i in range(random.choice((1, 3, 100))):
			    b[random.randrange(4096, len(b))] = random.randrange(256)
			f.seek(0)
			f.write(b)
		P
		run timeout 60 "$build/devtrace" check d.db
		# what has changed nothing, as in pages that are free, is sound
		[ "$status" = 0 ] || [ "$status" = 1 ] || { echo "seed $seed: $status $output"; false; }
		[ "$status" = 0 ] || [ -n "$output" ]
	done
	unsound d.db
}
