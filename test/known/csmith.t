#!/bin/bash
# SPDX-License-Identifier: MIT
# Random programs by csmith, built with sleds by gcc and clang at random levels: each prints the
# checksum of its variables, which must be the same alone, traced, and traced while another process
# switches its sleds on and off at random.
# SECONDS_MAX: for how long (30). SEEDS: a first seed other than 1, or "fresh". B: build directory.
# Prints the command to repeat a failure with.
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export B=${B:-$PWD/build} limit=${SECONDS_MAX:-30} first=${SEEDS:-1}
case $B in /*) ;; *) B=$PWD/$B ;; esac
[ "$first" = fresh ] && first=$((RANDOM * 32768 + RANDOM))
for tool in devtrace lib/as test/tool/compare-truth test/tool/toggler; do
	[ -x "$B/$tool" ] || { echo "not ok - $B/$tool is missing: make tests"; exit 1; }
done
dir=$(mktemp -d /tmp/devtrace-csmith.XXXXXX) && trap 'sweep "$dir"' EXIT
. test/sound.bash
export dir deadline=$((EPOCHSECONDS + limit))

# One seed. Programs that run long, or for ever, are left out: they say no more than the others.
try() {
	local seed=$1 here=$dir/$1 cc level flags how status
	[ "$EPOCHSECONDS" -lt "$deadline" ] || return 0
	mkdir -p "$here" && cd "$here" || return
	csmith --seed "$seed" --max-funcs 12 -o p.c || return
	level=-O$((seed / 2 % 4)) cc=gcc flags=(-w -g -I/usr/include/csmith "-B$B/lib")
	[ $((seed % 2)) = 1 ] && cc=clang && flags+=(-fno-integrated-as)
	# without sleds: what the compiler makes of it alone
	if timeout 20 "$cc" "$level" -w -I/usr/include/csmith -o plain p.c 2>err &&
		timeout 20 "$cc" "$level" "${flags[@]}" -o prog p.c 2>err; then
		timeout 1 ./plain >plain.out 2>&1
		status=$?
		[ "$status" -ge 124 ] && { cd "$dir" && sweep "$here" && return; }
		compare "sleds" timeout 60 ./prog
		compare "traced" "$B/test/tool/limit" 120 "$B/devtrace" record -o trace.db ./prog
		compare "toggled" "$B/test/tool/limit" 120 "$B/test/tool/toggler" ./prog "$B/devtrace" record -o toggled.trace ./prog
	else
		# what a compiler does not take with sleds, it must not take without
		timeout 20 "$cc" "$level" -w -I/usr/include/csmith -o plain p.c 2>/dev/null || return 0
		echo "not ok - csmith seed $seed $cc $level: does not compile with sleds"
		tail -n 120 err | sed 's/^/# /'
	fi
	cd "$dir" && sweep "$here"
}

# compare HOW COMMAND...: the same output and status as without sleds
compare() {
	local how=$1 is
	shift
	"$@" >out 2>err
	is=$?
	if [ "$is" = "$status" ] && cmp -s plain.out out; then
		echo "ok - csmith seed $seed $cc $level $how"
		[ "$how" = toggled ] && sed -n 's/^toggler: //p' err >>"$dir/toggles"
	else
		echo "not ok - csmith seed $seed $cc $level $how: status $status became $is, $(head -c 60 plain.out) became $(head -c 60 out)"
		echo "# csmith --seed $seed --max-funcs 12 -o p.c; $cc $level ${flags[*]} -o prog p.c; $*"
		tail -n 120 err | sed 's/^/# /'
	fi
}
export -f try compare

seq "$first" $((first + 100000)) | xargs -n 1 -P "$(nproc)" bash -c '
	try "$1" >"$dir/log.$$" 2>&1; cat "$dir/log.$$"; rm -f "$dir/log.$$"
	[ "$EPOCHSECONDS" -lt "$deadline" ] || exit 255' case 2>/dev/null | tee "$dir/all"
done=$(grep -c toggled "$dir/all")
toggles=$(awk '{n += $1} END {print n + 0}' "$dir/toggles" 2>/dev/null)
[ "$done" -ge $((limit / 10)) ] && echo "ok - csmith: $done programs, $toggles toggles" ||
	echo "not ok - csmith: only $done programs in $limit s"
