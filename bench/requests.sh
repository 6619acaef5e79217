#!/bin/bash
# SPDX-License-Identifier: MIT
# What it costs a server of some 50,000 requests a second that the records of its slow requests are kept, and of no others:
# bench/requests.c with every function hooked, by sleds and by probes, in turn with the program alone. ROUNDS: how often (5)
# usage: bench/requests.sh [DEVTRACE]
set -u
cd "$(dirname "$0")/.." || exit 1
devtrace=$(realpath "${1:-build/devtrace}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gcc -O2 -g -pthread -o "$dir/probes" bench/requests.c || exit 1
gcc -O2 -g -pthread -B"${devtrace%/*}/lib" -o "$dir/sleds" bench/requests.c || exit 1

median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

for _ in $(seq "${ROUNDS:-5}"); do
	for how in probes sleds; do
		"$dir/$how" 4 | awk -v how="$how" '{ print how, "alone", $1 }'
		"$devtrace" record --filter 'request:handle time>1500us' -o "$dir/$how.db" "$dir/$how" 4 2>/dev/null >"$dir/said"
		awk -v how="$how" '{ print how, "traced", $1 }' "$dir/said"
		echo "# $how: $(cat "$dir/said"); in the file $("$devtrace" sql -n "$dir/$how.db" \
			"SELECT count(*), sum(function = 'handle'), sum(function = 'wait_long') FROM calls" 2>/dev/null | tr -s ' \n' ' ')calls, of handle, of wait_long; $(stat -c %s "$dir/$how.db") bytes" >&2
	done
done >"$dir/all"
for how in probes sleds; do
	for what in alone traced; do
		awk -v how="$how" -v what="$what" '$1 == how && $2 == what { print $3 }' "$dir/all" | median
	done | paste -sd ' ' | awk -v how="$how" '{ printf "%s: %d requests a second alone, %d traced: %.1f %%\n", how, $1, $2, 100 * $2 / $1 }'
done
