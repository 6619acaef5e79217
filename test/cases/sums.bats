#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# record --sum and devtrace sum. What is right: what a program counts itself, what strace and SQL say, and, for other
# programs, the same sums over a whole trace of them.
load read-helper
. "$BATS_TEST_DIRNAME/../share.bash"
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$(mktemp -d)
	root=$BATS_TEST_DIRNAME/../..
	build=${DEVTRACE_BUILD:-$root/build}
	gcc -O1 -g -pthread -fno-optimize-sibling-calls -o "$dir/chosen" "$root/test/programs/chosen.c"
	gcc -O1 -g -pthread -fno-optimize-sibling-calls -B"$build/lib" -o "$dir/sleds" "$root/test/programs/chosen.c"
	for p in tail coroutine contexts stacks jump recursion deep; do
		gcc -O1 -g -pthread -fno-inline -I"$root" -I"$root/test/programs" -o "$dir/$p" "$root/test/programs/$p.c" -ldl
	done
	for p in throws exception; do
		g++ -O1 -g -pthread -fno-inline -I"$root" -I"$root/test/programs" -o "$dir/$p" "$root/test/programs/$p.cc"
	done
	cat >"$dir/many.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		__attribute__((noinline)) unsigned long key(unsigned long n) { return n * 3; }
		__attribute__((noinline)) double real(double x, float y) { return x * (double)y; }
		__attribute__((noinline)) int text(const char *name, int len) { return name[0] + len; }
		int main(int argc, char **argv)
		{
			unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, sum = 0;
			for (unsigned long i = 0; i < n; i++)
				sum += key(i);
			for (int i = 0; i < 10; i++)
				sum += (unsigned long)real(i * 0.5, 2);
			for (int i = 0; i < 3; i++)
				sum += key(~0ul - (i & atoi("0")));
			for (int i = 0; i < 7; i++)
				sum += (unsigned long)text(i % 2 ? "odd" : i % 3 ? "" : "a text of more than thirty-two bytes, as they are", i);
			printf("%lu\n", sum);
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/many" "$dir/many.c"
}

teardown_file() {
	rm -rf "$dir"
}

# rows FILE [OPTION]...: each row of the first sum, KEY... CALLS, sorted
rows() {
	devtrace sum --json "${@:2}" "$1" 2>/dev/null | nested | python3 -c '
import json, sys
for r in sorted(json.load(sys.stdin)[0]["rows"], key=str):
    print(*r["key"].values(), r["calls"])' | sort
}

counted() {
	awk -v f="$1" '$1 == f {print $2}' out
}

@test "sums: counts and distributions are what the program counts, plain and with sleds" {
	local prog
	for prog in "$dir/chosen" "$dir/sleds"; do
		devtrace record -o s.db --sum 'count by function' --sum 'hist(size) if get' --sum 'count by result if get result<0' \
			--sum 'time if slow' --sum 'count by caller if leaf' --sum 'count by depth' "$prog" 200 2 >out 2>err
		devtrace check s.db
		devtrace sum --json s.db | nested >s.json
		grep -q 'none was written: they were summed up' err || { cat err; false; }
		python3 - <<-'PY'
			import json
			n = dict(l.split() for l in open("out"))
			n = {k: int(v) for k, v in n.items()}
			s = [{tuple(r["key"].values()): r for r in x["rows"]} for x in json.load(open("s.json"))]
			for f in ("get", "leaf", "slow"):
			    assert s[0][(f,)]["calls"] == n[f], (f, s[0], n)
			get = s[1][()]
			assert get["calls"] == n["get"] == sum(c for _, c in get["buckets"]) and get["min"] == 0 and get["max"] == 7
			# size>4 is 5 to 7, of the bucket from 4 on
			assert dict(map(tuple, get["buckets"]))[4] > n["get-large"] > 0
			assert s[2][(-1,)]["calls"] == n["get-failed"] and len(s[2]) == 1
			assert s[3][()]["calls"] == n["slow"] and s[3][()]["min_ns"] >= 1e6
			# the least that is known of its own clock: a millisecond each
			assert s[3][()]["total_ns"] >= n["slow"] * 1e6
			assert sum(r["calls"] for r in s[4].values()) == n["leaf"] and s[4][("get",)]["calls"] == n["get"]
			assert s[5][(2,)]["calls"] == n["depth-2"] and s[5][(3,)]["calls"] == n["depth-3"]
		PY
		# no call is in the file
		[ -z "$(devtrace calls s.db 2>/dev/null | grep -v '^#' | grep -v '^$')" ] || { devtrace calls s.db; false; }
	done
}

