#!/bin/bash
# SPDX-License-Identifier: MIT
# Links of documents lead to files that are there, and to headings that these have; every document can be reached from README.
. "$(dirname "$0")/common.bash"
echo 1..3
is 1 "every link leads somewhere" "$(python3 test/lint/links.py 2>&1)"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '%s\n' '# A heading: of two' 'a [b](x.md), [c](#a-heading-of-two), `[d](gone.md)`, [e](gone.md)' '[f](x.md#gone) [g](https://x.y/)' >"$scratch/x.md"
is 2 "what leads nowhere is found" "$(diff <(python3 test/lint/links.py "$scratch/x.md" | sed 's/.*x\.md:\([0-9]\)/\1/') - <<-'W'
	2: gone.md
	3: x.md#gone
W
)"
# reached FILE...: documents that are linked to, from these on
reached() {
	local all=("$@") i=0 f link
	while [ $i -lt ${#all[@]} ]; do
		f=${all[i++]}
		for link in $(grep -oE '\]\([^)#: ]+\.md' "$f" | cut -c3-); do
			link=$(realpath --relative-to=. "$(dirname "$f")/$link")
			[[ " ${all[*]} " == *" $link "* ]] || all+=("$link")
		done
	done
	printf '%s\n' "${all[@]}" | sort
}
is 3 "every document can be reached from README" "$(comm -13 <(reached README.md) <(git ls-files '*.md' | grep -v '^test/' | sort))"
