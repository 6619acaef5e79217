# SPDX-License-Identifier: MIT
# What happens to sessions when those that they trace are killed.
load session

# A race: seen once in a hundred runs of the tests before, so this does not always fail without the fix.
@test "session: ends although processes with threads are killed while they are detached" {
	ended() { ! grep -qs '^State:.[^Z]' "/proc/$server/status"; }
	for i in 1 2 3 4 5 6; do
		pids=()
		for _ in 1 2 3 4; do
			start_obey
			act hold 0
			pids+=("$pid")
		done
		begin "s$i" "${pids[@]}"
		"$dt" ctl -s "s$i" - <<<$'trace * new all\ntrace all on\nstart'
		server=$(pgrep -f "attach -d -s s$i ${pids[0]}")
		# they are detached one after the other: somewhere in it
		"$dt" ctl -s "s$i" quit
		for pid in "${pids[@]}"; do
			kill -9 "$pid"
		done
		until_true ended
	done
}

@test "session: what a killed one has left goes away, a fresh one stays" {
	start_obey
	begin t "$pid"
	kill -9 "$(pgrep -f "attach -d -s t $pid")"
	while pgrep -f "attach -d -s t $pid" >/dev/null; do :; done
	socket=$XDG_RUNTIME_DIR/devtrace/t.sock
	"$dt" list || true
	[ -S "$socket" ] # it could be about to begin
	touch -d '1 minute ago' "$socket"
	run "$dt" list
	[ ! -e "$socket" ]
}

@test "check-068-idle: a session that waits takes next to no time, and shows the next record at once" {
	start_obey
	begin t "$pid"
	ctl - <<<$'trace sync new s\ntrace s on\nstart'
	server=$(pgrep -f "attach -d -s t $pid")
	used() { cat /proc/"$server"/task/*/schedstat | awk '{n += $1} END {print int(n / 1000)}'; }
	"$dt" cat -f -s t >out 3>&- &
	follower=$!
	late=0
	for i in 1 2 3 4 5; do
		# until it has found nothing for a while; from then on it is told
		sleep 0.7
		had=$(stat -c %s out)
		begun=${EPOCHREALTIME/./}
		act sync 1
		while [ "$(stat -c %s out)" = "$had" ]; do :; done
		# by itself it looks once a second
		[ $((${EPOCHREALTIME/./} - begun)) -lt 200000 ] || late=$((late + 1))
	done
	# the machine may be busy with something else, once
	[ "$late" -le 1 ] || { echo "$late of 5 came late"; false; }
	sleep 0.7
	before=$(used)
	sleep 3
	us=$(($(used) - before))
	echo "$us us in 3 s"
	most=9000
	case ${DEVTRACE_BUILD-} in */san) most=27000 ;; esac # sanitizers look at each access
	[ "$us" -lt $most ]
	kill "$follower"
}

@test "session: records that go to a file are counted too" {
	start_obey
	"$dt" attach -d -s t -o t.db -F sync -F outer "$pid" >/dev/null 3>&-
	sessions+=(t)
	act sync 100
	act outer 10
	[ "$(count tracehits) $(count traceinhits) $(count traceouthits) $(count newplfail)" = "220 110 110 0" ]
	ctl reset
	act sync 7
	[ "$(count tracehits) $(count traceinhits) $(count traceouthits)" = "14 7 7" ]
	ctl quit
	until_true test ! -e "$XDG_RUNTIME_DIR/devtrace/t.sock"
	[ "$("$dt" cat t.db | wc -l)" = 234 ]
}

@test "session: the first event that is looked at comes after a long wait" {
	start_obey
	begin t "$pid"
	ctl - <<<$'trace sync CONST 7\nstart'
	# until the recorder has found nothing for a while, and asked to be told
	sleep 0.7
	act sync 1
	arrived() { [ "$("$dt" shell -s t -c print | grep -c 'const=7')" = 1 ]; }
	until_true arrived
}

@test "session: a freeze that is far off, and nobody who reads: the program goes on" {
	start_obey
	begin t "$pid"
	ctl - <<<$'trace sync LATEFREEZE 10000000\nstart'
	server=$(pgrep -f "attach -d -s t $pid")
	kill -STOP "$server"
	act sync 1000000
	kill -CONT "$server"
	lost() { ctl | grep -q '^#newplfail [1-9]'; }
	until_true lost
}