@test "sums: the same while recording as over a whole trace, of programs of all kinds" {
	local p status want i words=('count by function' 'arg1 by caller' 'result by function' 'count by callers if depth<5' 'count by depth, function')
	for p in $(printf '%s\n' chosen tail exception jump recursion throws deep | share 3); do
		status=0 want=0
		devtrace record -o all.db "$dir/$p" >/dev/null 2>&1 || status=$?
		devtrace record -o s.db "${words[@]/#/--sum=}" "$dir/$p" >/dev/null 2>&1 || want=$?
		[ $want = $status ]
		devtrace check s.db >checked 2>&1 || { echo "$p:"; cat checked; false; }
		devtrace sum --json s.db 2>/dev/null | nested >made.json
		devtrace sum --json "${words[@]/#/-e}" all.db 2>/dev/null | nested >read.json
		python3 - "$p" <<-'PY'
			import json, sys
			made, read = json.load(open("made.json")), json.load(open("read.json"))
			for m, r in zip(made, read):
			    assert m["sum"] == r["sum"]
			    # how many of a chain of jumps have a result is decided by simpler rules while recording; addresses differ
			    rows = lambda x: {json.dumps(y["key"]): (y["calls"],) + ((y.get("unknown"),) if sys.argv[1] == "recursion" else ()) for y in x["rows"]}
			    if rows(m) != rows(r):
			        a, b = rows(m), rows(r)
			        print(sys.argv[1], m["sum"], [(k, a.get(k), b.get(k)) for k in {**a, **b} if a.get(k) != b.get(k)][:10])
			        sys.exit(1)
		PY
	done
}

@test "sums: of threads that change their stacks, calls are counted" {
	local p
	for p in coroutine contexts stacks; do
		devtrace record -o all.db "$dir/$p" >/dev/null 2>&1
		devtrace record -o s.db --sum 'count by function' "$dir/$p" >/dev/null 2>&1
		devtrace record -o f.db --filter 'depth<3' --sum 'count by function' "$dir/$p" >/dev/null 2>&1
		devtrace report --json all.db 2>/dev/null | python3 -c '
import collections, json, sys
n = collections.Counter()
for x in map(json.loads, sys.stdin):
    if x.get("calls") and "function" in x:
        n[x["function"]] += x["calls"]
for k in sorted(n):
    print(k, n[k])' | sort >want
		rows s.db | diff want - || { echo "$p, sums only"; false; }
		rows f.db | diff want - || { echo "$p, with a filter"; false; }
		devtrace check f.db
	done
}

@test "sums: over a trace, what SQL says of it" {
	devtrace record -l -o ls.db ls -lR /usr/include/x86_64-linux-gnu >/dev/null 2>err
	devtrace sum --json -e 'time by function' -e 'result by function' -e 'count by function, thread' ls.db | nested >s.json
	devtrace sql --json ls.db "SELECT function AS name, count(*) AS n, sum(duration) AS ns, min(duration) AS least, max(duration) AS most,
		sum(NOT timed) AS odd FROM calls WHERE begin IS NOT NULL GROUP BY 1" >sql.json
	python3 - <<-'PY'
		import json
		s = [{tuple(r["key"].values()): r for r in x["rows"]} for x in json.load(open("s.json"))]
		rows = [json.loads(l) for l in open("sql.json")]
		assert len(rows) == len(s[0]) > 20
		for x in rows:
		    r = s[0][(x["name"],)]
		    assert r["calls"] == x["n"] and s[1][(x["name"],)]["calls"] == x["n"], (x, r)
		    if not x["odd"]:
		        assert abs(r["total_ns"] - x["ns"]) <= x["n"] and abs(r["max_ns"] - x["most"]) <= 1 and abs(r["min_ns"] - x["least"]) <= 1, (x, r)
	PY
}

@test "sums: by texts and errors, what strace says of the same files" {
	: >one >two
	local words=(cat one two one "$PWD/two" missing one)
	devtrace record -l -o s.db --sum 'count by path, error if open open64' --sum 'sum(count) by function if read' "${words[@]}" >/dev/null 2>&1 || true
	strace -o log -e trace=openat,open,read "${words[@]}" >/dev/null 2>&1 || true
	devtrace sum --json s.db | nested >s.json
	python3 - "$PWD" <<-'PY'
		import collections, json, re, sys
		want = collections.Counter()
		for l in open("log"):
		    m = re.match(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]*)".* = (-?\d+) ?([A-Z]*)', l)
		    # what the dynamic linker and the locale open is not the program's
		    if m and (m[1] in ("one", "two", "missing") or m[1] == sys.argv[1] + "/two"):
		        want[m[1], m[3] or "none"] += 1
		got = {tuple(r["key"].values()): r["calls"] for r in json.load(open("s.json"))[0]["rows"]}
		assert got == want and len(got) == 4, (got, want)
	PY
}

