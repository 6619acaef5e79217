#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace export --perfetto, read by Protocol Buffers' own decoder: what calls and cat say is in it.
load read-helper

python=/usr/bin/python3 # Debian's: it has the module for Protocol Buffers

# A module `trace' for Python: packets(FILE); slices(FILE), as Perfetto makes them of begins and ends.
reader() {
	protoc -I "$BATS_TEST_DIRNAME" --python_out=. perfetto.proto
	cat >trace.py <<-'P'
		import perfetto_pb2 as P
		def packets(path):
		    t = P.Trace()
		    t.ParseFromString(open(path, "rb").read())
		    assert not t.UnknownFields() and not any(len(p.UnknownFields()) for p in t.packet)
		    # all that follows needs the first one
		    mine = [p for p in t.packet if p.trusted_packet_sequence_id == 1]
		    assert mine[0].sequence_flags == 1 and mine[0].first_packet_on_sequence
		    assert all(p.sequence_flags == 2 for p in mine[1:])
		    return t.packet
		class Names:
		    def __init__(self): self.of = {"event_categories": {}, "event_names": {}, "debug_annotation_names": {}}
		    def take(self, p):
		        for kind, known in self.of.items():
		            for i in getattr(p.interned_data, kind):
		                assert i.iid and i.iid not in known, i
		                known[i.iid] = i.name
		    def name(self, e): return e.name if e.HasField("name") else self.of["event_names"][e.name_iid]
		    def category(self, e):
		        return ",".join([self.of["event_categories"][i] for i in e.category_iids] + list(e.categories))
		    def values(self, e):
		        out = []
		        for a in e.debug_annotations:
		            name = a.name if a.HasField("name") else self.of["debug_annotation_names"][a.name_iid]
		            out.append((name, hex(a.pointer_value) if a.HasField("pointer_value") else
		                str(a.int_value) if a.HasField("int_value") else
		                str(a.uint_value) if a.HasField("uint_value") else a.string_value))
		        return out
		def tracks(path):
		    t = {}
		    for p in packets(path):
		        if p.HasField("track_descriptor"):
		            assert p.track_descriptor.uuid not in t, p
		            t[p.track_descriptor.uuid] = p.track_descriptor
		    return t
		# of one kind of event: (time, track, category, name, values)
		def events(path, kind):
		    names, out = Names(), []
		    for p in packets(path):
		        names.take(p)
		        if p.HasField("track_event") and p.track_event.type == kind:
		            e = p.track_event
		            out.append((p.timestamp, e.track_uuid, names.category(e), names.name(e) if kind != P.TrackEvent.COUNTER else e.counter_value, names.values(e)))
		    return out
		# (track, begin, end or None, depth, category, name, arguments, what came with the end)
		def slices(path):
		    names, open_, out, by_time = Names(), {}, [], []
		    for p in packets(path):
		        names.take(p)
		        if p.HasField("track_event") and p.track_event.type in (1, 2): by_time.append(p)
		    for p in sorted(by_time, key=lambda p: p.timestamp):
		        e = p.track_event
		        stack = open_.setdefault(e.track_uuid, [])
		        if e.type == 1:
		            stack.append((e.track_uuid, p.timestamp, len(stack), names.category(e), names.name(e), names.values(e)))
		        else:
		            track, begin, *rest = stack.pop()
		            out.append((track, begin, p.timestamp, *rest, dict(names.values(e))))
		    for stack in open_.values():
		        for track, begin, *rest in stack: out.append((track, begin, None, *rest, {}))
		    return out
	P
}

# every slice of a thread is a line of the CSV, with its times, values and end; and the other way
as_csv() {
	"$python" - "$1" "$2" <<-'P'
		import csv, sys, collections, trace
		t = trace.tracks(sys.argv[1])
		start = None
		got, want = collections.Counter(), collections.Counter()
		rows = [r for r in csv.DictReader(open(sys.argv[2], newline="")) if r["begin_ns"]]
		def thread(u):
		    if t[u].name == "waiting for devtrace": return None
		    while not t[u].HasField("thread") and t[u].parent_uuid: u = t[u].parent_uuid
		    return t[u].thread.tid if t[u].HasField("thread") else None
		s = [x for x in trace.slices(sys.argv[1]) if thread(x[0]) is not None]
		start = min(x[1] for x in s) - min(int(r["begin_ns"]) for r in rows)
		for track, begin, end, depth, category, name, values, last in s:
		    text = "%s(%s)" % (name, ", ".join(v if n.isdigit() else n + "=" + v for n, v in values))
		    if "result" in last: text += " = " + last["result"]
		    got[thread(track), begin - start, end and end - start, category, text,
		        "open" if end is None else last.get("end", "returned")] += 1
		for r in rows:
		    want[int(r["thread"]), int(r["begin_ns"]), None if r["end"] == "open" else int(r["end_ns"]),
		        r["module"], r["text"], r["end"]] += 1
		assert got == want, (list((got - want).items())[:5], list((want - got).items())[:5])
		print(sum(got.values()), "calls")
	P
}

