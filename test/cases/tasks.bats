#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ten tasks on programs as Debian has them: which call fails, and where does the time go? Each is to be answered by one
# command, on one screen of 25 lines. The answer is known from elsewhere: it is how the task was made.
load check-traces
bats_require_minimum_version 1.5.0

# beside what read-helper sets up
setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	dt=$build/devtrace
	cd "$BATS_TEST_TMPDIR" || return 1
}

setup_file() {
	export dir
	dir=$(mktemp -d)
	printf 'no key\n' >"$dir/bad.pem"
	chmod 600 "$dir/bad.pem"
	printf 'no database, but some text that is longer than a header of one is, which has a hundred bytes: %s\n' {1..20} >"$dir/no.db"
	seq -f '%.0f some words of a line' 60000 | sort -R --random-source=<(yes) >"$dir/lines"
	head -c 3000000 /dev/urandom >"$dir/noise"
}

teardown_file() {
	rm -rf "$dir"
}

# cause PATTERN WORD...: devtrace with these words prints a line that matches, among the first 25
cause() {
	local pattern=$1 at
	shift
	timeout 100 "$dt" "$@" >"$dir/screen" 2>"$dir/error" <"${stdin:-/dev/null}" || true
	at=$(grep -nE -m 1 "$pattern" "$dir/screen" | cut -d: -f1)
	[ -n "$at" ] || { echo "no line for $pattern:"; head -n 40 "$dir/screen" "$dir/error"; return 1; }
	echo "# line $at of $(wc -l <"$dir/screen"): devtrace $*"
	[ "$at" -le 25 ]
}

# first NAME WORD...: the first row of the table is of this function
first() {
	local name=$1
	shift
	cause "^ +[0-9.]+ [mun]?s .*  $name( |$)" "$@"
	# what the program prints comes before the table
	[ "$(grep -nE -m 1 "  $name( |$)" "$dir/screen" | cut -d: -f1)" = $(($(grep -n '^ *total ' "$dir/screen" | cut -d: -f1) + 1)) ]
}

@test "tasks, why failed: ls of a name that is nothing" {
	cause 'statx\(.*path="/nonexist",.* = -1 ENOENT' --failed ls /nonexist
}

@test "tasks, why failed: ssh-keygen says 'invalid format'" {
	cause 'PEM_read_bio_PrivateKey\(.* = 0x0' --failed ssh-keygen -y -f "$dir/bad.pem"
}

@test "tasks, why failed: curl of a file, and of a port where nobody listens" {
	cause 'curl_easy_perform\(.* = CURLE_FILE_COULDNT_READ_FILE' --failed curl -s "file://$dir/none"
	cause 'curl_easy_perform\(.* = CURLE_COULDNT_CONNECT' --failed curl -s http://127.0.0.1:9/
}

@test "tasks, why failed: tar of an archive that is not there, from a script" {
	printf '#!/bin/sh\ntar xf none.tar 2>/dev/null || echo failed\n' >"$dir/script"
	chmod 755 "$dir/script"
	cause 'open(at)?(64)?\(.*path="none.tar".* = -1 ENOENT' --failed -f "$dir/script"
}

@test "tasks, why failed: sqlite3 of a file that is no database" {
	cause 'sqlite3_prepare_v2\(.* = SQLITE_NOTADB' --failed sqlite3 "$dir/no.db" .tables
}

@test "tasks, why slow: it sleeps" {
	first '(clock_)?nanosleep' -c sleep 0.7
	# of that, 0.7 s were waiting
	awk 'NR == 2 { exit !($9 > 690 && $10 == "ms" && $9 < 2000) }' "$dir/screen"
}

@test "tasks, why slow: it compresses" {
	first lzma_code -c xz -9e -k -f "$dir/noise"
	# on the processor: column cpu, however long it has waited for one on a busy machine
	awk 'NR == 2 { exit !(($5 > 100 && $6 == "ms") || $6 == "s") }' "$dir/screen"
}

@test "tasks, why slow: it compares" {
	first '(strcoll|memcmp|__memcmp.*|strcmp)' -c sort --parallel=1 -o /dev/null "$dir/lines"
}

@test "tasks, why slow: a program that writes to a pipe is read slowly" {
	mkfifo "$dir/fifo"
	{ sleep 0.5; cat >/dev/null; } <"$dir/fifo" &
	reader=$!
	timeout 60 "$dt" -c -o "$dir/w.db" dd "if=$dir/noise" "of=$dir/fifo" bs=64k >"$dir/screen" || true
	kill $reader 2>/dev/null || true
	grep -nE -m 1 '  (write|open|open64|copy_file_range|splice)( |$)' "$dir/screen" | grep -E '^[2-9]:'
}

@test "tasks, why slow: a query of sqlite3" {
	first sqlite3_step -c sqlite3 :memory: \
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select sum(i * i) from n"
}
