# SPDX-License-Identifier: MIT
"""
usage: constants.py STRACE CALLS: compares the constants in strace's lines with those in the lines of devtrace calls, of the
same run of a program or of two like it, from its call access("/the/beginning") on. Prints where they differ. Without
arguments: prints the functions that it compares.
"""
import re
import sys

# of each function of the C library: the system call that strace shows for it, and by name of the argument its place there
CALLS = {
    'access': ('access', {'mode': 1}), 'prctl': ('prctl', {'option': 0}), 'ioctl': ('ioctl', {'request': 1}),
    'setrlimit': ('prlimit64', {'resource': 1}), 'getrlimit': ('prlimit64', {'resource': 1}),
    'fcntl': ('fcntl', {'cmd': 1}), 'lseek': ('lseek', {'whence': 2}), 'shutdown': ('shutdown', {'how': 1}),
    'madvise': ('madvise', {'advice': 2}), 'posix_fadvise': ('fadvise64', {'advise': 3}), 'kill': ('kill', {'sig': 1}),
    'sigaction': ('rt_sigaction', {'signum': 0}), 
    'timerfd_create': ('timerfd_create', {'clockid': 0, 'flags': 1}), 'epoll_ctl': ('epoll_ctl', {'op': 1}),
    'socket': ('socket', {'domain': 0, 'type': 1}), 'setsockopt': ('setsockopt', {'level': 1}),
    'getsockopt': ('getsockopt', {'level': 1}), 'sched_setscheduler': ('sched_setscheduler', {'policy': 1}),
    'setitimer': ('setitimer', {'which': 0}), 'getpriority': ('getpriority', {'which': 0}),
    'getrusage': ('getrusage', {'who': 0}), 'sigprocmask': ('rt_sigprocmask', {'how': 0}),
    'ptrace': ('ptrace', {'request': 0}), 'msgctl': ('msgctl', {'cmd': 1}), 'shmctl': ('shmctl', {'cmd': 1}),
    'semctl': ('semctl', {'cmd': 2}), 'open': ('openat', {'flags': 2, 'mode': 3}),
    'openat': ('openat', {'dirfd': 0, 'flags': 2, 'mode': 3}), 'mmap': ('mmap', {'prot': 2, 'flags': 3}),
    'mprotect': ('mprotect', {'prot': 2}), 'mremap': ('mremap', {'flags': 3}), 'msync': ('msync', {'flags': 2}),
    'mlockall': ('mlockall', {'flags': 0}), 'send': ('sendto', {'flags': 3}), 'recv': ('recvfrom', {'flags': 3}),
    'sendto': ('sendto', {'flags': 3}), 'sendmsg': ('sendmsg', {'flags': 2}), 'recvmsg': ('recvmsg', {'flags': 2}),
    'accept4': ('accept4', {'flags': 3}), 'eventfd': ('eventfd2', {'flags': 1}),
    'timerfd_settime': ('timerfd_settime', {'flags': 1}), 'epoll_create1': ('epoll_create1', {'flags': 0}),
    'inotify_init1': ('inotify_init1', {'flags': 0}), 'inotify_add_watch': ('inotify_add_watch', {'mask': 2}),
    'signalfd': ('signalfd4', {'flags': 3}), 'pipe2': ('pipe2', {'flags': 1}), 'dup3': ('dup3', {'flags': 2}),
    'flock': ('flock', {'operation': 1}), 'unlinkat': ('unlinkat', {'flags': 2}), 'linkat': ('linkat', {'flags': 4}),
    'fstatat': ('newfstatat', {'flags': 3}), 'renameat2': ('renameat2', {'flags': 4}),
    'statx': ('statx', {'flags': 2, 'mask': 3}), 'umount2': ('umount2', {'flags': 1}), 'mount': ('mount', {'mountflags': 3}),
    'unshare': ('unshare', {'flags': 0}), 'setns': ('setns', {'nstype': 1}), 'getrandom': ('getrandom', {'flags': 2}),
    'memfd_create': ('memfd_create', {'flags': 1}), 'fallocate': ('fallocate', {'mode': 1}),
    'splice': ('splice', {'flags': 5}), 'tee': ('tee', {'flags': 3}), 'close_range': ('close_range', {'flags': 2}),
    'wait4': ('wait4', {'options': 2}), 'waitid': ('waitid', {'options': 3}), 'setxattr': ('setxattr', {'flags': 4}),
    'msgget': ('msgget', {'msgflg': 1}), 'semget': ('semget', {'semflg': 2}), 'shmget': ('shmget', {'shmflg': 2}),
    'msgrcv': ('msgrcv', {'msgflg': 4}), 'mkdir': ('mkdir', {'mode': 1}), 'chmod': ('chmod', {'mode': 1}),
    'umask': ('umask', {'mask': 0}),
}

