#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a fleet of large made-up traces: merge, the page's windows, with their memory. Each machine exchanges pings with the
first one ten times a second; all clocks go at one rate, and are apart by an hour and more.

usage: bench/fleet.py [HOSTS [RECORDS [FOLDER]]]   (8 hosts, 12.5 million records each; FOLDER: traces that are there are used)"""
import json
import os
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
BUILD = os.environ.get('DEVTRACE_BUILD') or os.path.join(ROOT, 'build')
DEVTRACE, MAKETRACE = os.path.join(BUILD, 'devtrace'), os.path.join(ROOT, 'build', 'test', 'tool', 'maketrace')


def make(path, host, records):
    """a host's trace, its boot and its name; returns its first and last tick, and ticks of a ns"""
    subprocess.run([MAKETRACE, '-n', str(records), '-c', '2', '-t', '4', '-s', str(host + 1), path], check=True, stdout=subprocess.DEVNULL)
    db = sqlite3.connect(path)
    first, last = db.execute('SELECT min(min_ticks), max(max_ticks) FROM chunk').fetchone()
    clock = db.execute('SELECT ticks, monotonic_ns FROM clock ORDER BY ticks').fetchall()
    rate = (clock[-1][0] - clock[0][0]) / (clock[-1][1] - clock[0][1])
    db.execute("INSERT OR REPLACE INTO meta VALUES ('boot_id', ?), ('host', ?)", (f'{host:08x}-0000-4000-8000-000000000000', f'host{host}'))
    db.commit()
    db.close()
    return first, last, rate


def ping(folder, span):
    """a ping's way there takes 20 us, and so does the one back; between them its ticks are the same on all hosts"""
    rows = {h: [] for h in range(len(span))}
    for h in range(1, len(span)):
        first, last, rate = max(span[0][0], span[h][0]), min(span[0][1], span[h][1]), span[0][2]
        us = rate * 1000
        for n, t in enumerate(range(first, last, int(100000 * us))):
            for kind, who, at in (('sent', h, t), ('received', 0, t + 20 * us), ('sent', 0, t + 21 * us), ('received', h, t + 41 * us)):
                rows[who].append((kind, f'{h}.{n}.{"there" if at < t + 21 * us else "back"}', int(at), int(at)))
    for h, found in rows.items():
        db = sqlite3.connect(f'{folder}/host{h}.db')
        db.execute('DELETE FROM sync')
        db.executemany('INSERT INTO sync(kind, id, begin_ticks, end_ticks) VALUES (?, ?, ?, ?)', found)
        db.commit()
        db.close()


def timed(*command):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out = p.stdout.read().decode()
    _, status, used = os.wait4(p.pid, 0)
    print(f'{" ".join(os.path.basename(c) for c in command[:2]):28} {time.monotonic() - begun:8.2f} s, {used.ru_utime + used.ru_stime:.2f} s of processors, '
          f'{used.ru_maxrss / 1024:.0f} MB', flush=True)
    if status:
        sys.exit(out)
    return out


def windows(fleet):
    """how long the page's server takes for a window, when all is summed up"""
    begun = time.monotonic()
    p = subprocess.Popen([DEVTRACE, 'view', '--no-open', fleet], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in p.stdout:
            m = re.search(r'http://\S+', line)
            if m:
                break
        else:
            sys.exit('view has given no address')
        url = m[0].rstrip('/') + '/'
        while True:
            trace = json.load(urllib.request.urlopen(url + 'get/trace'))
            if trace.get('complete'):
                break
            time.sleep(0.2)
        with open(f'/proc/{p.pid}/status') as f:
            peak = int(re.search(r'VmHWM:\s+(\d+)', f.read())[1]) / 1024
        print(f'{"view, until all is summed up":28} {time.monotonic() - begun:8.2f} s, {peak:.0f} MB', flush=True)
        def used():
            with open(f'/proc/{p.pid}/stat') as f:
                return sum(map(int, f.read().rpartition(')')[2].split()[11:13])) / os.sysconf('SC_CLK_TCK')
        begun = used()
        length, took, tracks = trace['length'], [], ','.join(str(t['track']) for t in trace['tracks'])
        for n in range(200):
            width = length // 4 ** random.randrange(0, 10)
            at = random.randrange(0, length - width + 1)
            before = time.monotonic()
            urllib.request.urlopen(f'{url}get/window?from={at}&to={at + width}&cells=1600&tracks={tracks}').read()
            took.append(time.monotonic() - before)
        took.sort()
        print(f'{"a window, of 200":28} median {took[100] * 1000:.1f} ms, worst of 95 % {took[189] * 1000:.1f} ms, worst {took[-1] * 1000:.1f} ms, '
              f'{(used() - begun) * 5:.1f} ms of processors each')
    finally:
        p.terminate()
        p.wait()


def main():
    hosts, records = int((sys.argv + ['8'])[1]) if len(sys.argv) > 1 else 8, int(sys.argv[2]) if len(sys.argv) > 2 else 12500000
    with tempfile.TemporaryDirectory() as made:
        folder = sys.argv[3] if len(sys.argv) > 3 else made
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(f'{folder}/host0.db'):
            ping(folder, [make(f'{folder}/host{h}.db', h, records) for h in range(hosts)])
        fleet = f'{folder}/fleet.db'
        if os.path.exists(fleet):
            os.unlink(fleet)
        print(timed(DEVTRACE, 'merge', '-o', fleet, *(f'{folder}/host{h}.db' for h in range(hosts))))
        timed(DEVTRACE, 'report', fleet)
        windows(fleet)


main()
