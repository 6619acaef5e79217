#!/bin/bash
# SPDX-License-Identifier: MIT
# A fleet's calls on two ClickHouse servers of Debian's package, loaded by what devtrace export writes, and in DuckDB, of npm:
# both say what devtrace's own sql says, digests are merged, and one server is killed.
# usage: engines.sh DEVTRACE   TAP
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
devtrace=$1
work=$(mktemp -d)
servers=()
tests=0
cleanup() {
	local p
	for p in "${servers[@]}"; do kill -9 "$p" 2>/dev/null; done
	wait 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
. "$root/test/view/npm.sh"

ok() { # STATUS WHAT
	tests=$((tests + 1))
	[ "$1" = 0 ] && echo "ok $tests - $2" || echo "not ok $tests - $2"
}
command -v clickhouse-server >/dev/null || { sh "$root/install-deps.sh" engines || exit 1; }
npm_has @duckdb/node-api@1.5.6-r.1 || exit 1

# server N: its ports end in N
server() {
	local d=$work/s$1
	mkdir -p "$d"
	cat >"$d/config.xml" <<-X
		<yandex><logger><level>warning</level><log>$d/log</log><errorlog>$d/err</errorlog></logger>
		<http_port>1812$1</http_port><tcp_port>1900$1</tcp_port><interserver_http_port>1909$1</interserver_http_port>
		<listen_host>127.0.0.1</listen_host><path>$d/data/</path><tmp_path>$d/tmp/</tmp_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile>
		<default_database>default</default_database><mark_cache_size>104857600</mark_cache_size>
		<remote_servers><pair><shard><replica><host>127.0.0.1</host><port>19001</port></replica></shard>
		<shard><replica><host>127.0.0.1</host><port>19002</port></replica></shard></pair></remote_servers></yandex>
	X
	cat >"$d/users.xml" <<-X
		<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
		<users><default><password></password><networks><ip>::/0</ip></networks><profile>default</profile>
		<quota>default</quota></default></users><quotas><default/></quotas></yandex>
	X
	(cd "$d" && exec clickhouse-server --config-file="$d/config.xml" >"$d/out" 2>&1) &
	servers+=($!)
}

click() { clickhouse-client --port "1900$1" "${@:3}" --query "$2"; } # N QUERY [OPTION...]
duck() { (cd "$npm" && timeout 300 node duck.mjs "$@"); }
cat >"$npm/duck.mjs" <<-'M'
	import { DuckDBInstance } from '@duckdb/node-api';
	const db = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
	for (const q of process.argv.slice(2))
		for (const row of (await db.runAndReadAll(q)).getRowsJson()) console.log(JSON.stringify(row));
M

server 1
server 2
for n in 1 2; do
	for _ in $(seq 300); do
		click $n 'SELECT 1' >/dev/null 2>&1 && break
		sleep 0.1
	done
	"$devtrace" export --clickhouse-tables=pair | clickhouse-client --port 1900$n -n
done
ok $? "the tables are made on two servers"

# two machines, of which three million calls are made up, and one program of Debian's
make=$root/build/test/tool/maketrace
"$make" -n "${ENGINES_RECORDS:-3000000}" -c 2 -t 3 one.db >/dev/null && "$make" -n "${ENGINES_RECORDS:-3000000}" -c 2 -t 5 two.db >/dev/null
"$devtrace" record -l -o three.db git -C "$root" log --oneline -300 >/dev/null 2>&1
for host in one two three; do
	/usr/bin/time -f %U -o time "$devtrace" export --clickhouse "$host.db" >"$host.rows" || exit 1
	/usr/bin/time -f %U -o time2 "$devtrace" export --parquet -o "$host.parquet" "$host.db" || exit 1
	calls=$("$devtrace" sql --csv -n "$host.db" 'SELECT count(*) FROM calls' | tr -d '\r')
	echo "# $host: $calls calls; RowBinary: $(stat -c %s "$host.rows") bytes in $(cat time) s; Parquet: $(stat -c %s "$host.parquet") bytes in $(cat time2) s of processor time"
done
load=$(date +%s%N)
for host in one two three; do clickhouse-client --port 19001 --insert_distributed_sync=1 --query 'INSERT INTO devtrace.calls FORMAT RowBinary' <"$host.rows" || exit 1; done
echo "# loaded in $((($(date +%s%N) - load) / 1000000)) ms"

# by function: how many calls, of how many the length is known, what these took (us), the sum of their numbers
say='SELECT function, count(*), count(duration_ns), round(sum(duration_ns) / 1000), sum(call) FROM'
click 1 "SELECT function, count(), count(duration_ns), toInt64(round(ifNull(sum(duration_ns), 0) / 1000)), sum(call) FROM devtrace.calls GROUP BY function ORDER BY function" \
	--format TSV >clickhouse
duck "$say '$work/*.parquet' GROUP BY 1 ORDER BY 1" | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(r[0], r[1], r[2], round(float(r[3] or 0)), r[4], sep="\t")' >duckdb
# shellcheck disable=SC2094 # $host.db is not sql
for host in one two three; do
	"$devtrace" sql --json "$host.db" "SELECT function, ended IN ('returned', 'tail', 'unwound') AS timed, duration FROM calls"
done | python3 -c '
import json, sys, collections
rows = collections.defaultdict(lambda: [0, 0, 0.0])
for line in sys.stdin:
    r = json.loads(line)
    if "timed" not in r: continue
    x = rows[r["function"]]
    x[0] += 1
    if r["timed"]:
        x[1] += 1
        x[2] += r["duration"]
for f in sorted(rows, key=lambda f: f.encode()):
    print(f, rows[f][0], rows[f][1], round(rows[f][2] / 1000), sep="\t")' >sql
python3 - clickhouse duckdb sql <<-'P'
	import sys
	a, b, c = ({l.split('\t')[0]: l.rstrip('\n').split('\t')[1:] for l in open(f)} for f in sys.argv[1:])
	assert len(a) > 20 and a.keys() == b.keys() == c.keys(), (len(a), len(b), len(c))
	for f in a:
	    assert a[f][3] == b[f][3], (f, a[f], b[f]) # sql numbers calls in its own way
	    for other in (b, c):
	        for i in (0, 1): assert a[f][i] == other[f][i], (f, a[f], other[f])
	        # sql has whole ns
	        assert abs(int(a[f][2]) - int(other[f][2])) <= 1 + int(a[f][1]) / 1000, (f, a[f], other[f])
P
ok $? "ClickHouse, DuckDB and devtrace sql give equal answers"

began=$(date +%s%N)
click 1 "SELECT function, host, toInt64(countMerge(calls)), quantilesTDigestMerge(0.5, 0.9, 0.99)(durations)[3] FROM devtrace.digests GROUP BY function, host ORDER BY function, host" >digests
echo "# p99 by function and host from digests in $((($(date +%s%N) - began) / 1000000)) ms, with the client's start"
click 1 "SELECT function, host, count(duration_ns), quantileExact(0.98)(duration_ns), quantileExact(0.995)(duration_ns) FROM devtrace.calls WHERE duration_ns IS NOT NULL GROUP BY function, host ORDER BY function, host" >exact
python3 - digests exact <<-'P'
	import sys
	a, b = ([l.rstrip('\n').split('\t') for l in open(f)] for f in sys.argv[1:])
	assert len(a) == len(b) > 20, (len(a), len(b))
	for x, y in zip(a, b):
	    assert x[:3] == y[:3], (x, y)
	    assert int(x[2]) < 1000 or float(y[3]) * 0.99 <= float(x[3]) <= float(y[4]) * 1.01, (x, y)
P
ok $? "digests count what there is, and their p99 is among the slowest 0.5 to 2 % of the calls"

began=$(date +%s%N)
click 1 "SELECT count(), max(duration_ns) FROM devtrace.calls WHERE function = (SELECT function FROM devtrace.digests GROUP BY function ORDER BY countMerge(calls) DESC LIMIT 1)" >/dev/null
echo "# one function's calls in $((($(date +%s%N) - began) / 1000000)) ms, with the client's start"

# a row of the digest leads to the calls: those of a minute, by the trace of that machine
row=$(click 1 "SELECT function, host FROM devtrace.digests WHERE host = '$(uname -n)' GROUP BY function, host ORDER BY countMerge(calls) DESC LIMIT 1")
"$devtrace" calls -f "${row%%	*}" three.db 2>/dev/null | grep -qF "${row%%	*}("
ok $? "the function of a digest's row leads to its calls with their arguments"

kill -9 "${servers[1]}"
wait "${servers[1]}" 2>/dev/null
! click 1 'SELECT count() FROM devtrace.calls' >/dev/null 2>lost && grep -qi 'connect' lost
ok $? "a server that is gone is an error"
[ "$(click 1 'SELECT count() FROM devtrace.calls' --skip_unavailable_shards=1)" = "$(click 1 'SELECT count() FROM devtrace.calls_local')" ]
ok $? "or what is left is answered, where that is asked for"
echo "1..$tests"
