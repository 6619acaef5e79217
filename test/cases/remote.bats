# SPDX-License-Identifier: MIT
# A session used from another host: doc/remote.md's ways over a network namespace.
load session

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root to make a network"
	export XDG_RUNTIME_DIR=$dir/run
	obeyers=() sessions=() servers=()
	cd "$BATS_TEST_TMPDIR" || return 1
	net=dt$$
	ip netns add "$net"
	ip link add "$net" type veth peer name eth0 netns "$net"
	ip addr add 10.213.77.1/30 dev "$net"
	ip link set "$net" up
	ip -n "$net" addr add 10.213.77.2/30 dev eth0
	ip -n "$net" link set eth0 up
	start_obey
	begin t "$pid"
	socket=$XDG_RUNTIME_DIR/devtrace/t.sock
}

teardown() {
	local p
	for p in "${servers[@]}"; do kill "$p" 2>/dev/null || true; done
	end_session
	check_traces || return 1
	ip netns del "$net" 2>/dev/null || true
	ip link del "$net" 2>/dev/null || true
}

# from the other host, which knows nothing of this one's sessions
there() {
	ip netns exec "$net" env -u XDG_RUNTIME_DIR "$@"
}

listens() { ss -Hltn "sport = :$1" | grep -q . || there ss -Hltn "sport = :$1" | grep -q .; }

@test "check-086-remote: ctl and cat through a socket that is led over the network" {
	socat TCP-LISTEN:7777,bind=10.213.77.1,reuseaddr,fork "UNIX-CONNECT:$socket" 3>&- &
	servers+=($!)
	until_true listens 7777
	ip netns exec "$net" socat "UNIX-LISTEN:$PWD/t.sock,fork,mode=600" TCP:10.213.77.1:7777 3>&- &
	servers+=($!)
	until_true test -S t.sock
	there "$dt" ctl -s "$PWD/t.sock" trace add new a
	there "$dt" ctl -s "$PWD/t.sock" trace a on
	there "$dt" ctl -s "$PWD/t.sock" start
	diff <(there "$dt" ctl -s "$PWD/t.sock" | grep -v slothits) <(ctl | grep -v slothits)
	act add 1000
	"$dt" cat -s t -p >here
	there "$dt" cat -s "$PWD/t.sock" -p >there
	cmp here there
	[ "$(wc -l <there)" = 2000 ]
	run there "$dt" ctl -s "$PWD/t.sock" bogus
	[ "$status" = 1 ]
	one_line "unknown command 'bogus'"
	[ "$(there "$dt" shell -s "$PWD/t.sock" -c print | wc -l)" = 2000 ]
}

@test "check-086-remote: cat -f through nc" {
	ip netns exec "$net" timeout 60 socat -u TCP-LISTEN:7778,bind=10.213.77.2 "CREATE:$PWD/there" 3>&- &
	receiver=$!
	listening() { there ss -Hltn "sport = :7778" | grep -q .; }
	until_true listening
	"$dt" cat -s t -f 3>&- > >(exec nc -N 10.213.77.2 7778 3>&-) &
	sender=$!
	printf 'size 16\ntrace add new a\ntrace a on\nstart\n' | ctl -
	act add 5000
	ctl quit
	wait "$sender"
	wait "$receiver"
	[ "$(stat -c %s there)" = $((10000 * 121)) ]
}

@test "check-086-remote: ssh host devtrace ..., and ssh -L of the socket" {
	ssh-keygen -q -t ed25519 -N '' -f host
	ssh-keygen -q -t ed25519 -N '' -f user
	cat >sshd_config <<-C
		ListenAddress 10.213.77.1:7722
		HostKey $PWD/host
		AuthorizedKeysFile $PWD/user.pub
		PidFile none
		StrictModes no
		PermitRootLogin prohibit-password
		UsePAM no
	C
	mkdir -p /run/sshd
	/usr/sbin/sshd -D -f "$PWD/sshd_config" 2>sshd.log 3>&- &
	servers+=($!)
	until_true listens 7722
	chmod 600 user
	remote=(ip netns exec "$net" ssh -F none -q -i user -p 7722 -o StrictHostKeyChecking=no
		-o UserKnownHostsFile=/dev/null -o BatchMode=yes -o ExitOnForwardFailure=yes)
	[ "$("${remote[@]}" 10.213.77.1 "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR $dt ctl -s t" | head -1)" = "logsize 8192" ]
	"${remote[@]}" 10.213.77.1 "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR $dt ctl -s t trace 'ad*' new a"
	"${remote[@]}" -N -L "$PWD/x.sock:$socket" 10.213.77.1 3>&- &
	servers+=($!)
	until_true test -S x.sock
	there "$dt" ctl -s "$PWD/x.sock" - <<<$'trace a on\nstart'
	act add 20
	[ "$(there "$dt" cat -s "$PWD/x.sock" | wc -l)" = 40 ]
	kill "${servers[1]}"
	no_child() { ! pgrep -P "${servers[0]}" >/dev/null; }
	until_true no_child
}
