#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Traces of other tools, as trace files: Perfetto's format, uftrace's data, perf script's text.
load read-helper

rows() {
	devtrace sql -n -c "$@" | tr -d '\r'
}

python=/usr/bin/python3 # Debian's: it has the module for Protocol Buffers

@test "import: Perfetto's format: calls, events, switches and flows are those that were written" {
	command -v protoc || skip "no protoc"
	"$python" "$BATS_TEST_DIRNAME/perfetto-write.py" 3 4000 a.pftrace truth.json
	# another decoder finds that what was written is what was meant
	protoc --decode_raw <a.pftrace >raw
	grep -c '^1 {' raw >packets
	[ "$(cat packets)" -gt 3000 ]
	devtrace import -o t.db a.pftrace 2>err
	devtrace check t.db
	grep -q "its times are of CLOCK_BOOTTIME" err
	sqlite3 t.db "SELECT value FROM meta WHERE key = 'imported_clock'" | grep -qx CLOCK_BOOTTIME
	sqlite3 t.db "SELECT value FROM meta WHERE key = 'imported_origin'" >origin
	rows t.db "SELECT process, (SELECT name FROM threads t WHERE t.thread = c.thread), function, module, depth, begin, end, ended FROM calls c" >calls
	rows t.db "SELECT process, (SELECT name FROM threads t WHERE t.thread = e.thread), iif(subsystem GLOB '[0-9]*', '', subsystem) || ':' || event, iif(value1 IS NULL, argument, value1), time FROM events e WHERE kind = 'event'" >events
	rows t.db "SELECT count(*) FROM messages WHERE state IN ('whole', 'backward')" >messages
	devtrace cat --json t.db | jq -r 'select(.kind == "S") | [.core, .at_ns, .thread // 0, (.flags | length)] | @csv' >switches
	"$python" - <<-'P'
		import csv, json, collections
		t, origin = json.load(open("truth.json")), int(open("origin").read())
		base = min([c[5] for c in t["calls"]] + [e[4] for e in t["events"]] + [s[1] for s in t["switches"]])
		assert base == origin, (base, origin)
		def same(want, got, least):
		    want, got = collections.Counter(want), collections.Counter(got)
		    assert sum(got.values()) >= least and got == want, (list((got - want).items())[:4], list((want - got).items())[:4])
		same([(c[0], c[1], c[2], c[3], c[4], c[5] - base, None if c[6] is None else c[6] - base) for c in t["calls"]],
		    [(int(p), th, f, m, int(d), int(b), int(e) if how == "returned" else None) for p, th, f, m, d, b, e, how in csv.reader(open("calls"))], 1000)
		same([(*e[:4], e[4] - base) for e in t["events"]],
		    [(int(p), th, n, int(v), int(at)) for p, th, n, v, at in csv.reader(open("events"))], 300)
		same([(s[0], s[1] - base, s[2], s[3]) for s in t["switches"]],
		    [(int(c), int(float(at)), int(tid), int(how)) for c, at, tid, how in csv.reader(open("switches"))], 14)
		assert int(open("messages").read()) == t["messages"] > 20
		words = {"PACKETS": "packets have data of other", "PACKED": "groups of packets are compressed", "NO_NAME": "names are not in the file", "LEGACY": "events are left out, since they have the form",
		    "KERNEL": "events of the kernel", "NO_CLOCK": "events are left out, since no reading of clocks", "ARGUMENTS": "calls and events are without their args"}
		err = open("err").read()
		for kind, n in t["left"].items():
		    assert "a.pftrace: %d %s" % (n, words[kind]) in err, (kind, n, err)
	P
}

