#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Made-up TCP connections between two machines whose clocks are known, for merge.py check.

usage: streams.py DIR SEED [FAULT]    writes DIR/alpha.txt, DIR/beta.txt for writetrace, and DIR/how.json

Clients are on alpha, servers on beta, whose counter is OFFSET ahead and DRIFT faster. Each connection has a thread
of its own on each side. Bytes are sent in pieces, and received in others. FAULT spoils all connections but the
first one, which is evidence as it is:
  hole     a call that sends is not in the trace      late     the trace begins when bytes have been sent
  reuse    all have the same client's address         threads  a second thread sends at the same time
  nobody   it is not known what their addresses are   alien    the other end is that of another machine
  loss     records are lost meanwhile                 open     the client's trace ends before the connection does
FAULT peek, fork, dup, urgent, again: what programs do, and what must be understood:
  peek     bytes are looked at before they are received   fork   a child goes on with the server's descriptor
  dup      ...with a copy of it                           again  descriptors are used again and again
"""
import json
import random
import sys

OFFSET, DRIFT = 7 * 10**9, 50.0
SERVER = "10.9.0.2:6379"
FUNCTIONS = "socket connect accept4 send recv close dup dup2 getsockname".split()


class Side:
	def __init__(self, name):
		self.name = name
		self.lines = []		# of the head
		self.events = {}	# tid -> [(time, line)]
		self.rows = []		# of sync

	def clock(self, t):
		return round(t) if self.name == "alpha" else round(t * (1 + DRIFT * 1e-6)) + OFFSET

	def call(self, tid, name, begin, end, arguments, result, error=0):
		say = self.events.setdefault(tid, []).append
		values = " ".join(f"{v & (1 << 64) - 1:#x}" for v in arguments)
		say((begin, f"E {name} 0x1000 {self.clock(begin)} {values}"))
		say((end, f"X {name} 0x1000 {self.clock(end)} {result & (1 << 64) - 1:#x} 0 0 {error}"))

	def socket(self, tid, fd, local, remote, t):
		self.rows.append(f"sync socket {tid},{fd},{local},{remote} {self.clock(t)} {self.clock(t + 500)} 0 -1")

	def write(self, folder, processes, end):
		out = [f"meta host {self.name}", f"meta boot_id {self.name}"]
		for t in (0, end):
			out.append(f"clock {self.clock(t)} {self.clock(t) + 77 * 10**9} {1700000000 * 10**9 + round(t)}")
		# writetrace's own module is of process 100
		out += [f"process 100 1 {self.clock(0)} 0 0 /bin/x x", "module 0x400000 0x500000 /lib/libc.so.6"]
		out += [f"function {name} a:u8@0,b:u8@1,c:u8@2,d:u8@3;i8@0!-@3" for name in FUNCTIONS]
		out += processes
		for core, tid in enumerate(sorted(self.events)):
			out.append(f"at {core} {tid}")
			for t, line in sorted(self.events[tid], key=lambda e: e[0]):
				out.append(line)
		with open(f"{folder}/{self.name}.txt", "w") as f:
			f.write("\n".join(out + self.rows) + "\n")


def stream(t, total, step):
	"""Sends: (begin, end, bytes) from a time on."""
	sends = []
	while total:
		n = min(total, random.choice((1, 17, 500, 1400, 20000)))
		end = t + random.randint(2000, 9000)
		sends.append((t, end, n))
		total -= n
		t = end + random.randint(500, step)
	return sends


def receive(sends, delay, t):
	"""What the other side receives of that: (begin, end, bytes); a byte is there `delay' after its send began."""
	arrived = [(b + delay(), n) for b, _, n in sends]
	for i in range(1, len(arrived)):
		arrived[i] = (max(arrived[i][0], arrived[i - 1][0]), arrived[i][1])
	calls, here, at = [], 0, 0
	while at < len(arrived) or here:
		begin = t
		if not here:
			t = max(t, arrived[at][0])
		t += random.randint(500, 3000)
		while at < len(arrived) and arrived[at][0] <= t:
			here += arrived[at][1]
			at += 1
		if here:
			n = min(here, random.choice((1, 64, 4096, 65536)) if here < 3000 else 65536)
			calls.append((begin, t, n))
			here -= n
			t += random.randint(300, 2000)
	return calls


def connection(alpha, beta, i, t, fault, processes):
	c, s = (100, 500) if fault == "again" else (100 + i, 500 + i)	# threads
	fd, gd = (5, 6) if fault == "again" else (5 + i, 6 + i)
	client = f"10.9.0.1:{40000 + (0 if fault == 'reuse' else i)}"
	delay = lambda: 15000 + int(random.expovariate(1 / 8000))
	alpha.call(c, "socket", t - 3000, t - 2000, (2, 1, 0), fd)
	alpha.call(c, "connect", t, t + 40000, (fd, 0x7000, 16), -1, 115)
	beta.call(s, "accept4", t - 9000 if i % 2 else t + 30000, t + 45000, (3, 0, 0, 0), gd)
	if fault != "nobody":
		server = "10.9.0.3:6379" if fault == "alien" else SERVER
		alpha.socket(c, fd, client, server, t + 50000)
		beta.socket(s, gd, SERVER, client, t + 50000)
	t += 100000
	for turn in range(6):
		total = random.randint(1, 9000)
		there = stream(t, total + (6000 if fault == "threads" else 0), 100000 if fault == "threads" else 4000)
		got = receive(there, delay, t)
		back = stream(got[-1][1] + 1000, random.randint(1, 20000), 3000)
		come = receive(back, delay, there[-1][1] + 100)
		hole = fault == "hole" and turn == 2
		for k, (b, e, n) in enumerate(there):
			if not (hole and k == 0) and not (fault == "late" and not turn):
				# of two threads the first one's call ends after the second one's, which began much later
				first = fault == "threads" and k % 2 == 0 and k + 1 < len(there)
				alpha.call(c + 200 if first else c, "send", b, there[k + 1][1] + 300 if first else e,
					(fd, 0x7000, n + 5 * (k % 3), 0x4000), n)
		who, which = (s, gd) if turn < 3 else (s + 200, gd) if fault == "fork" else \
			(s, gd + 50) if fault == "dup" else (s, gd)
		if fault == "fork" and turn == 3:
			processes.append(f"process {s + 200} {s} {beta.clock(t - 800)} 0 0 /bin/s s")
			beta.call(s, "close", t - 500, t - 300, (gd,), 0)
		if fault == "dup" and turn == 3:
			beta.call(s, "dup2", t - 800, t - 600, (gd, gd + 50), gd + 50)
			beta.call(s, "close", t - 500, t - 300, (gd,), 0)
		for b, e, n in got:
			if fault == "peek":
				beta.call(who, "recv", b, e - 400, (which, 0x7000, n, 2), n)
				b = e - 300
			beta.call(who, "recv", b, e, (which, 0x7000, 65536, 0), n)
		for k, (b, e, n) in enumerate(back):
			if not (hole and k == 0):
				beta.call(who, "send", b, e, (which, 0x7000, n, 0), n)
		for b, e, n in come:
			if not (fault == "open" and turn == 5):
				alpha.call(c, "recv", b, e, (fd, 0x7000, 65536, 0), n)
		t = come[-1][1] + random.randint(10**5, 3 * 10**6)
	if fault == "loss":
		alpha.lost = alpha.clock(t - 10**5)
	if fault != "open":
		alpha.call(c, "close", t, t + 5000, (fd,), 0)
		beta.call(who, "recv", t + 20000, t + 40000, (which, 0x7000, 65536, 0), 0)
		beta.call(who, "close", t + 41000, t + 45000, (which,), 0)
	return t + 50000


# FAULT late spoils only what clients send, as do threads; loss and reuse spoil all.


def main(folder, seed, fault=""):
	random.seed(int(seed))
	alpha, beta = Side("alpha"), Side("beta")
	processes = []
	if fault == "threads":
		processes += [(alpha, f"process {100 + i} 1 {alpha.clock(0)} 0 0 /bin/x x\nin {100 + i}\nthread {300 + i} x") for i in range(8)]
	for side, first in ((alpha, 100), (beta, 500)):
		for i in range(first == 100, 8):
			processes.append((side, f"process {first + i} 1 {side.clock(0)} 0 0 /bin/x x"))
	t, mine = 10**6, []
	for i in range(8):
		end = connection(alpha, beta, i, t, fault if i else "", mine)
		t = end + 10**6 if fault == "again" else t + 3 * 10**6
	last = max(e[0] for side in (alpha, beta) for events in side.events.values() for e in events)
	if hasattr(alpha, "lost"):
		# those of one core, of which nothing else is known
		tid = max(alpha.events)
		alpha.events[tid].append((last + 1000, f"lose 3 {alpha.clock(10**6 + 2 * 10**6)}"))
		alpha.events[tid].append((last + 2000, f"E close 0x1000 {alpha.clock(last + 2000)} 0x63"))
	alpha.write(folder, [p for side, p in processes if side is alpha], last + 10**6)
	beta.write(folder, [p for side, p in processes if side is beta] + mine, last + 10**6)
	with open(f"{folder}/how.json", "w") as f:
		json.dump({"offset": OFFSET, "drift": DRIFT, "step": 0}, f)


main(*sys.argv[1:4])
