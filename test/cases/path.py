#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Critical paths, computed another way: by recursion over what `devtrace sql` says, of traces made at random.

usage: path.py wild SEED TICKS >TEXT     one in which switches and wake-ups contradict one another
       path.py gapless DEVTRACE TRACE SEED   looks only whether pieces follow one another from beginning to end
       path.py make SEED TICKS >TEXT     a trace for writetrace, of threads that wake one another; a tick is a microsecond
       path.py check DEVTRACE TRACE SEED [WHOLE]   asks for the paths of calls and ranges; WHOLE: compares functions, too
"""
import bisect
import json
import random
import subprocess
import sys

NOBODY = 4294967295
FUNCTIONS = ["f%d" % i for i in range(6)]


# ---- making ----

class Made:
	"""Threads on cores: they call functions, block, are woken by each other or by a timer, are preempted."""

	def __init__(self, seed, ticks):
		self.random = random.Random(seed)
		self.cores = self.random.randint(1, 3)
		self.threads = list(range(11, 11 + self.random.randint(2, 6)))
		self.running = {c: None for c in range(self.cores)}
		self.queue, self.blocked = list(self.threads), []
		self.stack = {t: [] for t in self.threads}
		self.now, self.ticks, self.waker = 1000, ticks, {}
		self.lines = []

	def rows(self):
		"""A row of who wakes: of each thread itself, of a timer in its time, and of one that is not traced."""
		n = 0
		for t in self.threads:
			for context in (0, 2):
				n += 1
				self.waker[t, context] = n
				yield "waker %d 10 %d 0 %s 0 t%d" % (t, context, "hrtimer_wakeup" if context else "pipe_write", t)
		self.waker[None] = n + 1
		yield "waker 999 999 0 0 pipe_write 0 stranger"

	def say(self, core, thread, line):
		self.lines.append("at %d %d" % (core, thread))
		self.lines.append(line)

	def switch(self, core, to, preempted=False):
		left = self.running[core]
		self.running[core] = to
		if preempted:
			self.lines.append("flags 64")
		self.say(core, to or NOBODY, "S S 0 %d %d 0 10 %d" % (self.now, to or NOBODY, (left or NOBODY) | (preempted << 32)))
		if preempted:
			self.lines.append("flags 0")

	def wake(self, core, thread, row):
		self.blocked.remove(thread)
		self.queue.append(thread)
		self.say(core, thread, "W W %d %d" % (1 << 63 | row, self.now))

	def step(self):
		r = self.random
		self.now += r.randint(5, 60)
		core = r.randrange(self.cores)
		t = self.running[core]
		if t is None:
			if self.queue:
				self.switch(core, self.queue.pop(r.randrange(len(self.queue))))
			elif self.blocked and r.random() < 0.5:
				# in the time of whoever ran here last, or of nobody that is known
				self.wake(core, r.choice(self.blocked), r.choice(list(self.waker.values())[1::2] + [0, self.waker[None]]))
			return
		stack, do = self.stack[t], r.random()
		if do < 0.25 and len(stack) < 6:
			stack.append(r.choice(FUNCTIONS))
			self.say(core, t, "E %s 0x%x %d" % (stack[-1], t * 0x100000 + 0x8000 - 0x100 * len(stack), self.now))
		elif do < 0.5 and stack:
			self.say(core, t, "X %s 0x%x %d" % (stack[-1], t * 0x100000 + 0x8000 - 0x100 * len(stack), self.now))
			stack.pop()
		elif do < 0.7 and self.blocked:
			self.wake(core, r.choice(self.blocked), self.waker[t, 0 if r.random() < 0.8 else 2])
		elif do < 0.85:
			self.blocked.append(t)
			self.switch(core, self.queue.pop(0) if self.queue and r.random() < 0.7 else None)
		elif do < 0.92 and self.queue:
			to = self.queue.pop(0)
			self.queue.append(t)
			self.switch(core, to, True)

	def text(self):
		yield "clock 0 0"
		yield "clock 1000000 1000000000"
		yield "kinds"
		for name in FUNCTIONS + ["pipe_write", "hrtimer_wakeup"]:
			yield "function " + name
		for t in self.threads:
			yield "thread %d t%d" % (t, t)
		yield from self.rows()
		while self.now < self.ticks:
			self.step()
		yield from self.lines


def wild(seed, ticks):
	"""A trace whose records say anything of anybody, in the order of time."""
	r, now, threads = random.Random(seed), 1000, [11, 12, 13, 14]
	for line in ("clock 0 0", "clock 1000000 1000000000", "kinds", "function f", "function g", *("thread %d t%d" % (t, t) for t in threads)):
		yield line
	for i in range(12):
		yield "waker %d 10 %d %d g 0 t%d" % (r.choice([0, 99] + threads), r.randrange(4), r.random() < 0.2, i)
	open_calls = {t: 0 for t in threads}
	while now < ticks:
		now += r.choice([0, 1, 3, 20, 300])
		t, other, what = r.choice(threads), r.choice(threads + [NOBODY]), r.random()
		yield "at %d %d" % (r.randrange(3), t if what > 0.1 else NOBODY)
		if what < 0.4:
			yield "flags %d" % r.choice([0, 0, 64])
			yield "S S 0 %d %d 0 10 %d" % (now, t if what > 0.1 else NOBODY, other)
			yield "flags 0"
		elif what < 0.65:
			yield "W W %d %d" % (1 << 63 | r.randrange(14), now)
		elif what < 0.8 and open_calls[t] < 5:
			open_calls[t] += 1
			yield "E %s 0x%x %d" % (r.choice("fg"), t * 0x100000 + 0x8000 - 0x100 * open_calls[t], now)
		elif what < 0.9 and open_calls[t]:
			yield "X %s 0x%x %d" % (r.choice("fg"), t * 0x100000 + 0x8000 - 0x100 * open_calls[t], now)
			open_calls[t] -= 1
		else:
			yield "%s f 0x%x %d 0xfe0000000000%d001" % (r.choice("MN"), t * 0x100000 + 0x1000, now, r.randrange(3))


# ---- the other computation ----

class Trace:
	def __init__(self, devtrace, path):
		def ask(question):
			out = subprocess.run([devtrace, "sql", "--json", path, question], capture_output=True, text=True, check=True).stdout
			return json.loads(out) if out.lstrip().startswith("[") else [json.loads(l) for l in out.splitlines()]
		self.waits, self.first = {}, {}
		on, left = {}, {}
		# ticks are whole microseconds, and times begin at the first record
		for r in ask("SELECT kind, thread, core, ticks, flags, value3 FROM records ORDER BY ticks"):
			at, t = r["ticks"], r["thread"]
			if r["kind"] == "S":
				gone = on.get(r["core"])
				if gone is not None and gone != t:
					left[gone] = (at, bool(r["flags"] & 64))
				on[r["core"]] = t
				if t is not None:
					begin = left.pop(t, None)
					if begin:
						self.waits.setdefault(t, []).append((begin[0], at, begin[1]))
					elif t not in self.first:
						self.waits.setdefault(t, []).append((0, at, False))
			if t is not None and r["kind"] != "W":
				self.first.setdefault(t, at)
		for t, (at, preempted) in left.items():
			self.waits.setdefault(t, []).append((at, 1 << 62, preempted))
		self.wakes = {}
		for w in ask("SELECT thread, ticks, waker, context, ran FROM wakes ORDER BY ticks"):
			self.wakes.setdefault(w["thread"], []).append((w["ticks"], w["waker"], w["context"]))
		self.calls = ask("SELECT thread, begin, end, function, depth, ended FROM calls")
		self.zero = ask("SELECT min(ticks) AS zero FROM records")[0]["zero"]
		for c in self.calls:
			c["begin"] = self.zero + round(c["begin"] / 1000) if c["begin"] is not None else 0
			c["end"] = self.zero + round(c["end"] / 1000) if c["ended"] != "open" else 1 << 62

	def explain(self, t, begin, end):
		"""Where [begin, end) of a thread went: a list of (thread, kind, from, to)."""
		if begin >= end:
			return []
		for b, e, preempted in self.waits.get(t, []):
			if b < end <= e:
				break
		else:
			back = max([e for b, e, _ in self.waits.get(t, []) if e < end] + [begin])
			return self.explain(t, begin, back) + [(t, "ran", back, end)]
		b2 = max(b, begin)
		if preempted:
			return self.explain(t, begin, b2) + [(t, "processor", b2, end)]
		woken = [w for w in self.wakes.get(t, []) if b < w[0] <= e]
		woken = woken[-1] if woken else None
		# of who woke it nothing was written
		if not woken or woken[2] is None:
			return self.explain(t, begin, b2) + [(t, "waited", b2, end)]
		at = max(min(woken[0], end), b2)
		rest = [(t, "processor", at, end)] if at < end else []
		if at == b2:
			return self.explain(t, begin, b2) + rest
		if woken[2] == "thread" and woken[1] in self.first and woken[1] != t:
			return self.explain(t, begin, b2) + self.explain(woken[1], b2, at) + rest
		return self.explain(t, begin, b2) + [(t, "waited", b2, at)] + rest

	def functions(self, t, begin, end):
		"""How long a thread was in which function, as the innermost one."""
		mine = [c for c in self.calls if c["thread"] == t and c["begin"] < end and c["end"] > begin]
		cuts = sorted({begin, end} | {x for c in mine for x in (c["begin"], c["end"]) if begin < x < end})
		found = {}
		for a, b in zip(cuts, cuts[1:]):
			inner = [c for c in mine if c["begin"] <= a and c["end"] >= b]
			name = max(inner, key=lambda c: c["depth"])["function"] if inner else None
			found[name] = found.get(name, 0) + b - a
		return found


def joined(pieces):
	"""Neighbours of one thread and kind as one."""
	out = []
	for p in pieces:
		if out and out[-1][:2] == p[:2] and out[-1][3] == p[2]:
			out[-1] = out[-1][:3] + (p[3],)
		elif p[2] < p[3]:
			out.append(p)
	return out


def ask_path(devtrace, path, options):
	out = subprocess.run([devtrace, "path", "--json", *options, path], capture_output=True, text=True)
	if "--thread" not in options and "no record of a thread in this part" in out.stderr:
		return []
	assert out.returncode == 0, (options, out.stderr)
	return [json.loads(l) for l in out.stdout.splitlines()]


def compare(trace, head, pieces, whole):
	begin = trace.zero + round(head["begin_ns"] / 1000)
	end = begin + round(head["duration_ns"] / 1000)
	at = begin
	got = []
	for p in pieces:
		assert abs(trace.zero * 1000 + head["begin_ns"] + p["after_ns"] - at * 1000) < 1, (head, p, at)
		a, at = at, at + round(p["time_ns"] / 1000)
		got.append((p["thread"], p["kind"], a, at))
		assert abs(sum(f["time_ns"] for f in p["functions"]) - p["time_ns"]) < 1, p
		if whole:
			functions = {f["function"]: round(f["time_ns"] / 1000) for f in p["functions"]}
			assert functions == trace.functions(p["thread"], a, at), (p, trace.functions(p["thread"], a, at))
	# without gaps, to the end
	assert at == end, (head, at, end)
	expected = joined(trace.explain(head["thread"], begin, end))
	assert joined(got) == expected, "%s\n got  %s\n want %s" % (head, joined(got), expected)
	return len(expected)


def check(devtrace, path, seed, whole):
	r = random.Random(seed)
	trace = Trace(devtrace, path)
	last = max(c["begin"] for c in trace.calls)
	count = pieces = others = 0
	asked = [["-F", "f*", "--slowest", "30"], ["-F", r.choice(FUNCTIONS)]]
	for _ in range(6):
		a, b = sorted(r.sample(range(trace.zero, last), 2))
		asked.append(["--from", str(a), "--to", str(b), "--thread", str(r.choice(sorted(trace.first)))])
		asked.append(["--from", str(a), "--to", str(b)])
	for options in asked:
		objects = ask_path(devtrace, path, options)
		for head in (o for o in objects if o["type"] == "path"):
			mine = [o for o in objects if o["type"] == "piece" and o["path"] == head["path"]]
			pieces += compare(trace, head, mine, whole)
			others += sum(p["thread"] != head["thread"] for p in mine)
			count += 1
	print(count, pieces, others)


def gapless(devtrace, path, seed):
	r, count, pieces = random.Random(seed), 0, 0
	zero, last = subprocess.run(["sqlite3", "-separator", " ", path, "SELECT min(min_ticks), max(max_ticks) FROM chunk"], capture_output=True, text=True, check=True).stdout.split()
	asked = [["-F", "*", "--slowest", "20"], []]
	for _ in range(10):
		a, b = sorted(r.sample(range(int(zero), int(last)), 2))
		asked.append(["--from", str(a), "--to", str(b), "--thread", str(r.choice([11, 12, 13, 14]))])
	for options in asked:
		objects = ask_path(devtrace, path, options)
		for head in (o for o in objects if o["type"] == "path"):
			at = 0
			for p in (o for o in objects if o["type"] == "piece" and o["path"] == head["path"]):
				assert round(p["after_ns"]) == at and p["time_ns"] > 0, (options, p, at)
				assert round(sum(f["time_ns"] for f in p["functions"])) == round(p["time_ns"]), p
				at += round(p["time_ns"])
				pieces += 1
			assert at == round(head["duration_ns"]), (options, head, at)
			count += 1
		sums = sum(o["time_ns"] for o in objects if o["type"] == "sum")
		assert round(sums) == sum(round(o["duration_ns"]) for o in objects if o["type"] == "path"), options
	print(count, pieces)


if __name__ == "__main__":
	sys.setrecursionlimit(100000)
	if sys.argv[1] == "make":
		print("\n".join(Made(int(sys.argv[2]), int(sys.argv[3])).text()))
	elif sys.argv[1] == "wild":
		print("\n".join(wild(int(sys.argv[2]), int(sys.argv[3]))))
	elif sys.argv[1] == "gapless":
		gapless(sys.argv[2], sys.argv[3], int(sys.argv[4]))
	else:
		check(sys.argv[2], sys.argv[3], int(sys.argv[4]), len(sys.argv) > 5)
