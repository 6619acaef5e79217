#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# record and attach with --until, --signal and --last: what happens at a call that words mean, and what is kept of what was
# before it. What is right: what the program prints, and what /proc says of it.
load read-helper
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$(mktemp -d)
	root=$BATS_TEST_DIRNAME/../..
	gcc -O1 -g -pthread -fno-optimize-sibling-calls -o "$dir/chosen" "$root/test/programs/chosen.c"
	cat >"$dir/server.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		volatile int sink;
		__attribute__((noinline)) int part(int n) { sink += n & 1; return n; }
		/* takes 40 ms when n is 600, and fails when it is 700 */
		__attribute__((noinline)) int handle(int n)
		{
			part(n);
			if (n == 600)
				usleep(40000);
			return n == 700 ? -1 : n;
		}
		int main(int argc, char **argv)
		{
			int n = argc > 1 ? atoi(argv[1]) : 1000, wait = argc > 2 ? atoi(argv[2]) : 1000;
			for (int i = 0; i < n; i++) {
				handle(i);
				usleep(wait);
			}
			printf("%d of %d\n", sink, n);
			return 3;
		}
	C
	gcc -O1 -g -o "$dir/server" "$dir/server.c"
}

teardown_file() {
	rm -rf "$dir"
}

# values FILE FUNCTION: the first argument of each of its calls
values() {
	devtrace sql -c -n "$1" "SELECT arg0 FROM calls WHERE function = '$2' AND begin IS NOT NULL ORDER BY begin" 2>/dev/null | tr -d '\r'
}

@test "until: recording ends with the call, and the program goes on" {
	run -3 --separate-stderr devtrace record -o u.db --until 'handle time>30ms' "$dir/server"
	[ "$output" = '500 of 1000' ]
	[[ $stderr == *'the recording has ended as --until says, with a call of handle in thread '*' that took '[0-9]*' us'* ]]
	values u.db handle >got
	# all calls up to that one, and not many after it
	seq 0 600 | diff - <(head -n 601 got)
	[ "$(wc -l <got)" -lt 900 ]
	devtrace check u.db
	# no such call: all are there, and that is said
	run -3 --separate-stderr devtrace record -o n.db --until 'handle time>3s' "$dir/server" 700 100
	[ "$(values n.db handle | wc -l)" = 700 ]
}

@test "until: an attached process is let go; with --last, what was just before is kept" {
	"$dir/server" 3000 >out &
	local pid=$!
	sleep 0.1
	devtrace attach -o a.db --last 100ms --until 'handle result<0' $pid 2>err
	grep -q 'ended as --until says, with a call of handle' err
	kill -0 $pid
	! grep -q devtrace /proc/$pid/maps || [ "$(grep TracerPid /proc/$pid/status)" = $'TracerPid:\t0' ]
	local status=0
	wait $pid || status=$?
	[ $status = 3 ]
	[ "$(cat out)" = '1500 of 3000' ]
	values a.db handle >got
	grep -qx 700 got
	# a tenth of a second, with its part of a sixteenth, and the time between rounds: of calls that take a millisecond each
	[ "$(head -n 1 got)" -gt 500 ]
	devtrace check a.db
	run -0 --separate-stderr devtrace report a.db
	[[ $stderr == *'the trace begins where --last has cut it: '*' earlier records were removed'* ]]
}