@test "import: Perfetto's format: what export has written comes back with the same calls" {
	maketrace -n 60000 -T 3 made.db
	devtrace export --perfetto -o made.pftrace made.db
	devtrace import -o t.db made.pftrace
	devtrace check t.db
	for t in made t; do
		rows $t.db "SELECT function, thread, depth, begin - (SELECT min(begin) FROM calls), duration FROM calls WHERE thread < 1073741824" | sort >$t.calls
	done
	# beyond these numbers are the export's own tracks, as of what was held
	[ "$(wc -l <made.calls)" -gt 20000 ]
	cmp made.calls t.calls
}

# bad NAME WORDS: one line, and no file
bad() {
	rm -rf out.db*
	run devtrace import -o out.db "$1"
	echo "$output"
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[[ "$output" == *"$2"* ]]
	[ -z "$(ls -d out.db* 2>/dev/null)" ]
}

@test "import: Perfetto's format: damaged files are told in one line" {
	"$python" "$BATS_TEST_DIRNAME/perfetto-write.py" 4 50 a.pftrace
	head -c -3 a.pftrace >cut
	bad cut "it is cut off"
	# a packet that says it has a gigabyte, and takes no memory for it
	printf '\x0a\xff\xff\xff\xff\x03\x08\x01' >long
	/usr/bin/time -f %M -o kib devtrace import -o out.db long || true
	[ "$(tail -1 kib)" -lt 60000 ]
	bad long "it is cut off"
	printf '\x0a\xff\xff\xff\xff\xff\xff\x7f\x08\x01' >longer
	bad longer "no packet begins at byte 0"
	# a field within a packet that is longer than it
	printf '\x0a\x04\x5a\x7f\x48\x01' >inner
	bad inner "the packet at byte 0 is damaged"
	printf '\x0a\x02\x08\x01' >empty
	bad empty "no calls or events"
	(cat a.pftrace && printf '\x12\x01x') >other
	bad other "no packet begins at byte $(stat -c %s a.pftrace)"
	# times and numbers at their ends, tracks that are in each other in a circle, a depth of 70,000
	"$python" - <<-'P'
		def v(n):
		    out = b""
		    while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
		    return out + bytes([n])
		def num(f, n): return v(f << 3) + v(n)
		def data(f, b): return v(f << 3 | 2) + v(len(b)) + b
		def event(at, e): return data(1, num(8, at) + data(11, e))
		out = data(1, data(60, num(1, 1) + num(5, 2))) + data(1, data(60, num(1, 2) + num(5, 1) + data(8, num(4, 2**63 - 1))))
		out += event(2**64 - 1, num(9, 1)) + event(2**63, num(9, 3)) + event(5, num(9, 4) + num(30, 2**63 - 1) + num(11, 2)) + event(5, num(9, 4) + num(11, 2))
		out += b"".join(event(i + 10, num(9, 1) + num(11, 1)) for i in range(70000)) + event(2**61, num(9, 2) + num(11, 1))
		open("far", "wb").write(out)
	P
	devtrace import -o t.db far 2>err
	devtrace check t.db
	grep -q "far: 2 events are left out, since their time" err
	grep -q "far: 2 values of counters are left out" err
	grep -q "far: 4464 calls are left out, since they are in 65,536 others" err
	gzip -c a.pftrace >a.gz
	bad a.gz "decompress it first"
}

