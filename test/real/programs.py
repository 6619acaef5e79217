#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every program of this system with an option that does no harm, recorded with options chosen at random: output and status as
alone, and a trace that `devtrace check' finds sound. Those that wait for their standard input without one are attached to
meanwhile, too, and let go before they end or not. What does not do the same twice alone is passed over.

As root the programs run as nobody, without a network; in a folder that is empty, with an empty standard input.

usage: programs.py DEVTRACE [SEED [MOST [NAME...]]]
       SEED: which options, and the order (anew each time); MOST: so many programs at most (all); NAME: only these
A line for each that differs or is not sound; then how many there were. Status 1: some differed.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PLACES = ('/usr/bin', '/usr/sbin', '/usr/games', '/usr/libexec')
# what never ends, asks for a terminal, or kills others
NOT = {'yes', 'cat', 'tee', 'reboot', 'shutdown', 'halt', 'poweroff', 'init', 'telinit', 'kill', 'pkill', 'killall', 'killall5', 'skill', 'snice',
       'tmux', 'screen', 'devtrace', 'systemctl', 'journalctl'}
ARGUMENTS = (['--version'], ['--help'], ['-V'], ['/nonexist'], [], ['-x', '1'], ['--', '-'])
WAYS = (['-F', '*'], ['-l'], ['-F', '*', '-f'], ['-l', '-f'], ['-F', '*:*', '-f'], ['--failed', '-l'], ['-F', '*:*', '--budget', '20%'],
        ['-F', 'libc.so.6:*'], ['-l', '--sum', 'count by function'], ['-l', '--filter', 'time>1us', '-f'], ['-l', '--backtrace=*'], ['-F', '*', '--last', '1s'],
        ['-F', '*:*', '-N', 'mem*', '-f'], ['-l', '-p', 'overwrite', '-b', '64K'])
MORE = ([], [], [], ['-S'], ['-p', 'drop', '-b', '64K'], ['-p', 'wait', '-b', '64K'])
ATTACHED = (['-F', '*'], ['-F', '*:*'], ['-l'], ['-F', '*:*', '-f'], ['-l', '-S'], ['-F', 'libc.so.6:*', '-p', 'drop', '-b', '64K'], ['-l', '--failed'])
INPUT = b'3 4 + p\none two\n' * 400 + b'{"a": [1, 2]}\n'
READERS = (['calls'], ['report'], ['report', '--left-out'], ['graph'], ['cat'], ['export', '--chrome'], ['sql', '-n', '-c', 'SELECT * FROM calls LIMIT 1000'])
# devtrace's own answers where there is nothing to record, or it must not be
REFUSED = (b'setuid or setgid', b'is a Go program', b'no function that was chosen can be hooked', b'not found in PATH', b'has no functions', b'no pattern', b'no function matches',
           b'nothing was recorded', b'calls no libraries', b'no such function', b'matches nothing', b'is for another processor')


def programs(wanted):
    found = []
    for place in PLACES:
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            path = os.path.join(place, name)
            try:
                with open(path, 'rb') as f:
                    elf = f.read(20)
            except OSError:
                continue
            # 64 bits, x86-64
            if elf[:5] != b'\x7fELF\x02' or elf[18:20] != b'\x3e\0' or not os.access(path, os.X_OK) or name in NOT or name.startswith('devtrace'):
                continue
            if not wanted or name in wanted:
                found.append(path)
    return found


def run(argv, folder, timeout):
    env = {'PATH': '/usr/bin:/bin:/usr/sbin', 'HOME': folder, 'LC_ALL': 'C.UTF-8', 'TERM': 'dumb', 'XDG_RUNTIME_DIR': folder + '/../run'}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            status = p.wait(timeout)
        except subprocess.TimeoutExpired:
            status = 'endless'
        try:
            os.killpg(p.pid, signal.SIGKILL) # what it has left
        except ProcessLookupError:
            pass
        p.wait()
        out.seek(0)
        err.seek(0)
        # a signal's number is told as shells do
        return 128 - status if isinstance(status, int) and status < 0 else status, out.read(1 << 22), err.read(1 << 16)


def waits(pid):
    """whether a process comes to wait for what comes on its standard input"""
    for _ in range(40):
        try:
            with open(f'/proc/{pid}/syscall') as f:
                call = f.read().split()
        except OSError:
            return False
        # read of 0, or poll, select and their like
        if call[:2] == ['0', '0x0'] or call[:1] in (['7'], ['23'], ['270'], ['271']):
            return True
        time.sleep(0.05)
    return False


class Campaign:
    def __init__(self, devtrace, rng, room):
        self.devtrace, self.rng, self.room = devtrace, rng, room
        self.tried = self.differ = self.unsteady = self.refused = 0
        self.other = ['unshare', '-n', 'setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'] if os.getuid() == 0 else []

    def say(self, what, path, arguments, way, why):
        self.differ += 1
        print(f'{what}: {" ".join([path, *arguments])}, recorded with {" ".join(way)}: {why}', flush=True)

    def one(self, path, arguments, way):
        folder, trace = self.room + '/in', self.room + '/out/t.db'
        for name in ('in', 'out'):
            shutil.rmtree(f'{self.room}/{name}', ignore_errors=True)
            os.mkdir(f'{self.room}/{name}')
            os.chmod(f'{self.room}/{name}', 0o777)
        # as with devtrace, the program leads no group of processes
        alone = [run(self.other + ['timeout', '20', path, *arguments], folder, 30)[:2] for _ in range(2)]
        if alone[0] != alone[1] or alone[0][0] in ('endless', 124):
            self.unsteady += 1
            return
        status, out, err = run(self.other + ['timeout', '100', self.devtrace, 'record', '-o', trace, *way, '--', path, *arguments], folder, 120)
        if any(r in err for r in REFUSED):
            self.refused += 1
            return
        if (status, out) != alone[0]:
            # the program may see the time, or what others do
            again = run(self.other + ['timeout', '20', path, *arguments], folder, 30)[:2]
            if again != alone[0]:
                self.unsteady += 1
                return
            self.say('differs', path, arguments, way, f'status {status} for {alone[0][0]}, {len(out)} bytes of output for {len(alone[0][1])}; {err[-300:]!r}')
            return
        self.tried += 1
        if os.path.exists(trace):
            self.read(path, arguments, way, trace)

    def fed(self, path, way, trace, leaves):
        """status and output of a program that gets its input when it has waited for it, and been attached to; None: it does not wait"""
        env = {'PATH': '/usr/bin:/bin:/usr/sbin', 'HOME': self.room + '/in', 'LC_ALL': 'C.UTF-8', 'TERM': 'dumb'}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            p = subprocess.Popen([*self.other[:2], *(['timeout', '60'] if not self.other else self.other[2:]), path], cwd=self.room + '/in', env=env, stdin=subprocess.PIPE,
                                 stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
            attached = None
            try:
                if not waits(p.pid):
                    return None
                if way:
                    attached = subprocess.Popen([self.devtrace, 'attach', '-v', '-o', trace, *way, str(p.pid)], stdout=said, stderr=said, env=env)
                    for _ in range(600):
                        said.seek(0)
                        if attached.poll() is not None or b'attached' in said.read():
                            break
                        time.sleep(0.05)
                p.stdin.write(INPUT[:4000])
                p.stdin.flush()
                if attached and leaves:
                    time.sleep(self.rng.random() / 10)
                    attached.send_signal(signal.SIGINT)
                    attached.wait(60)
                p.stdin.write(INPUT[4000:])
                p.stdin.close()
                status = p.wait(30)
                if attached and not leaves:
                    attached.wait(60)
            except BrokenPipeError:
                status = p.wait(30)
            except subprocess.TimeoutExpired:
                status = 'endless'
            finally:
                for q in (attached, p):
                    if q and q.poll() is None:
                        q.kill()
                        q.wait()
                try:
                    p.stdin.close()
                except BrokenPipeError:
                    pass
            out.seek(0)
            said.seek(0)
            return status, out.read(1 << 22), said.read(1 << 16)

    def attached(self, path, way):
        for name in ('in', 'out'):
            shutil.rmtree(f'{self.room}/{name}', ignore_errors=True)
            os.mkdir(f'{self.room}/{name}')
            os.chmod(f'{self.room}/{name}', 0o777)
        trace = self.room + '/out/t.db'
        alone = [self.fed(path, None, None, False) for _ in range(2)]
        if not alone[0] or not alone[1] or alone[0][:2] != alone[1][:2] or alone[0][0] == 'endless':
            return
        status, out, err = self.fed(path, way, trace, self.rng.random() < .5) or ('it does not wait', b'', b'')
        if (status, out) != alone[0][:2]:
            again = self.fed(path, None, None, False)
            if again and again[:2] == alone[0][:2]:
                self.say('differs', path, ['<input'], ['attach', *way], f'status {status} for {alone[0][0]}, {len(out)} bytes of output for {len(alone[0][1])}; {err[-300:]!r}')
            return
        self.tried += 1
        if os.path.exists(trace):
            self.read(path, ['<input'], ['attach', *way], trace)

    def read(self, path, arguments, way, trace):
        status, out, err = run([self.devtrace, 'check', trace], self.room, 120)
        if status:
            self.say('not sound', path, arguments, way, (out + err)[-400:])
        reader = self.rng.choice(READERS)
        # a question comes after the trace
        words = [*reader[:-1], trace, reader[-1]] if reader[0] == 'sql' else [*reader, trace]
        status, out, err = run([self.devtrace, *words], self.room, 120)
        if status not in (0, 1) or b'please report' in err:
            self.say('cannot be read', path, arguments, way, f'{" ".join(reader)}: status {status}: {err[-300:]!r}')


def main():
    devtrace = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 31)
    most = int(sys.argv[3]) if len(sys.argv) > 3 else None
    rng = random.Random(seed)
    print(f'seed {seed}', flush=True)
    room = tempfile.mkdtemp()
    os.chmod(room, 0o755)
    os.mkdir(room + '/run')
    os.chmod(room + '/run', 0o700)
    if os.getuid() == 0:
        os.chown(room + '/run', 65534, 65534)
    campaign = Campaign(devtrace, rng, room)
    paths = programs(sys.argv[4:])
    rng.shuffle(paths)
    try:
        for path in paths[:most]:
            campaign.one(path, rng.choice(ARGUMENTS), rng.choice(WAYS) + rng.choice(MORE))
            campaign.attached(path, rng.choice(ATTACHED))
    finally:
        shutil.rmtree(room, ignore_errors=True)
    c = campaign
    print(f'{c.tried} programs, {c.differ} differ; {c.unsteady} not the same twice alone, {c.refused} that can not be recorded so')
    return 1 if c.differ or not c.tried else 0


sys.exit(main())
