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
	# a thread's first record is not its earliest, and its last one not its latest: what view keeps is from one to the other all the same
	unsound events.db
	writetrace events.db <<-'TEXT'
	meta revision 1
	thread 1 a
	kinds
	function f ;v
	V f 0 300 5
	V f 0 200 6
	V f 0 400 7
	V f 0 350 8
	TEXT
	run devtrace check events.db
	[ "$status" = 1 ]
	[[ $output == *"2 records are earlier than the ones before them of their thread"* ]]
	[[ $output != *"view keeps"* ]]
}

@test "check: what is open at the end of an interrupt's stack counts, on each core" {
	writetrace open.db <<-'TEXT'
	meta policy wait
	meta revision 1
	function f a:i4@0;v
	at 0 4294967295
	E f 0xffffffff81001000 100
	at 3 4294967295
	E f 0xffffffff81002000 200
	TEXT
	run devtrace check open.db
	[ "$status" = 0 ]
	[[ $output == *"calls: 2; 0 returned,"*"2 open at the end"* ]]
	[ "$(devtrace calls open.db | grep -c 'f(a=0).*not finished')" = 2 ]
}

@test "check: of a ring that threads share, the records of each thread are in order" {
	# 65280: the first shared ring
	writetrace shared.db <<-'TEXT'
	meta policy wait
	meta revision 1
	thread 1 a
	thread 2 b
	function f a:i4@0;v
	at 65280 1
	E f 0x1000 100
	at 65280 2
	E f 0x1000 50
	X f 0x1000 60
	at 65280 1
	X f 0x1000 110
	TEXT
	devtrace check shared.db
	unsound disorder.db
	writetrace disorder.db <<-'TEXT'
	meta policy wait
	meta revision 1
	thread 1 a
	function f a:i4@0;v
	at 65280 1
	E f 0x1000 100
	X f 0x1000 60
	TEXT
	run devtrace check disorder.db
	[ "$status" = 1 ]
	[[ $output == *earlier* ]]
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

# recorded POLICY [DEPTH]: a program that calls, and a trace of it, in good.db, that has lost and waited
recorded() {
	cat >fib.c <<-'C'
		#include <stdlib.h>
		__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int main(int argc, char **argv) { return !fib(atoi(argv[argc - 1])); }
	C
	[ -x fib ] || gcc -O1 -g -B"$BATS_TEST_DIRNAME/../../build/lib" -o fib fib.c
	taskset -c 0 devtrace record -p "$1" -b 64K -o good.db ./fib "${2-25}" 2>/dev/null
}

# damaged SQL WORDS [LINES]: with that done to good.db, check says so; and nothing else is wrong
damaged() {
	cp good.db bad.db
	sqlite3 bad.db "$1" || return 1
	run devtrace check bad.db
	echo "$1: $output"
	[ "$status" = 1 ] || return 1
	case $output in *"$2"*) ;; *) return 1 ;; esac
	[ "${#lines[@]}" -le "${3-2}" ] || return 1
}

@test "check: what was written is read, or counted as lost; report and view refuse what is not" {
	local policy
	unsound bad.db
	for policy in overwrite drop wait; do
		recorded "$policy"
		run devtrace check good.db
		[ "$status" = 0 ]
		[[ $output == *"written: as many, by the rings' own counts"* ]]
		[ "$(sqlite3 good.db "SELECT sum(records + dropped) FROM written")" = 485572 ]
		damaged "UPDATE written SET records = records + 1 WHERE core = (SELECT max(core) FROM written WHERE core < 65535)" \
			"1 core has not as many records as were written, lost ones included: core "
		[ "$policy" = wait ] || damaged "DELETE FROM loss" "are here and 0 are counted as lost" 3
		damaged "DELETE FROM written WHERE core < 65535" "nobody wrote any"
	done
	# a recorder that leaves out what it took last: nothing else tells
	damaged "DELETE FROM chunk WHERE id = (SELECT max(id) FROM chunk)" "ring wrote 485572, and had no place for 0"
	run devtrace report bad.db
	[ "$status" = 1 ]
	[[ $output == *"the trace does not add up: 485572 records of core 0 were written, "*" are here and 0 are counted as lost; "*"--anyway"* ]]
	run devtrace report --anyway bad.db
	[ "$status" = 0 ]
	run devtrace view --index bad.db
	[ "$status" = 1 ]
	[[ $output == *"the trace does not add up: 485572 records of core "* ]]
	sqlite3 bad.db "DROP TABLE written"
	run devtrace check bad.db
	[ "$status" = 0 ]
}

