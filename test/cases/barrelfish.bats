#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Barrelfish's dump, to and from a trace file; events, messages, switches and rundowns in it
load read-helper

equal='=================================================='

# the beginning of the sample trace that came with Barrelfish, and a message
dump2011() {
	cat <<-TEXT
	# Start 45163585368 Duration 0 Stop 18446744073709551615
	# Core 0 LOG DUMP $equal
	0 0 7337000100000000
	# DCB 0 ffffff8002656c00 xmpl-tra
	# DCB 0 ffffff8002656e00 a b/c
	0 629793 ffffcccc02656c00
	0 629800 ea00000012345000
	0 629801 a000000100000011
	# Core 3 LOG DUMP $equal
	3 629900 eb00000012345000
	TEXT
}

dump2013() {
	cat <<-TEXT
	# Start 45163585368 Duration 600000000 Stop 45763585368
	# Min_timestamp 45163585000
	# Core 0 LOG DUMP $equal
	# Offset 0 0
	# DCB 0 ffffff8002656c00 xmpl-tra
	# DCB 0 0 
	0 45163585000 7337000100000000
	0 45163585400 2656c00
	0 45163585300 1ffffffff
	0 45163585400 0
	# Core 12 LOG DUMP $equal
	# Offset 12 -140
	12 45163585401 ffffffffffffffff
	TEXT
}

@test "check-084: import and export give the same bytes, in both forms (D29)" {
	for form in dump2011 dump2013; do
		$form >dump
		devtrace import --barrelfish dump -o t.db
		devtrace export --barrelfish t.db | cmp - dump
		devtrace export --barrelfish -o again t.db
		cmp again dump
		$form | devtrace import --barrelfish -
		devtrace export --barrelfish | cmp - dump
	done
}

@test "the other form: times absolute, with offsets, and back (D29)" {
	dump2011 | devtrace import --barrelfish -
	cat >want <<-TEXT
	# Start 45163585368 Duration 0 Stop 18446744073709551615
	# Min_timestamp 45163585368
	# Core 0 LOG DUMP $equal
	# Offset 0 0
	0 45163585368 7337000100000000
	# DCB 0 ffffff8002656c00 xmpl-tra
	# DCB 0 ffffff8002656e00 a b/c
	0 45164215161 ffffcccc02656c00
	0 45164215168 ea00000012345000
	0 45164215169 a000000100000011
	# Core 3 LOG DUMP $equal
	# Offset 3 0
	3 45164215268 eb00000012345000
	TEXT
	devtrace export --barrelfish --absolute | diff - want
	devtrace import --barrelfish want
	devtrace export --barrelfish --relative >got
	dump2011 | diff got -
	# events from before the start are left out of a relative dump, and it is said
	dump2013 | devtrace import --barrelfish -
	devtrace export --barrelfish --relative >got 2>err
	grep -c '^[0-9]' got | grep -qx 3
	grep -q "2 records are no part" err
	# one that is at the start is there
	{
		dump2013 | head -n 4
		for t in 7 8 9; do echo "0 4516358536$t a00000010000000$t"; done
	} | devtrace import --barrelfish -
	devtrace export --barrelfish --relative 2>err | grep '^[0-9]' | tr '\n' ' ' >got
	[ "$(cat got)" = "0 0 a000000100000008 0 1 a000000100000009 " ]
	grep -q "1 record is no part\|1 records are no part" err
}

@test "an imported dump has its messages, switches and events as what they are" {
	dump2011 | devtrace import --barrelfish -
	[ "$(devtrace sql --csv "SELECT kind, count(*) FROM records GROUP BY 1 ORDER BY 1" | tr -d '\r' | tr '\n' ' ')" = \
		"kind,count(*) M,1 N,1 R,2 S,1 V,2 " ]
	[ "$(devtrace sql -n --csv "SELECT kind, argument FROM events WHERE kind IN ('send', 'receive') ORDER BY 1" | tr -d '\r' | tr '\n' ' ')" = \
		"receive,74565 send,74565 " ]
	# a core of which there is nothing is no core
	for form in dump2011 dump2013; do
		$form | sed '/^# DCB/d; /^0 /d' >none
		run devtrace import --barrelfish none
		[ "$status" = 1 ]
		[[ "$output" == *'the core before this line has no events' ]]
	done
}

