# SPDX-License-Identifier: MIT
"""Made-up traces as text for test/tool/writetrace: the same ones each time.

plain(): one thread, a call of everything that a signature can say, ended in every way.
rich(): a walk of chance through calls in two processes with five threads on three cores and the shared ring: switches,
messages, events, points, tail calls, jumps out, losses, a pause, a change, waits.
deep(): every switch of four threads on two cores, wake-ups with the kernel's stacks, interrupts, calls that fail, names
that are alike, a loss of switches, a process that executes another program.
alpha(), beta(): a client and a server on two machines whose clocks differ by 5 s and 50 ppm.
"""

FUNCTIONS = [
    ('main', 'argc:i4@0,argv:p@1;i4@0'), ('work', 'n:i8@0;i8@0'), ('scale', 'x:f8@0,y:f4@1;f8@2'),
    ('paint', 'c:e4#1@0,on:b@1,key:c@2;e4#1@0'), ('move', 'p:a#2@0,by:i2@1;a#2@0'), ('text', 's:s@0,n:u1@1;p@0'),
    ('wide', 'a:i16@0+1,b:u4@2;i16@0+1'), ('nothing', ';v'), ('unknown', ''), ('std::vector<int>::push(int const&)', 'v:p@0;v'),
    ('a b<c> "d" \\e', 'k:u8@0;u2@0'), ('big', '...:a@-,x:a@-;a@-'), ('tail', 'n:u4@0;u4@0'), ('recurse', 'depth:i4@0;i4@0'),
]