@test "session: one that is told to quit is gone, and its program goes on" {
	start_obey
	for i in $(seq 10); do
		begin t "$pid"
		ctl quit
	done
	# the program's own status, whatever became of the session
	mkfifo go
	"$dt" record -s r -F main -o r.db "$dir/obey" <go >out 3>&- &
	local record=$!
	exec {go}>go
	until_true grep -q ready out
	"$dt" ctl -s r quit
	[ "$("$dt" ctl -s r 2>&1)" = "devtrace: there is no session 'r'; devtrace list shows those there are" ]
	kill -0 "$record"
	exec {go}>&-
	wait "$record"
	"$dt" calls r.db | grep -q main
}

# answers ANSWER to the first request of each who connects to the socket f.sock, and closes it
false_session() {
	python3 - "$1" 3>&- <<-'PY' &
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.bind("f.new")
		s.listen()
		os.rename("f.new", "f.sock")
		while True:
		    c = s.accept()[0]
		    c.recv(100)
		    c.sendall(sys.argv[1].encode().decode("unicode_escape").encode())
		    # nothing that comes is left unread, or the client would be told of that only
		    c.shutdown(socket.SHUT_WR)
		    while c.recv(100):
		        pass
		    c.close()
	PY
	false_pid=$!
	until_true test -S f.sock
}

@test "session: one that answers nothing, or what no session answers" {
	while IFS='|' read -r answer command want; do
		rm -f f.sock
		false_session "$answer"
		said=$("$dt" ctl -s ./f.sock $command 2>&1) || :
		[ "$said" = "${want:+devtrace: $want}" ] || { echo "$answer $command: $said"; return 1; }
		kill "$false_pid"
	done <<-'END'
		|quit|
		|status|the session has ended
		ok 3|quit|
		ok 3|status|the session has ended
		ok 3 0 0\n12|quit|
		ok 3 0 0\n12|status|the session has ended
		ok 0 0 0\n|quit|
		ok 0 0 0\n|status|
		yes\n|status|this is no session of devtrace's
		ok 99999999999999999999 0 0\n|status|this is no session of devtrace's: an answer of 18446744073709551615 bytes
		ok 18446744073709551615 0 0\n|status|this is no session of devtrace's: an answer of 18446744073709551615 bytes
		ok 1073741825 0 0\n|status|this is no session of devtrace's: an answer of 1073741825 bytes
	END
}

@test "session: entries and exits that the rings had no room for are counted, until reset" {
	start_obey
	begin t -b 64K "$pid"
	ctl - <<<$'trace add new a\ntrace a on\nstart'
	act add 10
	counted() { [ "$(count traceinhits) $(count traceouthits)" = "$1" ]; }
	until_true counted "10 10"
	# nobody takes them out of the rings meanwhile
	server=$(pgrep -f "attach -d -s t -b 64K $pid")
	kill -STOP "$server"
	act add 100000 2
	kill -CONT "$server"
	until_true counted "200010 200010"
	[ "$(count newplfail)" -gt 0 ]
	ctl reset
	[ "$(count traceinhits) $(count traceouthits) $(count newplfail)" = "0  0" ] # no line of exits when there were none
	act add 7
	until_true counted "7 7"
}

@test "session: each thread of it may run where it could before" {
	[ "$(nproc)" -gt 1 ] || skip "on one core they all do"
	start_obey
	begin t "$pid"
	local server here=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)
	server=$(pgrep -f "attach -d -s t $pid")
	[ "$(awk '/^Cpus_allowed_list/ { print $2 }' "/proc/$server"/task/*/status | sort -u)" = "$here" ]
	# and a program that it starts
	[ "$("$dt" record -o "$dir/t.db" grep Cpus_allowed_list /proc/self/status | cut -f 2)" = "$here" ]
}

@test "session: what is followed comes in the order of time, across the cores" {
	start_obey
	begin t "$pid"
	ctl - <<<$'policy wait\ntrace sync new s\ntrace s on\nstart'
	"$dt" cat -f -s t >out 3>&- &
	follower=$!
	arrived() { [ "$(wc -l <out)" = "$1" ]; }
	for i in $(seq 10); do
		act sync 40000 2
		until_true arrived $((i * 160000))
	done
	kill "$follower"
	python3 - <<-'PY'
		last, late = 0, []
		for i, line in enumerate(open("out")):
		    ticks = int(line.split()[2], 16)
		    if ticks < last:
		        late.append((i, last - ticks))
		    last = max(last, ticks)
		assert not late, (len(late), late[:5])
	PY
}

