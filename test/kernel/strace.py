#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Compares system calls as devtrace prints them with what strace has printed of the same run, call by
call: number, order, names, arguments, results. usage: strace.py STRACE DEVTRACE, the files of one
thread (strace -ff -y -s 256; devtrace calls --thread N --fields none). TAP lines for what differs.

strace prints these otherwise, and they are made equal:
- arguments have no names; NULL for 0x0; numbers in hexadecimal, octal or decimal as it likes
- texts: octal escapes; it cuts at -s, devtrace at 256 bytes, paths at 4096
- members of structures that only one of them shows, and "..." (each shows the same of some)
- what wait has filled in: {WIFEXITED(s) && WEXITSTATUS(s) == 0} is {exited 0}
- comments, such as the number of variables or of entries of a folder
- arguments that it leaves out because of another's value (the mode of open without O_CREAT)
- descriptors inside of structures, which have the names of their files only there
- the mask that sigreturn restores, which devtrace does not show; clone's stack, which comes first there
- htons(80), inet_addr("127.0.0.1"), and what was there before: [128 => 16]
- numbers that it has words for and devtrace has not (listed by WORDS below), and the other way round
"""
import re
import sys

ESCAPES = {'n': 10, 't': 9, 'r': 13, 'v': 11, 'f': 12, 'a': 7, 'b': 8, '\\': 92, '"': 34, 'e': 27}
# of these only that strace has a word there
WORDS = re.compile(r'(fcntl|ioctl|prctl|seccomp|futex|sysinfo|socket|sched_\w+|clock_\w+|membarrier|rseq|arch_prctl|lseek|'
                   r'mount|statfs|fstatfs|epoll_ctl|io_\w+|bpf|perf_event_open|add_key|keyctl|personality)$')


class Text:
    def __init__(self, data, cut):
        self.data, self.cut = data, cut

    def __repr__(self):
        return repr(self.data) + ('...' if self.cut else '')


def text_at(s, i):
    """The text whose '"' is at i; returns it and where it ends."""
    out = bytearray()
    i += 1
    while s[i] != '"':
        if s[i] != '\\':
            out += s[i].encode('utf-8', 'surrogateescape')
            i += 1
            continue
        i += 1
        octal = re.match('[0-7]{1,3}', s[i:])
        if s[i] == 'x':
            out.append(int(s[i + 1:i + 3], 16))
            i += 3
        elif octal:
            out.append(int(octal[0], 8) & 255)
            i += len(octal[0])
        else:
            out.append(ESCAPES.get(s[i], ord(s[i])))
            i += 1
    i += 1
    cut = s.startswith('...', i)
    return Text(bytes(out), cut), i + 3 * cut


def number(word):
    """The value of a number or a product of numbers; None: it is none."""
    if re.fullmatch(r'-?\d+(\*-?\d+)+', word):
        n = 1
        for p in word.split('*'):
            n *= int(p)
        return n & (1 << 64) - 1
    if re.fullmatch(r'-?(0x[0-9a-fA-F]+|\d+)', word):
        sign = -1 if word[0] == '-' else 1
        word = word.lstrip('-')
        n = int(word, 16) if word.startswith('0x') else int(word, 8) if re.fullmatch('0[0-7]+', word) else int(word)
        return sign * n & (1 << 64) - 1
    return {'NULL': 0, 'RLIM64_INFINITY': (1 << 64) - 1, 'RLIM_INFINITY': (1 << 64) - 1, 'SIG_DFL': 0, 'SIG_IGN': 1,
            'FD_CLOEXEC': 1}.get(word)


def value_at(s, i, ends):
    """The value at i, which one of these characters ends; returns it and where it ends."""
    while i < len(s) and s[i] == ' ':
        i += 1
    if s[i:i + 1] == '"':
        v, i = text_at(s, i)
        return v, i
    if s[i:i + 1] == '[' or s[i:i + 2] == '~[':
        if re.match(r'~?\[[A-Z0-9_]*( [A-Z0-9_]+)*\]', s[i:]) and not re.match(r'\[[A-Z0-9_]+\|', s[i:]):
            j = s.index(']', i)
            words = s[i:j].strip('~[').split()
            return ('mask', s[i] == '~', frozenset(w[3:] if w.startswith('SIG') else w for w in words)), j + 1
        out, i = [], i + 1
        while s[i] != ']':
            v, i = value_at(s, i, ',]')
            out.append(v)
            i = skip(s, i, ',')
        return out, i + 1
    if s[i:i + 1] == '{' and re.match(r'\{(WIF|exited|killed|stopped|continued)', s[i:]):
        j = s.index('}', i)
        m = re.search(r'WEXITSTATUS\(s\) == (\d+)', s[i:j])
        k = re.search(r'WTERMSIG\(s\) == (\w+)', s[i:j])
        return (f'exited {m[1]}' if m else f'killed {k[1]}' if k else s[i + 1:j]), j + 1
    if s[i:i + 1] == '{':
        out, i = {}, i + 1
        while s[i] != '}':
            m = re.match(r'(\w+)=', s[i:])
            if m:
                v, i = value_at(s, i + len(m[0]), ',}')
                out[m[1]] = v
            elif s.startswith('...', i):
                i += 3
            else:
                v, i = value_at(s, i, ',}')
                out[len(out)] = v
            i = skip(s, i, ',')
        return out, i + 1
    j, depth = i, 0
    while j < len(s) and (depth or s[j] not in ends):
        if s[j] == '"':
            _, j = text_at(s, j)
            continue
        depth += s[j] in '([<' and not (s[j] == '<' and s[j + 1:j + 2] == '<')
        depth -= s[j] in ')]>' and not (s[j] == '>' and s[j - 1] in '-=')
        j += 1
    return word(s[i:j]), j


def skip(s, i, what):
    while i < len(s) and s[i] in ' ' + what:
        i += 1
    return i


def word(w):
    w = w.strip().split(' => ')[-1]
    w = re.sub(r'^(htons|htonl|inet_addr|makedev)\("?(.*?)"?\)$', r'\2', w)
    m = re.fullmatch(r'(-?\w+)<(.*)>', w, re.S)
    if m:
        return ('fd', m[1], re.sub(r'<.*>$', '', m[2]))
    n = number(w)
    if n is not None:
        return n
    if '|' in w:
        numbers = [number(p) for p in w.split('|')]
        rest = sum(n for n in numbers if n is not None)
        return ('flags', frozenset(p for p, n in zip(w.split('|'), numbers) if n is None), rest)
    return w


def parse(line):
    """(name, [argument], result), or None if the line is no call."""
    plain, i = '', 0
    while i < len(line):  # comments, but not in texts
        if line[i] == '"':
            _, j = text_at(line, i)
            plain += line[i:j]
            i = j
        elif line.startswith('/*', i):
            j = line.index('*/', i) + 2
            i = j
        else:
            plain += line[i]
            i += 1
    m = re.match(r'\s*(\w+)\(', plain)
    if not m:
        return None
    i, out = len(m[0]), []
    while plain[i] != ')':
        named = re.match(r'[A-Za-z_]\w*=(?!=)', plain[i:])
        i += len(named[0]) if named else 0
        v, i = value_at(plain, i, ',)')
        out.append(v)
        i = skip(plain, i, ',')
    result = re.match(r'\)\s*=\s*(.*)', plain[i:])
    result = result[1].strip() if result else '?'
    error = re.match(r'-\d+ (E\w+)', result)
    return m[1], out, error[1] if error else word(result.split(' (')[0]) if '<' in result else word(result.split(' ')[0])


def equal(a, b, name):
    """Does a, strace's, say the same as b?"""
    if isinstance(a, Text) and isinstance(b, Text):
        n = min(len(a.data), len(b.data))
        return a.data[:n] == b.data[:n] and (len(a.data) == len(b.data) or a.cut and len(a.data) == n or b.cut and len(b.data) == n)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y, name) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        keys = a.keys() & b.keys()
        return bool(keys) and all(equal(a[k], b[k], name) for k in keys)
    if isinstance(a, tuple) and a[0] == 'mask' and isinstance(b, tuple) and b[0] == 'mask':
        return a == b or (len(a[2]) == 0 and len(b[2]) == 0)
    if isinstance(a, tuple) and a[0] == 'fd' and isinstance(b, int):
        return (number(a[1]) or 0) & 0xffffffff == b & 0xffffffff
    if a == b:
        return True
    # a number for which only one of them has words
    if WORDS.match(name) and isinstance(a, (str, tuple)) != isinstance(b, (str, tuple)) and \
            (isinstance(a, int) or isinstance(b, int)):
        return True
    if isinstance(a, int) and isinstance(b, int):  # of 4 bytes
        return a & 0xffffffff == b & 0xffffffff and (a >> 32 in (0, 0xffffffff) and b >> 32 in (0, 0xffffffff))
    return False