@test "import: uftrace's data: the calls that uftrace replays, to the nanosecond, and its switches" {
	command -v uftrace || skip "no uftrace"
	cat >p.c <<-'C'
		#include <pthread.h>
		#include <setjmp.h>
		#include <unistd.h>
		#include <sys/wait.h>
		static jmp_buf back;
		static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		static void jump(int n) { if (n) jump(n - 1); longjmp(back, 1); }
		static void *thread(void *p) { fib(9); return p; }
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, thread, 0);
			pthread_join(t, 0);
			if (!setjmp(back)) jump(3);
			usleep(2000);
			if (!fork()) { fib(4); _exit(0); }
			wait(0);
			return fib(7) != 13;
		}
	C
	gcc -O0 -pg -o p p.c -lpthread
	uftrace record -d data ./p
	devtrace import -o u.db data 2>err
	devtrace check u.db
	# what uftrace itself converts, by another way
	uftrace dump --chrome -d data >u.json
	rows u.db "SELECT process, thread, function, depth, begin, end, ended FROM calls" >calls
	sqlite3 u.db "SELECT value FROM meta WHERE key = 'imported_origin'" >origin
	"$python" - <<-'P'
		import collections, csv, json
		got, origin = list(csv.reader(open("calls"))), int(open("origin").read())
		x = [e for e in json.load(open("u.json"))["traceEvents"] if e["ph"] in "BE"]
		begins = collections.Counter((int(e.get("tid", e["pid"])), e["name"], round(float(e["ts"]) * 1000)) for e in x if e["ph"] == "B" and not e["name"].startswith("linux:"))
		ours = collections.Counter((int(g[1]), g[2], int(g[4]) + origin) for g in got)
		assert sum(ours.values()) > 150 and ours == begins, (list((ours - begins).items())[:5], list((begins - ours).items())[:5])
		ends = collections.Counter((int(e.get("tid", e["pid"])), round(float(e["ts"]) * 1000)) for e in x if e["ph"] == "E" and e["name"] == "fib")
		ours = collections.Counter((int(g[1]), int(g[5]) + origin) for g in got if g[2] == "fib" and g[6] == "returned")
		assert ours == ends, (list((ours - ends).items())[:5], list((ends - ours).items())[:5])
		assert len({g[0] for g in got}) == 2 and len({g[1] for g in got}) == 3
	P
	# the sleep is one: perf's switches are in it
	rows u.db "SELECT waited > 1500000 FROM calls WHERE function = 'usleep'" | grep -qx 1
	# arguments are skipped, and the calls behind them are there
	uftrace record -d args -A 'fib@arg1' -R 'fib@retval' ./p
	devtrace import -o a.db args 2>err
	grep -q "calls and events are without their args" err
	rows a.db "SELECT count(*) FROM calls WHERE function = 'fib'" >n
	rows u.db "SELECT count(*) FROM calls WHERE function = 'fib'" | cmp - n
}

@test "import: uftrace's data: what is missing or damaged is told in one line" {
	mkdir data
	bad data "is not a trace that can be imported"
	echo "SESS timestamp=1.0 pid=1 sid=ab exename=\"/x\"" >data/task.txt
	bad data "it has no info"
	printf 'Ftrace!\0\4\0\0\0\50\0\1\2\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >data/info
	bad data "no calls or events"
	# an entry of depth 0 at 0x1000, and a piece of one
	printf '\1\0\0\0\0\0\0\0\50\0\0\20\0\0\0\0' >data/1.dat
	devtrace import -o t.db data 2>err
	grep -q "1 names are not in the file" err
	rows t.db "SELECT function FROM calls" | grep -qx 0x1000
	printf 'abc' >>data/1.dat
	bad data "1.dat: the file ends within a record, at byte 16"
	printf '\1\0\0\0\0\0\0\0\0\0\0\20\0\0\0\0' >data/1.dat
	bad data "no record ends at byte 16"
	rm data/1.dat
	mkfifo data/1.dat
	bad data "no plain file"
	rm data/1.dat
	ln -s /etc/passwd data/1.dat
	bad data "1.dat"
}

