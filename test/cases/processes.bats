# SPDX-License-Identifier: MIT
# More than one process: what a program leaves running, and what it executes.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cat >"$dir/left.c" <<-'C'
		/* Calls tick() once, goes into the background, calls it 19 times more in half a second. */
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) int tick(int x) { __asm__ volatile("" ::: "memory"); return x + 1; }
		int main(void)
		{
			int s = tick(0);
			if (daemon(1, 1))
				return 1;
			for (int i = 0; i < 19; i++) {
				usleep(30000);
				s = tick(s);
			}
			printf("%d\n", s);
			return 0;
		}
	C
	cat >"$dir/fib.c" <<-'C'
		#include <stdlib.h>
		__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int main(int argc, char **argv) { return fib(argc > 1 ? atoi(argv[1]) : 8) == 21 ? 4 : 1; }
	C
	gcc -O1 -g -o "$dir/left" "$dir/left.c"
	gcc -O1 -g -B"$root/build/lib" -o "$dir/left-sleds" "$dir/left.c"
	gcc -O1 -fno-optimize-sibling-calls -s -o "$dir/fib" "$dir/fib.c"
}

teardown_file() {
	rm -rf "$dir"
}

entries() {
	"$dt" sql --csv "$1" "SELECT count(*) FROM records WHERE kind = 'E'${2:+ AND $2}" | tail -1 | tr -d '\r'
}

@test "what outlives the program is waited for with --follow: every call is there, each time" {
	for prog in left left-sleds left left; do
		run timeout 20 "$dt" record --follow -F tick -o "$dir/t.db" "$dir/$prog"
		[ "$status" = 0 ]
		[ "$output" = 20 ]
		[ "$(entries "$dir/t.db")" = 20 ]
	done
}

@test "what outlives the program is named without --follow, and goes on" {
	timeout 20 "$dt" record -F tick -o "$dir/t.db" "$dir/left" >"$dir/out" 2>"$dir/err"
	cat "$dir/err"
	[ "$(wc -l <"$dir/err")" = 1 ]
	grep -E '^devtrace record: still running, and not recorded any more: [0-9]+ \(left\); with --follow these are waited for$' "$dir/err"
	for _ in $(seq 250); do
		if grep -q 20 "$dir/out"; then break; fi
		sleep 0.02
	done
	[ "$(<"$dir/out")" = 20 ]
}

@test "while --follow waits it says for what, and Ctrl-C ends that" {
	"$dt" record -f -o "$dir/t.db" sh -c 'sleep 30 3>&- & echo $! >"$0"; exit 6' "$dir/pid" >"$dir/out" 2>"$dir/err" 3>&- &
	recorder=$!
	for _ in $(seq 500); do
		if grep -q 'sh has ended; waiting for what it has left running: .*(sleep); Ctrl-C' "$dir/err"; then break; fi
		sleep 0.02
	done
	cat "$dir/err"
	grep -q 'sh has ended; waiting for' "$dir/err"
	kill -TERM "$recorder"
	status=0
	wait "$recorder" || status=$?
	cat "$dir/err"
	[ "$status" = 6 ]
	grep -q 'still running, and not recorded any more: .*(sleep)$' "$dir/err"
	kill "$(<"$dir/pid")"
}

@test "with --follow a program is what it is directly: also one without names" {
	run "$dt" record -o "$dir/direct.db" "$dir/fib"
	[ "$status" = 4 ]
	direct=$(entries "$dir/direct.db")
	[ "$direct" -gt 60 ] # fib(8) is 67 calls of it
	run "$dt" record -f -o "$dir/t.db" "$dir/fib"
	[ "$status" = 4 ]
	[ "$(entries "$dir/t.db")" = "$direct" ]
	for how in --verbose '-F*'; do
		# the shell's own functions are there too
		run "$dt" record -f "$how" -o "$dir/t.db" sh -c "$dir/fib; exit 5"
		[ "$status" = 5 ]
		[ "$(entries "$dir/t.db" "module = 'fib'")" = "$direct" ] ||
			{ echo "$direct directly"; "$dt" sql "$dir/t.db" "SELECT module, count(*) FROM records GROUP BY 1"; false; }
	done
}
