# SPDX-License-Identifier: MIT
# Every trace that a test leaves is checked behind it, in its own folder and, if it is newer than the test,
# in that of its file. A test that damages one, or makes up what can not have been, says so: unsound NAME...

unsound() {
	printf '%s\n' "$@" >>"$BATS_FILE_TMPDIR/unsound.$BATS_TEST_NUMBER"
}

# what is no trace at all is the test's own affair
is_trace() {
	[ -s "$1" ] && [ "$(head -c 72 "$1" | tail -c 4 | tr -d '\0')" = dtrc ]
}

check_traces() {
	local t failed=0 since=()
	[ ! -e "${dir-}/.checked" ] || since=(-newer "$dir/.checked")
	while IFS= read -r t; do
		is_trace "$t" || continue
		if grep -sqxF "${t##*/}" "$BATS_FILE_TMPDIR/unsound.$BATS_TEST_NUMBER"; then continue; fi
		"${DEVTRACE_ROOT:-$BATS_TEST_DIRNAME/../..}/build/devtrace" check -qs "$t" || failed=1
	done < <(
		find "$BATS_TEST_TMPDIR" -name '*.db' -type f
		[ ! -d "${dir-}" ] || find "$dir" -name '*.db' -type f "${since[@]}"
	)
	[ ! -d "${dir-}" ] || : >"$dir/.checked"
	return "$failed"
}

teardown() {
	check_traces
}

# nested: of the JSON lines of sum and graph one list: rows inside their sums, callers and callees inside their functions
nested() {
	python3 -c '
import json, sys
out = []
for r in map(json.loads, sys.stdin):
    if r["type"] == "row": out[-1]["rows"].append(r)
    elif r["type"] in ("caller", "callee"): out[-1][r["type"]].append(r)
    else: out.append(dict(r, rows=[], caller=[], callee=[]))
json.dump(out, sys.stdout)'
}
