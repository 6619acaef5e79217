# SPDX-License-Identifier: MIT
# What the tests of sessions share: a program that calls what it is told to, so that every number is
# known beforehand; sessions of the test's own in a directory of its own.
load devtrace
load wait

build_obey() {
	cat >"$1/obey.c" <<-'C'
		/* Reads "FUNCTION COUNT [THREADS]" lines: calls it so often in each thread, says done. */
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		#define FN __attribute__((noipa))
		/* the names of the papers' figures; these are the program's own, not libc's */
		FN void sync(void) { __asm__ volatile(""); }
		FN pid_t getpid(void) { return (pid_t)syscall(SYS_getpid); }
		FN int link(const char *from, const char *to) { return from == to; }
		FN int unlink(const char *what) { return !what; }
		FN long add(long a, long b) { return a + b; }
		FN long outer(long n) { return add(n, 1) + add(n, 2); }
		FN void busy(void) { for (volatile int i = 0; i < 100; i++) ; }
		struct work { int fn; long n; };
		static const char *const name[] = {"sync", "getpid", "link", "unlink", "add", "outer", "busy", NULL};
		static void *work(void *p)
		{
			const struct work *w = p;
			for (long i = 0; i < w->n; i++)
				switch (w->fn) {
				case 0: sync(); break;
				case 1: getpid(); break;
				case 2: link("a", "b"); break;
				case 3: unlink("a"); break;
				case 4: add(i, 2 * i); break;
				case 5: outer(i); break;
				case 6: busy(); break;
				}
			return NULL;
		}
		/* "hold": a thread that stays, so that its number can be watched; "tid": its number */
		static pthread_barrier_t barrier;
		static struct work held;
		static long held_tid;
		static void *hold(void *p)
		{
			held_tid = syscall(SYS_gettid);
			for (;;) {
				pthread_barrier_wait(&barrier);
				work(&held);
				pthread_barrier_wait(&barrier);
			}
			return p;
		}
		static void obey(char *line)
		{
			char what[32];
			struct work w = {0, 0};
			long threads = 0;
			pthread_t t[16];
			if (sscanf(line, "%31s %ld %ld", what, &w.n, &threads) < 1)
				return;
			if (!strcmp(what, "hold")) {
				pthread_barrier_init(&barrier, NULL, 2);
				pthread_create(&t[0], NULL, hold, NULL);
				pthread_barrier_wait(&barrier);
				pthread_barrier_wait(&barrier);
				printf("%ld\n", held_tid);
				return;
			}
			while (name[w.fn] && strcmp(name[w.fn], what))
				w.fn++;
			if (threads < 0) { /* in the thread that is held */
				held = w;
				pthread_barrier_wait(&barrier);
				pthread_barrier_wait(&barrier);
			} else if (threads == 0) {
				work(&w);
			} else {
				for (long i = 0; i < threads; i++)
					pthread_create(&t[i], NULL, work, &w);
				for (long i = 0; i < threads; i++)
					pthread_join(t[i], NULL);
			}
			puts("done");
		}
		int main(void)
		{
			char line[256];
			setvbuf(stdout, NULL, _IOLBF, 0);
			puts("ready");
			while (fgets(line, sizeof(line), stdin))
				obey(line);
			return 0;
		}
	C
	gcc -O1 -g -pthread -B"$root/build/lib" -o "$1/obey" "$1/obey.c"
}

setup_file() {
	export dir XDG_RUNTIME_DIR
	dir=$(mktemp -d)
	chmod 755 "$dir"
	mkdir -m 700 "$dir/run"
	XDG_RUNTIME_DIR=$dir/run
	build_obey "$dir"
}

teardown_file() {
	rm -rf "$dir"
}

setup() {
	export XDG_RUNTIME_DIR=$dir/run
	obeyers=() sessions=()
	cd "$BATS_TEST_TMPDIR" || return 1
}

# whatever failed, nothing is left
teardown() {
	end_session
	check_traces
}

end_session() {
	local p
	[ ! -d "$dir/m" ] || fusermount3 -q -u -z "$dir/m" 2>/dev/null || true
	for p in "${sessions[@]}"; do
		"$dt" ctl -s "$p" quit 2>/dev/null || true
	done
	for p in "${sessions[@]}"; do
		for _ in $(seq 3000); do
			[ -S "$XDG_RUNTIME_DIR/devtrace/$p.sock" ] && "$dt" ctl -s "$p" >/dev/null 2>&1 || break
			sleep 0.02
		done
	done
	for p in "${obeyers[@]}"; do
		kill -9 "$p" 2>/dev/null || true
	done
}

# another obey; sets pid, and to and from, the descriptors to it
start_obey() {
	local ready fifo=$BATS_TEST_TMPDIR/fifo.$RANDOM
	mkfifo "$fifo"
	exec {from}< <(exec "${@:-$dir/obey}" <"$fifo" 3>&-)
	pid=$!
	exec {to}>"$fifo"
	obeyers+=("$pid")
	read -r ready <&"$from"
	[ "$ready" = ready ]
	rm "$fifo"
}

# act FUNCTION COUNT [THREADS]: when it returns, it has been done; sets answer
act() {
	echo "$*" >&"$to"
	read -r -t 60 answer <&"$from"
}

# a session in the background: begin NAME PID...
begin() {
	"$dt" attach -d -s "$@" >/dev/null 3>&-
	sessions+=("$1")
}

ctl() {
	"$dt" ctl -s t "$@"
}

# the number behind the word: count tracehits
count() {
	ctl | sed -n "s/^#$1 \([0-9]*\).*/\1/p"
}

# ctl without what counts
state() {
	ctl | lasting
}

lasting() {
	grep -v -e '^#tracehits' -e '^#slothits' -e '^#traceinhits' -e '^#traceouthits' \
		-e '^#newplfail' -e '^#error'
}

# does no thread of the process run any more?
stopped() {
	! grep -L '^State:.*(stopped)' "/proc/$1"/task/*/status | grep -q .
}
