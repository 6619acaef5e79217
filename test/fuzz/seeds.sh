#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the inputs that a fuzzer begins with, of what compilers and devtrace itself write.
# usage: seeds.sh NAME FOLDER
set -eu
cd "$(dirname "$0")/../.."
name=$1 to=$2 work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PWD/${DEVTRACE_BUILD:-build}/test/tool:$PWD/${DEVTRACE_BUILD:-build}:$PATH
mkdir -p "$to"

# Text with "\xNN" for bytes, a file each.
put() { printf '%b' "$2" >"$to/$1"; }

traces() {
	local n
	maketrace -n 60 -c 2 -t 2 -l 20 -m 9 "$to/small.db"
	maketrace -n 400 -c 2 -t 2 -l 90 -m 9 "$to/some.db"
	maketrace -n 8000 -c 2 -t 3 -l 2000 -m 20 -p 900 "$to/long.db"
	devtrace view --index "$to/some.db"
	devtrace view --index "$to/long.db"
	# small pages: what is changed and read again and again is to be small
	for n in small some long; do
		sqlite3 "$to/$n.db" 'PRAGMA journal_mode=DELETE; PRAGMA page_size=1024; VACUUM'
	done
} >/dev/null

chunks() {
	local n
	for n in 2 300; do
		maketrace -n $n -l 100 "$work/t.db" >/dev/null
		sqlite3 "$work/t.db" "SELECT printf('%08x%08x', records | 0x10000, length(events)) ||
			hex(events) || hex(vals) FROM chunk LIMIT 1" | python3 -c '
import sys
h = sys.stdin.read().strip()
n, split, rest = int(h[:8], 16), int(h[8:16], 16), bytes.fromhex(h[16:])
sys.stdout.buffer.write(b"\1" + n.to_bytes(4, "little") + split.to_bytes(4, "little") + rest)
' >"$to/chunk$n"
	done
	printf '\2\100\0\0\0\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0' >"$to/columns"
	# the same with pieces of texts: head, first time, of the values, of the pieces; then columns
	python3 -c '
import struct, sys
head = struct.pack("<6IQ2I3I", 64, 2, 1, 0, 0, 16, 7, 8, 0, 9, 5, 40)
sys.stdout.buffer.write(b"\2" + head + b"\1\0\0\0\2\0\0\0\3\0\0\0" + b"\x1f\1\x1f" + bytes(3) + bytes(range(1, 200)))' >"$to/pieces"
}

definitions() {
	cat >"$to/a" <<-'DEFINITION'
		/* two */ subsystem kernel { event CSWITCH "Context \"Switch\"", // 0
			event TIMER "", };
		subsystem chips { event GET "get\n\t\\", };
	DEFINITION
	devtrace events "$to/a" --json "$to/b"
}

lines() {
	local i=0 o
	maketrace -n 40 -c 2 -t 3 "$work/t.db" >/dev/null
	for o in "" --cpu -3 "-3 --cpu" -l -c; do
		# shellcheck disable=SC2086
		{ printf "\\$i"; devtrace cat $o "$work/t.db" 2>/dev/null | if [ $i = 5 ]; then cat; else head -1; fi; } >"$to/$i"
		i=$((i + 1))
	done
}

commands() {
	put 1 'trace 1000 1fff new a ENTRY ONLYPID 5\ntrace a on\ntrace s FREEZE s+10 PID\nstart\n'
	put 2 "trace 'x* !y' new 'b c'\nwatch 5 6\nsize 4\npolicy drop\narm 1:2:3 - 10ms\nevents 7\n"
	put 3 'delete s\nlist\nquery 1000\ntrace a rename b\nuniform on\nfreeze\nall\nlogsize 16\n'
}

