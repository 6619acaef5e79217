#!/bin/bash
# SPDX-License-Identifier: MIT
# What a traced call costs with this devtrace and with another build of it, in turns, in one run.
# usage: versus.sh OTHER/build/devtrace [ROUNDS]    medians in ns of the whole loop's turn, and the ratio
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
other=$1 rounds=${2:-15}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work
f="-O2 -g -w -D_GNU_SOURCE"
gcc $f -o "$work/call-plain" "$root/bench/call.c" -lpthread &&
	gcc -B"$root/build/lib" $f -o "$work/call-sled" "$root/bench/call.c" -lpthread &&
	gcc $f -DEVENTS -I"$root" -o "$work/call-event" "$root/bench/call.c" -lpthread || exit 1

# once DEVTRACE WHAT: ns
once() {
	case $2 in
	probes) "$1" record -p overwrite -F call-plain:leaf -o "$work/t.db" "$work/call-plain" call 0.3 ;;
	sleds) "$1" record -p overwrite -o "$work/t.db" "$work/call-sled" call 0.3 ;;
	event) "$1" record -p overwrite -F '9:*' -o "$work/t.db" "$work/call-event" event 0.3 ;;
	esac 2>/dev/null | grep -oE '(call|cost)=[0-9.]+' | head -n 1 | cut -d= -f2
}
middle() { sort -g "$1" | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
for what in probes sleds event; do
	: >"$work/new" >"$work/old"
	for ((i = 0; i < rounds; i++)); do
		once "$root/build/devtrace" $what >>"$work/new"
		once "$other" $what >>"$work/old"
	done
	paste "$work/new" "$work/old" | awk '{ print $1 / $2 }' >"$work/ratio"
	echo "$what: $(middle "$work/new") ns, the other $(middle "$work/old") ns (medians of $rounds); ratio, pair by pair: $(middle "$work/ratio")" \
		"($(sort -g "$work/ratio" | head -n 1) to $(sort -g "$work/ratio" | tail -n 1))"
done