@test "check-030: a trace that was recorded is exported: V, M, N, S, R; calls are not" {
	unsound t.db # two threads are not described
	writetrace t.db <<-'TEXT'
	thread 5 worker-thread
	meta clock_offset.1 -12
	at 0 5
	R x 0 100 0x500000005
	E f 0x1000 110 1
	V x 0 120 0xa000000100000011
	M x 0 130 0x12345
	at 1 6
	S x 0 140 6
	N x 0 150 0xeb00000012345000
	X f 0x1000 160 1
	at 2 7
	E f 0x1000 170 1
	TEXT
	cat >want <<-TEXT
	# Start 100 Duration 0 Stop 18446744073709551615
	# Min_timestamp 100
	# Core 0 LOG DUMP $equal
	# Offset 0 0
	# DCB 0 500000005 worker-t
	0 120 a000000100000011
	0 130 ea00000012345000
	# Core 1 LOG DUMP $equal
	# Offset 1 -12
	1 140 6
	1 150 eb00000012345000
	TEXT
	devtrace export --barrelfish t.db 2>err | diff - want
	grep -q "3 records are no part" err
	devtrace export --barrelfish --relative t.db 2>/dev/null | grep -qx '1 40 ffffcccc00000006'
}

# bats test_tags=long
@test "random dumps come back, damaged ones do too or are refused" {
	cat >many.py <<'PY'
import random, subprocess, sys
random.seed(int(sys.argv[1]))
def number(bits=64):
    return random.getrandbits(random.randint(1, bits))
def dump():
    absolute = random.random() < .5
    start = number(63)
    out = ["# Start %d Duration %d Stop %d" % (start, number(), number())]
    if absolute:
        out.append("# Min_timestamp %d" % number())
    core = -1
    for _ in range(random.randint(0, 5)):
        core += random.randint(1, 30)
        out.append("# Core %d LOG DUMP %s" % (core, "=" * 50))
        if absolute:
            out.append("# Offset %d %d" % (core, random.choice([0, number(63), -number(63)])))
        for _ in range(random.choice([1, 3, 100, 3000])):
            if random.random() < .1:
                name = "".join(random.choice(" abcXYZ-_./#0\xe4"[:-1]) for _ in range(random.randint(0, 8)))
                out.append("# DCB %d %x %s" % (core, number(), name))
            else:
                body = random.choice([number(), 0xea << 56 | number(56), 0xeb << 56 | number(56),
                                      0xffffcccc << 32 | number(32), number(32), number(48)])
                out.append("%d %d %x" % (core, number(63 if not absolute else 64) % (2**64 - start), body))
    return "".join(l + "\n" for l in out).encode()
def run(data):
    i = subprocess.run(["devtrace", "import", "--barrelfish", "-", "-o", "r.db"], input=data, capture_output=True)
    if i.returncode:
        assert i.returncode == 1 and i.stderr.count(b"\n") == 1 and i.stderr.startswith(b"devtrace: -:"), i
        return False
    e = subprocess.run(["devtrace", "export", "--barrelfish", "r.db"], capture_output=True)
    assert e.returncode == 0
    if e.stdout != data:
        open("in", "wb").write(data); open("out", "wb").write(e.stdout)
        sys.exit("not the same: in, out")
    return True
for n in range(15):
    assert run(dump()), "a good one refused"
refused = 0
for n in range(60):
    data = bytearray(b"\n".join(dump().split(b"\n")[:60]) + b"\n")
    if data.endswith(b"\n\n"):
        data.pop()
    for _ in range(random.randint(1, 3)):
        data[random.randrange(len(data))] = random.choice(b"0019af#= \n\0x-DCMS\xff")
    refused += not run(bytes(data))
assert 20 < refused, refused
PY
	python3 many.py 1
	python3 many.py 2
	unsound r.db # times are any numbers
}

