#!/bin/bash
# SPDX-License-Identifier: MIT
# Checklist row 94: a program whose sleds are off copies a megabyte as one without sleds does. Plan 9's
# patched hooks cost 1.5 to 3 %. Of each the quickest of all passes, 20 in each of 41 turns: most
# passes of a turn can be slowed down by where the pages of its process lie, or by what else the machine does. If that is
# too much, it may be so for all of them: up to three times as many more are made.
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
	sums='' plain_best='' sleds_best=''
	for turn in {1..164}; do
		read -r plain sum < <("$dir/plain" "$dir/from" "$dir/to" 20)
		read -r sleds same < <("$dir/sleds" "$dir/from" "$dir/to" 20)
		[ "$sum" = "$same" ] || sums=other
		[ "${plain_best:-$plain}" -lt "$plain" ] || plain_best=$plain
		[ "${sleds_best:-$sleds}" -lt "$sleds" ] || sleds_best=$sleds
		ratio=$((sleds_best * 10000 / plain_best))
		[ $((turn % 41)) != 0 ] || [ "$ratio" -gt $((10000 + limit * 100)) ] || break
	done
	n=$((${n:-0} + 1))
	what="$n - $how: a megabyte copied with sleds that are off takes $((ratio / 100)).$(printf %02d $((ratio % 100))) % of the time without (at most 10$limit)"
	if [ -z "$sums" ] && [ "$ratio" -le $((10000 + limit * 100)) ]; then
		echo "ok $what"
	else
		echo "not ok $what"
	fi
done
echo "1..$n"
