#!/bin/bash
# Runs every test and ends with "N passed, N failed". Each test speaks TAP:
#   build/test/unit/*       C unit tests (cmocka), plain and with sanitizers
#   test/cases/*.bats       the commands, end to end, plain and with sanitizers
#   test/*/*.t              larger campaigns, any language
# usage: test/run.sh [NAME...]   only the tests whose path contains a NAME
set -u
cd "$(dirname "$0")/.." || exit 1
export DEVTRACE_ROOT=$PWD
out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT
passed=0 failed=0

wanted() {
	[ ${#names[@]} = 0 ] && return 0
	for n in "${names[@]}"; do case $1 in *$n*) return 0 ;; esac; done
	return 1
}

# runs one test program; counts its "ok" and "not ok" lines; dying or printing none is a failure
run() {
	local name=$1 log=$out/log rc p f took user system
	shift
	TIMEFORMAT='%0R %0U %0S'
	{ time CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 1200 "$@" >"$log" 2>&1 </dev/null; } 2>"$out/time"
	rc=$?
	read -r took user system < <(tail -n 1 "$out/time")
	p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log")
	if [ "$rc" != 0 ] && [ "$f" = 0 ] || [ $((p + f)) = 0 ]; then
		echo "not ok - $name ended with status $rc" >>"$log"
		f=$((f + 1))
	fi
	passed=$((passed + p)) failed=$((failed + f))
	# how long, and of how much processor time
	printf '%-50s %4d passed %3d failed %4d s %4d\n' "$name" "$p" "$f" "$took" $((user + system))
	[ "$f" = 0 ] || sed 's/^/    /' "$log"
}

names=("$@")
for t in build/test/unit/* build/san/test/unit/*; do
	[ -x "$t" ] && [ ! -d "$t" ] && case $t in *.o | *.d) false ;; esac && wanted "$t" && run "$t" "$t"
done
for t in test/cases/*.bats; do
	[ -e "$t" ] && wanted "$t" || continue
	run "$t" bats --tap "$t"
	[ ! -x build/san/devtrace ] || run "$t, sanitizers" env DEVTRACE_BUILD="$PWD/build/san" SERVE_REQUESTS=1000 bats --tap "$t"
done
for t in test/*/*.t; do
	[ -x "$t" ] && wanted "$t" && run "$t" "$t"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
