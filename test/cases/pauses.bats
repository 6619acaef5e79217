# SPDX-License-Identifier: MIT
# Times in which a session records nothing because it was told not to: how long, and what came.
load session

# what a session writes last is in x.db
is_complete() {
	[ "$(sqlite3 x.db 'SELECT count(*) FROM written' 2>/dev/null)" -gt 0 ]
}

# records and pauses of x.db, when the session has ended
ended() {
	# a session with a file ends by itself, and soon, when its last process has
	ctl quit 2>gone || grep -q 'there is no session' gone
	until_true is_complete
	sessions=()
	! sql "SELECT 1 FROM pauses p JOIN records r ON r.time > p.begin AND r.time < p.end
		WHERE p.times = 1 AND r.kind IN ('E', 'X', 'P')" | grep -q . || { echo "recorded in a pause"; return 1; }
}

sql() {
	"$dt" sql --csv --no-header x.db "$1" | tr -d '\r'
}

# spans_have_their_pauses N: N calls of outer(), each ending a pause: as many in each span that is told as it says
spans_have_their_pauses() {
	sql "SELECT begin, end, times FROM pauses WHERE why='frozen' ORDER BY end" >pauses
	sql "SELECT time FROM records WHERE function LIKE 'outer%' ORDER BY time" >outers
	python3 - "$1" <<-'P'
		import bisect, sys
		outers = [float(l) for l in open("outers")]
		rows = [l.strip().split(",") for l in open("pauses")]
		assert len(outers) == int(sys.argv[1]), len(outers)
		del outers[0] # nothing was frozen yet
		for b, e, n in rows[:-1]: # the last is until the end
		    assert b, ("it has no begin", e, n)
		    inside = bisect.bisect_right(outers, float(e)) - bisect.bisect_right(outers, float(b))
		    assert inside == int(n), (b, e, n, inside)
	P
}

@test "frozen by a command: when, and how many events came" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace add new a\ntrace a on\nstart\n' | ctl -
	act add 5
	ctl freeze
	act add 7
	ctl unfreeze
	act add 3
	ctl freeze
	ctl unfreeze
	act add 1
	ended
	[ "$(sql "SELECT why, times, missed FROM pauses ORDER BY begin")" = $'frozen,1,14\nfrozen,1,0' ]
	[ "$(sql "SELECT count(*) FROM records WHERE kind='E'")" = 9 ]
	# between the calls around it, and they do not lie in it
	[ "$(sql "SELECT count(*) FROM calls c, (SELECT min(begin) b, min(end) e FROM pauses) WHERE c.end <= b")" = 5 ]
	[ "$(sql "SELECT count(*) FROM calls c, (SELECT min(begin) b, min(end) e FROM pauses) WHERE c.begin >= e")" = 4 ]
}

@test "stopped by a command: how long; what came then is not counted" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace add new a\ntrace a on\nstart\n' | ctl -
	act add 5
	ctl stop
	act add 7
	ctl start
	act add 3
	ended
	[ "$(sql "SELECT why, times, missed IS NULL FROM pauses WHERE begin > (SELECT min(time) FROM records WHERE kind='E')")" = stopped,1,1 ]
	[ "$(sql "SELECT duration > 0 AND duration = end - begin FROM pauses" | sort -u)" = 1 ]
}

@test "a choice that goes off and on: the file says when, and no call is made of two" {
	cat >twice.c <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) int inner(void) { char c; return (int)read(0, &c, 1); }
		__attribute__((noipa)) int other(void) { __asm__ volatile(""); return 1; }
		__attribute__((noipa)) int outer(void) { int n = inner(); n += other(); return n + inner(); }
		int main(void)
		{
			int n = inner();
			write(1, "1", 1);
			n += outer();
			write(1, "2", 1);
			return n + outer() < 0;
		}
	C
	gcc -O1 -g -o twice twice.c
	mkfifo in
	./twice <in >out &
	pid=$!
	obeyers+=("$pid")
	exec 7>in
	begin t -o x.db -F main -F inner -F outer -F other "$pid"
	echo -n a >&7
	until_true grep -q 1 out
	sleep 0.2 # in the first inner() of the first outer()
	ctl trace selection off
	echo -n b >&7
	sleep 0.2 # in its second, which is not recorded
	ctl trace selection on
	echo -n c >&7
	until_true grep -q 12 out
	echo -n de >&7
	wait "$pid"
	exec 7>&-
	ended
	[ "$(sql "SELECT off, command FROM changes ORDER BY begin")" = $'1,trace selection off\n0,trace selection on' ]
	[ "$(sql "SELECT min(end >= begin) FROM changes")" = 1 ]
	# the first inner() had begun before; of the first outer() nothing is certain; the second has two calls of inner(), with their times
	sql "SELECT function, ended, timed FROM calls WHERE function IN ('inner', 'outer') AND begin IS NOT NULL ORDER BY begin" >got
	printf '%s\n' outer,paused,0 inner,paused,0 outer,returned,1 inner,returned,1 inner,returned,1 >want
	diff want got
	"$dt" check x.db
}