def compare(a, b):
    """What is different between two calls; '': nothing."""
    if a[0] != b[0]:
        return 'the name'
    theirs = a[1]
    if a[0] == 'clone':
        theirs = [x for x in theirs if isinstance(x, tuple)]
    elif a[0] == 'rt_sigreturn':
        theirs = []
    for i, (x, y) in enumerate(zip(theirs, b[1])):
        if not equal(x, y, a[0]):
            return f'argument {i + 1}: {x!r} and {y!r}'
    if len(b[1]) < len(theirs):
        return 'too few arguments'
    if a[2] != b[2] and a[2] != '?' and not equal(a[2], b[2], a[0]):
        return f'the result: {a[2]!r} and {b[2]!r}'
    return ''


def calls_of(path):
    with open(path, encoding='utf-8', errors='surrogateescape') as f:
        lines = [line.rstrip('\n') for line in f]
    out = []
    for line in lines:
        if re.match(r'\s*(\w+)\(', line):
            try:
                call = parse(line)
            except (IndexError, ValueError):
                print(f'# not understood: {line[:300]}')
                call = (line[:20], [], '?')
            out.append((call, line))
    return out


def main():
    theirs, ours = calls_of(sys.argv[1]), calls_of(sys.argv[2])
    # strace's own child does these before it executes the program
    while ours and theirs and ours[0][0][0] != theirs[0][0][0]:
        ours.pop(0)
    bad = 0
    if len(ours) != len(theirs):
        print(f'# {len(theirs)} calls by strace, {len(ours)} by devtrace')
        bad += 1
    for (a, x), (b, y) in zip(theirs, ours):
        different = compare(a, b)
        if different:
            bad += 1
            if bad < 30:
                print(f'# {different}\n#   strace:   {x[:400]}\n#   devtrace: {y.strip()[:400]}')
            if different == 'the name':
                break
    print(f'{"not ok" if bad or not ours else "ok"} - {len(theirs)} calls, {bad} differ')
    return 1 if bad or not ours else 0


if __name__ == '__main__':
    sys.exit(main())
