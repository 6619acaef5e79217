#!/bin/bash
# SPDX-License-Identifier: MIT
# Values over time: what the page draws, beside what is computed from the calls one by one.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 200000 -c 3 -t 6 -s 4 -m 40 "$dir/made.db" >/dev/null || exit 1
"$root/build/test/tool/maketrace" -n 1300000 -c 3 -t 6 -s 9 -m 400 "$dir/long.db" >/dev/null || exit 1
# what two processes used, as made up: one of them more often than there are columns, the other seldom
sqlite3 "$dir/made.db" "WITH RECURSIVE
	ends AS (SELECT min(min_ticks) AS a, max(max_ticks) AS b FROM chunk),
	k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 2999)
	INSERT INTO used SELECT (SELECT min(pid) FROM process), a + (b - a) * i / 3000 + i % 7, (1 + i * 7919 % 1000) * 65536, i * 1000 + i * i FROM k, ends;
	WITH ends AS (SELECT min(min_ticks) AS a, max(max_ticks) AS b FROM chunk), k(i) AS (VALUES(-1), (1), (2), (5), (9))
	INSERT INTO used SELECT 4000000, a + (b - a) * i / 10, (i + 2) << 20, (i + 2) * 1000 FROM k, ends" || exit 1
cd "$npm" && timeout 300 node "$root/test/view/plots.mjs" "$root/build/devtrace" "$dir/made.db" "$dir" "$dir/long.db"
