# SPDX-License-Identifier: MIT
# devtrace merge without pings and numbers: two machines' clocks from bytes of TCP connections. What is true is known
# from test/cases/streams.py, which makes machines up, or because both traces are of this machine.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
}

teardown_file() {
	# where the case that made them did not come to its end
	for n in $(cat "$dir/namespaces" 2>/dev/null); do ip netns del "$n" 2>/dev/null || true; done
	rm -rf "$dir"
}

setup() {
	cd "$dir"
	rm -rf made ./*.db*
}

# made SEED [FAULT]: a fleet of made-up machines, made/fleet.db; what merge has said is in $output, and what
# merge.py says of each record's time in $checked
made() {
	rm -rf made
	mkdir made
	python3 "$root/test/cases/streams.py" made "$@"
	for host in alpha beta; do
		"$root/build/test/tool/writetrace" made/$host.db <made/$host.txt
	done
	run "$dt" merge -o made/fleet.db made/alpha.db made/beta.db
	[ "$status" = 0 ]
	checked=$(python3 "$root/test/cases/merge.py" check made "$dt" made/fleet.db)
	echo "$* $checked"
	[ "$(value outside)" = 0 ]
}

# value KEY: of what merge.py has printed
value() {
	sed -n "s/.*\b$1=\([0-9.]*\).*/\1/p" <<<"$checked"
}

# connections [WHERE]: how many decide
connections() {
	sqlite3 made/fleet.db "SELECT count(DISTINCT item) FROM evidence WHERE kind = 'stream' ${1:+AND $1}"
}

# known: bounds are known of all records
known() {
	[ "$(value records)" = "$(value bounded)" ]
}

@test "streams: made-up connections: the time of each record is right within its bounds" {
	for seed in 1 2 3; do
		made $seed
		known
		[ "$(connections)" -gt 4 ]
		[[ $output != *note* ]]
		# a round trip takes 30 us and more
		awk -v w="$(value width_us)" -v o="$(value off_us)" 'BEGIN { exit !(w < 100 && o < 50) }'
	done
}

@test "streams: what programs do is understood: MSG_PEEK, fork, dup, descriptors used again" {
	local all
	made 4
	all=$(connections)
	for how in peek fork dup again; do
		made 4 $how
		known
		[ "$(connections)" = "$all" ]
		[[ $output != *note* ]]
	done
}

@test "streams: connections of which something is not known are not used, and that is said" {
	local not='note: of the TCP connections between these machines'
	for how in hole open; do
		made 5 $how
		known
		[ "$(connections)" = 1 ]
		[[ $output == *"$not 1 are evidence, 7 are not: as many bytes"* ]]
	done
	# nothing is wrong with what servers send
	for how in late threads; do
		made 5 $how
		known
		[ "$(connections from_host=0)" = 1 ]
		[ "$(connections from_host=1)" -gt 2 ]
	done
	made 5 nobody
	known
	[ "$(connections)" = 1 ]
	[[ $output == *'note: of 14 ends of TCP connections the traces do not say whose they are'* ]]
	made 5 alien
	known
	[ "$(connections)" = 1 ]
	made 5 reuse
	[[ $output == *'note: 16 ends of TCP connections are not used, since others have the same addresses'* ]]
	[[ $output == *'is unknown: nothing in the traces says so'* ]]
	made 5 loss
	[[ $output == *"$not 0 are evidence, 8 are not"* ]]
	[[ $output == *'is unknown: nothing in the traces says so'* ]]
}

# networks: two network namespaces, $a with 10.77.2.1 and $b with 10.77.2.2
networks() {
	local n
	[ "$(id -u)" = 0 ] || skip "namespaces need root"
	a=dts$$a b=dts$$b
	echo $a $b >>namespaces
	ip netns add $a && ip netns add $b || skip "no network namespaces here"
	ip link add veth0 netns $a type veth peer name veth0 netns $b
	for n in $a $b; do
		ip -n $n addr add 10.77.2.$([ $n = $a ] && echo 1 || echo 2)/24 dev veth0
		ip -n $n link set veth0 up
	done
}