@test "perfetto: its slices are the calls of the CSV: times, arguments, results, ends" {
	reader
	maketrace -n 60000 -c 2 -t 3 t.db
	devtrace export --csv -o t.csv t.db
	devtrace export --perfetto -o t.pftrace t.db
	as_csv t.pftrace t.csv | tee said
	[ "$(cut -d' ' -f1 said)" -gt 29000 ]
	# with losses: they are there too, and so is what ended in them
	maketrace -n 60000 -l 5000 l.db
	devtrace export --csv -o l.csv l.db
	devtrace export --perfetto -o l.pftrace l.db
	as_csv l.pftrace l.csv
	"$python" - <<-'P'
		import trace, re
		lost = [s for s in trace.slices("l.pftrace") if s[5].endswith("records lost")]
		lost += [e[:1] + e[1:2] + (0, 0) + e[2:] for e in trace.events("l.pftrace", 3) if e[3].endswith("records lost")]
		n = sum(int(s[5].split()[0]) for s in lost)
		print(n)
		open("lost", "w").write("%d\n" % n)
		t = trace.tracks("l.pftrace")
		assert {t[s[0]].name for s in lost} == {"records lost, core 0", "records lost, core 1"}
	P
	[ "$(cat lost)" = "$(sqlite3 l.db 'SELECT sum(lost) FROM loss')" ]
	# calls without values are smaller
	devtrace export --perfetto --no-values -o plain.pftrace t.db
	[ "$(wc -c <plain.pftrace)" -lt "$(wc -c <t.pftrace)" ]
	"$python" -c 'import trace; assert not any(s[6] and s[5].startswith("function") for s in trace.slices("plain.pftrace"))'
}

@test "perfetto: a function with more arguments than a line has room for: the others are said to be there" {
	reader
	{
		echo 'clock 0 0'
		echo 'thread 1 main'
		for n in 62 63 70; do echo "function many$n $(printf 'a:i4@0,%.0s' $(seq $n) | sed 's/,$//');v"; done
		t=0
		for value in 100 200 300; do
			for n in 62 63 70; do
				echo "E many$n 0x1000 $((t += 10)) $value"
				echo "X many$n 0x1000 $((t += 10))"
			done
		done
	} | writetrace m.db
	devtrace export --csv -o m.csv m.db
	devtrace export --perfetto -o m.pftrace m.db
	"$python" - <<-'P'
		import csv, trace
		calls = [s for s in trace.slices("m.pftrace") if s[5].startswith("many")]
		assert len(calls) == 9
		texts = [r["text"] for r in csv.DictReader(open("m.csv", newline=""))]
		got, want = [], []
		for s in calls:
		    assert all(n for n, v in s[6]), s
		    got.append("%s(%s)" % (s[5], ", ".join(v if v == "..." else n + "=" + v for n, v in s[6])))
		for value in 100, 200, 300:
		    for n in 62, 63, 70:
		        want.append("many%d(%s)" % (n, ", ".join(["a=%d" % value] * 62 + ["..."] * (n > 62))))
		assert sorted(got) == sorted(want), (got[:3], want[:3])
		assert sorted(texts) == sorted(want), texts[:3]
	P
}

@test "perfetto: unwound, tail calls, calls whose beginning or end is missing" {
	reader
	sample
	devtrace export --csv -o t.csv
	devtrace export --perfetto -o t.pftrace
	as_csv t.pftrace t.csv
	"$python" - <<-'P'
		import trace
		i = [(e[3], dict(e[4])) for e in trace.events("t.pftrace", 3)]
		assert ("log", {"end": "began before this, it is not known when"}) in i, i
		ends = {(s[5], s[7].get("end")) for s in trace.slices("t.pftrace")}
		assert {("log", "tail"), ("jump", "unwound"), ("half", None)} <= ends, ends
	P
}

