#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Two users of one machine: what one traces is not the other's to see, to change or to stop. Both are real ones.
load devtrace
load wait

setup_file() {
	[ "$(id -u)" = 0 ] || skip "needs root to be two users"
	id dtuser 2>/dev/null || useradd -m dtuser
	id dtuser2 2>/dev/null || useradd -m dtuser2
}

setup() {
	dir=$(mktemp -d)
	cd "$dir" || return
	chmod 711 "$dir"
	for u in dtuser dtuser2; do
		mkdir -m 700 "$u"
		chown "$u" "$u"
	done
	cat >work.c <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) long work(long secret) { return secret * 3; }
		int main(void) { for (long i = 1; i < 6000; i++) { work(i); usleep(10000); } return 0; }
	C
	gcc -O2 -o work work.c
}

teardown() {
	local p
	for p in $(pgrep -u dtuser -x work) $(pgrep -u dtuser2 -x work); do
		[ "$(readlink "/proc/$p/exe")" != "$dir/work" ] || kill "$p"
	done
	check_traces
	cd /
	rm -rf "$dir"
}

# as USER COMMAND...: with directories of that user's own
as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --clear-groups env -C "$dir/$user" HOME="$dir/$user" \
		TMPDIR="$dir/$user" XDG_RUNTIME_DIR="$dir/$user" "$@"
}

# a session `mine' of dtuser's; sets pid, of the program, and tracer
begin_mine() {
	as dtuser "$dt" record -s mine -F work:work -o t.db ../work 3>&- &
	tracer=$!
	for i in $(seq 600); do
		as dtuser "$dt" ctl -s mine >/dev/null 2>&1 && break
		sleep 0.05
	done
	pid=
	until [ -n "$pid" ]; do pid=$(pgrep -u dtuser -x work) || true; done
	controller=$(ps -o ppid= -p "$pid" | tr -d ' ')
}

end_mine() {
	kill "$pid"
	wait "$tracer" || true
}

@test "users: a session is not another user's to find, to ask, to change or to end" {
	begin_mine
	# it answers its own user
	as dtuser "$dt" ctl -s mine | grep -q tracehits
	run as dtuser2 "$dt" list
	[[ $output != *mine* ]]
	run as dtuser2 "$dt" ctl -s mine
	[ "$status" = 1 ]
	[[ $output == *"there is no session 'mine'"* || $output == *"no session runs"* ]]
	# also when it is told where it is
	run as dtuser2 env XDG_RUNTIME_DIR="$dir/dtuser" "$dt" ctl -s mine stop
	[ "$status" != 0 ]
	[ "${#lines[@]}" = 1 ]
	run as dtuser2 sh -c "exec 9<>/proc/$controller/fd/3"
	[ "$status" != 0 ]
	run as dtuser2 ls "/proc/$controller/fd" "/proc/$controller/map_files"
	[ "$status" != 0 ]
	run as dtuser2 kill "$controller"
	[ "$status" != 0 ]
	kill -0 "$pid"
	as dtuser "$dt" ctl -s mine | grep -q tracehits
	end_mine
}

@test "users: a program is not another user's to trace, and nothing is left in it" {
	as dtuser ../work 3>&- &
	pid=
	until [ -n "$pid" ]; do pid=$(pgrep -u dtuser -x work) || true; done
	for what in "attach -o t.db" "attach -d" "list"; do
		run as dtuser2 "$dt" $what "$pid"
		echo "$output"
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
	done
	! grep -q devtrace "/proc/$pid/maps" || false
	[ ! -e dtuser2/t.db ]
	kill "$pid"
}

