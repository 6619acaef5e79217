#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace serve and fetch: traces for clients elsewhere, whatever these do, and whatever breaks.
root=${DEVTRACE_ROOT:-$PWD}
build=${DEVTRACE_BUILD:-$root/build}
load check-traces
load wait
equal='=================================================='

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/armed.c" <<-'C'
		/* "1 N", "2 N", "3 N": such an event with argument N; "w N": N calls. Answers each line. */
		#include <devtrace.h>
		#include <stdio.h>
		__attribute__((noipa)) int work(int n) { return n + 1; }
		int main(void)
		{
			char what;
			unsigned n;
			setbuf(stdout, NULL);
			puts("ready");
			while (scanf(" %c %u", &what, &n) == 2) {
				if (what == '1')
					DT_EVENT(7, 1, n);
				else if (what == '2')
					DT_EVENT(7, 2, n);
				else if (what == '3')
					DT_EVENT(7, 3, n);
				else
					for (unsigned i = 0; i < n; i++)
						work(i);
				puts("done");
			}
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -I"$root/include" -o "$dir/armed" "$dir/armed.c"
	# a scripted server: each connection gets the bytes of the next argument (\xNN), when it has asked
	# ("!": at once; "~": as it is, and stays open until it is asked again; "*FILE": the file, for
	# as long as somebody takes it), and is closed
	cat >"$dir/peer.py" <<-'PY'
		import socket, sys
		l = socket.socket()
		l.bind(("127.0.0.1", 0))
		l.listen(8)
		print("127.0.0.1:%d" % l.getsockname()[1], flush=True)
		for answer in sys.argv[1:]:
		    c = l.accept()[0]
		    if answer[:1] not in "!":
		        c.recv(100)
		    while answer[:1] == "*":
		        try:
		            c.sendall(open(answer[1:], "rb").read() * 100)
		        except OSError:
		            answer = ""
		    data = answer.lstrip("!~")
		    data = open(data[1:], "rb").read() if data[:1] == "@" else data.encode().decode("unicode_escape").encode("latin1")
		    c.sendall(data)
		    if answer[:1] == "~":
		        while c.recv(100):
		            pass
		    # what it asked for and was not read must not become a reset in front of the answer
		    try:
		        c.shutdown(socket.SHUT_WR)
		        while c.recv(100):
		            pass
		    except OSError:
		        pass
		    c.close()
	PY
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	PATH=$build:$root/build/test/tool:$PATH
	mkdir -m 700 "$BATS_TEST_TMPDIR/run" "$BATS_TEST_TMPDIR/tmp"
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run TMPDIR=$BATS_TEST_TMPDIR/tmp
	cd "$BATS_TEST_TMPDIR" || return 1
	started=() session=
}

teardown() {
	local p
	for p in "${started[@]}"; do kill "$p" 2>/dev/null || true; done
	[ -z "$session" ] || devtrace ctl -s "$session" quit 2>/dev/null || true
	[ -z "${armed-}" ] || kill "$armed" 2>/dev/null || true
	for p in "${started[@]}"; do
		until_gone "$p" || { kill -9 "$p"; return 1; }
		wait "$p" 2>/dev/null || true
	done
	check_traces || return 1
	# nothing is left behind, however it went
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ]
}

# begin COMMAND...: one that prints its address; sets address and server
begin() {
	exec {out}< <(exec "$@" 3>&-)
	server=$!
	started+=("$server")
	read -r -t 20 address <&"$out"
}
serve() { begin devtrace serve "$@"; }
peer() { begin python3 "$dir/peer.py" "$@"; }

stop_server() {
	kill "$server"
	until_gone "$server"
}

# what is sent on standard input, to the end of the answers
talk() {
	case $address in
	unix:*) timeout 60 nc -N -U "${address#unix:}" ;;
	*) timeout 60 nc -N "${address%:*}" "${address##*:}" ;;
	esac
}

# events of two cores
events() {
	writetrace "${1:-e.db}" <<-'TEXT'
	thread 5 worker
	thread 6 other
	at 0 5
	V x 0 120 0xa000000100000011
	M x 0 130 0x12345
	at 1 6
	N x 0 150 0xeb00000012345000
	E f 0x1000 160 1
	TEXT
}

# a dump with ID in it
dump() { printf '# Start 1 Duration 0 Stop 9\n# Core 0 LOG DUMP %s\n0 %d 7337000100000000\n' "$equal" "$1"; }

one_line() {
	[ "${#lines[@]}" = 1 ] || { echo "${#lines[@]} lines: $output"; return 1; }
	local word
	for word; do
		case $output in *"$word"*) ;; *) echo "no '$word' in: $output"; return 1 ;; esac
	done
}

# ---- the protocol

@test "check-084-serve: D24: trace is answered by 8 digits and the bytes of the export" {
	events
	for form in "" --relative --absolute; do
		serve $form e.db
		devtrace export --barrelfish $form e.db >want 2>/dev/null
		echo trace | talk >got
		[ "$(head -c 8 got)" = "$(printf %08d "$(stat -c %s want)")" ]
		tail -c +9 got | cmp - want
		stop_server
	done
	# the length of the originals' example
	{ dump 1; head -c 1104 /dev/zero | tr '\0' '#'; echo; } >d.txt
	truncate -s 1234 d.txt
	serve d.txt
	[ "$(echo trace | talk | head -c 8)" = 00001234 ]
	# with the end of line that telnet sends, and without any
	printf 'trace\r\n' | talk | tail -c +9 | cmp - d.txt
	printf trace | talk | tail -c +9 | cmp - d.txt
}

