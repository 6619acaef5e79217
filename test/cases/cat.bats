#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace cat
load read-helper

@test "check-081: D1: cat prints lines of 121 bytes, in the order of time" {
	maketrace -n 20000 -c 3 -t 5 t.db
	devtrace cat t.db >out
	[ "$(wc -l <out)" = 20000 ]
	[ "$(wc -c <out)" = $((20000 * 121)) ]
	! grep -vE '^[EX]( [0-9a-f]{16}){7}$' out || false
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

golden() {
	writetrace "$1" <<-'TEXT'
	clock 0x88297eecd2e7 1000000 784463496565348000
	clock 0x88297eecd445 1000350 784463496565348350
	function rtctime
	at 3 572
	E rtctime 0x1000 0x88297eecd2e7 0x7be 0xffffffff81accb78 0xffffffff81a4d2a8 0xffffffff0000000a
	X rtctime 0x1000 0x88297eecd445 0xffffffff801abc78 9 9 9
	TEXT
}

@test "check-081: D2: cat --cpu keeps the columns and the 121 bytes" {
	golden t.db
	devtrace cat --cpu t.db >out
	cat >want <<-'TEXT'
	E 0000000000400005 000088297eecd2e7 0000023c    0003 00000000000007be ffffffff81accb78 ffffffff81a4d2a8 ffffffff0000000a
	X 0000000000400006 000088297eecd445 0000023c    0003 ffffffff801abc78 0000000000000000 0000000000000000 0000000000000000
	TEXT
	cmp out want
	[ "$(wc -c <out)" = 242 ]
}

@test "check-081: D2: cat -3 prints 64 bytes, with --cpu 69, and says what it cut" {
	golden t.db
	devtrace cat -3 t.db >out 2>err
	cat >want <<-'TEXT'
	E 00400005 000088297eecd2e7 0000023c 000007be 81accb78 81a4d2a8
	X 00400006 000088297eecd445 0000023c 801abc78 00000000 00000000
	TEXT
	cmp out want
	[ "$(wc -c <out)" = 128 ]
	[[ "$(cat err)" == "devtrace: note: 2 of 2 lines do not hold all that was recorded"* ]]
	devtrace cat --32 --cpu t.db >out 2>/dev/null
	[ "$(wc -c <out)" = 138 ]
	[ "$(head -1 out)" = "E 00400005 000088297eecd2e7 0000023c 0003 000007be 81accb78 81a4d2a8" ]
	printf 'E f 0x1000 1000 1 2 3\n' | writetrace small.db
	devtrace cat -3 small.db >out 2>err
	[ ! -s err ]
}

@test "what can not be written: said once, and status 1, by each command that prints a trace" {
	maketrace -n 30000 -c 2 -t 3 t.db
	sample s.db
	for command in cat 'cat -c' 'cat -l' 'cat -3' calls graph report 'report --json' hist count \
		'export --csv' 'export --chrome' 'export --folded' 'export --speedscope' 'export --callgrind' flame\ -o- 'sql -c' check; do
		for file in t.db s.db; do
			words=
			[ "$command" != 'sql -c' ] || words="'SELECT * FROM records'"
			run bash -c "devtrace $command $file $words >/dev/full"
			[ "$status" = 1 ] || { echo "$command $file: status $status: $output"; false; }
			[ "$(grep -Eic 'can ?not (be )?writ|No space left on device' <<<"$output")" = 1 ] || { echo "$command $file: $output"; false; }
		done
	done
}

@test "cat: --from and --to are of the records that are there, both ends among them" {
	for ((i = 100; i < 112; i++)); do
		printf 'at %d 1\nE f 0x1000 %d\n' $((i % 3)) $((i / 2 * 2))
	done | writetrace t.db
	# in one process, of a share of the ranges for every change (test/share.bash): bats looks at each step of a loop of its own
	. "$BATS_TEST_DIRNAME/../share.bash"
	awk 'BEGIN { for (from = 98; from < 114; from++) for (to = from; to < 114; to++) print from, to }' | share 2>/dev/null >ranges
	python3 - <<-'P'
		import subprocess
		for line in open("ranges"):
		    start, end = line.split()
		    out = subprocess.run(["devtrace", "cat", "--from", start, "--to", end, "t.db"], check=True, capture_output=True, text=True).stdout
		    times = [int(l.split()[2], 16) for l in out.splitlines()]
		    want = [t for t in (i // 2 * 2 for i in range(100, 112)) if int(start) <= t <= int(end)]
		    assert times == want, (start, end, times, want)
	P
}

@test "check-082: cat -c is short, and says what was lost" {
	maketrace -n 100000 -c 3 -t 5 t.db
	devtrace cat -c t.db >out
	[ "$(head -1 out)" = "#devtrace-compact 1" ]
	[ "$(grep -c '^[EX]' out)" = 100000 ]
	# typical: nine of ten
	awk '/^E/ { e++; le += length($0) + 1 <= 35 } /^X/ { x++; lx += length($0) + 1 < 20 }
		END { print e, le, x, lx; exit !(le > 0.9 * e && lx > 0.9 * x) }' out
	sample s.db
	run devtrace cat -c s.db
	[[ "$output" == *"
#kind=LOSS core=0 lost=5 begin=4100 end=6000
"* ]]
	printf 'lost 3\nE f 0x1000 10\nlost 2\n' | writetrace l.db
	devtrace cat -c l.db 2>/dev/null >out
	printf '%s\n' "#devtrace-compact 1" "#kind=LOSS core=0 lost=3 begin=0 end=10" "@1 0" "%g 400000" "E5 a = = = =" \
		"#kind=LOSS core=0 lost=2 begin=10" | diff - out
	writetrace none.db </dev/null
	[ "$(devtrace cat -c none.db)" = "#devtrace-compact 1" ]
}

@test "check-056: cat -k prints Kitrace's line" {
	golden t.db
	TZ=UTC devtrace cat -k t.db >out
	cat >want <<-'TEXT'
	rtctime+5 Nov 10 10:31:36.565348 () pid 572 rdi=7be rsi=ffffffff81accb78 rdx=ffffffff81a4d2a8 rcx=ffffffff0000000a
	rtctime+6 Nov 10 10:31:36.565348 (0.000000) pid 572 rax=ffffffff801abc78
	TEXT
	diff out want
	TZ=UTC-2 devtrace cat -k t.db | head -1 | grep -q 'Nov 10 12:31:36'
	sample s.db
	run devtrace cat -k s.db
	[ "$status" = 1 ]
	[[ "${lines[0]}" == "devtrace: the trace has no reading of the wall clock"* ]]
}

@test "check-085: cat -k measures from the record before, or from the last BASE" {
	# the paper's figures 1 and 7, a tick a microsecond
	writetrace t.db <<-'TEXT'
	clock 0 0 784425600000000000
	clock 100000000000 100000000000000 784525600000000000
	P sync 0 37896565348
	P sync 0 37909423993
	P sync 0 37930157718
	flags 48
	P sync 0 38095254005
	flags 0
	P sdstrategy 0 38095301865 0x400102
	P sync 0 38097511464
	flags 32
	P sync 0 38103663681
	TEXT
	TZ=UTC devtrace cat -k t.db | awk '{ print $4, $5, $6, $7 }' >out
	cat >want <<-'TEXT'
	10:31:36.565348 () pid 1
	10:31:49.423993 (12.858645) pid 1
	10:32:10.157718 (20.733725) pid 1
	10:34:55.254005 (165.096287) UNFREEZE BASE
	10:34:55.301865 (0.047860) pid 1
	10:34:57.511464 (2.257459) pid 1
	10:35:03.663681 (8.409676) BASE pid
	TEXT
	diff out want
	TZ=UTC devtrace cat -k t.db | grep -q '^sdstrategy+7 .* v0=400102 (sdstrategy+2) v1=0'
}

@test "check-056: cat -k names what an address points into, in its own process" {
	writetrace t.db <<-'TEXT'
	clock 0 0 784425600000000000
	thread 1 main
	function callee
	function f
	E f 0x1000 1 0x400010 0x4000ff 0x400100 0x400200
	TEXT
	sqlite3 t.db "INSERT INTO process SELECT 999, ppid, exe, cmdline, begin_ticks, end_ticks, status FROM process LIMIT 1;
		INSERT INTO module SELECT 2, 999, base, low, high, path, '', 0, 0 FROM module;
		INSERT INTO function VALUES(3, 2, 0x400000, 256, 'wrong', '', 0, '')"
	devtrace cat -k t.db | grep -q ' rdi=400010 (callee+10) rsi=4000ff (callee+ff) rdx=400100 (f) rcx=400200$'
}

@test "D10: a value that is not meant is 0 in a line of columns, and not in others" {
	maketrace -n 3000 t.db
	devtrace cat t.db | awk '{ n = 0; for (i = 5; i <= 8; i++) if ($i != "0000000000000000") n = i - 4; print n }' >most
	devtrace cat -l t.db | awk '{ print gsub(/ v[0-3]=/, "") }' >meant
	devtrace cat -c t.db | awk '/^[EX]/ { print NF - 2 }' >compact
	cmp meant compact
	paste most meant | awk '$1 > $2 { exit 1 }'
	sort -u meant | tr -d '\n' | grep -qx 01234
}

@test "cat prints one kind of line" {
	sample t.db
	for o in "-l -c" "-3 -k" "--cpu -l" "--cpu -k"; do
		run devtrace cat $o t.db
		[ "$status" = 2 ]
		[ "${#lines[@]}" = 2 ]
	done
	devtrace cat -l -l t.db >/dev/null
}

@test "check-082: a reader written from doc/format.md reads compact lines back" {
	cat >read.py <<'PY'
import sys
M = 2**64 - 1
base, last, cur, ticks, tid, core = {}, {}, "g", 0, None, None
assert sys.stdin.readline() == "#devtrace-compact 1\n"
for line in sys.stdin:
    line = line.rstrip("\n")
    if line[0] == "#":
        continue
    if line[0] == "@":
        tid, core = line[1:].split()
        tid = "none" if tid == "-" else int(tid, 16)
        core = "shared" if core == "ffff" else int(core, 16)
        continue
    if line[0] == "%":
        base[line[1]] = int(line[3:], 16)
        continue
    word = line.split()
    kind, at = word[0][0], word[0][1:]
    if at[0] in "ghijklmnopqrstuv":
        cur, at = at[0], at[1:]
    pc = base[cur] + int(at, 16)
    ticks = (ticks + int(word[1], 16)) & M
    slot = last.setdefault((pc ^ pc >> 10 ^ pc >> 20) & 1023, [0] * 4)
    text = "kind=%s ticks=%d core=%s tid=%s pc=0x%x" % (kind, ticks, core, tid, pc)
    for i, w in enumerate(word[2:]):
        if w == "." or w[0] == "!":
            continue
        slot[i] = slot[i] if w == "=" else (slot[i] + int(w, 16)) & M if w[0] in "+-" else int(w, 16)
        text += " v%d=0x%x" % (i, slot[i])
    print(text)
PY
	maketrace -n 30000 -c 3 -t 5 t.db
	devtrace cat -c t.db | python3 read.py >got
	devtrace cat -l t.db | sed 's/ sp=0x[0-9a-f]*//; s/ function=[^ ]*//' >want
	cmp got want
	[ "$(wc -l <got)" = 30000 ]
}
