#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the tests catch faults? Puts those of the list in, one at a time, builds, and runs the tests nearest to each.

usage: mutate.py [--only WORD] [--check] [--state FILE] [--dir DIR] [--seed N] [--minutes N] [--again WORD]
--check    only whether each fault can still be put in
--only     faults whose place or description has WORD
--state    what came out is kept there, a line a fault, and what is there already is not tried again
--again    with --state: tries those whose line there has WORD once more ("NOT CAUGHT", "session/")
--dir      keeps the two copies of the tree there, for the next time
--seed     in a random order, so that those tried until it is stopped are a sample
--minutes  begins none after so long

Prints a line for each fault, and last how many of each folder were caught. Exit status 1 when one can not be put in.

A failing test counts only if it is the fault's: the case is run again, with the fault, where it has to fail, and in a copy
without, where it has to pass. What fails for other reasons (a loaded machine) is passed over.

The list (test/mutate/faults) has blocks with an empty line between:

	file.c: what is wrong now
	tests: NAME...		the nearest, most likely first; those of the block before when it is left out
	-old line		one or several, exactly as they are there, once in the file
	+new line		as many as are wanted

NAME is part of a test's path, as test/run.sh takes it (cases/cat, unit/test-store, known/probes); cases/cat:REGEX are only
the cases whose name fits, with a point where there is a space; golden/golden:NUMBER,... only these commands; san/NAME is the same built with sanitizers. kernel/kernel:REGEX
boots Linux 6.1 with these cases (18 s). made.py writes lists of faults that chance has made.
"""
import argparse
import collections
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get('DEVTRACE_ROOT') or os.path.dirname(os.path.dirname(HERE))
SECONDS = 300  # a test that takes longer with the fault than this does not end
MAKE = ['make', '-j2', 'CC=ccache gcc' if shutil.which('ccache') else 'CC=gcc']


class Fault:
    def __init__(self, block, tests):
        head, *rest = block
        self.path, self.what = re.match(r'(\S+): (.*)', head).groups()
        self.name = head
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


class Tree:
    """A copy of the tree, built, with a place of its own for what its tests write."""

    def __init__(self, parent, name):
        self.d = os.path.join(parent, name)
        self.tmp = os.path.join(parent, name + '.tmp')
        self.mark = f'MUTATE_RUN={os.getpid()}.{name}'
        self.builds = set()
        if not os.path.isdir(self.d):
            subprocess.run(['git', 'clone', '-q', ROOT, self.d], check=True)
        head = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(['git', 'fetch', '-q', ROOT, head], cwd=self.d, check=True)
        subprocess.run(['git', 'reset', '-q', '--hard', head], cwd=self.d, check=True)

    def environment(self):
        return dict(os.environ, DEVTRACE_ROOT=self.d, TMPDIR=self.tmp, XDG_RUNTIME_DIR=os.path.join(self.tmp, 'run'),
                    CMOCKA_MESSAGE_OUTPUT='TAP', CCACHE_NOHASHDIR='1', SERVE_REQUESTS='1000',
                    **dict([self.mark.split('=')]))

    def build(self, san, names=None):
        """all, or what is wanted for the tests of these names: most of the time goes by linking unit tests"""
        wanted = ['tests']
        if names and san in self.builds:
            paths = [t.path for name in names if name.startswith('san/') == san for t in Test.named(name, self.d)]
            where = 'build/san/' if san else 'build/'
            others = [p for p in paths if not p.startswith('build/')]
            wanted = [p for p in paths if p.startswith('build/')] + [where + 'test/tool/' + t for t in self.tools(others)]
            wanted += [where + 'devtrace'] if others and all('/golden/' in p for p in others) else ['all'] if others else []
        p = subprocess.run(MAKE + (['SAN=1'] if san else []) + wanted, cwd=self.d, env=self.environment(),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.builds.add(san)
        return None if p.returncode == 0 else p.stdout.strip().split('\n')[-1][:100]

    def tools(self, paths):
        """those of test/tool that are named in these tests or beside them"""
        text = ''
        for path in {p for path in paths for p in glob.glob(os.path.join(self.d, os.path.dirname(path), '*')) if os.path.isfile(p)}:
            if '/cases/' not in path or path.endswith(('.bash', '.py')) or os.path.relpath(path, self.d) in paths:
                with open(path, errors='replace') as f:
                    text += f.read()
        names = (os.path.basename(t)[:-2] for t in glob.glob(f'{self.d}/test/tool/*.c'))
        return [n for n in names if re.search(rf'\b{n}\b', text)]

    def clean(self):
        """ends what the tests have left, which has the mark in its environment, and removes their files"""
        for path in glob.glob('/proc/[0-9]*/environ'):
            try:
                with open(path, 'rb') as f:
                    if self.mark.encode() in f.read().split(b'\0'):
                        os.kill(int(path.split('/')[2]), signal.SIGKILL)
            except OSError:
                pass
        with open('/proc/mounts', encoding='utf-8') as f:
            for line in f:
                if line.split()[1].startswith(self.tmp + '/'):
                    subprocess.run(['fusermount3', '-q', '-u', '-z', line.split()[1]], check=False)
        shutil.rmtree(self.tmp, ignore_errors=True)
        os.makedirs(os.path.join(self.tmp, 'run'), exist_ok=True)
        os.chmod(self.tmp, 0o1777)
        os.chmod(os.path.join(self.tmp, 'run'), 0o700)


class Test:
    """A test program, perhaps only some of its cases."""

    def __init__(self, path, san, only):
        self.path, self.san, self.only = path, san, only
        self.numbered = path.endswith('/golden.t')  # a case can be run by its number

    @staticmethod
    def named(name, d):
        """all tests that a name of the list means, in the tree at d"""
        name, _, only = name.partition(':')
        san = name.startswith('san/')
        name = name[4:] if san else name
        units = 'build/san/test/unit/*' if san else 'build/test/unit/*'
        paths = [os.path.relpath(p, d) for g in ('test/cases/*.bats', 'test/*/*.t', units) for p in sorted(glob.glob(f'{d}/{g}'))]
        return [Test(p, san, only) for p in paths if name in p and not p.endswith(('.o', '.d'))]

    def argv(self, d, case=None):
        """to run it, or one case"""
        path = os.path.join(d, self.path)
        if path.endswith('/kernel/kernel.t'):
            return ['env', f'CASES=.*{self.only}', path, '6.1']
        if not path.endswith('.bats'):
            return [path] + ([self.only] if self.only else [])
        which = '^' + re.sub(r'([\\.^$*+?()[\]{}|/])', r'\\\1', case) + '$' if case else self.only
        return ['bats', '--tap'] + (['-f', which] if which else []) + [path]

    def run(self, tree, case=None, failing=None):
        """Runs it; for each "not ok" asks failing(case) whether to end it there. Returns the names of those that failed."""
        tree.clean()
        env = tree.environment()
        if self.san:
            env['DEVTRACE_BUILD'] = os.path.join(tree.d, 'build', 'san')
        names, until, ended = [], time.monotonic() + SECONDS, False
        p = subprocess.Popen(self.argv(tree.d, case), cwd=tree.d, env=env, stdin=subprocess.DEVNULL, errors='replace',
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        watch = subprocess.Popen(['sh', '-c', f'sleep {SECONDS}; kill -9 -{p.pid}'], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for line in p.stdout:
            m = re.match(r'not ok (\d*)(?: - )? ?(.*)', line)
            if not m:
                continue
            names.append((m[1] + ' ' if self.numbered else '') + m[2].strip())
            if failing and not ended:
                os.killpg(p.pid, signal.SIGSTOP)
                ended = failing(names[-1])
                os.killpg(p.pid, signal.SIGKILL if ended else signal.SIGCONT)
                if ended:
                    break
        status = p.wait()
        try:
            os.killpg(watch.pid, signal.SIGKILL)
        except OSError:
            pass
        watch.wait()
        tree.clean()
        if status and not names:
            names.append('it does not end' if time.monotonic() >= until else f'status {status}')
        return names


class Campaign:
    def __init__(self, parent):
        self.with_fault, self.without = Tree(parent, 'fault'), Tree(parent, 'base')
        for t in self.with_fault, self.without:
            bad = t.build(False)
            if bad:
                sys.exit('the tree as it is does not build: ' + bad)
        self.known = {}  # of tests that are run whole (or their cases together): which fail without a fault

    def is_the_faults(self, test, case):
        """whether the case fails with the fault and does not without"""
        if test.path.endswith('.bats') and not case.startswith(('status ', 'it does', 'setup_file', 'teardown_file')):
            return bool(test.run(Beside(self.with_fault), case)) and not test.run(self.without, case)
        if test.numbered and case.split()[0].isdigit():
            alone = Test(test.path, test.san, case.split()[0])
            return bool(alone.run(Beside(self.with_fault))) and not alone.run(self.without)
        key = test.path, test.only
        if key not in self.known:
            self.known[key] = test.run(self.without)
        return case not in self.known[key]

    def run_tests(self, fault):
        doubtful = []
        for name in fault.tests:
            san = name.startswith('san/')
            for tree in self.with_fault, self.without:
                if san and (tree is self.with_fault or True not in tree.builds):
                    bad = tree.build(True, fault.tests)
                    if bad:
                        return 'DOES NOT BUILD with sanitizers: ' + bad
            tests = Test.named(name, self.with_fault.d)
            if not tests:
                return 'DOES NOT FIT: no test is named ' + name
            for test in tests:
                caught = []

                def failing(case):
                    if self.is_the_faults(test, case):
                        caught.append(case)
                    else:
                        doubtful.append(case)
                    return bool(caught)

                names = test.run(self.with_fault, None, failing)
                if not caught and len(names) == 1 and names[0].startswith(('status ', 'it does')):
                    failing(names[0])
                if caught:
                    return f'caught by {test.path}: {caught[0][:100]}'
        return 'NOT CAUGHT by ' + ' '.join(fault.tests) + (f' (doubtful: {"; ".join(doubtful)})' if doubtful else '')

    def try_fault(self, fault):
        path = os.path.join(self.with_fault.d, fault.path)
        with open(path, encoding='utf-8') as f:
            text = f.read()
        changed = fault.put(text)
        if changed is None:
            return 'DOES NOT FIT'
        try:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(changed)
            bad = self.with_fault.build(False, fault.tests)
            return 'DOES NOT BUILD: ' + bad if bad else self.run_tests(fault)
        finally:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)


class Beside:
    """A tree whose test is stopped while another case of it runs: with another place, other marks."""

    def __init__(self, tree):
        self.d, self.tmp, self.mark = tree.d, tree.tmp + '2', tree.mark + '2'

    environment = Tree.environment
    clean = Tree.clean


def read_state(path):
    """what came out, by the faults' names; the last one counts"""
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as f:
        return {name: answer for name, answer in map(json.loads, f)}


