#!/bin/bash
# SPDX-License-Identifier: MIT
# What this devtrace costs beside another build of it, in turns, in one run:
#   probes sleds event    a traced call, an event: ns of the loop's turn
#   lossless              100 million calls of one thread, nothing lost: s of wall time until the file is whole
#   attach attach-all     to a sleeping python3, with libc's malloc, with all of libc: s until devtrace -d is back
#   report                of a small trace, as a command that confines itself: s
# usage: versus.sh OTHER/build/devtrace [ROUNDS [WHAT...]]    medians, and the ratio pair by pair
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/bench/median.bash"
other=$1 rounds=${2:-15}
shift $(($# < 2 ? $# : 2))
[ $# != 0 ] || set -- probes sleds event lossless attach attach-all report
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work
f="-O2 -g -w -D_GNU_SOURCE"
gcc $f -o "$work/call-plain" "$root/bench/call.c" -lpthread &&
	gcc -B"$root/build/lib" $f -o "$work/call-sled" "$root/bench/call.c" -lpthread &&
	gcc $f -DEVENTS -I"$root" -o "$work/call-event" "$root/bench/call.c" -lpthread &&
	printf '%s\n' '__attribute__((noipa)) long leaf(long a) { __asm__("" : "+r"(a)); return a * 3 + 1; }' \
		'int main(void) { for (int i = 0; i < 100000000; i++) leaf(i); }' >"$work/many.c" &&
	gcc -O2 -o "$work/many" "$work/many.c" || exit 1

# each reads its own: an older one does not know a newer one's format
"$root/build/devtrace" record -F call-plain:leaf -o "$work/new.db" "$work/call-plain" call 0.001 >/dev/null 2>&1
"$other" record -F call-plain:leaf -o "$work/old.db" "$work/call-plain" call 0.001 >/dev/null 2>&1
TIMEFORMAT=%3R
# attached DEVTRACE PATTERN: attaches to a sleeping python3, which ends then
attached() {
	/usr/bin/python3 -c 'import time; time.sleep(60)' &
	local pid=$!
	sleep 0.3
	{ time "$1" attach -d -p overwrite -o "$work/a.db" -F "$2" "$pid" >/dev/null 2>&1; } 2>&1
	kill "$pid"
	wait "$pid" 2>/dev/null
	sleep 0.5
}
lossless() {
	{ time "$1" record -p wait -F many:leaf -o "$work/t.db" "$work/many" >/dev/null 2>&1; } 2>&1
}
reported() {
	local which=new
	[ "$1" != "$other" ] || which=old
	{ time "$1" report "$work/$which.db" >/dev/null 2>&1; } 2>&1
}

# once DEVTRACE WHAT: the figure
once() {
	case $2 in
	probes) "$1" record -p overwrite -F call-plain:leaf -o "$work/t.db" "$work/call-plain" call 0.3 ;;
	sleds) "$1" record -p overwrite -o "$work/t.db" "$work/call-sled" call 0.3 ;;
	event) "$1" record -p overwrite -F '9:*' -o "$work/t.db" "$work/call-event" event 0.3 ;;
	lossless) echo "call=$(lossless "$1")" ;;
	attach) echo "call=$(attached "$1" libc.so.6:malloc)" ;;
	attach-all) echo "call=$(attached "$1" 'libc.so.6:*')" ;;
	report) echo "call=$(reported "$1")" ;;
	esac 2>/dev/null | grep -oE '(call|cost)=[0-9.]+' | head -n 1 | cut -d= -f2
}
for what; do
	: >"$work/new"
	: >"$work/old"
	for ((i = 0; i < rounds; i++)); do
		once "$root/build/devtrace" $what >>"$work/new"
		once "$other" $what >>"$work/old"
	done
	paste "$work/new" "$work/old" | awk '{ print $1 / $2 }' >"$work/ratio"
	echo "$what: $(median "$work/new"), the other $(median "$work/old") (medians of $rounds);" \
		"ratio, pair by pair: $(median "$work/ratio")" \
		"($(spread "$work/ratio"))"
done
