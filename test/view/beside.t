#!/bin/bash
# SPDX-License-Identifier: MIT
# Two traces beside each other in the page, whose times and calls are made up here: B's clock has another rate, and another zero.
. "${DEVTRACE_ROOT:-$PWD}/test/view/begin.bash"
# made HZ-OF-TICKS-PER-US ZERO PARSE EXTRA: 50 steps, each of parse (PARSE us) and fast (2 us); in the 30th EXTRA is called, too
made() {
	awk -v per="$1" -v zero="$2" -v parse="$3" -v extra="$4" 'function t(us) { return int(zero + us * per) }
		BEGIN { printf "kinds\nevent 40960 1 chips GET get of a key\nclock %d 0\nclock %d 1000000\nthread 1 worker\n", zero, t(1000)
			n = split("main step parse fast odd lone", names, " ")
			for (i = 1; i <= n; i++) printf "function %s n:i4@0;v\n", names[i]
			at = 5; printf "E lone 0x9100 %d 0\nX lone 0x9100 %d\n", t(1), t(2)
			printf "E main 0x9000 %d 1\n", t(at)
			for (i = 0; i < 50; i++) {
				printf "E step 0x8000 %d %d\nE parse 0x7000 %d 3\nX parse 0x7000 %d\n", t(at + 1), i, t(at + 2), t(at + 2 + parse)
				at += 3 + parse
				if (extra && i == 30) { printf "E odd 0x7000 %d 0\nX odd 0x7000 %d\n", t(at), t(at + 4); at += 5 }
				printf "E fast 0x7000 %d %d\nX fast 0x7000 %d\n", t(at), i, t(at + 2)
				if (i == 20 || i == 40) printf "V main 0x7000 %d 0xa000000100000011\n", t(at + 2.5)
				printf "X step 0x8000 %d\n", t(at + 3)
				at += 4
			}
			printf "X main 0x9000 %d\n", t(at) }'
}
made 2000 1000000000 10 '' >"$dir/a.txt"
made 3000 77000000 40 odd >"$dir/b.txt"
for t in a b; do "$root/build/test/tool/writetrace" "$dir/$t.db" <"$dir/$t.txt" || exit 1; done
# a note at the 8th call of fast, in each
for t in a b; do
	at=$("$root/build/devtrace" sql -n "$dir/$t.db" "SELECT ticks FROM records WHERE kind = 'E' AND function = 'fast' LIMIT 1 OFFSET 7" | tr -d " ")
	sqlite3 "$dir/$t.db" "CREATE TABLE note(id INTEGER PRIMARY KEY, begin_ticks INTEGER, end_ticks INTEGER, text TEXT); INSERT INTO note VALUES(1, $at, $at + 10, 'here')"
done
cd "$npm" && timeout 120 node "$root/test/view/beside.mjs" "$root/build/devtrace" "$dir"
