# SPDX-License-Identifier: MIT
# Sums over calls of the kernel that BPF keeps where these are made: their tables are the same as those that the
# recorder makes of records, and as the program itself knows. The recorder makes them where one of the sums asks for
# something that the programs do not know, such as the depth. System calls only, as early.bats;
# test/kernel/guest/bpf.sh has functions.
load read-helper
bats_require_minimum_version 1.5.0

# may: can BPF record system calls here?
may() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ "$(uname -m)" = x86_64 ] || skip "the BPF programs are for x86-64"
	timeout 60 devtrace record -k'syscall:close' -F main -o may.db true >may.out 2>&1 || skip "BPF: $(tail -n 1 may.out)"
}

setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$build/test/tool:$PATH
	cd "$BATS_FILE_TMPDIR" || return 1
	[ -x calls ] && return
	may
	cat >calls.c <<-'END'
		#include <fcntl.h>
		#include <poll.h>
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>

		static char b[8192];
		static int zero, null;

		/* Of n rounds: n reads, n / 3 writes, n / 10 closes that fail, n / 50 positions below 0, n / 25 reads
		 * that fail. It pauses, so that no record is lost either where all are made. */
		static void *rounds(void *all)
		{
			for (long i = 0; i < (long)all; i++) {
				syscall(SYS_read, zero, b, i % 7 * 1000);
				if (i % 3 == 0)
					syscall(SYS_write, null, b, i % 5);
				if (i % 10 == 0)
					syscall(SYS_close, 1000 + i % 2);
				if (i % 50 == 0)
					syscall(SYS_lseek, zero, -5 - i % 100, SEEK_SET);
				if (i % 25 == 0)
					syscall(SYS_read, -1, b, 10);
				if (i % 50 == 0)
					usleep(2000);
			}
			return NULL;
		}

		static void *wait_for_ever(void *none)
		{
			poll(NULL, 0, 60000);
			return none;
		}

		/* what it is told: a number of reads of so many bytes */
		static int told(void)
		{
			char line[64];
			long n, size;

			while (fgets(line, sizeof(line), stdin) && sscanf(line, "%ld %ld", &n, &size) == 2) {
				for (long i = 0; i < n; i++)
					syscall(SYS_pread64, zero, b, size, i);
				printf("%ld done\n", n);
				fflush(stdout);
			}
			return 0;
		}

		int main(int argc, char **argv)
		{
			long n = argc > 2 ? atol(argv[2]) : 2000;
			pthread_t t[2], waits;

			zero = open("/dev/zero", O_RDONLY);
			null = open("/dev/null", O_WRONLY);
			if (argc > 1 && !strcmp(argv[1], "told"))
				return told();
			if (argc > 1 && !strcmp(argv[1], "open")) {
				pthread_create(&waits, NULL, wait_for_ever, NULL);
				for (;;) {
					poll(NULL, 0, 1000);
					syscall(SYS_read, zero, b, 1);
				}
			}
			if (argc > 1 && !strcmp(argv[1], "places")) {
				for (long i = 0; i < n; i++) {
					syscall(SYS_pread64, zero, b, 1, i);
					if (i % 50 == 0)
						usleep(1000);
				}
				return 0;
			}
			if (argc > 1 && !strcmp(argv[1], "gone")) {
				/* a process that is killed in a call, a thread that ends in one, and one that is in one at
				 * the end */
				int p = fork();

				if (!p) {
					rounds((void *)200);
					wait_for_ever(NULL);
				}
				usleep(300000);
				kill(p, SIGKILL);
				wait(NULL);
				pthread_create(&waits, NULL, wait_for_ever, NULL);
				rounds((void *)200);
				return 0;
			}
			rounds((void *)n);
			for (int i = 0; i < 2; i++)
				pthread_create(&t[i], NULL, rounds, (void *)n);
			for (int i = 0; i < 2; i++)
				pthread_join(t[i], NULL);
			for (int i = 0; i < 3; i++) {
				if (!fork()) {
					rounds((void *)n);
					syscall(SYS_exit_group, 0);
				}
				wait(NULL);
			}
			return 0;
		}
	END
	gcc -O1 -g -Wno-unused-result -pthread -o calls calls.c
}

the_calls='syscall:read syscall:write syscall:close syscall:lseek syscall:pread64 syscall:poll'

# tables FILE: its sums, all rows, but for the one that makes the recorder sum up; numbers of threads and processes are
# those of the order they came in
tables() {
	devtrace sum -n 1000000 "$1" | awk '/^count by depth$/ {exit} 1' | sed '/^$/d'
}

