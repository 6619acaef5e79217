# SPDX-License-Identifier: MIT
# The kernel recorded by BPF, while the module is not loaded: as by the module.

# few enough that a kernel without kprobe.multi (6.1) attaches and detaches them in a second
few='__x64_sys_* ksys_read ksys_write vfs_read vfs_write'

# functions_with FILE: its functions of the kernel, with the numbers of their entries and exits
functions_with() {
	devtrace sql --csv --no-header "$1" "SELECT function, count(*) FILTER (WHERE kind = 'E'), count(*) FILTER (WHERE kind = 'X') FROM records WHERE function GLOB '__x64_*' OR function GLOB '?sys_*' OR function GLOB 'vfs_*' GROUP BY function" | tr -d '\r'
}

# tree_of FILE: its calls, without times, addresses and numbers of processes
tree_of() {
	devtrace calls "$1" | sed 's/^ *[0-9.]* us//; s/^ *//; s/0x[0-9a-f]*/P/g; /_sys_\(set_tid_address\|clone\|wait4\)/s/[0-9]*//g; /^$/d'
}

# hooked: how many functions the kernel itself says that it has hooked
hooked() {
	wc -l </sys/kernel/debug/tracing/enabled_functions
}

case_check_bpf_records_what_the_module_records() {
	/bin/io >/tmp/alone
	devtrace record -k"$few" -o /tmp/m.db /bin/io >/tmp/traced 2>/tmp/err
	! grep -q BPF /tmp/err || false
	unload
	is "$(hooked)" 0
	devtrace record -k"$few" -o /tmp/b.db /bin/io >/tmp/traced 2>/tmp/err
	cat /tmp/err
	cmp /tmp/alone /tmp/traced
	is "$(grep -c 'recorded by BPF: its module is not loaded$' /tmp/err)" 1
	# nothing stays in the kernel
	is "$(hooked)" 0
	is "$(grep -ac kernel_bybpf /tmp/b.db) $(grep -ac kernel_bymodule /tmp/m.db)" '1 1'
	devtrace check /tmp/b.db >/tmp/check
	grep -q 'sound: .*, 0 lost' /tmp/check
	grep -q ' 0 unwound, 0 ended in a jump, .* 0 begun before' /tmp/check
	# as often, with the same arguments, results, and calls below and above, in both processes
	functions_with /tmp/m.db | grep -v '_sys_wait4\|exit_group' >/tmp/module
	functions_with /tmp/b.db | grep -v '_sys_wait4\|exit_group' >/tmp/bpf
	diff /tmp/module /tmp/bpf
	tree_of /tmp/m.db | sed '/^# thread/d; /exit_group/d' >/tmp/module
	tree_of /tmp/b.db | sed '/^# thread/d; /exit_group/d' >/tmp/bpf
	diff /tmp/module /tmp/bpf
	grep -c 'vfs_read(file=P, buf=P, count=64, pos=P) = 64' /tmp/bpf
	load
}

case_check_bpf_leaves_out_what_devtrace_does() {
	unload
	own_calls 'a static program, by BPF' devtrace record -k'__x64_sys_*' -b 64K -o /tmp/o.db /bin/known
	own_calls 'one that is executed' devtrace record -f -k'__x64_sys_*' -b 64K -o /tmp/o.db -F leaf -F work /bin/io exec /bin/known
	load
}

# all_of FILE: records of two functions
all_of() {
	devtrace sql --csv --no-header "$1" "SELECT count(*) FROM records WHERE function IN ('__x64_sys_pread64', 'vfs_read')" | tr -d '\r'
}

# busy_for N WHILE: records io, which reads N times; its recorder is stopped meanwhile, if WHILE is stopped
busy_for() {
	rm -f /tmp/go
	devtrace record -k'__x64_sys_pread64 vfs_read' -F main -o /tmp/l.db /bin/io busy $1 /tmp/go 2>/tmp/err &
	p=$!
	# it is in its program, and sleeps until it may go on
	until io=$(pidof io) && grep -q nanosleep /proc/$io/wchan; do sleep 0.05; done
	[ "$2" != stopped ] || kill -STOP $p
	: >/tmp/go
	if [ "$2" = stopped ]; then
		# until it has ended
		while grep -q 'State:.[RSD]' /proc/$io/status 2>/dev/null; do sleep 0.1; done
		kill -CONT $p
	fi
	wait $p
	cat /tmp/err
}