@test "check-086-serve: another gets identical bytes, over TCP, a socket, and standard output; netcat works" {
	maketrace -n 200000 t.db >/dev/null
	serve t.db
	devtrace fetch -o got.db "$address"
	cmp got.db t.db
	[ "$(stat -c %a got.db)" = 600 ]
	devtrace calls got.db | cmp - <(devtrace calls t.db)
	echo file | talk | tail -c +"$((5 + $(stat -c %s t.db | wc -c)))" >bytes || true
	[ "$(echo file | talk | head -1)" = "ok $(stat -c %s t.db)" ]
	echo file | talk | tail -c "$(stat -c %s t.db)" | cmp - t.db
	stop_server
	serve --listen "unix:$PWD/sock" t.db
	[ "$address" = "unix:$PWD/sock" ]
	[ "$(stat -c %a sock)" = 600 ]
	devtrace fetch -o again.db "$address"
	cmp again.db t.db
	stop_server
	[ ! -e sock ]
	echo file | devtrace serve --stdio t.db | tail -c "$(stat -c %s t.db)" | cmp - t.db
}

@test "D23: any port, and the originals' own" {
	[ "$(id -u)" = 0 ] || skip "needs root for a network of its own"
	events
	cat >ports <<-'SH'
	ip link set lo up
	for port in 666 6666 127.0.0.1:6666 localhost:666; do
		devtrace serve --listen $port e.db >address &
		until [ -s address ]; do sleep 0.02; done
		[ "$(cat address)" = "127.0.0.1:${port##*:}" ] || exit 1
		devtrace fetch -o got.db "$(cat address)" || exit 1
		cmp got.db e.db || exit 1
		[ "${port##*:}" = 666 ] || devtrace fetch -o got.db localhost || exit 1
		kill $! && wait $! && rm address got.db || exit 1
	done
	SH
	unshare -n bash ports 3>&-
	serve e.db
	first=$address
	serve e.db
	[ "$address" != "$first" ]
	run devtrace serve --listen "$first" e.db
	[ "$status" = 1 ] && one_line "$first" "in use"
}

@test "check-089-serve: requests outstanding are answered in their order, in pieces or all at once" {
	events
	dump 7 >d.txt
	serve e.db
	devtrace export --barrelfish e.db >want 2>/dev/null
	python3 - "$address" want e.db <<-'PY'
		import socket, sys
		host, port = sys.argv[1].split(":")
		want, file = open(sys.argv[2], "rb").read(), open(sys.argv[3], "rb").read()
		s = socket.create_connection((host, int(port)))
		f = s.makefile("rb")
		def dump():
		    return f.read(int(f.read(8)))
		def trace_file():
		    word, n = f.readline().split()
		    return word, f.read(int(n))
		# two outstanding, and then always one more, as Aquarium does
		s.sendall(b"trace\ntrace\n")
		for _ in range(20):
		    assert dump() == want
		    s.sendall(b"trace\n")
		assert dump() == want and dump() == want
		# of all kinds, in one packet
		s.sendall(b"stat\ntrace\nfile\nnonsense\nfile\n\n\r\ntrace\nstat\n")
		assert dump().startswith(b"clients 1\n")
		assert dump() == want
		assert trace_file() == (b"ok", file)
		assert dump().startswith(b"# error: ")
		assert trace_file() == (b"ok", file)
		assert dump() == want
		assert dump().startswith(b"clients 1\n")
		# many more than are taken at a time; their answers are many too
		s.sendall(b"stat\nfile\n" * 500)
		for _ in range(500):
		    assert dump().startswith(b"clients 1\n")
		    assert trace_file() == (b"ok", file)
		# byte by byte
		for c in b"trace\nstat\n":
		    s.sendall(bytes([c]))
		assert dump() == want and dump().startswith(b"clients")
		# half closed: what was asked for is still answered, then it is the end
		s.sendall(b"trace\nfile\ntra")
		s.shutdown(socket.SHUT_WR)
		assert dump() == want and trace_file() == (b"ok", file) and dump().startswith(b"# error: ")
		assert f.read() == b""
	PY
}

@test "check-090: several dumps, a folder of them: one after the other, or any" {
	mkdir logs
	for i in 1 2 3; do dump $i >logs/$i.txt; done
	{ printf '%08d' "$(stat -c %s logs/3.txt)"; cat logs/3.txt; } >logs/4.kept
	events logs/5.db
	echo "no trace" >logs/0.other
	serve logs
	ids() { grep -a '^0 [0-9]* 7' | cut -d' ' -f2 | tr '\n' ' '; }
	printf 'trace\ntrace\n' | talk | ids >got
	printf 'trace\ntrace\ntrace\ntrace\n' | talk >more
	ids <more >>got
	[ "$(cat got)" = "1 2 3 3 1 " ]
	grep -aq '^0 120 a000000100000011' more
	# a dump, asked for as a file, is a trace
	for i in 2 3 3; do
		devtrace fetch -o t.db "$address"
		[ "$(devtrace export --barrelfish t.db)" = "$(dump $i)" ]
	done
	devtrace fetch -o t.db "$address"
	cmp t.db logs/5.db
	# display replaced each time
	devtrace fetch -c -n 6 --barrelfish -o t.db "$address"
	[ "$(devtrace export --barrelfish t.db)" = "$(dump 1)" ]
	stop_server
	serve --random logs/1.txt logs/2.txt
	for i in $(seq 40); do echo trace; done | talk | ids | tr ' ' '\n' | sort | uniq -c >counts
	[ "$(awk '{ n += $1 } END { print n, NR }' counts)" = "40 2" ]
	stop_server
	for wrong in none.txt logs/0.other; do
		run devtrace serve "$wrong"
		[ "$status" = 1 ]
		one_line "$wrong"
	done
	mkdir empty
	run devtrace serve empty
	[ "$status" = 1 ] && one_line "no trace or dump"
}

@test "D24: 8 digits and not one byte more: a larger dump is refused, and said" {
	dump 1 >d.txt
	truncate -s 99999999 d.txt
	serve d.txt
	[ "$(echo trace | talk | tee >(head -c 8 >head; cat >/dev/null) | wc -c)" = 100000007 ]
	[ "$(cat head)" = 99999999 ]
	truncate -s 100000000 d.txt
	echo trace | talk >got
	error="# error: the dump has 100000000 bytes, more than 8 digits can tell; ask for file"
	[ "$(cat got)" = "$(printf %08d $((${#error} + 1)))$error" ]
	run devtrace fetch --barrelfish "$address"
	[ "$status" = 1 ]
	one_line "$address: the dump has 100000000 bytes"
	echo stat | talk | grep -qa '^answers 3$'
}

