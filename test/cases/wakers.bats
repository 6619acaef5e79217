# SPDX-License-Identifier: MIT
# Who woke threads: of a trace whose wake-ups are known. test/kernel/guest/wakes.sh compares what is recorded.
load read-helper

# sp of a W record of that waker, or of an S record of that stack
of() {
	echo $((1 << 63 | $1))
}

# Thread 11 waits in read for 600 ticks (us) until 21 wakes it, and 100 more until it runs; then in nap for 300, of which
# a timer's interrupt ends 250, and runs 50 later; then 40 for a processor, in which nobody wakes it. 12 is woken
# while it runs, by an NMI, and by nobody known. The wakers are on core 1, where 12 runs.
setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$build/test/tool:$PATH
	cd "$BATS_FILE_TMPDIR" || return 1
	[ -e w.db ] && return
	writetrace w.db <<-END
		clock 0 1000000
		clock 1000000 1001000000
		kinds
		function main
		function read
		function nap
		function work
		function pipe_write
		function hrtimer_wakeup
		function vfs_read
		function schedule
		thread 11 reader
		thread 12 worker
		stack schedule vfs_read
		waker 21 20 0 0 pipe_write 0 writer
		waker 12 12 2 0 hrtimer_wakeup 0 worker
		waker 0 0 3 0 nothing 0
		at 1 12
		S S 0 1000 12 0 12 4294967295
		E work 0x7000 1010
		at 0 11
		S S 0 1000 11 0 11 4294967295
		E main 0x8000 1010
		E read 0x7f00 1020
		at 0 4294967295
		S S $(of 1) 1100 4294967295 0 0 11
		at 1 11
		W W $(of 1) 1700
		at 1 12
		X work 0x7000 1750
		at 0 11
		S S 0 1800 11 0 11 4294967295
		X read 0x7f00 1850
		E nap 0x7f00 1900
		at 0 4294967295
		S S $(of 1) 2000 4294967295 0 0 11
		at 1 11
		W W $(of 2) 2250
		at 1 12
		E work 0x7000 2260
		at 0 11
		S S 0 2300 11 0 11 4294967295
		X nap 0x7f00 2350
		at 1 12
		W W $(of 3) 2400
		W W 0 2410
		at 0 4294967295
		flags 64
		S S 0 2500 4294967295 0 0 4294967307
		flags 0
		at 0 11
		S S 0 2540 11 0 11 4294967295
		X main 0x8000 2600
		at 1 12
		X work 0x7000 2700
	END
}

@test "wakers: calls has who ended a wait, and how much later the thread ran" {
	devtrace calls w.db >calls
	cat calls
	grep -q 'read: waited 700.000 us, woken by writer (21) in pipe_write, ran 100.000 us later \*/$' calls
	grep -q 'nap: waited 300.000 us, woken by an interrupt in hrtimer_wakeup, ran 50.000 us later \*/$' calls
	grep -q 'main: waited 40.000 us' calls
	[ "$(grep -c '/\* woken by writer (21) in pipe_write \*/' calls)" = 1 ]
	[ "$(grep -c '/\* woken by an NMI \*/' calls)" = 1 ]
	[ "$(grep -c '/\* woken \*/' calls)" = 1 ]
	# who wakes another has not come to that one's core, and not left its own
	[ "$(grep -c 'work.*waited' calls)" = 0 ]
	# of one thread, the same
	devtrace calls --thread 11 w.db >one
	diff <(sed -n '/^# thread 11 /,/^# thread 12 /p' calls | sed '/^# thread 12/d; /^$/d') <(sed '/^$/d' one)
}

@test "wakers: JSON of calls, and of report --waits" {
	devtrace calls --json w.db | python3 -c '
import json, sys
calls = {c["function"]: c for c in map(json.loads, sys.stdin) if c["type"] == "call"}
assert calls["read"]["woken_by"] == {"context": "thread", "thread": 21, "process": 20, "name": "writer", "in": "pipe_write", "run_latency_ns": 100000}, calls["read"]
by = calls["nap"]["woken_by"]
assert (by["context"], by["thread"], by["in"], by["run_latency_ns"]) == ("interrupt", 12, "hrtimer_wakeup", 50000), by
assert "woken_by" not in calls["work"]
# the longest wait in it
assert calls["main"]["woken_by"]["name"] == "writer" and calls["main"]["wait_ns"] == 1040000, calls["main"]
'
	devtrace report --waits --json w.db | python3 -c '
import json, sys
rows = {r["function"]: r for r in map(json.loads, sys.stdin)}
read, nap, main = rows["read"], rows["nap"], rows["main"]
assert (read["woken_by"], read["wait_ns"], read["run_latency_ns"]) == ("writer in pipe_write", 700000, 100000), read
assert (nap["woken_by"], nap["wait_ns"], nap["run_latency_ns"]) == ("an interrupt in hrtimer_wakeup", 300000, 50000), nap
assert (main["woken_by"], main["for"], main["run_latency_ns"]) == (None, "a processor", 40000), main
'
	run devtrace report --waits w.db
	[[ "${lines[0]}" == *" runq avg  woken by "* && "${lines[1]}" == *"100.000 us  writer in pipe_write "*"  read" ]]
}

