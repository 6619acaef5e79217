# SPDX-License-Identifier: MIT
# devtrace diff: the table against the calls one by one; where two runs diverge, against what was made
load read-helper

# a program whose function slow() does WORK times the work, and calls odd() in the turn that it is told
program() {
	cat >p.c <<-'C'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#define CALL __attribute__((noinline))
		#define KEEP __asm__ volatile("")
		struct point { int x, y; };
		static int by, of;
		CALL int work(int n) { for (volatile int i = 0; i < n; i++) ; return n; }
		CALL int slow(int n) { for (volatile int i = 0; i < n * WORK; i++) ; return n; }
		CALL int odd(int n) { KEEP; return n; }
		CALL int where(struct point p, const char *name) { KEEP; return p.x + *name; }
		CALL int answer(int i) { KEEP; return i == of ? 1 : 0; }
		CALL int turn(int i, void *p) { int r = work(1000) + slow(1000); if (i == by) r += odd(i); r += where((struct point){i == of + 1, 2}, p); return r + answer(i); }
		#ifdef NEW
		CALL int fresh(void) { KEEP; return 1; }
		#else
		CALL int stale(void) { KEEP; return 1; }
		#endif
		CALL void *other(void *p) { int r = 0; for (int i = 0; i < 20; i++) r += work(i); if (by >= 0 && p) r += odd(r); return (void *)(long)r; }
		int main(int argc, char **argv)
		{
			pthread_t t[3];
			void *p = malloc(16 + (argc > 3 ? 4096 : 0)), *q = calloc(1, 1000);
			int r = 0;
			by = atoi(argv[1]); of = atoi(argv[2]);
			for (int i = 0; i < 50; i++) r += turn(i, q);
			for (int i = 0; i < 3; i++) { pthread_create(&t[i], NULL, other, i == 2 ? p : NULL); pthread_setname_np(t[i], i == 2 ? "third" : "helper"); pthread_join(t[i], NULL); }
		#ifdef NEW
			r += fresh();
		#else
			r += stale();
		#endif
			return r == 1;
		}
	C
	gcc -O1 -g -DWORK=1 -o old p.c -lpthread
	# another name, other addresses
	mkdir -p new
	gcc -O2 -fno-inline -g -DWORK=1000 -DNEW -falign-functions=128 -o new/program p.c -lpthread
}

# function calls timed self total of both, from export --csv
one_by_one() {
	python3 - "$@" <<'P' | sort
import csv, sys, collections
sums = []
timed = lambda r: r["begin_ns"] != "" and r["end"] not in ("open", "lost")
for name in sys.argv[1:]:
    rows = list(csv.DictReader(open(name, newline="")))
    by = {r["call"]: r for r in rows if r["call"] != "0"}
    t = collections.defaultdict(lambda: [0, 0, 0.0, 0.0])
    for r in rows:
        s = t[r["function"]]
        s[0] += 1
        if not timed(r): continue
        s[1] += 1
        s[2] += float(r["self_ns"])
        up = by.get(r["caller"])
        # in another one whose time has it; one whose own is not known has none
        while up and (up["function"] != r["function"] or not timed(up)): up = by.get(up["caller"])
        if not up: s[3] += float(r["duration_ns"])
    sums.append(t)
for f in set(sums[0]) | set(sums[1]):
    print(f, *("%d %d %.1f %.1f" % tuple(t[f]) for t in sums))
P
}

diff_says() {
	devtrace diff --json "$@" | python3 -c '
import json, sys
def text(s): return "%d %d %.1f %.1f" % (s["calls"], s["timed"], s.get("self_ns", 0), s.get("total_ns", 0))
rows = list(map(json.loads, sys.stdin))
changes = [abs(r["b"].get("self_ns", 0) - r["a"].get("self_ns", 0)) for r in rows]
assert all(x >= y - 0.11 for x, y in zip(changes, changes[1:])), changes
for r in rows: print(r["function"], text(r["a"]), text(r["b"]))' | sort
}

