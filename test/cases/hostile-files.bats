#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Trace files that were made to do harm: bounded memory and time, no write, and what is wrong in one line.
load read-helper

hostile() {
	python3 "$BATS_TEST_DIRNAME/hostile.py" "$@"
}

# a trace that has what view keeps, with several regions and what was open where each begins
summed() {
	maketrace -n 300000 -c 2 -t 3 -l 9000 -m 20 "$1" >made
	devtrace view --index "$1"
}

# within 20 s of processor time and 1.2 GB (an ordinary build) it ends by itself, whatever its status
walk() {
	run timeout -k 1 200 /usr/bin/time -f 'peak %M' walk-trace -t 20 "$1"
	echo "$1: $output"
	[ "$status" = 0 ]
	[[ $output != *"runtime error"* && $output != *Sanitizer* ]]
	[[ $build == *san* ]] || [ "$(grep -oP '^peak \K.*' <<<"$output")" -lt 1200000 ]
	# the same through libdevtrace, which nothing confines
	run timeout -k 1 200 walk-library "$1"
	echo "$1, by the library: $output"
	[ "$status" = 0 ]
	[[ $output != *"runtime error"* && $output != *Sanitizer* ]]
}

@test "hostile files: a segment of a snapshot that is below itself, in a ring, of no function; millions of them" {
	local kind
	summed t.db
	unsound self.db cycle.db function.db segments.db
	for kind in self cycle function segments; do
		cp t.db "$kind.db"
		hostile snapshot "$kind.db" $kind
		walk "$kind.db"
		run devtrace sql "$kind.db" "SELECT count(*) FROM calls WHERE begin > (SELECT max(begin) * 3 / 4 FROM calls)"
		echo "$output"
		[ "$status" = 0 ]
		[ "${lines[1]// /}" = "$(devtrace sql -n t.db "SELECT count(*) FROM calls WHERE begin > (SELECT max(begin) * 3 / 4 FROM calls)" | tr -d ' ')" ]
	done
}

@test "hostile files: a million blocks of bars, each before the ones before; a lane of the millionth track" {
	local kind
	summed t.db
	unsound order.db tracks.db
	for kind in order tracks; do
		cp t.db $kind.db
		hostile pyramid $kind.db $kind
		walk $kind.db
	done
}

@test "hostile files: losses without the table's key, chunks that begin near the last number, or at a word" {
	maketrace -n 60000 -c 2 -t 3 -l 900 t.db >made
	cp t.db loss.db
	sqlite3 loss.db "CREATE TABLE l(core INTEGER, after INTEGER, lost INTEGER, begin_ticks INTEGER, end_ticks INTEGER);
		INSERT INTO l SELECT * FROM loss; INSERT INTO l SELECT * FROM loss; DROP TABLE loss; ALTER TABLE l RENAME TO loss"
	cp t.db last.db
	sqlite3 last.db "UPDATE chunk SET first = 9223372036854775807 - records + 3"
	cp t.db word.db
	sqlite3 word.db "UPDATE chunk SET first = 'word'"
	cp t.db many.db
	sqlite3 many.db "UPDATE chunk SET records = records + (1 << 40)"
	unsound loss.db last.db word.db many.db
	for f in loss last word many; do
		for c in report "report --failed" "report --waits" calls "calls --failed" graph "view --index" check cat; do
			run timeout -k 1 20 devtrace $c $f.db
			echo "$c $f: $status ${output:0:500}"
			[[ $c == cat && $f == loss || $status == 1 ]] || false
			[[ $output == *damaged* || $output == *"not sound"* || $c == cat ]] || false
			[[ $output != *Sanitizer* ]] || false
		done
		walk $f.db
	done
}

