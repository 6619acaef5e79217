# SPDX-License-Identifier: MIT
# Sourced at the beginning of the page's tests: sets root, dir (a folder for the test; KEEP: that one, and it stays), and npm
# with Playwright, and has every trace in dir looked at in the end (test/sound.bash).
set -u
root=${DEVTRACE_ROOT:-$PWD}
. "$root/test/view/npm.sh"
dir=${KEEP:-$(mktemp -d)} && trap '[ -n "${KEEP-}" ] || sweep "$dir"' EXIT
. "$root/test/sound.bash"
npm_has playwright-core@1.56.1 || exit 1
