# SPDX-License-Identifier: MIT
"""Writes the tables that make.py and calls.py make: C files of nothing but lines of text."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, lines, what):
    """Writes a table beside this file. what: a sentence that says what is in it."""
    maker = os.path.basename(sys.argv[0])
    with open(os.path.join(HERE, name), 'w', encoding='utf-8') as f:
        f.write(f'/* SPDX-License-Identifier: MIT */\n/* {what} Made by symbols/prototypes/{maker}; '
                'do not change it by hand. */\n')
        for line in lines:
            f.write('"' + line.replace('\\', '\\\\').replace('"', '\\"') + '\\n"\n')
