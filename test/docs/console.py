#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Runs the commands that a document shows, and compares what they print with what the document says.

usage: console.py DOCUMENT...     TAP: a line for each command

document.py finds them. Each document has one bash, in an empty folder; what a user reads first is run without rights.
  ```console blocks: `$ COMMAND', lines `> ...' go on with it. The lines below are what it prints:
    - numbers, with their units, are equal to any others, as are addresses;
    - a line `...' stands for any number of lines, `...' at the end of a line for the rest of the line; the lines around it
      are compared as all others are.
    A command whose lines end with `[status N]' ends with that status, all others with 0.
  ```sh blocks, and the lists of commands in manual pages: what they print is not compared. They end with 0, or with
    what the document says.
  <!-- run ... -->: what is run beforehand; it ends with 0.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

import document

TIME = 120  # seconds for a command
PREPARING = 900  # for what is run beforehand, which may build a program
MARK = "status-of-the-command"
BEFOREHAND = "prepare() {"
DEVTRACE = os.path.join(os.environ.get("DEVTRACE_ROOT", "."), "build/devtrace")
ORDINARY = ("start.md", "answers.md", "language.md")  # root runs their commands as nobody


def plain(line):
    """A line without what differs from run to run."""
    line = re.sub(r"\b(0x[0-9a-f]+|[0-9a-f]{12,16})\b", "H", line)
    line = re.sub(r"\+H\b", "+H", line)
    line = re.sub(r"(?<![A-Za-z_/.-])\d[\d,]*(\.\d+)?( ?(ns|us|ms|s|%|[KMG]i?B))?(?![A-Za-z_])", "N", line)
    return re.sub(r"\s+", " ", line).strip()


def same(want, have):
    """Whether a line that was printed is the one that the document shows."""
    if want.endswith("..."):
        return plain(have).startswith(plain(want[:-3]))
    return plain(have) == plain(want)


def fits(want, have):
    """Whether the lines that were printed are those that the document shows; else the first one that is missing, where
    most of those in front of it are there."""
    # where the next line may be: what is printed in front of it fits
    at = {0}
    for line in want:
        if line.strip() == "...":
            at = set(range(min(at), len(have) + 1))
        else:
            at = {i + 1 for i in at if i < len(have) and same(line, have[i])}
        if not at:
            return line
    return None if len(have) in at else "(the end)"


def ordinary(path):
    """How a process is run as nobody, for a document that says that no rights are needed; nothing if this can not be."""
    who = {"user": 65534, "group": 65534, "extra_groups": []}
    if os.geteuid() != 0 or os.path.basename(path) not in ORDINARY:
        return {}
    return who if subprocess.run(["test", "-x", DEVTRACE], cwd="/", check=False, **who).returncode == 0 else {}


class Shell:
    def __init__(self, folder, who):
        env = dict(os.environ)
        if who:
            os.chown(folder, who["user"], who["group"])
            env["HOME"] = env["XDG_RUNTIME_DIR"] = folder
        self.bash = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=folder, stdin=subprocess.PIPE, env=env,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **who)

    def run(self, command, seconds):
        """Returns the lines that a command printed, and its status; None: it took too long."""
        signal.alarm(seconds)
        out = []
        self.bash.stdin.write(f"{{ {command}\n}} </dev/null; status=$?; echo; echo {MARK} $status\n".encode())
        self.bash.stdin.flush()
        for line in self.bash.stdout:
            line = line.decode("utf-8", "replace").rstrip("\n")
            if line.startswith(MARK):
                signal.alarm(0)
                while out and not out[-1]:
                    out.pop()
                return out, int(line.split()[1])
            out.append(line)
        signal.alarm(0)
        return out, None

    def end(self):
        try:
            os.killpg(self.bash.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.bash.wait()


def cases(path):
    """Yields (line number, command, lines that are to be printed or None, statuses) of what is run of a document."""
    for piece in document.pieces(path):
        if piece.reason:
            continue
        if piece.kind == document.SCRIPT:
            # a function, so that a line can `|| return'
            yield piece.number, BEFOREHAND + "\n" + "\n".join(piece.lines) + "\n}; prepare", None, (0,)
        elif piece.kind == document.LIST:
            for number, command in document.listed(piece):
                yield number, command, None, (0, *piece.may)
        elif piece.kind == document.CONSOLE:
            for number, command, want in document.shown(piece):
                status = 0
                if want and (m := re.fullmatch(r"\[status (\d+)\]", want[-1])):
                    status, want = int(m[1]), want[:-1]
                yield number, command, want, (status,)


def name_of(command):
    lines = command.splitlines()
    return lines[0] if lines[0] != BEFOREHAND else f"(beforehand) {lines[1]}"


def unsound(folder):
    """How many traces the commands of a document have left, and what `check' says of those that are not sound."""
    traces, said = 0, []
    for path in glob.glob(folder + "/**/*.db", recursive=True):
        with open(path, "rb") as f:
            if f.read(72)[68:].strip(b"\0") != b"dtrc":
                continue
        traces += 1
        p = subprocess.run([DEVTRACE, "check", "-qs", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if p.returncode != 0:
            said += [path, *p.stdout.decode("utf-8", "replace").splitlines()]
    return traces, said


def main():
    failed = n = 0
    for path in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            shell = Shell(folder, ordinary(path))
            signal.signal(signal.SIGALRM, lambda *_, shell=shell: shell.end())
            for number, command, want, statuses in cases(path):
                n += 1
                out, have = shell.run(command, PREPARING if command.startswith(BEFOREHAND) else TIME)
                missing = None if want is None else fits(want, out)
                good = have in statuses and missing is None
                failed += not good
                print(f"{'ok' if good else 'not ok'} {n} - {os.path.basename(path)}:{number}: {name_of(command)}")
                if not good:
                    print(f"# status {have}; the document says {statuses}" if have not in statuses else
                          f"# not printed: {missing}")
                    print("\n".join("# " + line for line in out[:20]), flush=True)
            shell.end()
            traces, said = unsound(folder)
            if traces:
                n += 1
                failed += bool(said)
                print(f"{'not ok' if said else 'ok'} {n} - {os.path.basename(path)}: the {traces} traces that it leaves are sound")
                print("".join(f"# {line}\n" for line in said), end="", flush=True)
    print(f"1..{n}")
    return failed > 0


sys.exit(main())
