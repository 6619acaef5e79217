# SPDX-License-Identifier: MIT
# Who is recorded, and in which context.

traced_as() {
	tell trace traced_call new c
	tell trace c on
}

case_check_020_watch_several() {
	traced_as
	(sleep 1000) & a=$!
	# processes that say who they are, and call when told to
	mkfifo /tmp/go1 /tmp/go2 /tmp/go3
	for i in 1 2 3; do
		sh -c 'echo $$ >/tmp/pid'$i'; read x </tmp/go'$i'; echo calls '$i' >/proc/traced; : >/tmp/done'$i &
	done
	for i in 1 2 3; do
		while [ ! -s /tmp/pid$i ]; do sleep 0.02; done
	done
	tell watch "$(cat /tmp/pid1)" "$(cat /tmp/pid3)"
	tell start
	for i in 1 2 3; do
		echo >/tmp/go$i
		while [ ! -e /tmp/done$i ]; do sleep 0.02; done
	done
	is "$(counter tracehits) $(counter traceinhits)" '8 6'
	is "$(grep -c '^watch' $C)" 2
	# check-021: all again
	tell watch 0
	do_traced calls 5
	is "$(counter tracehits)" 18
	kill $a
	rm -f /tmp/go? /tmp/pid? /tmp/done?
}

case_check_020_children_that_are_followed() {
	traced_as
	# one for each who reads: what is written while the one before still has it open is gone
	mkfifo /tmp/go /tmp/more
	sh -c 'echo $$ >/tmp/pid; read x </tmp/go; sh -c ": >/tmp/born; read y </tmp/more; echo calls 3 >/proc/traced; : >/tmp/done"; :' &
	while [ ! -s /tmp/pid ]; do sleep 0.02; done
	tell follow on
	tell watch "$(cat /tmp/pid)"
	tell start
	echo >/tmp/go
	while [ ! -e /tmp/born ]; do sleep 0.02; done
	# another command does not forget who is followed
	tell subsystem 9 off
	tell watch 1
	echo >/tmp/more
	while [ ! -e /tmp/done ]; do sleep 0.02; done
	is "$(counter tracehits)" 6
	tell follow off
	wait
	rm /tmp/go /tmp/more /tmp/pid /tmp/born /tmp/done
}

case_check_022_only_pid() {
	tell trace traced_call new c ONLYPID "$(me)"
	tell trace c on
	tell trace traced_nest ONLYPID 1
	tell start
	sh -c 'echo calls 3 >/proc/traced'
	do_traced calls 2
	do_traced nest 2
	is "$(counter tracehits)" 4
}

case_check_023_interrupts_on_request_only() {
	traced_as
	tell start
	do_traced hard 5
	do_traced soft 6
	do_traced calls 1
	is "$(counter tracehits) $(counter traceinhits) $(count 'left out')" '2 12 11'
	tell reset
	tell all
	do_traced hard 5
	do_traced soft 6
	do_traced calls 1
	tell stop
	is "$(counter tracehits)" 24
	records >/tmp/log
	# check-024: no process, all ones
	is "$(cut -d' ' -f4 /tmp/log | grep -c ffffffffffffffff)" 22
}

case_check_023_nmi() {
	tell "trace '*printk_cpu_sync_* nmi_cpu_backtrace_handler' new n"
	tell trace n on
	tell all
	dmesg -n 1
	echo l >/proc/sysrq-trigger
	for i in $(seq 100); do
		[ "$(counter traceouthits)" -ge 2 ] && break
		sleep 0.1
	done
	tell stop
	records >/tmp/log
	[ "$(wc -l </tmp/log)" -ge 2 ]
	# that of another core came as an NMI
	grep -q 'ffffffffffffffff' /tmp/log
}

case_check_025_a_program_that_traces_itself() {
	tell trace vfs_read new r
	tell trace r on
	sh -c 'exec 3<>/dev/tracectl; echo watch $$ >&3; echo start >&3; read x </proc/version; echo stop >&3; echo $$ >/tmp/self'
	records >/tmp/log
	[ "$(wc -l </tmp/log)" -ge 2 ]
	is "$(cut -d' ' -f4 /tmp/log | sort -u)" "$(printf %016x "$(cat /tmp/self)")"
}

case_check_047_who_reads_is_not_traced_and_others_are() {
	tell trace vfs_read new r
	tell trace r on
	tell start
	# the others read a file again and again, two hundred times each
	for i in 1 2; do
		sh -c 'for i in $(seq 200); do read x </proc/version; done; : >/tmp/end'$i &
	done
	: >/tmp/all
	: >/tmp/readers
	# each of them reads many times, as long as there is something
	while [ ! -e /tmp/end1 ] || [ ! -e /tmp/end2 ]; do
		sh -c 'echo $$ >>/tmp/readers; exec dd if=/dev/trace bs=12100 count=50' 2>/dev/null >>/tmp/all
	done
	wait
	tell stop
	records >>/tmp/all
	[ "$(grep -c '^E' /tmp/all)" -ge 400 ]
	while read -r reader; do printf '%016x\n' "$reader"; done </tmp/readers >/tmp/numbers
	! cut -d' ' -f4 /tmp/all | grep -qxFf /tmp/numbers || false
	rm -f /tmp/end? /tmp/readers /tmp/numbers
}

case_check_078_permissions() {
	is "$(stat -c %a $C) $(stat -c %a /dev/trace)" '600 400'
	! su -s /bin/sh nobody -c 'echo start >/dev/tracectl' 2>/dev/null || false
	! su -s /bin/sh nobody -c 'cat /dev/trace' 2>/dev/null || false
	is "$(counter traceactive)" 0
}

case_check_078_a_group() {
	unload
	insmod /devtrace.ko group=1234
	insmod /traced.ko
	echo 'member:x:2000:1234::/:/bin/sh' >>/etc/passwd
	echo 'other:x:2001:2001::/:/bin/sh' >>/etc/passwd
	su -s /bin/sh member -c 'echo start >/dev/tracectl; cat /dev/trace; cat /dev/tracectl' >/tmp/group
	grep -q '^#traceactive 1' /tmp/group
	! su -s /bin/sh other -c 'cat /dev/tracectl' 2>/dev/null || false
	! su -s /bin/sh other -c 'cat /dev/trace' 2>/dev/null || false
	unload
	load
}