@test "what is wrong with a dump is said by line" {
	refused() {
		run devtrace import --barrelfish bad -o t.db
		[ "$status" = 1 ]
		[ "$output" = "devtrace: bad:$1" ] || { echo "$output"; return 1; }
		[ ! -e t.db ]
	}
	: >bad
	refused "1: a dump begins with '# Start N Duration N Stop N'"
	echo hello >bad
	refused "1: a dump begins with '# Start N Duration N Stop N'"
	dump2011 | sed 's/^3 /4 /' >bad
	refused "10: here must be an event of the core above, 'CORE TICKS HEX', or a line with # as a dump has it"
	dump2011 | sed 's/629900/0629900/' >bad
	refused "10: here must be an event of the core above, 'CORE TICKS HEX', or a line with # as a dump has it"
	dump2011 | sed 's/629900/18446744073709551615/' >bad
	refused "10: the time is too large: it counts from Start"
	dump2011 | sed 's/629900/18446744073709551616/' >bad
	refused "10: here must be an event of the core above, 'CORE TICKS HEX', or a line with # as a dump has it"
	dump2011 | sed 's/xmpl-tra/xmpl-trac/' >bad
	refused "4: a name has at most 8 characters"
	dump2011 | sed 's/Core 3/Core 0/' >bad
	refused "9: cores must come in the order of their numbers, each once"
	dump2011 | sed 10d >bad
	refused "10: the core before this line has no events"
	dump2013 | sed '/Offset 12/d' >bad
	refused "12: here must be '# Offset CORE N'"
	{ dump2011; dump2011; } >bad
	refused "11: another dump begins here; import one at a time"
	dump2011 | head -c 60 >bad
	refused "2: the line does not end: the dump is cut off, or has a byte 0 in it"
	run devtrace import --barrelfish none -o t.db
	[ "$status" = 1 ]
	[ "$output" = "devtrace: none: No such file or directory" ]
	for wrong in "import" "import --barrelfish" "import --barrelfish a b" "export" "export --barrelfish --relative --absolute"; do
		run devtrace $wrong
		[ "$status" = 2 ]
	done
	# what was there stays when an import fails
	dump2011 >dump
	devtrace import --barrelfish dump -o t.db
	cp t.db before.db
	dump2011 | sed 's/^3 /4 /' >bad
	run devtrace import --barrelfish bad -o t.db
	[ "$status" = 1 ]
	cmp t.db before.db
}

@test "what bfscope puts in front of a dump is skipped (D24)" {
	dump2011 >dump
	{ printf '%08d' "$(wc -c <dump)"; cat dump; } | devtrace import --barrelfish -
	devtrace export --barrelfish | cmp - dump
	{ echo "# bfscope trace dump"; cat dump; } | devtrace import --barrelfish -
	devtrace export --barrelfish | cmp - dump
}

@test "cat, calls and report know events, messages, switches and rundowns" {
	writetrace t.db <<-'TEXT'
	thread 5 worker
	event 40960 1 chips GET get of a key */
	event 40960 2 chips PUT PUT
	at 0 5
	R x 0 90 5 0x72656b726f77
	S x 0 100 5
	E outer 0x2000 110 1
	V x 0x1f00 120 0xa000000100000011
	E inner 0x1800 130 1
	M x 0x1700 140 0xea00000012345000
	V x 0x1700 145 0xa0000002ffffffff
	V x 0x1700 146 0xb000000000000001
	X inner 0x1800 150 1
	N x 0x1f00 155 0x12345
	X outer 0x2000 160 1
	TEXT
	devtrace cat t.db | cut -c1 | tr -d '\n' >kinds
	[ "$(cat kinds)" = RSEVEMVVXNX ]
	devtrace cat t.db | sed -n 4p | grep -qx 'V 0000000000400007 0000000000000078 0000000000000005 a000000100000011 0000000000000000 0000000000000000 0000000000000000'
	devtrace calls t.db >out
	sed 's/^ *[0-9.]* us/##/; s/(.*) {/ {/; s/(a.*//; s/ *$//' out >short
	cat >want <<-'TEXT'
	# thread 5 (worker)
	                /* exists: worker */
	                /* runs on core 0 */
	TEXT
	head -3 out | diff - want
	grep -q '^                  /\* chips GET(0x11): get of a key \*? \*/$' out
	grep -q '^                    /\* message sent, channel 0x12345 \*/$' out
	grep -q '^                    /\* chips PUT(0xffffffff) \*/$' out
	grep -q '^                    /\* event 0xb000000000000001 \*/$' out
	grep -q '^                  /\* message received, channel 0x12345 \*/$' out
	devtrace report t.db | tail -1 | grep -qx 'beside calls: 3 events, 1 messages sent, 1 messages received, 1 switches, 1 rundowns'
}

