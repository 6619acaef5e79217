# SPDX-License-Identifier: MIT
# devtrace sql and the extension for SQLite: what they say of a trace is what the other commands say.
load read-helper

teardown() {
	[ -z "${recorder-}" ] || kill "$recorder"
	[ -z "${program-}" ] || kill "$program"
	check_traces
}

# calls as export says them, in the order of bytes
exported() {
	devtrace export --csv "$1" 2>/dev/null | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    print("|".join(r[k] for k in ("process", "thread", "depth", "function", "module", "begin_ns", "end_ns", "duration_ns", "self_ns", "end", "text")))' | LC_ALL=C sort
}

queried() {
	devtrace sql --json "$1" 'SELECT process, thread, depth, function, module, begin, "end", duration, self, ended, text FROM calls' | python3 -c '
import json, sys
for l in sys.stdin:
    r = json.loads(l)
    print("|".join("" if v is None else str(v) for v in r.values()))' | LC_ALL=C sort
}

@test "sql: calls are those of export, with every way to begin and end" {
	sample s.db
	maketrace -n 60000 -c 2 -t 3 -l 5000 a.db
	maketrace -n 60000 -c 3 -t 7 -p 9000 b.db
	for f in s.db a.db b.db; do
		exported $f >want
		queried $f >got
		diff want got | head >differs
		[ ! -s differs ] || { cat differs; return 1; }
	done
	[ "$(wc -l <got)" -gt 29000 ]
	[ "$(queried s.db | cut -d'|' -f10 | sort -u | tr '\n' ' ')" = "lost open returned tail unwound " ]
	# callers: as export numbers them
	devtrace export --csv a.db 2>/dev/null | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
by = {(r["call"]): r for r in rows if r["call"] != "0"}
for r in rows:
    c = by.get(r["caller"])
    print(r["thread"], r["begin_ns"], r["end_ns"], r["function"], c["function"] if c else "", c["begin_ns"] if c else "", sep="|")' | LC_ALL=C sort >want
	devtrace sql --csv --no-header a.db "CREATE TEMP TABLE c AS SELECT * FROM calls; CREATE INDEX temp.i ON c(id);
		SELECT c.thread || '|' || ifnull(c.begin, '') || '|' || c.end || '|' || c.function || '|' || ifnull(p.function, '') || '|' || ifnull(p.begin, '')
		FROM c LEFT JOIN c p ON p.id = c.parent" | tr -d '\r' | LC_ALL=C sort >got
	diff want got
	[ "$(devtrace sql --no-header a.db 'SELECT count(*) - count(DISTINCT id) FROM calls WHERE id IS NOT NULL' | tr -d ' ')" = 0 ]
}

@test "sql: sums are those of report" {
	maketrace -n 60000 -c 2 -t 3 -l 5000 t.db
	devtrace sql --json t.db "SELECT function, count(begin) calls, sum(timed) timed, sum(self) FILTER (WHERE timed) self,
		min(duration) FILTER (WHERE timed) min, max(duration) FILTER (WHERE timed) max, sum(ended = 'open') open,
		sum(begin IS NULL) exits_without_entry FROM calls GROUP BY 1" >sql.json
	devtrace sql --json t.db "SELECT id, parent, function, duration, timed FROM calls WHERE id IS NOT NULL" >calls.json
	devtrace report --json t.db >report.json
	python3 - <<-'P'
		import json
		want = {r["function"]: r for r in map(json.loads, open("report.json")) if "function" in r}
		got = [json.loads(l) for l in open("sql.json")]
		assert len(got) == len(want) > 90, (len(got), len(want))
		# a call's time counts where no call of its function with a time is around it
		calls = {c["id"]: c for c in map(json.loads, open("calls.json"))}
		def around(c):
		    p = calls.get(c["parent"])
		    while p and not (p["timed"] and p["function"] == c["function"]):
		        p = calls.get(p["parent"])
		    return p
		total = {}
		for c in calls.values():
		    if c["timed"] and not around(c):
		        total[c["function"]] = total.get(c["function"], 0) + c["duration"]
		for g in got:
		    g["total"] = total.get(g["function"])
		for g in got:
		    w = want[g["function"]]
		    assert (g["calls"], g["timed"], g["open"], g["exits_without_entry"]) == (w["calls"], w["timed"], w["unfinished"], w["exits_without_entry"]), (g, w)
		    for k in ("self", "total", "min", "max") if w["timed"] else ():
		        assert abs((g[k] or 0) - w[k + "_ns"]) <= 0.06 * w["calls"] + 0.06, (k, g, w)
	P
}

