#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs one fuzzer for SECONDS of processor time: over its seeds, over what was found before (test/fuzz/corpus/NAME,
# kept for ever), then on. With `keep' what it finds on the way to new code stays in build/fuzz/corpus/NAME, and the
# next such run goes on from there; how long these took since the last finding is in build/fuzz/spent/NAME (seconds).
# usage: run.sh NAME SECONDS [keep]     prints "# ..." lines; status 1 when it has found a fault, with its input kept
set -u
cd "$(dirname "$0")/../.." || exit 1
name=$1 seconds=$2 keep=${3:-} b=$PWD/build/fuzz work=$(mktemp -d) memory=$(mktemp -d /dev/shm/devtrace-fuzz-XXXXXX)
trap 'rm -rf "$work" "$memory"' EXIT
seeds=$b/seeds/$name corpus=$work/corpus log=$work/log
[ ! "$keep" ] || corpus=$b/corpus/$name
# also when the fuzzer is new: what it reads, or the tools that make seeds, may have changed
if ! [ "$seeds/.made" -nt test/fuzz/seeds.sh ] || ! [ "$seeds/.made" -nt "$b/test/fuzz/$name" ]; then
	rm -rf "$seeds" && mkdir -p "$seeds" && test/fuzz/seeds.sh "$name" "$seeds" >"$log" 2>&1 && : >"$seeds/.made" || {
		sed 's/^/# /' "$log"
		echo "# $name: no seeds"
		exit 1
	}
fi
mkdir -p "$corpus" "$b/faults"
options=(-max_len=1048576 -timeout=300 -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$b/faults/$name-")
[ ! -e "test/fuzz/$name.dict" ] || options+=(-dict="test/fuzz/$name.dict")
folders=("$corpus" "$seeds")
[ ! -d "test/fuzz/corpus/$name" ] || folders+=("test/fuzz/corpus/$name")
# blocks that have been freed are kept for a while, so that their use is seen: not so many that they count
export ASAN_OPTIONS=quarantine_size_mb=32:allocator_may_return_null=1:detect_leaks=1:handle_abort=1
export LSAN_OPTIONS=suppressions=$PWD/test/fuzz/leaks:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1 DEVTRACE_FUZZ_SEEDS=$seeds DEVTRACE_FUZZ_FOLDER=$memory TIMEFORMAT='%3U %3S'
used=0 inputs=0 rc=0 # used: ms
# the fuzzer's own limit is by the clock on the wall: on a busy machine it is run again
while [ $rc = 0 ] && [ $used -lt $((seconds * 1000)) ]; do
	{ time timeout -k 5 $((20 * seconds + 600)) "$b/test/fuzz/$name" "${options[@]}" \
		-max_total_time=$(((seconds * 1000 - used + 999) / 1000)) "${folders[@]}" >"$log" 2>&1; } 2>"$work/time"
	rc=$?
	read -r user system < <(tail -n 1 "$work/time")
	used=$((used + 10#${user/./} + 10#${system/./} + 1))
	# what a signal interrupts may say it twice
	n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
	inputs=$((inputs + ${n:-0}))
done
echo "# $name: $inputs inputs in $((used / 1000)) s, $(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1) edges"
mkdir -p "$b/spent"
if [ $rc = 0 ] && [ "$keep" ]; then
	spent=$(($(cat "$b/spent/$name" 2>/dev/null || echo 0) + used / 1000))
	echo $spent >"$b/spent/$name"
	echo "# $name: $spent s in all without a finding"
fi
[ $rc != 0 ] || exit 0
rm -f "$b/spent/$name"
grep -vE '^(#[0-9]|INFO|stat::|	)' "$log" | tail -n 60 | sed 's/^/# /'
echo "# status $rc; its input: $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
exit 1
