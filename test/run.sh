#!/bin/bash
# Runs every test and ends with "N passed, N failed". Each test speaks TAP:
#   build/test/unit/*       C unit tests (cmocka), plain and with sanitizers
#   test/cases/*.bats       the commands, end to end, plain and with sanitizers
#   test/*/*.t              larger campaigns, any language
# Longest first, by what each took the last time (test/times): two that compute at a time, and beside them two that mostly wait,
# for a browser, a deadline, another program. Who is done helps with the rest, then with the cases with sanitizers. At the end the
# cases that took longest are named, and the files that took most of the processors' time; build/times has all of these, for
# test/times.
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
# context switches only where a test asks for them: what calls waited is what else the machine did; cases/unasked.bats has them
export DEVTRACE_SWITCHES=${DEVTRACE_SWITCHES-no}
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
	local name=$1 log=$out/$lane.log rc p f took used
	shift
	TIMEFORMAT='%3R %3U %3S'
	{ time CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 1200 "$@" >"$log" 2>&1 </dev/null; } 2>"$out/$lane.time"
	rc=$?
	# of the processors and on the clock, in whole seconds
	read -r used took < <(tail -n 1 "$out/$lane.time" | awk '{ printf "%.0f %.0f\n", $2 + $3, $1 }')
	echo "$used $took $name" >>"$out/$lane.times"
	# a command that could not do what it was to do: what is compared with what it printed, nothing, says nothing
	sed -nE "/^# .*($undone)/s/^# */not ok - a case goes on after what could not be done: /p" "$log" | sort -u | head -n 5 >"$out/$lane.undone"
	cat "$out/$lane.undone" >>"$log"
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
	# how long, and of how much processor time; in one piece, whatever the other lanes print. Of a
	# failure what is not "ok"
	flock "$out/lock" sh -c 'printf "%-50s %4d passed %3d failed %4d s %4d\n" "$1" "$2" "$3" "$4" "$5"
		[ "$3" = 0 ] || sed "/^ok /d; s/^/    /" "$6"' - "$name" "$p" "$f" "$took" "$used" "$log"
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

# with_each FILE...: of those that nobody else has taken
with_each() {
	local t
	for t; do
		claim "$t" || continue
		case $t in
		*.bats) cases "$t" "$t" "${bats[@]}" ;;
		*) run "$t" "$t" ;;
		esac
	done
}

# what a lane does, of two of each kind: the jobs that compute first, or those that wait; then what is left of the others
computing() {
	with_each "${computing[@]}" "${waiting[@]}"
	echo "$lane $SECONDS s" >"$out/$lane.done"
	with_sanitizers "${shuffled[@]}"
}

waiting() {
	with_each "${waiting[@]}"
	# three at a time that compute keep two cores busy; a fourth would only be in their way
	[ "$lane" != waiting-2 ] || return 0
	computing
}

# every test: a .t that nobody may execute fails, rather than be passed over
all_tests() {
	local t
	for t in test/*/*.t build/test/unit/* "${san[@]}"; do
		{ [ -x "$t" ] || [ "$t" != "${t%.t}" ]; } && [ ! -d "$t" ] && case $t in *.o | *.d) false ;; esac && wanted "$t" && echo "$t"
	done
	[ ${#files[@]} = 0 ] || printf '%s\n' "${files[@]}"
}

# by_time: the tests that it reads, longest first, and before each whether it waits for more than half of its time
by_time() {
	awk 'FNR == NR { used[$3] = $1; took[$3] = $2; next }
		{ t = $1 in took ? took[$1] : 3; print t, (t >= 10 && used[$1] * 2 < t ? "waits" : "computes"), $1 }' test/times - | sort -k1,1nr -s
}

names=("$@")
bats=(bats --tap --timing --show-output-of-passing-tests)
# what bash says of a comparison, and devtrace of a question, that can not be right: cases that mean to see it catch it
undone='(integer|unary operator|binary operator) expected|line [0-9]+: .*: (command not found|ambiguous redirect|bad substitution)|no such (column|table): |division by 0'
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
san=(build/san/test/unit/*)
[ -z "${PLAIN-}" ] || san=()
computing=() waiting=()
while read -r _ kind t; do
	if [ "$kind" = waits ]; then waiting+=("$t"); else computing+=("$t"); fi
done < <(all_tests | by_time)
lane_names=(computing-1 computing-2 waiting-1 waiting-2)
for lane in "${lane_names[@]}"; do
	"${lane%-*}" &
	lanes+=($!)
done
ended=0
for lane in "${lanes[@]}"; do
	wait "$lane" && ended=$((ended + 1))
done
if [ ${#names[@]} = 0 ] || [ -n "${SLOWEST-}" ]; then
	echo "the cases that took longest:"
	sort -rn "$out"/*.cases 2>/dev/null | head -n "${SLOWEST:-25}"
	# the sanitizers' names have a comma
	sort -rn "$out"/*.times 2>/dev/null >build/times.all
	grep -v ',' build/times.all >build/times
	echo "the files that took most of the processors' time, and on the clock, in seconds; all took $(awk '{ n += $1 } END { print n + 0 }' build/times.all):"
	head -n 20 build/times.all
fi
echo "without sanitizers all had been tried after: $(cat "$out"/*.done 2>/dev/null | paste -sd, | sed 's/,/, /g'); with them after $SECONDS s"
[ ! -s "$out/not-tried" ] || echo "not tried with sanitizers, the time was up (make soak S=sanitizers): $(tr '\n' ' ' <"$out/not-tried")"
[ -z "$(cat "$out"/*.passed-over 2>/dev/null)" ] || { echo "passed over here:" && cat "$out"/*.passed-over; }
[ -z "$(cat "$out"/*.failed 2>/dev/null)" ] || { echo "failed:" && cat "$out"/*.failed; }
read -r passed failed < <(cat "$out"/*.counts 2>/dev/null | awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }')
echo "$passed passed, $failed failed"
[ $ended = ${#lane_names[@]} ] && [ "$failed" = 0 ] && [ "$passed" != 0 ]
