# SPDX-License-Identifier: MIT
# What the tests of the commands that read traces share.
load check-traces

setup() {
	export LC_ALL=C.UTF-8 # the tree of graph
	build=${DEVTRACE_BUILD:-$BATS_TEST_DIRNAME/../../build}
	PATH=$build:$build/test/tool:$PATH
	cd "$BATS_TEST_TMPDIR" || return 1
}

# a small trace of two threads with everything in it that calls marks
sample() {
	writetrace "${1:-devtrace.db}" <<'TEXT'
clock 0 0
clock 2000000 1000000
thread 1 main
thread 2 worker
function main argc:i4@0,argv:p@1;i4@0
function add a:i4@0,b:i4@1;i8@0
function half v:u4@0;f8@2
function log what:s@0,...:a@-;v
function jump
E main 0x7fff1000 1000 1 0x7ffe00
E add 0x7fff0f00 1100 0xfffffffe 3
X add 0x7fff0f00 1300 1
E half 0x7fff0f00 1400 5
X half 0x7fff0f00 1500 0 0 0x4004000000000000
at 0 2
X log 0x6fff0f00 1510
E add 0x6fff0f00 1520 1 2
E add 0x6fff0e00 1530 2 3
at 0 1
E log 0x7fff0f00 2400 0x4000
T log 0x7fff0f00 2500
E jump 0x7fff0f00 2600 1 2 3 4
E add 0x7fff0e00 2700 7 7
E half 0x7fff0f00 4000 1
X half 0x7fff0f00 4100
lost 5
E half 0x7fff0f00 6000 1
X half 0x7fff0f00 6100
X main 0x7fff1000 9000 0
TEXT
}
