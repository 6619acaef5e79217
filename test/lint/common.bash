# SPDX-License-Identifier: MIT
# Sourced by the lints: they run at the top of the tree, and are TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
# is N WHAT FOUND: nothing was found
is() {
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		echo "not ok $1 - $2"
		sed 's/^/# /' <<<"$3"
	fi
}
