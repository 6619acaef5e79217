# SPDX-License-Identifier: MIT
# What all tests of commands share: the program, and what is asked of its messages.
load check-traces
root=${DEVTRACE_ROOT:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
dt=${DEVTRACE_BUILD:-$root/build}/devtrace

# Python without what its site has it load at each start (half of the time of a short one); what needs a module of
# Debian's packages calls /usr/bin/python3
python3() { command python3 -S "$@"; }

# the message is one line, and holds the words
one_line() {
	[ "${#lines[@]}" = 1 ] || { echo "${#lines[@]} lines: $output"; return 1; }
	local word
	for word; do
		case $output in *"$word"*) ;; *) echo "no '$word' in: $output"; return 1 ;; esac
	done
}
