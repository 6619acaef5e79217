#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes made-up functions in assembly, the same ones each time: every way to begin, to go on and to end that a compiler
or a person writes, next to each other in all combinations that chance makes of them. Nothing executes them.

usage: code.py NUMBER >FILE.S
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from traces import Chance  # noqa: E402

R64 = 'rax rbx rcx rdx rsi rdi r8 r9 r10 r11 r12 r13 r14 r15'.split()
R32 = 'eax ebx ecx edx esi edi r8d r9d r10d r11d r12d r13d r14d r15d'.split()
JCC = 'e ne l ge g le b ae a be s ns o no p np'.split()


class Function:
    def __init__(self, c, number, functions):
        self.c, self.number, self.functions = c, number, functions
        self.out, self.cold, self.tables, self.labels = [], [], [], 0
        self.name = f'f{number}'

    def say(self, *lines):
        self.out += ['\t' + line for line in lines]

    def label(self):
        self.labels += 1
        return f'.L{self.number}_{self.labels}'

    def other(self):
        return f'f{self.c(self.functions)}'

    def plain(self):
        """An instruction that goes on behind itself."""
        c = self.c
        a, b, x, y = R64[c(14)], R64[c(14)], R32[c(14)], R32[c(14)]
        all_of = [
            f'mov %{a}, %{b}', f'mov ${c(100000)}, %{x}', f'add ${c(90)}, %{a}', f'sub %{x}, %{y}', f'xor %{x}, %{x}', f'and ${c(255)}, %{x}',
            f'lea data+{c(64)}(%rip), %{a}', f'lea {c(128)}(%{a}, %{b}, 4), %{b}' if b != 'rsp' else 'nop', f'mov data(%rip), %{x}', f'mov %{x}, data+4(%rip)',
            f'mov {c(64)}(%rsp), %{a}', f'mov %{a}, -{8 + 8 * c(9)}(%rsp)', f'movabs ${c(2**31) << 20}, %{a}', f'imul ${c(300)}, %{x}, %{y}', 'cqto', 'cltq',
            f'movzbl (%{a}), %{x}', f'movss data(%rip), %xmm{c(8)}', f'addsd %xmm{c(8)}, %xmm{c(8)}', f'movaps %xmm{c(8)}, {16 * c(4)}(%rsp)', f'vaddps %ymm{c(8)}, %ymm{c(8)}, %ymm{c(8)}',
            f'lock incl (%{a})', f'xchg %{x}, (%{a})', f'cmpxchg %{x}, data(%rip)', 'rep movsb', 'rep stosq', 'cld', 'nop', 'nopw 0(%rax,%rax,1)', 'nopl 0x0(%rax)', 'pause', 'rdtsc', 'cpuid',
            'mfence', f'bswap %{a}', f'shl ${c(31)}, %{x}', f'sar %cl, %{a}', f'popcnt %{a}, %{b}', f'set{JCC[c(16)]} %al', f'cmov{JCC[c(16)]} %{a}, %{b}', f'test %{a}, %{a}', f'cmp ${c(100)}, %{x}',
            f'push %{a}\n\tpop %{b}', 'pushfq\n\tpopfq', 'fldz\n\tfstp %st(0)', 'mov %fs:0x28, %rax', f'call {self.other()}', f'call *%{a}', f'call *data+{8 * c(4)}(%rip)', f'call *{8 * c(4)}(%{a})', 'syscall',
        ]
        return all_of[c(len(all_of))]

    def begin(self):
        kind = self.c(9)
        if self.c(2):
            self.say('endbr64')
        if kind in (0, 1):
            self.say('push %rbp', '.cfi_adjust_cfa_offset 8', 'mov %rsp, %rbp')
            if kind:
                self.say(f'sub ${16 * (1 + self.c(40))}, %rsp')
            return ['leave', '.cfi_def_cfa rsp, 8']
        if kind in (2, 3):
            n = 8 + 16 * self.c(12)
            self.say(f'sub ${n}, %rsp', f'.cfi_adjust_cfa_offset {n}')
            return [f'add ${n}, %rsp', f'.cfi_adjust_cfa_offset -{n}']
        if kind in (4, 5):
            saved = ['rbx', 'rbp', 'r12', 'r13', 'r14'][:1 + self.c(5)]
            for r in saved:
                self.say(f'push %{r}', '.cfi_adjust_cfa_offset 8')
            return [line for r in reversed(saved) for line in (f'pop %{r}', '.cfi_adjust_cfa_offset -8')]
        if kind == 6:
            self.say('lea 8(%rsp), %r10', 'and $-32, %rsp', 'push -8(%r10)', 'push %rbp', 'mov %rsp, %rbp', 'push %r10', 'sub $0x40, %rsp')
            return ['mov -8(%rbp), %r10', 'leave', 'lea -8(%r10), %rsp']
        return []

    def table(self, ways):
        """A switch: of addresses, or of distances; with and without a comparison in front of it."""
        c, t, after = self.c, f'.Lt{self.number}_{len(self.tables)}', self.label()
        to = [self.label() for _ in range(ways)]
        if c(6):
            self.say(f'cmp ${ways - 1}, %eax', f'ja {after}')
        if c(2):
            self.say(('notrack ' if c(2) else '') + f'jmp *{t}(, %rax, 8)')
            self.tables.append((t, [f'.quad {x}' for x in to]))
        else:
            self.say(f'lea {t}(%rip), %rdx', 'movslq (%rdx, %rax, 4), %rax', 'add %rdx, %rax', 'jmp *%rax')
            self.tables.append((t, [f'.long {x} - {t}' for x in to]))
        for x in to:
            self.out.append(x + ':')
            self.say(self.plain())
            if c(3):
                self.say(f'jmp {after}')
        self.out.append(after + ':')

    def end(self, undo):
        c, kind = self.c, self.c(14)
        if kind < 7 or kind == 13:
            self.say(*undo, ['ret', 'rep ret', 'ret $16', 'bnd ret'][0 if c(4) else c(4)])
        elif kind == 7:
            self.say(*undo, f'jmp {self.other()}')
        elif kind == 8:
            self.say(*undo, f'jmp *%{R64[c(14)]}')
        elif kind == 9:
            self.say(f'jmp *data+{8 * c(4)}(%rip)')
        elif kind == 10:
            self.say(f'call {self.other()}', 'ud2')
        elif kind == 11:
            x = self.label()
            self.out.append(x + ':')
            self.say(self.plain(), f'jmp {x}')
        elif kind == 12:
            pass # into what follows

    def make(self):
        c = self.c
        undo = self.begin()
        places = [self.label() for _ in range(1 + c(4))]
        for x in places:
            for _ in range(c(5)):
                self.say(self.plain())
            what = c(10)
            if what < 3:
                self.say(f'j{JCC[c(16)]} {places[c(len(places))]}')
            elif what == 3:
                self.say(f'j{JCC[c(16)]} {self.other()}')
            elif what == 4:
                self.table(2 + c(7))
            elif what == 5: # out of the way, and back
                cold, back = self.label(), self.label()
                self.say(f'j{JCC[c(16)]} {cold}')
                self.out.append(back + ':')
                self.cold += [cold + ':', '\t' + self.plain(), f'\tjmp {back}' if c(3) else '\tud2']
            elif what == 6:
                self.say(*undo, 'ret')
            elif what == 7:
                self.say('loop ' + x if c(2) else 'jrcxz ' + x)
            self.out.append(x + ':')
        self.end(undo)


