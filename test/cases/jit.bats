#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names of code that is made at run time: from perf's map files and from jitdumps.
load devtrace

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	# makes two functions, tells perf so in the way that its first argument names, passes them to apply() and prints where they are
	cat >"$dir/jit.c" <<-'C'
		#include <fcntl.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		typedef int compare(const void *, const void *);
		__attribute__((noinline, noipa)) int apply(compare *f, int a, int b) { return f(&a, &b); }
		static void load(FILE *f, void *at, const char *name)
		{
			uint32_t head[4] = {0, 16 + 40 + (uint32_t)strlen(name) + 1 + 5, 1, 0}, who[2] = {(uint32_t)getpid(), (uint32_t)getpid()};
			uint64_t where[4] = {(uint64_t)at, (uint64_t)at, 5, 0};
			fwrite(head, sizeof(head), 1, f);
			fwrite(who, sizeof(who), 1, f);
			fwrite(where, sizeof(where), 1, f);
			fwrite(name, strlen(name) + 1, 1, f);
			fwrite(at, 5, 1, f);
		}
		int main(int argc, char **argv)
		{
			/* mov (%rdi), %eax; sub (%rsi), %eax; ret */
			static const unsigned char code[] = {0x8b, 0x07, 0x2b, 0x06, 0xc3};
			unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			int dump = !strcmp(argv[1], "dump"), s;
			char path[64];
			FILE *f;
			memcpy(p + 64, code, sizeof(code));
			memcpy(p + 256, code, sizeof(code));
			snprintf(path, sizeof(path), dump ? "jit-%d.dump" : "/tmp/perf-%d.map", getpid());
			if (strcmp(argv[1], "none") != 0 && (f = fopen(path, "w+")) != NULL) {
				if (dump) {
					uint32_t head[10] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
					fwrite(head, sizeof(head), 1, f);
					load(f, p + 64, "first js/a b");
					load(f, p + 256, "second");
					fflush(f);
					mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
				} else if (!strcmp(argv[1], "anew")) {
					/* what is written first is not true, and is written over when it has been read */
					fprintf(f, "%lx 5 wrong\n%lx 5 wrong too\n", (long)(p + 64), (long)(p + 256));
					fflush(f);
					usleep(2500000);
					f = freopen(path, "w", f);
				}
				if (!dump)
					fprintf(f, "%lx 5 first js/a b\n%lx 5 second\n%lx 5 part", (long)(p + 64), (long)(p + 256), (long)(p + 64));
				fclose(f);
			}
			usleep(argc > 3 ? atoi(argv[3]) * 1000u : 0);
			s = apply((compare *)(p + 64), 5, 3) + apply((compare *)(p + 256), 5, 2);
			printf("0x%lx 0x%lx %d\n", (long)(p + 64), (long)(p + 256), getpid());
			fflush(stdout);
			usleep(argc > 2 ? atoi(argv[2]) * 1000u : 0);
			return s != 5;
		}
	C
	gcc -g -O1 -o "$dir/jit" "$dir/jit.c"
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	work=$(mktemp -d)
	chmod 755 "$work"
	cd "$work"
}

teardown() {
	check_traces
	[ ! "${elsewhere:-}" ] || rm -rf "$elsewhere"
	[ ! -s pids ] || while read -r pid; do rm -f "/tmp/perf-$pid.map"; done <pids
	cd /
	rm -rf "$work"
}

# named OUTPUT TRACE: the calls have the names at the addresses that the program printed
named() {
	local first second pid
	read -r first second pid <"$1"
	echo "$pid" >>pids
	"$dt" calls "$2" | sed -n 's/.*\(apply(.*\)/\1/p' | diff - <(
		echo "apply(f=$first <first js/a b>, a=5, b=3) = 2"
		echo "apply(f=$second <second>, a=5, b=2) = 3"
	)
}

@test "jit: names of a map file, of a program that ends at once or goes on, and of one that is let go" {
	"$dt" record -o t.db -F apply "$dir/jit" map >out
	named out t.db
	# the trace has them: the file may go
	rm -f "/tmp/perf-$(cut -d' ' -f3 out).map"
	named out t.db
	"$dt" check t.db >/dev/null
	"$dt" record -o t.db -F apply "$dir/jit" map 1500 >out
	named out t.db
	local program attach
	: >out
	"$dir/jit" map 8000 1500 >out &
	program=$!
	"$dt" attach -o u.db -F apply "$program" 2>err &
	attach=$!
	while ! grep -q . out; do sleep 0.05; done
	kill -INT "$attach"
	wait "$attach" || true
	named out u.db
	kill "$program"
	wait "$program" || true
}

@test "jit: names of a map file that is written anew while it is read" {
	"$dt" record -o t.db -F apply "$dir/jit" anew >out
	named out t.db
}

