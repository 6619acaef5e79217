#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Tasks on programs as Debian has them, by an ordinary user: which call fails, and where does the time go? Each is to
# be answered by one command, within the first 25 lines. That the answer is right, strace, perf or the program itself
# say. With TASKS_PEERS=1 strace, ltrace, uftrace and perf are asked the same, as far as they are installed, and a table
# of commands and of lines until the cause is written: build/tasks.md (doc/dev/benchmarks.md quotes it).
load check-traces
bats_require_minimum_version 1.5.0

setup() {
	root=$BATS_TEST_DIRNAME/../..
	build=${DEVTRACE_BUILD:-$root/build}
	dt=$build/devtrace
	cd "$dir" || return 1
}

# as COMMAND...: as the ordinary user, with folders of that user's own
as() {
	local with=()
	[ "$(id -u)" != 0 ] || with=(setpriv --reuid dttasks --regid dttasks --clear-groups)
	"${with[@]}" env -C "$dir" HOME="$dir/home" TMPDIR="$dir" XDG_RUNTIME_DIR="$dir" XDG_CACHE_HOME="$dir/home" \
		DEVTRACE_MEMOS="$dir/home/memos" PATH=/usr/bin:/bin LC_ALL=C.UTF-8 "$@"
}

setup_file() {
	export dir
	dir=$(mktemp -d)
	mkdir "$dir/home"
	printf 'no key\n' >"$dir/bad.pem"
	printf 'PRAGMA locking_mode;\n' >"$dir/empty.sql"
	sqlite3 "$dir/l.db" 'CREATE TABLE t(x)'
	sqlite3 "$dir/s.db" 'CREATE TABLE t(x)'
	for i in {1..200}; do echo "INSERT INTO t VALUES($i);"; done >"$dir/insert.sql"
	printf '#!/bin/sh\necho text | gzip >/dev/full\n' >"$dir/script"
	seq -f '%.0f some words of a line' 60000 | sort -R --random-source=<(yes) >"$dir/lines"
	head -c 200000 "$dir/lines" >"$dir/few"
	head -c 3000000 /dev/urandom >"$dir/noise"
	git init -q "$dir/repo"
	git -C "$dir/repo" -c user.name=n -c user.email=n@n commit -q --allow-empty -m none
	chmod 600 "$dir/bad.pem"
	chmod 755 "$dir/script"
	if [ "$(id -u)" = 0 ]; then
		id dttasks >/dev/null 2>&1 || useradd -M -d "$dir/home" dttasks
		chown -R dttasks "$dir"
	fi
	: >"$dir/table"
}

teardown_file() {
	[ -z "${TASKS_PEERS-}" ] || {
		echo '| task | devtrace | strace | ltrace | uftrace | perf |'
		echo '|---|---|---|---|---|---|'
		cat "$dir/table"
	} >"$BATS_TEST_DIRNAME/../../build/tasks.md"
	[ "$(id -u)" != 0 ] || userdel dttasks 2>/dev/null || true
	rm -rf "$dir"
}

# cause PATTERN WORD...: devtrace with these words prints a line that matches, among the first 25
cause() {
	local pattern=$1
	shift
	as timeout 100 "$dt" "$@" >"$dir/screen" 2>"$dir/error" <"${stdin:-/dev/null}" || true
	at=$(grep -nE -m 1 "$pattern" "$dir/screen" | cut -d: -f1)
	[ -n "$at" ] || { echo "no line for $pattern:"; head -n 40 "$dir/screen" "$dir/error"; return 1; }
	echo "# line $at of $(wc -l <"$dir/screen"): devtrace $*"
	[ "$at" -le 25 ] || { head -n 40 "$dir/screen"; return 1; }
}

# slowest NAME WORD...: devtrace -c says that calls of NAME took, by themselves, the most time of all
slowest() {
	local name=$1 most
	shift
	cause "^ +[0-9.]+ [mun]?s .*  $name( |$)" -c "$@"
	# column self, in us
	most=$(awk '/^ *total / { on = 1; next } on && $3 ~ /^[0-9.]+$/ && !/waiting for devtrace|the whole run$|outside of calls of libraries/ {
		us = $3 * ($4 == "s" ? 1e6 : $4 == "ms" ? 1e3 : $4 == "us" ? 1 : 1e-3)
		if (us > most) { most = us; row = $0 }
	} END { print row }' "$dir/screen")
	[[ $most =~ \ \ $name(\ |$) ]] || { echo "not $name: $most"; cat "$dir/screen"; return 1; }
}

