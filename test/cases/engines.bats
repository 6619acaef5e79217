# SPDX-License-Identifier: MIT
# devtrace export --parquet, --clickhouse: what an engine reads is what devtrace sql and the CSV say. DuckDB, of npm, reads
# Parquet here; RowBinary is read by its description. ClickHouse itself: make soak S=engines (test/real/engines.sh).
bats_require_minimum_version 1.5.0
load read-helper
. "$BATS_TEST_DIRNAME/../view/npm.sh"

# duck SQL...: rows as lines of JSON
duck() {
	npm_has @duckdb/node-api@1.5.6-r.1 >&2
	cat >"$npm/duck.mjs" <<-'M'
		import { DuckDBInstance } from '@duckdb/node-api';
		const db = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
		for (const q of process.argv.slice(2))
			for (const row of (await db.runAndReadAll(q)).getRowsJson()) console.log(JSON.stringify(row));
	M
	timeout 120 node "$npm/duck.mjs" "$@"
}

# rowbinary FILE: its rows as lines of JSON, as duck's of `SELECT *' are
rowbinary() {
	python3 - "$1" <<-'P'
		import json, struct, sys
		data, at = open(sys.argv[1], 'rb').read(), 0
		def take(form):
		    global at
		    v, = struct.unpack_from('<' + form, data, at)
		    at += struct.calcsize('<' + form)
		    return v
		def text():
		    global at
		    n = shift = 0
		    while True:
		        b = take('B')
		        n |= (b & 127) << shift
		        shift += 7
		        if b < 128: break
		    at += n
		    return data[at - n:at].decode()
		def maybe(form):
		    return None if take('B') else take(form)
		while at < len(data):
		    row = [text(), text(), take('I'), take('I'), str(take('Q')), str(take('Q')), take('I'), text(), text(), str(take('q')),
		           maybe('d'), maybe('d'), text(), maybe('Q'), maybe('Q'), text()]
		    print(json.dumps([str(v) if i in (13, 14) and v is not None else v for i, v in enumerate(row)]))
	P
}

# whether two lists of rows are the same: floating numbers are printed in two ways
same_rows() {
	python3 - "$1" "$2" <<-'P'
		import json, sys
		a, b = ([json.loads(line) for line in open(f)] for f in sys.argv[1:])
		assert len(a) == len(b), (len(a), len(b))
		for x, y in zip(a, b): assert x == y, (x, y)
		print(len(a))
	P
}

@test "engines: a program's calls in Parquet are those of sql, and RowBinary has the same rows" {
	devtrace record -l -o t.db git -C "$BATS_TEST_DIRNAME" log --oneline -40 >/dev/null 2>err
	devtrace export --parquet -o t.parquet t.db
	devtrace export --clickhouse -o t.rows t.db
	duck "SELECT * FROM 't.parquet'" >parquet
	rowbinary t.rows >rows
	[ "$(same_rows parquet rows)" -gt 1000 ]
	# function, calls, those of known length, what they took, the first one
	duck "SELECT function, count(*)::INT, count(duration_ns)::INT, coalesce(round(sum(duration_ns)), 0)::BIGINT::VARCHAR, count(DISTINCT call)::INT
		FROM 't.parquet' GROUP BY 1 ORDER BY 1" >got
	devtrace sql --json t.db "SELECT function, count(*) AS n, sum(ended IN ('returned', 'tail', 'unwound')) AS timed,
		sum(CASE WHEN ended IN ('returned', 'tail', 'unwound') THEN duration END) AS took FROM calls GROUP BY 1 ORDER BY 1" >wanted
	python3 - got wanted <<-'P'
		import json, sys
		got = {r[0]: r[1:] for r in map(json.loads, open(sys.argv[1]))}
		wanted = [r for r in map(json.loads, open(sys.argv[2])) if 'function' in r]
		assert len(got) == len(wanted) > 20, (len(got), len(wanted))
		for r in wanted:
		    n, timed, took, ids = got[r['function']]
		    assert (n, timed, ids) == (r['n'], r['timed'], r['n']), (r, got[r['function']])
		    assert abs(int(took) - (r['took'] or 0)) <= n + 1, (r, took)
	P
	# the texts that arguments point to, as in Chrome's format
	devtrace export --chrome -o t.json t.db
	python3 - >wanted <<-'P'
		import json
		for e in json.load(open('t.json'))['traceEvents']:
		    if 'call' in e.get('args', {}): print(json.dumps(e['args']['call']))
	P
	duck "SELECT text FROM 't.parquet' WHERE \"ended\" <> 'lost'" | sed 's/^\[//; s/\]$//' | python3 -c 'import json, sys; [print(json.dumps(json.loads(t))) for t in sys.stdin]' | LC_ALL=C sort >got
	LC_ALL=C sort -o wanted wanted
	[ "$(grep -c 'oneline' got)" -gt 0 ]
	LC_ALL=C comm -3 got wanted >differ
	[ ! -s differ ]
	# begin_ns is the time of day: within this test
	[ "$(duck "SELECT count(*)::INT FROM 't.parquet' WHERE abs(begin_ns / 1e9 - $(date +%s)) > 300")" = '[0]' ]
	[ "$(duck "SELECT count(DISTINCT host)::INT, min(host) FROM 't.parquet'")" = "[1,\"$(uname -n)\"]" ]
}

