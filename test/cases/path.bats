# SPDX-License-Identifier: MIT
# devtrace path: where the time of a call went, over the threads that it waited for. What is true is known because the
# trace is made up, from another computation of the same trace (test/cases/path.py), or from what programs say themselves.
bats_require_minimum_version 1.5.0
load common

setup() {
	tools=${DEVTRACE_BUILD:-$root/build}/test/tool
	cd "$BATS_TEST_TMPDIR" || return 1
}

# known [FILE]: thread 11 calls work, which begins at 1000 us. It computes until 1100, waits until 12 wakes it at 1900, runs from 1950
# on, waits 250 for a timer and runs 50 later, is preempted from 2400 to 2500, and returns at 2600. 12 ran in other from
# before, waited from 1300 to 1600 for 13, which ran in third, and was woken at 1580.
known_text() {
	cat <<-END
		clock 0 1000000
		clock 1000000 1001000000
		kinds
		function work
		function other
		function third
		function hrtimer_wakeup
		thread 11 first
		thread 12 second
		thread 13 third
		waker 12 12 0 0 other 0 second
		waker 13 13 0 0 third 0 third
		waker 0 0 2 0 hrtimer_wakeup 0
		waker 99 98 0 0 third 0 stranger
		at 0 11
		S S 0 900 11 0 11 4294967295
		E work 0x8000 1000
		at 1 12
		S S 0 905 12 0 12 4294967295
		E other 0x7000 1010
		at 2 13
		S S 0 910 13 0 13 4294967295
		E third 0x6000 1015
		at 0 4294967295
		S S 0 1100 4294967295 0 0 11
		at 1 4294967295
		S S 0 1300 4294967295 0 0 12
		at 2 12
		W W $((1 << 63 | 2)) 1580
		at 1 12
		S S 0 1600 12 0 12 4294967295
		at 1 11
		W W $((1 << 63 | 1)) 1900
		at 0 11
		S S 0 1950 11 0 11 4294967295
		at 0 4294967295
		S S 0 2000 4294967295 0 0 11
		at 0 11
		W W $((1 << 63 | 3)) 2250
		S S 0 2300 11 0 11 4294967295
		at 0 4294967295
		flags 64
		S S 0 2400 4294967295 0 0 4294967307
		flags 0
		at 0 11
		S S 0 2500 11 0 11 4294967295
		X work 0x8000 2600
		at 1 12
		X other 0x7000 2700
		at 2 13
		X third 0x6000 2800
	END
}

known() {
	known_text | "$tools/writetrace" "${1:-known.db}"
}

# pieces FILE OPTION...: thread, kind, microseconds, function, and what comes then
pieces() {
	"$dt" path --json "${@:2}" "$1" >pieces.json || return
	python3 -c '
import json
for o in map(json.loads, open("pieces.json")):
    if o["type"] == "piece":
        print(o["thread"], o["kind"], round(o["time_ns"] / 1000), o["functions"][0]["function"] or "-", o["then"])'
}

@test "path: a call of which all is known" {
	known
	pieces known.db -F work >got
	diff - got <<-'END'
		11 ran 100 work waits
		12 ran 200 other waits
		13 ran 280 third woke
		12 processor 20 other goes_on
		12 ran 300 other woke
		11 processor 50 work goes_on
		11 ran 50 work goes_on
		11 waited 250 work goes_on
		11 processor 50 work goes_on
		11 ran 100 work goes_on
		11 processor 100 work goes_on
		11 ran 100 work goes_on
	END
	"$dt" path -F work known.db >text
	cat text
	[ "$(head -1 text)" = "work in thread 11 (first): 1.600 ms, from 100.000 us on" ]
	grep -q '^  500.000 us  31.2 %  12 (second)  ran in other$' text
	grep -q '^  250.000 us  15.6 %  11 (first)   waited, woken by an interrupt in hrtimer_wakeup, in work$' text
	grep -q '^  100.000 us  200.000 us    12 (second) ran in other; then waits; meanwhile: 13 (third)$' text
	grep -q '^  300.000 us  280.000 us      13 (third) ran in third; wakes 12 (second)$' text
}

