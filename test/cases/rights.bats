# SPDX-License-Identifier: MIT
# Root's controller keeps the capabilities that doc/security.md names, and no others; its program keeps all.
load common

# sys_ptrace dac_override setuid setgid kill sys_admin checkpoint_restore; with switches, perfmon too
kept=00000100002800e2
switches=00000140002800e2

setup() {
	[ "$(id -u)" = 0 ] || skip "root's alone"
	cd "$dir" || return
	own=$(awk '/^CapPrm/ { print $2 }' /proc/self/status)
	[ -e spin-plain ] || gcc -O1 -g -o spin-plain "$dir/spin.c"
}

teardown() {
	for p in "${controller-}" "${program-}"; do [ -z "$p" ] || kill "$p" 2>/dev/null || true; done
	check_traces
}

# only SET PID: every thread of it has no more than these, and what it executes will not either. Where
# this test itself has fewer, so has the controller.
only() {
	local want t
	want=$(printf %016x $((0x$1 & 0x$own)))
	for t in /proc/"$2"/task/*; do
		[ "$(awk '/^Cap(Prm|Eff)/ { print $2 }' "$t/status" | sort -u)" = "$want" ] ||
			{ cat "$t/status"; return 1; }
		[ "$(awk '/^Cap(Inh|Amb)/ { print $2 }' "$t/status" | sort -u)" = 0000000000000000 ] || return 1
		[ "$(awk '/^NoNewPrivs/ { print $2 }' "$t/status")" = 1 ] || return 1
	done
}

ready() {
	local i
	for i in $(seq 1000); do
		if grep -q ready "$1" 2>/dev/null; then return; fi
		sleep 0.02
	done
	return 1
}

# attached FILE: it is being recorded
attached() {
	local i
	for i in $(seq 1000); do
		if [ -s "$1" ] && grep -q attached "$1"; then return; fi
		sleep 0.02
	done
	cat "$1"
	return 1
}

@test "root's controller has what it needs while it traces, in all threads, and its program all" {
	"$dt" record -o t.db ./spin-plain >out 3>&- &
	controller=$!
	ready out
	program=$(pgrep -P "$controller")
	only $kept "$controller"
	[ "$(awk '/^CapPrm/ { print $2 }' "/proc/$program/status")" = "$own" ]
	[ "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$program/status")" = "$(awk '/^NoNewPrivs/ { print $2 }' /proc/self/status)" ]
	kill "$program"
	wait "$controller" || true
	controller='' program=
	# with a small stack, a thread waits that does nothing
	(ulimit -s 512 && exec "$dt" record -o t.db ./spin-plain) >out 3>&- &
	controller=$!
	ready out
	program=$(pgrep -P "$controller")
	[ "$(ls "/proc/$controller/task" | wc -l)" -gt 1 ]
	only $kept "$controller"
	[ "$(awk '/^CapPrm/ { print $2 }' "/proc/$program/status")" = "$own" ]
	kill "$program"
	wait "$controller" || true
	controller='' program=
	# with switches
	"$dt" record -S -o t.db ./spin-plain >out 3>&- &
	controller=$!
	ready out
	program=$(pgrep -P "$controller")
	only $switches "$controller"
	kill "$program"
	wait "$controller" || true
	program= controller=
}

@test "attached to a process of another user, in front and behind, with a file in that user's folder" {
	mkdir -p others
	chown 65534:65534 others
	chmod 700 others
	setpriv --reuid 65534 --regid 65534 --clear-groups ./spin-plain >out 3>&- &
	program=$!
	ready out
	"$dt" attach -v -o others/t.db "$program" 2>err 3>&- &
	controller=$!
	attached err
	only $kept "$controller"
	kill -INT "$controller"
	wait "$controller"
	controller=
	[ "$("$dt" report others/t.db | grep -c ' turn$')" = 1 ]
	name=$("$dt" attach -d "$program" 3>&-)
	controller=$(pgrep -f "^$dt attach -d $program\$")
	only $kept "$controller"
	"$dt" ctl -s "$name" quit
	controller=
	kill "$program"
	program=
	rm -rf others
}

@test "a setuid program that the traced program executes has its user's rights, as without us" {
	cat >asks.c <<-'C'
		#include <stdio.h>
		#include <sys/prctl.h>
		#include <unistd.h>
		__attribute__((noipa)) int ask(void) { return (int)geteuid(); }
		int main(void) { printf("%d %d %d\n", (int)getuid(), ask(), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)); return 0; }
	C
	cat >leads.c <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) int leave(void) { return setgid(65534) || setuid(65534); }
		int main(void) { return leave() || execl("./asks", "asks", (char *)NULL); }
	C
	gcc -O1 -g -o asks asks.c
	gcc -O1 -g -o leads leads.c
	chmod 4755 asks
	run ./leads
	[ "$output" = "65534 0 0" ] || skip "no setuid programs here: $output"
	run "$dt" record -o t.db ./leads
	[ "$output" = "65534 0 0" ]
	run "$dt" record --follow -o t.db ./leads
	[ "$output" = "65534 0 0" ]
}
