#!/bin/bash
# SPDX-License-Identifier: MIT
# The time line's page in a real browser: Debian's Chromium, driven by playwright-core.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
"$root/build/test/tool/maketrace" -n 1500000 -c 3 -t 6 -s 4 -m 400 "$dir/made.db" >/dev/null || exit 1
"$root/build/test/tool/maketrace" -n 2000000 -c 16 -t 64 -s 5 -m 300 "$dir/wide.db" >/dev/null || exit 1
"$root/build/test/tool/maketrace" -n 1500 -c 2 -t 3 -s 7 -m 40 "$dir/small.db" >/dev/null || exit 1
# what is not there: a loss of core 1, and a pause, at known places
cp "$dir/small.db" "$dir/gaps.trace" && sqlite3 "$dir/gaps.trace" "WITH t(b, l) AS (SELECT min(min_ticks), max(max_ticks) - min(min_ticks) FROM chunk)
	INSERT INTO pause SELECT b + l * 40 / 100, b + l * 60 / 100, 'frozen', 1, 123 FROM t UNION ALL SELECT b + l * 80 / 100, b + l * 81 / 100, 'stopped', 3, NULL FROM t;
	WITH t(b, l) AS (SELECT min(min_ticks), max(max_ticks) - min(min_ticks) FROM chunk)
	INSERT INTO loss SELECT 1, 100, 77, b + l * 20 / 100, b + l * 30 / 100 FROM t" || exit 1
gcc -O2 -g -I"$root/include" -o "$dir/server" "$root/examples/activities.c" -pthread &&
	"$root/build/devtrace" record -o "$dir/server.db" "$dir/server" >"$dir/out" 2>&1 &&
	"$root/build/devtrace" sql "$dir/server.db" - <"$root/examples/locks.sql" >"$dir/out" || exit 1
# two activities that overlap, so short that a picture of the whole has them as one bar
cp "$dir/server.db" "$dir/rows.db" && sqlite3 "$dir/rows.db" "DELETE FROM activities;
	INSERT INTO activities(name, begin, end, key) VALUES ('x', 100000, 100040, 'a'), ('x', 100020, 100060, 'b')" || exit 1
# calls of libraries that fail, of which strace counts the same
"$root/build/devtrace" record -l -o "$dir/failed.db" ls /nonexistent /nonexistent2 /etc/passwd/no >"$dir/out" 2>&1
cd "$npm" && timeout 600 node "$root/test/view/page.mjs" "$root/build/devtrace" "$dir/made.db" "$dir" "$dir/wide.db" "$dir/server.db" \
	"$dir/small.db" "$dir/gaps.trace" "$root/test/view/golden" "$dir/rows.db" "$dir/failed.db"