@test "path: a range, of one thread, ends and begins where it is said" {
	known
	pieces known.db --from 1200 --to 1700 --thread 11 >got
	diff - got <<-'END'
		12 ran 100 other waits
		13 ran 280 third woke
		12 processor 20 other goes_on
		12 ran 100 other woke
	END
	# the thread that made the last record by then
	"$dt" path --to 1500 known.db >text
	[ "$(head -1 text)" = "thread 13 (third): 600.000 us, from 0.000 us on" ]
	grep -q '^  485.000 us  80.8 %  13 (third)  ran in third$' text
	run "$dt" path --from 1200 --to 1100 known.db
	[ "$status" = 1 ]
	[[ $output = *"--from"* ]]
}

@test "path: who is not traced is named" {
	known
	sqlite3 known.db "UPDATE waker SET tid = 99, pid = 98, name = 'stranger' WHERE id = 1"
	"$dt" path -F work known.db >text
	grep -q '^  800.000 us  50.0 %  11 (first)  waited, woken by stranger (99) in other, not traced, in work$' text
	pieces known.db -F work >got
	[ "$(sed -n 2p got)" = "11 waited 800 work goes_on" ]
}

@test "path: what the tracer held, and where switches are missing" {
	known
	sqlite3 known.db "INSERT INTO hold VALUES(12, 1650, 1700, 'stop')"
	pieces known.db -F work | sed -n 5,7p >got
	diff - got <<-'END'
		12 ran 50 other goes_on
		12 held 50 other goes_on
		12 ran 200 other woke
	END
	# the kernel had no room for some switches between 2510 and 2600
	known_text | sed '/^X work/i unseen 3 2510' | "$tools/writetrace" unseen.db
	pieces unseen.db -F work | tail -3 >got
	cat got
	diff - got <<-'END'
		11 processor 100 work goes_on
		11 ran 10 work goes_on
		11 unknown 90 work goes_on
	END
	"$dt" path -F work unseen.db 2>said | grep -q '^   90.000 us   5.6 %  11 (first)   ran or waited: nothing is recorded of it in work$'
	grep -q 'switches' said
}

@test "path: by what looks have told, without wakers: locks, ends, pipes, children" {
	local what
	known
	for what in 'lock 0x4040a0, held by thread 12 (second)' 'the end of thread 12 (second)' 'pipe:[345], written by 12 (second)' \
		'process 12 (second)' 'a child'; do
		known looked.db
		sqlite3 looked.db "DELETE FROM waker; INSERT INTO waited VALUES(11, 1300, 1310, '$what');
			INSERT INTO process VALUES(12, 11, 'x', 'x', 1, 1900, 0), (11, 1, 'x', 'x', 1, 0, 0);
			UPDATE thread SET pid = tid"
		pieces looked.db -F work >got
		echo "$what"
		cat got
		# what ended the wait is not known to the microsecond, but in whom its time went
		[ "$(awk '$1 == 12 { sum += $3 } END { print sum + 0 }' got)" -ge 800 ]
		[ "$(awk '{ sum += $3 } END { print sum }' got)" = 1600 ]
		rm looked.db
	done
	# two that could be
	known looked.db
	sqlite3 looked.db "DELETE FROM waker; INSERT INTO waited VALUES(11, 1300, 1310, 'pipe:[345], written by 12 (second) and 13 (third)')"
	"$dt" path -F work looked.db >text
	grep -q 'waited for pipe:\[345\], written by 12 (second) and 13 (third), not known who ended it, in work$' text
	grep -q '^Of 1.100 ms it is not known who ended the waiting: record --wakers tells.$' text || cat text
}

# One was sent before 11 waited: it has not waited for that one.
@test "path: a message leads to who sent it" {
	"$tools/writetrace" m.db <<-'END'
		clock 0 1000000
		clock 1000000 1001000000
		kinds
		function call
		function serve
		thread 11 client
		thread 12 server
		at 0 11
		S S 0 900 11 0 11 4294967295
		E call 0x8000 1000
		at 1 12
		S S 0 905 12 0 12 4294967295
		E serve 0x7000 1010
		M serve 0x7000 1050 0xfe00000000006001
		at 0 4294967295
		S S 0 1100 4294967295 0 0 11
		at 1 12
		M serve 0x7000 1700 0xfe00000000005001
		at 0 11
		S S 0 1950 11 0 11 4294967295
		N call 0x8000 1955 0xfe00000000006001
		N call 0x8000 1960 0xfe00000000005001
		X call 0x8000 2000
		at 1 12
		X serve 0x7000 2700
	END
	pieces m.db -F call >got
	diff - got <<-'END'
		11 ran 100 call waits
		12 ran 600 serve sent
		11 underway 250 call goes_on
		11 ran 50 call goes_on
	END
}