@test "sql: losses: from where to where, as far as it is known" {
	sample s.db
	# behind 4100 and before 6000, of which the first is 1000; two ticks are a nanosecond
	[ "$(devtrace sql -n --csv s.db 'SELECT core, records, begin, end FROM lost' | tr -d '\r')" = 0,5,1550,2500 ]
	# at the beginning, between, and behind the last record
	printf '%s\n' 'clock 0 0' 'clock 2000000 1000000' 'at 2 1' 'lost 3' 'E f 0x1000 100' 'at 3 1' 'E f 0x1000 120' 'lost 4' 'X f 0x1000 220' 'lost 7' | writetrace l.db
	devtrace sql -n --csv l.db 'SELECT core, records, begin, end FROM lost ORDER BY core, begin' | tr -d '\r' >got
	diff got <(printf '%s\n' 2,3,,0 3,4,10,60 3,7,60,)
}

@test "sql: records, events and messages, against the text of the records" {
	maketrace -n 80000 -c 2 -t 5 -l 20000 -m 50 -s 4 t.db
	devtrace cat -l t.db 2>/dev/null >lines
	devtrace sql --json t.db 'SELECT * FROM records' >records
	devtrace sql --json t.db 'SELECT * FROM events' >events
	devtrace sql --json t.db 'SELECT * FROM messages' >messages
	devtrace sql --json t.db 'SELECT * FROM lost' >lost
	python3 - <<-'P'
		import json, collections
		def rows(f): return [json.loads(l) for l in open(f)]
		lines = [dict(p.split("=", 1) for p in l.split()) for l in open("lines")]
		want = [l for l in lines if len(l["kind"]) == 1]
		got = rows("records")
		assert len(want) == len(got) == 80000, (len(want), len(got))
		signed = lambda v: v - (v >> 63 << 64)
		for w, g in zip(want, got):
		    assert (w["kind"], int(w["ticks"]), int(w["core"]), int(w["tid"])) == (g["kind"], g["ticks"], g["core"], g["thread"])
		    assert int(w["pc"], 16) == g["pc"] and signed(int(w["sp"], 16)) == g["sp"]
		    for i in range(4):
		        v = w.get(f"v{i}")
		        assert (None if v is None else signed(int(v, 16))) == g[f"value{i}"], (w, g)
		e = rows("events")
		w = [l for l in want if l["kind"] in "VMN"]
		assert len(e) == len(w) > 1000
		for x, y in zip(w, e):
		    assert int(x["ticks"]) == y["ticks"] and int(x["tid"]) == y["thread"]
		    if x["kind"] == "V":
		        assert x["event"] == y["subsystem"] + ":" + y["event"] and int(x["v0"], 16) & 0xffffffff == y["argument"]
		# messages: the first sent is the first received; where records were lost nobody knows
		ends = sorted(l["end"] or l["begin"] for l in rows("lost"))
		pending = collections.defaultdict(collections.deque)
		count = collections.Counter()
		last, at = -1, 0
		def give_up():
		    for q in pending.values():
		        for kind in q: count["unreceived" if kind == "M" else "unsent"] += 1
		    pending.clear()
		time = {g["ticks"]: g["time"] for g in got}
		for l in want:
		    if l["kind"] not in "MN": continue
		    now = time[int(l["ticks"])]
		    if at < len(ends) and ends[at] <= now: give_up()
		    while at < len(ends) and ends[at] <= now: at += 1
		    q = pending[int(l["v0"], 16) & (1 << 56) - 1]
		    if q and q[0] != l["kind"]:
		        count["whole" if q.popleft() == "M" else "backward"] += 1
		    else: q.append(l["kind"])
		give_up()
		assert count == collections.Counter(m["state"] for m in rows("messages")), count
		assert count["whole"] > 500 and count["unsent"] > 5 and count["unreceived"] > 5, count
	P
	[ "$(devtrace sql -n t.db 'SELECT sum(records) FROM lost')" = "$(sqlite3 -readonly t.db 'SELECT sum(lost) FROM loss')" ]
}

# runs random conditions; prints what was found wrongly
conditions() {
	local table=$1 file=$2 seed=$3 n=$4 span
	span=$(devtrace sql --csv --no-header "$file" 'SELECT max(time), min(ticks), max(ticks) FROM records' | tr -d '\r' | tr , ' ')
	python3 "$BATS_TEST_DIRNAME/sql-conditions.py" "$seed" "$n" "$table" $span 5 >"$table.sql"
	devtrace sql --json "$file" - <"$table.sql" >answers
	python3 - "$n" <<-'P'
		import json, sys
		rows = [json.loads(l) for l in open("answers")]
		assert len(rows) == int(sys.argv[1]), len(rows)
		assert sum(r["want"] > 0 for r in rows) > len(rows) / 4
		for r in rows: assert r["got"] == r["want"] and not r["wrong"] and not r["missing"], r
	P
}

