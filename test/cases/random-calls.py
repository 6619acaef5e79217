#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A trace of random calls, as text for test/tool/writetrace. usage: random-calls.py SEED RECORDS

The calls of some threads on some cores, in one of several manners: with jumps to other functions, frames that are gone without
an exit, calls of which a record is missing, losses, pauses, waits for devtrace, points and events, large frames, deep stacks; or
all of it. Nobody knows the answer: what reads it in two ways must get the same."""
import random
import sys

MANNERS = ('plain', 'jumps', 'unwound', 'wild', 'lossy', 'pauses', 'events', 'large', 'deep', 'mixed')
chance, records = random.Random(int(sys.argv[1])), int(sys.argv[2])
manner = chance.choice(MANNERS)
functions, cores = chance.choice((3, 8, 30)), chance.choice((1, 1, 2, 4))
threads = [{'tid': 100 + i, 'base': 0x7fff00000000 + (i << 28), 'stack': [], 'core': chance.randrange(cores)} for i in range(chance.choice((1, 1, 2, 5)))]


def happens(which, share):
    return manner in (which, 'mixed') and chance.random() < share


def main():
    now, place, thread = 1000, None, threads[0]
    for i in range(functions):
        print(f'function f{i}')
    for _ in range(records):
        now += chance.choice((1, 5, 20, 100))
        if chance.random() < (.05 if len(threads) > 1 else .002):
            thread = chance.choice(threads)
            if chance.random() < .3:
                thread['core'] = chance.randrange(cores)
        if place != (thread['core'], thread['tid']):
            place = thread['core'], thread['tid']
            print('at', *place)
        if happens('lossy', .003):
            print('lost', chance.randrange(1, 50))
        if happens('pauses', .001):
            print(f'pause {now - 1} {now + 50} stopped 1 3')
            now += chance.choice((0, 60))
        if chance.random() < .003:
            print(f'hold {thread["tid"]} {now} {now + chance.randrange(1, 30)} room')
            now += chance.choice((0, 40))
        now = step(thread, now)


def step(thread, now):
    """what a thread does at a time; returns the time then"""
    stack = thread['stack']
    top = stack[-1][1] if stack else thread['base']
    if happens('unwound', .01) and len(stack) > 3:
        del stack[-chance.randrange(1, len(stack)):]
    elif happens('events', .1):
        print(f'{chance.choice("PVSR")} f{chance.randrange(functions)} {top - chance.choice((0, 0, 8, 40)):#x} {now}')
    elif happens('wild', .02):
        print(f'{chance.choice("EX")} f{chance.randrange(functions)} {top + chance.choice((-8, 8)) * chance.randrange(4000):#x} {now}')
    elif len(stack) < 3 or (len(stack) < (200 if manner == 'deep' else 25) and chance.random() < .5):
        size = chance.choice((20000, 70000, 5 << 20)) if happens('large', .05) else chance.choice((16, 48, 800))
        stack.append((chance.randrange(functions) if chance.random() < .7 else len(stack) % functions, top - size // 8 * 8))
        if not happens('wild', .02):
            print(f'E f{stack[-1][0]} {stack[-1][1]:#x} {now}')
    else:
        function, sp = stack.pop()
        if happens('wild', .02):
            return now
        jumps = happens('jumps', .3)
        print(f'{"T" if jumps else "X"} f{function} {sp:#x} {now}')
        if jumps and chance.random() < .6:
            now += 3
            stack.append((chance.randrange(functions), sp))
            print(f'E f{stack[-1][0]} {sp:#x} {now}')
    return now


main()
