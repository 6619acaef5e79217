# SPDX-License-Identifier: MIT
# The commands: a program and the kernel in one trace.

case_check_record_program_and_kernel() {
	/bin/io >/tmp/alone
	devtrace record -k -o /tmp/k.db /bin/io >/tmp/traced
	cmp /tmp/alone /tmp/traced
	devtrace calls /tmp/k.db >/tmp/calls
	cat /tmp/calls
	# as it was
	[ "$(cat $C | grep -v '^#')" = "$fresh" ]
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
	! grep -q 'unwound\|entry not recorded' /tmp/ask
	devtrace report /tmp/k.db | head -n 20
}

case_check_record_the_kernel_alone() {
	devtrace attach -k'vfs_read vfs_write' -o /tmp/a.db 2>/tmp/err &
	p=$!
	while [ "$(counter traceactive)" = 0 ]; do sleep 0.05; done
	dd if=/proc/version of=/dev/null bs=64 2>/dev/null
	# not while somebody uses it
	! devtrace record -k -o /tmp/b.db /bin/io 2>/tmp/busy
	grep -q "the kernel's device is in use" /tmp/busy
	kill -INT $p
	wait $p
	devtrace calls /tmp/a.db >/tmp/calls
	grep -q 'vfs_read(file=0x[0-9a-f]*, buf=0x[0-9a-f]*, count=64, pos=0x[0-9a-f]*) = 64' /tmp/calls
	[ "$(cat $C | grep -v '^#')" = "$fresh" ]
}

case_check_mount_shows_the_kernel() {
	[ ! -e /fuse.ko ] || insmod /fuse.ko
	mknod /dev/fuse c 10 229 2>/dev/null || true
	mkdir -p /tmp/mnt
	devtrace mount -f /tmp/mnt >/tmp/mount 2>&1 &
	p=$!
	for i in $(seq 100); do [ -e /tmp/mnt/kernel/ctl ] && break; sleep 0.05; done
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
