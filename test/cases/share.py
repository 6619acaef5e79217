#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What share of a file's code is in functions, by readelf and objdump: in per cent, cut to one decimal.
usage: share.py FILE
A function is as long as its symbol or its unwind entry says; a symbol without a size goes to the next one. Code that
is in none counts without filler (nop, int3, zeros). Tables for linking (.plt) are no code of the file's own."""
import re
import subprocess
import sys

FILLER = re.compile(r"(data16 |cs )*(nop|int3|xchg +%ax,%ax)|add +%al,\(%rax\)")


def lines(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines()


def main():
    path = sys.argv[1]
    code, extents, open_ended = [], [], []
    for line in lines("readelf", "-SW", path):
        m = re.match(r"\s*\[ *\d+\] (\S+)\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +\S*X", line)
        if m and not m[1].startswith(".plt"):
            code.append((int(m[2], 16), int(m[2], 16) + int(m[3], 16)))
    for line in lines("readelf", "-sW", path):
        m = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\d+) FUNC\s.*\s\d+ \S", line)
        if m and int(m[2]):
            extents.append((int(m[1], 16), int(m[1], 16) + int(m[2])))
        elif m:
            open_ended.append(int(m[1], 16))
    for line in lines("readelf", "--debug-dump=frames", path):
        m = re.search(r"FDE.*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if m:
            extents.append((int(m[1], 16), int(m[2], 16)))
    starts = {begin for begin, _ in extents} | set(open_ended)
    for begin in open_ended:
        extents.append((begin, min([s for s in starts if s > begin] + [high for low, high in code if low <= begin < high])))
    inside = {at for begin, end in extents for at in range(begin, end)}
    covered = sum(at in inside for low, high in code for at in range(low, high))
    left = 0
    for line in lines("objdump", "-dw", path):
        m = re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(.*)", line)
        if m and int(m[1], 16) not in inside and any(low <= int(m[1], 16) < high for low, high in code) and not FILLER.match(m[3]):
            left += len(m[2].split())
    print(covered * 1000 // (covered + left) / 10)


main()
