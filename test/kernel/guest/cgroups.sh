# SPDX-License-Identifier: MIT
# Only a container (attach --cgroup): nothing of a stranger, also in nested PID namespaces.

number=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

case_check_a_container_and_no_stranger() {
	mkdir -p /tmp/cgroup
	mount -t cgroup2 none /tmp/cgroup
	group=/tmp/cgroup/machine.slice/libpod-$number.scope
	mkdir -p $group/container /tmp/cgroup/machine.slice/libpod-conmon-$number.scope
	for words in nosuch /nosuch 012; do
		! devtrace attach -A 'syscall:*' --cgroup=$words -o /tmp/x.db 2>/tmp/err || false
		cat /tmp/err
		is "$(wc -l </tmp/err)" 1
		grep -q "$words'" /tmp/err
	done
	devtrace attach -A 'syscall:*' -T tracepoint:sched:sched_waking -T tracepoint:irq:softirq_raise --cgroup=01234567 -o /tmp/s.db 2>/tmp/err &
	p=$!
	mkfifo /tmp/end
	cat >/tmp/inside <<-'I'
		# two PID namespaces, one in the other
		echo $$ >$1/container/cgroup.procs
		exec unshare -p -f sh -c '/bin/known; unshare -p -f sh -c "/bin/known; echo in >/tmp/both; read x </tmp/end"'
	I
	# strangers, before, meanwhile and afterwards: also in the group beside it, and in a namespace of their own
	(while [ ! -e /tmp/enough ]; do /bin/known80 || unshare -p -f /bin/known80 || true; sleep 0.1; done) >/dev/null 2>&1 &
	strangers=$!
	(echo 0 >/tmp/cgroup/machine.slice/libpod-conmon-$number.scope/cgroup.procs; while [ ! -e /tmp/enough ]; do /bin/known80 || true; sleep 0.1; done) >/dev/null 2>&1 &
	beside=$!
	# when it records
	until devtrace calls /tmp/s.db 2>/dev/null | grep -q 'filename="/nosuch'; do
		sh -c 'echo $$ >'$group'/cgroup.procs; test ! -e /nosuch'
		sleep 0.1
	done
	sh /tmp/inside $group >/tmp/printed &
	inside=$!
	until [ -e /tmp/both ]; do sleep 0.05; done
	sort $group/container/cgroup.procs >/tmp/procs
	: >/tmp/end
	wait $inside || true
	: >/tmp/enough
	wait $strangers $beside || true
	kill -INT $p
	wait $p
	cat /tmp/err /tmp/procs
	rm -f /tmp/enough /tmp/both /tmp/end
	devtrace sql --csv --no-header /tmp/s.db "SELECT DISTINCT thread FROM calls WHERE module = '[syscall]'" | tr -d '\r' | sort >/tmp/recorded
	cat /tmp/recorded
	# those that are in it at the end are there, under the numbers that they have outside; known has written "abc" twice
	is "$(grep -cxFf /tmp/recorded /tmp/procs)" "$(wc -l </tmp/procs)"
	[ "$(wc -l </tmp/procs)" -ge 3 ]
	devtrace calls --fields none /tmp/s.db >/tmp/calls
	is "$(grep -c 'buf="abc"' /tmp/calls)" 2
	# of known80, only its int $0x80
	is "$(devtrace sql --csv --no-header /tmp/s.db "SELECT count(*) FROM calls WHERE module = '[syscall32]'" | tr -d '\r')" 0
	! grep -q known80 /tmp/calls || false
	# of a core's idle time, and of threads outside, no tracepoint either
	devtrace sql --csv --no-header /tmp/s.db "SELECT DISTINCT thread FROM records WHERE kind = 'P'" | tr -d '\r' | sort >/tmp/points
	is "$(grep -vcxFf /tmp/recorded /tmp/points)" 0
	for g in $group/container $group /tmp/cgroup/machine.slice/libpod-conmon-$number.scope /tmp/cgroup/machine.slice; do rmdir $g; done
	umount /tmp/cgroup
}
