# SPDX-License-Identifier: MIT
# The examples, as they are in examples/kernel.

case_check_example_counting_faults() {
	/examples/faults.sh ls / >/tmp/faults
	grep -q '^page faults: [1-9][0-9]*$' /tmp/faults
	# more memory, more faults, when pages are small
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	few=$(sed -n 's/page faults: //p' /tmp/faults)
	many=$(/examples/faults.sh dd if=/dev/zero of=/dev/null bs=8M count=1 2>/dev/null | sed -n 's/page faults: //p')
	[ "$many" -gt $((few + 500)) ] || { echo "$few $many"; false; }
}

case_check_example_histogram_of_sizes() {
	head -c 5000 /dev/zero >/tmp/five
	/examples/sizes.sh dd if=/tmp/five of=/dev/null bs=1000 2>/dev/null >/tmp/sizes
	cat /tmp/sizes
	grep -qE '^ *[5-9] below 1024$' /tmp/sizes
	grep -q ' below 1$' /tmp/sizes
}

case_check_example_table_of_addresses() {
	/examples/pages.sh dd if=/tmp/five of=/dev/null bs=10 2>/dev/null >/tmp/pages
	[ "$(head -n 1 /tmp/pages | awk '{print $1}')" -ge 500 ]
}

case_check_111_one_request_through_client_kernel_and_server() {
	/examples/request.sh /bin/io >/tmp/request
	grep -c 'pipe_write(' /tmp/request
	[ "$(grep -c 'ask(v=' /tmp/request)" = 3 ]
	[ "$(grep -c ' serve_one() {' /tmp/request)" = 4 ]
	[ "$(grep -c 'pipe_write(' /tmp/request)" -ge 6 ]
}
