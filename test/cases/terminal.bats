#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What listings look like at a terminal: its width, colours, characters, the pager; and where there is none
load read-helper
. "$BATS_TEST_DIRNAME/../share.bash"

# on COLUMNS KEYS COMMAND...: at a terminal of that width; standard error is the file err
on() {
	python3 "$BATS_TEST_DIRNAME/onpty.py" "$1" "$2" sh -c 'exec "$@" 2>err' sh "${@:3}"
}

# the same, standard error included
on_with_errors() {
	python3 "$BATS_TEST_DIRNAME/onpty.py" "$@"
}

# widest: the columns of the widest line on standard input, counted by python
widest() {
	python3 -c '
import re, sys, unicodedata
text = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", sys.stdin.buffer.read().decode())
print(max(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) for line in text.split("\n")))'
}

setup_file() {
	export LC_ALL=C.UTF-8 TERM=xterm
	unset NO_COLOR COLUMNS PAGER DEVTRACE_PAGER LESS
}

@test "at a terminal lines have its columns, with a mark where they are cut; elsewhere they are whole" {
	sample
	devtrace calls >whole
	for columns in 1 2 20 34 80 200; do
		on "$columns" '' devtrace calls --no-pager >shown
		[ "$(widest <shown)" -le "$columns" ]
	done
	# nothing is cut that fits: each line begins as the whole one does
	on 34 '' devtrace calls --no-pager --units us --no-header --color never >shown
	python3 - <<-'P'
		import re
		whole, shown = (open(name).read().split("\n") for name in ("whole", "shown"))
		assert len(whole) == len(shown), (len(whole), len(shown))
		for w, s in zip(whole, shown):
		    # a line with a result keeps it, and loses arguments
		    result = re.search(r"\) = \S+$", w)
		    if len(w) <= 34:
		        assert s == w, (w, s)
		    elif result:
		        assert s.endswith("\u2026" + result[0]) and s[:16] == w[:16] and len(s) == 34, (w, s)
		    else:
		        assert len(s) == 34 and s[:20] == w[:20] and "\u2026" in s, (w, s)
	P
	LC_ALL=C on 34 '' devtrace calls --no-pager | grep -q '>$'
	on 34 '' devtrace calls --no-pager --wide --units us --no-header --color never | cmp - whole
	COLUMNS=21 on 80 '' devtrace calls --no-pager >shown
	[ "$(widest <shown)" = 21 ]
	COLUMNS=x on 80 '' devtrace calls --no-pager >shown
	[ "$(widest <shown)" -gt 21 ]
	COLUMNS=20 devtrace calls | cmp - whole
}

