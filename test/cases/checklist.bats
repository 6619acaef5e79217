# SPDX-License-Identifier: MIT
# doc/dev/checklist.md: every row is there once, and every test that it names.
load common

# what the rows of a kind say: number, tab, rest
rows() {
	sed -n "s/^| \($1[0-9]*\) | \(.*\) |\$/\1\t\2/p" "$root/doc/dev/checklist.md"
}

# the names of tests in a line's quoted words
named() {
	grep -o '`[a-z]*/[a-z-]*\.[a-z]*: [^`]*`' | tr -d '`'
}

# does the file have this test? names: in .bats and .c of tests, elsewhere whatever it says
has() {
	local file=$root/test/$1 name=$2
	[ -f "$file" ] || return
	case $file in
	*/kernel/kernel.t) grep -qE "^case_$name\(\)" "$root"/test/kernel/guest/*.sh ;;
	*.bats) grep '^@test "' "$file" | grep -qF -e "$name" ;;
	*.c) grep -qE "^static void $name\(void \*\*" "$file" &&
		grep -qE "(T|TEST|test|teardown)\($name[,)]" "$file" ;;
	*/view/*.t) grep -qF -e "$name" "${file%.t}.mjs" ;;
	*.t) grep -qF -e "$name" "$file" ;;
	*) return 1 ;;
	esac
}

@test "checklist: every row, wish and disagreement once, each with a test or why there is none" {
	diff <(rows '' | cut -f1) <(seq 136)
	diff <(rows D | cut -f1) <(seq -f D%.0f 32)
	diff <(rows F | cut -f1) <(seq -f F%.0f 32)
	# three columns more in a row, two in a disagreement, none of them empty
	not=$({ rows ''; rows F; } | awk -F' [|] ' 'NF != 3 || /[|] *[|]/ { print }')
	[ -z "$not" ] || { echo "$not"; return 1; }
	while IFS= read -r line; do
		[ -n "$(named <<<"$line")" ] && continue
		case $line in *"not yet"* | *"no test"* | *"nothing to show"*) continue ;; esac
		echo "neither a test nor a reason: $line"
		return 1
	done < <(rows ''; rows D; rows F)
}

@test "checklist: every test that is named is there" {
	n=0
	while IFS= read -r line; do
		has "${line%%: *}" "${line#*: }" || { echo "no such test: $line"; return 1; }
		n=$((n + 1))
	done < <({ rows ''; rows D; rows F; } | named)
	[ "$n" -gt 150 ]
	# and whoever names none is told
	! has cases/ctl.bats 'check-999' || return 1
	! has unit/test-text.c check_999 || return 1
	! has cases/none.bats check-001 || return 1
	! has kernel/kernel.t check_999 || return 1
}
