#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs the packages of `make deb' in a fresh Debian, tries them there, and purges them: every file is then as before. As root.
# usage: chroot.sh FOLDER    the folder with the packages (build/deb). WITHOUT=devtrace-dkms: that one is not tried, which saves
# some hundred megabytes. Prints "ok" or "not ok" for each step; the status is 0 if all are ok.
# debootstrap makes the Debian, of the release that this machine has, from where it gets its packages; it is kept, a tar file, in
# ${DEVTRACE_CACHE:-~/.cache/devtrace}, for a week.
set -uo pipefail
[ "$(id -u)" = 0 ] || { echo "chroot.sh: only root can make a chroot" >&2; exit 2; }
# mounts are of this process only, and go with it
[ -n "${DEVTRACE_UNSHARED-}" ] || DEVTRACE_UNSHARED=1 exec unshare -m "$0" "$@"
from=$(cd "${1:?usage: chroot.sh FOLDER}" && pwd) || exit 2
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
work=$(mktemp -d -p "$(mkdir -p "$cache" && echo "$cache")") || exit 1
r=$work/root
trap 'umount -R "$r/proc" "$r/dev" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
failed=0
result() { # STATUS NAME
	[ "$1" = 0 ] && echo "ok - $2" && return
	echo "not ok - $2"
	sed 's/^/# /' "$work/log" | tail -n 30
	failed=1
}
in_root() { chroot "$r" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1)
base=$cache/$release-minbase.tar
find "$cache" -maxdepth 1 -name "$release-minbase.tar" -mtime +7 -delete
if [ ! -e "$base" ]; then
	debootstrap --variant=minbase "$release" "$work/base" "${mirror:-http://deb.debian.org/debian}" >"$work/log" 2>&1 &&
		tar -C "$work/base" -cf "$base.part" . && mv "$base.part" "$base"
	result $? "debootstrap makes Debian $release" && [ -e "$base" ] || exit 1
	rm -rf "$work/base"
fi
mkdir "$r" && tar -C "$r" -xf "$base" && mount -t proc proc "$r/proc" && mount --rbind /dev "$r/dev" && mkdir "$r/packages" || exit 1
# how this machine gets packages: a proxy, say; and names of hosts
apt-config dump | grep '^Acquire' >"$r/etc/apt/apt.conf.d/99acquire"
cp -L /etc/resolv.conf /etc/hosts "$r/etc/" 2>/dev/null
# nothing is started in there
printf '#!/bin/sh\nexit 101\n' >"$r/usr/sbin/policy-rc.d" && chmod +x "$r/usr/sbin/policy-rc.d"
names=()
for p in "$from"/*.deb; do
	name=$(dpkg-deb -f "$p" Package)
	case " ${WITHOUT-} " in *" $name "*) continue ;; esac
	case $name in *-dbgsym) continue ;; esac
	names+=("$name")
	cp "$p" "$r/packages/$name.deb"
done
[ ${#names[@]} -gt 0 ] || { echo "chroot.sh: no packages in $from: make deb" >&2; exit 2; }
debs=("${names[@]/#//packages/}")
debs=("${debs[@]/%/.deb}")

# Their dependencies first, and what the tests ask: what is compared is what comes with the packages alone. The kernel's headers are
# for DKMS, which has nothing to build for without.
more=(man-db procps)
case " ${names[*]} " in *" devtrace-dkms "*) more+=(linux-headers-amd64) ;; esac
in_root apt-get -qq update >"$work/log" 2>&1 &&
	mapfile -t needed < <(in_root apt-get -s install "${debs[@]}" "${more[@]}" | awk '/^Inst/ { print $2 }' | grep -vxF "$(printf '%s\n' "${names[@]}")") &&
	[ ${#needed[@]} -gt 0 ] && in_root apt-get -qq -y --no-install-recommends install "${needed[@]}" >>"$work/log" 2>&1
result $? "what they need is installed (${#needed[@]} packages)"

# All folders, links and files with their contents; but for what dpkg and apt note of what they did, logs and caches;
# and of DKMS its key, which it makes once, and depmod's tables of all modules, which it makes for the first time.
state() {
	local apart=(-path ./proc -o -path ./dev -o -path ./packages -o -path ./tmp -o -path ./var/log -o -path ./var/cache -o -path ./var/lib/apt
		-o -path './var/lib/dpkg/*-old' -o -path ./var/lib/dpkg/status -o -path ./var/lib/dpkg/triggers -o -path ./etc/ld.so.cache
		-o -path './var/lib/dkms/mok.*' -o -path './usr/lib/modules/*/modules.*')
	(cd "$r" && find . -xdev \( "${apart[@]}" \) -prune -o \( -type l -printf '%p -> %l\n' -o -type d -printf '%p/ %m\n' \) -o -type f -exec sha256sum {} +) | sort
}
state >"$work/before"
in_root apt-get -qq -y install "${debs[@]}" >"$work/log" 2>&1 && [ "$(in_root dpkg-query -W -f '${Status}\n' "${names[@]}" | sort -u)" = "install ok installed" ]
result $? "installed: ${names[*]}"

in_root devtrace ls / >"$work/log" 2>&1 && grep -q 'opendir(' "$work/log" && grep -qx packages "$work/log"
result $? "devtrace ls shows the calls of ls, and its output"
in_root sh -c 'cd /tmp && devtrace record -l -o t.db true && devtrace check t.db && devtrace report t.db' >"$work/log" 2>&1
result $? "record, check, report"
in_root sh -c 'for p in devtrace devtrace-record libdevtrace devtrace@.service; do man -w $p || exit; done; MANPAGER=cat man devtrace-record | grep -q "^SYNOPSIS"' >"$work/log" 2>&1
result $? "manual pages are found"
in_root python3 -c '
import devtrace
with devtrace.open("/tmp/t.db") as trace: print(sum(1 for call in trace.calls()))' >"$work/log" 2>&1
result $? "Python reads a trace"
in_root bash -c '. /usr/share/bash-completion/completions/devtrace && complete -p devtrace' >"$work/log" 2>&1
result $? "completion is there"
case " ${names[*]} " in
*" devtrace-dkms "*)
	in_root dkms status >"$work/log" 2>&1 && grep -q '^devtrace/.*: installed' "$work/log" && find "$r/lib/modules/" -name 'devtrace.ko*' | grep -q .
	result $? "DKMS has built the module for $(ls "$r/lib/modules" | head -n 1)"
	;;
esac
in_root rm -f /tmp/t.db
# what a user's commands keep is the user's: memos
rm -rf "$r/root/.cache"
mkdir -p "$r/var/lib/devtrace" && : >"$r/var/lib/devtrace/x.db"
in_root apt-get -qq -y purge "${names[@]}" >"$work/log" 2>&1
result $? "purged"
state | diff "$work/before" - >"$work/log"
result $? "nothing is left, nothing is changed"
exit $failed
