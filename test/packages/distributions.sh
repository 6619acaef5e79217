#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The static program (make static) in other distributions: their root file systems, made by debootstrap, with the programs and the
# libc they have: what static.sh and stock.sh do there. As root.
# usage: distributions.sh PROGRAM [RELEASE]...    build/static/devtrace; RELEASE: a name in the list below, all of them if none is given.
# Prints "ok" or "not ok" for each step; the status is 0 if all are ok. A release that can not be had is said, and is no failure.
# What debootstrap makes is kept, a tar file, in ${DEVTRACE_CACHE:-~/.cache/devtrace}.
set -uo pipefail
[ "$(id -u)" = 0 ] || { echo "distributions.sh: only root can make a chroot" >&2; exit 2; }
program=$(realpath "${1:?usage: distributions.sh PROGRAM [RELEASE]...}") || exit 2
shift
here=$(dirname "$(realpath "$0")")
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
work=$(mktemp -d -p "$(mkdir -p "$cache" && echo "$cache")") || exit 1
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
debian=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1)
debian=${debian:-http://deb.debian.org/debian}
ubuntu=http://archive.ubuntu.com/ubuntu
failed=0 tried=0

# make RELEASE: a tar file of it in the cache. debootstrap's scripts for all releases of one maker are alike, but it knows only those
# that are older than it is.
make_tar() {
	local mirror=$debian script=sid
	case $1 in focal | jammy | noble | plucky | questing) mirror=$ubuntu script=gutsy ;; esac
	[ -e "$cache/$1-minbase.tar" ] && return
	rm -rf --one-file-system "$work/base"
	# the keys of other distributions are not here, and nothing of this leaves the folder
	timeout 900 debootstrap --no-check-gpg --variant=minbase "$1" "$work/base" "$mirror" "/usr/share/debootstrap/scripts/$script" >"$work/log" 2>&1 &&
		tar -C "$work/base" -cf "$cache/$1.part" . && mv "$cache/$1.part" "$cache/$1-minbase.tar"
}

[ $# -gt 0 ] || set -- bullseye bookworm trixie sid focal jammy noble questing
for release; do
	make_tar "$release" || { echo "# $release can not be had: $(tail -n 1 "$work/log")"; continue; }
	rm -rf --one-file-system "$work/root"
	mkdir "$work/root" && tar -C "$work/root" -xf "$cache/$release-minbase.tar" || exit 1
	echo "# $release: $(. "$work/root/etc/os-release" && echo "$PRETTY_NAME"), $(chroot "$work/root" ldd --version | head -n 1)"
	{ "$here/static.sh" "$program" "$work/root" && "$here/stock.sh" "$work/root"; } | sed "s/^\(ok\|not ok\) - /&$release: /" || failed=1
	tried=$((tried + 1))
done
[ $tried -gt 0 ] || { echo "not ok - no distribution could be had"; exit 1; }
exit $failed
