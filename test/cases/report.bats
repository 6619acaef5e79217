#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace report
load read-helper

@test "report counts every call and agrees with itself" {
	maketrace -n 100000 -t 3 t.db >made
	devtrace report --json t.db >out.json
	python3 - "$(sed -n 's/^calls //p' made)" <<'PY'
import json, sys
rows = list(map(json.loads, open("out.json")))
assert sum(r["calls"] for r in rows) == int(sys.argv[1])
for r in rows:
    if r["timed"]:
        assert r["min_ns"] <= r["p50_ns"] * 1.04 and r["p50_ns"] <= r["p99_ns"] and r["p99_ns"] <= r["max_ns"] * 1.0001, r
        assert r["self_ns"] <= r["timed"] * r["avg_ns"] * 1.01 and r["min_ns"] <= r["avg_ns"] <= r["max_ns"], r
assert [r["total_ns"] for r in rows if r["timed"]] == sorted((r["total_ns"] for r in rows if r["timed"]), reverse=True)
PY
}

@test "report agrees with the calls it is made of" {
	maketrace -n 50000 -c 1 -t 1 t.db
	devtrace report -F function199 --json t.db >out.json
	# the durations on the lines that end calls of function199
	devtrace calls -F function199 t.db | awk '/us  .*function199/ { s += $1; n++ } END { printf "%d %.3f\n", n, s }' >sum
	python3 - <<'PY'
import json
r = json.loads(open("out.json").readline())
n, s = open("sum").read().split()
assert r["timed"] == int(n), (r, n)
assert abs(r["timed"] * r["avg_ns"] / 1000 - float(s)) < 0.001 * int(n) + 0.01, (r, s)
PY
}

@test "report sorts, filters and cuts" {
	sample t.db
	run devtrace report -s calls -n 2 t.db
	[ "${#lines[@]}" = 5 ] # heading, two rows, notes of what is not in the table and of losses
	[[ "$output" == *"devtrace: note: 3 more functions have calls: without -n all are shown"* ]]
	[[ "${lines[1]}" == *" 4 "*"  add"* ]]
	[[ "${lines[2]}" == *" 3 "*"  half"* ]]
	run devtrace report -s name t.db
	[[ "${lines[1]}" == *"  add"* ]]
	run devtrace report -F 'h*' t.db
	[ "${#lines[@]}" = 3 ]
	run devtrace report -N 'h*' -N add t.db
	[[ "$output" != *half* && "$output" == *jump* ]]
	run devtrace report -s speed t.db
	[ "$status" = 2 ]
	[[ "${lines[0]}" == "devtrace: cannot sort by 'speed'"* ]]
	run devtrace report -n many t.db
	[ "$status" = 2 ]
}

@test "report says how calls ended" {
	sample t.db
	run devtrace report t.db
	[[ "$output" == *"add  (1 unwound, 2 unfinished)"* ]]
	[[ "$output" == *"log  (1 tail, 1 exits without an entry)"* ]]
	[[ "$output" == *"main  (1 with losses)"* ]]
}

@test "report of nothing says so" {
	writetrace t.db </dev/null
	run devtrace report t.db
	[ "$status" = 0 ]
	[[ "$output" == *"no calls"* ]]
}

# a clock of 2 GHz; main 1000..2000, in it add 1100..1160 and 1200..1210
costs() {
	writetrace t.db <<'TEXT'
clock 0 0
clock 2000000 1000000
meta cost.entry 20.0 21.50 4.00 0.100 5000
meta cost.exit 10.0 11.00 2.00 0.050 5000
thread 1 main
function main
function add
E main 0x7fff1000 1000
E add 0x7fff0f00 1100
X add 0x7fff0f00 1160
E add 0x7fff0f00 1200
X add 0x7fff0f00 1210
X main 0x7fff1000 2000
TEXT
}

@test "check-128-cost: what recording cost is taken off and told" {
	costs
	run devtrace report --json t.db
	[[ "$output" == *'"total_ns": 500.'*'"total_ns": 35.'* ]]
	# 1000 - 20 - 10 - 20 - 10 - 10 ticks; 50 and 0
	run devtrace report --subtract --json t.db
	[[ "$output" == *'"total_ns": 465.'*'"total_ns": 25.'* ]]
	run devtrace report --subtract t.db
	[[ "$output" == *"taken off: a record of entry took 10.0 ns: median of 5000 (mean 10.75, standard deviation 2.00; 99 % interval of the mean +- 0.050)"* ]]
	[[ "$output" == *"    and of exit took 5.0 ns: median of 5000 (mean 5.50,"* ]]
	run devtrace calls --subtract t.db
	[[ "$output" == *"0.025 us    add("*"0.000 us    add("*"0.465 us  } "* ]]
	# a trace that does not say it
	sample other.db
	run devtrace report --subtract other.db
	[ "$status" = 2 ]
	[[ "$output" == "devtrace: the trace does not say what a record cost: "* ]]
	run devtrace calls --subtract other.db
	[ "$status" = 2 ]
}