# column NUMBER NAME: the value of a row, in us
column() {
	awk -v n="$1" -v name="$2" '{ for (i = 13; i <= NF; i++) if ($i == name) {
		at = 2 * n - 1
		printf "%d\n", $at * ($(at + 1) == "s" ? 1e6 : $(at + 1) == "ms" ? 1e3 : $(at + 1) == "us" ? 1 : 1e-3)
		exit
	} }' "$dir/screen"
}

# lines PATTERN FILE: where the cause is for the first time
lines() {
	local at
	at=$(grep -nE -m 1 "$1" "$2" | cut -d: -f1)
	echo "${at:--}"
}

# peers failed|slow TASK PATTERN COMMAND...: what other tools print of the same; PATTERN is the cause in any of their
# forms. Each is asked in the way that its manual has for the question.
peers() {
	local kind=$1 task=$2 pattern=$3 row
	shift 3
	[ -n "${TASKS_PEERS-}" ] || return 0
	row="| $task | 1: $at"
	export -f lines
	run_peer() {
		local tool=$1 commands=$2 out=$3 n
		shift 3
		if ! command -v "$tool" >/dev/null; then row+=" | not installed"; return; fi
		rm -rf "$out" "$dir/peer.data"
		{ as timeout 60 "$@" || true; } >"$dir/said" 2>&1 <"${stdin:-/dev/null}"
		n=$(lines "$pattern" "$out")
		row+=" | $commands: $n"
		[ "$n" != - ] || row+=" of $(wc -l <"$out" 2>/dev/null || echo 0)"
	}
	if [ "$kind" = failed ]; then
		run_peer strace 1 "$dir/o" strace -f -o "$dir/o" "$@"
		run_peer ltrace 1 "$dir/o" ltrace -f -o "$dir/o" "$@"
		run_peer uftrace 1 "$dir/o" sh -c 'exec uftrace --force -a --no-pager -d peer.data "$@" >o 2>&1' - "$@"
		run_peer perf 1 "$dir/o" perf trace -o "$dir/o" "$@"
	else
		run_peer strace 1 "$dir/o" strace -f -c -w -o "$dir/o" "$@"
		run_peer ltrace 1 "$dir/o" ltrace -f -c -o "$dir/o" "$@"
		run_peer uftrace 2 "$dir/o" sh -c 'uftrace record --force -d peer.data "$@"; exec uftrace report -d peer.data -s self >o 2>&1' - "$@"
		run_peer perf 2 "$dir/o" sh -c 'perf record -o peer.data "$@"; exec perf report --stdio -i peer.data >o 2>&1' - "$@"
	fi
	echo "$row |" >>"$dir/table"
}

# oracle PATTERN COMMAND...: strace of the same program has such a line
oracle() {
	local pattern=$1
	shift
	as timeout 60 strace -f -o "$dir/strace" "$@" >"$dir/said" 2>&1 <"${stdin:-/dev/null}" || true
	grep -qE "$pattern" "$dir/strace" || { echo "strace has no $pattern"; tail -n 30 "$dir/strace"; return 1; }
}

# counted CALL COMMAND...: how often strace saw the call
counted() {
	local call=$1
	shift
	as timeout 100 strace -f -c -o "$dir/strace" "$@" >/dev/null 2>&1 </dev/null || true
	awk -v c="$call" '$NF == c { print $4 }' "$dir/strace"
}

@test "tasks, why failed: ls of a name that is nothing" {
	cause 'statx\(.*path="/nonexist",.* = -1 ENOENT' --failed ls /nonexist
	oracle 'statx\(.*"/nonexist".* = -1 ENOENT' ls /nonexist
	# and among all that it does, with nothing asked for
	cause 'statx\(.*path="/nonexist",.* = -1 ENOENT' ls /nonexist
	peers failed '`ls /nonexist`' 'statx?\(.*(/nonexist.*-1|= (-1|4294967295|0xf*))' ls /nonexist
}