@test "an imported dump's events have the names of a definition" {
	cat >d.pleco <<-'TEXT'
	subsystem kernel { event CSWITCH "Context Switch", event TIMER "Timer interrupt", };
	TEXT
	dump2013 | devtrace import --barrelfish --events d.pleco -
	devtrace calls | grep -q '/\* kernel TIMER(0xffffffff): Timer interrupt \*/'
	devtrace calls | grep -q '^# thread 40201216 (xmpl-tra)'
	devtrace events d.pleco --json d.json
	dump2013 | devtrace import --barrelfish --events d.json -
	devtrace calls | grep -q '/\* kernel TIMER(0xffffffff): Timer interrupt \*/'
	[ "$(sqlite3 devtrace.db 'SELECT group_concat(name) FROM event')" = CSWITCH,TIMER ]
	# 0, 0 is a context switch only when it is called so
	sed -i s/CSWITCH/SWITCH/ d.pleco
	dump2013 | devtrace import --barrelfish --events d.pleco -
	! devtrace cat | grep -q ^S || false
	echo 'subsystem' >bad.pleco
	run devtrace import --barrelfish --events bad.pleco - </dev/null
	[ "$status" = 1 ]
	[[ "$output" == "devtrace: bad.pleco:"* ]]
}

@test "check-026: subsystem, event and argument at their greatest" {
	writetrace t.db <<-'TEXT'
	event 65535 65535 last LAST the last one
	V x 0 1 0xffffffffffffffff
	TEXT
	devtrace calls t.db | grep -qx ' *\/\* last LAST(0xffffffff): the last one \*\/'
	devtrace export --barrelfish t.db | tail -1 | grep -qx '0 1 ffffffffffffffff'
}

@test "check-058: every switch names its application, more than 128 of them" {
	{
		echo "# Start 1 Duration 0 Stop 2"
		echo "# Core 0 LOG DUMP $equal"
		for i in {1..300}; do printf '# DCB 0 ffffff80%08x app%d\n' $((i * 512)) $i; done
		for i in {1..300}; do printf '0 %d ffffcccc%08x\n' $i $((i * 512)); done
	} >dump
	devtrace import --barrelfish dump -o t.db
	devtrace export --barrelfish t.db | cmp - dump
	devtrace calls t.db >out
	for i in {1..300}; do
		echo "# thread $((i * 512)) (app$i)"
		printf '%16s/* exists: app%d */\n%16s/* runs on core 0 */\n\n' '' $i ''
	done | head -n -1 | diff out -
}

@test "D24, D30: bfscope's 'trace' arms, and answers with eight digits and the dump" {
	cat >beat.c <<-'C'
		#include <devtrace.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			for (unsigned i = 0; i < 20000; i++) {
				DT_EVENT(7, 1, 0);
				for (unsigned k = 0; k < 5; k++)
					DT_EVENT(7, 3, k);
				DT_EVENT(7, 2, 0);
				usleep(2000);
			}
			return 0;
		}
	C
	root=${DEVTRACE_ROOT:-$BATS_TEST_DIRNAME/../..}
	gcc -O1 -I"$root/include" -o beat beat.c
	exec {out}< <(exec ./beat 3>&-)
	beat=$!
	read -r ready <&"$out"
	export DEVTRACE_BUILD=$build XDG_RUNTIME_DIR=$PWD
	scope() { timeout 60 "$root/examples/bfscope.sh" "$beat" "$@" 3>&-; }
	echo trace | scope 7:1:0 7:2:0 >answer
	cat answer
	# from the start event to the first stop event, nothing else
	[ "$(head -c 8 answer | tr -d 0-9)" = "" ]
	[ "$((10#$(head -c 8 answer)))" = "$(($(stat -c %s answer) - 8))" ]
	[ "$(tail -c +9 answer | grep -v '^#' | cut -d' ' -f3 | tr '\n' ' ')" = \
		"7000100000000 7000300000000 7000300000001 7000300000002 7000300000003 7000300000004 7000200000000 " ]
	tail -c +9 answer | devtrace import --barrelfish - -o again.db
	# two one after the other over one connection, by time; a word that is none is nothing
	printf 'stat\ntrace\ntrace\r\n' | scope 7:1:0 - 20ms >answer
	[ "$(grep -ac '# Start' answer)" = 2 ]
	# while one is under way
	mkfifo from
	scope 7:1:0 7:9:9 <from >first &
	first=$!
	exec {to}>from
	echo trace >&"$to"
	until devtrace list | grep -q bfscope; do sleep 0.02; done
	[ "$(echo trace | scope 7:1:0 7:2:0)" = 000000 ]
	until devtrace ctl quit 2>/dev/null; do sleep 0.02; done
	exec {to}>&-
	wait "$first"
	kill "$beat"
}

