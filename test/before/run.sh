#!/bin/bash
# SPDX-License-Identifier: MIT
# Whether a test sees the fault that it is for: runs the cases of test/before/cases, a row each, with the devtrace of a commit that
# had these faults, and has to see each one fail. All else (programs that the cases trace, tools that read what it wrote) is of
# this tree, but for the tool that makes up traces, which the older devtrace could not read otherwise. TAP; for each row the
# assertion that failed. The present devtrace has to pass the same cases: make check.
# usage: run.sh [COMMIT [ROW...]]   COMMIT: 3744d3d; ROW: what a row begins with, such as B1
set -u
cd "$(dirname "$0")/../.." || exit 1
export DEVTRACE_ROOT=$PWD PATH=/usr/bin:/bin:$PATH
commit=${1:-3744d3d}
[ $# = 0 ] || shift
old=$PWD/build/before/$commit
[ -x build/devtrace ] || { echo "not ok - build/devtrace is missing: make all tests"; exit 1; }
if [ ! -x "$old/tree/build/test/tool/writetrace" ]; then
	mkdir -p "$old/tree"
	git archive "$commit" | tar -x -C "$old/tree" || { echo "not ok - there is no commit $commit here"; exit 1; }
	make -C "$old/tree" -j2 all build/test/tool/writetrace >"$old/log" 2>&1 || { echo "not ok - $commit does not build: $old/log"; exit 1; }
fi
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
export XDG_RUNTIME_DIR=$dir DEVTRACE_BUILD=$old/build
rm -rf "$DEVTRACE_BUILD" && mkdir -p "$DEVTRACE_BUILD"
for f in build/*; do
	[ "$f" = build/before ] || cp -al "$f" "$DEVTRACE_BUILD"
done
for f in devtrace lib libdevtrace-sqlite.so test/tool/writetrace; do
	rm -rf "${DEVTRACE_BUILD:?}/$f" && cp -a "$old/tree/build/$f" "$DEVTRACE_BUILD/$f"
done

# sessions that the older devtrace leaves
end_left() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2>/dev/null)" != "$DEVTRACE_BUILD/devtrace" ] || kill "${p#/proc/}" 2>/dev/null
	done
}

n=0
while IFS=$'\t' read -r row file name; do
	case $row in '#'* | '') continue ;; esac
	[ $# = 0 ] || case " $* " in *" $row "*) ;; *) continue ;; esac
	n=$((n + 1))
	# a name is words, not a regular expression; of a campaign (.t) all cases are run
	case $file in
	*.bats) timeout -k 5 300 bats --tap -f "^$(sed 's/[][().*^$+?{}|\\]/\\&/g' <<<"$name")" "test/cases/$file" >"$dir/all" 2>&1 </dev/null ;;
	*) timeout -k 5 600 "test/$file" >"$dir/all" 2>&1 </dev/null ;;
	esac
	grep -E "^#|^(not )?ok [0-9]* (- )?${name%% *}" "$dir/all" >"$dir/out"
	end_left
	if grep -q "^not ok" "$dir/out"; then
		echo "ok $n - $row, $file: $(sed -n 's/^not ok [0-9]* //p' "$dir/out" | head -n 1)"
		# what failed in the case itself, not in what is done after it
		sed -nE "s/^#   .(.*)' failed.*/# \1/p" "$dir/out" | head -n 1 | cut -c1-160
	elif grep -q "^ok" "$dir/out"; then
		echo "not ok $n - $row, $file: $name: it passes"
	else
		echo "not ok $n - $row, $file: there is no case '$name'"
		head -n 3 "$dir/out" | sed 's/^/# /'
	fi
done <test/before/cases
echo "1..$n"
