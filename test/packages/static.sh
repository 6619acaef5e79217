#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The static program (make static) in a folder that is / for it, with a program to trace and that one's libraries, and nothing else:
# no libraries of devtrace's, no /etc, no tools. Or in a folder that is / of another distribution: its own ls and perl are traced
# (test/packages/distributions.sh). As root.
# usage: static.sh PROGRAM [ROOT]    build/static/devtrace. Prints "ok" or "not ok" for each step; the status is 0 if all are ok.
set -uo pipefail
[ "$(id -u)" = 0 ] || { echo "static.sh: only root can make a chroot" >&2; exit 2; }
[ -n "${DEVTRACE_UNSHARED-}" ] || DEVTRACE_UNSHARED=1 exec unshare -m "$0" "$@"
program=$(realpath "${1:?usage: static.sh PROGRAM [ROOT]}") || exit 2
work=$(mktemp -d) || exit 1
r=${2-$work/root}
trap 'umount "$r/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
failed=0
result() { # STATUS NAME
	[ "$1" = 0 ] && echo "ok - $2" && return
	echo "not ok - $2"
	sed 's/^/# /' "$work/log" | tail -n 30
	failed=1
}
: >"$work/log"
size=$(stat -c %s "$program")
[ "$size" -lt 15000000 ]
result $? "below 15 MB: $((size / 1000)) kB"
readelf -lW "$program" | grep -E 'INTERP|NEEDED' >"$work/log"
readelf -dW "$program" | grep NEEDED >>"$work/log"
[ ! -s "$work/log" ]
result $? "no interpreter, no library"

mkdir -p "$r"/{proc,tmp,dev,bin} && mount -t proc proc "$r/proc" || exit 1
[ -e "$r/dev/null" ] || mknod -m 666 "$r/dev/null" c 1 3 || exit 1
cp "$program" "$r/bin/devtrace"
if [ $# -lt 2 ]; then
	# ls, and what the loader says that it needs
	cp "$(command -v ls)" "$r/bin/ls"
	for l in $(ldd "$r/bin/ls" | grep -oE '/[^ ]+'); do mkdir -p "$r$(dirname "$l")" && cp -L "$l" "$r$l"; done
fi
in_root() { chroot "$r" /bin/devtrace "$@" </dev/null; }
export PATH=/bin:/usr/bin:/usr/sbin HOME=/tmp
chroot "$r" /bin/ls / >"$work/alone" 2>&1
in_root ls / >"$work/log" 2>&1 && grep -q 'opendir(' "$work/log" && grep -vE '[({]|^ *[0-9.]* [a-z]* *}' "$work/log" | grep -xFf "$work/alone" | diff "$work/alone" - >>"$work/log"
result $? "devtrace ls: the calls of ls, and its output"
cd "$r" || exit 1
in_root record -l -o /tmp/t.db ls / >"$work/out" 2>"$work/log" && diff "$work/alone" "$work/out" >>"$work/log"
result $? "record -l: the output is that of ls"
in_root calls /tmp/t.db >"$work/log" 2>&1 && grep -q 'opendir(.*"/"' "$work/log"
result $? "calls"
calls=$(in_root report --json /tmp/t.db 2>"$work/log" | grep -oE '"(name|function)": *"(readdir|readdir64)"|"calls": *[0-9]+' | grep -A 1 readdir | grep -oE '[0-9]+$' | head -n 1)
# one for each name, those of the folder and its parent, and one that finds no more
[ "${calls:-0}" = $(($(find "$r" -mindepth 1 -maxdepth 1 | wc -l) + 3)) ] || { echo "readdir: ${calls:-no} calls"; false; } >>"$work/log"
result $? "report: as many calls of readdir as there are names"
in_root check /tmp/t.db >"$work/log" 2>&1
result $? "check"
in_root sql -n /tmp/t.db "SELECT count(*) FROM calls WHERE function LIKE 'readdir%'" >"$work/log" 2>&1 && grep -qx "$calls" "$work/log"
result $? "sql"
if [ -x "$r/usr/bin/perl" ]; then
	# perl counts: a thousand calls once it is told to go
	chroot "$r" /usr/bin/perl -e 'sub turn { select(undef, undef, undef, 0.01) } turn until -e "/tmp/go"; getppid() for 1 .. 1000; open(F, ">/tmp/gone"); turn until -e "/tmp/end"' </dev/null >/dev/null 2>&1 &
	perl=$!
	until grep -q perl "/proc/$perl/comm" && grep -q libc "/proc/$perl/maps"; do sleep 0.05; done
	in_root attach -F getppid -o /tmp/a.db "$perl" >"$work/out" 2>"$work/log" &
	attach=$!
	# it is recorded once libc's row says since when
	for _ in $(seq 300); do
		[ "$(in_root sql -n /tmp/a.db 'SELECT count(*) FROM complete' 2>/dev/null || echo 0)" -gt 0 ] && break
		sleep 0.1
	done
	: >"$r/tmp/go"
	timeout 20 bash -c "until [ -e '$r/tmp/gone' ]; do sleep 0.05; done"
	: >"$r/tmp/end"
	wait "$perl"
	status=$?
	wait "$attach"
	attached=$?
	in_root sql -n /tmp/a.db "SELECT count(*) FROM calls WHERE function = 'getppid'" >"$work/out" 2>>"$work/log"
	[ "$status $attached $(cat "$work/out")" = "0 0 1000" ] || { echo "statuses $status, $attached; calls: $(cat "$work/out")"; false; } >>"$work/log"
	result $? "attach: perl's thousand calls"
	in_root check /tmp/a.db >"$work/log" 2>&1
	result $? "check of what was attached to"
fi
exit $failed
