# SPDX-License-Identifier: MIT
# Threads whose libc registers no rseq get one of devtrace's: their records are in the cores' rings, not in the one that
# threads without any share; and it is not in the way of programs that want one for themselves.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	gcc -O1 -g -pthread -o "$dir/glibc" "$root/test/programs/rseq.c"
	musl-gcc -O1 -g -pthread -o "$dir/musl" "$root/test/programs/rseq.c"
	musl-gcc -O1 -g -pthread -static -o "$dir/musl-static" "$root/test/programs/rseq.c"
	gcc -O1 -g -pthread -static -o "$dir/glibc-static" "$root/test/programs/rseq.c" 2>/dev/null
	cp "$dir/musl-static" "$dir/musl-stripped"
	strip "$dir/musl-stripped"
	cat >"$dir/mine.c" <<-'C'
		#define _GNU_SOURCE
		#include <errno.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int mine(void *at) { return syscall(SYS_rseq, at, 32, 0, 0x53053053) ? errno : 0; }
	C
	gcc -O1 -shared -fPIC -o "$dir/mine.so" "$dir/mine.c"
	musl-gcc -O1 -shared -fPIC -o "$dir/mine-musl.so" "$dir/mine.c"
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$dir" || return
}

# run_as KIND ARGUMENT...: the program with that libc, and no rseq of libc's
run_as() {
	local kind=$1
	shift
	GLIBC_TUNABLES=glibc.pthread.rseq=0 "$dt" record -o t.db -F leaf "./$kind" "$@" >out 2>err
}

# each thread's calls are those that it has counted, under the id that it has asked for; nothing lost
as_counted() {
	[ "$(wc -l <out)" = 4 ]
	[ "$("$dt" sql -n t.db "SELECT thread, count(*) FROM calls WHERE function = 'leaf' GROUP BY thread ORDER BY thread" | xargs -n 2)" = \
		"$(cut -d' ' -f1,2 out | sort -n)" ] || { cat out err; "$dt" sql t.db "SELECT thread, count(*) FROM calls GROUP BY thread"; false; }
	[ "$(sqlite3 t.db 'SELECT total(lost) FROM loss')" = 0.0 ]
	"$dt" check -q t.db
}

# begin KIND: runs the program in the background, until its threads are there
begin() {
	rm -f go
	GLIBC_TUNABLES=glibc.pthread.rseq=0 "./$1" last >out 3>&- &
	pid=$!
	until [ "$(cat "/proc/$pid/comm")" = "$1" ] && [ "$(ls "/proc/$pid/task" | wc -l)" = 4 ]; do sleep 0.02; done
	sleep 0.1
}

# the addresses that are mapped in it
mapped() {
	awk '!/\[stack\]/ { print $1 }' "/proc/$pid/maps"
}

# how many records are in the shared ring
shared() {
	sqlite3 t.db 'SELECT CAST(total(records) AS INTEGER) FROM chunk WHERE core = 65535'
}

@test "rseq: without one of libc's, the records of all threads are in the cores' rings" {
	for kind in glibc musl musl-static; do
		run_as $kind never
		as_counted
		[ "$(shared)" = 0 ] || { echo "$kind: $(shared) records in the shared ring"; false; }
	done
}

@test "rseq: of a program without symbols, too" {
	"$dt" record -o t.db -F '*' ./musl-stripped never >out 2>err
	# what runs before the thread has a block
	[ "$(shared)" -lt 200 ]
	[ "$(sqlite3 t.db 'SELECT sum(records) > 4000 FROM chunk')" = 1 ]
	"$dt" check -q t.db
}

@test "rseq: a program that registers its own first has it, and its calls are all recorded" {
	for kind in glibc musl musl-static; do
		run_as $kind first
		as_counted
		[ "$(cut -d' ' -f3 out | sort -u)" = 0 ] || { echo "$kind"; cat out; false; }
	done
}

@test "rseq: a library that wants it, and is loaded later, gets it in every thread" {
	run_as glibc library ./mine.so
	as_counted
	[ "$(cut -d' ' -f3 out | sort -u)" = 0 ] || { cat out; false; }
	run_as musl library ./mine-musl.so
	as_counted
	[ "$(cut -d' ' -f3 out | sort -u)" = 0 ] || { cat out; false; }
	# one thread alone, which waits for devtrace meanwhile
	gcc -O1 -g -pthread -DTHREADS=1 -o one-glibc "$root/test/programs/rseq.c"
	musl-gcc -O1 -g -pthread -DTHREADS=1 -o one-musl "$root/test/programs/rseq.c"
	run_as one-glibc library ./mine.so
	[ "$(cut -d' ' -f2,3 out)" = "500 0" ] || { cat out; false; }
	run_as one-musl library ./mine-musl.so
	[ "$(cut -d' ' -f2,3 out)" = "500 0" ] || { cat out; false; }
	[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'leaf'")" = 500 ]
}

