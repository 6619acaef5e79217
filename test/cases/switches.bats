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
}

@test "check-043 record --switches: a core's records are those of the thread that runs there" {
	"$dt" record --switches -o "$dir/s.db" "$dir/threads"
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

@test "record --switches: as an ordinary user, or a reason" {
	id dtuser >/dev/null 2>&1 || useradd -m dtuser
	run su dtuser -c "'$dt' record --switches -o /tmp/switches.$$.db '$dir/threads'"
	[ "$status" = 0 ]
	[ "$(su dtuser -c "'$dt' cat /tmp/switches.$$.db" | grep -c ^S)" -gt 400 ] ||
		[[ "$output" == *perf_event_paranoid* ]]
	rm -f /tmp/switches.$$.db*
}