@test "functions that are called for the first time while they go off have their exits still" {
	{
		echo '#include <stdio.h>'
		echo '#include <unistd.h>'
		seq 1500 | sed 's/.*/__attribute__((noipa)) long f&(long n) { return n * & + 1; }/'
		echo 'int main(void) { long n = 0; char c; if (read(0, &c, 1) != 1) return 1;'
		seq 1500 | sed 's/.*/n += f&(n); usleep(30);/'
		echo 'puts("done"); fflush(stdout); return read(0, &c, 1) + n < 0; }'
	} >new.c
	gcc -O1 -o new new.c
	for i in 1 2 3; do
		rm -f in x.db
		mkfifo in
		./new <in >out &
		pid=$!
		obeyers+=("$pid")
		exec 7>in
		begin t -o x.db -F 'new:f*' "$pid"
		echo -n a >&7
		sleep 0.03
		ctl trace selection off
		until_true grep -q done out
		ended # while there is one: it ends with its last process
		echo -n b >&7
		exec 7>&-
		[ "$(sql "SELECT count(*) FROM site WHERE place = 'E'")" -gt 10 ]
		[ "$(sql "SELECT count(*) FROM site WHERE place = 'e'")" = 0 ]
		"$dt" check x.db
		wait "$pid" || true
	done
}

@test "frozen when it ends: until the end, with what came" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace add new a ENTRY\ntrace a on\nstart\n' | ctl -
	act add 5
	ctl freeze
	act add 11
	ended
	[ "$(sql "SELECT why, times, missed FROM pauses WHERE why='frozen'")" = frozen,1,11 ]
	[ "$(sql "SELECT max(end) >= (SELECT max(time) FROM records) FROM pauses")" = 1 ]
}

@test "frozen by tracepoints: each pause ends with the record that unfreezes" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace link UNFREEZE unlink FREEZE add\nstart\n' | ctl -
	for n in 1 2 3 4; do
		act link 1
		act add 2
		act unlink 1
		act add "$n"
	done
	act link 1
	ended
	[ "$(sql "SELECT why, times, missed FROM pauses ORDER BY begin" | xargs)" = "frozen,1,1 frozen,1,2 frozen,1,3 frozen,1,4" ]
	[ "$(sql "SELECT count(*) FROM pauses p JOIN records a ON a.time = p.begin JOIN records b ON b.time = p.end
		WHERE a.function LIKE 'unlink%' AND b.function LIKE 'link%'")" = 4 ]
}

# bats test_tags=long
@test "frozen tens of thousands of times: nothing is told twice, nothing is left out" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace outer UNFREEZE add FREEZE\nstart\n' | ctl -
	act outer 20000
	act outer 1000 4
	ended
	read -r records lost missed rows < <(sql "SELECT (SELECT count(*) FROM records WHERE kind IN ('E', 'P')),
		(SELECT coalesce(sum(records), 0) FROM lost), sum(missed), count(*) FROM pauses" | tr , ' ')
	echo "$records recorded, $lost lost, $missed missed, in $rows pauses"
	[ $((records + lost + missed)) = $((3 * 24000)) ]
	[ "$missed" -ge 20000 ]
	# how many are told in one row depends on how far the recorder is behind
	[ "$rows" -ge 1 ]
	[ "$rows" -le 12000 ]
}

# bats test_tags=long
@test "frozen and thawed by commands while threads without rseq record: nothing comes in between, all is accounted for" {
	cat >many.c <<-'C'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static volatile int stop;
		__attribute__((noipa)) long tick(long n) { return 3 * n + 1; }
		static void *run(void *p) { long n = 0; while (!stop) tick(n), n++; return (void *)n; }
		int main(void)
		{
			pthread_t t[4];
			void *n;
			long all = 0;
			char c;
			if (read(0, &c, 1) != 1) return 1;
			for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, NULL);
			if (read(0, &c, 1) != 1) return 1;
			stop = 1;
			for (int i = 0; i < 4; i++) pthread_join(t[i], &n), all += (long)n;
			printf("%ld\n", all);
			fflush(stdout);
			return read(0, &c, 1) < 0;
		}
	C
	gcc -O1 -g -static -pthread -o many many.c
	mkfifo in
	./many <in >out &
	pid=$!
	obeyers+=("$pid")
	exec 7>in
	begin t -o x.db -b 64K -F tick "$pid"
	echo -n a >&7
	for i in $(seq 40); do
		ctl freeze
		[ $((i % 4)) != 0 ] || sleep 0.05
		ctl unfreeze
	done
	echo -n b >&7
	until_true grep -q . out
	ended
	echo -n c >&7
	exec 7>&-
	[ "$(sql "SELECT sum(times) FROM pauses WHERE why='frozen'")" = 40 ] || { sql "SELECT * FROM pauses"; false; }
	# frozen from between a command's beginning and its end until between those of the next
	[ "$(sql "SELECT count(*) FROM (SELECT end, lead(begin) OVER (ORDER BY begin) AS next, command FROM changes) f
		JOIN records r ON r.time > f.end AND r.time < f.next WHERE f.command = 'freeze'")" = 0 ]
	made=$(cat out)
	recorded=$(sql "SELECT count(*) FROM records WHERE kind IN ('E', 'X')")
	lost=$(sql "SELECT coalesce(sum(records), 0) FROM lost")
	missed=$(sql "SELECT sum(missed) FROM pauses")
	echo "made $made, recorded $recorded, lost $lost, missed $missed"
	# what a thread was in the middle of when it froze and thawed may have come and gone uncounted
	[ $((2 * made - recorded - lost - missed)) -ge -8 ]
	[ $((2 * made - recorded - lost - missed)) -le 8 ]
}

