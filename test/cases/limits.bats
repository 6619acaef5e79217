# SPDX-License-Identifier: MIT
# Limits (ulimit) that the program and devtrace run under: the program has its own, as it would alone.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cat >"$dir/limits.c" <<-'C'
		/* Prints its limits. */
		#include <signal.h>
		#include <stdio.h>
		#include <sys/resource.h>
		__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int main(void)
		{
			struct sigaction a;
			sigaction(SIGXFSZ, NULL, &a);
			for (int i = 0; i < RLIMIT_NLIMITS; i++) {
				struct rlimit l;
				getrlimit(i, &l);
				printf("%ld %ld ", (long)l.rlim_cur, (long)l.rlim_max);
			}
			printf("%d %d\n", a.sa_handler == SIG_IGN, fib(15));
			return 7;
		}
	C
	gcc -O1 -g -fno-optimize-sibling-calls -o "$dir/limits" "$dir/limits.c"
}

teardown_file() {
	rm -rf "$dir"
}

@test "small limits: the program has them as they were, and devtrace does its work" {
	for limit in '-s 64' '-s 128' '-v 400000' '-l 0' '-c 0' '-n 50' '-S -s 64'; do
		# sanitizers reserve terabytes of addresses
		case $limit$dt in -v*/san/*) continue ;; esac
		alone=$(ulimit $limit && "$dir/limits") || [ $? = 7 ]
		status=0
		traced=$(ulimit $limit && timeout 20 "$dt" record -F fib -F 'libc.so.6:*' -o "$dir/t.db" "$dir/limits") ||
			status=$?
		echo "$limit: $status: $traced"
		[ "$status" = 7 ]
		[ "$traced" = "$alone" ]
		[ "$("$dt" sql --csv "$dir/t.db" "SELECT count(*) FROM records WHERE kind = 'E' AND function = 'fib'" | tail -1 | tr -d '\r')" = 1973 ]
	done
}

@test "files may not be large: one line, and no signal" {
	run bash -c "ulimit -f 8; '$dt' record -F fib -o '$dir/f.db' '$dir/limits'"
	if [ "$status" = 7 ]; then skip "the limit can be raised here"; fi
	[ "$status" = 1 ]
	one_line 'ulimit -f'
}
