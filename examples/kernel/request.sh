#!/bin/sh
# SPDX-License-Identifier: MIT
# One request through a client, the kernel and a server: the functions of both programs and what the
# kernel does for them, in one trace on one clock. As root, with devtrace.ko loaded.
# usage: request.sh [-o FILE] COMMAND [ARG]...    a program that starts its server, or forks;
#        -o: the trace is kept there, for 'devtrace view'
set -e
file=
[ "$1" != -o ] || { file=$2 && shift 2; }
[ -n "$file" ] || {
	file=$(mktemp -u)
	trap 'rm -f "$file" "$file"-*' EXIT
}
devtrace record -k'__x64_sys_* ksys_* vfs_* pipe_* sock_*' -o "$file" "$@" >/dev/null
devtrace calls "$file"
