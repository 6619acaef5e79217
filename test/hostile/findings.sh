#!/bin/bash
# SPDX-License-Identifier: MIT
# What was found of harm at the beginning (3744d3d), each tried with a devtrace of any age: a table for
# doc/dev/benchmarks.md. As root, since it is root who is harmed.
# usage: findings.sh TREE...    trees of devtrace that have been built (make build/devtrace build/test/tool/maketrace)
#	ONLY=WORDS: only those; TRIES=N: of what is chance (4)
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" = 0 ] || { echo "as root only"; exit 2; }
as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
other=(setpriv --reuid=65533 --regid=65533 --clear-groups)
work=$(mktemp -d) && chmod 711 "$work" || exit 1
trap 'rm -rf "$work"' EXIT

# how STATUS: what became of devtrace
how() {
	if grep -q 'AddressSanitizer\|runtime error' log; then echo "HARM: a fault of memory"; return; fi
	case $1 in
	124 | 137) echo "HARM: does not end" ;;
	134 | 135 | 136 | 139) echo "HARM: devtrace ends by signal $(($1 - 128))" ;;
	*) echo "ends in order ($1)" ;;
	esac
}

# timed COMMAND...: 20 s of time, and 2 GB, at most
timed() { (ulimit -v 8000000; exec timeout -k 2 20 "$@") >log 2>&1; }

# ---- a traced process

word() {
	timed "$dt" record -p wait -b 64K -o t.db -F 'geometry:leaf' "${as[@]}" ./geometry "$1" 1
	local status=$?
	if grep -q 'no pointers' log; then echo "there are no such words"; return; fi
	how $status
}
# the size is used at the end only, when the memory is unmapped: then it stays, with what the program wrote there
f_bytes() {
	timed strace -e trace=munmap -o calls "$dt" record -p wait -b 64K -o t.db -F 'geometry:leaf' "${as[@]}" ./geometry bytes 1
	local status=$?
	if grep -q 'munmap(0x[0-9a-f]*, 0) *= -1' calls; then echo "HARM: the memory stays mapped"; else how $status; fi
}
f_stride() { word stride; }
f_ring_size() { word size; }
f_cores() { word cores; }
f_pointers() { word pointers; }

f_users() {
	printf '%s\n' "${other[*]} ./neighbour 3 >/dev/null & ${as[*]} ./geometry look 2 >seen; wait" >both.sh
	: >seen
	timed "$dt" record -f -p overwrite -b 64K -o t.db -F 'geometry:leaf' -F 'neighbour:mine' sh both.sh
	[ -s t.db ] || { echo "not tried: $(tail -n 1 log)"; return; }
	if grep -q saw seen; then echo "HARM: another user's arguments are read"; else echo "not seen"; fi
}
f_setuid() {
	cp neighbour owned
	chown 65533 owned
	chmod 4755 owned
	printf '%s\n' "(sleep 0.3; exec ./owned 3 >/dev/null) & ./geometry look 2 >seen; wait" >both.sh
	rm -f seen # the user makes it
	timed "$dt" record -f -p overwrite -b 64K -o t.db -F 'geometry:leaf' -F 'owned:mine' "${as[@]}" sh both.sh
	[ -s t.db ] && [ -e seen ] || { echo "not tried: $(tail -n 1 log)"; return; }
	if grep -q saw seen; then echo "HARM: a setuid program's arguments are read"; else echo "not seen"; fi
}
f_truncated() {
	"${as[@]}" ./scribble 1 1 catch >out 2>/dev/null &
	local pid=$! status
	timeout -k 2 90 "$dt" attach -p wait -o t.db -F 'scribble:leaf' $pid >log 2>&1
	status=$?
	wait $pid
	if grep -q 'truncated 1' out; then echo "HARM: it is truncated; $(how $status)"; else echo "$(head -n 1 out); $(how $status)"; fi
}
# interrupted PID: Ctrl-C ends it within 20 s
interrupted() {
	local i
	kill -INT "$(pgrep -P "$1")"
	for ((i = 0; i < 200; i++)); do
		if ! kill -0 "$1" 2>/dev/null; then wait "$1"; how $?; return; fi
		sleep 0.1
	done
	echo "HARM: Ctrl-C does not end it within 20 s"
	kill -9 "$(pgrep -P "$1")"
	wait "$1"
}
f_position() {
	"${as[@]}" ./geometry pos 30 >/dev/null &
	local pid=$!
	timeout -k 2 60 "$dt" attach -p wait -b 64K -o t.db -F 'geometry:leaf' $pid >log 2>&1 &
	local c=$!
	sleep 3
	interrupted $c
	kill -9 $pid
	wait $pid
}
# which of the two is faster is chance
f_code() {
	local i said
	for i in $(seq "${TRIES:-4}"); do
		said=$(code)
		case $said in HARM*) break ;; esac
		! grep -q 'keeps memory' log || { said="ends, and says what stays"; break; }
	done
	echo "$said"
}
code() {
	"${as[@]}" ./scribble 1 60 calls &
	local pid=$!
	timeout -k 2 90 "$dt" attach -v -p overwrite -o t.db -F 'scribble:leaf' $pid >log 2>&1 &
	local c=$! w
	sleep 3
	"${as[@]}" ./scribble 1 60 stub $pid &
	w=$!
	sleep 1
	interrupted $c
	# shellcheck disable=SC2046 # numbers
	kill -9 $w $(pgrep -P $pid) $pid
	wait $w $pid
}

