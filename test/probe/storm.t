#!/bin/bash
# SPDX-License-Identifier: MIT
# A patch storm: threads of a running program call 64 functions as fast as they can, while these are
# switched on and off, defined and removed, and the whole program is attached to and detached from.
# The program finds each of its sums right; a function between the others, which stays on, has every
# call recorded that the program counts; afterwards the code is, byte for byte, what it was.
# STORM_SECONDS: how long, in all (40); STORM_SEED: where the random numbers begin.
set -u
. "$(dirname "$0")/../real/common.sh"
. "$root/test/share.bash"
cd "$root" || exit 1
program='' session=storm-$$ seed=${STORM_SEED:-$((RANDOM + 1))} each=$(((${STORM_SECONDS:-40} + 7) / 8))
trap '[ -z "$program" ] || kill "$program" 2>/dev/null; "$devtrace" ctl -s "$session" quit 2>/dev/null; cleanup' EXIT
echo "# seed $seed"

# commands N: so many, each of which can be obeyed; the same for the same seed. Every function is
# switched as often as another, in the long run. A range is removed now and then and made again; some are of a pattern.
commands() {
	awk -v n="$1" -v seed="$seed" 'BEGIN {
		srand(seed)
		for (i = 0; i < 64; i++) { name[i] = sprintf("f%d%d", int(i / 8), i % 8); print "trace", name[i], "new", name[i] }
		for (k = 0; k < n; k++) {
			i = int(rand() * 64)
			if (rand() < 0.02) {
				print "trace", name[i], "remove"; print "trace", name[i], "new", name[i]; on[i] = 0
			} else if (rand() < 0.02) {
				p = sprintf("f%d*", i % 8)
				print "trace", p, "new several"; print "trace several on"; print "trace several off"; print "trace several remove"
			} else { on[i] = !on[i]; print "trace", name[i], on[i] ? "on" : "off" }
		}
	}'
}

# ask COMMAND: the program's answer
ask() { echo "$1" >&"${storm[1]}" && read -r -t 60 answer <&"${storm[0]}"; }

# switched SECONDS: one session, lossless; its commands as fast as it takes them
switched() {
	local deadline=$((EPOCHSECONDS + $1)) count entries exits lost after
	"$devtrace" attach -d -s "$session" -o "$work/switched.trace" -F steady "$program" >/dev/null 2>>"$work/why" && ask go || return
	commands 0 | "$devtrace" ctl -s "$session" - 2>>"$work/why" || return
	# each of the 64 about a thousand times, or fifty with lifting
	until [ $EPOCHSECONDS -ge "$deadline" ] && [ "$toggles" -ge "$least" ]; do
		seed=$((seed + 1))
		{ commands "$some" | sed 1,64d; for i in {0..7}; do for j in {0..7}; do echo "trace f$i$j off"; done; done; } >"$work/commands"
		"$devtrace" ctl -s "$session" - <"$work/commands" 2>>"$work/why" || return
		toggles=$((toggles + $(grep -cE ' (on|off)$' "$work/commands")))
	done
	# now that all of them are off, four new threads
	ask stop && count=$answer && ask go && ask stop && count=$((count + answer)) || return
	"$devtrace" ctl -s "$session" quit 2>>"$work/why" || return
	"$devtrace" sql -n "$work/switched.trace" "SELECT count(*), count(end), (SELECT coalesce(sum(records), 0) FROM lost)
			FROM calls WHERE function = 'steady';
		SELECT count(*) FROM calls WHERE function <> 'steady' AND thread IN
			(SELECT thread FROM calls WHERE function = 'steady' GROUP BY 1 ORDER BY min(begin) DESC LIMIT 4)" 2>>"$work/why" | tr -s ' \t\n' ' ' >"$work/got"
	read -r entries exits lost after <"$work/got"
	[ "$entries" = "$count" ] && [ "$exits" = "$count" ] && [ "$lost" = 0 ] && [ "$after" = 0 ] && return
	why "steady was called $count times; recorded are $entries calls, $exits that returned, $lost records are lost; of others, while off, $after"
	return 1
}

# replanted SECONDS: sessions one after the other, everything of the program and all of libc
replanted() {
	local deadline=$((EPOCHSECONDS + $1))
	ask go || return
	until [ $EPOCHSECONDS -ge "$deadline" ]; do
		"$devtrace" attach -d -s "$session" -p drop -F 'storm:*' -F 'libc.so.6:*' "$program" >/dev/null 2>>"$work/why" &&
			"$devtrace" ctl -s "$session" start 2>>"$work/why" &&
			"$devtrace" ctl -s "$session" quit 2>>"$work/why" || return
		plantings=$((plantings + 1))
	done
	ask stop
}

# storm_of WHAT COMMAND...: the program, which the command makes
storm_of() {
	local what=$1 toggles=0 plantings=0 before rc=0
	shift
	"$@" -w -g -pthread -o "$work/storm" test/probe/storm.c 2>>"$work/why" || { result 1 "$what: it compiles"; return; }
	coproc storm { exec "$work/storm" 4 2>>"$work/why"; }
	program=$storm_PID
	ask go && ask stop # all that it needs is there
	before=$(code_of "$program")
	switched "$each" || rc=1
	result $rc "$what: $toggles switchings of its functions; off they have no records, no call of another is lost"
	[ "$(code_of "$program")" = "$before" ] || rc=1
	[ $rc = 0 ] && replanted "$each" || rc=1
	[ "$(code_of "$program")" = "$before" ] || { rc=1; why "its code is not what it was"; }
	result $rc "$what: attached to and let go of $plantings times; its code is what it was"
	eval "exec ${storm[1]}>&-"
	wait "$program"
	rc=$?
	program=''
	[ $rc = 0 ] || why "its status is $rc"
	result $rc "$what: its sums were right"
}

mapfile -t ways < <(printf '%s\n' "gcc -O2" "gcc -O0" "clang -O1" "gcc -O2 -B${devtrace%/*}/lib" "gcc -O2 -DLIFT" "clang -O1 -DLIFT" | share)
for way in "${ways[@]}"; do
	# jumps to what is off are lifted, as a budget does: a stop of the program for each command
	case $way in
	*LIFT) export DEVTRACE_LIFT=1 && some=1000 least=3000 ;;
	*) unset DEVTRACE_LIFT && some=5000 least=64000 ;;
	esac
	name=${way/-B*/with sleds}
	# shellcheck disable=SC2086 # words
	storm_of "${name/-DLIFT/lifting}" $way
done
echo "1..$tests"