@test "check: how many records were written is not known of what is old, cut off, or no recording" {
	recorded wait
	cp good.db cut.db
	sqlite3 cut.db "DELETE FROM written"
	run devtrace check cut.db
	[ "$status" = 0 ]
	[[ $output == *"not known: how many records were written; its session goes on, or was cut off"* ]]
	sqlite3 cut.db "DROP TABLE written; UPDATE meta SET value = '1' WHERE key = 'revision'"
	run devtrace check cut.db
	[ "$status" = 0 ]
	[[ $output == *"not known: how many records were written; an older devtrace recorded it"* ]]
	sample t.db
	run devtrace check t.db
	[[ $output == *"not known"*"no recording"* ]]
	run devtrace report cut.db
	[ "$status" = 0 ]
}

@test "check: a recorder that is killed, and one that goes on: what is not known is said" {
	local p tries
	recorded wait
	cat >loop.c <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) int leaf(volatile int *n) { return ++*n; }
		int main(void) { volatile int n = 0; for (int i = 0; i < 3000; i++) leaf(&n), usleep(10000); return 0; }
	C
	gcc -O1 -g -B"$BATS_TEST_DIRNAME/../../build/lib" -o loop loop.c
	devtrace record -o live.db ./loop 3>&- &
	p=$!
	for tries in $(seq 300); do
		[ "$(sqlite3 live.db "SELECT count(*) FROM chunk" 2>/dev/null || true)" -gt 1 ] 2>/dev/null && break
		sleep 0.1
	done
	run devtrace check live.db
	echo "$output"
	kill -9 "$p"
	kill "$(sqlite3 live.db "SELECT pid FROM process")"
	[ "$status" = 0 ]
	[[ $output == *"its session goes on, or was cut off"* ]]
	run devtrace check live.db
	[ "$status" = 0 ]
	[[ $output == *"its session goes on, or was cut off"* ]]
}

