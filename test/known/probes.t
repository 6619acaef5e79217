#!/bin/bash
# SPDX-License-Identifier: MIT
# The known answers (known.t) of programs that are built as anybody builds them, without sleds: all
# their functions are hooked by probes.
PROBES=1 exec "$(dirname "$0")/known.t" "$@"
