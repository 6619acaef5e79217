#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Traces of other tools, as trace files: Chrome's JSON
load read-helper

# the answer to a question
rows() {
	devtrace sql -c "$@" | tr -d '\r'
}

# one of each kind of event, beside and within each other
chrome() {
	cat <<-'J'
	{"otherData":{"x":[1,{"y":null}]},"traceEvents":[
	{"ph":"M","name":"process_name","pid":7,"args":{"name":"prog"}},
	{"ph":"M","name":"thread_name","pid":7,"tid":8,"args":{"name":"worker"}},
	{"ph":"M","name":"thread_sort_index","pid":7,"tid":8,"args":{"sort_index":1}},
	{"ph":"B","name":"main","pid":7,"tid":7,"ts":100.5},
	{"ph":"X","name":"inner","cat":"lib","pid":7,"tid":7,"ts":101,"dur":2.25,"args":{"a":1}},
	{"ph":"i","name":"tick","cat":"app","pid":7,"tid":7,"ts":102},
	{"ph":"s","name":"req","cat":"rpc","id":3,"pid":7,"tid":7,"ts":102.5},
	{"ph":"f","name":"req","cat":"rpc","id":3,"pid":7,"tid":8,"ts":103.5},
	{"ph":"X","name":"crossing","pid":7,"tid":7,"ts":102,"dur":3},
	{"ph":"B","name":"outer","pid":7,"tid":7,"ts":106},
	{"ph":"E","name":"never begun","pid":7,"tid":7,"ts":107},
	{"ph":"E","name":"main","cat":"lib","pid":7,"tid":7,"ts":108},
	{"ph":"E","pid":7,"tid":7,"ts":110},
	{"ph":"B","name":"open","pid":7,"tid":8,"ts":103},
	{"ph":"C","name":"mem","pid":7,"tid":8,"ts":104,"args":{"used":5000000000,"free":-12.5,"x":"y"}},
	{"ph":"b","name":"async","id":1,"pid":7,"ts":105},
	{"ph":"E","pid":9,"tid":"io","ts":105},
	{"ph":"X","name":"\u00e9t\ud83d\ude00","pid":9,"tid":"io","ts":106,"dur":1.00049},
	{"ph":"X","name":"z","pid":9,"tid":8,"ts":106,"dur":0},
	{"ph":"X","name":"no length","pid":9,"tid":8,"ts":106},
	{"ph":"?","ts":1},{"ph":"N"},{"ph":"P"},{"ph":"v"},{"ph":"c"},{}
	],"samples":[]}
	J
}

@test "import: Chrome's JSON: calls, threads, events, counters, messages" {
	chrome | devtrace import -o t.db - 2>err
	devtrace check t.db
	rows t.db "SELECT function, module, thread, process, depth, begin, end, ended FROM calls ORDER BY id" >got
	cut -d, -f1 got | tail -n +2 | tr '\n' ' ' | grep -qE "^main inner open (outer ét😀 z|ét😀 z outer|ét😀 outer z) $"
	grep -q '^main,[^,]*,7,7,0,0,9500,returned$' got
	grep -q '^inner,lib,7,7,1,500,2750,returned$' got
	# an end with the name of no open call ends none
	grep -q "^outer,[^,]*,7,7,1,5500,7500,returned\$" got
	grep -q '^open,.*,8,7,0,2500,' got
	grep -q '^z,[^,]*,[0-9]*,9,0,5500,5500,returned$' got
	devtrace calls t.db >tree
	grep -q "thread 8 (worker)" tree
	grep -q "(io), process 9" tree
	grep -q "app:tick(0)" tree
	grep -q "counter:mem.used(0, 0x12a05f200)" tree
	rows t.db "SELECT count(*) FROM messages" | grep -qx 1
	for look in report graph "flame -o-" "cat -l" "export --perfetto" "view --index"; do
		devtrace $look t.db >out
	done
}

