#!/bin/bash
# SPDX-License-Identifier: MIT
# A slice of the corpus (corpus.sh) for every change (libx264 and libtheora are in cases/kept.bats): code of assemblers and of other compilers, all functions
# probed; output and status as alone. What is not installed is a SKIP.
# usage: corpus.t
set -u
root=${DEVTRACE_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
dt=${DEVTRACE_BUILD:-$root/build}/devtrace
# names of corpus.sh's groups, and of programs in them
slice=(
	"dav1d:dav1d" "openssl:dgst -(sha256|sha3-256) |chacha20|x25519"
	"rustc:rust -O3" "fortran:fortran -O2" "pascal:pascal -O2" "ocaml:ocaml" "java:java, compiled" "node:node"
)
echo 1..${#slice[@]}
n=0 bad=0
for s in "${slice[@]}"; do
	n=$((n + 1)) group=${s%%:*}
	out=$(CORPUS_ONLY=${s#*:} "$root/test/real/corpus.sh" "$dt" "$group" 2>&1)
	rc=$?
	tried=$(grep -c '^ok ' <<<"$out")
	if [ $rc != 0 ]; then
		bad=1
		echo "not ok $n - $group: the same with all of it probed"
		sed 's/^/# /' <<<"$out"
	elif [ "$tried" = 0 ]; then
		# why is in the first line
		echo "ok $n - $group # SKIP $(head -n 1 <<<"$out")"
	else
		echo "ok $n - $group: the same with all of it probed ($tried)"
	fi
done
exit $bad
