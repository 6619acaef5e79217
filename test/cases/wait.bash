# SPDX-License-Identifier: MIT
# Waiting.

# until_true COMMAND...: until it succeeds, for a minute at most
until_true() {
	local i
	for i in $(seq 3000); do
		"$@" && return
		sleep 0.02
	done
	echo "never: $*"
	return 1
}
