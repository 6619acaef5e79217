# SPDX-License-Identifier: MIT
# System calls: those of 32-bit programs, those that are devtrace's own, those of a PID namespace.

# functions_of FILE [CONDITION]: which of the kernel's were called, and how often
functions_of() {
	devtrace sql --csv --no-header "$1" "SELECT function, count(*) FROM records WHERE kind = 'E' AND function GLOB '__*sys_*' ${2-} GROUP BY function" | tr -d '\r'
}

# lines_of FILE: its calls in the kernel, without times and addresses
lines_of() {
	devtrace calls "$1" | grep -o '__[a-z0-9_]*sys_.*' | sed 's/0x[0-9a-f]\{5,16\}/P/g'
}

case_check_32_bit_calls_by_function() {
	devtrace record -k -o /tmp/c.db /bin/known80 >/tmp/printed || is $? 7
	is "$(cat /tmp/printed)" aababc
	lines_of /tmp/c.db >/tmp/calls
	cat /tmp/calls
	# of what has no argument, one function is for both, and has the other name
	is "$(sed -n '/__ia32_sys_write/,$p' /tmp/calls | grep '(' | sed 's/ {$//; s/  .*//; s/^\(__x64_sys_getpid() = \)[0-9]*$/\1N/')" "$(
		for i in 1 2 3; do
			printf '%s\n' "__ia32_sys_write(fd=1, buf=P, count=$i)" '__ia32_compat_sys_lseek(fd=0, offset=-5, whence=SEEK_SET)' \
				'__ia32_sys_access(path=P, mode=R_OK) = -2 ENOENT (No such file or directory)' '__x64_sys_getpid() = N'
		done
		echo '__ia32_sys_exit(status=7)')"
	devtrace sql --csv --no-header /tmp/c.db "SELECT value0 FROM records WHERE kind = 'X' AND function GLOB '__ia32*sys_[wl]*'" | tr -d '\r' >/tmp/results
	is "$(tr '\n' ' ' </tmp/results)" '1 -29 2 -29 3 -29 '
}

# events_of LOG EVENT: their calls' numbers and values
events_of() {
	awk -v e="fff1000$2" '$1 == "V" && substr($5, 1, 8) == e {print substr($5, 9), $6, $7, $8}' "$1" | sed 's/00000000\([0-9a-f]\{8\}\)/\1/g'
}

case_check_32_bit_calls_as_events() {
	tell syscalls on
	for p in known known80 known32; do
		tell stop
		tell reset
		tell watch 0
		tell follow on
		tell watch "$(me)"
		tell start
		$p >/tmp/printed || is $? 7
		tell stop
		records >/tmp/log
		tell follow off
		is "$(cat /tmp/printed)" aababc
		case $p in known) e=0 write=00000001 ;; *) e=2 write=00000004 ;; esac
		events_of /tmp/log $e >/tmp/enters
		events_of /tmp/log $((e + 1)) >/tmp/returns
		echo "$p: $(wc -l </tmp/enters) enters, $(wc -l </tmp/returns) returns"
		for i in 1 2 3; do
			is "$(grep -c "^$write 00000001 [0-9a-f]* 0000000$i\$" /tmp/enters)" 1
			grep -q "^$write 0000000$i " /tmp/returns
		done
		case $p in
		known) is "$(grep -c '^00000008 00000000 fffffffffffffffb 00000000' /tmp/enters)" 3 ;;
		*)
			is "$(grep -c '^00000013 00000000 fffffffb 00000000' /tmp/enters)" 3
			is "$(grep -c '^00000021 [0-9a-f]* 00000004' /tmp/enters)" 3
			is "$(grep -c '^00000001 00000007 ' /tmp/enters)" 1
			;;
		esac
	done
}

# own_calls WHAT COMMAND...: what a program does is in the trace, and nothing more
own_calls() {
	what=$1
	shift
	echo "# $what"
	"$@" >/tmp/printed || is $? 7
	is "$(cat /tmp/printed)" aababc
	functions_of /tmp/o.db "AND thread = (SELECT thread FROM records WHERE function = 'leaf' LIMIT 1) AND ticks > (SELECT COALESCE(max(ticks), 0) FROM records WHERE function LIKE '__x64_sys_execve')" >/tmp/functions
	cat /tmp/functions
	is "$(tr '\n' ' ' </tmp/functions)" '__x64_sys_access,3 __x64_sys_exit,1 __x64_sys_getpid,3 __x64_sys_lseek,3 __x64_sys_write,3 '
}

case_check_what_devtrace_does_in_a_program_is_not_the_programs() {
	# each call goes the slow way, which blocks signals; a ring that is often full
	own_calls 'a static program' devtrace record -k -b 64K -o /tmp/o.db /bin/known
	# what comes by execve is prepared while the kernel records
	own_calls 'one that is executed' devtrace record -f -k -b 64K -o /tmp/o.db -F leaf -F work /bin/io exec /bin/known
	# a libc's program: it blocks no signals, waits for nothing, and makes no futex call of its own
	devtrace record -k -b 64K -o /tmp/o.db /bin/io loop >/tmp/printed
	functions_of /tmp/o.db >/tmp/functions
	cat /tmp/functions
	is "$(grep -cE 'sigprocmask|gettid|futex|vm_readv' /tmp/functions)" 0
	is "$(grep '__x64_sys_write' /tmp/functions)" '__x64_sys_write,3'
	[ "$(state)" = "$fresh" ]
}

