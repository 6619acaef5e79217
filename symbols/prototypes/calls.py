#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Makes the tables of system calls anew: calls.def, and call-sets.def, which has the structures and
constants that sets.def lacks. usage: calls.py FOLDER, which has the headers of a kernel for modules
(test/kernel/build.sh 6.12 headers prints it).

Numbers, names and functions are those of the kernel's own tables (asm/syscalls_*.h, unistd_*.h),
parameters those of its prototypes (linux/syscalls.h, linux/compat.h), layouts the compiler's, for
each of the three kinds of callers: 64-bit, 32-bit and x32. calls.txt has what these do not say, and
libc.def which constants a parameter can have.
"""
import glob
import os
import re
import subprocess
import sys

from tables import HERE, write

KINDS = (('64', '-m64'), ('32', '-m32'), ('x32', '-mx32'))
X32 = 0x40000000
INCLUDE = ''.join(f'#include <{h}>\n' for h in (
    'linux/types.h', 'asm/stat.h', 'linux/stat.h', 'linux/time.h', 'linux/time_types.h', 'asm/statfs.h',
    'linux/resource.h', 'asm/poll.h', 'linux/eventpoll.h', 'linux/uio.h', 'linux/utsname.h', 'linux/sysinfo.h',
    'linux/times.h', 'asm/fcntl.h', 'asm/termios.h', 'linux/sched.h', 'linux/sched/types.h', 'linux/openat2.h',
    'asm/signal.h', 'asm/siginfo.h', 'linux/futex.h', 'asm/prctl.h', 'linux/membarrier.h', 'linux/seccomp.h',
    'linux/magic.h', 'linux/fs.h', 'linux/fcntl.h', 'asm/ioctls.h', 'linux/wait.h', 'linux/mman.h', 'linux/prctl.h', 'linux/random.h',
    'linux/signal.h')) + '''#undef sa_handler
#ifndef __i386__
#define stat64 stat
#endif
'''
PLAIN = {'char': 'i1', 'unsigned char': 'u1', 'short': 'i2', 'unsigned short': 'u2', 'umode_t': 'u4', 'int': 'i4',
         'unsigned int': 'u4', 'unsigned': 'u4', 'u32': 'u4', '__u32': 'u4', 's32': 'i4', '__s32': 'i4', 'pid_t': 'i4',
         'uid_t': 'u4', 'gid_t': 'u4', 'clockid_t': 'i4', 'timer_t': 'i4', 'key_t': 'i4', 'key_serial_t': 'i4',
         'mqd_t': 'i4', 'qid_t': 'i4', 'rwf_t': 'i4', 'old_uid_t': 'u2', 'old_gid_t': 'u2', 'aio_context_t': 'u8',
         'compat_pid_t': 'i4', 'compat_uint_t': 'u4', 'compat_int_t': 'i4', 'compat_ulong_t': 'u4',
         'compat_long_t': 'i4', 'compat_size_t': 'u4', 'compat_ssize_t': 'i4', 'compat_off_t': 'i4',
         'compat_mode_t': 'u4', 'compat_uptr_t': 'p', 'compat_key_t': 'i4', 'compat_aio_context_t': 'u4',
         'uint32_t': 'u4', 'unsigned short int': 'u2', 'enum landlock_rule_type': 'i4'}
ADDRESS = r'addr|start|brk|new_addr|newsp|tls|address|vaddr'
DIRECTORY = re.compile(r'(old|new|from|to)?dfd|(old|new)dfd')
DESCRIPTOR = re.compile(r'(in_|out_|ep|socket_|group_|dev|fan(otify)?_|old|new|pid|uffd|mount_)?fd(_in|_out|in|out)?|fildes|sockfd|ufd')


def lines_of(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        return [line.rstrip() for line in f if line.strip() and line[0] != '#']


class Rules:
    """calls.txt."""

    def __init__(self):
        self.c, self.structures, self.sets, self.uses, self.leads, self.results = [], {}, {}, {}, {}, {}
        self.bits, self.names, self.whens = {}, {}, {}
        for line in lines_of('calls.txt'):
            what, _, rest = line.partition(' ')
            words = rest.split()
            if what == 'c':
                self.c.append(rest)
            elif what == 'structure':
                name, _, declared = words[0].partition(':')
                self.structures[name] = (declared or name, words[1:])
            elif what == 'set':
                self.sets[words[0]] = (words[1], words[2:])
            elif what == 'names':
                self.names[words[0]] = words[1:]
            elif what == 'bits':
                self.bits[words[0]] = words[1:]
            else:
                to = {'use': self.uses, 'when': self.whens, 'lead': self.leads, 'result': self.results}[what]
                to.update({w: words[0] for w in words[1:]})


def compiled(source, flag):
    """What `#V NAME VALUE' lines the compiler writes: {NAME: VALUE}."""
    out = subprocess.run(['gcc', '-w', flag, '-S', '-x', 'c', '-o', '-', '-I/usr/include/x86_64-linux-gnu', '-'],
                         input=source, capture_output=True, text=True, check=False)
    if out.returncode:
        bad = sorted({int(n) for n in re.findall(r'<stdin>:(\d+)', out.stderr)})
        sys.exit(out.stderr + '\n'.join(source.splitlines()[n - 1] for n in bad))
    return {n: int(v) for n, v in re.findall(r'#V (\S+) (-?\d+)', out.stdout)}


def values_of(names, flag, declared=''):
    enums = set(re.findall(r'(\w+) =', declared))
    macros = subprocess.run(['gcc', flag, '-dM', '-E', '-x', 'c', '-I/usr/include/x86_64-linux-gnu', '-'],
                            input=INCLUDE, capture_output=True, text=True, check=True).stdout
    defined = {line.split()[1] for line in macros.splitlines()}
    wanted = set()
    for n in names:
        wanted |= {m for m in defined if re.fullmatch(n[1:-1], m)} if n[0] == '/' else {n} & (defined | enums | {n for n in names if n.startswith('MEMBARRIER_')})
    wanted = {w for w in wanted if '(' not in w}
    # the compiler writes operands of 31 bits only
    part = compiled(INCLUDE + declared + '\nvoid f(void) {\n' + ''.join(
        ''.join(
            f'asm volatile("#V {w}:{i} %c0" :: "i"((int)((unsigned long long)({w}) >> {31 * i} & 0x7fffffff)));\n'
            for i in range(3)) for w in sorted(wanted)) + '}\n', flag)
    whole = {w: sum(part[f'{w}:{i}'] << 31 * i for i in range(3)) for w in wanted if f'{w}:0' in part}
    return {w: v - (1 << 64) if v >> 63 else v for w, v in whole.items()}


def layouts(rules, flag):
    """{structure: (size, [(member, offset, size, kind, length)])}: kind is i, u or p; length that of an array."""
    source = INCLUDE + '\n'.join(rules.c) + '\nvoid f(void) {\n'
    for name, (declared, members) in rules.structures.items():
        ok = f'struct {declared}'
        source += f'asm volatile("#V {name} %c0" :: "i"(sizeof({ok})));\n'
        for m in members:
            m = re.split('[#@=]', m)[0]
            if m == '...':
                continue
            e = f'(({ok} *)0)->{m}'
            source += f'''asm volatile("#V {name}.{m}.offset %c0" :: "i"(__builtin_offsetof({ok}, {m})));
asm volatile("#V {name}.{m}.size %c0" :: "i"(sizeof({e})));
asm volatile("#V {name}.{m}.class %c0" :: "i"(__builtin_classify_type({e})));
'''
    return compiled(source + '}\n', flag)


def signs(rules, flag):
    """Which members are negative numbers: {structure.member: 1}."""
    source = INCLUDE + '\n'.join(rules.c) + '\nvoid f(void) {\n'
    v = layouts(rules, flag)
    for name, (declared, members) in rules.structures.items():
        for m in members:
            m = re.split('[#@=]', m)[0]
            if m != '...' and v[f'{name}.{m}.class'] == 1:
                source += (f'asm volatile("#V {name}.{m} %c0" :: "i"((__typeof__(((struct {declared} *)0)->{m}))-1 < 0));\n')
    return v, compiled(source + '}\n', flag)


def describe_structures(rules, kind, flag, sets):
    """Adds to sets {NAME: description}; names of a kind's own layouts end in its name."""
    v, signed = signs(rules, flag)
    sizes = {}
    for name, (_, members) in rules.structures.items():
        out = []
        for m in members:
            if m == '...':
                out.append('...:v@0')
                continue
            member, mark, of = re.match(r'(\w+)([#@=]?)(\w*)', m).groups()
            offset, size = v[f'{name}.{member}.offset'], v[f'{name}.{member}.size']
            letter = 'p' if v[f'{name}.{member}.class'] == 5 else 'i' if signed.get(f'{name}.{member}') else 'u'
            length = 1
            if mark == '@':
                typed = f'a#{of}' + ('' if kind == '64' else f'_{kind}')
            elif mark == '=' and of == 't':
                typed = 's'
                out.append(f'{member}:s@{offset}/{size}')
                continue
            elif mark == '=' and of == 'x':
                typed = f'p{size}'
            elif letter == 'p' and size > 8 or name == 'numbers':  # an array of numbers
                width = 8 if name == 'sysinfo' and kind == '64' else 4
                typed, length = ('u' if name == 'sysinfo' else 'i') + str(width), size // width
            else:
                typed = letter + str(size) if letter != 'p' else f'p{size}'
            if mark == '#':
                typed += '#' + of
            if length > 1:
                typed = [f'{"" if i else member}:{typed}@{offset + i * (size // length)}' for i in range(length)]
                out.append(f'{member}:b@{offset}') if name == 'sysinfo' else None
                out += [t if i or name == 'numbers' else t.replace(member, '', 1) for i, t in enumerate(typed)]
                out.append(f':c@{offset}') if name == 'sysinfo' else None
                continue
            out.append(f'{member}:{typed}@{offset}')
        sizes[name] = v[name]
        out = [re.sub(r'^(value|bits):', ':', o) for o in out]
        own = name + ('' if kind == '64' else f'_{kind}')
        sets[own] = f'm:{name}*{v[name]};' + ','.join(out)
    return sizes


def describe_sets(rules, sets):
    names = [p for _, words in rules.sets.values() for w in words
             for p in ([w] if w[0] == '/' else w.split('/'))]
    value = values_of(names, '-m64', '\n'.join(rules.c))
    for name, (kind, words) in rules.sets.items():
        out, seen = [], set()
        for w in words:
            given = sorted((m for m in value if re.fullmatch(w[1:-1], m)), key=lambda m: (value[m], m)) if w[0] == '/' \
                else [w.split('/')[0]]
            mask = None if w[0] == '/' else w.partition('/')[2]
            for m in given:
                if m not in value or mask == 'none' or value[m] in seen:
                    if m not in value:
                        print(f'{m} is not defined here', file=sys.stderr)
                    continue
                seen.add(value[m])
                bits = 18446744073709551615 if kind == 'x' else value.get(mask, mask)
                out.append(f'{m}={value[m]}' + (f'/{bits}' if bits else ''))
        sets[name] = f'{"u" if kind == "u" else "f"}:{name};' + ','.join(out)
    for name, words in rules.bits.items():
        sets[name] = f'k:{name};' + ','.join(f'{w}={i}' for i, w in enumerate(words))
        sets['signo'] = 'f:signo;' + ','.join(f'SIG{w}={i + 1}/{2 ** 64 - 1}' for i, w in enumerate(words))


def prototypes_of(folder, rules):
    """{function without sys_: [(C type, name)]}, and the same for callers of 32 bits."""
    common = re.sub('cloud-amd64$|amd64$', 'common', folder)
    small, found = {}, {}
    for header, prefix, to in (('include/linux/compat.h', 'compat_sys_', small),
                               ('arch/x86/include/asm/syscalls.h', 'sys_', found),
                               ('include/linux/syscalls.h', 'sys_', found)):
        path = os.path.join(common, header)
        if not os.path.exists(path):
            continue
        with open(path, encoding='utf-8') as f:
            text = re.sub(r'/\*.*?\*/|^#.*?$', '', f.read(), flags=re.S | re.M)
        for name, inside in re.findall(prefix + r'(\w+)\(([^;{]*?)\)\s*;', text, flags=re.S):
            parameters = []
            for p in ' '.join(inside.split()).split(','):
                m = re.fullmatch(r'(.*?)\s*(\w+)?(\[\w*\])?', p.strip())
                kind, named = m.group(1).strip(), m.group(2) or ''
                if p.strip() == 'void' or not p.strip():
                    continue
                if not kind or (named in PLAIN and '*' not in p) or kind in ('const', 'struct') or (kind, named) in (('unsigned', 'int'), ('unsigned', 'long')) or named == '__user':
                    kind, named = p.strip(), ''
                parameters.append((kind + (' *' if m.group(3) else ''), named))
            if name not in to or not all(n for _, n in to[name]):
                to[name] = parameters
    # whose declarations are not in these headers, or have no names
    found['mmap'] = [('unsigned long', n) for n in ('addr', 'len', 'prot', 'flags', 'fd', 'off')]
    found['arch_prctl'] = [('int', 'option'), ('unsigned long', 'arg2')]
    found['rt_sigaction'] = [('int', 'sig'), ('const struct sigaction __user *', 'act'),
                             ('struct sigaction __user *', 'oact'), ('size_t', 'sigsetsize')]
    found['clone'] = [('unsigned long', 'clone_flags'), ('unsigned long', 'newsp'), ('int __user *', 'parent_tidptr'),
                      ('int __user *', 'child_tidptr'), ('unsigned long', 'tls')]
    found['rt_sigreturn'] = found['vfork'] = found['fork'] = found['restart_syscall'] = []
    found['socketcall'] = [('int', 'call'), ('unsigned long __user *', 'args')]
    for name, parameters in small.items():  # some have names only where they are 64-bit
        if len(found.get(name, [])) == len(parameters):
            small[name] = [(c, n or other) for (c, n), (_, other) in zip(parameters, found[name])]
    for name, given in rules.names.items():
        for to in (found, small):
            if name in to or to is found:
                types = [c for c, _ in to.get(name, [])] or ['unsigned long'] * len(given)
                to[name] = list(zip(types, given))
    return found, small


def tables_of(folder):
    """[(kind, number, name, function)]"""
    generated = os.path.join(folder, 'arch/x86/include/generated')

    def read(path, pattern):
        with open(os.path.join(generated, path), encoding='utf-8') as f:
            return re.findall(pattern, f.read())
    out = []
    call = r'__SYSCALL(?:_NORETURN|_WITH_COMPAT|_COMPAT_NORETURN|_WITH_COMPAT_NORETURN)?\((\d+), (\w+)(?:, (\w+))?'
    numbers = {k: {int(n): name for name, n in read(f'uapi/asm/unistd_{k}.h', r'__NR_(\w+) (\d+)')} for k in ('64', '32')}
    numbers['x32'] = {int(n): name for name, n in
                      read('uapi/asm/unistd_x32.h', r'__NR_(\w+) \(__X32_SYSCALL_BIT \+ (\d+)')}
    for kind, path in (('64', 'asm/syscalls_64.h'), ('32', 'asm/syscalls_32.h')):
        for number, function, small in read(path, call):
            if int(number) in numbers[kind]:
                out.append((kind, int(number), numbers[kind][int(number)], small or function))
    functions = {name: function for kind, _, name, function in out if kind == '64'}
    for path in ('asm/syscalls_x32.h',):
        if os.path.exists(os.path.join(generated, path)):
            functions.update({numbers['x32'][int(n)]: s or f for n, f, s in read(path, call)})
    out += [('x32', n, name, functions.get(name, 'sys_' + name)) for n, name in numbers['x32'].items()]
    return out


def libc_sets():
    """{(function, position): set}"""
    out = {}
    for line in lines_of('libc.def'):
        m = re.fullmatch(r'"(\w+)\((.*)\)[^)]*', line)
        for i, p in enumerate(m.group(2).split(',') if m else []):
            s = re.match(r'[iu]\d#(\w+) ', p)
            if s:
                out[m.group(1), i] = s.group(1)
    return out


class Writer:
    def __init__(self, rules, folder, sets, known):
        self.rules, self.sets, self.known = rules, sets, known
        (self.prototypes, self.small), self.libc, self.constants = prototypes_of(folder, rules), libc_sets(), {}
        self.used = set()
        wanted = sorted(set(re.findall(r'\?\d=(\w+)', ' '.join(list(rules.leads.values()) + list(rules.uses)))))
        self.constants = values_of(wanted, '-m64')

    def letter(self, c, kind):
        c = re.sub(r'\b(const|__user|volatile)\b', '', c)
        c = ' '.join(c.split())
        if '*' in c or c in ('__sighandler_t', 'fd_set'):
            return 'p'
        if c in PLAIN:
            return PLAIN[c]
        word = '4' if kind == '32' else '8'
        if c in ('u64', '__u64', 'loff_t', 'off_t') and kind != '32':
            return 'i8' if c in ('loff_t', 'off_t') else 'u8'
        return ('i' if c in ('long', 'off_t', 'loff_t', 'ssize_t', 'time_t') else 'u') + word

    def structure(self, name, kind):
        name = {'__kernel_timespec': 'timespec', 'old_timespec32': 'timespec32', '__kernel_old_timeval': 'timeval',
                'timeval': 'timeval', 'old_timeval32': 'timeval32', '__kernel_itimerspec': 'itimerspec',
                '__kernel_old_itimerval': 'itimerval', 'compat_rusage': 'rusage', 'compat_statfs': 'statfs',
                'old_itimerval32': '', 'compat_sigaction': 'sigaction', 'compat_stat': 'stat', 'sched_param': 'sched_param',
                'compat_rlimit': 'rlimit', 'compat_tms': 'tms', 'compat_sysinfo': 'sysinfo'}.get(name, name)
        return self.own(name, kind) if name in self.rules.structures else ''

    def own(self, name, kind):
        own = name if kind == '64' else f'{name}_{kind}'
        if kind != '64' and self.sets.get(own) == self.sets.get(name):
            own = name
        return own

    def leads(self, function, parameter, i, c, kind):
        plain = re.sub('_time(32|64)$', '', function)
        given = self.rules.leads.get(f'{function}.{parameter}') or self.rules.leads.get(f'{plain}.{parameter}')
        if given == '-':
            return ''
        if given:
            given = re.sub(r'\?(\d)=(\w+)', lambda m: f'?{m.group(1)}={self.constants[m.group(2)] & 0xffffffff}', given)
            if function.endswith('_time32'):
                given = re.sub(r'S:timespec\b', 'S:timespec32', given)
            return re.sub(r'S:(\w+)', lambda m: 'S:' + self.own(m.group(1), kind), given)
        if '*' not in c:
            if DIRECTORY.fullmatch(parameter) or (DESCRIPTOR.fullmatch(parameter) and self.letter(c, kind) != 'p'):
                return '<f'
            return ''
        if re.fullmatch(r'const char( __user)? \*', c):
            return '<t'
        m = re.fullmatch(r'(const )?struct (\w+)( __user)? \*', c)
        name = self.structure(m.group(2), kind) if m else ''
        return name and (f'<S:{name}' if m.group(1) else f'>0S:{name}')

    def line(self, kind, number, name, function):
        small = function.startswith('compat_')
        base = re.sub('^(compat_)?sys_(ia32_)?|^compat_sys_', '', function)
        first, second = (self.small, self.prototypes) if small else (self.prototypes, self.small)
        parameters = first.get(base, second.get(base))
        if parameters is None:
            parameters = [('unsigned long', f'arg{i + 1}') for i in range(6)]
        out = []
        for i, (c, named) in enumerate(parameters[:6]):
            libc = self.libc.get((name, i)) or self.libc.get((base, i))
            named = named or f'arg{i + 1}'
            letter = self.letter(c, kind)
            leads = self.leads(base, named, i, c, kind)
            if leads == '' and named != 'envp' and base != name and f'{name}.{named}' in self.rules.leads:
                leads = self.leads(name, named, i, c, kind)
            used = self.rules.uses.get(f'{base}.{named}') or self.rules.uses.get(f'{name}.{named}')
            used = used or (libc if letter[0] in 'iu' else '')
            if (re.fullmatch(ADDRESS, named) or (base, named) == ('ioctl', 'arg')) and letter in ('u8', 'u4'):
                letter = 'p'
            if leads.startswith('<t') and '?' not in leads:
                letter = 's'
            if DIRECTORY.fullmatch(named) and leads == '<f':
                letter, used = 'i4', 'at'
            elif leads == '<f':
                letter = 'i4'
            if used and used not in self.sets and used not in self.known:
                used = ''
            if used:
                self.used.add(used)
                letter += '#' + used
            for s in re.findall(r'S:(\w+)', leads):
                self.used.add(s)
            when = self.rules.whens.get(f'{base}.{named}', '')
            out.append(f'{letter} {named}{leads}' + (when and '|' + when))
        result = self.rules.results.get(base, self.rules.results.get(name, ''))
        typed = {'f': 'i8=f', 'p': 'p', '': 'i8'}.get(result, 'i8' + result)
        if result.startswith('#'):
            self.used.add(result[1:])
        if name in ('exit', 'exit_group', 'rt_sigreturn', 'sigreturn'):
            typed = 'v' if name.startswith('exit') else 'i8'
        symbol = ('+' if small else '') + base
        return f'{kind} {number} {name} {symbol}({",".join(out)}){typed}'


def main():
    if len(sys.argv) != 2 or not glob.glob(sys.argv[1] + '/arch/x86/include/generated/asm/syscalls_64.h'):
        sys.exit('usage: calls.py FOLDER, with the headers of a kernel')
    rules = Rules()
    known = {line[1:].split()[0] for line in lines_of('sets.def') if line[0] == '"'}
    sets = {}
    for kind, flag in KINDS:
        describe_structures(rules, kind, flag, sets)
    describe_sets(rules, sets)
    sets['texts'] = 'g:array;'
    sets['pieces'] = 'q:pieces;'
    sets['message'] = 'h:message;'
    sets['file'] = 'd:file;'
    w = Writer(rules, sys.argv[1].rstrip('/'), sets, known)
    lines = [w.line(*t) for t in tables_of(sys.argv[1])]
    write('calls.def', lines, 'System calls: of which callers, number, name, function, parameters.')
    for n in sorted(w.used):  # what they are made of
        w.used |= set(re.findall(r'#(\w+)', sets.get(n, '')))
    used = {n for n in w.used if n in sets and (n not in known or sets[n][0] == 'm')} | {'texts', 'pieces', 'message', 'file'}
    write('call-sets.def', [f'{n} {sets[n]}' for n in sorted(used)], 'Structures and constants of system calls.')
    print(f'{len(lines)} system calls, {len(used)} structures and sets', file=sys.stderr)


if __name__ == '__main__':
    main()
