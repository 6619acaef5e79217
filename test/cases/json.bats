#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The JSON lines of every listing, against doc/json.md: each field that is printed is described there, and the other way round
load read-helper

# described SECTION OBJECTS...: python reads each line; its type and fields are in that section's table, and all of those
# in the table have been printed. Fields that the traces here can not have are named after --.
described() {
	python3 - "$BATS_TEST_DIRNAME/../../doc/json.md" "$@" <<-'P'
	import json, re, sys
	page, section, files = sys.argv[1], sys.argv[2], sys.argv[3:]
	text = open(page).read().split("\n## " + section + "\n")[1].split("\n## ")[0]
	want = {}
	for row in text.splitlines():
	    m = re.match(r"\| (`[^|]*`) \| (.*) \|$", row)
	    if m:
	        for kind in re.findall("`([^`]*)`", m[1]):
	            want[kind] = set(w for w in re.findall("`([^`]*)`", m[2]) if re.fullmatch(r"[a-z0-9_]+", w))
	known = set(want)
	# a row that says "as node", "the fields of function"
	for kind, like in (("group", "function"), ("caller", "node"), ("callee", "node"), ("function", "node"), ("note", "fault")):
	    if kind in want and like in want and (section, kind) != ("diff", "function"):
	        want[kind] |= want[like]
	def fields(o):
	    for k, v in o.items():
	        yield k
	        if k in ("errors", "key", "buckets"): # names of reasons and keys
	            continue
	        for x in v if isinstance(v, list) else [v]:
	            if isinstance(x, dict):
	                yield from fields(x)
	seen = {}
	for name in files:
	    for line in open(name):
	        o = json.loads(line)
	        assert isinstance(o, dict) and next(iter(o)) == "type" and o["type"] in want, line
	        seen.setdefault(o["type"], set()).update(f for f in fields(o) if f != "type")
	for kind, got in seen.items():
	    assert not got - want[kind], (kind, "not described", got - want[kind])
	    missing = want[kind] - got - known
	    if (section, kind) in (("graph", "function"), ("report", "function")):
	        missing -= {"depth", "again"}
	    if (section, kind) == ("report", "group"): # of functions alone
	        missing -= {"off_ns", "off_times", "off_calls_estimated"}
	    assert not missing, (kind, "never printed", missing)
	assert seen.keys() == known, known - seen.keys()
	P
}

# a trace in which a thread was woken
woken() {
	writetrace "$1" <<-TEXT
	clock 0 0
	clock 2000000 1000000
	kinds
	thread 1 main
	function f
	waker 2 2 0 0 f 0 other
	S S 0 900 1 0 1
	E f 0x1000 1000
	at 0 4294967295
	S S 0 1100 4294967295 0 0 1
	at 0 1
	W W $((1 << 63 | 1)) 1200
	S S 0 1300 1 0 1
	X f 0x1000 1500
	TEXT
}

# a trace in which a budget had a function off for a time
budgeted() {
	writetrace "$1" <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	thread 1 main
	function f
	function g
	E f 0x1000 1000
	X f 0x1000 1100
	E g 0x1000 1200
	X g 0x1000 1300
	E g 0x1000 1500
	X g 0x1000 1600
	TEXT
	sqlite3 "$1" "INSERT INTO meta VALUES('budget', '5');
		INSERT INTO budget_off SELECT id, 1150, 1400, 1000, 10, 1000, 1000 FROM function WHERE name = 'f'"
}

@test "json: report, its groups, waits and what was left out" {
	gcc -O1 -g -xc -B"$build/lib" -o p - <<-'C'
	#include <fcntl.h>
	#include <pthread.h>
	#include <time.h>
	__attribute__((noipa)) void nap(void) { struct timespec t = {0, 2000000}; nanosleep(&t, NULL); }
	__attribute__((noipa)) void fast(int n) { (void)n; }
	static void *work(void *p) { nap(); for (int i = 0; i < 100; i++) fast(i); return p; }
	int main(void)
	{
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
		nap();
		open("/nonexistent", O_RDONLY);
		pthread_join(t, NULL);
	}
	C
	devtrace record -l -S -b 64K -o all.db -F nap -F fast -F main -F work ./p
	devtrace record -o some.db --filter 'time>1ms' ./p
	devtrace report --json all.db >a
	devtrace report --failed --json all.db >b
	devtrace report --waits --json all.db >c
	devtrace report --left-out --json some.db >d
	for by in function caller thread process module host; do
		devtrace report --by $by --json all.db >by-$by
		devtrace report --by $by --failed --json all.db >failed-$by
	done
	writetrace held.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	thread 1 main
	hold 1 1200 1250 room
	E f 0x1000 1000
	X f 0x1000 1500
	TEXT
	devtrace report --json held.db >e
	budgeted off.db
	devtrace report --json off.db >f
	devtrace report --budget --json off.db >g
	woken woken.db
	devtrace report --waits --json woken.db >h
	described report a b c d e f g h by-* failed-*
}

