#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `devtrace list -v` finds in a file without symbols and unwind tables, beside what objdump and
the file that still has them say.
usage: compare.py DEVTRACE WHOLE STRIPPED [-v]
Prints: FILE found N of M direct call targets, S false starts, of F functions, H hooked
-v: what is missing, what is false, and what is refused, by reason
A false start is one that begins inside of a symbol's, or unwind entry's, code, and is not called
directly. Status 0."""
import bisect
import os
import re
import subprocess
import sys


def lines_of(*command):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    yield from p.stdout
    p.wait()


def code_of(path):
    """The sections with code of its own: (low, high)."""
    for line in lines_of("readelf", "-SW", path):
        m = re.match(r"\s*\[ *\d+\] (\S+)\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +\S*X", line)
        if m and not m[1].startswith(".plt"):
            yield int(m[2], 16), int(m[2], 16) + int(m[3], 16)


def extents_of(path):
    """Where functions are, from symbols and unwind entries: {start: end}."""
    out = {}
    for line in lines_of("readelf", "-sW", path):
        m = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\S+) (FUNC|IFUNC)\s+\S+\s+\S+\s+\d+ ", line)
        if m:
            size = int(m[2], 0)
            start = int(m[1], 16)
            out[start] = max(out.get(start, 0), start + size)
    for line in lines_of("readelf", "--debug-dump=frames", path):
        m = re.search(r"FDE.*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if m:
            start, end = int(m[1], 16), int(m[2], 16)
            out[start] = max(out.get(start, 0), end)
    return out


def targets_of(path):
    """Targets of direct calls, but for those that only ask where they are."""
    out = set()
    for line in lines_of("objdump", "-dw", "--no-show-raw-insn", path):
        m = re.match(r"\s*([0-9a-f]+):\t(?:\S+ )*call\s+(?:0x)?([0-9a-f]+)(?: |$)", line)
        if m and int(m[2], 16) != int(m[1], 16) + 5:
            out.add(int(m[2], 16))
    return out


def found_of(devtrace, path):
    """{address: how it is hooked, or why not}"""
    out = {}
    for line in lines_of(devtrace, "list", "-v", path):
        if line.startswith(("usdt ", "event ")):
            continue
        field = line.rstrip("\n").split("\t")
        if len(field) > 2 and field[1].startswith("0x"):
            out[int(field[1], 16)] = field[2]
    return out


def main():
    devtrace, whole, stripped = sys.argv[1:4]
    verbose = "-v" in sys.argv
    code = list(code_of(whole))
    extents = extents_of(whole)
    starts = sorted(extents)
    targets = {t for t in targets_of(whole) if any(a <= t < b for a, b in code)}
    found = found_of(devtrace, stripped)
    false, refused = [], {}
    for at, how in found.items():
        if how.startswith("not: "):
            refused.setdefault(re.sub(r" \d+\+\d+\+\d+(,.*)?$", "", how[5:]), []).append(at)
        i = bisect.bisect_right(starts, at) - 1
        if at not in extents and i >= 0 and at < extents[starts[i]] and at not in targets:
            false.append(at)
    missed = sorted(targets - set(found))
    hooked = sum(1 for how in found.values() if not how.startswith("not: "))
    print(f"{os.path.basename(whole)} found {len(targets) - len(missed)} of {len(targets)} direct call targets, "
          f"{len(false)} false starts, of {len(found)} functions, {hooked} hooked")
    if verbose:
        print("missed", " ".join(f"{t:x}" for t in missed[:40]))
        print("false", " ".join(f"{t:x}" for t in false[:40]))
        for why, at in sorted(refused.items(), key=lambda x: -len(x[1])):
            print(len(at), why, " ".join(f"{t:x}" for t in at[:10]))


main()
