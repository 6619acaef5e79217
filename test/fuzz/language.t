#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes the device language for FUZZ_SECONDS (15) with clang's libFuzzer, address and
# undefined-behaviour sanitizers. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 1
seconds=${FUZZ_SECONDS:-15}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
echo 1..2
clang -O1 -g -std=gnu11 -I. -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -o "$work/fuzz" test/fuzz/language.c core/*.c >"$work/log" 2>&1 || {
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - the fuzzer builds"
	exit 1
}
echo "ok 1 - the fuzzer builds"
mkdir "$work/seed" "$work/corpus"
printf 'trace 1000 1fff new a ENTRY ONLYPID 5\ntrace a on\ntrace s FREEZE s+10 PID\nstart\n' >"$work/seed/1"
printf "trace 'x* !y' new 'b c'\nwatch 5 6\nsize 4\npolicy drop\narm 1:2:3 - 10ms\nevents 7\n" >"$work/seed/2"
printf 'delete s\nlist\nquery 1000\ntrace a rename b\nuniform on\nfreeze\nall\nlogsize 16\n' >"$work/seed/3"
for w in trace new on off remove rename delete start stop all watch size logsize policy arm events uniform \
	subsystem freeze unfreeze ENTRY EXIT COUNT FREEZE UNFREEZE LATEFREEZE ONLYPID BASE ADJACENT CONST PID; do
	echo "\"$w\""
done >"$work/words"
if timeout $((seconds + 60)) "$work/fuzz" -max_total_time="$seconds" -max_len=2000 -timeout=10 -dict="$work/words" \
	-print_final_stats=1 -artifact_prefix="$work/" "$work/corpus" "$work/seed" >"$work/log" 2>&1; then
	grep -E 'number_of_executed_units|new_units_added' "$work/log" | sed 's/^/# /'
	echo "ok 2 - nothing found in $seconds s"
else
	tail -40 "$work/log" | sed 's/^/# /'
	for f in "$work"/crash-* "$work"/timeout-* "$work"/leak-*; do
		[ -e "$f" ] && mkdir -p build && cp "$f" build/ && echo "# kept build/$(basename "$f")"
	done
	echo "not ok 2 - nothing found in $seconds s"
	exit 1
fi