@test "json: graph, diff and sum" {
	sample a.db
	sample b.db
	devtrace graph --json a.db >tree
	devtrace graph --json a.db add half >focus
	devtrace diff --json a.db b.db >d
	devtrace diff --first --json a.db b.db >f
	maketrace -n 1000 -s 1 x.db
	maketrace -n 1000 -s 2 y.db
	devtrace diff --first --json x.db y.db >g || [ "$?" = 3 ]
	devtrace diff --json x.db y.db >h
	described diff d f g h
	devtrace sum --json -e 'count by function' -e 'hist(time) by thread' -e 'arg1 by function' -e 'hist(arg1)' a.db >s
	described sum s
	[ "$(grep -c '"type": "sum"' s)" = 4 ]
}

@test "json: hist and count, as their text has them" {
	maketrace -n 5000 t.db
	devtrace hist --durations --json t.db >d
	devtrace hist --value 1 --max 100 --json t.db >v
	described hist d v
	devtrace hist --durations t.db | sed '/^#/d' >want
	python3 -c 'import json; [print("%d %d" % (r["from_ns"], r["values"])) for r in map(json.loads, open("d")) if r["type"] == "bucket"]' | cmp - want
	devtrace count --keys 5 --json t.db >c 2>err
	grep -q 'counted as other' err
	described count c
	devtrace count --json t.db | python3 -c 'import json, sys; [print(r["process"], r["key"], r["values"]) for r in map(json.loads, sys.stdin)]' >got
	devtrace count t.db | sed '/^#/d' | cmp - got
	for wrong in '--svg' '-o x'; do
		run devtrace hist --json $wrong t.db
		[ "$status" = 2 ]
	done
}

