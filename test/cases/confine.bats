# SPDX-License-Identifier: MIT
# What somebody can do who has taken a command that only reads: code runs in each, behind the confinement, and tries
# (test/hostile/taken.c). And what such a command asks of the kernel when nobody has: what doc/security.md says.
load common

setup() {
	cd "$dir" || return
	[ -e taken.so ] || {
		gcc -O1 -shared -fPIC -o taken.so "$root/test/hostile/taken.c" -ldl
		"$dt" record -o t.db ./plain 12 >/dev/null || true
		"$dt" record -o u.db ./plain 11 >/dev/null || true
		"$dt" cat t.db >text
		"$dt" export --barrelfish --absolute -o dump t.db 2>/dev/null
		echo 'subsystem s { event one "the first", };' >definition
		"$dt" merge -o fleet.db one=t.db two=u.db >/dev/null
		"$dt" export --chrome -o chrome.json t.db
		"$dt" export --perfetto -o trace.pftrace t.db
		"$dt" export --ctf -o ctf-in t.db 2>/dev/null || "$dt" export --ctf ctf-in t.db
		echo secret >secret
		chmod 600 secret
		mkdir -p elsewhere
	}
	for f in t.db u.db text dump fleet.db chrome.json trace.pftrace; do
		[ -s $f ]
	done
	sleep 1000 3>&- &
	other=$!
	rm -f port u.sock address
	python3 -c '
import socket, time
net = socket.socket(); net.bind(("127.0.0.1", 0)); net.listen(100)
path = socket.socket(socket.AF_UNIX); path.bind("u.sock"); path.listen(100)
open("port.new", "w").write(str(net.getsockname()[1]))
import os; os.rename("port.new", "port")
time.sleep(1000)' 3>&- &
	listener=$!
	until [ -e port ]; do sleep 0.02; done
	export TAKEN_SECRET=$dir/secret TAKEN_MAKE=$dir/elsewhere/made TAKEN_PID=$other TAKEN_PORT TAKEN_SOCKET=$dir/u.sock TAKEN_STATED=t.db
	TAKEN_PORT=$(<port)
}

teardown() {
	for p in "$other" "$listener" "${session-}" "${server-}"; do [ -z "$p" ] || kill "$p" 2>/dev/null || true; done
	check_traces
}

# what each of these commands is given, one a line; those that end by themselves
commands() {
	cat <<-'C'
		report t.db
		sum -e count t.db
		calls t.db
		graph t.db fib
		check -a t.db
		cat -l t.db
		hist t.db
		hist --value 1 text
		hist -o hist.svg t.db
		count t.db
		flame -o flame.svg t.db
		plot -t 1 -o plot.svg t.db
		plot -t 1 -o plot.gp t.db
		plot -t 1 --text t.db
		plot -t 1 --text text
		diff t.db u.db
		diff --first --arguments t.db u.db
		export --chrome t.db
		export --perfetto -o out.pftrace t.db
		export --speedscope -o out.json t.db
		export --folded t.db
		export --callgrind t.db
		export --csv t.db
		export --barrelfish --absolute t.db
		export --ctf ctf t.db
		export --parquet -o out.parquet t.db
		export --clickhouse -o out.rows t.db
		export --otlp -o out.otlp t.db
		path t.db
		merge -o merged.db one=t.db two=u.db
		merge fleet.db
		report fleet.db
		calls fleet.db@one
		sql t.db SELECT(count(*))FROM(calls)
		sql t.db INSERT/**/INTO/**/activities(name,begin,end)VALUES('a',1,2)
		view -i t.db
		events --header - definition
		events --json events.json --trace u.db definition
		import --barrelfish -o imported.db dump
		import -o imported.db chrome.json
		import -o imported.db trace.pftrace
		import -o imported.db ctf-in
		list -v ./plain
		list -v /bin/true
	C
}

# preload LACKS COMMAND...: with code in it; LACKS as in taken.c, "-": nothing
preload() {
	local lacks=$1
	shift
	rm -rf ctf
	[ "$lacks" != - ] || lacks=
	# the sanitizers want to come first
	env TAKEN_LACKS="$lacks" LD_PRELOAD="$(preloaded)" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" "$dt" "$@"
}

# in the background; $! is the command itself
preload_beside() {
	TAKEN_LACKS='' LD_PRELOAD="$(preloaded)" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" exec "$dt" "$@"
}

preloaded() {
	local asan
	asan=$(ldd "$dt" | awk '/libasan/ { print $3 }')
	echo "$asan $dir/taken.so"
}