@test "check-089: several requests at once, answered in order, each with its length" {
	start_obey
	begin t "$pid"
	ctl - <<<$'trace sync new s\ntrace s on\nstart'
	act sync 3
	python3 - "$XDG_RUNTIME_DIR/devtrace/t.sock" <<-'PY'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		f = s.makefile("rb")
		# all of them before the first answer
		s.sendall(b"read\nposition\nwrite 11\nquery ffff\nnonsense\ntake 2 0 0 keep\ntake 16384 0 0 consume\nposition\n")
		def answer():
		    word, n, a, b = f.readline().split()
		    return word, f.read(int(n)), int(a), int(b)
		word, text, _, _ = answer()
		assert word == b"ok" and b"trace s on" in text and text.endswith(b"start\n"), text
		assert answer() == (b"ok", b"", 0, 6)
		word, text, _, _ = answer()
		assert word == b"ok" and b"Probing is" in text, (word, text)
		assert answer()[0] == b"error"
		word, two, first, lost = answer()
		assert (word, len(two), first, lost) == (b"ok", 128, 0, 0)
		word, all6, first, lost = answer()
		assert (word, len(all6), first, lost) == (b"ok", 6 * 64, 0, 0) and all6.startswith(two)
		assert answer() == (b"ok", b"", 6, 6)
		# half a request now and the rest later
		s.sendall(b"posi")
		s.sendall(b"tion\nposition")
		assert answer() == (b"ok", b"", 6, 6)
		s.sendall(b"\n")
		assert answer() == (b"ok", b"", 6, 6)
	PY
}

# bats test_tags=long
@test "session: one without a file ends after its process, when its log has been read, and not before" {
	for s in unread read; do
		start_obey
		begin $s "$pid"
		"$dt" ctl -s $s - <<<$'trace add new a ENTRY\ntrace a on\nstart'
		act add 3
		[ $s = unread ] || [ "$("$dt" cat -s $s | wc -l)" -ge 3 ]
		kill -9 "$pid"
	done
	gone() { ! "$dt" list | grep -qw read; }
	sleep 8
	"$dt" list | grep -w read
	for _ in $(seq 50); do
		if gone; then break; fi
		sleep 0.1
	done
	gone
	[ "$("$dt" cat -s unread | wc -l)" -ge 3 ]
}

# The trace was put at its path after the session's name had gone, so that who waited for that read the trace before
@test "session: while its name is there its file may change, afterwards not" {
	gcc -O1 -g -o waits -x c - <<<$'#include <unistd.h>\nvolatile int n;\n__attribute__((noipa)) void one(void) { n++; }\nint main(void) { char c; if (read(0, &c, 1) == 1) one(); return 0; }'
	coproc { exec ./waits 3>&-; }
	pid=$COPROC_PID
	exec {to}>&"${COPROC[1]}"
	"$dt" record -o t.db -F one ./waits </dev/null
	# its last write to the disk takes two seconds
	# leaks can not be looked for under strace
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -qq -o /dev/null -e trace=fsync,fdatasync -e inject=fsync,fdatasync:delay_enter=2s \
		"$dt" attach -d -s slow -o t.db -F one "$pid" 3>&- &
	strace=$!
	# the session answers before it has planted its hooks
	hooked() { "$dt" list | grep -q "^slow.*process $pid"; }
	until_true hooked
	echo >&"$to"
	exec {to}>&-
	# a session that ends may leave a request without an answer while it still has its name
	until "$dt" ctl -s slow 2>&1 | grep -q 'there is no session'; do :; done
	was=$(stat -c %i t.db)
	[ "$("$dt" sql -n t.db "SELECT count(*) FROM calls WHERE function = 'one'")" = 1 ]
	wait "$strace"
	[ "$(stat -c %i t.db)" = "$was" ]
	run "$dt" list
	[[ $output != *slow* ]]
}

# what looks at all sessions is not held up by one that does not answer
@test "session: one that is stopped is told of, and waited for no longer than some seconds" {
	start_obey
	begin t "$pid"
	server=$(pgrep -f "attach -d -s t $pid")
	kill -STOP "$server"
	begun=$SECONDS
	run "$dt" list
	kill -CONT "$server"
	echo "$output"
	[[ $output == *"session 't' does not answer: it is about to end, or stopped"* ]]
	[ $((SECONDS - begun)) -lt 20 ]
	"$dt" list | grep -w t
}
