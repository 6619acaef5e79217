#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a trace as Perfetto does, by the published numbers of its fields (perfetto.dev, "Trace packet proto"), and
what is in it as JSON: of which an import must say the same.

usage: perfetto-write.py SEED SLICES TRACE [TRUTH]
"""
import json, random, struct, sys

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
OFFSET = 5_000_000_000_000  # ns: the monotonic clock is so far behind that since boot


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def number(field, v): return varint(field << 3) + varint(v)
def data(field, b): return varint(field << 3 | 2) + varint(len(b)) + b
def text(field, s): return data(field, s.encode())
def fixed64(field, v): return varint(field << 3 | 1) + struct.pack("<Q", v)


class Sequence:
    """A writer's packets: names by number, times by a clock of its own, or not."""
    def __init__(self, trace, number_, own_clock, track):
        self.t, self.n, self.own_clock, self.track = trace, number_, own_clock, track
        self.begin()

    def begin(self):
        self.names, self.categories, self.last = {}, {}, self.t.now // 1000  # a little early, which a difference makes up
        defaults = b""
        if self.own_clock:
            # microseconds since the last time; read together with the monotonic clock, which has been read with the trace's
            clock = data(1, number(1, 64) + number(2, self.last) + number(3, 1) + number(4, 1000))
            self.put(data(6, clock + data(1, number(1, 3) + number(2, self.last * 1000 - OFFSET))), first=True)
            defaults += number(58, 64)
        if self.track:
            defaults += data(11, number(11, self.track))
        self.put(data(59, defaults), first=not self.own_clock)

    def put(self, b, first=False):
        self.t.packet(b + number(10, self.n) + number(13, 1 if first else 2))

    def time(self):
        if not self.own_clock:
            return number(8, self.t.now)
        self.t.now += -self.t.now % 1000
        v = self.t.now // 1000
        delta, self.last = v - self.last, v
        return number(8, delta)

    def intern(self, known, field, s, new):
        if s not in known:
            known[s] = len(known) + 1
            new.append(data(field, number(1, known[s]) + text(2, s)))
        return known[s]

    def event(self, type_, name=None, category=None, track=None, more=b"", spelled=False):
        new, e = [], number(9, type_)
        if category and spelled:
            e += text(22, category)
        elif category:
            e += number(3, self.intern(self.categories, 1, category, new))
        if name and spelled:
            e += text(23, name)
        elif name:
            e += number(10, self.intern(self.names, 2, name, new))
        if track is not None:
            e += number(11, track)
        self.put(self.time() + (data(12, b"".join(new)) if new else b"") + data(11, e + more))


class Trace:
    def __init__(self, seed):
        self.r, self.out, self.now = random.Random(seed), [], 10_000_000_000_000
        self.truth = {"calls": [], "events": [], "switches": [], "messages": 0, "left": {}}

    def packet(self, b): self.out.append(data(1, b))
    def left(self, what, n=1): self.truth["left"][what] = self.truth["left"].get(what, 0) + n


def describe(t):
    """Two processes with two threads each, a track of its own in one of them, counters."""
    clocks = data(1, number(1, 6) + number(2, t.now)) + data(1, number(1, 3) + number(2, t.now - OFFSET))
    t.packet(data(6, clocks + number(2, 6)))
    tracks = []
    for pid in (100, 200):
        t.packet(data(60, number(1, pid) + data(3, number(1, pid) + text(6, "program%d" % pid))))
        for tid in (pid, pid + 1):
            uuid = (1 << 63) + tid
            t.packet(data(60, number(1, uuid) + number(5, pid) + data(4, number(1, pid) + number(2, tid) + text(5, "thread%d" % tid))))
            tracks.append((uuid, pid, "thread%d" % tid))
    t.packet(data(60, number(1, 7) + number(5, 100) + text(2, "requests")))
    tracks.append((7, 100, "requests"))
    t.packet(data(60, number(1, 8) + number(5, tracks[0][0]) + text(2, "bytes") + data(8, number(4, 1024))))
    t.packet(data(60, number(1, 9) + number(5, tracks[1][0]) + text(2, "level") + data(8, number(5, 1))))
    t.packet(data(2, data(1, number(1, 300) + number(2, 1) + text(3, "/bin/other")) + data(2, number(1, 301) + text(2, "worker") + number(3, 300))))
    t.packet(data(33, b"\x08\x01"))  # the settings
    t.packet(data(50, b"xyz"))       # packets that are compressed
    t.left("PACKETS")
    t.left("PACKED")
    return tracks


