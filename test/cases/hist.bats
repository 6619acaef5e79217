#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace hist and devtrace count
load read-helper

# the vector of the papers' analysis: what okay() got in results
results() {
	writetrace t.db <<-'TEXT'
	E pread 0x1000 1
	X pread 0x1000 2 -1
	X pread 0x1000 3 0
	X pread 0x1000 4 8
	X pwrite 0x1000 5 16384
	X pwrite 0x1000 6 16385
	X pwrite 0x1000 7 99999
	TEXT
}

@test "check-109: hist: the vector of the papers: bad 1; 0, 8, and three at 16384" {
	results
	devtrace hist t.db >out
	cat >want <<-'TEXT'
	# histogram of result
	# values 6
	# bad 1
	# above 2
	0 1
	8 1
	16384 3
	TEXT
	diff out want
	# the same from the text, of each format, and from a pipe
	for o in "" --cpu -l -c; do
		devtrace cat $o t.db >text
		devtrace hist text | diff - want
	done
	devtrace cat t.db | devtrace hist - | diff - want
	for cpu in "" --cpu; do
		devtrace cat -3 $cpu t.db 2>/dev/null >text
		devtrace hist text | diff - want
		devtrace hist - <text | diff - want
	done
	devtrace hist -F pwrite --max 20000 t.db | diff - <(printf '%s\n' "# histogram of result" "# values 3" "# bad 0" "# above 1" "16384 1" "16385 1" "20000 1")
	devtrace cat -l t.db >text
	[ "$(devtrace hist -F pread text | tail -2 | head -1)" = "0 1" ]
	printf '400000 T pread\n400100 T pwrite\n' >symbols
	devtrace cat t.db >text
	[ "$(devtrace hist -F 'pw*' --symbols symbols text | tail -1)" = "16384 3" ]
}

@test "hist: buckets are exact, powers of two, or linear" {
	writetrace t.db <<-'TEXT'
	function f n:u4@0,p:p@1,on:b@2,x:f8@-;f8@2
	E f 0x1000 1 0xffffffff00000000 9 0x100
	E f 0x1000 2 0xffffffff00000001 9 0x101
	E f 0x1000 3 2 9 0
	E f 0x1000 4 3 9 0
	E f 0x1000 5 4 9 0
	E f 0x1000 6 1000 9 0
	E f 0x1000 7 0xffffffff 9 0
	X f 0x1000 8 0 0 0x4004000000000000
	X f 0x1000 9 0 0 0xbff0000000000000
	X f 0x1000 9 0 0 0x7ff8000000000000
	TEXT
	h() { devtrace hist "$@" t.db | grep -v '^#' | tr '\n' ','; }
	[ "$(h --value 1)" = "0 1,1 1,2 1,3 1,4 1,1000 1,16384 1," ]
	[ "$(h --value n -b log2)" = "0 1,1 1,2 2,4 1,512 1,2147483648 1," ]
	[ "$(h --value arg -b linear:3 --max 100)" = "0 3,3 2,99 2," ]
	[ "$(h --value p)" = "9 7," ]
	[ "$(h --value on)" = "0 6,1 1," ]
	[ "$(h)" = "2 1," ]
	[ "$(devtrace hist t.db | grep bad)" = "# bad 2" ]
	# x is not recorded
	[ "$(devtrace hist --value x t.db | grep values)" = "# values 0" ]
}

@test "hist: what a site does not mean is not counted" {
	unsound t.db # a value is taken away
	writetrace t.db <<-'TEXT'
	E f 0x1000 1 5
	E g 0x1000 1 5
	TEXT
	[ "$(devtrace hist --value 1 t.db | grep values)" = "# values 2" ]
	sqlite3 t.db 'UPDATE site SET mask = 14 WHERE id = 1'
	[ "$(devtrace hist --value 1 t.db | grep values)" = "# values 1" ]
}

@test "hist draws: gnuplot takes its lines" {
	results
	devtrace hist t.db >out
	gnuplot -e 'set terminal svg; set output "o.svg"; plot "out" using 1:2 with boxes'
	grep -q '<svg' o.svg
}

