#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a system call costs in addition when it is recorded in full (devtrace -A 'syscall:*') and when strace -y
# prints it: instructions, which QEMU counts (-icount), so the numbers are the same each time. One core. A line
# each: instructions for each call of a program, by who looks at it.
# usage: cost-calls.sh [6.1|6.12]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=${1:-6.1}
out=$("$here/build.sh" "$version" 2>/dev/null)
devtrace=${DEVTRACE_BUILD:-$here/../../build}/devtrace
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
mkdir -p "$d/root"/{bin,proc,sys,dev,tmp,usr/bin}
cp "$(command -v busybox)" "$d/root/bin/busybox"
strip --strip-debug -o "$d/root/bin/devtrace" "$devtrace"
for f in strace find git dd; do
	cp -L "$(command -v $f)" "$d/root/usr/bin/"
done
gcc -O2 -o "$d/root/bin/reads" "$here/reads.c"
mapfile -t loaded < <(for lib in libgcc_s.so.1 libbpf.so.1; do
	ldconfig -p | grep -o "/[^ ]*x86_64[^ ]*/$lib" | head -n 1
done)
{ ldd "$devtrace" "$d"/root/usr/bin/* "${loaded[@]}" | grep -oE '(^|[[:space:]])/[^ :]*( |$)' | tr -d '[:blank:]' | sort -u; printf '%s\n' "${loaded[@]}"; } | while read -r lib; do
	mkdir -p "$d/root${lib%/*}" && cp -L "$lib" "$d/root$lib"
done
cat >"$d/root/init" <<'I'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
export HOME=/tmp
cd /tmp
/usr/bin/git init -q .
now() { read -r up rest </proc/uptime; echo "${up%.*}${up#*.}0000000"; }
# cost WHAT PROGRAM...: its time alone, recorded, and under strace: the clock counts instructions. devtrace's
# own beginning and end are those of a program that does nothing.
cost() {
	what=$1
	shift
	a=$(now)
	"$@" >/dev/null 2>&1
	b=$(now)
	devtrace record -A 'syscall:*' -o /tmp/c.db "$@" >/dev/null 2>/tmp/err
	c=$(now)
	strace -f -y -o /tmp/strace "$@" >/dev/null 2>&1
	e=$(now)
	n=$(wc -l </tmp/strace)
	f=$(now)
	devtrace record -A 'syscall:*' -o /tmp/c.db true >/dev/null 2>/tmp/err
	g=$(now)
	strace -f -y -o /tmp/strace true >/dev/null 2>&1
	h=$(now)
	grep lost /tmp/err
	echo "COST $what: $n calls; devtrace $(((c - b - (b - a) - (g - f)) / n)), strace $(((e - c - (b - a) - (h - g)) / n))"
}
none=$(reads | sed -n 's/READS //p')
v=$(devtrace record -A 'syscall:*' -o /tmp/c.db reads 2>/tmp/err | sed -n 's/READS //p')
w=$(strace -y -o /tmp/strace reads | sed -n 's/READS //p')
echo "COST a read of 0 bytes: devtrace $(((v - none) / 1000)), strace $(((w - none) / 1000))"
cost 'dd bs=1 count=20000' /usr/bin/dd if=/dev/zero of=/dev/null bs=1 count=20000
cost 'find /sys/kernel' /usr/bin/find /sys/kernel
cost 'git status' /usr/bin/git status
poweroff -f
I
chmod +x "$d/root/init"
(cd "$d/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$d/initrd"
timeout 900 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -serial stdio -m 1024 -smp 1 \
	-cpu max,-cx16,-erms,-fsrm -accel tcg -icount shift=0,sleep=off -kernel "$out/vmlinuz" -initrd "$d/initrd" \
	-append "console=ttyS0 noapictimer norandmaps cryptomgr.notests quiet panic=-1" </dev/null 2>&1 | sed -u 's,\r,,g' |
	sed -n 's/^COST //p; /Oops\|WARNING\|BUG:/p'