@test "users: a trace, and what is beside it, can be read by its user only" {
	begin_mine
	sleep 0.5
	for f in dtuser/t.db*; do
		[ "$(stat -c '%U %a' "$f")" = "dtuser 600" ]
	done
	# where the folder would let it
	chmod 755 dtuser
	run as dtuser2 "$dt" report "$dir/dtuser/t.db"
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	end_mine
	run as dtuser2 "$dt" report "$dir/dtuser/t.db"
	[ "$status" = 1 ]
	as dtuser "$dt" check -q t.db
	as dtuser "$dt" report t.db | grep -q work
	# a trace of the same name in a folder that both may write to is not the other's to replace
	mkdir -m 1777 both
	cp dtuser/t.db both/t.db
	chown dtuser both/t.db
	chmod 600 both/t.db
	sum=$(sha256sum <both/t.db)
	run as dtuser2 "$dt" record -F work:work -o "$dir/both/t.db" timeout 0.3 ../work
	[ "$status" != 0 ]
	[ "$(sha256sum <both/t.db)" = "$sum" ]
}

# attach_all [OPTION...] PID...: both.db, root's session of these programs; sets tracer, and waits until all of them are recorded
attach_all() {
	local n=0 a
	for a; do
		[ ! -e "/proc/$a/exe" ] || n=$((n + 1))
	done
	"$dt" attach -o both.db -F work:work "$@" 2>err 3>&- &
	tracer=$!
	for i in $(seq 600); do
		[ "$(sqlite3 -readonly both.db 'SELECT count(DISTINCT pid) FROM thread' 2>/dev/null || echo 0)" = "$n" ] && return
		sleep 0.05
	done
	cat err
	return 1
}

end_all() {
	kill -INT "$tracer"
	wait "$tracer" || true
	cat err
	"$dt" check -q both.db
}

# memory PID...: which files the processes have the session's rings of
memory() {
	for p; do
		awk '$2 ~ /s/ && /memfd:devtrace/ { print $5 }' "/proc/$p/maps" 2>/dev/null | sort -u
	done
}

start_as() {
	local user=$1
	shift
	as "$user" "${@:-../work}" 3>&- &
	pid=
	until [ -n "$pid" ]; do pid=$(pgrep -n -u "$user" -x work) || true; done
}

@test "users: root's session of two users' programs has a memory for each, and one for two of the same" {
	start_as dtuser
	one=$pid
	start_as dtuser2
	two=$pid
	start_as dtuser
	while [ "$pid" = "$one" ]; do pid=$(pgrep -n -u dtuser -x work); done
	# of the same user, in another group
	setpriv --reuid dtuser --regid dtuser2 --clear-groups ./work 3>&- &
	local group=$!
	until_true test "/proc/$group/exe" -ef work
	attach_all "$one" "$two" "$pid" "$group"
	[ "$(memory "$one" "$two" "$group" | sort -u | wc -l)" = 3 ]
	[ "$(memory "$one" | wc -l)" = 1 ]
	[ "$(memory "$one")" = "$(memory "$pid")" ]
	[ "$(memory "$one")" != "$(memory "$two")" ]
	sleep 0.2
	end_all
	kill "$one" "$two" "$pid" "$group"
	! grep -q "changed their user" err || false
	[ "$(sqlite3 both.db "SELECT count(*) FROM meta WHERE key = 'users'")" = 0 ]
	[ "$(sqlite3 both.db "SELECT value FROM meta WHERE key = 'domains'")" = "$(id -u dtuser) $(id -u dtuser2) $(id -u dtuser)" ]
	[ "$(sqlite3 both.db "SELECT value FROM meta WHERE key = 'doubted'")" = "$(id -u dtuser) $(id -u dtuser2) $(id -u dtuser)" ]
	# every record has its core, whosever it is
	[ "$("$dt" sql --no-header both.db "SELECT count(*) FROM records WHERE core IS NULL OR core >= $(nproc --all)" | tr -d ' ')" = 0 ]
	[ "$("$dt" sql --no-header both.db 'SELECT count(DISTINCT process) FROM calls WHERE timed' | tr -d ' ')" = 4 ]
	"$dt" export --csv both.db >/dev/null
	"$dt" graph both.db | grep -q work
}