@test "check-128-cost: a recording says what its records cost" {
	# so many calls that half of them find a ring that has been written to before
	cat >p.c <<'C'
__attribute__((noipa)) void nothing(void) {}
__attribute__((noipa)) void outer(void) { for (int i = 0; i < 1000; i++) nothing(); }
int main(void) { for (int i = 0; i < 1000; i++) outer(); }
C
	gcc -O1 -B"$build/lib" -o p p.c
	devtrace record -F outer -F nothing -- ./p
	python3 - <<'PY'
import json, sqlite3, subprocess
meta = dict(sqlite3.connect("devtrace.db").execute("select key, value from meta"))
for kind in "entry", "exit", "point":
    median, mean, deviation, interval, n = map(float, meta["cost." + kind].split())
    # the counter's reading alone takes some 20 cycles; a record is made in less than a microsecond
    assert 5 < median < 3000 and mean > 0 and deviation > 0 and n >= 1000, (kind, meta["cost." + kind])
    assert abs(interval - 2.576 * deviation / n ** 0.5) < 0.01 * interval + 0.001
def p50(*more):
    out = subprocess.run(["devtrace", "report", "--json", *more], capture_output=True, check=True).stdout
    return {r["function"]: r["p50_ns"] for r in map(json.loads, out.splitlines()) if "function" in r}
with_cost, without = p50(), p50("--subtract")
# outer's 2,000 records and more are gone from its time, and nothing() took next to none
assert without["outer"] < 0.9 * with_cost["outer"], (with_cost, without)
assert without["nothing"] < with_cost["nothing"], (with_cost, without)
PY
}

@test "report counts the calls that were made; exits without an entry stand beside them" {
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 2000 2000
	X half 0xf00 100
	X half 0xf00 200
	E half 0xf00 300
	X half 0xf00 400
	X add 0xf00 500
	TEXT
	devtrace report t.db >out
	grep -qE '^ *0.100 us .* 1  .* half  \(2 exits without an entry\)$' out || grep -qE ' 1 .*half  \(2 exits without an entry\)$' out
	grep -qE ' - +- +0 .* add  \(1 exits without an entry\)$' out
	[ "$(devtrace report --json t.db | python3 -c 'import json, sys; print(sorted((f["function"], f["calls"], f["exits_without_entry"]) for f in map(json.loads, sys.stdin)))')" = "[('add', 0, 1), ('half', 1, 2)]" ]
	devtrace graph -m 0 t.db >out
	grep -qE ' 1 .* half  \(2 exits without an entry\)$' out
	grep -qE ' 0 .* add  \(1 exits without an entry\)$' out
}

@test "messages have the key that the program said, in each command" {
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 2000 2000
	E main 0x1000 100
	M x 0xf00 200 0xea000000000c7000
	N x 0xf00 300 0xeb000000000c7000
	X main 0x1000 400
	TEXT
	[ "$(devtrace sql -n -c t.db 'SELECT key, state FROM messages' | tr -d '\r')" = 199,whole ]
	[ "$(devtrace sql -n -c t.db 'SELECT argument FROM events' | tr -d '\r')" = $'199\n199' ]
	[ "$(devtrace calls t.db | grep -c 'channel 0xc7 ')" = 2 ]
	[ "$(devtrace export --chrome t.db | grep -c '"value":"0xc7"')" = 2 ]
	# Barrelfish's exports keep its layout
	[ "$(devtrace export --barrelfish t.db | grep -c 'e[ab]000000000c7000$')" = 2 ]
}

@test "report: what does not add up is refused, with the reason; --anyway shows it" {
	unsound back.db
	writetrace back.db <<-'TEXT'
	thread 1 a
	function f a:i4@0;v
	E f 0x1000 100
	X f 0x1000 90
	TEXT
	run devtrace report back.db
	[ "$status" = 1 ]
	[ "$output" = 'devtrace: the trace does not add up: 1 record is earlier than one before it of its thread; `devtrace check` tells more, --anyway shows it nevertheless' ]
	run devtrace report --anyway back.db
	[ "$status" = 0 ]
	[[ $output == *" f"* ]]
}