@test "hostile files: a chunk without records is named, whichever it is" {
	maketrace -n 400000 -c 2 m.db >/dev/null
	for chunk in 3 6; do
		cp m.db k.db
		sqlite3 k.db "UPDATE chunk SET records = 0 WHERE id = $chunk"
		status=0
		devtrace cat k.db >/dev/null 2>said || status=$?
		[ "$status" = 1 ]
		[ "$(cat said)" = "devtrace: k.db: chunk $chunk of the trace: damaged: where it begins, or how long it is" ]
	done
	rm k.db
}

@test "hostile files: a journal beside a trace is not undone, and nothing is deleted by it" {
	local c
	sample t.db
	echo precious >victim
	hostile journal t.db "$PWD/victim"
	cp t.db before.db
	for c in report calls graph check cat "view --index" "export --chrome -o x.json" "export --parquet -o x.parquet"; do
		run devtrace $c t.db
		echo "$c: $output"
		[ "$status" != 0 ]
		[[ $output == *"t.db-journal"*"delete it"* ]]
	done
	run devtrace sql t.db "SELECT count(*) FROM calls"
	[ "$status" = 1 ]
	[[ $output == *"t.db-journal"* ]]
	run devtrace sql t.db "INSERT INTO activities(name, begin, end) VALUES('a', 1, 2)"
	[ "$status" = 1 ]
	# attached to another, for writing
	sample u.db
	run devtrace sql u.db "ATTACH 't.db' AS t; SELECT count(*) FROM t.chunk; CREATE TABLE t.x(y)"
	[ "$status" = 1 ]
	[ "$(cat victim)" = precious ]
	[ -e t.db-journal ]
	cmp t.db before.db
	# one's own writings still have theirs
	rm t.db-journal
	devtrace sql t.db "INSERT INTO activities(name, begin, end) VALUES('a', 1, 2)"
	[ "$(devtrace sql -n t.db "SELECT name FROM activities")" = a ]
	[ ! -e t.db-journal ]
	devtrace check t.db
}

# all that the command writes does nothing to a terminal
clean() {
	local rc=0
	"$@" >out 2>err || rc=$?
	# not a wrong option, nor a signal
	[ $rc != 2 ] && [ $rc -lt 100 ] || { echo "$*: $rc"; cat err; false; }
	hostile raw <out || { echo "$*"; head -c 2000 out | cat -v; false; }
	hostile raw <err || { echo "$* (err)"; head -c 2000 err | cat -v; false; }
}

# bats test_tags=long
@test "hostile files: names that a terminal would obey are shown plain by every command, picture and export" {
	local c f
	unsound t.db u.db
	sample t.db
	hostile names t.db name
	sample u.db
	hostile names u.db other
	[ "$(sqlite3 t.db "SELECT count(*) FROM function WHERE instr(name, char(27)) > 0")" -gt 4 ]
	for c in report "report --json" "report --failed" "report --waits" path "path --json" "path -F *add* -n 0" calls "calls --failed" "calls --merge" graph "graph --json" "graph --dot" "graph -D 1" cat "cat -l" "cat -c" "cat -k" \
		check "hist -F *add*" "hist --durations -b log2" "hist --svg -o -" count "count -k arg/10" "flame -o -" \
		"plot --text" sql "diff u.db" "diff --json u.db" "diff --first u.db" "diff --first --json u.db"; do
		case $c in
		sql*) clean devtrace sql t.db "SELECT * FROM functions; SELECT * FROM calls; SELECT * FROM threads; SELECT * FROM processes" ;;
		*) clean devtrace $c t.db ;;
		esac
	done
	clean devtrace sql -j t.db "SELECT * FROM functions; SELECT * FROM threads"
	clean devtrace sql -c t.db "SELECT * FROM functions"
	for c in chrome speedscope folded callgrind csv; do
		devtrace export --$c -o x.$c t.db
		clean cat x.$c
	done
	for f in flame.svg; do
		devtrace flame -o $f t.db
		clean cat $f
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' $f
	done
	devtrace plot -t 1 -o x.gp t.db
	clean cat x.gp
	clean devtrace graph -F '*nosuch*' t.db
	clean devtrace calls -F '*nosuch*' t.db
}

