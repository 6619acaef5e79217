#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A debuginfod server that hangs, lies or breaks off. usage: debuginfod-server.py HOW [FILE]
Prints its port, and then the path of each request. It ends when its standard input does."""
import os
import socket
import sys
import threading
import time
import zlib

HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n'
MB = bytes(1 << 20)


def hang(c):
    time.sleep(600)


def slow(c):
    """a byte a second"""
    c.sendall(HEAD + b'Content-Length: 100000\r\n\r\n\x7fELF')
    while True:
        time.sleep(1)
        c.sendall(b'x')


def send(c, body):
    c.sendall(HEAD + b'Content-Length: %d\r\n\r\n' % len(body) + body)


def zeros(c):
    """10 GB"""
    c.sendall(HEAD + b'\r\n')
    for _ in range(10240):
        c.sendall(MB)


def bomb(c):
    """10 GB, compressed"""
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    c.sendall(HEAD + b'Content-Encoding: gzip\r\n\r\n')
    for _ in range(10240):
        c.sendall(z.compress(MB))


HOW = {
    'hang': hang,
    'slow': slow,
    'close': lambda c: None,
    'nonsense': lambda c: c.sendall(b'220 ready\r\n'),
    'garbage': lambda c: send(c, b'g' * 5000),
    'zeros': zeros,
    'bomb': bomb,
    'file': lambda c: send(c, open(sys.argv[2], 'rb').read()),
}


def serve(c):
    try:
        print(c.recv(65536).split(b' ')[1].decode(), flush=True)
        HOW[sys.argv[1]](c)
        c.close()
    except (OSError, IndexError):
        pass


def accept(s):
    while True:
        c, _ = s.accept()
        threading.Thread(target=serve, args=(c,), daemon=True).start()


s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(64)
print(s.getsockname()[1], flush=True)
threading.Thread(target=accept, args=(s,), daemon=True).start()
sys.stdin.read()
os._exit(0)
