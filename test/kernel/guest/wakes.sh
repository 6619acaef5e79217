# SPDX-License-Identifier: MIT
# Who wakes threads (record --wakers), by the kernel's own events as an oracle: as often, by the same threads, and
# as long until they ran.

T=/sys/kernel/debug/tracing/instances/wakes

# ftrace_on: what happens to threads of that name goes into a buffer of its own
ftrace_on() {
	mkdir -p $T
	echo mono >$T/trace_clock
	echo 16384 >$T/buffer_size_kb
	echo 'comm == "pingpong"' >$T/events/sched/sched_waking/filter
	echo 'prev_comm == "pingpong" || next_comm == "pingpong"' >$T/events/sched/sched_switch/filter
	for event in sched_waking sched_switch; do echo 1 >$T/events/sched/$event/enable; done
}

ftrace_off() {
	for event in sched_waking sched_switch; do echo 0 >$T/events/sched/$event/enable; done
}

# of_ftrace FIRST SECOND: each time that one of the two threads woke the other: who, whom, and the microseconds until
# that one ran
of_ftrace() {
	awk -v first="$1" -v second="$2" '
		{
			match($0, /-[0-9]+ +\[/)
			waker = substr($0, RSTART + 1) + 0
			match($0, /[0-9]+\.[0-9]+:/)
			us = substr($0, RSTART, RLENGTH - 1) * 1000000
		}
		/ sched_waking: / && (waker == first || waker == second) {
			match($0, / pid=[0-9]+/)
			woken = substr($0, RSTART + 5, RLENGTH - 5)
			if (woken != first + second - waker)
				next
			line[++n] = waker " " woken
			at[woken] = us
			which[woken] = n
		}
		/ sched_switch: / {
			match($0, /next_pid=[0-9]+/)
			comes = substr($0, RSTART + 9, RLENGTH - 9)
			if (comes in at) {
				took[which[comes]] = us - at[comes]
				delete at[comes]
			}
		}
		END { for (i = 1; i <= n; i++) print line[i], (i in took) ? took[i] : "-" }' $T/trace
}

# of_devtrace FILE FIRST SECOND: the same
of_devtrace() {
	devtrace sql --csv --no-header "$1" "SELECT waker, thread, coalesce(latency / 1000, '-') FROM wakes WHERE waker IN ($2, $3) AND thread = $2 + $3 - waker AND NOT made ORDER BY ticks" |
		tr -d '\r' | tr ',' ' '
}

# alike SHARE: the two files have the same pairs in the same order, and of so many the times are within 5 %, and 5 us: now
# and then the emulator turns to the other core between the two that look at the same wake-up, or translates code that is
# new to it.
alike() {
	is "$(wc -l </tmp/f)" "$(wc -l </tmp/d)"
	paste -d' ' /tmp/f /tmp/d | awk -v share="$1" '
		$1 != $4 || $2 != $5 {print "# differs: " $0; bad = 1; exit}
		$3 != "-" && $6 != "-" {
			differ = $3 - $6
			if (differ < 0)
				differ = -differ
			n++
			within += differ <= 0.05 * $3 + 5
			ftrace += $3
			devtrace += $6
		}
		END {
			print "# " NR " wake-ups; of " n " with times " within " within 5 %; " ftrace / n " us and " devtrace / n " us on average" >"/dev/console"
			exit bad || within < share * n || n < 60
		}'
}

# compare HOW ROUNDS SHARE: records that, with the kernel's events beside it
compare() {
	ftrace_on
	devtrace record --wakers -F main -o /tmp/w.db /bin/pingpong $1 $2 >/tmp/times 2>/tmp/err
	ftrace_off
	cat /tmp/err
	read -r first second ticks </tmp/times
	of_ftrace $first $second >/tmp/f
	of_devtrace /tmp/w.db $first $second >/tmp/d
	rmdir $T
	alike $3
}

case_check_wakes_over_pipes() {
	compare pipe 200 0.75
	# where they waited, and who ended it from where
	devtrace calls -F main /tmp/w.db >/tmp/calls
	devtrace sql --csv --no-header /tmp/w.db "SELECT DISTINCT function FROM wakes WHERE waker = $first AND thread = $second AND NOT made" | tr -d '\r' >/tmp/functions
	is "$(cat /tmp/functions)" pipe_write
	devtrace sql --csv --no-header /tmp/w.db "SELECT DISTINCT stack FROM wakes WHERE waker = $first AND thread = $second" >/tmp/stacks
	grep -q 'ksys_write;vfs_write;pipe_write;' /tmp/stacks
	devtrace report --waits /tmp/w.db >/tmp/waits
	cat /tmp/waits
	grep -q 'runq avg .*woken by' /tmp/waits
	grep -q ' pingpong in pipe_write ' /tmp/waits
}

case_check_wakes_by_futexes() {
	compare futex 400 0.75
	devtrace sql --csv --no-header /tmp/w.db "SELECT DISTINCT function FROM wakes WHERE waker = $first AND thread = $second AND NOT made" | tr -d '\r' >/tmp/functions
	is "$(cat /tmp/functions)" futex_wake
	# the thread was made by the first one
	is "$(devtrace sql --csv --no-header /tmp/w.db "SELECT waker FROM wakes WHERE made AND thread = $second" | tr -d '\r')" $first
}

case_check_wakes_by_the_timer() {
	devtrace record --wakers -F main -o /tmp/w.db /bin/pingpong sleep 20
	devtrace sql --csv --no-header /tmp/w.db "SELECT context, function, name, count(*), stack FROM wakes GROUP BY 1, 2, 3"
	# while it was in main
	is "$(devtrace sql --csv --no-header /tmp/w.db "SELECT context, count(*) FROM wakes WHERE time > (SELECT begin FROM calls WHERE function = 'main') AND function = 'hrtimer_wakeup' GROUP BY 1" | tr -d '\r')" interrupt,20
}

# a million wake-ups in TURNS=10 turns, less those for which nobody had to be woken
soak_wakes() {
	for turn in $(seq ${TURNS:-10}); do
		compare pipe 25000 0.9
		compare futex 25000 0.9
	done
}

# more wake-ups and switches than there is room for while the recorder is stopped: those that are not in the file are
# counted, and calls say that it is not known what waited meanwhile
soak_lost_wakes() {
	devtrace record --wakers -F main -o /tmp/l.db /bin/pingpong pipe 40000 >/tmp/times 2>/tmp/err &
	p=$!
	until [ "$(pidof pingpong | wc -w)" = 2 ]; do sleep 0.05; done
	kill -STOP $p
	while pidof pingpong >/dev/null && grep -q 'State:.[RSD]' /proc/$(pidof pingpong | cut -d' ' -f1)/status 2>/dev/null; do sleep 0.2; done
	kill -CONT $p
	wait $p
	cat /tmp/err
	devtrace check /tmp/l.db >/tmp/check
	cat /tmp/check
	grep -q "written: as many, by the rings' own counts" /tmp/check
	lost=$(sed -n 's/.* \([0-9]*\) lost$/\1/p' /tmp/check)
	[ $lost -gt 10000 ]
	devtrace report --waits /tmp/l.db >/tmp/waits 2>/tmp/note
	cat /tmp/note
	grep -q 'context switches were lost in' /tmp/note
}
