#!/bin/bash
# SPDX-License-Identifier: MIT
# Kill anywhere: the traced program is killed at every instruction of an append, or held there while
# other processes go on; and killed at random; and the controller is killed at random.
# usage: kill.t    RANDOM_KILLS=n: how many random kills of each kind (20)
set -u
root=${DEVTRACE_ROOT:-$PWD}
b=$root/build
kills=${RANDOM_KILLS:-20}
. "$root/test/sound.bash"
. "$root/test/share.bash"
dir=$(mktemp -d) && trap 'sweep "$dir"' EXIT
gcc -O2 -g -B"$b/lib" -c -o "$dir/emit.o" "$root/test/stress/emit.c" &&
	gcc -O2 -g -o "$dir/stress" "$root/test/stress/stress.c" "$dir/emit.o" -lpthread || exit 1
n=0 bad=0

result() { # 0|1 name [detail]
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else
		bad=1
		echo "not ok $n - $2"
		[ $# -lt 3 ] || echo "# $3"
	fi
}

# calls that thread 0 says it has finished
progress() { od -A n -t u8 -j 8 -N 8 "$dir/progress" 2>/dev/null | tr -d ' '; }

wait_progress() { # COUNT
	local i
	for ((i = 0; i < 5000; i++)); do
		[ "$(progress || true)" -ge "$1" ] 2>/dev/null && return 0
		kill -0 "$controller" 2>/dev/null || return 1
		read -r -t 0.002 <>"$dir/fifo"
	done
	return 1
}

# starts stress under record; sets controller and target. $1: devtrace options, $2: arguments
begin() {
	sweep "$dir/progress" "$dir"/t.db*
	taskset -c 0 "$b/devtrace" record $1 -o "$dir/t.db" "$dir/stress" $2 "$dir/progress" \
		>"$dir/out" 2>"$dir/err" &
	controller=$!
	wait_progress 500 || return 1
	target=$(pgrep -P "$controller" -o stress)
	# it may have come to its end already: then its last line is there
	[ -n "$target" ] || [ -s "$dir/out" ]
}

# the trace holds every call that had been finished, none torn
complete() {
	local done_calls=$1 out records
	out=$("$b/test/tool/check-stress" "$dir/t.db" 0) || { echo "$out"; return 1; }
	records=${out#records }
	records=${records%% *}
	[ "$records" -ge $((2 * done_calls)) ] || { echo "$out, finished calls $done_calls"; return 1; }
}

mkfifo "$dir/fifo"
at_every_instruction() { # hook
	local i failed="" hit every=${SHARE:-1}
	[ "$every" = 1 ] || every=$((every * 2))
	for ((i = ${FROM:-RANDOM % every}; ; i += every)); do
		begin "-p wait -b 64K" "1 1 100000000 0 0" || { failed="$failed start@$i"; break; }
		hit=$("$b/test/tool/stopat" "$target" "$1" $i kill 2>"$dir/stopat")
		rc=$?
		[ $rc = 0 ] || kill -9 "$target" 2>/dev/null
		wait "$controller"
		[ $rc = 3 ] && break
		[ $rc = 0 ] || { failed="$failed stopat@$i($(cat "$dir/stopat"))"; break; }
		detail=$(complete "$(progress)") || failed="$failed $hit: $detail"
	done
	[ $i -gt 20 ] || failed="$failed only $i instructions"
	result $([ -z "$failed" ]; echo $?) "SIGKILL at $((i / every)) of $i instructions of the $1 hook" "$failed"
}
at_every_instruction entry
at_every_instruction exit

slow_steps() {
	local i failed="" hit
	for i in $(seq 3 11 200 | share); do
		DEVTRACE_NO_RSEQ=1 GLIBC_TUNABLES=glibc.pthread.rseq=0 begin "-p drop -b 64K" "1 1 100000000 0 0" ||
			{ failed="$failed start@$i"; break; }
		hit=$("$b/test/tool/stopat" "$target" slow "$i" kill 2>"$dir/stopat") ||
			{ failed="$failed stopat@$i($(cat "$dir/stopat"))"; kill -9 "$target"; }
		wait "$controller"
		out=$("$b/test/tool/check-stress" "$dir/t.db" 0) || failed="$failed $hit: $out"
	done
	result $([ -z "$failed" ]; echo $?) "SIGKILL within the slow path" "$failed"
}
slow_steps

# held_at POLICY CALLS I: status 2 when the process had come to its end before it could be held
held_at() {
	local other try
	begin "-p $1 -b 256K" "2 1 $2 0 0" || { why=start; return 1; }
	for ((try = 0; try < 2000; try++)); do # it may not be born yet
		other=$(pgrep -P "${target:-0}" stress) && break
		[ ! -s "$dir/out" ] || break
		read -r -t 0.005 <>"$dir/fifo"
	done
	hit=$("$b/test/tool/stopat" "${other:-0}" entry "$3" hold "$dir/progress" 2000 2>"$dir/stopat") ||
		{ why="$hit ($(cat "$dir/stopat"))"; [ -z "$other" ] || kill -9 "$other" 2>/dev/null; }
	wait "$controller"
	out=$("$b/test/tool/check-stress" "$dir/t.db" "$(cat "$dir/out")") || { why="$why $hit: $out"; return 1; }
	[ -z "$why" ] || { [[ $why == *"o such process"* || $why == *"no process"* ]] && return 2 || return 1; }
}

held() { # policy calls
	local i failed="" hit try calls=$2 why
	for i in $(printf '%s\n' 0 6 9 12 15 18 21 24 27 30 33 | share "" 2); do
		for try in 1 2 3; do
			why=""
			held_at "$1" "$calls" "$i"
			[ $? = 2 ] || break
			calls=$((calls * 3)) # this machine is busy
		done
		[ -z "$why" ] || failed="$failed $i: $why"
	done
	result $([ -z "$failed" ]; echo $?) "held inside an append while another process goes on ($1)" \
		"$failed"
}
held wait 3000000
held drop 2000000
held overwrite 10000000

random_target_kills() {
	local i failed=""
	for ((i = 0; i < kills; i++)); do
		begin "-p wait -b 64K" "1 1 100000000 0 0" || { failed="$failed start"; break; }
		wait_progress $((1000 + RANDOM * 8)) || failed="$failed progress"
		kill -9 "$target"
		wait "$controller"
		detail=$(complete "$(progress)") || failed="$failed kill $i: $detail"
	done
	result $([ -z "$failed" ]; echo $?) "$kills random SIGKILLs of the program: all finished calls are there" \
		"$failed"
}
random_target_kills

random_controller_kills() {
	local i failed="" calls=1000000
	for ((i = 0; i < kills; i++)); do
		begin "-p wait -b 64K" "1 2 $calls 1000 3" || { failed="$failed start"; break; }
		[ $((i % 4)) = 0 ] || wait_progress $((500 + RANDOM)) || true
		kill -9 "$controller"
		wait "$controller" 2>/dev/null
		# the program goes on to its end, unharmed; what was flushed can be read
		for ((k = 0; k < 10000; k++)); do
			[ -s "$dir/out" ] && break
			kill -0 "${target:-$controller}" 2>/dev/null || break
			read -r -t 0.002 <>"$dir/fifo"
		done
		[ -s "$dir/out" ] || failed="$failed run $i: no output"
		"$b/test/tool/check-stress" "$dir/t.db" 0 >"$dir/check" ||
			failed="$failed run $i: $(cat "$dir/check")"
	done
	result $([ -z "$failed" ]; echo $?) "$kills random SIGKILLs of the controller: the program is unharmed" \
		"$failed"
}
random_controller_kills

# a shell's programs, everything of theirs and of libc by probes: the controller is killed between an execve and
# the last jump planted, or wherever else it is
kills_while_started() {
	local i k failed="" shell starts=$((12 / ${SHARE:-1}))
	gcc -O2 -o "$dir/started" -x c - <<-'C' || failed=compiler
		__attribute__((noinline)) int work(int n) { return n ? work(n - 1) + n : 0; }
		int main(void) { return work(1000) != 500500; }
	C
	for ((i = 0; i < starts; i++)); do
		: >"$dir/out"
		"$b/devtrace" record -f -p overwrite -F 'started:*' -F 'libc.so.6:*' -o "$dir/s.db" \
			sh -c 'echo begin; for i in 1 2 3 4 5 6 7 8 9 10; do '"$dir/started"' || echo "status $?"; done; echo end' \
			>"$dir/out" 2>&1 &
		controller=$!
		until grep -q begin "$dir/out" || ! kill -0 "$controller" 2>/dev/null; do
			read -r -t 0.002 <>"$dir/fifo"
		done
		shell=$(pgrep -P "$controller" -o sh)
		read -r -t "0.$(printf %03d $((RANDOM % 700)))" <>"$dir/fifo"
		kill -9 "$controller"
		wait "$controller" 2>/dev/null
		for ((k = 0; k < 10000; k++)); do
			kill -0 "$shell" 2>/dev/null || break
			read -r -t 0.002 <>"$dir/fifo"
		done
		# when it was not killed in time it says at its end what it could not hook
		[ "$(grep -v 'functions chosen' "$dir/out" | xargs)" = "begin end" ] ||
			failed="$failed kill $i: $(xargs <"$dir/out")"
		sweep "$dir"/s.db*
	done
	result $([ -z "$failed" ]; echo $?) "$starts SIGKILLs of the controller while it follows a shell's programs: they are unharmed" \
		"$failed"
}
kills_while_started

attach_again() {
	local failed="" i
	begin "-p wait -b 64K" "1 2 400000000 1000 3" || failed=start
	for ((i = 0; i < 12 / ${SHARE:-1}; i++)); do
		kill -9 "$controller"
		wait "$controller" 2>/dev/null
		# what the one before has recorded does not tell that this one records
		rm -f "$dir"/a.db*
		"$b/devtrace" attach -p drop -o "$dir/a.db" "$target" >"$dir/attach" 2>&1 &
		controller=$!
		for ((k = 0; k < 2000; k++)); do
			[ "$(sqlite3 -readonly "$dir/a.db" 'select count(*) from chunk' 2>/dev/null)" -gt 0 ] 2>/dev/null && break
			kill -0 "$controller" 2>/dev/null || break
			read -r -t 0.005 <>"$dir/fifo"
		done
		kill -0 "$controller" 2>/dev/null || { failed="$failed attach $i: $(cat "$dir/attach")"; break; }
	done
	kill -INT "$controller"
	wait "$controller" || failed="$failed end: $(cat "$dir/attach")"
	kill -9 "$target"
	result $([ -z "$failed" ]; echo $?) "a process whose controller was killed can be attached again" "$failed"
}
attach_again
echo "1..$n"
exit $bad