@test "until: of many threads, what is kept begins at one moment, and is sound" {
	local last size
	for last in 30ms 100ms 300ms; do
		devtrace record -o t.db --last $last "$dir/chosen" 3000 4 >out 2>err
		devtrace check t.db >checked 2>&1 || { echo "$last:"; cat checked; false; }
		python3 - "$last" "$(devtrace sql -n t.db 'SELECT max(end) - min(begin) FROM calls' 2>/dev/null)" <<-'PY'
			import sys
			last, ns = float(sys.argv[1][:-2]) * 1e6, float(sys.argv[2])
			# a part more, and a round of the recorder; all of it is some 1.5 s
			assert last * 0.8 < ns < last * 1.07 + 4e8, (last, ns)
		PY
		# the last call of all is there, of the thread that was the last
		[ "$(devtrace sql -n t.db "SELECT count(*) FROM calls WHERE function = 'work' AND arg0 = 2999" 2>/dev/null)" -ge 1 ]
	done
	# the file does not grow: as large after three seconds as after one, but for a part
	devtrace record -o s.db --last 300ms "$dir/server" 3000 200 >/dev/null 2>&1 || true
	size=$(stat -c %s s.db)
	devtrace record -o l.db --last 300ms "$dir/server" 12000 200 >/dev/null 2>&1 || true
	[ "$(stat -c %s l.db)" -lt $((size * 3 / 2)) ]
}

@test "until: a killed devtrace leaves what is to be kept; --last with a filter, sums and losses" {
	devtrace record -o k.db --last 200ms "$dir/server" 4000 >/dev/null 2>&1 &
	local pid=$!
	sleep 2
	kill -9 $pid
	wait $pid || true
	devtrace check k.db
	[ "$(values k.db handle | wc -l)" -gt 20 ]
	while pgrep -x server >/dev/null; do sleep 0.1; done
	devtrace record -o f.db --last 200ms --filter 'handle' --sum 'count by function' "$dir/server" 2000 >/dev/null 2>&1 || true
	devtrace check f.db
	# sums are of all
	devtrace sum --json f.db 2>/dev/null | nested | python3 -c '
import json, sys
n = {r["key"]["function"]: r["calls"] for r in json.load(sys.stdin)[0]["rows"]}
assert n["handle"] == n["part"] == 2000, n'
	[ "$(values f.db handle | wc -l)" -lt 1500 ]
	[ "$(values f.db part | wc -l)" = 0 ]
	devtrace record -o d.db --last 100ms -p drop -b 64K "$dir/chosen" 3000 4 >/dev/null 2>&1
	devtrace check d.db
}

@test "until: a signal at the first such call" {
	run -143 --separate-stderr devtrace record -o g.db --signal 'TERM if handle result<0' "$dir/server"
	values g.db handle | grep -qx 700
	devtrace check g.db
	"$dir/server" 1500 >out &
	local pid=$! status=0
	devtrace attach -o s.db --signal 'SIGSTOP if part n=300' $pid 2>err &
	local tracer=$!
	for ((i = 0; i < 300; i++)); do
		[ "$(awk '{print $3}' /proc/$pid/stat)" = T ] && break
		sleep 0.01
	done
	[ "$(awk '{print $3}' /proc/$pid/stat)" = T ]
	kill -CONT $pid
	wait $pid || status=$?
	[ $status = 3 ]
	wait $tracer
	# only the first call: it ran on after it had been continued
	[ "$(values s.db part | tail -n 1)" = 1499 ]
	devtrace check s.db
}

# whole FILE FUNCTION FROM TO: the first arguments of its calls are all numbers from at most FROM to at least TO
whole() {
	values "$1" "$2" >got
	diff <(seq "$(head -n 1 got)" "$(tail -n 1 got)") got >differs || { echo "$1: $2 is not without gaps"; head differs; return 1; }
	[ "$(head -n 1 got)" -le "$3" ] && [ "$(tail -n 1 got)" -ge "$4" ] || { head -n 1 got; tail -n 1 got; return 1; }
}

