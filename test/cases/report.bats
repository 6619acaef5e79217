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
	[ "${#lines[@]}" = 4 ] # heading, two rows, note
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
	[[ "$output" == *"log  (1 tail, 1 begun before)"* ]]
	[[ "$output" == *"main  (1 with losses)"* ]]
}

@test "report of nothing says so" {
	writetrace t.db </dev/null
	run devtrace report t.db
	[ "$status" = 0 ]
	[[ "$output" == *"no calls"* ]]
}