@test "a call's result and the name of its error stay where a line is cut: its texts become shorter first" {
	cat >fails.c <<-'C'
	#include <arpa/inet.h>
	#include <fcntl.h>
	#include <sys/stat.h>
	#include <unistd.h>
	#define DEEP(name, next) __attribute__((noinline)) int name(int n) { int r = next(n + 1); __asm__ volatile(""); return r + 1; }
	__attribute__((noinline)) int last(int n)
	{
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(0x7f000001)};
		int s = socket(AF_INET, SOCK_STREAM, 0);

		open("/home/ann/some/very/long/path/that/goes/on/and/on/\"configuration\"/curlrc", O_RDONLY);
		connect(s, (void *)&a, sizeof(a));
		mkdir("/proc/a directory that nobody makes there/\303\251", 0755);
		return n;
	}
	DEEP(e, last) DEEP(d, e) DEEP(c, d) DEEP(b, c) DEEP(a, b)
	int main(void) { return a(0) < 0; }
	C
	gcc -O1 -g -o fails fails.c
	devtrace record --filter failed -l -o f.db ./fails 2>err
	devtrace record -A 'libc.so.6:open' -F '*' -o deep.db ./fails 2>err
	devtrace calls --no-header f.db | grep -v '^#' >whole
	[ "$(grep -cE ' = -1 E[A-Z]+ \([^)]*\)$' whole)" = 3 ]
	for columns in 40 41 45 50 60 70 80 90 100 120 140; do
		on "$columns" '' devtrace calls --color never --no-pager --no-header f.db | grep -v '^#' >shown
		[ "$(widest <shown)" -le "$columns" ]
		grep -q 'op.*(.*) = -1 ENOENT' shown
		grep -q 'co.*(.*) = -1 ECONNREFUSED' shown
		grep -q 'm.*(.*) = -1 ENOENT' shown
	done
	on 40 '' devtrace calls --color never --no-pager --no-header deep.db | grep -v '^#' >shown
	[ "$(widest <shown)" -le 40 ]
	grep -q 'open(.*) = -1 ENOENT' shown
	# both ends of a path say more than its middle
	on 100 '' devtrace calls --color never --no-pager f.db | grep -qE 'open\(path="/home/.*….*/curlrc", flags=O_RDONLY\) = -1 ENOENT'
	on 200 '' devtrace calls --color never --no-pager --no-header --units us f.db | grep -v '^#' | diff - whole
	for columns in 1 2 10 20 30; do
		on "$columns" '' devtrace calls --no-pager f.db >shown
		[ "$(widest <shown)" -le "$columns" ]
	done
	# the last of many, which come first, are cut like the others
	LC_ALL=C on 60 '' devtrace calls --color never --no-pager --failed --last 1 f.db >shown
	[ "$(grep -c '^ .*>.* = -1 E' shown)" -ge 2 ]
	! grep '…' shown || false
}

@test "characters that take two columns, and those that take none, are counted as a terminal does" {
	writetrace w.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	thread 1 main
	function 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 n:i4@0;v
	function ééééééééééééééééééééééééééééééééé n:i4@0;v
	E 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 0x2000 100 1
	X 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 0x2000 200
	E ééééééééééééééééééééééééééééééééé 0x2000 300 1
	X ééééééééééééééééééééééééééééééééé 0x2000 400
	TEXT
	for columns in 20 29 30 31 40 52; do
		on "$columns" '' devtrace calls --no-pager w.db >shown
		[ "$(widest <shown)" -le "$columns" ]
		[ "$(grep -c '…' shown)" -ge 1 ]
	done
}

@test "colours: at a terminal only, and NO_COLOR, TERM and --color are asked" {
	sample
	coloured() { grep -q $'\033'; }
	on 80 '' devtrace calls --no-pager | coloured
	! devtrace calls | coloured || false
	! NO_COLOR=1 on 80 '' devtrace calls --no-pager | coloured || false
	NO_COLOR='' on 80 '' devtrace calls --no-pager | coloured
	for term in '' dumb unknown; do
		! TERM=$term on 80 '' devtrace calls --no-pager | coloured || false
	done
	! env -u TERM python3 "$BATS_TEST_DIRNAME/onpty.py" 80 '' env -u TERM devtrace calls --no-pager | coloured || false
	devtrace calls --color always | coloured
	NO_COLOR=1 devtrace calls --color=always | coloured
	! on 80 '' devtrace calls --no-pager --color never | coloured || false
	# a cut line leaves no colour behind
	on 40 '' devtrace calls --no-pager >shown
	[ "$(grep -c $'\033\\[2m' shown)" = "$(grep -c $'\033\\[0m' shown)" ]
	run devtrace calls --color red
	[ "$status" = 2 ]
	[[ $output == *"auto, always or never"* ]]
}

