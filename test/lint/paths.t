#!/bin/bash
# SPDX-License-Identifier: MIT
# Files and functions that documents and remarks name are there; and what is not is named. Nothing that was only made beside the
# sources is among them.
. "$(dirname "$0")/common.bash"
echo 1..3
is 1 "every file and function that is named is there" "$(python3 test/lint/paths.py 2>&1)"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '%s\n' 'See core/record.h and core/nothing.h, `store/store.[ch]`, `store/gone.[ch]`.' '`dt_store_put()`, `dt_store_lost_function()`' \
	'unit/test-text.c: view/page.t: view/no-page.t' >"$scratch/x.md"
is 2 "what is not there is named" "$(diff <(python3 test/lint/paths.py "$scratch/x.md" | sed 's/.*x.md://') - <<-'W'
	1: core/nothing.h
	1: store/gone.[ch]
	2: dt_store_lost_function()
	3: view/no-page.t
W
)"
# traces, and what programs have written in the root
stray() {
	git -C "$1" ls-files | grep -vE '/|^(\.clang-format|\.gitignore|\.shellcheckrc|Makefile|LICENSE|install-deps\.sh|[A-Z]+\.md)$'
	git -C "$1" ls-files | grep -E '\.(db|db-wal|db-shm|old|o|perf)$'
}
git init -q "$scratch/tree"
mkdir "$scratch/tree/sub"
touch "$scratch/tree/"{p4,README.md,sub/p4,sub/t.db}
git -C "$scratch/tree" add .
is 3 "no file is left in the tree" "$(stray . || true
	diff <(stray "$scratch/tree") <(printf '%s\n' p4 sub/t.db))"
