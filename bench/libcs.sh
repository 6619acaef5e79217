#!/bin/bash
# SPDX-License-Identifier: MIT
# What a traced call costs (bench/call.c, flight recorder, probes) by the libc: glibc's own rseq, static, with glibc's rseq
# off, as it is before 2.35, and musl. ROUNDS (9) times in turn; the median of each, in ns, and its ratio to the first.
# usage: bench/libcs.sh [DEVTRACE]	a second one may be given to compare: ROUNDS of each, in turn
set -u
[ $# -gt 0 ] || set -- "$(dirname "$0")/../build/devtrace"
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
f="-O2 -g -D_GNU_SOURCE"
gcc $f -o "$dir/dynamic" "$root/bench/call.c" -lpthread
gcc $f -static -o "$dir/static" "$root/bench/call.c" -lpthread
musl-gcc $f -idirafter /usr/lib/gcc/x86_64-linux-gnu/12/include -o "$dir/musl" "$root/bench/call.c"
musl-gcc $f -idirafter /usr/lib/gcc/x86_64-linux-gnu/12/include -static -o "$dir/musl-static" "$root/bench/call.c"

one() {
	local name=$1 program=$2
	shift 2
	echo "$devtrace $name $(env "$@" "$devtrace" record -p overwrite -F leaf -o "$dir/t.db" "$dir/$program" 1 2>/dev/null |
		grep -oE '(call|cost)=[0-9.]+' | head -n 1 | cut -d= -f2)"
}

for _ in $(seq "${ROUNDS:-9}"); do
	for devtrace in "$@"; do
		one dynamic dynamic -u X
		one static static -u X
		one no-rseq dynamic GLIBC_TUNABLES=glibc.pthread.rseq=0
		one musl musl -u X
		one musl-static musl-static -u X
	done
done >"$dir/all"
sort -k1,1 -k2,2 -k3,3n "$dir/all" | awk '
	{ key = $1 " " $2; v[key, ++n[key]] = $3; keys[key] }
	END {
		for (k in keys) {
			split(k, part, " ")
			m[k] = (v[k, int((n[k] + 1) / 2)] + v[k, int(n[k] / 2) + 1]) / 2
		}
		for (k in keys) {
			split(k, part, " ")
			printf "%s %.1f ns, %.2f times\n", k, m[k], m[k] / m[part[1] " dynamic"]
		}
	}' | sort
