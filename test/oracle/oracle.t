#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that count themselves, under random combinations of what devtrace can be told: run.py.
# usage: oracle.t    ORACLE_SECONDS=n: how long (60); ORACLE_SEED=n: where to begin (anew each time)
set -u
root=${DEVTRACE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
run=$(mktemp -d) && trap 'rm -rf "$run"' EXIT
export XDG_RUNTIME_DIR=$run DEVTRACE_ROOT=$root
echo 1..3
out=$(python3 "$root/test/oracle/run.py" --seconds "${ORACLE_SECONDS:-60}" ${ORACLE_SEED:+--seed "$ORACLE_SEED"} 2>&1)
rc=$?
last=$(tail -n 1 <<<"$out")
first=$(head -n 1 <<<"$out")
if [ $rc = 0 ] && [ "${last%% *}" -ge 5 ]; then
	echo "ok 1 - calls made = calls recorded and said to be lost: $last, $first"
else
	echo "not ok 1 - calls made = calls recorded and said to be lost: $last, $first"
	sed 's/^/# /' <<<"$out"
fi
# what has failed once: a seed, and which of its combinations. A child of vfork that has ended, beside a program at the same
# address that another user executes; a forked one, of a copy of the program
known="1518828032 3
3141156583 1
4211891047 2"
n=1
while read -r seed only; do
	n=$((n + 1))
	out=$(python3 "$root/test/oracle/run.py" --programs 1 --seed "$seed" --only "$only" 2>&1 </dev/null)
	if [ $? = 0 ] && [[ $out == *"1 combinations, 0 failed"* ]]; then
		echo "ok $n - what has failed once: seed $seed, combination $only"
	else
		echo "not ok $n - what has failed once: seed $seed, combination $only"
		sed 's/^/# /' <<<"$out"
	fi
done <<<"$known"
