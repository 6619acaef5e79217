#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tries devtrace@NAME.service under a running systemd, in a fresh Debian with the package of `make deb'. As root.
# usage: systemd.sh FOLDER    the folder with the packages (build/deb)
# Prints "ok" or "not ok" for each step; the status is 0 if all are ok. systemd is the first process of a PID namespace, with
# cgroups of its own; the Debian is the one that chroot.sh keeps, or debootstrap makes one.
set -uo pipefail
[ "$(id -u)" = 0 ] || { echo "systemd.sh: only root can boot a system" >&2; exit 2; }
from=$(cd "${1:?usage: systemd.sh FOLDER}" && pwd) || exit 2
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
work=$(mktemp -d -p "$(mkdir -p "$cache" && echo "$cache")") || exit 1
r=$work/root
first=
cleanup() {
	# the first process of a PID namespace: all others end with it, and the mounts, which are its own
	[ -z "$first" ] || kill -KILL "$first" 2>/dev/null
	wait 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
failed=0
result() { # STATUS NAME
	[ "$1" = 0 ] && echo "ok - $2" && return
	echo "not ok - $2"
	{ sed 's/^/# /' "$work/log" && in_system journalctl --no-pager -n 20 -u 'devtrace@*' 2>&1 | sed 's/^/# /'; } | tail -n 40
	failed=1
}
clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
in_root() { chroot "$r" "${clean[@]}" "$@" </dev/null; }
in_system() { timeout 60 nsenter -t "$first" -m -p -u -i -C -r -w "${clean[@]}" "$@" </dev/null; }
# waits for a condition in the system
until_true() {
	for _ in {1..600}; do
		in_system sh -c "$1" >>"$work/log" 2>&1 && return
		sleep 0.1
	done
	return 1
}

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1)
base=$cache/$release-minbase.tar
if [ -e "$base" ]; then
	mkdir "$r" && tar -C "$r" -xf "$base"
else
	debootstrap --variant=minbase "$release" "$r" "${mirror:-http://deb.debian.org/debian}"
fi >"$work/log" 2>&1
result $? "a fresh Debian $release"
apt-config dump | grep '^Acquire' >"$r/etc/apt/apt.conf.d/99acquire"
cp -L /etc/resolv.conf /etc/hosts "$r/etc/" 2>/dev/null
mkdir "$r/packages" && cp "$from"/devtrace_*.deb "$from"/libdevtrace1_*.deb "$r/packages/"
{ in_root apt-get -qq update &&
	in_root apt-get -qq -y --no-install-recommends install systemd systemd-sysv dbus &&
	in_root sh -c 'apt-get -qq -y --no-install-recommends install /packages/devtrace_*.deb'; } >"$work/log" 2>&1
result $? "systemd and devtrace are installed"
cat >"$r/etc/systemd/system/work.service" <<-'U'
	[Service]
	ExecStart=/bin/sh -c 'while :; do read x </proc/uptime; sleep 0.1; done'
U

cat >"$work/boot" <<-'B'
	r=$1
	mount --make-rprivate / && mount --bind "$r" "$r" && mount -t proc proc "$r/proc" && mount -t sysfs sysfs "$r/sys" &&
		mount -t tmpfs tmpfs "$r/run" && mount -t tmpfs tmpfs "$r/tmp" && mount -t tmpfs -o mode=755 tmpfs "$r/dev" &&
		mkdir "$r/dev/pts" "$r/dev/shm" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$r/dev/pts" || exit
	for n in null zero full random urandom tty; do
		touch "$r/dev/$n" && mount --bind "/dev/$n" "$r/dev/$n"
	done
	ln -s pts/ptmx "$r/dev/ptmx"
	mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup" || exit
	exec chroot "$r" env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
B
# exec: the process that is waited for below is unshare, whose child systemd is
(cd / && exec unshare --fork --kill-child -pmuiC bash "$work/boot" "$r" >"$work/boot.log" 2>&1 </dev/null) &
for _ in {1..100}; do
	first=$(pgrep -P $! -x systemd) && break
	sleep 0.1
done
: >"$work/log"
[ -n "$first" ] && until_true 'systemctl is-system-running | grep -qE "running|degraded"'
result $? "systemd is up"

in_system systemctl start devtrace@work >"$work/log" 2>&1 && until_true 'journalctl -u devtrace@work | grep -q "waiting for work.service"'
result $? "a unit for a service that does not run yet waits for it"
in_system systemctl start work >"$work/log" 2>&1 && until_true 'devtrace list | grep -q "^work.*work.db"'
result $? "it records the service when that is there"
sleep 1
in_system systemctl reload devtrace@work >"$work/log" 2>&1 && until_true 'test -e /var/lib/devtrace/work-snapshot.db && devtrace check /var/lib/devtrace/work-snapshot.db &&
	devtrace calls -F read /var/lib/devtrace/work-snapshot.db | grep -q "read("'
result $? "reload copies what there is, a sound trace with the service's calls"
in_system sh -c 'stat -c "%a %n" /var/lib/devtrace /var/lib/devtrace/*.db' >"$work/log" 2>&1
! grep -vE '^(700 .*devtrace|600 .*db)$' "$work/log"
result $? "nobody else may read the traces"

before=$(in_system systemctl show -P MainPID work)
in_system systemctl restart work >"$work/log" 2>&1 && until_true "devtrace list | grep -q 'process $(in_system systemctl show -P MainPID work)'"
result $? "when the service is started anew, that one is recorded"
until_true 'devtrace check /var/lib/devtrace/work.1.db' && in_system sh -c "devtrace sql --csv --no-header /var/lib/devtrace/work.1.db 'SELECT pid FROM process'" 2>>"$work/log" | grep -q "^$before"
result $? "the first one's trace is kept as work.1.db"
now=$(in_system systemctl show -P MainPID work)
sleep 1
in_system systemctl stop devtrace@work >"$work/log" 2>&1 && ! in_system systemctl is-failed devtrace@work >>"$work/log" 2>&1 &&
	in_system devtrace check /var/lib/devtrace/work.db >>"$work/log" 2>&1
result $? "stop ends the session, with a sound trace"
[ "$(in_system systemctl show -P MainPID work)" = "$now" ] && [ "$(in_system systemctl is-active work)" = active ] &&
	in_system sh -c "for i in 1 2 3 4 5; do kill -0 $now && sleep 0.2 || exit; done"
result $? "the service goes on"
printf 'COMMAND="sh -c '\''ls /; sleep 600'\''"\nOPTIONS=-l\n' >"$work/conf"
nsenter -t "$first" -m -r sh -c 'mkdir -p /etc/devtrace && cat >/etc/devtrace/own.conf' <"$work/conf"
in_system systemctl start devtrace@own >"$work/log" 2>&1 && until_true 'devtrace list | grep -q "^own.*own.db"' && sleep 1 &&
	in_system systemctl stop devtrace@own >>"$work/log" 2>&1 && in_system devtrace check /var/lib/devtrace/own.db >>"$work/log" 2>&1
result $? "a unit with a command of its own"
in_system systemctl enable devtrace@work >"$work/log" 2>&1 && in_system test -L /etc/systemd/system/multi-user.target.wants/devtrace@work.service &&
	in_system systemctl disable devtrace@work >>"$work/log" 2>&1
result $? "enabled and disabled"
exit $failed