# how many it is, and the JSON that the page of devtrace view is told of a trace
page_of() {
	local server address
	mkfifo address
	devtrace view --no-open "$1" >address 3>&- &
	server=$!
	read -r address <address
	rm address
	curl -s "${address}get/trace"
	kill -INT "$server"
	wait "$server"
}

@test "check-122: a trace without names and a table of names beside it: cat, calls, the time line show them" {
	dump2011 | sed '/# DCB/d' >dump
	cat >table <<-'TEXT'
		# as the kernel prints them
		DCB: 0xffffff8002656c00 xmpl-trace and more

		DCB: 0xFFFFFF8002656E00 other
	TEXT
	devtrace import --barrelfish dump -o plain.db
	devtrace calls plain.db | grep -q '^# thread 40201216$'
	devtrace import --barrelfish --names table dump -o t.db
	devtrace calls t.db >out
	grep -qx '# thread 40201216 (xmpl-trace and more)' out
	grep -A9 '(xmpl-trace and more)' out | grep -q 'runs on core 0'
	devtrace cat -l t.db | grep -q '^kind=S .* tid=40201216 .* thread="xmpl-trace and more"$'
	devtrace export --perfetto t.db | grep -qa 'xmpl-trace and more'
	# who ran on the core: the page has the name of the number in the core's bar
	page_of t.db | python3 -c '
import json, sys
t = json.load(sys.stdin)
names = {x["tid"]: x["name"] for x in t["threads"]}
names.update({x["id"]: x["name"] for x in t["tracks"] if x["kind"] == "thread"})
assert names[40201216] == "xmpl-trace and more 40201216", names
assert names[40201728] == "other 40201728", names
assert any(x["kind"] == "core" for x in t["tracks"])'
	# names beside it change nothing of the dump
	devtrace export --barrelfish t.db | cmp - dump
	# they count more than the dump's own of 8 bytes
	dump2011 >dump
	devtrace import --barrelfish --names table dump -o t.db
	devtrace calls t.db | grep -qx '# thread 40201216 (xmpl-trace and more)'
	devtrace export --barrelfish t.db | cmp - dump
}

