# SPDX-License-Identifier: MIT
# System calls in full: as strace prints them, of the same run. The files are compared outside, by strace.py.

# attach_all: all system calls of all processes are recorded, by the process $p, when it returns
attach_all() {
	sound /tmp/s.db
	rm -f /tmp/s.db
	devtrace attach -A 'syscall:*' -o /tmp/s.db 2>/tmp/err &
	p=$!
	# something that has been done is in the file
	while kill -0 $p && ! devtrace calls /tmp/s.db 2>/dev/null | grep -q 'filename="/nosuch'; do
		test ! -e /nosuch
		sleep 0.1
	done
}

# detach_all: ends that
detach_all() {
	kill -INT $p
	wait $p || { cat /tmp/err; false; }
}

# beside_strace NAME PROGRAM [ARGUMENT]...: has both look at it, and sends the lines of each thread to the console
beside_strace() {
	name=$1
	shift
	rm -rf /tmp/both
	mkdir /tmp/both
	attach_all
	/usr/bin/strace -ff -y -s 256 -o /tmp/both/st "$@" >/tmp/printed 2>&1 || true
	sleep 0.3
	detach_all
	for f in /tmp/both/st.*; do
		devtrace calls --thread ${f##*.} --fields none /tmp/s.db >/tmp/both/devtrace.${f##*.}
	done
	echo "@strace $name $(tar c -C /tmp/both . | gzip | base64 | tr -d '\n')" >/dev/console
	rm -r /tmp/both
}

case_check_strace_says_the_same() {
	mkdir -p /tmp/repo
	export HOME=/tmp
	/usr/bin/git init -q /tmp/repo
	# by BPF, also where the module is loaded; all in one run, since to begin one takes longest
	beside_strace programs sh -c '/usr/bin/ls -l /tmp; /usr/bin/find /sys/kernel/mm; /usr/bin/git -C /tmp/repo status
		dd if=/proc/version of=/tmp/copy bs=7; cat /etc/passwd | wc; kill -USR1 $$'
	rm -r /tmp/repo
}

# full_of PROGRAM: its system calls in full, without what is different each time; of a 32-bit program devtrace is not
# the parent
full_of() {
	if [ $1 = /bin/known32 ]; then
		attach_all >&2
		$1 >/tmp/printed </dev/null &
		q=$!
		wait $q || is $? 7
		sleep 0.3
		detach_all >&2
		devtrace calls --thread $q --fields none /tmp/s.db
	else
		devtrace record -k -A 'syscall:*' -o /tmp/s.db $1 >/tmp/printed 2>/tmp/err </dev/null || is $? 7
		cat /tmp/err >&2
		devtrace calls --fields none /tmp/s.db
	fi | grep '(' | sed 's/^ *//; s/^\[syscall[0-9x]*\]://; s/ *\/\*.*//; s/^\(getpid() = \)[0-9]*$/\1N/' | sed -n '/^write(fd=1<.tmp.printed/,$p'
}

case_check_strace_of_32_bits() {
	unload
	for what in known known80 known32; do
		full_of /bin/$what >/tmp/calls
		cat /tmp/calls
		is "$(cat /tmp/calls)" "$(
			for text in a ab abc; do
				printf '%s\n' "write(fd=1</tmp/printed>, buf=\"$text\", count=${#text}) = ${#text}" \
					"lseek(fd=0</dev/null>, offset=-5, whence=SEEK_SET) = 0" \
					'access(filename="/nosuch", mode=R_OK) = -2 ENOENT (No such file or directory)' 'getpid() = N'
			done
			echo 'exit(error_code=7)')"
		is "$(devtrace sql --csv --no-header /tmp/s.db "SELECT DISTINCT module FROM functions WHERE name = 'lseek'" | tr -d '\r' | grep -c '32')" $([ $what = known ] && echo 0 || echo 1)
	done
	# by the kernel's functions
	devtrace record -k'__ia32_*' -o /tmp/c.db /bin/known80 >/tmp/printed || is $? 7
	lines_of /tmp/c.db | sed 's/  .*//; s/^\(__x64_sys_getpid() = \)[0-9]*$/\1N/' >/tmp/calls
	cat /tmp/calls
	is "$(sed -n '/__ia32_sys_write/,$p' /tmp/calls)" "$(
		for i in 1 2 3; do
			printf '%s\n' "__ia32_sys_write(fd=1, buf=P, count=$i) = $i" '__ia32_compat_sys_lseek(fd=0, offset=-5, whence=SEEK_SET) = -29 ESPIPE (Illegal seek)' \
				'__ia32_sys_access(path=P, mode=R_OK) = -2 ENOENT (No such file or directory)' '__x64_sys_getpid() = N'
		done
		echo '__ia32_sys_exit(status=7)')"
	load
}

case_check_strace_refuses_what_there_is_not() {
	for words in 'syscall:nosuch' 'syscall:open@path:str' 'syscall:'; do
		! devtrace record -A "$words" -o /tmp/x.db /bin/io >/tmp/printed 2>/tmp/err || false
		cat /tmp/err
		is "$(wc -l </tmp/err)" 1
		is "$(grep -c "nosuch'\|-A takes system calls" /tmp/err)" 1
	done
}
