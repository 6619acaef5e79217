#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace calls
load read-helper

@test "calls prints the tree of each thread, with all marks" {
	sample t.db
	devtrace calls t.db >out 2>err
	cat >want <<'TEXT'
# thread 1 (main)
                main(argc=1, argv=0x7ffe00) {
      0.100 us    add(a=-2, b=3) = 1
      0.050 us    half(v=5) = 2.5
      0.050 us    log(what=0x4000, ...)  /* tail call: time to its jump */
                  jump(0x1, 0x2, 0x3, 0x4) {  /* perhaps called from the tail call before it */
      0.650 us      add(a=7, b=7)  /* unwound */
      0.700 us    }  /* jump: unwound */
      0.050 us    half(v=1) = 0
                  /* 5 records lost here, within      0.950 us */
      0.050 us    half(v=1) = 0
                } = 0  /* main: records lost meanwhile */

# thread 2 (worker)
                log(...)  /* entry not recorded */
                add(a=1, b=2) {
                  add(a=2, b=3)  /* not finished */
                }  /* add: not finished */
TEXT
	diff -u want out
}

@test "calls: records that were lost are shown in the call that the thread was in" {
	writetrace l.db <<-'TEXT'
	clock 0 0
	clock 20000 10000
	thread 1 main
	thread 2 other
	function outer n:i4@0;v
	function inner n:i4@0;v
	function leaf n:i4@0;v
	E outer 0x2000 100 1
	E inner 0x1f00 200 2
	lost 3
	E leaf 0x1e00 300 3
	X leaf 0x1e00 400
	X inner 0x1f00 500
	X outer 0x2000 600
	at 1 2
	E outer 0x6000 1100 4
	E inner 0x5f00 1200 5
	lost 4
	X inner 0x5f00 1300
	X outer 0x6000 1400
	TEXT
	devtrace calls l.db 2>err | sed 's/^                //; s/^      0.050 us  /0.050 us/; s/within *0/within 0/' >out
	grep -q '7 records were lost' err
	cat >want <<-'TEXT'
	# thread 1 (main)
	outer(n=1) {
	  inner(n=2) {
	    /* 3 records lost here, within 0.050 us */
	0.050 us    leaf(n=3)
	  }  /* inner: records lost meanwhile */
	}  /* outer: records lost meanwhile */

	# thread 2 (other)
	outer(n=4) {
	  inner(n=5) {
	    /* 4 records lost here, within 0.050 us */
	  }  /* inner: records lost meanwhile */
	}  /* outer: records lost meanwhile */
	TEXT
	diff -u want out
	# a function of which no call has a known time comes behind those that have one, by any time
	for key in total self avg min p50 p99 max; do
		[ "$(devtrace report -s "$key" l.db 2>err | awk '$NF ~ /leaf|losses/ { print ($NF == "leaf") }' | xargs)" = "1 0 0" ] ||
			{ echo "$key"; devtrace report -s "$key" l.db; return 1; }
	done
	[ "$(devtrace report --json l.db 2>err | python3 -c 'import json, sys; print([(r["function"], r["timed"], r["with_losses"]) for r in sorted(map(json.loads, sys.stdin), key=lambda r: r["function"])])')" = \
		"[('inner', 0, 2), ('leaf', 1, 0), ('outer', 0, 2)]" ]
}

@test "calls says how the process ended of calls that were open then" {
	cat >ends.c <<-'C'
		#include <signal.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) void leave(int how)
		{
			if (how < 3)
				exit(how);
			if (how == 3)
				_exit(3);
			raise(how);
		}
		int main(int argc, char **argv)
		{
			leave(atoi(argv[1]));
			return argc;
		}
	C
	gcc -O0 -g -o ends ends.c
	while read -r how what; do
		devtrace record -F main -F leave -o "e$how.db" ./ends "$how" 2>/dev/null || true
		devtrace calls "e$how.db" | sed 's/^ *//' >out
		cat out
		grep -q "^leave(how=$how)  /\* not finished: the process $what \*/" out
		grep -q "^}  /\* main: not finished: the process $what \*/" out
	done <<-'E'
		0 exited with 0
		2 exited with 2
		3 exited with 3
		6 was killed by SIGABRT
		9 was killed by SIGKILL
		11 was killed by SIGSEGV
	E
	# what the trace does not reach to is not said
	from=$(devtrace cat -l e3.db | sed -n '1s/.*ticks=\([0-9]*\) .*/\1/p')
	devtrace calls --to "$from" e3.db >out
	cat out
	grep -q '/\* not finished \*/' out
	! grep -q exited out
}