@test "tasks, why failed: ssh-keygen says 'error in libcrypto'" {
	cause 'PEM_read_bio_PrivateKey\(.* = 0x0' --failed ssh-keygen -y -f bad.pem
	# the program says who told it so; the files were all there to be read
	grep -q 'error in libcrypto\|invalid format' error
	oracle 'openat\(.*"bad.pem", O_RDONLY.* = [0-9]' ssh-keygen -y -f bad.pem
	peers failed '`ssh-keygen -y -f bad.pem`' 'PEM_read_bio_PrivateKey\(.*= (0|NULL)' ssh-keygen -y -f bad.pem
}

@test "tasks, why failed: curl of a file, and of a port where nobody listens" {
	cause 'curl_easy_perform\(.* = CURLE_FILE_COULDNT_READ_FILE' --failed curl -s "file://$dir/none"
	oracle 'open.*/none".* = -1 ENOENT' curl -s "file://$dir/none"
	cause 'curl_easy_perform\(.* = CURLE_COULDNT_CONNECT' --failed curl -s http://127.0.0.1:9/
	oracle 'sin_port=htons\(9\).* = -1 EINPROGRESS' curl -s http://127.0.0.1:9/
	peers failed '`curl -s http://127.0.0.1:9/`' 'ECONNREFUSED|curl_easy_perform\(.*= 7' curl -s http://127.0.0.1:9/
}

@test "tasks, why failed: sqlite3 of a database that another process has locked" {
	mkfifo lock
	# until its fifo is closed
	(exec sqlite3 l.db <lock >locked 2>&1) 3>&- &
	exec {lock}>lock
	# it says itself that it has the lock: to try would be a lock, too
	echo "BEGIN EXCLUSIVE; SELECT 'locked';" >&"$lock"
	for _ in {1..200}; do
		! grep -q locked locked 2>/dev/null || break
		sleep 0.05
	done
	grep -q '^locked$' locked
	words=(sqlite3 l.db 'INSERT INTO t VALUES (1)')
	cause 'sqlite3_(prepare_v2|step)\(.* = SQLITE_BUSY' --failed "${words[@]}"
	grep -q 'database is locked' error
	oracle 'fcntl.*F_SETLK, .* = -1 EAGAIN' "${words[@]}"
	peers failed '`sqlite3` of a locked database' 'F_SETLK.*EAGAIN|sqlite3_(prepare_v2|step)\(.*= 5' "${words[@]}"
	exec {lock}>&-
	wait
	rm lock
}

@test "tasks, why failed: git in a repository that it may not read" {
	chmod 0 repo/.git/objects/??
	words=(git -c safe.directory="*" -C repo show)
	cause 'open(at)?(64)?\(.*"\.git/objects/[0-9a-f]{2}/.* = -1 EACCES' --failed "${words[@]}"
	oracle 'open.*"\.git/objects/[0-9a-f]{2}/.* = -1 EACCES' "${words[@]}"
	peers failed '`git show`, unreadable objects' 'open.*\.git/objects/[0-9a-f]{2}/.*-1' "${words[@]}"
	chmod 700 repo/.git/objects/??
}

@test "tasks, why failed: a script writes to a device that is full" {
	cause 'write\(fd=1,.* = -1 ENOSPC' --failed -f ./script
	# strace tells of what is interrupted by another process in two lines
	oracle '(write\(1,|write resumed>).* = -1 ENOSPC' ./script
	peers failed '`gzip >/dev/full` in a script' 'write\(1,.* = -1' ./script
}

@test "tasks, why failed: python3 loads a library that is missing" {
	words=(python3 -c 'import ctypes; ctypes.CDLL("libmissing.so.9")')
	cause 'dlopen\(filename="libmissing.so.9",.* = 0x0' --failed "${words[@]}"
	oracle 'openat\(.*/libmissing.so.9", .* = -1 ENOENT' "${words[@]}"
	peers failed '`python3`: a library is missing' 'libmissing\.so\.9.*(ENOENT|= (0|NULL))' "${words[@]}"
}

@test "tasks, why failed: tar of an archive that is not there, from a script" {
	printf '#!/bin/sh\ntar xf none.tar 2>/dev/null || echo failed\n' >script2
	chmod 755 script2
	cause 'open(at)?(64)?\(.*path="none.tar".* = -1 ENOENT' --failed -f ./script2
	oracle 'open.*"none.tar".* = -1 ENOENT' ./script2
}