is_sanitized() {
	ldd "$dt" | grep -q libasan
}

# what can not be had here without any confinement either is no proof (a container, a kernel without it)
core="read make fork run signal memory"

# all_refused FILE [NAME...]: of what was tried all was, but these; a fleet is read by a process of its own before.
# $parts: how many processes have tried
all_refused() {
	local file=$1 name tried all parts=${parts:-1}
	shift
	case "${words[*]-}" in *fleet.db*) parts=2 ;; esac
	tried=$(grep -c '^\(taken\|refused\): ' "$file") all=$(grep -c '	say("' "$root/test/hostile/taken.c")
	[ "$tried" = $((all * parts)) ] || { echo "not all was tried"; cat "$file"; return 1; }
	while read -r name; do
		case " $* " in *" ${name// /_} "*) continue ;; esac
		echo "$name could be had"
		cat "$file"
		return 1
	done < <(sed -n 's/^taken: //p' "$file")
}

# what the sanitizers need, they have (process/confine.c)
own="ask_for_its_own"
! ldd "${DEVTRACE_BUILD:-${DEVTRACE_ROOT:-$PWD}/build}/devtrace" | grep -q libasan || own="$own fork trace signal vm rights"

@test "confine: code in a command that reads gets at nothing else" {
	local words n=0
	while read -ra words; do
		case ${words[0]} in list) TAKEN_STATED=${words[-1]} ;; *) TAKEN_STATED=t.db ;; esac
		# so that the test can fail: without all of it the same can be had
		preload "landlock seccomp rights" "${words[@]}" >/dev/null 2>err || true
		for t in $core; do
			grep -qx "taken: $t" err || { echo "${words[*]}: without confinement, $t can not be had either"; cat err; return 1; }
		done
		rm -f imported.db
		preload - "${words[@]}" >/dev/null 2>err || true
		all_refused err $own || { echo "${words[*]}"; return 1; }
		n=$((n + 1))
	done < <(commands)
	[ $n -ge 41 ]
	[ ! -e elsewhere/made ]
}

@test "confine: each part of it holds by itself" {
	# without Landlock: system calls; files are open
	preload landlock report t.db >/dev/null 2>err
	is_sanitized || all_refused err $own read make
	# without seccomp: files, TCP, other processes
	preload seccomp report t.db >/dev/null 2>err
	for t in read make port trace memory; do grep "^refused: $t:" err; done
	[ "$(sed -n 's/^taken: run$/x/p' err)" = "" ]
}

@test "confine: on a kernel without Landlock or seccomp commands say the same" {
	local words lacks
	. "$BATS_TEST_DIRNAME/../share.bash"
	while read -ra words; do
		rm -f imported.db
		"$dt" "${words[@]}" >want 2>want.err || true
		for lacks in landlock seccomp "landlock seccomp rights"; do
			rm -f imported.db
			preload "$lacks" "${words[@]}" >got 2>got.err || true
			cmp want got || { echo "${words[*]} without $lacks"; cat got.err; return 1; }
			grep -v '^taken: \|^refused: ' got.err | diff want.err - || { echo "${words[*]} without $lacks"; return 1; }
		done
	done < <(commands | grep -v '^check\|^view\|^sql.*INSERT\|--trace' | share)
}

@test "confine: serve, fetch and view, and what follows a session" {
	local p
	TAKEN_STATED=t.db preload_beside serve --listen "unix:$dir/served.sock" t.db >address 2>served.err 3>&- &
	server=$!
	until [ -s address ]; do kill -0 $server; sleep 0.02; done
	preload - fetch -o fetched.db "unix:$dir/served.sock" 2>fetched.err
	"$dt" check -q fetched.db
	kill $server
	wait $server || true
	server=
	# it makes its answers in children, and may end them: not others, where the kernel knows the difference
	all_refused served.err $own fork
	TAKEN_STATED=fetched.db all_refused fetched.err $own

	rm -f address
	preload_beside view -n t.db >address 2>view.err 3>&- &
	server=$!
	until [ -s address ]; do kill -0 $server; sleep 0.02; done
	curl -sS "$(cat address)get/trace" >answer
	grep -q '"records"' answer || { cat answer; return 1; }
	kill $server
	wait $server || true
	server=
	all_refused view.err $own

	# two of them beside each other
	rm -f address
	preload_beside view -n t.db u.db >address 2>view.err 3>&- &
	server=$!
	until [ -s address ]; do kill -0 $server; sleep 0.02; done
	curl -sS "$(grep -m 1 -o 'http[^ ]*' address)get/trace" >answer
	kill $server
	wait $server || true
	server=
	parts=2 all_refused view.err $own

	"$dt" record -o s.db ./spin 3>&- >/dev/null &
	session=$!
	until "$dt" ctl status >/dev/null 2>&1; do kill -0 $session; sleep 0.05; done
	preload - list -v $session >/dev/null 2>err
	TAKEN_STATED=/bin/true all_refused err $own
	preload - report s.db >/dev/null 2>err
	TAKEN_STATED=s.db all_refused err $own
	TAKEN_STATED=s.db preload_beside report --live --json s.db >live 2>err 3>&- &
	server=$!
	until [ -s live ]; do kill -0 $server; sleep 0.02; done
	kill -INT $server
	wait $server || true
	server=
	all_refused err $own
}

