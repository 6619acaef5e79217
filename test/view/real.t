#!/bin/bash
# SPDX-License-Identifier: MIT
# The time line's page on traces of a Redis and a PostgreSQL at work, in a real browser.
# usage: real.t [PICTURES]       keeps the pictures of doc/timeline.md in that folder
set -u
root=${DEVTRACE_ROOT:-$PWD}
pictures=${1-}
. "$root/test/view/npm.sh"
. "$root/test/real/postgresql.sh"
dir=$(mktemp -d)
postgresql_folder=
cleanup() {
	[ -z "$postgresql_folder" ] || postgresql_stop
	sweep "$dir"
}
. "$root/test/sound.bash"
trap cleanup EXIT
devtrace=$root/build/devtrace
failed() {
	echo "not ok 1 - $1"
	sed 's/^/# /' "$dir/said"
	exit 1
}
npm_has playwright-core@1.56.1 || exit 1

redis=$("$root/test/real/build.sh" redis plain 2>"$dir/said") || failed "Redis can not be built"
DEVTRACE_BUILD=$root/build "$root/examples/stall.sh" "$dir" "$redis" >"$dir/said" 2>&1 || failed "examples/stall.sh"
cp "$dir/said" "$dir/stall"

# three clients of a PostgreSQL; recorded while a thousand of their transactions are made
chmod 755 "$dir"
postgresql_start "$dir/pg" && pg "$postgresql_bin/pgbench" -i -q >"$dir/said" 2>&1 || failed "PostgreSQL can not be started"
pg "$postgresql_bin/pgbench" -n -c 3 -t 1000000 postgres >"$dir/bench" 2>&1 &
bench=$!
transactions() { pg psql -At -c 'SELECT count(*) FROM pgbench_history'; }
wait_for() { local least=$(($(transactions) + $1)); until [ "$(transactions)" -ge "$least" ]; do kill -0 $bench || return; done; }
# shellcheck disable=SC2046
wait_for 10 &&
	"$devtrace" attach -d -s "view-$$" -o "$dir/pg.db" -F 'postgresql:query*' -F 'postgresql:transaction*' -F 'postgres:Exec*' \
		-F 'postgres:standard_*' -F 'postgres:heap_*' -F 'postgres:WaitEventSetWait' \
		"$postgresql_master" $(pgrep -P "$postgresql_master") >"$dir/said" 2>&1 &&
	"$devtrace" ctl -s "view-$$" start >>"$dir/said" 2>&1 && wait_for 500 &&
	"$devtrace" ctl -s "view-$$" quit >>"$dir/said" 2>&1
recorded=$?
kill $bench
wait $bench
[ $recorded = 0 ] || failed "PostgreSQL can not be recorded"
sed 's/^/# /' "$dir/said"
"$devtrace" sql -n "$dir/pg.db" "SELECT event, count(*), count(DISTINCT process) FROM events WHERE kind = 'point' GROUP BY 1" | sed 's/^/# /'
"$devtrace" sql "$dir/pg.db" - <"$root/examples/queries.sql" >"$dir/said" 2>&1 || failed "examples/queries.sql"
sed 's/^/# /' "$dir/stall" "$dir/said"
cd "$npm" && timeout 500 node "$root/test/view/real.mjs" "$devtrace" "$dir" $pictures