@test "json: list, of programs with and without sleds, of a process and of sessions" {
	cat >q.c <<-'C'
	#include <devtrace.h>
	#include <sys/sdt.h>
	#include <string.h>
	#include <unistd.h>
	enum { TILL = 300, PAY = 2, SAYS = 3 };
	__attribute__((noipa)) int step(int n, const char *s)
	{
		DTRACE_PROBE2(own, plain, n, s);
		DT_EVENT(TILL, PAY, n, n + 1);
		DT_EVENT(7, 3, n);
		DT_TEXT(TILL, SAYS, s, strlen(s));
		DT_SEND(n);
		return n + 1;
	}
	__attribute__((noipa)) int tiny(void) { __asm__("quoted: nop"); return 3; }
	int main(int c, char **v) { pause(); return step(c, *v) + tiny(); }
	C
	gcc -O1 -g -I"$BATS_TEST_DIRNAME/../../include" -B"$build/lib" -o sleds q.c
	gcc -O1 -g -I"$BATS_TEST_DIRNAME/../../include" -o plain q.c
	objcopy --redefine-sym 'tiny=ti"ny\' plain # a name with what JSON has to escape
	gcc -O2 -g -xc -shared -fPIC -o l.so - <<<'int get(void) { return 5; } int two(int (*f)(void)) { return f() + get(); }'
	strip plain -o stripped
	./plain &
	pid=$!
	while [ "$(cat /proc/$pid/comm)" != plain ]; do sleep 0.01; done
	printf '1000 10 made "by\x01\xff the" program\n' >"/tmp/perf-$pid.map"
	status=0
	for of in sleds plain stripped l.so; do
		devtrace list --json "./$of" >"$of.1" && devtrace list -v --json "./$of" >"$of.2" && devtrace list -v "./$of" >"$of.text" || status=1
	done
	devtrace list --json "$pid" >p.1
	devtrace list -av --json "$pid" >p.2
	devtrace list -av "$pid" >p.text
	rm "/tmp/perf-$pid.map"
	kill "$pid"
	[ "$status" = 0 ]
	devtrace record -o s.db sleep 30 &
	session=$!
	for ((i = 0; i < 200; i++)); do
		devtrace list --json 2>err | grep "$PWD/s.db" >sessions && grep -q "\"processes\": \[[0-9]" sessions && break
		sleep 0.05
	done
	kill "$(python3 -c 'import json; print(json.load(open("sessions"))["processes"][0])')"
	wait "$session" || true
	described list sleds.? plain.? stripped.? l.so.? p.? sessions
	# the lines are those of the text
	python3 - sleds plain stripped l.so p <<-'P'
	import json, os, sys
	plain = lambda s: "".join(c if c.isprintable() else "\\x%02x" % ord(c) for c in s).replace("\ufffd", "\\xff")
	for of in sys.argv[1:]:
	    got = []
	    for r in map(json.loads, open(of + ".2")):
	        if r["type"] == "function":
	            sites = "%d+%d+%d" % (r["entries"], r["returns"], r["tail_jumps"])
	            how = (r["kind"] if r["traced"] else "not: " + r["reason"]) + " " + sites
	            how += ", start-up code: chosen by its exact name only" if r["startup"] else ""
	            how += {None: "", "jumps": ", found by jumps to it", "calls": ", found by calls of it"}[r["found_by"]]
	            name = os.path.basename(r["module"]) + ":" + r["function"] if r["named"] else r["function"]
	            got.append("\t".join([plain(name), hex(r["address"]), how] +
	                ([r["file"] + ":%d" % r["line"]] if r["file"] else []) + ([r["signature"]] if r["signature"] else [])))
	        elif r["type"] == "made_at_run_time":
	            got.append("%s:%s\t%#x\tnot: made at run time: not hooked" % (r["named_by"], plain(r["function"]), r["address"]))
	        else:
	            kind = r["type"]
	            line = [kind + " " + r["subsystem" if kind == "event" else "provider"] + ":" + r["name"], hex(r["address"]),
	                os.path.basename(r["module"]) + (":" + r["function"] if r["function"] else "")]
	            if "subsystem_number" in r:
	                line.append("%d:%d" % (r["subsystem_number"], r["event_number"]))
	            if kind == "event":
	                line.append("text" if r["text"] else "%d value%s" % (r["values"], "s" * (r["values"] != 1)))
	            else:
	                line += ["semaphore %#x" % r["semaphore"]] * (r["semaphore"] != 0) + [", ".join(r["operands"])] * (r["arguments"] > 0)
	            got.append("\t".join(line))
	    want = open(of + ".text", errors="surrogateescape").read().splitlines()
	    differ = [(a, b) for a, b in zip(got, want) if a != b]
	    assert len(got) == len(want) and not differ, (of, len(got), len(want), differ[:3])
	P
	# sizes and addresses are those of the file's symbols
	for of in sleds plain; do
		nm -S --defined-only "$of" | awk '$3 ~ /[tT]/ {print $4, $1, $2}' | sort >symbols
		grep '"type": "function"' "$of.2" | python3 -c 'import json, sys; [print("%s %016x %016x" % (r["function"], r["address"], r["size"])) for r in map(json.loads, sys.stdin) if r["function"] in ("step", "tiny", "ti\"ny\\", "main")]' | sort >got
		[ "$(wc -l <got)" = 3 ]
		[ -z "$(comm -23 got symbols)" ]
	done
}

