#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the commands' cases and the unit tests with what `make coverage' has built, and says which lines of the product
# have not run. usage: test/coverage/run.sh [FILE.bats...]
set -u
cd "$(dirname "$0")/../.." || exit 1
export DEVTRACE_ROOT=$PWD DEVTRACE_BUILD=$PWD/build/coverage PATH=/usr/bin:/bin:$PATH
[ $# -gt 0 ] || set -- test/cases/*.bats build/coverage/test/unit/test-*
# tests run as other users, too
mkdir -p build/coverage/hits && chmod 1777 build/coverage/hits
for t; do
	case $t in
	*.o | *.d) ;;
	*.bats) timeout -k 10 1200 bats --tap "$t" 2>&1 </dev/null | grep '^not ok' ;;
	*) timeout -k 10 300 "$t" >/dev/null 2>&1 </dev/null || echo "not ok $t" ;;
	esac
done
python3 -S test/coverage/covered.py build/coverage
