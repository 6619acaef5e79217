#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# record --backtrace: the stacks of calls, also of functions that are not recorded. What is right: what gdb shows at a
# breakpoint of the same calls, by the addresses in the files.
load read-helper
bats_require_minimum_version 1.5.0

setup_file() {
	export dir dt=devtrace
	dir=$(mktemp -d)
	root=$BATS_TEST_DIRNAME/../..
	g++ -O2 -g -pthread -o "$dir/callers" "$root/test/programs/callers.cc"
	strip -o "$dir/stripped" "$dir/callers"
	cat >"$dir/bare.c" <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) int bare(const char *p) { return access(p, R_OK) + 1; }
		int main(void) { return bare("/nonexistent"); }
	C
	gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -o "$dir/bare" "$dir/bare.c"
}

teardown_file() {
	rm -rf "$dir"
}

# equal WORDS BREAKPOINT PROG...: as backtrace.py says it; sets $stacks, $equal, $deepest
equal() {
	run -0 python3 "$BATS_TEST_DIRNAME/backtrace.py" "$dt" "$@"
	echo "$*: $output"
	read -r stacks _ equal _ _ deepest <<<"${lines[0]}"
	[ "$stacks" = "$equal" ]
	[ "$(grep -c '^not in' <<<"$output")" = 0 ]
}

@test "stacks are those of gdb: threads, virtual functions, large and aligned frames, signals, contexts" {
	cd "$dir"
	for p in callers stripped; do
		equal open open "./$p"
		[ "$stacks" = 13 ]
		[ "$deepest" -ge 10 ]
		equal access access "./$p"
		[ "$stacks" = 16 ]
		# a handler's own stack, and a context, whose first function libc does not describe
		[ "$(grep -c ended: <<<"$output")" = 2 ]
	done
}

@test "stacks are those of gdb: programs of Debian's" {
	cd "$dir"
	git init -q "$dir/repository"
	equal stat64 stat64 git -C "$dir/repository" status
	[ "$deepest" -ge 6 ]
	equal lstat64 lstat64 git -C "$dir/repository" status
	OPTIONS='-F libc.so.6:getenv' equal getenv getenv perl -e '$ENV{X}'
	equal closedir closedir ls -aR "$dir/repository"
	[ "$stacks" -ge 5 ]
	equal textdomain textdomain xz --version
}

@test "only calls that the words mean have stacks, and calls -B shows them below" {
	cd "$dir"
	"$dt" record -l --backtrace -o f.db git -C / log >out 2>&1 || true
	failed=$("$dt" calls --failed f.db | grep -c ' us ')
	[ "$failed" -ge 2 ]
	[ "$(sqlite3 f.db 'SELECT count(*) FROM backtrace')" = "$failed" ]
	run -0 "$dt" calls --failed -B f.db
	[ "$(grep -c ' us ' <<<"$output")" = "$failed" ]
	[ "$(grep -c ' #1 ' <<<"$output")" = "$failed" ]
	[ "$(grep -c ' #[0-9]* *main+0x[0-9a-f]* (git)$' <<<"$output")" = "$failed" ]
	run -0 "$dt" calls -B f.db
	[ "$(grep -c ' #1 ' <<<"$output")" = "$failed" ]
	[ "$("$dt" calls --failed f.db | grep -c '#1')" = 0 ]
	run -0 "$dt" check f.db
	# conditions on texts, and on several functions
	"$dt" record -l --backtrace='access open path=/nonexistent/[12]*' -o f.db ./callers
	[ "$(sqlite3 f.db 'SELECT count(*) FROM backtrace')" = 0 ]
	"$dt" record -l --backtrace='access open error=ENOENT' -o f.db ./callers
	[ "$(sqlite3 f.db 'SELECT count(*) FROM backtrace')" = 29 ]
	"$dt" record -l --backtrace='open file=/nonexistent/0' -o f.db ./callers
	[ "$(sqlite3 f.db "SELECT count(*) FROM backtrace")" = "$("$dt" calls -f 'open file=/nonexistent/0' f.db | grep -c ' us ')" ]
}

@test "the time in which a stack is copied is in no call's" {
	cd "$dir"
	"$dt" record -l --backtrace=access -o t.db ./callers 300
	"$dt" record -l -o u.db ./callers 300
	for f in t u; do
		"$dt" sql $f.db "SELECT 'median ' || cast(duration AS INTEGER) FROM calls WHERE function = 'access' ORDER BY duration LIMIT 1 OFFSET 150" >$f
		cat $f
	done
	[ "$(sqlite3 t.db 'SELECT count(*) FROM backtrace')" = 300 ]
	run -0 "$dt" check t.db
	# a copy takes ten times as long as the call
	awk '/median/ { t[FILENAME] = $2 } END { exit !(t["t"] < 3 * t["u"] + 1000) }' t u
	# and it does not make a call fit that would not
	"$dt" record -l --backtrace='access time>1s' -o t.db ./callers 300
	[ "$(sqlite3 t.db 'SELECT count(*) FROM backtrace')" = 0 ]
}

