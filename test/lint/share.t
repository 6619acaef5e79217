#!/bin/bash
# SPDX-License-Identifier: MIT
# Shares of cases that are alike (test/share.bash): never none, and together all of them.
. "$(dirname "$0")/common.bash"
. test/share.bash
echo 1..2
none='' missed=''
for n in 1 2 4 5 12; do
	for SHARE in 1 2 3 5 7; do
		all=''
		for ((FROM = 0; FROM < SHARE; FROM++)); do
			one=$(seq "$n" | share 2>/dev/null)
			[ -n "$one" ] || none+="$n lines, every ${SHARE}th from $FROM; "
			all+=$one$'\n'
		done
		[ "$(sort -un <<<"${all//$'\n\n'/$'\n'}" | grep .)" = "$(seq "$n")" ] || missed+="$n lines, every ${SHARE}th; "
	done
done
is 1 "a share is never none" "$none"
is 2 "all shares together are everything" "$missed"