@test "the tree of graph is drawn in UTF-8 only where it can be shown" {
	sample
	LC_ALL=C.UTF-8 devtrace graph -m 0 >utf8
	grep -q '└─' utf8
	for words in LC_ALL=C LC_ALL=POSIX 'LC_ALL= LC_CTYPE= LANG=C' 'LC_ALL= LC_CTYPE= LANG=' LC_ALL=xx_XX LC_ALL=xx_XX.ISO-8859-1; do
		env $words devtrace graph -m 0 >plain
		! grep -q '[^ -~]' plain || false
		sed 's/└─/`-/; s/├─/|-/; s/│/|/g' utf8 | cmp - plain
	done
	# a locale that is not on this machine still says what the terminal shows
	LC_ALL=xx_XX.utf8 devtrace graph -m 0 | cmp - utf8
	env LC_ALL= LC_CTYPE= LANG=xx_XX.UTF-8 "$(command -v devtrace)" graph -m 0 | cmp - utf8
	on 60 '' devtrace graph -m 0 --no-pager >shown
	[ "$(widest <shown)" -le 60 ]
}

@test "a pager is found as git finds it, gets all there is, and may be left early" {
	sample
	cat >page <<-'SH'
	#!/bin/sh
	{ echo "LESS=$LESS"; cat; } >"$PAGED"
	SH
	chmod +x page
	export PAGED=$PWD/paged
	PAGER=$PWD/page on 80 '' devtrace calls --wide --units us --no-header --color never >shown
	[ ! -s shown ]
	devtrace calls | cat <(echo LESS=FRX) - | cmp - paged
	LESS=S PAGER=$PWD/page on 80 '' devtrace calls >shown
	head -n 1 paged | grep -qx LESS=S
	rm paged
	# DEVTRACE_PAGER comes before PAGER; none is one that is empty, or cat
	PAGER=false DEVTRACE_PAGER="exec $PWD/page" on 80 '' devtrace graph -m 0 >shown
	grep -q half paged
	rm paged
	for words in DEVTRACE_PAGER= PAGER= PAGER=cat 'DEVTRACE_PAGER=cat PAGER=page' TERM=dumb; do
		env PAGER=page $words python3 "$BATS_TEST_DIRNAME/onpty.py" 80 '' devtrace graph -m 0 >shown
		grep -q half shown
	done
	PAGER=$PWD/page devtrace calls >/dev/null # no terminal
	[ ! -e paged ]
	# less shows what fits without waiting, as does no pager at all
	if [ -x /usr/bin/less ]; then
		on 200 '' devtrace graph -m 0 >shown
		grep -q half shown
	fi
	mkdir none
	ln -s "$(command -v devtrace)" none/
	on 200 '' env PATH="$PWD/none" devtrace calls >shown
	grep -q half shown
	# one that can not be run, one that reads nothing, one that fails: what was read is the person's
	PAGER=/nonexistent/page run on_with_errors 80 '' devtrace calls
	[ "$status" = 1 ]
	[[ $output == *"the pager '/nonexistent/page' can not be run"* ]]
	for page in true 'exec head -n 1' 'exit 3'; do
		PAGER=$page on 80 '' devtrace calls
	done
	# the exit status is the command's
	PAGER=$PWD/page run on_with_errors 80 '' devtrace calls nothing.db
	[ "$status" = 1 ]
	grep -q 'nothing.db' paged
}

@test "a long listing: the pager is left after its first page, Ctrl-C ends what is behind it" {
	maketrace -n 2000000 long.db
	PAGER='head -n 3' on 80 '' devtrace calls "$PWD/long.db" >shown
	[ "$(wc -l <shown)" -le 5 ]
	[ -x /usr/bin/less ] || skip "no less here"
	on 80 q devtrace calls "$PWD/long.db" >shown
	PAGER='cat >/dev/null; exit 0' run on 80 $'\003' devtrace calls "$PWD/long.db"
	[ "$status" = 0 ] || [ "$status" = 130 ]
	# none is left behind
	for _ in {1..50}; do
		pgrep -f "devtrace calls $PWD/long.db" >left || return 0
		sleep 0.1
	done
	cat left
	false
}