@test "json: cat, as its long lines have it" {
	sample s.db
	writetrace other.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	thread 1 main
	event 7 3 shop enter says
	E f 0x1000 1000 0xffffffffffffffff 5
	V 0 0 1100 0x70003
	S 0 0 1200 1 2
	R 0 0 1300 1 2
	flags 8
	X f 0x1000 1500 7
	flags 64
	S 0 0 1600 1 2
	TEXT
	for t in s other; do
		devtrace cat --json $t.db >$t.json
		devtrace cat -l $t.db >$t.text
		python3 - $t.json $t.text <<-'P'
	import json, sys
	for r, line in zip(map(json.loads, open(sys.argv[1])), open(sys.argv[2])):
	    shared = lambda c: "shared" if c is None else str(c)
	    if r["type"] == "loss":
	        got = "kind=LOSS core=%s lost=%d begin=%d" % (shared(r["core"]), r["records"], r["begin_ticks"])
	        got += " end=%d" % r["end_ticks"] if r["end_ticks"] is not None else ""
	        assert got == line.rstrip(), (got, line)
	        continue
	    got = "kind=%s ticks=%d core=%s tid=%s pc=%#x sp=%#x" % (r["kind"], r["ticks"], shared(r["core"]),
	        "none" if r["thread"] is None else r["thread"], r["pc"], r["sp"])
	    got += " function=" + r["function"] if r["function"] else ""
	    got += "".join(" v%d=%#x" % (i, v) for i, v in enumerate(r["values"]) if v is not None)
	    flags = [f.upper() for f in r["flags"] if f != "late_freeze"]
	    got += " flags=" + ",".join("INTERRUPT" if f in ("FAULT", "PREEMPTED") else f for f in flags) if flags else ""
	    got += " event=" + r["event"] if r.get("event") else ""
	    got += " thread=" + r["thread_name"] if r.get("thread_name") else ""
	    assert got == line.rstrip(), (got, line)
	P
		[ "$(wc -l <$t.json)" = "$(wc -l <$t.text)" ]
	done
	described cat s.json other.json
	run devtrace cat --json -l s.db
	[ "$status" = 2 ]
	devtrace cat --json s.db 2>err | head -n 1 >/dev/null
	! grep -v 'were lost' err
}

@test "json: check, of sound, unsound and no traces, as its text has it" {
	sample s.db
	unsound odd.db
	unsound wrote.db
	# outer's call of inner has an entry the first time, an exit without one the second
	writetrace odd.db <<-'TEXT'
	thread 1 a
	function outer
	function inner
	E outer 0x2000 100
	E inner 0x1f00 110
	X inner 0x1f00 120
	X inner 0x1e00 140
	X outer 0x2000 200
	TEXT
	cp odd.db wrote.db
	sqlite3 wrote.db "INSERT INTO meta VALUES('broken_rings', '1')"
	echo nothing >none.db
	devtrace check --json s.db >good
	run devtrace check --json odd.db none.db missing.db
	[ "$status" = 1 ]
	echo "$output" >bad
	devtrace check --json wrote.db >written
	python3 - "$(devtrace check s.db)" "$(devtrace check odd.db || true)" <<-'P'
	import json, re, sys
	(good,) = map(json.loads, open("good"))
	text = sys.argv[1]
	number = lambda words: int(re.search(words, text)[1])
	assert good["type"] == "trace" and good["sound"] and good["error"] is None
	assert good["records"] == number(r"sound: (\d+) record") and good["chunks"] == number(r"in (\d+) chunk")
	assert good["calls"] == number(r"calls: (\d+)") and good["returned"] == number(r"(\d+) returned")
	rows = list(map(json.loads, open("bad")))
	assert [r["type"] for r in rows] == ["fault", "trace", "trace", "trace"], rows
	assert "%d %s: %s" % (rows[0]["times"], rows[0]["what"], rows[0]["first"]) in sys.argv[2], (rows[0], sys.argv[2])
	assert rows[1]["sound"] is False and rows[2]["error"] and "missing.db" in rows[3]["error"], rows
	assert [json.loads(x)["type"] for x in open("written")] == ["note", "trace"]
	P
	described check good bad written
}

