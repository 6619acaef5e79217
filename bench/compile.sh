#!/bin/bash
# SPDX-License-Identifier: MIT
# 60 short compilations by make -j4, alone and with every function of cc1 recorded, flight recorder: wall time, ROUNDS (3) in
# turn, medians. Beside it what the records alone take: their number times what one costs (bench/call.c), on two cores.
# usage: bench/compile.sh DEVTRACE...
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/make"
for i in $(seq 60); do
	cat >"$dir/make/f$i.c" <<-C
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
		int f$i(int n)
		{
			int *v = malloc(n * sizeof(*v)), s = 0;
			for (int i = 0; i < n; i++)
				v[i] = (i * 7919 + $i) % 1000;
			qsort(v, n, sizeof(*v), cmp);
			for (int i = 0; i < n; i++)
				s += v[i] * i;
			free(v);
			printf("%d\n", s);
			return s;
		}
	C
done
printf 'all: %s\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n' "$(for i in $(seq 60); do printf 'f%d.o ' "$i"; done)" >"$dir/make/Makefile"
one() {
	local name=$1
	shift
	rm -f "$dir"/make/*.o
	/usr/bin/time -a -o "$dir/times" -f "$name %e" "$@" make -s -j4 -C "$dir/make" 2>"$dir/said" || cat "$dir/said"
}
for devtrace in "$@"; do one first "$devtrace" record -f -p overwrite -F 'cc1:*' -o "$dir/t.db"; done # reads cc1, for the memo
rm "$dir/times"
for _ in $(seq "${ROUNDS:-3}"); do
	one alone env
	for devtrace in "$@"; do
		one "$devtrace" "$devtrace" record -f -p overwrite -F 'cc1:*' -o "$dir/t.db"
		sed -n 's/^devtrace: \([0-9]*\) records, \([0-9]*\) lost.*/\1 \2/p' "$dir/said" >"$dir/records"
	done
done
sort -k1,1 -k2,2n "$dir/times" | awk '{ v[$1, ++n[$1]] = $2; names[$1] } END { for (k in names) printf "%s: %.2f s\n", k, v[k, int((n[k] + 1) / 2)] }' | sort
awk '{ printf "%d million records: %.1f s on two cores at 13 ns\n", ($1 + $2) / 1e6, ($1 + $2) * 13e-9 / 2 }' "$dir/records"
