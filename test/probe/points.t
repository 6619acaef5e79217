#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with random tracepoints set, changed and deleted in them as fast as it goes, while all of
# their functions are probed: the output, the exit status and the call tree must be what they are
# without. Then csmith programs likewise, each run again and again by again.c: of each function, calls
# that are a multiple of the runs, each left as often as entered.
# usage: points.t [known] [csmith]   only these
# SEEDS=N: where the random numbers begin; SECONDS_MAX: when the last round begins; CSMITH: how many
# csmith programs, from FIRST on (12, 1).
set -u
cd "${DEVTRACE_ROOT:-$(dirname "$0")/../..}" || exit 1
export root=$PWD B=${B:-$PWD/build} limit=${SECONDS_MAX:-25} KEEP=${KEEP:-}
case $B in /*) ;; *) B=$PWD/$B ;; esac
for tool in devtrace test/tool/pointer test/tool/compare-truth test/tool/limit; do
	[ -x "$B/$tool" ] || { echo "not ok - $B/$tool is missing: make tests"; exit 1; }
done
dir=$(mktemp -d /tmp/devtrace-points.XXXXXX) && trap '[ -n "$KEEP" ] || sweep "$dir"' EXIT
. "$root/test/sound.bash"
# of these a share for every change: test/share.bash
csmith=${CSMITH:-$((12 / ${SHARE:-1}))}
export first=${FIRST:-$((1 + RANDOM % ${SHARE:-1} * csmith))}
export dir deadline=$((EPOCHSECONDS + limit))

# SOURCE COMPILER LEVEL SEED, or csmith SEED
run_case() {
	[ "$1" != csmith ] || { run_csmith "$2"; return; }
	local name=${1%.*} compiler=$2 level=$3 seed=$4 alone here=$dir/$1-$2$3-$4 cc=$2 calls=known_calls
	[ "$EPOCHSECONDS" -lt "$deadline" ] || return 0
	mkdir -p "$here" && cd "$here" || return 1
	case $1 in *.cc) [ "$cc" = gcc ] && cc=g++ || cc=clang++ ;; esac
	local flags=()
	[ "$level" = -O1 ] && flags=("-B$B/lib") # with sleds, which points leave alone
	$cc "$level" -w -g "${flags[@]}" -o prog "$root/test/programs/$1" -pthread -lm >log 2>&1 ||
		{ echo "not ok - $name $compiler $level: it does not compile"; return; }
	./prog >alone.out 2>/dev/null
	alone=$?
	export DT_TRUTH=$here/truth
	judge "$name $compiler $level $seed" -F 'prog:*' ./prog
}

# who left functions that are not hooked by an exception is seen by points, not by the comparison
known_calls() { [ "$name" = exception ] || "$B/test/tool/limit" 120 "$B/test/tool/compare-truth" -p t.db truth; }

# NAME [-F PATTERN...] COMMAND...: recorded, with points; it must do what it did alone, and its calls be
# right: $calls says what is wrong with them
judge() {
	local what=$1 traced
	shift
	DEVTRACE_POINTER=points-$$-$seed "$B/test/tool/limit" ${LIMIT:-120} "$B/test/tool/pointer" "$seed" ./prog \
		"$B/devtrace" record -s "points-$$-$seed" -p wait -o t.db "$@" >traced.out 2>traced.err
	traced=$?
	if [ "$alone" != "$traced" ]; then
		echo "not ok - $what: status $alone alone, $traced traced"
		tail -n 80 traced.err | sed 's/^/# /'
	elif ! cmp -s alone.out traced.out; then
		echo "not ok - $what: other output"
	elif ! $calls >log; then
		echo "not ok - $what: other calls"
		head -n 20 log | sed 's/^/# /'
	else
		sed -n 's/.*pointer: \([0-9]*\) commands, \([0-9]*\) refused.*/\1 \2/p' traced.err >>"$dir/commands"
		sqlite3 t.db "SELECT count(*) FROM site WHERE kind = 'P'" >>"$dir/points"
		echo "ok - $what"
		cd "$dir" && sweep "$here"
	fi
}
export -f judge known_calls
export -f run_case

