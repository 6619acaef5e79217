# SPDX-License-Identifier: MIT
# The language, as the papers have it, with echo and cat alone.

case_check_001_session_of_figure_2() {
	unload
	load
	is "$(sed 's/^\(#tracelog\).*/\1/' $C)" "logsize 8192
#tracehits 0, in queue 0
#tracelog
#newplfail 0
#traceactive 0
#slothits 0
#traceinhits 0
watch 0"
	from=$(address traced_call)
	last=$(printf %x $((0x$from + 40)))
	echo "trace $from $last new traced" >$C
	is "$(sed -n 2p $C)" "trace $from $last new traced"
	is "$(sed -n 3p $C)" "#trace $from traced? 0000000000000000"
	echo 'trace traced on' >$C
	echo start >$C
	do_traced calls 10
	is "$(sed -n '3p;4p' $C)" "#trace $from traced? 0000000000000001
trace traced on"
	is "$(counter tracehits) $(counter traceinhits) $(counter traceouthits) $(counter traceactive)" "20 10 10 1"
	# as in the figure: hits, and three look-ups by reading
	[ "$(counter slothits)" -ge 20 ]
	echo stop >$C
	records >/tmp/log
	is "$(wc -c </tmp/log)" 2420
	# entry and exit, their arguments and results
	is "$(cut -d' ' -f1 /tmp/log | tr -d '\n')" EXEXEXEXEXEXEXEXEXEX
	is "$(sed -n 7p /tmp/log | cut -d' ' -f5-)" "0000000000000003 0000000000000002 0000000000000003 0000000000000004"
	is "$(sed -n 8p /tmp/log | cut -d' ' -f5-)" "0000000000000ca2 0000000000000000 0000000000000000 0000000000000000" ||
		is "$(sed -n 8p /tmp/log | cut -d' ' -f5)" 0000000000000ca2
	is "$(sed -n 6p /tmp/log | cut -d' ' -f5)" fffffffffffffffe
	# read is read
	is "$(records | wc -c)" 0
	is "$(counter tracehits)" 20
}

case_check_002_ranges_by_every_way_to_write_them() {
	from=$(address traced_call)
	tell trace traced_call new byname
	tell trace traced_nest+0 traced_nest+8 new bysum
	tell "trace 'traced:*empty' new bymodule"
	tell "trace 'traced_sl* !traced_slow*' new bypattern"
	tell "trace '+traced_empty !vmlinux:*' new two"
	for r in byname bysum bymodule bypattern; do tell trace $r on; done
	tell start
	do_traced calls 1
	do_traced nest 2
	do_traced time 2
	do_traced sleep 1
	is "$(counter traceinhits)" 7
	refused 'overlaps with existing trace' trace traced_call new again
	refused 'no function that can be traced matches' trace 'nosuch_*' new none
	refused 'no function that can be traced' trace do_syscall_64 new none
	refused 'no function that can be traced' trace traced_datum new none
	refused 'nor a hexadecimal number' trace nosuch new none
	refused 'already exists' trace traced_sleep new byname
	refused 'unknown command' bogus
	refused 'PID must be greater' watch -1
	refused 'can not wait' policy wait
	refused "can't allocate" size 40
	refused 'usage: start' start now
	tell trace byname rename other
	tell trace other off
	tell delete bymodule bysum
	do_traced calls 1
	do_traced time 5
	is "$(counter traceinhits)" 7
}

case_check_a_self_test_that_fails_refuses_to_load() {
	unload
	# without a node no exit is recorded
	! insmod /devtrace.ko nodes=0 2>/dev/null || false
	dmesg | tail -n 3 | grep 'devtrace: not loaded: '
	! [ -e $C ] || false
	load
}

case_check_loading_and_unloading() {
	tell "trace 'traced_*' new t"
	tell trace t on
	tell trace traced_call REG rdi
	tell switches on
	tell start
	do_traced calls 3
	unload
	load
	is "$(cat $C | grep -vc '^#')" 2
}

case_check_003_state_written_back_is_restored() {
	tell size 5
	tell "trace 'traced_c* !traced_copy' new 'a name' EXIT CONST 0x7"
	tell trace "'a name'" on
	tell trace traced_empty new e ENTRY
	tell trace traced_nest REG rdi LATEFREEZE 10
	tell watch 1 2 77
	tell policy drop
	tell subsystem 7 off
	tell subsystem syscall off
	tell switches on
	tell all
	cat $C >/tmp/saved
	clean
	cat /tmp/saved >$C
	state >/tmp/now
	grep -v '^#' /tmp/saved | cmp - /tmp/now || { cat /tmp/now; cat /tmp/saved; false; }
}

case_check_a_long_write_that_is_killed() {
	# commands that would take minutes; killed when it has been at them for a moment
	yes 'watch 1
watch 0' | head -n 200000 >/tmp/many
	dd if=/tmp/many of=$C bs=16M 2>/dev/null &
	p=$!
	while [ "$(cut -d' ' -f15 /proc/$p/stat)" -lt 30 ]; do sleep 0.05; done
	kill -9 $p
	wait $p || true
	rm /tmp/many
	grep '^#error' $C
	grep -q '^#error devtrace: interrupted before line [0-9]' $C
	tell watch 0
}

case_check_004_counts_without_a_record() {
	tell trace traced_call new faults COUNT
	tell trace faults on
	tell start
	do_traced calls 1000
	is "$(counter traceinhits) $(counter tracehits) $(count 'left out')" "1000 0 2000"
}

