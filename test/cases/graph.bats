# SPDX-License-Identifier: MIT
# devtrace graph, against the calls one by one as `devtrace export --csv' writes them
load read-helper

# graph_says FILE [OPTION]... [FUNCTION]...: each node of the trees: tree, way, calls, total, self, mean
graph_says() {
	devtrace graph --json "$@" | nested | python3 -c '
import json, sys
def lines(name, tree):
    way = []
    for n in tree:
        del way[n["depth"] - 1:]
        way.append((n["function"] or "none") + (" again" if n["again"] else ""))
        times = "%.1f %.1f" % (n["total_ns"], n["avg_ns"]) if n["timed"] else "- -"
        own = "%.1f" % n["self_ns"] if n["timed"] and not n["again"] and "self_ns" in n else "-"
        yield "%s %s: %d %d %s %s" % (name, "/".join(way), n["calls"], n["recursive"], times, own)
t = json.load(sys.stdin)
if not t or t[0]["type"] == "node": out = list(lines("tree", t))
else:
    out = []
    for f in t:
        out += lines("above " + f["function"], f["caller"])
        out += lines("below " + f["function"], f["callee"])
print("\n".join(out))' | sort
}

# recompute CSV FOCUS HIDDEN THREAD: the same by walking up from each call; FOCUS may be ""
recompute() {
	python3 - "$@" <<'P' | sort
import csv, sys, collections
name, focus, hidden, thread = sys.argv[1:5]
rows = [r for r in csv.DictReader(open(name, newline="")) if not thread or r["thread"] == thread]
by = {r["call"]: r for r in rows if r["call"] != "0"}
def caller(r): return by.get(r["caller"])
def callers(r):
    r = caller(r)
    while r:
        yield r
        r = caller(r)
def place(way, f):
    if f in way: return way[:way.index(f) + 1], way + (f + " again",)
    return way + (f,), None
for r in sorted(rows, key=lambda r: int(r["call"]) or 1 << 60):
    c, f = caller(r), r["function"]
    r["home"], r["again"] = (c["home"] if c else ()), None
    r["below"], r["below again"] = (c["below"] if c else ()), None
    r["caller way"] = r["home"]
    if f == hidden:
        if c: r["again"], r["below again"] = c["again"], c["below again"]
        continue
    r["home"], r["again"] = place(r["home"], f)
    if r["below"] or f == focus: r["below"], r["below again"] = place(r["below"], f)
class Sum:
    def __init__(s): s.calls = s.recursive = s.timed = s.exits = 0; s.total = s.own = s.sum = s.outer = 0.0
def known(r): return r["begin_ns"] != "" and r["end"] != "lost"
def tree(home, again):
    t = collections.defaultdict(Sum)
    for r in rows:
        if not r[home]: continue
        at = r[again] or r[home]
        if r["function"] == hidden:
            if known(r): t[at].own += float(r["self_ns"])
            continue
        s = t[at]
        s.calls += r["call"] != "0"
        s.exits += r["call"] == "0"
        recursive = any(c["function"] == r["function"] for c in callers(r))
        s.recursive += recursive and r["call"] != "0"
        if not known(r): continue
        took = float(r["duration_ns"])
        s.timed += 1; s.sum += took; s.own += float(r["self_ns"])
        if not recursive: s.outer += took
        mine = [c for c in callers(r) if c["function"] != hidden]
        if not any(c[home] == r[home] for c in mine): t[r[home]].total += took
        if r[again] and not any(c[again] == r[again] for c in mine): t[r[again]].total += took
    return t
def fold(t):
    for way in [w for w in t if w[-1].endswith(" again")]:
        f = way[-1][:-6]
        home = t[way[:way.index(f) + 1]]
        for k in "calls", "exits", "recursive", "timed", "sum", "own": setattr(home, k, getattr(home, k) + getattr(t[way], k))
def show(name, t):
    for way, s in t.items():
        if way:
            print("%s %s: %d %d %s %s" % (name, "/".join(way), s.calls, s.recursive,
                "%.1f %.1f" % (s.total, s.sum / s.timed) if s.timed else "- -",
                "%.1f" % s.own if s.timed and not way[-1].endswith(" again") else "-"))
whole = tree("home", "again")
if not focus:
    fold(whole)
    show("tree", whole)
    sys.exit()
above = collections.defaultdict(Sum)
for way, s in whole.items():
    if way[-1].split(" ")[0] != focus or not (s.calls or s.exits): continue
    up = way[:-1]
    seen = []
    for f in reversed(up):
        seen.append(f + (" again" if f == focus else ""))
        if f == focus: break
    if not up: seen = ["none"]
    for i in range(len(seen)):
        a = above[tuple(seen[:i + 1])]
        for k in "calls", "exits", "recursive", "timed", "sum", "own": setattr(a, k, getattr(a, k) + getattr(s, k))
        a.total += s.outer
show("above " + focus, above)
below = tree("below", "below again")
fold(below)
show("below " + focus, {w[1:]: s for w, s in below.items()})
P
}