@test "hist agrees with the lines of cat" {
	maketrace -n 50000 t.db
	devtrace cat t.db | awk '$1 == "X" { n[$5]++ } END { for (v in n) print v, n[v] }' |
		python3 -c '
import sys
t = {}
for l in sys.stdin:
    v, n = l.split(); t[int(v, 16)] = int(n)
print("".join("%d %d\n" % (v, t[v]) for v in sorted(t) if v < 16384), end="")' >want
	devtrace hist t.db | grep -v '^#' | awk '$1 < 16384' >got
	diff got want
	[ -s got ]
}

# "from count" of each bar of a picture, which is to be well-formed
bars() {
	xmllint --noout "$1"
	python3 -c '
import sys, xml.etree.ElementTree as T
svg = T.parse(sys.argv[1]).getroot()
s = "{http://www.w3.org/2000/svg}"
for g in svg.iter(s + "g"):
    title = g.find(s + "title").text
    # the title has the same numbers
    assert title.split(":")[0].split()[0] == g.get("data-from"), title
    assert title.split(": ")[1].split()[0] == g.get("data-n"), title
    back, bar = g.findall(s + "rect")
    assert float(bar.get("y")) + float(bar.get("height")) - 368 < 0.02 and float(bar.get("height")) >= 1
    assert 0 < float(bar.get("x")) and float(bar.get("x")) + float(bar.get("width")) <= 937
    print(g.get("data-from"), g.get("data-n"))' "$1"
}

@test "check-109: hist: the picture has the counts of the text" {
	results
	devtrace hist -o h.svg t.db
	bars h.svg >got
	# more values than pixels: 39 are one bar
	diff got <(printf '%s\n' "0 2" "16380 3")
	grep -q '1 of them negative' h.svg
	grep -q '2 of them above the maximum' h.svg
	grep -q 'and more: 3 of 5' h.svg
	maketrace -n 50000 t.db
	for o in "-b log2" "-b log2 --value 1" "-b linear:1000 --value 2 --max 90000" "--max 300" "--durations"; do
		for more in "" --log; do
			devtrace hist $o $more --svg t.db >h.svg
			diff <(bars h.svg) <(devtrace hist $o t.db | grep -v '^#') || { echo "$o $more"; false; }
		done
	done
	# heights are in proportion to the counts, but for what would be less than a pixel
	devtrace hist -b log2 --value 1 --svg t.db | python3 -c '
import sys, xml.etree.ElementTree as T
s = "{http://www.w3.org/2000/svg}"
h = [(int(g.get("data-n")), float(g.findall(s + "rect")[1].get("height"))) for g in T.parse(sys.stdin).getroot().iter(s + "g")]
n, most = max(h)
assert most > 150, most
assert all(abs(y - k * most / n) < 0.02 or y <= 1.01 for k, y in h), h'
	# more values than pixels: each is in the bar that stands for it
	for o in "--value 3 --max 16000000" "--durations -b exact --max 100000"; do
		devtrace hist $o t.db | grep -v '^#' >text
		devtrace hist $o --svg t.db >h.svg
		bars h.svg >got
		python3 - <<-'P'
			bars = [tuple(map(int, l.split())) for l in open("got")]
			text = [tuple(map(int, l.split())) for l in open("text")]
			assert 1 < len(bars) < 440
			n = {b: 0 for b, _ in bars}
			for v, k in text: n[max(b for b, _ in bars if b <= v)] += k
			assert n == dict(bars), (n, bars)
		P
	done
}