@test "sums: real numbers, the greatest numbers, texts, and more keys than there is room for" {
	devtrace record -o s.db --sum 'n by n if key' --sum 'result if key' --sum 'hist(x) by y if real' --sum 'result if real' \
		--sum 'count by name if text' --sum 'len by name, caller if text' "$dir/many" 70000 >/dev/null 2>&1
	devtrace check s.db
	devtrace sum --json s.db | nested >s.json
	python3 - <<-'PY'
		import json
		s = json.load(open("s.json"))
		assert s[0]["calls"] == 70003 and len(s[0]["rows"]) == 65536 and s[0]["others"] == 70003 - 65536
		assert all(r["calls"] == 1 and r["total"] == r["key"]["n"] == r["min"] for r in s[0]["rows"])
		m = 2**64 - 1
		# more than 64 bits
		results = [3 * i for i in range(70000)] + 3 * [3 * m % 2**64]
		r = s[1]["rows"][0]
		assert (r["total"], r["min"], r["max"]) == (sum(results), 0, max(results)), r
		# what is in vector registers is recorded with -A only
		assert s[2]["rows"][0]["unknown"] == 10
		assert s[3]["rows"][0]["total"] == 45 and s[3]["rows"][0]["avg"] == 4.5 and s[3]["rows"][0]["unknown"] == 0
		# without -A texts are not recorded: their addresses are what is known
		assert len(s[4]["rows"]) == 3 and sum(r["calls"] for r in s[4]["rows"]) == 7
	PY
	local words
	devtrace sum -n 3 s.db >table
	grep -q '65533 more rows: without -n all are shown' table
	grep -q '4467  calls with other keys: a sum has 65536 rows, of 64 MB, at most' table
	words=('len by name, caller if text' 'hist(x) by y if real' 'x by x if real')
	devtrace record -o t.db -A text -A real "${words[@]/#/--sum=}" "$dir/many" >/dev/null 2>&1
	devtrace sum --json t.db | nested >t.json
	devtrace record -o w.db -A text -A real "$dir/many" >/dev/null 2>&1
	devtrace sum --json "${words[@]/#/-e}" w.db | nested >w.json
	python3 - <<-'PY'
		import json
		t = {r["key"]["name"]: (r["calls"], r["total"]) for r in json.load(open("t.json"))[0]["rows"]}
		assert t == {"odd": (3, 9), "": (2, 6), "a text of more than thirty-two bytes, as they are": (2, 6)}, t
		assert json.load(open("w.json")) == json.load(open("t.json"))
		s = json.load(open("t.json"))
		r = s[1]["rows"][0]
		assert r["key"]["y"] == 2 and r["total"] == 22.5 and r["max"] == 4.5 and r["min"] == 0 and r["buckets"] == [[0, 2], [1, 2], [2, 4], [4, 2]], r
		assert sorted(r["key"]["x"] for r in s[2]["rows"]) == [i * 0.5 for i in range(10)], s[2]
	PY
}

@test "sums: while it is being recorded; at the end by devtrace --sum; and after a kill" {
	cat >slow.c <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) int step(int n) { return n; }
		volatile int last;
		int main(void)
		{
			for (int i = 0; i < 40; i++) {
				last = step(i);
				usleep(100000);
			}
			return 0;
		}
	C
	gcc -O1 -g -o slow slow.c
	devtrace record -o s.db --sum 'count by function if step' ./slow 2>/dev/null &
	local pid=$!
	for ((i = 0; i < 100; i++)); do
		[ -n "$(rows s.db 2>/dev/null)" ] && break
		sleep 0.1
	done
	kill -0 $pid
	devtrace sum --live s.db >live
	wait $pid
	# once a second, each time more, and at last all
	python3 - <<-'PY'
		n = [int(l.split()[0]) for l in open("live") if l.split()[1:] == ["step"]]
		assert len(n) >= 3 and n == sorted(n) and n[0] < 40 and n[-1] == 40, n
	PY
	devtrace --sum 'sum(n) if step' ./slow >out 2>err
	grep -qE '^ +40 +780 +19\.5 +0 +39' out || { cat out err; false; }
	devtrace record -o k.db --sum 'count if step' ./slow 2>/dev/null &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[ "$(rows k.db 2>/dev/null)" ] && break
		sleep 0.1
	done
	kill -9 $pid
	wait $pid || true
	[ "$(rows k.db)" -ge 1 ]
	while pgrep -x slow >/dev/null; do sleep 0.1; done
}