@test "pipes that close, full disks and closed outputs are said, or nothing" {
	sample
	for command in calls report 'graph -m 0'; do
		bash -c "set -o pipefail; devtrace $command 2>err | true" || [ "$?" = 141 ]
		! grep -v 'records were lost' err || false
		! devtrace $command >/dev/full 2>err || false
		[ "$(grep -c '^devtrace: .*cannot write' err)" = 1 ]
		! timeout 20 devtrace $command >&- 2>err || false
		[ "$(grep -c '^devtrace: .*cannot write' err)" = 1 ]
		timeout 20 devtrace $command 2>&- >/dev/null
		timeout 20 devtrace $command <&- >/dev/null
		env -u HOME -u TMPDIR devtrace $command >/dev/null
	done
}

@test "a header names the columns at a terminal, with --fields, and when it is wanted" {
	sample
	on 80 '' devtrace calls --no-pager | head -n 1 | grep -qx '#     duration  call'
	! devtrace calls | grep -q duration || false
	devtrace calls --header --merge | head -n 1 | grep -qx '#     duration   thread  call'
	devtrace calls -O since,duration | head -n 1 | grep -q '^#  *since  *duration  call$'
	! on 80 '' devtrace calls --no-pager --no-header | grep -q duration || false
	devtrace calls -O none | grep -v '^#' | cut -c 1-40 >none
	devtrace calls | grep -v '^#' | cut -c 17-56 | cmp - none
}

@test "calls --fields: what the columns say is what sql says" {
	sample
	for fields in since duration self core thread process module depth; do
		devtrace calls --merge --units ns -O "$fields" --no-header >"$fields"
	done
	python3 - <<-'P'
	import json, subprocess
	rows = [json.loads(line) for line in subprocess.run(["devtrace", "sql", "-j", "devtrace.db", "SELECT * FROM calls WHERE timed"], capture_output=True, check=True).stdout.splitlines()]
	want = sorted(str(int(r["duration"])) for r in rows)
	import re
	def numbers(name):
	    return sorted(m[1] for m in (re.match(" *(\\d+) ns ", line) for line in open(name)) if m)
	assert numbers("duration") == want, (numbers("duration"), want)
	assert numbers("self") == sorted(str(int(r["self"])) for r in rows)
	begins = sorted(int(r["begin"]) for r in rows)
	since = sorted(int(line.split()[0].replace(".", "")) for line in open("since") if re.match(" *\\d+\\.\\d{9}  ", line))
	assert set(begins) <= set(since), (begins, since)
	whole = [line for line in open("depth") if "= 5" in line or "half(" in line]
	for line in whole:
	    assert line.split()[0] == "1", line
	assert {line.split()[0] for line in open("thread") if "(" in line} == {"1", "2"}
	P
	devtrace calls -O +elapsed --units us --thread 1 --no-header >elapsed
	# the sum of what passed between lines is what passed from the first to the last
	awk '/^#/ { next } $2 == "us" { sum += $1 } END { printf "%.3f\n", sum }' elapsed >sum
	devtrace calls -O since --thread 1 --no-header | awk '!/^#/ && $1 ~ /\./ { if (!n++) first = $1; last = $1 } END { printf "%.3f\n", 1e6 * (last - first) }' >whole
	cmp sum whole
	run devtrace calls -O time devtrace.db
	[ "$status" = 0 ] || [[ $output == *"time of day"* ]]
	run devtrace calls -O cpu devtrace.db
	[ "$status" = 1 ]
	for wrong in '' bogus since, ,since +; do
		run devtrace calls -O "$wrong"
		[ "$status" = 2 ]
		[[ $output == *"there are time, since"* ]]
	done
}

