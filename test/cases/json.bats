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
	for kind, like in (("group", "function"), ("caller", "node"), ("callee", "node"), ("function", "node")):
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
	    assert not missing, (kind, "never printed", missing)
	assert seen.keys() == known, known - seen.keys()
	P
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
	described report a b c d e by-* failed-*
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