@test "import: perf script's text: samples and switches, as many as perf says" {
	command -v perf || skip "no perf"
	cat >p.c <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) static long busy(long n) { volatile long x = 0; while (n--) x += n; return x; }
		int main(void) { for (int i = 0; i < 5; i++) { busy(10000000); usleep(1000); } return 0; }
	C
	gcc -O1 -g -o "a program" p.c
	perf record -F 5000 -g -o s.data "./a program" || skip "perf can not record here"
	perf script --ns -i s.data >s.txt
	devtrace import -o s.db s.txt 2>err
	devtrace check s.db
	grep -c '^[^[:space:]#]' s.txt >want
	rows s.db "SELECT count(*) FROM events" | cmp - want
	awk '/^[^\t#]/ { getline; print $2 }' s.txt | sed 's/+0x[0-9a-f]*$//' | grep -cx busy >want
	rows s.db "SELECT count(*) FROM events WHERE event = 'busy'" | cmp - want
	rows s.db "SELECT name FROM threads" | grep -qx "a program"
	grep -q "callers in the stacks of samples are left out" err
	perf record -e sched:sched_switch -a -o w.data "./a program" || skip "perf can not record switches here"
	perf script --ns -F comm,pid,tid,cpu,time,event,trace -i w.data >w.txt
	devtrace import -o w.db w.txt
	devtrace check w.db
	devtrace cat --json w.db | jq -r 'select(.kind == "S") | [.core, .at_ns, .thread // 0] | @csv' >got
	"$python" - <<-'P'
		import collections, csv, re
		want = [(int(m[1]), int(m[2]) * 10**9 + int(m[3]), int(m[4])) for m in
		    (re.search(r"\[(\d+)\] +(\d+)\.(\d{9}): .*sched_switch: .* next_pid=(\d+)", l) for l in open("w.txt")) if m]
		first = min(w[1] for w in want)
		want = collections.Counter((c, ns - first, t) for c, ns, t in want)
		got = collections.Counter((int(c), int(float(at)), int(t)) for c, at, t in csv.reader(open("got")))
		assert sum(want.values()) > 10 and got == want, (list((got - want).items())[:4], list((want - got).items())[:4])
	P
}

@test "import: perf script's text: both forms of a switch; lines that are none are counted" {
	cat >w.txt <<-'T'
		# ========
		# captured on    : x
		my prog 12/13 [001]  5.000001:          1 sched:sched_switch: prev_comm=my prog prev_pid=13 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
		swapper     0/0 [001] d..2.    5.000002001: sched:sched_switch: swapper/1:0 [120] R ==> my prog:13 [120]
		my prog 12/13 [001]  5.000003: sched:sched_switch: my prog:13 [120] R ==> b:x:99 [120]
		my prog 12/13 [001]  5.000004: syscalls:sys_enter_read: fd: 0x3
		this is no event
		my prog 12/13  5.000005:  100 cycles:u:  401136 main+0x13 (/tmp/a)
		b:x 99/99 [001] 5.000006: sched:sched_switch: nothing
		:-1 77/-1 [000] 5.000007: sched:sched_switch: prev_comm=gone prev_pid=77 prev_prio=120 prev_state=X ==> next_comm=b:x next_pid=99 next_prio=120
	T
	devtrace import -o w.db w.txt 2>err
	devtrace check w.db
	grep -q "1 lines are left out, since they are not understood" err
	grep -q "1 switches are left out" err
	devtrace cat --json w.db | jq -r 'select(.kind == "S") | [.core, .at_ns, .thread // "none", .flags[]] | join(" ")' >got
	printf '1 0 none\n1 1001 13\n1 2000 99 preempted\n0 6000 99\n' | sort | diff - <(sort got)
	rows w.db "SELECT subsystem || ':' || event FROM events" | sort | tr '\n' ' ' | grep -qx "cycles:u:main syscalls:sys_enter_read "
}

