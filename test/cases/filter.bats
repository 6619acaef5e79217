#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# -f WORDS of report, calls and graph: which calls are meant. What is right: the same conditions in
# SQL, on the table of calls.
load read-helper
bats_require_minimum_version 1.5.0

setup_file() {
	export dir
	dir=$BATS_FILE_TMPDIR
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	"$build/test/tool/maketrace" -n 6000 -c 2 -t 3 "$dir/t.db" >"$dir/made"
}

setup() {
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$build/test/tool:$PATH
	cd "$dir" || return 1
}

# in front of each statement: the calls and who made them, to be looked up fast
known='CREATE TEMP TABLE k AS SELECT id, parent, function FROM calls; CREATE INDEX ki ON k(id); CREATE INDEX kp ON k(parent);'

. "$BATS_TEST_DIRNAME/../share.bash"

# WORDS|the same in SQL; report and calls try all of them, the other commands a share for every change
pairs() {
	cat <<-'TEXT'
		thread:1001|thread = 1001
		thread:1001 thread:1002|thread IN (1001, 1002)
		-thread:1001|thread != 1001
		time>10us|(timed OR ended = 'open') AND duration > 10000
		time<1us|(timed OR ended = 'open') AND duration < 1000
		time>1us time<20us thread:1000|(timed OR ended = 'open') AND duration > 1000 AND duration < 20000 AND thread = 1000
		function1*|function LIKE 'function1%'
		function1* -function12*|function LIKE 'function1%' AND function NOT LIKE 'function12%'
		result=0 function:function1*|result0 = 0 AND function LIKE 'function1%'
		a=48|json_extract(arguments, '$.a') = 48
		depth<4|depth < 3
		depth=7 function1*|depth = 6 AND function LIKE 'function1%'
		depth>3 depth<6|depth BETWEEN 3 AND 4
		in:function12*|+id IN (WITH RECURSIVE x(id) AS (SELECT id FROM k WHERE function LIKE 'function12%' UNION SELECT c.id FROM k c JOIN x ON c.parent = x.id) SELECT id FROM x)
		-in:function1*|id NOT IN (WITH RECURSIVE x(id) AS (SELECT id FROM k WHERE function LIKE 'function1%' UNION SELECT c.id FROM k c JOIN x ON c.parent = x.id) SELECT id FROM x)
		in:function12* -in:function17 depth>5|+id IN (WITH RECURSIVE x(id) AS (SELECT id FROM k WHERE function LIKE 'function12%' UNION SELECT c.id FROM k c JOIN x ON c.parent = x.id) SELECT id FROM x) AND depth > 4 AND id NOT IN (WITH RECURSIVE x(id) AS (SELECT id FROM k WHERE function = 'function17' UNION SELECT c.id FROM k c JOIN x ON c.parent = x.id) SELECT id FROM x)
		caller:function1*|parent IN (SELECT id FROM k WHERE function LIKE 'function1%')
		-caller:function1*|parent NOT IN (SELECT id FROM k WHERE function LIKE 'function1%') OR parent IS NULL
		file:made-up.c thread:1001|thread = 1001
		codesize=256 thread:1000|thread = 1000
		core:1 time>5us|(timed OR ended = 'open') AND duration > 5000 AND EXISTS (SELECT 1 FROM records r WHERE r.kind = 'E' AND r.thread = calls.thread AND r.time = calls.begin AND r.core = 1)
	TEXT
}

@test "filter: report -f counts the calls that SQL finds" {
	local words where
	while IFS='|' read -r words where; do
		devtrace report --json -f "$words" t.db 2>err >r.json || { cat err; false; }
		python3 -c 'import json; [print(x["function"], x["calls"]) for x in map(json.loads, open("r.json")) if x["calls"]]' | LC_ALL=C sort >got
		devtrace sql -n -c t.db "$known SELECT function || ' ' || count(*) FROM calls WHERE $where GROUP BY function" | tr -d '\r"' | LC_ALL=C sort >want
		[ -s want ] || { echo "$words: nothing"; false; }
		diff want got || { echo "$words"; false; }
	done < <(pairs)
}

