#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which file uses which, by their #include lines, against the order of README's table "Layout".

An arrow is an #include of a file of another folder. A folder may use those of the rows below its own; folders
of one row are beside each other, and use each other not at all. A circle is a set of files of which each
leads to each other one; a .c and its headers, NAME.h and what only the parts of NAME share, NAME-work.h, are
one file.

usage: arrows.py [--graph]    prints what is wrong, one line each; --graph: every arrow between folders
"""
import collections
import os
import re
import sys

# Circles that stay, each with its reason: a line "files that are in it, sorted: why".
KNOWN_CIRCLES = {
}

# Headers for their own folder only, as are all NAME-work.h.
OWN = {"session/state.h"}


def layout():
	"""The folders of README's table: name -> row, the uppermost 0."""
	text = open("README.md").read().split("## Layout", 1)[1]
	rows = re.findall(r"^\| (`.+?) \|", text, re.M)
	return {name: n for n, row in enumerate(rows) for name in re.findall(r"`([a-z]+)/`", row)}


def sources(folders):
	for folder in folders:
		for where, _, names in os.walk(folder):
			for name in names:
				if name.endswith((".c", ".h", ".S")):
					yield os.path.join(where, name)


def circles(uses):
	"""Tarjan's strongly connected components (SIAM J. Comput. 1(2), 1972) of more than one file."""
	number, low, stack, found = {}, {}, [], []

	def visit(v):
		number[v] = low[v] = len(number)
		stack.append(v)
		for w in sorted(uses[v]):
			if w not in number:
				visit(w)
				low[v] = min(low[v], low[w])
			elif w in stack:
				low[v] = min(low[v], number[w])
		if low[v] == number[v]:
			at = stack.index(v)
			if len(stack) - at > 1:
				found.append(sorted(stack[at:]))
			del stack[at:]

	sys.setrecursionlimit(10000)
	for v in sorted(uses):
		if v not in number:
			visit(v)
	return found


def main():
	row = layout()
	wrong, arrows, uses = [], collections.Counter(), collections.defaultdict(set)
	for path in sorted(sources(row)):
		own = path.split("/")[0]
		for used in re.findall(r'^#include "([^"]+)"', open(path).read(), re.M):
			if not os.path.exists(used):
				continue
			other = used.split("/")[0]
			if other not in row:
				wrong.append(f"{path}: {used} is in no folder of README's table")
				continue
			if other != own:
				arrows[own, other] += 1
				if row[other] <= row[own]:
					wrong.append(f"{path}: {used} is not below it")
				if used in OWN or used.endswith("-work.h"):
					wrong.append(f"{path}: {used} is for {other}/ only")
			a, b = (re.sub(r"(-work)?\.\w+$", "", x) for x in (path, used))
			if a != b:
				uses[a].add(b)
	found = circles(uses)
	for c in found:
		if " ".join(c) not in KNOWN_CIRCLES:
			wrong.append("a circle: " + " ".join(c))
	for c in KNOWN_CIRCLES:
		if c.split() not in found:
			wrong.append("a circle that is no more stands in arrows.py: " + c)
	if "--graph" in sys.argv:
		for (a, b), n in sorted(arrows.items(), key=lambda x: (row[x[0][0]], row[x[0][1]])):
			print(f"{a} -> {b}: {n}")
	for line in wrong:
		print(line)


if __name__ == "__main__":
	main()
