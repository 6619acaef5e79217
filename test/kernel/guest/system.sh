# SPDX-License-Identifier: MIT
# The whole machine: who runs, system calls, interrupts; everything at once; nothing is lost unseen.

case_check_043_who_runs_and_who_is_there() {
	tell switches on
	tell size 14
	self=$(me)
	(sleep 1000) & s=$!
	tell start
	taskset 1 sleep 0.05
	taskset 2 sleep 0.05
	tell stop
	records >/tmp/log
	kill $s
	# everybody at the start
	grep '^R' /tmp/log | cut -d' ' -f5 | sort >/tmp/rundown
	grep -q "^$(printf %016x "$self")" /tmp/rundown
	grep -q "^$(printf %016x $s)" /tmp/rundown
	grep -q '^0000000000000002$' /tmp/rundown
	[ "$(wc -l </tmp/rundown)" -ge 40 ]
	# and who comes, which is who goes the next time on the same core, but that text has no core
	[ "$(grep -c '^S' /tmp/log)" -ge 10 ]
	# names: slee, and p
	grep -q '^S.* 0000007065656c73 ' /tmp/log
}

case_check_system_calls_and_interrupts() {
	tell syscalls on
	tell interrupts on
	tell watch "$(me)"
	tell start
	read x </proc/version
	taskset 1 sleep 0.05
	tell stop
	records >/tmp/log
	# of this process only: open, read; what was asked for and what came
	grep -q '^V .* fff1000000000000 0*[0-9a-f]* ' /tmp/log
	enters=$(grep -c '^V .* fff10000' /tmp/log) returns=$(grep -c '^V .* fff10001' /tmp/log)
	[ "$enters" -ge 3 ]
	[ $((enters - returns)) -le 1 ]
	[ $((returns - enters)) -le 1 ]
	# interrupts are nobody's: in all contexts. Each that begins ends, but for one that the other core was in
	# when this one said start, and one when it said stop.
	awk '$5 ~ /^fff20000/ {n++; open[substr($5, 9)]++}
		$5 ~ /^fff20001/ {if (open[substr($5, 9)]) open[substr($5, 9)]--; else started_in++}
		END {
			for (i in open) stopped_in += open[i]
			print "# of " n " interrupts cut off by start: " started_in + 0 ", by stop: " stopped_in + 0
			exit n < 1 || started_in > 1 || stopped_in > 1
		}' /tmp/log
	tell subsystem syscall off
	tell subsystem interrupt off
	tell subsystem softirq off
	tell start
	read x </proc/version
	sleep 0.05
	tell stop
	is "$(records | wc -l)" 0
}

case_check_conservation_when_readers_do_not_keep_up() {
	tell trace traced_call new c
	tell trace c on
	tell size 10
	tell policy drop
	tell start
	(do_traced calls 200000; : >/tmp/end1) &
	(do_traced calls 200000; : >/tmp/end2) &
	read=0
	while [ ! -e /tmp/end1 ] || [ ! -e /tmp/end2 ]; do
		read=$((read + $(dd if=/dev/trace bs=12100 count=1 2>/dev/null | wc -l)))
	done
	tell stop
	read=$((read + $(records | wc -l)))
	is "$((read + $(counter newplfail)))" 800000
	is "$(counter tracehits) $(counter traceinhits) $(counter traceouthits)" '800000 400000 400000'
	rm -f /tmp/end?
}

case_check_conservation_with_readers_that_keep_up() {
	tell trace traced_call new c
	tell trace c on
	tell size 16
	tell policy drop
	tell start
	(for i in 1 2 3 4 5 6 7 8; do do_traced calls 2500; sleep 0.05; done; : >/tmp/end1) &
	# two at once, one of which is killed: what it had taken is gone, and no more
	: >/tmp/a
	(while [ ! -e /tmp/end1 ]; do dd if=/dev/trace bs=121000 count=1 2>/dev/null >>/tmp/a; done) &
	a=$!
	: >/tmp/b
	while [ ! -e /tmp/end1 ]; do dd if=/dev/trace bs=121000 count=1 2>/dev/null >>/tmp/b; done
	wait $a
	tell stop
	while records >/tmp/rest && [ -s /tmp/rest ]; do cat /tmp/rest >>/tmp/b; done
	is "$(counter newplfail)" 0
	is "$(cat /tmp/a /tmp/b | wc -l)" 40000
	# each is whole, and each reader's in the order of time
	! grep -qvE '^[EX] [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16}$' /tmp/a || false
	cut -d' ' -f3 /tmp/b | sort -c
	rm -f /tmp/end1
}