@test "sums: -p: of a running process, once a second; it is let go, and nothing is kept" {
	cat >spin.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) int step(int n) { return n; }
		volatile int last, ended;
		int main(void)
		{
			for (int i = 0; i < 4000 && !ended; i++) {
				last = step(i);
				usleep(1000);
			}
			printf("%d\\n", last);
			return 0;
		}
	C
	sed -i 's/\\\\/\\/g' spin.c
	gcc -O1 -g -o spin spin.c
	./spin >out &
	local pid=$! status=0
	mkdir own
	export TMPDIR=$PWD/own
	local began=${EPOCHREALTIME/.}
	devtrace sum -p $pid -e 'hist(n) by function if step' -e count --turns 3 >got 2>err
	# a step takes a ms, and more on a busy machine
	[ $((${EPOCHREALTIME/.} - began)) -ge 3000000 ]
	kill -0 $pid
	python3 - <<-'PY'
		n = [int(l.split()[0]) for l in open("got") if l.split()[-1:] == ["step"] and l.split()[0].isdigit()]
		assert len(n) >= 3 and n == sorted(n) and 100 < n[-1] < 4000, n
	PY
	# and until a signal comes
	devtrace sum -p $pid -F step -e count >more 2>err &
	local sum=$! i
	# it has begun when it has said how many there were
	for i in $(seq 3000); do
		[ ! -s more ] || break
		sleep 0.02
	done
	kill -INT $sum
	wait $sum || status=$?
	[ $status = 0 ] || { cat err; false; }
	grep -q '^ *[0-9]* *$' more
	wait $pid
	[ "$(cat out)" = 3999 ]
	[ -z "$(ls own)" ] || { ls own; false; }
	run -1 --separate-stderr devtrace sum -p 999999 -e count
	[[ $stderr == *'there is no process 999999'* ]]
	run -2 --separate-stderr devtrace sum -p $$
	[[ $stderr == *'-p goes with -e'* ]]
	run -2 --separate-stderr devtrace sum -F step s.db
	[[ $stderr == *'-F, -N, -A, -l and --turns go with -p'* ]]
}

@test "sums: words that are nothing are refused before the program starts, each in one line" {
	local words want
	while IFS='|' read -r words want; do
		run -1 --separate-stderr devtrace record --sum "$words" -o no.db touch started
		[ "${#stderr_lines[@]}" = 1 ]
		[[ $stderr == *"$want"* ]] || { echo "$words: $stderr"; false; }
		[ ! -e started ]
		[ ! -e no.db ]
	done <<-'TEXT'
		count by|a key is wanted
		count by time|a row for each time
		hist(size|a ) is wanted
		size by caller if time>5|a time is wanted
		count if core:0|core:: only readers
		count by a,b,c,d,e,f,g|too many keys
		count or so|count has no value
		n by function or so|what is this?
		a+b|the name of an argument is wanted
	TEXT
	run -2 --separate-stderr devtrace -c --sum count true
	[[ $stderr == *'not with -c'* ]]
	local nine=()
	for ((i = 0; i < 9; i++)); do nine+=(--sum count); done
	run -2 --separate-stderr devtrace record "${nine[@]}" true
	[[ $stderr == *'8 times at most'* ]]
	devtrace record -o plain.db "$dir/many" >/dev/null 2>&1
	run -1 --separate-stderr devtrace sum plain.db
	[[ $stderr == *'no sums were made'*'-e WORDS'* ]]
	run -2 --separate-stderr devtrace sum -e 'count by' plain.db
	[[ $stderr == *'a key is wanted'* ]]
	run -2 --separate-stderr devtrace sum -e count --live plain.db
	run -2 --separate-stderr devtrace sum --from 1ms plain.db
	# an argument that no function has is not known of any call, and that is said
	devtrace sum -e 'nosuch by function if key' plain.db >table
	grep -q '3 .*-  .*key  (of 3 it is not known)' table
}

@test "sums: files that were tampered with" {
	devtrace record -o s.db --sum 'hist(n) by function, n if key' "$dir/many" 50 >/dev/null 2>&1
	local change want
	while IFS='|' read -r change want; do
		cp s.db bad.db
		sqlite3 bad.db "$change"
		run -1 --separate-stderr devtrace sum bad.db
		[[ $stderr == *"$want"* ]] || { echo "$change: $stderr"; false; }
	done <<-'TEXT'
		UPDATE sum_line SET key = x'0102' WHERE row = 3|damaged: a row of a sum
		UPDATE sum_line SET key = substr(key, 1, 5) WHERE row = 3|damaged: a row of a sum
		UPDATE sum_line SET buckets = '500:1' WHERE row = 3|damaged: buckets
		UPDATE sum_line SET unknown = 5000 WHERE row = 3|damaged: a row of a sum
		UPDATE sum SET words = 'count by'|a key is wanted
		UPDATE sum SET sum = 5|numbered wrongly
	TEXT
	cp s.db bad.db
	sqlite3 bad.db 'UPDATE sum_line SET calls = calls + 1 WHERE row = 2'
	run -1 devtrace check bad.db
	rm bad.db
	[[ $output == *'a sum is not that of its parts'* || $output == *'sum'*'not'* ]]
}