# bats test_tags=long
@test "sql: conditions that the reading meets are those that SQLite finds in all rows" {
	local n=150000
	maketrace -n $n -c 2 -t 5 -l $((n / 10)) -s 3 t.db
	conditions calls t.db 1 12
	# the same, and others, from the snapshots of the pyramid
	devtrace view --index t.db
	conditions calls t.db 1 12
	conditions calls t.db 2 20
	maketrace -n 80000 -c 2 -t 5 -l 20000 -m 50 -s 4 m.db
	conditions records m.db 5 30
	conditions events m.db 6 30
}

@test "sql: a narrow question about a long trace reads little of it, or says what would help" {
	maketrace -n 3000000 -c 2 -t 8 t.db
	q="SELECT count(*), sum(duration), max(text) FROM calls WHERE function = 'function180' AND begin >= 30000000 AND end <= 30600000"
	devtrace sql --csv t.db "$q" >without 2>note
	grep -q 'devtrace view --index t.db' note
	devtrace sql t.db 'SELECT count(*) FROM calls' 2>note >whole
	[ ! -s note ]
	devtrace view --index t.db
	devtrace sql --csv t.db "$q" >with 2>note
	[ ! -s note ]
	cmp with without
	[ "$(tail -n 1 with | cut -d, -f1)" -gt 20 ]
	python3 - "$q" <<-'P'
		import os, subprocess, sys
		def seconds(q):
		    a = os.times()
		    subprocess.run(["devtrace", "sql", "t.db", q], check=True, stdout=subprocess.DEVNULL)
		    b = os.times()
		    return b.children_user + b.children_system - a.children_user - a.children_system
		# without what beginning takes, which is much with sanitizers
		begin = min(seconds("SELECT 1") for _ in range(3))
		narrow, whole = min(seconds(sys.argv[1]) for _ in range(3)), seconds("SELECT count(*), total(arg0) FROM calls")
		assert narrow - begin < (whole - begin) / 3, (narrow, whole, begin)
	P
}

@test "sql: memory does not depend on the length of the trace" {
	maketrace -n 200000 -t 3 a.db
	maketrace -n 3000000 -t 3 b.db
	# sanitizers keep what has been freed, otherwise
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 python3 - <<-'P'
		import os, subprocess
		def peak(f):
		    p = subprocess.Popen(["devtrace", "sql", f, "SELECT count(*), max(duration), max(arg0) FROM calls; SELECT max(ticks), max(value0) FROM records"], stdout=subprocess.DEVNULL)
		    return os.wait4(p.pid, 0)[2].ru_maxrss
		a, b = peak("a.db"), peak("b.db")
		assert b < a * 1.5 + 4000, (a, b)
	P
}

@test "sql: a recorded program: calls, arguments and results by name and type" {
	cat >p.c <<-'C'
		#include <setjmp.h>
		static jmp_buf out;
		enum colour { RED, GREEN, BLUE };
		__attribute__((noipa)) int less(int n, const char *what) { return n - 7; }
		__attribute__((noipa)) double half(unsigned n) { return n / 2.0; }
		__attribute__((noipa)) enum colour next(enum colour c) { return c + 1; }
		__attribute__((noipa)) void leave(int n) { longjmp(out, n); }
		int main(void)
		{
			for (int i = 0; i < 10; i++) less(i, "x");
			half(5);
			next(GREEN);
			if (!setjmp(out)) leave(3);
			return 0;
		}
	C
	gcc -O1 -g -B"$build/lib" -o p p.c
	devtrace record -o p.db ./p
	[ "$(devtrace sql -n --csv p.db "SELECT arguments ->> 'n', result FROM calls WHERE function = 'less' ORDER BY begin" | tr -d '\r' | tr '\n' ' ')" = "0,-7 1,-6 2,-5 3,-4 4,-3 5,-2 6,-1 7,0 8,1 9,2 " ]
	[ "$(devtrace sql -n p.db "SELECT count(*) FROM calls WHERE function = 'less' AND result < 0")" = 7 ]
	[ "$(devtrace sql -n p.db "SELECT result FROM calls WHERE function = 'half'")" = 2.5 ]
	[ "$(devtrace sql -n p.db "SELECT arguments ->> 'c', result FROM calls WHERE function = 'next'")" = "GREEN  BLUE" ]
	[ "$(devtrace sql -n p.db "SELECT ended, arg0 FROM calls WHERE function = 'leave'")" = "unwound  3" ]
	devtrace report --json p.db | python3 -c '
import json, sys
for r in map(json.loads, sys.stdin):
    if "function" in r: print(r["function"], r["calls"], sep=",")' | sort >want
	devtrace sql -n --csv p.db 'SELECT function, count(*) FROM calls GROUP BY 1' | tr -d '\r' | sort | diff want -
	devtrace calls p.db | sed -n 's/^ *[0-9.]* [a-z]* *\(.*(.*) = .*[^ ]\)$/\1/p' | sort >want
	[ "$(wc -l <want)" -ge 11 ]
	devtrace sql -n p.db 'SELECT text FROM calls' | sort >got
	[ -z "$(comm -23 want got)" ]
	# a text as it was, whatever is in it
	cat >q.c <<-'C'
		__attribute__((noipa)) int say(int n, const char *text) { return n; }
		int main(void) { return say(0, "a\"b\\c\nd\001e\\n\"") + say(0, "") + say(0, "\\"); }
	C
	gcc -O1 -g -B"$build/lib" -o q q.c
	devtrace record -A say -o q.db ./q
	[ "$(devtrace sql -n q.db "SELECT hex(arguments ->> 'text') FROM calls WHERE function = 'say' ORDER BY begin" | tr '\n' ' ')" = \
		"6122625C630A6401655C6E22  5C " ]
}

