#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace plot
load read-helper

@test "plot --text gives the paper's example to the byte" {
	writetrace t.db <<-'TEXT'
	E rtcwalk 0x1000 183486620292904
	X rtcwalk 0x1000 183486620300659
	E rtcopen 0x1000 183486620309268
	X rtcopen 0x1000 183486620313238
	TEXT
	devtrace plot --text t.db >out
	printf '3877.5 0 3877.5 3877.5 rtcwalk\n18349 1 1985 1985 rtcopen\n' | cmp - out
	devtrace plot --text -t 4000 t.db >out
	printf '3877.5 0 3877.5 3877.5 rtcwalk\n' | cmp - out
	[ "$(devtrace plot --text -t 3970 t.db | wc -l)" = 2 ]
}

@test "plot takes a text trace with a symbol table" {
	cat >trace <<-'TEXT'
	E ffffffff8011a3c9 0000a6e1b0b5be28 000000000000023c 0000000000000000 0000000000000000 0000000000000000 0000000000000000
	E ffffffff8011a4c9 0000a6e1b0b5be38 000000000000023c 0000000000000000 0000000000000000 0000000000000000 0000000000000000
	X ffffffff8011a4d0 0000a6e1b0b5be48 000000000000023c 0000000000000000 0000000000000000 0000000000000000 0000000000000000
	X ffffffff8011a3ff 0000a6e1b0b5dc73 000000000000023c 0000000000000000 0000000000000000 0000000000000000 0000000000000000
	TEXT
	printf 'ffffffff8011a3c0 T rtcwalk\nffffffff8011a4c0 T rtcopen\nffffffff8011a5c0 T etext\n' >symbols
	devtrace plot --text --symbols symbols trace >out
	printf '24 0 8 8 rtcopen\n3877.5 1 3877.5 3877.5 rtcwalk\n' | cmp - out
	devtrace plot --text -t 4000 trace >out
	printf '3877.5 0 3877.5 3877.5 ffffffff8011a3c9\n' | cmp - out
	echo nonsense >>trace
	run devtrace plot --text trace
	[ "$status" = 1 ]
	[[ "$output" == *"line 5 is not a record of 121 bytes"* ]]
}

@test "what cat prints, plot reads" {
	maketrace -n 20000 -c 1 -t 1 t.db
	devtrace cat t.db >trace
	nm -n "$build/devtrace" >/dev/null # any table of symbols will do in form
	sqlite3 t.db "SELECT printf('%x T %s', address, name) FROM function ORDER BY address" >symbols
	devtrace plot --text --symbols symbols trace >a
	devtrace plot --text t.db >b
	cmp a b
	[ -s a ]
}

