# SPDX-License-Identifier: MIT
# devtrace mount: the sessions as files, driven by echo, cat, dd and tail.
load session

teardown() {
	[ -z "${fuse_mode-}" ] || chmod "$fuse_mode" /dev/fuse
	end_session
	check_traces
}

mount_here() {
	"$dt" mount "$dir/m" 3>&-
}

is_mounted() {
	grep -q " $dir/m fuse" /proc/self/mounts
}

not() {
	! "$@"
}

@test "check-076-files-only: a session by echo and cat alone; it comes and goes" {
	mount_here
	[ "$(ls "$dir/m")" = log ]
	start_obey
	begin t "$pid"
	[ "$(ls "$dir/m/t" | xargs)" = "ctl trace trace.wait" ]
	[ "$(stat -c %a "$dir/m/t/ctl") $(stat -c %a "$dir/m/t/trace")" = "600 400" ]
	cd "$dir/m/t"
	diff <(cat ctl) <("$dt" ctl)
	echo 'trace add new sums' >ctl
	printf 'trace sums on\nstart' >ctl
	act add 3
	echo stop >ctl
	act add 2
	[ "$(cat trace | cut -c1 | tr -d '\n')" = EXEXEX ]
	[ -z "$(cat trace)" ]
	echo quit >ctl
	cd "$dir"
	until_true not test -e "$dir/m/t"
	[ "$(ls "$dir/m")" = log ]
}

@test "mount: a command that fails is a failed write, and changes nothing" {
	start_obey
	begin t "$pid"
	mount_here
	before=$(state)
	began=$(date +%s)
	run bash -c "echo 'trace nothing on' >'$dir/m/t/ctl'"
	[ "$status" = 1 ]
	[[ $output == *"Invalid argument"* ]]
	[ "$(tail -1 "$dir/m/t/ctl")" = "#error devtrace: trace not found: 'nothing'; reading ctl shows those there are" ]
	grep -q "t: process [0-9]*: devtrace: trace not found: 'nothing'" "$dir/m/log"
	# when it was
	said=$(date -d "$(cut -c 1-19 "$dir/m/log")" +%s)
	[ "$said" -ge "$began" ] && [ "$said" -le "$(date +%s)" ] || { cat "$dir/m/log"; false; }
	[ "$(state)" = "$before" ]
	echo start >"$dir/m/t/ctl"
	not grep -q '^#error' "$dir/m/t/ctl"
}

@test "check-031-query: whoever asks gets the answer" {
	start_obey
	begin t "$pid"
	mount_here
	exec {f}<>"$dir/m/t/ctl"
	echo 'query add' >&"$f"
	[ "$(cat <&"$f")" = "Probing is disabled" ]
	printf 'trace add new a\ntrace a on\nquery add' >&"$f"
	[ "$(cat <&"$f")" = "Probing is enabled" ]
	# with nothing asked, the state
	[ "$(head -1 <&"$f")" = "logsize 8192" ]
	exec {f}>&-
}

@test "mount: a write of megabytes is not cut in a line; ctl is read whole" {
	start_obey
	begin t "$pid"
	mount_here
	seq -f "trace zz_no_such_* new name-of-some-length-%.0f" 60000 >many
	[ "$(stat -c %s many)" -gt $((2 << 20)) ]
	dd if=many of="$dir/m/t/ctl" bs=16M count=1 2>/dev/null
	cmp <(grep '^trace' "$dir/m/t/ctl") many
	# the last line of the kernel's largest piece, without a newline
	head -c $((1 << 20)) /dev/zero | tr '\0' '#' >comment
	dd if=comment of="$dir/m/t/ctl" bs=16M count=1 2>/dev/null
	not grep -q '^#error' "$dir/m/t/ctl"
}

