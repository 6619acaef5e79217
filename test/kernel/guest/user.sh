# SPDX-License-Identifier: MIT
# The commands: a program and the kernel in one trace.

case_check_record_program_and_kernel() {
	/bin/io >/tmp/alone
	devtrace record -k -o /tmp/k.db /bin/io >/tmp/traced
	cmp /tmp/alone /tmp/traced
	devtrace calls /tmp/k.db >/tmp/calls
	cat /tmp/calls
	# as it was
	[ "$(state)" = "$fresh" ]
	# under the calls that caused them, with what they were called with, in both processes
	sed 's/^ *[0-9.]* us//; s/^ *//; s/0x[0-9a-f]*/P/g' /tmp/calls >/tmp/tree
	sed -n '/^ask(v=100)/,/^} = 101/p' /tmp/tree >/tmp/ask
	is "$(cat /tmp/ask)" 'ask(v=100) {
__x64_sys_write(fd=4, buf=P, count=64) {
ksys_write(fd=4, buf=P, count=64) {
vfs_write(file=P, buf=P, count=64, pos=P) = 64
} = 64  /* ksys_write */
} = 64  /* __x64_sys_write */
__x64_sys_read(fd=5, buf=P, count=64) {
ksys_read(fd=5, buf=P, count=64) {
vfs_read(file=P, buf=P, count=64, pos=P) = 64
} = 64  /* ksys_read */
} = 64  /* __x64_sys_read */
} = 101  /* ask */'
	is "$(sed -n '/^serve_one/,/^} = 64  .. serve_one/p' /tmp/tree | head -n 9 | tail -n 8)" '__x64_sys_read(fd=3, buf=P, count=64) {
ksys_read(fd=3, buf=P, count=64) {
vfs_read(file=P, buf=P, count=64, pos=P) = 64
} = 64  /* ksys_read */
} = 64  /* __x64_sys_read */
__x64_sys_write(fd=6, buf=P, count=64) {
ksys_write(fd=6, buf=P, count=64) {
vfs_write(file=P, buf=P, count=64, pos=P) = 64'
	! grep -q 'unwound\|entry not recorded' /tmp/ask || false
	devtrace report /tmp/k.db | head -n 20
}

# points_of FILE: in the order of time, without times and addresses
points_of() {
	devtrace calls "$1" | grep -v '^#' | sed 's/^ *[0-9.]* us//; s/^[ *]*//; s/0x[0-9a-f]\{12,16\}/P/g'
}

case_check_record_points_in_the_kernel() {
	# as many values as take two records, a constant, and a point for one process only
	printf '#!/bin/sh\necho calls 3 >/proc/traced\necho nest 1 >/proc/traced\n' >/tmp/calls.sh
	chmod +x /tmp/calls.sh
	devtrace record -o /tmp/p.db -T 'kernel:traced_call REG rdi REG si REG rdx REG cl REG rcx LOC traced_datum CONST 0x77' \
		-T 'kernel:traced_nest PSR ONLYPID 1' /bin/sh /tmp/calls.sh
	points_of /tmp/p.db >/tmp/points
	cat /tmp/points
	is "$(tr '\n' ';' </tmp/points)" 'traced_call(rdi=0x0, si=2, rdx=0x3, cl=4);rcx=0x4, traced_datum=0xda7a;const=0x77;traced_call(rdi=0x1, si=2, rdx=0x3, cl=4);rcx=0x4, traced_datum=0xda7a;const=0x77;traced_call(rdi=0x2, si=2, rdx=0x3, cl=4);rcx=0x4, traced_datum=0xda7a;const=0x77;'
	[ "$(state)" = "$fresh" ]
	# what is wrong is said, and nothing is left
	! devtrace record -o /tmp/p.db -T 'kernel:nosuch REG rdi' true 2>/tmp/err || false
	grep -q "the kernel has no function 'nosuch'" /tmp/err
	[ "$(state)" = "$fresh" ]
}

# begin_session NAME: records traced_call's first argument in /tmp/c.db; sets d, its process
begin_session() {
	devtrace attach -T 'kernel:traced_call REG rdi' -s $1 -o /tmp/c.db 2>/tmp/attach &
	d=$!
	while ! devtrace ctl -s $1 2>/dev/null | grep -q '^trace kernel:traced_call'; do
		kill -0 $d || { cat /tmp/attach; false; }
		sleep 0.1
	done
}

case_check_ctl_of_a_session_in_the_kernel() {
	begin_session kernel
	ctl() { devtrace ctl -s kernel "$@"; }
	ctl trace 'kernel:traced_n*' new nests CONST 0x5
	do_traced nest 1
	ctl trace nests on
	do_traced calls 2
	# other values: what was made before keeps its own
	ctl trace kernel:traced_call REG rsi
	do_traced calls 2
	# the same, for another: nothing is missed
	ctl trace kernel:traced_call REG rsi CONST 0x9
	do_traced calls 1
	do_traced nest 0
	ctl >/tmp/state
	ctl delete kernel:traced_call
	ctl trace nests remove
	do_traced calls 5
	do_traced nest 1
	is "$(grep -v '^#' $C | grep -c '^trace')" 0
	! ctl trace 'kernel:nosuch_*' new none 2>/tmp/err || false
	grep -q 'no function that can be traced matches' /tmp/err
	! ctl trace 'kernel:traced_* main' new both 2>/tmp/err || false
	grep -q 'make a range of their own' /tmp/err
	! ctl trace kernel:traced_call VALUE a 2>/tmp/err || false
	grep -q 'variables of the kernel.s source are not known' /tmp/err
	! ctl trace kernel:asm_exc_int3 REG rdi 2>/tmp/err || false
	grep -q 'no tracepoint can be at' /tmp/err
	! ctl trace kernel:traced_known+3 2>/tmp/err || false
	grep -q 'in the middle of an instruction' /tmp/err
	kill -INT $d
	wait $d || true
	points_of /tmp/c.db >/tmp/points
	cat /tmp/points /tmp/state
	# the kernel's records are counted as the processes' are
	is "$(sed -n 's/^#tracehits \([0-9]*\), .*/\1/p' /tmp/state)" "$(devtrace cat /tmp/c.db | wc -l)"
	is "$(tr '\n' ';' </tmp/points)" 'traced_call(rdi=0x0);traced_call(rdi=0x1);traced_call(rsi=0x2);traced_call(rsi=0x2);traced_call(rsi=0x2);const=0x9;traced_nest(0x0, 0x0, 0x0, P, const=0x5) = 0x1;'
	[ "$(state)" = "$fresh" ]
}

case_check_F16_a_session_that_sets_its_points_again() {
	begin_session again
	rm -f /tmp/enough
	# the first argument is which call it is, the second always 2
	(n=0; while [ ! -e /tmp/enough ]; do do_traced calls 20; n=$((n + 20)); sleep 0.002; done; echo $n >/tmp/made) &
	p=$!
	for i in 1 2 3 4 5 6 7 8; do
		echo 'trace kernel:traced_call REG rsi CONST 0x9
trace kernel:traced_call REG rdx REG rsi REG rcx REG rdi REG rdi
trace kernel:traced_call
trace kernel:traced_call REG rdi'
	done >/tmp/again
	devtrace ctl -s again - </tmp/again >/dev/null
	: >/tmp/enough
	wait $p
	rm /tmp/enough
	kill -INT $d
	wait $d || true
	points_of /tmp/c.db >/tmp/points
	sed 's/0x[0-9a-f]*)/N)/; s/rdi=0x[0-9a-f]*/rdi=N/g' /tmp/points | sort | uniq -c
	# each call once, whichever it was recorded by, and its values as that one has them
	is "$(grep -c '^traced_call' /tmp/points)" "$(cat /tmp/made)"
	is "$(grep '^traced_call' /tmp/points | grep -cvE '^traced_call(\(rdi=0x[0-9a-f]*\)|\(rsi=0x2\)|\(rdx=0x3, rsi=0x2, rcx=0x4, rdi=0x[0-9a-f]*\)|\(?\)?)$')" 0
	is "$(grep -c 'rsi=0x2)' /tmp/points)" "$(grep -c '^const=0x9' /tmp/points)"
	is "$(grep -c 'rdx=' /tmp/points)" "$(grep -c '^rdi=' /tmp/points)"
	# there were some of each
	for what in rdi=0x rsi=0x2 rdx=0x3; do grep -q "^traced_call($what" /tmp/points; done
	grep -qE '^traced_call(\(\))?$' /tmp/points
}

case_check_a_session_that_is_killed_leaves_the_device() {
	for how in record attach; do
		case $how in
		record) devtrace record -k -o /tmp/x.db -T 'kernel:traced_call REG rdi' sleep 1000 & ;;
		attach) devtrace attach -k -o /tmp/x.db -T 'kernel:traced_call REG rdi' & ;;
		esac
		p=$!
		while ! grep -q '^start' $C; do sleep 0.02; done
		do_traced calls 1
		kill -9 $p
		wait $p || true
		# a child that has not begun its program yet has it open a moment longer
		while [ "$(state)" != "$fresh" ]; do sleep 0.02; done
		is "$(counter traceactive)" 0
		killall sleep 2>/dev/null || true
	done
}