cases() {
	local source compiler level round seed=${SEEDS:-1}
	for round in {1..50}; do
		for source in deep.c signals.c threads.c recursion.c tail.c jump.c values.c frames.c \
			stacks.c contexts.c exception.cc processes.c coroutine.c; do
			for compiler in gcc clang; do
				for level in -O0 -O1 -O2; do
					[ $compiler$level = clang-O1 ] && continue
					printf '%s\0' "$source $compiler $level $((seed++))"
				done
			done
		done
	done
}

# csmith program SEED
run_csmith() {
	local seed=$1 here=$dir/csmith-$1 name cc=gcc level inline='' alone calls=csmith_calls
	[ $((seed % 2)) = 0 ] || cc=clang
	level=-O$((seed / 2 % 4))
	name="csmith seed $seed $cc $level"
	mkdir -p "$here" && cd "$here" || return 1
	csmith --seed "$seed" --max-funcs 10 -o p.c || return 1
	# a checksum without a call for each variable, of which there are a hundred for a call of anything else
	sed -i '/^#include "csmith.h"/a #define transparent_crc(v, name, say) (crc32_context = (crc32_context ^ (uint32_t)(v)) * 0x9e3779b1u + 1)' p.c
	# every other eight keep the functions that are called once
	[ $((seed / 8 % 2)) = 0 ] || inline=-fno-inline
	$cc $level $inline -w -I/usr/include/csmith -Dmain=once -Dprintf=said -c p.c >log 2>&1 &&
		$cc -O1 -w -o prog p.o "$root/test/probe/again.c" >>log 2>&1 ||
		{ echo "not ok - $name: it does not compile"; sed 's/^/# /' log; return; }
	# those that run long, or for ever, say no more than the others
	timeout 1 ./prog 0 >alone.out 2>/dev/null
	alone=$?
	[ $alone -lt 124 ] || { cd "$dir" && sweep "$here"; return 0; }
	# half as long for every change: every call is looked at afterwards
	judge "$name" -F '*' -F 'libc.so.6:*' ./prog $((${SHARE:-1} > 1 ? 500 : 1000))
}

# Each function that is hooked was called as often in each run, and left each time; nothing is lost.
csmith_calls() {
	local runs
	runs=$(sed -n 's/^\([0-9]*\) runs$/\1/p' traced.err)
	[ "${runs:-0}" -gt 0 ] || { echo "it does not say how often it has run"; return 1; }
	"$B/devtrace" sql -n t.db "CREATE TEMP TABLE c AS
		SELECT function, count(*) AS n, sum(begin NOT NULL AND ended IN ('returned', 'tail', 'paused')) AS whole FROM calls WHERE module = 'prog' AND
			(function = 'once' OR function GLOB 'func_*' OR function GLOB 'safe_*') GROUP BY 1;
		SELECT function, n, whole, $runs FROM c WHERE n % $runs != 0 OR n != whole OR (function = 'once' AND n != $runs);
		SELECT 'lost', * FROM lost;
		SELECT count(*) FROM c" >sql || return 1
	tail -n 1 sql >>"$dir/functions"
	[ "$(wc -l <sql)" = 1 ] || { cat sql; return 1; }
}
export -f csmith_calls
export -f run_csmith

csmith_cases() {
	local seed
	for ((seed = first; seed < first + csmith; seed++)); do printf 'csmith %s\0' "$seed"; done
	# a point between functions that share their end once took the sites of another window along
	[ "$first" -gt 12 ] || printf 'csmith 50013\0'
}

wanted() { case ${words:-known csmith} in *"$1"*) ;; *) return 1 ;; esac; }
words=$*
{
	! wanted known || cases
	! wanted csmith || csmith_cases
} | xargs -0 -n 1 -P "$(nproc)" bash -c 'run_case $1 >"$dir/out.$$" 2>&1; cat "$dir/out.$$"; rm -f "$dir/out.$$"' case
if wanted csmith; then
	functions=$(awk '{n += $1} END {print n + 0}' "$dir/functions" 2>/dev/null)
	[ "${functions:-0}" -ge "$csmith" ] && echo "ok - calls of $functions functions of csmith programs counted" ||
		echo "not ok - calls of ${functions:-0} functions of csmith programs counted only"
fi
points=$(awk '{n += $1} END {print n + 0}' "$dir/points" 2>/dev/null)
[ "${points:-0}" -gt 20 ] && echo "ok - points recorded at $points places" ||
	echo "not ok - points recorded at ${points:-0} places only"
