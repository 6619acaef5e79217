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
	/examples/request.sh -o /tmp/request.db /bin/io >/tmp/request
	grep -c 'pipe_write(' /tmp/request
	[ "$(grep -c 'ask(v=' /tmp/request)" = 3 ]
	[ "$(grep -c ' serve_one() {' /tmp/request)" = 4 ]
	[ "$(grep -c 'pipe_write(' /tmp/request)" -ge 6 ]
	# on one clock, within each request: the client's write, which lets the server's read return, which
	# writes then, which lets the client's read return
	devtrace sql -n /tmp/request.db "CREATE TEMP TABLE c AS SELECT function AS f, thread AS t, begin AS b, end AS e FROM calls
		WHERE function IN ('ask', 'pipe_read', 'pipe_write');
	SELECT count(*) FROM c AS ask WHERE ask.f = 'ask' AND EXISTS (SELECT 1 FROM c AS sent, c AS taken, c AS answered, c AS got
		WHERE sent.f = 'pipe_write' AND sent.t = ask.t AND sent.b > ask.b
		AND taken.f = 'pipe_read' AND taken.t != ask.t AND taken.e > sent.b
		AND answered.f = 'pipe_write' AND answered.t = taken.t AND answered.b > taken.e
		AND got.f = 'pipe_read' AND got.t = ask.t AND got.e > answered.b AND got.e < ask.e)" >/tmp/asked
	is "$(cat /tmp/asked)" 3
}

case_check_example_figures_2_and_3_of_the_paper() {
	/examples/session.sh >/tmp/session
	cat /tmp/session
	from=$(sed -n 's/ [tT] version_proc_show$//p' /proc/kallsyms)
	# as it was, what the file says, and as it is: a hit for the entry and one for the exit
	is "$(grep -c '^watch 0$' /tmp/session)" 2
	is "$(sed -n 's/^Linux version .*/version/p' /tmp/session)" version
	grep -q "^trace $from [0-9a-f]\{16\} new version$" /tmp/session
	grep -q '^#tracehits 2, in queue 2$' /tmp/session
	grep -q '^#traceactive 1$' /tmp/session
	# the addresses of both are the function's
	is "$(grep '^[EX] ' /tmp/session | cut -c1-18 | tr '\n' ' ')" "$(grep '^E ' /tmp/session | cut -c1-18) X $(grep '^E ' /tmp/session | cut -c3-18) "
	is "$(grep '^X ' /tmp/session | cut -d' ' -f5-)" '0000000000000000 0000000000000000 0000000000000000 0000000000000000'
}

case_check_example_figure_7_of_the_paper() {
	/examples/watched.sh 84 >/tmp/watched
	cat /tmp/watched
	# others' calls are counted as hits of the hook, and not recorded
	is "$(sed 's/^#tracelog .*/#tracelog/; s/^\(trace\|#trace\) [0-9a-f ]*/\1 /; s/traced? .*/traced?/; s/^\(#slothits\|#traceinhits\) .*/\1/' /tmp/watched | tr '\n' ';')" \
		'logsize 8192;trace new v;#trace traced?;trace v on;#tracehits 0, in queue 0;#tracelog;#newplfail 0;#traceactive 1;#slothits;#traceinhits;watch 84;start;'
}

case_check_example_figure_11_of_the_paper() {
	head -c 5000 /dev/zero >/tmp/five
	/examples/io.sh /bin/io /tmp/five >/tmp/io
	cat /tmp/io
	# pread of 100 bytes and of 7, twice; pwrite of 5; and what the dynamic linker reads of libraries
	is "$(sed 's/^ *\([0-9]*\) [0-9a-f]* 0*\([0-9a-f]*\)$/\1 \2/; / 310$/d' /tmp/io | sort | tr '\n' ';')" '1 5;1 64;2 7;'
}

case_check_example_of_the_manual_page() {
	/examples/second.sh hrtimer_nanosleep >/tmp/second
	cat /tmp/second
	# the second's own sleep is in it
	[ "$(grep -c '^E' /tmp/second)" -ge 1 ]
	! grep -qvE '^[EX]( [0-9a-f]{16}){7}$' /tmp/second || false
}