@test "hostile files: names run nothing in gnuplot, and are no formulas in CSV" {
	local name f
	unsound t.db
	command -v gnuplot >/dev/null || skip "no gnuplot"
	for name in $'x\nEND_OF_CALLS\n!touch owned\n#' '`touch owned`' '"`touch owned`"' '@owned' \
		"'.system('touch owned').'" $'"\tq'; do
		sample t.db
		python3 - "$name" <<-'P'
			import sqlite3, sys
			with sqlite3.connect("t.db") as db:
			    db.execute("UPDATE function SET name = ?", (sys.argv[1],))
		P
		devtrace plot -t 1 -o x.gp t.db
		[ "$(grep -cx END_OF_CALLS x.gp)" = 1 ]
		gnuplot -e "owned=\"'.system('touch owned').'\"; set macros; set terminal svg; set output 'x.svg'" x.gp
		devtrace plot -t 1 -o y.svg t.db
		[ ! -e owned ]
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("x.svg"); xml.dom.minidom.parse("y.svg")'
	done
	sample t.db
	for f in = + - @; do
		sqlite3 t.db "UPDATE function SET name='$f' || 'cmd|calc'"
		devtrace export --csv -o x.csv t.db
		[ "$(grep -c ",\"'${f}cmd|calc\"," x.csv)" -gt 5 ]
		[ "$(devtrace sql -c -n t.db "SELECT name, -5, -1.5, 'x' FROM functions LIMIT 1" | tr -d '\r')" = "\"'${f}cmd|calc\",-5,-1.5,x" ]
	done
}

@test "hostile files: an ELF file that is nearly all a hole, tables of symbols in the same bytes, names that a terminal would obey" {
	local harm=$'f\e]0;owned\a\e[2J\n\u202eo'
	cat >p.c <<-'C'
		int foo(int x) { return x * 3; }
		int main(int n, char **v) { return foo(n); }
	C
	gcc -O0 -o p p.c
	objcopy --redefine-sym foo="$harm" p q
	run devtrace list ./q
	[ "$status" = 0 ]
	[[ $output == *':f\x1b]0;owned\x07\x1b[2J\n\u202eo'* ]]
	devtrace list -v ./q >out 2>&1
	hostile raw <out
	python3 - <<-'P'
		import struct
		b = bytearray(open("p", "rb").read())
		shoff, = struct.unpack_from("<Q", b, 40)
		n, = struct.unpack_from("<H", b, 60)
		tables = [i for i in range(n) if struct.unpack_from("<I", b, shoff + 64 * i + 4)[0] == 2]
		h = bytearray(b)
		struct.pack_into("<Q", h, shoff + 64 * tables[0] + 32, 3 << 30)
		with open("hole", "wb") as f:
		    f.write(h)
		    f.truncate(4 << 30)
		# the same table 20000 times, the headers at the end
		head = b[shoff:shoff + 64 * n]
		b += b"\0" * (-len(b) % 8)
		struct.pack_into("<Q", b, 40, len(b))
		struct.pack_into("<H", b, 60, n + 20000)
		b += head + head[64 * tables[0]:64 * tables[0] + 64] * 20000
		open("many", "wb").write(b)
	P
	chmod +x hole many
	for f in hole many; do
		run timeout -k 1 20 /usr/bin/time -f 'peak %M' devtrace list ./$f
		echo "$output"
		# of the second one all but the names are as they have to be
		[[ $status == 1 || $f == many ]]
		[[ $output == *"$f is damaged: "* ]]
		[[ $build == *san* ]] || [ "$(grep -oP '^peak \K.*' <<<"$output")" -lt 200000 ]
	done
	# one that only has some holes
	cp p some
	truncate -s 50M some
	devtrace list ./some
}

@test "a trace is written without a journal, which who is killed would leave, and no reader undoes" {
	ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=openat -o opened "$build/test/tool/maketrace" -n 200000 made.db
	grep -q 'made.db-wal.*O_CREAT' opened
	! grep -E 'made\.db.*-journal.*O_CREAT' opened || false
	[ ! -e made.db-wal ]
	devtrace check -q made.db
}