def main():
    n, c = int(sys.argv[1]), Chance(20261129)
    print('\t.text\n\t.globl _start')
    for i in range(n):
        f = Function(c, i, n)
        f.make()
        cfi = c(8)
        print(f'\t.p2align {[4, 4, 4, 0, 5][c(5)]}' + (', 0x90' if c(3) == 0 else ''))
        if c(3) == 0:
            print(f'\t.globl {f.name}')
        print(f'\t.type {f.name}, @function\n{f.name}:' + ('\n\t.cfi_startproc' if cfi else ''))
        print('\n'.join(line for line in f.out if cfi or '.cfi' not in line))
        print(('\t.cfi_endproc\n' if cfi else '') + (f'\t.size {f.name}, . - {f.name}' if c(9) else ''))
        if f.cold:
            print(f'\t.section .text.unlikely, "ax", @progbits\n\t.type {f.name}.cold, @function\n{f.name}.cold:\n\t' + '\n'.join(f.cold).lstrip()
                  + f'\n\t.size {f.name}.cold, . - {f.name}.cold\n\t.text')
        for t, words in f.tables:
            print(f'\t.section .rodata\n\t.balign 8\n{t}:\n\t' + '\n\t'.join(words) + '\n\t.text')
    print('_start:\n\tcall f0\n\thlt\n\t.data\ndata:\t.fill 64, 4, 1\n\t.section .note.GNU-stack, "", @progbits')


if __name__ == '__main__':
    main()
