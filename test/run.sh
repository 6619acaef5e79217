#!/bin/bash
# Runs every test and ends with "N passed, N failed". Each test speaks TAP:
#   build/test/unit/*       C unit tests (cmocka), plain and with sanitizers
#   test/cases/*.bats       the commands, end to end, plain and with sanitizers
#   test/*/*.t              larger campaigns, any language
# Two at a time: the commands' cases, and beside them all the rest, whoever is done first helps with the
# cases, then with those with sanitizers; and beside both, one after the other, what mostly waits. At the end the cases
# that took longest are named.
# A change waits for this: of campaigns with many cases that are alike a share is tried, another one each time (test/share.bash,
# SHARE=1: all), campaigns that go on for some time are short, and with sanitizers the commands' cases run in a random
# order for as long as there is time (SANITIZERS_UNTIL: seconds from the beginning), but at least five files. All of
# them: make soak S="whole sanitizers".
# Cases tagged long run with sanitizers in soak only.
# usage: test/run.sh [NAME...]   only the tests whose path contains a NAME
#	PLAIN=1: nothing that was built with sanitizers
set -u
cd "$(dirname "$0")/.." || exit 1
export DEVTRACE_ROOT=$PWD
# memos (symbols/memo.h) of this run: what the tests say is not to hang on what others have left
export DEVTRACE_MEMOS=$PWD/build/memos
rm -rf "$DEVTRACE_MEMOS"
# Debian's Python first: another one's wrapper takes half a second to find it
export PATH=/usr/bin:/bin:$PATH
# undefined behaviour traps (Makefile): says where
export ASAN_OPTIONS=handle_sigill=1
out=$(mktemp -d) || exit 1
lanes=()
stop_lanes() {
	local l tests
	for l in "${lanes[@]}"; do
		tests=$(pgrep -P "$l")
		# shellcheck disable=SC2086 # pids
		kill "$l" $tests 2>/dev/null
	done
	wait
	rm -rf "$out"
}
trap stop_lanes EXIT
trap 'exit 130' INT TERM HUP

wanted() {
	[ ${#names[@]} = 0 ] && return 0
	for n in "${names[@]}"; do case $1 in *$n*) return 0 ;; esac; done
	return 1
}

# runs one test program; counts its "ok" and "not ok" lines; dying or printing none is a failure
run() {
	local name=$1 log=$out/$lane.log rc p f took user system
	shift
	TIMEFORMAT='%0R %0U %0S'
	{ time CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 1200 "$@" >"$log" 2>&1 </dev/null; } 2>"$out/$lane.time"
	rc=$?
	read -r took user system < <(tail -n 1 "$out/$lane.time")
	p=$(grep -c '^ok ' "$log") f=$(grep -c '^not ok ' "$log")
	if [ "$rc" != 0 ] && [ "$f" = 0 ] || [ $((p + f)) = 0 ]; then
		echo "not ok - $name ended with status $rc" >>"$log"
		f=$((f + 1))
	fi
	echo "$p $f" >>"$out/$lane.counts"
	sed -nE "s|^(not )?ok [0-9]+ (.*) in ([0-9]+)ms$|\\3 ms  $name: \\2|p" "$log" >>"$out/$lane.cases"
	sed -n "s|^not ok[ 0-9-]*|$name: |p" "$log" >>"$out/$lane.failed"
	# what a test passes over counts as passed; it is named at the end, with the reason
	sed -nE "s|^ok[ 0-9-]*(.*) # skip *|$name: \1: |p" "$log" >>"$out/$lane.passed-over"
	# shellcheck disable=SC2016 # the arguments are the inner shell's
	# how long, and of how much processor time; in one piece, whatever the other lane prints. Of a
	# failure what is not "ok"
	flock "$out/lock" sh -c 'printf "%-50s %4d passed %3d failed %4d s %4d\n" "$1" "$2" "$3" "$4" "$5"
		[ "$3" = 0 ] || sed "/^ok /d; s/^/    /" "$6"' - "$name" "$p" "$f" "$took" $((user + system)) "$log"
}

# each is one lane's, whichever comes first
claim() {
	mkdir "$out/${1//\//.}" 2>/dev/null
}

# cases FILE NAME COMMAND...: a file's are not made for the company of the same ones with sanitizers,
# they have names in common
cases() {
	run "$2" flock -o "$out/${1##*/}.lock" "${@:3}" "$1"
}

with_sanitizers() {
	local t
	[ -x build/san/devtrace ] && [ -z "${PLAIN-}" ] || return 0
	for t; do
		# some, however slow the machine is
		if [ "$SECONDS" -ge "$SANITIZERS_UNTIL" ] && [ "$(ls -d "$out"/*.san 2>/dev/null | wc -l)" -ge 5 ]; then
			claim "$t.san" && echo "$t" >>"$out/not-tried"
			continue
		fi
		claim "$t.san" && cases "$t" "$t, sanitizers" env DEVTRACE_BUILD="$PWD/build/san" SERVE_REQUESTS=1000 \
			"${bats[@]}" --filter-tags '!long'
	done
	return 0
}

# with_each FILE...: the commands' cases of those that nobody else has taken
with_each() {
	local t
	for t; do
		claim "$t" && cases "$t" "$t" "${bats[@]}"
	done
}

# with_others FILE...: the same of all other tests
with_others() {
	local t
	for t; do
		# a .t that nobody may execute fails, rather than be passed over
		{ [ -x "$t" ] || [ "$t" != "${t%.t}" ]; } && [ ! -d "$t" ] && case $t in *.o | *.d) false ;; esac && wanted "$t" && claim "$t" && run "$t" "$t"
	done
}

