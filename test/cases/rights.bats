# SPDX-License-Identifier: MIT
# Root's controller keeps the capabilities that doc/security.md names, and no others; its program keeps all.
load common
load wait

# sys_ptrace dac_override setuid setgid kill sys_admin checkpoint_restore; with switches, perfmon too
kept=00000100002800e2
switches=00000140002800e2
# with the kernel, that, syslog and bpf
kernel=000001c4002800e2

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
	rm out # what is new in it is waited for
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
	rm out
	"$dt" record -S -o t.db ./spin-plain >out 3>&- &
	controller=$!
	ready out
	program=$(pgrep -P "$controller")
	only $switches "$controller"
	kill "$program"
	wait "$controller" || true
	program= controller=
}

@test "with the kernel it has what that takes besides, and the processes that read symbols still have nothing" {
	"$dt" record -k'__x64_sys_*' -F 'spin-plain:*' -o t.db ./spin-plain >out 2>err 3>&- &
	controller=$!
	for i in $(seq 1500); do
		if grep -q ready out || ! kill -0 "$controller" 2>/dev/null; then break; fi
		sleep 0.02
	done
	grep -q ready out || { controller=; skip "the kernel cannot be traced here: $(head -n 1 err)"; }
	program=$(pgrep -P "$controller" -x spin-plain)
	only $kernel "$controller"
	[ "$(awk '/^CapPrm/ { print $2 }' "/proc/$program/status")" = "$own" ]
	kill "$program"
	wait "$controller" || true
	controller='' program=
	# the kernel's own functions were recorded with no more
	[ "$("$dt" sql -n t.db "SELECT count(*) > 0 FROM records")" -eq 1 ]
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

# the processes that read symbols for what runs in a session of its own, by its number
readers_of() {
	pgrep -s "$1" -x devtrace-names
}
no_readers_of() { ! readers_of "$1"; }

@test "symbols are read by processes that have nothing; when these are killed, recording goes on, and it is said" {
	cat >late.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		struct pair { int a, b; };
		__attribute__((noinline)) int first(struct pair *p, int n) { return p->a + n; }
		__attribute__((noinline)) int second(struct pair *p, int n) { return p->b - n; }
		int main(void)
		{
			struct pair p = {1, 2};
			int sum = first(&p, 3);
			puts("ready");
			fflush(stdout);
			while (access("go", F_OK))
				usleep(10000);
			return sum + second(&p, 4) == 0;
		}
	C
	gcc -g -O1 -o late late.c
	for kill in '' yes; do
		rm -f go out err
		setsid "$dt" record -o t.db ./late >out 2>err 3>&- &
		controller=$! session=$!
		ready out
		named=$(readers_of "$session")
		[ "$(wc -l <<<"$named")" -ge 2 ]
		for p in $named; do
			[ "$(awk '/^Uid/ { print ($2 >= 2147400000), ($3 == $2), ($4 == $2), ($5 == $2) }' "/proc/$p/status")" = '1 1 1 1' ]
			[ "$(awk '/^Groups/ { print NF }' "/proc/$p/status")" = 1 ]
			[ "$(awk '/^Cap(Prm|Eff|Inh)/ { print $2 }' "/proc/$p/status" | sort -u)" = 0000000000000000 ]
			[ "$(awk '/^(NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$p/status" | tr '\n' ' ')" = '1 2 ' ]
			# nothing, nothing, nothing (with sanitizers what they say), channel; of a file two more
			[ "$(ls "/proc/$p/fd" | wc -l)" -le 6 ]
			[ "$(ls -l "/proc/$p/fd" | grep -c "t\.db\|memfd\|/mem$")" = 0 ]
		done
		# shellcheck disable=SC2086 # numbers
		[ -z "$kill" ] || kill -9 $named
		touch go
		wait "$controller"
		controller=
		until_true no_readers_of "$session"
		"$dt" calls t.db >calls
		grep -q 'first(p=0x[0-9a-f]*, n=3) = 4' calls
		if [ -z "$kill" ]; then
			grep -q 'second(p=0x[0-9a-f]*, n=4) = -2' calls
			[ ! -s err ]
		else
			grep -q 'second(' calls
			[ "$(grep -c n=4 calls)" = 0 ]
			grep -q 'the process that read its symbols and debug information ended, or did not answer' err
		fi
	done
}