# By hand a million calls; emulated, each takes some 120 us to record and to read five times.
case_check_the_programs_calls_among_the_kernels() {
	for switches in '' -S; do
		devtrace record -k'__x64_sys_pread64 vfs_read' $switches -F step -F main -o /tmp/m.db /bin/io steps 30000 15
		# the dynamic linker reads more at once
		devtrace sql --csv --no-header /tmp/m.db "SELECT kind, function, count(*) FROM records
			WHERE function = 'step' OR function = '__x64_sys_pread64' AND (kind = 'E' AND value2 = 1 OR kind = 'X' AND value0 = 1) GROUP BY 2, 1 ORDER BY 2, 1" | tr -d '\r' | tr '\n' ' ' >/tmp/counts
		is "$(cat /tmp/counts)" 'E,__x64_sys_pread64,2000 X,__x64_sys_pread64,2000 E,step,30000 X,step,30000 '
		# the page's sums, made anew, are those of the calls, and those of sql; records of each core are in order
		devtrace check -a /tmp/m.db >/tmp/check
		cat /tmp/check
		grep -q 'm.db: sound: .* 0 lost' /tmp/check
		grep -q 'the same in report, .*in view, in sql' /tmp/check
		devtrace report /tmp/m.db >/tmp/report
		is "$(grep -c ' 30000 .* step$' /tmp/report)" 1
	done
}

case_check_in_a_pid_namespace() {
	cat >/tmp/inside.sh <<-'I'
		devtrace record -k -o /tmp/n.db /bin/io >/tmp/ns.out
		devtrace attach -k'vfs_read' -o /tmp/all.db 2>/tmp/err &
		p=$!
		while ! grep -q '^start' /dev/tracectl; do sleep 0.02; done
		: >/tmp/ns.go
		while [ ! -e /tmp/ns.gone ]; do sleep 0.02; done
		read x </proc/version
		kill -INT $p
		wait $p
		# by hand, they are the numbers of nobody knows whom
		echo 'watch 1' >/dev/tracectl 2>/dev/null && echo taken >>/tmp/ns.wrong
		dmesg | tail -n 1 >/tmp/ns.why
		echo 'trace vfs_read new r ONLYPID 1' >/dev/tracectl 2>/dev/null && echo taken >>/tmp/ns.wrong
		echo $$ >/tmp/ns.self
	I
	rm -f /tmp/ns.go /tmp/ns.gone /tmp/ns.wrong
	/bin/io >/tmp/alone
	(while [ ! -e /tmp/ns.go ]; do sleep 0.02; done; dd if=/proc/version of=/dev/null bs=7 count=20 2>/dev/null; : >/tmp/ns.gone) &
	unshare -p -f --mount-proc sh /tmp/inside.sh
	wait
	cat /tmp/err
	cmp /tmp/alone /tmp/ns.out
	is "$(cat /tmp/ns.self)" 1
	! [ -e /tmp/ns.wrong ] || false
	grep -q 'not those of your PID namespace' /tmp/ns.why
	# both processes, by the numbers that they have there, and nobody else
	devtrace sql --csv --no-header /tmp/n.db "SELECT thread, count(*) FROM records WHERE kind = 'E' AND function GLOB '__x64_sys_*' GROUP BY thread" | tr -d '\r' >/tmp/threads
	cat /tmp/threads
	is "$(wc -l </tmp/threads)" 2
	is "$(cut -d, -f1 /tmp/threads | awk '$1 < 2 || $1 > 60' | wc -l)" 0
	# under the same calls of the program, with the same values
	devtrace calls /tmp/n.db | sed 's/^ *[0-9.]* us//; s/^ *//; s/0x[0-9a-f]*/P/g' >/tmp/tree
	is "$(grep -c '^__x64_sys_write(fd=4, buf=P, count=64)' /tmp/tree)" 3
	is "$(sed -n '/^ask(v=100)/,/^} = 101/p' /tmp/tree | grep -c 'vfs_')" 2
	# everybody is who is there: dd, which reads 7 bytes at a time, is not
	is "$(devtrace sql --csv --no-header /tmp/all.db "SELECT count(*) FROM records WHERE kind = 'E' AND value2 = 7" | tr -d '\r')" 0
	devtrace sql --csv --no-header /tmp/all.db "SELECT thread, count(*) FROM records WHERE kind = 'E' GROUP BY thread" | tr -d '\r' >/tmp/threads
	cat /tmp/threads
	grep -q '^1,' /tmp/threads
	rm -f /tmp/ns.*
	[ "$(state)" = "$fresh" ]
}