@test "path: the same as another computation, of traces made at random" {
	for seed in 1 2 3 4 5 6; do
		python3 "$root/test/cases/path.py" make $seed 15000 | "$tools/writetrace" r$seed.db
		python3 "$root/test/cases/path.py" check "$dt" r$seed.db $seed whole
	done
	# a long one, of which each path reads a part
	python3 "$root/test/cases/path.py" make 7 150000 | "$tools/writetrace" long.db
	python3 "$root/test/cases/path.py" check "$dt" long.db 7
}

@test "path: pieces follow one another, and are as long as the call, whatever a trace says" {
	for seed in 1 2 3 4 5 6 7 8; do
		python3 "$root/test/cases/path.py" wild $seed 30000 | "$tools/writetrace" w$seed.db
		unsound w$seed.db
		sqlite3 w$seed.db "INSERT INTO hold SELECT 11, 2000 + 700 * value, 2300 + 700 * value, 'stop' FROM (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 9) SELECT value FROM n);
			INSERT INTO waited SELECT 12, min_ticks + 500, min_ticks + 600, 'lock 0x1, held by thread 13 (t13)' FROM chunk;
			INSERT INTO waited SELECT 13, min_ticks + 900, min_ticks + 990, 'the end of thread 12 (t12)' FROM chunk"
		python3 "$root/test/cases/path.py" gapless "$dt" w$seed.db $seed
	done
}

# 12 unlocks what 11 waits for at 1900, 13 another lock at 1940, and the same one later.
@test "path: by recorded calls of libc, without wakers: who unlocked the same lock" {
	"$tools/writetrace" lock.db <<-'END'
		clock 0 1000000
		clock 1000000 1001000000
		kinds
		in 10
		process 10 1 1 0 0 prog prog
		thread 11 first
		thread 12 second
		thread 13 third
		function work
		module 0x500000 0x600000 /usr/lib/libc.so.6
		function pthread_mutex_lock
		function __pthread_mutex_unlock
		at 0 11
		S S 0 900 11 0 11 4294967295
		E work 0x8000 1000
		E pthread_mutex_lock 0x7f00 1050 0x4040
		at 1 12
		S S 0 905 12 0 12 4294967295
		E work 0x7000 1010
		at 2 13
		S S 0 910 13 0 13 4294967295
		E work 0x6000 1015
		at 0 4294967295
		S S 0 1100 4294967295 0 0 11
		at 1 12
		E __pthread_mutex_unlock 0x6f00 1900 0x4040
		X __pthread_mutex_unlock 0x6f00 1990
		X work 0x7000 2700
		at 2 13
		E __pthread_mutex_unlock 0x5f00 1940 0x5050
		X __pthread_mutex_unlock 0x5f00 1970
		E __pthread_mutex_unlock 0x5f00 2500 0x4040
		X __pthread_mutex_unlock 0x5f00 2510
		X work 0x6000 2700
		at 0 11
		S S 0 1950 11 0 11 4294967295
		X pthread_mutex_lock 0x7f00 1980
		X work 0x8000 2000
	END
	unsound lock.db
	pieces lock.db -F work --thread 11 >got
	diff - got <<-'END'
		11 ran 100 work waits
		12 ran 800 work lock
		11 underway 50 pthread_mutex_lock goes_on
		11 ran 50 pthread_mutex_lock goes_on
	END
}