@test "calls --units: one unit for all, or that which fits" {
	writetrace u.db <<-'TEXT'
	clock 0 0
	clock 1000000000 1000000000
	thread 1 main
	function f n:i4@0;v
	E f 0x2000 1000 1
	X f 0x2000 1007
	E f 0x2000 2000 1
	X f 0x2000 3500
	E f 0x2000 10000 1
	X f 0x2000 2510000
	E f 0x2000 3000000 1
	X f 0x2000 4003000000
	TEXT
	said() { devtrace calls "$@" u.db | awk '/f\(/ { print $1 $2 }' | xargs; }
	[ "$(said)" = "0.007us 1.500us 2500.000us 4000000.000us" ]
	[ "$(said --units us)" = "$(said)" ]
	[ "$(said --units ns)" = "7ns 1500ns 2500000ns 4000000000ns" ]
	[ "$(said --units ms)" = "0.000ms 0.001ms 2.500ms 4000.000ms" ]
	[ "$(said --units s)" = "0.000s 0.000s 0.002s 4.000s" ]
	[ "$(said --units auto)" = "0.007us 1.500us 2.500ms 4.000s" ]
	[ "$(on 80 '' devtrace calls --no-pager u.db | awk '/f\(/ { print $1 $2 }' | xargs)" = "$(said --units auto)" ]
	run devtrace calls --units h u.db
	[ "$status" = 2 ]
}

@test "graph, sum and sql at 80, 40 and 20 columns: names are cut in the middle, numbers never" {
	local at=0 long='std::vector<std::basic_string<char>>::_M_realloc_insert<std::basic_string<char>&>'
	{
		printf 'clock 0 0\nclock 2000000 1000000\nthread 1 main\n'
		for name in main parse_the_whole_configuration_file "$long" half; do
			printf 'function %s a:u8@0;v\n' "$name"
		done
		# main calls the others, in each other
		printf 'E main 0x9000 100 18446744073709551615\n'
		for _ in {1..300}; do
			at=$((at + 1000))
			printf 'E parse_the_whole_configuration_file 0x8000 %d 3\nE %s 0x7000 %d 5\n' $at "$long" $((at + 10))
			printf 'E half 0x6000 %d 123456789\nX half 0x6000 %d\n' $((at + 20)) $((at + 30))
			printf 'X %s 0x7000 %d\nX parse_the_whole_configuration_file 0x8000 %d\n' "$long" $((at + 800)) $((at + 900))
		done
		printf 'X main 0x9000 %d\n' $((at + 1000))
	} | writetrace n.db
	while read -r -a words; do
		words=(devtrace "${words[@]//+/ }")
		"${words[@]}" >whole
		COLUMNS=20 "${words[@]}" | cmp - whole
		for columns in $(printf '%s\n' 12 20 27 40 60 80 120 250 | share 3); do
			on "$columns" '' "${words[@]}" --no-pager >shown
			[ "$(widest <shown)" -le "$columns" ]
			python3 - "$columns" "$long" "${words[1]}" <<-'P'
			import re, sys
			columns, long, command = int(sys.argv[1]), *sys.argv[2:]
			whole, shown = open("whole").read(), open("shown").read()
			# a number is one of those that are printed where there is room; a part of one is not
			number = r"(?<![\w.\u2026])-?\d+(?:\.\d+)?(?![\w\u2026])"
			# a terminal of twelve columns has no room for all of them
			if columns >= 20:
			    cut = set(re.findall(number, shown)) - set(re.findall(number, whole))
			    assert not cut, (command, columns, cut)
			    assert not re.search(r"(?<![=\w.])[\d.]+\u2026", shown), (command, columns)
			names = ("main", "parse_the_whole_configuration_file", long, "half")
			for line in shown.split("\n"):
			    for word in re.findall(r"\S*\u2026\S*", line):
			        head, tail = word.split("\u2026", 1)
			        # in the lines of the tree, of a column's name, or in the middle of a name; what is left out is between them
			        known = any(n.startswith(head.lstrip("└├─│ ")) and n.endswith(tail) for n in names)
			        known |= re.fullmatch(r"[└├─│ …]*", word) is not None
			        known |= command == "sql" and (line == shown.split("\n")[0] or "text" in line or columns <= 40 or "=" in line)
			        known |= command == "sum" and bool(re.match(r" *(calls|sum)\b", line)) or columns <= 20 and ("caller" in shown or columns == 12)
			        assert known, (command, columns, word, line)
			# short names are whole
			if columns >= 20:
			    assert re.search(r"\bmain\b", shown) and re.search(r"\bhalf\b", shown), (command, columns)
			P
		done
		on 250 '' "${words[@]}" --no-pager | cmp - whole
		on 40 '' "${words[@]}" --no-pager --wide | cmp - whole
	done <<-E
	graph -m 0 n.db
	graph n.db half
	sum -e time+by+function n.db
	sum -e count+by+function,+caller,+thread n.db
	sum -e arg1+by+function n.db
	sql n.db SELECT+function,+begin,+duration,+arg0+FROM+calls+ORDER+BY+begin
	sql n.db SELECT+arg0,+text,+function+FROM+calls+ORDER+BY+end
	E
	# where the numbers alone take more than a line, each value has one, and its name
	on 20 '' devtrace sql --no-pager n.db "SELECT function, begin, duration, depth FROM calls WHERE function = 'half' LIMIT 2" >shown
	head -n 5 shown | diff - <(printf 'function  half\nbegin     %s\nduration  5.0\ndepth     3\n\n' "$(devtrace sql -n n.db "SELECT min(begin) FROM calls WHERE function = 'half'" | tr -d ' ')")
	[ "$(wc -l <shown)" = 9 ]
	# the bars of a distribution are as long as there is room for
	for columns in 20 40 60 100; do
		on "$columns" '' devtrace sum --no-pager -e 'hist(time) by function' n.db >shown
		[ "$(grep -c '@' shown)" = "$([ $columns -gt 44 ] && devtrace sum -e 'hist(time) by function' n.db | grep -c '@' || echo 0)" ]
		grep -qE '(\.\.|\)) +300( |$)' shown
	done
	# a tree that is deeper than the terminal is wide: its lines give way, not the names
	{
		printf 'clock 0 0\nclock 2000000 1000000\nthread 1 main\n'
		for i in {1..60}; do printf 'function level%d\n' "$i"; done
		for i in {1..60}; do printf 'E level%d %d %d\n' "$i" $((1000000 - i * 100)) $((i * 10)); done
		for i in {60..1}; do printf 'X level%d %d %d\n' "$i" $((1000000 - i * 100)) $((100000 - i * 10)); done
	} | writetrace deep.db
	on 40 '' devtrace graph -m 0 --no-pager deep.db >shown
	for i in {1..60}; do grep -q "level$i\$" shown; done
	[ "$(widest <shown)" -le 40 ]
}

