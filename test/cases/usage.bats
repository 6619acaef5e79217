# SPDX-License-Identifier: MIT
# Memory and processor time of traced processes over time: against what a program says of itself.

load check-traces
bats_require_minimum_version 1.5.0

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	cat >steps.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>
		#include <unistd.h>
		/* RssAnon and RssFile, bytes */
		static long own(void)
		{
			long kb, sum = 0;
			char line[256];
			FILE *f = fopen("/proc/self/status", "r");
			while (f && fgets(line, sizeof(line), f))
				if (sscanf(line, "RssAnon: %ld", &kb) == 1 || sscanf(line, "RssFile: %ld", &kb) == 1)
					sum += kb * 1024;
			if (f)
				fclose(f);
			return sum;
		}
		static double now(clockid_t c)
		{
			struct timespec t;
			clock_gettime(c, &t);
			return t.tv_sec + t.tv_nsec * 1e-9;
		}
		__attribute__((noinline)) void step(int i, long bytes)
		{
			char *p = malloc(bytes);
			memset(p, 1, bytes);
			asm volatile("" : : "r"(p) : "memory");
			double end = now(CLOCK_MONOTONIC) + 0.5;
			/* every other step computes */
			while (now(CLOCK_MONOTONIC) < end)
				if (i % 2 == 0)
					usleep(5000);
			printf("%d %ld %.0f\n", i, own(), now(CLOCK_PROCESS_CPUTIME_ID) * 1e9);
			fflush(stdout);
		}
		int main(int argc, char **argv)
		{
			for (int i = 0; i < 4; i++)
				step(i, 20 << 20);
			if (argc > 1 && !fork())
				step(4, 1 << 20);
			return 0;
		}
	C
	gcc -O1 -o steps steps.c
}

setup() {
	PATH=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}:$PATH
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "usage: a program's memory and processor time, as it knows them itself" {
	local status try
	for try in 1 2 3; do
		status=0
		devtrace record -F step -o t.db ./steps >said
		devtrace check -q t.db
		devtrace sql --json t.db "SELECT arg0 AS i, begin, end FROM calls WHERE function = 'step' ORDER BY begin" >steps.json
		devtrace sql --json t.db "SELECT time, memory, processor_time, processors FROM usage ORDER BY time" >usage.json
		python3 - <<-'PY' || status=$?
			import json
			said = [tuple(map(int, l.split())) for l in open("said")]
			read = lambda f: [json.loads(l) for l in open(f)]
			steps, usage = read("steps.json"), read("usage.json")
			assert len(steps) == len(said) == 4
			looked = 0
			for s, (i, memory, cpu) in zip(steps, said):
			    # the memory is there for half a second before the step's end, however late it came
			    rows = [u for u in usage if s["end"] - 4.5e8 < u["time"] < s["end"]]
			    looked += bool(rows)
			    for u in rows:
			        assert abs(u["memory"] - memory) < 512 * 1024, (i, u, memory)
			        assert u["processor_time"] <= cpu, (i, u, cpu)
			        assert cpu - u["processor_time"] <= s["end"] - u["time"] + 2e7, (i, u, cpu)
			# it computes in every other step: of what a busy machine leaves it
			taken = lambda a, b: said[b][2] - said[a][2]
			assert taken(0, 1) > 3 * taken(1, 2), said
			for a, b in zip(usage, usage[1:]):
			    assert abs(b["processors"] - (b["processor_time"] - a["processor_time"]) / (b["time"] - a["time"])) < 0.02, (a, b)
			# where a look takes long there are few of them: on a busy machine steps go by unseen
			raise SystemExit(0 if looked >= 2 else 9)
		PY
		[ $status = 9 ] || break
	done
	[ $status = 0 ]
}

@test "usage: devtrace's rings are not the program's memory" {
	cat >calls.c <<-'C'
		#include <unistd.h>
		volatile int n;
		__attribute__((noinline)) void f(void) { n = n * 3 + 1; }
		int main(void)
		{
			for (int k = 0; k < 6; k++) {
				for (int i = 0; i < 300000; i++)
					f();
				usleep(100000);
			}
			return 0;
		}
	C
	gcc -O1 -o calls calls.c
	devtrace record -p overwrite -b 64M -F f -o o.db ./calls
	# all of the rings it has touched are more than that
	[ "$(devtrace sql -n o.db 'SELECT count(*) > 3 AND max(memory) < 20000000 FROM usage')" = 1 ]
}

@test "usage: how long nothing was used is known when something is" {
	cat >late.c <<-'C'
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			sleep(3);
			while (clock() < CLOCKS_PER_SEC)
				;
			return 0;
		}
	C
	gcc -O1 -o late late.c
	devtrace record -F main -o l.db ./late
	devtrace sql l.db "SELECT * FROM usage" >rows
	cat rows
	# the sleep has a row of its own, in which nothing was used
	[ "$(devtrace sql -n l.db "SELECT max(time - before) > 1e9 FROM (SELECT time, lag(time) OVER (ORDER BY time) AS before, processors FROM usage) WHERE processors = 0")" = 1 ]
	[ "$(devtrace sql -n l.db "SELECT max(processors) > 0.03 FROM usage")" = 1 ]
}

@test "usage: of children, too; a fleet's by machine; what is damaged is told; of an older trace there is nothing" {
	devtrace record -f -F step -o f.db ./steps child >said
	[ "$(devtrace sql -n f.db "SELECT count(DISTINCT process) FROM usage")" = 2 ] ||
		{ cat said; devtrace sql f.db "SELECT * FROM processes; SELECT * FROM usage"; false; }
	# the child has it from its birth on, when it had all of its parent's memory
	[ "$(devtrace sql -n f.db "SELECT min(memory) > 80000000 FROM usage WHERE process = (SELECT max(process) FROM processes WHERE parent)")" = 1 ]
	# as if it were another machine's
	cp f.db other.db
	sqlite3 other.db "UPDATE meta SET value = 'other' WHERE key = 'host'; UPDATE meta SET value = '00000000-0000-0000-0000-000000000000' WHERE key = 'boot_id'"
	begins() { devtrace sql -n "$1" "SELECT begin_ticks FROM process LIMIT 1"; }
	devtrace merge -o fleet.db --marker "a@$(begins t.db) b@$(begins other.db) 1ms" a=t.db b=other.db
	devtrace merge --one one.db fleet.db
	devtrace check -q one.db
	[ "$(devtrace sql -n one.db 'SELECT count(*) FROM usage')" = $(($(devtrace sql -n t.db 'SELECT count(*) FROM usage') + $(devtrace sql -n f.db 'SELECT count(*) FROM usage'))) ]
	[ "$(devtrace sql -n one.db 'SELECT count(DISTINCT process) FROM usage')" = 3 ]
	cp t.db bad.db
	sqlite3 bad.db "UPDATE used SET memory = 'much' WHERE rowid = 2"
	run -1 devtrace check bad.db
	[[ $output == *used* ]]
	sqlite3 bad.db "DROP TABLE used"
	[ "$(devtrace sql -n bad.db 'SELECT count(*) FROM usage')" = 0 ]
	devtrace check -q bad.db
}