class Chance:
    """Numbers that look like chance, the same in every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def __call__(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def functions():
    lines = ['type e:color;RED=0,GREEN=1,BLUE=-5', 'type a:point;x:i4@0,y:i4@32']
    return lines + [f'function {name.replace(" ", chr(160))} {signature}' for name, signature in FUNCTIONS]


def plain():
    out = ['clock 1000 500 1700000000000000000', 'clock 3001000 1500500 1700000000001500000', 'meta record_ticks 30.0',
           'meta cost.entry 31.0 31.0 2.0 0.1 100', 'meta cost.exit 28.0 28.0 2.0 0.1 100', 'thread 1 only', *functions(), 'kinds',
           'event 7 1 net send a packet leaves', 'event 7 2 net got', 'at 0 1']
    t, sp = 2000, 0x7ffe0000
    out.append(f'E main {sp} {t} 3 0x7ffe1234')
    values = [(5,), (0x4004000000000000, 0x40490fdb), (1, 1, 65), (0x0000000200000001, -7 & 0xffff), (0x401000, 255),
              (2**64 - 1, 2**64 - 1, 7), (), (1, 2, 3, 4), (0x1234,), (42,), (9,), (8,)]
    results = [(2**64 - 3,), (0, 0, 0xc004000000000000), (0xfffffffb,), (0x0000000500000004,), (0,), (5, 1), (), (77,), (), (65535,), (0,), (1,)]
    for k, (name, _) in enumerate(FUNCTIONS[1:13]):
        name = name.replace(' ', chr(160))
        t += 100 + 10 * k
        out.append(f'E {name} {sp - 64} {t} ' + ' '.join(map(str, values[k])))
        if k % 4 == 1:
            out.append(f'V main {sp - 80} {t + 7} {0x0007000100000000 + k}')
        if k == 4:
            out.append(f'P main {sp - 80} {t + 9} 1 2 3 4')
        if k == 6:
            for depth in range(4):
                out.append(f'E recurse {sp - 128 - 32 * depth} {t + 5 + depth} {depth}')
            for depth in range(3, -1, -1):
                out.append(f'X recurse {sp - 128 - 32 * depth} {t + 50 - 7 * depth} {depth * depth}')
        t += 60 + 25 * k
        if name == 'tail':
            out.append(f'T tail {sp - 64} {t}')
            out.append(f'E work {sp - 64} {t + 3} 1')
            out.append(f'X work {sp - 64} {t + 40} 2')
            t += 50
        elif k == 7: # a longjmp over it, and over what it called
            out.append(f'E scale {sp - 128} {t - 10} 1')
        else:
            out.append(f'X {name} {sp - 64} {t} ' + ' '.join(map(str, results[k])))
    out.append(f'X main {sp} {t + 400} 0')
    out.append(f'X work {sp + 64} {t + 500} 1') # of before the trace
    out.append(f'E work {sp} {t + 600} 1') # until its end
    return '\n'.join(out) + '\n'


def rich():
    c = Chance(20261125)
    head = ['clock 1000 400 1700000000000000000', 'clock 4001000 1600400 1700000000001600000', 'meta cores 3', 'meta host here',
            'meta record_ticks 25.0', 'meta cost.entry 26.0 26.0 2.0 0.1 100', 'meta cost.exit 24.0 24.0 2.0 0.1 100', 'process 100 1 1100 3900000 0 /bin/test ./test -v one', *functions(),
            'in 200', 'process 200 100 30000 3800000 9 /bin/child ./child', 'module 0x400000 0x500000 /bin/child',
            'function child_main argc:i4@0;i4@0', 'function child_work n:i8@0;i8@0',
            'in 100', 'kinds', 'event 7 1 net send a packet leaves', 'event 7 2 net got', 'event 9 4294967295 disk -', 'event 9 3 disk read',
            'unhooked /bin/test 0x999 tight it is too small', 'caller /bin/test 0x100 0x999']
    threads = {101: 'main', 102: 'worker one', 103: 'worker', 104: '"odd"\\name'}
    head += [f'thread {tid} {name}' for tid, name in threads.items()]
    head += ['in 200', 'thread 201 child', 'in 100']
    names = [name.replace(' ', chr(160)) for name, _ in FUNCTIONS]
    core = {101: 0, 102: 1, 103: 2, 104: 65535, 201: 1}
    stack = {tid: [] for tid in core}
    out, last, t, sent = [], None, 2000, 0

    def at(tid):
        nonlocal last
        if last != (core[tid], tid):
            last = (core[tid], tid)
            out.append(f'at {core[tid]} {tid}')

    for tid in core:
        at(tid)
        out.append(f'R main 0 {t} {tid} 0x6e69616d')
        t += 5
    for step in range(700):
        tid = [101, 101, 102, 102, 103, 104, 201][c(7)]
        top = 0x7f0000000000 + 0x100000 * tid
        s = stack[tid]
        t += 3 + c(900) if step != 300 else 60000
        if c(40) == 0 and tid != 104: # it goes to another core, from which another thread has gone
            core[tid] = c(3)
            at(tid)
            out.append(f'S main 0 {t} {tid}')
            t += 1
        at(tid)
        what = c(100)
        if step in (150, 420):
            out.append(f'lost {3 + step % 7}')
        if step == 500:
            out.append(f'lose 4 {t - 2000}')
        if what < 45 and len(s) < 9 or not s:
            name = names[c(14)] if tid != 201 else ['child_main', 'child_work'][c(2)]
            sp = (s[-1][1] if s else top) - 48 - 16 * c(3)
            s.append((name, sp))
            out.append(f'E {name} {sp} {t} ' + ' '.join(str(c(300) - 5 & 2**64 - 1) for _ in range(4)))
        elif what < 86:
            name, sp = s.pop()
            out.append(f'X {name} {sp} {t} {c(1000)} {c(9)}')
        elif what < 88 and len(s) > 2: # two are left at once
            s.pop()
            name, sp = s.pop()
            out.append(f'X {name} {sp} {t} 1')
        elif what < 91 and tid != 201:
            name, sp = s.pop()
            out.append(f'T {name} {sp} {t}')
            t += 2
            out.append(f'E work {sp} {t} {c(50)}')
            s.append(('work', sp))
        elif what < 94:
            sent += 1
            out.append(f'M main {s[-1][1] - 8} {t} {0xea << 56 | 5 << 12 | sent}')
            other = 103 if tid != 103 else 101
            t += 20 + c(50)
            at(other)
            out.append(f'N main {0x7f0000000000 + 0x100000 * other - 8000} {t} {0xeb << 56 | 5 << 12 | sent}')
        elif what < 98:
            out.append(f'V main {s[-1][1] - 8} {t} {(7 + 2 * c(2)) << 48 | (1 + c(3)) << 32 | c(100)}')
        else:
            out.append(f'P main {s[-1][1] - 8} {t} {c(5)} {c(70)}')
            out.append(f'c main {s[-1][1] - 8} {t} 4 5')
        if step == 299:
            head.append(f'pause {t + 1000} {t + 50000} frozen 1 17')
            head.append(f'change {t + 900} {t + 950} 0 trace work on')
        if step == 200:
            head.append(f'hold {tid} {t + 10} {t + 40} room')
        if step == 350:
            head.append(f'hold 101 {t + 1} {t + 900} modules')
    return '\n'.join(head + out) + '\n'


def deep():
    c = Chance(20261129)
    head = ['clock 500 1000 1700000000000000000', 'clock 2000500 1001000 1700000000001000000', 'meta cores 2', 'meta host deep',
            'meta record_ticks 30.0', 'process 100 1 600 0 0 /usr/bin/server server --port 80', 'function main argc:i4@0,argv:p@1;i4@0', 'function serve fd:i4@0,length:u8@1;i8@0', 'function parse n:u4@0;i4@0',
            'function read fd:i4@0,buffer:p@1,length:u8@2;i8@0', 'function futex word:p@0;i4@0', 'function lock m:p@0;i4@0',
            'function std::map<int,std::string>::find k:i4@0;p@0', 'function std::map<int,long>::find k:i4@0;p@0',
            'process 501 100 700 1900000 256 /usr/bin/worker worker', 'in 501', 'module 0x400000 0x500000 /usr/bin/worker',
            'function main argc:i4@0,argv:p@1;i4@0', 'function work ;i4@0',
            'in 100', 'exec 90000', 'thread 100 server', 'thread 502 pool/1', 'thread 503 pool/2', 'in 501', 'thread 501 worker', 'in 100', 'kinds',
            'function do_futex', 'function ret_from_irq', 'function timer_tick',
            'waker 502 100 0 0 futex 1 pool/1', 'waker 0 0 2 0 timer_tick 2 swapper', 'waker 503 100 1 1 ret_from_irq 0 pool/2',
            'stack do_futex futex lock', 'stack timer_tick ret_from_irq']
    threads, names = [100, 501, 502, 503], ['serve', 'parse', 'read', 'futex', 'lock', 'std::map<int,std::string>::find', 'std::map<int,long>::find']
    on, stack, preempted, out, t = {0: 100, 1: 501}, {tid: [] for tid in threads}, {}, [], 1000

    def switch(core, tid, could):
        nonlocal t
        out.append(f'at {core} {tid}')
        out.append(f'flags {0x40 if could else 0}')
        out.append(f'S switch 0 {t} {tid} 0 0 {on[core] | could << 32}')
        out.append('flags 0')
        on[core] = tid
        t += 1 + c(40)

    for core in on:
        out.append(f'at {core} {on[core]}')
        out.append(f'S switch 0 {t} {on[core]} 0 0 0')
        t += 3
    for step in range(900):
        core = c(2)
        t += 20 + c(1500)
        if c(4) == 0 or on[core] == 0xffffffff: # another thread, or none
            free = [tid for tid in threads if tid not in on.values()]
            to = free[c(len(free))] if c(5) else 0xffffffff
            if to != on[core]:
                if to != 0xffffffff and c(2):
                    out.append(f'at {core} {to}')
                    out.append(f'W wake {1 << 63 | 1 + c(3)} {t}')
                    t += 5 + c(60)
                switch(core, to, int(c(3) == 0 and on[core] != 0xffffffff))
            continue
        tid = on[core]
        s, top = stack[tid], 0x7f0000000000 + 0x100000 * tid
        out.append(f'at {core} {tid}')
        if step in (333, 640):
            out.append(f'unseen {2 + step % 3} {t - 3000}')
        if c(20) == 0: # an interrupt, in which a function is called
            out += ['flags 64', f'E timer_tick {0xffffc90000000000 - 64 * core} {t}', f'X timer_tick {0xffffc90000000000 - 64 * core} {t + 60} 0', 'flags 0']
            t += 90
        if not s:
            name = 'main' if tid in (100, 501) and c(2) else 'work' if tid == 501 else names[0]
            s.append((name, top))
            out.append(f'E {name} {top} {t} {c(9)} {c(4000)}')
        elif (c(100) < 52 and len(s) < 7):
            name = names[1 + c(6)]
            sp = s[-1][1] - 32 - 16 * c(2)
            s.append((name, sp))
            out.append(f'E {name} {sp} {t} {c(7)} {0x7f0000000000 + c(99)} {c(5) * 1024} 0')
        else:
            name, sp = s.pop()
            failed = c(6) == 0
            result = 2**64 - 1 if failed and name in ('read', 'serve') else 0 if 'find' in name and failed else c(3000)
            out.append(f'X {name} {sp} {t} {result} 0 0 {2 + c(3) if failed else 0}')
    return '\n'.join(head + out) + '\n'


def host(name, clock):
    """A hundred questions of alpha's, a millisecond each, which beta answers; where clock tells the ticks of alpha's time."""
    c, out = Chance(5), []
    out += [f'meta host {name}', f'meta boot_id {name}', f'process 100 1 {clock(500)} 0 0 /bin/{name} {name} -v']
    out += [f'clock {clock(t)} {clock(t) + 77 * 10**9} {17 * 10**17 + t}' for t in (0, 2 * 10**8)]
    out += ['function ask i:i4@0;i4@0', 'function answer i:i4@0;i4@0', f'thread {100 if name == "alpha" else 200} {name}', 'kinds', f'at 0 {100 if name == "alpha" else 200}']
    t = 10**6
    for n in range(1, 101):
        there, back = 20000 + c(9000), 20000 + c(9000)
        sent, got, told, heard = t, t + there, t + there + 9000 + c(5000), t + there + 15000 + back
        if name == 'alpha':
            out += [f'E ask 0x7000 {clock(sent - 400)} {n}', f'M ask 0x6ff8 {clock(sent)} {0xea << 56 | 5 << 12 | n}',
                    f'N ask 0x6ff8 {clock(heard)} {0xeb << 56 | 6 << 12 | n}', f'X ask 0x7000 {clock(heard + 500)} {n * n}']
        else:
            out += [f'N answer 0x8ff8 {clock(got)} {0xeb << 56 | 5 << 12 | n}', f'E answer 0x9000 {clock(got + 300)} {n}',
                    f'X answer 0x9000 {clock(told - 200)} {n * n}', f'M answer 0x8ff8 {clock(told)} {0xea << 56 | 6 << 12 | n}']
        t += 10**6 + c(5000)
    return '\n'.join(out) + '\n'


def alpha():
    return host('alpha', lambda t: t)


def beta():
    return host('beta', lambda t: round(t * 1.00005) + 5 * 10**9)


def lossy():
    """Records lost where they can be: before a core's first, between, behind its last; of one source only; of a core that has no other."""
    return '''clock 0 0 1700000000000000000
clock 2000000 1000000 1700000000001000000
meta cores 3
thread 1 main
thread 2 other
function f a:i4@0;i4@0
function g ;v
at 0 1
lost 2
E f 0x1000 1000 1
E g 0x0f00 1100
lost 3
X f 0x1000 2000 2
E f 0x1000 3000 1
X f 0x1000 4000 2
at 1 2
E f 0x2000 1500 5
lose 4 1600
E g 0x1f00 2500
X g 0x1f00 2600
X f 0x2000 2700 6
E f 0x2000 2800 7
at 2 2
lost 5
X f 0x2000 5000 8
E g 0x2000 5100
X g 0x2000 5200
at 1 2
lost 6
'''