# by_calls KEYS FILE: the rows of report --by KEYS, and the same from the calls one by one, as sql has them
by_calls() {
	devtrace sql --json "$2" 'SELECT id, parent, function, module, thread, process, duration, self, timed, begin FROM calls' >calls.json
	devtrace report --by "$1" --json "$2" 2>/dev/null >by.json
	python3 - "$1" <<'PY'
import collections, json, math, sys
keys = sys.argv[1].split(",")
calls = list(map(json.loads, open("calls.json")))
by_id = {c["id"]: c for c in calls if c["id"]}
def group(c):
    caller = by_id.get(c["parent"])
    return tuple(caller["function"] if k == "caller" and caller else None if k == "caller" else c[k] for k in keys)
def around(c): # a call of its group that has a time
    p = by_id.get(c["parent"])
    while p and not (p["timed"] and p["thread"] == c["thread"] and group(p) == group(c)):
        p = by_id.get(p["parent"])
    return p
want = collections.defaultdict(lambda: {"calls": 0, "durations": [], "total": 0, "self": 0})
for c in calls:
    if not c["id"]:
        continue
    w = want[group(c)]
    w["calls"] += 1
    if c["timed"]:
        w["durations"].append(c["duration"])
        w["self"] += c["self"]
        w["total"] += 0 if around(c) else c["duration"]
short = lambda k, v: v.rsplit("/", 1)[-1] if k == "module" else v # as sql has it
got = {tuple(short(k, r[k]) for k in keys): r for r in map(json.loads, open("by.json")) if r["type"] == "group" and r["calls"]}
assert got.keys() == want.keys(), (len(got), len(want), list(want.keys() ^ got.keys())[:5])
for k, w in want.items():
    g, d = got[k], w["durations"]
    assert (g["calls"], g["timed"]) == (w["calls"], len(d)), (k, g, w["calls"])
    if not d:
        continue
    mean = math.fsum(d) / len(d)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in d) / len(d))
    near = 0.06 * len(d) + 0.06
    assert abs(g["total_ns"] - w["total"]) <= near and abs(g["self_ns"] - w["self"]) <= near, (k, g, w["total"], w["self"])
    assert abs(g["stddev_ns"] - deviation) <= 0.2 + deviation * 1e-6 and abs(g["avg_ns"] - mean) <= 0.2, (k, g, deviation)
    d.sort()
    for share, name in ((0.5, "p50_ns"), (0.9, "p90_ns"), (0.95, "p95_ns"), (0.99, "p99_ns"), (0.999, "p999_ns")):
        exact = d[max(0, math.ceil(share * len(d) - 1e-9) - 1)]
        assert abs(g[name] - exact) <= exact * 0.032 + 0.6, (k, name, g[name], exact)
print(len(want), "groups of", len(calls), "calls")
PY
}

@test "report --by: each group is what its calls are together, nested ones counted once" {
	maketrace -n 30000 -t 5 -s 7 t.db
	for keys in function caller thread process module caller,function thread,function process,module function,thread,caller; do
		by_calls "$keys" t.db
	done
	[ "$(devtrace report --by thread t.db 2>/dev/null | grep -c worker)" = "$(devtrace sql -n t.db 'SELECT count(DISTINCT thread) FROM calls' | tr -d ' ')" ]
	# by function is what report is without it
	devtrace report --json t.db | sed 's/.*"function": "/"/; s/"type": "function", //' | sort >without
	devtrace report --by function --json t.db | sed 's/.*"function": "/"/' | sort | cmp - without
	# only what is chosen
	[ "$(devtrace report --by caller -F function19 --json t.db | python3 -c 'import json, sys; print(sum(r["calls"] for r in map(json.loads, sys.stdin)))')" = \
		"$(devtrace report -F function19 --json t.db | python3 -c 'import json, sys; print(sum(r["calls"] for r in map(json.loads, sys.stdin)))')" ]
	[ "$(devtrace report --by thread -f 'function1*' --json t.db | python3 -c 'import json, sys; print(sum(r["calls"] for r in map(json.loads, sys.stdin)))')" = \
		"$(devtrace report -F 'function1*' --json t.db | python3 -c 'import json, sys; print(sum(r["calls"] for r in map(json.loads, sys.stdin)))')" ]
}

