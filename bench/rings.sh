#!/bin/bash
# SPDX-License-Identifier: MIT
# What waiting for room adds to a program's own times: a loop of three million calls, recorded with wait, by rings that
# are written over and over and by one that holds all of it, in turns. Waits are left out of what is shown; what is left
# of the largest ring is that its records are written to memory that no cache holds.
# usage: rings.sh [ROUNDS [SIZE...]]    medians of the loop's duration in ms, and its ratio to that of the first size
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/bench/median.bash"
rounds=${1:-9}
shift $(($# > 0))
[ $# != 0 ] || set -- 64K 4M 512M
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work
cat >"$work/loop.c" <<'C'
__attribute__((noipa)) long leaf(long a) { __asm__("" : "+r"(a)); return a * 3 + 1; }
__attribute__((noipa)) void turn(void) { for (int i = 0; i < 3000000; i++) leaf(i); }
int main(void) { turn(); turn(); }
C
gcc -O2 -o "$work/loop" "$work/loop.c" || exit 1
for ((i = 0; i < rounds; i++)); do
	for size; do
		"$root/build/devtrace" record -p wait -b "$size" -o "$work/t.db" -F 'loop:*' "$work/loop" >/dev/null 2>&1 || exit 1
		"$root/build/devtrace" sql --csv --no-header "$work/t.db" \
			"SELECT duration / 1e6 FROM calls WHERE function = 'turn' ORDER BY begin DESC LIMIT 1" |
			tr -d '\r' >>"$work/$size"
	done
done
first=
for size; do
	middle=$(median "$work/$size")
	first=${first:-$middle}
	echo "$size: $middle ms, $(awk -v a="$middle" -v b="$first" 'BEGIN { printf "%.3f", a / b }') ($(spread "$work/$size"))"
done
