#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Links of documents that lead nowhere: to a file that is not there, or to a heading that it does not have.

usage: links.py [FILE.md...]    prints what is wrong, one line each: FILE:LINE: link. Without files: all documents
"""
import os
import re
import subprocess
import sys


def anchors(path):
	"""The anchors of a document's headings, as GitHub makes them."""
	text = re.sub(r"(?ms)^```.*?^```", "", open(path, encoding="utf-8").read())
	return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"(?m)^#+ (.*)$", text)}


def main():
	files = sys.argv[1:] or subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
	for f in files:
		for n, line in enumerate(open(f, encoding="utf-8"), 1):
			for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
				if re.match(r"[a-z]+:", link):
					continue
				path, _, anchor = link.partition("#")
				there = os.path.join(os.path.dirname(f), path) if path else f
				if not os.path.exists(there) or (anchor and anchor not in anchors(there)):
					print(f"{f}:{n}: {link}")


if __name__ == "__main__":
	main()
