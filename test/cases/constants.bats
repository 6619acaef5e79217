#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The names of constants and flags in calls of the C library. strace is the oracle.
bats_require_minimum_version 1.5.0
load read-helper

@test "constants have the names that strace gives them: 2,000 calls with each flag and number" {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	cases=$BATS_TEST_DIRNAME
	cd "$BATS_TEST_TMPDIR"
	gcc -w -o constants "$cases/../programs/constants.c"
	strace -o strace ./constants
	mapfile -t chosen < <(python3 "$cases/constants.py" | sed 's/^/-Flibc.so.6:/')
	"$build/devtrace" record -o t.db "${chosen[@]}" ./constants
	"$build/devtrace" calls t.db >calls
	python3 "$cases/constants.py" strace calls >out 2>compared
	[ ! -s out ] || { cat out; false; }
	[ "$(cut -d' ' -f1 compared)" -gt 2000 ]
}

# strace's words for a process's status, a set of events and a piece of memory, as devtrace writes them
as_devtrace() {
	# strace counts from the kernel's first real-time signal, 32; it has no name here
	sed -E -e 's/SIGRT_3/signal 35/' -e 's/\[\{WIFEXITED\(s\) && WEXITSTATUS\(s\) == ([0-9]+)\}\]/{exited \1}/' \
		-e 's/\[\{WIFSIGNALED\(s\) && WTERMSIG\(s\) == (SIG[A-Z0-9]+|signal 35)( && WCOREDUMP\(s\))?\}\]/{killed \1}/' \
		-e 's/\[\{WIFSTOPPED\(s\) && WSTOPSIG\(s\) == (SIG[A-Z0-9]+)\}\]/{stopped \1}/' \
		-e 's/\[\{WIFCONTINUED\(s\)\}\]/{continued}/'
}

@test "constants: what wait, epoll_ctl and writev are given, in strace's words" {
	strace -o /dev/null true 2>/dev/null || skip "strace can not trace here"
	PATH=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}:$PATH
	cd "$BATS_TEST_TMPDIR"
	cat >statuses.c <<-'C'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <sys/epoll.h>
		#include <sys/uio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			const int end[] = {SIGTERM, SIGKILL, SIGUSR1, SIGRTMIN + 1};
			struct iovec v[2] = {{"hello", 5}, {"world!", 6}};
			struct epoll_event ev = {.events = EPOLLIN | EPOLLET | EPOLLRDHUP}, out[4];
			int st, p, e = epoll_create1(0), fd[2];
			for (int i = 0; i < 4; i++) {
				if (!(p = fork()))
					_exit(3 * i);
				wait4(p, &st, 0, NULL);
				if (!(p = fork()))
					for (;;)
						pause();
				kill(p, SIGSTOP);
				wait4(p, &st, WUNTRACED, NULL);
				kill(p, SIGCONT);
				wait4(p, &st, WCONTINUED, NULL);
				kill(p, end[i]);
				wait4(p, &st, 0, NULL);
			}
			pipe(fd);
			writev(fd[1], v, 2);
			epoll_ctl(e, EPOLL_CTL_ADD, fd[0], &ev);
			epoll_wait(e, out, 4, 1000);
			return 0;
		}
	C
	gcc -O0 -w -o statuses statuses.c
	strace -qq -o trace -e trace=wait4,epoll_ctl,writev ./statuses
	devtrace record -l -o s.db ./statuses 2>/dev/null
	grep '^wait4' trace | as_devtrace | sed -n 's/.*, \({[^}]*}\),.*/\1/p' >want
	devtrace sql -n s.db "SELECT arguments ->> 'wstatus' FROM calls WHERE function = 'wait4' ORDER BY begin" >got
	[ "$(wc -l <want)" = 16 ] || { cat trace; cat want; false; }
	diff want got
	grep -o 'events=[A-Z|]*' trace | tr '|' '\n' | sed 's/events=//' | sort >want
	devtrace sql -n s.db "SELECT text FROM calls WHERE function = 'epoll_ctl'" | grep -o 'events=[A-Z|]*' | tr '|' '\n' | sed 's/events=//' | sort >got
	diff want got
	devtrace sql -n s.db "SELECT text FROM calls WHERE function = 'writev'" | grep 'iov={iov_base=0x[0-9a-f]*, iov_len=5}, iovcnt=2) = 11'
}
