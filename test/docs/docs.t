#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands that documents and manual pages show, run as they stand there: what they print is what the documents say.
# usage: docs.t [DOCUMENT...]
root=$(realpath "${DEVTRACE_ROOT:-$PWD}")
: "${DEVTRACE_CACHE:=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}"
PATH=$root/build:/usr/bin:/bin:/usr/sbin:/sbin HOME=$(mktemp -d) LC_ALL=C.UTF-8 TZ=UTC COLUMNS=200 DEVTRACE_ROOT=$root
PYTHONPATH=$root/python DEVTRACE_LIBRARY=$root/build/libdevtrace.so.1 PYTHONDONTWRITEBYTECODE=1 XDG_RUNTIME_DIR=$HOME
export PATH HOME LC_ALL TZ COLUMNS DEVTRACE_ROOT PYTHONPATH DEVTRACE_LIBRARY PYTHONDONTWRITEBYTECODE XDG_RUNTIME_DIR DEVTRACE_CACHE
# what calls waited is what else the machine did
export DEVTRACE_SWITCHES=no
trap 'rm -rf "$HOME"' EXIT
cd "$root" || exit 1
# pages that are made of documents have the same commands
[ $# != 0 ] || set -- README.md doc/*.md $(grep -L '^\.\\" Made from' man/*.[1-8])
python3 test/docs/console.py "$@"