@test "D24: lengths as all versions of the originals have them are understood" {
	dump 5 >d.txt
	n=$(stat -c %s d.txt)
	body=$(sed 's/$/\\n/' d.txt | tr -d '\n')
	[ "$n" = 118 ]
	for head in 00000118 000118 '   118' '     118' '118\x00\x00\x00\x00\x00' '118\x00junk' '118\x00#\x0012' \
		'\x00\x0000000118' '\x00\x00118\x00\x00abc'; do
		peer "$head$body"
		rm -f got.txt
		devtrace fetch --text -o got.txt "$address" || { echo "not understood: $head"; return 1; }
		cmp got.txt d.txt
		# and as netcat would have kept it
		printf '%b' "$head" >kept
		cat d.txt >>kept
		devtrace import --barrelfish -o t.db kept
		devtrace export --barrelfish t.db | cmp - d.txt
	done
	for head in "hello, w" "12x45678" "$(printf '%8s' '')" "-1234567"; do
		peer "$head$body"
		run devtrace fetch --text -o got2.txt "$address"
		[ "$status" = 1 ]
		one_line "8 digits are expected"
		[ ! -e got2.txt ]
	done
}

# ---- what breaks

@test "F32: a connection that breaks, anywhere, is an error; what was there stays, nothing half is left" {
	maketrace -n 20000 t.db >/dev/null
	size=$(stat -c %s t.db)
	events old.db
	dump 5 >d.txt
	n=$(stat -c %s d.txt)
	{ printf 'ok %d\n' "$size"; cat t.db; } >file
	{ printf '%08d' "$n"; cat d.txt; } >text
	head_n=$((4 + ${#size}))
	for cut in 0 1 2 3 4 $((head_n - 1)) "$head_n" $((head_n + 1)) $((head_n + 100)) $((head_n + size / 2)) $((head_n + size - 1)); do
		head -c "$cut" file >part
		cp old.db t2.db
		peer @part
		run devtrace fetch -o t2.db "$address"
		[ "$status" = 1 ]
		one_line "$address: the connection broke"
		[ "$cut" -lt "$head_n" ] || one_line "$((cut - head_n)) of $size bytes had come"
		cmp t2.db old.db
	done
	for cut in 0 1 4 5 6 7 8 9 50 $((n + 7)); do
		head -c "$cut" text >part
		peer @part
		run devtrace fetch --barrelfish -o t2.db "$address"
		[ "$status" = 1 ]
		one_line "$address: the connection broke"
		[ "$cut" -lt 8 ] || one_line "$((cut - 8)) of $n bytes had come"
		cmp t2.db old.db
	done
	[ -z "$(ls | grep -e -new -e -old)" ]
	# whole, it is kept
	peer @file
	devtrace fetch -o t2.db "$address"
	cmp t2.db t.db
	# nobody there
	run devtrace fetch -o t2.db "$address"
	[ "$status" = 1 ]
	one_line "$address: nobody listens there"
	run devtrace fetch -o t2.db unix:none
	[ "$status" = 1 ] && one_line "none: nobody listens there"
}

@test "check-116-fetch: continuous goes on after a connection that broke; once is once" {
	for i in 1 2; do
		dump $i >$i.txt
		{ printf '%08d' "$(stat -c %s $i.txt)"; cat $i.txt; } >$i.sent
	done
	head -c 30 1.sent >part
	cat 1.sent 1.sent 2.sent part >several
	peer @part @several @1.sent
	run timeout 60 devtrace fetch -c -n 4 --text -o d.txt "$address"
	[ "$status" = 1 ]
	[ "$(grep -c 'the connection broke' <<<"$output")" = 2 ]
	cmp d.txt 1.txt
	# exactly one request when one is wanted
	dump 3 >3.txt
	serve 3.txt
	devtrace fetch --text -o d.txt "$address"
	echo stat | talk | grep -qa '^answers 1$'
	cmp d.txt 3.txt
	# until it is ended; with each, the file is whole
	timeout --foreground 300 devtrace fetch -c --barrelfish -o c.db "$address" 3>&- &
	fetching=$!
	started+=("$fetching")
	until_true test -e c.db
	for i in $(seq 8); do [ "$(devtrace export --barrelfish c.db)" = "$(dump 3)" ]; done
	kill -INT "$fetching" 2>/dev/null || kill "$fetching"
	rc=0
	wait "$fetching" || rc=$?
	[ "$rc" = 0 ]
	[ -z "$(ls | grep -e -new -e -old)" ]
}

@test "fetch -c ends when it is told to, also from a server that is always ahead" {
	dump 1 >1.txt
	{ printf '%08d' "$(stat -c %s 1.txt)"; cat 1.txt; } >1.sent
	for signal in INT TERM; do
		rm -f d.txt
		peer '*1.sent'
		timeout --foreground -k 5 60 devtrace fetch -c --text -o d.txt "$address" 3>&- &
		fetching=$!
		started+=("$fetching")
		until_true test -e d.txt
		kill -s "$signal" "$fetching"
		rc=0
		wait "$fetching" || rc=$?
		[ "$rc" = 0 ]
		cmp d.txt 1.txt
		[ -z "$(ls | grep -e -new)" ]
	done
}

@test "what comes is believed as little as any file" {
	events good.db
	cp good.db out.db
	for bad in 'ok 5\nhello' 'ok 0\n' 'ok x\n' 'what\n' 'ok 99999999999999999999\nabc' \
		'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' '00000012# Start 1234\n'; do
		peer "$bad"
		run devtrace fetch -o out.db "$address"
		[ "$status" = 1 ]
		one_line "$address"
		cmp out.db good.db
	done
	one_line --barrelfish
	peer 'error 18\nsomething\x1b[2J is\nwrong'
	run devtrace fetch -o out.db "$address"
	[ "$status" = 1 ]
	[ "$output" = "devtrace: $address: something?[2J is" ]
	# a dump that is none
	peer '00000006hello\n'
	run devtrace fetch --barrelfish -o out.db "$address"
	[ "$status" = 1 ]
	one_line "$address:1: a dump begins with"
	cmp out.db good.db
	# what is no trace is not overwritten; nor is one that is being recorded
	echo precious >x
	run devtrace fetch -o x "$address"
	[ "$status" = 1 ]
	one_line "not overwritten"
	[ "$(cat x)" = precious ]
	touch out.db-wal
	run devtrace fetch -o out.db "$address"
	[ "$status" = 1 ] && one_line "is being recorded"
}

@test "fetch that is interrupted leaves what was there" {
	events good.db
	cp good.db out.db
	peer '~ok 1000\nabc'
	devtrace fetch -o out.db "$address" 2>err 3>&- &
	fetching=$!
	until_true compgen -G 'out.db-new.*/trace.db'
	kill -TERM "$fetching"
	rc=0
	wait "$fetching" || rc=$?
	[ "$rc" = 1 ]
	grep -q "interrupted; out.db is as it was" err
	cmp out.db good.db
	[ "$(compgen -G 'out.db-new.*')" = "" ]
}

@test "clients that are slow, that never read, that vanish; 64 at once" {
	maketrace -n 1000000 t.db >/dev/null
	serve t.db
	python3 - "$address" t.db <<-'PY'
		import hashlib, select, socket, struct, sys, time
		host, port = sys.argv[1].split(":")
		size = len(open(sys.argv[2], "rb").read())
		want = hashlib.sha256(open(sys.argv[2], "rb").read()).digest()
		head = b"ok %d\n" % size
		assert size > 1000000
		def connect():
		    s = socket.socket()
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
		    s.connect((host, int(port)))
		    return s
		deaf = [connect() for _ in range(8)]
		for s in deaf:
		    s.sendall(b"file\n" * 100)
		# some are gone as soon as they have asked, one half way through, by a reset
		for i in range(20):
		    s = connect()
		    s.sendall(b"file\ntrace\n")
		    if i % 2:
		        s.recv(1000)
		        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
		    s.close()
		# 64 in turns, a little of each at a time
		peers = {connect(): [hashlib.sha256(), 0, b""] for _ in range(64)}
		for s in peers:
		    s.sendall(b"file\n")
		left = set(peers)
		while left:
		    ready = select.select(list(left), [], [], 60)[0]
		    assert ready, "nothing comes"
		    for s in ready:
		        data, p = s.recv(30000), peers[s]
		        assert data
		        if len(p[2]) < len(head):
		            p[2] += data
		            data = p[2][len(head):] if len(p[2]) >= len(head) else b""
		            assert p[2][:len(head)] == head[:len(p[2])]
		        p[0].update(data)
		        p[1] += len(data)
		        if p[1] == size:
		            assert p[0].digest() == want
		            left.discard(s)
		# those who have gone are noticed; of those who asked together, many got what was made once
		s = connect()
		f = s.makefile("rb")
		for _ in range(500):
		    s.sendall(b"stat\n")
		    text = f.read(int(f.read(8))).decode()
		    stat = dict(l.split() for l in text.splitlines())
		    if int(stat["clients"]) == 8 + 64 + 1:
		        break
		    time.sleep(.02)
		assert int(stat["clients"]) == 8 + 64 + 1, text
		assert int(stat["clients_ever"]) == 8 + 20 + 64 + 1, text
		assert int(stat["answers_made"]) < 64, text
		# and one that never read reads at last
		got = b""
		while len(got) < 2 * (len(head) + size):
		    got += deaf[0].recv(1 << 20)
		assert hashlib.sha256(got[len(head):len(head) + size]).digest() == want
		assert got[len(head) + size:][:len(head)] == head
	PY
	# the memory does not depend on what they do; sanitizers need their own
	rss=$(awk '/VmHWM/ { print $2 }' /proc/"$server"/status)
	[ "$build" != "$root/build" ] || [ "$rss" -lt 40000 ]
	[ "$(ls /proc/"$server"/fd | wc -l)" -lt 40 ]
}

@test "more clients than there is room for wait their turn" {
	maketrace -n 200000 t.db >/dev/null
	serve t.db
	python3 - "$address" <<-'PY'
		import socket, sys
		host, port = sys.argv[1].split(":")
		# those who take what they have asked for keep their place
		def busy():
		    s = socket.socket()
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
		    s.connect((host, int(port)))
		    s.sendall(b"file\n" * 8)
		    return s
		all = [busy() for _ in range(256)]
		for s in all:
		    s.settimeout(60)
		    assert s.recv(1)
		late = socket.create_connection((host, int(port)))
		late.sendall(b"stat\n")
		late.settimeout(0.3)
		try:
		    late.recv(8)
		    sys.exit("answered too soon")
		except TimeoutError:
		    pass
		for s in all[:40]:
		    s.close()
		late.settimeout(8)
		assert int(late.recv(8)) > 0
	PY
}

@test "who asks for nothing, or takes nothing, gives way to who does" {
	events
	serve e.db
	python3 - "$address" "$server" <<-'PY'
		import os, socket, sys, time
		host, port = sys.argv[1].split(":")
		def used():
		    f = open("/proc/%s/stat" % sys.argv[2]).read().rsplit(")", 1)[1].split()
		    return int(f[11]) + int(f[12])
		def ask(s):
		    s.sendall(b"stat\n")
		    text = b""
		    while len(text) < 8 or len(text) < 8 + int(text[:8]):
		        more = s.recv(4096)
		        assert more, "closed"
		        text += more
		    return dict(l.split() for l in text[8:].decode().splitlines())
		# one that has asked is gone only when all others are
		first = socket.create_connection((host, int(port)))
		ask(first)
		before = used()
		idle = [socket.create_connection((host, int(port))) for _ in range(400)]
		# half a request, and one that does not end, are none
		for i, s in enumerate(idle):
		    if i % 3:
		        s.sendall(b"sta" if i % 3 == 1 else b"x" * 300)
		time.sleep(1.2)
		late = socket.create_connection((host, int(port)), 20)
		assert int(ask(late)["clients"]) <= 256
		assert used() - before < os.sysconf("SC_CLK_TCK"), used() - before
	PY
	stop_server
	# nor does it spin when there are no descriptors
	begin bash -c 'ulimit -n 40; exec devtrace serve e.db'
	python3 - "$address" "$server" <<-'PY'
		import os, socket, sys, time
		host, port = sys.argv[1].split(":")
		def used():
		    f = open("/proc/%s/stat" % sys.argv[2]).read().rsplit(")", 1)[1].split()
		    return int(f[11]) + int(f[12])
		before = used()
		all = [socket.create_connection((host, int(port))) for _ in range(60)]
		late = all[59]
		late.sendall(b"stat\n")
		late.settimeout(30)
		assert int(late.recv(8)) > 0
		assert used() - before < os.sysconf("SC_CLK_TCK"), used() - before
	PY
}

# bats test_tags=long
@test "a request has to be complete in half a minute; who has asked may wait before he asks again" {
	events
	serve e.db
	python3 - "$address" <<-'PY'
		import socket, sys, time
		host, port = sys.argv[1].split(":")
		def connect():
		    return socket.create_connection((host, int(port)), 50)
		begun = time.monotonic()
		silent, slow, patient = connect(), connect(), connect()
		patient.sendall(b"stat\n")
		assert patient.recv(4096)
		# a byte now and then is no request
		for _ in range(10):
		    slow.sendall(b"s")
		    time.sleep(.1)
		assert silent.recv(1) == b""
		assert slow.recv(1) == b""
		assert 25 < time.monotonic() - begun < 45
		patient.sendall(b"stat\n")
		assert patient.recv(4096)
	PY
}

@test "garbage, lines without end, browsers" {
	events
	serve e.db
	echo hello | talk | grep -qa '^000000[0-9]*# error: not a request'
	python3 - "$address" <<-'PY'
		import socket, sys
		host, port = sys.argv[1].split(":")
		s = socket.create_connection((host, int(port)))
		f = s.makefile("rb")
		def dump():
		    return f.read(int(f.read(8)))
		s.sendall(b"x" * 5000000 + b"\nstat\n")
		assert b"too long" in dump()
		assert dump().startswith(b"clients")
		s.sendall(b"y" * 256 + b"\n" + b"y" * 257 + b"\n" + b"\0\n" + b"trace\0\n" + b"tracex\nTRACE\n trace\n")
		assert b"not a request" in dump()
		assert b"too long" in dump()
		for _ in range(5):
		    assert b"not a request" in dump()
		s.sendall(b"z" * 300)
		s.shutdown(socket.SHUT_WR)
		assert b"too long" in dump()
		assert f.read() == b""
		# a page that a browser shows can send, but not ask: no answer, the end
		for first in b"POST / HTTP/1.1", b"GET /x HTTP/1.0":
		    s = socket.create_connection((host, int(port)))
		    s.sendall(first + b"\r\nHost: localhost\r\n\r\nfile\n")
		    try:
		        assert s.recv(100) == b""
		    except ConnectionResetError:
		        pass
	PY
}

@test "random requests, whole and in pieces: as many answers, in order, and memory as before" {
	events
	dump 3 >d.txt
	serve e.db d.txt
	python3 - "$address" "$server" <<-'PY'
		import os, random, select, socket, sys
		random.seed(int(os.environ.get("SEED", "7")))
		host, port = sys.argv[1].split(":")
		def request():
		    r = random.random()
		    if r < .05:
		        return b"trace"
		    if r < .1:
		        return b"file"
		    if r < .6:
		        return random.choice([b"stat", b"cardinfo"])
		    n = random.choice([1, 2, 5, 8, 100, 255, 256, 257, 400, 5000])
		    return bytes(random.choice(b"trace file stat \0\xff\x80A0\r%") for _ in range(n))
		def kind(line):
		    line = line[:-1] if line.endswith(b"\r") and len(line) <= 256 else line
		    return {b"trace": "dump", b"file": "file", b"stat": "stat", b"cardinfo": "stat", b"": None}.get(line, "error")
		total = 0
		while total < int(os.environ.get("SERVE_REQUESTS", "5000")):
		    s = socket.create_connection((host, int(port)))
		    lines = [request() for _ in range(random.choice([1, 3, 40, 200]))]
		    total += len(lines)
		    data = b"".join(l + b"\n" for l in lines)
		    if random.random() < .1:
		        # gone in the middle of it all
		        s.sendall(data[:random.randrange(len(data))])
		        s.close()
		        continue
		    s.setblocking(False)
		    got, sent = bytearray(), 0
		    while True:
		        r, w, _ = select.select([s], [s] if sent < len(data) else [], [], 60)
		        assert r or w, "stuck"
		        if w:
		            sent += s.send(data[sent:sent + random.choice([1, 7, 100, 4096, 100000])])
		            if sent == len(data):
		                s.shutdown(socket.SHUT_WR)
		        if r:
		            more = s.recv(random.choice([100, 65536]))
		            if not more:
		                break
		            got += more
		    at = 0
		    for want in [k for k in map(kind, lines) if k]:
		        if want == "file":
		            end = got.index(b"\n", at)
		            word, n = got[at:end].split()
		            at = end + 1
		            assert word == b"ok" and got[at:at + 15] == b"SQLite format 3", got[at - 20:at + 60]
		        else:
		            n = got[at:at + 8]
		            at += 8
		            begin = {"dump": b"# Start ", "stat": b"clients ", "error": b"# error: "}[want]
		            assert got[at:at + len(begin)] == begin, (want, got[at - 8:at + 60])
		        at += int(n)
		    assert at == len(got)
	PY
	kill -0 "$server"
	rss=$(awk '/VmHWM/ { print $2 }' /proc/"$server"/status)
	[ "$build" != "$root/build" ] || [ "$rss" -lt 40000 ]
	stop_server
}

# ---- sessions

begin_armed() {
	mkfifo in from
	"$dir/armed" <in >from 3>&- &
	armed=$!
	exec 8>in 9<from
	read -r -t 10 line <&9
	[ "$line" = ready ]
	session=s$BATS_TEST_NUMBER
	devtrace attach -d -s "$session" "$@" "$armed" 8>&- 9<&- 3>&- >/dev/null
}

do_it() {
	echo "$1 $2" >&8
	read -r -t 10 line <&9
	[ "$line" = done ]
}

ctl() { devtrace ctl -s "$session" "$@"; }
state() { ctl | grep -v '^#'; }
# "EVENT:ARGUMENT " of each event of a dump
arguments() { sed -nE 's/^[0-9]+ [0-9]+ 7000(.)0*([0-9]+)$/\1:\2/p' | tr '\n' ' '; }
is_armed() { ctl | grep -q '^arm '; }

@test "check-086-live, check-088-serve, F25: what a session records comes whole, at once, again and again" {
	begin_armed -o t.db
	serve -s "$session"
	for round in 1 2 3; do
		for i in 1 2 3; do do_it 3 $i; do_it w 10; done
		# nobody has said flush
		devtrace fetch -o got.db "$address"
		[ "$(sqlite3 got.db 'PRAGMA integrity_check')" = ok ]
		[ "$(sqlite3 got.db 'PRAGMA journal_mode')" = delete ]
		[ "$(devtrace cat got.db | grep -c '^V')" = $((3 * round)) ]
		[ "$(devtrace calls got.db | grep -c 'work(n=')" = $((30 * round)) ]
		echo trace | talk | arguments >events
		[ "$(wc -w <events)" = $((3 * round)) ]
	done
	# a file that is being recorded is served as a file, too; the log is beside what a link leads to
	mkdir elsewhere
	ln -s ../t.db elsewhere/link.db
	serve elsewhere/link.db
	devtrace fetch -o other.db "$address"
	[ "$(devtrace cat other.db | wc -l)" = "$(devtrace cat got.db | wc -l)" ]
	ctl quit
	until_true test ! -e t.db-wal
	[ "$(devtrace cat t.db | wc -l)" = "$(devtrace cat got.db | wc -l)" ]
}

@test "a trace that grows: every copy is whole, and holds no less than the one before" {
	begin_armed -o t.db
	serve t.db
	before=0
	for round in $(seq 15); do
		do_it w 100000
		devtrace fetch -o got.db "$address"
		[ "$(sqlite3 got.db 'PRAGMA integrity_check')" = ok ]
		n=$(devtrace cat got.db | wc -l)
		[ "$n" -ge "$before" ]
		before=$n
	done
	[ "$before" -gt 100000 ]
}

@test "check-089-live, D30: each request records from event to event, and leaves the session as it was" {
	begin_armed --stopped -o t.db
	state >before
	serve -s "$session" --arm '7:1:5 7:2:6'
	do_it 1 5
	printf 'trace\ntrace\n' | talk >got &
	talking=$!
	made() { echo stat | talk | grep -qa "^answers_made $1"; }
	for n in 1 2; do
		until_true made $n
		until_true is_armed
		do_it 3 90; do_it 1 4; do_it 1 5; do_it 3 $n; do_it 2 7; do_it 2 6; do_it 3 91
	done
	wait "$talking"
	[ "$(arguments <got)" = "1:5 3:1 2:7 2:6 1:5 3:2 2:7 2:6 " ]
	state | diff before -
	# the same with calls, as a file: only this recording is in it
	timeout --foreground 60 devtrace fetch -o got.db "$address" 3>&- &
	talking=$!
	until_true is_armed
	do_it w 2; do_it 1 5; do_it w 3; do_it 2 6; do_it w 4
	wait "$talking"
	[ "$(devtrace calls got.db | grep -c 'work(n=')" = 3 ]
	[ "$(sqlite3 got.db 'SELECT min(first) FROM chunk')" = 0 ]
	state | diff before -
}

@test "a request whose triggers are refused leaves those that somebody else has set" {
	begin_armed --stopped -o t.db
	ctl 'arm 7:1:5 7:2:6'
	state >before
	grep -q '^arm ' before
	serve -s "$session" --arm '7:1:nothing 7:2:6'
	echo trace | talk >got
	grep -q 'is no event' got
	state | diff before -
}

@test "D29: recorded for a time; what is recording goes on recording" {
	begin_armed -o t.db
	state >before
	grep -q '^start' before
	do_it 3 1
	serve -s "$session" --for 1s
	echo trace | talk >got 3>&- &
	talking=$!
	made() { pgrep -P "$server" >/dev/null; }
	until_true made
	# some of these are inside, whatever the time; the first is not
	while kill -0 "$talking" 2>/dev/null; do do_it 3 2; done
	arguments <got >events
	[ "$(grep -c 3:1 events)" = 0 ]
	grep -q 3:2 events
	state | diff before -
	do_it 3 3
	serve -s "$session"
	echo trace | talk | arguments | grep -q 3:3
}

@test "triggers of a request are not set before records are written: an event in between would be lost" {
	begin_armed
	ctl trace '7:*' new e
	ctl trace e on
	serve -s "$session" --arm '7:1:1 7:2:2'
	strace -f -qq -o trace -p "$server" -e trace=sendto,sendmsg,write -e inject=sendto,sendmsg,write:delay_enter=100ms 3>&- &
	started+=($!)
	attached() { [ "$(awk '/TracerPid/ { print $2 }' /proc/"$server"/status)" != 0 ]; }
	until_true attached
	timeout --foreground 60 devtrace fetch -o got.db "$address" 3>&- &
	talking=$!
	is_seen() { ctl >seen; grep -q '^arm ' seen; }
	until_true is_seen
	grep -q '^start' seen
	do_it 1 1; do_it 3 3; do_it 2 2
	wait "$talking"
	[ "$(devtrace cat got.db | grep -c '^V')" = 3 ]
}

@test "a session without a file: its log is served, with names" {
	begin_armed
	ctl trace work new w
	ctl trace w on
	ctl trace '7:*' new e
	ctl trace e on
	state >before
	serve -s "$session" --arm '7:1:1 7:2:2'
	timeout --foreground 60 devtrace fetch -o got.db "$address" 3>&- &
	talking=$!
	until_true is_armed
	do_it w 2; do_it 1 1; do_it w 3; do_it 2 2; do_it w 4
	wait "$talking"
	[ "$(devtrace calls got.db | grep -c ' work(0x')" = 3 ]
	[ "$(devtrace cat got.db | grep -c '^V')" = 2 ]
	state | diff before -
	# what a reader is to have is still there
	[ "$(devtrace cat -s "$session" | grep -c '^X')" = 3 ]
}

@test "a session without a file: what its program waited for devtrace is told" {
	local recorder
	begin_armed -p wait -b 64K -F work
	recorder=$(pgrep -u "$(id -u)" -f "attach -d -s $session -p wait" | head -n 1)
	serve -s "$session" --arm '7:1:1 7:2:2'
	ctl trace '7:*' new e
	ctl trace e on
	timeout --foreground 60 devtrace fetch -o got.db "$address" 3>&- &
	talking=$!
	until_true is_armed
	do_it 1 1
	# nobody makes room in a ring for 1,024 records
	kill -STOP "$recorder"
	echo w 3000 >&8
	until grep -q '^202 ' "/proc/$armed/syscall"; do sleep 0.01; done # in a futex
	sleep 0.3
	kill -CONT "$recorder"
	read -r -t 10 line <&9
	do_it 2 2
	wait "$talking"
	[ "$(devtrace sql --csv --no-header got.db "SELECT sum(duration) > 100e6 FROM held WHERE why = 'room'" | tr -d '\r')" = 1 ]
	devtrace report got.db | grep -q "waiting for devtrace, in no other row"
	[ "$(devtrace sql --csv --no-header got.db "SELECT max(duration) < 100e6 FROM calls WHERE function = 'work'" | tr -d '\r')" = 1 ]
}

@test "F30: the program ends, the session ends, is not there: an error, or what there was" {
	begin_armed --stopped -o t.db
	serve -s "$session" --arm '7:1:1 7:2:2'
	timeout --foreground 60 devtrace fetch -o got.db "$address" 3>&- &
	talking=$!
	until_true is_armed
	do_it 1 1; do_it w 5
	kill "$armed"
	wait "$talking"
	[ "$(devtrace calls got.db | grep -c 'work(n=')" = 5 ]
	# the server is there still, and says what is not
	for form in "" --barrelfish; do
		run devtrace fetch $form -o got.db "$address"
		[ "$status" = 1 ]
		one_line "there is no session '$session'"
	done
	[ "$(devtrace calls got.db | grep -c 'work(n=')" = 5 ]
	echo stat | talk | grep -qa '^answers 3$'
	run devtrace serve -s "$session"
	[ "$status" = 1 ] && one_line "there is no session"
}

@test "F30: who asked for a recording and is gone ends it; so does the server's end, in order or not" {
	begin_armed --stopped -o t.db
	state >before
	for how in client server killed; do
		serve --listen "unix:$PWD/sock" -s "$session" --arm '7:1:1 7:2:2'
		timeout --foreground 60 devtrace fetch -o got.db "$address" 2>err 3>&- &
		talking=$!
		until_true is_armed
		case $how in
		client) kill "$talking" ;;
		server) kill "$server" ;;
		killed) kill -9 "$server" ;;
		esac
		! wait "$talking" || false
		as_before() { [ "$(state)" = "$(cat before)" ]; }
		until_true as_before
		[ "$how" = client ] || grep -q "the connection broke" err
		[ "$how" != client ] || { echo stat | talk | grep -qa '^answers 0'; stop_server; }
		[ ! -e got.db ]
	done
	until_true test -z "$(ls -A tmp)"
}

