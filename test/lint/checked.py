#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds bats files whose tests record and leave their traces unchecked.

A file that records or attaches loads what defines the common `teardown', which checks the traces (test/cases/check-traces.bash),
and where it defines one of its own, that one calls check_traces.

usage: checked.py FILE...	prints FILE: what is missing; exit status 1 when there are any
"""
import os
import re
import sys

# the command, as cases write it: "$dt" record, devtrace attach, begin of test/cases/session.bash
RECORDS = re.compile(r'(?:^|[\s"])(?:"?\$\{?dt\}?"?|devtrace)\s+(?:record|attach|-[A-Za-z])', re.M)
LOADS = re.compile(r'^\s*(?:load\s+|\.\s+.*/)([\w-]+)(?:\.bash)?"?\s*$', re.M)
TEARDOWN = re.compile(r'^teardown\(\) \{\n(.*?)^\}', re.M | re.S)
COMMON = 'check-traces'


def plain(text):
    return re.sub(r'^\s*#.*$', '', text, flags=re.M)


def loaded(path, seen):
    """The names of all files that this one loads, itself or through others."""
    with open(path, encoding='utf-8') as f:
        text = plain(f.read())
    for name in LOADS.findall(text):
        other = os.path.join(os.path.dirname(path), name + '.bash')
        if name not in seen and os.path.exists(other):
            seen[name] = other
            loaded(other, seen)
    return seen


def missing(path):
    with open(path, encoding='utf-8') as f:
        text = plain(f.read())
    files = loaded(path, {})
    own = TEARDOWN.findall(text)
    if COMMON not in files:
        return 'it records, and does not load ' + COMMON if RECORDS.search(text) else None
    # also one that does not record itself: what it loads may
    for body in own:
        if not re.search(r'\bcheck_traces\b', body):
            return 'its teardown does not call check_traces'
    return None


def main():
    bad = 0
    for path in sys.argv[1:]:
        what = missing(path)
        if what:
            print(f'{path}: {what}')
            bad = 1
    sys.exit(bad)


main()
