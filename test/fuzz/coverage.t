#!/bin/bash
# SPDX-License-Identifier: MIT
# Every fuzzer of this folder (make FUZZ=1 fuzzers) for FUZZ_SECONDS (2) of processor time, over its seeds and what was found before
# first. `make check' builds and runs them one time of three (FUZZERS=1: this time), `make soak S=fuzz' for an hour each. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 1
[ "${FUZZERS:-1}" = 1 ] || { echo "1..1" && echo "ok 1 - fuzzers # SKIP it is another time's turn to build them: FUZZERS=1"; exit; }
fuzzers=(test/fuzz/*.c)
echo "1..${#fuzzers[@]}"
n=0 failed=0
for f in "${fuzzers[@]}"; do
	name=$(basename "$f" .c)
	n=$((n + 1))
	if test/fuzz/run.sh "$name" "${FUZZ_SECONDS:-2}"; then
		echo "ok $n - $name: nothing is found"
	else
		echo "not ok $n - $name: nothing is found"
		failed=1
	fi
done
exit $failed