@test "import: what is left out is said, a line for each kind, and kept in the file" {
	chrome | devtrace import -o t.db - 2>err
	for words in "2 ends of calls without a beginning" "1 calls are left out, since they begin in" \
		"1 ends have other names" "1 times are rounded" "2 events are left out, since their time" \
		"1 calls and events are without their args" "1 asynchronous" "1 values of counters are rounded" \
		"1 values of counters are left out" "1 objects" "1 samples" "1 memory" "1 readings" \
		"1 facts" "1 parts of the file"; do
		echo "$words"
		grep -qF -- "-: $words" err || [ "${words#2 events}" != "$words" ]
	done
	sqlite3 t.db "SELECT value FROM meta WHERE key = 'imported_left'" >kept
	sed -n 's/^devtrace: -: //p' err | diff - kept
	devtrace check t.db >said
	grep -q "note: imported from Chrome's JSON" said
	grep -q "note: in the import 1 asynchronous" said
	sed -n 's/^t.db: note: //p' said >notes
	devtrace check --json t.db | jq -r 'select(.type == "note") | .what' | diff notes -
}

@test "import: what export --chrome has written has the same calls at the same times" {
	maketrace -n 60000 -T 3 made.db
	devtrace export --chrome made.db >a.json
	devtrace import -o t.db a.json
	devtrace check t.db
	rows t.db "SELECT function, thread, depth, begin, end FROM calls" >calls
	python3 - <<-'P'
		import json, csv, collections
		first = None
		x = [e for e in json.load(open("a.json"))["traceEvents"] if e["ph"] == "X"]
		first = min(round(e["ts"] * 1000) for e in x)
		want = []
		for tid in {e["tid"] for e in x}:
		    ends = []
		    for i, e in sorted(((i, e) for i, e in enumerate(x) if e["tid"] == tid), key=lambda p: (p[1]["ts"], -p[1]["dur"])):
		        b = round(e["ts"] * 1000)
		        t = b + round(e["dur"] * 1000)
		        # a call of no time at another one's end is in it if it was written before it
		        while ends and (ends[-1][0] < b or ends[-1][0] == b and (t > b or ends[-1][1] < i)): ends.pop()
		        want.append((e["name"], tid, len(ends), b - first, t - first))
		        ends.append((t, i))
		got = [(r[0], int(r[1]), int(r[2]), int(r[3]), int(r[4])) for r in list(csv.reader(open("calls")))[1:]]
		base = min(g[3] for g in got)
		got = [(f, t, d, b - base, e - base) for f, t, d, b, e in got]
		assert len(got) > 20000
		g, w = collections.Counter(got), collections.Counter(want)
		assert g == w, (list((g - w).items())[:5], list((w - g).items())[:5])
	P
	# the trace itself says the same
	for t in made t; do
		rows $t.db "SELECT function, thread, depth, begin - (SELECT min(begin) FROM calls), duration FROM calls" | sort >$t.calls
	done
	cmp made.calls t.calls
	# and again
	devtrace export --chrome t.db >b.json
	devtrace import -o u.db b.json
	devtrace export --chrome u.db | cmp - b.json
}

@test "import: bad input is told in one line, and leaves no file" {
	bad() {
		rm -rf out.db*
		run devtrace import -o out.db bad.json
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
		[[ "$output" == *"$1"* ]]
		[ -z "$(ls -d out.db* 2>/dev/null)" ]
	}
	printf '' >bad.json
	bad "nothing in it"
	echo hello >bad.json
	bad "not a trace that can be imported"
	echo '{"a":1}' >bad.json
	bad "no traceEvents"
	echo '[]' >bad.json
	bad "no calls or events"
	printf '{"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":2},' >bad.json
	bad "cut off"
	printf '[\n{"ph":"X",\n"name":"a' >bad.json
	bad "bad.json:3: the file ends within a string"
	echo '[{"ph":"X" "ts":1}]' >bad.json
	bad "bad.json:1:"
	echo '[1]' >bad.json
	bad "here must be an event"
	python3 -c 'print("[{\"args\":" + "[" * 100000)' >bad.json
	bad "deeper than"
	# an older trace stays when nothing comes in its place
	sample old.db
	cp old.db was.db
	run devtrace import -o old.db bad.json
	[ "$status" = 1 ]
	cmp old.db was.db
}