@test "a table of names: which of two is meant; what is wrong with it" {
	dump2011 | sed '/# DCB/d' >dump
	name() {
		printf '%s\n' "$@" >table
		devtrace import --barrelfish --names table dump -o t.db
		devtrace calls t.db | sed -n 's/^# thread 40201216 (\(.*\))/\1/p'
	}
	[ "$(name 'DCB: 0xffffff0002656c00 a' 'DCB: 0xffffff8002656c00 b' 'DCB: 0x2656c00 c')" = a ]
	[ "$(name 'DCB: 0x2656c00 c' 'DCB: 0xffffff8002656c00 b')" = b ]
	[ "$(name 'DCB: 0xffffff8002656c00 b' 'DCB: 0xffffff8002656c00 d')" = d ]
	[ "$(printf 'DCB:\t0x2656c00   e f \r\n' >table; devtrace import --barrelfish --names table dump -o t.db; devtrace calls t.db | sed -n 's/^# thread 40201216 (\(.*\))/\1/p')" = "e f" ]
	refused() {
		printf '# a\n%s\n' "$1" >table
		run devtrace import --barrelfish --names table dump -o bad.db
		[ "$status" = 1 ]
		[ "$output" = "devtrace: table:2: $2" ] || { echo "$output"; return 1; }
		[ ! -e bad.db ]
	}
	form="here must be 'DCB: 0xHEX NAME'"
	refused 'xmpl 5' "$form"
	refused 'DCB: 2656c00 a' "$form"
	refused 'DCB: 0x a' "$form"
	refused 'DCB: 0x12345678123456789 a' "$form"
	refused 'DCB: 0x5a-b' "$form"
	refused 'DCB: 0x5' "the DCB has no name: 'DCB: 0xHEX NAME'"
	refused $'DCB: 0x5 a\tb' "a name has no control characters"
	refused "DCB: 0x5 $(printf 'x%.0s' {1..256})" "a name has at most 255 bytes"
	refused "DCB: 0x5 $(printf 'x%.0s' {1..2000})" "the line is too long for one of DCBs"
	run devtrace import --barrelfish --names none dump -o bad.db
	[ "$status" = 1 ]
	[ "$output" = "devtrace: none: No such file or directory" ]
}

@test "check-117: D31: what was opened, saved and opened again is the same, to the byte and to the eye" {
	cat >d.pleco <<-'TEXT'
		subsystem kernel { event CSWITCH "Context Switch", event TIMER "Timer interrupt", };
	TEXT
	printf 'DCB: 0xffffff8002656c00 xmpl-trace\n' >table
	for form in dump2011 dump2013; do
		$form >dump
		devtrace import --barrelfish --events d.pleco --names table dump -o first.db
		devtrace export --barrelfish -o saved first.db
		cmp dump saved
		devtrace import --barrelfish --events d.pleco --names table saved -o again.db
		for look in "cat -l" calls report "export --csv" "export --chrome" "export --perfetto"; do
			devtrace $look first.db >a
			devtrace $look again.db | cmp - a
		done
		# and in the other form and back
		devtrace export --barrelfish --absolute first.db | devtrace import --barrelfish - -o other.db
		[ $form = dump2013 ] || devtrace export --barrelfish --relative other.db | cmp - dump
	done
}

@test "calls --fields of an imported dump: its times, cores and threads, and nothing that it does not say" {
	for form in dump2011 dump2013; do
		$form | tee dump | devtrace import --barrelfish -
		devtrace calls --merge --no-header -O since,core,elapsed --units ns >since
		devtrace calls --merge --no-header -O core,thread >thread
		# cpu and wait of an event are not known
		devtrace calls --merge --no-header -O depth,self,duration,cpu,wait --units ns >empty
		python3 - <<-'P'
		import re
		first, ids, want = None, [], []
		for line in open("dump"):
		    words = line.split()
		    if line.startswith("# Min_timestamp"):
		        first = int(words[2])
		    elif line.startswith("# DCB") and int(words[3], 16):
		        ids.append(int(words[3], 16) & 0xffffffff)
		    elif re.match(r"\d", line):
		        want.append((int(words[1]) - (first or 0), int(words[0])))
		lines = [line.rstrip("\n") for line in open("since")]
		rows = [re.match(r" *(\d+)\.(\d{9}) +(\d+) +(-?\d+ ns|)  /\* (.*) \*/$", line).groups() for line in lines]
		rows = [r for r in rows if not r[4].startswith("exists")]
		assert sorted((int(s + n), int(core)) for s, n, core, _, _ in rows) == sorted(want), (rows, want)
		threads = {m[1] for m in (re.match(r" *\d+ +(\d+)  /\*", line) for line in open("thread")) if m}
		assert {str(i) for i in ids} <= threads <= {str(i) for i in [0, *ids]}, (threads, ids)
		assert all(re.match(r" +/\*", line) for line in open("empty"))
		P
		# a dump has no time of day
		run devtrace calls -O time
		[ "$status" = 1 ]
		[[ $output == *"the trace does not say at what time of day it was made"* ]]
	done
}