# as recompute, of a trace, with what devtrace graph is to be told
same() {
	local file=$1 focus=$2 hidden=$3 thread=$4
	devtrace export --csv --no-values "$file" >t.csv
	recompute t.csv "$focus" "$hidden" "$thread" >want
	graph_says ${hidden:+-N "$hidden"} ${thread:+--thread "$thread"} "$file" $focus >got
	[ "$(wc -l <want)" -ge "${5:-1}" ]
	diff want got
}

@test "graph: the tree of all calls is that of the calls one by one" {
	maketrace -n 60000 -c 2 -t 3 t.db
	same t.db "" "" "" 300
	grep -q ' again: ' want
	# one thread, one process
	same t.db "" "" 1001 50
	[ "$(graph_says --process 1000 t.db)" = "$(graph_says t.db)" ]
	[ "$(graph_says --thread 1000 --thread 1001 --thread 1002 t.db)" = "$(graph_says t.db)" ]
}

@test "graph: callers and callees of a function are those of its calls one by one" {
	maketrace -n 60000 -c 2 -t 3 t.db
	# those that are called most, and most often by themselves
	for f in $(graph_says t.db | sed -n 's|.*/\(function[0-9]*\) again: \([0-9]*\) .*|\2 \1|p' | sort -rn | cut -d' ' -f2 | uniq | head -n 4) function39; do
		same t.db "$f" "" "" 2
	done
	f=$(devtrace export --csv --no-values t.db | awk -F, '$2 == 1001 { print $6 }' | tr -d '"' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
	same t.db "$f" "" 1001 2
}

@test "graph: what is not shown is its callers' own time" {
	maketrace -n 30000 -c 1 -t 1 -s 3 t.db
	most=$(devtrace report -s calls -n 3 t.db | awk 'NR > 1 { print $NF }')
	for f in $most; do
		devtrace graph --json t.db | grep -q "\"$f\""
		same t.db "" "$f" "" 100
		! grep -q "$f[ /:]" got || false
	done
}

@test "graph: records that were lost leave calls without a time, and those are counted" {
	maketrace -n 60000 -c 2 -t 3 -l 4000 t.db
	devtrace export --csv --no-values t.db >t.csv
	grep -q ',lost,' t.csv
	# csv does not say of an unfinished call whether records were lost in it
	recompute t.csv "" "" "" | sed 's/\(: [0-9]* [0-9]*\) .*/\1/' | sort >want
	graph_says t.db | sed 's/\(: [0-9]* [0-9]*\) .*/\1/' | sort >got
	[ "$(wc -l <want)" -gt 300 ]
	# which calls are within another of the same function is known only to the pairing, which lost some
	diff <(sed 's/ [0-9]*$//' want) <(sed 's/ [0-9]*$//' got)
	devtrace graph -m 0 t.db | grep -q 'of unknown time'
}

@test "graph: unwound calls, tail calls, several threads" {
	sample t.db
	same t.db "" "" "" 5
	same t.db add "" "" 2
	same t.db half "" "" 1
	devtrace graph -m 0 t.db >out
	grep -q 'of unknown time' out
	# main: 4 us of 1000 to 9000 ticks of half a nanosecond; records were lost in it
	grep -qE ' - +- +- +1 +-  main  \(1 of unknown time\)$' out
}

@test "graph: recursion: time is not counted twice" {
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 2000 2000
	E main 0x1000 0
	E f 0xf00 100
	E g 0xe00 200
	E f 0xd00 300
	E g 0xc00 400
	E leaf 0xb00 410
	X leaf 0xb00 440
	X g 0xc00 500
	X f 0xd00 600
	X g 0xe00 700
	X f 0xf00 800
	E f 0xf00 850
	E f 0xe00 860
	X f 0xe00 870
	X f 0xf00 900
	X main 0x1000 1000
	TEXT
	same t.db "" "" "" 6
	cat >want <<-'TEXT'
	       total   share         self      calls         mean  function
	    1.000 us  100.0%     0.250 us          1     1.000 us  main
	    0.750 us   75.0%     0.450 us          4     0.265 us  └─ f
	    0.500 us   50.0%     0.270 us          2     0.300 us     ├─ g
	    0.300 us   30.0%            -          1     0.300 us     │  ├─ f (again)
	    0.030 us    3.0%     0.030 us          1     0.030 us     │  └─ leaf
	    0.010 us    1.0%            -          1     0.010 us     └─ f (again)
	TEXT
	devtrace graph t.db | diff want -
	cat >want <<-'TEXT'
	f  test  t.c:2
	4 calls (2 recursive), total    0.750 us (75.0 % of all), self    0.450 us, mean    0.265 us

	called by
	       total   share         self      calls         mean  function
	    0.750 us  100.0%     0.240 us          2     0.375 us  main
	           -       -     0.200 us          1     0.300 us  g
	           -       -            -          1     0.300 us  └─ f (again)
	           -       -            -          1     0.010 us  f (again)

	calls
	       total   share         self      calls         mean  function
	    0.500 us   66.7%     0.270 us          2     0.300 us  g
	    0.300 us   40.0%            -          1     0.300 us  ├─ f (again)
	    0.030 us    4.0%     0.030 us          1     0.030 us  └─ leaf
	    0.010 us    1.3%            -          1     0.010 us  f (again)
	TEXT
	devtrace graph -m 0 t.db f | diff want -
	# what has less than is asked for is in a line of its own
	devtrace graph -m 5 t.db f >out
	[ "$(grep -c 'more below 5 %' out)" = 3 ]
	[ "$(devtrace graph -D 1 -m 0 t.db | wc -l)" = 2 ]
	[ "$(devtrace graph -D 2 -m 0 t.db | tail -n 1 | awk '{ print $NF }')" = f ]
}

@test "graph: memory is bounded by the ways to call, not by the depth" {
	# two functions that call each other, in an order that never repeats: as a tree of stacks, 100000 deep
	python3 - >text <<-'P'
		import random
		random.seed(1)
		print("function a\nfunction b\nfunction c")
		t, sp, open_ = 0, 1 << 40, []
		for i in range(100000):
		    t += 10; sp -= 32
		    f = random.choice("abc")
		    print("E", f, hex(sp), t); open_.append((f, sp))
		for f, sp in reversed(open_):
		    t += 10
		    print("X", f, hex(sp), t)
	P
	writetrace t.db <text
	[ "$(devtrace graph --json t.db | grep -c '"depth"')" -le 16 ]
	devtrace graph --json t.db | grep -o '"calls": [0-9]*' | head -n 1 | grep -q '"calls": [0-9]*'
	graph_says t.db a >out
	grep -q '^above a ' out
	[ "$(devtrace graph --json t.db a b c | grep -c '"type": "function"')" = 3 ]
	# each as when it is asked for alone
	for f in a b c; do graph_says t.db $f; done | sort >single
	graph_says t.db a b c | diff single -
}

@test "graph: many calls open at once in many threads" {
	python3 - >text <<-'P'
		import random
		random.seed(5)
		print("clock 0 0\nclock 2000000 1000000")
		for f in range(60): print("function f%d" % f)
		t, open_ = 0, {tid: [] for tid in range(1, 41)}
		for i in range(24000):
		    tid = random.randrange(1, 41); s = open_[tid]
		    t += 2
		    print("at 0", tid)
		    # deep first, up and down then, and all that is open at the end returns
		    if s and (i > 20000 or len(s) > 70 or random.random() < 0.25):
		        f, sp = s.pop()
		        print("X", f, hex(sp), t)
		    elif i <= 20000:
		        f, sp = "f%d" % ((len(s) * 7 + random.randrange(3)) % 60), (tid << 40) - 64 * len(s)
		        s.append((f, sp))
		        print("E", f, hex(sp), t)
	P
	writetrace t.db <text
	same t.db "" "" "" 1000
	same t.db f7 "" "" 10
}

@test "graph: what is deeper than is printed is told of" {
	{
		echo '__attribute__((noinline)) int f0(int n) { return n; }'
		awk 'BEGIN { for (i = 1; i <= 2100; i++) printf "__attribute__((noinline)) int f%d(int n) { return f%d(n + 1) + 1; }\n", i, i - 1 }'
		echo 'int main(int argc, char **argv) { return f2100(argc) < 0; }'
	} >deep.c
	gcc -O1 -fno-ipa-cp -fno-ipa-sra -B"$build/lib" -o deep deep.c
	devtrace record -F 'deep:f*' -o t.db ./deep
	devtrace graph -m 0 t.db f1500 2>err >out
	[ "$(grep -c '└─ f' out)" -gt 2000 ]
	[ ! -s err ]
	for form in "-m 0" --json; do
		devtrace graph $form t.db 2>err >out
		grep -q 'deeper than 1999 levels is not printed' err
	done
	python3 -c 'import json; n = list(map(json.loads, open("out"))); assert len(n) >= 1999 and max(x["depth"] for x in n) == 1999'
}

@test "graph: Graphviz draws it, with the calls and times of report" {
	maketrace -n 30000 -c 1 -t 1 t.db
	devtrace graph --dot t.db >all.dot
	dot -Tsvg all.dot >all.svg
	grep -q '<svg' all.svg
	devtrace graph --dot -m 0 t.db >all.dot
	devtrace report --json t.db | python3 -c '
import json, re, sys
dot = open("all.dot").read()
box = {m[2]: (m[1], int(m[3])) for m in re.finditer(r"(f\d+) \[label=\"(\S+?)\\n(\d+) calls", dot)}
of = {v[0]: k for k, v in box.items()}
report = {r["function"]: r["calls"] for r in map(json.loads, sys.stdin)}
assert {k: v[1] for k, v in box.items()} == report
into = {}
for m in re.finditer(r"f\d+ -> (f\d+) \[label=\"(\d+)", dot): into[of[m[1]]] = into.get(of[m[1]], 0) + int(m[2])
# all calls but those from outside
assert 0 <= sum(report.values()) - sum(into.values()) < 1000, (sum(report.values()), sum(into.values()))
assert all(into[f] <= report[f] for f in into)'
	f=$(devtrace report -s calls -n 1 t.db | awk 'NR == 2 { print $NF }')
	devtrace graph --dot t.db "$f" | dot -Tsvg | grep -q "$f"
	# one that nothing has called, and that calls nothing
	writetrace alone.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function other a:i4@0;v
	function lonely a:i4@0;v
	E other 0x7000 100
	X other 0x7000 200
	E lonely 0x7000 300
	X lonely 0x7000 400
	TEXT
	[ "$(devtrace graph --dot alone.db lonely | grep -c 'label="lonely')" = 1 ]
	run devtrace graph --dot t.db 'function1*'
	[ "$status" = 1 ]
	[[ $output == *"one function's callers and callees"* ]]
}

@test "graph: a real program: how often who called whom is what it counts itself" {
	cat >p.c <<-'C'
		#include <stdio.h>
		static unsigned char seen[3][3];
		static int n[3][3];
		__attribute__((noinline)) int leaf(int by) { n[by][2]++; return by; }
		__attribute__((noinline)) int inner(int by, int k) { n[by][1]++; return k ? leaf(1) + inner(1, k - 1) : leaf(1); }
		__attribute__((noinline)) int outer(int k) { n[2][0]++; int r = 0; for (int i = 0; i < k; i++) r += inner(0, i) + leaf(0); return r; }
		int main(void)
		{
			int r = outer(5) + outer(7) + seen[0][0];
			fprintf(stderr, "%d outer>inner %d outer>leaf %d inner>inner %d inner>leaf %d\n", r > 0, n[0][1], n[0][2], n[1][1], n[1][2]);
			return 0;
		}
	C
	gcc -O1 -g -fno-optimize-sibling-calls -o p p.c
	devtrace record -o p.db ./p 2>err
	devtrace graph --json p.db inner leaf | nested | python3 -c '
import json, sys
t = {f["function"]: {(n["function"], n["again"]): n["calls"] for n in f["caller"] if n["depth"] == 1} for f in json.load(sys.stdin)}
print("1 outer>inner %d outer>leaf %d inner>inner %d inner>leaf %d" % (t["inner"]["outer", False], t["leaf"]["outer", False], t["inner"]["inner", True], t["leaf"]["inner", False]))' >got
	grep '^1 outer' err | diff - got
	devtrace graph p.db inner | grep -q 'inner (again)'
	# devtrace.db, when the first word is no trace, also when it is the name of a program
	cp p.db devtrace.db
	cp p inner
	[ "$(devtrace graph inner)" = "$(devtrace graph p.db inner)" ]
}

@test "graph: bad input" {
	maketrace -n 1000 t.db
	run devtrace graph t.db functoin2
	[ "$status" = 1 ]
	[[ $output == "devtrace: no function that was called is 'functoin2'; one is function"* ]]
	run devtrace graph none.db
	[ "$status" = 1 ]
	[[ $output == *none.db* ]]
	run devtrace graph --dot --json t.db
	[ "$status" = 2 ]
	run devtrace graph -D 0 t.db
	[ "$status" = 2 ]
	[[ $output == *"'0' is not a number of levels"* ]]
	run devtrace graph -m 200 t.db
	[ "$status" = 2 ]
	run devtrace graph --thread x t.db
	[ "$status" = 2 ]
	run devtrace graph --thread 5 t.db
	[ "$status" = 1 ]
	[[ $output == *'--thread 5: the trace has no such thread'* ]]
	run bash -c 'devtrace graph t.db >/dev/full'
	[ "$status" = 1 ]
	[[ $output == *'cannot write'* ]]
	maketrace -n 30000 t.db
	run devtrace graph t.db '*'
	[ "$status" = 1 ]
	[[ $output == *'more than 64 functions match'* ]]
}
