# SPDX-License-Identifier: MIT
# Time that the tracer took is not the program's: waits for room, for what was loaded.
load common

setup_file() {
	export dir
	dir=$(mktemp -d)
	chmod 755 "$dir"
	cat >"$dir/loop.c" <<-'C'
		#include <stdio.h>
		#include <time.h>
		__attribute__((noinline)) int leaf(volatile int *n) { return ++*n; }
		__attribute__((noinline)) void round_of(volatile int *n)
		{
			for (int i = 0; i < 300000; i++)
				leaf(n);
		}
		int main(int argc, char **argv)
		{
			volatile int n = 0;
			struct timespec a, b;
			for (int i = 0; i < (argc > 1 ? 1 : 3); i++) {
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
				round_of(&n);
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
			}
			printf("%ld\n", 1000000000 * (b.tv_sec - a.tv_sec) + b.tv_nsec - a.tv_nsec);
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/loop" "$dir/loop.c"
	cat >"$dir/load.c" <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		__attribute__((noinline)) void *load(const char *name) { void *p = dlopen(name, RTLD_NOW); return p; }
		int main(int argc, char **argv)
		{
			for (int i = 0; i < 5; i++) {
				void *p = load(argv[1]);
				if (!p)
					return 1;
				dlclose(p);
			}
			return 0;
		}
	C
	gcc -O0 -g -B"$root/build/lib" -o "$dir/load" "$dir/load.c"
	cat >"$dir/alarms.c" <<-'C'
		#include <dlfcn.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/time.h>
		#include <time.h>
		static volatile int n;
		static int microseconds;
		static long now(clockid_t clock)
		{
			struct timespec t;
			clock_gettime(clock, &t);
			return t.tv_sec * 1000000000 + t.tv_nsec;
		}
		__attribute__((noinline)) void tick(int s)
		{
			for (long end = now(CLOCK_THREAD_CPUTIME_ID) + microseconds * 1000L; now(CLOCK_THREAD_CPUTIME_ID) < end;)
				;
			n += s;
		}
		__attribute__((noinline)) int leaf(int i) { return n + i; }
		/* alarms EVERY-MICROSECONDS THAT-LAST-SO-MANY SECONDS [LIBRARY] */
		int main(int argc, char **argv)
		{
			struct sigaction a = {.sa_handler = tick, .sa_flags = SA_NODEFER | SA_RESTART};
			int every = atoi(argv[1]);
			long end;
			microseconds = atoi(argv[2]);
			sigaction(SIGALRM, &a, NULL);
			setitimer(ITIMER_REAL, &(struct itimerval){{0, every}, {0, every}}, NULL);
			end = now(CLOCK_MONOTONIC) + atol(argv[3]) * 1000000000;
			while (now(CLOCK_MONOTONIC) < end) {
				for (int i = 0; i < (argc > 4 ? 1 : 1000); i++)
					leaf(i);
				if (argc > 4)
					dlclose(dlopen(argv[4], RTLD_NOW));
			}
			puts("done");
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/alarms" "$dir/alarms.c"
	echo 'int f(int x) { return x + 1; }' >"$dir/lib.c"
	gcc -O0 -g -shared -fPIC -B"$root/build/lib" -o "$dir/lib.so" "$dir/lib.c"
}

sql() {
	"$dt" sql --csv --no-header "$@" | tr -d '\r'
}

# A program whose rings are overwritten never waits: its processor time is what its last round takes. The two before it have
# written to all pages of the ring, the same ones: the first write to a page costs the program about what 20 calls do.
@test "a loop takes as long with rings of 64 KiB as when it never waits" {
	local waits=0 never=0 w n i
	# a machine that is busy adds to some runs, not to all
	for i in 1 2 3 4 5 6 7 8; do
		"$dt" record -F 'loop:*' -b 64K -o "$dir/s.db" "$dir/loop" >/dev/null
		w=$(sql "$dir/s.db" "SELECT CAST(duration AS INTEGER) FROM calls WHERE function='round_of' ORDER BY begin_ticks DESC LIMIT 1")
		n=$("$dt" record -F 'loop:*' -b 64K -p overwrite -o "$dir/l.db" "$dir/loop")
		[ "$waits" != 0 ] && [ "$waits" -le "$w" ] || waits=$w
		[ "$never" != 0 ] && [ "$never" -le "$n" ] || never=$n
		echo "$i: $waits $never"
		[ $((100 * waits)) -gt $((110 * never)) ] || [ $((100 * waits)) -lt $((90 * never)) ] || return 0
	done
	false
}

@test "a wait that a program tells backwards is not believed, but counted" {
	gcc -O2 -w -pthread -I"$root" -o "$dir/scribble" "$root"/test/hostile/{scribble,code,lives,requests}.c
	# with room for all, so that there are no other waits
	timeout 60 "$dt" record -F scribble:leaf -p overwrite -b 64K -o "$dir/w.db" "$dir/scribble" 1 0.2 lie-wait || [ $? = 7 ]
	[ "$(sql "$dir/w.db" "SELECT count(*) FROM held WHERE why = 'room'")" = 0 ]
	[ "$(sqlite3 "$dir/w.db" "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'held_missed'")" -ge 1 ]
	"$dt" check -q "$dir/w.db"
}

@test "report, sql and the calls agree about what the program waited" {
	"$dt" record -F 'loop:*' -b 64K -o "$dir/s.db" "$dir/loop"
	# some 600 rings full
	[ "$(sql "$dir/s.db" "SELECT count(*) >= 20 AND min(duration) > 0 AND min(end - begin) > 0 FROM held WHERE why='room'")" = 1 ]
	"$dt" report "$dir/s.db" >"$dir/report"
	grep -q 'waiting for devtrace, in no other row  (.*for room' "$dir/report"
	n=$(sql "$dir/s.db" "SELECT count(*) FROM held WHERE end > 0") # what is before the first record is of no call
	[ "$(awk '/waiting for devtrace/ { print $5 }' "$dir/report")" = "$n" ]
	"$dt" report --json "$dir/s.db" | python3 -c "
import json, sys
rows = list(map(json.loads, sys.stdin))
held = [r for r in rows if r['type'] == 'held']
assert len(held) == 1 and held[0]['calls'] == $n
main = [r for r in rows if r.get('function') == 'main'][0]
rounds = [r for r in rows if r.get('function') == 'round_of'][0]
leaf = [r for r in rows if r.get('function') == 'leaf'][0]
assert abs(main['total_ns'] - main['self_ns'] - rounds['total_ns']) < 1000, (main, rounds)
assert abs(rounds['total_ns'] - rounds['self_ns'] - leaf['total_ns']) < 1000, (rounds, leaf)
"
	# what is missing of main's time is what its thread waited meanwhile, and until the record it waited for
	[ "$(sql "$dir/s.db" "SELECT m.end - m.begin - m.duration BETWEEN h.sum - 1000 AND h.sum * 1.5 + 1000000
		FROM (SELECT * FROM calls WHERE function='main') m,
		(SELECT sum(h.duration) sum FROM held h, (SELECT * FROM calls WHERE function='main') c
			WHERE h.begin >= c.begin AND h.end <= c.end) h")" = 1 ]
	# every reader: in ns
	main=$(sql "$dir/s.db" "SELECT CAST(duration AS INTEGER) FROM calls WHERE function='main'")
	"$dt" export --csv "$dir/s.db" | awk -F, '$6 == "\"main\"" { print "csv", int($10) }' >"$dir/took"
	"$dt" calls -F main "$dir/s.db" | awk '$2 == "us" && /main/ { print "calls", $1 * 1000 }' >>"$dir/took"
	"$dt" hist --durations -b linear:1000 --max 1000000000 -F main "$dir/s.db" | awk '$2 == 1 { print "hist", $1 }' >>"$dir/took"
	"$dt" report --json "$dir/s.db" | sed -n 's/.*"main".*"max_ns": \([0-9]*\).*/report \1/p' >>"$dir/took"
	cat "$dir/took"
	[ "$(wc -l <"$dir/took")" = 4 ]
	awk -v main="$main" '$2 < main - 1000 || $2 > main + 1000 { exit 1 }' "$dir/took"
	# self times add up to it
	self=$("$dt" export --folded "$dir/s.db" | awk '{ n += $NF } END { print n }')
	[ "$self" -ge $((main - main / 50)) ]
	[ "$self" -le $((main + main / 50)) ]
}

@test "what an execution waits for what it loads is not its own" {
	"$dt" record -F 'load:*' -F 'lib.so:*' -o "$dir/m.db" "$dir/load" "$dir/lib.so"
	[ "$(sql "$dir/m.db" "SELECT count(*) >= 10 FROM held WHERE why='modules'")" = 1 ]
	# each load waited within it
	[ "$(sql "$dir/m.db" "SELECT count(*) FROM calls c WHERE function='load' AND duration <=
		c.end - c.begin - (SELECT sum(duration) FROM held h WHERE h.begin > c.begin AND h.end < c.end) + 1000")" = 5 ]
	"$dt" report "$dir/m.db" | grep 'for what was loaded'
}

@test "a thread that is stopped while another loads something is not charged with it" {
	cat >"$dir/both.c" <<-'C'
		#include <dlfcn.h>
		#include <pthread.h>
		#include <unistd.h>
		static volatile int stop, dozing;
		static int end[2];
		__attribute__((noinline)) int turn(int n) { for (volatile int i = 0; i < 2000; i++); return n; }
		__attribute__((noinline)) void doze(void) { char c; dozing = 1; read(end[0], &c, 1); }
		static void *spin(void *a) { for (int i = 0; !stop; i++) turn(i); return a; }
		static void *sleeper(void *a) { doze(); return a; }
		int main(int argc, char **argv)
		{
			pthread_t t, u;
			pthread_create(&t, NULL, spin, NULL);
			if (pipe(end) < 0)
				return 1;
			pthread_create(&u, NULL, sleeper, NULL);
			while (!dozing)
				usleep(10000);
			usleep(50000);
			for (int i = 0; i < 5; i++) {
				void *p = dlopen(argv[1], RTLD_NOW);
				if (!p)
					return 1;
				usleep(20000);
				dlclose(p);
			}
			stop = 1;
			close(end[1]);
			pthread_join(t, NULL);
			pthread_join(u, NULL);
			return 0;
		}
	C
	gcc -O0 -g -o "$dir/both" "$dir/both.c" -lpthread
	gcc -O0 -g -shared -fPIC -o "$dir/plain.so" "$dir/lib.c"
	# with room for all: who waits for it meanwhile is not stopped besides
	"$dt" record -b 64M -F 'both:*' -F 'plain.so:*' -o "$dir/b.db" "$dir/both" "$dir/plain.so"
	sql "$dir/b.db" "SELECT thread, why, count(*), sum(duration) FROM held WHERE begin > 0 GROUP BY 1, 2"
	# it was stopped each time; whoever slept went on sleeping
	[ "$(sql "$dir/b.db" "SELECT count(*) >= 5 FROM held WHERE why='stop' AND begin > 0 AND
		thread = (SELECT thread FROM calls WHERE function='turn' LIMIT 1)")" = 1 ]
	[ "$(sql "$dir/b.db" "SELECT count(*) FROM held WHERE why='stop' AND begin >
		(SELECT begin FROM calls WHERE function='doze') AND thread = (SELECT thread FROM calls WHERE function='doze')")" = 0 ]
	# each stop is of no call
	[ "$(sql "$dir/b.db" "SELECT count(*) FROM held h JOIN calls c ON c.thread = h.thread AND h.begin > c.begin AND h.end < c.end
		WHERE h.why='stop' AND c.function='spin' AND c.duration > c.end - c.begin - h.duration + 1000")" = 0 ]
	"$dt" report "$dir/b.db" | grep -E 'waiting for devtrace.*[0-9] stopped'
}

@test "a trace of before it was told has none" {
	"$dt" record -F 'loop:*' -b 64K -o "$dir/s.db" "$dir/loop"
	sqlite3 "$dir/s.db" "DROP TABLE hold"
	[ "$(sql "$dir/s.db" "SELECT count(*) FROM held")" = 0 ]
	[ "$(sql "$dir/s.db" "SELECT CAST(duration AS INTEGER) BETWEEN end - begin - 10000 AND end - begin + 10000 FROM calls WHERE function='main'")" = 1 ]
}

# bats test_tags=long
@test "exports show the times in which the program waited for devtrace" {
	cd "$BATS_TEST_TMPDIR"
	"$dt" record -F 'loop:*' -b 64K -o w.db "$dir/loop" once >/dev/null 2>&1
	first=$(sql w.db 'SELECT min(ticks) FROM records')
	hz=$(sqlite3 w.db 'SELECT (max(ticks) - min(ticks)) * 1.0 / (max(monotonic_ns) - min(monotonic_ns)) FROM clock')
	sqlite3 w.db "SELECT (begin_ticks - $first) / $hz / 1000, (end_ticks - begin_ticks) / $hz / 1000 FROM hold WHERE why = 'room'" >rooms
	[ "$(wc -l <rooms)" -gt 10 ]
	"$dt" export --chrome -o w.json w.db
	"$dt" export --perfetto -o w.pftrace w.db
	[ "$(grep -aoc 'waiting for devtrace' w.pftrace)" -gt 0 ]
	"$dt" export --speedscope -o w.speedscope w.db
	# CTF has them all as they are in the file: who, from when on, how long, why
	"$dt" export --ctf w.ctf w.db
	sqlite3 -separator ' ' w.db "SELECT begin_ticks, tid, end_ticks - begin_ticks, why FROM hold" | sort >holds
	babeltrace2 --clock-cycles --no-delta w.ctf |
		sed -n 's/^\[0*\([0-9]*\)\] waiting: { tid = \([0-9]*\), pid = [1-9][0-9]*, thread = "loop" }, { why = "\(.*\)", ticks = \([0-9]*\) }$/\1 \2 \4 \3/p' |
		sort | diff - holds
	python3 - <<-'P'
		import json, bisect
		rooms = [tuple(map(float, l.split("|"))) for l in open("rooms")]
		w = sorted((e["ts"], e["dur"]) for e in json.load(open("w.json"))["traceEvents"]
		           if e["ph"] == "X" and e["name"] == "waiting for devtrace")
		assert len(rooms) <= len(w) <= len(rooms) + 10, (len(w), len(rooms))
		for ts, dur in rooms:
		    near = w[max(0, bisect.bisect(w, (ts, 0)) - 2):][:4]
		    assert any(abs(a - ts) < 1 + ts / 1000 and abs(b - dur) < 0.1 + dur / 50 for a, b in near), (ts, dur, near)
		# within main, and as long
		s = json.load(open("w.speedscope"))
		frames = [f["name"] for f in s["shared"]["frames"]]
		total, open_ = 0, []
		for e in s["profiles"][0]["events"]:
		    if e["type"] == "O":
		        open_.append((frames[e["frame"]], e["at"]))
		        continue
		    name, begin = open_.pop()
		    if name == "waiting for devtrace":
		        assert open_[0][0] == "main", open_
		        total += e["at"] - begin
		assert abs(total / 1000 - sum(d for _, d in rooms)) <= total / 50000, (total, sum(d for _, d in rooms))
	P
}

# Returns whether this kernel makes large pages of a memfd's memory, whatever its settings.
makes_large_pages() {
	python3 - <<-'P'
		import ctypes, mmap, os, sys
		size = 2 << 20
		libc = ctypes.CDLL(None, use_errno=True)
		libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
		f = os.memfd_create("large")
		os.ftruncate(f, size)
		at = libc.mmap(None, 2 * size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
		at = libc.mmap(at + size - 1 & -size, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | 0x10, f, 0)
		ctypes.memset(at, 0, 1)
		sys.exit(libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 25) != 0)
	P
}

@test "no page of a ring is touched first in a traced process; in a fork's child each one is, once" {
	cd "$BATS_TEST_TMPDIR"
	cat >"$dir/touch.c" <<-'C'
		/* For each line that it reads: faults of 30,000 calls, twice in the process and twice in a child. */
		#include <stdio.h>
		#include <sys/resource.h>
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noipa)) int leaf(int n) { return n + 1; }
		static long calls(void)
		{
			struct rusage before, after;
			leaf(0);
			getrusage(RUSAGE_SELF, &before);
			for (int i = 0; i < 30000; i++)
				leaf(i);
			getrusage(RUSAGE_SELF, &after);
			return after.ru_minflt - before.ru_minflt;
		}
		int main(void)
		{
			char line[16];
			setvbuf(stdout, NULL, _IOLBF, 0);
			puts("ready");
			while (fgets(line, sizeof(line), stdin)) {
				long first = calls();
				printf("%ld %ld\n", first, calls());
				if (!fork()) {
					first = calls();
					printf("%ld %ld\n", first, calls());
					_exit(0);
				}
				wait(NULL);
			}
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/touch" "$dir/touch.c"
	# 60,000 records in rings of 4 MiB: all but 64 pages of one, which is on one core
	echo go | taskset -c 0 "$dt" record -F leaf -b 4M -o t.db "$dir/touch" >"$dir/faults"
	mkfifo in
	taskset -c 0 "$dir/touch" <in >"$dir/attached" 3>&- &
	pid=$!
	exec 8>in
	until [ -s "$dir/attached" ]; do sleep 0.01; done
	"$dt" attach -d -s "touch-$$" -F leaf -b 4M -o t.db "$pid" >/dev/null 3>&- 8>&-
	echo go >&8
	exec 8>&-
	tail --pid="$pid" -f /dev/null
	# where there are large pages, 960 small ones are two
	most=1100
	if makes_large_pages; then most=30; fi
	echo "at most $most faults:"
	cat "$dir/faults" "$dir/attached"
	for f in "$dir/faults" "$dir/attached"; do
		# ready, the process, its child
		awk -v most="$most" 'NR == 2 && $1 + $2 > 20 { bad = 1 }
			NR == 3 && ($1 > 960 || $1 + $2 > most) { bad = 1 }
			END { exit bad || NR != 3 }' "$f"
	done
	while "$dt" ctl -s "touch-$$" >/dev/null 2>&1; do sleep 0.02; done
}

# stopped PROGRAM...: recorded by a controller that is stopped for 1.5 s, a short time after the program has begun
stopped() {
	local controller
	"$dt" record -F alarms:tick -F alarms:leaf -F lib.so:f -b 64K -o "$dir/a.db" "$dir/alarms" "$@" >"$dir/out" &
	controller=$!
	sleep 0.5
	kill -STOP "$controller"
	sleep 1.5
	kill -CONT "$controller"
	wait "$controller"
}

# A handler that is recorded waits, too: one in the other, each with its frame on the stack, until that is full.
@test "signals that come while there is no room wait, and do not pile up on the stack" {
	stopped 100 0 3
	[ "$(cat "$dir/out")" = done ]
	[ "$(sql "$dir/a.db" "SELECT max(depth) < 10 FROM calls WHERE function = 'tick'")" = 1 ]
	"$dt" check -q "$dir/a.db"
}

@test "what a signal's handler does is in no wait" {
	stopped 20000 5000 3
	[ "$(cat "$dir/out")" = done ]
	# one thread, which takes 3 s by its own clock
	[ "$(sql "$dir/a.db" "SELECT sum(duration) BETWEEN 1e9 AND 3e9 FROM held WHERE why = 'room'")" = 1 ]
	[ "$(sql "$dir/a.db" "SELECT count(*) > 20 FROM calls WHERE function = 'tick'")" = 1 ]
	[ "$(sql "$dir/a.db" "SELECT count(*) FROM calls WHERE function = 'tick' AND duration < 4990000")" = 0 ]
}

@test "what a signal's handler does is in no wait for what was loaded" {
	stopped 20000 5000 3 "$dir/lib.so"
	[ "$(cat "$dir/out")" = done ]
	[ "$(sql "$dir/a.db" "SELECT sum(duration) > 1e9 FROM held WHERE why = 'modules'")" = 1 ]
	# what its one thread did, and what it waited, in the 3 s that it takes by its own clock, and before and after
	[ "$(sql "$dir/a.db" "SELECT (SELECT sum(duration) FROM held) + (SELECT sum(duration) FROM calls WHERE function = 'tick') < 3.4e9")" = 1 ]
	[ "$(sql "$dir/a.db" "SELECT count(*) > 20 FROM calls WHERE function = 'tick'")" = 1 ]
	[ "$(sql "$dir/a.db" "SELECT count(*) FROM calls WHERE function = 'tick' AND duration < 4990000")" = 0 ]
}

@test "a program that waits for a controller that does nothing is ended by a signal all the same" {
	local controller program library
	for library in "" "$dir/lib.so"; do
		"$dt" record -F alarms:tick -F alarms:leaf -F lib.so:f -b 64K -o "$dir/a.db" "$dir/alarms" 100000 0 60 $library >"$dir/out" &
		controller=$!
		sleep 0.5
		kill -STOP "$controller"
		sleep 0.3
		program=$(pgrep -P "$controller" -x alarms)
		kill -TERM "$program"
		# its parent can not take its status yet
		for _ in $(seq 100); do
			! grep -q '^State:.Z' "/proc/$program/status" || break
			sleep 0.1
		done
		grep '^State:.Z' "/proc/$program/status"
		kill -CONT "$controller"
		wait "$controller" || [ $? = 143 ]
	done
}