@test "jit: names of a jitdump that is mapped" {
	"$dt" record -o t.db -F apply "$dir/jit" dump 2500 >out
	named out t.db
	# a program that tells nobody has no names
	"$dt" record -o u.db -F apply "$dir/jit" none >out
	"$dt" calls u.db | grep -c 'apply(f=0x[0-9a-f]*, a' | grep -x 2
}

@test "jit: a process in namespaces of its own is read by its own number and in its own folders" {
	[ "$(id -u)" = 0 ] || skip "namespaces are made as root"
	unshare -pmf true || skip "no namespaces here"
	elsewhere=$(mktemp -d /var/tmp/devtrace-jit.XXXXXX)
	cp "$dir/jit" "$elsewhere"
	"$dt" record -f -o t.db -F apply unshare -pmf --propagation private sh -c "mount -t tmpfs none /tmp && exec '$elsewhere/jit' map 2500" >out 2>err || {
		cat err
		false
	}
	cat out err
	[ "$(cut -d' ' -f3 out)" -lt 10 ]
	read -r first second pid <out
	"$dt" calls t.db | grep -F "apply(f=$first <first js/a b>, a=5, b=3) = 2"
	"$dt" calls t.db | grep -F "apply(f=$second <second>, a=5, b=2) = 3"
}

@test "jit: what is no map file of the process's user is left alone" {
	local what first second pid
	for what in link pipe folder other; do
		[ "$what" != other ] || [ "$(id -u)" = 0 ] || continue
		: >out # what the one before has said is not this one's
		"$dir/jit" none 20000 >out &
		while ! grep -q . out; do sleep 0.05; done
		read -r first second pid <out
		echo "$pid" >>pids
		printf '%s 5 first\n' "${first#0x}" >real
		# of a process with this number that has ended
		rm -rf "/tmp/perf-$pid.map"
		case $what in
		link) ln -s "$work/real" "/tmp/perf-$pid.map" ;;
		pipe) mkfifo "/tmp/perf-$pid.map" ;;
		folder) mkdir "/tmp/perf-$pid.map" ;;
		other)
			cp real "/tmp/perf-$pid.map"
			chown nobody "/tmp/perf-$pid.map"
			;;
		esac
		timeout 60 "$dt" list -v "$pid" >listed 2>err
		! grep -q 'run time' listed err || { echo "$what"; cat err; false; }
		rm -rf "/tmp/perf-$pid.map"
		cp real "/tmp/perf-$pid.map"
		"$dt" list -v "$pid" >listed 2>err
		[ "$(grep 'made at run time' listed)" = "perf-$pid.map:first	$first	not: made at run time: not hooked" ]
		grep -q '1 functions, which are not hooked' err
		kill "$pid"
		wait
	done
}

@test "jit: list has the functions of node that its map file and its jitdump have" {
	cat >fib.js <<-'JS'
		function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
		setInterval(() => fibonacci(20), 5);
	JS
	local option file pid
	for option in --perf-basic-prof --perf-prof; do
		node "$option" fib.js &
		pid=$!
		echo "$pid" >>pids
		sleep 2
		kill -STOP "$pid"
		"$dt" list -v "$pid" 2>err | grep '	not: made at run time: not hooked$' | cut -f1,2 | sed 's/^[^:]*://' >got
		file=/tmp/perf-$pid.map
		[ "$option" = --perf-basic-prof ] || file=jit-$pid.dump
		cp "$file" file
		kill -KILL "$pid"
		wait "$pid" || true
		# each name is painted over the earlier ones
		python3 - "$option" >want <<-'PY'
			import bisect, struct, sys
			b = open('file', 'rb').read()
			code = []
			if sys.argv[1] == '--perf-basic-prof':
			    for l in b.decode(errors='surrogateescape').split('\n')[:-1]:
			        a, s, n = l.split(' ', 2)
			        code.append((int(a, 16), int(s, 16), n))
			else:
			    at = struct.unpack_from('<I', b, 8)[0]
			    while at + 16 <= len(b):
			        i, size = struct.unpack_from('<II', b, at)
			        if at + size > len(b):
			            break
			        if i == 0:
			            a, s = struct.unpack_from('<QQ', b, at + 32)
			            code.append((a, s, b[at + 56:b.index(b'\0', at + 56)].decode()))
			        at += size
			cuts = sorted({a for a, s, n in code} | {a + s for a, s, n in code})
			name = [None] * len(cuts)
			for a, s, n in code:
			    for i in range(bisect.bisect_left(cuts, a), bisect.bisect_left(cuts, a + s)):
			        name[i] = (a, n)
			last = None
			for at, x in zip(cuts, name):
			    if x and x != last:
			        print('%s\t0x%x' % (x[1], at))
			    last = x
		PY
		grep -q fibonacci want
		[ "$(wc -l <want)" -gt 100 ]
		# what is no printable text is shown as C has it
		diff <(grep -aP '^[ -~\t]*$' want | sort -u) <(grep -aP '^[ -~\t]*$' got | sort -u)
		grep -q "names code made at run time: $(wc -l <got) functions" err
	done
}