@test "check-070-whole-records: by any size, until there is none" {
	start_obey
	begin t "$pid"
	mount_here
	ctl trace add new a
	ctl trace a on
	ctl start
	act add 10
	read_by() { dd if="$dir/m/t/trace" bs="$1" count=1 2>/dev/null | wc -c; }
	[ "$(read_by 120)" = 0 ]
	[ "$(read_by 121)" = 121 ]
	[ "$(read_by 1000)" = 968 ]
	[ "$(read_by 241)" = 121 ]
	[ "$(cat "$dir/m/t/trace" | wc -c)" = $((10 * 121)) ]
	[ "$(read_by 1000)" = 0 ]
	[ "$(count 'tracehits')" = 20 ]
}

@test "check-071-blocking: trace.wait waits for a record, and ends with the session" {
	start_obey
	begin t "$pid"
	mount_here
	ctl trace add new a
	ctl trace a on
	ctl start
	dd if="$dir/m/t/trace.wait" bs=121 count=1 of=one 2>/dev/null 3>&- &
	reader=$!
	until_true grep -q '^State:.S' "/proc/$reader/status"
	[ ! -s one ]
	act add 1
	wait "$reader"
	[ "$(cut -c1 one)" = E ]
	has_lines() { [ "$(wc -l <"$1")" = "$2" ]; }
	cat "$dir/m/t/trace.wait" >all 3>&- &
	reader=$!
	act add 4 # and the exit of the one before
	until_true has_lines all 9
	act add 1
	until_true has_lines all 11
	ctl quit
	wait "$reader"
	[ "$(wc -l <all)" = 11 ]
}

@test "mount: a hundred readers that wait keep nobody from the session" {
	start_obey
	begin t "$pid"
	mount_here
	mkdir out
	readers=()
	for i in $(seq 100); do
		dd if="$dir/m/t/trace.wait" bs=121 count=1 of="out/$i" 2>/dev/null 3>&- &
		readers+=($!)
	done
	grep -q logsize "$dir/m/t/ctl"
	printf 'trace add new a ENTRY\ntrace a on\nstart\n' >"$dir/m/t/ctl"
	act add 100
	wait "${readers[@]}"
	[ "$(cat out/* | cut -c54-69 | sort -u | wc -l)" = 100 ]
}

@test "mount: tail -f" {
	start_obey
	begin t "$pid"
	mount_here
	ctl trace add new a
	ctl trace a on
	ctl start
	act add 8
	tail -f "$dir/m/t/trace" >all 3>&- &
	reader=$!
	has_lines() { [ "$(wc -l <"$1")" = "$2" ]; }
	until_true has_lines all 10 # of 16, as tail does
	act add 1000
	until_true has_lines all 2010
	act add 1
	until_true has_lines all 2012
	kill "$reader"
}

@test "mount: readers that wait are let go by a signal, a kill of the session, of the mount" {
	start_obey
	begin t "$pid"
	mount_here
	server=$(pgrep -o -f "attach -d -s t $pid")
	bash -c "exec cat '$dir/m/t/trace.wait'" 3>&- &
	reader=$!
	until_true grep -q cat "/proc/$reader/comm"
	kill -TERM "$reader"
	status=0
	wait "$reader" || status=$?
	[ "$status" = 143 ]
	cat "$dir/m/t/trace.wait" 3>&- &
	reader=$!
	kill -9 "$server"
	wait "$reader" || true
	until_true not test -e "$dir/m/t"
	[ "$(ls "$dir/m")" = log ]
	start_obey
	begin u "$pid"
	cat "$dir/m/u/trace.wait" 2>/dev/null 3>&- &
	reader=$!
	kill -9 "$(pgrep -o -f "devtrace mount $dir/m")"
	wait "$reader" || true
	until_true not is_mounted
	[ -z "$(ls "$dir/m")" ]
	# and again
	mount_here
	grep -q logsize "$dir/m/u/ctl"
	# somebody is in it, has a file open, and holds /dev/fuse longer than the server lives
	bash -c "cd '$dir/m/u'; exec sleep 100" 3>&- &
	inside=$!
	until_true grep -q sleep "/proc/$inside/comm"
	exec 7<"$dir/m/u/ctl"
	server=$(pgrep -o -f "devtrace mount $dir/m")
	fd=$(basename "$(find "/proc/$server/fd" -lname /dev/fuse | head -1)")
	python3 - "$server" "$fd" <<-'P' 3>&- 7<&- &
		import ctypes, os, sys, time
		pidfd_getfd = 438
		if ctypes.CDLL(None).syscall(pidfd_getfd, os.pidfd_open(int(sys.argv[1])), int(sys.argv[2]), 0) < 0:
		    sys.exit("pidfd_getfd")
		open("held", "w")
		time.sleep(1.5)
	P
	holder=$!
	until_true test -e held
	kill -9 "$server"
	wait "$holder"
	until_true not is_mounted
	[ -z "$(ls "$dir/m")" ]
	exec 7<&-
	kill "$inside"
	mount_here
	grep -q logsize "$dir/m/u/ctl"
}