case_check_record_the_kernel_alone() {
	devtrace attach -k'vfs_read vfs_write' -o /tmp/a.db 2>/tmp/err &
	p=$!
	while [ "$(counter traceactive)" = 0 ]; do sleep 0.05; done
	dd if=/proc/version of=/dev/null bs=64 2>/dev/null
	# while somebody uses it, BPF records for another one
	devtrace record -k'__x64_sys_getppid' -o /tmp/b.db /bin/io 2>/tmp/busy
	cat /tmp/busy
	grep -q "the kernel is recorded by BPF: its module's device is in use" /tmp/busy
	kill -INT $p
	wait $p
	devtrace calls /tmp/a.db >/tmp/calls
	grep -q 'vfs_read(file=0x[0-9a-f]*, buf=0x[0-9a-f]*, count=64, pos=0x[0-9a-f]*) = 64' /tmp/calls
	[ "$(state)" = "$fresh" ]
}

case_check_mount_shows_the_kernel() {
	[ ! -e /fuse.ko ] || insmod /fuse.ko
	mknod /dev/fuse c 10 229 2>/dev/null || true
	mkdir -p /tmp/mnt
	devtrace mount -f /tmp/mnt >/tmp/mount 2>&1 &
	p=$!
	for i in $(seq 1000); do [ -e /tmp/mnt/kernel/ctl ] && break; sleep 0.05; done
	grep -q '^logsize' /tmp/mnt/kernel/ctl || { cat /tmp/mount; ls -la /tmp/mnt; false; }
	echo 'trace traced_call new c' >/tmp/mnt/kernel/ctl
	echo 'trace c on' >/tmp/mnt/kernel/ctl
	echo start >/tmp/mnt/kernel/ctl
	do_traced calls 2
	is "$(cat /tmp/mnt/kernel/trace | wc -l)" 4
	is "$(ls /tmp/mnt/kernel | tr '\n' ' ')" 'ctl trace '
	kill $p
	wait $p
	[ ! -e /fuse.ko ] || rmmod fuse
}