# seconds of processor time that 1 MB may cost; the sanitizers take theirs
cost() {
	if [[ $build == *san* ]]; then echo 80; else echo 8; fi
}

# the same 65,536 records, N times
equal_records() {
	awk 'BEGIN { print "function f"; for (i = 0; i < 65536; i++) printf "P f 8 %d 1\n", i * 10 }' | writetrace "$1"
	[ "$(sqlite3 "$1" 'SELECT count(*) FROM chunk')" = 1 ]
	sqlite3 "$1" "PRAGMA journal_mode=DELETE; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < $2 - 1)
		INSERT INTO chunk SELECT id + i, core, first + i * 65536, records, min_ticks, max_ticks, events, vals FROM chunk, n;
		PRAGMA page_size=4096; VACUUM" >sqlite.out
}

@test "hostile files: of records that take next to nothing not as many are read as nobody waits for" {
	local c
	equal_records t.db 4096
	equal_records some.db 512
	unsound t.db some.db
	[ "$(stat -c %s t.db)" -lt 2500000 ]
	for c in report calls check "view --index" cat; do
		run bash -c "ulimit -t $(cost); exec timeout 60 devtrace $c t.db"
		echo "$c: $status ${output:0:300}"
		[ "$status" = 1 ]
		[[ $output == *"made to take very long"*"DEVTRACE_DENSE=1"* ]]
	done
	run devtrace sql -n some.db "SELECT count(*) FROM chunk"
	[ "$status" = 1 ]
	run env DEVTRACE_DENSE=1 devtrace sql -n some.db "SELECT count(*) FROM chunk"
	echo "$output"
	[ "$status" = 0 ]
	[ "${output// /}" = 512 ]
	# holes in a file are no bytes of it
	truncate -s 1G t.db
	run timeout 60 devtrace report t.db
	[ "$status" = 1 ]
	[[ $output == *"made to take very long"* ]]
}

@test "hostile files: chunks and losses without an index" {
	maketrace -n 60000 -c 2 -t 3 -l 900 t.db >made
	unsound index.db part.db
	for f in index part; do
		cp t.db $f.db
		sqlite3 $f.db "DROP INDEX chunk_order"
	done
	sqlite3 part.db "CREATE INDEX chunk_order ON chunk(core)"
	for f in index part; do
		run timeout 20 devtrace report $f.db
		echo "$output"
		[ "$status" = 1 ]
		[[ $output == *"damaged: its chunks or losses have no index"* ]]
	done
}

@test "hostile files: tens of thousands of functions that are parts, of one place, points of different names" {
	local c n=30000
	# with sanitizers all that takes five times as long
	case ${DEVTRACE_BUILD-} in */san) n=15000 ;; esac
	{ echo "function f" && echo "E f 8 10" && echo "X f 8 20"; } | writetrace t.db
	unsound cold.db place.db point.db left.db
	cp t.db cold.db
	cp t.db place.db
	cp t.db left.db
	# each calls one that is not hooked
	sqlite3 left.db "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < $n)
		INSERT INTO function SELECT i, 1, i * 16, 16, 'g' || i, '', 0, '' FROM n;
		INSERT INTO unhooked SELECT m.path, f.id, 'h' || f.id, 'made up' FROM function f, module m WHERE m.id = 1;
		INSERT INTO unhooked_caller(path, caller, callee) SELECT m.path, f.address - m.base, f.id FROM function f, module m WHERE m.id = 1"
	sqlite3 cold.db "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < $n)
		INSERT INTO function SELECT i, 0, i * 16, 16, 'g' || i || '.cold', '', 0, '' FROM n"
	sqlite3 place.db "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < $n)
		INSERT INTO function SELECT i, 0, 16, 16, 'g' || i, '', 0, '' FROM n"
	# each with a record
	awk -v n="$n" 'BEGIN { for (i = 0; i < n * 0.65; i++) printf "function p%d\nP p%d 8 %d 1\n", i, i, i }' | writetrace point.db
	for c in "report cold.db" "graph cold.db" "report place.db" "graph place.db" "report left.db" "view --index point.db"; do
		run bash -c "ulimit -t $(cost); exec timeout 100 devtrace $c"
		echo "$c: $status ${output:0:300}"
		[ "$status" = 0 ]
	done
}