@test "mount: unmounting leaves nothing" {
	rm -rf "$dir/m"
	mount_here
	server=$(pgrep -o -f "devtrace mount $dir/m")
	linked() { [ "$(readlink "$XDG_RUNTIME_DIR/devtrace/mount")" = "$dir/m" ]; }
	until_true linked
	fusermount3 -u "$dir/m"
	ended() { ! grep -qs "^State:.[^Z]" "/proc/$server/status"; }
	until_true ended
	[ ! -e "$dir/m" ]
	[ ! -L "$XDG_RUNTIME_DIR/devtrace/mount" ]
	for signal in INT TERM; do
		mkdir "$dir/m"
		env --default-signal=INT "$dt" mount -f "$dir/m" 3>&- &
		server=$!
		until_true is_mounted
		# not while it is served by nobody yet
		until_true test -e "$dir/m/log"
		kill -$signal "$server"
		wait "$server"
		not is_mounted
		rmdir "$dir/m" # ours, so it stays, empty
		[ ! -L "$XDG_RUNTIME_DIR/devtrace/mount" ]
	done
	# the helper that unmounts when the server is gone goes by itself
	no_helper() { ! pgrep -f "fusermount3.*$dir/m"; }
	until_true no_helper
}

@test "check-025-self-watch: a program that tells its own session" {
	start_obey
	gcc -O1 -g -B"$root/build/lib" -o "$dir/self-watch" "$root/examples/self-watch.c"
	mount_here
	"$dt" record -s self -o self.db "$dir/self-watch" >out
	[ "$(cat out)" = 55 ]
	"$dt" cat -l self.db >lines
	# five calls, of this thread, with these arguments
	[ "$(sed -n 's/^kind=E.*function=act v0=//p' lines | xargs)" = "0x1 0x2 0x3 0x4 0x5" ]
	[ "$(grep -c '^kind=X.*function=act' lines)" = 5 ]
	[ "$(sed 's/.*tid=\([0-9]*\).*/\1/' lines | sort -u | wc -l)" = 1 ]
	fusermount3 -u "$dir/m"
	run "$dir/self-watch"
	[ "$status" = 1 ] && one_line DEVTRACE_CTL
}

@test "mount: a program finds its session at once, also when another mount has just gone" {
	gcc -O1 -g -B"$root/build/lib" -o found -x c - <<<'#include <stdlib.h>
	int main(void) { return getenv("DEVTRACE_CTL") ? 7 : 1; }'
	for i in $(seq 15); do
		mount_here
		run "$dt" record -o found.db ./found
		[ "$status" = 7 ] || { echo "$i: $output"; false; }
		fusermount3 -u -z "$dir/m"
	done
}

