# SPDX-License-Identifier: MIT
# Programs that forbid themselves to read the clock, or to make system calls: they do what they do alone,
# and their calls are recorded or said not to be. test/programs/forbid.c counts its own.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	gcc -O1 -g -pthread -o "$dir/forbid" "$root/test/programs/forbid.c"
	gcc -O1 -g -pthread -static -o "$dir/static" "$root/test/programs/forbid.c"
	gcc -O1 -g -pthread -B"$root/build/lib" -o "$dir/sleds" "$root/test/programs/forbid.c"
	gcc -D_GNU_SOURCE -O1 -g -pthread -o "$dir/blocks" "$root/test/programs/blocks.c"
	gcc -D_GNU_SOURCE -DALONE -O1 -g -nostdlib -static -fno-stack-protector -fcf-protection=none \
		-o "$dir/nolibc" "$root/test/programs/blocks.c"
}

teardown_file() {
	rm -rf "$dir"
}

# same CALLS PROG ARG...: output and status are those without devtrace; the calls of f() that are in the
# file, and those that are said not to be, are so many together (-: more than one thread, any number)
same() {
	local alone=0 traced=0 calls=$1
	shift
	"$@" >"$dir/alone" || alone=$?
	timeout 30 "$dt" record -F f -b 64K -o "$dir/t.db" "$@" >"$dir/out" 2>"$dir/err" || traced=$?
	echo "$*: $alone, traced $traced: $(<"$dir/err")"
	cmp "$dir/alone" "$dir/out" || return 1
	[ "$alone" = "$traced" ] || return 1
	recorded=$("$dt" sql --csv "$dir/t.db" "SELECT count(*) FROM records WHERE kind = 'E'" | tail -1 | tr -d '\r')
	said=$(sed -n 's/.*devtrace: \([0-9]*\) calls are not recorded: the program had forbidden.*/\1/p' "$dir/err")
	echo "$recorded recorded, ${said:-0} said"
	[ "$calls" = - ] || [ "$((recorded + ${said:-0}))" = "$calls" ] || return 1
}

# seen WORDS FILE: it says so within ten seconds
seen() {
	for _ in $(seq 500); do
		if grep -q "$1" "$2"; then return 0; fi
		sleep 0.02
	done
	cat "$2"
	return 1
}

@test "the clock is forbidden and allowed again: by libc, by syscall(), by instructions of the program" {
	for how in libc syscall inline apart; do
		same 3000 "$dir/forbid" tsc $how
		[ "$said" = 1000 ]
	done
	same 3000 "$dir/static" tsc syscall
	same 3000 "$dir/sleds" tsc libc
}

@test "strict seccomp: of a program, and of one thread of it" {
	for how in libc inline; do
		same 2000 "$dir/forbid" strict $how
		same 5000 "$dir/forbid" thread $how
		[ "$said" = 1000 ]
	done
}

@test "strict seccomp of one thread, beside one without a thread block, or with one of its own" {
	for how in none own; do
		same 5000 "$dir/blocks" $how strict
		[ "$said" = 1000 ]
	done
	# nothing else than the processor tells the two threads apart
	same 4000 "$dir/nolibc"
	[ "$said" = 1000 ]
}

@test "strict seccomp: a thread that gets the block of one that was strict is recorded" {
	same 5000 "$dir/blocks" again
	[ "$said" = 1000 ]
}

@test "a thread that libc's clone() makes without a thread block, or with one of its own, lives" {
	for how in none own; do
		same 3000 "$dir/blocks" $how
		[ "$said" = "" ]
		# with errno in the exits of libc's functions, too
		"$dir/blocks" $how >"$dir/alone.out" || [ $? = 5 ]
		status=0
		timeout 30 "$dt" record -l -F f -o "$dir/l.db" "$dir/blocks" $how >"$dir/out" 2>"$dir/err" || status=$?
		[ "$status" = 5 ]
		cmp "$dir/alone.out" "$dir/out"
		"$dt" check -q "$dir/l.db"
	done
}

@test "a thread without a thread block that runs when devtrace attaches lives, and is recorded" {
	mkfifo "$dir/start"
	"$dir/blocks" stay <"$dir/start" >"$dir/out" 3>&- &
	local pid=$! status=0
	exec {go}>"$dir/start"
	seen 0 "$dir/out"
	for _ in 1 2; do
		rm -f "$dir"/t.db*
		"$dt" attach -F f -o "$dir/t.db" "$pid" 2>"$dir/err" 3>&- {go}>&- &
		tracer=$!
		for _ in $(seq 500); do
			[ "$(sqlite3 "$dir/t.db" 'SELECT count(*) FROM chunk' 2>"$dir/said" || echo 0)" -gt 0 ] && break
			sleep 0.02
		done
		kill -INT $tracer
		wait $tracer
		"$dt" check -q "$dir/t.db"
		# all of its calls: each has returned, but for the first and the last
		"$dt" sql -n -c "$dir/t.db" "SELECT count(*) > 2000 FROM calls WHERE function = 'f' AND ended = 'returned'" >"$dir/n"
		grep -q 1 "$dir/n"
	done
	echo x >&$go
	exec {go}>&-
	wait $pid || status=$?
	[ "$status" = 5 ]
}

