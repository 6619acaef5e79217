#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Two users of one machine: what one traces is not the other's to see, to change or to stop. Both are real ones.
load devtrace

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
	controller=$(pgrep -u dtuser -x devtrace | head -n 1)
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

@test "users: root's session of two users' programs says that they could read each other's records" {
	as dtuser ../work 3>&- &
	as dtuser2 ../work 3>&- &
	pids=()
	for u in dtuser dtuser2; do
		p=
		until [ -n "$p" ]; do p=$(pgrep -u "$u" -x work) || true; done
		pids+=("$p")
	done
	"$dt" attach -o both.db -F work:work "${pids[@]}" 2>err 3>&- &
	tracer=$!
	for i in $(seq 600); do
		[ "$(sqlite3 -readonly both.db 'SELECT count(DISTINCT pid) FROM thread' 2>/dev/null || echo 0)" = 2 ] && break
		sleep 0.05
	done
	kill -INT "$tracer"
	wait "$tracer" || true
	kill "${pids[@]}"
	cat err
	"$dt" check -q both.db
	grep -q "processes of several users ($(id -u dtuser).*$(id -u dtuser2)\|$(id -u dtuser2).*$(id -u dtuser))" err
	[ "$(sqlite3 both.db "SELECT count(*) FROM meta WHERE key = 'users'")" = 1 ]
}
