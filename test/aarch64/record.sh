# SPDX-License-Identifier: MIT
# Runs in the machine that guest.sh boots, in busybox's shell: what devtrace records of known.c, in which the program counts its
# own calls: with sleds, without, and with landing pads and signed return addresses. TAP.
cd /tmp || exit 1
many=1
n=0
ok() { # ok STATUS WHAT
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $kind: $2"; else echo "not ok $n - $kind: $2"; fi
}
# with KIND CHOICE: the programs that are tried from here on, and what of them is chosen
with() {
	kind=$1 choice=$2
	cp /bin/known-$kind /bin/known
	cp /bin/plug-$kind.so /bin/plug.so
	rm -f ./*.db*
}
functions="function IN ('leaf', 'tail', 'jump', 'fib', 'real', 'compare', 'handler', 'one', 'plugged')"

# counts FILE [CONDITION]: of the calls in it, as the program prints them
counts() {
	devtrace sql --csv --no-header "$1" "SELECT function, count(*) FROM calls WHERE $functions ${2-} GROUP BY 1 ORDER BY 1" | tr -d '\r' | tr ',' ' '
}

# said FILE: what the program has said of its calls, of all its processes together
said() {
	awk 'NF == 2 && $2 ~ /^[0-9]+$/ && $1 != "sum" {n[$1] += $2} END {for (i in n) print i, n[i]}' "$1" | sort
}

# sound FILE: nothing is lost, all is consistent, and there are as many calls as the program has counted (in FILE.said)
sound() {
	devtrace check "$1" >"$1.check" 2>&1 && grep -q 'sound: .*, 0 lost' "$1.check" &&
		counts "$1" >"$1.counts" && said "$1.said" | cmp -s - "$1.counts" && [ -s "$1.counts" ]
	rc=$?
	[ $rc = 0 ] || { cat "$1.check" "$1.err"; diff "$1.counts" "$1.said"; } 2>&1 | head -n 12 | sed 's/^/# /'
	return $rc
}

# record NAME WORD...: what the program does is recorded, and sound
record() {
	name=$1
	shift
	devtrace record $choice -o "$name.db" known "$@" >"$name.db.said" 2>"$name.db.err"
	rc=$?
	[ $rc = 0 ] && sound "$name.db"
	ok $? "$name: $(devtrace sql --csv --no-header "$name.db" 'SELECT count(*) FROM records' | tr -d '\r') records, as many calls as the program has counted"
}

maps() { cut -d' ' -f1-3,6- /proc/$p/maps 2>/dev/null | grep -v 'heap\|stack'; }
# begun: waits until $p has something mapped by devtrace
begun() {
	while maps | cmp -s ${1-maps.before} - || maps | cmp -s maps.before -; do
		kill -0 $d 2>/dev/null || break
		sleep 0.1
	done
}
# attach NAME SECONDS: to $p, for so long
attach() { # [FILE: what is mapped before]
	devtrace attach $choice -o "$1.db" $p >"$1.err" 2>&1 &
	d=$!
	begun ${3-}
	sleep "$2"
	kill -INT $d
	wait $d && devtrace check "$1.db" >"$1.check" 2>&1 && grep -q 'sound: .*, 0 lost' "$1.check"
	rc=$?
	[ $rc = 0 ] || cat "$1.err" "$1.check" | sed 's/^/# /'
	return $rc
}

# calls: calls of all kinds, in threads, processes, signal handlers, and a library
calls() {
	known calls 3 >alone
	record calls calls 3
	cmp -s alone calls.db.said
	ok $? "the program prints what it prints alone"
	devtrace calls --fields none calls.db >calls
	[ "$(grep -c 'main(' calls)" = 1 ] && grep -q 'tail: tail call' calls && grep -q 'leaf(0x2.*) = 0x3\|= 0x3  /\* leaf' calls
	ok $? "calls have arguments and results, tail calls what they lead to"
	! grep -q rseq calls.db.err
	ok $? "threads have the kernel's rseq: $(head -n 1 calls.db.err)"
	record threads threads $((15 * many))
	record fork fork $((8 * many))
	record vfork vfork $((4 * many))
	record library library $((3 * many))
	record signals signals $((120 * many))
	came=$(awk '$1 == "handler" {print $2}' signals.db.said)
	[ "${came:-0}" -gt 10 ]
	ok $? "$came signals came meanwhile"
}

# attached: attach and detach: nothing is left, the code is as it was
attached() {
	rm -f in
	mkfifo in
	known wait 1 <in >attach.out &
	p=$!
	exec 3>in
	until grep -q ready attach.out; do sleep 0.1; done
	maps >maps.before
	for i in 1 2; do
		attach attach$i 0.5
		ok $? "attached and detached: $(head -n 1 attach$i.check)"
	done
	maps >maps.after
	cmp -s maps.before maps.after
	ok $? "nothing is left mapped"
	diff maps.before maps.after | sed 's/^/# /'
	# killed: the next one takes away what it has left
	devtrace attach $choice -o killed.db $p >killed.err 2>&1 &
	d=$!
	begun
	sleep 0.5
	kill -9 $d
	wait $d 2>/dev/null
	maps >maps.killed
	cmp -s maps.killed maps.before
	[ $? = 1 ]
	ok $? "a killed controller leaves its hooks"
	attach attach3 0.5 maps.killed
	ok $? "attached after it: $(head -n 1 attach3.check)"
	maps >maps.after
	cmp -s maps.before maps.after
	ok $? "and nothing is left mapped"
	exec 3>&-
	wait $p
	ok $? "the program ends as it should"
	grep -q 'code as it was' attach.out
	ok $? "every byte of its code is as it was"
}

# waits: waiting is not disturbed; programs that it executes
waits() {
	known sleep 200 >alone.sleep
	known sleep 1500 >sleep.out &
	p=$!
	until grep -q ready sleep.out; do sleep 0.1; done
	maps >maps.before
	for i in 1 2 3 4 5; do
		! kill -0 $p 2>/dev/null || attach sleep$i 0.1
	done
	wait $p
	cmp -s alone.sleep sleep.out
	ok $? "sleeping and waiting take as long as alone: $(grep -v 'leaf\|ready' sleep.out | tr '\n' ',')"

	# programs that it executes
	devtrace record -f $choice -o exec.db known exec 5 >exec.db.said 2>exec.db.err && sound exec.db
	ok $? "exec: a program that is executed is recorded, too"
}

with sleds ''
calls
# for the machine that this one is emulated on
echo "@file $(base64 calls.db | tr -d '\n')"
sed 's/^/@calls /' calls
attached
waits
with plain '-F known:* -F plug.so:*'
calls
choice='-F known:* -F libc.so.6:*'
attached
record whole threads 5
choice='-F known:*'
waits
with pads '-F known:* -F plug.so:*'
calls

kind=refused
# what is not there is refused, in one line
refused() { # refused WHAT WORD...
	what=$1
	shift
	rm -f no.db
	"$@" >no.out 2>no.err
	[ $? != 0 ] && [ "$(wc -l <no.err)" = 1 ] && grep -q 'aarch64' no.err
	ok $? "refused: $what: $(head -n 1 no.err)"
	[ "$(wc -l <no.err)" = 1 ] || sed 's/^/# /' no.err
}
refused "points" devtrace record -T 'known:one REG x0' -o no.db known calls 1
refused "arguments in full" devtrace record -A one -o no.db known calls 1
refused "stacks" devtrace record --backtrace=one -o no.db known calls 1
echo "1..$n"