@test "calls does not say how the process ended where a call could have ended unseen" {
	cat >stops.c <<-'C'
		#include <stdio.h>
		__attribute__((noinline)) int wait_in(void)
		{
			int c = getchar();
			__asm__ volatile("");
			return c + 1;
		}
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			return wait_in() + wait_in() == 7;
		}
	C
	gcc -O0 -g -o stops stops.c
	mkfifo go
	devtrace record -s "stops-$$" -F main -F wait_in -o s.db ./stops <go >said 3>&- &
	tracer=$!
	exec 4>go
	until grep -q ready said; do :; done
	devtrace ctl -s "stops-$$" stop
	printf ab >&4
	exec 4>&-
	wait "$tracer"
	devtrace calls s.db >out
	cat out
	grep -q 'main: not finished \*/' out
	! grep -q exited out
}

@test "calls ends the calls of a program that executes another at the same stack" {
	cat >same.c <<-'C'
		#include <stdlib.h>
		#include <pthread.h>
		#include <ucontext.h>
		#include <unistd.h>
		static char stack[65536];
		static ucontext_t back, there;
		static int left;
		__attribute__((noinline)) void *hang(void *all)
		{
			pthread_barrier_wait(all);
			pause();
			return all;
		}
		__attribute__((noinline)) int last(int x) { return x + 1; }
		__attribute__((noinline)) int again(int n)
		{
			char *argv[] = {"same", n == 2 ? "1" : "0", NULL};
			execv("/proc/self/exe", argv);
			return last(n);
		}
		__attribute__((noinline)) void work(int n)
		{
			pthread_barrier_t all;
			pthread_t t;
			if (n == 2) {
				pthread_barrier_init(&all, NULL, 2);
				pthread_create(&t, NULL, hang, &all);
				pthread_barrier_wait(&all);
			}
			left = n ? again(n) : last(6);
		}
		int main(int argc, char **argv)
		{
			getcontext(&there);
			there.uc_stack.ss_sp = stack;
			there.uc_stack.ss_size = sizeof(stack);
			there.uc_link = &back;
			makecontext(&there, (void (*)(void))work, 1, argc > 1 ? atoi(argv[1]) : 2);
			swapcontext(&back, &there);
			return left;
		}
	C
	gcc -O0 -g -falign-functions=32 -no-pie -fno-pie -o same same.c -pthread
	devtrace record -F work -F again -F last -F hang -o same.db ./same 2>/dev/null || [ $? = 7 ]
	devtrace calls same.db >out
	cat out
	# what changes the stack is recorded too
	sed -e '/^#/d' -e '/hang/d' -e '/[pt]context(/d' -e 's|  /\* on another stack \*/||' -e 's/^ *[0-9.]* us *//' -e 's/^ *//' -e '/^$/d' out >got
	cat >want <<-'TEXT'
		work(n=2) {
		again(n=2)  /* unwound: the process executed another program */
		}  /* work: unwound: the process executed another program */
		work(n=1) {
		again(n=1)  /* unwound: the process executed another program */
		}  /* work: unwound: the process executed another program */
		work(n=0) {
		last(x=6) = 7
		}  /* work */
	TEXT
	diff -u want got
	# a thread that did not execute it is gone as well
	grep 'hang(all=.*)  /\* not finished: the process executed another program \*/' out
	# none is within one of another program, and each is as long as its program was there
	[ "$(devtrace sql -n same.db "SELECT count(*) FROM calls a JOIN calls b ON a.parent = b.id
		WHERE a.function = 'work'")" = 0 ]
	[ "$(devtrace sql -n same.db "SELECT count(*) FROM exec")" = 2 ]
	[ "$(devtrace sql -n same.db "SELECT count(*) FROM (SELECT begin, lag(end) OVER (ORDER BY begin) AS before
		FROM calls WHERE function = 'work') WHERE begin < before")" = 0 ]
	# what the trace does not reach to is not said
	to=$(devtrace sql -n same.db "SELECT max(begin_ticks) FROM calls WHERE function = 'again' AND begin <
		(SELECT max(begin) FROM calls WHERE function = 'again')")
	devtrace calls --to "$to" same.db >out
	cat out
	grep -q 'not finished \*/' out
	! grep -q executed out
}

@test "calls --merge keeps the order of time" {
	sample t.db
	devtrace calls --merge t.db 2>/dev/null >out
	head -9 out >first
	cat >want <<'TEXT'
                      1  main(argc=1, argv=0x7ffe00) {
      0.100 us        1    add(a=-2, b=3) = 1
      0.050 us        1    half(v=5) = 2.5
                      2  log(...)  /* entry not recorded */
                      2  add(a=1, b=2) {
                      2    add(a=2, b=3) {
      0.050 us        1    log(what=0x4000, ...)  /* tail call: time to its jump */
                      1    jump(0x1, 0x2, 0x3, 0x4) {  /* perhaps called from the tail call before it */
      0.650 us        1      add(a=7, b=7)  /* unwound */
TEXT
	diff -u want first
}

@test "calls --thread shows one thread" {
	sample t.db
	run devtrace calls --thread 2 t.db
	[[ "$output" == *"thread 2 (worker)"* ]]
	[[ "$output" != *main* ]]
}

@test "calls -t shows what took long enough, and its callers" {
	sample t.db
	devtrace calls -t 0.6us --thread 1 t.db 2>/dev/null | cut -c17- >out
	cat >want <<'TEXT'
ead 1 (main)
main(argc=1, argv=0x7ffe00) {
  jump(0x1, 0x2, 0x3, 0x4) {  /* perhaps called from the tail call before it */
    add(a=7, b=7)  /* unwound */
  }  /* jump: unwound */
  /* 5 records lost here, within      0.950 us */
} = 0  /* main: records lost meanwhile */
TEXT
	sed -i 's/^ *thread/thread/' out
	diff -u <(tail -n +2 want) <(tail -n +2 out)
	[ "$(devtrace calls -t 200 t.db 2>/dev/null | grep -c 'add(a=-2')" = 1 ]
	[ "$(devtrace calls -t 201 t.db 2>/dev/null | grep -c 'add(a=-2')" = 0 ]
}

@test "calls -F, -N and -D choose functions and depth" {
	sample t.db
	[ "$(devtrace calls -F 'ha*' t.db 2>/dev/null | grep -c 'half(v=')" = 3 ]
	[ "$(devtrace calls -F 'ha*' t.db 2>/dev/null | grep -c 'add')" = 0 ]
	[ "$(devtrace calls -N main -N 'j*' t.db 2>/dev/null | grep -c '^ *0.650 us  add(a=7')" = 1 ]
	[ "$(devtrace calls -D 1 --thread 1 t.db 2>/dev/null | grep -c '(')" = 2 ]
}

@test "every call of a long trace is printed once" {
	maketrace -n 200000 -t 4 t.db >made
	calls=$(sed -n 's/^calls //p' made)
	[ "$(devtrace calls t.db | grep -c 'function[0-9]*(')" = "$calls" ]
	[ "$(devtrace calls --merge t.db | grep -c 'function[0-9]*(')" = "$calls" ]
	# braces match
	[ "$(devtrace calls t.db | grep -c '{$')" = "$(devtrace calls t.db | grep -c '^.\{16\} *}')" ]
}

@test "calls with losses still prints every entry, and no wrong durations" {
	maketrace -n 100000 -l 3000 t.db >made
	calls=$(sed -n 's/^calls //p' made)
	devtrace calls t.db 2>/dev/null >out
	[ "$(grep -v 'entry not recorded' out | grep -c 'function[0-9]*(')" = "$calls" ]
	[ "$(grep -c 'records lost here' out)" -gt 5 ]
	! grep -E 'us .*records lost meanwhile' out
}

@test "deep recursion does not fill the lines with blanks" {
	{
		seq 500 | awk '{ print "E f", 1000000 - 64 * $1, 10 * $1, $1 }'
		seq 500 -1 1 | awk '{ print "X f", 1000000 - 64 * $1, 10000 - 5 * $1, $1 }'
	} | writetrace t.db
	devtrace calls t.db >out
	[ "$(awk '{ if (length > m) m = length } END { print m }' out)" -lt 260 ]
	grep -q '\[499\] f' out
}

@test "calls prints more threads than it may open files" {
	seq 1200 | sed 's/.*/at 0 &\nE f 0x7000 &00 &\nX f 0x7000 &50 -&/' | { echo "function f a:i4@0;i4@0" && cat; } | writetrace t.db
	(ulimit -n 32 && devtrace calls t.db >out)
	seq 1200 | sed -e '1!s/.*/\n&/' -e 's/[0-9]\+/# thread &\n      0.050 us  f(a=&) = -&/' | diff - out
}

@test "calls -F: what happens in a function that is not shown is not either" {
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 2000 2000
	V x 0x2000 50 0x1
	E main 0x1000 100
	V x 0xff0 150 0x2
	E hidden 0xf00 200
	M x 0xe80 250 0xea000000000c7000
	P hidden 0xe80 260
	E shown 0xd00 300
	V x 0xc80 350 0x3
	X shown 0xd00 400
	V x 0xe00 460 0x4
	X hidden 0xf00 500
	V x 0xff0 550 0x5
	X main 0x1000 600
	TEXT
	devtrace calls -F shown t.db >out
	[ "$(grep -o 'event 0x[0-9]' out | tr '\n' ' ')" = "event 0x1 event 0x3 " ]
	if grep -q 'message\|hidden' out; then false; fi
	devtrace calls -N hidden t.db >out
	[ "$(grep -o 'event 0x[0-9]' out | tr '\n' ' ')" = "event 0x1 event 0x2 event 0x3 event 0x5 " ]
	if grep -q 'message\|hidden' out; then false; fi
	devtrace calls t.db >out
	[ "$(grep -c 'event 0x[1-5]\|message sent\|\* hidden' out)" = 7 ]
}

@test "threads that change between stacks, by chance: each call is the one that was made" {
	local seed
	for seed in 1 2 3 $RANDOM $RANDOM $RANDOM $RANDOM $RANDOM; do
		"$BATS_TEST_DIRNAME/stacks.py" make "$seed" >made
		writetrace s.db <made
		devtrace sql -c -n s.db "SELECT thread || '|' || function || '|' || begin_ticks || '|' || end_ticks FROM calls WHERE ended = 'returned'" |
			tr -d '\r"' >got
		"$BATS_TEST_DIRNAME/stacks.py" check "$seed" <got || { echo "seed $seed"; false; }
	done
}

@test "a stack in the frame of who changes to it: its calls are not unwound, and each is counted once" {
	cat >owner.c <<-'C'
		#include <stdio.h>
		#include <ucontext.h>
		static ucontext_t home, there;
		static volatile int n;
		__attribute__((noinline)) void step(void) { n++; }
		static void coroutine(void)
		{
			for (;;) {
				step();
				swapcontext(&there, &home);
			}
		}
		__attribute__((noinline)) void hop(void) { swapcontext(&home, &there); }
		__attribute__((noinline)) void owner(void)
		{
			char stack[65536];
			getcontext(&there);
			there.uc_stack.ss_sp = stack;
			there.uc_stack.ss_size = sizeof(stack);
			there.uc_link = &home;
			makecontext(&there, coroutine, 0);
			for (int i = 0; i < 50; i++) {
				hop();
				step();
			}
		}
		int main(void) { owner(); printf("%d\n", n); return 0; }
	C
	gcc -O1 -fno-inline -o owner owner.c
	[ "$(devtrace record -o t.db ./owner)" = 100 ]
	devtrace sql -c -n t.db "SELECT ended, count(*) FROM calls WHERE function = 'coroutine' GROUP BY 1" | tr -d '\r' >got
	devtrace sql -c -n t.db "SELECT ended, count(*) FROM calls WHERE function = 'step' GROUP BY 1" | tr -d '\r' >>got
	[ "$(paste -sd ' ' got)" = "open,1 returned,100" ]
}