@test "D24: busy: the six zeros of 2011, when they are asked for" {
	begin_armed --stopped -o t.db
	serve --busy -s "$session" --arm '7:1:1 7:2:2'
	echo trace | talk >first &
	talking=$!
	until_true is_armed
	[ "$(echo trace | talk)" = 000000 ]
	run devtrace fetch --barrelfish -o got.db "$address"
	[ "$status" = 1 ]
	one_line "for somebody else"
	# a connection that goes on being used
	printf 'trace\nstat\n' | talk | grep -qa '^000000000000[0-9]*clients'
	do_it 1 1
	do_it 2 2
	wait "$talking"
	[ "$(arguments <first)" = "1:1 2:2 " ]
	# without it, who comes second waits, and gets the same
	stop_server
	serve -s "$session" --arm '7:1:1 7:2:2'
	echo trace | talk >first &
	talking=$!
	until_true is_armed
	echo trace | talk >second &
	second=$!
	do_it 1 1
	do_it 2 2
	wait "$talking"
	until_true is_armed
	do_it 1 1
	do_it 2 2
	wait "$second"
	[ "$(arguments <second)" = "1:1 2:2 " ]
}

# ---- ssh

@test "check-086-ssh: fetch by ssh: the file, a session, and what goes wrong" {
	[ "$(id -u)" = 0 ] || skip "needs root for sshd"
	ssh-keygen -q -t ed25519 -N '' -f host
	ssh-keygen -q -t ed25519 -N '' -f user
	chmod 600 user
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >sshd_config <<-C
		ListenAddress 127.0.0.1:$port
		HostKey $PWD/host
		AuthorizedKeysFile $PWD/user.pub
		PidFile none
		StrictModes no
		PermitRootLogin prohibit-password
		UsePAM no
	C
	mkdir -p /run/sshd
	/usr/sbin/sshd -D -f "$PWD/sshd_config" 2>sshd.log 3>&- &
	started+=($!)
	sshd=$!
	listens() { ss -Hltn "sport = :$port" | grep -q .; }
	until_true listens
	ssh="ssh -F none -q -i $PWD/user -p $port -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes"
	there="XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR TMPDIR=$TMPDIR $build/devtrace"
	maketrace -n 50000 "it's a.db" >/dev/null
	devtrace fetch -e "$ssh" --remote "$there" -o got.db ssh:127.0.0.1 "$PWD/it's a.db"
	cmp got.db "it's a.db"
	begin_armed --stopped -o t.db
	timeout --foreground 60 devtrace fetch -e "$ssh" --remote "$there" -s "$session" --arm '7:1:1 7:2:2' -o got.db ssh:127.0.0.1 3>&- &
	talking=$!
	until_true is_armed
	do_it 1 1; do_it w 7; do_it 2 2
	wait "$talking"
	[ "$(devtrace calls got.db | grep -c 'work(n=')" = 7 ]
	# gone meanwhile: the recording there ends
	timeout --foreground 60 devtrace fetch -e "$ssh" --remote "$there" -s "$session" --arm '7:1:1 7:2:2' -o got.db ssh:127.0.0.1 3>&- 2>err &
	talking=$!
	until_true is_armed
	kill "$talking"
	! wait "$talking" || false
	not_armed() { ! is_armed; }
	until_true not_armed
	run devtrace fetch -e "$ssh" --remote "$there" -o got.db ssh:127.0.0.1 /none.db
	[ "$status" = 1 ]
	[[ "$output" == *"/none.db: No such file"*"the connection broke"* ]]
	run devtrace fetch -e "$ssh" --remote no-such-command -o got.db ssh:127.0.0.1 t.db
	[ "$status" = 1 ]
	[[ "$output" == *"the connection broke"* ]]
	run devtrace fetch ssh:-oProxyCommand=touch t.db
	[ "$status" = 1 ]
	one_line "name a host"
	kill "$sshd"
	no_child() { ! pgrep -P "$sshd" >/dev/null; }
	until_true no_child
}

