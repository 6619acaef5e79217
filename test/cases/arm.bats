# SPDX-License-Identifier: MIT
# Barrelfish's triggers: arm, events, wait, dump.
load session

setup() {
	export XDG_RUNTIME_DIR=$dir/run
	[ -e "$dir/armed" ] && return
	cat >"$dir/armed.c" <<-'C'
		/* "1 ARG", "2 ARG": events of subsystem 7; "w N": N calls. Answers each line. */
		#include <devtrace.h>
		#include <stdio.h>
		__attribute__((noipa)) int work(int n) { return n + 1; }
		int main(void)
		{
			char what;
			unsigned n;
			setbuf(stdout, NULL);
			puts("ready");
			while (scanf(" %c %u", &what, &n) == 2) {
				if (what == '1')
					DT_EVENT(7, 1, n);
				else if (what == '2')
					DT_EVENT(7, 2, n);
				else
					for (unsigned i = 0; i < n; i++)
						work(i);
				puts("done");
			}
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -I"$root/include" -o "$dir/armed" "$dir/armed.c"
}

teardown() {
	[ -z "${session-}" ] || "$dt" ctl -s "$session" quit 2>/dev/null || true
	[ -z "${pid-}" ] || kill "$pid" 2>/dev/null || true
	check_traces
}

begin_armed() {
	mkdir -p "$dir/run"
	chmod 700 "$dir/run"
	rm -f "$dir/in" "$dir/out"
	mkfifo "$dir/in" "$dir/out"
	"$dir/armed" <"$dir/in" >"$dir/out" 3>&- &
	pid=$!
	exec 8>"$dir/in" 9<"$dir/out"
	read -r -t 10 line <&9
	[ "$line" = ready ]
	session=$("$dt" attach -d -s "arm.$BATS_TEST_NUMBER" "$@" "$pid" 8>&- 9<&- 3>&-)
	say trace work new w
	say trace w on
	say trace '7:*' new e
	say trace e on
	say start
}

say() { "$dt" ctl -s "$session" "$@"; }
do_it() {
	echo "$1 $2" >&8
	read -r -t 10 line <&9
	[ "$line" = done ]
}
# kinds of the records, events with their bodies
records() { "$dt" cat -s "$session" | awk '{ printf "%s ", $1 == "V" ? "V" substr($5, 4, 1) $5 + 0 substr($5, 15) : $1 }'; }

@test "check-039-arm: the start event with the right argument begins, the stop event ends; check-041: once" {
	begin_armed
	do_it w 2
	[ "$(records)" = "E X E X " ]
	say arm 7:1:17 0007000200000005
	do_it w 3
	do_it 1 18 # another argument
	do_it w 3
	[ -z "$(records)" ]
	do_it 1 17
	do_it w 2
	do_it 2 4 # not yet
	do_it 2 5
	do_it w 3
	timeout 60 "$dt" ctl -s "$session" wait
	do_it 1 17 # it was one shot
	do_it w 3
	"$dt" cat -s "$session" >"$dir/records"
	 [ "$(cut -c1 "$dir/records" | tr -d '\n')" = VEXEXVV ]
	[ "$(awk '$1 == "V" { print $5 }' "$dir/records" | xargs)" = "0007000100000011 0007000200000004 0007000200000005" ]
	say disarm
	say unfreeze
	do_it w 1
	[ "$(records)" = "E X " ]
}

@test "check-040-duration: the time ends a trace although nothing happens; check-042-wait: no polling" {
	begin_armed
	say arm 7:1:1 - 300ms
	do_it 1 1
	do_it w 1
	begin=$EPOCHREALTIME
	timeout 60 "$dt" ctl -s "$session" wait
	awk "BEGIN { exit !($EPOCHREALTIME - $begin < 5) }" # it is 0.3 s
	do_it w 5
	[ "$("$dt" cat -s "$session" | cut -c1 | tr -d '\n')" = VEX ]
	# nor is it less
	say arm 7:1:1 - 1500ms
	begin=$EPOCHREALTIME
	do_it 1 1
	timeout 60 "$dt" ctl -s "$session" wait
	awk "BEGIN { t = $EPOCHREALTIME - $begin; print t; exit !(t >= 1.49 && t < 6) }"
	[ "$("$dt" cat -s "$session" | cut -c1 | tr -d '\n')" = V ]
	# 0 is no end
	say arm 7:1:2 - 0
	do_it 1 2
	do_it w 1
	run timeout 0.5 "$dt" ctl -s "$session" wait
	[ "$status" = 124 ]
	do_it w 1
	[ "$("$dt" cat -s "$session" | cut -c1 | tr -d '\n')" = VEXEX ]
	# without a start event it begins at once
	say arm - 7:2:9
	do_it w 1
	do_it 2 9
	do_it w 1
	[ "$("$dt" cat -s "$session" | cut -c1 | tr -d '\n')" = EXV ]
}

@test "check-044-events: so many records, then a dump by itself" {
	begin_armed
	say dump "$dir/dump"
	say events 10
	do_it w 4
	[ ! -e "$dir/dump" ]
	do_it w 4
	timeout 60 "$dt" ctl -s "$session" wait
	until_true test -s "$dir/dump"
	[ "$(cut -c1 "$dir/dump" | tr -d '\n')" = EXEXEXEXEX ]
	[ "$("$dt" cat -s "$session" | wc -l)" = 10 ]
}

@test "check-027-subsystem: events of one that is off do not fire triggers" {
	begin_armed
	say subsystem 7 off
	say arm 7:1:1 -
	do_it 1 1
	do_it w 1
	[ -z "$(records)" ]
	say subsystem 7 on
	do_it 1 1
	do_it w 1
	[ "$("$dt" cat -s "$session" | cut -c1 | tr -d '\n')" = VEX ]
}

@test "F31: two users' sessions at a time, each with its own triggers" {
	[ "$(id -u)" = 0 ] || skip "needs root to be someone else, too"
	id dtuser 2>/dev/null || useradd -m dtuser
	begin_armed
	# the other user's, told what to do by lines; its trigger is the other event
	cat >"$dir/other.sh" <<-'S'
		export XDG_RUNTIME_DIR=
		dt=$1 program=$2
		dir=$(mktemp -d) && cd "$dir" && mkfifo in out || exit 1
		"$program" <in >out &
		pid=$!
		exec 6>in 7<out
		read -r _ <&7
		session=$("$dt" attach -d -s "other.$$" "$pid" 6>&- 7<&-)
		say() { "$dt" ctl -s "$session" "$@"; }
		finish() { say quit; exec 6>&- 7<&-; wait; rm -r "$dir"; }
		trap finish EXIT
		for command in "trace work new w" "trace w on" "trace 7:* new e" "trace e on" start "arm 7:2:5 7:1:5"; do
			say "$command" || exit 1
		done
		echo armed
		while read -r line; do echo "$line" >&6 && read -r _ <&7 && echo done; done
		say wait
		"$dt" cat -s "$session" | awk '{ printf "%s ", $1 == "V" ? "V" substr($5, 8, 1) : $1 }'
		trap - EXIT
		finish
	S
	chmod 755 "$dir" "$dir/armed" "$dir/other.sh"
	coproc other { exec setpriv --reuid dtuser --regid dtuser --clear-groups bash "$dir/other.sh" "$dt" "$dir/armed" 3>&- 8>&- 9<&-; }
	other_pid=$other_PID
	exec {from}<&"${other[0]}"
	read -r -t 20 line <&"$from"
	[ "$line" = armed ]
	say arm 7:1:5 7:2:5
	tell_other() { echo "$1" >&"${other[1]}" && read -r -t 10 line <&"$from" && [ "$line" = done ]; }
	# what begins the one ends the other
	tell_other "1 5"
	do_it w 2
	tell_other "2 5"
	do_it 1 5
	tell_other "w 1"
	do_it w 2
	tell_other "1 5"
	do_it 2 5
	do_it w 1
	tell_other "w 3"
	[ "$("$dt" cat -s "$session" | awk '{ printf "%s ", $1 == "V" ? "V" substr($5, 8, 1) : $1 }')" = "V1 E X E X V2 " ]
	eval "exec ${other[1]}>&-"
	IFS= read -r -t 20 -d Q line <&"$from" || true
	[ "$line" = "V2 E X V1 " ]
	wait "$other_pid"
	exec {from}<&-
}

@test "pauses of an armed session: until the start event, and from the stop event on" {
	begin_armed -o "$dir/x.db"
	do_it w 1
	say arm 7:1:17 0007000200000005
	do_it w 3
	do_it 1 18
	do_it 1 17
	do_it w 2
	do_it 2 5
	do_it w 4
	say disarm
	say unfreeze
	do_it w 1
	say quit
	for _ in $(seq 3000); do say >/dev/null 2>&1 || break; sleep 0.02; done
	"$dt" sql -n -c "$dir/x.db" "SELECT why, times, missed FROM pauses ORDER BY begin" | tr -d '\r' >"$dir/pauses"
	# before: 3 calls, another argument; behind: 4 calls
	diff - "$dir/pauses" <<-T
		frozen,1,7
		frozen,1,8
	T
	# the events that began and ended it are its borders
	[ "$("$dt" sql -n -c "$dir/x.db" "SELECT (SELECT count(*) FROM events WHERE time = (SELECT min(end) FROM pauses) AND kind = 'event'),
		(SELECT count(*) FROM events WHERE time = (SELECT max(begin) FROM pauses) AND kind = 'event')" | tr -d '\r')" = 1,1 ]
}
