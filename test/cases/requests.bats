#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --filter 'request:...': calls with all that happens in them, or nothing of them. What is right: the program's own counts.
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$BATS_FILE_TMPDIR
	cat >"$dir/serves.c" <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <devtrace.h>
static __thread long parsed, inner;
static long slow_n, fast_n, failed_n, parse_slow, parse_fast;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread jmp_buf out;
__attribute__((noipa)) int leaf(int x) { parsed++; return x + 1; }
__attribute__((noipa)) int parse(int n) { parsed++; int s = 0; for (int i = 0; i < n; i++) s += leaf(i); return s; }
__attribute__((noipa)) int jumps(int n) { parsed++; return leaf(n); }	/* a tail jump at -O2 */
__attribute__((noipa)) void gives_up(int n) { parsed++; leaf(n); longjmp(out, 1); }
__attribute__((noipa)) int handle(int n, int slow)
{
	parsed++;
	int s = parse(n % 7) + jumps(n);
	DT_EVENT(300, 2, n, slow);
	if (n % 11 == 0) { if (!setjmp(out)) gives_up(n); }
	if (n % 5 == 0 && n > 5) s += handle(1, 0);		/* one in a request is a part of it */
	if (slow) usleep(3000);
	return n % 13 == 0 ? -1 : s;
}
__attribute__((noipa)) void outside(int n) { leaf(n); }
static int count;
static void *run(void *a)
{
	unsigned seed = (unsigned)(long)a;
	for (int i = 0; i < count; i++) {
		int n = rand_r(&seed) % 100, slow = rand_r(&seed) % 1000 < 5;
		outside(i);
		parsed = 0;
		int rc = handle(n, slow);
		pthread_mutex_lock(&lock);
		if (slow) { slow_n++; parse_slow += parsed; } else { fast_n++; parse_fast += parsed; }
		failed_n += rc == -1;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}
int main(int n, char **args)
{
	count = atoi(args[1]);
	pthread_t t[3];
	for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	printf("slow %ld fast %ld failed %ld calls_slow %ld calls_fast %ld\n", slow_n, fast_n, failed_n, parse_slow, parse_fast);
}
C
	gcc -O2 -g -I"$BATS_TEST_DIRNAME/../../include" -pthread -o "$dir/serves" "$dir/serves.c"
	gcc -O2 -g -I"$BATS_TEST_DIRNAME/../../include" -B"${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}/lib" -pthread -o "$dir/sleds" "$dir/serves.c"
}

setup() {
	PATH=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}:$PATH
	cd "$dir" || return 1
}

. "$BATS_TEST_DIRNAME/../share.bash"
. "$BATS_TEST_DIRNAME/check-traces.bash"

program=
teardown() {
	[ -z "$program" ] || kill "$program" 2>/dev/null || true
	check_traces
}

# field NAME: what the program says of itself
field() { awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }' own; }
ask() { devtrace sql -n t.db "$1" 2>/dev/null; }

# every call that the program made is in the file, or among those that it says were left out
all_counted() {
	local made=$(($(field calls_slow) + $(field calls_fast) + 2 * ($(field slow) + $(field fast)) + 3 + 1))
	local here left
	here=$(ask 'SELECT count(*) FROM calls')
	left=$(sqlite3 t.db 'SELECT sum(calls + untimed) FROM left_out')
	[ $((here + left)) = $made ] || { echo "$here + $left, not $made"; false; }
}

# requests: how many calls of handle there are that are in no other
requests() { ask "SELECT count(*) FROM calls WHERE function = 'handle' AND parent IS NULL"; }

@test "requests: the slow ones, whole, and nothing of the others" {
	for program in serves sleds; do
		devtrace record --filter 'request:handle time>2ms' -o t.db ./$program 10000 >own
		all_counted
		# one that had to wait so long for a processor is slow, too, though it did not mean to be
		[ "$(requests)" -ge "$(field slow)" ]
		[ "$(requests)" -lt "$(($(field slow) + 200))" ]
		[ "$(ask "SELECT count(*) FROM calls WHERE function = 'handle' AND parent IS NULL AND duration < 2000000")" = 0 ]
		# each as it was: what it calls itself, and what is called from there; none is called by nobody
		[ "$(ask "SELECT count(*) FROM calls WHERE parent IS NULL AND function <> 'handle'")" = 0 ]
		[ "$(ask "SELECT count(*) FROM calls h WHERE h.function = 'handle' AND
			(SELECT count(*) FROM calls c WHERE c.parent = h.id AND c.function IN ('parse', 'jumps')) <> 2")" = 0 ]
		# so many of each function as the number says that the request had
		[ "$(ask "SELECT sum(arg0 % 7) FROM calls WHERE function = 'handle'")" = "$(ask "SELECT count(*) FROM calls l JOIN calls p ON l.parent = p.id
			WHERE l.function = 'leaf' AND p.function = 'parse'")" ]
		# and its events
		[ "$(ask "SELECT count(*) FROM records WHERE kind = 'V'")" = "$(ask "SELECT count(*) FROM calls WHERE function = 'handle'")" ]
	done
}