# bats test_tags=long
@test "check: rows of waits, pauses, modules and processes that can not be" {
	local begin end tid
	unsound bad.db
	recorded wait 22
	# a long one, by which clocks do not differ
	# half of which can pass once more before the session ends
	begin=$(sqlite3 good.db "SELECT begin_ticks FROM hold WHERE why='room' AND 2 * end_ticks - begin_ticks < (SELECT max(end_ticks) FROM hold)
		ORDER BY end_ticks - begin_ticks DESC LIMIT 1")
	end=$(sqlite3 good.db "SELECT end_ticks FROM hold WHERE begin_ticks = $begin")
	tid=$(sqlite3 good.db "SELECT tid FROM hold WHERE begin_ticks = $begin")
	# however loaded the machine was when the clocks were compared: all of it ran on one core
	sqlite3 good.db "UPDATE meta SET value = '0 0' WHERE key GLOB 'clock_applied.*'"
	devtrace check -q good.db
	damaged "UPDATE hold SET end_ticks = begin_ticks WHERE begin_ticks = $begin" "waits for no time, or less"
	damaged "UPDATE hold SET tid = 0 WHERE begin_ticks = $begin" "there is no thread 0"
	damaged "UPDATE hold SET tid = 4000000 WHERE begin_ticks = $begin" "thread 4000000, in table hold"
	damaged "UPDATE hold SET why = 'tea' WHERE begin_ticks = $begin" "nobody waits for 'tea'"
	damaged "UPDATE hold SET tid = 'tea' WHERE begin_ticks = $begin" "something else than a number where one belongs"
	damaged "UPDATE hold SET end_ticks = end_ticks + 1000000000000000 WHERE begin_ticks = $begin" "which is not in the session"
	damaged "UPDATE hold SET begin_ticks = 5 WHERE begin_ticks = $begin" "at tick 5, which is not in the session"
	damaged "INSERT INTO hold VALUES($tid, ($begin + $end) / 2, $end + ($end - $begin) / 2, 'room')" "waits already when it begins to"
	damaged "INSERT INTO hold VALUES($tid, $begin, $end, 'stop'), ($tid, ($begin + $end) / 2, $end, 'stop')" \
		"waits already when it begins to"
	damaged "INSERT INTO pause VALUES($end, $begin, 'frozen', 1, NULL)" "pause, row 1: ends before it begins"
	damaged "INSERT INTO pause VALUES($begin, $end, 'frozen', 0, NULL)" "pause, row 1: 0 times"
	damaged "INSERT INTO pause VALUES($begin, $end, 'tea', 1, NULL)" "nothing is 'tea'"
	damaged "INSERT INTO pause VALUES(5, $end, 'frozen', 1, NULL)" "pause, row 1: it is not in the session"
	damaged "INSERT INTO pause VALUES($begin, $end, 'stopped', 1, 0), (($begin + $end) / 2, $end, 'stopped', 1, 0)" \
		"pause, row 2: begins before the one before it has ended"
	damaged "INSERT INTO change VALUES(5, $end, 'tea', 0)" "change, row 1: it is not in the session"
	damaged "INSERT INTO complete VALUES(999, $begin)" "complete: there is no module 999"
	damaged "UPDATE complete SET ticks = 5 WHERE module = (SELECT max(module) FROM complete)" "at tick 5, which is not in the session"
	damaged "INSERT INTO module_name VALUES(999, 'tea')" "module_name: there is no module 999"
	damaged "INSERT INTO exec SELECT pid, 5 FROM process" "is not there at tick 5"
	damaged "UPDATE module SET pid = 4000000 WHERE id = 1" "module 1 is of process 4000000"
	damaged "UPDATE process SET end_ticks = end_ticks + 1000000000000000" "its times are not in the session"
	damaged "INSERT INTO unhooked_caller VALUES('/tea', 1, 2)" "2 of /tea is not in unhooked"
	damaged "INSERT INTO meta VALUES('held_missed', 'tea')" "held_missed is 'tea', which is not 2 numbers"
	damaged "INSERT INTO meta VALUES('held_missed', '7 f')" "older devtrace recorded it: how long the waits took" 3
	damaged "INSERT INTO meta VALUES('clockless', '1 -1')" "clockless is '1 -1'"
	damaged "UPDATE meta SET value = '1 2 3' WHERE key = 'cost.entry'" "cost.entry is '1 2 3', which is not 5 numbers"
	damaged "UPDATE meta SET value = 'x' WHERE key = 'cores'" "cores is 'x'"
	damaged "INSERT INTO thread VALUES(4200000, (SELECT pid FROM process), 'tea')" "unknown_tids is 0; 1 threads"
}

@test "check: what came while nothing was recorded is no fault, also where a call is seen to be over by it" {
	writetrace t.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function main a:i4@0;v
	function first a:i4@0;v
	function second a:i4@0;v
	E main 0x7000 100
	E first 0x6f00 150
	X second 0x6f00 400
	X main 0x7000 500
	TEXT
	sqlite3 t.db "INSERT INTO pause (begin_ticks, end_ticks, why, times, missed) VALUES (160, 300, 'frozen', 1, 2)"
	run devtrace check -q t.db
	echo "$output"
	[ "$status" = 0 ]
}

@test "check: libc's resolver of names, which takes off what it was jumped to with" {
	cat >lazy.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		__attribute__((noinline)) int f(const char *s) { return abs(atoi(s)) + (getenv("NONE") != 0); }
		int main(void)
		{
			int sum = 0;
			for (int i = 0; i < 3; i++)
				sum += f("1");
			printf("%d\n", sum);
			return 0;
		}
	C
	gcc -O1 -fno-builtin -no-pie -fno-pie -Wl,-z,lazy -o lazy lazy.c
	run devtrace record -o t.db -F 'lazy:*' -F 'ld-linux-x86-64.so.2:*' ./lazy
	[ "$status" = 0 ]
	run devtrace check t.db
	[ "$status" = 0 ]
	# abs, atoi, getenv and printf at least
	run devtrace sql -c -n t.db "SELECT DISTINCT ended, count(*) >= 4 FROM calls WHERE function LIKE '_dl_runtime_resolve%' GROUP BY 1"
	[ "$output" = $'tail,1\r' ] || [ "$output" = tail,1 ]
}

@test "check: functions that move their return address: off their arguments, below what they leave, before a jump" {
	# as V8's do: against the program's own count
	cat >moves.c <<-'C'
		#include <stdio.h>
		__asm__(
			".text\n"
			".globl takes\n .type takes,@function\n"	/* two words that its caller has pushed */
			"takes: pop %rcx\n lea 16(%rsp),%rsp\n push %rcx\n incl takes_n(%rip)\n ret\n .size takes,.-takes\n"
			".globl leaves\n .type leaves,@function\n"	/* two words to its caller */
			"leaves: pop %rcx\n push $1\n push $2\n push %rcx\n incl leaves_n(%rip)\n ret\n .size leaves,.-leaves\n"
			".globl jumps\n .type jumps,@function\n"	/* with a word and the return address once more */
			"jumps: incl jumps_n(%rip)\n push $1\n push 8(%rsp)\n jmp takes\n .size jumps,.-jumps\n"
			".globl both\n .type both,@function\n"	/* calls others, and takes a word off */
			"both: incl both_n(%rip)\n push %rbx\n mov %edi,%ebx\n call twice\n test %ebx,%ebx\n je 1f\n"
			"lea -1(%rbx),%edi\n push $0\n call both\n"
			"1: pop %rbx\n pop %rcx\n lea 8(%rsp),%rsp\n push %rcx\n ret\n .size both,.-both\n"
			".globl parts\n .type parts,@function\n"	/* calls a part of itself: that one's exit is not its own */
			"parts: incl parts_n(%rip)\n call 2f\n"
			"2: call twice\n mov %edi,%eax\n ret\n .size parts,.-parts\n");
		int takes_n, leaves_n, jumps_n, both_n, parts_n, twice_n;
		__attribute__((noinline)) void twice(void) { __asm__ volatile("incl twice_n(%rip)"); }
		#define CALL(words) __asm__ volatile("lea -128(%%rsp),%%rsp\n" words "\n lea 128(%%rsp),%%rsp" ::: "rax", "rcx", "rdx", "rsi", "rdi", \
						     "r8", "r9", "r10", "r11", "memory", "cc")
		__attribute__((noinline)) void around(int i)
		{
			CALL("push $7\n push $8\n call takes");
			CALL("call leaves\n lea 16(%%rsp),%%rsp");
			if (i % 2)
				CALL("call jumps");
			CALL("push $0\n mov $3,%%edi\n call both");
			CALL("call parts");
		}
		int main(void)
		{
			for (int i = 0; i < 100; i++)
				around(i);
			printf("takes|%d\nleaves|%d\njumps|%d\nboth|%d\nparts|%d\ntwice|%d\naround|100\nmain|1\n", takes_n, leaves_n, jumps_n, both_n,
			       parts_n, twice_n);
			return 0;
		}
	C
	gcc -O1 -fno-pie -no-pie -o moves moves.c
	devtrace record -F 'moves:*' -o t.db ./moves | sort >count
	cat count
	devtrace check t.db
	# nothing is unwound, and each is as deep as it was called
	devtrace sql -n -c t.db "SELECT function || '|' || count(*) FROM calls WHERE function IN ('takes','leaves','jumps','both','parts','twice','around','main')
		AND id > 0 AND ended = CASE function WHEN 'jumps' THEN 'tail' ELSE 'returned' END GROUP BY function" | tr -d '\r' | sort | diff count -
	devtrace sql -n -c t.db "SELECT DISTINCT c.function, p.function FROM calls c JOIN calls p ON p.id = c.parent WHERE c.id > 0 AND p.function <> 'main'" | tr -d '\r' | sort >parents
	cat parents
	printf '%s\n' both,around both,both jumps,around leaves,around parts,around takes,around twice,both twice,parts | diff - parents
}

