# SPDX-License-Identifier: MIT
# The time line: what it draws is what is in the trace.
load common

setup() {
	cd "$dir" || return
	PATH=${dt%/*}/test/tool:$PATH
}

# bats test_tags=long
@test "view: the pyramid against every bar, in windows of all sizes; and again from the file" {
	maketrace -n 600000 -s 2 a.db >made
	check-pyramid -k -s 2 a.db 40
	# losses; many threads
	maketrace -n 600000 -c 4 -t 9 -l 20000 -s 3 b.db >made
	check-pyramid -k -s 3 b.db 40
	# bursts, with nothing between
	maketrace -n 600000 -c 3 -t 5 -p 40000 -s 5 c.db >made
	check-pyramid -k -s 4 c.db 40
	# messages, whole and backward; with losses
	maketrace -n 600000 -c 4 -t 6 -m 10 -l 20000 -s 6 d.db >made
	check-pyramid -k -s 5 d.db 40
}

# bats test_tags=long
@test "view: a trace that is being recorded, against every bar, each time some has come" {
	maketrace -n 900000 -c 4 -t 6 -m 40 -l 5000 a.db >made
	check-pyramid -s 1 -g copy.db a.db 40
	maketrace -n 900000 -c 3 -t 5 -p 40000 -s 5 b.db >made
	check-pyramid -s 2 -g copy.db b.db 40
	check-pyramid -s 3 -f 'function1* time>1us' -g copy.db a.db 20
}

@test "view: what a filter wants, against every bar" {
	maketrace -n 400000 -m 10 -c 4 -t 6 -l 20000 a.db >made
	for filter in 'function12*' 'time>5us time<1ms' 'core:1,3 -function2*' 'thread:1002 a>100' \
		'process:made* thread:work* event:load:* value>3' 'arg1=0x55555577a2a8 core:0' 'result>0'; do
		check-pyramid -f "$filter" a.db 30
	done
	# failures need results, and prototypes: a program of Debian's, whose calls strace counts, too
	"$dt" record -l -o f.db ls /nonexist /nonexist2 /etc/passwd/no >/dev/null 2>&1 || true
	for filter in failed 'error=ENOENT' 'error=ENOTDIR' 'failed error!=ENOENT' 'failed statx'; do
		[ "$("$dt" calls -f "$filter" f.db | grep -c ' us  ')" -gt 0 ]
		check-pyramid -f "$filter" f.db 30
	done
}

@test "view: the pyramid of a program with events, switches, threads and unfinished calls" {
	gcc -O1 -g -pthread -o "$dir/threads" "$root/test/programs/threads.c" -I"$root/test/programs"
	"$dt" record -o t.db "$dir/threads" >/dev/null
	check-pyramid -k t.db 60
}

# starts devtrace view for a file; sets address and server
view() {
	mkfifo "$dir/address"
	"$dt" view --no-open "$@" >"$dir/address" 2>"$dir/view.err" 3>&- &
	server=$!
	read -r address <"$dir/address"
	rm "$dir/address"
}

end_view() {
	kill -INT "$server"
	wait "$server"
	server=
}

teardown() {
	[ -z "${server-}" ] || kill "$server"
	check_traces
}

code() {
	curl -s -o /dev/null -w '%{http_code}' "$@"
}

@test "view: only who knows the address is answered, and no other site's page" {
	maketrace -n 100000 a.db >made
	view a.db
	[[ $address =~ ^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$ ]]
	[ "$(code "$address")" = 200 ]
	[ "$(code "${address}get/trace")" = 200 ]
	host=${address#http://} host=${host%%/*}
	[ "$(code "http://$host/")" = 404 ]
	[ "$(code "http://$host/get/trace")" = 404 ]
	[ "$(code "http://$host/00000000000000000000000000000000/get/trace")" = 404 ]
	[ "$(code "${address%/}x/get/trace")" = 404 ]
	# each character counts, and none may be missing
	token=${address#http://*/} token=${token%/}
	for i in $(seq 0 31); do
		other=$([ "${token:$i:1}" = 0 ] && echo 1 || echo 0)
		wrong=${token:0:$i}$other${token:$((i + 1))}
		[ "$(code "http://$host/$wrong/get/trace")" = 404 ] || { echo "$wrong for $token"; return 1; }
	done
	[ "$(code "http://$host/${token:0:31}/get/trace")" = 404 ]
	[ "$(code "http://$host/${token}0/get/trace")" = 404 ]
	# this machine's own name for it
	[ "$(code "http://localhost:${host#*:}/$token/get/trace")" = 200 ]
	[ "$(code -H "Host: localhost:1${host#*:}" "${address}get/trace")" = 403 ]
	# a name that an attacker has made lead here; a page from elsewhere
	[ "$(code -H 'Host: devtrace.example' "${address}get/trace")" = 403 ]
	[ "$(code -H 'Host:' "${address}get/trace")" = 403 -o "$(code -H 'Host:' "${address}get/trace")" = 400 ]
	[ "$(code -H 'Origin: http://devtrace.example' "${address}get/trace")" = 403 ]
	[ "$(code -H 'Origin: null' "${address}get/trace")" = 403 ]
	[ "$(code -H 'Sec-Fetch-Site: cross-site' "${address}style.css")" = 403 ]
	[ "$(code -H "Origin: http://$host" "${address}get/trace")" = 200 ]
	[ "$(code -X POST -d x "${address}get/trace")" = 405 ]
	curl -s -D head -o /dev/null "$address"
	grep -qi "^content-security-policy: default-src 'none'; script-src 'self'" head
	grep -qi '^cross-origin-resource-policy: same-origin' head
	# and nobody from outside: it listens on this machine's own address
	[ "$(ss -Hltn "sport = :${host#*:}" | awk '{ print $4 }')" = "$host" ]
	end_view
}

@test "view: losses and pauses of the trace, each core's, those that are near each other as one" {
	# a trace of 10,000,000 ticks: what is within 5,000 of another is near; two cores lose at the same times
	writetrace l.db <<-'TEXT'
	clock 0 0
	clock 20000000 10000000
	thread 1 main
	thread 2 other
	function f
	E f 0x1000 0
	X f 0x1000 10
	lost 3
	E f 0x1000 2000
	X f 0x1000 2010
	lost 4
	E f 0x1000 3000
	X f 0x1000 4000000
	lost 5
	E f 0x1000 4001000
	X f 0x1000 10000000
	at 1 2
	E f 0x1000 100
	X f 0x1000 4000100
	lost 6
	E f 0x1000 4000900
	X f 0x1000 9000200
	TEXT
	sqlite3 l.db "INSERT INTO pause VALUES(1000, 1100, 'frozen', 1, 2), (2000, 2500, 'frozen', 40, 3),
		(2600, 2700, 'stopped', 1, NULL), (5000000, 5000100, 'frozen', 7, 1), (5001000, 5001100, 'frozen', 2, NULL)"
	view l.db
	until curl -s "${address}get/trace" | grep -q '"complete":true'; do sleep 0.05; done
	curl -s "${address}get/trace" >trace.json
	[ "$(python3 -c 'import json; print(json.load(open("trace.json"))["losses"])')" = \
		"[[0, 10, 3000, 7], [0, 4000000, 4001000, 5], [1, 4000100, 4000900, 6]]" ]
	[ "$(python3 -c 'import json; print(json.load(open("trace.json"))["pauses"])')" = \
		"[[1000, 2500, 0, 41, 5], [2600, 2700, 1, 1, None], [5000000, 5001100, 0, 9, None]]" ]
	end_view
}

@test "view: what is asked for: a depth, a call of any thread, a list in its order" {
	# two threads in step, so that much begins at the same time
	writetrace two.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	thread 1 main
	thread 2 other
	function outer a:i4@0;v
	function inner b:i4@0;v
	function leaf c:i4@0;v
	E outer 0x2000 100 11
	E inner 0x1f00 100 12
	E leaf 0x1e00 200 13
	X leaf 0x1e00 300
	X inner 0x1f00 400
	X outer 0x2000 500
	at 1 2
	E outer 0x6000 100 21
	E inner 0x5f00 100 22
	E leaf 0x5e00 200 23
	X leaf 0x5e00 300
	X inner 0x5f00 400
	X outer 0x6000 500
	TEXT
	view two.db
	until curl -s "${address}get/trace" | grep -q '"complete":true'; do sleep 0.05; done
	curl -s "${address}get/trace" >trace.json
	python3 - "$address" <<-'P'
		import json, sys, urllib.request
		def get(what): return urllib.request.urlopen(sys.argv[1] + "get/" + what).read()
		tracks = {t["id"]: t["track"] for t in json.load(open("trace.json"))["tracks"] if t["kind"] == "thread"}
		assert set(tracks) == {1, 2}, tracks
		# in the order of time, of one time by track, then by depth
		rows = json.loads(get("list?from=0&to=1000"))["rows"]
		of_threads = [(r["begin"], r["track"], r["depth"], r["text"]) for r in rows if r["track"] in tracks.values()]
		assert [x[:3] for x in of_threads] == sorted(x[:3] for x in of_threads), of_threads
		assert len(of_threads) == 6, of_threads
		# each call with its own thread's values
		for r in rows:
		    if r["track"] not in tracks.values(): continue
		    call = get("call?track=%d&begin=%d&end=%d&depth=%d&what=%d" % (r["track"], r["begin"], r["end"], r["depth"], r["what"]))
		    value = {1: 10, 2: 20}[{v: k for k, v in tracks.items()}[r["track"]]] + r["depth"] + 1
		    assert b"=%d" % value in call, (r, value, call)
		    assert "=%d)" % value in r["text"], (r, value)
		# only so many depths; 0: all
		sizes = [len(get("window?from=0&to=400&cells=400&tracks=%d&depths=%d" % (tracks[1], d))) for d in (1, 2, 3, 0)]
		assert sizes[0] < sizes[1] < sizes[2] == sizes[3], sizes
	P
	end_view
}

@test "view: a message's arrow has its key, who sent and received it, and where, all bits of them" {
	unsound m.db # a message belongs to no call
	writetrace m.db <<-'TEXT'
	thread 1 a
	thread 2 b
	at 3 1
	M f 0x1000 100 0xf1234567890abc
	M f 0x1000 200 0x10ffffffffffff
	at 5 2
	N f 0x2000 400 0xf1234567890abc
	N f 0x2000 500 0x10ffffffffffff
	TEXT
	view m.db
	until curl -s "${address}get/trace" | grep -q '"complete":true'; do sleep 0.05; done
	python3 - "$address" <<-'P'
		import json, struct, sys, urllib.request
		def get(what): return urllib.request.urlopen(sys.argv[1] + "get/" + what).read()
		track = [t for t in json.loads(get("trace"))["tracks"] if t["kind"] == "message"]
		assert len(track) == 1, track
		b = get("window?from=0&to=400&cells=400&tracks=%d" % track[0]["track"])
		number, n = struct.unpack_from("<II", b)
		assert (number, n) == (track[0]["track"], 2), (number, n)
		got = []
		for i in range(n):
		    begin, end, low, high, count, sender, receiver, depth = struct.unpack_from("<ddddIIII", b, 8 + 48 * i)
		    high = int(high)
		    got.append((begin, end, hex(int(low) | high >> 32 << 48), high & 0xffff, high >> 16 & 0xffff, count, sender, receiver))
		want = [(0, 300, "0xf1234567890abc", 3, 5, 1, 1, 2), (100, 400, "0x10ffffffffffff", 3, 5, 1, 1, 2)]
		assert got == want, got
	P
	end_view
}

@test "view: requests that make no sense are told so, and change nothing" {
	maketrace -n 100000 a.db >made
	view a.db
	whole=$(curl -s "${address}get/window?from=0&to=9999999&cells=100&tracks=0,1,2" | sha256sum)
	for bad in 'window' 'window?from=0' 'window?from=5&to=4&cells=9' 'window?from=-1&to=4&cells=9' \
		'window?from=0&to=4&cells=0' 'window?from=0&to=4&cells=99999999' 'window?from=0&to=4&cells=9&tracks=x' \
		'window?from=0&to=4&cells=9&tracks=1,,2' 'window?from=0&to=4&cells=9&tracks=-1' 'window?from=0&to=4&cells=9&tracks=+1' \
		'window?from=0&to=4&cells=9&tracks=1;2' 'window?from=0&to=4&cells=9&depths=x' 'window?from=0x10&to=99&cells=9' 'stats?from=1&to=' 'stats?from=99999999999999999999&to=1' 'names?ids=a' 'call?track=1'; do
		[ "$(code "${address}get/$bad")" = 400 ] || { echo "$bad: $(code "${address}get/$bad")"; return 1; }
		curl -s "${address}get/$bad" | grep -q '^{"error":"[^"]*"}$'
	done
	[ "$(code "${address}get/call?track=99&begin=0&end=1&depth=0&what=0")" = 404 ]
	[ "$(code "${address}get/call?track=0&begin=1&end=2&depth=0&what=0")" = 404 ]
	[ "$(code "${address}get/none")" = 404 ]
	[ "$(code "${address}../../../etc/passwd")" = 404 ]
	[ "$(code "${address}get/window?from=0&to=1152921504606846976&cells=8192&tracks=0,1,2,3,4,99")" = 200 ]
	# so many tracks in a window, and no more
	[ "$(code "${address}get/window?from=0&to=4&cells=9&tracks=$(seq -s, 1024)")" = 200 ]
	[ "$(code "${address}get/window?from=0&to=4&cells=9&tracks=$(seq -s, 1025)")" = 400 ]
	[ "$(curl -s "${address}get/names?ids=0,1,4294967295,99999999999999999999" | tr -d '[:space:]' | head -c 6)" = '{"0":[' ]
	for i in $(seq 200); do
		head -c $((RANDOM % 300)) /dev/urandom
	done >noise
	host=${address#http://} host=${host%%/*}
	for i in 1 2 3 4 5; do
		dd if=noise bs=1000 skip=$i count=1 2>/dev/null | timeout 2 socat - "TCP:$host" >/dev/null 2>&1 || true
	done
	[ "$(curl -s "${address}get/window?from=0&to=9999999&cells=100&tracks=0,1,2" | sha256sum)" = "$whole" ]
	end_view
}

@test "view: the summary is kept in the file, and is made anew when the trace is another" {
	unsound b.db # it has the summary of another one
	maketrace -n 300000 a.db >made
	"$dt" view --index a.db
	[ "$(sqlite3 -readonly a.db 'SELECT count(*) > 1 FROM pyramid')" = 1 ]
	before=$(sqlite3 -readonly a.db 'SELECT sum(length(data)) FROM pyramid')
	# it is a trace as before
	"$dt" report a.db >report.1
	"$dt" view --index a.db
	[ "$(sqlite3 -readonly a.db 'SELECT sum(length(data)) FROM pyramid')" = "$before" ]
	# of another trace, or damaged: not believed
	maketrace -n 200000 -s 9 b.db >made
	sqlite3 b.db "ATTACH 'a.db' AS a; CREATE TABLE pyramid(id INTEGER PRIMARY KEY, data BLOB); INSERT INTO pyramid SELECT * FROM a.pyramid"
	check-pyramid b.db 10
	sqlite3 a.db "UPDATE pyramid SET data = zeroblob(40) WHERE id = 1"
	check-pyramid a.db 10
	"$dt" view --index a.db
	[ "$(sqlite3 -readonly a.db 'SELECT sum(length(data)) FROM pyramid')" = "$before" ]
	# its end is missing, however little; compressed as it should be
	for less in 1 2 10; do
		cp a.db cut.db
		python3 - "$less" <<-'P'
			import ctypes, sqlite3, sys
			z = ctypes.CDLL("libzstd.so.1")
			for f in z.ZSTD_compress, z.ZSTD_decompress, z.ZSTD_compressBound: f.restype = ctypes.c_size_t
			size = ctypes.c_size_t
			db = sqlite3.connect("cut.db")
			[(data,)] = db.execute("SELECT data FROM pyramid WHERE id = 1").fetchall()
			plain, packed = ctypes.create_string_buffer(1 << 24), ctypes.create_string_buffer(1 << 24)
			n = z.ZSTD_decompress(plain, size(1 << 24), data, size(len(data)))
			assert 10 < n < 1 << 24
			n = z.ZSTD_compress(packed, size(1 << 24), plain, size(n - int(sys.argv[1])), 3)
			db.execute("UPDATE pyramid SET data = ? WHERE id = 1", (packed.raw[:n],))
			db.commit()
		P
		[ "$(sqlite3 -readonly cut.db 'SELECT sum(length(data)) FROM pyramid')" != "$before" ]
		"$dt" view --index cut.db
		[ "$(sqlite3 -readonly cut.db 'SELECT sum(length(data)) FROM pyramid')" = "$before" ]
	done
	# a file that can not be written is drawn all the same
	cp b.db c.db
	sqlite3 c.db 'DROP TABLE pyramid'
	chmod 444 c.db
	if [ "$(id -u)" != 0 ]; then
		run "$dt" view --index c.db
		[[ $output == *'is not kept'* ]]
	fi
}

@test "view: a damaged summary is told, or drawn wrongly, and harms nothing" {
	unsound d.db
	maketrace -n 300000 a.db >made
	"$dt" view --index a.db
	for seed in $(seq 20); do
		cp a.db d.db
		python3 - d.db "$seed" <<-'P'
			import random, sqlite3, sys
			random.seed(int(sys.argv[2]))
			db = sqlite3.connect(sys.argv[1])
			rows = db.execute("SELECT id, data FROM pyramid").fetchall()
			for i, data in random.sample(rows, max(1, len(rows) // 4)):
			    b = bytearray(data)
			    for _ in range(3): b[random.randrange(len(b))] ^= 1 << random.randrange(8)
			    db.execute("UPDATE pyramid SET data = ? WHERE id = ?", (bytes(b), i))
			db.commit()
		P
		run timeout 60 check-pyramid -b d.db 20
		[ "$status" = 0 ] || [ "$status" = 1 ] || { echo "$status: $output"; return 1; }
		[[ $output != *Sanitizer* && $output != *'runtime error'* ]] || { echo "$output"; return 1; }
	done
}

@test "view: bad input" {
	run "$dt" view none.db
	[ "$status" = 1 ]
	one_line 'no such file'
	run "$dt" view --listen 300.1.2.3 a.db
	[ "$status" = 1 ]
	maketrace -n 1000 a.db >made
	run "$dt" view --listen 300.1.2.3 a.db
	[ "$status" = 1 ]
	one_line '300.1.2.3'
	run "$dt" view --listen '::1:80' a.db
	one_line 'brackets'
	run "$dt" view --nonsense
	[ "$status" = 2 ]
	run "$dt" view -s nosuch --index
	[ "$status" = 2 ]
	[[ "$output" == *"a session's file is summed up when it has ended"* ]]
}

@test "view: without the library that serves pages the rest works" {
	maketrace -n 1000 a.db >made
	ldd "$dt" >libraries
	[ "$(grep -c 'microhttpd\|gnutls' libraries)" = 0 ]
	: >empty
	library=$(ldconfig -p | sed -n 's/.*libmicrohttpd.so.12 .*x86-64.* => //p')
	[ -n "$library" ]
	without() { unshare -m sh -c 'mount --bind empty "$(readlink -f "$0")" && exec "$@"' "$library" "$@"; }
	without "$dt" report a.db >report
	"$dt" report a.db | cmp - report
	run without "$dt" view a.db
	[ "$status" = 1 ]
	one_line "libmicrohttpd.so.12: file too short; it is in Debian's libmicrohttpd12"
}

@test "view: clients that do not know the address take nobody's place" {
	maketrace -n 10000 a.db >made
	view a.db
	python3 - "$address" "$server" <<-'PY'
		import os, socket, sys, time, urllib.parse
		url = urllib.parse.urlparse(sys.argv[1])
		def connect():
		    return socket.create_connection((url.hostname, url.port), 20)
		def ask(path):
		    s = connect()
		    s.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, url.netloc)).encode())
		    text = b""
		    while True:
		        more = s.recv(65536)
		        if not more:
		            return text
		        text += more
		def used():
		    f = open("/proc/%s/stat" % sys.argv[2]).read().rsplit(")", 1)[1].split()
		    return int(f[11]) + int(f[12])
		wrong = "/%s/" % ("0" * 32)
		assert ask(wrong).startswith(b"HTTP/1.1 404 ")
		before = used()
		# nothing at all; the beginning of a request; one that has all but its end; one with a body that does not come
		say = [b"", b"GET " + url.path[:20].encode(), b"GET " + wrong.encode() + b" HTTP/1.1\r\nHost: x\r\n",
		       b"POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"]
		idle = []
		for i in range(600):
		    idle.append(connect())
		    idle[-1].sendall(say[i % len(say)])
		    if i % 100 == 99:
		        assert ask(url.path + "get/trace").startswith(b"HTTP/1.1 200 "), i
		assert ask(url.path).startswith(b"HTTP/1.1 200 ")
		# in pieces, as the network brings it, the right one is let in
		s = connect()
		for c in ("GET %sget/trace HTTP/1.1\r\nHost: %s\r\n\r\n" % (url.path, url.netloc)).encode():
		    s.sendall(bytes([c]))
		    time.sleep(.001)
		assert s.recv(100).startswith(b"HTTP/1.1 200 ")
		assert used() - before < 2 * os.sysconf("SC_CLK_TCK"), used() - before
		assert len(os.listdir("/proc/%s/fd" % sys.argv[2])) < 300
	PY
	end_view
	[ ! -s "$dir/view.err" ] || { cat "$dir/view.err"; return 1; }
}

@test "view: the address is in no command line; the browser is led to it by a file of the user's alone" {
	maketrace -n 1000 a.db >made
	mkdir -p bin
	cat >bin/xdg-open <<-'SH'
		#!/bin/sh
		tr '\0' '\n' </proc/$$/cmdline >opened.tmp
		stat -c '%a %u' "$1" >>opened.tmp
		cat "$1" >>opened.tmp
		mv opened.tmp opened
	SH
	chmod 755 bin/xdg-open
	mkfifo address
	PATH=$PWD/bin:$PATH DISPLAY=:99 "$dt" view a.db >address 2>view.err 3>&- &
	server=$!
	read -r address <address
	rm address
	for _ in $(seq 500); do [ ! -e opened ] || break; sleep 0.02; done
	token=${address#http://*/} token=${token%/}
	[ ${#token} = 32 ]
	file=$(sed -n 3p opened)
	[[ $file == /*.html ]]
	[ "$(sed -n 4p opened)" = "600 $(id -u)" ]
	[ "$(sed -n '1,4p' opened | grep -c "$token")" = 0 ]
	[ "$(sed 1,4d opened | grep -c "url=$address")" = 1 ]
	n=0
	for p in /proc/[0-9]*; do
		line=$(tr '\0' '\n' <"$p/cmdline" 2>/dev/null) || continue
		case $line in *"$token"*) n=$((n + 1)) ;; esac
	done
	[ "$n" = 0 ]
	# a window of its own may show the page wherever its link was; nothing else of it
	[ "$(code -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document' "$address")" = 200 ]
	[ "$(code -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: iframe' "$address")" = 403 ]
	[ "$(code -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors' -H 'Sec-Fetch-Dest: script' "$address")" = 403 ]
	[ "$(code -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate' -H 'Sec-Fetch-Dest: document' "${address}get/trace")" = 403 ]
	end_view
	[ ! -e "$file" ]
	[ ! -s view.err ] || { cat view.err; return 1; }
}

@test "view: a thousand requests that no browser makes" {
	maketrace -n 100000 -m 50 a.db >made
	view a.db
	until curl -s "${address}get/trace" | grep -q '"complete":true'; do sleep 0.05; done
	python3 "$root/test/tool/fuzz-http.py" "$address" 1000 "${FUZZ_SEED:-1}"
	end_view
	[ ! -s "$dir/view.err" ] || { cat "$dir/view.err"; return 1; }
}

@test "view --from: a trace or a session that is elsewhere, and nothing is left of it" {
	maketrace -n 20000 -s 2 a.db >made
	mkdir tmp server
	export TMPDIR=$PWD/tmp
	# a server at a socket, which has a folder of its own while it runs; and what ssh would start, started here: its words are one command's
	TMPDIR=$PWD/server "$dt" serve --listen "unix:$PWD/socket" a.db >serve.out 2>&1 3>&- &
	serving=$!
	for _ in $(seq 3000); do [ -S socket ] && break; sleep 0.02; done
	printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >there
	chmod +x there
	for from in "unix:$PWD/socket" "ssh:somewhere --ssh $PWD/there --remote $dt $PWD/a.db"; do
		view --from $from
		[ "$(code "$address")" = 200 ]
		[ "$(ls -d tmp/devtrace-view.* | wc -l)" = 1 ]
		until curl -s "${address}get/trace" | grep -q '"complete":true'; do sleep 0.05; done
		records=$(curl -s "${address}get/trace" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])')
		[ "$records" = 20000 ]
		end_view
		# a server that ssh started ends by itself, when it sees that the connection has
		for _ in $(seq 100); do if [ -z "$(ls tmp)" ]; then break; fi; sleep 0.05; done
		[ -z "$(ls tmp)" ]
	done
	kill "$serving"
	wait "$serving" || true
	for _ in $(seq 100); do if [ -z "$(ls server)" ]; then break; fi; sleep 0.05; done
	[ -z "$(ls server)" ]
	# what goes wrong
	run "$dt" view --no-open --from "unix:$PWD/nothing"
	[ "$status" = 1 ]
	one_line "nothing"
	run "$dt" view --no-open --from ssh:x --ssh "$PWD/there" --remote "$dt" "$PWD/none.db"
	[ "$status" = 1 ]
	[[ $output == *none.db* ]]
	run "$dt" view --index --from localhost:1
	[ "$status" = 2 ]
	run "$dt" view --ssh ssh a.db
	[ "$status" = 2 ]
	run env TMPDIR=/nowhere "$dt" view --no-open --from localhost:1
	[ "$status" = 1 ]
	one_line "/nowhere"
	ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=mkdir,mkdirat -o made env TMPDIR= "$dt" view --no-open --from localhost:1 2>err || true
	grep -q '"/tmp/devtrace-view' made
	[ -z "$(ls tmp)" ]
}

@test "view: a damaged chunk is told on the page, and ends nothing; what does not add up is not drawn" {
	unsound broken.db back.db
	maketrace -n 300000 -c 2 -t 3 broken.db >made
	sqlite3 broken.db "UPDATE chunk SET events = zeroblob(100) WHERE id = (SELECT max(id) FROM chunk)"
	view broken.db
	for _ in $(seq 300); do
		curl -s "${address}get/trace" >trace.json
		grep -q '"error":"[^"]' trace.json && break
		sleep 0.02
	done
	grep -q '"error":"broken.db: chunk [0-9]* of the trace: damaged' trace.json
	[ "$(code "${address}get/window?from=0&to=9999999&cells=100&tracks=0,1,2")" = 409 ]
	curl -s "${address}get/stats?from=0&to=9999" | grep -q '"error":"broken.db: chunk'
	[ "$(code "$address")" = 200 ]
	kill -0 "$server"
	kill -INT "$server"
	status=0
	wait "$server" || status=$?
	server=
	[ "$status" = 1 ]
	# with --index nobody looks: it ends, and has put nothing into the file
	run "$dt" view --index broken.db
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[ "$(sqlite3 -readonly broken.db "SELECT count(*) FROM sqlite_schema WHERE name = 'pyramid'")" = 0 ]
	# records out of order: a call that ends before it begins
	writetrace back.db <<-'TEXT'
	thread 1 a
	function f a:i4@0;v
	E f 0x1000 100
	X f 0x1000 90
	TEXT
	run "$dt" view --index back.db
	[ "$status" = 1 ]
	[[ $output == *"does not add up: 1 record is earlier than one before it of its thread"*"devtrace check"*"--anyway"* ]]
	[ "$(sqlite3 -readonly back.db "SELECT count(*) FROM sqlite_schema WHERE name = 'pyramid'")" = 0 ]
	"$dt" view --index --anyway back.db
	[ "$(sqlite3 -readonly back.db "SELECT count(*) > 0 FROM pyramid")" = 1 ]
}

# bats test_tags=long
@test "view: ended at any time while it sums up, it ends" {
	local ms
	. "$BATS_TEST_DIRNAME/../share.bash"
	unsound broken.db some.db
	maketrace -n 300000 -c 2 -t 3 whole.db >made
	cp whole.db broken.db
	sqlite3 broken.db "UPDATE chunk SET events = zeroblob(100) WHERE id = (SELECT max(id) FROM chunk)"
	# while it waits for the end of summing up, and when it has just come
	for file in whole.db broken.db; do
		for ms in $(printf '%s\n' {0..120..3} | share); do
			cp "$file" some.db
			view some.db
			sleep "$(printf '0.%03d' "$ms")"
			kill -INT "$server"
			for _ in {1..300}; do
				kill -0 "$server" 2>/dev/null || break
				sleep 0.02
			done
			if kill -0 "$server" 2>/dev/null; then
				kill -KILL "$server"
				echo "$file: asked to end after $ms ms, it did not"
				false
			fi
			wait "$server" || [ "$file" = broken.db ]
			server=
		done
	done
}

@test "view: two traces beside each other: what it refuses, and that nothing stays" {
	local t
	for t in a b; do printf 'clock 0 0\nclock 2000000 1000000\nthread 1 main\nfunction f\nE f 8 10\nX f 8 20\n' | writetrace $t.db; done
	unsound none.db
	: | writetrace none.db
	cp a.db kept.db
	refused() {
		run "$dt" view -n "${@:2}"
		echo "$output"
		[ "$status" -ge 1 ]
		[[ ${lines[0]} == *"$1"* ]]
	}
	refused "one trace, or two beside each other, not also 'c.db'" a.db b.db c.db
	refused "--align is for two traces: devtrace view --align WORDS A B" --align f a.db
	refused "there is nothing to put into a file" -i a.db b.db
	refused "two traces are shown beside each other when both are files here" -s nobody a.db b.db
	refused "--align: 'g' is nothing in a.db: name a call" --align g a.db b.db
	refused "'note:tea' is nothing in a.db" --align note:tea a.db b.db
	refused "'event:*' is nothing in a.db" --align 'event:*' a.db b.db
	refused "--align: " --align 'time>tea' a.db b.db
	refused "nowhere.db: no such file" a.db nowhere.db
	refused "none.db: there are no records in it" a.db none.db
	# neither main nor another word: the first records
	"$dt" view -n a.db b.db >url &
	server=$!
	for _ in {1..300}; do [ -s url ] && break; sleep 0.02; done
	address=$(head -n 1 url)
	curl -s "${address%/}/get/trace" | jq -e '.beside == "" and (.hosts | length) == 2'
	[ -n "$(find "${TMPDIR:-/tmp}" -maxdepth 2 -name 'a.db and b.db' 2>/dev/null)" ]
	kill -INT "$server"
	wait "$server" || true
	server=
	[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 2 -name 'a.db and b.db' 2>/dev/null)" ]
	cmp a.db kept.db
}
