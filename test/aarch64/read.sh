#!/bin/bash
# SPDX-License-Identifier: MIT
# Every command that reads traces prints on aarch64, under qemu-user, what it prints here: test/golden/ with the devtrace of
# `make ARCH=aarch64 build/aarch64/devtrace'. And what traces refuses. TAP; some minutes.
cd "$(dirname "$0")/../.." || exit 1
sysroot=$(packaging/cross/sysroot.sh aarch64) && scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '#!/bin/sh\nexec qemu-aarch64-static -L "%s" "%s/build/aarch64/devtrace" "$@"\n' "$sysroot" "$PWD" >"$scratch/devtrace"
chmod +x "$scratch/devtrace"
said=$("$scratch/devtrace" record -o "$scratch/a.db" build/aarch64/devtrace 2>&1)
case $? in
0) echo "not ok - record did not refuse" ;;
*) case $said in
	*"ptrace is not permitted here"*) echo "ok - record refuses where there is no ptrace" ;;
	*) echo "not ok - record says: $said" ;;
	esac ;;
esac
# a real recording: of stock programs, with arguments, texts, children and switches
build/devtrace record -l -f -S -o "$scratch/real.db" sh -c 'ls -l /usr/bin | sort -k 5 -n | tail -n 3' >/dev/null 2>&1
for words in report "report --waits" calls "calls --json" cat graph check "sql -n {} SELECT_function,count(*)_FROM_calls_GROUP_BY_1"; do
	w=${words/ {\}/ $scratch/real.db}
	[ "$w" != "$words" ] || w="$words $scratch/real.db"
	read -ra w <<<"$w"
	w=("${w[@]//_/ }")
	# without the names of variables, which are read from files of the processor that devtrace runs on
	build/devtrace "${w[@]}" 2>&1 | sed 's/ <[A-Za-z_][^<> ]*>//g' >"$scratch/here"
	"$scratch/devtrace" "${w[@]}" 2>&1 | sed 's/ <[A-Za-z_][^<> ]*>//g' >"$scratch/there"
	if [ "$(wc -l <"$scratch/here")" -ge 3 ] && cmp -s "$scratch/here" "$scratch/there"; then
		echo "ok - of a real recording: ${w[0]}, $(wc -l <"$scratch/here") lines"
	else
		echo "not ok - of a real recording: ${w[*]}"
		diff "$scratch/here" "$scratch/there" | head -n 5 | sed 's/^/# /'
	fi
done
DEVTRACE_BUILD=$scratch python3 test/golden/golden.t