@test "requests: those that failed; without a condition, all" {
	devtrace record --filter 'request:handle result=-1' -o t.db ./serves 10000 >own
	all_counted
	[ "$(requests)" = "$(field failed)" ]
	devtrace record -p wait -b 64K --filter 'request:hand*' -o t.db ./serves 10000 >own
	all_counted
	[ "$(requests)" = "$(($(field slow) + $(field fast)))" ]
	[ "$(ask 'SELECT count(*) FROM calls')" = "$(($(field calls_slow) + $(field calls_fast)))" ]
}

@test "requests: other words while recording, also of a session without a file" {
	mkfifo go
	cat >asked.c <<'C'
#include <stdio.h>
__attribute__((noipa)) int leaf(int x) { return x + 1; }
__attribute__((noipa)) int handle(int n) { int s = 0; for (int i = 0; i < 10; i++) s += leaf(i); return n % 4 ? s : -1; }
int main(void)
{
	int n;
	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++)
			handle(i);
		printf("done\n");
		fflush(stdout);
	}
}
C
	gcc -O1 -g -o asked asked.c
	./asked <go >done &
	program=$!
	exec 5>go
	tell() {
		local before
		before=$(wc -l <done)
		echo "$1" >&5
		while [ "$(wc -l <done)" = "$before" ]; do sleep 0.02; done
	}
	devtrace attach -d -s requests.$$ -F handle -F leaf $program
	devtrace ctl -s requests.$$ size 20
	devtrace ctl -s requests.$$ 'filter request:handle result=-1'
	tell 100
	devtrace ctl -s requests.$$ 'filter -'
	tell 10
	devtrace ctl -s requests.$$ 'filter leaf'
	tell 3
	devtrace cat -s requests.$$ >records
	devtrace ctl -s requests.$$ quit
	exec 5>&-
	wait $program
	program=
	# of handle and leaf: 25 requests of 11 calls, 10 of 11, and 30 calls of leaf
	[ "$(grep -c ^E records)" = $((25 * 11 + 10 * 11 + 30)) ] || { grep -c ^E records; false; }
	[ "$(grep -c ^X records)" = $((25 * 11 + 10 * 11 + 30)) ]
}

@test "requests: one whose stack has been given up among many others is over" {
	cat >many.c <<'C'
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#define APART (16ul << 20)	/* stacks that are near each other may be one */
/* changes the stack without libc */
__asm__(".text\nswitch_to:\n"
	"push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,(%rdi)\n"
	"mov %rsi,%rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void switch_to(void **from, void *to);
static void *home, *away[100];
static int at;
__attribute__((noipa)) int leaf(int x) { return x + 1; }
__attribute__((noipa)) void hop(int i) { leaf(i); switch_to(&away[i], home); leaf(i); }
static void begin(void) { hop(at); abort(); }
__attribute__((noipa)) void handle(int hops)
{
	for (at = 0; at < hops; at++)
		switch_to(&home, away[at]);
}
__attribute__((noipa)) void outside(int n) { leaf(n); }
int main(void)
{
	char *area = mmap(NULL, 101 * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int i = 0; i < 100; i++) {
		uint64_t *top = (uint64_t *)(area + (i + 1) * APART) - 2;
		top[0] = (uint64_t)begin;	/* returned to with the stack as after a call */
		for (int k = 1; k <= 6; k++)
			top[-k] = 0;
		away[i] = top - 6;
	}
	handle(100);
	for (int i = 0; i < 1000; i++)
		outside(i);
	return 0;
}
C
	gcc -O1 -g -o many many.c
	./many
	devtrace record -F handle -F hop -F leaf -F outside --filter 'request:handle time>1s' -o t.db ./many
	# that one is there, since nobody saw its end; what came after it is not
	[ "$(ask "SELECT count(*) FROM calls WHERE function = 'handle'")" = 1 ]
	[ "$(ask "SELECT count(*) FROM calls WHERE function = 'outside'")" = 0 ]
	[ "$(ask "SELECT count(*) FROM records WHERE function = 'outside'")" = 0 ]
}

@test "requests: what they do not go with" {
	for words in 'request:handle leaf' 'request:handle file:x.c'; do
		run -1 devtrace record --filter "$words" ./serves 1
		[[ $output == *"request: keeps all that happens in a call"* ]]
	done
	run -1 devtrace record --filter '-request:handle' ./serves 1
	[[ $output == *"the calls that are wanted are named"* ]]
	run -1 devtrace record --sum 'count if request:handle' ./serves 1
	[[ $output == *"only record --filter and ctl filter choose by that"* ]]
	run -1 devtrace record --until 'request:handle' ./serves 1
	[[ $output == *"only record --filter and ctl filter choose by that"* ]]
	devtrace record -o t.db ./serves 10 >own
	for command in report calls graph flame; do
		run devtrace $command -f request:handle t.db
		[ "$status" -ne 0 ]
		[[ $output == *"in:handle means what happens in such calls"* ]]
	done
	run -0 --separate-stderr devtrace record --filter 'request:handel time>2ms' -o t.db ./serves 10
	[[ $stderr == *"no function that was recorded is 'handel'; near names: handle"* ]]
}