@test "filter: calls -f has a line for each of these calls, and -B the calls around it" {
	local words where n
	while IFS='|' read -r words where; do
		n=$(devtrace sql -n -c t.db "$known SELECT count(*) FROM calls WHERE $where" | tr -d '\r')
		devtrace calls -f "$words" t.db 2>/dev/null >got
		[ "$(grep -vcE '^(#|$)' got)" = "$n" ] || { echo "$words: $n wanted, $(grep -vcE '^(#|$)' got)"; false; }
	done < <(pairs)
	devtrace calls -B -f 'time>100us thread:1000' t.db 2>/dev/null >got
	# a caller that is not meant has no time
	n=$(devtrace sql -n -c t.db "$known SELECT count(*) FROM calls WHERE timed AND duration > 100000 AND thread = 1000" | tr -d '\r')
	[ "$(grep -c '^ *[0-9.]* [um]s  ' got)" -ge "$n" ]
	[ "$(grep -c ' {$' got)" -gt 0 ]
}

@test "filter: graph -f has these calls, below those around them that are meant" {
	local words where
	while IFS='|' read -r words where; do
		devtrace graph --json -f "$words" t.db 2>/dev/null >g.json
		python3 - >got <<-'PY'
			import json, collections
			n = collections.Counter()
			for x in map(json.loads, open("g.json")):
			    if not x["again"]:
			        n[x["function"]] += x["calls"]
			print(sum(n.values()))
		PY
		[ "$(cat got)" = "$(devtrace sql -n -c t.db "$known SELECT count(*) FROM calls WHERE $where" | tr -d '\r')" ] || { echo "$words: $(cat got)"; head -c 600 g.json; false; }
	done < <(pairs | share 2)
}

@test "filter: functions left out by -f are in graph what they are by -F: their callers' own time" {
	devtrace graph --json -F 'function1*' t.db >want
	devtrace graph --json -f 'function1*' t.db >got
	[ "$(wc -l <want)" -gt 20 ]
	diff want got
	# other calls of the same functions than those that are meant are left out, too
	devtrace graph --json -f 'function1* thread:1001' t.db >got
	devtrace graph --json -F 'function1*' --thread 1001 t.db >want
	diff want got
}

@test "filter: mistyped words are refused, or told at the end with near names" {
	local words
	cat >m.c <<-'C'
	#include <stdlib.h>
	#include <string.h>
	int main(void) { char *p = malloc(2000000), *q = calloc(2, 10); strcpy(p, "x"); strcpy(q, p); free(p); free(q); return 0; }
	C
	gcc -O0 -fno-builtin -o m m.c
	refused() { # WORDS TEXT
		run --separate-stderr devtrace record -l -o no.db --filter "$1" ./m
		[ "$status" != 0 ] && [ ! -e no.db ] && [ "${#stderr_lines[@]}" = 1 ] && [[ $stderr == *"$2"* ]] || { echo "$1: $stderr"; false; }
		run --separate-stderr devtrace calls -f "$1" t.db
		[ "$status" = 2 ] && [[ $stderr == *"$2"* ]] || { echo "$1: $stderr"; false; }
	}
	refused 'size > 1000000' 'without blanks, as in size>1000000'
	refused 'malloc,calloc' "separated by blanks, as in 'malloc calloc'"
	refused 'errno=ENOENT' 'called error, as in error=ENOENT'
	refused 'nmemb*size>1M' 'the name of one value'
	refused 'nmemb*size>10' 'the name of one value'
	refused '12' 'without blanks'
	# what names of functions may have is taken
	for words in 'std::map<int,*>::at' 'f(int,int)' 'operator>>' 'std::operator==' 'x+0x17f60->malloc' '*>::push'; do
		devtrace calls -f "$words" t.db
	done
	told() { # OPTION WORDS TEXT
		devtrace record -l -o told.db "$1" "$2" ./m 2>err
		grep -qxF "devtrace: $1 '$2': $3" err || { cat err; false; }
	}
	told --filter 'siez>100' "no function that was recorded and is meant has an argument 'siez'; near names: size"
	told --filter mallocc "no function that was recorded is 'mallocc'; near names: malloc, calloc"
	told --filter 'caller:mallocc free' "no function that was recorded is 'mallocc'; near names: malloc, calloc"
	told --filter 'malloc nmemb=2' "no function that was recorded and is meant has an argument 'nmemb'"
	told --until mallocc "no function that was recorded is 'mallocc'; near names: malloc, calloc"
	told --sum 'countt by size' "no function that was recorded has an argument 'countt'; near names: count"
	told --sum 'count by program' "no function that was recorded has an argument 'program'; sums are also by function, caller, callers, thread, process, core, depth, result, error"
	told --sum 'count by size if mallocc' "no function that was recorded is 'mallocc'; near names: malloc, calloc"
	# nothing is said of words that are right
	for words in 'size>100' malloc 'malloc calloc' 'malloc size>1' '-malloc' 'nmemb=2' 'src=x' 'time>1us'; do
		devtrace record -l -o right.db --filter "$words" ./m 2>err
		! grep 'no function' err || { echo "$words"; false; }
		devtrace calls -f "$words" right.db 2>err >/dev/null
		! grep 'no function' err || { echo "$words"; false; }
	done
	devtrace record -l -o all.db ./m
	run --separate-stderr devtrace calls -f mallocc all.db
	[[ $stderr == *"no function that was recorded is 'mallocc'; near names: malloc"* ]]
	run --separate-stderr devtrace report -f 'siez>1' all.db
	[[ $stderr == *"near names: size"* ]]
	run --separate-stderr devtrace sum -e 'count by siez' all.db
	[[ $stderr == *"near names: size"* ]]
	run --separate-stderr devtrace calls -F mallocc all.db
	[ "$status" = 1 ]
	[[ $stderr == *"near names: malloc"* ]]
	devtrace calls -F mallocc -F malloc all.db >got
	[ "$(grep -c malloc got)" = 1 ]
	run --separate-stderr devtrace calls --thread 99999 all.db
	[ "$status" = 1 ]
	[[ $stderr == *"--thread 99999: the trace has no such thread"* ]]
	thread=$(devtrace sql -n -c all.db 'SELECT DISTINCT thread FROM calls' | tr -d '\r')
	devtrace calls --thread "$thread" all.db | grep -q malloc
	run devtrace sum 'count by function' all.db
	[ "$status" = 2 ]
	[[ $output == *"the words of a sum stand behind -e: devtrace sum -e 'count by function' all.db"* ]]
}