@test "check: a switch of stacks of which the call of swapcontext alone is known" {
	writetrace t.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function swapcontext a:p@0;i4@0
	function setcontext a:p@0;i4@0
	function other a:i4@0;v
	E swapcontext 0x7000 100
	X swapcontext 0x9000 200
	E other 0x9008 210
	X other 0x9008 220
	E setcontext 0x9000 230
	X setcontext 0x7000 300
	E other 0x7000 310
	X other 0x7000 320
	TEXT
	devtrace check -q t.db
	devtrace calls t.db | sed -e '/^#/d; s/^ *[0-9.]* us *//; s/^ *//; s/(.*)//; /^$/d' >got
	cat >want <<-'TEXT'
	swapcontext = 0  /* entered, on another stack */
	other  /* on another stack */
	setcontext = 0  /* on another stack */
	swapcontext = 0  /* tail call */
	other
	TEXT
	diff -u want got
}

@test "check: a stack in an array, where calls that an exception left had been" {
	writetrace t.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function swapcontext a:p@0;i4@0
	function thrown a:i4@0;v
	function first a:i4@0;v
	function second a:i4@0;v
	function third a:i4@0;v
	E thrown 0x20880 10
	E thrown 0x20860 11
	E thrown 0x20840 12
	E swapcontext 0x10880 100
	X swapcontext 0x20878 110
	E first 0x20880 120
	E second 0x20870 130
	E third 0x20858 140
	X third 0x20858 150
	E swapcontext 0x20860 160
	X swapcontext 0x10880 170
	E swapcontext 0x10880 180
	X swapcontext 0x20860 190
	E third 0x20858 200
	X third 0x20858 210
	X second 0x20870 220
	X first 0x20880 230
	TEXT
	devtrace check -q t.db
	run devtrace sql -c -n t.db "SELECT function, count(*) FROM calls WHERE ended = 'returned' GROUP BY 1 ORDER BY 1"
	[[ $output == *"first,1"*"second,1"*"third,2"* ]]
}