@test "snapshot: what was before the call is in a file of its own, and recording goes on" {
	run -3 --separate-stderr devtrace record -o r.db --snapshot 'slow.db if handle time>30ms' --snapshot 'failed.db if handle result<0' \
		--snapshot 'never.db if handle time>3s' --sum 'count by function' --filter 'handle' "$dir/server"
	[ "$output" = '500 of 1000' ]
	[[ $stderr == *'snapshot slow.db: as of a call of handle in thread '*' that took '[0-9]*' us'* ]]
	[[ $stderr == *'snapshot failed.db: as of a call of handle in thread '* ]]
	[ ! -e never.db ]
	[ "$(ls | grep -c new)" = 0 ]
	for f in slow failed r; do
		devtrace check $f.db >checked 2>&1 || { echo $f; cat checked; false; }
	done
	whole slow.db handle 0 600
	[ "$(tail -n 1 got)" -lt 800 ]
	whole failed.db handle 0 700
	[ "$(tail -n 1 got)" -lt 900 ]
	whole r.db handle 0 999
	# the sums as they were then
	devtrace sum --json slow.db 2>/dev/null | nested | python3 -c '
import json, sys
n = {r["key"]["function"]: r["calls"] for r in json.load(sys.stdin)[0]["rows"]}
assert 601 <= n["handle"] <= 800 and 601 <= n["part"] <= 800, n'
	[ "$(sqlite3 slow.db "SELECT value FROM meta WHERE key = 'snapshot'" | cut -d ' ' -f 1-5)" = 'a call of handle in' ]
	[ "$(stat -c %a slow.db)" = 600 ]
}

@test "snapshot: with --last, only what was just before; of an attached process, of several threads" {
	"$dir/server" 3000 >out &
	local pid=$!
	sleep 0.1
	devtrace attach -o a.db --last 150ms --snapshot 'f.db if handle result<0' $pid 2>err
	local status=0
	wait $pid || status=$?
	[ $status = 3 ]
	[ "$(cat out)" = '1500 of 3000' ]
	for f in a f; do
		devtrace check $f.db >checked 2>&1 || { echo $f; cat checked; false; }
	done
	whole f.db handle 700 700
	[ "$(head -n 1 got)" -gt 350 ]
	# the file itself has gone on to the end
	whole a.db handle 2999 2999
	[ "$(head -n 1 got)" -gt 2000 ]
	for last in 30ms 200ms; do
		devtrace record -o t.db --last $last --snapshot 'n.db if work n=1500' --snapshot 'm.db if get result<0' "$dir/chosen" 3000 4 >out 2>err || true
		for f in n m t; do
			[ ! -e $f.db ] || devtrace check $f.db >checked 2>&1 || { echo "$f, $last"; cat checked; cat err; false; }
		done
		rm -f n.db m.db
	done
}

@test "snapshot: by ctl, now and at a call; files that can not be written, or are the trace itself" {
	export XDG_RUNTIME_DIR=$PWD
	devtrace record -s live -o p.db "$dir/server" 4000 >/dev/null 2>err 3>&- &
	local session=$! i
	# and the program has made calls
	until devtrace ctl -s live status 2>/dev/null | grep -q '[1-9][0-9]* records'; do sleep 0.02; done
	for i in 1 2 3; do
		devtrace ctl -s live snapshot "$PWD/now$i.db"
		devtrace check now$i.db
		whole now$i.db handle 0 0
		tail -n 1 got >last$i
	done
	[ "$(cat last1)" -lt "$(cat last2)" ]
	[ "$(cat last2)" -lt "$(cat last3)" ]
	run -1 devtrace ctl -s live snapshot now.db
	[[ $output == *'the whole path of a file is wanted'* ]]
	run -1 devtrace ctl -s live snapshot "$PWD/p.db"
	[[ $output == *'that is the trace itself'* ]]
	run -1 devtrace ctl -s live snapshot "$PWD/none/x.db"
	[[ $output == *'none/x.db'* ]]
	echo text >text
	run -1 devtrace ctl -s live snapshot "$PWD/text"
	[ "$(cat text)" = text ]
	run -1 devtrace ctl -s live snapshot "$PWD/x.db if"
	run -1 devtrace ctl -s live snapshot "$PWD/x.db if time>"
	[ "${#lines[@]}" = 1 ]
	devtrace ctl -s live snapshot "$PWD/at.db if handle n=3700"
	devtrace ctl -s live | grep -qx "snapshot '$PWD/at.db if handle n=3700'"
	devtrace ctl -s live snapshot "$PWD/no.db if handle n=3900"
	[ "$(devtrace ctl -s live snapshot | wc -l)" = 2 ]
	# replaced by the same again, and the other taken away with all
	devtrace ctl -s live snapshot -
	devtrace ctl -s live snapshot "$PWD/at.db if handle n=3800"
	wait $session || true
	[ ! -e no.db ]
	devtrace check at.db
	whole at.db handle 0 3800
	devtrace check p.db
	whole p.db handle 0 3999
	grep -q "snapshot $PWD/now1.db: as of a command" err
}

