#!/bin/bash
# SPDX-License-Identifier: MIT
# No folder uses one that is above it in README's table, no file another that uses it; and who looks for such finds them.
. "$(dirname "$0")/common.bash"
echo 1..3
is 1 "no arrow upward, no circle that is not known" "$(python3 test/lint/arrows.py 2>&1)"

# but for those that each processor has for itself: one is compiled at a time
is 2 "no two types of one name" "$(git ls-files '*.h' '*.c' | grep -vE '^(test|bench|examples|arch/aarch64)/' |
	xargs grep -hoE '^(struct|enum|union) dt_\w+ \{' | sort | uniq -d)"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cp test/lint/arrows.py "$scratch"
cd "$scratch" || exit 1
mkdir low high
printf '## Layout\n\n| folder | holds |\n|---|---|\n| `high/` | x |\n| `low/`, `beside/` | y |\n' >README.md
printf '#include "high/b.h"\n#include "other/x.h"\n' >low/a.c
printf '#include "low/c-work.h"\n' >low/c.h
printf '#include "low/d.h"\n' >low/c-work.h
printf '#include "low/c.h"\n' >low/d.h
mkdir other beside && touch other/x.h && printf '#include "low/c-work.h"\n' >high/b.h && printf '#include "low/d.h"\n' >beside/e.c
found=$(python3 arrows.py 2>&1 | grep -v 'is no more')
is 3 "what is upward, beside, nowhere or in a circle is named" "$(diff <(echo "$found") - <<-'W'
	beside/e.c: low/d.h is not below it
	high/b.h: low/c-work.h is for low/ only
	low/a.c: high/b.h is not below it
	low/a.c: other/x.h is in no folder of README's table
	a circle: low/c low/d
W
)"
