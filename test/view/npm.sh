# SPDX-License-Identifier: MIT
# Packages of npm that tests need, kept in the cache: npm_has PACKAGE@VERSION...; sets npm, their folder.
npm=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}/npm

npm_has() {
	local p
	mkdir -p "$npm"
	(
		flock 9
		for p in "$@"; do
			[ "$(sed -n 's/^  "version": "\(.*\)",*$/\1/p' "$npm/node_modules/${p%@*}/package.json" 2>/dev/null)" = "${p##*@}" ] && continue
			(cd "$npm" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --no-fund --no-audit "$p") || return
		done
	) >"$npm/log" 2>&1 9>"$npm/lock" && return
	echo "not ok 1 - npm has $*"
	sed 's/^/# /' "$npm/log"
	return 1
}