commands() {
	with_each "${files[@]}"
	echo "commands $SECONDS s" >"$out/commands.done"
	with_sanitizers "${shuffled[@]}"
}

the_rest() {
	local san=(build/san/test/unit/*)
	[ -z "${PLAIN-}" ] || san=()
	with_others test/*/*.t build/test/unit/* "${san[@]}"
	with_each "${shuffled[@]}"
	echo "the rest $SECONDS s" >"$out/the_rest.done"
	with_sanitizers "${shuffled[@]}"
}

# a third of the time or more these wait, for a browser, a deadline, another program; longest first
waiting() {
	local t
	for t in view/page.t view/axe.t cases/serve.bats cases/memo.bats cases/until.bats cases/jit.bats view/real.t cases/session.bats \
		view/live.t cases/top.bats cases/sums.bats cases/debuginfod.bats cases/terminal.bats cases/confine.bats; do
		case $t in
		*.t) with_others "test/$t" ;;
		*) [ ! -e "test/$t" ] || ! wanted "test/$t" || with_each "test/$t" ;;
		esac
	done
	echo "what waits $SECONDS s" >"$out/waiting.done"
}

names=("$@")
bats=(bats --tap --timing)
files=()
for t in test/cases/*.bats; do
	[ -e "$t" ] && wanted "$t" && files+=("$t")
done
mapfile -t shuffled < <([ ${#files[@]} = 0 ] || printf '%s\n' "${files[@]}" | shuf)
if [ ${#names[@]} = 0 ]; then
	export SHARE=${SHARE-5} SECONDS_MAX=${SECONDS_MAX-10} STORM_SECONDS=${STORM_SECONDS-16} RANDOM_KILLS=${RANDOM_KILLS-6}
	export SERVE_REQUESTS=${SERVE_REQUESTS-2000}
	# dkms.t builds the module for the kernel that kernel.t boots
	[ "$SHARE" = 1 ] || export KERNEL_FROM=$((RANDOM % 2))
	: "${SANITIZERS_UNTIL:=900}"
fi
: "${SANITIZERS_UNTIL:=100000}"
lane_names=(waiting commands the_rest)
for lane in "${lane_names[@]}"; do
	$lane &
	lanes+=($!)
done
ended=0
for lane in "${lanes[@]}"; do
	wait "$lane" && ended=$((ended + 1))
done
if [ ${#names[@]} = 0 ] || [ -n "${SLOWEST-}" ]; then
	echo "the cases that took longest:"
	sort -rn "$out"/*.cases 2>/dev/null | head -n "${SLOWEST:-25}"
fi
echo "without sanitizers all had been tried after: $(cat "$out"/*.done 2>/dev/null | paste -sd, | sed 's/,/, /g'); with them after $SECONDS s"
[ ! -s "$out/not-tried" ] || echo "not tried with sanitizers, the time was up (make soak S=sanitizers): $(tr '\n' ' ' <"$out/not-tried")"
[ -z "$(cat "$out"/*.passed-over 2>/dev/null)" ] || { echo "passed over here:" && cat "$out"/*.passed-over; }
[ -z "$(cat "$out"/*.failed 2>/dev/null)" ] || { echo "failed:" && cat "$out"/*.failed; }
read -r passed failed < <(cat "$out"/*.counts 2>/dev/null | awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }')
echo "$passed passed, $failed failed"
[ $ended = ${#lane_names[@]} ] && [ "$failed" = 0 ] && [ "$passed" != 0 ]