def check(faults):
    bad = 0
    for f in faults:
        with open(os.path.join(ROOT, f.path), encoding='utf-8') as source:
            if f.put(source.read()) is None:
                bad += 1
                print(f'{f.name}: does not fit')
    print(f'{len(faults)} faults, {bad} do not fit')
    return 1 if bad else 0


def sum_up(answers):
    """by folder and in all; 1 if some could not be tried"""
    by = collections.defaultdict(collections.Counter)
    for name, answer in answers.items():
        by[name.split('/')[0]][answer.split()[0]] += 1
    for folder, n in sorted(by.items()):
        print(f'{folder:12} {n["caught"]:3} of {n["caught"] + n["NOT"]:3} caught')
    caught, missed, bad = (sum(n[k] for n in by.values()) for k in ('caught', 'NOT', 'DOES'))
    print(f'{caught + missed} faults, {caught} caught' + (f'; {bad} could not be tried' if bad else ''))
    return 1 if bad else 0


def arguments():
    a = argparse.ArgumentParser()
    a.add_argument('--list', default=os.path.join(HERE, 'faults'))
    a.add_argument('--only', default='')
    a.add_argument('--check', action='store_true')
    a.add_argument('--state')
    a.add_argument('--again')
    a.add_argument('--dir')
    a.add_argument('--seed', type=int)
    a.add_argument('--minutes', type=float, default=1e9)
    return a.parse_args()


