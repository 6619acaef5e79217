#!/bin/bash
# SPDX-License-Identifier: MIT
# What it costs to have devtrace on all the time: a Redis and a PostgreSQL, with all their functions, `--budget 5% --last 60s`,
# MINUTES (60) long, beside a Redis and a PostgreSQL of which nothing is traced. Each is under load for some 12 s of each
# minute, one after the other: redis-benchmark's SET and GET in pipelines of 16, pgbench's read-only transactions of two
# clients. Prints a line a minute: what the traced ones have of the other's throughput, in percent; then medians, the least,
# and what devtrace has used.
# usage: bench/hour.sh [DEVTRACE]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
devtrace=$(realpath "${1:-$root/build/devtrace}")
work=$(mktemp -d)
chmod 755 "$work"
pids=()
finish() {
	[ ${#pids[@]} = 0 ] || kill -INT "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$work"
}
trap finish EXIT

bin=$(echo /usr/lib/postgresql/*/bin | cut -d' ' -f1)
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }

# postgresql PORT: begins one with a database of pgbench's; its number is in $began
postgresql() {
	local folder=$work/pg$1
	mkdir "$folder" && { [ "$(id -u)" != 0 ] || chown postgres "$folder"; }
	as "$bin/initdb" -D "$folder/data" -A trust -U postgres >"$folder.log" 2>&1
	as "$bin/postgres" -D "$folder/data" -p "$1" -k "$folder" -c listen_addresses= >>"$folder.log" 2>&1 &
	began=$!
	until as "$bin/pgbench" -h "$folder" -p "$1" -U postgres -i -q -s 5 postgres >>"$folder.log" 2>&1; do sleep 0.2; done
}
redis() {
	redis-server --port "$1" --save "" >"$work/redis$1.log" 2>&1 &
	began=$!
	until redis-cli -p "$1" ping >/dev/null 2>&1; do sleep 0.1; done
}
attach() {
	"$devtrace" attach --budget 5% --last 60s -o "$work/$1.db" "${@:2}" >"$work/$1.log" 2>&1 &
	began=$!
}

for port in 7491 7492; do redis $port; pids+=("$began"); servers+=("$began"); done
for port in 7591 7592; do postgresql $port; pids+=("$began"); servers+=("$began"); done
attach redis "${servers[1]}"; tracer=("$began")
attach postgresql $(echo "${servers[3]}" "$(pgrep -d ' ' -P "${servers[3]}")"); tracer+=("$began")
sleep 3

of_redis() { redis-benchmark -p "$1" -t set,get -P 16 -n 4000000 -q 2>/dev/null | tr '\r' '\n' | awk '/requests per/ { n++; s += 1 / $2 } END { print n / s }'; }
of_postgresql() {
	as "$bin/pgbench" -h "$work/pg$1" -p "$1" -U postgres -S -c 2 -T 12 postgres 2>/dev/null |
		awk '/^tps/ { print $3 } /failed transactions: [1-9]/ { print "failed" > "/dev/stderr" }'
}
used() { awk '{ print ($14 + $15) / 100 }' "/proc/$1/stat"; }
memory() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$1/status"; }
cpu() { awk '{ print ($14 + $15 + $16 + $17) / 100 }' "/proc/$1/stat"; }

echo "minute redis% postgresql% | devtrace's memory, MiB: redis, postgresql"
for minute in $(seq "${MINUTES:-60}"); do
	ends=$(($(date +%s) + 60))
	# in turn, so that none is always first
	for which in $(((minute) % 2)) $(((minute + 1) % 2)); do
		r[which]=$(of_redis $((7491 + which)))
		p[which]=$(of_postgresql $((7591 + which)))
	done
	awk -v m="$minute" -v a="${r[1]}" -v b="${r[0]}" -v c="${p[1]}" -v d="${p[0]}" -v x="$(memory "${tracer[0]}")" -v y="$(memory "${tracer[1]}")" \
		'BEGIN { printf "%d %.1f %.1f | %d %d\n", m, 100 * a / b, 100 * c / d, x, y }' | tee -a "$work/lines"
	left=$((ends - $(date +%s)))
	[ "$left" -le 0 ] || sleep "$left"
done
for k in 2 3; do
	awk -v k=$k '{ print $k }' "$work/lines" | sort -n | awk -v what="$([ $k = 2 ] && echo Redis || echo PostgreSQL)" \
		'{ v[NR] = $1 } END { printf "%s: %.1f %% of the throughput of the one that is not traced (median; least %.1f, a tenth below %.1f)\n", what, v[int((NR + 1) / 2)], v[1], v[int(NR / 10) + 1] }'
done
echo "processor time, s: redis $(cpu "${servers[0]}") alone, $(cpu "${servers[1]}") traced and $(used "${tracer[0]}") of devtrace;" \
	"postgresql $(used "${tracer[1]}") of devtrace"
kill -INT "${tracer[@]}"
wait "${tracer[@]}"
for name in redis postgresql; do
	echo "$name: $(stat -c %s "$work/$name.db") bytes; $(tr '\n' ' ' <"$work/$name.log")"
	"$devtrace" check -q "$work/$name.db" && echo "$name: sound; $(sqlite3 "$work/$name.db" 'SELECT total(records) FROM chunk') records"
done