@test "wakers: sql's table wakes has each wake-up, and the switch behind it" {
	devtrace sql --csv --no-header w.db "SELECT time, thread, name, core, waker, waker_process, waker_name, context, function, ran, latency FROM wakes ORDER BY time" | tr -d '\r' >wakes
	diff - wakes <<-'END'
		700000,11,reader,1,21,20,writer,thread,pipe_write,800000,100000.0
		1250000,11,reader,1,12,12,worker,interrupt,hrtimer_wakeup,1300000,50000.0
		1400000,12,worker,1,,,,nmi,,,
		1410000,12,worker,1,,,,,,,
	END
	run devtrace sql --csv --no-header w.db "SELECT count(*), count(stack) FROM wakes"
	[ "${output%$'\r'}" = 4,0 ]
}

@test "wakers: a thread that has not left its core yet when it is woken has left it for that" {
	writetrace early.db <<-END
		clock 0 1000000
		clock 1000000 2000000
		kinds
		function read
		function f
		thread 11 reader
		waker 21 20 0 0 f 0 writer
		at 0 11
		S S 0 1000 11 0 11 4294967295
		E read 0x7f00 1020
		at 1 11
		W W $(of 1) 1999
		at 0 4294967295
		S S 0 2000 4294967295 0 0 11
		at 0 11
		S S 0 2300 11 0 11 4294967295
		X read 0x7f00 2350
		E read 0x7f00 9000
		at 1 11
		W W $(of 1) 9100
		at 0 4294967295
		S S 0 20000 4294967295 0 0 11
		at 0 11
		S S 0 20300 11 0 11 4294967295
		X read 0x7f00 20350
	END
	devtrace calls early.db >early
	grep -q 'read: waited 0.300 us, woken by writer (21) in f, ran 0.300 us later' early
	# that one was woken long before it left, and went on
	[ "$(grep -c ', woken by' early)" = 1 ]
	run devtrace sql --csv --no-header early.db "SELECT group_concat(coalesce(latency, '-'), ' ') FROM wakes"
	[ "${output%$'\r'}" = '301.0 -' ]
}

@test "wakers: flame --off has the kernel's functions below the calls that waited in them" {
	devtrace flame --off -w 100000 -o off.svg w.db
	python3 - off.svg <<-'PY'
		import re, sys
		boxes = re.findall(r"<title>(\w+): ([\d.]+) ms, itself ([\d.]+) ms", open(sys.argv[1]).read())
		own = lambda name: sorted(float(s) for n, t, s in boxes if n == name)
		assert own("schedule") == [0.3, 0.7] and own("vfs_read") == [0, 0], boxes
		assert own("read") == [0] and own("nap") == [0], boxes
		# what it was preempted has no stack
		assert own("main") == [0.04], boxes
		PY
}

@test "wakers: traces with impossible wakers are read all the same" {
	writetrace bad.db <<-END
		clock 0 1000000
		clock 1000000 2000000
		kinds
		function read
		thread 11 reader
		waker 21 20 77 0 nothing 5 writer
		at 0 11
		S S 0 1000 11 0 11 4294967295
		E read 0x7f00 1020
		at 0 4294967295
		S S $(of 9) 2000 4294967295 0 0 11
		at 1 11
		W W $(of 1) 2100
		W W $(of 4294967295) 2150
		at 0 11
		S S 0 2300 11 0 11 4294967295
		X read 0x7f00 2350
	END
	devtrace calls bad.db | grep -q 'read: waited 0.300 us \*/'
	devtrace sql --csv --no-header bad.db "SELECT count(*) FROM wakes WHERE stack IS NULL" | grep -q 2
	devtrace flame --off -o bad.svg bad.db
	sqlite3 bad.db 'DROP TABLE waker'
	devtrace report --waits bad.db >bad
	devtrace calls bad.db >bad
}

@test "wakers: who wakes another and then waits itself has waited" {
	writetrace next.db <<-END
		clock 0 1000000
		clock 1000000 2000000
		kinds
		function read
		function work
		thread 11 reader
		thread 12 worker
		waker 12 12 0 0 work 0 worker
		at 1 12
		S S 0 1000 12 0 12 4294967295
		E work 0x7000 1010
		at 0 11
		S S 0 1000 11 0 11 4294967295
		E read 0x7f00 1020
		at 0 4294967295
		S S 0 1100 4294967295 0 0 11
		at 1 11
		W W $(of 1) 1700
		at 1 4294967295
		S S 0 1710 4294967295 0 0 12
		at 0 11
		S S 0 1800 11 0 11 4294967295
		X read 0x7f00 1850
		at 1 12
		S S 0 2000 12 0 12 4294967295
		X work 0x7000 2100
	END
	devtrace calls next.db >next
	grep -q 'read: waited 0.700 us, woken by worker (12) in work, ran 0.100 us later' next
	grep -q 'work: waited 0.290 us \*/' next
}
