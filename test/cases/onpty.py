#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own: onpty.py COLUMNS KEYS COMMAND...

Standard output gets what the terminal did, without carriage returns. KEYS are typed once the command has been silent for half a
second. The exit status is the command's; 124 if it did not end within 30 seconds, after which it is killed."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


def main():
    columns, keys, command = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        os.execvp(command[0], command)
    end = time.monotonic() + 30
    shown = b''
    while time.monotonic() < end:
        if not select.select([fd], [], [], 0.5)[0]:
            if keys:
                os.write(fd, keys)
                keys = b''
            continue
        try:
            data = os.read(fd, 1 << 16)
        except OSError:
            data = b''
        if not data:
            break
        shown += data
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        sys.exit(124)
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.buffer.write(shown.replace(b'\r', b''))
    sys.stdout.flush()
    sys.exit(status if status >= 0 else 128 - status)


main()