@test "asking what could be forbidden, by calls that fail, forbids nothing" {
	for how in libc syscall inline apart; do
		same 3000 "$dir/forbid" asks $how
		[ "$said" = "" ]
		[ "$recorded" = 3000 ]
		[ "$(grep -c "confined itself" "$dir/err")" = 0 ]
	done
	same 3000 "$dir/static" asks syscall
	[ "$recorded" = 3000 ]
}

@test "a clock that is forbidden stays so in children, and in what is executed" {
	same 3000 "$dir/forbid" child
	[ "$said" = 1000 ]
	# ld.so reads the clock: only a static program can begin so
	same 3000 "$dir/static" exec
	[ "$said" -ge 1 ]
}

@test "a filter that kills for futex, while rings are full; for all threads at once" {
	for how in libc syscall inline apart; do
		same 101000 "$dir/forbid" filter $how
	done
	same - "$dir/forbid" tsync
	same 101000 "$dir/sleds" filter
}

@test "a confined program has a vfork, and arguments whose texts would be asked for" {
	same 102000 "$dir/forbid" vfork
	alone=0 traced=0
	"$dir/forbid" texts >"$dir/alone" || alone=$?
	"$dt" record -A text -o "$dir/t.db" "$dir/forbid" texts >"$dir/out" 2>"$dir/err" || traced=$?
	cat "$dir/err"
	cmp "$dir/alone" "$dir/out"
	[ "$alone $traced" = "5 5" ]
	run "$dt" calls "$dir/t.db"
	[[ "$output" == *'"allowed"'* ]]
	grep '1 calls are not recorded' "$dir/err"
}

@test "a confined program is let go without a system call made for it" {
	cat >"$dir/stay.c" <<-'C'
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <stddef.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		__attribute__((noinline)) long f(volatile long *x) { return ++*x; }
		int main(void)
		{
			struct sock_filter code[] = {
				BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 1, 0),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			};
			struct sock_fprog p = {sizeof(code) / sizeof(*code), code};
			volatile long x = 0;
			char byte;
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
			f(&x);
			write(1, "here\n", 5);
			read(0, &byte, 1);
			f(&x);
			write(1, "done\n", 5);
			syscall(SYS_exit, 5);
		}
	C
	gcc -O1 -g -o "$dir/stay" "$dir/stay.c"
	mkfifo "$dir/go"
	"$dt" record -F f -s "stay$$" -o "$dir/t.db" "$dir/stay" <"$dir/go" >"$dir/out" 2>"$dir/err" 3>&- &
	recorder=$!
	exec {go}>"$dir/go"
	seen here "$dir/out"
	"$dt" ctl -s "stay$$" quit
	seen 'keeps .* it has confined itself' "$dir/err"
	echo >&"$go"
	exec {go}>&-
	status=0
	wait "$recorder" || status=$?
	cat "$dir/err"
	[ "$status" = 5 ]
	grep done "$dir/out"
	# nor is it attached to
	mkfifo "$dir/go2"
	"$dir/stay" <"$dir/go2" >"$dir/out" 3>&- &
	pid=$!
	exec {go}>"$dir/go2"
	seen here "$dir/out"
	run "$dt" attach -F f -o "$dir/t.db" "$pid"
	echo >&"$go"
	exec {go}>&-
	[ "$status" = 1 ]
	[[ "$output" == *"has confined itself by seccomp"* ]]
	status=0
	wait "$pid" || status=$?
	[ "$status" = 5 ]
}

@test "devtrace itself may not read the clock: one line, and the file that was there stays" {
	! ldd "$dt" | grep -q libasan || skip "a sanitizer's library is to be the first, and reads the clock itself"
	# ld.so would read it before devtrace could say anything: what is tested is a library's way in
	cat >"$dir/late.c" <<-'C'
		#include <sys/prctl.h>
		__attribute__((constructor)) static void late(void) { prctl(PR_SET_TSC, PR_TSC_SIGSEGV); }
	C
	gcc -O1 -shared -fPIC -o "$dir/late.so" "$dir/late.c"
	echo kept >"$dir/kept.db"
	run env LD_PRELOAD="$dir/late.so" "$dt" record -o "$dir/kept.db" "$dir/forbid" tsc
	[ "$status" = 1 ]
	[[ "$output" == *"reading the clock is forbidden here"* ]]
	[ "$(<"$dir/kept.db")" = kept ]
}
