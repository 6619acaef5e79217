#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands that documents show, run as they stand there: what they print is what the documents say.
root=${DEVTRACE_ROOT:-$PWD}
PATH=$root/build:/usr/bin:/bin:/usr/sbin:/sbin HOME=$(mktemp -d) LC_ALL=C.UTF-8 TZ=UTC COLUMNS=200
PYTHONPATH=$root/python DEVTRACE_LIBRARY=$root/build/libdevtrace.so.1 PYTHONDONTWRITEBYTECODE=1
export PATH HOME LC_ALL TZ COLUMNS PYTHONPATH DEVTRACE_LIBRARY PYTHONDONTWRITEBYTECODE
trap 'rm -rf "$HOME"' EXIT
python3 "$root/test/docs/console.py" "$root/doc/start.md" "$root/doc/python.md"