@test "sql: events with values, texts and points" {
	cat >e.c <<-'C'
		#include <devtrace.h>
		#include <string.h>
		enum { NET = 5, RECEIVED = 6, SAID = 7 };
		__attribute__((noipa)) int turn(int n) { return n + 1; }
		int main(void)
		{
			static char text[3000];
			for (int i = 0; i < 3; i++)
				DT_EVENT(NET, RECEIVED, i, 10 * i, -1);
			memset(text, 'a', sizeof(text));
			memcpy(text, "He said \"so\"", 12);
			DT_TEXT(NET, SAID, text, sizeof(text));
			return turn(0) - 1;
		}
	C
	gcc -O1 -g -I"$BATS_TEST_DIRNAME/../../include" -B"$build/lib" -o e e.c
	devtrace record -T 'turn VALUE n' -F 'NET:*' -o e.db ./e
	[ "$(devtrace sql -n --csv e.db "SELECT event, argument, value1, value2 FROM events WHERE subsystem = 'NET' AND event = 'RECEIVED'" | tr -d '\r' | tr '\n' ' ')" = "RECEIVED,0,0,-1 RECEIVED,1,10,-1 RECEIVED,2,20,-1 " ]
	[ "$(devtrace sql -n e.db "SELECT length(bytes), substr(bytes, 1, 14) FROM events WHERE event = 'SAID'")" = '3000  He said "so"aa' ]
	[ "$(devtrace sql -n e.db "SELECT substr(text, 1, 22) FROM events WHERE event = 'SAID'")" = 'NET:SAID("He said \"so' ]
	[ "$(devtrace sql -n e.db "SELECT arguments ->> 'n' FROM events WHERE kind = 'point'")" = 0 ]
}

@test "sql: texts of points are of their functions, whichever of several" {
	cat >say.c <<-'C'
		__attribute__((noipa)) int other(int n, const char *word) { return n + (word != 0); }
		__attribute__((noipa)) int say(int n, const char *text) { return n + (text != 0); }
		int main(void)
		{
			say(1, "one");
			other(2, "two");
			say(3, "three, which is longer than what one record has room for, so that it is several");
			return 0;
		}
	C
	gcc -O1 -g -o say say.c
	devtrace record -T 'say TEXT text' -T 'other TEXT word' -o say.db ./say
	devtrace sql -n --csv say.db "SELECT event, arguments FROM events WHERE kind = 'more' ORDER BY time" | tr -d '\r' >got
	diff got - <<-'TEXT'
		say,"{""text"":""one""}"
		other,"{""word"":""two""}"
		say,"{""text"":""three, which is longer than what one record has room for, so that it is several""}"
	TEXT
}

