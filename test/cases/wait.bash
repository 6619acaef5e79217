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

# until_gone PID: until that process has ended, for a minute at most
until_gone() {
	until_true has_ended "$1"
}

has_ended() {
	! kill -0 "$1" 2>/dev/null
}