@test "filter: numbers with an exponent or a fraction mean what python says, of whole and of real values" {
	cat >means.py <<-'P'
	import re, subprocess, struct
	from fractions import Fraction
	take = [1, 10, 999999, 1000000, 1000001, 2**63, 2**64 - 1]
	sign = [-2, -1, 0, 1, 2]
	real = [-1.5, 0.25, 1.5, 1e6, 1e300]
	text = "clock 0 0\nclock 2000000 1000000\nthread 1 main\n"
	text += "function take size:u8@0;v\nfunction sign n:i4@0;v\nfunction real x:f8@0;v\n"
	at = 0
	raw = [("take", v) for v in take] + [("sign", v & 0xffffffff) for v in sign]
	raw += [("real", struct.unpack("<Q", struct.pack("<d", v))[0]) for v in real]
	for name, v in raw:
	    at += 100
	    text += f"E {name} 0x2000 {at} {v:#x}\nX {name} 0x2000 {at + 10}\n"
	subprocess.run(["writetrace", "numbers.db"], input=text.encode(), check=True)
	numbers = ["1e6", "1E6", "1e+6", "0.1e1", "1.0", "1.5", "-1.5", "0.25", "-0.5", "999999.5", "1e30", "-1e30",
	           "18446744073709551614.5", "9.223372036854775808e18", "2e3", "10e-1"]
	compare = {">": lambda a, b: a > b, "<": lambda a, b: a < b, "=": lambda a, b: a == b, "!=": lambda a, b: a != b}
	for name, values in ("size", take), ("n", sign), ("x", real):
	    for op in compare:
	        for number in numbers:
	            got = subprocess.run(["devtrace", "calls", "-f", name + op + number, "numbers.db"],
	                                 capture_output=True, check=True, text=True).stdout
	            got = [Fraction(float(v)) if name == "x" else int(v) for v in re.findall(name + r"=([^)]*)\)", got)]
	            want = [v for v in values if compare[op](Fraction(v), Fraction(number))]
	            assert got == [Fraction(v) for v in want], (name, op, number, got, want)
	for number in "1e", "1e6x", "1e99999", "1.5.2", "1e6.5", "1M", "12abc", "0x1e6g", "1e+", "--1", "1,5":
	    bad = subprocess.run(["devtrace", "calls", "-f", "size>" + number, "numbers.db"], capture_output=True, text=True)
	    assert bad.returncode == 2 and bad.stderr.count("\n") == 1 and "a number is wanted" in bad.stderr, (number, bad)
	P
	python3 means.py
}

