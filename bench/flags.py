#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many calls are followed by code that reads a flag before anything writes it: behind these an exit has to leave the
flags as they are. By objdump, of direct calls; code is followed through jumps up to the next call, return or indirect jump.
usage: flags.py [FILE...]    without files: those of Debian that are named below, and are there
Prints: FILE: N of M calls; the callees; the sum"""
import bisect
import collections
import glob
import os
import re
import subprocess
import sys

FILES = ("libc.so.6", "libsqlite3.so.0", "libcrypto.so.3", "libgcrypt.so.20", "libgmp.so.10", "libnettle.so.8", "libhogweed.so.6", "libm.so.6",
         "libx264.so.*", "libx265.so.*", "libdav1d.so.6", "libvpx.so.7", "libjpeg.so.62", "libswscale.so.6")
# a call of these does not come back, so that what stands behind it is not behind it
GONE = re.compile(r"<(_*(stack_chk_fail|chk_fail|assert_fail|assert_perror_fail|fortify_fail|abort|exit|_exit|quick_exit|longjmp_chk|pthread_exit|libc_fatal|libc_message|"
                  r"cxa_throw|cxa_rethrow|cxa_bad_cast|cxa_throw_bad_array_new_length|clang_call_terminate)|_Unwind_Resume|_ZSt\w*(terminate|throw)\w*|longjmp|siglongjmp|"
                  r"Py_FatalError\w*|_Py_Fatal\w*|OPENSSL_die|fatal_error|__gmp_divide_by_zero)(@|>|\+)")
CARRY, OTHERS = 1, 2
BY_CARRY = {"b", "c", "nae", "ae", "nb", "nc"}
BY_BOTH = {"a", "nbe", "be", "na"}
SILENT = re.compile(r"(mov|lea|push|pop(?!cnt|f)|nop|endbr|xchg|bswap|not|cdq|cqto|cltq|cwtl|cltd|cbtw|cwtd|lods|stos|v(?!ptest|testp|u?comis)|p(?!test|op|ush|cmp.str)|j|set|cmov|"
                    r"leave|prefetch|s?fence|mfence|lfence|rdtsc|rdpmc|cpuid|pause|wait|f(?!u?comi|cmov)|emms|ldmxcsr|stmxcsr|sarx|shlx|shrx|rorx|mulx|pdep|pext|xabort|xend|in |out)")


def condition(mnemonic):
    """Which flags an instruction reads."""
    m = re.fullmatch(r"(?:j|set|cmov|fcmov)([a-z]+?)[bwlq]?", mnemonic)
    if mnemonic.startswith(("jmp", "jrcxz", "jecxz")):
        return 0
    if m and mnemonic.startswith(("j", "set", "cmov", "fcmov")):
        for name in (re.sub(r"^(j|set|fcmov|cmov)", "", mnemonic), m[1]):
            if name in BY_CARRY:
                return CARRY
            if name in BY_BOTH:
                return CARRY | OTHERS
        return OTHERS
    if re.match(r"(adc|sbb|rcl|rcr|adcx|cmc)", mnemonic):
        return CARRY
    if re.match(r"(lahf|pushf|into|loopn?e|adox)", mnemonic):
        return CARRY | OTHERS
    return 0


def written(mnemonic):
    """Which flags an instruction writes."""
    if SILENT.match(mnemonic):
        return 0
    if re.match(r"(inc|dec)", mnemonic):
        return OTHERS
    if re.match(r"(stc|clc|bt|rol|ror|adcx)", mnemonic):
        return CARRY
    if re.match(r"(add|sub|and|or|xor|cmp|test|neg|mul|imul|div|idiv|sh[lr]|sa[lr]|popf|popcnt|bs[fr]|[lt]zcnt|bzhi|bls|bextr|sahf|xadd|scas|cmps|v?u?comis|fu?comi|v?ptest|vtestp|pcmp.str|adc|sbb|rcl|rcr)",
                mnemonic):
        return CARRY | OTHERS
    return 0


def read(path):
    """The instructions: {address: (mnemonic, operands, next address)}, and the direct calls."""
    code, order = {}, []
    p = subprocess.Popen(["objdump", "-dw", "--no-show-raw-insn", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in p.stdout:
        m = re.match(r"\s*([0-9a-f]+):\t(?:(?:lock|bnd|notrack|rep[nz]*|data16|cs|ds|addr32|rex\.?\w*) )*(\S+)\s*(.*)", line)
        if m:
            order.append(int(m[1], 16))
            code[order[-1]] = (m[2], m[3])
    p.wait()
    return code, order


def needs(code, order, at):
    """Whether the code from `at' on reads a flag before it writes it."""
    unknown = CARRY | OTHERS
    for _ in range(200):
        if at not in code:
            return False
        mnemonic, operands = code[at]
        if condition(mnemonic) & unknown:
            return True
        if mnemonic.startswith(("call", "ret", "ud2", "hlt", "int", "syscall", "sysenter", "(bad)")):
            return False
        unknown &= ~written(mnemonic)
        if not unknown:
            return False
        if mnemonic.startswith("jmp"):
            m = re.match(r"([0-9a-f]+)(?: |$)", operands)
            if not m:
                return False
            at = int(m[1], 16)
            continue
        k = bisect.bisect_right(order, at)
        if k == len(order):
            return False
        at = order[k]
    return False


def main():
    paths = sys.argv[1:]
    if not paths:
        for name in FILES:
            paths += glob.glob("/usr/lib/x86_64-linux-gnu/" + name)[:1]
        paths += glob.glob("/usr/bin/python3.11")
    calls = needed = files = 0
    for path in paths:
        code, order = read(path)
        if not order:
            print(f"{path}: no code", file=sys.stderr)
            continue
        n, found = 0, collections.Counter()
        for k, at in enumerate(order[:-1]):
            mnemonic, operands = code[at]
            m = re.match(r"([0-9a-f]+) <", operands)
            # tables between functions, read as if they were code, call where nothing begins
            if not mnemonic.startswith("call") or not m or int(m[1], 16) not in code or GONE.search(operands):
                continue
            n += 1
            if needs(code, order, order[k + 1]):
                found[operands.split("<", 1)[1].rstrip(">")] += 1
        print(f"{os.path.basename(os.path.realpath(path))}: {sum(found.values())} of {n} calls" +
              (": " + ", ".join(f"{name} {times}" for name, times in found.most_common(8)) if found else ""), flush=True)
        calls, needed, files = calls + n, needed + sum(found.values()), files + 1
    print(f"{files} files: {needed} of {calls} calls")


main()
