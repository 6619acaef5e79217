# SPDX-License-Identifier: MIT
# Several sessions that record the kernel at once, of one program: each has exactly its own choice, whatever becomes of
# the others. The program's own numbers say how much that is.
load check-traces

setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$PATH
	cd "$BATS_TEST_TMPDIR" || return 1
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the BPF programs are for x86-64"
	timeout 60 devtrace record -k'__x64_sys_close' -F main -o may.db true >may.out 2>&1 || skip "BPF: $(tail -n 1 may.out)"
	cat >calls.c <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>

		static void await(const char *name)
		{
			while (access(name, F_OK))
				usleep(10000);
		}

		/* Three turns of so many reads of 3 bytes and a tenth as many getppid, two in the process, the last one
		 * half in a child; each waits to be told. */
		int main(int argc, char **argv)
		{
			int fd = open("/dev/zero", O_RDONLY), n = atoi(argv[1]);
			char b[16];

			for (int turn = 0; turn < 3; turn++) {
				char name[] = "turn0";

				name[4] += turn;
				await(name);
				int child = turn == 2 ? fork() : -1;
				for (int i = 0; i < (turn == 2 ? n / 2 : n); i++) {
					if (read(fd, b, 3) != 3)
						return 1;
					if (i % 10 == 0)
						syscall(SYS_getppid);
				}
				if (child == 0)
					_exit(0);
				if (child > 0)
					waitpid(child, NULL, 0);
				name[0] = 'd';
				close(open(name, O_CREAT | O_WRONLY, 0600));
			}
			await("end");
			return 0;
		}
	END
	gcc -O1 -g -o calls calls.c
}

teardown() {
	for p in $all; do kill -9 "$p" 2>/dev/null || true; done
	check_traces
}

# records FILE FUNCTION: how many entries and exits of 3 bytes, or without arguments
records() {
	devtrace sql --csv --no-header "$1" "SELECT sum(kind = 'E'), sum(kind = 'X') FROM records WHERE function = '$2' AND (kind = 'E' AND ('$2' != '__x64_sys_read' OR value2 = 3) OR kind = 'X' AND ('$2' != '__x64_sys_read' OR value0 = 3))" | tr -d '\r'
}

# functions FILE: which of the kernel's it has
functions() {
	devtrace sql --csv --no-header "$1" "SELECT DISTINCT function FROM records WHERE function LIKE '%sys_%' ORDER BY 1" | tr -d '\r' | tr '\n' ' '
}

# begun PID: waits until a session of the kernel records: its programs are attached
begun() {
	for _ in $(seq 200); do
		! cat "/proc/$1"/fdinfo/* 2>/dev/null | grep -q ^link_type || break
		sleep 0.05
	done
}

# turn N: has the program do it
turn() {
	: >"turn$1"
	for _ in $(seq 400); do
		[ -e "durn$1" ] && return
		sleep 0.05
	done
	return 1
}

@test "sessions with choices of their own, one of which is killed" {
	all=
	./calls 2000 &
	program=$!
	all=$program
	# the program's own functions and reads; beside it the kernel alone, of this process and of all
	devtrace attach -k'__x64_sys_read' -F await -o program.db $program 2>program.err &
	a=$!
	begun $a
	devtrace attach -k'__x64_sys_getppid' --pid=$program -o pid.db 2>pid.err &
	b=$!
	devtrace attach -k'__x64_sys_read __x64_sys_getppid' --pid=$program -o killed.db 2>killed.err &
	c=$!
	devtrace attach -A 'syscall:getppid' -o all.db 2>all.err &
	d=$!
	devtrace attach -k'__x64_sys_read' --pid=$program --filter 'count=3' -o filter.db 2>filter.err &
	e=$!
	all="$program $a $b $c $d $e"
	for p in $b $c $d $e; do begun $p; done
	sleep 0.5
	turn 0
	# its file has something by then
	for _ in $(seq 100); do
		[ "$(functions killed.db)" = "" ] || break
		sleep 0.1
	done
	kill -9 $c
	turn 1
	turn 2
	: >end
	wait $program
	# those of processes end with these
	wait $a $b $e
	kill -INT $d
	wait $d
	all=
	cat ./*.err
	# three turns of 2000 reads and 200 getppid each
	[ "$(records program.db __x64_sys_read)" = 6000,6000 ]
	[ "$(functions program.db)" = "__x64_sys_read " ]
	[ "$(records pid.db __x64_sys_getppid)" = 600,600 ]
	[ "$(functions pid.db)" = "__x64_sys_getppid " ]
	[ "$(records filter.db __x64_sys_read)" = 6000,6000 ]
	[ "$(functions filter.db)" = "__x64_sys_read " ]
	[ "$(devtrace sql --csv --no-header all.db "SELECT count(*) FROM calls WHERE function = 'getppid' AND thread = $program" | tr -d '\r')" = 500 ]
	# what the killed one has written until then is sound
	devtrace check killed.db
	[ "$(functions killed.db)" = "__x64_sys_getppid __x64_sys_read " ]

	for f in program pid filter all; do devtrace check $f.db; done
}

@test "children that are there when a session begins" {
	cat >tree.c <<-'END'
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>

		static void calls(int n)
		{
			while (access("go", F_OK) < 0)
				usleep(20000);
			for (int i = 0; i < n; i++)
				syscall(SYS_getppid);
		}

		/* a process, its child and the child of that; that makes one more when all begin */
		int main(void)
		{
			if (!fork()) {
				if (!fork()) {
					calls(1000);
					if (!fork()) {
						calls(3);
						return 0;
					}
					wait(NULL);
					return 0;
				}
				calls(200);
				wait(NULL);
				return 0;
			}
			calls(40);
			wait(NULL);
			return 0;
		}
	END
	gcc -O1 -o tree tree.c
	rm -f go
	./tree &
	program=$!
	all=$program
	sleep 0.3
	devtrace attach -k'__x64_sys_getppid' --pid=$program -o tree.db 2>tree.err &
	a=$!
	all="$program $a"
	begun $a
	sleep 0.5
	: >go
	wait $program
	wait $a
	cat tree.err
	all=
	[ "$(records tree.db __x64_sys_getppid)" = 1243,1243 ]
	[ "$(devtrace sql --csv --no-header tree.db "SELECT count(DISTINCT thread) FROM records WHERE function = '__x64_sys_getppid'" | tr -d '\r')" = 4 ]
}

@test "processes that are not there, and words that are none" {
	all=
	for words in 0 '' x 1,x 1, 99999999 4194304; do
		run devtrace attach -k'__x64_sys_read' --pid="$words" -o x.db
		[ $status != 0 ]
		[[ $output == *--pid* ]]
		[ "${#lines[@]}" = 1 ]
	done
	run devtrace attach -k'__x64_sys_read' --pid=1 --cgroup=/ -o x.db
	[ $status != 0 ]
	[[ $output == *"one of them says whom to record"* ]]
	run devtrace record -k --pid=1 -o x.db true
	[ $status != 0 ]
	[[ $output == *"--pid is for 'devtrace attach' with -k"* ]]
}