case_check_018_sizes_and_what_stays() {
	tell size 4
	is "$(head -n 1 $C)" 'logsize 16'
	tell trace traced_call new c ENTRY
	tell trace c on
	# on one core, so in one ring
	tell start
	taskset 1 sh -c 'echo calls 1000 >/proc/traced'
	tell stop
	is "$(counter tracehits)" 1000
	records >/tmp/log
	# the newest; while a full ring is read it gives up its oldest quarter first
	is "$(tail -n 1 /tmp/log | cut -d' ' -f5)" 00000000000003e7
	[ "$(wc -l </tmp/log)" -ge 12 ]
	# one record is a log, too
	tell size 0
	tell start
	taskset 1 sh -c 'echo calls 10 >/proc/traced'
	tell stop
	records >/tmp/log
	! grep -qvE '^E [0-9a-f]{16} [0-9a-f]{16} [0-9a-f]{16} 0000000000000009 0000000000000002 0000000000000003 0000000000000004$' /tmp/log || false
	tell size 4
	# the oldest
	tell reset
	tell policy drop
	tell start
	taskset 1 sh -c 'echo calls 1000 >/proc/traced'
	tell stop
	records >/tmp/log
	is "$(head -n 1 /tmp/log | cut -d' ' -f5) $(wc -l </tmp/log)" '0000000000000000 16'
	is "$(counter newplfail)" 984
}

case_check_019_odd_reads() {
	tell trace traced_call new c
	tell trace c on
	tell start
	do_traced calls 4
	tell stop
	is "$(dd if=/dev/trace bs=120 count=1 2>/dev/null | wc -c)" 0
	is "$(dd if=/dev/trace bs=250 count=1 2>/dev/null | wc -c)" 242
	is "$(dd if=/dev/trace bs=121 count=2 2>/dev/null | wc -c)" 242
	is "$(dd if=/dev/trace bs=4096 count=1 2>/dev/null | wc -c)" 484
	is "$(dd if=/dev/trace bs=4096 count=1 2>/dev/null | wc -c)" 0
}

case_check_query_and_testtracein() {
	tell trace traced_call new c
	tell query traced_call
	is "$(said)" 'Probing is disabled'
	tell trace c on
	# answers are read by who has it open for both
	exec 3<>$C
	echo 'query traced_call' >&3
	is "$(cat <&3)" 'Probing is enabled'
	exec 3>&-
	tell testtracein traced_call a b c d
	records >/tmp/log
	is "$(cut -d' ' -f1,5- /tmp/log)" 'E 000000000000000a 000000000000000b 000000000000000c 000000000000000d'
}

case_check_modules_that_come_later() {
	rmmod traced 2>/dev/null || true
	tell trace +traced:traced_call new later
	tell trace later on
	tell "trace '* !vmlinux:* !devtrace:* !*:*_load' new all"
	tell trace all on
	tell start
	insmod /traced.ko
	# it is hooked a little after it has been loaded
	for i in $(seq 400); do
		do_traced calls 1
		[ "$(counter traceinhits)" -ge 1 ] && break
		sleep 0.05
	done
	tell reset
	do_traced calls 5
	[ "$(counter traceouthits)" -ge 5 ]
	tell stop
	# and it goes
	rmmod traced
	grep -q 'trace later on' $C
	insmod /traced.ko
}

case_check_functions_that_have_gone_are_left_out() {
	insmod /gone.ko
	do_traced hold
	rmmod gone &
	p=$!
	# it is on its way: told of, and not gone
	while ! grep -q '^gone .* Unloading' /proc/modules; do sleep 0.01; done
	sleep 0.1
	tell "trace 'gone:* traced:traced_call' new g"
	do_traced release
	wait $p
	tell trace g on
	said
	case $(said) in
	*'1 functions have gone with their modules'*'the others are traced') ;;
	*) false ;;
	esac
	is "$(grep '^#gone' $C)" '#gone 1'
	tell start
	do_traced calls 3
	is "$(counter tracehits)" 6
	# what is known of them now is true
	tell trace g off
	dmesg -c >/dev/null
	tell trace g on
	is "$(said)" ''
	is "$(grep '^#gone' $C)" ''
}

case_check_nodes_that_can_not_be() {
	unload
	free() { sed -n 's/MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo; }
	before=$(free)
	for n in 0 1048577 4294967295; do
		! insmod /devtrace.ko nodes=$n 2>/dev/null || false
		case $(said) in
		*"nodes=$n: it can be from 1 to 1048576") ;;
		*) is "$(said)" "a line about nodes=$n" ;;
		esac
	done
	# more than half of what is free; 6.1 takes seconds to have so little
	if ! grep -q 'version 6\.1\.' /proc/version; then
		mount -o remount,size=95%,huge=always /dev/shm
		fallocate -l $((before - 120000))k /dev/shm/ballast
		! insmod /devtrace.ko nodes=1048576 2>/dev/null || false
		case $(said) in
		*'nodes=1048576 takes '*' MiB that are free: at most half') ;;
		*) is "$(said)" "a line about nodes=$n" ;;
		esac
		rm -f /dev/shm/ballast
	fi
	load
}

case_check_the_65th_reader_is_told_why() {
	rm -f /tmp/enough
	: >/tmp/opened
	map readers 64 /tmp/enough >/tmp/opened &
	p=$!
	while [ "$(wc -c </tmp/opened)" -lt 64 ]; do sleep 0.05; done
	! sh -c 'exec 3</dev/trace' 2>/tmp/why || false
	cat /tmp/why
	grep -q 'Too many users' /tmp/why
	case $(said) in
	*'/dev/trace is open in 64 processes already'*) ;;
	*) false ;;
	esac
	! devtrace record -k -o /tmp/x.db /bin/io 2>/tmp/why || false
	cat /tmp/why
	grep -q 'open in as many processes as can have it' /tmp/why
	: >/tmp/enough
	wait $p
	rm -f /tmp/enough /tmp/opened
	exec 3</dev/trace
	exec 3<&-
}
