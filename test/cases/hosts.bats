# SPDX-License-Identifier: MIT
# devtrace record --hosts: one command records on several hosts, and makes one trace of all. The hosts are network
# namespaces of this machine.
load devtrace
load wait

setup_file() {
	export dir
	dir=$(mktemp -d)
	cd "$dir"
	gcc -O1 -g -o slow -x c - <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
		int main(int argc, char **argv)
		{
			int n = 0, most = atoi(argv[1]);
			printf("%s says %s\n", getenv("DEVTRACE_HOST"), argv[2]);
			fflush(stdout);
			while (n < most) {
				n = work(n);
				usleep(10000);
			}
			return argc > 3 ? atoi(argv[3]) : 0;
		}
	C
	# by which a host is entered: ./enter HOST COMMAND
	cat >enter <<-'S'
		#!/bin/sh
		case $1 in
		a|b) exec ip netns exec dt$1$KEY sh -c "$2" ;;
		killed) echo $$ >killed.pid; exec sh -c "$2" ;;
		old) echo "devtrace-host 1 0.0 0 -"; sleep 5 ;;
		ancient) echo "devtrace: unrecognized option '--here'" >&2; exit 2 ;;
		strange) head -c 100000 /dev/urandom | tr -d '\n'; sleep 5 ;;
		*) exec sh -c "$2" ;;
		esac
	S
	chmod +x enter
	export KEY=$$ TMPDIR=$dir/tmp
	mkdir tmp
}

teardown_file() {
	# where the case that made them did not come to its end
	for n in a b; do ip netns del "dt$n$KEY" 2>/dev/null || true; done
	rm -rf "$dir"
}

setup() {
	cd "$dir"
	rm -rf fleet killed.pid
}

# the lines about one host
of() {
	grep "^\(devtrace: \)\?$1: " <<<"$output"
}

# nothing is left where the hosts record
nothing_left() {
	local i
	for i in $(seq 50); do
		[ -n "$(ls tmp)" ] || return 0
		sleep 0.1
	done
	ls -R tmp
	return 1
}

@test "record --hosts: two namespaces and one that is killed midway, by one command: one fleet" {
	[ "$(id -u)" = 0 ] || skip "namespaces need root"
	local n
	for n in a b; do ip netns add dt$n$KEY || skip "no network namespaces here"; done
	ip link add veth0 netns dta$KEY type veth peer name veth0 netns dtb$KEY
	for n in a b; do
		ip -n dt$n$KEY addr add 10.78.1.$([ $n = a ] && echo 1 || echo 2)/24 dev veth0
		ip -n dt$n$KEY link set veth0 up
	done
	(
		until [ -s killed.pid ]; do sleep 0.05; done
		sleep 1
		kill -9 "$(cat killed.pid)"
	) 3>&- &
	run "$dt" record --hosts a,b,killed -e ./enter --remote "$dt" -F work "$dir/slow" 150 "it's: a b"
	for n in a b; do ip netns del dt$n$KEY; done
	wait
	echo "$output"
	[ "$status" = 1 ]
	[ "$(of a)" = "a: a says it's: a b"$'\n'"devtrace: a: 300 records, 0 lost" ]
	[ "$(of b)" = "b: b says it's: a b"$'\n'"devtrace: b: 300 records, 0 lost" ]
	[[ $(of killed) == *'devtrace: killed: the connection broke while it recorded: its trace is lost' ]]
	[ "$(grep -c '^devtrace: killed' <<<"$output")" = 1 ]
	[[ $output == *'devtrace: 1 of 3 hosts have no trace here'* ]]
	[ "$("$dt" sql --csv -n fleet/fleet.db 'SELECT host, count(*) FROM records GROUP BY 1' | tr -d '\r')" = $'a,300\nb,300' ]
	# each pinged, or was pinged, and both have the same exchanges
	for n in a b; do sqlite3 fleet/$n.db "SELECT id FROM sync WHERE kind='sent' OR kind='received' ORDER BY 1" >$n.ids; done
	[ "$(wc -l <a.ids)" -gt 4 ]
	[ "$(comm -12 a.ids b.ids | wc -l)" -ge $(($(wc -l <a.ids) - 2)) ]
	nothing_left
}

