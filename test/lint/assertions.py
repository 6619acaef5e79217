#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds assertions of bats files that can not fail.

A bats case ends at a command that fails, by the shell's errexit. Two forms are exempt from it, and
look like assertions all the same:

	[ A ] && B	when A is false
	! command	when the command succeeds

unless they are the last command of the case, or of a function, whose status they then are. Write
two commands for the first, `! command || false` for the second; where A is a condition rather than
an assertion, write `if`. `A && break` (continue, return, exit) is control flow and is let through.

usage: assertions.py FILE...	prints FILE:LINE: the line; exit status 1 when there are any
The files are parsed by shfmt (Debian package shfmt).
"""
import json
import subprocess
import sys

FLOW = {'break', 'continue', 'return', 'exit'}
AND, OR = 10, 11  # shfmt's numbers of && and ||


def first_word(stmt):
    cmd = stmt.get('Cmd') or {}
    args = cmd.get('Args') or []
    parts = args[0].get('Parts') if args else None
    return parts[0].get('Value') if parts else None


def is_flow(stmt):
    """control flow, or a block that ends in it"""
    cmd = stmt.get('Cmd') or {}
    if cmd.get('Type') in ('Block', 'Subshell'):
        return bool(cmd['Stmts']) and is_flow(cmd['Stmts'][-1])
    if cmd.get('Type') == 'BinaryCmd':
        return is_flow(cmd['Y'])
    return first_word(stmt) in FLOW


def cannot_fail(stmt):
    cmd = stmt.get('Cmd') or {}
    if stmt.get('Negated'):
        return True
    return cmd.get('Type') == 'BinaryCmd' and cmd['Op'] == AND and not is_flow(cmd['Y'])


def children(node):
    """the statements below a node that are not statements of its own lists, wherever they are"""
    for key, value in node.items():
        if key in ('Pos', 'End'):
            continue
        for v in value if isinstance(value, list) else [value]:
            if isinstance(v, dict):
                yield key, v


def walk(node, found, last):
    """last: what the last statement of a list below returns is looked at by errexit, or by a caller"""
    kind = node.get('Type')
    if kind in ('TestDecl', 'FuncDecl'):
        walk(node['Body'], found, True)
        return
    last = last or kind in ('Subshell', 'CmdSubst', 'ProcSubst')  # a status of its own
    lists = [k for k in ('Stmts', 'Do', 'Then') if isinstance(node.get(k), list)]
    for key in lists:
        stmts = node[key]
        here = last and key != 'Do'
        for i, stmt in enumerate(stmts):
            tail = here and i + 1 == len(stmts)
            if cannot_fail(stmt) and not tail and not stmt.get('Background'):
                found.append(stmt['Pos']['Line'])
            walk(stmt, found, tail)
    for key, child in children(node):
        if key in lists or key == 'Cond':
            continue
        if key == 'Cmd' or key == 'Else' or key == 'Items':
            walk(child, found, last)
        elif kind == 'BinaryCmd' and key == 'Y':
            walk(child, found, last)
        elif kind == 'BinaryCmd' and key == 'X':
            walk(child, found, True)
        elif kind in ('CmdSubst', 'ProcSubst'):
            walk(child, found, True)
        else:
            walk(child, found, False if kind is None else last)


def main():
    bad = False
    for name in sys.argv[1:]:
        with open(name, encoding='utf-8', errors='surrogateescape') as f:
            text = f.read()
        parsed = subprocess.run(['shfmt', '-ln', 'bats', '--to-json'], input=text.encode(errors='surrogateescape'),
                                stdout=subprocess.PIPE, check=True).stdout
        found = []
        walk(json.loads(parsed), found, False)
        lines = text.split('\n')
        for n in sorted(set(found)):
            bad = True
            print(f'{name}:{n}: {lines[n - 1].strip()}')
    return 1 if bad else 0


sys.exit(main())