@test "perfetto: what runs on another stack of its thread is beside its slices, not within" {
	reader
	# a coroutine begins within a call, and goes on after that has ended
	writetrace t.db <<-'TEXT'
		clock 0 0
		clock 2000000 1000000
		thread 1 program
		E main 0x7fff1000 1000
		E start 0x7fff0f00 1100
		E routine 0x601000 1200
		E inner 0x600f00 1300
		X start 0x7fff0f00 1400
		E again 0x7fff0f00 1500
		X inner 0x600f00 1600
		X again 0x7fff0f00 1700
		X routine 0x601000 1800
		X main 0x7fff1000 1900
	TEXT
	devtrace export --csv -o t.csv t.db
	devtrace export --perfetto -o t.pftrace t.db
	as_csv t.pftrace t.csv
	"$python" - <<-'P'
		import trace
		t = trace.tracks("t.pftrace")
		by = {s[5]: s for s in trace.slices("t.pftrace")}
		assert by["main"][0] == by["start"][0] == by["again"][0]
		assert by["routine"][0] == by["inner"][0] != by["main"][0]
		assert t[by["routine"][0]].parent_uuid == by["main"][0] and t[by["routine"][0]].name == "stack 2"
		assert t[by["main"][0]].thread.thread_name == "program"
	P
}

@test "perfetto: events, counters, messages as flows, losses between them" {
	reader
	writetrace t.db <<-'TEXT'
		clock 0 5000 1700000000000005000
		clock 1000000 1005000 1700000000001005000
		thread 5 client
		thread 6 server
		event 40960 1 chips GET get of a key
		at 0 5
		V x 0 1000 0xa000000100000011
		V x 0 1100 0xb000000000000001
		M x 0 1200 0xea00000012345000
		at 1 6
		N x 0 1300 0xeb00000012345000
		N x 0 1350 0xeb00000000777000
		at 0 5
		V x 0 1400 0xa000000100000007
		M x 0 1450 0xea00000000777000
		M x 0 1500 0xea00000099999000
	TEXT
	devtrace export --perfetto -o t.pftrace t.db
	"$python" - <<-'P'
		import trace
		t = trace.tracks("t.pftrace")
		of = lambda u: t[u].thread.thread_name
		got = [(ns, of(u), c, n, dict(v)) for ns, u, c, n, v in trace.events("t.pftrace", 3)]
		# times are the monotonic clock's
		assert (6000, "client", "chips", "GET", {"body": "0xa000000100000011", "argument": "17", "description": "get of a key"}) in got, got
		assert (6100, "client", "", "event", {"body": "0xb000000000000001"}) in got, got
		counters = [(ns, t[u].name, v) for ns, u, c, v, _ in trace.events("t.pftrace", 4)]
		assert counters == [(6000, "chips GET", 17), (6400, "chips GET", 7)], counters
		assert all(d.HasField("counter") == (d.name == "chips GET") for d in t.values())
		m = {}
		for p in trace.packets("t.pftrace"):
		    e = p.track_event
		    if e.name.startswith("message"):
		        m[p.timestamp] = (of(e.track_uuid), e.name, list(e.flow_ids), list(e.terminating_flow_ids),
		            dict(trace.Names().values(e)).get("note"))
		first, second = m[6200][2][0], m[6350][2][0]
		assert first != second
		assert m == {
		    6200: ("client", "message sent", [first], [], None),
		    6300: ("server", "message received", [], [first], None),
		    6350: ("server", "message received", [second], [], "received before it was sent"),
		    6450: ("client", "message sent", [], [second], "received before it was sent"),
		    6500: ("client", "message sent", [], [], "not seen received")}, m
		clocks = {c.clock_id: c.timestamp for p in trace.packets("t.pftrace") for c in p.clock_snapshot.clocks}
		assert clocks == {6: 5000, 3: 5000, 1: 1700000000000005000}, clocks
	P
}

