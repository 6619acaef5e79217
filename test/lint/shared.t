#!/bin/bash
# SPDX-License-Identifier: MIT
# A session's shared memory is looked at in few files only: whoever has it traced can write there what it likes.
. "$(dirname "$0")/common.bash"
echo 1..3

sources() { git ls-files '*.[ch]' 2>/dev/null | grep -vE '^(test|bench|examples|kernel)/' || find . -name '*.[ch]' | cut -c3- | grep -vE '^(test|bench|examples|kernel|build)/'; }

is 1 "only the traced process's part, hook/shared.c and session/rings.c have its layout" \
	"$(sources | xargs grep -lE '#include "core/control\.h"' |
		grep -vxE 'target/parts\.h|hook/shared\.c|session/rings\.c')"
# the pointer to it: kept, given on, never followed
is 2 "nobody else follows the pointer to it" \
	"$(sources | xargs grep -nE '(->|\.)(control|ring)->|\*\s*\w+(->|\.)control\b|\(char \*\)\w+(->|\.)control\b' |
		grep -vE '^(target/[a-z]+\.[ch]|hook/shared\.c|session/rings\.c|core/control\.h):')"
# no pointer, nothing of libc's: what a structure there may have
is 3 "there are numbers in it, and no pointer" \
	"$(sed -n '/^struct dt_\(ring\|control\) {/,/^};/p' core/control.h | perl -0pe 's:/\*.*?\*/::gs' |
		grep -E '^\s+(struct \w+|[a-z_]\w*( \w+)*)\s*\*|pthread|FILE|\bint\b|\blong\b|size_t')"