case_check_bpf_losses_are_counted() {
	unload
	busy_for 10 recorded
	none=$(($(all_of /tmp/l.db) - 40))
	busy_for 40000 stopped
	devtrace check /tmp/l.db >/tmp/check
	cat /tmp/check
	grep -q "written: as many, by the rings' own counts" /tmp/check
	lost=$(sed -n 's/.* \([0-9]*\) lost$/\1/p' /tmp/check)
	# two cores have room for 131072, and what the program did is known
	[ $lost -gt 25000 ]
	is $(($(all_of /tmp/l.db) + lost)) $((none + 160000))
	load
}

case_check_bpf_in_a_pid_namespace() {
	unload
	echo 'devtrace record -k"'"$few"'" -o /tmp/n.db /bin/io >/tmp/ns.out 2>/tmp/ns.err
		echo $$ >/tmp/ns.self' >/tmp/inside.sh
	/bin/io >/tmp/alone
	unshare -p -f --mount-proc sh /tmp/inside.sh
	cat /tmp/ns.err
	cmp /tmp/alone /tmp/ns.out
	is "$(cat /tmp/ns.self)" 1
	devtrace sql --csv --no-header /tmp/n.db "SELECT thread, count(*) FROM records WHERE kind = 'E' AND function GLOB '__x64_sys_*' GROUP BY thread" | tr -d '\r' >/tmp/threads
	cat /tmp/threads
	is "$(wc -l </tmp/threads)" 2
	is "$(cut -d, -f1 /tmp/threads | awk '$1 < 2 || $1 > 60' | wc -l)" 0
	is "$(tree_of /tmp/n.db | sed -n '/^ask(v=100)/,/^} = 101/p' | grep -c 'vfs_')" 2
	rm -f /tmp/ns.*
	load
}

case_check_bpf_records_everybody() {
	unload
	devtrace attach -k'vfs_read vfs_write' -o /tmp/a.db 2>/tmp/err &
	p=$!
	while [ "$(hooked)" -lt 2 ]; do sleep 0.05; done
	# hooked, and on: one that it has recorded is in the file
	while ! devtrace calls /tmp/a.db 2>/dev/null | grep -q 'count=64,'; do
		dd if=/proc/version of=/dev/null bs=64 2>/dev/null
		sleep 0.1
	done
	kill -INT $p
	wait $p
	devtrace calls /tmp/a.db >/tmp/calls
	grep -q 'vfs_read(file=0x[0-9a-f]*, buf=0x[0-9a-f]*, count=64, pos=0x[0-9a-f]*) = 64' /tmp/calls
	is "$(devtrace sql --csv --no-header /tmp/a.db "SELECT count(*) FROM records WHERE thread = $p" | tr -d '\r')" 0
	# one that is killed leaves nothing
	devtrace attach -k'vfs_read vfs_write' -o /tmp/a.db 2>/tmp/err &
	p=$!
	while [ "$(hooked)" -lt 2 ]; do sleep 0.05; done
	kill -9 $p
	wait $p || true
	while [ "$(hooked)" != 0 ]; do sleep 0.05; done
	sound /tmp/a.db
	rm -f /tmp/a.db
	load
}

# says WORDS OPTION...: devtrace record refuses, with the reason
says() {
	words=$1
	shift
	! devtrace record -o /tmp/x.db "$@" /bin/io >/tmp/traced 2>/tmp/err || false
	grep -q "$words" /tmp/err || { cat /tmp/err; false; }
	is "$(hooked)" 0
}

case_check_bpf_refuses_what_it_can_not_do() {
	unload
	says "no function of the kernel matches 'nosuch_\*'" -k'nosuch_*'
	says 'BPF may not probe' -kasm_exc_int3
	says "needs devtrace's module" -k'vfs_write' -T 'kernel:vfs_read+9 REG rdi'
	chmod 755 /tmp
	! su nobody -s /bin/sh -c 'cd /tmp; devtrace record -k -o /tmp/nobody.db /bin/io' 2>/tmp/err || false
	cat /tmp/err
	grep -q 'root' /tmp/err
	load
}

