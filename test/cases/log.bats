#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --filter, --sum, --until and --signal, and their commands, in a session without a file. What is right: what the program
# counts itself.
load read-helper
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$(mktemp -d)
	cat >"$dir/told.c" <<-'C'
		/* Reads "THREADS N": each thread calls work N times; prints what it has counted. */
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static _Atomic long leaves, failed, large;
		__attribute__((noipa)) int leaf(int n) { leaves++; large += n > 90; return n % 7 ? n : -1; }
		__attribute__((noipa)) int work(int n)
		{
			int r = leaf(n % 100);
			failed += r < 0;
			if (n % 500 == 499)
				usleep(2000);
			return r;
		}
		static void *thread(void *p)
		{
			for (long k = 0; k < (long)p; k++)
				work((int)k);
			return NULL;
		}
		int main(int argc, char **argv)
		{
			int threads, n;
			while (scanf("%d %d", &threads, &n) == 2) {
				pthread_t t[16];
				for (int i = 0; i < threads; i++)
					pthread_create(&t[i], NULL, thread, (void *)(long)n);
				for (int i = 0; i < threads; i++)
					pthread_join(t[i], NULL);
				printf("%ld %ld %ld\n", leaves, failed, large);
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -g -pthread -o "$dir/told" "$dir/told.c"
}

teardown_file() {
	rm -rf "$dir"
}

teardown() {
	[ -z "$to" ] || exec {to}>&-
	devtrace ctl -s kept quit >/dev/null 2>&1 || true
	[ -z "$program" ] || wait $program || true
	[ -z "$mounted" ] || fusermount3 -u "$mounted" || umount "$mounted"
	check_traces
}

# begin [OPTION...]: the program, and a session `kept' of it
begin() {
	rm -f fifo said
	mkfifo fifo
	export XDG_RUNTIME_DIR=$PWD
	"$dir/told" <fifo >said 3>&- &
	program=$!
	exec {to}>fifo
	devtrace attach -d -s kept -F work -F leaf "$@" $program >/dev/null 3>&-
}

# tell THREADS N: has the program do that, and waits until it has
tell() {
	local n i
	n=$(wc -l <said)
	echo "$*" >&"$to"
	for ((i = 0; i < 1000; i++)); do
		[ "$(wc -l <said)" -gt "$n" ] && return
		sleep 0.02
	done
	return 1
}

ctl() {
	devtrace ctl -s kept "$@"
}

# the program's own: leaves, failed, large
counted() {
	tail -n 1 said | awk -v n="$1" '{print $n}'
}

@test "log: only what the words mean is in it, in the order of time across cores, and all of it is counted" {
	local words field
	while IFS='|' read -r words field; do
		begin -p wait --filter "$words" --sum "count if leaf" --sum "count if $words leaf"
		ctl size 20
		tell 4 3000
		devtrace cat -s kept >records
		LC_ALL=C sort -s -c -k 3,3 records
		[ "$(grep -c ^E records)" = "$(counted $field)" ] || { echo "$words: $(grep -c ^E records), not $(cat said)"; false; }
		[ "$(grep -c ^X records)" = "$(counted $field)" ]
		[ "$(ctl sum 1 | awk 'NR == 3 {print $1}')" = "$(counted 1)" ]
		[ "$(ctl sum 2 | awk 'NR == 3 {print $1}')" = "$(counted $field)" ]
		# what is left out is counted as other events that were filtered are
		[ "$(ctl | awk '$1 == "#traceinhits" {print $2}')" = $((2 * $(counted 1))) ]
		[ "$(ctl filter)" = "$words: $((2 * $(counted 1) - $(counted $field))) calls left out" ]
		ctl quit
		exec {to}>&-
		to=
		wait $program
		program=
	done <<-'TEXT'
		leaf|1
		leaf result<0|2
		leaf n>90|3
		leaf caller:work n>90|3
	TEXT
}

@test "log: words by ctl, also of a session that kept all so far; a call that is held does not hold up the rest for long" {
	begin
	ctl size 20
	tell 2 100
	[ "$(ctl filter)" = 'all calls are written' ]
	ctl filter 'work time>1ms'
	tell 2 1000
	ctl filter -
	tell 1 10
	devtrace cat -s kept >records
	LC_ALL=C sort -s -c -k 3,3 records
	# all of 200 calls of work and as many of leaf; two of each thread that slept, and of 2,000 those that had to wait so long
	# for a processor; and all of ten
	n=$(grep -c ^E records)
	((n >= 400 + 4 + 20 && n <= 400 + 4 + 20 + 8)) || { echo "$n"; false; }
	ctl sum a new count by function, process
	tell 3 20
	ctl sum a >table
	grep -q " 60  leaf  $program told$" table || { cat table; false; }
	run -1 devtrace ctl -s kept 'filter time>1parsec'
	[ "${#lines[@]}" = 1 ]
	run -1 devtrace attach -d --last 1s -s x $program
	[[ $output == *'--last: it goes with a trace file'* ]]
}

@test "log: of sums only: no record, but the sums" {
	begin --sum 'count by result if leaf result<0'
	tell 4 2000
	[ "$(devtrace cat -s kept | wc -l)" = 0 ]
	[ "$(ctl sum 1 | awk 'NR == 3 {print $1}')" = "$(counted 2)" ]
	run -1 devtrace ctl -s kept filter leaf
	[[ $output == *'this session writes sums only'* ]]
}

@test "log: policy wait with a filter: the program waits for the log, and nothing is lost" {
	begin -p wait --filter leaf
	ctl size 8
	echo '3 2000' >&"$to"
	devtrace cat -f -s kept >records &
	local reader=$! i
	for ((i = 0; i < 1000; i++)); do
		[ -s said ] && [ "$(grep -c ^E records)" = "$(counted 1)" ] && break
		sleep 0.02
	done
	kill $reader
	wait $reader || true
	[ "$(grep -c ^E records)" = 6000 ]
	LC_ALL=C sort -s -c -k 3,3 records
	[ "$(ctl | awk '$1 == "#newplfail" {print $2}')" = 0 ]
}

@test "log: a signal, and until" {
	begin --signal 'STOP if leaf n=99'
	echo '1 200' >&"$to"
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(awk '{print $3}' /proc/$program/stat)" = T ] && break
		sleep 0.01
	done
	[ "$(awk '{print $3}' /proc/$program/stat)" = T ]
	kill -CONT $program
	tell 1 1
	ctl until 'leaf n=98'
	tell 1 100
	for ((i = 0; i < 300; i++)); do
		devtrace ctl -s kept status 2>&1 | grep -q 'there is no session' && break
		sleep 0.01
	done
	run -1 devtrace ctl -s kept status
	tell 1 5
}

@test "log: code that comes and goes, and children, in a session with a filter" {
	cat >part.c <<-'C'
		__attribute__((noipa)) int part(int n) { return n - 3; }
		int entry(int n) { int s = 0; for (int i = 0; i < n; i++) s += part(i); return s; }
	C
	gcc -O1 -g -shared -fPIC -o libpart.so part.c
	cat >comes.c <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noipa)) int own(int n) { return n; }
		int main(void)
		{
			int rounds;
			while (scanf("%d", &rounds) == 1) {
				for (int i = 0; i < rounds; i++) {
					void *h = dlopen("./libpart.so", RTLD_NOW);
					int (*f)(int) = (int (*)(int))dlsym(h, "entry");
					f(10);
					dlclose(h);
					own(i);
					if (fork() == 0)
						_exit(own(100) - 100);
					wait(NULL);
				}
				printf("done\n");
				fflush(stdout);
			}
			return 0;
		}
	C
	gcc -O1 -g -o comes comes.c
	rm -f fifo said
	mkfifo fifo
	export XDG_RUNTIME_DIR=$PWD
	./comes <fifo >said 3>&- &
	program=$!
	exec {to}>fifo
	devtrace attach -f -d -s kept -F '*:own' -F 'libpart.so:*' --filter 'part result<0' --sum 'count by function' $program >/dev/null 3>&-
	ctl size 20
	tell 20
	devtrace cat -s kept >records
	LC_ALL=C sort -s -c -k 3,3 records
	[ "$(grep -c ^E records)" = 60 ] || { ctl sum 1; grep -c ^E records; false; }
	# each mapping of the library has its functions
	ctl sum 1 | awk 'NR > 2 {n[$2] += $1} END {for (f in n) print f, n[f]}' | sort >table
	diff table - <<<$'entry 20\nown 40\npart 200'
}

@test "log: mount: words by echo, and what is left by cat" {
	command -v fusermount3 >/dev/null || skip "no FUSE here"
	begin
	mkdir -p m
	mounted=$PWD/m
	(exec {to}>&-; devtrace mount m) >/dev/null 3>&- || skip "nothing can be mounted here"
	tell 1 50
	echo 'sum large new count if leaf n>40' >m/kept/ctl
	tell 1 50
	exec {f}<>m/kept/ctl
	echo 'sum large' >&"$f"
	cat <&"$f" >answer
	exec {f}>&-
	[ "$(awk 'NR == 3 {print $1}' answer)" = 9 ] || { cat answer; false; }
	run bash -c "echo 'sum small new time>' >m/kept/ctl"
	[ "$status" = 1 ]
	tail -n 1 m/kept/ctl | grep -q '^#error '
	echo 'filter leaf n=3' >m/kept/ctl
	cat m/kept/trace >/dev/null
	tell 2 10
	[ "$(cat m/kept/trace | cut -c 1 | tr -d '\n')" = EXEX ]
}