@test "hist: how long calls took, as csv says" {
	maketrace -n 50000 -c 2 -t 3 t.db
	devtrace export --csv --no-values t.db | tr -d '"\r' >t.csv
	# times known, rounded to nanoseconds; halves up
	awk -F, 'NR > 1 && $3 != 0 && $12 == "returned" { n[int($10 + 0.5)]++ } END { for (v in n) print v, n[v] }' t.csv | sort -n >want
	devtrace hist --durations -b exact --max 1000000000 t.db >out 2>&1 || true
	grep -q "more than 16777216 buckets" out
	devtrace hist --durations -b exact --max 10000000 t.db | grep -v '^#' >got
	[ "$(wc -l <want)" -gt 100 ]
	diff want got
	f=$(devtrace report -s calls -n 1 t.db | awk 'NR == 2 { print $NF }')
	awk -F, -v f="$f" 'NR > 1 && $6 == f && $12 == "returned" { v = int($10 + 0.5); b = v ? 1 : 0; while (b && 2 * b <= v) b *= 2; n[b]++ } END { for (b in n) print b, n[b] }' t.csv | sort -n >want
	devtrace hist --durations -F "$f" t.db | grep -v '^#' | diff want -
	devtrace hist --durations -o out.txt t.db
	devtrace hist --durations t.db | diff out.txt -
}

@test "hist: the axis of durations goes from nanoseconds to seconds, however many" {
	writetrace t.db <<-'TEXT'
	clock 0 0
	clock 2000000 1000000
	E f 0x1000 0
	X f 0x1000 10
	E f 0x1000 1000
	X f 0x1000 3000
	E f 0x1000 4000
	X f 0x1000 3000000
	E f 0x1000 4000000
	X f 0x1000 10000000000
	E f 0x1000 20000000000
	X f 0x1000 9000020000000000
	TEXT
	devtrace hist --durations --max 99999999999999999 --svg t.db >h.svg
	diff <(grep -o '>[0-9.]* [mun]*s<' h.svg | tr -d '<>') <(printf '%s\n' '4 ns' '128 ns' '4.1 us' '131 us' '4.19 ms' '134 ms' '4.29 s' '137 s' '4398 s' '140737 s')
}

@test "hist: of negative values alone there is no picture, and each is counted" {
	writetrace t.db <<-'TEXT'
	X f 0x1000 1 -1
	X f 0x1000 2 -7
	TEXT
	[ "$(devtrace hist t.db | grep bad)" = "# bad 2" ]
	run devtrace hist -o h.svg t.db
	[ "$status" = 1 ]
	[[ $output == *"no values to be drawn: all are negative" ]]
	[ ! -e h.svg ]
	# of a picture, the shares are of those that are not
	printf 'X f 0x1000 %d %d\n' 1 -1 2 -7 3 8 4 8 5 9 6 8 | writetrace t.db
	devtrace hist -o h.svg t.db
	grep -q '8: 3 of 4 (75.00 %)' h.svg
	grep -q '9: 1 of 4 (25.00 %)' h.svg
}

@test "check-110: count: by process and page, sorted" {
	unsound t.db # two threads are not described
	writetrace t.db <<-'TEXT'
	thread 1 tar
	function okaddr addr:p@0,len:i8@1,write:i4@2;u8@0
	at 0 176
	E okaddr 0x1000 1 0xf010
	E okaddr 0x1000 2 0xffff -5
	E okaddr 0x1000 3 0x10000 -4096
	at 1 51
	E okaddr 0x1000 4 0x1abc -4097
	E okaddr 0x1000 5 0xfffffffe000
	at 0 4294967295
	E okaddr 0x1000 6 0x1abc 1
	TEXT
	devtrace count -F okaddr --key arg/4096 t.db >out
	cat >want <<-'TEXT'
	# pid arg/4096 count
	51 1 1
	51 4294967294 1
	176 15 2
	176 16 1
	- 1 1
	TEXT
	diff out want
	devtrace count -F okaddr --key 1/0x1000 -s count -n 1 t.db | tail -1 | grep -qx '176 15 2'
	# negative ones are rounded down
	devtrace count --key len/4096 t.db | diff - <(printf '%s\n' "# pid len/4096 count" "51 -2 1" "51 0 1" "176 -1 2" "176 0 1" "- 0 1")
	devtrace cat t.db >text
	devtrace count --key arg/4096 text | diff - want
	devtrace cat -c t.db | devtrace count -k arg/4096 - | diff - want
}

