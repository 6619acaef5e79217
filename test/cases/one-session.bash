# SPDX-License-Identifier: MIT
# For files whose tests have a session each, with a name of its own, which ends with the test.
load common

ctl() { "$dt" ctl -s "$session" "$@"; }

setup() {
	session=one-$$-$BATS_TEST_NUMBER
}

teardown() {
	"$dt" ctl -s "$session" quit 2>/dev/null || true
	check_traces
}
