#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends devtrace view what no browser would: usage: fuzz-http.py ADDRESS REQUESTS SEED
Each request is answered or its connection is closed; afterwards the server answers as before."""
import random, socket, sys, urllib.parse, urllib.request

address, requests, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
url = urllib.parse.urlparse(address)
token = url.path.strip("/")
random.seed(seed)
names = ["trace", "window", "names", "search", "stats", "call", "list", "activities", "news", "tell", "", "x"]
keys = ["from", "to", "cells", "tracks", "depths", "ids", "text", "track", "begin", "end", "depth", "what", "rows", "kinds", "filter"]
words = ["core:0", "core:9-1", "thread:*", "function1*", "-", "time>1us", "time>", "a>1", "value=x", "arg1=5", "result<0", "event:*", '"', "[", "\\", "x" * 5000]


def value():
    return random.choice([
        lambda: str(random.randrange(0, 1 << random.choice([1, 8, 20, 40, 63, 70]))),
        lambda: str(-random.randrange(100)),
        lambda: ",".join(str(random.randrange(40)) for _ in range(random.randrange(1, 30))),
        lambda: " ".join(random.choice(words) for _ in range(random.randrange(1, 5))),
        lambda: "".join(chr(random.randrange(1, 0x250)) for _ in range(random.randrange(20))),
        lambda: "",
    ])()


def path():
    query = "&".join(urllib.parse.quote(random.choice(keys)) + "=" + urllib.parse.quote(value())
                     for _ in range(random.randrange(0, 8)))
    t = token if random.random() < 0.95 else "".join(random.choice("0123456789abcdef") for _ in range(32))
    return f"/{t}/get/{random.choice(names)}?{query}"


def message():
    kind = random.random()
    if kind < 0.75:
        return f"GET {path()} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode()
    if kind < 0.85:
        method = random.choice(["POST", "PUT", "HEAD", "OPTIONS", "DELETE", "BREW"])
        body = bytes(random.randrange(256) for _ in range(random.randrange(200)))
        return (f"{method} {path()} HTTP/1.1\r\nHost: {url.netloc}\r\nOrigin: http://{random.choice([url.netloc, 'x'])}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode() + body
    whole = bytearray(f"GET {path()} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode())
    for _ in range(random.randrange(1, 10)):
        whole[random.randrange(len(whole))] = random.randrange(256)
    return bytes(whole[:random.randrange(1, len(whole) + 1)])


for i in range(requests):
    s = socket.create_connection((url.hostname, url.port), timeout=20)
    data = message()
    try:
        s.sendall(data)
        if random.random() < 0.2:
            continue  # gone without reading
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        sys.exit(f"request {i} is neither answered nor closed: {data[:300]!r}")
    finally:
        s.close()
with urllib.request.urlopen(address + "get/trace", timeout=20) as answer:
    assert answer.status == 200 and b'"complete":true' in answer.read()