# ---- files

made() {
	"$tree/build/test/tool/maketrace" -n "${1:-60000}" -c 2 -t 3 -l 900 t.db >/dev/null
}
# reads COMMAND...: the worst that one of them does
reads() {
	local c status worst='' said
	for c in "$@"; do
		# shellcheck disable=SC2086
		timed "$dt" $c t.db
		status=$?
		said=$(how $status)
		case $said in HARM*) echo "$said ($c)"; return ;; *) worst=$said ;; esac
	done
	echo "$worst"
}
f_loss() {
	made
	sqlite3 t.db "CREATE TABLE l(core INTEGER, after INTEGER, lost INTEGER, begin_ticks INTEGER, end_ticks INTEGER);
		INSERT INTO l SELECT * FROM loss; INSERT INTO l SELECT * FROM loss; DROP TABLE loss; ALTER TABLE l RENAME TO loss" 2>/dev/null
	reads report calls graph
}
f_first() {
	made
	sqlite3 t.db "UPDATE chunk SET first = 9223372036854775807 - records + 3"
	reads report calls graph "view -i"
}
f_first_text() {
	made
	sqlite3 t.db "UPDATE chunk SET first = 'word'"
	reads report calls graph "view -i"
}
snapshot() {
	"$tree/build/test/tool/maketrace" -n 300000 -c 2 -t 3 -l 9000 -m 20 t.db >/dev/null
	"$dt" view -i t.db >/dev/null 2>&1
	python3 "$root/test/cases/hostile.py" snapshot t.db "$1" >/dev/null 2>made || { echo "not tried: $(tail -n 1 made)"; return; }
	timed "$dt" sql t.db "SELECT count(*) FROM calls WHERE begin > (SELECT max(begin) * 3 / 4 FROM calls)"
	local said
	said=$(how $?)
	case $said in HARM*) echo "$said"; return ;; esac
	# the page, which reads a window in the middle
	timeout -k 2 30 "$dt" view -n t.db >address 2>log &
	local pid=$! i status
	for ((i = 0; i < 100; i++)); do [ ! -s address ] || break; sleep 0.1; done
	# windows everywhere
	python3 - "$(grep -o 'http[^ ]*' address)" <<-'P'
		import json, sys, urllib.request
		u = sys.argv[1] + "get/"
		def get(what):
		    try:
		        return urllib.request.urlopen(u + what, timeout=10).read()
		    except TimeoutError:
		        sys.exit(28)
		    except OSError as e:
		        sys.exit(28 if "timed out" in str(e) else 0)
		length = int(json.loads(get("trace")).get("length", 0)) or 4000000
		for i in range(60):
		    get("window?from=%d&to=%d&cells=50&tracks=0,1,2,3&depths=9,9,9,9" % (length * i // 60, length * i // 60 + 2000))
	P
	status=$?
	if ! kill "$(pgrep -P $pid)" 2>/dev/null; then wait $pid; how $?; return; fi
	wait $pid
	if [ $status = 28 ]; then echo "HARM: view gives no answer"; else echo "view answers, and ends"; fi
}
f_snapshot_self() { snapshot self; }
f_snapshot_function() { snapshot function; }
f_journal() {
	made 2000
	echo precious >victim
	python3 "$root/test/cases/hostile.py" journal t.db "$PWD/victim"
	timed "$dt" sql t.db "SELECT count(*) FROM calls"
	timed "$dt" sql t.db "INSERT INTO activities(name, begin, end) VALUES('a', 1, 2)"
	if [ -e victim ]; then echo "nothing is deleted"; else echo "HARM: another file is deleted"; fi
}
f_gnuplot() {
	made 200
	python3 -c 'import sqlite3
with sqlite3.connect("t.db") as db: db.execute("UPDATE function SET name = ?", ("x\nEND_OF_CALLS\n!touch owned\n#",))'
	timed "$dt" plot -o x.gp t.db || timed "$dt" plot -t 1 -o x.gp t.db
	[ -e x.gp ] || { echo "not tried: $(tail -n 1 log)"; return; }
	(cd "$PWD" && gnuplot -e "set terminal svg; set output 'x.svg'" x.gp >/dev/null 2>&1)
	if [ -e owned ]; then echo "HARM: gnuplot runs a command"; else echo "it runs nothing"; fi
}
f_sparse() {
	echo 'int foo(int x) { return x * 3; } int main(int n, char **v) { return foo(n); }' >p.c
	gcc -O0 -o p p.c
	python3 - <<-'P'
		import struct
		b = bytearray(open("p", "rb").read())
		shoff, = struct.unpack_from("<Q", b, 40)
		n, = struct.unpack_from("<H", b, 60)
		t = [i for i in range(n) if struct.unpack_from("<I", b, shoff + 64 * i + 4)[0] == 2][0]
		struct.pack_into("<Q", b, shoff + 64 * t + 32, 3 << 30)
		with open("hole", "wb") as f:
		    f.write(b)
		    f.truncate(4 << 30)
	P
	chmod +x hole
	timeout -k 2 60 /usr/bin/time -f 'peak %M' "$dt" list ./hole >log 2>&1
	local peak
	peak=$(grep -oP '^peak \K.*' log)
	if [ -z "$peak" ]; then echo "HARM: does not end within 60 s"
	elif [ "$peak" -gt 1000000 ]; then echo "HARM: $((peak / 1000)) MB"; else echo "$((peak / 1000)) MB"; fi
}
f_terminal() {
	local c bad=
	made 200
	python3 -c 'import sqlite3
with sqlite3.connect("t.db") as db: db.execute("UPDATE function SET name = ? || id", ("\x1b]0;owned\x07\x1b[2J",))'
	for c in report calls graph cat; do
		"$dt" $c t.db >out 2>&1
		if grep -q $'\x1b\\|\x07' out; then bad="$bad $c"; fi
	done
	if [ -n "$bad" ]; then echo "HARM: raw in$bad"; else echo "shown plain"; fi
}
f_csv() {
	made 200
	sqlite3 t.db "UPDATE function SET name='=cmd|calc'"
	timed "$dt" export --csv -o x.csv t.db
	if grep -qE '(^|,)"?=cmd' x.csv; then echo "HARM: a formula"; else echo "no formula"; fi
}

# ---- the net, limits, how it is built

f_connections() {
	made 2000
	"$dt" view -n t.db >address 2>log &
	local pid=$! i
	for ((i = 0; i < 100; i++)); do [ ! -s address ] || break; sleep 0.1; done
	python3 - "$(grep -o 'http[^ ]*' address)" <<-'P'
		import socket, sys, urllib.parse, urllib.request
		u = sys.argv[1]
		at = urllib.parse.urlparse(u)
		idle = []
		for i in range(64):
		    s = socket.socket()
		    s.settimeout(2)
		    try:
		        s.connect((at.hostname, at.port))
		        idle.append(s)
		    except OSError:
		        pass
		try:
		    urllib.request.urlopen(u + "get/trace", timeout=5).read()
		    print("the owner is answered")
		except Exception as e:
		    print("HARM: the owner is locked out")
	P
	kill $pid
	wait $pid
}
f_token() {
	made 2000
	mkdir -p bin
	printf '#!/bin/sh\necho "$@" >%s/opened\nsleep 3\n' "$PWD" >bin/xdg-open
	chmod +x bin/xdg-open
	DISPLAY=:9 PATH=$PWD/bin:$PATH "$dt" view t.db >address 2>log &
	local pid=$! i word
	for ((i = 0; i < 50; i++)); do [ ! -e opened ] || break; sleep 0.1; done
	word=$(grep -o 'http[^ ]*' address | sed 's|.*:[0-9]*/||; s|/.*||' | head -n 1)
	if [ ! -e opened ]; then echo "not tried: no browser was started"
	elif [ -n "$word" ] && grep -q "$word" opened; then echo "HARM: the word is in a command line"
	else echo "the word is in no command line"; fi
	kill $pid
	wait $pid
}
f_idle() {
	made 2000
	"$dt" serve --listen "unix:$PWD/s.sock" t.db >address 2>log &
	local pid=$! i
	for ((i = 0; i < 100; i++)); do [ ! -S s.sock ] || break; sleep 0.1; done
	[ -S s.sock ] || { echo "not tried: $(tail -n 1 log)"; return; }
	python3 - "$dt" <<-'P'
		import socket, subprocess, sys, time
		idle = []
		for i in range(300):
		    s = socket.socket(socket.AF_UNIX)
		    s.settimeout(1)
		    try:
		        s.connect("s.sock")
		        idle.append(s)
		    except OSError:
		        break
		try:
		    r = subprocess.run([sys.argv[1], "fetch", "-o", "got.db", "unix:s.sock"], timeout=20, capture_output=True)
		    print("the next client is answered" if r.returncode == 0 else "HARM: refused")
		except subprocess.TimeoutExpired:
		    print("HARM: the next client waits for ever")
	P
	kill $pid
	wait $pid
}
f_descriptors() {
	echo 'for i in $(seq 100); do sleep 1 & done; wait' >many.sh
	(ulimit -n 60; exec timeout -k 2 60 "$dt" record -f -o t.db -F 'sleep:main' sh many.sh) >log 2>&1
	local status=$? n
	n=$(sqlite3 t.db "SELECT count(*) FROM process" 2>/dev/null)
	if [ "${n:-0}" -lt 101 ] && ! grep -q 'ulimit\|descriptor\|open files\|of 1[0-9]* processes' log; then
		echo "HARM: $n of 101 processes in the file, and no word of it ($status)"
	else echo "$n of 101 processes; $(grep -c 'ulimit' log) messages ($status)"; fi
}
f_built() {
	local lacks=
	readelf -d "$dt" | grep -q 'BIND_NOW\|NOW' || lacks="$lacks BIND_NOW"
	readelf -h "$dt" | grep -q 'DYN' || lacks="$lacks PIE"
	readelf -sW "$dt" | grep -q '__stack_chk_fail' || lacks="$lacks stack-protector"
	readelf -sW "$dt" | grep -q '_chk@' || lacks="$lacks FORTIFY"
	if [ -n "$lacks" ]; then echo "HARM: without$lacks"; else echo "has all"; fi
}

finding=(
	"1|bytes|the memory's size made 0" "1|stride|the rings' distance" "1|ring_size|a ring's size" "1|cores|the number of rings"
	"1|pointers|the list of robust mutexes"
	"2|users|programs of two users in one session" "2|setuid|a setuid program that is started"
	"3|truncated|the session's file, caught while it is mapped"
	"4|position|positions of 1 << 61, then Ctrl-C" "4|code|injected code overwritten, then Ctrl-C"
	"5|gnuplot|a name with a newline in plot's commands"
	"6|snapshot_self|a snapshot's segment that is below itself" "6|snapshot_function|function 0xffffffff in a snapshot"
	"6|loss|losses without the table's key" "6|first|chunk.first near INT64_MAX" "6|first_text|chunk.first a word"
	"7|journal|a hot journal beside a trace, sql" "8|sparse|an ELF file with a table of 3 GB" "9|terminal|names with escape sequences"
	"low|connections|64 idle connections, view" "low|token|the word of view's address" "low|idle|300 idle clients, serve"
	"low|descriptors|ulimit -n 60, 100 children" "low|csv|a name that is a formula" "low|built|how it is built"
)

header="| finding | tried | $(printf '%s | ' "${@##*/}")"
echo "${header% }"
echo "|---|---|$(printf -- '---|%.0s' "$@")"
for f in "${finding[@]}"; do
	IFS='|' read -r number name text <<<"$f"
	case " ${ONLY-$name} " in *" $name "*) ;; *) continue ;; esac
	line="| $number | $text ($name) |"
	for tree in "$@"; do
		tree=$(cd "$tree" && pwd)
		dt=$tree/build/devtrace
		dir=$(mktemp -d "$work/XXXXXX") && chmod 777 "$dir" && cd "$dir" || exit 1
		export XDG_RUNTIME_DIR=$dir/run
		mkdir -m 700 run
		gcc -O2 -w -I"$tree" -o geometry "$root/test/hostile/geometry.c"
		gcc -O2 -w -o neighbour "$root/test/hostile/neighbour.c"
		gcc -O2 -w -pthread -I"$root" -o scribble "$root"/test/hostile/{scribble,code,lives,requests}.c
		line="$line $("f_$name" 2>/dev/null | head -n 1) |"
		cd "$work" && rm -rf "$dir"
	done
	echo "$line"
done