@test "path: short waits for semaphores and a condition variable, by recorded calls of libc" {
	cat >short.c <<-'C'
		#include <pthread.h>
		#include <semaphore.h>
		#include <time.h>
		static void spin(double some)
		{
			struct timespec t;
			double end = 0;
			do {
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
				end = end ? end : t.tv_sec * 1e3 + t.tv_nsec / 1e6 + some;
			} while (t.tv_sec * 1e3 + t.tv_nsec / 1e6 < end);
		}
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
		static sem_t s[2];
		static int turn;
		__attribute__((noinline)) void work_a(void) { spin(0.4); }
		__attribute__((noinline)) void work_b(void) { spin(0.6); }
		static void *a(void *x)
		{
			for (int i = 0; i < 50; i++) {
				sem_wait(&s[0]);
				work_a();
				pthread_mutex_lock(&lock);
				turn = 1;
				pthread_cond_signal(&changed);
				pthread_mutex_unlock(&lock);
			}
			return x;
		}
		static void *b(void *x)
		{
			for (int i = 0; i < 50; i++) {
				pthread_mutex_lock(&lock);
				while (!turn)
					pthread_cond_wait(&changed, &lock);
				turn = 0;
				pthread_mutex_unlock(&lock);
				work_b();
				sem_post(&s[1]);
			}
			return x;
		}
		__attribute__((noinline)) void handle(void)
		{
			sem_post(&s[0]);
			sem_wait(&s[1]);
		}
		int main(void)
		{
			pthread_t t[2];
			sem_init(&s[0], 0, 0);
			sem_init(&s[1], 0, 0);
			pthread_create(&t[0], NULL, a, NULL);
			pthread_create(&t[1], NULL, b, NULL);
			for (int i = 0; i < 50; i++)
				handle();
			pthread_join(t[0], NULL);
			pthread_join(t[1], NULL);
			return 0;
		}
	C
	gcc -O1 -g -o short short.c -lpthread
	"$dt" record -S -l -F main -F handle -F 'work_*' -o t.db ./short
	"$dt" path -F handle --slowest 50 --json t.db >paths.json
	python3 - <<-'PY'
		import json
		objects = [json.loads(l) for l in open("paths.json")]
		paths = [o for o in objects if o["type"] == "path"]
		of = {i: [o for o in objects if o["type"] == "piece" and o["path"] == i] for i in range(len(paths))}
		assert len(paths) == 50
		unknown = sum(p["time_ns"] for i in of for p in of[i] if p["kind"] == "waited")
		all_of = sum(p["duration_ns"] for p in paths)
		# a thread that was new had not run yet
		assert unknown < 0.2 * all_of, (unknown, all_of)
		woke = sum(any(p["then"] == "woke" and p["thread"] != paths[i]["thread"] for p in of[i]) for i in of)
		assert woke >= 45, woke
		print(woke, unknown / all_of)
	PY
}

@test "path: names from hostile traces are shown as plain text" {
	known
	unsound known.db
	sqlite3 known.db "UPDATE function SET name = name || char(27) || '[31m' || char(10) || 'x'; UPDATE thread SET name = char(27) || name || char(7);
		UPDATE waker SET name = char(27) || 'z', tid = 99 WHERE id = 1; INSERT INTO waited VALUES(11, 1300, 1310, 'lock ' || char(27) || '[1m')"
	for options in "--from 1000 --thread 11" "-F work* --slowest 1" "-F work*" "-F work* --json"; do
		set -f
		"$dt" path $options known.db >shown
		set +f
		[ -s shown ]
		[ "$(LC_ALL=C tr -d '\n\40-\377' <shown | wc -c)" = 0 ] || { echo "$options"; cat -v shown; false; }
	done
}

# A token goes from main over a condition variable, a pipe and a socket, and back; each says when it had it.
token() {
	cat >token.c <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/socket.h>
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		static double ms(clockid_t c)
		{
			struct timespec t;
			clock_gettime(c, &t);
			return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
		}
		static void spin(double some)
		{
			double end = ms(CLOCK_THREAD_CPUTIME_ID) + some;
			while (ms(CLOCK_THREAD_CPUTIME_ID) < end)
				;
		}
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
		static int turn, one[2], two[2], pair[2];
		static double at[4]; /* when it was handed on */
		static long tid[4];
		__attribute__((noinline)) void work_a(void) { spin(4); at[1] = ms(CLOCK_MONOTONIC); }
		__attribute__((noinline)) void work_b(void) { spin(6); at[2] = ms(CLOCK_MONOTONIC); }
		__attribute__((noinline)) void work_c(void) { spin(8); at[3] = ms(CLOCK_MONOTONIC); }
		static void *a(void *x)
		{
			tid[1] = syscall(SYS_gettid);
			for (int i = 0; i < 8; i++) {
				pthread_mutex_lock(&lock);
				while (!turn)
					pthread_cond_wait(&changed, &lock);
				turn = 0;
				pthread_mutex_unlock(&lock);
				work_a();
				if (write(one[1], "", 1) != 1)
					return x;
			}
			return NULL;
		}
		static void *b(void *x)
		{
			char c;
			tid[2] = syscall(SYS_gettid);
			while (read(one[0], &c, 1) == 1) {
				work_b();
				if (write(pair[0], "", 1) != 1)
					return x;
			}
			return NULL;
		}
		static void *c(void *x)
		{
			char c;
			tid[3] = syscall(SYS_gettid);
			while (read(pair[1], &c, 1) == 1) {
				work_c();
				if (write(two[1], "", 1) != 1)
					return x;
			}
			return NULL;
		}
		__attribute__((noinline)) int handle(void)
		{
			char c;
			pthread_mutex_lock(&lock);
			turn = 1;
			at[0] = ms(CLOCK_MONOTONIC);
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&lock);
			return read(two[0], &c, 1) == 1;
		}
		int main(void)
		{
			pthread_t t;
			if (pipe(one) || pipe(two) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
				return 1;
			tid[0] = syscall(SYS_gettid);
			pthread_create(&t, NULL, a, NULL);
			pthread_create(&t, NULL, b, NULL);
			pthread_create(&t, NULL, c, NULL);
			for (int i = 0; i < 8; i++) {
				usleep(2000);
				if (!handle())
					return 1;
				printf("%ld %ld %ld %ld %.3f %.3f %.3f\n", tid[0], tid[1], tid[2], tid[3],
				       at[1] - at[0], at[2] - at[1], at[3] - at[2]);
			}
			return 0;
		}
	C
	gcc -O1 -g -o token token.c -lpthread
}

