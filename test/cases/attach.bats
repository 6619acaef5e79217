# SPDX-License-Identifier: MIT
# devtrace attach: what it does to a running process, and how it answers bad input.
load common

# attaches to $pid in the background and waits until records arrive; sets tracer
attach() {
	rm -f "$dir"/a.db*
	"$dt" attach -o "$dir/a.db" "$@" "$pid" 2>"$dir/err" 3>&- &
	tracer=$!
	for i in $(seq 3000); do
		[ "$(sqlite3 "$dir/a.db" 'select count(*) from chunk' 2>/dev/null || echo 0)" -gt 0 ] && return
		kill -0 "$tracer" || return 1
		sleep 0.02
	done
	return 1
}

detach() {
	kill -INT "$tracer"
	wait "$tracer"
}

@test "attach: of a process that is stopped it says so, and records it when it goes on" {
	start_spin
	kill -STOP "$pid"
	until grep -q '^State:.T' "/proc/$pid/status"; do sleep 0.02; done
	rm -f "$dir"/a.db*
	"$dt" attach -o "$dir/a.db" "$pid" 2>"$dir/err" 3>&- &
	tracer=$!
	for i in $(seq 500); do
		if grep -q "process $pid is stopped: nothing of it is recorded until it goes on (kill -CONT $pid)" "$dir/err"; then break; fi
		sleep 0.02
	done
	grep -q "is stopped" "$dir/err"
	# it stays so
	grep -q '^State:.[Tt]' "/proc/$pid/status"
	kill -CONT "$pid"
	for i in $(seq 500); do
		[ "$(sqlite3 "$dir/a.db" 'select count(*) from chunk' 2>/dev/null || echo 0)" = 0 ] || break
		sleep 0.02
	done
	detach
	[ "$("$dt" sql -n -c "$dir/a.db" "SELECT count(*) > 0 FROM calls" | tr -d '\r')" = 1 ]
	stop_spin
}

@test "attach: traces, detaches, leaves every byte as it was" {
	start_spin
	exe() { dd if="/proc/$pid/mem" iflag=skip_bytes,count_bytes bs=4096 skip=$((0x$1)) \
		count=$((0x$2 - 0x$1)) 2>/dev/null | sha256sum; }
	range=$(awk '/r-xp.*spin$/ { split($1, a, "-"); print a[1], a[2]; exit }' "/proc/$pid/maps")
	before=$(exe $range)
	maps=$(sed 's/ [^ ]*$//' "/proc/$pid/maps" | grep -c r-xp)
	attach
	[ "$(exe $range)" != "$before" ]
	detach
	[ "$(exe $range)" = "$before" ]
	[ "$(sed 's/ [^ ]*$//' "/proc/$pid/maps" | grep -c r-xp)" = "$maps" ]
	! grep -q devtrace "/proc/$pid/maps" || false
	[ -z "$(ls -l "/proc/$pid/fd" | grep devtrace)" ]
	[ "$(ls "/proc/$pid/task" | wc -l)" = 1 ]
	run "$dt" report "$dir/a.db"
	[[ $output == *turn* ]]
	stop_spin
}

@test "attach: root to several processes of several users, and one with no capabilities; one has ended" {
	[ "$(id -u)" = 0 ] || skip "needs root: other users' processes"
	id dtuser 2>/dev/null || useradd -m dtuser
	pids=() outs=()
	for as in "" "setpriv --reuid dtuser --regid dtuser --clear-groups" "setpriv --reuid dtuser --clear-groups" \
		"setpriv --reuid nobody --regid nogroup --clear-groups" "setpriv --bounding-set -all --inh-caps -all"; do
		start_spin $as "$dir/spin"
		pids+=("$pid") outs+=("$out")
	done
	"$dt" attach -o "$dir/m.db" "${pids[@]}" 4194000 2>"$dir/err" 3>&- &
	tracer=$!
	# each of the five records
	for i in $(seq 3000); do
		[ "$(sqlite3 "$dir/m.db" "select count(distinct tid) from thread" 2>/dev/null || echo 0)" = 5 ] && break
		kill -0 "$tracer" || { cat "$dir/err"; false; }
		sleep 0.02
	done
	kill -INT "$tracer"
	wait "$tracer"
	cat "$dir/err"
	[ "$(sqlite3 "$dir/m.db" "select count(distinct tid) from thread")" = 5 ]
	grep -q "no process 4194000" "$dir/err"
	# each user's have a memory of their own
	! grep -q "changed their user" "$dir/err" || false
	[ "$(sqlite3 "$dir/m.db" "select count(*) from meta where key = 'users'")" = 0 ]
	[ "$(sqlite3 "$dir/m.db" "select count(*) > 0 from chunk where core >= 32768")" = 1 ]
	for i in 0 1 2 3 4; do
		! grep -q devtrace "/proc/${pids[i]}/maps" || false
		kill "${pids[i]}"
		exec {outs[i]}<&-
	done
	# nothing is left behind under a name, nor a process
	! ls /dev/shm | grep -q "^devtrace-$tracer" || false
	! pgrep -P "$tracer"
}

