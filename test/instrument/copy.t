#!/bin/bash
# SPDX-License-Identifier: MIT
# Checklist row 94: a program whose sleds are off copies a megabyte as one without sleds does. Plan 9's
# patched hooks cost 1.5 to 3 %. The quickest of 20 passes each, in turns; of 41 turns' ratios the median.
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
B=${DEVTRACE_BUILD:-$PWD/build} limit=3
dir=$(mktemp -d "${XDG_RUNTIME_DIR:-/tmp}/devtrace-copy.XXXXXX") && trap 'rm -rf "$dir"' EXIT
head -c 1048576 /dev/urandom >"$dir/from"
for how in "gcc -O2" "clang -O2"; do
	$how -o "$dir/plain" test/instrument/copy.c || exit 1
	case $how in gcc*) with="-B$B/lib" ;; *) with="-fno-integrated-as -B$B/lib" ;; esac
	# shellcheck disable=SC2086
	$how $with -o "$dir/sleds" test/instrument/copy.c || exit 1
	[ "$("$B/devtrace" list "$dir/sleds" 2>/dev/null | grep -c .)" -ge 5 ] || echo "# $how: no sleds?"
	sums='' ratios=()
	for _ in {1..41}; do
		read -r plain sum < <("$dir/plain" "$dir/from" "$dir/to" 20)
		read -r sleds same < <("$dir/sleds" "$dir/from" "$dir/to" 20)
		[ "$sum" = "$same" ] || sums=other
		ratios+=($((sleds * 10000 / plain)))
	done
	median=$(printf '%s\n' "${ratios[@]}" | sort -n | sed -n 21p)
	n=$((${n:-0} + 1))
	what="$n - $how: a megabyte copied with sleds that are off takes $((median / 100)).$(printf %02d $((median % 100))) % of the time without (at most 10$limit)"
	if [ -z "$sums" ] && [ "$median" -le $((10000 + limit * 100)) ]; then
		echo "ok $what"
	else
		echo "not ok $what"
	fi
done
echo "1..$n"