# ctl_io COMMAND: gives it to the session whose program is io
ctl_io() {
	devtrace ctl -s io "$@" 2>/tmp/ctl.err
}

# reads_of N COMMAND...: how often the kernel's vfs_read is recorded while io reads N times, after these commands
reads_of() {
	rm -f /tmp/go
	reads=$1
	shift
	devtrace record -s io -k'vfs_write' -F main -o /tmp/r.db /bin/io busy $reads /tmp/go 2>/tmp/err &
	p=$!
	until io=$(pidof io) && grep -q nanosleep /proc/$io/wchan; do sleep 0.05; done
	for command; do
		ctl_io "$command" || { cat /tmp/ctl.err >&2; echo refused; }
	done
	: >/tmp/go
	wait $p
	cat /tmp/err >&2
	devtrace sql --csv --no-header /tmp/r.db "SELECT kind, count(*) FROM records WHERE function = 'vfs_read' GROUP BY kind ORDER BY kind" | tr -d '\r' | tr '\n' ' '
}

case_check_bpf_ranges_while_it_records() {
	unload
	is "$(reads_of 500)" ''
	is "$(reads_of 500 'trace kernel:vfs_read new a' 'trace a on')" 'E,500 X,500 '
	# in two ranges it is recorded once, and stays while one of them is on
	is "$(reads_of 500 'trace kernel:vfs_read new a' 'trace a on' "trace '+kernel:vfs_re* +kernel:vfs_write' new b" 'trace b on')" 'E,500 X,500 '
	is "$(reads_of 500 'trace kernel:vfs_read new a' 'trace a on' "trace '+kernel:vfs_re*' new b" 'trace b on' 'trace a off')" 'E,500 X,500 '
	is "$(reads_of 500 'trace kernel:vfs_read new a' 'trace a on' 'delete a')" ''
	is "$(reads_of 5 'trace kernel:nosuch new a')" 'refused'
	is "$(reads_of 5 'trace kernel:vfs_read+9 REG rdi')" 'refused'
	grep -q "needs devtrace's module" /tmp/ctl.err
	is "$(reads_of 5 'trace kernel:vfs_read new a COUNT' 'trace a on')" 'refused'
	is "$(hooked)" 0
	load
}

# left_in FILE: how many calls of each function are left out of it
left_in() {
	devtrace report --left-out $1 2>/dev/null | awk '/ [mnu]?s / {print $NF, $5}' | sort
}

# words WORDS: has io recorded with these words by BPF, which leaves calls out, and by the recorder
words() {
	devtrace record -k"$few" -F main -F ask --filter "$1" -o /tmp/e.db /bin/io >/tmp/traced 2>/tmp/err || cat /tmp/err >&2
	cmp /tmp/alone /tmp/traced
	devtrace record -k"$few" -F main -F ask --filter "$1" --sum 'count by depth' -o /tmp/l.db /bin/io >/tmp/traced 2>/tmp/err
	for way in e l; do
		devtrace check /tmp/$way.db >/tmp/check
		grep -q ' 0 lost' /tmp/check
		tree_of /tmp/$way.db | sed '/^# thread/d; /exit_group/d; /_sys_wait4/d' | sort >/tmp/tree.$way
		left_in /tmp/$way.db | grep -v 'exit_group\|_sys_wait4' >/tmp/left.$way
	done
	diff /tmp/tree.e /tmp/tree.l >&2
	diff /tmp/left.e /tmp/left.l >&2
	wc -l </tmp/tree.e
}

