# SPDX-License-Identifier: MIT
# The kernel's own tracepoints (-T 'tracepoint:sched:*'): as often, and with the same fields, as in the kernel's own
# record of the same events (ftrace).

K=/sys/kernel/debug/tracing/instances/points
what='sched/sched_switch sched/sched_waking sched/sched_stat_runtime irq/irq_handler_entry irq/softirq_raise'

# same_words: of "NAME a=1 b=2" on each line, with the words sorted; numbers without zeros in front
same_words() {
	awk '{
		n = 0
		for (i = 3; i <= NF; i++) {
			at = index($i, "=")
			if ($i !~ /^[a-z_]+=/ || $i ~ /^(clone_flags|prev_prio)=/)
				continue
			value = substr($i, at + 1)
			if (value ~ /^0[0-9]/)
				value += 0
			word = substr($i, 1, at) value
			for (j = n++; j && all[j - 1] > word; j--)
				all[j] = all[j - 1]
			all[j] = word
		}
		line = $1 " " $2
		for (i = 0; i < n; i++)
			line = line " " all[i]
		print line
	}'
}

# of_kernel: the thread, the event and its fields, of the thread $1
of_kernel() {
	awk -v thread=$1 '/^#/ {next} {
		match($0, /-[0-9]+ +\[/)
		if (substr($0, RSTART + 1) + 0 != thread)
			next
		match($0, /[0-9]+\.[0-9]+: /)
		line = substr($0, RSTART + RLENGTH)
		sub(/:/, "", line)
		# the number is printed, too
		if (match(line, /\[action=[A-Z_]+\]/)) {
			word = substr(line, RSTART + 8, RLENGTH - 9)
			sub(/vec=[0-9]+ \[action=[A-Z_]+\]/, "vec=" word, line)
		}
		print thread, line
	}' $K/trace | same_words
}

# of_calls FILE THREAD: the same
of_calls() {
	devtrace calls --thread $2 --fields none $1 | awk -v thread=$2 '
		/^# thread/ {next}
		/^ *\* *[a-z0-9_]+:[a-z0-9_]+\(/ {
			line = $0
			sub(/^ *\* *[a-z0-9_]+:/, "", line)
			sub(/\(/, " ", line)
			sub(/\)[^)]*$/, "", line)
			gsub(/[",]/, "", line)
			sub(/\|\+/, "+", line)
			print thread " " line
		}' | same_words
}

case_check_tracepoints_as_ftrace() {
	mkdir -p $K
	rm -f /tmp/all
	echo 8192 >$K/buffer_size_kb
	set --
	for event in $what; do
		echo 1 >$K/events/$event/enable
		set -- "$@" -T tracepoint:${event%/*}:${event#*/}
	done
	devtrace record "$@" -o /tmp/t.db /bin/pingpong pipe 500 >/tmp/times 2>/tmp/err
	for event in $what; do echo 0 >$K/events/$event/enable; done
	cat /tmp/err
	read -r first second ticks </tmp/times
	for thread in $first $second; do
		of_kernel $thread >/tmp/f
		of_calls /tmp/t.db $thread >/tmp/d
		# while the two wake each other: what devtrace itself has the thread do before and after is not recorded
		for f in f d; do
			awk -v other="sched_waking comm=pingpong pid=$((first + second - thread)) " '
				index($0, other) {for (i = 0; i < n; i++) print kept[i]; n = 0; begun = 1; print; next}
				begun {kept[n++] = $0}' /tmp/$f >/tmp/$f.both
		done
		n=$(wc -l </tmp/d.both)
		echo "# tracepoints of $thread: $n, by ftrace $(wc -l </tmp/f.both)" >/dev/console
		[ $n -gt 200 ]
		diff -U0 /tmp/f.both /tmp/d.both >/tmp/differ || { head -n 30 /tmp/differ; false; }
		cat /tmp/d >>/tmp/all
	done
	# of either thread: 500 messages may be over between two ticks of the clock, which is what raises most softirqs
	for event in sched_switch sched_stat_runtime softirq_raise; do
		is $event $(grep -o -m 1 $event /tmp/all)
	done
	rmdir $K
	devtrace sql --csv --no-header /tmp/t.db "SELECT count(*) FROM records WHERE function = 'sched:sched_switch' AND kind = 'P'" >/tmp/n
	[ $(tr -d '\r' </tmp/n) -gt 200 ]
}

case_check_tracepoints_with_many_values_and_texts() {
	# what the program passes, and which programs there are, is known
	devtrace record -f -T tracepoint:raw_syscalls:sys_enter -T tracepoint:sched:sched_process_exec -o /tmp/t.db sh -c '/bin/known; true' >/tmp/printed
	devtrace calls --fields none /tmp/t.db >/tmp/calls
	cat /tmp/calls
	[ $(grep -c ':sys_enter(id=8, args0=0, args1=18446744073709551611, args2=0, args3=0, args4=0, args5=0)$' /tmp/calls) -ge 3 ]
	grep -q 'filename="/bin/known"' /tmp/calls
}

case_check_tracepoints_that_are_not_there() {
	for words in tracepoint:sched:sched_swich tracepoint:nosuch:event 'tracepoint:sched:*@x' tracepoint:sched; do
		! devtrace record -T "$words" -o /tmp/x.db /bin/io >/tmp/printed 2>/tmp/err || false
		cat /tmp/err
		is "$(wc -l </tmp/err)" 1
		is "$(grep -c "has no tracepoint '$(echo "$words" | cut -d: -f2-)' (SYSTEM:NAME)\|-T takes the kernel's own" /tmp/err)" 1
	done
	devtrace record -T tracepoint:sched:sched_swich -o /tmp/x.db /bin/io 2>&1 | grep -q 'near names: .*sched_switch'
}