# both PROGRAM WORDS...: the sums of both ways are the same
both() {
	program=$1
	shift
	sums=()
	for words; do sums+=(--sum "$words"); done
	devtrace record -f -k"$the_calls" -F main "${sums[@]}" -o early.db ./calls $program 2>early.out
	devtrace record -f -k"$the_calls" -F main "${sums[@]}" --sum 'count by depth' -o late.db ./calls $program 2>late.out
	for way in early late; do
		cat $way.out
		devtrace check $way.db | grep ' 0 lost'
		tables $way.db >$way.txt
	done
	grep 'calls were summed up in the kernel' early.out
	grep "by the recorder (the kernel does not know 'depth')" late.out
	run -1 grep 'in the kernel;\|in the kernel$' late.out
}

# in_rings FILE: how many records of the kernel's have crossed the rings
in_rings() {
	sqlite3 -noheader "$1" "SELECT sum(records) FROM written WHERE source = 'kernel'"
}

# row FILE KEY: the calls of the row of that key in the first sum
row() {
	tables "$1" | awk -v key="$2" '$NF == key {print $1; exit}'
}

# left_out FILE: how many calls of each function are in no record of the file, and how many of these had no end
left_out() {
	sqlite3 -noheader "$1" "SELECT f.name, l.calls, l.untimed FROM left_out l JOIN function f ON f.id = l.function ORDER BY 1"
}

@test "counts, sums and distributions are those of the recorder" {
	both '' 'count by function' 'sum(result) by function' 'hist(result) by function' 'count by function, result' 'count by function, error' 'hist(arg2) by function if lseek'
	diff early.txt late.txt
	diff <(left_out early.db) <(left_out late.db)
	# as the program has made them: 6 times; the loader and libc read, too
	[ "$(row early.db lseek)" = 240 ]
	[ "$(row early.db write)" = 4002 ]
	[ "$(tables early.db | awk '/^count by function, error$/ {on = 1} on && $2 == "read" && $3 == "EBADF" {print $1; exit}')" = 480 ]
	[ "$(tables early.db | awk '/^count by function, error$/ {on = 1} on && $2 == "close" && $3 == "EBADF" {print $1; exit}')" = 1200 ]
	[ "$(in_rings early.db)" -lt 9000 ]
	[ "$(in_rings late.db)" -gt 36000 ]
}

@test "conditions of sums, and arguments" {
	both '' 'count if read result>2000' 'count by function if failed' 'count by function, error if error=EBADF' 'count by function if -failed' 'sum(arg3) by function if read arg1>0' 'count by arg1, arg3' 'sum(arg2) if lseek arg2<-60'
	diff early.txt late.txt
	grep -qx ' *480  read' early.txt
	grep -qx ' *1200  close' early.txt
}

@test "threads and processes" {
	both '' 'count by thread if write' 'count by process if write' 'count by process, error if close'
	# their numbers are others, and a name is not known of one that has ended before it was asked for
	for way in early late; do
		sed -E 's/^( *[0-9]+) +[0-9]+( +calls\b)?/\1 N/' $way.txt | sort >$way.some
	done
	diff early.some late.some
	# three processes, and the first one, which has three threads
	[ "$(awk '/^count by process if write/ {on = 1; next} /^count by process, error/ {on = 0} on && $1 == 667' early.txt | wc -l)" = 3 ]
	[ "$(awk '/^count by process if write/ {on = 1; next} /^count by process, error/ {on = 0} on && $1 == 2001' early.txt | wc -l)" = 1 ]
	[ "$(awk '/^count by thread/ {on = 1; next} /^count by process/ {on = 0} on && $1 == 667' early.txt | wc -l)" = 6 ]
}

@test "times: all calls are in the distribution, and least durations decide" {
	both '' 'hist(time) by function' 'sum(time)' 'count if time<1s' 'count if time>20s' 'hist(self) by function if read'
	for way in early late; do
		# calls of each table, and of all buckets of a function
		awk '/^ *\[/ {n += substr($0, match($0, /\) +[0-9]+ \|/) + 1) + 0; next} n {print "in buckets", n; n = 0} /^[a-z]/ {print} !/^[a-z]/ && $1 + 0 {print $1, $NF ~ /[0-9]/ ? "" : $NF}' $way.txt >$way.some
	done
	diff early.some late.some
	grep -q '^in buckets 1248' early.some
}

