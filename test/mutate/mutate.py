#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests catch faults? Puts those of the list in, one at a time, builds, and runs the tests nearest to each.

usage: mutate.py [--list FILE] [--only WORD] [--check] [--from N]
--check: only whether each fault can still be put in; --only: faults whose place or description has WORD.
Prints a line for each fault, and last "N faults, N caught". Exit status 1 when one can not be put in.

The list (test/mutate/faults) has blocks with an empty line between:

	file.c: what is wrong now
	tests: NAME...		as test/run.sh takes them; those of the block before when it is left out
	-old line		one or several, exactly as they are there, once in the file
	+new line		as many as are wanted
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get('DEVTRACE_ROOT') or os.path.dirname(os.path.dirname(HERE))


class Fault:
    def __init__(self, block, tests):
        head, *rest = block
        self.path, self.what = re.match(r'(\S+): (.*)', head).groups()
        self.tests, self.old, self.new = tests, [], []
        for line in rest:
            if line.startswith('tests: '):
                self.tests = line[7:].split()
            elif line.startswith('-'):
                self.old.append(line[1:])
            elif line.startswith('+'):
                self.new.append(line[1:])
            else:
                sys.exit(f'{head}: a line begins with -, + or tests: {line}')

    def put(self, text):
        """the text with the fault in it; None: it does not fit"""
        old = '\n' + '\n'.join(self.old) + '\n'
        if not self.old or text.count(old) != 1:
            return None
        return text.replace(old, '\n' + ''.join(line + '\n' for line in self.new))


def read(path):
    faults, tests = [], []
    with open(path, encoding='utf-8') as f:
        blocks = re.split(r'\n{2,}', ''.join(line for line in f if not line.startswith('# ')).strip('\n'))
    for block in blocks:
        fault = Fault(block.split('\n'), tests)
        tests = fault.tests
        faults.append(fault)
    return faults


def run(argv, d, seconds):
    try:
        p = subprocess.Popen(argv, cwd=d, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             errors='replace', start_new_session=True, env=dict(os.environ, DEVTRACE_ROOT=d))
        out, _ = p.communicate(timeout=seconds)
        return p.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        p.communicate()
        return -1, 'not ok - it does not end\n'


def try_fault(fault, d):
    path = os.path.join(d, fault.path)
    with open(path, encoding='utf-8') as f:
        text = f.read()
    changed = fault.put(text)
    if changed is None:
        return 'DOES NOT FIT'
    try:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(changed)
        status, out = run(['make', '-j2', 'tests'], d, 600)
        if status:
            return 'DOES NOT BUILD: ' + out.strip().split('\n')[-1][:100]
        for name in fault.tests:
            status, out = run([os.path.join(d, 'test', 'run.sh'), name], d, 600)
            if status:
                first = re.search(r'not ok .*', out)
                return f'caught by {name}: {first.group()[:100] if first else "status " + str(status)}'
        return 'NOT CAUGHT by ' + ' '.join(fault.tests)
    finally:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--list', default=os.path.join(HERE, 'faults'))
    a.add_argument('--only', default='')
    a.add_argument('--from', dest='first', type=int, default=1)
    a.add_argument('--check', action='store_true')
    args = a.parse_args()
    faults = read(args.list)
    chosen = [(n, f) for n, f in enumerate(faults, 1) if args.only in f'{f.path}: {f.what}' and n >= args.first]
    if args.check:
        bad = 0
        for n, f in chosen:
            with open(os.path.join(ROOT, f.path), encoding='utf-8') as source:
                if f.put(source.read()) is None:
                    bad += 1
                    print(f'{n}: {f.path}: {f.what}: does not fit')
        print(f'{len(chosen)} faults, {bad} do not fit')
        return 1 if bad else 0
    tree = tempfile.mkdtemp(prefix='mutate-')
    d = os.path.join(tree, 'devtrace')
    run_dir = os.path.join(tree, 'run')
    os.mkdir(run_dir, 0o700)
    os.chmod(tree, 0o755)
    os.environ['XDG_RUNTIME_DIR'] = run_dir
    counts = {'caught': 0, 'NOT': 0, 'DOES': 0}
    try:
        subprocess.run(['git', 'clone', '-q', ROOT, d], check=True)
        status, out = run(['make', '-j2', 'tests'], d, 900)
        if status:
            sys.exit('the tree as it is does not build: ' + out[-1000:])
        for n, f in chosen:
            begun = time.time()
            answer = try_fault(f, d)
            counts[answer.split()[0]] += 1
            print(f'{n:3} {time.time() - begun:4.0f} s  {f.path}: {f.what}: {answer}', flush=True)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    print(f'{len(chosen)} faults, {counts["caught"]} caught')
    return 1 if counts['DOES'] else 0


if __name__ == '__main__':
    sys.exit(main())
