# SPDX-License-Identifier: MIT
# Sourced by the campaigns (test/*/*.t): every trace that they make is checked before it is removed.
# One that can not be sound has a name that does not end in .db: toggled.trace (test/tool/toggler switches sleds
# on and off behind the recorder's back: exits have no entries); switched.trace (a session does, thousands of
# times a second, and `check' does not know when a function was on); broken.trace and gaps.trace
# (test/view/page.t), which are damaged, and have losses and pauses that nobody recorded.

# sweep FILE...: removes them as rm -rf does; each trace among them, or in folders among them, is checked
# before. One that is not sound is a test that failed.
sweep() {
	local file said
	while IFS= read -r file; do
		[ -s "$file" ] && [ "$(head -c 72 "$file" | tail -c 4 | tr -d '\0')" = dtrc ] || continue
		said=$(nice "${B:-${DEVTRACE_ROOT:-$PWD}/build}/devtrace" check -qs "$file" 2>&1) && continue
		echo "not ok - $file: the trace is not sound"
		printf '%s\n' "$said" | sed 's/^/# /'
	done < <(find "$@" -type f \( -name '*.db' -o -name '*.db2' \) 2>/dev/null)
	rm -rf "$@"
}
export -f sweep