# The calls of XRay's file of a mode, by llvm-xray's own conversion, as thread, function, time and kind.
xray_same() {
	llvm-xray convert -output-format=yaml -symbolize -instr_map=./p "$1" >y.yaml
	devtrace import --program ./p -o x.db "$1" 2>err
	devtrace check x.db
	rows x.db "SELECT thread, function, begin, end, ended FROM calls" >calls
	sqlite3 x.db "SELECT value FROM meta WHERE key = 'imported_origin'" >origin
	"$python" - <<-'P'
		import collections, csv, re
		origin = int(open("origin").read())
		want = collections.Counter()
		for l in open("y.yaml"):
		    m = re.search(r"function: '?(\w+)(?:\(.*?\))?'?, .*thread: (\d+), .*kind: function-(\w+)(?:-\w+)*, tsc: (\d+)", l)
		    if m: want[(int(m[2]), m[1], int(m[4]), m[3])] += 1
		got = collections.Counter()
		for thread, function, begin, end, how in csv.reader(open("calls")):
		    got[(int(thread), function, int(begin) + origin, "enter")] += 1
		    if how == "returned": got[(int(thread), function, int(end) + origin, "exit")] += 1
		if list(want)[0][3] and any(k[3] == "tail" for k in want): want = collections.Counter({(t, f, n, "exit" if h == "tail" else h): c for (t, f, n, h), c in want.items()})
		assert sum(got.values()) > 20 and got == want, (list((got - want).items())[:5], list((want - got).items())[:5])
	P
}

@test "import: XRay's files of both modes: calls and times as llvm-xray says, with names" {
	command -v llvm-xray clang++ || skip "no XRay"
	cat >p.cc <<-'C'
		#include <pthread.h>
		#include <string.h>
		#include <xray/xray_interface.h>
		#include <xray/xray_log_interface.h>
		[[clang::xray_always_instrument, gnu::noinline]] int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		[[clang::xray_always_instrument, gnu::noinline]] void *run(void *p) { return (void *)(long)fib(5); }
		int main(int argc, char **argv)
		{
			bool flight = !strcmp(argv[1], "xray-fdr");
			const char *how = flight ? "buffer_size=4096:buffer_max=50:func_duration_threshold_us=0" : "func_duration_threshold_us=0";
			pthread_t t;
			if (__xray_log_select_mode(argv[1]) != XRAY_REGISTRATION_OK || __xray_log_init_mode(argv[1], how) != XRAY_LOG_INITIALIZED) return 3;
			__xray_patch();
			pthread_create(&t, 0, run, 0);
			pthread_join(t, 0);
			int n = fib(6);
			__xray_unpatch();
			__xray_log_finalize();
			__xray_log_flushLog();
			return n != 8;
		}
	C
	clang++ -O1 -fxray-instrument -o p p.cc -lpthread || skip "clang has no XRay here"
	for mode in xray-fdr xray-basic; do
		rm -f xray-log.*
		XRAY_OPTIONS="xray_naive_log=false" ./p $mode || skip "XRay does not run here"
		xray_same xray-log.p.*
		devtrace import -o n.db xray-log.p.* 2>err
		grep -q "functions without names" err
		rows n.db "SELECT DISTINCT function FROM calls ORDER BY 1" | tr '\n' ' ' | grep -qx "function 1 function 2 "
		head -c -5 xray-log.p.* >cut
		bad cut "it is cut off"
	done
	run devtrace import --program /bin/true -o n.db xray-log.p.*
	[[ "$output" == *"no xray_instr_map"* ]]
	[ "$status" = 1 ]
}

@test "import: the Common Trace Format: what export has written comes back with the same calls" {
	maketrace -n 30000 -T 3 made.db
	devtrace export --ctf folder made.db
	devtrace import -o t.db folder 2>err
	devtrace check t.db
	for t in made t; do
		rows $t.db "SELECT function, thread, depth FROM calls WHERE ended = 'returned'" | sort >$t.calls
	done
	[ "$(wc -l <made.calls)" -gt 10000 ]
	cmp made.calls t.calls
	# as many events in all as babeltrace2 itself reads
	babeltrace2 folder | grep -c . >want
	rows t.db "SELECT (SELECT 2 * count(*) FROM calls) + (SELECT count(*) FROM events)" >have
	[ $(($(cat want) - $(cat have))) -lt $(($(cat want) / 50)) ]
	truncate -s 100 folder/metadata
	# 16 bytes of a plugin of babeltrace's stay behind
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 bad folder folder
}
