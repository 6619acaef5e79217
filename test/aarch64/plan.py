#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a plan for aarch64 (what plan.c prints) with objdump's disassembly of the same file.

usage: plan.py FILE PLAN DISASSEMBLY   what `objdump -d FILE` prints

- Every entry is at the function's first instruction that is no landing pad.
- Every return, and every branch out of a hooked function, is an exit; nothing else is.
- A jump through a register is an exit, but where an add just before makes its target (a switch).
- Each change is a branch to the trampoline; a trampoline has its hooks, the instruction that was
  there (what is relative to the pc names the same address), and a branch back.
A line for each thing that is wrong, and one of counts.
"""
import collections
import re
import sys

HOOK = 0xD503251F
PADS = ("bti", "paciasp", "pacibsp")
ENDS = ("b", "br", "braa", "brab", "braaz", "brabz", "ret", "retaa", "retab")
RELATIVE = ("adr", "adrp", "b", "bl", "blr", "cbz", "cbnz", "tbz", "tbnz")
SWITCH = 12  # instructions in front of a jump through a register that may make its target

wrong = 0


def complain(*words):
    global wrong
    wrong += 1
    if wrong < 30:
        print("wrong:", *words)


def disassembly(path):
    code = {}
    for line in open(path):
        m = re.match(r"\s*([0-9a-f]+):\t([0-9a-f]{8})\s*\t?(\S*)\s*(.*)", line)
        if m:
            ops = re.sub(r"\s*(//|<).*", "", m[4]).strip()
            code[int(m[1], 16)] = (int(m[2], 16), m[3], ops)
    return code


def target(ops):
    m = re.search(r"(?:^|, )(?:0x)?([0-9a-f]+)$", ops)
    return int(m[1], 16) if m else None


def is_branch(name):
    return name.startswith("b.") or name in ("cbz", "cbnz", "tbz", "tbnz")


def leads(word, at):
    """Where a b at this address leads."""
    if word >> 26 != 5:
        return None
    d = word & 0x3FFFFFF
    return at + 4 * (d - (1 << 26) if d >> 25 else d)


def is_switch(code, at, ops):
    reg = ops.split(",")[0]
    for a in range(at - 4, at - 4 * SWITCH, -4):
        if a not in code:
            return False
        _, name, o = code[a]
        regs = o.split(", ")
        if name in ENDS:
            return False
        if regs[0] in (reg, reg.replace("x", "w")) and name not in ("cmp", "str", "cbz", "cbnz"):
            if name == "mov" and len(regs) > 1:
                reg = regs[1]
                continue
            return name == "add" and len(regs) > 2 and not regs[2].startswith("#")
    return False


def exits(code, low, high, inside, targets):
    """The ways out of [low, high), of which `inside' are also its parts; code behind a jump to which nothing leads is left out."""
    out = {}
    reached = True
    for at in range(low, high, 4):
        if at not in code:
            continue
        _, name, ops = code[at]
        reached = reached or at in targets
        if not reached:
            continue
        if name in ("ret", "retaa", "retab"):
            out[at] = "r"
        elif name == "b" and not inside(target(ops), at):
            out[at] = "t"
        elif is_branch(name) and not inside(target(ops)):
            out[at] = "b"
        elif name.startswith("br") and name != "brk":
            out[at] = "?" if is_switch(code, at, ops) else "i"
        reached = name not in ENDS
    return out


def check_trampoline(code, words, at, start, copy, kinds):
    word, name, ops = code[start]
    n = (copy - at) // 4
    if words[:n] != [HOOK] * n or n != ("e" in kinds):
        complain(f"{start:x}: in front of the copy stands {words[:n]}")
    rest = words[n:]
    other = len(kinds) - n
    if other and "b" not in kinds and rest[:1] != [HOOK]:
        complain(f"{start:x}: no hook in front of the exit")
    if other and "b" not in kinds:
        rest = rest[1:]
    at = copy + 4 * (len(words) - n - len(rest))
    if name in ("adr", "adrp"):
        made = sum((w >> 5 & 0xFFFF) << 16 * i for i, w in enumerate(rest[:3]))
        if made != target(ops) or any(w & 31 != word & 31 for w in rest[:3]):
            complain(f"{start:x}: {name} {ops} makes {made:x}")
        rest, at = rest[3:], at + 12
    elif name in ("b", "bl"):
        if name == "bl":
            made = sum((w >> 5 & 0xFFFF) << 16 * i for i, w in enumerate(rest[:3]))
            if made != start + 4 or any(w & 31 != 30 for w in rest[:3]):
                complain(f"{start:x}: the call returns to {made:x}")
            rest, at = rest[3:], at + 12
        to = leads(rest[0], at)
        if to != (copy if target(ops) == start else target(ops)):
            complain(f"{start:x}: {name} {ops} leads to {to and hex(to)}")
        return
    elif is_branch(name) or name == "blr" or name.startswith("ldr") and re.search(r", [0-9a-f]+$", ops):
        return  # tried by executing it (relocate.c)
    else:
        if rest[0] != word:
            complain(f"{start:x}: {name} {ops} has become {rest[0]:x}")
        rest, at = rest[1:], at + 4
    if name not in ENDS and (not rest or leads(rest[0], at) != start + 4):
        complain(f"{start:x}: nothing leads back")


def main():
    code = disassembly(sys.argv[3])
    functions, sites, patches, tramps = [], collections.defaultdict(dict), {}, {}
    kinds = collections.defaultdict(list)
    entry = {}
    for line in open(sys.argv[2]):
        w = line.split()
        if w[0] == "F":
            functions.append((int(w[1], 16), int(w[2], 16), int(w[3], 16), " ".join(w[4:])))
        elif w[0] == "S":
            at, window, whole = (int(x, 16) for x in w[2:5])
            kinds[window].append(w[1])
            if w[1] == "e":
                entry[whole] = window
            else:
                sites[whole][at] = w[1]
        elif w[0] == "P":
            if int(w[1], 16) in patches:
                complain(f"{w[1]} is changed twice")
            patches[int(w[1], 16)] = (int(w[2], 16), int(w[3], 16))
        else:
            tramps[int(w[1], 16)] = (int(w[2], 16), int(w[3], 16), [int(x, 16) for x in w[4:]])
    parts = collections.defaultdict(list)
    for start, end, whole, state in functions:
        parts[whole].append((start, end))
    # whatever leads to an address by name; what a switch leads to is not known
    targets = set()
    for at, (_, name, ops) in code.items():
        if name in ("b", "bl", "adr") or is_branch(name):
            targets.add(target(ops))
    hooked = refused = found = odd = beyond = 0
    for start, end, whole, state in functions:
        if state == "part":
            continue
        if state != "hooked":
            refused += 1
            continue
        hooked += 1
        at = start
        while at in code and code[at][1] in PADS:
            at += 4
        if entry.get(start) != at:
            complain(f"{start:x}: its entry is hooked at {entry.get(start, 0):x}, not {at:x}")

        def inside(to, at=None):
            # a veneer: an instruction that the linker has put elsewhere, and a branch back
            _, name, ops = code.get((to or 0) + 4, (0, "", ""))
            if at is not None and name == "b" and target(ops) == at + 4:
                return True
            return to is not None and any(a <= to < b for a, b in parts[whole])

        def expect(reach):
            out = {}
            for low, high in parts[whole]:
                out.update(exits(code, low, high, inside, reach or range(low, high, 4)))
            return out

        expected = expect(targets)
        # a jump that stays inside may lead to anywhere there
        if any(k in "?i" and at not in sites[whole] for at, k in expected.items()):
            expected = expect(None)
        for at in sorted(set(expected) | set(sites[whole])):
            want, have = expected.get(at), sites[whole].get(at)
            if want == have or (want == "?" and have is None):
                found += have is not None
            elif want == "i" and have is None:
                odd += 1  # a jump through a table of addresses stays inside
            elif want is None and expect(None).get(at) == have:
                beyond += 1  # what exceptions lead to
            else:
                complain(f"{start:x}: {at:x} {' '.join(map(str, code[at][1:]))} is {have}, not {want}")
    for at, (word, window) in patches.items():
        to, copy, words = tramps[window]
        lead = leads(word, at)
        if at in tramps:
            if lead != tramps[at][0]:
                complain(f"{at:x} leads to {lead}")
        elif code[at][1] == "b":
            if lead != copy:
                complain(f"{at:x}: the loop leads to {lead}, not {copy:x}")
        else:  # inverse branch over; b copy; b to the beginning, never reached; b back
            i = (lead - to) // 4
            if leads(words[i + 1], lead + 4) != copy or leads(words[i + 3], lead + 12) != at + 4:
                complain(f"{at:x}: the loop does not lead behind the hook")
    for start, (at, copy, words) in tramps.items():
        check_trampoline(code, words, at, start, copy, kinds[start])
    print(f"{hooked} of {hooked + refused} functions hooked, {len(tramps)} windows, "
          f"{len(patches) - len(tramps)} loops led on, {found} exits, {odd} jumps that stay inside, {beyond} exits that no branch leads to, {wrong} wrong")
    sys.exit(wrong > 0 or not hooked)


main()