# names that programs do not use, because headers have another one for the number, or none, or it says nothing
OTHER = {'MSG_PROBE': 'MSG_PROXY', 'WSTOPPED': 'WUNTRACED', 'FASYNC': 'O_ASYNC', 'MAP_FILE': '', 'AT_STATX_SYNC_AS_STAT': '',
         'SIOCGSTAMP_OLD': 'SIOCGSTAMP', 'SIOCGSTAMPNS_OLD': 'SIOCGSTAMPNS', 'RLIMIT_OFILE': 'RLIMIT_NOFILE', '000': ''}
MORE = {'IN_ALL_EVENTS': 'IN_ACCESS IN_MODIFY IN_ATTRIB IN_CLOSE_WRITE IN_CLOSE_NOWRITE IN_OPEN IN_MOVED_FROM IN_MOVED_TO '
                         'IN_CREATE IN_DELETE IN_DELETE_SELF IN_MOVE_SELF'}
# names that the C library's headers, from which the tables are made, do not have
NONE = {'TCGETX', 'TCSETX', 'TCSETXF', 'TCSETXW', 'F_GETLK64', 'F_SETLK64', 'F_SETLKW64', 'F_GETOWNER_UIDS', 'F_CANCELLK',
        'MADV_COLLAPSE', 'CLOCK_SGI_CYCLE', 'SCHED_ISO', 'SCHED_DEADLINE', 'RUSAGE_BOTH', 'PTRACE_OLDSETOPTIONS', 'O_ACCMODE',
        'SOL_UDP', 'AF_VSOCK', 'SOL_CAN_BASE', 'SOL_CAN_RAW', 'SOL_SCTP', 'SOL_UDPLITE', 'SOL_IPX', 'SOL_AX25', 'SOL_ATALK',
        'SOL_NETROM', 'SOL_ROSE'}
# names that this strace does not have yet
NEWER = {'F_GET_RW_HINT', 'F_SET_RW_HINT', 'F_GET_FILE_RW_HINT', 'F_SET_FILE_RW_HINT', 'SOL_MPTCP', 'SOL_MCTP', 'SOL_SMC'}


def arguments(line):
    """'f(a, {b, c}) = 1' as its name and its arguments' texts."""
    name, inside = re.match(r'(\w+)\((.*)\) += ', line).groups()
    out, depth, quoted = [''], 0, False
    for c in inside:
        quoted ^= c == '"'
        depth += 0 if quoted else (c in '{[(') - (c in '}])')
        if c == ',' and not depth and not quoted:
            out.append('')
        else:
            out[-1] += c
    return name, [a.strip() for a in out]


def words(text):
    """The names in a value; octal numbers count. Of 'SNDCTL_TMR_START or TCSETS' the last."""
    names = set()
    text = text.rpartition(' or ')[2]
    if '_IOC(' in text:
        return names
    for word in re.split(r'\|', re.sub(r'/\*.*?\*/', '', text)):
        word = word.strip()
        if re.match(r'[A-Z_]', word) or re.fullmatch('0[0-7]+', word):
            names |= set(MORE.get(word, OTHER.get(word, word)).split())
    return names


def main():
    if len(sys.argv) == 1:
        print('\n'.join(CALLS))
        return
    strace, calls = [], []
    for line in open(sys.argv[1], encoding='utf-8', errors='replace'):
        if '"/the/beginning"' in line:
            strace = []
        if re.match(r'\w+\(.* = ', line):
            strace.append(arguments(line))
    for line in open(sys.argv[2], encoding='utf-8', errors='replace'):
        line = re.sub(r'^ *([0-9.]+ [mun]?s)? *', '', line)
        if re.match(r'\w+\(.*\)', line):
            calls.append(arguments(re.match(r'\w+\(.*?\)', line).group() + ' = '))
    wanted = {s for s, _ in CALLS.values()}
    strace = [s for s in strace if s[0] in wanted]
    different = compared = 0
    if len(strace) != len(calls):
        sys.exit(f'{len(strace)} calls of strace, {len(calls)} of devtrace')
    for (system, theirs), (name, ours) in zip(strace, calls):
        if CALLS[name][0] != system:
            sys.exit(f'{name} where strace has {system}{theirs}')
        value = dict(a.split('=', 1) for a in ours if '=' in a)
        for argument, place in CALLS[name][1].items():
            if argument not in value or place >= len(theirs):
                if (argument in value) != (place < len(theirs)):
                    print(f'{name}: {ours}; strace has {theirs}')
                continue
            if value[argument] == '?':
                continue  # only -A records a fifth argument
            want, got = words(theirs[place]), words(value[argument])
            compared += 1
            if want != got and not (want & NONE and not got) and not (not want and got <= NEWER):
                different += 1
                print(f'{name}: {argument}={value[argument]}, not {theirs[place]}')
    print(f'{compared} compared, {different} different', file=sys.stderr)


main()