@test "confine: tui, which has the terminal" {
	local lacks
	for lacks in "landlock seccomp rights" ""; do
		(sleep 2; printf q) | TAKEN_LACKS=$lacks TERM=xterm script -qec "env LD_PRELOAD='$(preloaded)' ASAN_OPTIONS='${ASAN_OPTIONS-}:verify_asan_link_order=0' '$dt' tui t.db" /dev/null | tr -d '\r' | grep -oE '(taken|refused): .*' >err
		if [ -n "$lacks" ]; then
			for t in $core; do grep -qx "taken: $t" err; done
			rm -f elsewhere/made
		else
			all_refused err $own
		fi
	done
	[ ! -e elsewhere/made ]
}

@test "confine: gnuplot is told by a trace, and can write nothing but the picture" {
	mkdir -p bin home
	cat >bin/gnuplot <<-'S'
		#!/bin/sh
		cat "$1" >/dev/null || exit 9
		(: >"$TAKEN_MAKE") 2>/dev/null && echo "made another file" >&2
		(: >"$HOME/.bashrc") 2>/dev/null && echo "made a file at home" >&2
		grep NoNewPrivs:.1 /proc/self/status >/dev/null || echo "may get rights" >&2
		echo picture >"$(sed -n "s/^set output '\(.*\)'/\1/p" "$1")"
	S
	chmod +x bin/gnuplot
	HOME=$dir/home PATH=$dir/bin:$PATH run "$dt" plot -t 1 -o p.svg t.db
	[ "$status" = 0 ]
	[ "$output" = "" ]
	[ "$(cat p.svg)" = picture ]
	# and can do all of that by itself
	echo "set output '$dir/by-itself'" >script
	HOME=$dir/home TAKEN_MAKE=$dir/elsewhere/x run bin/gnuplot script
	[ "${lines[0]}" = "made another file" ]
	rm -f elsewhere/x home/.bashrc
}

@test "confine: what is needed is not denied, and no other system call is used than is documented" {
	if is_sanitized; then skip "of what is built for use"; fi
	strace -o /dev/null true 2>/dev/null || skip "strace can not trace here"
	commands >all
	strace_one() { strace -f -qq -o trace "$dt" "$@" >/dev/null 2>&1 || true; }
	local words
	: >used
	while read -ra words; do
		rm -rf ctf imported.db
		strace_one "${words[@]}"
		python3 - "$root/doc/security.md" "${words[*]}" <<-'P'
			import re, sys
			doc = open(sys.argv[1]).read()
			block = re.search(r"<!-- calls -->\n```\n(.*?)```", doc, re.S).group(1)
			known = set(block.split())
			inside, outside, seen, denied = set(), set(), set(), []
			first = None
			for line in open("trace"):
			    pid, rest = line.split(None, 1)
			    first = first or pid
			    made = re.match(r"(?:clone3?|fork|vfork)\(.*\) += (\d+)$", rest.strip()) or \
			        re.match(r"<\.\.\. (?:clone3?|fork|vfork) resumed>.*\) += (\d+)$", rest.strip())
			    if made and pid not in inside:
			        outside.add(made.group(1))
			    elif made:
			        inside.add(made.group(1))
			    if "SECCOMP_SET_MODE_FILTER" in rest and "{len=" in rest and pid == first:
			        inside.add(pid)
			        continue
			    call = re.match(r"(\w+)\(", rest)
			    if pid not in inside or not call:
			        continue
			    seen.add(call.group(1))
			    # files are asked for outside, where that refused them: that is how it is meant
			    if " EPERM " in rest or (" EACCES " in rest and not re.match("openat|open|rename|unlink|rmdir", rest)):
			        denied.append(rest.strip())
			if first not in inside:
			    sys.exit(sys.argv[2] + ": is not confined")
			if denied:
			    sys.exit(sys.argv[2] + ": denied: " + "; ".join(denied))
			more = seen - known
			if more:
			    sys.exit(sys.argv[2] + ": not documented: " + " ".join(sorted(more)))
			if "read" not in seen and "pread64" not in seen:
			    sys.exit(sys.argv[2] + ": read nothing behind its confinement")
		P
	done <all
	# what is documented is what the filter has
	python3 - "$root" <<-'P'
		import re, sys
		doc = re.search(r"<!-- calls -->\n```\n(.*?)```", open(sys.argv[1] + "/doc/security.md").read(), re.S).group(1)
		code = open(sys.argv[1] + "/process/confine.c").read()
		lists = "".join(re.search(r"static const int %s\[\] = {(.*?)};" % n, code, re.S).group(1) for n in ("always", "changes"))
		have = set(re.findall(r"CALL\((\w+)\)", lists)) | {"ioctl", "clone", "prctl", "prlimit64", "tgkill", "clone3"}
		if have != set(doc.split()):
		    sys.exit("of one only: " + " ".join(sorted(have ^ set(doc.split()))))
	P
}

