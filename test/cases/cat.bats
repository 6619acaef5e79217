#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace cat
load read-helper

@test "cat prints lines of 121 bytes, in the order of time" {
	maketrace -n 20000 -c 3 -t 5 t.db
	devtrace cat t.db >out
	[ "$(wc -l <out)" = 20000 ]
	[ "$(wc -c <out)" = $((20000 * 121)) ]
	! grep -vE '^[EX]( [0-9a-f]{16}){7}$' out
	cut -d' ' -f3 out | LC_ALL=C sort -c
}

@test "cat prints the golden record to the byte" {
	writetrace t.db <<-'TEXT'
	function rtctime
	at 0 572
	E rtctime 0x1000 0x88297eecd2e7 0x7be 0xffffffff81accb78 0xffffffff81a4d2a8 0xffffffff0000000a
	X rtctime 0x1000 0x88297eecd445 0xffffffff801abc78 9 9 9
	TEXT
	devtrace cat t.db >out
	cat >want <<-'TEXT'
	E 0000000000400005 000088297eecd2e7 000000000000023c 00000000000007be ffffffff81accb78 ffffffff81a4d2a8 ffffffff0000000a
	X 0000000000400006 000088297eecd445 000000000000023c ffffffff801abc78 0000000000000000 0000000000000000 0000000000000000
	TEXT
	cmp out want
}

@test "cat -l names functions, and says what was lost" {
	sample t.db
	run devtrace cat -l t.db
	[ "$status" = 0 ]
	[ "${lines[0]}" = "kind=E ticks=1000 core=0 tid=1 pc=0x400005 sp=0x7fff1000 function=main v0=0x1 v1=0x7ffe00 v2=0x0 v3=0x0" ]
	[[ "$output" == *"kind=LOSS core=0 lost=5 begin=4100 end=6000"* ]]
}

@test "cat without -l says on stderr that records were lost" {
	sample t.db
	devtrace cat t.db >/dev/null 2>err
	[ "$(cat err)" = "devtrace: note: 5 records were lost while this was recorded" ]
}

@test "cat takes a range of time" {
	sample t.db
	[ "$(devtrace cat --from 1400 --to 1510 t.db 2>/dev/null | wc -l)" = 3 ]
	[ "$(devtrace cat --from 0.2us --to 0.255us t.db 2>/dev/null | wc -l)" = 3 ]
	run devtrace cat --from soon t.db
	[ "$status" = 2 ]
	[[ "$output" == "devtrace: 'soon' is not a time"* ]]
}

@test "cat reads devtrace.db when no file is named" {
	sample
	[ "$(devtrace cat 2>/dev/null | wc -l)" = 17 ]
}

@test "cat stops when nobody reads" {
	maketrace -n 200000 t.db
	devtrace cat t.db | head -1
}
