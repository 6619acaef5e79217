#!/usr/bin/python3 -S
# SPDX-License-Identifier: MIT
"""Which lines of the product each test runs, for test/mutate/made.py. usage: each.py BUILD MAP TEST...

BUILD was made by `make coverage'; a TEST is a path as test/mutate/faults names it (cases/cat.bats, golden/golden.t,
unit/test-text). Adds a line of JSON to MAP for each case (of a .bats; of golden.t each command) or test: its name, seconds, and lines by file. A test
that is in MAP already is not run again. What is seen at the moment a case's "ok" is read counts as that case's.
Tests other than .bats run build/devtrace: `cp -a build/coverage/. build' in a copy of the tree has them run this one."""
import json, os, re, subprocess, sys, tempfile, time
from collections import defaultdict

build, path, tests = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
root = os.getcwd() + "/"
hits = tempfile.mkdtemp(prefix="hits-")
os.chmod(hits, 0o1777)
LONGEST = 1200	# seconds that a test may take

def taken():
	"""{program: addresses behind calls that have run since it was last asked}"""
	out = {}
	for name in os.listdir(hits):
		with open(hits + "/" + name, "r+b") as f:
			at, end = [], 0
			while True:
				# most of the file is holes
				try:
					begin = os.lseek(f.fileno(), end, os.SEEK_DATA)
				except OSError:
					break
				end = os.lseek(f.fileno(), begin, os.SEEK_HOLE)
				data = os.pread(f.fileno(), end - begin, begin)
				n = data.find(1)
				while n >= 0:
					at.append(begin + n)
					n = data.find(1, n + 1)
			if at:
				f.seek(at[0])
				f.write(bytes(at[-1] - at[0] + 1))
				out[name] = at
	return out

def cases(test):
	"""(case, seconds, hits), as they end"""
	argv = ["bats", "--tap"] if test.endswith(".bats") else ["env", "GOLDEN_STEPS=1"] if "golden.t" in test else []
	at = build + "/test/" + test if test.startswith("unit/") else root + "test/" + test
	env = dict(os.environ, DEVTRACE_HITS=hits, DEVTRACE_ROOT=root[:-1], CMOCKA_MESSAGE_OUTPUT="TAP")
	if argv:
		env["DEVTRACE_BUILD"] = build
	# of the programs of tests before this one nothing is asked any more
	for name in os.listdir(hits):
		os.unlink(hits + "/" + name)
	begun = time.monotonic()
	p = subprocess.Popen(["timeout", "-k", "5", str(LONGEST), *argv, at], env=env, stdin=subprocess.PIPE if "golden.t" in test else subprocess.DEVNULL,
			     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
	for line in p.stdout:
		m = re.match(r"(not )?ok (?:\d+ )?(.*)", line)
		if m and argv:
			now = time.monotonic()
			if not argv[0] == "bats" or not m[1] and "# skip" not in m[2]:
				yield m[2].strip(), now - begun, taken()
			taken()
			begun = time.monotonic()
			if p.stdin:
				p.stdin.write("\n")
				p.stdin.flush()
	p.wait()
	if not argv:
		yield "", time.monotonic() - begun, taken()

def program(name):
	for at in ("", "test/unit/", "test/tool/", "instrument/"):
		if os.path.exists(f"{build}/{at}{name}"):
			return f"{build}/{at}{name}"
	return None

known = defaultdict(dict)	# by program: address: (file, line) or None

def lines(by_program):
	"""{file: lines}"""
	out = defaultdict(set)
	for name, addresses in by_program.items():
		file = program(name)
		new = [a for a in addresses if a not in known[name]]
		if not file:
			continue
		if new:
			told = subprocess.run(["addr2line", "-e", file], input="\n".join(hex(a - 1) for a in new), capture_output=True, text=True).stdout
			for a, where in zip(new, told.split("\n")):
				source, _, line = where.partition(" ")[0].rpartition(":")
				ours = source.startswith(root) and line.isdigit()
				known[name][a] = (os.path.normpath(source)[len(root):], int(line)) if ours else None
		for a in addresses:
			if known[name][a]:
				out[known[name][a][0]].add(known[name][a][1])
	return {f: sorted(x) for f, x in sorted(out.items())}

done = set()
if os.path.exists(path):
	with open(path) as f:
		done = {json.loads(line)[0] for line in f}
for test in tests:
	if test in done:
		continue
	found = [(test, case, round(seconds, 2), by) for case, seconds, by in cases(test)]
	with open(path, "a") as f:
		for test, case, seconds, by in found:
			f.write(json.dumps([test, case, seconds, lines(by)]) + "\n")
	print(f"{test}: {len(found)}", flush=True)