@test "mount: a traced program that has itself detached, or is killed while it writes" {
	cat >die.c <<-'C'
		#include <errno.h>
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char text[64];
			int fd = open(getenv("DEVTRACE_CTL"), O_WRONLY);
			snprintf(text, sizeof(text), argc > 2 ? "%s %d" : "%s", argv[1], getpid());
			if (write(fd, text, strlen(text)) < 0 && errno != EINTR)
				return 1;
			return 7;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o die die.c
	mount_here
	run timeout 120 "$dt" record -o die.db ./die detach pid
	[ "$status" = 7 ]
	run timeout 120 "$dt" record -o die.db ./die quit
	[ "$status" = 7 ]
	# the session is held: the writer is let go all the same
	start_obey
	begin t "$pid"
	server=$(pgrep -o -f "attach -d -s t $pid")
	kill -STOP "$server"
	until_true stopped "$server"
	bash -c "echo start >'$dir/m/t/ctl'" 3>&- 2>/dev/null &
	writer=$!
	until_true grep -q '^State:.[SD]' "/proc/$writer/status"
	kill -9 "$writer"
	wait "$writer" || true
	kill -CONT "$server"
	grep -q logsize "$dir/m/t/ctl"
}

@test "check-078-permissions: an ordinary user mounts; nobody else sees it" {
	[ "$(id -u)" = 0 ] || skip "needs root to be someone else"
	id dtuser 2>/dev/null || useradd -m dtuser
	fuse_mode=$(stat -c %a /dev/fuse)
	cat >"$dir/user.sh" <<-'S'
		dt=$1 dir=$2 m=/tmp/dtuser-mount.$$
		cd /
		unset XDG_RUNTIME_DIR
		sleep 60 | "$dir/obey" >/dev/null &
		pid=$!
		"$dt" attach -d -s mine "$pid"
		"$dt" mount "$m" || exit
		echo 'trace add new a' >"$m/mine/ctl"
		grep '^trace' "$m/mine/ctl" | cut -d' ' -f4-
		touch "$dir/ready/$$"
		while [ -e "$dir/ready/$$" ]; do sleep 0.05; done
		fusermount3 -u "$m"
		"$dt" ctl -s mine quit
		kill $pid
	S
	mkdir -m 777 "$dir/ready"
	chmod 600 /dev/fuse
	run su dtuser -c "'$dt' mount /tmp/dtuser-none"
	[ "$status" = 1 ]
	one_line /dev/fuse "chmod 666"
	[ ! -e /tmp/dtuser-none ]
	chmod 666 /dev/fuse
	su dtuser -c "bash '$dir/user.sh' '$dt' '$dir'" >out 2>&1 3>&- &
	script=$!
	is_ready() { [ -n "$(ls "$dir/ready")" ]; }
	until_true is_ready
	user=$(ls "$dir/ready")
	run cat "/tmp/dtuser-mount.$user/mine/ctl"
	[ "$status" != 0 ]
	run setpriv --reuid nobody --clear-groups ls "/tmp/dtuser-mount.$user"
	[ "$status" != 0 ]
	rm "$dir/ready/$user"
	wait "$script"
	grep -q 'new a' out
	[ ! -e "/tmp/dtuser-mount.$user" ]
}

@test "mount: wrong usage, and places that are none" {
	run "$dt" mount
	[ "$status" = 2 ]
	run "$dt" mount a b
	[ "$status" = 2 ]
	touch file
	run "$dt" mount file
	[ "$status" = 1 ]
	one_line "not a directory"
	run "$dt" mount no/such/place
	[ "$status" = 1 ]
	one_line no/such/place
	# what is there could not be reached any more, the sessions' own folder among it: such a mount waited
	# for itself, and so did whoever looked into it
	mkdir full home home/run
	touch full/file
	run timeout 20 "$dt" mount full
	[ "$status" = 1 ]
	one_line "is not empty"
	run timeout 20 env XDG_RUNTIME_DIR="$PWD/home/run" "$dt" mount home
	[ "$status" = 1 ]
	one_line "is not empty"
	run timeout 20 env XDG_RUNTIME_DIR="$PWD/home/run" "$dt" mount home/run
	[ "$status" = 1 ]
	one_line "sessions are kept there"
	not grep -q "$PWD" /proc/mounts
	mount_here
	run "$dt" mount "$dir/m"
	[ "$status" = 1 ]
	one_line "already"
	run "$dt" mount --help
	[ "$status" = 0 ]
}
