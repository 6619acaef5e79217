#!/bin/bash
# SPDX-License-Identifier: MIT
# The traces of every file of cases are checked behind each test; and whoever looks for files where they are not finds them.
set -u
cd "$(dirname "$0")/../.." || exit 1
echo 1..2

found=$(python3 test/lint/checked.py test/cases/*.bats test/cases/*.bash)
if [ $? = 0 ] && [ -z "$found" ]; then
	echo "ok 1 - every file of test/cases has its traces checked"
else
	echo "not ok 1 - every file of test/cases has its traces checked"
	sed 's/^/# /' <<<"$found"
fi

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cp test/cases/check-traces.bash "$scratch"
printf 'load check-traces\n' >"$scratch/common.bash"
printf 'load common\n@test "a" {\n\t"$dt" record -o t.db true\n}\n' >"$scratch/common.bats"
printf '@test "a" {\n\tdevtrace calls t.db\n\t# devtrace record true\n}\n' >"$scratch/reads.bats"
printf 'load common\nteardown() {\n\trm -f x\n\tcheck_traces\n}\n' >"$scratch/own.bats"
printf '. "$BATS_TEST_DIRNAME/check-traces.bash"\n@test "a" {\n\trun -1 devtrace attach 1\n}\n' >"$scratch/sourced.bats"
# these are not
printf '@test "a" {\n\trun "$dt" record true\n}\n' >"$scratch/bare.bats"
printf 'load common\nteardown() {\n\t# check_traces\n\trm -f x\n}\n@test "a" {\n\t"$dt" -l true\n}\n' >"$scratch/gone.bats"
printf '# load common\n@test "a" {\n\ttimeout 5 devtrace attach -d 1\n}\n' >"$scratch/later.bats"
if diff <(printf '%s\n' bare gone later) <(python3 test/lint/checked.py "$scratch"/*.bats | sed "s|^$scratch/||; s|\.bats: .*||") >"$scratch/diff"; then
	echo "ok 2 - each file whose traces are not checked is found, and no other"
else
	echo "not ok 2 - each file whose traces are not checked is found, and no other"
	sed 's/^/# /' "$scratch/diff"
fi
