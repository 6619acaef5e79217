#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes the definitions of events, and the readers of record lines, each for half of FUZZ_SECONDS
# (20), with clang's libFuzzer, address and undefined-behaviour sanitizers. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 1
seconds=$((${FUZZ_SECONDS:-20} / 2))
work=$(mktemp -d) && trap 'sweep "$work"' EXIT
. "${DEVTRACE_ROOT:-$PWD}/test/sound.bash"
PATH=${DEVTRACE_BUILD:-build}/test/tool:${DEVTRACE_BUILD:-build}:$PATH
echo 1..4
n=0 failed=0

# fuzz NAME SOURCE...: seeds are in $work/NAME
fuzz() {
	local name=$1
	shift
	if clang -O1 -g -std=gnu11 -I. -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -o "$work/$name.fuzz" "$@" -lsqlite3 >"$work/log" 2>&1; then
		echo "ok $((n += 1)) - the fuzzer of $name builds"
	else
		sed 's/^/# /' "$work/log"
		echo "not ok $((n += 1)) - the fuzzer of $name builds"
		exit 1
	fi
	mkdir "$work/corpus.$name"
	if timeout $((seconds + 60)) "$work/$name.fuzz" -max_total_time="$seconds" -max_len=20000 \
		-rss_limit_mb=2048 -timeout=10 -print_final_stats=1 -artifact_prefix="$work/" \
		"$work/corpus.$name" "$work/$name" >"$work/log" 2>&1; then
		grep -E 'number_of_executed_units|new_units_added' "$work/log" | sed 's/^/# /'
		echo "ok $((n += 1)) - $name: nothing found in $seconds s"
		return
	fi
	tail -40 "$work/log" | sed 's/^/# /'
	for f in "$work"/crash-* "$work"/timeout-* "$work"/oom-* "$work"/leak-*; do
		[ -e "$f" ] && mkdir -p build && mv "$f" build/ && echo "# kept build/$(basename "$f")"
	done
	echo "not ok $((n += 1)) - $name: nothing found in $seconds s"
	failed=1
}

mkdir "$work/events" "$work/text"
cat >"$work/events/a" <<'DEFINITION'
/* two */ subsystem kernel { event CSWITCH "Context \"Switch\"", // 0
	event TIMER "", };
subsystem chips { event GET "get\n\t\\", };
DEFINITION
devtrace events "$work/events/a" --json "$work/events/b" || exit 1
fuzz events test/fuzz/events.c analyse/definition.c core/error.c core/plain.c

maketrace -n 40 -c 2 -t 3 "$work/t.db" >/dev/null || exit 1
i=0
for o in "" --cpu -3 "-3 --cpu" -l -c; do
	{ printf "\\$i"; devtrace cat $o "$work/t.db" 2>/dev/null | if [ $i = 5 ]; then cat; else head -1; fi; } >"$work/text/$i"
	i=$((i + 1))
done
fuzz text test/fuzz/text.c core/line.c core/text.c core/compact.c
exit $failed
