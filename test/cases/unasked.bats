# SPDX-License-Identifier: MIT
# Context switches that nobody has asked for: what they tell, where they can not be had, and when they end.
load common

setup() {
	cd "$(mktemp -d "$dir/XXXXXX")"
	unset DEVTRACE_SWITCHES
}

# sleeps and computes, and says what it did by its own clocks: wall and processor time of all naps in ns
naps() {
	cat >naps.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static long now(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
		__attribute__((noinline)) int nap(int i) { usleep(20000); return i; }
		__attribute__((noinline)) int leaf(int i) { __asm__ volatile(""); return i + 1; }
		int main(void)
		{
			long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
			for (int i = 0; i < 10; i++)
				leaf(nap(i));
			fprintf(stderr, "%ld %ld\n", now(CLOCK_MONOTONIC) - wall, now(CLOCK_THREAD_CPUTIME_ID) - cpu);
			return 0;
		}
	C
	gcc -O1 -g -o naps naps.c
}

value() {
	sqlite3 "$1" "SELECT value FROM meta WHERE key = '$2'"
}

@test "unasked: report and calls tell what waited, and no line is one of switches" {
	naps
	"$dt" record -F nap -F leaf -F main -o t.db ./naps 2>said
	[ "$(value t.db switches)" = unasked ]
	[ -z "$(value t.db switches.end)" ]
	"$dt" check t.db
	# what the program itself says, and 2 ms for each call in front of and behind the clocks' readings
	"$dt" report --json t.db >report
	python3 - <<-'PY'
		import json
		wall, cpu = map(int, open("said").read().split()[-2:])
		(nap,) = [r for r in map(json.loads, open("report")) if r.get("function") == "nap"]
		assert nap["calls"] == 10, nap
		assert abs(nap["wait_ns"] - (wall - cpu)) < 0.05 * wall + 10e6, (nap, wall, cpu)
	PY
	"$dt" calls t.db >calls
	[ "$(grep -c ' nap(.*waited' calls)" = 10 ]
	run grep -E 'runs on core|exists' calls
	[ "$status" = 1 ]
	# as many records as calls have, by every format; nothing beside calls
	for how in -l -c -3 -k --json; do
		"$dt" cat $how t.db >cat
		[ "$(wc -l <cat)" -ge 42 ]
		run grep -E '^(kind=)?[SR] |"kind": "[SR]"' cat
		[ "$status" = 1 ]
	done
	[ "$("$dt" cat t.db | wc -l)" = 42 ]
	run grep 'beside calls' <("$dt" report t.db)
	[ "$status" = 1 ]
	# they are there
	[ "$("$dt" sql -n -c t.db "SELECT count(*) >= 20 FROM switches" | tr -d '\r')" = 1 ]
	"$dt" flame --off -o off.svg t.db
	grep -q nap off.svg
	# times are counted from the first call on
	[ "$("$dt" sql -n -c t.db "SELECT min(time) = 0 FROM records WHERE kind = 'E'" | tr -d '\r')" = 1 ]
}

@test "unasked: devtrace PROG marks what waited; with -S there are lines, without any none" {
	naps
	"$dt" ./naps >out 2>said
	[ "$(grep -c ' nap(.*waited' out)" = 10 ]
	"$dt" -O duration,wait ./naps >out 2>said
	grep -q nap out
	"$dt" record -S -o s.db ./naps 2>said
	[ -z "$(value s.db switches)" ]
	"$dt" calls s.db | grep -q 'runs on core'
	"$dt" cat s.db | grep -q '^S'
	"$dt" record --no-switches -o n.db ./naps 2>said
	DEVTRACE_SWITCHES=no "$dt" record -o e.db ./naps 2>said
	for f in n e; do
		[ -z "$(value $f.db switches)" ]
		[ "$("$dt" sql -n -c $f.db "SELECT count(*) FROM switches" | tr -d '\r')" = 0 ]
		run "$dt" flame --off -o x.svg $f.db
		[ "$status" = 1 ]
		[ "$output" = "devtrace: no switches in this trace: record with -S" ]
	done
}

@test "unasked: where most records are left out, or the newest kept, none are recorded" {
	naps
	for how in "-p overwrite" "--filter time>1s" "--sum count"; do
		"$dt" record $how -o t.db ./naps 2>said
		[ -z "$(value t.db switches)" ]
	done
}

@test "unasked: a filter that forbids them, or ends who tries, is no obstacle; who asks for waits is told" {
	naps
	cat >within.c <<-'C'
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <stddef.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			int error = atoi(argv[1]);
			struct sock_filter f[] = {
				BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
				BPF_STMT(BPF_RET | BPF_K, error ? SECCOMP_RET_ERRNO | error : SECCOMP_RET_KILL_PROCESS),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
			struct sock_fprog p = {4, f};
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
				return 99;
			execvp(argv[2], argv + 2);
			return 98;
		}
	C
	gcc -O1 -o within within.c
	# EPERM, ENOSYS; EACCES is what a kernel says whose perf_event_paranoid is 3
	for error in 1 38 13 0; do
		./within $error "$dt" record -F nap -F leaf -o t.db ./naps 2>said
		[ "$(grep -vcE '^[0-9]+ [0-9]+$' said)" = 0 ]
		[ "$("$dt" cat t.db | wc -l)" = 40 ]
		[ "$("$dt" sql -n -c t.db "SELECT count(*) FROM records" | tr -d '\r')" = 40 ]
		run "$dt" report t.db
		[[ "${lines[0]}" != *wait* ]]
		for command in "flame --off -o x.svg" "report -s wait" "report --waits"; do
			run "$dt" $command t.db
			[ "$status" = 1 ]
			one_line "no switches in this trace:" "$([ $error = 13 ] && echo perf_event_paranoid || echo seccomp)"
		done
	done
}

@test "unasked: little memory that may be locked, few files: every call is there, and why waits are not" {
	naps
	id dtuser >/dev/null 2>&1 || useradd -m dtuser
	chmod 777 .
	su dtuser -c "ulimit -l 0; '$dt' record -F nap -F leaf -F main -o l.db ./naps" 2>said
	[ "$("$dt" cat l.db | wc -l)" = 42 ]
	(ulimit -n 100; "$dt" record -F nap -F leaf -F main -o t.db ./naps) 2>said
	[ "$("$dt" cat t.db | wc -l)" = 42 ]
	run "$dt" report -s wait t.db
	one_line "no switches in this trace: these are too many threads"
	# the program may open as many as before
	[ "$(ulimit -Sn 300; "$dt" record -l -o u.db sh -c 'ulimit -Sn' 2>said)" = 300 ]
}

@test "unasked: a program that switches all the time is left alone, and from when on is said" {
	cat >pass.c <<-'C'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <sched.h>
		#include <stdlib.h>
		#include <unistd.h>
		static int a[2], b[2];
		enum { TURNS = 100000 };
		__attribute__((noinline)) int turn(int i) { __asm__ volatile(""); return i + 1; }
		static void *other(void *p)
		{
			char c;
			for (int i = 0; i < TURNS; i++)
				if (read(a[0], &c, 1) != 1 || write(b[1], &c, 1) != 1)
					exit(1);
			return p;
		}
		int main(void)
		{
			pthread_t t;
			char c = 'x';
			cpu_set_t one;
			CPU_ZERO(&one);
			CPU_SET(0, &one);
			sched_setaffinity(0, sizeof(one), &one);
			if (pipe(a) || pipe(b))
				return 1;
			pthread_create(&t, NULL, other, NULL);
			for (int i = 0; i < TURNS; i++)
				if (turn(i) && (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1))
					return 1;
			pthread_join(t, NULL);
			return 0;
		}
	C
	gcc -O1 -g -o pass pass.c -lpthread
	"$dt" record -F turn -F main -o t.db ./pass 2>said
	[ ! -s said ]
	"$dt" check t.db
	[[ $(value t.db switches.end) == *"so often"* || $(value t.db switches.end) == *"faster than"* ]]
	[ "$("$dt" cat t.db | wc -l)" = 200002 ]
	# four for each turn would be 400,000
	[ "$("$dt" sql -n -c t.db "SELECT count(*) < 200000 FROM switches" | tr -d '\r')" = 1 ]
	[ "$("$dt" sql -n -c t.db "SELECT sum(records) FROM lost" | tr -d '\r')" = "" ]
	# main waited at least; what is not known of it is no less than what came behind that tick
	until=$(value t.db switches.until)
	"$dt" sql -n -c t.db "SELECT unseen, duration, waited FROM calls WHERE function = 'main'" | tr -d '\r' >main
	"$dt" sql -n -c t.db "SELECT (max(ticks) - $until) * 1.0 / (max(ticks) - min(ticks)) FROM records" | tr -d '\r' >share
	awk -F, 'NR == FNR { share = $1; next } { exit !($1 > 0 && $1 <= $2 && $1 >= 0.9 * share * $2 && $1 + $3 <= $2 * 1.001) }' share main
	run "$dt" report t.db
	[[ $output == *"note: context switches are not known in "*" ms of this trace, at its end: "* ]]
	# who looks at calls alone is not told of that
	"$dt" calls t.db 2>said >calls
	[ ! -s said ]
	# all of them are there for who asks
	"$dt" record -S -F turn -o s.db ./pass
	[ -z "$(value s.db switches.end)" ]
}

@test "unasked: children and programs that are executed are followed once" {
	cat >family.c <<-'C'
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int turn(int i) { usleep(1000); return i + 1; }
		int main(int argc, char **argv)
		{
			for (int k = 0; k < 3; k++)
				if (!fork()) {
					for (int i = 0; i < 50; i++)
						turn(i);
					if (k < 2 && !fork())
						for (int i = 0; i < 50; i++)
							turn(i);
					while (wait(NULL) > 0)
						;
					_exit(0);
				}
			while (wait(NULL) > 0)
				;
			if (argc == 1)
				execl(argv[0], argv[0], "again", NULL);
			return 0;
		}
	C
	gcc -O1 -g -o family family.c
	for how in "" -S; do
		"$dt" record $how -F 'family:turn' -F 'family:main' -o t.db ./family
		"$dt" check t.db
		[ "$("$dt" sql -n -c t.db "SELECT count(*) FROM calls WHERE function = 'turn'" | tr -d '\r')" = 500 ]
		# every turn sleeps
		[ "$("$dt" sql -n -c t.db "SELECT count(*) FROM calls WHERE function = 'turn' AND waited >= 900000" | tr -d '\r')" -ge 490 ]
		# a thread does not come to a core that it is on
		[ "$("$dt" sql -n -c t.db "SELECT count(*) FROM (SELECT thread, lag(thread) OVER (PARTITION BY core ORDER BY ticks) AS before
			FROM switches) WHERE thread = before" | tr -d '\r')" -le 10 ]
	done
}

@test "unasked: attach to a program of 500 threads" {
	cat >many.c <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		static int go[2];
		__attribute__((noinline)) int turn(int i) { usleep(5000); return i; }
		static void *run(void *p)
		{
			char c;
			while (read(go[0], &c, 1) == 1)
				turn(c);
			return p;
		}
		int main(void)
		{
			pthread_t t[500];
			char c;
			if (pipe(go))
				return 1;
			for (int i = 0; i < 500; i++)
				pthread_create(&t[i], NULL, run, NULL);
			puts("ready");
			fflush(stdout);
			if (read(0, &c, 1) != 1)
				return 1;
			for (int i = 0; i < 2000; i++)
				if (write(go[1], &c, 1) != 1)
					return 1;
			close(go[1]);
			for (int i = 0; i < 500; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	C
	gcc -O1 -g -o many many.c -lpthread
	mkfifo in
	./many <in >ready 3>&- &
	pid=$!
	exec 4>in
	until grep -q ready ready; do sleep 0.05; done
	"$dt" attach -d -s "many-$pid" -F turn -o t.db "$pid" 3>&- 4>&-
	printf x >&4
	exec 4>&-
	wait "$pid"
	until_gone "many-$pid"
	"$dt" check t.db
	[ "$("$dt" sql -n -c t.db "SELECT count(*) FROM calls" | tr -d '\r')" = 2000 ]
	waited=$("$dt" sql -n -c t.db "SELECT count(*) FROM calls WHERE waited >= 4000000" | tr -d '\r')
	[ "$waited" -ge 1900 ] || [ -n "$(value t.db switches.end)" ]
}

@test "unasked: a session's records are those of calls, as the program counts them" {
	local s=counts-$$ state
	cat >ten.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) int nap(int i) { usleep(3000); return i; }
		int main(void)
		{
			char c;
			if (read(0, &c, 1) != 1)
				return 1;
			for (int i = 0; i < 10; i++)
				nap(i);
			puts("done");
			fflush(stdout);
			return read(0, &c, 1) != 0;
		}
	C
	gcc -O1 -g -o ten ten.c
	mkfifo to
	./ten <to >done 3>&- &
	exec 4>to
	"$dt" attach -d -s $s -F nap -o t.db $! 3>&- 4>&-
	printf x >&4
	until grep -q done done; do sleep 0.05; done
	# its exits have been read, and with them what came before
	until [[ $("$dt" ctl -s $s) == *"#traceouthits 10"* ]]; do sleep 0.05; done
	state=$("$dt" ctl -s $s)
	exec 4>&-
	echo "$state"
	until_gone $s
	[[ $state == *"#tracehits 20, in queue 0"* ]]
	[ "$("$dt" sql -n -c t.db "SELECT count(*) >= 20 FROM switches" | tr -d '\r')" = 1 ]
}