@test "users: a program that is executed with other rights has another memory" {
	cp work suid
	chmod 4755 suid
	cat >leader.c <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) long work(long n) { return n * 3; }
		int main(void) { for (long i = 1; i < 100; i++) { work(i); usleep(10000); } execl("../suid", "work", (char *)0); return 1; }
	C
	mkdir as
	gcc -O2 -o as/work leader.c
	start_as dtuser ../as/work
	"$dt" attach --follow -o both.db -F '*:work' "$pid" 2>err 3>&- &
	tracer=$!
	until_mapped() { [ -n "$(memory "$pid")" ]; }
	until_true until_mapped
	before=$(memory "$pid")
	other() { [ "$(readlink "/proc/$pid/exe")" = "$dir/suid" ] && [ -n "$(memory "$pid")" ]; }
	until_true other
	[ "$(memory "$pid")" != "$before" ]
	sleep 0.3
	end_all
	kill "$pid"
	[ "$("$dt" sql --no-header both.db "SELECT count(DISTINCT module) FROM calls WHERE function = 'work' AND timed" | tr -d ' ')" = 2 ]
	! grep -q "changed their user" err || false
}

# spawning OPTION...: root's session of a program of dtuser's whose children record and execute one of
# root's rights at once, and of one of dtuser2's, so that there are two memories
spawning() {
	cat >suid.c <<-'C'
		int main(void) { return 0; }
	C
	gcc -O2 -o suid suid.c
	chmod 4755 suid
	cat >spawn.c <<-'C'
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noipa)) long work(long n) { return n * 3; }
		int main(void)
		{
			while (access("go", F_OK)) { work(0); usleep(10000); }
			for (long i = 1; i <= 100; i++) {
				pid_t child = i & 1 ? vfork() : fork();
				if (child == 0) { work(i); execl("../suid", "suid", (char *)0); _exit(1); }
				waitpid(child, NULL, 0);
			}
			rename("go", "done");
			for (;;) { work(0); usleep(10000); }
		}
	C
	mkdir -p as
	gcc -O2 -o as/work spawn.c
	start_as dtuser2
	other=$pid
	start_as dtuser ../as/work
	attach_all "$@" -p wait "$other" "$pid"
	as dtuser touch go
	until_true test -e dtuser/done
	sleep 0.1
	end_all
	kill "$other" "$pid"
	[ "$("$dt" sql --no-header both.db "SELECT count(DISTINCT args_0) FROM (SELECT CAST(arg0 AS INTEGER) args_0 FROM calls WHERE function = 'work') WHERE args_0 BETWEEN 1 AND 100" | tr -d ' ')" = 100 ]
	[ -z "$(sqlite3 both.db "SELECT value FROM meta WHERE key = 'broken_rings'")" ]
}

@test "users: what children record before they execute a program of other rights is theirs" {
	spawning --follow
}

@test "users: what children record before they execute something is theirs where nothing is followed" {
	spawning
}

@test "users: a process that changes its user without executing anything is named" {
	cat >change.c <<-'C'
		#include <unistd.h>
		#include <stdlib.h>
		__attribute__((noipa)) long work(long n) { return n * 3; }
		int main(int c, char **v) { work(1); if (setgid(atoi(v[1])) || setuid(atoi(v[1]))) return 1; return work(2) != 6; }
	C
	gcc -O2 -o change change.c
	"$dt" record -o both.db -F change:work ./change "$(id -u dtuser)" 2>err
	grep -q "processes changed their user while they were traced (0, $(id -u dtuser)): whoever they are now could go on" err
	[ "$(sqlite3 both.db "SELECT value FROM meta WHERE key = 'users'")" = "0 $(id -u dtuser)" ]
	# the one who recorded it had begun it
	[ "$(sqlite3 both.db "SELECT count(*) FROM meta WHERE key = 'doubted'")" = 0 ]
	"$dt" check -q both.db
}