@test "record --hosts: a host that does not exist, or has another version, is named in a line, and breaks no other" {
	run timeout 20 "$dt" record --hosts x,old,ancient,strange,-e,y -e ./enter --remote "$dt" "$dir/slow" 2 hello
	[ "$status" = 2 ]
	one_line "'-e' is no host"
	[ ! -e fleet ]
	run timeout 20 "$dt" record --hosts x,old,ancient,strange,y -e ./enter --remote "$dt" -F work "$dir/slow" 2 hello 7
	echo "$output"
	[ "$status" != 0 ]
	[ "$(of old)" = "devtrace: old: has another version of devtrace than 0.1: 0.0" ]
	[ "$(of ancient)" = "devtrace: ancient: cannot record (exit status 2): devtrace: unrecognized option '--here'" ]
	[ "$(of strange)" = "devtrace: strange: says a line that is too long" ]
	[ "$(of x)" = "x: x says hello"$'\n'"devtrace: x: 4 records, 0 lost; exit status 7" ]
	[ "$("$dt" cat fleet/fleet.db | wc -l)" = 8 ]
	rm -r fleet
	# no devtrace there, no such command, no such host of ssh
	run timeout 20 "$dt" record --hosts x -e 'sh -c' --remote /nowhere/devtrace -F work "$dir/slow" 2 hello
	[ "$status" = 1 ]
	[[ $(of x) == 'devtrace: x: cannot be started there (--remote and -e say how, --push brings devtrace there): '*'/nowhere/devtrace: not found' ]]
	[ ! -e fleet ]
	run timeout 20 "$dt" record --hosts no.such.host.invalid,x -e "ssh -o BatchMode=yes" -F work "$dir/slow" 2 hello
	[[ $(of no.such.host.invalid) == 'devtrace: no.such.host.invalid: cannot record (exit status 255): ssh: '* ]]
	nothing_left
}

@test "record --hosts --push: devtrace is brought to hosts that have none, and is gone afterwards" {
	# no devtrace there; a folder in which nothing may be executed comes first; the home's name has what a shell would take apart
	mkdir -p "home's \$HOME"
	cat >bare <<-'S'
		#!/bin/sh
		exec env -i PATH=/usr/bin:/bin HOME="$PWD/home's \$HOME" TMPDIR="${NOWHERE:-$PWD/tmp}" sh -c "$2"
	S
	chmod +x bare
	run "$dt" record --hosts x,y -e ./bare --push -F work "$dir/slow" 20 "it's: a  b" 3
	echo "$output"
	[ "$status" = 3 ]
	[ "$(of x)" = "x: x says it's: a  b"$'\n'"devtrace: x: 40 records, 0 lost; exit status 3" ]
	[ "$(of y)" = "y: y says it's: a  b"$'\n'"devtrace: y: 40 records, 0 lost; exit status 3" ]
	[ "$("$dt" sql --csv -n fleet/fleet.db 'SELECT host, count(*) FROM calls GROUP BY 1' | tr -d '\r')" = $'x,20\ny,20' ]
	nothing_left
	rm -r fleet
	# another program, by another command; what runs there is what was sent: its file is removed, and not this one
	cp "$dt" other
	# programs may not be executed in the first folder
	mkdir noexec
	[ "$(id -u)" != 0 ] || mount -t tmpfs -o noexec none noexec
	NOWHERE=$PWD/noexec run "$dt" record --hosts x -e ./bare --push=./other --remote 'env SAID=yes' -f -F work -F nothing_else sh -c "readlink -f /proc/\$PPID/exe >&2; \$0 2 \$SAID" "$dir/slow"
	echo "$output"
	[ -z "$(ls noexec)" ]
	umount noexec 2>/dev/null || true
	rmdir noexec
	there=$(sed -n 's|^x: \(/.*/devtrace-[^/]*\)/devtrace.*|\1|p' <<<"$output")
	[ -n "$there" ]
	[ ! -e "$there" ]
	[[ $(of x) == *'x: x says yes'* ]]
	[ -e other ]
	rm -rf fleet
	nothing_left
	# a program that is none there: the reason, and nothing is left
	echo 'no program' >text
	run "$dt" record --hosts x -e ./bare --push=text -F work "$dir/slow" 2 a
	echo "$output"
	[ "$status" = 1 ]
	[[ $(of x) == *'devtrace: x: cannot be started there (--push=PROGRAM, one of `make static'"'"', needs no libraries): '*'not found'* ]]
	nothing_left
	run "$dt" record --hosts x -e ./bare --push=/nonexist true
	[ "$status" = 1 ]
	one_line 'devtrace: --push: /nonexist: No such file or directory'
	run "$dt" record --push true
	[ "$status" = 2 ]
	one_line 'devtrace: --ssh, --remote and --push are for --hosts'
	# one that is killed on the way
	run "$dt" record --hosts killed -e 'sh -c "head -c 100000 >/dev/null; exit 9" --' --push true
	[ "$status" = 1 ]
	[[ $(of killed) == *'devtrace: killed: cannot record (exit status 9)'* ]]
	nothing_left
}