@test "import: arrays without an end and a comma at their end are taken, numbers of 64 bits as well" {
	printf '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1700000000000000.123,"dur":1e1},\n' >a.json
	printf '{"ph":"B","name":"b","pid":"0","tid":18446744073709551615,"ts":"1.7e15"},\n' >>a.json
	devtrace import -o t.db a.json 2>err
	grep -q "1 closing bracket is missing" err
	devtrace check t.db
	rows t.db "SELECT function, end - begin FROM calls WHERE ended = 'returned'" | grep -qx "a,10000"
	(cat a.json && echo ']') | devtrace import -o t.db - 2>err
	run grep bracket err
	[ "$status" = 1 ]
	# beginnings and ends at one time are in each other as they come; negative times are times
	echo '[{"ph":"B","name":"a","ts":-5},{"ph":"B","name":"b","ts":-5},{"ph":"E","ts":-5},
		{"ph":"B","name":"c","ts":-5},{"ph":"E","ts":-5},{"ph":"E","ts":-5},{"ph":"B","name":"d","ts":-5},{"ph":"E","ts":9}]' >b.json
	devtrace import -o t.db b.json
	devtrace check t.db
	rows t.db "SELECT function || depth || '-' || CAST(end - begin AS INTEGER) FROM calls ORDER BY 1" | tail -n +2 | tr '\n' ' ' |
		grep -qx "a0-0 b1-0 c1-0 d0-14000 "
	# of two that begin at one time the longer one is around the other, whichever comes first
	for order in '0 1' '1 0'; do
		x=('{"ph":"X","name":"long","ts":5,"dur":9}' '{"ph":"X","name":"short","ts":5,"dur":2}')
		read -r first second <<<"$order"
		echo "[${x[first]},${x[second]}]" >c.json
		devtrace import -o t.db c.json
		rows t.db "SELECT function || depth FROM calls ORDER BY 1" | tail -n +2 | tr '\n' ' ' | grep -qx "long0 short1 "
	done
}

@test "import: names of any length are whole, and memory goes with the number of events" {
	python3 -c 'print("[{\"ph\":\"C\",\"name\":\"n\",\"ts\":1,\"args\":{\"" + "a" * 5000 + "1\":1,\"" + "a" * 5000 + "2\":2}}]")' >a.json
	devtrace import -o t.db a.json
	rows t.db "SELECT length(event), count(*) FROM events GROUP BY event" | tail -n +2 | grep -c "^5003,1$" | grep -qx 2
	for n in 100000 500000; do
		python3 -c 'import sys
print("[" + ",".join("{\"ph\":\"X\",\"name\":\"f%d\",\"ts\":%d,\"dur\":0.5}" % (i % 100, i) for i in range(int(sys.argv[1]))) + "]")' $n >$n.json
		/usr/bin/time -f %M -o $n.kib devtrace import -o $n.db $n.json
	done
	# 200 bytes for each event (import/calls.h); with sanitizers, more
	[ -n "${DEVTRACE_BUILD-}" ] || [ $((($(cat 500000.kib) - $(cat 100000.kib)) * 1024 / 400000)) -le 200 ]
}

@test "import: what uftrace has recorded: as many calls of each function as uftrace says" {
	command -v uftrace || skip "no uftrace"
	cat >p.c <<-'C'
		static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int once(int n) { return fib(n); }
		int main(void) { return once(12) != 144; }
	C
	gcc -O0 -pg -o p p.c
	uftrace record --no-libcall -d data ./p
	uftrace dump --chrome -d data >u.json
	devtrace import -o u.db u.json
	devtrace check u.db
	# linux:schedule: on a busy machine
	uftrace report -d data -f call | awk 'NR > 2 && $2 !~ /^linux:/ { print $2 "," $1 }' | sort >want
	grep -qx "fib,465" want
	rows u.db "SELECT function, count(*) FROM calls GROUP BY 1" | tail -n +2 | sort | diff - want
	# and as long, to the nanosecond
	rows u.db "SELECT sum(duration) FROM calls WHERE function = 'main'" | tail -1 >total
	python3 - "$(cat total)" <<-'P'
		import json, sys
		x = [e for e in json.load(open("u.json"))["traceEvents"] if e["name"] == "main" and e["ph"] in "BE"]
		assert round((x[1]["ts"] - x[0]["ts"]) * 1000) == float(sys.argv[1]), (x, sys.argv)
	P
}