@test "json: top, against what the program counts itself" {
	gcc -O1 -g -xc -o p - <<-'C'
	#include <signal.h>
	#include <stdio.h>
	#include <unistd.h>
	static volatile sig_atomic_t over;
	static void stop(int s) { over = s; }
	static volatile int turned[64];
	__attribute__((noipa)) int turn(int n) { turned[n & 63] += n * 3; return turned[1] + turned[2]; }
	__attribute__((noipa)) void work(void) { for (int i = 0; i < 100; i++) turn(i); usleep(10000); }
	int main(void)
	{
		int n = 0;
		signal(SIGUSR1, stop);
		for (; n < 3000 && !over; n++) work();
		printf("%d\n", n);
	}
	C
	./p >counted &
	pid=$!
	while [ "$(cat /proc/$pid/comm)" != p ]; do sleep 0.01; done
	devtrace top --json -n 3 -F turn -F work "$pid" >plain 2>/dev/null
	devtrace top --json -n 2 -S --filter 'time>5ms' -F turn -F work "$pid" >filtered 2>/dev/null
	devtrace top --json -F turn -F work "$pid" >ended 2>/dev/null &
	top=$!
	sleep 2
	kill -USR1 "$pid"
	wait "$pid" "$top"
	described top plain filtered ended
	python3 - "$(cat counted)" <<-'P'
	import json, sys
	lines = [json.loads(l) for l in open("plain")]
	turns = [l for l in lines if l["type"] == "turn"]
	assert [t["turn"] for t in turns] == [1, 2, 3]
	for t in turns:
	    of = {l["function"]: l for l in lines if l["type"] == "function" and l["turn"] == t["turn"]}
	    assert len(of) == t["functions"] and t["lost"] == 0
	    if of: # a turn of 100 is within one call of work, or the next has begun
	        assert 0 <= of["turn"]["calls"] - 100 * of["work"]["calls"] <= 200, of
	last = {l["function"]: l for l in lines if l["type"] == "function"}
	spent = sum(l["turn_self_ns"] for l in lines if l["type"] == "function" and l["function"] == "work")
	# the rate of the counter is known better from turn to turn
	assert abs(spent / last["work"]["self_ns"] - 1) < 0.001 and last["work"]["avg_ns"] > 1e7, (spent, last)
	assert 0 < last["work"]["calls"] < int(sys.argv[1])
	assert json.loads(open("ended").readlines()[-1])["turn"] and '"ended": true' in open("ended").read()
	P
}

# tree: python makes the text of calls from its JSON lines (standard input), without times and what stands in comments behind
# a line; a second argument has the text, of which the same is left
tree() {
	python3 - "$1" "$2" <<-'P'
	import json, re, sys
	plain = lambda s: "".join(c if c.isprintable() else "?" for c in s)
	arguments = lambda l: ", ".join((a["name"] + "=" if a["name"] else "") + a["text"] for a in l)
	threads, inside, times = {}, {}, {}
	for r in map(json.loads, open(sys.argv[1])):
	    kind, key = r["type"], (r["thread"], r.get("parent", r.get("in")))
	    if kind == "thread":
	        threads[r["thread"]] = r["name"]
	        continue
	    if kind == "call":
	        below = inside.pop((r["thread"], r["id"]), []) if r["id"] else []
	        head = r["function"] + "(" + ("..." if r["arguments"] is None else arguments(r["arguments"])) + ")"
	        tail = " = " + r["result"]["text"] if r["result"] else ""
	        tail += " " + r["reason"] if "reason" in r else ""
	        t = r["duration_ns"]
	        lines = [(t, head + tail)] if not below else [(None, head + " {")] + [(x, "  " + l) for x, l in below] + [(t, "}" + tail)]
	    elif kind == "loss":
	        lines = [(None, "/* %d records lost here" % r["records"])]
	    elif kind in ("point", "more"):
	        lines = [(None, "* " + (r["function"] + "(" + arguments(r["values"]) + ")" if kind == "point" else "  " + arguments(r["values"])))]
	    else:
	        lines = [(None, {"event": "* ", "value": "*   ", "other": "/* "}[kind] + r["text"])]
	    inside.setdefault(key, []).extend(lines)
	# A text that came after the call's line had been printed, since something else came between: JSON has it in the call.
	def text_of_call(line, lines):
	    m = re.match(r" +\*   (\w+)=(\".*\")$", line)
	    at = [i for i, l in enumerate(lines) if l[1].endswith("{") and f"{m[1]}=0x" in l[1]] if m else []
	    if at:
	        lines[at[-1]] = (lines[at[-1]][0], re.sub(f"\\b{m[1]}=0x[0-9a-f]+", lambda _: f"{m[1]}={m[2]}", lines[at[-1]][1]))
	    return at
	want, thread = {}, None
	for line in open(sys.argv[2], errors="surrogateescape"):
	    line = line.rstrip("\n")
	    m = re.match(r"# thread (\d+)( \((.*?)\))?", line)
	    if m:
	        thread = int(m[1])
	        assert threads[thread] == (m[3] or ""), line
	    elif text_of_call(line, want.get(thread, [])):
	        pass
	    elif line:
	        t = line[:16].strip()
	        text = re.sub(r"(?<=\S)  /\*.*\*/$", "", line[16:])
	        text = re.sub(r"( records lost here).*", r"\1", text)
	        text = re.sub(r"^( */\* (?!.*records lost).*) \*/$", r"\1", text)
	        want.setdefault(thread, []).append((t, text))
	assert {k[1] for k in inside} == {None}, inside.keys()
	got = {k[0]: v for k, v in inside.items()}
	assert got.keys() == want.keys(), (got.keys(), want.keys())
	for thread, lines in got.items():
	    if len(lines) != len(want[thread]):
	        import difflib
	        sys.exit("\n".join(difflib.unified_diff([w[1] for w in want[thread]], [l[1] for l in lines], "text", "json", n=2)))
	    for (t, text), (wt, wanted) in zip(lines, want[thread]):
	        assert text == wanted, (text, wanted)
	        assert (t is None) == (wt == ""), (t, wt, text)
	        assert t is None or abs(t - float(wt.split()[0]) * 1000) < 1.1, (t, wt)
	P
}