case_check_readers_that_are_killed() {
	tell trace vfs_read new r
	tell trace r on
	tell start
	for i in 1 2 3 4 5 6 7 8; do
		sh -c 'exec 3</dev/trace; while :; do dd bs=12100 count=1 <&3; done' >/dev/null 2>&1 &
		p=$!
		read x </proc/version
		kill -9 $p
		wait $p 2>/dev/null || true
	done
	tell reset
	read x </proc/version
	tell stop
	[ "$(records | wc -l)" -ge 2 ]
}

case_check_order_within_a_core() {
	tell trace traced_call new c ENTRY
	tell trace c on
	tell all
	tell policy drop
	tell size 18
	rm -f /tmp/map.end
	(map read /tmp/map.end >/tmp/map.out) &
	p=$!
	taskset 1 sh -c 'echo storm 150 >/proc/traced' &
	q=$!
	taskset 2 sh -c 'echo storm 150 >/proc/traced'
	wait $q
	tell stop
	: >/tmp/map.end
	cat /tmp/map.out
	wait $p || { cat /tmp/map.out; false; }
	rm /tmp/map.end
	read -r whole lost entries exits </tmp/map.out
	# what had no place takes part in nothing; how many there are is the machine's speed
	[ "$entries" -gt 1000 ]
	is "$((entries + lost))" "$(counter traceinhits)"
}

case_check_what_begins_an_interrupt_returns_to_who_it_began_in() {
	tell "trace 'irq_enter_rcu irq_exit_rcu' new i"
	tell trace i on
	# they change the context that they are in; with all, those of the idle task are nobody's
	for how in start all; do
		tell reset
		tell $how
		do_traced storm 100
		tell stop
		records >/tmp/log
		awk -v how=$how '
			$1 == "E" {open[$2, $4]++; n++; threads += $4 != "ffffffffffffffff"}
			$1 == "X" {open[$2, $4]--}
			END {
				for (i in open)
					if (open[i] < -1 || open[i] > 1) {
						print i ": " open[i] " more entries than exits"
						bad = 1
					}
				print how ": " n " entries, " threads " of threads"
				exit bad || n < 3 || !threads
			}' /tmp/log
	done
}

case_check_048_everything_at_once() {
	# more comes than that: what is lost is counted
	tell size 16
	tell "trace '*' new everything"
	tell trace everything on
	tell all
	ls -lR /sys/kernel/mm /sys/kernel/slab/k* >/dev/null 2>&1
	dd if=/dev/zero of=/tmp/x bs=4k count=100 2>/dev/null
	tell stop
	in=$(counter traceinhits) out=$(counter traceouthits) hits=$(counter tracehits)
	echo "$in entries, $out exits, $hits records"
	[ "$in" -gt 100000 ]
	tell counts
	said
	# every hit is a record or is counted: written or lost
	exits=$(count 'exits without a node')
	is "$((hits + $(count 'left out')))" "$((in + out + exits))"
	is "$(count 'too deep')" 0
	# calls that have not returned yet are on stacks: not more than the tasks can hold
	[ $((in - out - exits)) -ge 0 ]
	[ $((in - out - exits)) -lt 20000 ]
	dd if=/dev/trace bs=1210000 2>/dev/null | tail -n 3
	is "$(count written)" "$(count read)"
	# uniform, while all are hooked: they stay so, count, and only what is asked for is recorded
	tell "uniform on
delete everything
trace traced_call new c
trace c on"
	tell reset
	tell start
	do_traced calls 3
	do_traced nest 3
	tell stop
	is "$(counter tracehits)" 6
	[ "$(counter traceinhits)" -gt 100 ]
	# the module goes while all of them are hooked and run
	tell "switches on
start"
	be_busy 0.1 /sys/kernel/mm
	tell counts
	rmmod traced
	rmmod devtrace
	be_idle
	load
	is "$(counter traceinhits)" 0
}

# LOADS times
soak_load_and_unload() {
	unload
	be_busy
	for i in $(seq $LOADS); do
		insmod /devtrace.ko
		tell "trace '*' new everything
trace everything on
switches on
start"
		read x </proc/version
		[ "$(counter traceinhits)" -gt 100 ]
		rmmod devtrace
	done
	be_idle
	load
}

# SECONDS of everything, with readers that come and go
soak_everything() {
	tell size 16
	tell "trace '*' new everything
trace everything on
all"
	be_busy
	end=$(($(date +%s) + SECONDS_OF_ALL))
	read=0
	while [ "$(date +%s)" -lt $end ]; do
		read=$((read + $(dd if=/dev/trace bs=1210000 count=1 2>/dev/null | wc -l)))
	done
	tell stop
	be_idle
	tell counts
	said
	in=$(counter traceinhits) out=$(counter traceouthits) hits=$(counter tracehits)
	left=$(count 'left out')
	echo "# $in entries, $out exits, $left of them left out as readers', $read records read as text" >/dev/console
	# every hit is a record, or left out, or an exit that is missing and counted
	is "$((hits + left))" "$((in + out + $(count 'exits without a node')))"
	is "$(count 'too deep')" 0
	while [ "$(dd if=/dev/trace bs=1210000 count=1 2>/dev/null | wc -c)" != 0 ]; do :; done
	is "$(count written)" "$(count read)"
	tell trace everything off
}