@test "filter: words that are nothing are refused, with what would be right" {
	local c
	for c in report calls graph; do
		run devtrace $c -f 'time>' t.db
		[ "$status" = 2 ]
		[ "$output" = "devtrace: -f: time>: a time is wanted, as in time>10us or time<2ms" ]
	done
	run devtrace report --live -f failed t.db
	[ "$status" = 2 ]
	run devtrace report --waits -f failed t.db
	[ "$status" = 2 ]
	run devtrace report -f 'a=123456789123' t.db
	[ "$status" = 0 ]
	[[ "$output" == *"no call is one that -f means"* ]]
}

@test "filter: texts: what SQL finds in the arguments, in calls, report, graph, sum, the page's sums and while recording" {
	local words sql n
	cat >texts.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		__attribute__((noinline)) int first(const char *name, const char *other) { return (int)strlen(name) - (other ? other[0] : 0); }
		__attribute__((noinline)) int second(int n, const char *name) { return n > 0 ? second(n - 1, name + 1) + 1 : name[0]; }
		int main(void)
		{
			char text[400];
			int sum = 0;
			srand(7);
			for (int i = 0; i < 400; i++) {
				int n = rand() % 40 == 0 ? 300 : rand() % 70;
				for (int k = 0; k < n; k++)
					text[k] = "abc/."[rand() % 5];
				text[n] = '\\0';
				sum += first(text, i % 3 ? "other" : i % 2 ? NULL : "a 5");
				if (n > 4)
					sum += second(rand() % 4, text);
			}
			printf("%d\\n", sum);
			return 0;
		}
	C
	sed -i 's/\\\\/\\/g' texts.c
	gcc -O1 -g -fno-optimize-sibling-calls -o texts texts.c
	devtrace record -A first -A second -o x.db ./texts >/dev/null 2>&1
	while IFS='|' read -r words sql; do
		n=$(devtrace sql -n x.db "SELECT count(*) FROM calls WHERE $sql" | tr -d ' ')
		[ "$n" -gt 0 ]
		[ "$(devtrace report -f "$words" --json x.db | python3 -c 'import json, sys; print(sum(x["calls"] for x in map(json.loads, sys.stdin) if "function" in x))')" = "$n" ] || { echo "$words: not $n in report"; devtrace report -f "$words" x.db; false; }
		[ "$(devtrace calls -f "$words" x.db | grep -c ' us  ')" = "$n" ] || { echo "$words: not $n in calls"; false; }
		[ "$(devtrace sum -e "count if $words" --json x.db | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["calls"])')" = "$n" ]
		"$build/test/tool/check-pyramid" x.db "$words"
		devtrace record -A first -A second --filter "$words" --sum "count if $words" -o w.db ./texts >/dev/null 2>&1
		[ "$(devtrace sum --json w.db 2>/dev/null | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["calls"])')" = "$n" ]
		# there are no other calls, and they have their texts; those around them are not there, so depths are others
		[ "$(devtrace sql -n w.db "SELECT count(*) FROM calls" 2>/dev/null | tr -d ' ')" = "$n" ] || { echo "$words: not $n recorded"; false; }
		[ "$(devtrace sql -n w.db "SELECT count(*) FROM calls WHERE ${sql/depth > 1/depth >= 0}" 2>/dev/null | tr -d ' ')" = "$n" ]
		devtrace check w.db >/dev/null
	done <<-'TEXT'
		name=a*|json_extract(arguments, '$.name') GLOB 'a*'
		name!=a*|json_extract(arguments, '$.name') NOT GLOB 'a*'
		name!=a* first|function = 'first' AND json_extract(arguments, '$.name') NOT GLOB 'a*'
		name=[ab]*/* second depth>2|function = 'second' AND depth > 1 AND json_extract(arguments, '$.name') GLOB '[ab]*/*'
		name=*c/|json_extract(arguments, '$.name') GLOB '*c/'
		other=other name!=*c*|json_extract(arguments, '$.other') = 'other' AND json_extract(arguments, '$.name') NOT GLOB '*c*'
		"other=a 5"|json_extract(arguments, '$.other') = 'a 5'
		name=b* n=0|json_extract(arguments, '$.n') = 0 AND json_extract(arguments, '$.name') GLOB 'b*'
	TEXT
	for words in report calls 'diff x.db'; do
		run -2 --separate-stderr devtrace $words --subtract -f 'name=a*' x.db
		[[ $stderr == *'--subtract does not go with a condition on a text (name=a*)'* ]]
	done
	run --separate-stderr devtrace report -f 'nosuch=a*' x.db
	[[ $stderr == *"no text of an argument called 'nosuch': -l and -A record texts"* ]]
}

