#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A Redis that stands still for a moment, and no log says why: doc/timeline.md, "From a symptom to its
# cause". Leaves slow.db and fixed.db in the folder.
# usage: examples/stall.sh FOLDER [REDIS-SERVER [MEMBERS]]      (after make; redis-cli lies beside the server)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
devtrace=${DEVTRACE_BUILD:-$root/build}/devtrace
folder=$(cd "$1" && pwd)
redis=$(command -v "${2:-redis-server}")
members=${3:-400000}
cli=$(dirname "$redis")/redis-cli
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server" && wait "$server" || :; }; rm -rf "$dir"' EXIT

"$redis" --port 0 --unixsocket "$dir/redis" --save '' --dir "$dir" >"$dir/log" &
server=$!
ask() { "$cli" -s "$dir/redis" "$@"; }
until ask ping >/dev/null 2>&1; do kill -0 "$server"; done

# record FILE: some seconds in which a set of visitors, which was to be kept for a short while, goes
record() {
	local session="stall-$$" from
	ask eval "for i = 1, $members do redis.call('sadd', 'seen:2026-11-21', 'visitor:' .. i) end" 0 >/dev/null
	ask slowlog reset >/dev/null
	"$devtrace" attach -d -s "$session" -o "$1" -F "*" -A createStringObject "$server" >/dev/null
	"$devtrace" ctl -s "$session" start
	ask expire seen:2026-11-21 1 >/dev/null
	ask --latency --raw -i 4 >"$dir/latency"
	awk '{ printf "a client waited %d ms at most, %s ms in the mean\n", $2, $3 }' "$dir/latency"
	echo "in the log of slow commands: $(ask slowlog len)"
	"$devtrace" ctl -s "$session" quit
}

# where FILE: what took longest, from the outside to the inside
where() {
	"$devtrace" sql "$1" "
		CREATE TEMP TABLE c AS SELECT id, parent, thread, function, text, begin, end, duration FROM calls WHERE duration > 5e6 AND function NOT LIKE 'aeProcessEvents%';
		SELECT thread, function, round(begin / 1e6, 1) AS 'at ms', round(duration / 1e6, 1) AS ms FROM c ORDER BY duration DESC LIMIT 12"
}

record "$folder/slow.db"
where "$folder/slow.db"
ask config set lazyfree-lazy-expire yes
record "$folder/fixed.db"
where "$folder/fixed.db"