# hold: a process that has locked the file `held' until release
hold() {
	rm -f gate
	mkfifo -m 666 gate
	as sh -c 'exec 9>held; flock 9; read x <gate' 3>&- &
	until [ -e held ] && ! flock -n held true; do sleep 0.05; done
}

release() {
	echo >gate
}

@test "tasks, why slow: it waits for a lock that another process holds" {
	hold
	# for a second from when the program waits on
	(
		until grep -qE -- "-> .*:$(stat -c %i held) " /proc/locks; do sleep 0.05; done
		sleep 1
		release
	) 3>&- &
	slowest flock -o w.db flock held true
	wait
	# and for whom: flock(1), which took the lock, has ended and left it to the shell
	as "$dt" report --waits w.db >waits
	grep -E 'the lock of .*/held, held by [0-9]+ \(sh\) +flock$' waits || { cat waits; false; }
	# it was waiting, not computing: columns wait and cpu
	[ "$(column 4 flock | cut -d. -f1)" -gt 900000 ]
	[ "$(column 3 flock | cut -d. -f1)" -lt 100000 ]
	[ -n "${TASKS_PEERS-}" ] || return 0
	hold
	peers slow '`flock`: another process has the lock' 'flock(64)?$|flock ' flock -w 1 held true
	release
	wait
}

@test "tasks, why slow: it sleeps" {
	slowest 'clock_nanosleep' sleep 0.7
	[ "$(column 4 clock_nanosleep | cut -d. -f1)" -gt 690000 ]
	oracle 'clock_nanosleep\(.*tv_nsec=700000000' sleep 0.7
	peers slow '`sleep 0.7`' 'nanosleep' sleep 0.7
}

@test "tasks, why slow: it compresses" {
	words=(xz -9e -k -f few)
	slowest lzma_code "${words[@]}"
	# on the processor, however long it has waited for one on a busy machine
	[ "$(column 3 lzma_code | cut -d. -f1)" -gt 50000 ]
	peers slow '`xz -9e`' 'lzma_code|liblzma' "${words[@]}"
	command -v perf >/dev/null || return 0
	as perf record -o perf.data "${words[@]}" >/dev/null 2>&1 || return 0
	as perf report --stdio --sort dso -i perf.data 2>/dev/null | grep -v '^#' | grep -m 1 . | grep -q liblzma
}

@test "tasks, why slow: it reads byte by byte" {
	words=(dd if=few of=/dev/null bs=1)
	slowest '(read|write)' "${words[@]}"
	cause "^ .* 20000[0-9] .*  read$" -c "${words[@]}"
	[[ "$(counted read "${words[@]}")" =~ ^20000[0-9]$ ]]
	peers slow '`dd bs=1`' ' read$' "${words[@]}"
}

@test "tasks, why slow: sqlite3 waits for the disk at each of its inserts" {
	cp s.db s1.db
	cp s.db s2.db
	[ "$(id -u)" != 0 ] || chown dttasks s[12].db
	cause "^ .*  fdatasync( |$)" -c sqlite3 s1.db ".read insert.sql"
	n=$(counted fdatasync sqlite3 s2.db ".read insert.sql")
	[ "$n" -gt 200 ]
	grep -qE " $n .*  fdatasync" screen
	sqlite3 s1.db 'DELETE FROM t'
	[ "$(id -u)" != 0 ] || chown dttasks s[12].db
	peers slow '`sqlite3`, an insert at a time' 'fdatasync|fsync' sqlite3 s1.db ".read insert.sql"
}

@test "tasks, why slow: it compares" {
	words=(sort --parallel=1 -o /dev/null lines)
	cause '^ .*  (strcoll|memcmp|__memcmp.*|strcmp)( |$)' -c "${words[@]}"
	[ "$(grep -nE -m 1 '  (strcoll|memcmp|__memcmp.*|strcmp)( |$)' screen | cut -d: -f1)" = 2 ]
	peers slow '`sort`' 'strcoll|memcmp|strcmp' "${words[@]}"
}

@test "tasks, why slow: a program that writes to a pipe is read slowly" {
	mkfifo fifo
	chmod 666 fifo
	{ sleep 0.5; cat >/dev/null; } <fifo 3>&- &
	slowest '(write|open)' dd if=noise of=fifo bs=64k
	wait
	rm fifo
}

@test "tasks, why slow: a query of sqlite3" {
	slowest sqlite3_step sqlite3 :memory: \
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select sum(i * i) from n"
}