def main():
    args = arguments()
    until = time.monotonic() + args.minutes * 60
    faults = [f for f in read(args.list) if args.only in f.name]
    if args.check:
        return check(faults)
    answers = {n: a for n, a in read_state(args.state).items() if n in {f.name for f in faults}}
    todo = [f for f in faults if f.name not in answers or (args.again and args.again in f'{f.name}: {answers[f.name]}')]
    if args.seed is not None:
        random.Random(args.seed).shuffle(todo)
    parent = args.dir or tempfile.mkdtemp(prefix='mutate-')
    os.makedirs(parent, exist_ok=True)
    os.chmod(parent, 0o755)
    try:
        campaign = Campaign(parent) if todo else None
        for f in todo:
            if time.monotonic() > until:
                break
            begun = time.monotonic()
            answers[f.name] = campaign.try_fault(f)
            print(f'{time.monotonic() - begun:4.0f} s  {f.name}: {answers[f.name]}', flush=True)
            if args.state:
                with open(args.state, 'a', encoding='utf-8') as out:
                    out.write(json.dumps([f.name, answers[f.name]]) + '\n')
    finally:
        if not args.dir:
            shutil.rmtree(parent, ignore_errors=True)
    return sum_up(answers)


if __name__ == '__main__':
    sys.exit(main())
