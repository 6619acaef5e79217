#!/bin/bash
# SPDX-License-Identifier: MIT
# What a budget of 5 % costs Redis with all its functions, without sleds: redis-benchmark's SET and GET, 3 million of each in
# pipelines of 16, so that the server is what limits them; after two seconds of the same. ROUNDS: how often (5), in turn with
# the server alone.
# usage: bench/budget.sh DEVTRACE...	several: in turn, too
set -u
dir=$(mktemp -d)
port=${PORT:-7391}
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT

ask() { redis-cli -p "$port" "$@" >/dev/null 2>&1; }

# one WHAT COMMAND...: "WHAT SET GET CPU", commands a second and the server's processor time in ms
one() {
	local what=$1 begin end speed job
	shift
	"$@" redis-server --port "$port" --save "" >"$dir/out" 2>&1 &
	job=$!
	until ask ping; do sleep 0.1; done
	server=$(redis-cli -p "$port" info server | tr -d '\r' | awk -F: '$1 == "process_id" { print $2 }')
	timeout 2 redis-benchmark -p "$port" -t set,get -P 16 -n 100000000 -q >/dev/null 2>&1
	begin=$(awk '{ print 10 * ($14 + $15) }' "/proc/$server/stat")
	speed=$(redis-benchmark -p "$port" -t set,get -P 16 -n 3000000 -q 2>/dev/null | tr '\r' '\n' | awk '/requests per/ { printf "%d ", $2 }')
	end=$(awk '{ print 10 * ($14 + $15) }' "/proc/$server/stat")
	ask shutdown nosave
	wait "$job"
	server=
	echo "$what $speed$((end - begin))"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

for _ in $(seq "${ROUNDS:-5}"); do
	one alone env
	for devtrace in "$@"; do
		one "$devtrace" "$devtrace" record --budget 5% -o "$dir/trace"
	done
done | tee "$dir/all"
for what in alone "$@"; do
	for column in 2 3 4; do
		awk -v what="$what" -v c="$column" '$1 == what { print $c }' "$dir/all" | median
	done | paste -sd ' ' | awk -v what="$what" '{ print "median of " what ": SET " $1 "/s, GET " $2 "/s, " $3 " ms of processor time" }'
done
