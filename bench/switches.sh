#!/bin/bash
# SPDX-License-Identifier: MIT
# What context switches cost that nobody asked for, in turns with --no-switches and with the program alone:
#   pipe      two threads that pass a byte to each other, until the switches end and long after (us of processor time a turn)
#   pipe-few  the same, 5,000 turns, in which they do not end
#   epoll     a server of sixteen clients
#   other     pipe beside another program's perf events, as long as there are some (`perf record -a', where there is perf)
#   build     make of 20 small files with gcc, the calls of libraries of all processes (s of all processes' processor time)
#   ls        devtrace -l ls (ms on the clock)
# usage: switches.sh [ROUNDS [WHAT...]]    medians
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/bench/median.bash"
rounds=${1:-9}
shift $(($# > 0))
[ $# != 0 ] || set -- pipe-few pipe epoll other build ls
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work
unset DEVTRACE_SWITCHES
gcc -O2 -o "$work/switches" "$root/bench/switches.c" -lpthread || exit 1
mkdir "$work/make"
for i in $(seq 20); do
	printf '#include <stdio.h>\n#include <stdlib.h>\nint f%d(int x) { return printf("%%d", abs(x)); }\n' "$i" >"$work/make/f$i.c"
done
printf 'all: %s\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n' "$(seq -s ' ' -f 'f%g.o' 20)" >"$work/make/Makefile"
TIMEFORMAT='%R %U %S'

# traced HOW OPTION...: devtrace with these, or only the program behind --
traced() {
	local how=$1
	shift
	if [ "$how" = alone ]; then
		while [ "$1" != -- ]; do shift; done
		shift
		"$@"
	elif [ "$how" = without ]; then
		"$root/build/devtrace" record --no-switches -o "$work/t.db" "$@"
	else
		"$root/build/devtrace" record -o "$work/t.db" "$@"
	fi
}

# once HOW WHAT: the figure
once() {
	case $2 in
	pipe-few) traced "$1" -F switches:answer -- "$work/switches" pipe 5000 ;;
	pipe | other) traced "$1" -F switches:answer -- "$work/switches" pipe 400000 ;;
	epoll) traced "$1" -F switches:answer -- "$work/switches" epoll 400000 ;;
	build)
		rm -f "$work"/make/*.o
		{ time traced "$1" -f -l -- make -s -C "$work/make" >/dev/null 2>&1; } 2>&1 | awk '{print $2 + $3}'
		;;
	ls) { time traced "$1" -l -- ls / >/dev/null 2>&1; } 2>&1 | awk '{print $1 * 1000}' ;;
	esac 2>/dev/null
}

for what; do
	beside=
	if [ "$what" = other ]; then
		command -v perf >/dev/null || continue
		perf record -q -a -e context-switches -o "$work/perf.data" >/dev/null 2>&1 &
		beside=$!
		sleep 0.5
	fi
	for ((i = 0; i < rounds; i++)); do
		for how in alone without default; do
			once $how "$what" >>"$work/$what.$how"
		done
	done
	[ -z "$beside" ] || { kill -INT "$beside" && wait "$beside"; }
	paste "$work/$what.default" "$work/$what.without" | awk '{ print $1 / $2 }' >"$work/ratio"
	echo "$what: alone $(median "$work/$what.alone"), --no-switches $(median "$work/$what.without")," \
		"by default $(median "$work/$what.default"); over --no-switches, pair by pair: $(median "$work/ratio")" \
		"($(spread "$work/ratio"))"
done