def slices(t, tracks, n):
    writers = {uuid: Sequence(t, 10 + i, i % 2 == 1, uuid if i < 3 else 0) for i, (uuid, _, _) in enumerate(tracks)}
    stacks, flow, open_flows, level = {uuid: [] for uuid in writers}, 0, [], 0
    for i in range(n):
        t.now += t.r.choice((0, 1, 700, 1000, 25000))
        uuid, pid, thread = t.r.choice(tracks)
        w, stack = writers[uuid], stacks[uuid]
        track = None if w.track else uuid
        what = t.r.random()
        if stack and (what < 0.4 or len(stack) > 20):
            begin = stack.pop()
            w.event(END, track=track)
            t.truth["calls"].append([pid, thread, begin[0], begin[1], len(stack), begin[2], t.now])
        elif what < 0.85:
            name, category = "function%d" % t.r.randrange(30), t.r.choice(("net", "disk", "käse"))
            more = b""
            if t.r.random() < 0.1:
                more += data(4, text(10, "size") + number(3, 5))
                t.left("ARGUMENTS")
            if t.r.random() < 0.1:
                if open_flows and t.r.random() < 0.5:
                    more += fixed64(48, open_flows.pop())
                    t.truth["messages"] += 1
                else:
                    flow += 1
                    open_flows.append(1 << 60 | flow)
                    more += fixed64(47, open_flows[-1])
            w.event(BEGIN, name, category, track, more, spelled=t.r.random() < 0.1)
            stack.append((name, category, t.now))
        elif what < 0.92:
            w.event(INSTANT, "tick", "clock", track)
            t.truth["events"].append([pid, thread, "clock:tick", 0, t.now])
        elif what < 0.96:
            v = t.r.choice((0, 5, 1 << 40, -3))
            w.event(COUNTER, track=8, more=number(30, v))
            t.truth["events"].append([100, "thread100", "counter:bytes", v * 1024, t.now])
        elif uuid == tracks[0][0]:
            v = t.r.randrange(-5, 9)
            level += v
            w.event(COUNTER, track=9, more=number(30, v))
            t.truth["events"].append([100, "thread101", "counter:level", level, t.now])
        if i == n // 2:
            # what the writers know is forgotten
            for u, w in writers.items():
                w.begin()
            level = 0
    for uuid, pid, thread in tracks:
        for depth in reversed(range(len(stacks[uuid]))):
            name, category, begin = stacks[uuid][depth]
            t.truth["calls"].append([pid, thread, name, category, depth, begin, None])


def kernel(t):
    """Switches of two cores, one by one and as columns; a waking."""
    now, running = 10_000_000_000_000, {0: 0, 1: 0}
    for core, columns in ((0, False), (1, True)):
        one, times, states, tids, names, last = [], b"", b"", b"", b"", 0
        for tid in (301, 100, 0, 301, 101, 100, 0):
            now += 1000 + t.r.randrange(100)
            state = t.r.choice((0, 1))
            before = running[core]
            one.append(data(2, number(1, now) + number(2, before) + data(4, text(1, "worker" if before == 301 else "x") +
                number(2, before) + number(4, state) + text(5, "worker" if tid == 301 else "x") + number(6, tid))))
            times, states, tids = times + varint(now - last), states + varint(state), tids + varint(tid)
            names, last = names + varint(0 if tid == 301 else 1), now
            t.truth["switches"].append([core, now, tid, int(before != 0 and state == 0)])
            running[core] = tid
        if columns:
            t.packet(data(1, number(1, core) + data(4, data(1, times) + data(2, states) + data(3, tids) + text(5, "worker") + text(5, "x") + data(6, names))))
        else:
            t.packet(data(1, number(1, core) + b"".join(one) + data(2, number(1, now) + number(2, 5) + data(20, number(2, 7)))))
            t.left("KERNEL")


def main():
    t = Trace(int(sys.argv[1]))
    tracks = describe(t)
    kernel(t)
    slices(t, tracks, int(sys.argv[2]))
    # of a writer whose beginning is gone; of a clock that was never read; of no type that is known
    t.packet(number(8, t.now) + number(10, 99) + data(11, number(9, INSTANT) + number(10, 5) + number(11, tracks[0][0])))
    t.truth["events"].append([100, "thread100", ":(name 5)", 0, t.now])
    t.left("NO_NAME")
    t.packet(number(8, t.now) + number(58, 1) + data(11, number(9, INSTANT) + text(23, "x")))
    t.left("NO_CLOCK")
    t.packet(number(8, t.now) + data(11, number(9, 77) + text(23, "x")))
    t.left("PACKETS")
    t.packet(number(8, t.now) + data(11, text(23, "x") + data(6, number(2, 88))))
    t.left("LEGACY")
    with open(sys.argv[3], "wb") as f:
        f.write(b"".join(t.out))
    if len(sys.argv) > 4:
        json.dump(t.truth, open(sys.argv[4], "w"))


main()