@test "json: calls, as the text has them" {
	sample s.db
	cat >q.c <<-'C'
	#include <devtrace.h>
	#include <fcntl.h>
	#include <pthread.h>
	#include <stdlib.h>
	#include <string.h>
	#include <math.h>
	#include <time.h>
	enum { TILL = 300, PAY = 2, SAYS = 3 };
	__attribute__((noipa)) int look(const char *path, double share, signed char c)
	{
		DT_EVENT(TILL, PAY, c, 5);
		DT_TEXT(TILL, SAYS, path, strlen(path));
		return open(path, O_RDONLY) + (share > 2) + c;
	}
	__attribute__((noipa)) double part(double whole) { return 1 / whole; }
	__attribute__((noipa)) void nap(void) { struct timespec t = {0, 2000000}; nanosleep(&t, NULL); }
	__attribute__((noipa)) void leave(int n) { exit(n); }
	static void *work(void *p) { nap(); for (int i = 0; i < 100; i++) look("/none/with \"quotes\"\n and \x01\xff", i / 8., (signed char)-i); return p; }
	int main(void)
	{
		pthread_t t[3];
		for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, NULL);
		for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
		part(0), part(-0.), part(NAN), part(8);
		leave(3);
	}
	C
	gcc -O1 -g -pthread -I"$BATS_TEST_DIRNAME/../../include" -B"$build/lib" -o p q.c
	gcc -O1 -g -pthread -I"$BATS_TEST_DIRNAME/../../include" -o bare q.c
	devtrace record -l -S -o t.db ./p || [ "$?" = 3 ]
	devtrace record -o e.db ./p || [ "$?" = 3 ]
	devtrace record -l --backtrace -o b.db ./bare || [ "$?" = 3 ]
	devtrace record -o point.db -T 'nap REG rsp REG rdi REG rsi REG rdx REG rcx' -T "look TEXT path" -F main ./bare || [ "$?" = 3 ]
	writetrace other.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	thread 1 main
	E f 0x1000 1000
	M 0 0 1100 0x12345
	X f 0x1000 1500
	TEXT
	for t in s t e b point other; do
		devtrace calls --json "$t.db" >"$t.json"
		devtrace calls "$t.db" >"$t.text"
		tree "$t.json" "$t.text"
		devtrace calls --json --merge "$t.db" >"$t.merged"
		tree "$t.merged" "$t.text"
	done
	devtrace calls --json -B b.db >stacks.json
	# as if the kernel had had no room for some switches of each core
	cp t.db unseen.db
	sqlite3 unseen.db "INSERT INTO loss SELECT core, records, 9, min_ticks, max_ticks
			FROM (SELECT *, max(max_ticks - min_ticks) FROM chunk GROUP BY core);
		INSERT INTO lost_switches SELECT core, after, 9 FROM loss;
		UPDATE written SET dropped = 9 WHERE source = 'switches' AND core IN (SELECT core FROM loss)"
	devtrace calls --json unseen.db >unseen.json
	budgeted off.db
	devtrace calls --json off.db >off.json
	woken woken.db
	devtrace calls --json woken.db >woken.json
	described calls s.json t.json e.json b.json stacks.json point.json other.json unseen.json off.json woken.json
	# what is chosen is what the text chooses
	for how in '-F open' '-N open' '-D 2' '-t 1ms' '-B --failed' '-B -f arg3>-9' "--thread $(sed -n 's/^# thread \([0-9]*\).*/\1/p' t.text | sed -n 2p)" '--from 1ms'; do
		devtrace calls $how t.db >chosen.text 2>/dev/null
		[ -s chosen.text ]
		devtrace calls --json $how t.db >chosen.json 2>/dev/null
		tree chosen.json chosen.text
	done
	for how in --failed '-f time>1ms'; do
		[ "$(devtrace calls --json $how t.db 2>/dev/null | grep -c '"type": "call"')" = "$(devtrace calls $how t.db 2>/dev/null | grep -c '^ ')" ]
	done
	# and SQL has the same calls
	devtrace sql --json t.db 'SELECT id, parent, thread, process, function, module, begin, end, duration, self, timed FROM calls' >rows
	python3 - t.json rows <<-'P'
	import json, sys
	calls = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] == "call"]
	rows = [json.loads(l) for l in open(sys.argv[2])]
	# points in time are counted by the trace's readings of the clock there, by its rate here
	near = lambda a, b: a is None or abs(a - b) < 1.1 + b / 1e4
	assert len(calls) == len(rows) > 300
	calls.sort(key=lambda c: c["thread"]) # calls of a thread stay in order
	rows.sort(key=lambda r: r["thread"])
	of = {r["id"]: c["id"] for r, c in zip(rows, calls)}
	for row, c in zip(rows, calls):
	    assert all(c[n] == row[n] for n in ("thread", "process", "function")), (c, row)
	    assert c["parent"] == (of[row["parent"]] if row["parent"] else None), (c, row)
	    assert (c["duration_ns"] is not None) == bool(row["timed"]) and near(c["begin_ns"], row["begin"]) and near(c["end_ns"], row["end"]), (c, row)
	    assert (c["duration_ns"] is None or (c["duration_ns"], c["self_ns"]) == (row["duration"], row["self"])), (c, row)
	P
	for wrong in '-O since' '--units ns' --header '--failed --last 3'; do
		run devtrace calls --json $wrong t.db
		[ "$status" = 2 ]
		[ "${#lines[@]}" = 1 ]
	done
	# a pipe that closes
	devtrace calls --json t.db 2>err | head -n 1 >/dev/null
	[ ! -s err ]
}

