#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace export --ctf, read by babeltrace2: every record as cat prints it, losses as discarded events.
load read-helper

# Of a folder: "kind=E ticks=... core=... tid=... pc=... sp=... function=... v0=..." as cat -l has it, in any
# order, with no values that are 0 at the end; and what was lost by core as "LOSS core lost", in order.
as_cat() {
	babeltrace2 --clock-cycles --no-delta "$1" 2>warnings | python3 -c '
import re, sys
letter = {"entry": "E", "exit": "X", "point": "P", "event": "V", "sent": "M", "received": "N", "switch": "S", "rundown": "R", "more": "c"}
line = re.compile(r"\[(\d+)\] (\w+): \{ cpu_id = (\d+) \}, \{ tid = (\d+), pid = (\d+), core = (\d+), flags = 0x(\w+), pc = 0x(\w+), sp = 0x(\w+), thread = \"(.*?)\" \}, \{ name = \"(.*?)\", text = \"(.*)\", __values_len = (\d+), values = \[(.*)\] \}$")
for l in sys.stdin:
    if "] waiting: {" in l: continue # is no record
    m = line.match(l)
    assert m, l
    ticks, kind, cpu, tid, pid, core, flags, pc, sp, thread, name, text, n, values = m.groups()
    v = [int(x, 16) for x in re.findall(r"= 0x(\w+)", values)]
    assert len(v) == int(n)
    while v and not v[-1]: v.pop()
    tid = "-" if tid == "4294967295" else tid
    print(letter[kind], int(ticks), core, tid, pc.lower(), sp.lower(), *map(hex, v))
' | sort
	python3 - "$1" <<-'P' >lost
		import re
		for l in open("warnings"):
		    m = re.match(r"WARNING: Tracer discarded (\d+) events? between \[.*\] and \[.*\] in trace .* stream ID: (\d+)\)", l)
		    if m: print(m[2], m[1])
	P
}

from_cat() {
	devtrace cat -l "$1" 2>/dev/null | python3 -c '
import sys
for l in sys.stdin:
    k = dict(p.split("=", 1) for p in l.split())
    if k["kind"] == "LOSS": continue
    v = [int(k.get("v%d" % i, "0"), 16) for i in range(4)]
    while v and not v[-1]: v.pop()
    print(k["kind"], k["ticks"], k["core"], k.get("tid", "-"), k["pc"][2:], k["sp"][2:], *map(hex, v))
' | sort
}

@test "ctf: every record with its values, as cat prints them; a stream for each core" {
	maketrace -n 60000 -c 2 -t 3 t.db
	devtrace export --ctf t.ctf t.db
	as_cat t.ctf >got
	[ "$(wc -l <got)" = 60000 ]
	from_cat t.db | cmp - got
	[ ! -s lost ]
	[ ! -s warnings ]
	[ "$(ls t.ctf | grep -c stream)" = 2 ]
	# what it was called with, as the CSV has it
	devtrace export --csv t.db | python3 -c '
import csv, re, sys
for r in csv.DictReader(sys.stdin):
    if r["begin_ns"]: print(re.sub(r"\) = [^=]*$", ")", r["text"]))' | sort >calls
	babeltrace2 t.ctf | sed -n 's/.* entry: .* name = "\(.*\)", text = "\(.*\)", __values_len.*/\1(\2)/p' | sed 's/(-)$/()/' | sort | diff - calls
	devtrace export --ctf plain.ctf --no-values t.db
	as_cat plain.ctf | cmp - got
	[ "$(babeltrace2 plain.ctf | grep -c 'text = "-"')" = 60000 ]
}

@test "ctf: lost records are discarded events: in the beginning, between, at the end" {
	maketrace -n 60000 -l 5000 t.db
	devtrace export --ctf t.ctf t.db 2>/dev/null
	as_cat t.ctf >got
	from_cat t.db | cmp - got
	sqlite3 -separator ' ' t.db 'SELECT core, lost FROM loss' | sort | diff - <(sort lost)
	[ "$(wc -l <lost)" -ge 10 ]
	writetrace l.db <<-'TEXT'
		lost 3
		E f 0x1000 1000 1 2 3 4
		X f 0x1000 1100 1
		lost 2
		E f 0x1000 1200 1 2 3 4
		lost 1
		X f 0x1000 1300 1 2 3 4
		at 1 7
		E g 0x1000 1300 1 2 3 4
		at 0 1
		lost 9
	TEXT
	devtrace export --ctf l.ctf l.db 2>/dev/null
	as_cat l.ctf >got
	from_cat l.db | cmp - got
	printf '0 3\n0 2\n0 1\n0 9\n' | diff - lost
	grep -q 'discarded 2 events between \[.*1100\] and \[.*1200\]' warnings
}

