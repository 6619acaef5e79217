#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What takes too long for every change: make soak. TAP, as real.t.
#   - attach and detach 1,000 times to a Redis under load (SOAK_ATTACHES)
#   - zstd's whole fuzzer start and stream tests, everything traced (a trace of a gigabyte)
#   - more of Redis's own units, everything traced
set -uo pipefail
. "$(dirname "$0")/real/common.sh"

attaches=${SOAK_ATTACHES:-1000}
attach_under_load "$attaches"
result $? "Redis: attached and detached $attaches times under load; no error, no lost connection"

zstd=$(program zstd sled) && redis=$(program redis sled)
result $? "zstd and Redis build with sleds"
for t in "fuzzer -i200 -s7" "zstreamtest -i50 -s7"; do
	rm -f "$work"/z.db*
	# shellcheck disable=SC2086
	timeout 1200 "$devtrace" record -o "$work/z.db" "$(dirname "$zstd")/../tests/"$t >"$work/log" 2>&1 &&
		complete "$work/z.db" || { tail -n 5 "$work/log" >>"$work/why"; false; }
	result $? "zstd: $t passes traced"
done
rm -f "$work"/z.db*

for u in unit/type/string unit/type/list unit/type/set unit/type/zset unit/type/stream unit/scan \
	unit/sort unit/expire unit/introspection unit/dump unit/geo unit/other; do
	rm -f "$work"/u.db*
	(cd "$(dirname "$redis")/.." && timeout 900 "$devtrace" record -f -o "$work/u.db" \
		./runtest --clients 2 --config bind 127.0.0.1 --single "$u" >"$work/log" 2>&1) &&
		grep -q 'All tests passed' "$work/log" && complete "$work/u.db" ||
		{ grep -vE '\[.*ok.*\]' "$work/log" >>"$work/why"; false; }
	result $? "Redis: $u passes traced"
done
echo "1..$tests"