@test "report: at 80 columns names are seen whole, and as many columns as have room beside them" {
	local at=0
	{
		printf 'clock 0 0\nclock 2000000 1000000\nthread 1 main\n'
		for name in main parse_the_whole_configuration_file 'std::vector<std::basic_string<char>>::_M_realloc_insert<std::basic_string<char>&>'; do
			at=$((at + 1000))
			printf 'function %s\nE %s 0x1000 %d\nX %s 0x1000 %d\n' "$name" "$name" $at "$name" $((at + 500))
		done
	} | writetrace n.db
	devtrace report n.db >whole
	[ "$(widest <whole)" -gt 150 ]
	COLUMNS=20 devtrace report n.db | cmp - whole
	for columns in 1 2 14 20 34 50 80 120 250; do
		on "$columns" '' devtrace report --no-pager n.db >shown
		[ "$(widest <shown)" -le "$columns" ]
		[ "$(wc -l <shown)" = 4 ]
		[ "$columns" -lt 80 ] || [ "$(grep -c -e '  main$' -e '  parse_the_whole_configuration_file$' shown)" = 2 ]
		# the middle is left out, not what differs
		[ "$columns" -lt 34 ] || [ "$columns" = 250 ] || grep -q '  std::.*….*&>$' shown
	done
	on 80 '' devtrace report --no-pager n.db | head -n 1 | grep -qx ' *total  *self  *calls  function  *' || on 80 '' devtrace report --no-pager n.db | head -n 1 | grep -qx ' *total  *self  *calls  function'
	on 250 '' devtrace report --no-pager n.db | cmp - whole
	on 80 '' devtrace report --wide --no-pager n.db | cmp - whole
	# what is sorted by is there, and what was asked for
	on 40 '' devtrace report -s p99 --no-pager n.db | head -n 1 | grep -q p99
	on 60 '' devtrace report -O max,stddev,calls --no-pager n.db | head -n 1 | grep -q '^ *max  *stddev  *calls  function'
	LC_ALL=C on 60 '' devtrace report --no-pager n.db >shown
	! grep -q '[^ -~]' shown || false
	grep -q '  std::.*>.*&>$' shown
}

