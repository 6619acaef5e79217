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
__x64_sys_write(regs=P) {
ksys_write(fd=4, buf=P, count=64) {
vfs_write(file=P, buf=P, count=64, pos=P) = 64
} = 64  /* ksys_write */
} = 64  /* __x64_sys_write */
__x64_sys_read(regs=P) {
ksys_read(fd=5, buf=P, count=64) {
vfs_read(file=P, buf=P, count=64, pos=P) = 64
} = 64  /* ksys_read */
} = 64  /* __x64_sys_read */
} = 101  /* ask */'
	is "$(sed -n '/^serve_one/,/^} = 64  .. serve_one/p' /tmp/tree | head -n 9 | tail -n 8)" '__x64_sys_read(regs=P) {
ksys_read(fd=3, buf=P, count=64) {
vfs_read(file=P, buf=P, count=64, pos=P) = 64
} = 64  /* ksys_read */
} = 64  /* __x64_sys_read */
__x64_sys_write(regs=P) {
ksys_write(fd=6, buf=P, count=64) {
vfs_write(file=P, buf=P, count=64, pos=P) = 64'
	! grep -q 'unwound\|entry not recorded' /tmp/ask
	devtrace report /tmp/k.db | head -n 20
}
