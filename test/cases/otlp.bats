# SPDX-License-Identifier: MIT
# devtrace export --otlp: spans as OpenTelemetry's own message types read them (npm), and which call is done for which span of
# another program: a program that knows its own tree says it, and another computation of the rule.
bats_require_minimum_version 1.5.0
load read-helper
. "$BATS_TEST_DIRNAME/../view/npm.sh"

# Every field is one of OpenTelemetry's, of its type: reads a file as its messages and gives the number of spans
messages() {
	npm_has @opentelemetry/otlp-transformer@0.57.2 >&2
	cat >"$npm/otlp.cjs" <<-'M'
		const root = require('./node_modules/@opentelemetry/otlp-transformer/build/src/generated/root.js');
		const type = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
		const keys = x => x && typeof x === 'object' && !Buffer.isBuffer(x) ? Object.keys(x).sort().map(k => k + ':' + keys(x[k])).join() : '';
		let n = 0;
		for (const line of require('fs').readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean)) {
			const o = JSON.parse(line);
			for (const r of o.resourceSpans) for (const s of r.scopeSpans) for (const span of s.spans) {
				n++;
				for (const x of [span, ...(span.links || [])]) for (const k of ['traceId', 'spanId', 'parentSpanId'])
					if (k in x) {
						const length = k === 'traceId' ? 32 : 16;
						if (!new RegExp(`^[0-9a-f]{${length}}$`).test(x[k]) || /^0*$/.test(x[k])) throw k + ' ' + x[k];
						x[k] = Buffer.from(x[k], 'hex');
					}
			}
			const message = type.fromObject(o), wrong = type.verify(message);
			if (wrong) throw wrong;
			const back = type.toObject(type.decode(type.encode(message).finish()), { longs: String, bytes: String });
			if (keys(JSON.parse(line)) !== keys(back)) throw 'a field is not known: ' + line;
		}
		console.log(n);
	M
	timeout 120 node "$npm/otlp.cjs" "$1"
}

# tree SEED: a program that calls itself at random, and says "NUMBER CALLER FUNCTION HEADER" of each call
tree() {
	cat >tree.c <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static unsigned numbers, left = 400;
		static char header[64];
		void node(unsigned number, const char *header, unsigned depth);
		void other(unsigned number, const char *header, unsigned depth);
		/* a header, at times none, at times not quite one */
		static const char *make(void)
		{
			static const char *const trace[] = {"4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c",
				"00000000000000000000000000000000", "4BF92F3577B34DA6A3CE929D0E0E4736", "4bf92f3577b34da6a3ce929d0e0e473"};
			static const char *const span[] = {"00f067aa0ba902b7", "b7ad6b7169203331", "0000000000000000"};
			static const char *const form[] = {"00-%s-%s-01", "traceparent: 00-%s-%s-00\r\n", "00-%s-%s-0", "01-%s-%s-01",
				"100-%s-%s-01", "x00-%s-%s-ff", "00-%s-%s-012", "00-00-%s-%s-01"};
			static char text[128];
			unsigned t = rand() % 9, s = rand() % 6, f = rand() % 16;
			if (rand() % 3)
				return "";
			snprintf(text, sizeof(text), form[f < 8 ? f : f & 1], trace[t < 5 ? t : t & 1], span[s < 3 ? s : s & 1]);
			return text;
		}
		static void said(unsigned number, unsigned caller, const char *function, const char *header)
		{
			printf("%u %u %s %s\n", number, caller, function, strcspn(header, "\r\n") ? strtok(strdup(header), "\r\n") : "-");
		}
		__attribute__((noinline)) void leaf(unsigned number, const char *header)
		{
			__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop" : : "r"(number), "r"(header) : "memory");
		}
		static void inside(unsigned number, unsigned depth)
		{
			for (int n = rand() % 5; n > 0 && left && depth < 6; n--) {
				unsigned i = ++numbers, kind = rand() % 4;
				const char *text = make();
				char own[128];
				left--;
				strcpy(own, text);
				said(i, number, kind < 2 ? "leaf" : kind < 3 ? "node" : "other", own);
				if (kind < 2)
					leaf(i, own);
				else if (kind < 3)
					node(i, own, depth + 1);
				else
					other(i, own, depth + 1);
			}
		}
		__attribute__((noinline)) void node(unsigned number, const char *header, unsigned depth) { inside(number, depth); __asm__ volatile("nop; nop; nop; nop; nop"); }
		__attribute__((noinline)) void other(unsigned number, const char *header, unsigned depth) { inside(number, depth); __asm__ volatile("nop; nop; nop; nop; nop"); }
		int main(int argc, char **argv)
		{
			srand(atoi(argv[1]));
			while (left > 20) {
				unsigned i = ++numbers;
				said(i, 0, "node", "");
				node(i, "", 0);
				left -= left > 0;
			}
			return 3;
		}
	C
	[ -e tree ] || gcc -g -O1 -fno-inline -fno-optimize-sibling-calls -o tree tree.c
}

