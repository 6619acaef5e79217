# SPDX-License-Identifier: MIT
# More than one process: what a program leaves running, and what it executes.
load devtrace
bats_require_minimum_version 1.5.0

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

@test "a process that executes another program goes on being traced, with the same choice; a child's program is told" {
	cat >"$dir/asks.c" <<-'C'
	#include <fcntl.h>
	#include <stdlib.h>
	__attribute__((noinline)) int twice(int n) { __asm__ volatile(""); return 2 * n; }
	int main(int argc, char **argv)
	{
		int s = 0;
		for (int i = 0; i < 7; i++)
			s += labs(-i) + twice(i);
		return open("/nonexistent/file", O_RDONLY) == -1 && s == 63 ? 5 : 1;
	}
	C
	gcc -O1 -fno-builtin -o "$dir/asks" "$dir/asks.c"
	strip -o "$dir/stripped" "$dir/asks"
	for words in env nice 'env env nice' "sh -c exec\t$dir/stripped"; do
		IFS=$' ' read -ra words <<<"$words"
		words=("${words[@]//\\t/ }")
		run --separate-stderr "$dt" record -l -o "$dir/t.db" "${words[@]}" "$dir/stripped"
		[ "$status" = 5 ]
		[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'labs'" | tr -d '\r')" = 7 ]
		! grep -- '-f follows' <<<"$stderr" || false
		run --separate-stderr "$dt" --failed "${words[@]}" "$dir/stripped"
		[[ $output == *'open(path="/nonexistent/file", flags=O_RDONLY) = -1 ENOENT'* ]]
	done
	run --separate-stderr "$dt" record -F twice -o "$dir/t.db" env "$dir/asks"
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'twice'" | tr -d '\r')" = 7 ]
	# attached before it executes the other one
	mkfifo "$dir/go"
	sh -c 'read x <"$0"; exec "$1"' "$dir/go" "$dir/stripped" 3>&- &
	"$dt" attach -l -o "$dir/a.db" $! 2>"$dir/err" 3>&- &
	for _ in {1..100}; do
		[ ! -s "$dir/a.db" ] || break
		sleep 0.1
	done
	sleep 1
	echo >"$dir/go"
	wait $!
	[ "$("$dt" sql -n -c "$dir/a.db" "SELECT count(*) FROM calls WHERE function = 'labs'" | tr -d '\r')" = 7 ]
	# children are not meant without -f, which is said, if something is chosen that they could have
	run --separate-stderr "$dt" record -l -o "$dir/t.db" sh -c "$dir/stripped; true"
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'labs'" | tr -d '\r')" = 0 ]
	[[ $stderr == *"executed $dir/stripped: of what children execute only functions that are chosen by module are recorded; -f follows them"* ]]
	run --separate-stderr "$dt" record -f -l -o "$dir/t.db" sh -c "$dir/stripped; true"
	! grep -- '-f follows' <<<"$stderr" || false
	[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'labs'" | tr -d '\r')" = 7 ]
	run --separate-stderr "$dt" record -F 'libc.so.6:labs' -o "$dir/t.db" sh -c "$dir/stripped; true"
	! grep -- '-f follows' <<<"$stderr" || false
}

