#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Barrelfish's trace server, bfscope, for a running program: whoever connects and sends the line
# `trace' gets the events from START to STOP, or of DURATION, as Barrelfish's dump: the length in
# eight digits, and the text. While another trace is under way the answer is six zeros.
#
# usage: examples/bfscope.sh PID START STOP [DURATION]   on standard input and output, for
#        socat TCP-LISTEN:6666,reuseaddr,fork EXEC:'examples/bfscope.sh 4711 7:1:0 7:2:0'
set -u
[ $# -ge 3 ] || { echo "usage: ${0##*/} PID START STOP [DURATION]" >&2; exit 2; }
pid=$1 trigger=("${@:2}") session=bfscope-$1
build=${DEVTRACE_BUILD:-$(dirname "$0")/../build}
devtrace=$build/devtrace
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

ctl() { "$devtrace" ctl -s "$session" "$@" >&2; }

trace() {
	rm -f "$dir"/*
	# a session of that name is another connection's
	"$devtrace" attach -d --stopped -s "$session" -o "$dir/trace.db" "$pid" >&2 || { printf 000000; return; }
	ctl arm "${trigger[@]}" && ctl start && ctl wait
	ctl quit
	while [ -e "$dir/trace.db-wal" ] || "$devtrace" list 2>/dev/null | grep -q "$session"; do sleep 0.01; done
	"$devtrace" export --barrelfish -o "$dir/dump" "$dir/trace.db" >&2
	printf '%08d' "$(stat -c %s "$dir/dump")"
	cat "$dir/dump"
}

while read -r word; do
	[ "${word%$'\r'}" = trace ] && trace
done