# listings FILE: commands that print a listing of a trace, a line each
listings() {
	cat <<-E
	calls $1
	calls -O since,duration,thread $1
	report $1
	report --by thread,function $1
	graph -m 0 $1
	diff $1 $1
	diff --first $1 $1
	cat $1
	cat -l $1
	cat -c $1
	hist --durations $1
	count $1
	sum -e count $1
	sql $1 SELECT+*+FROM+calls
	list $PWD/p
	E
}

@test "every listing: 20 columns, TERM unknown, LANG=C, NO_COLOR, the pager, and none of it elsewhere" {
	sample
	echo 'int main(void) { return 0; }' >p.c
	gcc -B"$build/lib" -o p p.c
	printf '#!/bin/sh\ncat >"$PAGED"\n' >page
	chmod +x page
	export PAGED=$PWD/paged
	while read -r -a words; do
		words=(devtrace "${words[@]//+/ }")
		"${words[@]}" >whole 2>err
		for columns in 20 80; do
			on "$columns" '' "${words[@]}" --no-pager >shown
			[ "$(widest <shown)" -le "$columns" ] || { echo "${words[*]}: $(widest <shown)"; false; }
			[ -s shown ]
		done
		TERM=unknown on 20 '' "${words[@]}" >shown # no pager, no colours
		! grep -q $'\033' shown || false
		NO_COLOR=1 on 80 '' "${words[@]}" --no-pager >shown
		! grep -q $'\033' shown || false
		LC_ALL=C on 30 '' "${words[@]}" --no-pager --color never >shown
		! grep -q '[^ -~]' shown || false
		rm -f paged
		PAGER=$PWD/page on 80 '' "${words[@]}" >shown
		[ ! -s shown ] && [ -s paged ] || { echo "${words[*]}: no pager"; cat shown; false; }
		rm paged
		PAGER=$PWD/page "${words[@]}" 2>/dev/null | cmp - whole
		[ ! -e paged ]
		COLUMNS=20 LC_ALL=C.UTF-8 "${words[@]}" 2>/dev/null | cmp - whole
		# without a home, and where nothing can be written
		env -u HOME -u TMPDIR -u XDG_RUNTIME_DIR "${words[@]}" 2>/dev/null | cmp - whole
	done < <(listings devtrace.db | share 3)
}

@test "a reader that has seen enough ends every listing quietly, by SIGPIPE" {
	maketrace -n 60000 long.db
	while read -r -a words; do
		words=(devtrace "${words[@]//+/ }")
		case "${words[*]}" in *list* | *sum* | *count* | *hist*) continue ;; esac # too short for a pipe to fill
		bash -c 'set -o pipefail; "$@" 2>err | head -n 1 >first; echo "${PIPESTATUS[0]}"' sh "${words[@]}" >status
		grep -qxE '141|0' status
		! grep -v 'note: ' err || false
		[ -s first ]
	done < <(listings long.db; printf '%s --json long.db\n' calls cat)
	bash -c 'devtrace cat long.db | head -n 1 >first; echo "${PIPESTATUS[0]}"' | grep -qx 141
	bash -c 'devtrace sql long.db "SELECT * FROM calls" | head -n 1 >first; echo "${PIPESTATUS[0]}"' | grep -qx 141
}

