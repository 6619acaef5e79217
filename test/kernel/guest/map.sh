# SPDX-License-Identifier: MIT
# The rings, mapped.

case_check_rings_mapped_what_is_refused() {
	map refusals
	# nobody has them any more
	tell size 12
	is "$(sed -n 's/^logsize //p' $C)" 4096
	# while somebody has, they stay as they are
	: >/tmp/fifo.end
	rm /tmp/fifo.end
	map read /tmp/fifo.end >/dev/null &
	p=$!
	for i in $(seq 1200); do dd if=/dev/trace bs=121 count=1 2>/dev/null || break; sleep 0.05; done
	refused 'a reader has the rings mapped' size 11
	: >/tmp/fifo.end
	wait $p
	rm /tmp/fifo.end
	tell size 11
}

case_check_rings_mapped_conservation() {
	tell trace traced_call new c
	tell trace c on
	for policy in drop overwrite; do
		# what fits is there; and what is read while it is overwritten is counted
		for size in 16 8; do
			tell stop
			tell size $size
			tell reset
			tell policy $policy
			tell start
			(map read /tmp/map.end >/tmp/map.out) &
			p=$!
			for i in 1 2 3 4; do do_traced calls 2500; done
			do_traced calls 50000
			tell stop
			: >/tmp/map.end
			wait $p
			rm /tmp/map.end
			read -r whole lost entries exits </tmp/map.out
			echo "$policy, 2^$size: $whole read, $lost lost"
			is "$((whole + lost))" 120000
			[ "$size" = 8 ] || [ "$policy" = overwrite ] || [ "$whole" -ge 65536 ]
		done
	done
}

case_check_rings_mapped_random_questions() {
	tell "trace 'vfs_*' new v"
	tell trace v on
	tell size 8
	tell start
	(map random 2) &
	p=$!
	while kill -0 $p 2>/dev/null; do
		tell reset
		tell policy drop
		read x </proc/version
		tell policy overwrite
		ls /sys/kernel >/dev/null
	done
	wait $p
	tell stop
	tell counts
	is "$(count 'too deep')" 0
}

case_check_099_a_module_of_another_version() {
	: >/tmp/notrace
	mount --bind /tmp/notrace /dev/trace
	! devtrace record -k -o /tmp/x.db true 2>/tmp/version || false
	umount /dev/trace
	cat /tmp/version
	grep -q 'is of another devtrace: its version is -1, this one.s is [1-9][0-9]*;' /tmp/version
	! [ -e /tmp/x.db ] || false
	# and nothing was left there
	devtrace record -k -o /tmp/x.db true
}