@test "diff: the table is that of the calls one by one, what changed most first" {
	maketrace -n 40000 -c 2 -t 3 -s 1 a.db
	maketrace -n 60000 -c 2 -t 2 -s 2 b.db
	devtrace export --csv --no-values a.db >a.csv
	devtrace export --csv --no-values b.db >b.csv
	one_by_one a.csv b.csv >want
	diff_says a.db b.db >got
	[ "$(wc -l <want)" -gt 100 ]
	diff want got
	devtrace diff a.db b.db >table
	grep -q ' gone  ' table
	grep -q ' new  ' table
	# the last line has all calls
	[ "$(grep '(all)$' table | awk '{ print $(NF-2), $(NF-1) }')" = "$(awk '{ a += $2; b += $6 } END { print a, b }' want)" ]
	# the same and nothing: no change anywhere
	devtrace diff a.db a.db | awk 'NR > 4 && $5 + 0 != 0 { bad = 1 } END { exit bad }'
	[ "$(devtrace diff -n 3 a.db b.db | wc -l)" = 9 ]
	f=$(tail -n 1 want | cut -d' ' -f1)
	[ "$(devtrace diff -F "$f" a.db b.db | grep -cw "$f")" = 1 ]
	# sorted by calls
	devtrace diff -s calls --json a.db b.db | python3 -c '
import json, sys
changes = [abs(r["b"]["calls"] - r["a"]["calls"]) for r in map(json.loads, sys.stdin)]
assert len(changes) > 100 and changes == sorted(changes, reverse=True) and changes[0] > changes[-1], changes'
	# by name
	devtrace diff -s name a.db b.db >table
	sed -n '5,$p' table | grep -o ' function[0-9]*' >names
	[ "$(wc -l <names)" -gt 100 ]
	LC_ALL=C sort -c names
	# what is lost leaves calls without times
	maketrace -n 40000 -c 2 -t 3 -s 1 -l 4000 l.db
	devtrace diff a.db l.db 2>err >/dev/null
	grep -q 'records were lost' err
}

@test "diff: a build in which one function does a thousand times the work" {
	program
	devtrace record -o a.db ./old -1 -1
	devtrace record -o b.db new/program -1 -1
	devtrace diff a.db b.db >table
	# it is the first, and the others of the program are beside their old selves, at other addresses
	devtrace diff -F slow -F work -F turn -F answer a.db b.db >some
	sed -n 5p some | grep -qE ' slow$' || { cat some; false; }
	ratio=$(sed -n 5p some | awk '{ print $7 }')
	awk "BEGIN { exit !($ratio > 20) }"
	grep -qE ' 50 +50 .* turn$' table
	grep -qE ' 110 +110 .* work$' table
	grep -qE ' gone  stale$' table
	grep -qE ' new  fresh$' table
	! grep -E ' (new|gone)  (turn|work|slow|answer|main)$' table || false
	devtrace diff --subtract -F slow -n 1 a.db b.db | grep -q ' slow$'
}

