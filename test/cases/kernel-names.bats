# SPDX-License-Identifier: MIT
# What threads and processes are called of which only the kernel is recorded (attach -k, -A without a process): as
# they say themselves, also those that have ended before anybody could look.
load devtrace
bats_require_minimum_version 1.5.0

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the BPF programs are for x86-64"
	cd "$BATS_TEST_TMPDIR" || return 1
	timeout 60 "$dt" record -k'syscall:close' -F main -o may.db true >may.out 2>&1 || skip "BPF: $(tail -n 1 may.out)"
	cat >tree.c <<-'END'
		/* Says of itself: T thread process name; P process parent arguments. All call close(). */
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/prctl.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static char line[4096];
		static void thread(const char *name)
		{
			char text[100];

			close(1000);
			snprintf(text, sizeof(text), "T %d %d %s\n", gettid(), getpid(), name);
			if (write(1, text, strlen(text)) < 0)
				_exit(1);
		}
		static void process(const char *arguments)
		{
			char text[5000];

			snprintf(text, sizeof(text), "P %d %d %s\n", getpid(), getppid(), arguments);
			if (write(1, text, strlen(text)) < 0)
				_exit(1);
		}
		static void *named(void *name)
		{
			close(1001); /* the first record has the name that it was made with */
			pthread_setname_np(pthread_self(), name);
			thread(name);
			return NULL;
		}
		static void *unnamed(void *name)
		{
			thread(name);
			return NULL;
		}
		int main(int argc, char **argv)
		{
			char *const other[] = {"./other", "a", "b c", NULL};
			pthread_t t;

			for (int i = 0; i < argc; i++)
				sprintf(line + strlen(line), "%s%s", i ? " " : "", argv[i]);
			if (argc == 3) { /* the other program */
				process(line);
				prctl(PR_SET_NAME, "another");
				thread("another");
				return 0;
			}
			process(line);
			for (int i = 0; i < 40; i++) {
				char name[16];

				sprintf(name, "thread-%d", i);
				pthread_create(&t, NULL, i % 2 ? named : unnamed, i % 2 ? name : "tree");
				pthread_join(t, NULL);
				if (i % 4)
					continue;
				if (!fork()) { /* executes nothing */
					process(line);
					thread("tree");
					_exit(0);
				}
				wait(NULL);
				if (!fork()) {
					close(1002);
					execv(other[0], other);
					_exit(1);
				}
				wait(NULL);
			}
			thread("tree");
			return 0;
		}
	END
	gcc -O1 -o tree tree.c
	cp tree other
}

# recorded OPTION...: attaches, has the tree run, and ends. A process of which there is a record has a row for each
# program: the last one is what it was
recorded() {
	# it closes something again and again until it may begin
	sh -c 'until [ -e go ]; do : </dev/null; sleep 0.05; done; exec ./tree' >said 3>&- &
	local tree=$! devtrace
	"$dt" attach -A syscall:close -o t.db "${@//TREE/$tree}" 2>err 3>&- &
	devtrace=$!
	until "$dt" calls t.db 2>/dev/null | grep -q 'close('; do
		kill -0 $devtrace || { cat err; return 1; }
		sleep 0.05
	done
	: >go
	wait $tree
	sleep 0.1
	kill -INT $devtrace 2>/dev/null || true # with --pid it ends with the process
	wait $devtrace
	"$dt" check -q t.db
	"$dt" sql -n t.db "SELECT 'T ' || thread || ' ' || process || ' ' || name FROM threads WHERE thread IN
		(SELECT thread FROM calls)" | sort >threads
	"$dt" sql -n t.db "SELECT 'P ' || process || ' ' || parent || ' ' || command FROM processes" | sort >processes
	# all of what they said is there
	grep ^T said | sort >want
	[ "$(wc -l <want)" = 61 ]
	run -0 comm -23 want threads
	[ -z "$output" ] || { echo "$output"; return 1; }
	grep ^P said | sort -u >want
	[ "$(wc -l <want)" = 21 ]
	run -0 comm -23 want processes
	[ -z "$output" ] || { echo "$output"; cat processes; return 1; }
}

@test "kernel-names: threads and processes of one that is watched have their names, however short they live" {
	recorded --pid=TREE
	# and the paths of their programs, or what they were called when they were executed
	run -0 "$dt" sql -n t.db "SELECT DISTINCT program FROM processes WHERE command LIKE '%other%'"
	while read -r program; do
		[ "$program" = "$PWD/other" ] || [ "$program" = ./other ] || { echo "$output"; return 1; }
	done <<<"$output"
}

@test "kernel-names: ... and all of the machine's" {
	recorded
	"$dt" report --by process t.db | grep -q ' other'
	"$dt" report --by thread t.db | grep -q ' thread-39'
}
