#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes the trace file's reader for FUZZ_SECONDS (20) with clang's libFuzzer, address and
# undefined-behaviour sanitizers. Speaks TAP.
cd "$(dirname "$0")/../.." || exit 1
seconds=${FUZZ_SECONDS:-20}
work=$(mktemp -d) && trap 'sweep "$work"' EXIT
. "${DEVTRACE_ROOT:-$PWD}/test/sound.bash"
maketrace=${DEVTRACE_BUILD:-build}/test/tool/maketrace
echo 1..2
clang -O1 -g -std=gnu11 -I. -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -o "$work/fuzz" test/fuzz/trace.c \
	core/error.c core/plain.c core/line.c core/text.c store/*.c analyse/{pair,stack,same,stats}.c core/signature.c -lsqlite3 -lzstd -lm >"$work/log" 2>&1 || {
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - the fuzzer builds"
	exit 1
}
echo "ok 1 - the fuzzer builds"
mkdir "$work/seed" "$work/corpus"
# whole files, small ones; and a chunk's blobs as SQLite has them
for n in 2 300; do
	"$maketrace" -n $n -l 100 "$work/t.db" >/dev/null || exit 1
	{ printf '\0'; cat "$work/t.db"; } >"$work/seed/file$n"
	sqlite3 "$work/t.db" "SELECT printf('%08x%08x', records | 0x10000, length(events)) ||
		hex(events) || hex(vals) FROM chunk LIMIT 1" | python3 -c '
import sys
h = sys.stdin.read().strip()
n, split, rest = int(h[:8], 16), int(h[8:16], 16), bytes.fromhex(h[16:])
sys.stdout.buffer.write(b"\1" + n.to_bytes(4, "little") + split.to_bytes(4, "little") + rest)
' >"$work/seed/chunk$n"
done
printf '\2\100\0\0\0\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0' >"$work/seed/columns"
if timeout $((seconds + 60)) "$work/fuzz" -max_total_time="$seconds" -max_len=200000 -rss_limit_mb=2048 \
	-timeout=10 -print_final_stats=1 -artifact_prefix="$work/" "$work/corpus" "$work/seed" >"$work/log" 2>&1; then
	grep -E 'number_of_executed_units|new_units_added' "$work/log" | sed 's/^/# /'
	echo "ok 2 - nothing found in $seconds s"
else
	tail -40 "$work/log" | sed 's/^/# /'
	for f in "$work"/crash-* "$work"/timeout-* "$work"/oom-* "$work"/leak-*; do
		[ -e "$f" ] && mkdir -p build && cp "$f" build/ && echo "# kept build/$(basename "$f")"
	done
	echo "not ok 2 - nothing found in $seconds s"
	exit 1
fi