# shifted: merges t.db, and u.db as of a machine whose counter is 10,000,000,000 ticks ahead and 50 ppm faster; what
# merge has said is in $output, and what merge.py says of each record's time in $checked
shifted() {
	ip netns del $a
	ip netns del $b
	"$dt" check -q t.db
	"$dt" check -q u.db
	cp u.db v.db
	"$root/build/test/tool/shifttrace" v.db 10000000000 50
	run "$dt" merge -o fleet.db one=t.db other=v.db
	echo "$output"
	[ "$status" = 0 ]
	checked=$(python3 "$root/test/cases/merge.py" same "$dt" fleet.db one other u.db)
	echo "$checked"
	[ "$(value outside)" = 0 ]
	# no pair of calls is drawn backward, and each piece of evidence is true of the clock that both had
	sqlite3 fleet.db "SELECT from_host, from_ticks, to_ticks FROM evidence WHERE kind = 'stream'" >pairs
	[ "$(wc -l <pairs)" -gt 0 ]
	first=$(sqlite3 u.db 'SELECT min(min_ticks) FROM chunk')
	awk -F'|' -v first="$first" 'function own(t) { return first + (t - first - 10000000000) / 1.00005 }
		{ from = $1 ? own($2) : $2; to = $1 ? $3 : own($3); if (from > to + 2) { print; bad = 1 } }
		END { exit bad }' pairs
}

# serve REQUESTS: python's own HTTP server in $b, under devtrace, as $server
serve() {
	rm -f ready
	head -c 5000 /dev/zero | tr '\0' x >page
	ip netns exec $b "$dt" record --sockets -o u.db /usr/bin/python3 "$root/test/cases/streams-http.py" serve "$1" 3>&- &
	server=$!
	for _ in $(seq 200); do [ -e ready ] && break; sleep 0.05; done
}

@test "streams: two network namespaces, HTTP by Python's libraries as they are, one shifted by 5 s and 50 ppm" {
	networks
	serve 2
	ip netns exec $a "$dt" record --sockets -o t.db /usr/bin/python3 "$root/test/cases/streams-http.py" ask 2 100
	wait $server
	shifted
	# with a load of 10 on two cores, 350 to 500 and 20 to 60; in the middle 64 to 102 are guaranteed, and 43 with less
	awk -v w="$(value width_us)" -v o="$(value off_us)" 'BEGIN { exit !(w < 2000 && o < 1000) }'
	[ "$(sqlite3 fleet.db "SELECT count(DISTINCT item) FROM evidence WHERE kind = 'stream'")" = 2 ]
	[ "$(sqlite3 t.db "SELECT count(*) FROM sync WHERE kind = 'socket'")" -ge 2 ]
}

@test "streams: connections of curl that are short have their addresses by getsockname()" {
	networks
	serve 5
	for n in 1 2 3 4 5; do echo "http://10.77.2.2:8080/page"; done >urls
	# a connection for each, closed at once; nothing else says its address
	ip netns exec $a "$dt" record --sockets -o t.db curl -s -H 'Connection: close' $(cat urls) >got
	wait $server
	[ "$(wc -c <got)" = 25000 ]
	sqlite3 t.db "DELETE FROM sync WHERE kind = 'socket'"
	sqlite3 u.db "DELETE FROM sync WHERE kind = 'socket'"
	shifted
	[ "$(sqlite3 fleet.db "SELECT count(DISTINCT item) FROM evidence WHERE kind = 'stream'")" -ge 1 ]
}

@test "streams: the addresses of both ends of a connection are in the trace, of connect() and of accept4()" {
	"$dt" record --sockets -o t.db /usr/bin/python3 -S -c '
import socket, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
taken = server.accept()[0]
time.sleep(0.3)
for s in client, taken:
    print("%d,%s:%d,%s:%d" % (s.fileno(), *s.getsockname(), *s.getpeername()))' >own 2>err
	sqlite3 t.db "SELECT substr(id, instr(id, ',') + 1) FROM sync WHERE kind = 'socket'" | sort >seen
	sort own | diff - seen
	rm t.db
}
