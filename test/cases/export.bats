# SPDX-License-Identifier: MIT
# devtrace export: what other tools are told is what report says. That they open it: test/view/readers.t.
load read-helper

# function calls self_ns, sorted: from report
report_says() {
	devtrace report --json t.db | python3 -c '
import json, sys
for r in map(json.loads, sys.stdin):
    if "function" in r: print(r["function"], r["calls"], sep="\t")' | sort
}

@test "export: csv has every call, with its caller, times and values" {
	maketrace -n 60000 -c 2 -t 3 t.db
	devtrace export --csv -o t.csv t.db
	python3 - t.csv >got <<-'P'
		import csv, sys, collections
		n = collections.Counter()
		seen = set()
		rows = list(csv.DictReader(open(sys.argv[1], newline="")))
		for r in rows:
		    n[r["function"]] += 1
		    seen.add(r["call"])
		by = {r["call"]: r for r in rows}
		for r in rows:
		    if r["caller"] != "0" and r["caller"] in by and r["begin_ns"]:
		        c = by[r["caller"]]
		        assert int(c["depth"]) == int(r["depth"]) - 1, (c, r)
		        assert float(c["begin_ns"]) <= float(r["begin_ns"]) and float(r["end_ns"]) <= float(c["end_ns"]), (c, r)
		    assert r["text"].startswith(r["function"] + "("), r
		for f in sorted(n): print(f, n[f], sep="\t")
	P
	report_says | diff - <(sort got)
	devtrace calls t.db | sed -n 's/^ *[0-9.]* [a-z]* *\(function[0-9]*(.*) = [^ ]*\)$/\1/p' | sort >leaves
	[ "$(wc -l <leaves)" -gt 100 ]
	python3 -c 'import csv; [print(r["text"]) for r in csv.DictReader(open("t.csv", newline=""))]' | sort >texts
	[ -z "$(comm -23 leaves texts)" ]
}

@test "export: texts that arguments point to are in csv and Chrome's JSON as in sql" {
	echo hello >file
	devtrace record -f -l -o t.db env ls -l file /nonexistent >/dev/null 2>&1 || true
	devtrace sql --json t.db 'SELECT text FROM calls' | python3 -c 'import json, sys; [print(repr(json.loads(l)["text"])) for l in sys.stdin if "text" in l]' | sort >wanted
	grep -q '"/nonexistent"' wanted
	devtrace export --csv -o t.csv t.db
	python3 -c 'import csv; [print(repr(r["text"])) for r in csv.DictReader(open("t.csv", newline=""))]' | sort | diff wanted -
	devtrace export --chrome -o t.json t.db
	python3 -c 'import json; [print(repr(e["args"]["call"])) for e in json.load(open("t.json"))["traceEvents"] if "call" in e.get("args", {})]' | sort >chrome
	# Chrome's has no calls of which the beginning is not known
	[ -z "$(comm -13 wanted chrome)" ]
	[ "$(grep -c nonexistent chrome)" = "$(grep -c nonexistent wanted)" ]
}

