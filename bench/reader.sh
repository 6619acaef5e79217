#!/bin/bash
# SPDX-License-Identifier: MIT
# Measures how fast traces are written and read, on a made-up trace of an interpreter's shape
# (test/tool/maketrace): encoding, report, calls, cat; on one core, with their memory.
#
# usage: bench/reader.sh [RECORDS [TRACE]]   (100 million; TRACE: a file to read instead of making one)
set -euo pipefail
cd "$(dirname "$0")/.." || exit 1
records=${1:-100000000}
build=${DEVTRACE_BUILD:-build}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
trace=${2:-$work/t.db}

if [ $# -lt 2 ]; then
	"$build/test/tool/maketrace" -b -n "$records" "$trace" >"$work/made"
	awk '/^put/ { printf "%-28s %8.1f million records/s  (%s ns each)\n", "encode", 1000 / $2, $2 }' "$work/made"
fi
records=$(sqlite3 "$trace" "SELECT sum(records) FROM chunk")
calls=$(sqlite3 "$trace" "SELECT sum(records) FROM chunk" | awk '{ print $1 / 2 }')
bytes=$(stat -c %s "$trace")
printf '%-28s %8.2f bytes a call  (%d million records, %d MB)\n' "file, entry and exit" \
	"$(awk "BEGIN { print $bytes / $calls }")" $((records / 1000000)) $((bytes / 1000000))

# one reading: NAME COMMAND...; processor time (all of it on one core), the least of three
reading() {
	local name=$1 best
	shift
	for _ in 1 2 3; do
		python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(r.ru_utime + r.ru_stime, r.ru_maxrss)' "$@"
	done | sort -n | head -1 >"$work/best"
	read -r seconds kb <"$work/best"
	awk "BEGIN { printf \"%-28s %8.1f million records/s  (%.2f s, %d MB of memory)\n\", \"$name\",
		$records / $seconds / 1e6, $seconds, $kb / 1024 }"
}
reading "report" "$build/devtrace" report "$trace"
reading "calls" "$build/devtrace" calls "$trace"
reading "calls -t 100us" "$build/devtrace" calls -t 100us "$trace"
reading "cat" "$build/devtrace" cat "$trace"
