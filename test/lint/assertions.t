#!/bin/bash
# SPDX-License-Identifier: MIT
# No assertion of the commands' cases, or of the kernel's, is one that can not fail; and whoever looks for such finds them.
set -u
cd "$(dirname "$0")/../.." || exit 1
echo 1..2

found=$(python3 test/lint/assertions.py test/cases/*.bats test/cases/*.bash test/kernel/guest/*.sh)
if [ $? = 0 ] && [ -z "$found" ]; then
	echo "ok 1 - every assertion of test/cases and test/kernel/guest can fail"
else
	echo "not ok 1 - every assertion of test/cases and test/kernel/guest can fail"
	sed 's/^/# /' <<<"$found"
fi

# the lines that it must name are marked
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/x.bats" <<'BATS'
helper() {
	[ 1 = 2 ] && true # bad
	! true # bad
	[ 1 = 2 ] && true
}
@test "all forms" {
	run true
	[ "$status" = 1 ] && [ -n "$output" ] # bad
	! true # bad
	! grep x y | grep z # bad
	! true || false
	[ 1 = 2 ] && true || false
	if ! true; then return 1; fi
	if [ 1 = 1 ] && true; then true; fi
	while [ 1 = 2 ] && true; do true; done
	for i in 1 2; do
		[ "$i" = 1 ] && true # bad
		[ "$i" = 2 ] && break
		! [ "$i" = 3 ] # bad
	done
	if true; then
		[ 1 = 2 ] && true # bad
	else
		! true # bad
	fi
	case x in x) ! true # bad
	;; esac
	{ true; } && return 0
	(cd / && true)
	true && { ! true && true; } # bad
	inner() { ! true; }
	cat <<-C
		! true
	C
	! true
}
BATS
if diff <(grep -n '# bad' "$scratch/x.bats" | cut -d: -f1) \
	<(python3 test/lint/assertions.py "$scratch/x.bats" | cut -d: -f2) >"$scratch/diff"; then
	echo "ok 2 - each form of an assertion that can not fail is found, and nothing else"
else
	echo "not ok 2 - each form of an assertion that can not fail is found, and nothing else"
	sed 's/^/# /' "$scratch/diff"
fi