@test "frozen again and again by one thread: each time is counted" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace outer UNFREEZE add FREEZE\nstart\n' | ctl -
	act outer 8000
	ended
	# from each add, which freezes, until the outer behind it; the last one until the end
	[ "$(sql "SELECT sum(times), sum(missed) FROM pauses WHERE why='frozen'")" = 8000,8000 ] || { sql "SELECT sum(times), sum(missed) FROM pauses WHERE why='frozen'"; false; }
	spans_have_their_pauses 8000
}

@test "frozen more often than is remembered while nobody reads: told together, from the first to the last" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace outer UNFREEZE add FREEZE\nstart\n' | ctl -
	server=$(pgrep -f "attach -d -s t -o x.db -F none $pid")
	kill -STOP "$server"
	until_true stopped "$server"
	act outer 5000
	kill -CONT "$server"
	ended
	[ "$(sql "SELECT sum(times), sum(missed) FROM pauses WHERE why='frozen'")" = 5000,5000 ]
	[ "$(sql "SELECT max(times) > 3000 FROM pauses")" = 1 ]
	spans_have_their_pauses 5000
}

@test "stopped when it ends: until the end" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace add new a ENTRY\ntrace a on\nstart\n' | ctl -
	act add 5
	ctl stop
	act add 7
	ended
	[ "$(sql "SELECT count(*) FROM records WHERE kind='E'")" = 5 ]
	[ "$(sql "SELECT why, times, missed IS NULL, duration > 0 FROM pauses WHERE begin > (SELECT min(time) FROM records WHERE kind='E')")" = stopped,1,1,1 ]
	# begun behind the last record, and the last thing that there is
	[ "$(sql "SELECT min(begin) >= (SELECT max(time) FROM records WHERE kind='E') FROM pauses
		WHERE end = (SELECT max(end) FROM pauses)")" = 1 ]
}

@test "a limit of records: what came behind the last of them" {
	start_obey
	begin t -o x.db -F none "$pid"
	printf 'trace add new a ENTRY\ntrace a on\n' | ctl -
	printf 'start\nevents 4\n' | ctl -
	act add 10
	ended
	[ "$(sql "SELECT count(*) FROM records WHERE kind='E'")" = 4 ]
	[ "$(sql "SELECT why, times, missed FROM pauses WHERE why='frozen'")" = frozen,1,6 ]
}

@test "a trace of before there were pauses has none" {
	start_obey
	begin t -o x.db -F none "$pid"
	ended
	sqlite3 x.db "DROP TABLE pause"
	[ "$(sql "SELECT count(*) FROM pauses")" = 0 ]
}

@test "calls that are open when recording pauses: how they ended, and how long they took, is not known" {
	cat >work.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		__attribute__((noinline)) void inner(volatile int *n) { usleep(50000); ++*n; }
		__attribute__((noinline)) void outer(volatile int *n) { inner(n); ++*n; }
		int main(void)
		{
			volatile int n = 0;
			puts("ready");
			fflush(stdout);
			while (n < 1200)
				outer(&n);
			return 0;
		}
	C
	gcc -O1 -g -B"$root/build/lib" -o work work.c
	exec {work}< <(exec ./work 3>&-)
	pid=$!
	read -r ready <&"$work"
	begin t -o x.db "$pid"
	for i in 1 2; do
		sleep 0.12
		ctl stop
		sleep 0.12
		ctl start
	done
	sleep 0.12
	# before the program ends, of which the session would end
	ended
	kill "$pid"
	exec {work}<&-
	# both of each pair that was open; what they show has no times
	sql "SELECT function, ended, timed, begin, end FROM calls ORDER BY begin"
	[ "$(sql "SELECT count(*) BETWEEN 2 AND 4 FROM calls c JOIN pauses p ON c.begin <= p.begin AND c.end >= p.end
		WHERE function IN ('inner', 'outer')")" = 1 ]
	[ "$(sql "SELECT count(*) FROM calls c JOIN pauses p ON c.begin <= p.begin AND c.end >= p.end
		WHERE c.timed OR c.ended <> 'paused'")" = 0 ]
	# the others are whole
	[ "$(sql "SELECT count(*) FROM calls c WHERE timed AND duration < 45000000")" = 0 ]
	[ "$(sql "SELECT count(*) >= 2 FROM calls c WHERE timed AND ended = 'returned'")" = 1 ]
	"$dt" report x.db | grep -q 'over a pause'
	"$dt" calls x.db | grep -q 'recording paused meanwhile'
}
