#!/bin/bash
# SPDX-License-Identifier: MIT
# What it costs that hooks leave the flags as they are: a copy of this tree whose hooks do not, beside this one, in turns.
# usage: flags.sh [ROUNDS]    prints the best ns of the loop's turn with a traced call (bench/call.c), with the flags kept and
# without, and their ratio. How many calls need it: bench/flags.py
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
rounds=${1:-60}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
export XDG_RUNTIME_DIR=$copy
cd "$root"
# with what has been built: only what runs in a traced process is made anew
git ls-files -z | xargs -0 cp --parents -pt "$copy"
mkdir "$copy/build"
find build -mindepth 1 -maxdepth 1 ! -name kernel ! -name san ! -name test ! -name memos -exec cp -rpt "$copy/build" {} +
cd "$copy"
hook=arch/x86_64/target/hook.S
sed -i -E '/^\.macro (keep|give)_flags meta$/,/^\.endm$/s/\.if \\meta/.if 0/' $hook
if [ "$(diff "$root/$hook" $hook | grep -c '^>')" != 2 ]; then
	echo "flags.sh: $hook has no keep_flags and give_flags as they were" >&2
	exit 1
fi
make build/devtrace >make.log 2>&1 || { tail make.log >&2; exit 1; }
if cmp -s "$root/build/devtrace" build/devtrace; then
	echo "flags.sh: the copy keeps the flags, too" >&2
	exit 1
fi
gcc -O2 -g -w -D_GNU_SOURCE -o call-plain bench/call.c -lpthread
once() { "$1/build/devtrace" record -p overwrite -F call-plain:leaf -o t.db ./call-plain call 0.1 2>/dev/null | grep -oE 'best=[0-9.]+' | cut -d= -f2; }
for ((i = 0; i < rounds; i++)); do
	echo "$(once "$root") $(once "$copy")"
done | awk 'NR == 1 || $1 < a { a = $1 } NR == 1 || $2 < b { b = $2 } END { printf "flags kept: %s ns, not kept: %s ns (the best batch of %d runs); ratio %.4f\n", a, b, NR, a / b }'
