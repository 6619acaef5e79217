#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Made-up machines whose clocks are known, and what a fleet of them must say.

usage: merge.py make DIR HOW...    writes DIR/alpha.txt and DIR/beta.txt, for writetrace
       merge.py check DIR DEVTRACE FLEET    asks the fleet when each record was, and compares
       merge.py same DEVTRACE FLEET REFERENCE HOST ORIGINAL   two traces of this machine, HOST's of ORIGINAL shifted
       merge.py damage FILE TO SEED    changes some bytes

HOW: offset=NS drift=PPM step=NS (of beta's clock, after 1 s) wall=NS (beta's wall clock ahead)
     boot=ID (both the same)  messages=0 (no numbers)  seconds=N  real=BOUND,WRONG (ns; sync rows)
beta's counter shows t * (1 + drift) + offset at alpha's time t. One tick is 1 ns.
"""
import csv
import json
import random
import subprocess
import sys

START = 1700000000 * 10**9


def options(words):
	how = {"offset": 5 * 10**9, "drift": 50.0, "step": 0, "wall": 3 * 10**6, "boot": "", "messages": 1,
		"seconds": 2.0, "real": "", "seed": 1}
	for word in words:
		key, value = word.split("=", 1)
		how[key] = type(how[key])(value)
	return how


def beta(how, t):
	"""What beta's counter shows at a time of alpha's."""
	return round(t * (1 + how["drift"] * 1e-6)) + how["offset"] + (how["step"] if t >= 10**9 else 0)


def make(folder, how):
	random.seed(how["seed"])
	end = round(how["seconds"] * 1e9)
	clocks = {"alpha": lambda t: t, "beta": lambda t: beta(how, t)}
	lines = {}
	for name, clock in clocks.items():
		wall = how["wall"] if name == "beta" else 0
		lines[name] = [f"meta host {name}"] + ([f"meta boot_id {how['boot']}"] if how["boot"] else [])
		for t in (0, end) if not how["step"] else (0, 10**9 - 1, 10**9, end):
			lines[name].append(f"clock {clock(t)} {clock(t) + 77 * 10**9} {START + wall + t}")
		if how["real"]:
			bound, wrong = (int(n) for n in how["real"].split(","))
			for t in range(10**8, end, 10**8):
				ns = START + t + (wrong if name == "beta" else 0)
				lines[name].append(f"sync realtime - {clock(t)} {clock(t) + 100} {ns} {bound}")
		lines[name] += ["function call i:i4@0;i4@0", "function serve i:i4@0;i4@0",
			f"at 0 {100 if name == 'alpha' else 200}"]
	t, n = 10**6, 1
	while t < end - 3 * 10**6:
		# the client's call has the server's in it; there and back take 20 us and sometimes more
		there, back = (20000 + int(random.expovariate(1 / 5000)) for _ in range(2))
		a, b, c = t + there, t + there + 10000, t + there + 10000 + back
		say = lambda name, kind, function, sp, at, value: lines[name].append(
			f"{kind} {function} {sp:#x} {clocks[name](at)} {value:#x}")
		say("alpha", "E", "call", 0x1000, t, n)
		if how["messages"]:
			say("alpha", "M", "call", 0x900, t + 100, 0xea << 56 | 2 * n << 12)
			say("beta", "N", "serve", 0x900, a, 0xeb << 56 | 2 * n << 12)
		say("beta", "E", "serve", 0x1000, a + 50, n)
		say("beta", "X", "serve", 0x1000, b - 50, n)
		if how["messages"]:
			say("beta", "M", "serve", 0x900, b, 0xea << 56 | 2 * n + 1 << 12)
			say("alpha", "N", "call", 0x900, c, 0xeb << 56 | 2 * n + 1 << 12)
		say("alpha", "X", "call", 0x1000, c + 100, n)
		t = c + random.randint(10**5, 10**7)
		n += 1
	for name, text in lines.items():
		with open(f"{folder}/{name}.txt", "w") as f:
			f.write("\n".join(text) + "\n")
	with open(f"{folder}/how.json", "w") as f:
		json.dump(how, f)


def truth(how, host, ticks):
	"""The time of alpha's at which a host's counter showed that."""
	if host == "alpha":
		return ticks
	before = (ticks - how["offset"]) / (1 + how["drift"] * 1e-6)
	after = (ticks - how["offset"] - how["step"]) / (1 + how["drift"] * 1e-6)
	return after if how["step"] and after >= 10**9 - 1 else before


def check(folder, devtrace, fleet):
	with open(f"{folder}/how.json") as f:
		how = json.load(f)
	out = subprocess.run([devtrace, "sql", "--csv", fleet, "SELECT host, ticks, at, early, late FROM records"],
		stdout=subprocess.PIPE, check=True, text=True).stdout
	rows = list(csv.DictReader(out.splitlines()))
	zero = min(truth(how, r["host"], int(r["ticks"])) for r in rows if r["host"] == "alpha")
	outside = wide = off = bounded = 0
	for r in rows:
		at = truth(how, r["host"], int(r["ticks"])) - zero
		off = max(off, abs(int(r["at"]) - at))
		if r["early"] == "" or r["late"] == "":
			continue
		bounded += 1
		# ticks are whole, too
		outside += not int(r["early"]) - 2 <= at <= int(r["late"]) + 2
		wide = max(wide, int(r["late"]) - int(r["early"]))
	print(f"records={len(rows)} bounded={bounded} outside={outside} width_us={wide / 1000:.1f} off_us={off / 1000:.1f}")


def damage(source, to, seed):
	with open(source, "rb") as f:
		data = bytearray(f.read())
	random.seed(int(seed))
	for _ in range(20):
		data[random.randrange(100, len(data))] = random.randrange(256)
	with open(to, "wb") as f:
		f.write(data)


def same(devtrace, fleet, reference, host, original):
	"""Two traces of one counter, of which one was shifted afterwards: when its records really were."""
	ask = lambda what, *more: [r.split(",") for r in subprocess.run([devtrace, "sql", "--csv", "-n", *more, what],
		stdout=subprocess.PIPE, check=True, text=True).stdout.split()]
	rate, = (float(r) for r, in (line.split("|") for line in subprocess.run(["sqlite3", fleet,
		f"SELECT printf('%.17g', ns_per_tick) FROM host WHERE name='{reference}'"], stdout=subprocess.PIPE,
		check=True, text=True).stdout.split()))
	tick, at = (int(n) for n in ask(f"SELECT ticks, at FROM records WHERE host='{reference}' ORDER BY ticks LIMIT 1", fleet)[0])
	true = sorted(int(n) for n, in ask("SELECT ticks FROM records", original))
	said = ask(f"SELECT at, early, late FROM records WHERE host='{host}' ORDER BY ticks", fleet)
	assert len(true) == len(said)
	outside = off = wide = 0
	for t, (drawn, early, late) in zip(true, said):
		t = at + (t - tick) * rate
		outside += not int(early) - 2 <= t <= int(late) + 2
		off = max(off, abs(int(drawn) - t))
		wide = max(wide, int(late) - int(early))
	print(f"records={len(said)} outside={outside} width_us={wide / 1000:.1f} off_us={off / 1000:.1f}")


if sys.argv[1] == "damage":
	damage(*sys.argv[2:5])
elif sys.argv[1] == "same":
	same(*sys.argv[2:7])
elif sys.argv[1] == "make":
	make(sys.argv[2], options(sys.argv[3:]))
else:
	check(*sys.argv[2:5])