@test "attach: nothing of root's but the session's memory comes within another user's reach" {
	[ "$(id -u)" = 0 ] || skip "needs root: another user's process"
	id dtuser 2>/dev/null || useradd -m dtuser
	start_spin setpriv --reuid dtuser --regid dtuser --clear-groups "$dir/spin"
	mkdir "$dir/calls"
	# a file for each process, so that none cuts another's lines
	timeout 60 strace -ff -o "$dir/calls/of" -e trace=close_range,dup2,dup3,setresuid,capset,execveat \
		"$dt" attach -o "$dir/d.db" "$pid" 2>"$dir/err" 3>&- &
	tracer=$!
	# the whole line, result and all
	until grep -q '^execveat(2.*= 0$' "$dir/calls"/of.* 2>/dev/null; do
		kill -0 "$tracer" || { cat "$dir/err" "$dir/calls"/of.*; false; }
		sleep 0.02
	done
	kill "$pid" # it ends with the process
	wait "$tracer" || true # it may end while it is being attached to
	# the child that becomes the user: files 0 to 3 are known, there is no other, and its memory is a new program's
	child=$(grep -l '^execveat(2.*= 0$' "$dir/calls"/of.*)
	[ "$(grep -o '^[a-z_0-9]*(.*= [0-9]*$' "$child" | sed 's/(.*= / /' | xargs)" = \
		"dup3 1 dup3 0 dup3 2 dup3 3 close_range 0 setresuid 0 capset 0 execveat 0" ]
	grep -q "^close_range(4, 4294967295, 0) *= 0" "$child"
	stop_spin
}

@test "attach: again and again" {
	start_spin
	for i in 1 2 3; do
		attach
		detach
	done
	kill -0 "$pid"
	stop_spin
}

@test "attach: as an ordinary user, and root to a user's process" {
	[ "$(id -u)" = 0 ] || skip "needs root to be someone else"
	id dtuser 2>/dev/null || useradd -m dtuser
	cat >"$dir/user.sh" <<-'S'
		dt=$1 dir=$2
		"$dir/spin" >/dev/null &
		pid=$!
		"$dt" attach -o /tmp/user.$$.db "$pid" &
		tracer=$!
		for i in $(seq 3000); do
			[ "$(sqlite3 -readonly /tmp/user.$$.db 'select count(*) from chunk' 2>/dev/null || echo 0)" -gt 0 ] && break
			sleep 0.02
		done
		kill -INT $tracer
		wait $tracer
		echo "status $?"
		sqlite3 /tmp/user.$$.db 'select name from function'
		kill $pid
		rm -f /tmp/user.$$.db*
	S
	run su dtuser -c "sh '$dir/user.sh' '$dt' '$dir'"
	[[ $output == *"status 0"*turn* ]]
	start_spin setpriv --reuid dtuser --clear-groups "$dir/spin"
	attach
	detach
	stop_spin
}

