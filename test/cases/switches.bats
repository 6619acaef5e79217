# SPDX-License-Identifier: MIT
# Which thread runs where: record --switches.
load common

setup() {
	cat >"$dir/threads.c" <<-'C'
		#include <pthread.h>
		#include <unistd.h>
		__attribute__((noinline)) int turn(volatile int *n) { return ++*n; }
		static void *run(void *a)
		{
			volatile int n = 0;
			for (int i = 0; i < 50; i++) {
				usleep(500);
				for (int k = 0; k < 20; k++)
					turn(&n);
			}
			return a;
		}
		int main(void)
		{
			pthread_t t[4];
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, run, NULL);
			for (int i = 0; i < 4; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/threads" "$dir/threads.c" -lpthread
	cat >"$dir/busy.c" <<-'C'
		#include <pthread.h>
		#include <stdlib.h>
		static int calls;
		__attribute__((noinline)) int turn(volatile int *n) { return ++*n; }
		static void *run(void *a)
		{
			volatile int n = 0;
			for (int i = 0; i < calls; i++)
				turn(&n);
			return a;
		}
		int main(int argc, char **argv)
		{
			pthread_t t[4];
			calls = atoi(argv[argc - 1]);
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, run, NULL);
			for (int i = 0; i < 4; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o "$dir/busy" "$dir/busy.c" -lpthread
}

# in_order LINES: the records of each core are in the order of time, and there are some
in_order() {
	awk '/^kind=.( |$)/ {
		for (i = 2; i <= 3; i++) { split($i, kv, "="); f[kv[1]] = kv[2] + 0 }
		if (f["ticks"] < last[f["core"]] && !bad++) print "order: " $0
		last[f["core"]] = f["ticks"]
		n++
	} END { print n " records, " bad + 0 " earlier than the one before"; exit bad || !n }' "$1"
}

@test "check-043 record --switches: a core's records are those of the thread that runs there" {
	"$dt" record --switches -o "$dir/s.db" "$dir/threads" 2>"$dir/said"
	[ "$(grep -c 'out of memory' "$dir/said")" = 0 ]
	"$dt" cat -l "$dir/s.db" >"$dir/lines"
	grep -q '^kind=R .* tid=[0-9]* ' "$dir/lines"
	# nothing is added to the calls themselves
	[ "$(grep -c '^kind=E' "$dir/lines")" = $((4 * 50 * 20 + 4 + 1)) ]
	# a switch is told in nanoseconds of the kernel, a record in ticks: 1 us apart they may change places
	awk '{
		for (i = 1; i <= NF; i++) { split($i, kv, "="); f[kv[1]] = kv[2] }
		c = f["core"]
		if (f["ticks"] + 0 < last[c]) { print "order: " $0; bad = 1 }
		last[c] = f["ticks"] + 0
		if (f["kind"] == "S") { before[c] = running[c]; running[c] = f["tid"]; at[c] = f["ticks"]; n++ }
		if ((f["kind"] == "E" || f["kind"] == "X") && running[c] != f["tid"] &&
		    !(before[c] == f["tid"] && f["ticks"] - at[c] < 3000)) { print "runs " running[c] ": " $0; bad = 1 }
	} END { exit bad || n < 400 }' "$dir/lines"
}

@test "record --switches: more records than are taken at a time stay in order, and none is missed" {
	local from to calls
	for size in 64K 4M; do
		"$dt" record --switches -b $size -o "$dir/b.db" "$dir/busy" 100000
		"$dt" cat -l "$dir/b.db" >"$dir/lines"
		in_order "$dir/lines"
		[ "$(grep -c '^kind=E.*function=turn' "$dir/lines")" = 400000 ]
		# by parts of the time as in the whole
		read -r from to calls < <("$dt" sql --csv --no-header "$dir/b.db" \
			"SELECT min(begin), max(end), count(*) FROM calls WHERE function='turn'" | tr -d '\r' | tr , ' ')
		[ "$calls" = 400000 ]
		[ "$("$dt" sql --csv --no-header "$dir/b.db" "SELECT
			(SELECT count(*) FROM records WHERE kind='E' AND time BETWEEN 0 AND $(((from + to) / 2))) +
			(SELECT count(*) FROM records WHERE kind='E' AND time BETWEEN $(((from + to) / 2 + 1)) AND $((2 * to)))" |
			tr -d '\r')" -ge 400005 ]
		# no call is longer than the threads ran, or ends before it begins
		[ "$("$dt" sql --csv --no-header "$dir/b.db" "SELECT count(*) FROM calls WHERE end < begin OR
			duration > $((to - from)) AND function='turn'" | tr -d '\r')" = 0 ]
	done
}

@test "record --switches -p overwrite: what was lost is said to be missing where it is" {
	"$dt" record --switches -p overwrite -b 64K -o "$dir/w.db" "$dir/busy" 300000
	"$dt" cat -l "$dir/w.db" >"$dir/lines"
	in_order "$dir/lines"
	# before there is a switch, or many; in front of the first of a core's own records, on each core that has some
	sqlite3 -separator ' ' "$dir/w.db" "SELECT core, begin_ticks, end_ticks, lost FROM loss" >"$dir/loss"
	[ -s "$dir/loss" ]
	awk 'NR == FNR { begin[$1] = $2; end[$1] = $3; lost += $4; next }
		/^kind=[EX] / {
			for (i = 2; i <= 3; i++) { split($i, kv, "="); f[kv[1]] = kv[2] + 0 }
			# a core on which little ran has lost nothing
			if (f["core"] in seen || !(f["core"] in end)) next
			seen[f["core"]] = 1
			if (begin[f["core"]] != 0 || end[f["core"]] != f["ticks"]) { print "gap to " end[f["core"]] ": " $0; bad = 1 }
		} END { exit bad || lost < 1000000 }' "$dir/loss" "$dir/lines"
	# switches are not kept in the ring: those of the whole time are there
	[ "$(grep -c '^kind=S' "$dir/lines")" -ge 8 ]
}

@test "record --switches: as an ordinary user, or a reason" {
	id dtuser >/dev/null 2>&1 || useradd -m dtuser
	run su dtuser -c "'$dt' record --switches -o /tmp/switches.$$.db '$dir/threads'"
	[ "$status" = 0 ]
	[ "$(su dtuser -c "'$dt' cat /tmp/switches.$$.db" | grep -c ^S)" -gt 400 ] ||
		[[ "$output" == *perf_event_paranoid* ]]
	rm -f /tmp/switches.$$.db*
}
