#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Python's own tests (Debian: libpython3-testsuite), each file alone and then recorded with options chosen at random: the
same cases end in the same way, and `check' finds the trace sound. They make processes, threads, signals, sockets and
terminals in ways that programs of ours do not.

usage: python-tests.py DEVTRACE [SEED [FILE...]]   a line for each file; ends with 1 if anything differs
PYTHON_TESTS: so many files, at random (all). PYTHON_ALONE: seconds that one may take alone (60); others are named.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PYTHON = '/usr/bin/python3'
OPTIONS = (['-F', '*', '-p', 'overwrite'], ['-F', '*', '-p', 'drop'], ['-F', '*', '--last', '2s'], ['-F', '*', '--filter', 'time>1ms'],
           ['-F', '*', '--budget', '20%'], ['-F', '*', '-f', '-p', 'overwrite'], ['-l'], ['-l', '-f'], ['-l', '--backtrace=open*'],
           ['-F', 'python3*:*', '-F', 'libc.so.6:*', '--budget', '5%'])
MOST = 400 << 20 # bytes of a trace that is checked


def run(command, limit, room):
    """status, what it has printed, and seconds"""
    env = dict(os.environ, XDG_RUNTIME_DIR=room, PYTHONHASHSEED='0')
    begin = time.monotonic()
    with open(room + '/out', 'w+b') as out:
        p = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=room, env=env, start_new_session=True)
        try:
            status = p.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            status = f'not ended after {limit:.0f} s'
        out.seek(0)
        return status, out.read().decode('utf-8', 'replace'), time.monotonic() - begin


def cases(text):
    """how each ended; of one that printed something itself that is not known"""
    found = {}
    for m in re.finditer(r'^(test\w* \([\w.]+\))(?:\n.*)? \.\.\. (\S*)', text, re.M):
        found[m[1]] = m[2] if m[2] in ('ok', 'FAIL', 'ERROR', 'skipped', 'expected') else None
    for m in re.finditer(r'^(FAIL|ERROR): (test\w* \([\w.]+\))', text, re.M):
        found[m[2]] = m[1]
    return found


def compare(devtrace, name, options, room, alone):
    """what differs; '': nothing does"""
    trace = room + '/t.db'
    if os.path.exists(trace):
        os.unlink(trace)
    status, text, took = run([devtrace, 'record', '-o', trace, *options, '--', *command(name)], 120 + 30 * alone[2], room)
    before, now = cases(alone[1]), cases(text)
    differ = sorted(k for k in before.keys() | now.keys() if before.get(k) != now.get(k) and None not in (before.get(k, ''), now.get(k, '')))
    said = []
    if status != alone[0]:
        said.append(f'status {alone[0]} alone, {status} recorded')
    said += [f'{k}: {before.get(k)} alone, {now.get(k)} recorded' for k in differ[:5]]
    if os.path.exists(trace) and os.path.getsize(trace) < MOST:
        check = subprocess.run([devtrace, 'check', '-q', trace], capture_output=True, text=True)
        if check.returncode:
            said.append((check.stdout + check.stderr).strip().split('\n')[0])
    print(f'{"differs" if said else "same"} {name} {" ".join(options)}: {len(before)} cases, {alone[2]:.1f} s alone, {took:.1f} s recorded', *said, sep='\n  ', flush=True)
    return said


def command(name):
    return [PYTHON, '-m', 'test', '-v', '-u', 'none', name]


def main():
    devtrace = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    chance, most = random.Random(seed), float(os.environ.get('PYTHON_ALONE', 60))
    names = sys.argv[3:]
    print(f'seed {seed}', flush=True)
    if not names:
        names = [n for n in subprocess.run([PYTHON, '-m', 'test', '--list-tests'], capture_output=True, text=True).stdout.split() if n.startswith('test')]
        chance.shuffle(names)
        names = names[:int(os.environ.get('PYTHON_TESTS', len(names)))]
    if not names:
        sys.exit('python3 has no module of its tests: apt install libpython3-testsuite')
    bad = tried = 0
    for name in names:
        room = tempfile.mkdtemp()
        try:
            alone = run(command(name), most, room)
            if not isinstance(alone[0], int):
                print(f'not tried: {name} takes longer than {most:.0f} s alone', flush=True)
                continue
            for options in chance.sample(OPTIONS, 2):
                tried += 1
                bad += bool(compare(devtrace, name, options, room, alone))
        finally:
            subprocess.run(['chmod', '-R', 'u+rwx', room])
            shutil.rmtree(room, ignore_errors=True)
    print(f'{tried} tried, {bad} differ')
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
