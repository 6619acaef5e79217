#!/bin/bash
# SPDX-License-Identifier: MIT
# Whole trace files, damaged where they have structure (files.py), for FUZZ_SECONDS (20): all that reads traces
# is run over each (test/tool/walk-trace.c), with sanitizers when they are built. FUZZ_FIRST is the first
# seed, the day's by default. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 1
seconds=${FUZZ_SECONDS:-20}
work=$(mktemp -d) && trap 'sweep "$work"' EXIT
. "${DEVTRACE_ROOT:-$PWD}/test/sound.bash"
build=build/san
[ -x $build/test/tool/walk-trace ] || build=build
PATH=$PWD/$build:$PWD/$build/test/tool:$PATH
echo 1..1
mkdir "$work/files"
{
	maketrace -n 400 -c 2 -t 2 -l 90 -m 9 "$work/0.base" && maketrace -n 70000 -c 2 -t 3 -l 9000 -m 20 "$work/1.base" &&
		maketrace -n 140000 -c 1 -t 2 "$work/2.base" && for i in 0 1 2; do devtrace view --index "$work/$i.base"; done
} >"$work/log" 2>&1 || {
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - the traces are made"
	exit 1
}
first=${FUZZ_FIRST:-$(($(date +%s) / 86400 * 100000))}
seed=$first
end=$((SECONDS + seconds))
# no more memory than that, in bytes: an input of 1 MB may cost 1 GB
export ASAN_OPTIONS=hard_rss_limit_mb=2500:allocator_may_return_null=1:detect_leaks=1
while [ $SECONDS -lt $end ]; do
	python3 test/fuzz/files.py "$work/$((seed / 8 % 3)).base" $seed 8 "$work/files" || exit 1
	if ! timeout -k 1 200 walk-trace -t 20 "$work"/files/*.db >"$work/log" 2>"$work/err" ||
		grep -q 'runtime error' "$work/err"; then
		grep -vE '^/' "$work/err" | head -40 | sed 's/^/# /'
		last=$(grep -E "^$work/files/.*\.db$" "$work/err" | tail -1)
		mkdir -p build && cp "$last" build/fuzz-files-"$(basename "$last")" &&
			echo "# kept build/fuzz-files-$(basename "$last"), and all after it of its eight were not read"
		echo "not ok 1 - nothing found in $seconds s"
		exit 1
	fi
	rm "$work"/files/*.db
	seed=$((seed + 8))
done
echo "# $((seed - first)) files from seed $first"
echo "ok 1 - nothing found in $seconds s"