@test "filter: error=NAME: the calls that failed so, as SQL and the table of reasons say" {
	local n
	: >one
	devtrace record -l -o e.db cat one missing /root/x/y / one none >/dev/null 2>&1 || true
	devtrace sql -c -n e.db "SELECT errno, count(*) FROM calls WHERE failed AND errno > 0 GROUP BY 1" | tr -d '\r' >reasons
	[ "$(wc -l <reasons)" -ge 2 ]
	while IFS=, read -r error n; do
		[ "$(devtrace calls -f "error=$error" e.db | grep -c ' us  ')" = "$n" ]
		[ "$(devtrace sum -e "count if error!=$error" --json e.db | python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())["calls"])')" = "$(awk -F, -v e="$error" '$1 != e {n += $2} END {print n + 0}' reasons)" ]
	done <reasons
	[ "$(devtrace calls -f error=ENOENT e.db | grep -c ' = -1 ENOENT')" = "$(awk -F, '$1 == 2 || $1 == "ENOENT" {print $2}' reasons)" ]
	devtrace record -l --filter error=ENOENT -o w.db cat one missing / none >/dev/null 2>&1 || true
	[ "$(devtrace calls w.db 2>/dev/null | grep -c ' = -1 ENOENT')" = 2 ]
	run ! devtrace calls -f error=ENOSUCH e.db
	[[ $output == *'the name of an error is wanted, as in error=ENOENT'* ]]
}

@test "filter: hist and count -f take the values of these calls, and say what is left out" {
	local words where n all
	all=$(devtrace sql -n -c t.db 'SELECT count(*) FROM calls' | tr -d '\r')
	while IFS='|' read -r words where; do
		devtrace sql -n -c t.db "$known SELECT thread, arg0, result0, CAST(round(duration) AS INTEGER), timed, ended = 'tail' FROM calls WHERE $where" | tr -d '\r' >want
		n=$(wc -l <want)
		devtrace hist -f "$words" --durations --buckets linear:1000 --max 100000000 t.db >got 2>err
		awk -F, '$5 { n[int($4 / 1000) * 1000]++ } END { for (v in n) print v, n[v] }' want | sort -n >durations
		# a nanosecond at the edge of a bucket may be rounded otherwise
		grep -v '^#' got | diff - durations >differs || [ "$(grep -c '^[<>]' differs)" -le 4 ] || { echo "$words"; cat differs; false; }
		[ "$n" = "$all" ] || grep -q "note: -f leaves out $((all - n)) of $all calls" err || { echo "$words"; cat err; false; }
		devtrace count -f "$words" -k 1 t.db 2>/dev/null | awk '!/^#/ { n[$2] += $3 } END { for (v in n) print v, n[v] }' | sort >got
		awk -F, '$2 != "" { n[$2]++ } END { for (v in n) print v, n[v] }' want | sort | diff - got || { echo "count $words"; false; }
	done < <(pairs | share 2)
	# without -f as before, and with one that means all calls the same
	for command in 'count -k 1' 'count -k result' 'hist --value 1' 'hist'; do
		devtrace $command t.db >all
		devtrace $command -f 'depth>0' t.db 2>/dev/null | diff all - || { echo "$command"; false; }
	done
}

@test "filter: flame -f: each call's own time is the nearest of these calls' around it" {
	local words where
	devtrace sql -n -c t.db "SELECT id, parent, function, self, flags FROM calls" | tr -d '\r"' >every
	while IFS='|' read -r words where; do
		devtrace sql -n -c t.db "$known SELECT id FROM calls WHERE $where" | tr -d '\r' >want
		devtrace flame -o f.svg -f "$words" t.db 2>/dev/null || { echo "$words: no picture"; false; }
		python3 - <<-'PY' || { echo "$words"; false; }
			import collections, csv, re
			calls = {int(r[0]): r for r in csv.reader(open('every')) if r[0]}
			wanted = {int(x) for x in open('want') if x.strip()}
			unknown = 16 | 64 | 4096 | 8192 | 2048 # no entry, losses, backward, paused, no exit
			top, seen = {}, set()
			def nearest(i):
			    while i and i not in wanted:
			        i = int(calls[i][1]) if i in calls and calls[i][1] else 0
			    return i
			total = 0.0
			for i, (_, parent, function, own, flags) in calls.items():
			    if own and not int(flags) & unknown and nearest(i):
			        total += float(own) / 1e6
			svg = open('f.svg').read()
			boxes = re.findall(r'data-d="(\d+)" data-n="([^"]*)"><title>[^<]*?([\d.]+) ms', svg)
			width = sum(float(ms) for d, name, ms in boxes if d == '0')
			assert abs(width - total) <= 0.002 * total + 0.01, (width, total)
			names = {name for d, name, ms in boxes if d != '0' and name}
			assert names and names <= {calls[i][2] for i in wanted}, names
		PY
	done < <(pairs | share 2)
	# all calls: the same picture, but for the title
	devtrace flame -o all.svg t.db
	devtrace flame -o f.svg -f 'depth>0' t.db 2>/dev/null
	diff <(grep -v 'id="title"' all.svg) <(grep -v 'id="title"' f.svg)
	grep -q 'only depth&gt;0' f.svg
}

