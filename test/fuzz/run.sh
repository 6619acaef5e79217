#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs one fuzzer: over its seeds, over what was found before (test/fuzz/corpus/NAME), then on for SECONDS of
# processor time or so. What it finds on the way to new code stays in build/fuzz/corpus/NAME, for the next run.
# usage: run.sh NAME SECONDS     prints "# ..." lines; status 1 when it has found a fault, with its input kept
set -u
cd "$(dirname "$0")/../.." || exit 1
name=$1 seconds=$2 b=$PWD/build/fuzz
seeds=$b/seeds/$name corpus=$b/corpus/$name
if ! [ -e "$seeds/.made" ]; then
	mkdir -p "$b/seeds" && rm -rf "$seeds" && test/fuzz/seeds.sh "$name" "$seeds" && : >"$seeds/.made" || exit 1
fi
mkdir -p "$corpus" "$b/faults"
log=$(mktemp) && trap 'rm -f "$log"' EXIT
options=(-max_len=1048576 -timeout=300 -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$b/faults/$name-" -verbosity=1)
[ ! -e "test/fuzz/$name.dict" ] || options+=(-dict="test/fuzz/$name.dict")
# blocks that have been freed are kept for a while, so that their use is seen: not for so long that they count
export ASAN_OPTIONS=quarantine_size_mb=32:allocator_may_return_null=1:detect_leaks=1:handle_abort=1
export UBSAN_OPTIONS=print_stacktrace=1
export DEVTRACE_FUZZ_SEEDS=$seeds
begun=$(awk '{ print $1 }' /proc/uptime)
# no new inputs without a look at the old ones: folders of inputs are run first
timeout -k 5 $((seconds + 300)) nice "$b/test/fuzz/$name" "${options[@]}" -max_total_time="$seconds" \
	"$corpus" "$seeds" $([ ! -d "test/fuzz/corpus/$name" ] || echo "test/fuzz/corpus/$name") >"$log" 2>&1
rc=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
found=$(sed -n 's/^stat::new_units_added: *//p' "$log")
cover=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)
echo "# $name: ${runs:-?} inputs in $(awk -v t="$begun" '{ printf "%d", $1 - t }' /proc/uptime) s, ${cover:-?} edges, ${found:-?} inputs to new code"
[ $rc != 0 ] || exit 0
grep -vE '^(#[0-9]|INFO|stat::|	)' "$log" | tail -n 60 | sed 's/^/# /'
echo "# status $rc; its input: $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
exit 1