@test "report --by: threads that recurse, against what they count themselves" {
	cat >p.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN void leaf(void) { for (volatile int i = 0; i < 20; i++) ; }
FN int odd(int n);
FN int even(int n) { leaf(); return n ? odd(n - 1) : 1; }
FN int odd(int n) { int r = n ? even(n - 1) : 0; leaf(); return r; }
FN int deep(int n) { int r = n ? deep(n - 1) : 0; leaf(); return r; }
static void *work(void *p)
{
	long n = (long)p;
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 50; i++) {
		even((int)n);
		deep(9);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%ld %ld %lld\n", n, syscall(SYS_gettid), (b.tv_sec - a.tv_sec) * 1000000000ll + b.tv_nsec - a.tv_nsec);
	return p;
}
int main(void)
{
	pthread_t t[3];
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(10 * i + 11));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}
C
	gcc -O0 -B"$build/lib" -o p p.c -pthread
	devtrace record -o p.db -F even -F odd -F leaf -F deep -- ./p >said
	for keys in thread thread,function caller,function module; do
		by_calls "$keys" p.db
	done
	devtrace report --by thread,function --json p.db >thread.json
	devtrace report --by thread --json p.db >threads.json
	devtrace report --by caller,function --json p.db >caller.json
	python3 - <<'PY'
import collections, json
rows = {(r["thread"], r["function"]): r for r in map(json.loads, open("thread.json")) if r["type"] == "group"}
edges = collections.Counter()
for n, tid, ns in (map(int, l.split()) for l in open("said")):
    even, odd = 50 * (n // 2 + 1), 50 * ((n + 1) // 2)
    count = {f: rows[tid, f]["calls"] for f in ("even", "odd", "deep", "leaf")}
    assert count == {"even": even, "odd": odd, "deep": 500, "leaf": even + odd + 500}, (n, count)
    # all of a thread's time once: with each nested call it would be several times that
    assert rows[tid, "even"]["total_ns"] + rows[tid, "deep"]["total_ns"] <= ns + 1000, rows
    whole = {r["thread"]: r for r in map(json.loads, open("threads.json")) if r["type"] == "group"}[tid]
    assert whole["total_ns"] <= ns + 1000 and abs(whole["total_ns"] - whole["self_ns"]) < 100, whole
    edges.update({("odd", "even"): even - 50, (None, "even"): 50, ("even", "odd"): odd, ("deep", "deep"): 450, (None, "deep"): 50})
got = {(r["caller"], r["function"]): r["calls"] for r in map(json.loads, open("caller.json")) if r["type"] == "group" and r["function"] != "leaf"}
assert got == edges, (got, edges)
PY
	[ "$(devtrace report --by host --json p.db | python3 -c 'import json, sys; print({r["host"] for r in map(json.loads, sys.stdin) if r["type"] == "group"} == {sys.argv[1]})' "$(uname -n)")" = True ]
}

@test "report --by and --fields: what is wrong is said in one line" {
	sample t.db
	for wrong in '' bogus thread, ,thread 'thread function'; do
		run devtrace report --by "$wrong" t.db
		[ "$status" = 2 ]
		[[ ${lines[0]} == *"there are function, caller, thread, process, module, host"* ]]
		run devtrace report --fields "$wrong" t.db
		[ "$status" = 2 ]
		[[ ${lines[0]} == *"there are total, self, cpu, wait"* ]]
	done
	run devtrace report --by host t.db
	[ "$status" = 1 ]
	[ "${lines[0]}" = "devtrace: --by host: the trace does not say on which machine it was recorded" ]
	run devtrace report --fields wait t.db
	[ "$status" = 1 ]
	for options in '--live --by thread' '--waits --fields calls' '--left-out --by thread' '--json --fields calls'; do
		run devtrace report $options t.db
		[ "$status" = 2 ]
	done
	devtrace report --fields calls,stddev t.db | head -n 1 | grep -qx ' *calls  *stddev  function'
	devtrace report --fields none t.db | head -n 1 | grep -qx function
	devtrace report --fields +stddev t.db | head -n 1 | grep -qx '  *stddev  *total  *self  *calls  *avg  *min  *p50  *p99  *max  function'
	# calls of 200, 20 (of which 10 is the inner one), ... ticks of half a nanosecond: by hand
	writetrace d.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	E f 0x1000 1000
	X f 0x1000 1200
	E f 0x1000 2000
	X f 0x1000 2400
	E f 0x1000 3000
	X f 0x1000 3600
	TEXT
	# of 100, 200 and 300 ns: the root of 20000 / 3
	[ "$(devtrace report --fields stddev d.db | awk 'NR == 2 { print $1, $2, $3 }')" = "0.082 us f" ]
	[[ "$(devtrace report --json d.db)" == *'"stddev_ns": 81.6,'* ]]
}