@test "filter: diff -f compares what report -f has of each" {
	"$build/test/tool/maketrace" -n 5000 -c 2 -t 3 other.db >made2
	local words where side
	while IFS='|' read -r words where; do
		devtrace diff --json -f "$words" t.db other.db >d.json 2>err || { cat err; false; }
		devtrace report --json -f "$words" t.db >a.json 2>/dev/null
		devtrace report --json -f "$words" other.db >b.json 2>/dev/null
		python3 - <<-'PY' || { echo "$words"; false; }
			import json
			d = list(map(json.loads, open('d.json')))
			for side in 'ab':
			    want = {x['function']: (x['calls'], x['timed'], round(x.get('total_ns') or 0)) for x in map(json.loads, open(side + '.json')) if x.get('calls') and 'function' in x}
			    got = {x['function']: (x[side]['calls'], x[side]['timed'], round(x[side].get('total_ns', 0))) for x in d if x[side]['calls']}
			    assert got == want, (side, set(got.items()) ^ set(want.items()))
		PY
	done < <(pairs | share 2)
	grep -q 'note: [AB]: -f leaves out [0-9]* of [0-9]* calls' err
}

@test "filter: diff --first -f follows these calls only" {
	local words where f
	"$build/test/tool/maketrace" -n 1500 -c 2 -t 3 first.db >made3
	"$build/test/tool/maketrace" -n 1200 -c 2 -t 3 second.db >made3
	for f in first second; do
		devtrace sql -n -c $f.db "SELECT id, parent, thread, function FROM calls WHERE id ORDER BY begin, depth" | tr -d '\r"' >$f.all
	done
	while IFS='|' read -r words where; do
		devtrace diff --first --json -f "$words" first.db second.db >d.json 2>err && status=0 || status=$?
		[ $status = 0 ] || [ $status = 3 ] || { echo "$words: $status"; cat err; false; }
		for f in first second; do
			devtrace sql -n -c $f.db "$known SELECT id FROM calls WHERE $where" | tr -d '\r' >$f.wanted
		done
		python3 - <<-'PY' || { echo "$words"; false; }
			import csv, json, collections
			def steps(f):
			    rows = [r for r in csv.reader(open(f + '.all')) if r]
			    parent = {int(r[0]): int(r[1] or 0) for r in rows}
			    wanted = {int(x) for x in open(f + '.wanted') if x.strip()}
			    s = collections.defaultdict(list)
			    for i, _, thread, function in rows:
			        if int(i) not in wanted:
			            continue
			        depth, p = 0, parent.get(int(i), 0)
			        while p:
			            depth += p in wanted
			            p = parent.get(p, 0)
			        s[int(thread)].append((function, depth))
			    return s
			a, b = steps('first'), steps('second')
			got = {x['a']['thread']: x for x in map(json.loads, open('d.json')) if x['a'] and x['b']}
			assert set(got) == set(a) & set(b), (set(got), set(a), set(b))
			for thread, x in got.items():
			    n = 0
			    while n < len(a[thread]) and n < len(b[thread]) and a[thread][n] == b[thread][n]:
			        n += 1
			    assert x['diverges'] == (n < len(a[thread]) or n < len(b[thread])), (thread, x)
			    assert x['same_calls'] == n, (thread, x, n)
		PY
	done < <(pairs | share 2)
	# what is chosen by its function is what -F chooses
	devtrace diff --first -F 'function1*' first.db second.db >want || true
	devtrace diff --first -f 'function1*' first.db second.db >got || true
	diff want got
	run -2 devtrace diff --first -f 'time>' first.db second.db
}