@test "diff --first: two runs that do the same" {
	program
	devtrace record -F 'old:*' -N '*_*' -o a.db ./old -1 -1
	# what is allocated lies elsewhere, with one argument more, which main is told of
	devtrace record -F 'old:*' -N '*_*' -o b.db ./old -1 -1 more
	devtrace diff --first a.db b.db >out
	grep -qE '^thread [0-9]+( \(old\))? in A and [0-9]+( \(old\))? in B: the same 252 calls$' out || { cat out; false; }
	[ "$(grep -c ': the same 21 calls$' out)" = 3 ]
	[ "$(grep -c ^thread out)" = 4 ]
	devtrace diff --first --arguments --results -N main a.db b.db >out
	[ "$(grep -c 'the same' out)" = 4 ]
	run devtrace diff --first --arguments -N main --pointers a.db b.db
	[ "$status" = 3 ]
	run devtrace diff --first --arguments a.db b.db
	[ "$status" = 3 ]
	[[ $output == *"they diverge behind 0 calls"*main\(argc=3*main\(argc=4* ]]
}

@test "diff --first: the call at which a run goes another way" {
	program
	devtrace record -F 'old:*' -N '*_*' -o a.db ./old -1 -1
	devtrace record -F 'old:*' -N '*_*' -o b.db ./old 7 -1
	run devtrace diff --first a.db b.db
	[ "$status" = 3 ]
	# main, seven turns of five calls, the turn, work, slow
	[ "$(grep -c diverge <<<"$output")" = 2 ]
	[[ ${lines[2]} == thread*" in A and "*" in B: they diverge behind $((1 + 7 * 5 + 3)) calls" ]]
	[[ ${lines[3]} == "  last call in both (A at "*", B at "*"):" ]]
	[ "${lines[4]}" = "    slow(n=1000)" ]
	[[ ${lines[5]} == "  then in A, at "*" us:" ]]
	[[ ${lines[6]} == "    main(argc=3, argv=0x"* ]]
	[[ ${lines[7]} == "      turn(i=7, p=0x"* ]]
	[[ ${lines[8]} == "        where(p={x=0, y=2}, name="* ]]
	[[ ${lines[9]} == "  then in B, at "*" us:" ]]
	[[ ${lines[11]} == "      turn(i=7, p=0x"* ]]
	[ "${lines[12]}" = "        odd(n=7)" ]
	# one of the others does another thing, at its end
	[[ $output == *": they diverge behind 21 calls"*"then in A: nothing more"*"odd(n=190)"* ]]
	[ "$(grep -c 'in B: the same 21 calls$' <<<"$output")" = 2 ]
	# the same as JSON
	text=$output
	run devtrace diff --first --json a.db b.db
	[ "$status" = 3 ]
	python3 -c '
import json, re, sys
text, rows = sys.argv[1], list(map(json.loads, sys.argv[2].splitlines()))
assert len(rows) == 4, rows
differ = [r for r in rows if r["diverges"]]
same = [r for r in rows if not r["diverges"]]
assert rows == differ + same and [r["same_calls"] for r in differ] == [39, 21] and [r["same_calls"] for r in same] == [21, 21]
main = differ[0]
assert main["a"]["last"]["text"] == main["b"]["last"]["text"] == "slow(n=1000)", main
assert [c["function"] for c in main["a"]["callers"]] == ["main", "turn"] == [c["function"] for c in main["b"]["callers"]]
assert main["a"]["then"]["function"] == "where" and main["b"]["then"]["text"] == "odd(n=7)"
assert main["a"]["callers"][0]["at_ns"] <= main["a"]["callers"][1]["at_ns"] <= main["a"]["then"]["at_ns"]
assert differ[1]["a"]["then"] is None and differ[1]["b"]["then"]["text"] == "odd(n=190)"
assert all(r[s]["compared_until_ns"] is None for r in rows for s in "ab")
for r in rows:
    for s in "ab":
        assert re.search(r"thread .*\b%d\b" % r[s]["thread"], text), r
' "$text" "$output"
	[ "$(devtrace diff --first --json a.db a.db | python3 -c 'import json, sys; print(any(r["diverges"] for r in map(json.loads, sys.stdin)))')" = False ]
	# as if odd() had not been traced
	devtrace diff --first -N odd a.db b.db
	# two builds
	devtrace record -F 'program:*' -N '*_*' -o c.db new/program 7 -1
	run devtrace diff --first b.db c.db
	[ "$status" = 3 ]
	[ "$(grep -c diverge <<<"$output")" = 1 ]
	[[ $output == *"stale()"*"fresh()"* ]]
}

@test "diff --first: arguments and results, where they are no pointers" {
	program
	devtrace record -F 'old:*' -N '*_*' -o a.db ./old -1 90
	devtrace record -F 'old:*' -N '*_*' -o b.db ./old -1 20
	devtrace diff --first a.db b.db
	run devtrace diff --first --arguments a.db b.db
	[ "$status" = 3 ]
	# a structure that came in a register: of the turn behind the one whose answer differs
	[[ $output == *"where(p={x=0, y=2}"*"where(p={x=1, y=2}"* ]]
	[[ $output == *"turn(i=21, "* ]]
	run devtrace diff --first --results a.db b.db
	[ "$status" = 3 ]
	[[ $output == *"answer(i=20) = 0   <- ends"*"answer(i=20) = 1   <- ends"* ]]
	[ "$(grep -c diverge <<<"$output")" = 1 ]
}

# calls NAME CHANGE: 30000 calls in two threads; that with the number CHANGE of the first is another one
calls() {
	python3 - "$2" <<'P' | writetrace "$1"
import random, sys
change = int(sys.argv[1])
random.seed(3)
print("clock 0 0\nclock 1000000 1000000\nthread 1 main\nthread 2 main")
for f in "abcdef": print("function", f, "n:i4@0,p:p@1;i4@0")
t = 0
for tid in 1, 2:
    print("at", tid - 1, tid)
    sp, n, open_ = tid << 40, 0, []
    while n < 15000:
        t += 10
        if open_ and (len(open_) > 20 or random.random() < 0.5):
            f, s = open_.pop()
            print("X", f, s, t, n)
            continue
        n += 1
        f, k = random.choice("abcdef"), random.randrange(9)
        if n == change and tid == 1: f = "other"
        open_.append((f, (tid << 40) - 32 * len(open_)))
        print("E", f, open_[-1][1], t, k, random.randrange(1 << 40))
P
}

# bats test_tags=long
@test "diff --first: any call of a long run, in memory that does not grow with it" {
	calls a.db 0
	. "$BATS_TEST_DIRNAME/../share.bash"
	for n in $(printf '%s\n' 1 2 3 4095 4096 4097 8192 8193 14999 15000 | share); do
		calls b.db $n
		for order in "a.db b.db" "b.db a.db"; do
			run devtrace diff --first $order
			[ "$status" = 3 ]
			[[ $output == *"they diverge behind $((n - 1)) calls"* ]] || { echo "$n: $output"; false; }
			[[ $output == *"other("* ]]
			[ "$(grep -c 'the same 15000 calls' <<<"$output")" = 1 ]
		done
	done
	devtrace diff --first --arguments --pointers --results a.db a.db
}

@test "diff --first: ends, losses, and threads that only one has" {
	writetrace a.db <<-'TEXT'
	clock 0 0
	clock 1000 1000
	thread 1 main
	E f 0x1000 10
	E g 0xf00 20
	X g 0xf00 30
	E h 0xf00 40
	X h 0xf00 50
	X f 0x1000 60
	TEXT
	writetrace b.db <<-'TEXT'
	clock 0 0
	clock 1000 1000
	thread 1 main
	thread 2 more
	E f 0x1000 10
	E g 0xf00 20
	X g 0xf00 30
	X f 0x1000 60
	at 1 2
	E g 0xff00 70
	X g 0xff00 80
	TEXT
	run devtrace diff --first a.db b.db
	[ "$status" = 3 ]
	[[ $output == *"behind 2 calls"*"then in A, at 0.030 us:"*"h("*"then in B: nothing more"* ]]
	[[ $output == *"thread 2 (more) in B only: 1 calls"* ]]
	# another caller is another call
	writetrace c.db <<-'TEXT'
	clock 0 0
	clock 1000 1000
	thread 1 main
	E f 0x1000 10
	E g 0xf00 20
	E h 0xe00 40
	X h 0xe00 50
	X g 0xf00 55
	X f 0x1000 60
	TEXT
	run devtrace diff --first a.db c.db
	[ "$status" = 3 ]
	[[ $output == *"behind 2 calls"* ]]
	# what was lost is no difference; what comes behind it is not compared
	writetrace d.db <<-'TEXT'
	clock 0 0
	clock 1000 1000
	thread 1 main
	E f 0x1000 10
	E g 0xf00 20
	X g 0xf00 30
	lost 7
	E e 0xf00 70
	X e 0xf00 80
	X f 0x1000 90
	TEXT
	run devtrace diff --first a.db d.db
	[ "$status" = 0 ] || { echo "$output"; false; }
	[[ $output == *"B is compared up to where the first of its records were lost, at 0.020 us"*"the same 2 calls"* ]]
	run devtrace diff --first --to 25ns c.db b.db
	[ "$status" = 0 ]
	[[ $output == *"the same 2 calls"* ]]
}

@test "diff --first: of many callers the outermost and the innermost are said" {
	for f in a b; do
		{
			awk 'BEGIN { for (i = 0; i < 1000; i++) print "E f", 16777216 - 16 * i, i, i }'
			echo "E $f $((0x1000000 - 16000)) 5000"
		} | writetrace $f.db
	done
	run devtrace diff --first a.db b.db
	[ "$status" = 3 ]
	[ "$(grep -c ' f(' <<<"$output")" = 121 ]
	[ "$(grep -c ' \.\.\. 940 calls in each other \.\.\.$' <<<"$output")" = 2 ]
	[[ $output == *" f(0x13, "*" f(0x3c0, "*" a("*" f(0x3e7, "*" b("* ]]
}

@test "diff --first: threads are the same by name, then in the order of creation" {
	unsound b.db # a thread has no name, nor is it described
	# threads FILE WORD...: a thread of each name, which calls what its name says, in this order of creation
	threads() {
		local file=$1 tid=100 name
		shift
		{
			echo "thread 100 main"
			echo "function a"
			for name; do
				tid=$((tid + 1))
				[ "$name" = unknown ] || echo "thread $tid ${name%=*}"
				echo "at 0 $tid"
				echo "E ${name#*=} 0x${tid}000 $tid"
				echo "X ${name#*=} 0x${tid}000 $tid"
			done
		} | writetrace "$file"
	}
	threads a.db one=a two=b two=c three=d
	threads b.db three=d two=b one=a two=c
	devtrace diff --first a.db b.db >out
	grep -q '^thread 101 (one) in A and 103 (one) in B: the same 1 calls$' out
	grep -q '^thread 103 (two) in A and 104 (two) in B: the same 1 calls$' out
	# two of one name, in another order
	threads b.db three=d two=c one=a two=b
	run devtrace diff --first a.db b.db
	[ "$status" = 3 ]
	[ "$(grep -c diverge <<<"$output")" = 2 ]
	# one whose name is not known: by the order alone
	threads b.db one=a two=b unknown=c three=d
	sqlite3 b.db "DELETE FROM thread WHERE tid = 103"
	devtrace diff --first a.db b.db >out
	grep -q '^thread 103 (two) in A and 103 in B: the same 1 calls$' out
}

@test "diff --first: what is a pointer, and what is a gap in a structure" {
	# made FILE SIGNATURE TYPE VALUE [RESULT]
	made() {
		printf '%s\n' "function f $2" "E f 0x1000 10 $4" "X f 0x1000 20 ${5:-0}" | writetrace "$1"
		[ -z "$3" ] || sqlite3 "$1" "INSERT INTO type (id, text) VALUES (1, '$3')"
	}
	# differ SIGNATURE TYPE VALUE OTHER STATUS [OPTION]
	differ() {
		made a.db "$1" "$2" $3
		made b.db "$1" "$2" $4
		run devtrace diff --first --arguments --results $6 a.db b.db
		[ "$status" = "$5" ] || { echo "$*: $output"; false; }
	}
	differ 'n:i4@0;v' '' 1 2 3
	# of four bytes
	differ 'n:i4@0;v' '' 1 0x700000001 0
	differ 'n:c@0;v' '' 1 0x101 0
	differ 'n:p@0;v' '' 1 2 0
	differ 'n:p@0;v' '' 1 2 3 --pointers
	differ 'n:s@0;v' '' 1 2 0
	differ 'n:e4#1@0;v' 'e:E;A=1,B=2' 1 2 3
	# no signature
	differ '' '' 1 2 0
	differ '' '' 1 2 3 --pointers
	# a character and a number: what is between them is anything
	differ 's:a#1@0;v' 'a:S;a:c@0,b:i4@32' 0x00000001000000aa 0x0000000177777700 3
	differ 's:a#1@0;v' 'a:S;a:c@0,b:i4@32' 0x00000001000000aa 0x00000001777777aa 0
	differ 's:a#1@0;v' 'a:S;a:c@0,b:i4@32' 0x00000001000000aa 0x00000002000000aa 3
	differ 's:a#1@0;v' 'a:S;a:u4@3/2' 0x18 0x10 3
	differ 's:a#1@0;v' 'a:S;a:u4@3/2' 0x18 0xff 0
	# one with a pointer in it, one that is not described
	differ 's:a#1@0+1;v' 'a:S;a:p@0,b:i4@64' '1 1' '2 1' 0
	differ 's:a@0;v' '' 1 2 0
	differ ';i4@0' '' '0' '0' 0
	made a.db ';i4@0' '' 0 1
	made b.db ';i4@0' '' 0 2
	run devtrace diff --first --results a.db b.db
	[ "$status" = 3 ]
	[[ $output == *"behind 1 calls"*"f() = 1   <- ends"*"f() = 2   <- ends"* ]]
	devtrace diff --first --arguments a.db b.db
}

@test "diff: bad input" {
	maketrace -n 1000 t.db
	bad() {
		run devtrace diff "${@:2}"
		[ "$status" = 2 ]
		[[ "${lines[0]}" == "devtrace: "*"$1"* ]] || { echo "$output"; return 1; }
	}
	bad "two trace files" t.db
	bad "two trace files" t.db t.db t.db
	bad "are for --first" --results t.db t.db
	bad "of what?" --first --pointers t.db t.db
	bad "do not go with it" --first -n 3 t.db t.db
	bad "cannot sort by 'p99'" -s p99 t.db t.db
	run devtrace diff t.db none.db
	[ "$status" = 1 ]
	[[ $output == *none.db* ]]
	run bash -c 'devtrace diff t.db t.db >/dev/full'
	[ "$status" = 1 ]
	run bash -c 'devtrace diff --first t.db t.db >/dev/full'
	[ "$status" = 1 ]
}

# same_distribution SEED SHIFTED: a trace of 60 functions with 100 calls each, of durations that are drawn from one
# distribution with a long tail; those of SHIFTED take half as long again
same_distribution() {
	python3 - "$1" "$2" <<-'P' | writetrace "$3"
	import random, sys
	random.seed(int(sys.argv[1]))
	print("clock 0 0\nclock 1000000000 1000000000\nthread 1 main")
	for f in range(60):
	    print("function f%d" % f)
	now = 1000
	for f in range(60):
	    for i in range(100):
	        took = int(random.lognormvariate(8, 0.5)) * (100 if random.random() < 0.01 else 1)
	        took = took * 3 // 2 if str(f) == sys.argv[2] else took
	        print("E f%d 0x1000 %d\nX f%d 0x1000 %d" % (f, now, f, now + took))
	        now += took + 100
	P
}

@test "diff: what is slower is found, and nothing where all is the same: the chance, computed otherwise" {
	same_distribution 1 none a.db
	same_distribution 2 none b.db
	same_distribution 3 7 c.db
	[ "$(devtrace diff a.db b.db | tail -n 1)" = "0 new, 0 gone, 0 slower, 0 faster" ]
	[ "$(devtrace diff a.db c.db | tail -n 1)" = "0 new, 0 gone, 1 slower, 0 faster" ]
	[ "$(devtrace diff a.db c.db | awk '$NF == "f7" { print $(NF - 1) }')" = slower ]
	[ "$(devtrace diff c.db a.db | awk '$NF == "f7" { print $(NF - 1) }')" = faster ]
	[ "$(devtrace diff --least 80 a.db c.db | tail -n 1)" = "0 new, 0 gone, 0 slower, 0 faster" ]
	for other in b c; do
		for f in a $other; do
			devtrace sql -n --csv $f.db 'SELECT function, duration FROM calls ORDER BY begin' | tr -d '\r' >$f.csv
		done
		devtrace diff --json a.db $other.db >got.json
		python3 - $other <<-'P'
			import collections, csv, json, math, sys
			def batches(name):
			    of = collections.defaultdict(list)
			    for f, d in csv.reader(open(name)):
			        of[f].append(float(d))
			    # 100 calls: pairs of neighbours
			    return {f: [(x[i] + x[i + 1]) / 2 for i in range(0, len(x), 2)] for f, x in of.items()}
			a, b = batches("a.csv"), batches(sys.argv[1] + ".csv")
			def chance(x, y):
			    # U counts pairs; not by ranks
			    u = sum(1 if p > q else 0.5 if p == q else 0 for p in x for q in y)
			    n, m = len(x), len(y)
			    ties = sum(k ** 3 - k for k in collections.Counter(x + y).values())
			    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))))
			    return min(1, math.erfc(max(0, abs(u - n * m / 2) - 0.5) / deviation / math.sqrt(2)))
			p = sorted((chance(a[f], b[f]), f) for f in a)
			most, want = 0, {}
			for i, (v, f) in enumerate(p):
			    most = max(most, min(1, v * (len(p) - i)))
			    want[f] = most
			got = {r["function"]: r for r in map(json.loads, open("got.json"))}
			assert len(got) == 60
			for f, r in got.items():
			    assert abs(r["chance"] - want[f]) <= 1e-4 * want[f] + 1e-12, (f, r, want[f])
			    assert r["change"] == ("slower" if f == "f7" and sys.argv[1] == "c" else "same"), r
		P
	done
}