@test "rseq: attached to and let go, threads have none, and nothing is left in memory" {
	for kind in glibc musl musl-static; do
		begin $kind
		for round in 1 2; do
			mapped >before
			rm -f t.db*
			"$dt" attach -o t.db -F leaf "$pid" 2>err 3>&- &
			tracer=$!
			until [ "$(sqlite3 t.db 'SELECT total(records) > 1000 FROM chunk' 2>/dev/null)" = 1 ]; do
				kill -0 "$tracer" || { cat err; false; }
				sleep 0.02
			done
			kill -INT "$tracer"
			wait "$tracer" || { cat err; false; }
			[ "$(shared)" = 0 ] || { echo "$kind: $(shared) records in the shared ring"; false; }
			[ "$(grep -c mapped err)" = 0 ]
			mapped >after
			diff before after
		done
		touch go
		wait "$pid"
		[ "$(cut -d' ' -f3 out | sort -u)" = 0 ] || { echo "$kind"; cat out; false; }
	done
}

@test "rseq: a controller that is killed leaves threads that go on, and the next one takes over" {
	for kind in glibc musl; do
		begin $kind
		for signal in KILL INT; do
			rm -f t.db*
			"$dt" attach -o t.db -F leaf "$pid" 2>err 3>&- &
			tracer=$!
			until [ "$(sqlite3 t.db 'SELECT total(records) > 1000 FROM chunk' 2>/dev/null)" = 1 ]; do
				kill -0 "$tracer" || { cat err; false; }
				sleep 0.02
			done
			kill -$signal "$tracer"
			wait "$tracer" || [ $signal = KILL ] || { cat err; false; }
		done
		[ "$(shared)" = 0 ]
		touch go
		wait "$pid"
		[ "$(cut -d' ' -f3 out | sort -u)" = 0 ] || { echo "$kind"; cat out; false; }
	done
}

@test "rseq: static programs with all functions, begun by devtrace and by others" {
	for kind in glibc-static musl-static; do
		"$dt" record -o t.db -F '*' "./$kind" never >out 2>err
		as_counted
		[ "$(shared)" -lt 500 ] || { echo "$kind: $(shared) records in the shared ring"; false; }
		"$dt" record -o t.db -F leaf env "./$kind" never >out 2>err
		as_counted
		[ "$(shared)" -lt 10 ] || { echo "$kind, by env: $(shared) records in the shared ring"; false; }
		status=0
		"$dt" record -f -o t.db -F leaf sh -c "./$kind never; exit 3" >out 2>err || status=$?
		[ "$status" = 3 ]
		as_counted
		[ "$(shared)" -lt 10 ] || { echo "$kind, by sh: $(shared) records in the shared ring"; false; }
	done
}

@test "rseq: a static program that computes for long before its first system call is not waited for" {
	cat >long.c <<-'C'
		#include <stdio.h>
		#include <time.h>
		__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return t.tv_sec + t.tv_nsec / 1e9;
		}
		int main(void)
		{
			double begin = now();
			int n = 0;
			while (now() < begin + 0.3)
				n = leaf(n);
			printf("0 %d 0\n", n);
			return 0;
		}
	C
	gcc -O1 -g -static -o long-glibc long.c
	musl-gcc -O1 -g -static -o long-musl long.c
	for kind in long-glibc long-musl; do
		"$dt" record -o t.db -F leaf "./$kind" >out 2>err
		[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'leaf'")" = "$(cut -d' ' -f2 out)" ]
		[ "$(shared)" -lt 10 ] || { echo "$kind: $(shared) records in the shared ring"; false; }
	done
}

@test "rseq: where it can not be had, and many records are slow, that is said, and why" {
	cat >wants.c <<-'C'
		#define _GNU_SOURCE
		#include <sys/syscall.h>
		#include <unistd.h>
		__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
		int main(int argc, char **argv)
		{
			int n = 0;
			while (n < 10000)
				n = leaf(n);
			return argc > 1 ? syscall(SYS_rseq, 0, 0, 0, 0) : 0;
		}
	C
	for how in "musl-gcc" "musl-gcc -static" gcc; do
		$how -O1 -g -o wants wants.c
		GLIBC_TUNABLES=glibc.pthread.rseq=0 "$dt" record -o t.db -F leaf ./wants 2>err
		grep -q '^devtrace: 20000 of 20000 records took some 0.4 us each, .*: process [0-9]*, wants may register one itself (doc/probes.md' err ||
			{ echo "$how"; cat err; false; }
		[ "$(shared)" = 20000 ]
	done
	# and nothing where libc has it
	"$dt" record -o t.db -F leaf ./wants 2>err
	[ "$(grep -c rseq err)" = 0 ]
	grep -q '^## Threads without rseq' "$root/doc/probes.md"
}

