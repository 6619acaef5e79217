#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Files of ours that documents and remarks name, and that are not there; functions that documents name.

usage: paths.py [FILE...]    prints what is not there, one line each: FILE:LINE: what. Without files: all documents and
sources.
"""
import os
import re
import subprocess
import sys

FOLDERS = ("core|arch|elf|process|symbols|hook|session|store|analyse|show|export|sql|view|remote|cmd|instrument|"
	   "kernel|include|test|bench|doc|examples|man")
# a path of the tree, to a file with an ending, or NAME.[ch], or {a,b}.c
PATH = re.compile(r"(?<![\w/.<-])((?:" + FOLDERS + r")/[\w./{},*-]*?\.(?:\[ch\]|[chtS]\b|sh\b|py\b|md\b|bats\b|bash\b|js\b|pb\b|ld\b|mk\b))")
FUNCTION = re.compile(r"`(dt_\w+)\(\)`")


def exists(path):
	if "*" in path or "{" in path:
		return True
	if path.startswith("include/linux/") or "NAME" in path:  # the kernel's; any
		return True
	if os.path.exists("test/" + path):
		return True
	if path.endswith(".[ch]"):
		return os.path.exists(path[:-4] + "c") or os.path.exists(path[:-4] + "h")
	return os.path.exists(path)


def names(root):
	text = subprocess.run(["git", "grep", "-hoE", r"\bdt_\w+\(", "--", "*.c", "*.h"], cwd=root, capture_output=True,
			      text=True).stdout
	return {x[:-1] for x in text.split()}


def main():
	files = sys.argv[1:] or [
		f for f in subprocess.run(["git", "ls-files"], capture_output=True, text=True).stdout.split()
		if f.endswith((".md", ".c", ".h", ".S", ".1", ".7")) and not f.startswith("test/golden/")]
	known = None
	for f in files:
		for n, line in enumerate(open(f, errors="replace"), 1):
			for path in PATH.findall(line):
				if not exists(path) and not line.lstrip().startswith("#include <"):
					print(f"{f}:{n}: {path}")
			for name in FUNCTION.findall(line) if f.endswith(".md") else ():
				known = known or names(".")
				if name not in known and "NAME" not in name:
					print(f"{f}:{n}: {name}()")


if __name__ == "__main__":
	main()