# how many slices begin in a trace of Perfetto's
slices() {
	protoc --decode=Trace perfetto.proto <"$1" | grep -c 'type: SLICE_BEGIN' || true
}

@test "filter: export -f writes these calls only" {
	local words where n
	"$build/test/tool/maketrace" -n 1500 -c 2 -t 3 small.db >made4
	cp "$BATS_TEST_DIRNAME/perfetto.proto" .
	devtrace export --perfetto -f '-*' -o none.perfetto small.db
	while IFS='|' read -r words where; do
		# by what calls are, since the numbers of calls are those of another order
		devtrace sql -n -c small.db "$known SELECT thread, function, CAST(round(begin) AS INTEGER) FROM calls WHERE id AND +id IN (SELECT id FROM calls WHERE $where)" | tr -d '\r"' | sort >want
		n=$(wc -l <want)
		devtrace export --csv -f "$words" -o x.csv small.db
		python3 - <<-'PY' >got
			import csv
			for r in csv.DictReader(open('x.csv')):
			    print(r['thread'], r['function'], r['begin_ns'], sep=',')
		PY
		[ "$(wc -l <got)" = "$n" ] || { echo "$words: csv: $(wc -l <got), not $n"; false; }
		diff <(cut -d , -f 1,2 want | sort) <(cut -d , -f 1,2 got | sort) || { echo "$words"; false; }
		devtrace export --chrome -f "$words" small.db | python3 -c '
import json, sys
print(sum(e["ph"] == "X" and e.get("cat") != "devtrace" for e in json.load(sys.stdin)["traceEvents"]))' >got
		[ "$(cat got)" = "$n" ] || { echo "$words: chrome: $(cat got), not $n"; false; }
		devtrace export --speedscope -f "$words" small.db | python3 -c '
import json, sys
p = json.load(sys.stdin)["profiles"]
o = [sum(e["type"] == t for x in p for e in x["events"]) for t in "OC"]
assert o[0] == o[1] and all(x["events"] for x in p)
print(o[0])' >got
		[ "$(cat got)" = "$n" ] || { echo "$words: speedscope: $(cat got), not $n"; false; }
		devtrace export --callgrind -f "$words" small.db >x.callgrind
		devtrace export --folded -f "$words" small.db >x.folded
		cut -d , -f 2 want | sort -u >names
		sed 's/^[^;]*;//; s/ [0-9]*$//' x.folded | tr ';' '\n' | grep -v '^[a-z]* *[0-9]*$' | grep '^function' | sort -u >got || true
		[ -z "$(comm -13 names got)" ] || { echo "$words: folded"; false; }
		devtrace export --perfetto -f "$words" -o x.perfetto small.db
		# cores have slices, too
		[ "$(slices x.perfetto)" = $((n + $(slices none.perfetto))) ] || { echo "$words: perfetto, not $n"; false; }
	done < <(pairs | share 2)
	for format in csv chrome speedscope folded callgrind perfetto; do
		devtrace export --$format small.db >all
		devtrace export --$format -f 'depth>0' small.db | cmp all -
	done
	run -2 devtrace export --ctf folder -f leaf small.db
	[[ $output == *'-f chooses calls'* ]]
	[ ! -e folder ]
	run -2 devtrace export --csv -f 'time>' -o no.csv small.db
	[ ! -e no.csv ]
}

@test "choosing while recording: time that the program waited for devtrace is nobody's" {
	local words=(/usr/bin/python3 -c 'import json, time
for i in range(5000): json.dumps([str(i)] * 9)
time.sleep(0.01)')
	# rings so small that the program waits for devtrace thousands of times, some ms at times
	devtrace record -l -b 64k --filter 'time>1ms' -o w.db "${words[@]}"
	[ "$(sqlite3 w.db "SELECT count(*) FROM hold")" -gt 300 ]
	# but what a call that took longer has jumped to: its exit is that of both
	devtrace sql -n w.db "SELECT * FROM calls c WHERE duration < 1000000
		AND NOT (flags & 32 AND EXISTS (SELECT 1 FROM calls j WHERE j.id = c.parent AND j.ended = 'tail' AND j.duration >= 1000000))" >short
	[ ! -s short ] || { cat short; false; }
	[ "$(devtrace sql -n w.db "SELECT count(*) FROM calls WHERE function = 'clock_nanosleep'")" = 1 ]
	# what is summed up meanwhile is what is summed up of the same calls afterwards, to a hundredth
	devtrace record -l -b 64k --filter '*' --sum 'time by function' --sum 'self by function' -o s.db "${words[@]}"
	for what in time self; do devtrace sum -e "$what by function" s.db; done >after
	devtrace sum s.db >meanwhile
	for f in meanwhile after; do
		awk -v f=$f '{ unit = $3 == "s" ? 1e9 : $3 == "ms" ? 1e6 : $3 == "us" ? 1e3 : 0 }
			unit { n++; sum += $2 * unit; calls += $1 } END { print n, calls, sum }' $f
	done >sums
	cat sums
	awk '{ n[NR] = $1; calls[NR] = $2; sum[NR] = $3 } END {
		exit !(n[1] > 40 && n[1] == n[2] && calls[1] == calls[2] && (sum[1] - sum[2]) ^ 2 <= (sum[2] / 100) ^ 2) }' sums
}