# ---- usage

@test "serve and fetch: wrong usage is told" {
	events
	while read -r words; do
		run timeout 20 devtrace $words
		[ "$status" = 2 ] || { echo "status $status: $words"; return 1; }
		[[ "${lines[-1]}" == "Try \`devtrace ${words%% *} --help\`." ]] || { echo "$words: $output"; return 1; }
	done <<-'T'
		serve -s x e.db
		serve --for 1s e.db
		serve --arm 7:1:1 e.db
		serve -s x --for never
		serve -s x --for 1s --arm 7:1:1
		serve -s x --random
		serve --stdio --listen 1 e.db
		serve --relative --absolute e.db
		serve --bogus
		fetch
		fetch -n 0 localhost
		fetch -n x localhost
		fetch a b
		fetch -s x localhost
		fetch --text --events x localhost
		fetch --events x localhost
		fetch ssh:a b c
		fetch --bogus
	T
	for c in serve fetch; do
		run devtrace $c --help
		[ "$status" = 0 ]
		[[ "$output" == "usage: devtrace $c "* ]]
	done
	for wrong in 127.0.0.1:99999 127.0.0.1:x unix: "unix:/none/sock" no.such.host.invalid:1; do
		run devtrace serve --listen "$wrong" e.db
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
	done
	run devtrace serve
	[ "$status" = 1 ]
	one_line "devtrace.db: No such file"
	# a socket that was left is taken over; one that is served is not, nor is a file
	serve --listen "unix:$PWD/sock" e.db
	run devtrace serve --listen "unix:$PWD/sock" e.db
	[ "$status" = 1 ]
	one_line "is there already"
	kill -9 "$server"
	tail --pid="$server" -f /dev/null
	serve --listen "unix:$PWD/sock" e.db
	run devtrace serve --listen "unix:$PWD/e.db" e.db
	[ "$status" = 1 ] && one_line "is there already"
}

