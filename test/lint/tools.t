#!/bin/bash
# SPDX-License-Identifier: MIT
# What tools of others say of the sources: clang-format and cppcheck of C, shellcheck of the shell's, node of the page's.
# `make lint' runs it; `make format' does what the first one asks for. For every change cppcheck and shellcheck
# read a share of the files.
. "$(dirname "$0")/common.bash"
. test/share.bash
echo 1..4
mapfile -t sources < <(git ls-files '*.c' | grep -vE '^(test|examples|kernel|bpf|bench)/' | share)
# a header means one thing for each processor: those of two are not mixed
mapfile -t aarch64 < <(printf '%s\n' "${sources[@]}" | grep '^arch/aarch64/')
mapfile -t others < <(printf '%s\n' "${sources[@]}" | grep -v '^arch/aarch64/')
look() {
	cppcheck -q -j2 --std=c11 --enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=unmatchedSuppression --suppressions-list=test/lint/cppcheck.txt --template='{file}:{line}: {message} [{id}]' \
		-I. "$@" 2>&1
}
is 1 "cppcheck finds nothing that was not looked at (test/lint/cppcheck.txt)" \
	"$(look -U__aarch64__ "${others[@]}")$([ ${#aarch64[@]} = 0 ] || look -D__aarch64__ -U__x86_64__ "${aarch64[@]}")"
mapfile -t scripts < <(git ls-files | xargs awk 'FNR == 1 && /^#!\/(usr\/)?bin\/(env )?(ba)?sh/ { print FILENAME }' 2>/dev/null | share)
is 2 "shellcheck: no warning" "$(shellcheck -f gcc -S warning "${scripts[@]}" 2>&1)"
is 3 "the page's scripts can be read" "$(for f in view/page/*.js; do node --check "$f" 2>&1; done)"
is 4 "clang-format would change nothing (make format)" "$(make -s --no-print-directory format-wanted 2>&1)"