@test "hostile files: tens of thousands of names of one address" {
	# by one command: bats notes each that the shell executes, which takes half a millisecond
	{ seq 40000 | sed 's/.*/.globl a&; .set a&, main/'; echo 'main: .rept 20; mov %eax,%ebx; .endr; ret; .size main,.-main'; echo '.globl main; .type main, @function'; } >names.s
	gcc -nostdlib -shared -o names names.s
	run bash -c "ulimit -t $(cost); exec timeout 100 devtrace list ./names"
	echo "$status ${output:0:300}"
	[ "$status" = 0 ]
}

@test "hostile files: hundreds of thousands of losses in no order" {
	local c
	maketrace -n 60000 -c 2 -t 3 -m 20 t.db >made
	unsound t.db
	sqlite3 t.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 300000)
		INSERT OR IGNORE INTO loss SELECT i % 2, 100000 + i, 1, 900000000 - i * 3, 900000000 - i * 3 + 1 FROM n UNION ALL
		SELECT i % 2, 500000 + i, 1, -i, -i FROM n WHERE i < 100000"
	for c in calls "report --anyway" "view --index --anyway" check; do
		run bash -c "ulimit -t $(cost); exec timeout 100 devtrace $c t.db >out"
		echo "$c: $status ${output:0:300}"
		[ "$status" -le 1 ]
	done
}

@test "hostile files: clocks of a rate that no clock has" {
	local t c
	maketrace -n 20000 -c 2 -t 3 t.db >made
	unsound fast.db slow.db far.db
	for t in fast slow far; do cp t.db $t.db; done
	sqlite3 fast.db "UPDATE clock SET monotonic_ns = rowid, ticks = rowid * 1000000000000000"
	sqlite3 slow.db "UPDATE clock SET monotonic_ns = rowid * 1000000000000000, ticks = rowid"
	# between two readings alone, not over all
	sqlite3 far.db "DELETE FROM clock; INSERT INTO clock(ticks, monotonic_ns, realtime_ns)
		VALUES (1, 1, 1), (2, 4000000000000000000, 1), (4000000000000000000, 4000000000000000001, 1)"
	for t in fast slow far; do
		walk $t.db
		devtrace report $t.db >$t.report
		devtrace calls $t.db >$t.calls
		for c in perfetto parquet clickhouse otlp; do devtrace export --$c -o $t.$c $t.db; done
	done
	# a tick is taken for a ns: calls last as many ns as they have ticks
	for t in fast slow; do
		run devtrace check $t.db
		[[ $output == *"no clock is like this"* ]]
		[ "$(devtrace sql -n $t.db "SELECT sum(end - begin) FROM calls")" = "$(devtrace sql -n $t.db "SELECT sum(end_ticks - begin_ticks) FROM calls")" ]
	done
}

@test "hostile files: code that a program reads 50,000 times over costs no more than the file is long" {
	python3 - >many.S <<-'P'
		print('.hidden f\n.globl f\n.type f, @function\nf:')
		for i in range(50000):
		    print('leaq f(%rip), %rsi\nleaq e+1(%rip), %rdx\nsubq %rsi, %rdx')
		print('e: ret\n.size f, . - f\nret')
	P
	gcc -shared -nostdlib -o many.so many.S
	run bash -c "ulimit -t $(cost); exec timeout 100 devtrace list -v ./many.so"
	[ "$status" = 0 ]
	[[ $output = *"many.so:f"*"reads it as data"* ]]
}