@test "export: folded stacks add up to the time that report gives" {
	maketrace -n 60000 t.db
	devtrace export --folded t.db >folded
	! grep -qvE '^worker(;function[0-9]+)+ [0-9]+$' folded || false
	self=$(devtrace report --json t.db | python3 -c '
import json, sys
print(round(sum(r.get("self_ns", 0) for r in map(json.loads, sys.stdin) if "function" in r)))')
	folded=$(awk '{ s += $NF } END { printf "%d\n", s }' folded)
	# each line is rounded; calls that were open at the end have no time in report
	[ $((folded - self)) -ge -$(wc -l <folded) ]
	[ "$folded" -le $((self * 2)) ]
	[ -z "$(sed 's/ [0-9]*$//' folded | sort | uniq -d)" ]
}

@test "export: folded stacks have own times to the nearest nanosecond, and no semicolon but between names" {
	# a tick is a third of a nanosecond
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 3000000 1000000
	thread 1 a;b
	function c;d
	E c;d 0x1000 0
	E e 0xf00 5
	X e 0xf00 9
	E f 0xf00 9
	X f 0xf00 11
	E g 0xf00 11
	X g 0xf00 12
	X c;d 0x1000 3000000
	TEXT
	# 4, 2, and 1 tick; what is less than half a nanosecond is none
	diff <(devtrace export --folded t.db | sort) <(printf '%s\n' 'a:b;c:d 999998' 'a:b;c:d;e 1' 'a:b;c:d;f 1')
	# 5 and 7 ticks
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 3000000 1000000
	thread 1 t
	E e 0x1000 0
	X e 0x1000 5
	E f 0x1000 5
	X f 0x1000 12
	E e 0x1000 3000000
	X e 0x1000 3000000
	TEXT
	diff <(devtrace export --folded t.db | sort) <(printf '%s\n' 't;e 2' 't;f 2')
}

@test "export: Chrome's JSON has each call once, within its caller's" {
	maketrace -n 60000 -l 5000 t.db
	devtrace export --chrome t.db >t.json
	devtrace export --chrome --no-values t.db >plain.json
	[ "$(wc -c <plain.json)" -lt "$(wc -c <t.json)" ]
	for f in t.json plain.json; do
		python3 - $f <<-'P'
			import json, sys, collections
			t = json.load(open(sys.argv[1]))["traceEvents"]
			x = [e for e in t if e["ph"] == "X"]
			assert len(x) > 10000
			assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in x)
			assert {e["args"]["name"] for e in t if e["ph"] == "M" and e["name"] == "thread_name"} == {"worker"}
			assert any("records lost" in e["name"] for e in t if e["ph"] == "i")
			# on each thread, what begins in a call ends in it
			for tid in {e["tid"] for e in x}:
			    open_, at = [], 0
			    for e in sorted((e for e in x if e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
			        while open_ and open_[-1] <= e["ts"] + 1e-9: open_.pop()
			        assert not open_ or e["ts"] + e["dur"] <= open_[-1] + 0.0015, e
			        open_.append(e["ts"] + e["dur"])
		P
	done
}

@test "export: events and points are in Chrome's JSON" {
	cat >e.c <<-'C'
		#include <devtrace.h>
		enum { NET = 5, RECEIVED = 6 };
		int main(void)
		{
			for (int i = 0; i < 3; i++)
				DT_EVENT(NET, RECEIVED, i);
			return 0;
		}
	C
	gcc -O1 -g -I"$BATS_TEST_DIRNAME/../../include" -o e e.c
	devtrace record -o e.db ./e
	devtrace export --chrome e.db | python3 -c '
import json, sys
t = json.load(sys.stdin)["traceEvents"]
v = [int(e["args"]["value"], 16) for e in t if e["ph"] == "i"]
assert [x & 0xffffffff for x in v] == [0, 1, 2], v
assert all(x >> 32 == 5 << 16 | 6 for x in v), v'
}

@test "export: callgrind_annotate reads it: calls and time of each function" {
	maketrace -n 60000 -c 1 -t 1 t.db
	devtrace export --callgrind t.db >callgrind.out
	callgrind_annotate callgrind.out >annotated
	grep -q 'Events recorded: *ns' annotated
	total=$(sed -n 's/^ *\([0-9,]*\) *(100.0%) *PROGRAM TOTALS.*/\1/p' annotated | tr -d ,)
	own=$(awk '/^fn=/ { getline; s += $2 } END { printf "%d\n", s }' callgrind.out)
	[ "$total" = "$own" ]
	callgrind_annotate --tree=caller callgrind.out | grep -q '\* .*function'
	# how often: all calls but those of which the caller is not known
	calls=$(awk -F'[= ]' '/^calls=/ { s += $2 } END { print s }' callgrind.out)
	[ "$calls" -le "$(report_says | awk -F'\t' '{ s += $2 } END { print s }')" ]
	[ "$calls" -gt 20000 ]
}

@test "export: speedscope's JSON opens and closes each frame, in order" {
	maketrace -n 60000 -c 2 -t 3 t.db
	devtrace export --speedscope t.db >s.json
	python3 - s.json <<-'P'
		import json, sys
		t = json.load(open(sys.argv[1]))
		frames = t["shared"]["frames"]
		assert len(t["profiles"]) == 3
		n = 0
		for p in t["profiles"]:
		    at, open_ = p["startValue"], []
		    for e in p["events"]:
		        assert e["at"] >= at and e["frame"] < len(frames)
		        at = e["at"]
		        if e["type"] == "O":
		            open_.append(e["frame"]); n += 1
		        else:
		            assert open_.pop() == e["frame"]
		    assert not open_ and at <= p["endValue"]
		assert n > 25000, n
	P
}

@test "export: bad input" {
	maketrace -n 1000 t.db
	run devtrace export t.db
	[ "$status" = 2 ]
	[[ $output == *'say the format'* ]]
	run devtrace export --csv --chrome t.db
	[ "$status" = 2 ]
	[[ $output == *'one format at a time'* ]]
	run devtrace export --csv --relative t.db
	[ "$status" = 2 ]
	run devtrace export --csv -o /none/x t.db
	[ "$status" = 1 ]
	[[ $output == *'/none/x'* ]]
	run bash -c 'devtrace export --chrome t.db >/dev/full'
	[ "$status" = 1 ]
	[[ $output == *'cannot write'* ]]
}

@test "flame: each stack is as wide as its time, within its caller" {
	maketrace -n 60000 -c 2 -t 3 t.db
	devtrace flame -w 1000 -o f.svg t.db
	python3 - f.svg <<-'P'
		import re, sys, xml.etree.ElementTree as T
		svg = T.parse(sys.argv[1]).getroot()
		g = [e for e in svg.iter("{http://www.w3.org/2000/svg}g")]
		assert len(g) > 100
		rows = {}
		for e in g: rows.setdefault(int(e.get("data-d")), []).append((float(e.get("data-x")), float(e.get("data-w")), e.get("data-n")))
		top = rows[0]
		assert abs(sum(w for _, w, _ in top) - 1000) < 0.5, top
		assert {n.split()[0] for _, _, n in top} == {"worker"}
		for d in rows:
		    at = 0
		    for x, w, n in sorted(rows[d]):
		        assert x >= at - 0.01, (d, x, n)
		        at = x + w
		    if d:
		        for x, w, n in rows[d]:
		            assert any(X - 0.01 <= x and x + w <= X + W + 0.01 for X, W, _ in rows[d - 1]), (d, x, w, n)
	P
	# the stacks that are there are those of the folded ones
	devtrace export --folded t.db >folded
	most=$(sed 's/;.*;/;/' folded | awk '{ n = $0; sub(/^[^;]*;/, "", n); sub(/ [0-9]*$/, "", n); s[n] += $NF } END { for (n in s) print s[n], n }' | sort -n | tail -n 1 | cut -d' ' -f2)
	grep -q "data-n=\"$most\"" f.svg
	devtrace flame -o - t.db | cmp - <(devtrace flame -o /dev/stdout t.db)
	run devtrace flame -w 5 t.db
	[ "$status" = 2 ]
	run devtrace flame -o /none/f.svg t.db
	[ "$status" = 1 ]
}

@test "check-112: durations as CSV and as JSON: each call's, and sums of functions, agree" {
	maketrace -n 60000 -c 2 -t 3 t.db
	devtrace export --csv -o t.csv t.db
	devtrace export --chrome -o t.json t.db
	devtrace report --json t.db >report.json
	python3 - <<-'P'
		import csv, json, collections
		rows = [r for r in csv.DictReader(open("t.csv", newline="")) if r["begin_ns"]]
		by_csv = collections.Counter((r["function"], r["begin_ns"], round(float(r["end_ns"]) - float(r["begin_ns"]))) for r in rows)
		calls = [e for e in json.load(open("t.json"))["traceEvents"] if e["ph"] == "X"]
		by_json = collections.Counter((e["name"], str(round(e["ts"] * 1000)), round(e["dur"] * 1000)) for e in calls)
		# both are whole nanoseconds of the same clock readings
		assert by_csv == by_json, list((by_csv - by_json).items())[:3]
		spent, least, most = collections.Counter(), {}, {}
		for r in rows:
		    if r["end"] in ("open", "lost"): continue
		    f, d = r["function"], float(r["duration_ns"])
		    spent[f] += float(r["self_ns"])
		    least[f], most[f] = min(d, least.get(f, d)), max(d, most.get(f, d))
		report = {r["function"]: r for r in map(json.loads, open("report.json")) if r.get("function") in least}
		assert len(report) == len(least) > 50
		for f, r in report.items():
		    for key, want in (("self", spent[f]), ("min", least[f]), ("max", most[f])):
		        assert abs(r[key + "_ns"] - want) <= 0.5 + want * 1e-4, (f, key, r, want)
	P
}

@test "check-123: statistics of operations: of each stage and of the whole, least, mean, most" {
	# three packets, of two stages each; a tick is a nanosecond
	writetrace t.db <<-'TEXT'
		E packet 0x1000 1000
		E receive 0x900 1010
		X receive 0x900 1030
		E answer 0x900 1040
		X answer 0x900 1100
		X packet 0x1000 1110
		E packet 0x1000 2000
		E receive 0x900 2000
		X receive 0x900 2040
		E answer 0x900 2040
		X answer 0x900 2070
		X packet 0x1000 2080
		E packet 0x1000 3000
		E receive 0x900 3005
		X receive 0x900 3035
		E answer 0x900 3040
		X answer 0x900 3250
		X packet 0x1000 3260
	TEXT
	devtrace report --json t.db | python3 -c '
import json, sys
for r in map(json.loads, sys.stdin):
    if "function" in r: print(r["function"], r["calls"], r["min_ns"], r["avg_ns"], r["max_ns"])' | sort >got
	printf 'answer 3 30 100 210\npacket 3 80 150 260\nreceive 3 20 30 40\n' | diff - <(sed 's/\.0*\b//g' got)
}
