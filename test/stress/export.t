#!/bin/bash
# SPDX-License-Identifier: MIT
# Exporting takes as much memory for five million records as for one: TAP.
set -u
root=${DEVTRACE_ROOT:-$PWD}
export PATH=$root/build:$root/build/test/tool:$PATH
. "$root/test/sound.bash"
. "$root/test/share.bash"
dir=$(mktemp -d) && trap 'sweep "$dir"' EXIT
cd "$dir" || exit 1
maketrace -n 1000000 -c 2 -t 3 1.db >/dev/null && maketrace -n 5000000 -c 2 -t 3 5.db >/dev/null || exit 1

# kilobytes that a command has had at most, with all that it read of files: the kernel's own maximum
peak() {
	/usr/bin/time -q -o peak -f %M "$@" >/dev/null 2>err || { cat err >&2; return 1; }
	cat peak
}

n=0 bad=0
mapfile -t formats < <(printf '%s\n' --chrome --perfetto --speedscope --folded --callgrind --csv --barrelfish "--ctf out" | share)
for format in "${formats[@]}"; do
	n=$((n + 1)) why=
	rm -rf out
	one=$(peak devtrace export $format 1.db) || why="of one million failed"
	rm -rf out
	five=$(peak devtrace export $format 5.db) || why="of five million failed"
	# folded and callgrind keep what they sum up: one entry for each stack that is different
	[ -n "$why" ] || [ "$five" -le $((one + one / 4 + 4096)) ] || why="grows"
	[ -n "$why" ] || [ "$five" -le 40960 ] || why="is more than 40 MB"
	echo "${why:+not }ok $n - memory of export $format: $one kB for a million records, $five for five${why:+: $why}"
	[ -z "$why" ] || bad=1
done
echo "1..$n"
exit $bad
