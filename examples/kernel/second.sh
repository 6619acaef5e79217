#!/bin/sh
# SPDX-License-Identifier: MIT
# The example of devtrace's manual page: all calls to a function over the course of one second. As root,
# with devtrace.ko loaded.
# usage: second.sh FUNCTION
set -e
set -- $(sed -n "/ [tT] $1\$/{s/ .*//p;n;s/ .*//p}" /proc/kallsyms)
trap 'echo trace a remove >/dev/tracectl' EXIT

echo trace "$1" "$2" new a >/dev/tracectl
echo trace a on >/dev/tracectl
echo start >/dev/tracectl; sleep 1; echo stop >/dev/tracectl
cat /dev/trace
