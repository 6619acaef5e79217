#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What arch/aarch64/insn.c says of every instruction of Debian's libc, libstdc++ and python3.11 for arm64, and of random
words of the groups that lead elsewhere, is what objdump says: kind, target, what it is relative to.
It runs under qemu-user, which `make ARCH=aarch64 deps' installs, with the cross compiler."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
os.chdir(root)
KINDS = ('PLAIN', 'NOP', 'ENDBR', 'SYSCALL', 'JUMP', 'BRANCH', 'LOOP', 'CALL', 'JUMP_INDIRECT', 'CALL_INDIRECT', 'RETURN', 'FAR',
         'XBEGIN', 'TRAP')
OF = {'nop': 'NOP', 'bti': 'ENDBR', 'svc': 'SYSCALL', 'b': 'JUMP', 'bl': 'CALL', 'udf': 'TRAP'}
OF.update(dict.fromkeys('br braa brab braaz brabz'.split(), 'JUMP_INDIRECT'))
OF.update(dict.fromkeys('blr blraa blrab blraaz blrabz'.split(), 'CALL_INDIRECT'))
OF.update(dict.fromkeys('ret retaa retab'.split(), 'RETURN'))
OF.update(dict.fromkeys('eret eretaa eretab drps'.split(), 'FAR'))
OF.update(dict.fromkeys('cbz cbnz tbz tbnz'.split(), 'BRANCH'))
OF.update(dict.fromkeys('brk hlt hvc smc dcps1 dcps2 dcps3 tcancel'.split(), 'TRAP'))
EXCLUSIVE = re.compile(r'(ldx|ldax|stx|stlx)[rp][bh]?$')
FORMS = {'adr': 1, 'adrp': 2}
LINE = re.compile(r'\s*([0-9a-f]+):\s+([0-9a-f]{8})\s+(\S+)\s*(.*)')
TO = re.compile(r'(?:^|, )(?:0x)?([0-9a-f]+)(?: <|$)')


def expected(mnemonic, rest):
    """What decode.c ought to print of an instruction as objdump has it."""
    kind = OF.get(mnemonic) or ('BRANCH' if re.match(r'bc?\.', mnemonic) else 'PLAIN')
    to = TO.search(rest)
    target = memory = form = pad = 0
    if kind in ('JUMP', 'CALL', 'BRANCH'):
        target = int(to[1], 16)
    elif mnemonic in FORMS:
        form, memory = FORMS[mnemonic], int(to[1], 16)
    elif mnemonic in ('ldr', 'ldrsw', 'prfm') and '[' not in rest:
        form, memory = 3, int(to[1], 16)
    elif EXCLUSIVE.match(mnemonic):
        form = 4
    if mnemonic in ('paciasp', 'pacibsp') or mnemonic == 'bti' and rest in ('c', 'jc'):
        pad = 1
    return f'{KINDS.index(kind)} {target:x} {memory:x} {form} {pad}'


def compare(decode, listing):
    """How many instructions, and lines of those that differ."""
    insns = [m.groups() for m in map(LINE.match, listing.split('\n')) if m]
    # what objdump does not know, neither has to know: newer processors may
    insns = [i for i in insns if i[2] != '.inst' and 'undefined' not in i[3]]
    got = subprocess.run(decode, input=''.join(f'{i[0]} {i[1]}\n' for i in insns), stdout=subprocess.PIPE, text=True, check=True)
    bad = []
    for i, said in zip(insns, got.stdout.split('\n')):
        right = expected(i[2], re.split(r'\s+(?://|;)', i[3])[0])
        if said != right:
            bad.append(f'{i[0]}: {i[1]} {i[2]} {i[3]}: {said}, not {right}')
    return len(insns), bad


def random_words():
    """Words of the groups that matter, with the rest of their bits at random."""
    groups = ((0x14000000, 0x7c000000), (0x54000000, 0xff000000), (0x34000000, 0x7c000000), (0xd6000000, 0xfe000000),
              (0xd4000000, 0xff000000), (0x10000000, 0x1f000000), (0x18000000, 0x3b000000), (0x08000000, 0x3f000000),
              (0xd503201f, 0xfffff01f))
    for i in range(90000):
        value, mask = groups[i % len(groups)]
        word = value | random.getrandbits(32) & ~mask
        if value == 0xd6000000 and i & 1:  # mostly valid ones
            word = word & ~0x011f0000 | 0x1f0000
            word = word & ~0xf000 if i & 2 else word & ~0xfc1f
        yield word


def main():
    if not shutil.which('aarch64-linux-gnu-gcc') or not shutil.which('qemu-aarch64-static'):
        print("1..1\nok 1 # skip 'make ARCH=aarch64 deps' installs what this needs: a cross compiler, and qemu-user")
        return 0
    sysroot = subprocess.run(['packaging/cross/sysroot.sh', 'aarch64'], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    seed = int(os.environ.get('SEED') or random.randrange(1 << 30))
    random.seed(seed)
    bad = 0
    with tempfile.TemporaryDirectory() as d:
        program, raw = os.path.join(d, 'decode'), os.path.join(d, 'raw')
        subprocess.run(['aarch64-linux-gnu-gcc', f'--sysroot={sysroot}', '-static', '-O2', '-I.', '-o', program, 'test/aarch64/decode.c',
                        'arch/aarch64/insn.c'], check=True)
        with open(raw, 'wb') as f:
            f.write(b''.join(w.to_bytes(4, 'little') for w in random_words()))
        files = [f'{sysroot}/lib/aarch64-linux-gnu/libc.so.6', f'{sysroot}/usr/lib/aarch64-linux-gnu/libstdc++.so.6',
                 f'{sysroot}/usr/bin/python3.11']
        if os.environ.get('SHARE') != '1':  # one of them each time: they are a million instructions
            files = [random.choice(files)]
        print(f'1..{len(files) + 1}')
        for n, name in enumerate([*files, raw], 1):
            how = ['-D', '-b', 'binary', '-m', 'aarch64', '--adjust-vma=0x40000000'] if name == raw else ['-d']
            listing = subprocess.run(['aarch64-linux-gnu-objdump', '-z', *how, name], stdout=subprocess.PIPE, text=True, check=True).stdout
            found, wrong = compare(['qemu-aarch64-static', program], listing)
            ok = not wrong and found > 10000
            bad += not ok
            what = f'random words, seed {seed}' if name == raw else os.path.basename(name)
            print(f'{"" if ok else "not "}ok {n} {what}: {found} instructions as objdump has them')
            for line in wrong[:20]:
                print('# ' + line)
    return bad > 0


sys.exit(main())
