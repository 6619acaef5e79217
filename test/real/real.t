#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Real programs with every function traced: they must say what they say untraced, pass their own
# checks, and their traces must hold every call. TAP. Programs come from Debian's source (fetch.sh,
# build.sh); the first run builds them, which takes some minutes.
set -uo pipefail
. "$(dirname "$0")/common.sh"
. "$root/test/share.bash"

# Of these four a share is built and tried for every change: test/share.bash
mapfile -t wanted < <(printf '%s\n' lua sqlite zstd redis | share)

# ---- builds, two at a time --------------------------------------------------------------------
# shellcheck disable=SC2016
printf '%s\n' 'sqlite sled' 'zstd sled' 'redis sled' 'lua sled' 'lua sled-clang' | grep -wF "$(printf '%s\n' "${wanted[@]}")" |
	xargs -P 2 -I{} sh -c '"$0" {} >/dev/null' "$root/test/real/build.sh" 2>>"$work/why"

# built PROGRAM VARIANT VARIABLE NAME: it is one test that it builds; the variable says where it is
built() {
	local -n path=$3
	path=$(program "$1" "$2")
	result $? "$4 builds with sleds"
}

# ---- Lua --------------------------------------------------------------------------------------
try_lua() {
	local lua lua_clang script status code
	built lua sled lua Lua
	built lua sled-clang lua_clang "Lua, with clang,"
	for script in $(printf '%s\n' "$root"/test/real/lua/*.lua | share); do
		same lua "$lua" "$script"
		result $? "Lua, $(basename "$script"): same output traced and untraced"
		same lua "$lua_clang" "$script"
		result $? "Lua built with clang, $(basename "$script"): same output traced and untraced"
	done

	same counts "$lua" "$root/test/real/counts.lua" &&
		"$devtrace" report "$work/counts.db" >"$work/report" 2>>"$work/why" &&
		awk 'NR == FNR { want[$1] = $2; next } $16 in want { seen[$16] = $5 }
			END { for (f in want) if (seen[f] != want[f]) {
				print f ": " want[f] " calls made, " seen[f] " reported"; bad = 1 } exit bad }' \
			"$work/counts.plain" "$work/report" >>"$work/why"
	result $? "Lua: the report has the calls of C functions that the script made, errors and yields too"

	status=0
	for code in 0 1 42; do
		"$devtrace" record -o "$work/status.db" "$lua" -e "os.exit($code)" 2>>"$work/why"
		[ $? = "$code" ] || { why "not status $code"; status=1; }
		sweep "$work"/status.db*
	done
	result $status "Lua: os.exit's status comes through"
}

# ---- SQLite -----------------------------------------------------------------------------------
try_sqlite() {
	local sqlite all policy n l
	built sqlite sled sqlite SQLite
	speedtest() { "$@" --size 3 --verify --output "$work/sql.$out" :memory: >/dev/null; }
	out=plain speedtest "$sqlite" 2>>"$work/why" &&
		out=traced speedtest "$devtrace" record -p wait -o "$work/sql.db" "$sqlite" 2>>"$work/why" &&
		cmp "$work/sql.plain" "$work/sql.traced" >>"$work/why" && complete "$work/sql.db"
	result $? "SQLite's speedtest1: same results traced and untraced, nothing lost"

	# The run is the same each time, so what is written is known: read + lost must be just that.
	all=$(records "$work/sql.db")
	for policy in drop overwrite; do
		out=$policy speedtest "$devtrace" record -p $policy -b 256K -o "$work/$policy.db" "$sqlite" \
			2>>"$work/why"
		n=$(records "$work/$policy.db") l=$(lost "$work/$policy.db")
		why "$policy: $n read + $l lost, of $all"
		[ $((n + l)) = "$all" ] && [ "$all" -gt 1000000 ] && cmp "$work/sql.plain" "$work/sql.$policy" >>"$work/why"
		result $? "speedtest1, $policy: records written = read + lost ($n + $l)"
		sweep "$work/$policy.db"*
	done
	sweep "$work"/sql.*
}

# ---- zstd -------------------------------------------------------------------------------------
try_zstd() {
	local zstd tests_of_zstd status level threads tries
	built zstd sled zstd zstd
	tests_of_zstd=$(dirname "$zstd")/../tests
	"$tests_of_zstd/datagen" -g3000000 -P50 >"$work/in"
	status=0
	for level in $(printf '%s\n' 1 3 9 16 -5 | share); do
		for threads in 1 2; do
			sweep "$work"/z.db*
			"$zstd" -q -f --ultra "-${level#-}" -T$threads "$work/in" -o "$work/plain.zst" 2>>"$work/why" &&
				"$devtrace" record -o "$work/z.db" "$zstd" -q -f --ultra "-${level#-}" -T$threads \
					"$work/in" -o "$work/traced.zst" 2>>"$work/why" &&
				cmp "$work/plain.zst" "$work/traced.zst" >>"$work/why" && complete "$work/z.db" &&
				"$devtrace" record -o "$work/z.db2" "$zstd" -q -d -f "$work/traced.zst" \
					-o "$work/back" 2>>"$work/why" &&
				cmp "$work/in" "$work/back" >>"$work/why" || { why "level $level, $threads threads"; status=1; }
			sweep "$work"/z.db2*
		done
	done
	result $status "zstd: the same bytes traced and untraced, at levels, with one and two threads"

	timeout 300 "$devtrace" record -o "$work/z.db" "$tests_of_zstd/fuzzer" -s1 -t1 -i100 \
		>"$work/log" 2>&1 && complete "$work/z.db" || { cat "$work/log" >>"$work/why"; false; }
	result $? "zstd's fuzzer passes traced (100 rounds)"

	mkdir -p "$work/cli"
	cat >"$work/traced-zstd" <<-EOF
		#!/bin/sh
		exec "$devtrace" record -o "$work/cli/\$\$.db" "\$@"
	EOF
	chmod +x "$work/traced-zstd"
	mapfile -t tries < <(printf '%s\n' basic/help.sh basic/version.sh basic/memlimit.sh basic/output_dir.sh compression/adapt.sh \
		compression/basic.sh compression/compress-literals.sh compression/format.sh \
		compression/levels.sh compression/stream-size.sh compression/multi-threaded.sh \
		decompression/pass-through.sh dictionaries/dictionary-mismatch.sh file-stat/compress-file-to-stdout.sh | share)
	timeout 500 python3 "$tests_of_zstd/cli-tests/run.py" --exec-prefix "$work/traced-zstd" --verbose "${tries[@]}" \
		>"$work/log" 2>&1 || { grep -B 40 ^FAIL "$work/log" >>"$work/why"; false; }
	result $? "zstd's tests of its command pass traced ($(grep -c "^PASS:.*sh$" "$work/log"))"
	sweep "$work/cli" "$work"/z.db* "$work"/in "$work"/*.zst "$work/back"
}

# ---- Redis ------------------------------------------------------------------------------------
try_redis() {
	local redis units args u attaches
	built redis sled redis Redis
	mapfile -t units < <(printf '%s\n' unit/type/hash unit/type/incr unit/scripting unit/multi unit/pubsub unit/keyspace unit/auth \
		unit/acl unit/bitops unit/protocol | share)
	args=(--clients 2 --config bind 127.0.0.1)
	for u in "${units[@]}"; do args+=(--single "$u"); done
	(cd "$(dirname "$redis")/.." && timeout 600 "$devtrace" record -f -F 'redis-*:*' -o "$work/units.db" \
		./runtest "${args[@]}" >"$work/log" 2>&1) && grep -q 'All tests passed' "$work/log" &&
		complete "$work/units.db" || { grep -vE '\[.*ok.*\]' "$work/log" >>"$work/why"; false; }
	result $? "Redis: ${#units[@]} units of its own tests pass traced"
	sweep "$work"/units.db*

	attaches=${ATTACHES:-$((100 / ${SHARE:-1}))}
	attach_under_load "$attaches"
	result $? "Redis: attached and detached $attaches times under load; no error, no lost connection"
}

for p in "${wanted[@]}"; do "try_$p"; done
echo "1..$tests"