@test "json: path" {
	woken one.db
	devtrace path --json -F f one.db >one
	# machines whose clocks are known to each other, and one of which nothing is known
	writetrace alpha.db <<-'TEXT'
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
	writetrace beta.db <<-'TEXT'
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
	devtrace merge -o fleet.db alpha.db beta.db >merged
	devtrace path --json -F call fleet.db >fleet
	devtrace path --json fleet.db >range
	described path one fleet range
}

@test "json: a file in which names and letters are what JSON has marks for" {
	local c
	{ echo "function f" && echo "function g" && echo "E f 8 10" && echo "E g 4 20" && echo "X g 4 30" && echo "X f 8 40"; } | writetrace odd.db
	unsound odd.db
	sqlite3 odd.db "UPDATE function SET name = CAST(x'22' || name || x'5c0a1b7fc3' AS TEXT), file = '\"\\';
		UPDATE module SET path = CAST(x'2f22ff' AS TEXT); UPDATE thread SET name = '\"'; UPDATE site SET kind = '\"' WHERE id % 2;
		UPDATE site SET kind = '\\' WHERE id % 2 = 0"
	for c in cat calls report graph 'report --by thread,module' 'sum -e count' 'hist --durations' "diff odd.db"; do
		devtrace $c --json odd.db >lines 2>err || [ $? = 1 ]
		python3 -c 'import json, sys; print(len([json.loads(l) for l in open("lines")]))' || { echo "$c"; cat lines; false; }
	done
	devtrace cat --json odd.db | python3 -c 'import json, sys; print(*sorted({json.loads(l)["kind"] for l in sys.stdin}), sep="")' >kinds
	[ "$(cat kinds)" = '"\' ]
}