@test "count: a value and its negative are two, and come out in order" {
	printf 'function f n:i8@0;v\n%s' "$(awk 'BEGIN { for (i = 0; i < 3000; i++) print "E f 0x1000", i, i % 7 - 3 }')" | writetrace t.db
	devtrace count --key n t.db | grep -v '^#' | diff - <(printf '1 %s\n' '-3 429' '-2 429' '-1 429' '0 429' '1 428' '2 428' '3 428')
	devtrace count --key n/2 t.db | grep -v '^#' | diff - <(printf '1 %s\n' '-2 429' '-1 858' '0 857' '1 856')
}

@test "count: threads of a process are one" {
	writetrace t.db <<-'TEXT'
	thread 7 a
	thread 8 b
	at 0 7
	E f 0x1000 1 5
	at 0 8
	E f 0x1000 2 5
	TEXT
	[ "$(devtrace count t.db | tail -1)" = "100 5 2" ]
}

@test "count: more keys than are kept are counted together, the others stay exact" {
	awk 'BEGIN { for (i = 0; i < 3000; i++) print "E f 0x1000", i, i % 1500 }' | writetrace t.db
	devtrace count --keys 1000 t.db >out 2>err
	[ "$(grep -c '^1 [0-9]* 2$' out)" = 1000 ]
	[ "$(tail -1 out)" = "# other 1000" ]
	grep -q "1000 of 3000 values are counted as other" err
	devtrace count t.db >out 2>err
	[ "$(wc -l <out)" = 1501 ]
	[ ! -s err ]
}

@test "hist and count say what is wrong" {
	results
	devtrace cat t.db >text
	bad() {
		run devtrace "${@:2}"
		[ "$status" = 2 ]
		[[ "${lines[0]}" == "devtrace: "*"$1"* ]] || { echo "$output"; return 1; }
	}
	bad "'5' is no value" hist --value 5 t.db
	bad "'' is no value" hist --value '' t.db
	bad "'many' is not a number" hist --max many t.db
	bad "more than 16777216 buckets" hist --max 99999999999 t.db
	bad "buckets are exact" hist -b square t.db
	bad "at least 1" hist -b linear:0 t.db
	bad "'0' is not a number to divide by" count --key arg/0 t.db
	bad "cannot sort by 'pid'" count -s pid t.db
	bad "no names of parameters" hist --value n text
	bad "not for text" hist --from 1 text
	bad "a text trace has only records" hist --durations text
	bad "no value of a call" hist --durations --value 1 t.db
	bad "--log is of a picture" hist --log t.db
	run devtrace hist -F none -o h.svg t.db
	[ "$status" = 1 ]
	[[ $output == *"no function that was recorded is 'none'"* ]]
	[ ! -e h.svg ]
	run devtrace hist -o /none/h.svg t.db
	[ "$status" = 1 ]
	[[ $output == */none/h.svg* ]]
	run bash -c 'devtrace hist --svg t.db >/dev/full'
	[ "$status" = 1 ]
	[[ $output == *"cannot write"* ]]
	echo nonsense >>text
	run devtrace hist text
	[ "$status" = 1 ]
	[ "$output" = "devtrace: text: line 8 is not a record of 121 bytes" ]
	run devtrace count none.db
	[ "$status" = 1 ]
	[[ "$output" == *"no such file"* ]]
	printf 'E f 1 1\n' | devtrace hist - || [ $? = 1 ]
}

@test "a value is of the size that its signature says, in every command" {
	writetrace t.db <<-'TEXT'
	E f 0x1000 1 0x1234567890abcdff 0x1234567890abcdff
	X f 0x1000 2 5
	TEXT
	# sizes are bytes: i16 has sixteen, of which the record has eight, so it is not known
	local type value
	while read -r type value; do
		sqlite3 t.db "UPDATE function SET signature = 'a:$type@0,b:p@1;v'"
		devtrace calls t.db >got
		grep -F "f(a=$value, b=0x" got || { cat got; false; }
		[ "$(devtrace count --key a t.db | sed -n 's/^1 \(.*\) 1$/\1/p')" = "${value#"?"}" ] ||
			{ echo "$type"; devtrace count --key a t.db; false; }
	done <<-'TEXT'
	i16 ?
	u16 ?
	f10 ?
	u1 255
	u2 52735
	u4 2427178495
	i4 -1867788801
	u8 1311768467294899711
	i2 -12801
	i1 -1
	TEXT
}
