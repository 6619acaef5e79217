#!/bin/sh
# SPDX-License-Identifier: MIT
# How many page faults a command has, without a single record: a counter does it. As root, with
# devtrace.ko loaded.
# usage: faults.sh COMMAND [ARG]...
set -e
ctl=/dev/tracectl
trap 'echo stop >$ctl; echo watch 0 >$ctl; echo trace faults remove >$ctl' EXIT
echo 'trace handle_mm_fault new faults COUNT' >$ctl
echo 'trace faults on' >$ctl
echo 'reset' >$ctl
# the shell that becomes the command watches itself
sh -c 'echo watch $$ >/dev/tracectl; echo start >/dev/tracectl; exec "$@"' sh "$@"
sed -n 's/^#traceinhits /page faults: /p' $ctl