@test "check: who began a stack changes it again when its first call has returned" {
	# as in contexts.c: the stack is in an array of play's, and what ended it took long
	writetrace t.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function swapcontext a:p@0;i4@0
	function setcontext a:p@0;i4@0
	function play a:i4@0;v
	function resume a:i4@0;v
	function body a:i4@0;v
	E play 0x96f0 100
	E resume 0x5700 200
	E swapcontext 0x56d0 210
	X swapcontext 0x76c8 220
	E body 0x76d0 230
	X body 0x76d0 300
	E setcontext 0x76d0 310
	X setcontext 0x56d0 900
	X resume 0x5700 910
	X play 0x96f0 1000
	TEXT
	devtrace check -q t.db
	devtrace calls t.db | sed -e '/^#/d; s/^ *[0-9.]* us *//; s/^ *//; s/(.*)//; /^$/d' >got
	cat >want <<-'TEXT'
	play {
	resume {
	swapcontext = 0  /* entered, on another stack */
	body  /* on another stack */
	setcontext = 0  /* on another stack */
	swapcontext = 0  /* tail call */
	}  /* resume */
	}  /* play */
	TEXT
	diff -u want got
}

@test "check: what the kernel has lost is behind the same calls, wherever the trace is cut" {
	for seed in 1 2 3; do
		maketrace -n 400000 -c 2 -t 3 -s "$seed" t.db >made
		# as of switches: the cores' rings have records in these times
		sqlite3 t.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40),
			r AS (SELECT min(min_ticks) a, max(max_ticks) b, max(first + records) m FROM chunk)
			INSERT INTO loss SELECT i % 2, m * i / 41, 100, a + (b - a) * i / 41, a + (b - a) * i / 41 + (b - a) / 100 FROM n, r"
		devtrace check -q t.db
		[ "$(sqlite3 -readonly t.db "SELECT count(*) FROM loss")" = 40 ]
	done
}

