#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace report
load read-helper

@test "report counts every call and agrees with itself" {
	maketrace -n 100000 -t 3 t.db >made
	devtrace report --json t.db >out.json
	python3 - "$(sed -n 's/^calls //p' made)" <<'PY'
import json, sys
rows = json.load(open("out.json"))
assert sum(r["calls"] for r in rows) == int(sys.argv[1])
for r in rows:
    if r["timed"]:
        assert r["min"] <= r["p50"] * 1.04 and r["p50"] <= r["p99"] and r["p99"] <= r["max"] * 1.0001, r
        assert r["self"] <= r["timed"] * r["avg"] * 1.01 and r["min"] <= r["avg"] <= r["max"], r
assert [r["total"] for r in rows if r["timed"]] == sorted((r["total"] for r in rows if r["timed"]), reverse=True)
PY
}

@test "report agrees with the calls it is made of" {
	maketrace -n 50000 -c 1 -t 1 t.db
	devtrace report -F function199 --json t.db >out.json
	# the durations on the lines that end calls of function199
	devtrace calls -F function199 t.db | awk '/us  .*function199/ { s += $1; n++ } END { printf "%d %.3f\n", n, s }' >sum
	python3 - <<'PY'
import json
r = json.load(open("out.json"))[0]
n, s = open("sum").read().split()
assert r["timed"] == int(n), (r, n)
assert abs(r["timed"] * r["avg"] / 1000 - float(s)) < 0.001 * int(n) + 0.01, (r, s)
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
	[[ "$output" == *'"total": 500.'*'"total": 35.'* ]]
	# 1000 - 20 - 10 - 20 - 10 - 10 ticks; 50 and 0
	run devtrace report --subtract --json t.db
	[[ "$output" == *'"total": 465.'*'"total": 25.'* ]]
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
    return {r["function"]: r["p50"] for r in json.loads(out) if "function" in r}
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
	[ "$(devtrace report --json t.db | python3 -c 'import json, sys; print(sorted((f["function"], f["calls"], f["exits_without_entry"]) for f in json.load(sys.stdin)))')" = "[('add', 0, 1), ('half', 1, 2)]" ]
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
