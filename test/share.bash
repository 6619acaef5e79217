# SPDX-License-Identifier: MIT
# Sourced by campaigns of many cases that are alike: `make check' tries a share of them, another one each time
# (test/run.sh sets SHARE), `make soak S=whole' all.

# share [MOST [TIMES]]: of the lines that it reads every SHAREth (1: all), or every MOSTth if that is more of them, from one on
# that is chosen by chance, or by FROM. TIMES: of the largest campaigns so many times fewer, where not all are tried
share() {
	local every=${SHARE:-1}
	[ "$every" = 1 ] || every=$((every * ${2:-1}))
	[ -z "${1-}" ] || [ "$every" -le "$1" ] || every=$1
	local from=${FROM:-$((RANDOM % every))}
	[ "$every" = 1 ] || echo "# one case of $every: SHARE=$every FROM=$from" >&2
	# of fewer lines than that one is left, too
	awk -v every="$every" -v from="$from" '{ line[NR] = $0 }
		END { if (NR && every > NR) every = NR
			for (i = 1; i <= NR; i++) if (i % every == (from + 1) % every) print line[i] }'
}