@test "path: a token that is handed from thread to thread: as long as each says that it had it" {
	token
	if ! "$dt" record --wakers -o t.db ./token >said 2>err; then
		grep 'BPF\|root\|CAP_' err
		skip "wakers can not be recorded here"
	fi
	[ "$(wc -l <said)" = 8 ]
	"$dt" path -F handle --slowest 8 --json t.db >paths.json
	python3 - <<-'PY'
		import json
		said = [l.split() for l in open("said")]
		objects = [json.loads(l) for l in open("paths.json")]
		paths = sorted((o for o in objects if o["type"] == "path"), key=lambda o: o["begin_ns"])
		assert len(paths) == 8
		near = all_of = whole = 0
		for words, path in zip(said, paths):
		    tid, took = [int(x) for x in words[:4]], [float(x) for x in words[4:]]
		    pieces = [o for o in objects if o["type"] == "piece" and o["path"] == path["path"]]
		    assert abs(sum(p["time_ns"] for p in pieces) - path["duration_ns"]) < 5 + len(pieces), path
		    order = [p["thread"] for i, p in enumerate(pieces) if not i or pieces[i - 1]["thread"] != p["thread"]]
		    # from main to a, b, c, and back; if main lost its processor before it waited, those that were done by then are missing
		    # and one that has lost its processor with the lock in its hands is waited for once more
		    if order not in [tid[:1] + tid[i:] + tid[:1] for i in (1, 2, 3)] + [tid[:1]]:
		        assert order[0] == order[-1] == tid[0] and set(order) <= set(tid), (order, tid)
		        continue
		    whole += len(order) == 5
		    # main has the first one only since it waits
		    for i, name in list(enumerate(["work_a", "work_b", "work_c"]))[5 - len(order) + 1:]:
		        of = sum(p["time_ns"] for p in pieces if p["thread"] == tid[i + 1]) / 1e6
		        all_of += 1
		        near += abs(of - took[i]) < 0.3 + 0.1 * took[i]
		        assert any(p["thread"] == tid[i + 1] and p["kind"] == "ran" and {"spin", "ms", name} & {f["function"] for f in p["functions"]} for p in pieces), name
		# between the two clocks a thread may lose its processor
		assert whole >= 3 and near >= 0.75 * all_of, (whole, near, all_of)
		print(whole, near, all_of)
	PY
}

# Each call's path leads through all that it waited for.
known_waits() {
	python3 - <<-'PY'
		import json
		for name, inner in ("all", "compile"), ("take", "hold"):
		    objects = [json.loads(l) for l in open(name + ".json")]
		    head, pieces = objects[0], [o for o in objects if o["type"] == "piece"]
		    assert abs(sum(p["time_ns"] for p in pieces) - head["duration_ns"]) < 5 + len(pieces)
		    threads = {p["thread"] for p in pieces}
		    assert len(threads) == (4 if name == "all" else 2), (name, threads)
		    others = sum(p["time_ns"] for p in pieces if p["thread"] != head["thread"])
		    assert others > 0.8 * head["duration_ns"], (name, others, head)
		    ran = sum(f["time_ns"] for p in pieces for f in p["functions"] if f["function"] in (inner, "spin"))
		    assert ran > 0.5 * head["duration_ns"] or ran > 70e6, (name, ran, head)
	PY
}