# spans_of FILE SAID [FUNCTION]: the spans of FILE are those of the program's calls (of one function), each with the trace and
# parent that the rule of export/contexts.h gives it
spans_of() {
	python3 - "$@" <<-'P'
		import json, re, sys
		sys.setrecursionlimit(10000)
		header = re.compile(r'(?<![0-9a-f])00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?![0-9a-f])')
		calls, order = {}, []
		for line in open(sys.argv[2]):
		    number, caller, function, text = line.rstrip('\n').split(' ', 3)
		    m = header.search(text)
		    c = calls[int(number)] = dict(n=int(number), up=int(caller), f=function, span=(m[1], m[2]) if m else None, calls=[])
		    if c['up']: calls[c['up']]['calls'].append(c)
		    order.append(c)
		only = sys.argv[3] if len(sys.argv) > 3 else None
		written = lambda c: only in (None, c['f'])
		def around(c):
		    while c['up']:
		        c = calls[c['up']]
		        if written(c): return c
		for c in order:
		    c['owner'] = around(c)
		    c['kind'] = c['span'] and ('own' if c['calls'] or not c['owner'] else 'given')
		    c['adopts'] = c['span'] if c['kind'] == 'own' else None
		for owner in order:
		    given = [c for c in order if c['kind'] == 'given' and c['owner'] is owner]
		    first = owner['span'] if owner['kind'] == 'own' else given[0]['span'] if given else None
		    if len({c['span'][0] for c in given} | ({first[0]} if first else set())) == 1:
		        owner['adopts'] = first
		    else:
		        for c in given: c['kind'] = 'turn'
		roots = {}
		# what each call is done for: a span, or the outermost written call
		def walk(c, task):
		    # task: a list of one, which what the caller has been given changes
		    mine = task[0]
		    if c['kind'] == 'turn': mine = c['span']
		    elif c['adopts']: mine = c['adopts']
		    if mine is None and only and written(c): mine = c['n']
		    if c['kind'] == 'turn':
		        up = calls[c['up']]
		        while True:
		            up['task'][0] = mine
		            if up is c['owner']: break
		            up = calls[up['up']]
		    c['mine'], c['task'] = mine, [mine]
		    for x in c['calls']: walk(x, c['task'])
		for c in order:
		    if not c['up']: walk(c, [None])
		got, processes = {}, []
		for line in open(sys.argv[1]):
		    for r in json.loads(line)['resourceSpans']:
		        names = {a['key']: a['value'] for a in r['resource']['attributes']}
		        assert names['service.name'] == {'stringValue': 'tree'}, names
		        for s in r['scopeSpans'][0]['spans']:
		            text = {a['key']: a['value'] for a in s.get('attributes', [])}.get('devtrace.call', {}).get('stringValue', '')
		            m = re.search(r'number=(\d+)', text)
		            if s['name'] == 'process': processes.append(s)
		            elif m: got[int(m[1])] = s
		wanted = [c for c in order if written(c)]
		assert sorted(got) == sorted(c['n'] for c in wanted), (len(got), len(wanted))
		assert len({s['spanId'] for s in got.values()}) == len(got)
		assert len(processes) == (not only), processes
		if processes: assert processes[0]['status'] == {'code': 2, 'message': 'exit status 3'}, processes
		of = {}
		for c in wanted:
		    s, up = got[c['n']], around(c)
		    assert s['name'] == c['f'], (c, s)
		    if isinstance(c['mine'], tuple): assert s['traceId'] == c['mine'][0], (c['n'], c['mine'], s)
		    else: assert of.setdefault(c['mine'], s['traceId']) == s['traceId'], (c['n'], s)
		    parent = s.get('parentSpanId')
		    if up and up['mine'] == c['mine']: assert parent == got[up['n']]['spanId'], (c['n'], s)
		    elif isinstance(c['mine'], tuple): assert parent == c['mine'][1], (c['n'], c['mine'], s)
		    elif only: assert parent is None, (c['n'], s)
		    else: assert parent == processes[0]['spanId'], (c['n'], s)
		    links = [(k['traceId'], k['spanId']) for k in s.get('links', [])]
		    want = [(got[up['n']]['traceId'], got[up['n']]['spanId'])] if up and up['mine'] != c['mine'] else []
		    if c['kind'] == 'given' and c['span'] != c['mine']: want.append(c['span'])
		    assert links == want, (c['n'], links, want)
		    assert s['kind'] == (2 if isinstance(c['mine'], tuple) and not (up and up['mine'] == c['mine']) else 1), (c, s)
		    if up:
		        a, b = got[up['n']], s
		        assert int(a['startTimeUnixNano']) <= int(b['startTimeUnixNano']) <= int(b['endTimeUnixNano']) <= int(a['endTimeUnixNano']), (a, b)
		# each of these has a trace of its own, which is not that of a header
		assert len(set(of.values())) == len(of) and not set(of.values()) & {c['span'][0] for c in order if c['span']}
		print(len(got), len({c['mine'] for c in wanted if isinstance(c['mine'], tuple)}), sum(c['kind'] == 'turn' for c in order))
	P
}