@test "sql: tables, CSV and JSON" {
	sample t.db
	q="SELECT 'a' AS x, 1 AS y, NULL AS z UNION ALL SELECT 'say \"b\", c' || char(10) || 'd', 22.5, x'00ff'"
	devtrace sql t.db "$q" | sed 's/ *$//' >got
	printf 'x                 y  z\na                 1\nsay "b", c\\nd  22.5\n' | diff - got
	devtrace sql --csv t.db "SELECT 'a,b' AS \"x\"\"y\", 1 AS z UNION ALL SELECT 'say \"so\"' || char(10) || 'c', NULL" >got
	printf '"x""y",z\r\n"a,b",1\r\n"say ""so""\nc",\r\n' | diff - got
	devtrace sql --json t.db "$q" | python3 -c '
import json, sys
rows = [json.loads(l) for l in sys.stdin]
assert rows == [{"x": "a", "y": 1, "z": None}, {"x": "say \"b\", c\nd", "y": 22.5, "z": "00ff"}], rows'
	[ "$(devtrace sql --no-header t.db 'SELECT 7; SELECT 8' | tr -d '\n')" = 78 ]
	[ "$(echo 'SELECT count(*) AS n FROM threads;' | devtrace sql t.db - | tr -d ' \n')" = n2 ]
	cp t.db devtrace.db
	[ "$(devtrace sql -n 'SELECT count(*) FROM threads')" = 2 ]
	# wide rows behind the first ones
	devtrace sql -n t.db "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 1000) SELECT n, 'x' FROM i" >rows
	[ "$(wc -l <rows)" = 1000 ]
	[ "$(tail -n 1 rows)" = "1000  x" ]
}

@test "sql: errors tell what and where" {
	sample t.db
	run devtrace sql t.db $'SELECT 1;\n\n SELECT absent FROM calls'
	[ "$status" = 1 ]
	[[ ${lines[-1]} == "devtrace: line 3, column 9: no such column: absent" ]]
	[ "${lines[1]}" = 1 ]
	run devtrace sql t.db 'SELECT FROM calls'
	[ "$status" = 1 ]
	[[ $output == *'line 1, column 8'* ]]
	# characters, not bytes
	run devtrace sql t.db $'SELECT \'\xc3\xa4\xe2\x82\xac\', absent FROM calls'
	[[ ${lines[-1]} == "devtrace: line 1, column 14: no such column: absent" ]]
	run devtrace sql t.db
	[ "$status" = 2 ]
	[[ $output == *'a query is missing'* ]]
	run devtrace sql
	[ "$status" = 2 ]
	run devtrace sql t.db 'SELECT 1' 'SELECT 2'
	[ "$status" = 2 ]
	run devtrace sql --csv --json t.db 'SELECT 1'
	[ "$status" = 2 ]
	run devtrace sql --nonsense t.db 'SELECT 1'
	[ "$status" = 2 ]
	run devtrace sql none.db 'SELECT 1'
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output == *'none.db: no such file'* ]]
	run devtrace sql t.db "SELECT * FROM calls('none.db')"
	[ "$status" = 1 ]
	[[ $output == *'none.db: no such file'* ]]
	run devtrace sql t.db 'BEGIN; SELECT 1'
	[ "$status" = 1 ]
	[[ $output == *'BEGIN without COMMIT'* ]]
	run bash -c 'devtrace sql t.db "SELECT * FROM records" >/dev/full'
	[ "$status" = 1 ]
	[[ $output == *'cannot write'* ]]
}

@test "sql: nothing of the trace can be changed" {
	sample t.db
	devtrace view --index t.db
	before=$(sha256sum t.db)
	for q in 'DELETE FROM thread' "UPDATE meta SET value = 'x'" 'INSERT INTO clock VALUES(1, 2, 3)' 'DROP TABLE chunk' \
		'DROP TABLE pyramid' 'CREATE TABLE mine(x)' 'CREATE TABLE activities(x)' 'CREATE VIEW v AS SELECT 1' 'CREATE INDEX i ON thread(name)' \
		'ALTER TABLE thread RENAME TO x' 'ALTER TABLE thread ADD COLUMN y' 'PRAGMA user_version = 7' 'PRAGMA journal_mode = WAL' \
		'PRAGMA writable_schema = ON' 'VACUUM' 'ANALYZE' 'REINDEX' "ATTACH 't.db' AS again" "ATTACH 'file:t.db' AS again" \
		'CREATE TRIGGER r AFTER INSERT ON loss BEGIN SELECT 1; END' 'CREATE VIRTUAL TABLE v USING devtrace_calls' \
		'DELETE FROM sqlite_master' 'INSERT INTO calls(thread) VALUES(1)' 'DELETE FROM records'; do
		run devtrace sql t.db "$q"
		[ "$status" = 1 ] || { echo "$q: $output"; return 1; }
		[ "${#lines[@]}" = 1 ] || { echo "$q: $output"; return 1; }
	done
	[ "$(sha256sum t.db)" = "$before" ]
	# what is nobody else's
	devtrace sql t.db "CREATE TEMP TABLE mine AS SELECT * FROM calls; CREATE INDEX temp.i ON mine(id); CREATE TEMP VIEW v AS SELECT * FROM calls;
		SELECT count(*) FROM v; ATTACH 'own.db' AS own; CREATE TABLE own.functions AS SELECT * FROM functions; DROP TABLE mine"
	[ "$(sqlite3 own.db 'SELECT count(*) FROM functions')" = 5 ]
	[ "$(sha256sum t.db)" = "$before" ]
	chmod 444 t.db
	devtrace sql t.db 'SELECT count(*) FROM calls' >/dev/null
}

