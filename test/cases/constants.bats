#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The names of constants and flags in calls of the C library. strace is the oracle.
bats_require_minimum_version 1.5.0
load read-helper

@test "constants have the names that strace gives them: 2,000 calls with each flag and number" {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	cases=$BATS_TEST_DIRNAME
	cd "$BATS_TEST_TMPDIR"
	gcc -w -o constants "$cases/../programs/constants.c"
	strace -o strace ./constants
	mapfile -t chosen < <(python3 "$cases/constants.py" | sed 's/^/-Flibc.so.6:/')
	"$build/devtrace" record -o t.db "${chosen[@]}" ./constants
	"$build/devtrace" calls t.db >calls
	python3 "$cases/constants.py" strace calls >out 2>compared
	[ ! -s out ] || { cat out; false; }
	[ "$(cut -d' ' -f1 compared)" -gt 2000 ]
}