@test "check: what a coroutine's end leaves open takes no call of the stack that is gone back to" {
	writetrace t.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function swapcontext a:p@0;i4@0
	function setcontext a:p@0;i4@0
	function main a:i4@0;v
	function play a:i4@0;v
	function body a:i4@0;v
	function start a:i4@0;v
	function other a:i4@0;v
	function deeper a:i4@0;v
	E main 0x9800 50
	E play 0x96f0 100
	E swapcontext 0x56d0 210
	X swapcontext 0x76c8 220
	E body 0x76d0 230
	X body 0x76d0 300
	E start 0x76d8 305
	E setcontext 0x76d0 310
	X setcontext 0x56d0 900
	X play 0x96f0 1000
	E other 0x7700 1100
	E deeper 0x76a0 1110
	X deeper 0x76a0 1120
	X other 0x7700 1130
	X main 0x9800 1200
	TEXT
	devtrace check -q t.db
	run devtrace sql -c -n t.db "SELECT p.function FROM calls c JOIN calls p ON p.id = c.parent WHERE c.function = 'deeper'"
	[ "${output%$'\r'}" = other ]
}

@test "check -s: rings that a traced program has written into are a fault" {
	sample t.db
	devtrace check -qs t.db
	sqlite3 t.db "INSERT INTO meta VALUES('broken_rings', '0 65535')"
	run devtrace check t.db
	[ "$status" = 0 ]
	[[ $output == *"not known: what was recorded from some time on by core 0, the shared ring: a traced program"* ]]
	run devtrace check -s t.db
	[ "$status" = 1 ]
	[[ $output == *"a traced program has written into the memory of core 0, the shared ring"*"not sound" ]]
	unsound t.db
}

@test "check: an exit whose entry another user's program may have written over is a note, with -s a fault" {
	unsound orphan.db
	# outer's call of inner has an entry the first time, an exit without one the second
	writetrace orphan.db <<-'TEXT'
	thread 1 a
	function outer
	function inner
	E outer 0x2000 100
	E inner 0x1f00 110
	X inner 0x1f00 120
	X inner 0x1e00 140
	X outer 0x2000 200
	TEXT
	run devtrace check orphan.db
	echo "$output"
	[ "$status" = 1 ]
	[ "${lines[0]}" = "orphan.db: 1 exit has no entry, and nothing says why: inner in thread 1, at tick 140" ]
	# whose it was, or that one has written into the rings
	for meta in "'doubted', '65534 1000'" "'broken_rings', '1'"; do
		sqlite3 orphan.db "DELETE FROM meta WHERE key IN ('doubted', 'broken_rings'); INSERT INTO meta VALUES($meta)"
		run devtrace check orphan.db
		echo "$output"
		[ "$status" = 0 ]
		[[ ${lines[0]} == "orphan.db: note: 1 exit has no entry, "*"The program can have written that itself: "* ]]
		run devtrace check -q orphan.db
		[ "$status" = 0 ]
		[ "$output" = "" ]
		run devtrace check -s orphan.db
		[ "$status" = 1 ]
		[[ $output == *"1 exit has no entry, and nothing says why: "*"not sound"* ]]
	done
}