@test "until: words, signals and times that are nothing are refused before the program starts" {
	local option words want
	while IFS='|' read -r option words want status; do
		run -$status --separate-stderr devtrace record "$option" "$words" -o no.db touch started
		[[ ${stderr_lines[0]} == *"$want"* ]] || { echo "$option $words: $stderr"; false; }
		[ ! -e started ]
		[ ! -e no.db ]
	done <<-'TEXT'
		--until||words are wanted|1
		--until| 	|--until: words are wanted|1
		--until|handle time>5|a time is wanted|1
		--until|core:1|core:: only readers|1
		--signal|NOSUCH if handle|NOSUCH is no signal|1
		--signal|STOP|words are wanted|1
		--signal|STOP if|words are wanted|1
		--signal|STOP handle|words are wanted|1
		--signal|99 if handle|99 is no signal|1
		--snapshot|x.db|a file and words are wanted|1
		--snapshot|x.db if|a file and words are wanted|1
		--snapshot|x.db if time>|a time is wanted|1
		--last|10|--last is a time|2
		--last|0s|--last is a time|2
		--last|-5s|--last is a time|2
		--last|forever|--last is a time|2
	TEXT
	run -1 --separate-stderr devtrace record -p overwrite --last 1s -o no.db touch started
	[[ $stderr == *'-p overwrite: records are read at the end only'* ]]
	run -1 --separate-stderr devtrace record --sum count --sum count --sum count --sum count --sum count --sum count --sum count --sum count \
		--until handle -o no.db touch started
	[[ $stderr == *'8 of them together at most'* ]]
	run -1 --separate-stderr devtrace attach -d --last 1s -s x $$
	[[ $stderr == *'--last: it goes with a trace file'* ]]
}

# bats test_tags=long
@test "until: with --last, what ended processes had is given up, and a shell's own places are described once" {
	mkfifo go
	# 150 programs, then 600 more, by when what is once is there
	# on one core, since each has a chunk of its own
	taskset -c 0 devtrace record -f -F '*' --last 300ms -o t.db sh -c 'n=0; while read -r more; do
		while [ $n -lt $more ]; do /bin/true; n=$((n + 1)); done; echo $n; done' <go >said 2>err 3>&- &
	tracer=$!
	exec {to}>go
	echo 150 >&"$to"
	until grep -qx 150 said; do sleep 0.05; done
	sleep 2
	before=$(sed -n 's/^VmRSS:\t *\([0-9]*\) kB/\1/p' "/proc/$tracer/status")
	echo 750 >&"$to"
	until grep -qx 750 said; do sleep 0.05; done
	sleep 2
	after=$(sed -n 's/^VmRSS:\t *\([0-9]*\) kB/\1/p' "/proc/$tracer/status")
	exec {to}>&-
	wait $tracer
	# it was 35 kB for each, 21,000 kB; what the C library keeps is 4,000 kB less or 7,000 kB more from run to run
	echo "$before kB, then $after kB"
	[ $((after - before)) -lt 15000 ]
	[ "$(devtrace sql -n t.db 'SELECT count(*) FROM process')" = 751 ]
	# an execve of a child does not have its maker's places described anew
	[ "$(devtrace sql -n t.db 'SELECT count(*) FROM (SELECT 1 FROM site GROUP BY pid, pc, kind, target HAVING count(*) > 1)')" = 0 ]
	devtrace check t.db
}
