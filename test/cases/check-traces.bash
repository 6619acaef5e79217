# SPDX-License-Identifier: MIT
# Every trace that a test leaves is checked behind it, in its own folder and, if it is newer than the test before,
# in those of its file. A test that damages one, or makes up what can not have been, says so: unsound NAME...

# context switches only where a test asks for them: what calls waited is what else the machine did; unasked.bats has them
export DEVTRACE_SWITCHES=${DEVTRACE_SWITCHES-no}

unsound() {
	printf '%s\n' "$@" >>"$BATS_FILE_TMPDIR/unsound.$BATS_TEST_NUMBER"
}

# what is no trace at all is the test's own affair
is_trace() {
	[ -s "$1" ] && [ "$(head -c 72 "$1" | tail -c 4 | tr -d '\0')" = dtrc ]
}

# the folder's traces, of those that all tests of the file share only what is new
traces_of() {
	local since=()
	[ ! -e "$1/.checked" ] || since=(-newer "$1/.checked")
	# not what is mounted there
	find "$1" -xdev -name '*.db' -type f "${since[@]}"
	[ "$1" = "$BATS_TEST_TMPDIR" ] || : >"$1/.checked"
}

check_traces() {
	local t failed=0
	while IFS= read -r t; do
		is_trace "$t" || continue
		if grep -sqxF "${t##*/}" "$BATS_FILE_TMPDIR/unsound.$BATS_TEST_NUMBER"; then continue; fi
		"${DEVTRACE_ROOT:-$BATS_TEST_DIRNAME/../..}/build/devtrace" check -qs "$t" || failed=1
	done < <(
		traces_of "$BATS_TEST_TMPDIR"
		traces_of "$BATS_FILE_TMPDIR"
		[ ! -d "${dir-}" ] || [ "$dir" = "$BATS_FILE_TMPDIR" ] || traces_of "$dir"
	)
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