# Assembler has several beginnings for one piece of code. What leads to the others need not be recorded, as it is not chosen
# here: then there are exits without entries, and they have a reason.
@test "check: exits of a function that others enter in its middle have a reason, by a jump and by a call" {
	cat >inside.S <<-'S'
		.globl inner, outer
		.type inner, @function
		inner:	lea 1(%rdi), %rax
		.Lenter:
			add $2, %rax
			imul $3, %rax, %rax
		#ifdef ON
			jmp last
		#else
			add $0x1000, %rax
			ret
		#endif
			.size inner, .-inner
			.p2align 4
			.type last, @function
		last:	add $0x1000, %rax
			ret
			.size last, .-last
			.p2align 4
			.type outer, @function
		outer:	mov %rdi, %rax
		#ifdef CALLS
			sub $8, %rsp
			call .Lenter
			add $8, %rsp
			ret
		#elif defined(OTHERS)
			jmp last
		#else
			jmp .Lenter
		#endif
			.size outer, .-outer
			.section .note.GNU-stack, "", @progbits
	S
	cat >main.c <<-'C'
		#include <stdio.h>
		long inner(long), outer(long);
		__attribute__((noipa)) long between(long n) { return outer(n) + inner(n); }
		int main(void)
		{
			long s = inner(1);
			for (int i = 0; i < 5; i++)
				s += between(i);
			printf("%ld\n", s);
		}
	C
	for flags in -DJUMPS -DCALLS "-DJUMPS -DON" "-DCALLS -DON"; do
		gcc -O1 $flags -o inside main.c inside.S
		[ "$(devtrace record -o t.db -F main -F between -F inner ./inside 2>said)" = "$(./inside)" ]
		devtrace check -q t.db
		[ "$(devtrace sql -c -n t.db "SELECT count(*) FILTER (WHERE kind = 'E'), count(*) FILTER (WHERE kind = 'X') FROM records WHERE function = 'inner'" | tr -d '\r')" = 6,11 ]
		[ "$(sqlite3 t.db "SELECT group_concat(place) FROM site JOIN function ON function.id = site.function WHERE site.kind = 'X' AND name = 'inner'")" = "$([[ $flags == *ON ]] && echo t || echo x)" ]
	done
	# where nobody does so, one is missing
	gcc -O1 -DOTHERS -o inside main.c inside.S
	devtrace record -o t.db -F main -F between -F inner ./inside >out 2>said
	devtrace check -q t.db
	[ "$(sqlite3 t.db "SELECT group_concat(place) FROM site JOIN function ON function.id = site.function WHERE site.kind = 'X' AND name = 'inner'")" = X ]
}

@test "check: a trace that is being written, or replaced by the next, while it is looked at" {
	cat >work.c <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int main(void)
		{
			for (int i = 0; i < 4; i++) {
				fib(16);
				usleep(60000);
			}
			return 0;
		}
	C
	gcc -O1 -o work work.c
	# waits, of which sql has the sum too, need a small ring
	for _ in $(seq 6); do
		devtrace record -F fib -b 64K -o t.db ./work >/dev/null 2>&1 &
		recorder=$!
		while kill -0 $recorder 2>/dev/null; do devtrace check -a t.db >>said 2>/dev/null || true; done
		wait $recorder
	done
	[ "$(grep -c ': sound: ' said)" -ge 6 ]
	! grep -v -e '^  ' -e ': sound: ' -e 'no such file' -e 'is empty' -e 'try again' said
}

@test "check: an exit whose entry is lost on a core that the thread has left again is no fault" {
	# core 1: the records between 50 and 400 are lost, and with them f's second entry, and whatever thread 1 did there
	trace() {
		cat <<-TEXT
			meta policy overwrite
			meta revision 1
			thread 1 a
			thread 2 b
			function f a:i4@0;v
			function g a:i4@0;v
			E g 0x2000 100
			E f 0x1000 110
			X f 0x1000 120
			X f 0x1000 200
			X g 0x2000 300
			at 1 2
			E f 0x5000 40
			X f 0x5000 50
			$1
			E f 0x5000 400
			X f 0x5000 410
		TEXT
	}
	trace "lost 7" | writetrace left.db
	run devtrace check left.db
	[ "$status" = 0 ]
	# without the loss, nothing says why
	trace "" | sed 's/policy overwrite/policy wait/' | writetrace kept.db
	run devtrace check kept.db
	[ "$status" = 1 ]
	[[ $output == *"1 exit has no entry, and nothing says why"* ]]
	rm kept.db
}
