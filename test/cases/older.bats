# SPDX-License-Identifier: MIT
# Traces that an older devtrace has written are read as it read them: test/cases/older/ has one of each version of the format.
# What is right: the texts that the program made, which is below, and what that devtrace printed (its sum).
load common

setup() {
	cd "$dir" || return
}

# older/version-1.db.xz is: devtrace record -l of this, by revision 59e634fd
#	char name[100], copy[200];
#	for (int i = 0; i < 120; i++) {
#		snprintf(name, sizeof(name), "a text of %d bytes or so, %s", i * 7 % 40,
#			i % 3 ? "short" : "of which the end is further away than one piece has room for");
#		if (strcmp(name, "nothing") == 0) puts("?");
#		memcpy(copy, name, strlen(name) + 1);
#		if (i % 50 == 0) close(open(i % 100 ? "/nowhere/at/all" : "/dev/null", O_RDONLY));
#	}
#	return strlen(copy) == 0;
@test "older: a file of version 1, in which texts are values: the same texts, the same records" {
	xz -dc "$root/test/cases/older/version-1.db.xz" >one.db
	[ "$(sqlite3 one.db 'PRAGMA user_version')" = 1 ]
	"$dt" check -q one.db
	[ "$("$dt" cat -l one.db | sha256sum | cut -d' ' -f1)" = dd3e27f8ae7569e7e81906f69e859f49f8418752b68d85e87203490560adbaa5 ]
	"$dt" sql -n one.db "SELECT text FROM calls WHERE function = 'strcmp' ORDER BY begin" | sed -E 's/.*s1="(.*)", s2=.*/\1/' >got
	for ((i = 0; i < 120; i++)); do
		end='of which the end is further away than one piece has room for'
		[ $((i % 3)) = 0 ] || end=short
		echo "a text of $((i * 7 % 40)) bytes or so, $end"
	done | diff - got
	# and so they are where they are written anew, in the version of now
	printf 'clock 0 0\nclock 2000000 1000000\nthread 1 main\nfunction f\nE f 8 10\nX f 8 20\n' | "${dt%/*}/test/tool/writetrace" other.db
	"$dt" merge -o fleet.db a=one.db b=other.db >said 2>&1 || { cat said; false; }
	"$dt" merge --one joined.db fleet.db
	[ "$(sqlite3 joined.db 'PRAGMA user_version')" = 2 ]
	"$dt" check -q joined.db
	"$dt" sql -n joined.db "SELECT text FROM calls WHERE function = 'strcmp' ORDER BY begin" | sed -E 's/.*s1="(.*)", s2=.*/\1/' | diff got -
}

# older/3744d3d.db.xz is `record -b 64K -F main -F leaf', and older/3744d3d-switches.db.xz on one core
# `record -S -F main -F leaf -F run', both by revision 3744d3d, of programs that call leaf 3,000 and, in three
# threads, 3 * 4,800 times; the first printed 13495500, the sum of what leaf returned.
@test "older: of a trace of revision 3744d3d check names what that version is known to have done wrong" {
	xz -dc "$root/test/cases/older/3744d3d.db.xz" >old.db
	# rings of 1,024 records: the program waited for room, and it is in the times
	[ "$("$dt" sql -n old.db "SELECT count(*) || ' ' || sum(result) FROM calls WHERE function = 'leaf'")" = '3000 13495500' ]
	"$dt" report old.db >report
	[ "$(awk '$NF == "leaf" { print $5 }' report)" = 3000 ] || { cat report; false; }
	"$dt" check old.db >said
	[ "$(grep -c ': note: a devtrace of before 2026-11-24 recorded it: ' said)" = 3 ]
	grep -q 'waited for room in the rings is in the times of their calls$' said
	grep -q 'which chosen functions were not hooked is not known, .* calls may be missing that are not counted as lost' said
	grep -q '^old.db: sound: 6002 records in 1 chunk, 0 lost$' said
	"$dt" check --json old.db >said
	[ "$(grep -c '"type": *"note".*"because": *"a devtrace of before 2026-11-24 recorded it"' said)" = 3 ]
	# nothing of it is a fault, nor said of a trace of now
	run "$dt" check -qs old.db
	[ "$status" = 0 ]
	[ -z "$output" ]
	"$dt" record -o now.db -F 'plain:fib' ./plain 5 >out || [ $? = 3 ]
	"$dt" check now.db >said
	[ -s said ]
	run grep 'a devtrace of' said
	[ "$status" = 1 ]
}

@test "older: with -S revision 3744d3d put records out of order: check names it, report refuses" {
	xz -dc "$root/test/cases/older/3744d3d-switches.db.xz" >old.db
	unsound old.db
	# each record is read: as many as the program made
	[ "$("$dt" sql --csv --no-header old.db "SELECT kind, count(*) FROM records WHERE function = 'leaf' GROUP BY 1 ORDER BY 1" | tr -d '\r')" = 'E,14400
X,14400' ]
	run "$dt" check old.db
	[ "$status" = 1 ]
	[[ $output == *"old.db: "*" records are earlier than one before them on their core; the first: record "*" of core 0, "* ]]
	[[ $output == *"old.db: a devtrace of before 2026-11-24 recorded it: with -S or -k it put records out of order, and what reads them leaves some out; record again"* ]]
	[[ $output == *"old.db: not sound" ]]
	run "$dt" report old.db
	[ "$status" = 1 ]
	one_line 'the trace does not add up' 'earlier than ones before them of their threads' --anyway
	"$dt" report --anyway old.db >report
	grep -q ' leaf$' report
}