@test "sql: activities from events: locks held and waited for, the stages of requests" {
	root=$BATS_TEST_DIRNAME/../..
	DEVTRACE_BUILD=$build run "$root/examples/activities.sh"
	[ "$status" = 0 ]
	[ "$(grep -c '^held  *[01]  *30 ' <<<"$output")" = 2 ]
	[ "$(grep -c '^waited for  *[01]  *30 ' <<<"$output")" = 2 ]
	[ "$(grep -c '^request.* 60 ' <<<"$output")" = 3 ]
	# against the records themselves
	gcc -O2 -g -I"$root/include" -o server "$root/examples/activities.c" -pthread
	devtrace record -o t.db ./server >/dev/null
	devtrace view --index t.db
	summary=$(sqlite3 -readonly t.db 'SELECT count(*), sum(length(data)) FROM pyramid')
	[ "$(devtrace sql -n t.db 'SELECT count(*) FROM activities')" = 0 ]
	devtrace sql t.db - <"$root/examples/locks.sql" >held
	devtrace sql t.db - <"$root/examples/stages.sql" >/dev/null
	# again: they take the place of the old ones
	devtrace sql t.db - <"$root/examples/stages.sql" >stages
	devtrace cat -l t.db | grep event= >lines
	devtrace sql --json t.db 'SELECT name, key, begin, "end", duration, thread FROM activities' >activities
	devtrace sql --json t.db 'SELECT ticks, time FROM records' >times
	python3 - <<-'P'
		import json, collections
		time = {}
		for l in open("times"):
		    r = json.loads(l); time[r["ticks"]] = r["time"]
		want, taken, wanted, stage, born = collections.Counter(), {}, {}, {}, {}
		for l in sorted((dict(p.split("=", 1) for p in l.split()) for l in open("lines")), key=lambda l: int(l["ticks"])):
		    now, tid, key = time[int(l["ticks"])], int(l["tid"]), int(l["v0"], 16) & 0xffffffff
		    sub, event = l["event"].split(":")
		    if sub == "LOCK":
		        if event == "WANTED": wanted[tid, key] = now
		        if event == "TAKEN":
		            taken[tid, key] = now
		            want["waited for", key, wanted.pop((tid, key)), now, tid] += 1
		        if event == "RELEASED": want["held", key, taken.pop((tid, key)), now, tid] += 1
		    else:
		        if event == "RECEIVED": born[key] = now
		        else: want[f"request: {stage[key][0]} to {event}", key, stage[key][1], now, tid] += 1
		        if event == "ANSWERED": want["request", key, born[key], now, tid] += 1
		        stage[key] = event, now
		got = collections.Counter()
		for l in open("activities"):
		    a = json.loads(l)
		    assert a["duration"] == a["end"] - a["begin"] >= 0, a
		    got[a["name"], a["key"], a["begin"], a["end"], a["thread"]] += 1
		assert got == want and sum(got.values()) == 300, (got - want, want - got)
		# minimum, mean and maximum
		for l in open("stages").readlines()[1:]:
		    name, n, low, mean, high = l.rsplit(None, 4)
		    d = [a[3] - a[2] for a in want.elements() if a[0] == name.strip()]
		    assert (int(n), int(low), int(high)) == (len(d), min(d), max(d)), l
		    assert abs(float(mean) - sum(d) / len(d)) <= 0.5, l
	P
	# the trace is as good as before, and so is its summary
	[ "$(sqlite3 -readonly t.db 'SELECT count(*), sum(length(data)) FROM pyramid')" = "$summary" ]
	check-pyramid t.db 5
	devtrace report t.db >/dev/null
	# lengths can not be written, nor ends before beginnings
	run devtrace sql t.db "INSERT INTO activities(name, begin, end, duration) VALUES('a', 1, 2, 5)"
	[ "$status" = 1 ]
	run devtrace sql t.db "INSERT INTO activities(name, begin, end) VALUES('a', 2, 1)"
	[ "$status" = 1 ]
	[[ $output == *'end >= begin'* ]]
	devtrace sql t.db 'DROP TABLE activities'
	[ "$(devtrace sql -n t.db 'SELECT count(*) FROM activities')" = 0 ]
}