@test "plot draws pictures" {
	maketrace -n 20000 t.db
	devtrace plot -o t.svg t.db
	grep -q '<svg' t.svg
	grep -q function t.svg
	devtrace plot -o t.png -t 5us t.db
	[ "$(head -c 8 t.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
}

# The bars of a picture, as "name length middle" in ticks, by row: what gnuplot drew, measured.
bars_of() {
	python3 - "$1" <<-'P'
		import re, sys
		svg = open(sys.argv[1]).read()
		# ticks of the axes: a mark and the text beside it
		marks = re.findall(r"<path stroke='black'\s+d='M([\d.]+),([\d.]+) L([\d.]+),([\d.]+) [^>]*/>\s*<g[^>]*>\s*<text>(.*?)</text>", svg)
		names = {float(y): text for x, y, x2, y2, text in marks if y == y2}
		ticks = [(float(x), float(text)) for x, y, x2, y2, text in marks if x == x2]
		(x0, t0), (x1, t1) = ticks[0], ticks[-1]
		scale = (t1 - t0) / (x1 - x0)
		# strokes from mark to mark; all of one colour are in one path, or several
		red = " ".join(re.findall(r"<path stroke='rgb\(255, +0, +0\)'\s+d='(.*?)'", svg, re.S))
		bars = [(float(y), float(a), float(b)) for a, y, b, y2 in re.findall(r"M([\d.]+),([\d.]+) L([\d.]+),([\d.]+)", red) if y == y2]
		for y, a, b in sorted(bars, reverse=True):
		    near = min(names, key=lambda n: abs(n - y))
		    assert abs(near - y) < 0.02, (y, near)
		    print(names[near], (b - a) * scale, ((a + b) / 2 - x0) * scale + t0, scale)
	P
}

@test "check-107: in the picture a row is a call: its function's name, a bar as long as it took" {
	maketrace -n 20000 t.db
	devtrace plot -o t.svg -t 8us t.db
	bars_of t.svg >drawn
	devtrace plot --text -t 8us t.db >want
	[ "$(wc -l <want)" -gt 50 ]
	python3 - <<-'P'
		drawn = [l.split() for l in open("drawn")]
		want = [l.split() for l in open("want")]
		assert len(drawn) == len(want), (len(drawn), len(want))
		for d, (middle, row, half, _, name) in zip(drawn, want):
		    one = float(d[3]) * 0.05 # a picture has 0.01 of a point
		    assert d[0] == name, (d, name)
		    assert abs(float(d[1]) - 2 * float(half)) < one and abs(float(d[2]) - float(middle)) < one, (d, middle, half)
	P
}

@test "check-106: plot writes what gnuplot draws, calls and commands in one file" {
	maketrace -n 20000 t.db
	devtrace plot -o t.gp -t 8us t.db
	devtrace plot --text -t 8us t.db >want
	sed -n '/^\$calls/,/^END/p' t.gp | sed '1d;$d' | tr '\t' ' ' | cmp - want
	gnuplot -e "set terminal svg noenhanced size 1200,1200; set output 'own.svg'" t.gp
	bars_of own.svg | cut -d' ' -f1 >drawn
	cut -d' ' -f5 want | cmp - drawn
	# it is there when it is complete
	echo old >old.gp
	run devtrace plot -o old.gp -t 100s t.db
	[ "$status" = 1 ]
	[ "$(cat old.gp)" = old ]
	[ "$(ls *.gp*)" = $'old.gp\nt.gp' ]
}

@test "plot: a name with quotes is drawn with other ones, and ends no text of gnuplot's" {
	writetrace q.db <<-'TEXT'
	meta policy wait
	thread 1 a
	function operator""_x(it's) a:i4@0;v
	E operator""_x(it's) 0x7000 100
	X operator""_x(it's) 0x7000 900
	TEXT
	devtrace plot -o q.gp -t 0 q.db
	gnuplot -e "set terminal svg noenhanced; set output 'q.svg'" q.gp >said 2>&1
	[ ! -s said ] || { cat said; false; }
	grep -qF "operator''_x(it's)" q.gp
	[ "$(bars_of q.svg | wc -l)" = 1 ]
}

@test "plot says what is wrong" {
	sample t.db
	run devtrace plot -o t.gif t.db
	[ "$status" = 2 ]
	[[ "${lines[0]}" == *"must end in .svg or .png"* ]]
	run devtrace plot -t 1s t.db
	[ "$status" = 1 ]
	[[ "$output" == *"no call took at least"* ]]
	mkdir bin
	PATH=$PWD/bin run "$build/devtrace" plot -t 0 t.db
	[ "$status" = 1 ]
	[[ "$output" == *"gnuplot"*"--text"* ]]
}

@test "plot: exits whose entries are not in a text trace cost no look at all open calls" {
	# 150,000 of each: by the square of that it takes 7 seconds, else a fraction of one
	awk 'BEGIN {
		z = "0000000000000000"; c = "000000000000023c"
		for (i = 0; i < 150000; i++)
			printf "E ffffffff8011a4c9 0000a6e1%08x %s %s %s %s %s\n", i, c, z, z, z, z
		for (i = 150000; i < 300000; i++)
			printf "X ffffffff8011a3ff 0000a6e1%08x %s %s %s %s %s\n", i, c, z, z, z, z
		# the innermost of all, which has taken 150001 ticks
		printf "X ffffffff8011a4d0 0000a6e1%08x %s %s %s %s %s\n", 300000, c, z, z, z, z
	}' >trace
	printf 'ffffffff8011a3c0 T rtcwalk\nffffffff8011a4c0 T rtcopen\nffffffff8011a5c0 T etext\n' >symbols
	(ulimit -t 4 && exec "$build/devtrace" plot --text --symbols symbols trace >out)
	[ "$(wc -l <out)" = 1 ]
	grep -q ' 75000.5 75000.5 rtcopen$' out
}