@test "choosing while recording: a call that is written has with it what it has jumped to, however short that was" {
	cat >jump.c <<-'C'
		#include <unistd.h>
		__attribute__((noinline)) int quick(int i) { __asm__ volatile("" ::: "memory"); return i + 1; }
		__attribute__((noinline)) int slow(int i) { usleep(i); return quick(i); }
		int main(void)
		{
			int sum = 0;
			for (int i = 0; i < 5; i++)
				sum += slow(60000) + slow(0) + quick(1);
			return sum == 0;
		}
	C
	gcc -O2 -o jump jump.c
	devtrace record -F 'jump:slow' -F 'jump:quick' --filter 'time>50ms' -o j.db ./jump
	devtrace check -q j.db
	[ "$(devtrace sql -n -c j.db "SELECT group_concat(function || ended || n) FROM (SELECT function, ended, count(*) AS n FROM calls GROUP BY 1, 2 ORDER BY 1)" | tr -d '\r"')" = quickreturned5,slowtail5 ]
	[ "$(devtrace calls --no-header -f 'time>50ms' j.db | grep -c 'slow(')" = 5 ]
	[ "$(devtrace calls --no-header -f 'time>50ms' j.db | grep -c 'quick(')" = 0 ]
	# what is not there is said once
	[ "$(devtrace report j.db 2>&1 >/dev/null | grep -c 'are not in the trace')" = 1 ]
}

@test "filter: what a trace has not is said by all that choose by it, with near names" {
	local c
	for c in "report -F functoin11" "graph -F functoin11" "hist -F functoin11" "count -F functoin11" "calls -F functoin11"; do
		run devtrace $c t.db
		[ "$status" = 1 ] || { echo "$c: $status"; false; }
		[[ "$output" == *"no function that was recorded is 'functoin11'; near names: function1"* ]] || { echo "$c: $output"; false; }
	done
	run devtrace diff -F functoin11 t.db t.db
	[[ "$output" == *"near names: function1"* ]]
	# one of two patterns that is met is shown, the other one noted
	devtrace report -F "function1*" -F nosuch t.db 2>said | grep function1
	grep "no function that was recorded is 'nosuch'" said
	run devtrace graph --thread 9999 t.db
	[ "$status" = 1 ]
	[[ "$output" == *"--thread 9999: the trace has no such thread; it has 3, the first is 1000"* ]]
	run devtrace graph --process 9999 t.db
	[ "$status" = 1 ]
	[[ "$output" == *"--process 9999: the trace has no such process"* ]]
	devtrace flame -f functoin11 -o x.svg t.db 2>said || true
	grep 'near names: function1' said
}

@test "filter: names of C++ with < are functions, without a word in front" {
	local words
	for words in 'vector<*' 'vector<int>' 'map<int,?*>'; do
		run devtrace calls -f "$words" t.db
		[ "$status" = 0 ]
		[[ "$output" == *"no function that was recorded is '$words'"* ]] || { echo "$words: $output"; false; }
	done
	run devtrace calls -f 'a<x' t.db
	[ "$status" = 2 ]
}

@test "flame: says what it wrote, where that was not named" {
	mkdir -p flame
	cd flame
	run devtrace flame ../t.db
	[ "$status" = 0 ]
	[ "$output" = "devtrace: wrote devtrace.svg" ]
	grep -q '<svg' devtrace.svg
	run devtrace flame -o named.svg ../t.db
	[ "$output" = "" ]
	devtrace flame -o - ../t.db 2>&1 | head -1 | grep -v devtrace:
}