@test "attach: a process that is not there, a zombie, another user's" {
	run "$dt" attach -o "$dir/none.db" 4194000
	[ "$status" = 1 ]
	one_line "no process 4194000"
	exec {out}< <(exec python3 -c 'import os, time
p = os.fork() or os._exit(0)
print(p, flush=True)
time.sleep(30)' 3>&-)
	parent=$!
	read -r zombie <&"$out"
	for i in $(seq 1000); do
		grep -qs '^State:.Z' "/proc/$zombie/status" && break
	done
	run "$dt" attach -o "$dir/none.db" "$zombie"
	kill "$parent"
	[ "$status" = 1 ]
	one_line zombie
	run "$dt" attach -o "$dir/none.db" 12ab
	[ "$status" = 2 ]
	one_line 12ab
	if [ "$(id -u)" = 0 ]; then
		id dtuser 2>/dev/null || useradd -m dtuser
		start_spin
		run su dtuser -c "'$dt' attach -o /tmp/none.$$.db $pid"
		stop_spin
		[ "$status" = 1 ]
		one_line "another user" root
	fi
	[ ! -e "$dir/none.db" ]
}

@test "attach: a name that nothing has yet is told at once" {
	start_spin
	"$dt" attach -F turm -o "$dir/y.db" "$pid" 2>"$dir/err" 3>&- &
	tracer=$!
	for i in $(seq 3000); do
		[ -s "$dir/err" ] && break
		kill -0 "$tracer"
		sleep 0.02
	done
	grep -q "no function matches 'turm' yet, and no event; near names: turn" "$dir/err"
	kill -INT "$tracer"
	wait "$tracer" || true
	grep -q "no function matches 'turm', and no event" "$dir/err"
	stop_spin
}

@test "attach: commands that come while it is attaching wait, and it does not wait for them" {
	# without sleds: what they choose has to be planted, and that is the owner's to do
	gcc -O1 -g -o "$dir/bare" "$dir/spin.c"
	start_spin "$dir/bare"
	: >"$dir/busy"
	writers=()
	for i in p e u; do
		(while [ -e "$dir/busy" ]; do
			"$dt" ctl -s while "$(printf 'trace libc.so.6:get%s* new %s\ntrace %s on\n' $i $i $i)" || sleep 0.01
		done) >/dev/null 2>&1 3>&- &
		writers+=($!)
	done
	times=$((15 / ${SHARE:-1}))
	for i in $(seq $times); do
		timeout -s KILL 30 "$dt" attach -s while -o "$dir/w.db" -T 'turn REG rdi' "$pid" 2>"$dir/err" 3>&- &
		tracer=$!
		until "$dt" ctl -s while quit 2>/dev/null || ! kill -0 "$tracer"; do :; done
		wait "$tracer" || i=none
		[ "$i" != none ] || break
	done
	rm "$dir/busy"
	wait "${writers[@]}" || true
	[ "$i" = $times ] || { cat "$dir/err"; false; }
	stop_spin
}

@test "attach: a process that is already traced" {
	start_spin
	attach
	run "$dt" attach -o "$dir/none.db" "$pid"
	detach
	stop_spin
	[ "$status" = 1 ]
	one_line "already traced" "$tracer"
	[ ! -e "$dir/none.db" ]
}

@test "attach: a process that is being debugged" {
	start_spin
	exec {gdb}> >(exec gdb -q -p "$pid" >"$dir/gdb" 2>&1 3>&-)
	for i in $(seq 1000); do
		grep -q '^TracerPid:.[1-9]' "/proc/$pid/status" && break
		sleep 0.01
	done
	run "$dt" attach -o "$dir/none.db" "$pid"
	echo quit >&"$gdb"
	exec {gdb}>&-
	stop_spin
	[ "$status" = 1 ] && one_line "another tracer"
}

@test "attach: a process without sleds, and back to what it was" {
	cat >"$dir/work.c" <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) int turn(volatile int *n) { return ++*n; }
		int main(void)
		{
			volatile int n = 0;
			puts("ready");
			fflush(stdout);
			for (int i = 0; i < 3000; i++) {
				usleep(10000);
				turn(&n);
			}
			return 0;
		}
	C
	gcc -O1 -g -o "$dir/work" "$dir/work.c"
	start_spin "$dir/work"
	code=$(dd if="/proc/$pid/mem" bs=4096 iflag=skip_bytes,count_bytes status=none count=4096 \
		skip=$((0x$(awk '/r-xp.*work$/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps"))) | sha256sum)
	maps=$(grep -c . "/proc/$pid/maps")
	for i in 1 2 3; do
		attach
		detach
		[ "$(sqlite3 -readonly "$dir/a.db" 'select group_concat(name) from function')" = turn ]
	done
	[ "$code" = "$(dd if="/proc/$pid/mem" bs=4096 iflag=skip_bytes,count_bytes status=none count=4096 \
		skip=$((0x$(awk '/r-xp.*work$/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps"))) | sha256sum)" ]
	[ "$maps" = "$(grep -c . "/proc/$pid/maps")" ]
	kill -0 "$pid"
	stop_spin
}

@test "attach: probes that a killed controller has left are taken away by the next one" {
	start_spin "$dir/work"
	text() { dd if="/proc/$pid/mem" bs=4096 iflag=skip_bytes,count_bytes status=none count=4096 \
		skip=$((0x$(awk '/r-xp.*work$/ { split($1, a, "-"); print a[1]; exit }' "/proc/$pid/maps"))) | sha256sum; }
	code=$(text)
	maps=$(grep -c . "/proc/$pid/maps")
	for i in 1 2 3; do
		attach
		[ "$code" != "$(text)" ]
		kill -9 "$tracer"
		wait "$tracer" || true
		kill -0 "$pid"
	done
	attach
	detach
	[ "$code" = "$(text)" ]
	[ "$maps" = "$(grep -c . "/proc/$pid/maps")" ]
	stop_spin
}

@test "attach: ends by itself when the process ends" {
	start_spin
	attach
	stop_spin
	wait "$tracer"
}

@test "list: the functions of a process" {
	start_spin
	run "$dt" list "$pid"
	stop_spin
	[ "$status" = 0 ]
	[[ $output == *spin:turn* ]]
}

@test "list: a process without sleds: its program, and its libraries with -a" {
	start_spin tail -f "$dir/spin.c"
	"$dt" list "$pid" >"$dir/own" 2>"$dir/err"
	"$dt" list --all "$pid" >"$dir/all" 2>>"$dir/err"
	stop_spin
	grep -q "^tail[:+]" "$dir/own"
	! grep -v "^tail[:+]" "$dir/own" || false
	grep -qx libc.so.6:malloc "$dir/all"
	grep -qxF -f "$dir/own" "$dir/all"
	[ "$(grep -c "process $pid: [0-9]* functions without sleds can be traced, [0-9]* can not" "$dir/err")" = 2 ]
}

# Reads words: fork makes a child that waits, go lets it work and says how it ended.
build_forks() {
	cat >"$dir/forks.c" <<-'C'
		#include <signal.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static volatile int sink;
		__attribute__((noipa)) int one(int x) { return x * 31 / 7 + 1; }
		__attribute__((noipa)) int two(int x) { return x * 37 / 5 + 1; }
		__attribute__((noipa)) void work(void) { for (int i = 0; i < 1000; i++) sink += one(i) + two(i); }
		static void go(int sig) { }
		int main(void)
		{
			char word[64];
			pid_t child = 0;
			int status;
			sigset_t s, none;
			sigemptyset(&s);
			sigemptyset(&none);
			sigaddset(&s, SIGUSR1);
			sigprocmask(SIG_BLOCK, &s, NULL);
			signal(SIGUSR1, go);
			setvbuf(stdout, NULL, _IOLBF, 0);
			puts("ready");
			while (fgets(word, sizeof(word), stdin))
				if (!strcmp(word, "fork\n")) {
					child = fork();
					if (!child) {
						sigsuspend(&none);
						work();
						_exit(7);
					}
					printf("%d\n", child);
				} else if (!strcmp(word, "work\n")) {
					work();
					puts("done");
				} else {
					kill(child, SIGUSR1);
					waitpid(child, &status, 0);
					printf("%x\n", status);
				}
			return 0;
		}
	C
	gcc -O1 -g "$@" -o "$dir/forks" "$dir/forks.c"
}

@test "attach: a child that was forked between two plantings is left as whole as the others" {
	build_forks
	for when in quit kill; do
		mkfifo "$dir/words.$when"
		exec {out}< <(exec "$dir/forks" <"$dir/words.$when" 3>&-)
		pid=$!
		exec {to}>"$dir/words.$when"
		read -r ready <&"$out"
		session=forks-$$-$when
		"$dt" attach -d -s "$session" -p drop -F forks:one "$pid"
		"$dt" ctl -s "$session" start
		echo fork >&"$to"
		read -r child <&"$out"
		# there is no record of it yet, so nobody knows of it; this is planted in its parent
		"$dt" ctl -s "$session" trace forks:two new two
		"$dt" ctl -s "$session" trace two on
		echo work >&"$to"
		read -r answer <&"$out"
		[ "$("$dt" cat -s "$session" -l | grep -o 'function=[a-z]*' | sort | uniq -c | awk '{print $2 ":" $1}' | tr '\n' ' ')" = \
			"function=one:2000 function=two:2000 " ]
		if [ $when = quit ]; then
			"$dt" ctl -s "$session" quit
			while "$dt" ctl -s "$session" >/dev/null 2>&1; do sleep 0.02; done
			! grep -q devtrace "/proc/$pid/maps" || false
			! grep -q devtrace "/proc/$child/maps" || false
			# its code is the file's, as its parent's is
			code() { gdb -nx -p "$1" -batch -ex 'x/40xb one' -ex 'x/40xb two' 2>/dev/null | grep '^0x.*>:'; }
			[ "$(code "$child")" = "$(code "$pid")" ]
			[ "$(code "$child" | wc -l)" = 10 ]
		else
			kill -9 "$(pgrep -f "attach -d -s $session")"
		fi
		echo go >&"$to"
		read -r answer <&"$out"
		echo "$when: $answer"
		[ "$answer" = 700 ]
		exec {to}>&-
		exec {out}<&-
	done
}

@test "attach: processes with the same code at the same place, and some in which something is not the same" {
	cd "$dir"
	cat >alike.c <<-'C'
		#include <signal.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <sys/prctl.h>
		#include <unistd.h>
		#define N __attribute__((noinline))
		N int odd(int n);
		asm("odd: nop; nop; nop; nop; nop; nop; lea 1(%rdi), %eax; ret; .type odd, @function; .size odd, .-odd");
		N int work(int n) { asm volatile(""); return n < 2 ? odd(n) : work(n - 1) + odd(n); }
		int main()
		{
			int to[6][2], from[6][2], child;
			char line[64], what, now;
			unsigned long at;
			for (int i = 1; i < 6; i++) {
				pipe(to[i]), pipe(from[i]);
				if (fork())
					continue;
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				while (read(to[i][0], &what, 1) == 1 && read(to[i][0], &at, 8) == 8) {
					if (what == 'c') /* at calls of work, each of ten levels */
						while (at--) now = work(10) == 65;
					else if (what == 'm') /* somebody else has this page */
						now = mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == (void *)at;
					else /* a nop becomes another instruction that does nothing here */
						now = !mprotect((void *)((unsigned long)odd & -4096), 4096, 7) && (*(unsigned char *)odd = 0xf8);
					write(from[i][1], &now, 1);
				}
				return 0;
			}
			setvbuf(stdout, NULL, _IOLBF, 0);
			puts("ready");
			while (fgets(line, sizeof(line), stdin) && sscanf(line, "%d %c %lx", &child, &what, &at) == 3) {
				if (child == 0)
					now = what == 'c' && work(10) == 65;
				else
					write(to[child][1], &what, 1), write(to[child][1], &at, 8), read(from[child][0], &now, 1);
				puts(now ? "yes" : "no");
			}
			return 0;
		}
	C
	gcc -O1 -foptimize-sibling-calls -w -o alike alike.c
	coproc ./alike 3>&-
	pid=$COPROC_PID
	tell() { echo "$*" >&"${COPROC[1]}"; read -r answer <&"${COPROC[0]}" && [ "$answer" = yes ]; }
	read -r answer <&"${COPROC[0]}"
	mapfile -t children < <(pgrep -P "$pid")
	[ ${#children[@]} = 5 ]
	text() { for p in "$pid" "${children[@]}"; do
		awk '/ r-xp .*(alike|libc.so.6)$/ { split($1, a, "-"); print a[1], a[2] }' "/proc/$p/maps" | while read -r low high; do
			dd if="/proc/$p/mem" iflag=skip_bytes,count_bytes bs=64k skip=$((0x$low)) count=$((0x$high - 0x$low)) 2>/dev/null | sha256sum
		done
	done; }
	session() { "$dt" attach -d -s alike-$$ -o s.db -F 'alike:*' -F 'libc.so.6:*' "$pid" "${children[@]}" 3>&-; }
	counts() { "$dt" sql -n -c s.db "SELECT process - $pid, function, count(*), sum(ended IN ('returned', 'tail')) FROM calls WHERE function IN ('work', 'odd') GROUP BY 1, 2" | tr -d '\r'; }
	quit() { "$dt" ctl -s alike-$$ quit; for _ in $(seq 3000); do "$dt" ctl -s alike-$$ >/dev/null 2>&1 || return 0; sleep 0.02; done; return 1; }

	before=$(text)
	session
	# trampolines, near their files; the hooks' own area, below 2 GiB, is where each process has room
	places=$(for p in "$pid" "${children[@]}"; do awk '/ r-xp 0* 00:00 0 *$/ && index($1, "-") == 13 { print $1 }' "/proc/$p/maps" | xargs; done | sort -u)
	[ "$(wc -l <<<"$places")" = 1 ]
	[ -n "$places" ]
	tell 0 c 1
	tell 1 c 3
	tell 2 c 1
	tell 3 c 1
	tell 4 c 1
	tell 5 c 1
	quit
	diff - <(counts) <<-T
		0,odd,10,10
		0,work,10,10
		$(for i in "${!children[@]}"; do [ $i = 0 ] && n=30 || n=10; for f in odd work; do
			printf '%d,%s,%d,%d\n' $((children[i] - pid)) $f $n $n; done; done)
	T
	[ "$(text)" = "$before" ]

	# in the second child a page of the trampolines is taken, in the third one the code is another
	tell 2 m "${places%%-*}"
	tell 3 p 0
	changed=$(text)
	rm -f s.db*
	session
	for i in 0 1 2 3 4 5; do tell $i c 1; done
	quit
	counts >got
	diff - got <<-T
		0,odd,10,10
		0,work,10,10
		$(for i in "${!children[@]}"; do for f in odd work; do [ $i$f = 2odd ] ||
			printf '%d,%s,10,10\n' $((children[i] - pid)) $f; done; done)
	T
	[ "$(text)" = "$changed" ]
	exec {COPROC[1]}>&-
	wait "$pid"
}

# bats test_tags=long
@test "attach: threads that are always where the code is changed" {
	gcc -O1 -pthread -o "$dir/boards" "$root/test/probe/boards.c" "$root/test/probe/boards.S"
	# or the case shows nothing
	"$dt" list -v "$dir/boards" | grep -q 'looped.*short'
	mkfifo "$dir/line"
	exec {out}< <(exec "$dir/boards" <"$dir/line" 3>&-)
	pid=$!
	exec {to}>"$dir/line"
	read -r ready <&"$out"
	code() { gdb -nx -p "$pid" -batch -ex 'x/40xb looped' -ex 'x/40xb twice' 2>/dev/null | grep '^0x.*:'; }
	before=$(code)
	[ "$(wc -l <<<"$before")" = 10 ]
	# a share of them for every change: test/share.bash
	for i in $(seq $((40 / ${SHARE:-1} / 4 * 4))); do
		"$dt" attach -d -s "boards-$$" -p drop -F 'boards:*' "$pid" 3>&-
		"$dt" ctl -s "boards-$$" start
		# the next one takes away what a controller that is killed has left
		if [ $((i % 4)) = 0 ]; then
			kill -9 "$(pgrep -f "attach -d -s boards-$$")"
			until_gone "boards-$$"
		else
			"$dt" ctl -s "boards-$$" quit
		fi
		kill -0 "$pid"
	done
	# the last one was killed
	"$dt" attach -d -s "boards-$$" -p drop -F 'boards:*' "$pid" 3>&-
	"$dt" ctl -s "boards-$$" quit
	[ "$(code)" = "$before" ]
	echo >&"$to"
	read -r said <&"$out"
	[ "$said" = '0 wrong' ]
	wait "$pid"
	exec {to}>&-
}

# bats test_tags=long
@test "attach: a controller that is killed between any two writes of code leaves a program that goes on" {
	gcc -O1 -pthread -o "$dir/boards" "$root/test/probe/boards.c" "$root/test/probe/boards.S"
	"$dt" list -v "$dir/boards" >"$dir/list"
	grep -q 'page_ends.*short' "$dir/list"
	grep -q 'page_begins.*short' "$dir/list"
	grep -q 'sum.*inner' "$dir/list"
	grep -q 'added.*inner' "$dir/list"
	# ends itself before the write of code that KILL_AT says
	cat >"$dir/kill.c" <<-'C'
		#include <dlfcn.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <unistd.h>
		ssize_t pwrite64(int fd, const void *from, size_t n, off64_t to)
		{
			static int written;
			ssize_t (*next)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
			off64_t low = strtoll(getenv("LOW"), NULL, 16), high = strtoll(getenv("HIGH"), NULL, 16);

			if (to >= low && to < high && ++written == atoi(getenv("KILL_AT")))
				kill(getpid(), SIGKILL);
			return next(fd, from, n, to);
		}
		ssize_t pwrite(int fd, const void *from, size_t n, off_t to) { return pwrite64(fd, from, n, to); }
	C
	gcc -D_GNU_SOURCE -shared -fPIC -o "$dir/kill.so" "$dir/kill.c"
	mkfifo "$dir/until"
	exec {out}< <(exec "$dir/boards" <"$dir/until" 3>&-)
	pid=$!
	exec {to}>"$dir/until"
	read -r ready <&"$out"
	range=$(grep ' r-xp .*/boards$' "/proc/$pid/maps" | cut -d' ' -f1)
	# all functions but the last; behind that, instructions for calls may be left
	code() { dd if="/proc/$pid/mem" iflag=skip_bytes,count_bytes skip=$((0x${range%-*})) count=20480 status=none | cksum; }
	before=$(code)
	# attached [KILL_AT]: for a moment; what a controller has left is taken away first
	attached() {
		LOW=${range%-*} HIGH=${range#*-} KILL_AT=${1-} ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 \
			LD_PRELOAD=${1:+$dir/kill.so} "$dt" attach -d -s "boards-$$" -p drop -F 'boards:*' "$pid" >/dev/null 3>&- || return
		"$dt" ctl -s "boards-$$" quit
	}
	attached
	[ "$(code)" = "$before" ]
	for round in $(seq $(((3 + ${SHARE:-1} - 1) / ${SHARE:-1}))); do
		at=1
		until attached $at; do
			kill -0 "$pid"
			until_gone "boards-$$"
			attached
			[ "$(code)" = "$before" ]
			at=$((at + 1))
		done
		echo "$at writes"
		# each of five pages twice, and what is written by itself
		[ $at -gt 10 ]
	done
	echo >&"$to"
	read -r said <&"$out"
	[ "$said" = '0 wrong' ]
	wait "$pid"
	exec {to}>&-
}

@test "attach: a server that forks for each connection: whose each call is, and the session does not grow" {
	cat >"$dir/forks.c" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) int serve(int i) { volatile int s = 0; for (int k = 0; k < 1000; k++) s += k ^ i; return s; }
		int main(void)
		{
			for (char line[64]; fgets(line, sizeof(line), stdin);) {
				for (int i = 0; i < atoi(line); i++) {
					if (!fork()) {
						serve(i);
						_exit(0);
					}
					wait(NULL);
				}
				puts("done");
				fflush(stdout);
			}
		}
	C
	gcc -O1 -g -o "$dir/forks" "$dir/forks.c"
	cd "$dir"
	coproc server { exec ./forks 3>&-; }
	pid=$server_PID
	for out in "" "-o f.db" "-p overwrite"; do
		session="forks-$pid"
		# sanitizers keep what has been freed, otherwise
		ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 \
			"$dt" attach -d -s "$session" -p drop $out -F 'forks:*' -F 'libc.so.6:*' "$pid" >/dev/null 3>&-
		owner=$(pgrep -f "attach -d -s $session ")
		"$dt" ctl -s "$session" start
		memory() {
			echo "$1" >&"${server[1]}"
			read -r _ <&"${server[0]}"
			"$dt" ctl -s "$session" >/dev/null
			awk '$1 == "VmRSS:" { print $2 }' "/proc/$owner/status"
		}
		first=$(memory 400)
		last=$(memory 1200)
		"$dt" ctl -s "$session" quit
		# each left some 30 KB behind, 36 MB in all; what is on its way grows on a busy machine, too
		[ $((last - first)) -lt 26000 ] || { echo "$out: from $first to $last KB"; false; }
	done
	exec {server[1]}>&-
	# all of them called it once; nearly all of them are known as processes: a request may be lost
	[ "$("$dt" sql -n f.db "SELECT count(*) FROM calls WHERE function = 'serve'")" = 1600 ]
	[ "$("$dt" sql -n f.db "SELECT count(DISTINCT thread) FROM calls WHERE function = 'serve'")" = 1600 ]
	# on a machine that is too slow some are lost, as it was asked to
	known=$("$dt" sql -n f.db "SELECT count(*) FROM threads WHERE process = thread")
	[ "$("$dt" sql -n f.db "SELECT count(*) FROM lost")" != 0 ] || [ "$known" -gt 1200 ]
	# who is known has a name, but for those whose maker's could not be read any more
	[ "$("$dt" sql -n f.db "SELECT count(*) FROM threads WHERE name = 'forks'")" -gt $((known * 3 / 4)) ]
}

# bats test_tags=long
@test "attach: a shell that starts programs: whose each call is, and the session does not keep what they had" {
	cat >"$dir/started.c" <<-'C'
		__attribute__((noinline)) int serve(int i) { volatile int s = 0; for (int k = 0; k < 1000; k++) s += k ^ i; return s; }
		int main(int argc, char **argv) { return serve(argc) == 1; }
	C
	gcc -O1 -g -o "$dir/started" "$dir/started.c"
	cd "$dir"
	coproc shell { exec sh -c 'while read -r n; do while [ "$n" -gt 0 ]; do ./started || echo failed; n=$((n - 1)); done; echo done; done' 3>&-; }
	pid=$shell_PID
	for out in "-p drop" "-o f.db" "-p overwrite -o g.db"; do
		session="starts-$pid"
		ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 \
			"$dt" attach -d -s "$session" $out -F 'started:*' -F 'libc.so.6:s*' "$pid" >/dev/null 3>&-
		owner=$(pgrep -f "attach -d -s $session ")
		"$dt" ctl -s "$session" size 17
		"$dt" ctl -s "$session" start
		memory() {
			echo "$1" >&"${shell[1]}"
			read -r said <&"${shell[0]}"
			[ "$said" = done ] || return 1
			"$dt" ctl -s "$session" >/dev/null
			awk '$1 == "VmRSS:" { print $2 }' "/proc/$owner/status"
		}
		first=$(memory 50)
		last=$(memory 100)
		# it looks once a second whether anybody is left of them
		for _ in {1..100}; do
			[ $((last - first)) -ge 50000 ] || break
			sleep 0.05
			last=$(memory 0)
		done
		# a log's names are asked for later, when nobody has the program any more
		[ "$out" != "-p drop" ] || "$dt" cat -l -s "$session" >log
		"$dt" ctl -s "$session" quit
		# each left a megabyte and more
		[ $((last - first)) -lt 50000 ] || { echo "$out: from $first to $last KB"; false; }
	done
	exec {shell[1]}>&-
	[ "$("$dt" sql -n f.db "SELECT count(*) FROM calls WHERE function = 'serve' AND ended = 'returned'")" = 150 ]
	[ "$("$dt" sql -n f.db "SELECT count(DISTINCT process) FROM calls WHERE function = 'serve'")" = 150 ]
	[ "$("$dt" sql -n f.db "SELECT count(*) FROM calls WHERE function LIKE '%+0x%' OR function = '?'")" = 0 ]
	[ "$(grep -c 'kind=E.*function=serve' log)" = 150 ]
}

@test "attach: a program that waits for a vfork child is waited for" {
	cat >"$dir/waiting.c" <<-'C'
		#define _GNU_SOURCE
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noipa)) int counted(int n) { volatile int k = n; return k + 1 + (k & 0); }
		int main(void)
		{
			int sum = 0;
			puts("ready");
			fflush(stdout);
			if (!vfork()) {
				usleep(1500000);
				_exit(0);
			}
			wait(NULL);
			for (int i = 0; i < 200; i++, usleep(10000))
				sum = counted(sum);
			printf("%d\n", sum);
			return 0;
		}
	C
	gcc -O1 -o "$dir/waiting" "$dir/waiting.c"
	"$dir/waiting" >"$dir/waiting.out" &
	pid=$!
	until grep -q ready "$dir/waiting.out"; do sleep 0.02; done
	"$dt" attach -o "$dir/waiting.db" -F counted $pid 2>"$dir/waiting.said"
	wait $pid
	[ "$(tail -1 "$dir/waiting.out")" = 200 ]
	"$dt" check "$dir/waiting.db" >/dev/null
	[ "$("$dt" sql --csv --no-header "$dir/waiting.db" "SELECT count(*) > 20 FROM calls" | tr -d '\r')" = 1 ]
}

@test "attach: a process that has forbidden itself to open files (Landlock), or sees no /proc; with hardly a descriptor left" {
	cat >"$dir/confined.c" <<-'C'
		#include <linux/landlock.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		#include <sys/resource.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		static volatile sig_atomic_t go;
		static void on(int s) { go = s; }
		static volatile int sink;
		__attribute__((noipa)) void tick(void) { sink++; }
		__attribute__((noipa)) int f(int n) { return sink += n; }
		int main(int argc, char **argv)
		{
			struct landlock_ruleset_attr a = {.handled_access_fs = (1u << 13) - 1};
			int rules = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof(a), 0), n = 0;
			struct rlimit most = {(rlim_t)atoi(argv[1]), (rlim_t)atoi(argv[1])};
			if (rules < 0) return 77;
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			if (syscall(SYS_landlock_restrict_self, rules, 0)) return 1;
			close(rules);
			setrlimit(RLIMIT_NOFILE, &most);
			signal(SIGUSR1, on);
			signal(SIGUSR2, on);
			puts(fopen("/etc/passwd", "r") ? "open" : "forbidden");
			fflush(stdout);
			while (go != SIGUSR1) { tick(); usleep(1000); }
			for (; n < 1000; n++) f(n);
			puts("done");
			fflush(stdout);
			while (go != SIGUSR2) { tick(); usleep(1000); }
			printf("%d calls, next descriptor %d\n", n, dup(0));
		}
	C
	gcc -O1 -g -o "$dir/confined" "$dir/confined.c"
	"$dir/confined" 100 >"$dir/said" 3>&- </dev/null &
	pid=$!
	until [ -s "$dir/said" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
	grep -qx forbidden "$dir/said" || skip "this kernel has no Landlock"
	attach -F f -F tick
	kill -USR1 $pid
	until grep -qx 'done' "$dir/said"; do sleep 0.02; done
	detach
	kill -USR2 $pid
	wait $pid
	[ "$(tail -1 "$dir/said")" = '1000 calls, next descriptor 3' ]
	[ "$("$dt" sql -n "$dir/a.db" "SELECT count(*) FROM calls WHERE function = 'f'")" = 1000 ]
	"$dt" check "$dir/a.db"
	# room for one descriptor, where three are needed for a moment: one line, and the process goes on
	"$dir/confined" 4 >"$dir/said" 3>&- </dev/null &
	pid=$!
	until [ -s "$dir/said" ]; do sleep 0.02; done
	if "$dt" attach -F f -o "$dir/b.db" $pid 2>"$dir/err"; then false; fi
	[ "$(<"$dir/err")" = "devtrace: making sockets failed in the traced process: Too many open files" ]
	kill -USR1 $pid
	until grep -qx 'done' "$dir/said"; do sleep 0.02; done
	kill -USR2 $pid
	wait $pid
	[ "$(tail -1 "$dir/said")" = '1000 calls, next descriptor 3' ]
	# no /proc where it is, in which it could open anything (as root only: chroot)
	[ "$(id -u)" = 0 ] || return 0
	mkdir -p "$dir/empty"
	gcc -O1 -g -static -o "$dir/empty/confined" "$dir/confined.c"
	chroot "$dir/empty" /confined 100 >"$dir/said" 3>&- </dev/null &
	pid=$!
	until [ -s "$dir/said" ]; do sleep 0.02; done
	attach -F f -F tick
	kill -USR1 $pid
	until grep -qx 'done' "$dir/said"; do sleep 0.02; done
	detach
	kill -USR2 $pid
	wait $pid
	[ "$("$dt" sql -n "$dir/a.db" "SELECT count(*) FROM calls WHERE function = 'f'")" = 1000 ]
}
