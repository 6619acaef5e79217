#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Processes that are killed while devtrace holds them for a moment: whoever waits for them is told.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/killer.c" <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <pthread.h>
		#include <signal.h>
		#include <spawn.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		extern char **environ;
		static const char *library;
		__attribute__((noinline)) int turn(int n) { __asm__ volatile("" ::: "memory"); return n * 3; }
		static void *execute(void *arg)
		{
			execl("/bin/sleep", "sleep", "9", (char *)0);
			return arg;
		}
		static void *spin(void *arg)
		{
			for (volatile int n = 0;;)
				n = turn(n);
			return arg;
		}
		/* what a child does until it is killed */
		static void be(char how)
		{
			pthread_t t;

			switch (how) {
			case 'e':
				execute(NULL);
				break;
			case 't': /* the thread becomes the first one */
				pthread_create(&t, NULL, execute, NULL);
				pthread_join(t, NULL);
				break;
			case 'n':
				for (;;)
					execl("/nonexistent", "none", (char *)0);
			case 'd':
				pthread_create(&t, NULL, spin, NULL);
				for (;;) {
					void *l = dlopen(library, RTLD_NOW);
					turn(((int (*)(int))dlsym(l, "twice"))(2));
					dlclose(l);
				}
			}
			_exit(0);
		}
		static pid_t make(char how)
		{
			char *const argv[] = {"sleep", "9", NULL};
			pid_t p;

			if (how == 's')
				return posix_spawn(&p, "/bin/sleep", NULL, NULL, argv, environ) ? -1 : p;
			p = fork();
			if (!p)
				be(how);
			return p;
		}
		int main(int argc, char **argv)
		{
			int killed = 0, n = atoi(argv[2]);

			library = argv[3];
			srandom(atoi(argv[4]));
			for (int i = 0; i < n; i++) {
				struct timespec t = {0, random() % 8000000};
				pid_t p = make(argv[1][0]);
				int status;

				turn(i);
				nanosleep(&t, NULL);
				kill(p, SIGKILL);
				alarm(20);
				if (waitpid(p, &status, 0) == p && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
					killed++;
			}
			printf("%d\n", killed);
			return 0;
		}
	C
	echo 'int twice(int n) { return 2 * n; }' | gcc -O1 -shared -fPIC -o "$dir/libtwice.so" -x c -
	gcc -O1 -g -o "$dir/killer" "$dir/killer.c"
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# killed HOW TIMES OPTION...: all are told of, and the calls of the one who waits are counted right
killed() {
	local how=$1 n=$2 seed=$RANDOM
	shift 2
	echo "# $how, seed $seed"
	timeout -k 5 100 "$dt" record -o t.db -F turn "$@" -- "$dir/killer" "$how" "$n" "$dir/libtwice.so" $seed >out 2>err || {
		cat out err
		return 1
	}
	[ "$(cat out)" = "$n" ]
	[ "$how" = d ] || [ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'turn'")" = "$n" ]
	"$dt" check -q t.db
}

@test "a child that is killed while it executes a program is waited for" {
	killed e 150
	killed e 100 -f
}

@test "a child that is killed while another of its threads executes a program is waited for" {
	killed t 120
}

@test "a child that is killed while it is spawned is waited for" {
	killed s 120
	killed s 60 -f
}

@test "a child that is killed while it tries to execute a program that is not there is waited for" {
	killed n 100
}

@test "a child that is killed while libraries are loaded, and planted in, is waited for" {
	killed d 60 -F 'libtwice.so:*'
}