@test "diff: two runs of a program, and one of a slower program" {
	cat >p.c <<'C'
#include <stdlib.h>
#include <time.h>
#define FN __attribute__((noipa))
FN void nap(long us) { struct timespec t = {0, us * 1000}; nanosleep(&t, NULL); }
FN void shortly(void) { nap(500); }
FN void work(long us) { struct timespec t = {0, us * 1000}; nanosleep(&t, NULL); }
FN void once(void) { nap(100); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 30; i++) {
		shortly();
		work(atol(argv[1]));
	}
	if (argc == 2)
		once();
}
C
	gcc -O1 -B"$build/lib" -o p p.c
	devtrace record -o slow.db ./p 2000 more
	# other programs run here, too: what takes longer for them is no fault of the test
	for try in 1 2 3 4 5; do
		devtrace record -o a.db ./p 500
		devtrace record -o b.db ./p 500
		devtrace diff a.db b.db >same
		[[ $(tail -n 1 same) != "0 new, 0 gone, 0 slower, 0 faster;"* ]] || break
		[ "$try" -lt 5 ] || { cat same; false; }
	done
	devtrace diff a.db slow.db >slower
	grep -q ' <0.001  slower  work$' slower
	grep -q ' gone  once$' slower
	[[ $(tail -n 1 slower) == "0 new, 1 gone, "*"there are too few calls to tell" ]]
	devtrace diff slow.db a.db | grep -q ' <0.001  faster  work$'
	# with their callees: of total and avg
	devtrace diff -s avg a.db slow.db | grep -q ' <0.001  slower  work$'
}
