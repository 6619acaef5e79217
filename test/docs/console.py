#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Runs the commands that a document shows, and compares what they print with what the document says.

usage: console.py DOCUMENT...     TAP: a line for each command

What is run are the blocks that begin with ```console. A line `$ COMMAND' is given to one bash for the
whole document, in an empty folder; lines `> ...' behind it go on with it. The lines below are what it prints:
  - numbers, with their units, are equal to any others, as are addresses;
  - a line `...' stands for any number of lines, `...' at the end of a line for the rest of the line.
A command whose lines end with `[status N]' ends with that status, all others with 0.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

TIME = 120  # seconds for a command
MARK = "status-of-the-command"


def blocks(path):
    """Yields (line number, command, lines that are to be printed) of a document."""
    inside, command, where, out = False, None, 0, []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not inside:
            inside = line == "```console"
            continue
        if (line + " ").startswith("> ") and command is not None and not out:
            command += "\n" + line[2:]
            continue
        if line == "```" or line.startswith("$ "):
            if command is not None:
                yield where, command, out
            inside, command, where, out = line != "```", line[2:] if line != "```" else None, number, []
            continue
        out.append(line)


def plain(line):
    """A line without what differs from run to run."""
    line = re.sub(r"\b0x[0-9a-f]+\b", "H", line)
    line = re.sub(r"\+H\b", "+H", line)
    line = re.sub(r"(?<![A-Za-z_/.-])\d[\d,]*(\.\d+)?( ?(ns|us|ms|s|%|[KMG]i?B))?(?![A-Za-z_])", "N", line)
    return re.sub(r"\s+", " ", line).strip()


def fits(want, have):
    """Whether the lines that were printed are those that the document shows; else which one is missing."""
    at, gap = 0, False
    for line in want:
        if line.strip() == "...":
            gap = True
            continue
        whole = not line.endswith("...")
        text = plain(line if whole else line[:-3])
        there = [i for i in range(at, len(have))
                 if (plain(have[i]) == text if whole else plain(have[i]).startswith(text))]
        if not there or (not gap and there[0] != at):
            return line
        at, gap = there[0] + 1, False
    return None if gap or at >= len(have) else "(the end)"


class Shell:
    def __init__(self, folder):
        self.bash = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=folder, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, command):
        """Returns the lines that a command printed, and its status; None: it took too long."""
        signal.alarm(TIME)
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


def main():
    failed = n = 0
    for path in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            shell = Shell(folder)
            signal.signal(signal.SIGALRM, lambda *_: shell.end())
            for number, command, want in blocks(path):
                n += 1
                status = 0
                if want and (m := re.fullmatch(r"\[status (\d+)\]", want[-1])):
                    status, want = int(m[1]), want[:-1]
                out, have = shell.run(command)
                missing = fits(want, out)
                good = have == status and missing is None
                failed += not good
                print(f"{'ok' if good else 'not ok'} {n} - {os.path.basename(path)}:{number}: {command.splitlines()[0]}")
                if not good:
                    print(f"# status {have}; the document says {status}" if have != status else
                          f"# not printed: {missing}")
                    print("\n".join("# " + line for line in out[:60]), flush=True)
            shell.end()
    print(f"1..{n}")
    return failed > 0


sys.exit(main())
