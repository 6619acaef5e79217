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
	[ ! -s "$dir/user" ] || userdel "$(cat "$dir/user")" || true
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

@test "more processes than files may be open: all calls are there, and what is not known is said" {
	[ "$(id -u)" = 0 ] || skip "root can raise the limit, and makes a user who can not"
	cat >"$dir/kids.c" <<-'C'
		/* So many children at once, each of which calls tick() five times; then all execute what is named. */
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int tick(int x) { __asm__ volatile("" ::: "memory"); return x + 1; }
		int main(int argc, char **argv)
		{
			int p[2], status, bad = pipe(p);
			for (int i = atoi(argv[1]); i > 0; i--)
				if (!fork()) {
					char c;
					close(p[1]);
					int s = tick(0);
					bad = read(p[0], &c, 1);
					for (int k = 0; k < 4; k++)
						s = tick(s);
					if (argc > 2)
						execl(argv[2], argv[2], NULL);
					_exit(s - 5);
				}
			close(p[0]);
			usleep(700000);
			close(p[1]);
			while (wait(&status) > 0)
				bad |= status;
			printf("%d\n", bad);
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/kids" "$dir/kids.c"
	user=devtrace-limits-$$
	echo "$user" >"$dir/user"
	useradd "$user"
	mkdir -m 700 "$dir/u"
	chown "$user" "$dir/u"
	chmod 755 "$dir"
	for more in '' /bin/true; do
		run su "$user" -s /bin/bash -c "ulimit -n 60; export XDG_RUNTIME_DIR=$dir/u; cd $dir/u
			'$dt' record -f -F tick -F 'true:*' -o t.db ../kids 100 $more"
		echo "$output"
		[ "$status" = 0 ]
		[ "${lines[-1]}" = 0 ] || [ "${lines[0]}" = 0 ]
		grep -qE 'of [0-9]+ processes .* ulimit -n|ulimit -n\)$' <<<"$output"
		[ -z "$more" ] || grep -qE '[0-9]+ programs that processes executed are not recorded' <<<"$output"
		[ "$("$dt" sql --csv "$dir/u/t.db" "SELECT count(*) FROM records WHERE kind = 'E' AND function = 'tick'" | tail -1 | tr -d '\r')" = 500 ]
	done
}