@test "ctf: all kinds of records, times of the clock, events by name" {
	writetrace t.db <<-'TEXT'
		clock 1000 5000 1700000000000005000
		clock 1001000 505000 1700000000000505000
		meta host box
		thread 5 client
		event 40960 1 chips GET get of a key
		at 0 5
		R x 0 1000 5 0x746e65696c63
		S x 0 1100 5
		E f 0x1000 1200 1 2
		V x 0 1300 0xa000000100000011
		V x 0 1400 0xb000000000000001
		M x 0 1500 0xea00000012345000
		at 1 0xffffffff
		N x 0 1600 0xeb00000012345000
		P p 0 1700 7 8
	TEXT
	devtrace export --ctf t.ctf t.db
	as_cat t.ctf >got
	from_cat t.db | sed 's/ 4294967295 / - /' | sort | diff - got
	[ "$(cut -c1 got | tr -d '\n')" = EMNPRSVV ]
	# 2 ticks a nanosecond, from the reading at tick 1000
	babeltrace2 --clock-gmt --clock-date --no-delta t.ctf >text
	head -n 1 text | grep -q '^\[2023-11-14 22:13:20.000005000\] rundown'
	grep -q '^\[2023-11-14 22:13:20.000005150\] event: .* thread = "client" }, { name = "GET", text = "chips 17"' text
	grep -q 'host = "box"' t.ctf/metadata
}

@test "ctf: a recorded program with floating point, and its calls of one thread in order" {
	cat >f.c <<-'C'
		__attribute__((noinline)) double half(double x) { return x / 2; }
		int main(void)
		{
			double s = 0;
			for (int i = 0; i < 50; i++)
				s += half(i);
			return s != 612.5;
		}
	C
	gcc -O1 -g -fno-inline -o f f.c
	devtrace record -F half -F main -o f.db ./f
	devtrace export --ctf f.ctf f.db
	as_cat f.ctf >got
	from_cat f.db | diff - got
	[ "$(babeltrace2 f.ctf | grep -c 'exit: .* name = "half"')" = 50 ]
	babeltrace2 f.ctf | grep -q 'exit: .* name = "half", text = "24.5"'
}

@test "ctf: a record before the one in front of it has its time, and it is said" {
	unsound t.db
	writetrace t.db <<-'TEXT'
		E f 0x1000 1300
		E g 0x900 1250
		X g 0x900 1350
	TEXT
	devtrace export --ctf t.ctf t.db 2>err
	grep -q '1 records are of an earlier time' err
	babeltrace2 --clock-cycles --no-delta t.ctf | grep -q '^\[0*1300\] entry: .* name = "g"'
	[ "$(babeltrace2 t.ctf | wc -l)" = 3 ]
}

@test "ctf: an empty trace; a folder that is there; one that can not be made" {
	: | writetrace empty.db
	devtrace export --ctf empty.ctf empty.db
	[ -e empty.ctf/metadata ]
	maketrace -n 1000 t.db
	mkdir there with
	devtrace export --ctf there t.db
	[ "$(babeltrace2 there | wc -l)" = 1000 ]
	echo text >with/file
	for there in with there t.db; do
		run devtrace export --ctf "$there" t.db
		[ "$status" = 1 ]
		[[ "$output" == "devtrace: $there: there is something already"* ]]
	done
	[ "$(cat with/file)" = text ]
	run devtrace export --ctf /none/x t.db
	[ "$status" = 1 ]
	[[ "$output" == "devtrace: /none/x: No such file or directory" ]]
	run devtrace export --ctf x -o y t.db
	[ "$status" = 2 ]
	# no room: nothing is left
	(
		trap '' XFSZ
		ulimit -f 8
		run devtrace export --ctf full t.db
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
		echo "$output" | grep -q '^devtrace: full: cannot write'
	)
	[ -z "$(ls -d full* 2>/dev/null)" ]
}