@test "sql: the questions of doc/sql.md have answers" {
	maketrace -n 60000 t.db
	awk '/^## / { on = /Five questions/ } on && /^    / { print substr($0, 5) }' "$BATS_TEST_DIRNAME/../../doc/sql.md" >queries
	[ "$(grep -c ';$' queries)" = 5 ]
	python3 - <<-'P'
		import subprocess
		for q in open("queries").read().split(";\n")[:5]:
		    out = subprocess.run(["devtrace", "sql", "t.db", q], check=True, capture_output=True, text=True).stdout
		    assert len(out.splitlines()) >= 5, (q, out)
	P
	# the first of each report
	[ "$(devtrace sql -n t.db "$(sed '/;$/q' queries)" | head -n 1 | cut -d' ' -f1)" = "$(devtrace report --json -s self t.db | sed -n 's/.*"function": "\([^"]*\)".*/\1/p' | head -n 1)" ]
}

@test "sql: the extension, in the sqlite3 shell" {
	[ -z "${DEVTRACE_BUILD-}" ] || skip "the shell has no sanitizers"
	load=".load $build/libdevtrace-sqlite"
	maketrace -n 60000 -c 2 -t 3 -l 5000 a.db
	maketrace -n 20000 b.db
	calls=$(devtrace sql -n a.db 'SELECT count(*) FROM calls')
	[ "$(sqlite3 a.db "$load" 'SELECT count(*) FROM calls')" = "$calls" ]
	[ "$(sqlite3 a.db "$load" 'SELECT count(*) FROM activities')" = 0 ]
	[ "$(sqlite3 :memory: "$load" "SELECT count(*) FROM devtrace_calls('a.db')")" = "$calls" ]
	[ "$(sqlite3 :memory: ".load $build/libdevtrace-sqlite sqlite3_devtracesqlite_init" "SELECT count(*) FROM devtrace_records('b.db')")" = 20000 ]
	sqlite3 own.db "$load" "CREATE VIRTUAL TABLE c USING devtrace_calls('a.db')"
	[ "$(sqlite3 own.db "$load" 'SELECT count(*) FROM c' 'DROP TABLE c')" = "$calls" ]
	[ "$(sqlite3 own.db .tables)" = "" ]
	[ "$(sqlite3 :memory: "$load" "SELECT (SELECT count(*) FROM devtrace_records('a.db')) - (SELECT count(*) FROM devtrace_records('b.db'))")" = 40000 ]
	diff <(sqlite3 -json a.db "$load" 'SELECT * FROM calls' | tr -d '[]' | sed 's/,$//' | python3 -c '
import json, sys
for l in sys.stdin:
    if l.strip(): print(list(json.loads(l).values()))' | LC_ALL=C sort) \
		<(devtrace sql --json a.db 'SELECT * FROM calls' | python3 -c '
import json, sys
for l in sys.stdin: print(list(json.loads(l).values()))' | LC_ALL=C sort) | head >differs
	[ ! -s differs ] || { cat differs; return 1; }
	# from a program, as a function
	# (Debian's Python: others may be built without extensions)
	/usr/bin/python3 - "$build/libdevtrace-sqlite.so" <<-'P'
		import sqlite3, sys
		db = sqlite3.connect("a.db")
		db.enable_load_extension(True)
		db.execute("SELECT load_extension(?)", (sys.argv[1],))
		assert db.execute("SELECT count(*) FROM records").fetchone() == (60000,)
		names = [f for f, in db.execute("SELECT DISTINCT function FROM calls WHERE thread = 1001 LIMIT 5")]
		assert len(names) == 5
	P
	run sqlite3 :memory: "$load" 'SELECT * FROM devtrace_calls'
	[[ $output == *"of which trace"* ]]
	run sqlite3 :memory: "$load" "SELECT * FROM devtrace_calls('none.db')"
	[[ $output == *"none.db: no such file"* ]]
	run sqlite3 :memory: "$load" "SELECT * FROM devtrace_calls('a.db', 'b.db')"
	[ "$status" != 0 ]
	# SQLite is the one of the program
	! ldd "$build/libdevtrace-sqlite.so" | grep -q libsqlite
}

@test "sql: damaged traces are told, and harm nothing" {
	unsound d.db cut.db
	maketrace -n 300000 a.db
	devtrace view --index a.db
	for seed in $(seq 12); do
		cp a.db d.db
		python3 - d.db "$seed" <<-'P'
			import random, sqlite3, sys
			r = random.Random(int(sys.argv[2]))
			if r.random() < 0.5:
			    b = bytearray(open(sys.argv[1], "rb").read())
			    for _ in range(20): b[r.randrange(200, len(b))] ^= 1 << r.randrange(8)
			    open(sys.argv[1], "wb").write(b)
			else:
			    db = sqlite3.connect(sys.argv[1])
			    for table, column in (("pyramid", "data"), ("chunk", "events"), ("chunk", "vals")):
			        for i, data in r.sample(db.execute(f"SELECT id, {column} FROM {table}").fetchall(), 2):
			            b = bytearray(data)
			            for _ in range(3): b[r.randrange(len(b))] ^= 1 << r.randrange(8)
			            db.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (bytes(b), i))
			    db.commit()
		P
		for q in 'SELECT count(*), max(text) FROM calls' "SELECT count(*), max(arg0) FROM calls WHERE begin BETWEEN 4000000 AND 4100000" \
			'SELECT count(*), max(value0) FROM records' 'SELECT count(*) FROM events' 'SELECT count(*) FROM functions'; do
			run timeout 60 devtrace sql d.db "$q"
			[ "$status" = 0 ] || [ "$status" = 1 ] || { echo "$seed $q: $status: $output"; return 1; }
			[ "$status" = 0 ] || [ "$(grep -c ^devtrace: <<<"$output")" = 1 ] || { echo "$output"; return 1; }
			[[ $output != *Sanitizer* && $output != *'runtime error'* ]] || { echo "$output"; return 1; }
		done
	done
	head -c 100000 a.db >cut.db
	run devtrace sql cut.db 'SELECT count(*) FROM calls'
	[ "$status" = 1 ]
	[[ $output == *'cut off'* ]]
	echo nonsense >text.db
	run devtrace sql text.db 'SELECT 1'
	[ "$status" = 1 ]
	[[ $output == *'not a devtrace trace'* ]]
}

@test "sql: a trace that is being recorded, or whose recorder was killed" {
	gcc -O1 -B"$build/lib" -x c -o turns - <<-'C'
		#include <unistd.h>
		__attribute__((noipa)) void turn(void) {}
		int main(void)
		{
			/* ends by itself should its test not end it */
			for (int i = 0; i < 4000; i++) {
				usleep(5000);
				turn();
			}
			return 0;
		}
	C
	devtrace record -o t.db ./turns 3>&- &
	recorder=$! program=
	for i in $(seq 400); do
		n=$(devtrace sql -n t.db "SELECT count(*) FROM calls WHERE function = 'turn'" 2>/dev/null) && [ "$n" -gt 20 ] && break
		sleep 0.05
	done
	[ "$n" -gt 20 ]
	program=$(pgrep -P "$recorder" -x turns)
	run devtrace sql t.db "INSERT INTO activities(name, begin, end) VALUES('a', 1, 2)"
	[ "$status" = 1 ]
	[[ $output == *'is being recorded'* ]]
	# both ends of a query: the trace goes on meanwhile
	devtrace sql -n t.db "SELECT count(*) FROM calls a JOIN calls b ON b.id = a.id WHERE a.function = 'turn' AND a.begin < 50000000" >/dev/null
	kill -KILL "$recorder"
	wait "$recorder" || true
	recorder=
	kill "$program"
	program=
	[ -e t.db-wal ]
	devtrace sql t.db "INSERT INTO activities(name, begin, end) VALUES('a', 1, 2)"
	[ "$(devtrace sql -n t.db 'SELECT duration FROM activities')" = 1 ]
	[ "$(devtrace sql -n t.db "SELECT count(*) FROM calls WHERE function = 'turn'")" -ge "$n" ]
	devtrace report t.db >/dev/null
}

@test "sql: a call of no thread that begins with one of the last thread has an id of its own, and is found by it" {
	writetrace n.db <<-'TEXT'
		clock 0 0
		clock 20000 10000
		thread 1 one
		thread 2 two
		function a
		at 0 1
		E a 0x100 1000
		X a 0x100 1900
		at 1 2
		E a 0x100 2000
		X a 0x100 2900
		at 0 0xffffffff
		E a 0x100 2000
		X a 0x100 2900
	TEXT
	devtrace sql --csv --no-header n.db "SELECT id, thread FROM calls WHERE begin > 0" | tr -d '\r' >ids
	[ "$(cut -d, -f1 ids | sort -u | wc -l)" = 2 ]
	while IFS=, read -r id thread; do
		[ "$(devtrace sql --csv --no-header n.db "SELECT thread FROM calls WHERE id = $id" | tr -d '\r')" = "$thread" ]
	done <ids
	rm n.db ids
}