@test "users: there are no more memories than a session can have; who has none is named" {
	pids=()
	for i in $(seq 17); do
		setpriv --reuid "$((50000 + i))" --regid 50000 --clear-groups ./work 3>&- &
		pids+=($!)
	done
	for p in "${pids[@]}"; do until_true test "/proc/$p/exe" -ef work; done
	run "$dt" attach -o both.db -F work:work "${pids[@]}"
	kill "${pids[@]}"
	[ "$status" = 1 ]
	[[ $output == *"the session has processes of 16 users or capabilities already, each with rings of its own"* ]]
}

@test "users: a controller that is killed holds nobody of any of its users" {
	cat >busy.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noipa)) long work(long n) { return n * 3; }
		int main(void) { for (long i = 1;; i++) { work(i); if (!(i % 100000)) { if (ftruncate(1, 0) || lseek(1, 0, 0)) return 1; dprintf(1, "%ld\n", i); } } }
	C
	mkdir as
	gcc -O2 -o as/work busy.c
	for u in dtuser dtuser2; do
		setpriv --reuid "$u" --regid "$u" --clear-groups ./as/work >"$u.out" 3>&- &
		pids+=($!)
	done
	for p in "${pids[@]}"; do until_true test "/proc/$p/exe" -ef as/work; done
	"$dt" attach -p wait -b 64K -o both.db -F work:work "${pids[@]}" 2>err 3>&- &
	tracer=$!
	both() { [ "$(memory "${pids[@]}" | sort -u | wc -l)" = 2 ]; }
	until_true both
	sleep 0.5
	kill -9 "$tracer"
	wait "$tracer" || true
	for u in dtuser dtuser2; do
		before=$(cat "$u.out")
		more() { [ "$(cat "$u.out")" -gt "$((before + 1000000))" ]; }
		until_true more
	done
	kill "${pids[@]}"
}

@test "users: what freezes in one user's program freezes in all, and goes on in all" {
	cat >turns.c <<-'C'
		#include <signal.h>
		#include <unistd.h>
		__attribute__((noipa)) long work(long n) { return n * 3; }
		static volatile long halts, goes;
		__attribute__((noipa)) void halt(void) { halts++; }
		__attribute__((noipa)) void proceed(void) { goes++; }
		static volatile sig_atomic_t sig;
		static void note(int s) { sig = s; }
		int main(void)
		{
			signal(SIGUSR1, note);
			signal(SIGUSR2, note);
			for (long i = 1; i < 20000; i++) {
				if (sig) { sig == SIGUSR1 ? halt() : proceed(); sig = 0; }
				work(i); usleep(3000);
			}
			return 0;
		}
	C
	mkdir as
	gcc -O2 -o as/work turns.c
	start_as dtuser2 ../as/work
	two=$pid
	start_as dtuser ../as/work
	"$dt" attach -d -s turns -o both.db -F none "$pid" "$two" 2>err 3>&-
	printf 'trace work halt FREEZE proceed UNFREEZE\nstart\n' | "$dt" ctl -s turns -
	sleep 0.5
	for turn in 1 2; do
		kill -USR1 "$pid"
		sleep 1
		kill -USR2 "$pid"
		sleep 0.7
	done
	"$dt" ctl -s turns quit
	kill "$pid" "$two"
	"$dt" check both.db
	# each has been halted twice for a second, in between are 3 ms; both at the same time, but for some ms
	"$dt" sql --csv --no-header both.db "SELECT process, begin FROM calls WHERE function = 'work' ORDER BY 2" | tr -d '\r' >calls
	python3 - <<-'PY'
		by = {}
		for l in open("calls"):
		    p, t = l.split(",")
		    by.setdefault(p, []).append(float(t))
		assert len(by) == 2, by.keys()
		gaps = [[(a, b) for a, b in zip(t, t[1:]) if b - a > 0.75e9] for t in by.values()]
		print(gaps)
		assert len(gaps[0]) == len(gaps[1]) == 2, gaps
		for one, two in zip(*gaps):
		    assert abs(one[0] - two[0]) < 0.3e9 and abs(one[1] - two[1]) < 0.3e9, gaps
	PY
}