@test "perfetto: switches are the kernel's sched_switch; without them, cores are by their records" {
	reader
	writetrace t.db <<-'TEXT'
		thread 5 client
		thread 6 server
		at 0 5
		S x 0 100 5 0 5 0
		E f 0x1000 110
		X f 0x1000 120
		at 0 0xffffffff
		S x 0 200 0xffffffff 0 0 0x100000005
		at 0 6
		S x 0 300 6 0 6 0
		at 0 5
		S x 0 400 5 0 5 6
	TEXT
	devtrace export --perfetto -o t.pftrace t.db
	"$python" - <<-'P'
		import trace
		got = [(e.timestamp, b.cpu, e.sched_switch.prev_pid, e.sched_switch.prev_comm, e.sched_switch.prev_state,
		    e.sched_switch.next_pid, e.sched_switch.next_comm)
		    for p in trace.packets("t.pftrace") for b in [p.ftrace_events] for e in b.event]
		none = "(none traced)"
		assert got == [(100, 0, 0, none, 1, 5, "client"), (200, 0, 5, "client", 0, 0, none),
		    (300, 0, 0, none, 1, 6, "server"), (400, 0, 6, "server", 1, 5, "client")], got
		assert not any(d.name.startswith("core") for d in trace.tracks("t.pftrace").values())
	P
	maketrace -n 300000 -c 2 -t 3 m.db
	devtrace export --perfetto -o m.pftrace m.db
	"$python" - <<-'P'
		import trace
		t = trace.tracks("m.pftrace")
		runs = [(t[s[0]].name, s[1], s[2], dict(s[6])["thread"]) for s in trace.slices("m.pftrace") if t[s[0]].name.startswith("core")]
		assert {r[0] for r in runs} == {"core 0, by its records", "core 1, by its records"}
		assert {r[3] for r in runs} == {"1000", "1001", "1002"}
		# one after another on each
		for core in {r[0] for r in runs}:
		    of = sorted(r for r in runs if r[0] == core)
		    assert len(of) > 2 and all(a[2] <= b[1] for a, b in zip(of, of[1:])), of
		assert not any(p.HasField("ftrace_events") for p in trace.packets("m.pftrace"))
	P
}

@test "perfetto: a recorded program's points and their values" {
	reader
	cat >p.c <<-'C'
		__attribute__((noinline)) int twice(int n)
		{
			__asm__ volatile("");
			return 2 * n;
		}
		int main(int argc, char **argv)
		{
			return twice(20 + argc) == 42 ? 0 : twice(3);
		}
	C
	gcc -O1 -g -fno-inline -o p p.c
	devtrace record -T 'twice REG rdi' -F main -o p.db ./p
	devtrace export --perfetto -o p.pftrace p.db
	devtrace cat -k p.db
	"$python" - <<-'P'
		import trace
		t = trace.tracks("p.pftrace")
		i = [e for e in trace.events("p.pftrace", 3) if "twice" in e[3]]
		assert len(i) == 1 and "0x15" in dict(i[0][4]).values() or "21" in dict(i[0][4]).values(), i
		c = [e for e in trace.events("p.pftrace", 4)]
		assert [e[3] for e in c] == [21], c
		assert any(d.process.process_name == "p" for d in t.values())
		assert any(s[5] == "main" for s in trace.slices("p.pftrace"))
	P
}

@test "perfetto: names that are no UTF-8 have their bytes written out" {
	reader
	printf 'thread 5 caf\xe9\nfunction f\xff a:i4@0;i4@0\nat 0 5\nE f\xff 0x1000 110 1\nX f\xff 0x1000 120 2\n' | writetrace t.db
	devtrace export --perfetto -o t.pftrace t.db
	"$python" - <<-'P'
		import trace
		s = trace.slices("t.pftrace")
		assert any(x[5] == r"f\xff" for x in s), s
		assert any(d.thread.thread_name == r"caf\xe9" for d in trace.tracks("t.pftrace").values())
	P
}

@test "perfetto: a record before the one in front of it does not turn slices inside out" {
	unsound t.db # on purpose
	reader
	writetrace t.db <<-'TEXT'
		clock 0 0
		clock 2000000 1000000
		thread 1 program
		E f 0x1000 1300
		E g 0x900 1250
		X g 0x900 1350
		X f 0x1000 1400
	TEXT
	devtrace export --perfetto -o t.pftrace t.db
	"$python" - <<-'P'
		import trace
		s = {x[5]: x[1:4] for x in trace.slices("t.pftrace") if x[5] in "fg"}
		assert s == {"f": (650, 700, 0), "g": (650, 675, 1)}, s
	P
}
