#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command that reads traces, with every option, prints of six made-up traces what it printed before.

What is right is for other tests to know. This one finds out what a change has changed that nobody meant to: each of its
outputs was looked at when it came in. Of a long output the first lines are kept, and a checksum of the whole.

usage: golden.t            TAP
       golden.t NUMBER,NUMBER...   only these lines of `commands' (those that are commands are counted)
       golden.t --accept [WORD]   what is printed now (of commands with WORD) is right: writes it to the file `expected`;
                           look at its difference
"""
import concurrent.futures
import difflib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import traces  # noqa: E402

# what calls waited is what else the machine did
os.environ['DEVTRACE_SWITCHES'] = 'no'
BUILD = os.environ.get('DEVTRACE_BUILD') or os.path.join(HERE, '..', '..', 'build')
DEVTRACE = os.path.abspath(os.path.join(BUILD, 'devtrace'))
TOOLS = os.path.abspath(os.path.join(HERE, '..', '..', 'build', 'test', 'tool'))
CASES = os.path.abspath(os.path.join(HERE, '..', 'cases')) # for perfetto-write.py
WRITETRACE = os.path.join(TOOLS, 'writetrace')
LINES = 30
STEPS = 'GOLDEN_STEPS' in os.environ # one after the other, each when a line is on standard input
WHOLE = 'GOLDEN_WHOLE' in os.environ # print all of what differs, to find out what it is; what was expected is not kept whole
SUM = 'sha256sum code' # what is said of these functions holds for these bytes
TRACES = ('plain', 'rich', 'deep', 'alpha', 'beta', 'lossy')


def shown(data, room):
    """What is kept of an output."""
    # ImageMagick has a program of this name, where it is installed
    data = re.sub(rb' \(the program import is traced by: [^\n]*\)', b'', data)
    text = data.decode('utf-8', 'backslashreplace').replace('\r', '').replace(room, 'ROOM')
    lines = text.split('\n')
    if WHOLE or (len(lines) <= 2 * LINES and len(text) < 6000):
        return text
    data = data.replace(room.encode(), b'ROOM')
    digest = hashlib.sha256(data).hexdigest()[:20]
    return '\n'.join(line[:300] for line in lines[:LINES]) + f'\n[{len(lines)} lines, {len(data)} bytes: {digest}]\n'


def run(command, cwd):
    none = cwd + '.run' # no sessions but those that it begins itself
    os.makedirs(none, mode=0o700, exist_ok=True)
    env = {**os.environ, 'XDG_RUNTIME_DIR': none, 'PATH': ':'.join([os.path.dirname(DEVTRACE), HERE, TOOLS, CASES, os.environ['PATH']]), 'TZ': 'UTC', 'PYTHONHASHSEED': '0', 'LC_ALL': 'C.UTF-8'}
    # into files: what is left behind keeps a pipe open
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(['bash', '-c', command], cwd=cwd, env=env, stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            status = p.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            status = f'{p.wait()}: it does not end'
        out.seek(0)
        err.seek(0)
        text, said = shown(out.read(), cwd), err.read()
    said = ''.join('! ' + line + '\n' for line in shown(said, cwd).rstrip('\n').split('\n')) if said else ''
    return text + ('\n' if text and not text.endswith('\n') else '') + said + (f'[exit status {status}]\n' if status else '')


def make_code(d):
    """code: made-up functions (code.py); bare: without its symbols."""
    for command in (f'{sys.executable} {HERE}/code.py 600 >code.S', 'as -o code.o code.S', 'ld -static -no-pie --build-id=none -z noexecstack -o code code.o',
                    'strip -o bare code'):
        subprocess.run(command, shell=True, cwd=d, check=True)


def in_room(command, d):
    """what it prints in a folder of its own: what one leaves in a file is not for the next"""
    with tempfile.TemporaryDirectory(dir=d) as room:
        for name in TRACES:
            shutil.copy(os.path.join(d, f'{name}.db'), room)
        for name in ('code', 'bare') if 'code' in command or 'bare' in command else ():
            shutil.copy(os.path.join(d, name), room)
        return run(command, room)


def main():
    with open(os.path.join(HERE, 'commands')) as f:
        commands = [line.strip() for line in f if line.strip() and not line.startswith('#')]
    expected, path = {}, os.path.join(HERE, 'expected')
    if os.path.exists(path):
        with open(path) as f:
            for block in re.split(r'^\$ ', f.read(), flags=re.M)[1:]:
                command, text = block.split('\n', 1)
                expected[command] = text
    accepts = sys.argv[1:2] == ['--accept']
    wanted = [c for c in commands if c not in expected or not sys.argv[2:] or sys.argv[2] in c] if accepts else commands
    if sys.argv[1:] and not accepts:
        numbers = set(map(int, sys.argv[1].split(',')))
        wanted = [c for i, c in enumerate(commands, 1) if i in numbers or c == SUM]
    d = tempfile.mkdtemp()
    try:
        for name in TRACES:
            subprocess.run([WRITETRACE, f'{name}.db'], cwd=d, input=getattr(traces, name)(), text=True, check=True)
        make_code(d)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            each = map if STEPS else pool.map
            got = zip(wanted, each(lambda command: in_room(command, d), wanted))
            return accept(path, commands, expected | dict(got)) if accepts else compare(got, expected, commands)
    finally:
        shutil.rmtree(d)


def accept(path, commands, got):
    for command in commands:
        # nor is a command of the test's own that did not run what was meant
        if 'not sound' in got[command] or re.search(r'^! (bash: |Traceback)', got[command], re.M):
            sys.exit(f'{command}: this can not be right:\n{got[command]}')
    with open(path, 'w') as f:
        for command in commands:
            f.write(f'$ {command}\n{got[command]}')
    return 0


def compare(got, expected, commands):
    number = {command: i for i, command in enumerate(commands, 1)}
    print(f'1..{len(commands)}')
    bad, other_code = 0, False
    for command, text in got:
        i = number[command]
        ok = text == expected.get(command)
        if command == SUM:
            other_code = not ok
        if other_code and re.search(r'\b(code|bare)\b', command):
            print(f'ok {i} {command} # SKIP this assembler makes other bytes of code.py', flush=True)
            continue
        bad += not ok
        print(f'{"" if ok else "not "}ok {i} {command}', flush=True)
        if STEPS:
            sys.stdin.readline()
        if not ok:
            for line in list(difflib.unified_diff((expected.get(command) or '').split('\n'), text.split('\n'), 'expected', 'now', n=1))[:30]:
                print('# ' + line, flush=True)
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
