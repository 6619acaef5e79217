# SPDX-License-Identifier: MIT
# Processes in other PID namespaces, which number themselves 1, 2, 3 in each of them.
load devtrace

setup_file() {
	[ "$(id -u)" = 0 ] || skip "unshare needs root"
	export dir
	dir=$(mktemp -d)
	cat >"$dir/spaces.c" <<-'C'
		/*
		 * SPACES namespaces at once; in each a first process and a child of it, with three threads each, so that
		 * numbers are the same in all. Each thread calls work() a number of times that no other has, is called
		 * after that, and stays, when there is a third argument, until it is killed; or ends at once.
		 */
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <sched.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static int stay;
		__attribute__((noinline)) long work(long x) { __asm__ volatile("" ::: "memory"); return x + 1; }
		static void *thread(void *n)
		{
			char name[16];
			snprintf(name, sizeof(name), "w%ld", (long)n);
			prctl(PR_SET_NAME, name);
			for (long i = 0; i < (long)n; i++)
				work(i);
			if (stay)
				usleep(900000);
			return NULL;
		}
		static void process(long n)
		{
			pthread_t t[2];
			for (long i = 0; i < 2; i++)
				pthread_create(&t[i], NULL, thread, (void *)(n + 10 * (i + 1)));
			thread((void *)n);
			for (int i = 0; i < 2; i++)
				pthread_join(t[i], NULL);
		}
		int main(int argc, char **argv)
		{
			int spaces = atoi(argv[1]);
			stay = argc > 2;
			for (long i = 1; i <= spaces; i++) {
				if (fork())
					continue;
				if (unshare(CLONE_NEWPID))
					_exit(9);
				if (fork()) {
					int status;
					wait(&status);
					_exit(WEXITSTATUS(status));
				}
				/* the first one's own calls come behind its child's first, or in front */
				if (i % 2)
					process(1000 * i);
				if (!fork()) {
					process(1000 * i + 100);
					_exit(0);
				}
				wait(NULL);
				if (i % 2 == 0)
					process(1000 * i);
				_exit(getpid() == 1 ? 0 : 8);
			}
			int status, bad = 0;
			while (wait(&status) > 0)
				bad |= status;
			printf("%d\n", bad);
			return 0;
		}
	C
	gcc -O1 -g -pthread -o "$dir/spaces" "$dir/spaces.c"
	gcc -O1 -g -pthread -B"$root/build/lib" -o "$dir/spaces-sleds" "$dir/spaces.c"
}

teardown() {
	[ ! -s "$dir/looping" ] || kill -9 "$(cat "$dir/looping")" || true
	rm -f "$dir/looping"
	check_traces
}

teardown_file() {
	[ -z "$dir" ] || rm -rf "$dir"
}

# what the program does: how many calls each of its threads makes
truth() {
	for i in $(seq "$1"); do
		for n in 0 10 20 100 110 120; do
			echo $((1000 * i + n))
		done
	done | sort -n
}

per_thread() {
	"$dt" sql --csv "$1" "SELECT count(*) FROM records WHERE function = 'work' AND kind = '$2' GROUP BY thread" | tail -n +2 | tr -d '\r' | sort -n
}

@test "four namespaces at once: each thread's calls are its own, by sleds and by probes" {
	for prog in spaces spaces-sleds; do
		for policy in wait drop; do
			run timeout 60 "$dt" record -p $policy -b 32M -F work -o "$dir/t.db" "$dir/$prog" 4
			echo "$prog $policy: $output"
			[ "$status" = 0 ]
			[ "${lines[0]}" = 0 ]
			diff <(truth 4) <(per_thread "$dir/t.db" E)
			diff <(truth 4) <(per_thread "$dir/t.db" X)
		done
	done
}

@test "threads that can be asked for have the numbers that everybody else knows them by" {
	timeout 60 "$dt" record -S -F work -o "$dir/t.db" "$dir/spaces" 2 stay >"$dir/out" 2>"$dir/err" &
	recorder=$!
	for _ in $(seq 100); do
		tids=$(grep -xHE 'w1000|w1010' /proc/[0-9]*/task/[0-9]*/comm 2>/dev/null |
			sed 's,.*/task/\([0-9]*\)/comm:\(.*\),\2 \1,')
		[ "$(wc -l <<<"$tids")" = 2 ] && break
		sleep 0.02
	done
	wait $recorder
	cat "$dir/err"
	"$dt" sql "$dir/t.db" "SELECT tid, pid, name FROM thread"
	for name in w1000 w1010; do
		tid=$(sed -n "s/^$name //p" <<<"$tids")
		[ -n "$tid" ]
		# its name is that of when it was first seen: -S sees it before it has called prctl
		[[ "$("$dt" sql --csv "$dir/t.db" "SELECT name FROM thread WHERE tid = $tid" | tail -1 | tr -d '\r')" =~ ^(spaces|$name)$ ]]
		[ "$("$dt" sql --csv "$dir/t.db" "SELECT count(*) FROM records WHERE kind = 'E' AND thread = $tid" | tail -1 | tr -d '\r')" = ${name#w} ]
	done
}

@test "what unshare executes in a namespace of its own is followed" {
	run timeout 60 "$dt" record -f -F work -o "$dir/t.db" unshare -pf "$dir/spaces" 2
	echo "$output"
	[ "$status" = 0 ]
	[ "${lines[0]}" = 0 ]
	diff <(truth 2) <(per_thread "$dir/t.db" E)
	run timeout 60 "$dt" record -f -F work -o "$dir/t.db" unshare -pf sh -c "$dir/spaces 1; $dir/spaces-sleds 2"
	[ "$status" = 0 ]
	diff <( (truth 1; truth 2) | sort -n) <(per_thread "$dir/t.db" E)
}

@test "attach to a process in another namespace, and let it go" {
	cat >"$dir/loop.c" <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) long work(long x) { __asm__ volatile("" ::: "memory"); return x + 1; }
		int main(void) { for (long i = 0;; i++) { work(i); usleep(1000); } }
	C
	gcc -O1 -g -o "$dir/loop" "$dir/loop.c"
	unshare -pf "$dir/loop" 3>&- &
	outer=$!
	for _ in $(seq 200); do
		pid=$(cat /proc/$outer/task/$outer/children | tr -d ' ')
		[ -n "$pid" ] && [ "$(cat /proc/"$pid"/comm)" = loop ] && break
		sleep 0.01
	done
	echo "$pid" >"$dir/looping"
	run timeout --preserve-status -s INT 1 "$dt" attach -F work -o "$dir/t.db" "$pid"
	echo "$output"
	[ "$status" = 0 ]
	[ "$("$dt" sql --csv "$dir/t.db" "SELECT DISTINCT thread FROM records WHERE kind = 'E'" | tail -n +2 | tr -d '\r')" = "$pid" ]
	[ "$(per_thread "$dir/t.db" E)" -gt 50 ]
	[ "$(grep -c devtrace /proc/"$pid"/maps)" = 0 ]
	kill -0 "$pid"
	kill -9 "$pid"
	wait $outer || true
}
