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