@test "what outlives the program is named without --follow, and goes on" {
	timeout 20 "$dt" record -F tick -o "$dir/t.db" "$dir/left" >"$dir/out" 2>"$dir/err"
	cat "$dir/err"
	[ "$(wc -l <"$dir/err")" = 1 ]
	grep -E '^devtrace: still running, and not recorded any more: [0-9]+ \(left\); with --follow these are waited for$' "$dir/err"
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

@test "what was recorded is in the file soon, also when messages have the recorder look again and again" {
	cat >"$dir/loads.c" <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) int mark(int x) { __asm__ volatile("" ::: "memory"); return x + 1; }
		int main(void)
		{
			mark(1);
			for (int i = 0; i < 30; i++)
				dlclose(dlopen("libm.so.6", RTLD_NOW));
			puts("loaded");
			fflush(stdout);
			sleep(20);
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/loads" "$dir/loads.c"
	mkfifo "$dir/said"
	for _ in 1 2 3; do
		"$dt" record -F mark -o "$dir/t.db" "$dir/loads" >"$dir/said" 2>/dev/null 3>&- &
		controller=$!
		read -r _ <"$dir/said"
		program=$(pgrep -P "$controller")
		sleep 0.7
		kill -KILL "$controller"
		wait "$controller" || true
		kill "$program"
		[ "$(entries "$dir/t.db" "function = 'mark'")" = 1 ]
	done
}

# bats test_tags=long
@test "what is born of processes that end at once is described, and so are these" {
	cat >"$dir/orphans.c" <<-'C'
		/* Eight children that have a child each, and end; these call work() ten times. */
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int work(int x) { __asm__ volatile("" ::: "memory"); return x + 1; }
		int main(void)
		{
			for (int i = 0; i < 8; i++) {
				if (fork() == 0) {
					if (fork() == 0)
						for (int k = 0; k < 10; k++) {
							usleep(10000);
							work(k);
						}
					_exit(0);
				}
			}
			while (wait(0) > 0)
				;
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/orphans" "$dir/orphans.c"
	# a share of them for every change: test/share.bash
	for _ in $(seq $(((4 + ${SHARE:-1} - 1) / ${SHARE:-1}))); do
		pids=()
		for k in 1 2 3 4 5 6; do
			"$dt" record -f -p wait -F 'orphans:*' -F 'libc.so.6:[a-m_]*' -o "$dir/o$k.db" "$dir/orphans" 2>/dev/null 3>&- &
			pids+=($!)
		done
		for k in 1 2 3 4 5 6; do
			wait "${pids[k - 1]}"
			"$dt" check -q "$dir/o$k.db"
			[ "$(entries "$dir/o$k.db" "function = 'work'")" = 80 ]
			[ "$("$dt" sql -n "$dir/o$k.db" "SELECT count(DISTINCT process) FROM calls WHERE function = 'work'")" = 8 ]
		done
	done
}

# bats test_tags=long
@test "a shell that starts programs: each is a process of its own, also when it has ended before it is read" {
	cat >"$dir/started.c" <<-'C'
		__attribute__((noinline)) int serve(int i) { volatile int s = 0; for (int k = 0; k < 1000; k++) s += k ^ i; return s; }
		int main(int argc, char **argv) { return serve(argc) == 1; }
	C
	gcc -O1 -g -o "$dir/started" "$dir/started.c"
	burners=()
	for _ in 1 2 3; do
		timeout 60 sh -c 'while :; do :; done' 3>&- &
		burners+=($!)
	done
	for round in 1 2 3; do
		# a share of them for every change: test/share.bash
		[ "$round" = 1 ] || [ "${SHARE:-1}${DEVTRACE_BUILD-}" = 1 ] || continue
		"$dt" record -f -F 'started:*' -F 'libc.so.6:s*' -o "$dir/t.db" \
			sh -c "for i in \$(seq 150); do \"\$0\"; done" "$dir/started" 2>/dev/null
		[ "$("$dt" sql -n "$dir/t.db" "SELECT count(DISTINCT process) FROM calls WHERE function = 'serve'")" = 150 ]
	done
	kill "${burners[@]}" || true # on a slow machine they have ended
}

@test "a program that is executed again and again, at a fixed address: what it counts itself, also after another build" {
	cat >"$dir/again.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) long one(long n) { __asm__ volatile(""); return n + ADD; }
		__attribute__((noinline)) long two(long n) { return n < 2 ? one(n) : two(n - 1) + two(n - 2) + ADD - ADD; }
		__attribute__((noinline)) int three(int n) { __asm__ volatile(""); return n * ADD; }
		int main(int argc, char **argv)
		{
			long n = atoi(argv[1]);
			printf("%d %ld\n", getpid(), two(n) / ADD);
			return three(argc) == 1;
		}
	C
	# two(n) / ADD is not what counts: one() is called fib(n + 1) times
	fib() { awk -v n="$1" 'BEGIN { a = 0; b = 1; while (n-- > 0) { t = a + b; a = b; b = t } print a }'; }
	gcc -O1 -g -no-pie -DADD=1 -o "$dir/again" "$dir/again.c"
	cat >"$dir/run" <<-'S'
		for i in 1 2 3 4 5 6; do "$1/again" $i; done
		gcc -O2 -g -no-pie -DADD=1 -o "$1/again.new" "$1/again.c" && mv "$1/again.new" "$1/again"
		for i in 7 8 9; do "$1/again" $i; done
	S
	"$dt" record -f -F 'again:*' -o "$dir/t.db" sh "$dir/run" "$dir" >"$dir/out" 2>"$dir/errors"
	"$dt" check -q "$dir/t.db"
	n=0
	while read -r pid _; do
		n=$((n + 1))
		[ "$("$dt" sql -n "$dir/t.db" "SELECT count(*) FROM calls WHERE process = $pid AND function = 'three'")" = 1 ]
		# gcc -O2 makes loops of some of two()'s calls, but one() is called as often
		[ "$("$dt" sql -n "$dir/t.db" "SELECT count(*) FROM calls WHERE process = $pid AND function = 'one'")" = "$(fib $((n + 1)))" ] ||
			{ echo "run $n"; cat "$dir/errors"; "$dt" sql "$dir/t.db" "SELECT process, function, count(*) FROM calls GROUP BY 1, 2"; false; }
	done <"$dir/out"
	[ $n = 9 ]
}

@test "calls of a process that is not taken in yet, or has gone, are looked up in the code of who made it" {
	# programs at the same address, of which each has other functions switched off, and so other trampolines
	cat >"$dir/made.py" <<-'P'
		import subprocess, sys
		for i in range(5):
		    subprocess.run([sys.executable, '-c', 'import os\np = os.fork()\nif p == 0: os._exit(0)\nos.wait()'])
	P
	timeout 100 "$dt" record -o "$dir/made.db" --budget 20% -F '*' -- /usr/bin/python3 "$dir/made.py" 2>/dev/null
	"$dt" check -q "$dir/made.db"
}

@test "calls of a vfork's child that has ended are its parent's functions, also where two programs have other ones at one address" {
	cat >"$dir/two.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int NAME(volatile int *n) { return ++*n; }
		int main(int argc, char **argv)
		{
			static volatile int n;
			int to[2];
			/* the other program lives meanwhile */
			if (argc > 1 && (pipe(to) || !fork())) {
				dup2(to[0], 0);
				close(to[1]);
				execl(argv[1], argv[1], (char *)0);
			}
			for (int i = 0; argc > 1 && i < 20; i++) {
				pid_t child = vfork();
				if (!child) {
					NAME(&n);
					_exit(0);
				}
				waitpid(child, NULL, 0);
			}
			NAME(&n);
			if (argc > 1) {
				close(to[1]);
				wait(NULL);
				printf("%d\n", n);
			} else {
				getchar();
			}
			return 0;
		}
	C
	gcc -O1 -no-pie -DNAME=one -o "$dir/one" "$dir/two.c"
	gcc -O1 -no-pie -DNAME=other -o "$dir/other" "$dir/two.c"
	[ "$("$dt" record -f -F 'one' -F other -o "$dir/t.db" "$dir/one" "$dir/other")" = 21 ]
	"$dt" check -q "$dir/t.db"
	"$dt" sql -n -c "$dir/t.db" "SELECT function, count(*), count(DISTINCT process) FROM calls GROUP BY 1 ORDER BY 1" | tr -d '\r' >"$dir/got"
	[ "$(paste -sd ' ' "$dir/got")" = "one,21,21 other,1,1" ]
	# each of these children is its maker's, and was as it is; the other program has its maker, too
	"$dt" sql -n -c "$dir/t.db" "SELECT count(*), count(begin), group_concat(DISTINCT program) FROM processes
		WHERE parent = (SELECT process FROM processes WHERE program LIKE '%/one' AND status = 0)" | tr -d '\r' >"$dir/got"
	[ "$(<"$dir/got")" = "21,21,\"$dir/other,$dir/one\"" ] || [ "$(<"$dir/got")" = "21,21,\"$dir/one,$dir/other\"" ]
}

@test "calls of children that are made past libc are theirs: syscall(SYS_fork), clone, and the instruction" {
	local how
	cat >"$dir/past.c" <<-'C'
		#define _GNU_SOURCE
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int inner(int n) { __asm__ volatile(""); return n + 1; }
		__attribute__((noinline)) int outer(int n) { __asm__ volatile(""); return inner(n) + inner(n + 1); }
		static long made(int how)
		{
			long r = SYS_fork;

			if (how == 0)
				return syscall(SYS_fork);
			if (how == 1)
				return syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
			__asm__ volatile("syscall" : "+a"(r) : : "rcx", "r11", "memory");
			return r;
		}
		int main(int argc, char **argv)
		{
			int s = 0;

			for (int i = 0; i < 5; i++) {
				long child = made(atoi(argv[1]));

				for (int k = 0; k < (child ? 100 : 30); k++)
					s += outer(k);
				if (!child) {
					/* and a child of its own, by libc */
					if (i == 4 && !fork())
						_exit(outer(s) & 1);
					while (wait(NULL) > 0) ;
					_exit(0);
				}
				waitpid((pid_t)child, NULL, 0);
			}
			printf("%d\n", s);
			return 0;
		}
	C
	gcc -O1 -o "$dir/past" "$dir/past.c"
	for how in 0 1 2; do
		for policy in wait drop; do
			"$dt" record -p $policy -F inner -F outer -o "$dir/t.db" "$dir/past" $how >"$dir/out"
			[ "$(<"$dir/out")" = 51000 ]
			"$dt" check -q "$dir/t.db"
			"$dt" sql -n -c "$dir/t.db" "SELECT function, count(*), count(DISTINCT thread) FROM calls GROUP BY process, function ORDER BY 1, 2" |
				tr -d '\r' | sort | uniq -c | awk '{ print $2, $1 }' | LC_ALL=C sort | paste -sd ' ' >"$dir/got"
			cat "$dir/got"
			[ "$(<"$dir/got")" = "inner,1000,1 1 inner,2,1 1 inner,60,1 5 outer,1,1 1 outer,30,1 5 outer,500,1 1" ]
			# none of them before it has begun, or inside a call of its maker's
			[ "$("$dt" sql -n -c "$dir/t.db" "SELECT count(*) FROM calls WHERE function = 'outer' AND depth > 0" | tr -d '\r')" = 0 ]
		done
	done
}