@test "confine: nothing is left behind, also of who is killed" {
	mkdir -p temporary
	TMPDIR=$dir/temporary "$dt" calls t.db >/dev/null
	TMPDIR=$dir/temporary "$dt" plot -t 1 -o p.svg t.db
	TMPDIR=$dir/temporary "$dt" export --ctf ctf.kept t.db
	[ "$(ls temporary)" = "" ]
	rm -rf ctf.kept
	# what it would keep is kept already: it writes nothing
	"$dt" view -i t.db
	TMPDIR=$dir/temporary "$dt" view -n t.db >address 2>view.err 3>&- &
	server=$!
	until [ -s address ]; do kill -0 $server; sleep 0.02; done
	[ "$(ls temporary)" != "" ]
	kill -KILL $server
	wait $server || true
	server=
	for _ in $(seq 250); do
		if [ "$(ls temporary)" = "" ]; then break; fi
		sleep 0.02
	done
	[ "$(ls temporary)" = "" ]
	[ "$(find . -name '*-new.*' -o -name '*.part-*')" = "" ]
}

@test "confine: root reads what is others', and has no right but that" {
	[ "$(id -u)" = 0 ] || skip "root's alone"
	mkdir -p private
	cp t.db private/t.db
	chown -R nobody private
	chmod 700 private
	chmod 600 private/t.db
	# in a container that has not got it either there is nothing to see
	if setpriv --bounding-set -dac_override,-dac_read_search cat private/t.db >/dev/null 2>&1; then
		skip "others' files are open here"
	fi
	TAKEN_STATED=private/t.db preload - report private/t.db >/dev/null 2>err
	all_refused err $own rights
	"$dt" list ./plain
	TAKEN_STATED=t.db preload - report t.db >/dev/null 2>err
	all_refused err $own
	chown -R root private
}

@test "confine: sql opens a trace for writing when a statement writes to it" {
	strace -o /dev/null true 2>/dev/null || skip "strace can not trace here"
	export ASAN_OPTIONS=detect_leaks=0 # which can not be under strace
	cp t.db w.db
	strace -f -qq -e trace=openat,open -o trace "$dt" sql w.db "SELECT count(*) FROM activities WHERE name = 'insert'"
	grep -q 'w\.db", O_RDONLY' trace
	# in a string a word counts, too: what it takes is a right that is not used
	strace -f -qq -e trace=openat,open -o trace "$dt" sql w.db "SELECT count(*) FROM calls"
	run grep 'w\.db[^"]*", [^)]*O_RDWR' trace
	[ "$output" = "" ]
	before=$(sha256sum <w.db)
	run "$dt" sql w.db "CREATE TABLE x(y)"
	[ "$status" = 1 ]
	[ "$(sha256sum <w.db)" = "$before" ]
	"$dt" sql w.db "INSERT INTO activities(name, begin, end) VALUES('mine', 1, 2)"
	"$dt" sql --no-header --csv w.db "SELECT name FROM activities WHERE name <> 'a'" >names
	[ "$(tr -d '\r' <names)" = mine ] || { cat names; return 1; }
	"$dt" sql w.db "DROP TABLE activities"
	"$dt" sql w.db "ATTACH 'attached.db' AS o; CREATE TABLE o.c AS SELECT * FROM calls"
	[ -s attached.db ]
	"$dt" check -q w.db
}
