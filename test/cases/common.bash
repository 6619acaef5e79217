# SPDX-License-Identifier: MIT
# What the command tests share: a directory of their own, small programs with sleds.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/fib.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int main(int argc, char **argv)
		{
			printf("%d\n", fib(argc > 1 ? atoi(argv[1]) : 5));
			return 3;
		}
	C
	cat >"$dir/spin.c" <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) int turn(volatile int *n) { return ++*n; }
		int main(void)
		{
			volatile int n = 0;
			puts("ready");
			fflush(stdout);
			/* ends by itself should its test not end it */
			for (int i = 0; i < 2000; i++) {
				usleep(20000);
				turn(&n);
			}
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/fib" "$dir/fib.c"
	gcc -O1 -g -B"$root/build/lib" -o "$dir/spin" "$dir/spin.c"
	gcc -O1 -g -o "$dir/plain" "$dir/fib.c"
	gcc -O1 -g -static -o "$dir/plain-static" "$dir/fib.c"
}

teardown_file() {
	rm -rf "$dir"
}

# starts $dir/spin (or "$@"); sets pid
start_spin() {
	local ready
	exec {out}< <(exec "${@:-$dir/spin}" 3>&-)
	pid=$!
	read -r ready <&"$out"
}

stop_spin() {
	kill "$pid" 2>/dev/null || true
	exec {out}<&-
}

# until_gone NAME: a session that has been killed is gone. Its memory, with the command line, goes first, and its
# socket with the last of its threads: the name is taken until then.
until_gone() {
	until "$dt" ctl -s "$1" 2>&1 | grep -q 'there is no session'; do :; done
}