case_check_bpf_leaves_calls_out() {
	unload
	/bin/io >/tmp/alone
	# each of six messages of 64 bytes is written and read, by a system call and two functions below it; the
	# last read finds the end
	words 'count=64' >/tmp/n
	is "$(grep -c 'vfs_read(.*count=64' /tmp/tree.e) $(grep -c 'vfs_write(.*count=64' /tmp/tree.e)" '7 6'
	is "$(grep -c 'vfs_read .*\|vfs_write .*' /tmp/left.e)" 2
	words 'vfs_* result=64'
	is "$(grep -c 'vfs_.*= 64' /tmp/tree.e)" 12
	words 'ksys_read'
	words '-ksys_* -__x64_sys_* count<64'
	words 'failed'
	words 'time>1s'
	# a long loop: what is left out is in no ring
	rm -f /tmp/go
	: >/tmp/go
	devtrace record -k'vfs_read vfs_write' -F main --filter 'vfs_read count=7' -o /tmp/e.db /bin/io busy 20000 /tmp/go 2>/tmp/err
	cat /tmp/err
	devtrace check /tmp/e.db >/tmp/check
	grep -q ' 0 lost' /tmp/check
	n=$(left_in /tmp/e.db | sed -n 's/^vfs_read //p')
	# the loader reads each library's beginning
	[ "$n" -ge 20000 ]
	[ "$n" -lt 20010 ]
	is "$(hooked)" 0
	load
}

# summed WORDS...: has io make these sums in the kernel, and by the recorder: their tables are the same
summed() {
	sums=
	for words; do sums="$sums --sum=$(echo "$words" | tr ' ' '_')"; done
	set --
	for words in $sums; do set -- "$@" "$(echo "$words" | tr '_' ' ')"; done
	devtrace record -k"$patterns" -F main -F ask "$@" -o /tmp/e.db /bin/io >/tmp/traced 2>/tmp/err.e
	cmp /tmp/alone /tmp/traced
	devtrace record -k"$patterns" -F main -F ask "$@" --sum='count by depth' -o /tmp/l.db /bin/io >/tmp/traced 2>/tmp/err.l
	cat /tmp/err.e /tmp/err.l
	grep -q 'the kernel does not know .depth.' /tmp/err.l
	for way in e l; do
		devtrace check /tmp/$way.db >/tmp/check
		grep -q ' 0 lost' /tmp/check
		devtrace sum -n 100000 /tmp/$way.db | awk '/^count by depth$/ {exit} 1' | grep -v '^$\|wait4\|exit_group\|set_tid_address\|clone' | sort >/tmp/sums.$way
		left_in /tmp/$way.db | grep -v 'exit_group\|wait4' >/tmp/left.$way
	done
	diff /tmp/sums.e /tmp/sums.l >&2
	diff /tmp/left.e /tmp/left.l >&2
}

case_check_bpf_sums_calls_up() {
	unload
	/bin/io >/tmp/alone
	patterns='vfs_read vfs_write'
	summed 'count by function' 'sum(result) by function' 'hist(result) by function' 'sum(count) by function if count=64'
	is "$(devtrace sum -n 100 /tmp/e.db | awk '/^sum.count. by function if/ {on = 1} on && /vfs_write$/ {print $1, $2}')" '6 384'
	# functions in system calls, and these themselves
	patterns="$few"
	summed 'count by function, result' 'hist(result) by function if count=64' 'count by function, error' 'count by function if failed'
	# a long loop: what is summed up is in no ring
	: >/tmp/go
	devtrace record -k'syscall:pread64' -F main --sum 'count by arg3, result' --sum 'hist(time)' -o /tmp/e.db /bin/io busy 20000 /tmp/go 2>/tmp/err
	cat /tmp/err
	grep -q 'calls were summed up in the kernel' /tmp/err
	devtrace sum /tmp/e.db
	is "$(devtrace sum /tmp/e.db | awk '$2 == 1 && $3 == 1 && NF == 3 {print $1}')" 20000
	# where functions have programs of their own, these do not choose
	devtrace record -k'vfs_read' -F main --sum 'count by result if vfs_read' -o /tmp/e.db /bin/io busy 20000 /tmp/go 2>/tmp/err
	cat /tmp/err
	grep -q 'calls were summed up in the kernel\|no kprobe.multi' /tmp/err
	n=$(devtrace sum /tmp/e.db | awk '$2 == 1 && NF == 2 {print $1}')
	[ "$n" -ge 20000 ]
	[ "$n" -lt 20010 ]
	is "$(hooked)" 0
	load
}