@test "otlp: which call is done for which span, as the program's own tree and another computation say" {
	tree
	turns=0
	for seed in "$RANDOM" "$RANDOM" "$RANDOM" 7; do
		echo "seed $seed" >&2
		run -3 --separate-stderr devtrace record -F 'tree:node' -F 'tree:other' -F 'tree:leaf' -A 'tree:node' -A 'tree:other' -A 'tree:leaf' \
			-o t.db ./tree "$seed"
		printf '%s\n' "$output" >said
		devtrace export --otlp -o all.json t.db
		read -r spans tasks n < <(spans_of all.json said)
		[ "$spans" = "$(wc -l <said)" ]
		[ "$tasks" -gt 0 ]
		turns=$((turns + n))
		for f in node other leaf; do
			devtrace export --otlp -f "$f" -o "$f.json" t.db
			spans_of "$f.json" said "$f" >&2
		done
		[ "$(messages all.json)" = $((spans + 1)) ]
		# the same numbers each time
		devtrace export --otlp t.db | cmp - all.json
	done
	[ "$turns" -gt 0 ]
}

@test "otlp: a request to a server, from its header on; errors; without values" {
	cat >serve.c <<-'C'
		#include <stdio.h>
		#include <unistd.h>
		#include <fcntl.h>
		#include <sys/wait.h>
		__attribute__((noinline)) int work(const char *path) { return open(path, O_RDONLY); }
		__attribute__((noinline)) int serve(int fd)
		{
			char b[200];
			int n = read(fd, b, sizeof(b) - 1);
			if (n <= 0) return 0;
			int r = work("/nonexist");
			__asm__ volatile("");
			return r < 0;
		}
		int main(void)
		{
			int p[2], n = 0;
			pipe(p);
			for (int i = 1; i <= 3; i++) {
				dprintf(p[1], "GET /%d HTTP/1.1\r\nHost: x\r\ntraceparent: 00-%032x-%016x-01\r\n\r\n", i, i, i + 16);
				n += serve(p[0]);
			}
			if (fork() == 0) _exit(1);
			wait(NULL);
			return n != 3;
		}
	C
	gcc -g -O1 -o serve serve.c
	devtrace record -l -F serve:work -F serve:serve -F serve:main -o t.db ./serve 2>err
	devtrace export --otlp -o t.json t.db
	python3 - t.json "$(uname -n)" <<-'P'
		import json, sys, time
		by, all = {}, {}
		for line in open(sys.argv[1]):
		    for r in json.loads(line)['resourceSpans']:
		        who = {a['key']: list(a['value'].values())[0] for a in r['resource']['attributes']}
		        assert who['service.name'] == 'serve' and who['host.name'] == sys.argv[2] and who.get('process.command_line', './serve') == './serve', who
		        for s in r['scopeSpans'][0]['spans']:
		            s['pid'] = who['process.pid']
		            by.setdefault(s['name'], []).append(s)
		            all[s['spanId']] = s
		assert len(by['serve']) == 3 and len(by['work']) == 3, {k: len(v) for k, v in by.items()}
		for i, s in enumerate(by['serve'], 1):
		    assert (s['traceId'], s['parentSpanId'], s['kind']) == ('%032x' % i, '%016x' % (i + 16), 2), s
		    inside = sorted(x['name'] for x in all.values() if x.get('parentSpanId') == s['spanId'])
		    assert inside == ['read', 'work'], inside
		    opened, = [x for x in by['open'] + by.get('open64', []) if x['traceId'] == s['traceId']]
		    assert opened['status'] == {'code': 2, 'message': 'ENOENT'}, opened
		    link, = s['links']
		    assert all[link['spanId']]['name'] == 'main' and link['traceId'] != s['traceId'], s
		    assert abs(int(s['startTimeUnixNano']) / 1e9 - time.time()) < 600
		main, = [s for s in by['main']]
		# processes are spans: the child's parent is its parent
		assert all[main['parentSpanId']]['name'] == 'process'
		child, = [s for s in by['process'] if s['pid'] != main['pid']]
		assert all[child['parentSpanId']]['pid'] == main['pid'], child
		assert len({s['traceId'] for s in by['process'] + by['main']}) == 1
	P
	messages t.json
	# without values nobody knows of the headers, nor of errors
	devtrace export --otlp --no-values -o plain.json t.db
	[ "$(grep -c traceparent plain.json)" = 0 ]
	[ "$(grep -c ENOENT plain.json)" = 0 ]
	[ "$(grep -o '"traceId":"[0-9a-f]*"' plain.json | sort -u | wc -l)" = 1 ]
	[ "$(messages plain.json)" = "$(messages t.json)" ]
}

@test "otlp: a span for each call and process, with numbers of its own; calls that were open" {
	maketrace -n 30000 -c 3 -t 5 t.db
	devtrace export --otlp -o t.json t.db
	calls=$(devtrace sql --json t.db 'SELECT count(*) AS n FROM calls' | sed -n 's/.*"n": *\([0-9]*\).*/\1/p')
	processes=$(devtrace sql --json t.db 'SELECT count(*) AS n FROM process' | sed -n 's/.*"n": *\([0-9]*\).*/\1/p')
	[ "$(messages t.json)" = $((calls + processes)) ]
	[ "$(grep -o '"spanId":"[0-9a-f]*"' t.json | sort | uniq -d | wc -l)" = 0 ]
	# those that are not known to have ended, or begun, say so
	[ "$(grep -o '"devtrace.ended","value":{"stringValue":"open"' t.json | wc -l)" = "$(devtrace sql --json t.db "SELECT count(*) AS n FROM calls WHERE ended = 'open'" | sed -n 's/.*"n": *\([0-9]*\).*/\1/p')" ]
	# at most 500 spans a line
	[ "$(awk '{ n = gsub(/"startTimeUnixNano"/, ""); if (n > most) most = n } END { print most }' t.json)" = 500 ]
}
