#!/bin/bash
# SPDX-License-Identifier: MIT
# Manual pages: groff finds nothing wrong with them, the pages that they name are there, and they explain themselves without
# the sources; those that are made of documents are as they would be made. The glossary: its words are used, and are
# explained where it says.
root=$(realpath "${DEVTRACE_ROOT:-$PWD}")
cd "$root" || exit 1
tests=0
# is WHAT FOUND: nothing was found
is() {
	tests=$((tests + 1))
	if [ -z "$2" ]; then echo "ok $tests - $1"; else
		echo "not ok $tests - $1"
		sed 's/^/# /' <<<"$2"
	fi
}
pages=(man/*.[1-8])
commands() {
	build/devtrace --help | sed -n '/^Any/q; s/^  \([a-z][a-z]*\)  *[a-zA-Z].*/\1/p'
}

# sound PAGE...: what groff says of them; that a line of a table without a blank can not be adjusted is no fault
sound() {
	local page
	for page; do
		groff -man -Tutf8 -Kutf8 -ww -rLL=100n "$page" 2>&1 >/dev/null | grep -vE 'cannot adjust line|can.t break line' | sed "s|^|$page: |"
	done
}
# gone PAGE...: pages of ours that they name, and that are not there
gone() {
	local page name
	for page; do
		sed 's/\\-/-/g; s/\\f[A-Z]//g' "$page" | grep -oE '\b(lib)?devtrace(-[a-z-]+)? ?\([1-8]\)' | tr -d ' ' | sort -u |
			while read -r name; do
				[ -e "man/$(sed 's/(\(.\))/.\1/' <<<"$name")" ] || echo "$page: $name"
			done
	done
}
is "groff finds nothing wrong with ${#pages[@]} pages" "$(sound "${pages[@]}")"
# plain PAGE...: what a terminal without UTF-8 can not show of them
plain() {
	local page
	for page; do
		LC_ALL=C groff -man -Tascii -Kutf8 "$page" 2>&1 >/dev/null | grep 'special character' | sed "s|^|$page: |"
	done
}
is "a terminal without UTF-8 shows all of them" "$(plain "${pages[@]}")"
is "the pages that they name are there" "$(gone "${pages[@]}")"
is "the pages that --help names are there" "$(for c in "" $(commands); do
	# shellcheck disable=SC2086 # no word
	build/devtrace $c --help | grep -oE 'devtrace(-[a-z-]+)?\([1-8]\)'
done | sort -u | while read -r name; do
	[ -e "man/$(sed 's/(\(.\))/.\1/' <<<"$name")" ] || echo "$name"
done)"
is "none sends to a file of the sources for what a user needs" \
	"$(grep -nE '(doc/)?[a-z]+\.md' "${pages[@]}" | grep -vE 'Made from|doc/dev/|README')"
is "each has a name, a synopsis or description, and SEE ALSO" "$(for page in "${pages[@]}"; do
	for section in NAME 'SYNOPSIS|DESCRIPTION' 'SEE ALSO'; do
		grep -qE "^\.SH \"?($section)" "$page" || echo "$page: no $section"
	done
done)"
is "each command has a page, and devtrace(1) names it" "$(commands | while read -r c; do
	[ -e "man/devtrace-$c.1" ] || echo "no man/devtrace-$c.1"
	grep -qF "devtrace\\-$c (1)" man/devtrace.1 || echo "devtrace(1) does not name devtrace-$c(1)"
done)"
is "pages that are made of documents are as man/make.py makes them" "$(/usr/bin/python3 man/make.py --check 2>&1)"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
printf '.TH X 1\n.SH NAME\nx \\- y\n.XY z\nsee \\fBdevtrace\\-gone\\fR(1), devtrace\\-ctl (5)\n' >"$scratch/x.1"
is "what is wrong with a page is found" "$(diff <(sound "$scratch/x.1" | grep -c XY; gone "$scratch/x.1" | sed 's/.*: //') <(printf '1\ndevtrace-gone(1)\n'))"

# words GLOSSARY: words that are not in the document that explains them, or nowhere else
words() {
	sed -n 's/^| \([^|]*\) | .* | \[.*\](\([^)]*\)) |$/\1\t\2/p' "$1" | while IFS=$'\t' read -r term where; do
		IFS=, read -ra alternatives <<<"$term"
		for word in "${alternatives[@]}"; do
			word=${word# }
			[ -e "doc/$where" ] || { echo "$word: no doc/$where"; continue; }
			grep -qiF -e "$word" "doc/$where" || echo "$word: doc/$where does not have it"
			grep -qiFw -e "$word" -r man/*.1 README.md doc/start.md doc/answers.md doc/analysis.md doc/timeline.md doc/language.md \
				doc/probes.md doc/sleds.md doc/events.md doc/format.md cmd || echo "$word: it is used nowhere"
		done
	done
}
is "the glossary's words are used, and explained where it says" "$(words doc/glossary.md)"
is "they are in order, each once" "$(sed -n '/^|---/,$s/^| \([^|]*\) | .*/\1/p' doc/glossary.md | grep -v '^word$' | LC_ALL=C sort -fc 2>&1
	sed -n '/^|---/,$s/^| \([^|]*\) | .*/\1/p' doc/glossary.md | sort | uniq -d)"
printf '| frobnication | is it | [x](gone.md) |\n| frobnicated | is it | [x](sql.md) |\n' >"$scratch/g.md"
is "a word that is not is found" "$(diff <(words "$scratch/g.md") <(printf '%s\n' 'frobnication: no doc/gone.md' 'frobnicated: doc/sql.md does not have it' 'frobnicated: it is used nowhere'))"
echo "1..$tests"