@test "what doc/remote.md shows of serve and fetch works" {
	# the lines of its examples; ssh is a shell here, the session is of this test
	examples() { sed -n "s/^    \($1\)/\1/p" "$root/doc/remote.md"; }
	begin_armed -o web.db
	mkdir bin
	printf '#!/bin/sh\nexec sh -c "$2"\n' >bin/ssh
	chmod +x bin/ssh
	mkdir here there
	ln -s ../web.db there/web.db
	examples 'devtrace fetch .* ssh:' >ssh-lines
	[ "$(wc -l <ssh-lines)" = 4 ]
	while read -r command; do
		command="cd there; exec ${command/-s web/-s $session}"
		command=${command/-o web.db/-o ..\/here\/web.db}
		PATH=$PWD/bin:$PATH timeout -k 5 60 bash -c "$command" <<<"" 3>&- &
		talking=$!
		[[ $command != *--arm* ]] || { until_true is_armed; do_it 1 1; do_it w 3; do_it 2 2; }
		wait "$talking"
		[ "$(sqlite3 here/web.db 'PRAGMA integrity_check')" = ok ]
		rm here/web.db
	done <ssh-lines
	examples 'devtrace serve ' >serve-lines
	[ "$(wc -l <serve-lines)" = 3 ]
	examples 'devtrace fetch .* ADDRESS' >fetch-lines
	[ "$(wc -l <fetch-lines)" = 2 ]
	examples 'echo trace ' >>fetch-lines
	[ "$(wc -l <fetch-lines)" = 3 ]
	for i in 1 2 3; do do_it 3 $i; done
	while read -r command; do
		# 6666 may be somebody's here
		command=${command/-s web/-s $session}
		command=${command/6666/0}
		eval "serve ${command#devtrace serve}"
		while read -r ask; do
			[[ $command != *unix:* || $ask != *nc* ]] || continue
			ask=${ask/ADDRESS/$address} ask=${ask/HOST/${address%:*}} ask=${ask/PORT/${address##*:}}
			timeout -k 5 60 bash -c "$ask" >got <<<"" 3>&- &
			talking=$!
			if [[ $command == *--arm* ]]; then
				while kill -0 "$talking" 2>/dev/null; do do_it 1 1; do_it w 3; do_it 2 2; done
			fi
			wait "$talking"
			[[ $ask != *nc* ]] || grep -qa '^[0-9]\{8\}# Start' got
			[[ $ask == *nc* ]] || [ -n "$(devtrace cat here.db)" ]
		done <fetch-lines
		stop_server
	done <serve-lines
}