# Small programs and libraries with all that is looked for in such.
programs() {
	cat >"$work/a.c" <<-'C'
		#include <devtrace.h>
		#include <sys/sdt.h>
		#define SEED 3
		#define BEGIN 4
		struct inner { short a; int b; };
		struct list { struct list *next; long len; struct inner inner; } *counter;
		enum colour { RED, GREEN = 7, BLUE };
		union either { double d; long n; };
		struct point { float x, y; } point;
		__attribute__((noinline)) long walk(struct list *p, enum colour c, union either e) { long n = 0; for (; p; p = p->next) n += p->len + c + e.n; return n; }
		__attribute__((noinline)) struct point move(struct point q, double by, char *argv[], _Bool b) { q.x += by + b; q.y += argv[1][0]; return q; }
		__attribute__((noinline)) int choose(int n) { switch (n) { case 1: return 5; case 2: return walk(counter, RED, (union either){.n = 1}); case 3: return 9; case 4: return 2; case 5: return n * 3; default: return -1; } }
		static int fast(int n) { return n + 1; }
		static int slow(int n) { return n - 1; }
		static void *pick(void) { return __builtin_cpu_supports("avx2") ? fast : slow; }
		int either(int n) __attribute__((ifunc("pick")));
		int main(int n, char **argv) { struct list *s = counter; STAP_PROBE2(seed, probe, n, s); DT_EVENT(SEED, BEGIN, n); point = move(point, n, argv, n > 1); return choose(n) + either(n); }
	C
	cat >"$work/b.cc" <<-'C'
		namespace ns { struct base { virtual ~base() {} virtual int f(int n) { if (n > 3) throw n; return n; } };
		template <class T> struct box : base { T v; int f(int n) override { return int(v) + n; } }; }
		int main(int n, char **) { ns::box<long> b; b.v = n; ns::base *p = &b; try { return p->f(n) + ns::base().f(n + 3); } catch (int &e) { return e; } }
	C
	sed 's/DT_EVENT([^;]*;//; s/#include <devtrace.h>//' "$work/a.c" >"$work/c.c"
	cc() { "$@" -Wl,--build-id -Wl,-z,noseparate-code -w; }
	cc gcc -O0 -g -o "$to/plain" "$work/c.c"
	cc gcc -O2 -g -gdwarf-4 -o "$to/fast" "$work/c.c"
	cc gcc -O2 -g -gz -o "$to/packed" "$work/c.c"
	cc gcc -O2 -Iinclude -B "build/lib" -o "$to/sleds" "$work/a.c"
	cc gcc -O2 -s -o "$to/passes" "$work/c.c"
	cat >"$work/go.s" <<-'S'
		.text
		text: .globl _start
		_start: f0: mov $60, %eax
			syscall
		f1: ret
		past: nop
		.section .gopclntab, "a"
		.balign 32
		table: .long 0xfffffff0
			.byte 0, 0, 1, 8
			.quad 2, 0, text, names-table, 0, 0, 0, pairs-table
		names: n0: .asciz "main.main"
		n1: .asciz "main.(*T).Grow"
		pairs: .long f0-text, d0-pairs, f1-text, d1-pairs, past-text
		d0: .long f0-text, n0-names, 0, 0
		d1: .long f1-text, n1-names, 0, 0
	S
	gcc -c -o "$work/go.o" "$work/go.s"
	cc gcc -nostdlib -static -s -o "$to/go" "$work/go.o"
	cc clang -O1 -g -o "$to/clang" "$work/c.c"
	cc g++ -O1 -g -o "$to/plus" "$work/b.cc"
	cc g++ -O2 -s -o "$to/stripped" "$work/b.cc"
	cc gcc -O2 -g -shared -fPIC -o "$to/library" "$work/c.c"
	# a variable as far from its frame as can be said; a union that is in another in 4^12 ways
	gcc -O0 -g -S -o - "$work/c.c" | sed -z 's/\.uleb128 0x2\n\t\.byte\t0x91\n\t\.sleb128 -[0-9]*/.uleb128 0xb\n\t.byte\t0x91\n\t.sleb128 0x7fffffffffffffff/g' >"$work/far.s"
	cc gcc -o "$to/far" "$work/far.s"
	{
		echo 'union u0 { int n; };'
		for i in {1..12}; do echo "union u$i { union u$((i - 1)) a, b, c, d; };"; done
		echo 'int f(union u12 u) { return 5; } int main(void) { union u12 u; return f(u); }'
	} >"$work/u.c"
	# as C++: how that passes a class has to be derived from its members
	gcc -O0 -g -gdwarf-4 -gstrict-dwarf -dA -S -o - "$work/u.c" | sed 's/\.byte\t0x[0-9a-f]*\(\t# DW_AT_language\)/.byte\t0x4\1/' >"$work/u.s"
	cc gcc -o "$to/unions" "$work/u.s"
}