@test "engines: many groups of rows, texts that are no UTF-8, words that are many, and no row at all" {
	maketrace -n 700000 -c 2 -t 3 t.db
	devtrace export --parquet --no-values -o t.parquet t.db
	devtrace export --csv --no-values -o t.csv t.db
	# three groups and more; every number of every call
	[ "$(duck "SELECT count(DISTINCT row_group_id) > 2, max(num_values) <= 131072 FROM parquet_metadata('t.parquet')" | head -1)" = '[true,true]' ]
	[ "$(duck "SELECT count(*)::INT FROM (SELECT process, thread, call, caller, depth, function, module, \"ended\" FROM 't.parquet' EXCEPT ALL
		SELECT process, thread, call, caller, depth, function, module, \"end\" FROM read_csv('t.csv', sample_size = -1))")" = '[0]' ]
	[ "$(duck "SELECT count(*)::INT FROM 't.parquet'")" = "[$(($(wc -l <t.csv) - 1))]" ]
	# one that is not known to have ended has no length in a table that is to be added up
	[ "$(duck "SELECT count(*)::INT FROM 't.parquet' p JOIN read_csv('t.csv', sample_size = -1) c USING (call) WHERE CASE
		WHEN p.duration_ns IS NULL THEN p.self_ns IS NOT NULL OR c.\"end\" IN ('returned', 'tail', 'unwound')
		ELSE abs(p.duration_ns - c.duration_ns) > 0.06 OR abs(p.self_ns - c.self_ns) > 0.06 OR c.\"end\" NOT IN ('returned', 'tail', 'unwound') END")" = '[0]' ]
	# nothing is left, but it is a table
	devtrace export --parquet -f nobody -o none.parquet t.db
	[ "$(duck "SELECT count(*)::INT, count(text)::INT FROM 'none.parquet'")" = '[0,0]' ]
	# a name that is no UTF-8 is written as elsewhere
	printf 'void f_\xff(void) { }\nint main(void) { f_\xff(); return 0; }\n' | sed 's/f_\xff/odd/g' >odd.c
	gcc -O0 -o odd odd.c
	objcopy --redefine-sym odd="$(printf 'o\xffdd\xc3')" odd
	devtrace record -F 'odd:*' -o odd.db ./odd 2>err
	devtrace export --parquet -o odd.parquet odd.db
	[ "$(duck "SELECT function FROM 'odd.parquet' WHERE function LIKE 'o%'")" = '["o\\xffdd\\xc3"]' ]
}

@test "engines: a fleet's rows have their machines, and how far their times may be off" {
	python3 "$BATS_TEST_DIRNAME/merge.py" make .
	for host in alpha beta; do writetrace "$host.db" <"$host.txt"; done
	devtrace merge -o fleet.db one=alpha.db two=beta.db
	devtrace export --parquet -o f.parquet fleet.db
	[ "$(duck "SELECT host, count(*) > 0 FROM 'f.parquet' GROUP BY 1 ORDER BY 1" | tr '\n' ' ')" = '["one",true] ["two",true] ' ]
	# the reference's own clock is right; the other's is so far off at most as sql says
	[ "$(duck "SELECT max(early_ns)::INT, max(late_ns)::INT FROM 'f.parquet' WHERE host = 'one'")" = '[0,0]' ]
	[ "$(duck "SELECT min(early_ns) > 0, max(late_ns) < 1000000 FROM 'f.parquet' WHERE host = 'two'")" = '[true,true]' ]
	devtrace export --clickhouse -o f.rows fleet.db
	duck "SELECT * FROM 'f.parquet'" >parquet
	rowbinary f.rows >rows
	same_rows parquet rows
}

@test "engines: tables for ClickHouse, and words that make no sense" {
	devtrace export --clickhouse-tables >one
	[ "$(grep -c '^CREATE TABLE' one)" = 2 ]
	grep -q 'MATERIALIZED VIEW' one
	run -1 grep Distributed one
	devtrace export --clickhouse-tables=pair >all
	[ "$(grep -c 'Distributed(pair, devtrace' all)" = 2 ]
	run -2 --separate-stderr devtrace export --clickhouse-tables='p; DROP' t.db
	[[ $stderr == *"a cluster's name has letters, digits and _"* ]]
	run -2 --separate-stderr devtrace export --clickhouse-tables t.db
	[[ $stderr == *'makes tables for all traces: no FILE'* ]]
	run -2 --separate-stderr devtrace export --clickhouse --parquet t.db
	[[ $stderr == *'one format at a time'* ]]
	maketrace -n 5000 -c 1 -t 1 t.db
	run -1 --separate-stderr devtrace export --parquet -o /dev/full t.db
	[[ $stderr == *'No space left'* ]]
}
