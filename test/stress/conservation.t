#!/bin/bash
# SPDX-License-Identifier: MIT
# The conservation law under every policy: what is written = what is read + what is reported lost,
# no record torn, doubled or out of its core's order.
set -u
root=${DEVTRACE_ROOT:-$PWD}
b=$root/build
. "$root/test/sound.bash"
dir=$(mktemp -d) && trap 'sweep "$dir"' EXIT
gcc -O2 -g -B"$b/lib" -c -o "$dir/emit.o" "$root/test/stress/emit.c" &&
	gcc -O2 -g -o "$dir/stress" "$root/test/stress/stress.c" "$dir/emit.o" -lpthread || exit 1
n=0 bad=0

# name, devtrace options, program arguments, lossless|any|exact (on one core)
try() {
	local name=$1 calls out rc on=""
	n=$((n + 1))
	[ "$4" = exact ] && on="taskset -c 0"
	calls=$($on "$b/devtrace" record $2 -o "$dir/t.db" "$dir/stress" $3 2>"$dir/err")
	rc=$?
	out=$("$b/test/tool/check-stress" "$dir/t.db" "${calls:-1}" ${on:+exact} 2>&1) || rc=1
	case $4 in
	lossless) case $out in *"lost 0"*) ;; *) rc=1 ;; esac ;;
	esac
	if [ "$rc" = 0 ]; then
		echo "ok $n - $name: $out"
	else
		bad=1
		echo "not ok $n - $name: $out"
		sed 's/^/# /' "$dir/err"
	fi
	sweep "$dir"/t.db*
}

#   processes threads calls hz forks
for policy in wait drop overwrite; do
	kind=any
	[ "$policy" = wait ] && kind=lossless
	try "$policy, one thread" "-p $policy -b 64K" "1 1 500000 0 0" $kind
	try "$policy, four threads, signals" "-p $policy -b 64K" "1 4 200000 2000 0" $kind
	try "$policy, short threads, many signals" "-p $policy -b 1M" "4 250 300 20000 0" $kind
	try "$policy, forks" "-p $policy -b 64K" "1 2 100000 1000 40" $kind
	try "$policy, processes, threads, signals, forks" "-p $policy -b 128K" "4 2 100000 2000 10" $kind
	try "$policy, large rings" "-p $policy -b 16M" "2 2 100000 5000 5" $kind
done
# every loss in its place, to the record
try "drop, one core" "-p drop -b 64K" "1 1 3000000 0 0" exact
try "drop, one core, larger rings" "-p drop -b 1M" "1 1 5000000 0 0" exact
# readers of the file while it is written: they see a growing, whole trace, and change nothing
readers() {
	local last=0 now err=$dir/read.$1
	while [ -e "$dir/reading" ]; do
		[ -s "$dir/t.db" ] || continue
		now=$("$b/devtrace" cat "$dir/t.db" 2>"$err" | wc -l)
		if [ -s "$err" ]; then
			# it begins just now, or the test has removed it
			grep -qv 'is empty\|no such file' "$err" && cp "$err" "$dir/read.bad"
		elif [ "$now" -lt "$last" ]; then
			echo "$last records, then $now" >"$dir/read.bad"
		else
			last=$now
		fi
	done
}
touch "$dir/reading"
readers 1 & first=$!
readers 2 & second=$!
try "wait, processes, threads, signals, forks, two readers" "-p wait -b 128K" "2 2 400000 1000 10" lossless
rm "$dir/reading"
wait $first $second
n=$((n + 1))
if [ -e "$dir/read.bad" ]; then
	bad=1
	echo "not ok $n - readers of a growing trace: $(head -2 "$dir/read.bad" | tr '\n' ' ')"
else
	echo "ok $n - readers of a growing trace"
fi
# without rseq every thread appends to the shared ring
export GLIBC_TUNABLES=glibc.pthread.rseq=0 DEVTRACE_NO_RSEQ=1
for policy in wait drop overwrite; do
	kind=any
	[ "$policy" = wait ] && kind=lossless
	try "$policy, no rseq" "-p $policy -b 64K" "2 2 30000 1000 5" $kind
done
try "drop, one core, no rseq" "-p drop -b 64K" "1 1 300000 0 0" exact
echo "1..$n"
exit $bad