@test "where a stack can not be followed further, it says why" {
	cd "$dir"
	"$dt" record -l --backtrace=open --backtrace-size=2K -o s.db ./callers
	run -0 "$dt" calls -f open -B s.db
	grep -q '^ *... the stack is deeper than the 2048 bytes that were kept: --backtrace-size$' <<<"$output"
	grep -q '#1 ' <<<"$output"
	"$dt" record -l --backtrace -o b.db ./bare || true
	run -0 "$dt" calls --failed -B b.db
	echo "$output"
	[[ $(tail -1 <<<"$output") =~ "... the unwind table of bare has nothing about this place" ]]
	objcopy --remove-section .eh_frame --remove-section .eh_frame_hdr bare barer
	"$dt" record -l --backtrace -o b.db ./barer || true
	run -0 "$dt" calls --failed -B b.db
	[[ $(tail -1 <<<"$output") =~ "... no unwind table in barer" ]]
}

@test "attached, and printed at once" {
	cd "$dir"
	run -1 "$dt" --failed -B cat /nonexistent
	grep -q 'open(.*"/nonexistent".* = -1 ENOENT' <<<"$output"
	grep -q ' #1  *main+0x[0-9a-f]* (cat)$' <<<"$output"
	# one that goes on until it is told to end
	perl -e '$| = 1; while (1) { -e "/nonexistent/perl"; select(undef, undef, undef, 0.01) }' 3>&- &
	pid=$!
	# on a busy machine attaching alone takes two seconds
	for seconds in 2 6 15; do
		timeout -s INT $seconds "$dt" attach -l --backtrace=failed -o a.db "$pid" || true
		n=$(sqlite3 a.db "SELECT count(*) FROM backtrace b JOIN function f ON f.id = b.function WHERE f.name LIKE '%stat%'")
		[ "$n" -lt 10 ] || break
	done
	kill "$pid"
	[ "$n" -ge 10 ]
	run -0 "$dt" calls --failed -B a.db
	grep -q 'Perl_runops_standard' <<<"$output"
}

@test "what can not be, one line each" {
	cd "$dir"
	one() {
		run "$@"
		echo "$output"
		[ "$status" != 0 ] && [ "${#lines[@]}" = 1 ]
	}
	one "$dt" record --backtrace='open result>>' -o e.db ls
	one "$dt" record --backtrace=' ' -o e.db ls
	one "$dt" record -B --backtrace-size=100 -o e.db ls
	one "$dt" record -B --backtrace-size=1M -o e.db ls
	one "$dt" record -B --backtrace-size=much -o e.db ls
	one "$dt" record --backtrace-size=8K -o e.db ls
	one "$dt" record -B -p overwrite -o e.db ls
	one "$dt" -c -B ls
	one "$dt" attach -d -B "$$"
	run -0 --separate-stderr "$dt" record -l --backtrace=nosuchfunction -o e.db ls
	[[ $stderr =~ "--backtrace: no function that was recorded is meant by 'nosuchfunction'" ]]
	run -0 --separate-stderr "$dt" record -l --backtrace='opendir result=0' -o e.db ls
	[[ $stderr =~ "no call was what --backtrace says: 'opendir result=0'" ]]
	run -2 "$dt" calls -B e.db
	[ "${#lines[@]}" = 1 ]
}

@test "traces with stacks that can not be" {
	cd "$dir"
	"$dt" record -l --backtrace -o h.db ls /nonexistent || true
	for change in "UPDATE backtrace SET stack = 99" "DELETE FROM stack" "DELETE FROM stack_frame" "UPDATE stack_frame SET function = 4000000000" \
		"UPDATE stack_frame SET file = zeroblob(100000), line = -1" "UPDATE stack SET ended = replace(hex(zeroblob(9000)), '0', '*/')" \
		"WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO stack_frame SELECT 1, i, i, 1, 'x', 1 FROM n" \
		"DROP TABLE stack_frame" "UPDATE backtrace SET tid = 'x', ticks = 'y'"; do
		cp h.db i.db
		sqlite3 i.db "$change"
		run "$dt" calls --failed -B i.db
		echo "$change: $status"
		[ "$status" -le 1 ]
		[ "${#lines[@]}" -le 600 ]
	done
}
