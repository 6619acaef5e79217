#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All functions of a program without symbols and unwind tables are recorded, and the same ones of the
program that has them: output and status as alone, and as many calls, that ended in the same ways.
usage: counts.py DEVTRACE WHOLE BARE [ARGUMENT...]    WHOLE and BARE: paths of programs
Status 1, and what differs, if anything does."""
import collections
import os
import subprocess
import sys
import tempfile

devtrace, whole, bare, *arguments = sys.argv[1:]


def run(*command):
    p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    said = b"\n".join(x for x in p.stderr.split(b"\n") if not x.startswith(b"devtrace"))
    status = p.returncode if p.returncode >= 0 else 128 - p.returncode
    if command[0] == devtrace and status == 1 and b"devtrace" in p.stderr:
        said = p.stderr
    return status, p.stdout.replace(os.fsencode(bare), b"P").replace(os.fsencode(whole), b"P"), \
        said.replace(os.fsencode(bare), b"P").replace(os.fsencode(whole), b"P")


def plain(path, name):
    """A name without the module, which that of a function without a name begins with: its address."""
    return name.removeprefix(os.path.basename(path) + "+")


def listed(path):
    """{address: name} of what can be hooked."""
    out = {}
    p = subprocess.run([devtrace, "list", "-v", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in p.stdout.splitlines():
        f = line.split("\t")
        if len(f) > 2 and not line.startswith(("usdt ", "event ")) and not f[2].startswith("not: "):
            out[int(f[1], 16)] = plain(path, f[0].split(":", 1)[1] if ":" in f[0] else f[0])
    return out


def calls(path, names, file):
    """What it did, and {(function, how it ended): calls}."""
    module = os.path.basename(path)
    chosen = [x for n in sorted(names) for x in ("-F", module + ":" + n.replace(" ", "?").replace('"', "?"))]
    did = run(devtrace, "record", "-b", "4M", "-o", file, *chosen, "--", path, *arguments)
    p = subprocess.run([devtrace, "sql", "--csv", "--no-header", file, "SELECT function, CASE ended WHEN 'returned' THEN "
                        "'left' WHEN 'tail' THEN 'left' ELSE ended END, count(*) FROM calls GROUP BY 1, 2"],
                       stdout=subprocess.PIPE, text=True)
    # where nothing was recorded there is no trace
    if os.path.exists(file):
        said = subprocess.run([devtrace, "check", "-qs", file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if said.returncode:
            sys.exit(f"{os.path.basename(path)}: its trace is not sound: {said.stdout}")
    out = collections.Counter()
    for line in p.stdout.splitlines():
        function, ended, n = line.strip().rsplit(",", 2)
        out[plain(path, function.strip('"')), ended] += int(n)
    return did, out


def main():
    hooked, known = listed(bare), listed(whole)
    at = collections.defaultdict(list)
    for address, name in known.items():
        at[name].append(address)
    # those whose name is theirs alone, and can be written as a pattern
    same = {name: a[0] for name, a in at.items()
            if len(a) == 1 and a[0] in hooked and hooked[a[0]] == f"{a[0]:#x}" and not set(name) & set("*?[],\"")}
    named = {f"{a:#x}": name for name, a in same.items()}
    bad = 0
    with tempfile.TemporaryDirectory() as d:
        alone = run(bare, *arguments)
        did_w, w = calls(whole, same, d + "/w.db")
        did_b, b = calls(bare, named, d + "/b.db")
        b = collections.Counter({(named.get(f, f), ended): n for (f, ended), n in b.items()})
        unsure = set()
        if w != b:
            # what threads wait for is not the same each time: what differs between two runs of one file tells nothing
            w2, b2 = calls(whole, same, d + "/w2.db")[1], calls(bare, named, d + "/b2.db")[1]
            b2 = collections.Counter({(named.get(f, f), ended): n for (f, ended), n in b2.items()})
            unsure = {f for f, e in set(w) | set(b) | set(w2) | set(b2) if w[f, e] != w2[f, e] or b[f, e] != b2[f, e]}
    for what, did in (("with symbols", did_w), ("without", did_b)):
        if did[:2] != alone[:2]:
            print(f"{os.path.basename(bare)} {what}: status {alone[0]}, traced {did[0]}"
                  f"{'' if did[1] == alone[1] else ', and another output'}: {did[2][-300:]!r}")
            bad = 1
    # of one that is killed (an exception has no way out without unwind tables) threads are so far or not
    for k in sorted(set(w) | set(b)) if alone[0] < 128 else ():
        if w[k] != b[k] and k[0] not in unsure:
            print(f"{os.path.basename(bare)}: {k[0]} ({same.get(k[0], 0):#x}) {k[1]}: {w[k]} calls with symbols, {b[k]} without")
            bad = 1
    n = sum(w.values())
    if not bad and not n:
        print(f"{os.path.basename(bare)}: nothing was recorded")
        bad = 1
    if not bad:
        print(f"{os.path.basename(bare)}: {n} calls of {len({f for f, _ in w})} functions{', and killed as alone' if alone[0] >= 128 else ''}")
    sys.exit(bad)


main()