@test "a reader that is gone before the first line: every listing, help, and check end by SIGPIPE without a word" {
	sample
	echo 'int main(void) { return 0; }' >p.c
	gcc -B"$build/lib" -o p p.c
	cat >gone.py <<-'P'
	import os, signal, sys
	r, w = os.pipe()
	os.close(r)
	os.dup2(w, 1)
	os.close(w)
	signal.signal(signal.SIGPIPE, signal.SIG_DFL)
	os.execvp(sys.argv[1], sys.argv[1:])
	P
	while read -r -a words; do
		words=(devtrace "${words[@]//+/ }")
		status=0
		python3 gone.py "${words[@]}" 2>err || status=$?
		[ "$status" = 141 ] || { echo "${words[*]}: $status"; cat err; false; }
		! grep -v 'records\? were lost\|records\? was lost' err || { echo "${words[*]}"; false; }
	done < <(
		listings devtrace.db
		for command in calls report graph cat count 'hist --durations' 'sum -e count'; do echo "$command --json devtrace.db"; done
		printf '%s\n' "sql --json devtrace.db SELECT+*+FROM+calls" "sql --csv devtrace.db SELECT+*+FROM+calls" "check devtrace.db" \
			"graph --dot devtrace.db" "export --csv devtrace.db" --help --version "calls --help" "top --help" "./p" "-c ./p"
	)
}

@test "listings of a trace on a read-only file system" {
	unshare -rm true 2>/dev/null || skip "no mounts here"
	sample
	echo 'int main(void) { return 0; }' >p.c
	gcc -B"$build/lib" -o p p.c
	mkdir ro
	cp devtrace.db ro/t.db
	while read -r -a words; do
		words=(devtrace "${words[@]//+/ }")
		"${words[@]/ro\/t.db/devtrace.db}" 2>/dev/null | sed 's/devtrace\.db/ro\/t.db/' >whole
		unshare -rm sh -c 'mount -t tmpfs none ro && cp devtrace.db ro/t.db && mount -o remount,ro ro && ! touch ro/x 2>/dev/null && exec "$@"' sh "${words[@]}" 2>err >shown ||
			{ cat err; echo "${words[*]}"; false; }
		cmp shown whole
		[ ! -s err ] || ! grep -v 'records were lost' err || false
	done < <(listings ro/t.db)
}

@test "devtrace PROG: fields, units and colours as calls has them; what is wrong is said before it runs" {
	cat >p.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	__attribute__((noipa)) int twice(int n) { return 2 * n; }
	__attribute__((noipa)) void leave(void) { exit(0); }
	int main(int argc, char **argv) { fclose(fopen("ran", "w")); if (argc > 1) leave(); return twice(20) - 40; }
	C
	gcc -O1 -g -B"$build/lib" -o p p.c
	devtrace -F twice --fields thread,depth,duration --units ns ./p >shown 2>err
	grep -qE '^ +[0-9]+ +0 +[0-9]+ ns +twice\(n=20\) = 40$' shown
	grep -q '^# *thread *depth *duration *call$' shown
	devtrace -F leave --color always ./p more | grep -q $'\033'
	devtrace -c -F twice -O calls,stddev ./p | head -n 1 | grep -qx ' *calls *stddev  function'
	rm ran
	for wrong in '--fields bogus' '--units h' '--color red' '-c --fields time' '-c --units ns' '--sum count --fields time' '--fields cpu' '-O +wait'; do
		run devtrace $wrong ./p
		[ "$status" = 2 ]
		[[ $output == devtrace:* ]]
		[ ! -e ran ]
	done
	for command in record attach; do
		run devtrace $command --units ns ./p
		[ "$status" = 2 ]
	done
	# at a terminal it goes there, and through no pager
	[ "$(PAGER=false on 80 '' devtrace -F twice ./p | grep -c twice)" = 1 ]
	[ "$(PAGER=false on 80 '' devtrace -c -F twice ./p | grep -c twice)" = 1 ]
}