@test "path: a tree of processes, and a lock, without wakers: for whom each waited" {
	cat >tree.c <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		static void spin(double some)
		{
			struct timespec t;
			double end = 0;
			do {
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
				end = end ? end : t.tv_sec * 1e3 + t.tv_nsec / 1e6 + some;
			} while (t.tv_sec * 1e3 + t.tv_nsec / 1e6 < end);
		}
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		__attribute__((noinline)) void compile(void) { spin(40); }
		__attribute__((noinline)) void await(pid_t pid) { waitpid(pid, NULL, 0); }
		__attribute__((noinline)) void sub(void)
		{
			for (int i = 0; i < 2; i++) {
				pid_t pid = fork();
				if (!pid) {
					compile();
					_exit(0);
				}
				await(pid);
			}
		}
		__attribute__((noinline)) void all(void)
		{
			pid_t pid = fork();
			if (!pid) {
				sub();
				_exit(0);
			}
			await(pid);
		}
		__attribute__((noinline)) void hold(void) { spin(50); }
		static void *holder(void *x)
		{
			pthread_mutex_lock(&lock);
			hold();
			pthread_mutex_unlock(&lock);
			return x;
		}
		__attribute__((noinline)) void take(void)
		{
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		}
		int main(void)
		{
			pthread_t t;
			all();
			pthread_create(&t, NULL, holder, NULL);
			usleep(10000);
			take();
			pthread_join(t, NULL);
			return 0;
		}
	C
	gcc -O1 -g -o tree tree.c -lpthread
	# on a machine that is busy a wait may be over before it has been looked at
	for _ in 1 2 3; do
		"$dt" record -S -o t.db ./tree
		for f in all take; do
			"$dt" path -F "$f" --json t.db >$f.json
			"$dt" path -F "$f" t.db
		done
		known_waits 2>why && break
	done
	cat why
	known_waits
}

# Two machines whose clocks differ: 11 of the first one sends a request to 21 of the second one, which works for 700 us.
machines() {
	"$tools/writetrace" alpha.db <<-'TEXT'
		clock 0 1000000
		clock 1000000 1001000000
		kinds
		thread 11 client
		function call
		at 0 11
		S S 0 900 11 0 11 4294967295
		E call 0x8000 1000
		M call 0x8000 1050 0xfe00000000005001
		at 0 4294967295
		S S 0 1100 4294967295 0 0 11
		at 0 11
		S S 0 1950 11 0 11 4294967295
		N call 0x8000 1960 0xfe00000000006001
		X call 0x8000 2000
	TEXT
	"$tools/writetrace" beta.db <<-'TEXT'
		clock 0 50000000
		clock 1000000 1050000000
		kinds
		thread 21 server
		function serve
		at 0 21
		S S 0 5900 21 0 21 4294967295
		N serve 0x7000 6080 0xfe00000000005001
		E serve 0x7000 6090
		X serve 0x7000 6800
		M serve 0x7000 6850 0xfe00000000006001
		at 0 4294967295
		S S 0 6900 4294967295 0 0 21
	TEXT
	"$dt" merge -o fleet.db alpha.db beta.db >merged
}

@test "path: to another machine and back, with how exact its clock is" {
	machines
	pieces fleet.db -F call >got
	# what is within the bounds is not known better: 21 had it from some 30 us after 1050 to as long before 1950
	awk '{ sum[$1] += $3; all += $3 } END { exit !(all == 1000 && sum[21] >= 700 && sum[21] <= 850) }' got
	grep -q '^21 ran [0-9]* serve sent$' got
	"$dt" path -F call fleet.db >text
	cat text
	grep -q "21 (server)@host-2 ran in serve 710.000 us.*; sends a message to 11 (client)@host; host-2's clock may be [0-9.]* us behind, [0-9.]* us ahead$" text
}