# one that ticks each ms, and says which tick it has come to when a file is there
ticking() {
	[ -e tick ] || gcc -O1 -g -o tick -x c - <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		__attribute__((noinline)) int tick(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
		int main(int argc, char **argv)
		{
			int n = 0;
			for (int most = atoi(argv[1]); n < most; usleep(1000))
				n = tick(n);
			printf("%d ticks\n", n);
			return 0;
		}
	C
}

# the sessions that run here
sessions() { "$dt" list | cut -f1; }

@test "record --hosts: a freeze on one host is one on all; how far apart is said" {
	ticking
	mkdir -p runtime
	# of three tries: a busy machine may let a host wait
	for try in 1 2 3; do
		rm -rf fleet
		XDG_RUNTIME_DIR=$PWD/runtime "$dt" record --hosts x,y,z -e 'sh -c' --remote "$dt" -F tick ./tick 6000 >said 2>&1 3>&- &
		pid=$!
		export XDG_RUNTIME_DIR=$PWD/runtime
		three() { [ "$(sessions | wc -l)" = 3 ]; }
		until_true three
		frozen() { for s in $(sessions); do "$dt" ctl -s "$s" | grep -qx "$1" || return 1; done; }
		one=$(sessions | head -1) other=$(sessions | tail -1)
		until "$dt" ctl -s "$one" | grep -q 'trace +tick'; do sleep 0.05; done
		sleep 0.3
		"$dt" ctl -s "$one" freeze
		until_true frozen freeze
		sleep 0.5
		# by another one
		"$dt" ctl -s "$other" unfreeze
		thawed() { for s in $(sessions); do [ -z "$("$dt" ctl -s "$s" | grep -x freeze)" ] || return 1; done; }
		until_true thawed
		# and again
		"$dt" ctl -s "$other" freeze
		until_true frozen freeze
		kill -TERM $pid
		wait $pid || true
		cat said
		grep -q 'devtrace: [xyz]: recording is frozen, and with it the others' said
		grep -q 'devtrace: [xyz]: recording goes on, and with it the others' said
		for h in x y z; do
			sqlite3 fleet/$h.db "SELECT begin_ticks FROM pause WHERE why='frozen' ORDER BY 1" >$h.froze
			[ "$(wc -l <$h.froze)" = 2 ]
			# nothing in between
			[ "$("$dt" sql --csv -n fleet/$h.db "SELECT count(*) FROM calls, pauses WHERE calls.begin > pauses.begin AND calls.begin < pauses.\"end\"" | tr -d '\r')" = 0 ]
			"$dt" check fleet/$h.db
		done
		# one clock here: what is said is what the files have
		python3 - <<-'P' && break
			import re, sys
			froze = [[int(x) for x in open(h + '.froze')] for h in 'xyz']
			said = re.findall(r'recording froze on [xyz], and up to ([0-9.]+) (us|ms|s) later on [xyz]$', open('said').read(), re.M)
			assert len(said) == 2, said
			import subprocess
			hz = float(subprocess.run(['sqlite3', 'fleet/x.db', "SELECT (max(ticks)-min(ticks))*1e9/(max(monotonic_ns)-min(monotonic_ns)) FROM clock"], capture_output=True, text=True).stdout)
			late = False
			for (n, unit), k in zip(said, range(2)):
			    ns = float(n) * {'us': 1e3, 'ms': 1e6, 's': 1e9}[unit]
			    ticks = [f[k] for f in froze]
			    really = (max(ticks) - min(ticks)) / hz * 1e9
			    assert abs(ns - really) < 2e3, (ns, really)
			    late |= really > 20e6
			sys.exit(late)
		P
		[ $try -lt 3 ]
	done
	nothing_left
}

@test "record --hosts: a host that says again and again that it has frozen breaks no other" {
	ticking
	cat >restless <<-'S'
		#!/bin/sh
		[ "$1" = x ] || exec sh -c "$2"
		echo "devtrace-host 1 0.1 0 -"
		read -r go
		for i in $(seq 3000); do echo frozen; echo unfrozen; done
		sleep 1
		echo "ended 0 0"
	S
	chmod +x restless
	run timeout 60 "$dt" record --hosts x,y -e ./restless --remote "$dt" -F tick ./tick 2000
	echo "$output" | head -60
	[[ $(of x) == *'devtrace: x: has recorded nothing' ]]
	[[ $(of y) =~ 'devtrace: y: '[1-9][0-9]*' records, 0 lost' ]]
	[ "$(grep -c 'and with it the others' <<<"$output")" -gt 0 ]
	[ "$(grep -c 'and with it the others' <<<"$output")" -lt 200 ]
	nothing_left
}

@test "record --hosts: what --until waits for ends recording on all hosts, and no program" {
	ticking
	run "$dt" record --hosts x,y -e 'sh -c' --remote "$dt" -f -F 'tick' --until 'tick arg1=300' sh -c '[ $DEVTRACE_HOST = y ] || sleep 0.2; exec ./tick 3000'
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *'devtrace: y: what --until waits for has come: recording ends, and with it the others'* ]]
	[ "$(grep -c ': 3000 ticks$' <<<"$output")" = 2 ]
	calls() { "$dt" sql --csv -n fleet/$1.db "SELECT count(*) FROM calls WHERE function = 'tick'" | tr -d '\r'; }
	# some are recorded after it, but not all
	[ "$(calls y)" -ge 300 ]
	[ "$(calls y)" -lt 2500 ]
	[ "$(calls x)" -lt 2500 ]
	nothing_left
}

