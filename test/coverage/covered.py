#!/usr/bin/python3 -S
# SPDX-License-Identifier: MIT
"""What of the product the tests have not run. usage: covered.py BUILD [FILE...]

BUILD was made by `make coverage'; its folder hits/ has, for each program, which basic blocks ran. Prints for each source
file how many blocks there are and how many have run in any program; for each FILE the lines that nothing has run."""
import os, re, subprocess, sys
from collections import defaultdict

build, asked = sys.argv[1], sys.argv[2:]
root = os.getcwd() + "/"
lines = defaultdict(lambda: [0, 0])	# (file, line): blocks, of these run

def blocks(program):
	"""addresses behind the calls at the beginning of blocks, from the start of the program"""
	out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True).stdout
	at, wanted = [], False
	for line in out.splitlines():
		m = re.match(r" *([0-9a-f]+):\t(.*)", line)
		if not m:
			continue
		if wanted:
			at.append(int(m[1], 16))
		wanted = "<__sanitizer_cov_trace_pc>" in m[2] and m[2].startswith("call")
	return at

def programs():
	for name in sorted(os.listdir(build + "/hits")):
		for path in (build + "/" + name, build + "/test/unit/" + name, build + "/test/tool/" + name):
			if os.path.exists(path):
				yield path, open(build + "/hits/" + name, "rb").read()

for path, hits in programs():
	at = blocks(path)
	told = subprocess.run(["addr2line", "-e", path], input="\n".join(hex(a - 1) for a in at), capture_output=True, text=True).stdout
	for a, where in zip(at, told.split("\n")):
		file, _, line = where.partition(" ")[0].rpartition(":")
		if file.startswith(root) and line.isdigit():
			entry = lines[os.path.normpath(file)[len(root):], int(line)]
			entry[0] += 1
			entry[1] += a < len(hits) and hits[a]

of = defaultdict(lambda: [0, 0])
for (file, line), (n, run) in lines.items():
	of[file][0] += 1
	of[file][1] += run > 0
for file in asked:
	text = open(file).read().splitlines()
	for line in sorted(l for f, l in lines if f == file and not lines[f, l][1]):
		print(f"{file}:{line}:\t{text[line - 1].strip()}")
if not asked:
	for file, (n, run) in sorted(of.items(), key=lambda x: x[1][1] - x[1][0]):
		print(f"{n:6} {n - run:6} not run  {100 * run / n:5.1f} %  {file}")
	n, run = (sum(x[i] for x in of.values()) for i in (0, 1))
	print(f"{n:6} {n - run:6} not run  {100 * run / max(1, n):5.1f} %  lines where a block begins")