@test "calls that do not end, and those that end with their thread" {
	both gone 'sum(time) by function if poll' 'sum(result) by function if poll' 'count by function, error if poll' 'count by function if poll time>200ms'
	diff <(sed 's/^\( *[0-9]*\).*poll\(.*\)/\1 poll\2/' early.txt) <(sed 's/^\( *[0-9]*\).*poll\(.*\)/\1 poll\2/' late.txt)
	diff <(left_out early.db) <(left_out late.db)
	[ "$(tables early.db | awk 'NR == 3 {print $1}')" = 2 ]
}

@test "calls that are open when recording ends" {
	./calls open >open.out &
	pid=$!
	for way in early late; do
		also=()
		[ $way = early ] || also=(--sum 'count by depth')
		devtrace attach -k"$the_calls" --pid=$pid --sum 'sum(time) by function' --sum 'count by function, result' "${also[@]}" -o $way.db 2>$way.out &
		tracer=$!
		sleep 4.5
		kill -INT $tracer
		wait $tracer
		cat $way.out
		tables $way.db >$way.txt
		cat $way.txt
	done
	kill $pid
	grep 'calls were summed up in the kernel' early.out
	# a poll of a minute, which began before, is of neither; of those of a second that begin the last is open
	for way in early late; do
		grep -q '  poll  (of 1 it is not known)$' $way.txt
		grep -qx ' *1  poll  ?' $way.txt
		grep -q '^ *[1-5]  poll  0$' $way.txt
	done
}

@test "rows that there is no room for are counted" {
	both 'places 140000' 'count by arg4 if pread64'
	tail -n 1 early.txt
	# 65536 rows
	grep -qx ' *74464  calls with other keys: a sum has 65536 rows, of 64 MB, at most' early.txt
	grep -qx ' *74464  calls with other keys: a sum has 65536 rows, of 64 MB, at most' late.txt
	grep -q 'its table of rows was full: [0-9]* calls are among those with other keys' early.out
	[ "$(grep -c '^ *[0-9]*  [0-9?]*$' early.txt)" = 65536 ]
}

@test "a filter beside sums: what it wants is recorded, all calls are summed up" {
	devtrace record -f -k"$the_calls" -F main --filter 'write arg3=4' --sum 'count by function' -o early.db ./calls 2>early.out
	devtrace record -f -k"$the_calls" -F main --filter 'write arg3=4' --sum 'count by function' --sum 'count by depth' -o late.db ./calls 2>late.out
	cat early.out
	grep 'calls were summed up in the kernel' early.out
	diff <(tables early.db) <(tables late.db)
	for way in early late; do
		devtrace sql --csv --no-header $way.db "SELECT function, kind, count(*) FROM records WHERE function = 'write' GROUP BY 1, 2" | tr -d '\r' >$way.some
	done
	cat early.some
	diff early.some late.some
	[ "$(row early.db write)" = 4002 ]
	grep -qx 'write,E,798' early.some
}

# tell N SIZE: has the program read, and waits until it has
tell() {
	echo "$1 $2" >&"${COPROC[1]}"
	read -r answer <&"${COPROC[0]}"
	[ "$answer" = "$1 done" ]
}

# counted NAME: the calls of a sum, as ctl has them now
counted() {
	devtrace ctl -s early sum "$1" | awk 'NR > 2 && $1 ~ /^[0-9]+$/ {n += $1} END {print n + 0}'
}

@test "sums by ctl while the kernel keeps them" {
	coproc devtrace record -s early -k'syscall:pread64' -F main --sum 'count by arg3 if pread64 arg3<100' --sum 'count if pread64 arg3=5' -o ctl.db ./calls told 2>ctl.out
	pid=$COPROC_PID
	tell 10 5
	sleep 0.5
	tell 1000 5
	tell 500 7
	[ "$(counted 1)" = 1510 ]
	[ "$(counted 2)" = 1010 ]
	devtrace ctl -s early sum | tee list.txt
	grep -q '^2: count if pread64 arg3=5: 1010 calls counted$' list.txt
	# from 0 again
	devtrace ctl -s early sum 2 clear
	tell 50 5
	[ "$(counted 2)" = 50 ]
	# the first one goes, the other stays
	devtrace ctl -s early sum 1 remove
	tell 70 5
	[ "$(counted 2)" = 120 ]
	# what is added is the recorder's, with all that follows
	devtrace ctl -s early sum later new count by arg3 if pread64
	tell 30 5
	[ "$(counted 2)" = 150 ]
	[ "$(counted later)" = 30 ]
	eval "exec ${COPROC[1]}>&-"
	wait $pid
	cat ctl.out
	grep -q 'calls were summed up in the kernel' ctl.out
	[ "$(devtrace sum ctl.db | awk '/^count if/ {on = 1} on && $1 ~ /^[0-9]+$/ {print $1; exit}')" = 150 ]
}