@test "record --hosts: Ctrl-C ends all, what was recorded until then is there" {
	"$dt" record --hosts x,y -e 'sh -c' --remote "$dt" -F work "$dir/slow" 3000 hello >said 2>&1 3>&- &
	pid=$!
	until [ "$(grep -c says said)" = 2 ]; do sleep 0.1; done
	kill -TERM $pid
	wait $pid || true
	cat said
	grep -q 'devtrace: x: [0-9]* records, 0 lost; exit status 143' said
	[ "$("$dt" sql --csv -n fleet/fleet.db 'SELECT count(DISTINCT host) FROM records' | tr -d '\r')" = 2 ]
	nothing_left
}

@test "record --hosts: wrong usage in a line" {
	run "$dt" record --hosts x,x -e 'sh -c' true
	one_line "two hosts are called 'x'"
	run "$dt" record --hosts x/y -e 'sh -c' true
	one_line "'x/y' is no host"
	run "$dt" record --hosts x --ping 1.2.3.4:5 true
	one_line "makes pings itself"
	run "$dt" record -e 'sh -c' true
	one_line "are for --hosts"
	mkdir fleet
	run "$dt" record --hosts x,y -e 'sh -c' true
	one_line "fleet: File exists: name another folder by -o"
}

@test "attach --hosts: processes that run on two hosts become one fleet, and run on when it ends" {
	[ "$(id -u)" = 0 ] || skip "namespaces need root"
	local n pids=() at
	for n in a b; do ip netns add dt$n$KEY || skip "no network namespaces here"; done
	for n in a b; do
		DEVTRACE_HOST=$n ip netns exec dt$n$KEY ./slow 2000 runs 3>&- &
		pids+=($!)
	done
	DEVTRACE_HOST=a ./slow 2000 runs 3>&- &
	pids+=($!)
	at=a:${pids[0]}+${pids[2]},b:${pids[1]}
	"$dt" attach --hosts "$at,gone:999999999" -e ./enter --remote "$dt" -F work >said 2>&1 3>&- &
	# both are recorded, and the third one has said why it is not
	for _ in $(seq 100); do
		grep -q 'gone' said && [ "$(find tmp -name '*.db' -size +0 | wc -l)" -ge 2 ] && break
		sleep 0.1
	done
	sleep 1
	kill -INT $!
	wait $! || status=$?
	cat said
	for n in 0 1 2; do
		# nothing has happened to them
		kill -0 "${pids[$n]}"
		kill "${pids[$n]}"
	done
	for n in a b; do ip netns del dt$n$KEY; done
	[ "$status" = 1 ]
	grep -q '^devtrace: 1 of 3 hosts have no trace here' said
	"$dt" sql --csv -n fleet/fleet.db "SELECT host, count(*) > 40, count(DISTINCT process) FROM calls GROUP BY 1" | tr -d '\r' >each
	[ "$(cat each)" = $'a,1,2\nb,1,1' ]
	# numbers go up by one: each call was recorded once
	for n in 0 1 2; do
		"$dt" calls --thread "${pids[$n]}" fleet/$([ $n = 1 ] && echo b || echo a).db | grep -o 'work(n=[0-9]*)' | tr -dc '0-9\n' | awk 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }'
	done
	nothing_left
}

@test "attach --hosts: wrong usage in a line" {
	run "$dt" attach --hosts a -F work
	[ "$status" = 2 ]
	one_line 'which process of a? Say a:PID'
	run "$dt" attach --hosts a:12x -F work
	[ "$status" = 2 ]
	one_line "'12x' of host 'a' is no process's number"
	run "$dt" attach --hosts a:12 -F work 13
	[ "$status" = 2 ]
	one_line 'processes are named with their hosts'
	run "$dt" attach --hosts a:12 -d
	[ "$status" = 2 ]
	one_line 'not with --hosts'
	[ ! -e fleet ]
}