@test "rseq: a child that runs in its maker's block is not taken for it" {
	# it runs on another core than its maker, whose rseq says where that one was
	cat >lends.c <<-'C'
		#define _GNU_SOURCE
		#include <sched.h>
		#include <stdio.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
		static void pin(int core)
		{
			cpu_set_t set;
			CPU_ZERO(&set);
			CPU_SET(core, &set);
			sched_setaffinity(0, sizeof(set), &set);
		}
		static void calls(void)
		{
			for (int i = 0; i < 1000; i++)
				leaf(i);
		}
		int main(void)
		{
			pid_t child;
			pin(0);
			calls();
			child = vfork();
			if (child == 0) {
				pin(1);
				calls();
				_exit(0);
			}
			calls();
			waitpid(child, NULL, 0);
			printf("%ld 2000 0\n%ld 1000 0\n", (long)syscall(SYS_gettid), (long)child);
			return 0;
		}
	C
	gcc -O1 -g -o lends-glibc lends.c
	gcc -O1 -g -static -o lends-glibc-static lends.c
	musl-gcc -O1 -g -o lends-musl lends.c
	musl-gcc -O1 -g -static -o lends-musl-static lends.c
	for kind in lends-glibc lends-glibc-static lends-musl lends-musl-static; do
		run_as $kind
		[ "$("$dt" sql -n t.db "SELECT thread, count(*) FROM calls WHERE function = 'leaf' GROUP BY thread ORDER BY thread" | xargs -n 2)" = \
			"$(cut -d' ' -f1,2 out | sort -n)" ] || { echo $kind; cat out err; "$dt" sql t.db "SELECT thread, count(*) FROM calls GROUP BY thread"; false; }
		# its records are in the shared ring, or, where it has begun anew, on its core: not in its maker's ring
		[ "$("$dt" sql -n t.db "SELECT count(*) FROM records WHERE thread = $(tail -1 out | cut -d' ' -f1) AND core = 0")" = 0 ]
		[ "$("$dt" sql -n t.db "SELECT count(*) FROM records WHERE thread = $(head -1 out | cut -d' ' -f1) AND core = 0")" -ge 4000 ]
	done
}

@test "rseq: nothing is written into blocks that a program has made for its threads itself" {
	cat >blocks.c <<-'C'
		#define _GNU_SOURCE
		#include <sched.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
		static int child(void *arg)
		{
			for (int i = 0; i < 1000; i++)
				leaf(i);
			syscall(SYS_exit, 0);
			return arg != NULL;
		}
		/* a block of 64 bytes that points to itself, as the ABI has it; what is behind it is the program's */
		static struct {
			uint64_t word[8];
			unsigned char behind[4096 - 64];
		} block __attribute__((aligned(4096)));
		int main(int argc, char **argv)
		{
			char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			volatile int gone = 1;
			int wrong = 0;
			leaf(0);
			memset(block.behind, argc > 1 ? atoi(argv[1]) : 0, sizeof(block.behind));
			block.word[0] = (uint64_t)&block;
			clone(child, stack + (1 << 20), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID, NULL, (int *)&gone, &block, (int *)&gone);
			while (gone)
				usleep(1000);
			for (unsigned i = 0; i < sizeof(block.behind); i++)
				wrong += block.behind[i] != (argc > 1 ? atoi(argv[1]) : 0);
			for (int i = 4; i < 8; i++) /* libc itself writes to the one before */
				wrong += block.word[i] != 0;
			printf("%d\n", wrong);
			return 0;
		}
	C
	sed -i 's/#include <stdio.h>/&\n#include <stdlib.h>/' blocks.c
	gcc -O1 -g -w -o blocks-glibc blocks.c
	gcc -O1 -g -w -static -o blocks-glibc-static blocks.c
	musl-gcc -O1 -g -w -static -o blocks-musl blocks.c
	for kind in blocks-glibc blocks-glibc-static blocks-musl; do
		for filled in 0 255; do
			[ "$("./$kind" $filled)" = 0 ]
			run_as $kind $filled
			[ "$(cat out)" = 0 ] || { echo "$kind $filled: $(cat out) bytes"; false; }
			[ "$("$dt" sql -n t.db "SELECT count(*) FROM records WHERE function = 'leaf' AND kind = 'E'")" = 1001 ]
		done
	done
}

@test "rseq: in a PID namespace, where threads have other numbers" {
	unshare -pf true || skip "no PID namespaces here"
	for kind in glibc musl musl-static; do
		GLIBC_TUNABLES=glibc.pthread.rseq=0 "$dt" record -f -o t.db -F leaf unshare -pf "./$kind" never >out 2>err
		[ "$("$dt" sql -n t.db "SELECT count(*), count(DISTINCT thread) FROM calls WHERE function = 'leaf'" | xargs)" = "2000 4" ]
		[ "$(shared)" -lt 10 ] || { echo "$kind: $(shared) records in the shared ring"; false; }
	done
}