# What is told of such programs.
told() {
	local p seeds=$to
	to=$work/programs
	mkdir "$to"
	programs
	for p in "$to"/*; do
		tell-apart "$p" >"$seeds/${p##*/}"
		[ "$(stat -c %s "$seeds/${p##*/}")" -lt 190000 ] || rm "$seeds/${p##*/}"
	done
}

dumps() {
	{ printf '\0' && cat <<-'D'; } >"$to/dump"
		# Start 45163585368 Duration 0 Stop 18446744073709551615
		# Min_timestamp 45163585368
		# Core 0 LOG DUMP ==================================================
		# Offset 0 0
		# DCB 0 ffffff8002656c00 xmpl-tra
		0 45163585368 7337000100000000
		0 45163585999 7337000200000007
		# Core 1 LOG DUMP ==================================================
		# Offset 1 -7
		1 45163585400 ea00000000000700
	D
	{ printf '\0' && cat <<-'D'; } >"$to/dump2011"
		# Start 1000 Duration 500 Stop 1500
		# Core 0 LOG DUMP ==================================================
		# DCB 0 ffffff8002656c00 xmpl-tra
		0 5 7337000100000000
	D
	lines
	for i in 0 1 2 3 4 5; do
		{ printf '\2' && tail -c +2 "$to/$i"; } >"$to/line$i" && rm "$to/$i"
	done
	printf '\003401000 T main\n402000 f\n' >"$to/symbols"
	printf '\004DCB: 0xffffff8002656c00 xmpl-trace\n# no\n' >"$to/names"
	printf '\00500000123# Start' >"$to/length"
}

requests() {
	local h='Host: `\r\n\r\n'
	maketrace -n 8000 -c 2 -t 3 -l 2000 -m 20 "$to/trace.db" >/dev/null
	devtrace view --index "$to/trace.db"
	put 1 "\x00GET /@/ HTTP/1.1\r\n$h" && put 2 "\x00GET /@/get/window?from=0&to=900000&cells=9&tracks=0,1&depths=3 HTTP/1.1\r\n$h"
	put 3 "\x00POST /@/tell?command=start HTTP/1.1\r\nOrigin: http://\`\r\n$h"
	put a '\x01trace' && put b '\x01window\nfrom=0\nto=900000\ncells=50\ntracks=0,1,2\ndepths=9,9,9'
	put c '\x01names\nids=1,2,3' && put d '\x01search\ntext=function1\nfrom=0\nto=999999'
	put e '\x01stats\nfrom=0\nto=900000' && put f '\x01call\ntrack=0\nbegin=100\nend=900\ndepth=1\nwhat=3'
	put g '\x01list\nfrom=0\nto=90000\nrows=10\nkinds=0,1,2,3\nfilter=core:0 time>1us' && put h '\x01activities\nfrom=0\nto=99999'
	put i '\x01window\nfrom=0\nto=900000\ncells=50\ntracks=0\ndepths=9\nfilter=function1* -thread:* arg1=5 result<0 event:*' && put j '\x01unhooked'
	put k '\x01range\nfrom=10\nto=800000\nways=1' && put l '\x01range\nall=1\nfilter=time>1us' && put m '\x01heat\nfunction=3\nfrom=0\nto=900000\ncolumns=20'
	put n '\x01why\nthread=1000\nbegin=100\nend=900\ndepth=1\nwhat=3' && put o '\x01notes' && put p '\x01source\nfunction=3' && put q '\x01hits\ntext=function1'
	put r '\x01find\ntext=function1\nfrom=1000\nrows=5\nms=0' && put s '\x01find\ntext=function\nfrom=500000\nrows=9\nback=1\nfilter=core:0'
	put t '\x01plot\nfunction=3\nwhat=arg1\nfrom=0\nto=900000\ncolumns=30' && put u '\x01plot\ntrack=4\nfrom=0\nto=900000\ncolumns=30' && put v '\x01plot\nfunction=5\nwhat=duration\nfrom=9\nto=99\ncolumns=3'
	put w '\x01groups\npids=1000,1\nfrom=0\nto=900000\ncells=20' && put x '\x01packed\nfrom=0\nto=900000\ncells=20\ntake=1000\nname=made' && put y '\x01who\nids=1000,1001' && put z '\x01asked\nnumber=1'
	put A '\x02note\nfrom=10\nto=8000\ntext=seen' && put B '\x02note\nfrom=10\nto=10\nid=1\ntext=again' && put C '\x02note\nid=1'
	put D '\x02ask\nsql=SELECT function, count(*) FROM calls GROUP BY function' && put E '\x02ask\nsql=SELECT * FROM records ORDER BY time LIMIT 5'
}

clients() {
	put 1 '\x00trace\n\x1c\x10\x01file\n\x1d\x11\x02stat\n\x12' && put 2 '\x00trace\n\x04trace\n\x14\x1c\x10\x18'
	put 3 '\x00GET / HTTP/1.1\n\x6dfil\x21e\n\x1d\x11\x00cardinfo\r\n\x10'
}

steps() {
	put 1 '\x01\x02\x00\x05ENTRY...................................................................\x0f\x06\x07'
	put 2 '\x02\x03\x02\x07EXIT....................................................................\x0d\x06\x01\x02\x00\x41\x06'
	put 3 '\x00\x05\x13\x05\x14\x02\x02\x3fabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmno\x07\x05\x04\x04\x02\x41\x05\x06\x04\x01abcd'
}

names() {
	put 1 '\x00\x80'"7f0010 20 one\n0x7f0020 40 LazyCompile:~two /a.js:1:2\n7f0000 1000 three\ntext\n" && put 2 '\x00\x00'"1000 10 a\n1000 10 b\n1008 4 c\n"
	python3 - "$to" <<-'PY'
		import struct, sys
		head = struct.pack('<IIIIIIQQ', 0x4a695444, 1, 40, 62, 0, 7, 0, 0)
		load = lambda at, size, name: struct.pack('<IIQIIQQQQ', 0, 16 + 40 + len(name) + 1 + size, 1, 7, 7, at, at, size, 0) + name + bytes(1 + size)
		move = lambda at, to, size: struct.pack('<IIQIIQQQQQ', 1, 16 + 48, 2, 7, 7, to, at, to, size, 0)
		open(sys.argv[1] + '/3', 'wb').write(b'\1\x80' + head + load(0x1000, 16, b'one') + load(0x1008, 16, b'two') + move(0x1000, 0x2000, 16) + load(0x1000, 8, b'three'))
	PY
}

# A folder as one input: each file with its name and length.
folder() {
	printf '\1'
	(cd "$1" && shift && python3 -c 'import struct, sys
for p in sys.argv[1:]:
    b = open(p, "rb").read()[:65535]
    sys.stdout.buffer.write(p.encode() + b"\n" + struct.pack("<H", len(b)) + b)' "$@")
}

imports() {
	local i
	for i in 1 2; do
		python3 test/cases/perfetto-write.py $i 60 "$work/p"
		{ printf '\0' && cat "$work/p"; } >"$to/perfetto$i"
	done
	put json '\0[{"ph":"B","name":"a","ts":1},{"ph":"C","name":"c","ts":1,"args":{"x":1.5}},{"ph":"E","ts":3},{"ph":"s","id":1,"ts":4},{"ph":"X","name":"b","ts":1,"dur":3}]'
	put perf '\0my prog 12/13 [001]  5.000001:          1 sched:sched_switch: prev_comm=my prog prev_pid=13 prev_state=S ==> next_comm=x next_pid=0\nx     0/0 [001] d..2.    5.000002001: sched:sched_switch: x:0 [120] R ==> my prog:13 [120]\nmy prog 12/13 [001] 5.1: 250000 cycles:u: \n\t  401136 main+0x13 (/tmp/a)\n\t 1 b (c)\n\nx 1 5.2: syscalls:sys_enter_read: fd: 0x3\nx 1 5.3: cycles: 12 f+0x1 (d)\n'
	# XRay's two kinds: a call, a note
	{ printf '\0\3\0\0\0\0\0\0\0\0\312\232\73\0\0\0\0' && head -c 16 /dev/zero
		printf '\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\5\0\0\0\6\0\0\0' && head -c 8 /dev/zero
		printf '\0\0\0\1\1\0\0\0\2\0\0\0\0\0\0\0\5\0\0\0\6\0\0\0' && head -c 8 /dev/zero; } >"$to/xray"
	{ printf '\0\5\0\1\0\0\0\0\0\0\312\232\73\0\0\0\0' && head -c 16 /dev/zero
		printf '\17\50\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\5\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
		printf '\23\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0'
		printf '\20\0\0\0\5\0\0\0\13\2\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0ab\22\0\0\0\5\0\0\0'; } >"$to/flight"
	mkdir "$work/u"
	printf 'SESS timestamp=1.000000000 pid=1 sid=ab exename="/x"\nTASK timestamp=1.0 tid=1 pid=1\nFORK timestamp=1.1 pid=2 ppid=1\nDLOP timestamp=1.2 tid=1 sid=ab base=20000 libname="/l"\n' >"$work/u/task.txt"
	printf '1000-2000 r-xp 00000000 00:00 0   /x build-id:00\n' >"$work/u/sid-ab.map"
	printf '# symbols: 2\n0000000000000010 T f\n0000000000000020 P g\n0000000000000030 ? __end\n' | tee "$work/u/x.sym" >"$work/u/l.sym"
	printf 'Ftrace!\0\4\0\0\0\50\0\1\2\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >"$work/u/info"
	printf '\1\0\0\0\0\0\0\0\50\0\20\20\0\0\0\0\2\0\0\0\0\0\0\0\154\0\40\20\0\0\0\0abcdefgh\3\0\0\0\0\0\0\0\151\0\40\20\0\0\0\0\4\0\0\0\0\0\0\0\51\0\20\20\0\0\0\0' | tee "$work/u/1.dat" >"$work/u/2.dat"
	printf '\16\0\0\0\0\40\30\0\1\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\16\0\0\0\0\0\30\0\1\0\0\0\1\0\0\0\3\0\0\0\0\0\0\0' >"$work/u/perf-cpu0.dat"
	folder "$work/u" info task.txt sid-ab.map x.sym l.sym 1.dat 2.dat perf-cpu0.dat >"$to/uftrace"
}

case $name in
apart) told ;;
import) imports ;;
jit) names ;;
dump) dumps ;;
page) requests ;;
rings) steps ;;
serve) clients ;;
elf | dwarf) programs ;;
chunk) chunks ;;
events) definitions ;;
file) traces ;;
language) commands ;;
text) lines ;;
*) echo "seeds.sh: no seeds for '$name'" >&2 && exit 2 ;;
esac
