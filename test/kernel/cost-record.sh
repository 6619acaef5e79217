#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `devtrace record -k' costs a program in the kernel, by the module and by BPF: instructions, which QEMU
# counts (-icount), so the numbers are the same each time. One core. One line each: instructions for each call of
# a function of which entry and exit are recorded, and what recorded it.
# What it costs where the calls are summed up in the kernel (--sum), and none is recorded.
# And what -S and --wakers cost a wake-up over a pipe, with the switches to the other process and back.
# usage: cost-record.sh [6.1|6.12]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=${1:-6.1}
out=$("$here/build.sh" "$version" 2>/dev/null)
devtrace=${DEVTRACE_BUILD:-$here/../../build}/devtrace
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
mkdir -p "$d/root"/{bin,proc,sys,dev,tmp}
cp "$(command -v busybox)" "$d/root/bin/busybox"
strip --strip-debug -o "$d/root/devtrace.ko" "$out/devtrace.ko"
strip --strip-debug -o "$d/root/bin/devtrace" "$devtrace"
gcc -O2 -o "$d/root/bin/reads" "$here/reads.c"
gcc -O1 -o "$d/root/bin/pingpong" "$here/pingpong.c"
mapfile -t loaded < <(for lib in libgcc_s.so.1 libbpf.so.1; do
	ldconfig -p | grep -o "/[^ ]*x86_64[^ ]*/$lib" | head -n 1
done)
{ ldd "$devtrace" "${loaded[@]}" | grep -oE '(^|[[:space:]])/[^ :]*( |$)' | tr -d '[:blank:]' | sort -u; printf '%s\n' "${loaded[@]}"; } | while read -r lib; do
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
none=$(reads | sed -n 's/READS //p')
# cost WHO PATTERN WHAT
cost() {
	v=$(devtrace record -k"$2" -F main -o /tmp/c.db reads 2>/tmp/err | sed -n 's/READS //p')
	if [ -n "$v" ]; then
		echo "COST $(((v - none) / 1000)) $1: $3"
	else
		sed 's/^/COST - /' /tmp/err
	fi
}
both() {
	cost "$1" ksys_read 'a function'
	cost "$1" __x64_sys_read 'a system call'
	cost "$1" '__x64_sys_read ksys_read vfs_read' 'a system call and two functions in it'
}
# rounds OPTION: ticks of 1000 rounds, of two wake-ups each
rounds() {
	if [ -z "$1" ]; then
		pingpong pipe 1000
	else
		devtrace record $1 -F main -o /tmp/c.db pingpong pipe 1000
	fi 2>/tmp/err | cut -d' ' -f3
}
none2=$(rounds '')
for option in -S --wakers; do
	v=$(rounds $option)
	[ -n "$v" ] && echo "COST $(((v - none2) / 2000)) $option: a wake-up and the switch to who is woken" || sed 's/^/COST - /' /tmp/err
done
# sum PATTERN WORDS WHAT: the same where BPF sums calls up
sum() {
	v=$(devtrace record -k"$1" -F main --sum "$2" -o /tmp/c.db reads pauses 2>/tmp/err | sed -n 's/READS //p')
	if [ -n "$v" ] && grep -q 'summed up in the kernel' /tmp/err; then
		echo "COST $(((v - none) / 1000)) BPF, --sum '$2': $3"
	else
		sed 's/^/COST - /' /tmp/err
	fi
}
both BPF
for words in 'count by function' 'hist(time) by function'; do
	sum ksys_read "$words" 'a function'
	sum __x64_sys_read "$words" 'a system call'
	sum syscall:read "$words" 'a system call in full'
done
insmod /devtrace.ko
both module
poweroff -f
I
chmod +x "$d/root/init"
(cd "$d/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$d/initrd"
timeout 400 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -serial stdio -m 1024 -smp 1 \
	-cpu max,-cx16,-erms,-fsrm -accel tcg -icount shift=0,sleep=off -kernel "$out/vmlinuz" -initrd "$d/initrd" \
	-append "console=ttyS0 noapictimer norandmaps cryptomgr.notests quiet panic=-1" </dev/null 2>&1 | sed -u 's,\r,,g' |
	sed -n 's/^COST //p; /Oops\|WARNING\|BUG:/p'