case_check_072_a_thousand_functions() {
	a=$(cut -d' ' -f1 /proc/uptime)
	# some can not be traced: those are left out
	tell "trace 'ext4_* tcp_* vfs_*' new many"
	b=$(cut -d' ' -f1 /proc/uptime)
	tell trace many on
	c=$(cut -d' ' -f1 /proc/uptime)
	# what interrupts do, too: their hits are counted in any case
	tell all
	read x </proc/version
	tell stop
	tell trace many off
	d=$(cut -d' ' -f1 /proc/uptime)
	echo "new $a to $b, on to $c, off to $d"
	# of every call that was entered, the exit; but for the write that says stop, and for what the timer
	# of tcp_orphan_update has a core do meanwhile
	in=$(counter traceinhits) out=$(counter traceouthits)
	records | cut -d' ' -f1,2,4 >/tmp/log
	echo "in $in, out $out, records $(wc -l </tmp/log)"
	[ "$in" -ge 1 ]
	is "$(grep -c ^E /tmp/log) $(grep -c ^X /tmp/log)" "$in $out"
	[ $((in - out)) -ge 1 ] && [ $((in - out)) -le 3 ]
}

case_check_unload_while_tasks_sleep_in_what_is_traced() {
	tell trace traced_sleep new s
	tell "trace 'do_wait hrtimer_nanosleep do_nanosleep *_nanosleep schedule_*' new t"
	tell trace s on
	tell trace t on
	tell start
	(sleep 1; : >/tmp/slept) &
	p=$!
	do_traced sleep 20
	rmmod traced
	rmmod devtrace
	# it returns to where it came from, long after
	wait $p
	[ -e /tmp/slept ]
	rm /tmp/slept
	load
	tell trace do_nanosleep new s
	tell trace s on
	tell start
	sleep 0.01
	[ "$(counter traceouthits)" -ge 1 ]
}

case_check_fuzz_of_the_language() {
	end=$(($(date +%s) + ${FUZZ:-10}))
	words='trace new on off remove rename delete list size logsize watch start stop all freeze unfreeze arm disarm events subsystem uniform policy query testtracein reset ENTRY EXIT COUNT CONST FREEZE LATEFREEZE ALLREGS REG STACK rax 0 1 7 -1 ffffffff81000000 traced_call traced_nest traced_* vfs_* !vfs_read vfs_read+5 a b c 13 4 99999999999 switches syscalls interrupts'
	set -- $words
	tried=0
	set +x
	while [ "$(date +%s)" -lt $end ] || [ $tried -lt 20 ]; do
		# bytes of any kind, and words of the language in any order
		head -c 60 /dev/urandom >$C 2>/dev/null || true
		line=
		for r in $(head -c 12 /dev/urandom | od -An -tu1); do
			eval "w=\${$((r % $# + 1))}"
			line="$line $w"
			[ $((r % 5)) = 0 ] && break
		done
		case $line in *uniform*|*' all'*|*size*99*) continue ;; esac
		echo "$line" >$C 2>/dev/null || true
		cat $C >/dev/null
		tried=$((tried + 1))
	done
	set -x
	do_traced calls 3
}

# How long a thousand functions take to be switched on and off, beside the kernel's own tracer: ms, means
# of TURNS
soak_a_thousand_functions() {
	T=/sys/kernel/debug/tracing
	tell "trace 'ext4_* tcp_* vfs_*' new many"
	tell trace many on
	n=$(wc -l <$T/enabled_functions)
	cut -d' ' -f1 $T/enabled_functions >/tmp/names
	tell trace many off
	now() { sed 's/\([0-9]*\)\.\([0-9]*\).*/\1\20/' /proc/uptime; }
	on=0 off=0
	for i in $(seq ${TURNS:-10}); do
		a=$(now)
		echo 'trace many on' >$C
		b=$(now)
		echo 'trace many off' >$C
		c=$(now)
		on=$((on + b - a)) off=$((off + c - b))
	done
	echo "# $n functions, entry and exit: on $((on / TURNS)) ms, off $((off / TURNS)) ms" >/dev/console
	cat /tmp/names >$T/set_ftrace_filter
	on=0 off=0
	for i in $(seq ${TURNS:-10}); do
		a=$(now)
		echo function >$T/current_tracer
		b=$(now)
		echo nop >$T/current_tracer
		c=$(now)
		on=$((on + b - a)) off=$((off + c - b))
	done
	echo "# the kernel's own function tracer, entry: on $((on / TURNS)) ms, off $((off / TURNS)) ms" >/dev/console
	echo >$T/set_ftrace_filter
}