# served FILE: each call's path leads through the other thread, which served it
served() {
	FILE=$1 python3 - <<-'PY'
		import json, os
		objects, heads = [json.loads(l) for l in open(os.environ["FILE"])], []
		for o in objects:
		    if o["type"] == "path":
		        heads.append((o, []))
		    elif o["type"] == "piece":
		        heads[-1][1].append(o)
		assert len(heads) in (5, 10)
		ran = []
		for head, pieces in heads:
		    serve = sum(f["time_ns"] for p in pieces if p["kind"] == "ran" for f in p["functions"] if f["function"] in ("serve", "spin"))
		    ran.append(serve)
		    # it may have served while the other one, which had sent, had lost its processor
		    queued = sum(p["time_ns"] for p in pieces if not p["level"] and p["kind"] == "processor")
		    assert serve + queued > 9e6, (head, serve, queued, pieces)
		    assert {"stream", "woke"} & {p["then"] for p in pieces}, pieces
		assert sorted(ran)[len(ran) // 2] > 9e6, ran
	PY
}

@test "path: over a TCP connection of one machine, with wakers and without" {
	cat >tcp.c <<-'C'
		#include <arpa/inet.h>
		#include <netinet/in.h>
		#include <pthread.h>
		#include <sys/socket.h>
		#include <time.h>
		#include <unistd.h>
		static void spin(double some)
		{
			struct timespec t;
			double end = 0;
			do {
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
				end = end ? end : t.tv_sec * 1e3 + t.tv_nsec / 1e6 + some;
			} while (t.tv_sec * 1e3 + t.tv_nsec / 1e6 < end);
		}
		static int listening;
		__attribute__((noinline)) void serve(int fd)
		{
			char b[100];
			ssize_t n = recv(fd, b, sizeof(b), 0);
			spin(10);
			if (n > 0)
				send(fd, b, n, 0);
		}
		static void *server(void *x)
		{
			struct sockaddr_in a;
			socklen_t n = sizeof(a);
			int fd = accept(listening, (struct sockaddr *)&a, &n);
			for (int i = 0; i < 5; i++)
				serve(fd);
			close(fd);
			return x;
		}
		__attribute__((noinline)) void call(int fd)
		{
			char b[100] = "hello";
			send(fd, b, 5, 0);
			recv(fd, b, sizeof(b), 0);
		}
		int main(void)
		{
			struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
			socklen_t n = sizeof(a);
			pthread_t t;
			int fd = socket(AF_INET, SOCK_STREAM, 0);
			listening = socket(AF_INET, SOCK_STREAM, 0);
			bind(listening, (struct sockaddr *)&a, sizeof(a));
			listen(listening, 5);
			getsockname(listening, (struct sockaddr *)&a, &n);
			pthread_create(&t, NULL, server, NULL);
			connect(fd, (struct sockaddr *)&a, sizeof(a));
			for (int i = 0; i < 5; i++) {
				usleep(1000);
				call(fd);
			}
			close(fd);
			pthread_join(t, NULL);
			return 0;
		}
	C
	gcc -O1 -g -o tcp tcp.c -lpthread
	# a machine that is busy may look for a connection's name only when it has been closed, as it is after some 50 ms
	for _ in 1 2 3; do
		"$dt" record -S --sockets -F serve -F call -o s.db ./tcp
		"$dt" path -F call --slowest 5 --json s.db >paths.json
		if "$dt" record --wakers -o w.db ./tcp 2>err; then
			"$dt" path -F call --slowest 5 --json w.db >>paths.json
		else
			grep -q 'BPF\|root\|CAP_' err
		fi
		served paths.json 2>why && break
	done
	cat why
	served paths.json
}

@test "path: what is wrong with the options, or the trace, is said in one line" {
	known
	local each
	while IFS='|' read -r each said; do
		run "$dt" path $each
		echo "$each: $status $output"
		[ "$status" != 0 ]
		[[ "${lines[0]}" == *"$said"* ]]
	done <<-'END'
		--slowest 3 known.db|--slowest is of calls
		--slowest x -F work known.db|--slowest x: it is a number of calls
		--slowest 0% -F work known.db|--slowest 0%: it is a number of calls
		-F nothing known.db|nothing
		-f noargument=1 known.db|noargument
		--thread 77 known.db|77
		-n x known.db|'x' is not a number of rows
		--from 5s known.db|no record of a thread in this part
	END
	"$dt" record -o none.db "$dir/fib" >/dev/null || true
	run "$dt" path -F fib none.db
	[ "$status" = 1 ]
	[ "$output" = "devtrace: no switches in this trace: record with -S" ]
	run -0 "$dt" path --help
}
