#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# devtrace events: definitions of events
load read-helper

definition() {
	cat >d.pleco <<-'TEXT'
	/* as the network card's */
	subsystem kernel {
		event CSWITCH "Context Switch", // when it changes
		event TIMER "",
	};

	subsystem Chips { event get "say \"get\"", };
	TEXT
}

@test "check-029: D28: the header has the generated names, numbered from 0" {
	definition
	devtrace events d.pleco --header trace_events.h
	grep '^#define' trace_events.h | tail -n +2 >got
	cat >want <<-'TEXT'
	#define TRACE_SUBSYS_KERNEL 0
	#define TRACE_EVENT_KERNEL_CSWITCH 0
	#define TRACE_EVENT_KERNEL_TIMER 1
	#define TRACE_SUBSYS_CHIPS 1
	#define TRACE_EVENT_CHIPS_GET 0
	#define TRACE_NUM_SUBSYSTEMS 2
	TEXT
	diff got want
}

@test "the header compiles as C11 and C++17, twice included" {
	definition
	devtrace events d.pleco --header events-1.h
	cat >u.c <<-'C'
	#include "events-1.h"
	#include "events-1.h"
	int numbers[TRACE_NUM_SUBSYSTEMS] = {TRACE_EVENT_KERNEL_TIMER, TRACE_SUBSYS_CHIPS};
	static_assert(TRACE_EVENT_CHIPS_GET == 0 && TRACE_SUBSYS_CHIPS == 1, "numbers");
	C
	gcc -std=c11 -include assert.h -pedantic -Wall -Wextra -Werror -c u.c
	g++ -std=c++17 -pedantic -Wall -Wextra -Werror -x c++ -c u.c
}

@test "check-029: D27: the JSON has quoted numbers, name and description, and the two messages" {
	definition
	devtrace events d.pleco --json d.json
	python3 - <<'PY'
import json
assert json.load(open("d.json")) == {
    "0": {"name": "kernel", "events": {"0": ["CSWITCH", "Context Switch"], "1": ["TIMER", "TIMER"]}},
    "1": {"name": "Chips", "events": {"0": ["get", 'say "get"']}},
    "-5632": {"name": "ump send"}, "-5376": {"name": "ump receive"}}
PY
	devtrace events d.pleco >a
	devtrace events d.json >b
	cmp a b
	[ "$(sed -n 2p a)" = "0 1 kernel TIMER TIMER" ]
	devtrace events - <d.pleco --json - | cmp - d.json
}

# the definition is refused with status 1 and one line that begins with the place and holds the text
refused() {
	printf '%s' "$1" >bad
	run devtrace events bad --header bad.h --json bad.json
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[[ "$output" == "devtrace: bad:$2: "*"$3"* ]] || { echo "$output"; return 1; }
	[ ! -e bad.h ] && [ ! -e bad.json ]
}

@test "check-029: errors say line and column, and nothing is written" {
	refused '' 1:1 "'subsystem'"
	refused $'\n  subsystem 5 {' 2:13 "subsystem's name"
	refused 'subsystem event {' 1:11 "subsystem's name"
	refused 'subsystem a { };' 1:15 "at least one"
	refused $'subsystem a {\n\tevent B "b"\n};' 3:1 "','"
	refused 'subsystem a { event B b, };' 1:23 "in quotes"
	refused $'subsystem a { event B "b\n", };' 1:23 "does not end in its line"
	refused 'subsystem a { event B "\x", };' 1:24 "known here"
	refused 'subsystem a { event B "b", }' 1:29 "';'"
	refused 'subsystem a { event B "b", event B "", };' 1:34 "TRACE_EVENT_A_B would be defined twice"
	refused $'subsystem a { event B_C "", };\nsubsystem a_b { event c "", };' 2:23 "TRACE_EVENT_A_B_C"
	refused 'subsystem a { event B "", }; subsystem A { event C "", };' 1:50 "TRACE_SUBSYS_A would"
	refused '/* no end' 1:1 "*/"
	refused 'subsystem a { event B "b", }; x' 1:31 "'subsystem'"
	run devtrace events none
	[ "$status" = 1 ]
	one_error "none: No such file"
	run devtrace events
	[ "$status" = 2 ]
	echo '{"0": {"name": "a b", "events": {"0": ["X", ""]}}}' >bad.json
	run devtrace events bad.json
	[ "$status" = 1 ]
	[[ "$output" == *"a name is letters"* ]]
	for text in '{' '{"0": 5}' '{"x": {"name": "a", "events": {"0": ["X", ""]}}}' \
		'{"0": {"name": "a", "events": {"0": ["X", ""], "0": ["Y", ""]}}}' \
		'{"59904": {"name": "a", "events": {"0": ["X", ""]}}}'; do
		echo "$text" >bad.json
		run devtrace events bad.json
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
	done
}

one_error() {
	[ "${#lines[@]}" = 1 ] && [[ "$output" == "devtrace: $1"* ]]
}

@test "names are added to a trace, the last ones count" {
	definition
	printf 'V x 0 1 0x0000000100000011\nV x 0 2 0x0000000900000000\n' | writetrace t.db
	devtrace calls t.db | grep -q '/\* event 0x100000011 \*/'
	devtrace events d.pleco --trace t.db
	devtrace calls t.db | grep -q '/\* kernel TIMER(0x11) \*/'
	devtrace calls t.db | grep -q '/\* event 0x900000000 \*/'
	sed -i 's/TIMER/CLOCK/' d.pleco
	devtrace events d.pleco --trace t.db
	devtrace calls t.db | grep -q '/\* kernel CLOCK(0x11) \*/'
	# a file from before there were events
	sqlite3 t.db 'DROP TABLE event'
	devtrace calls t.db | grep -q '/\* event 0x100000011 \*/'
	devtrace events d.pleco --trace t.db
	devtrace calls t.db | grep -q '/\* kernel CLOCK(0x11) \*/'
	[ "$(ls t.db*)" = t.db ]
	echo text >text
	run devtrace events d.pleco --trace text
	[ "$status" = 1 ]
	[ "$output" = "devtrace: text: is not a devtrace trace" ]
	[ "$(cat text)" = text ]
	run devtrace events d.pleco --trace none.db
	[ "$status" = 1 ]
	[ ! -e none.db ]
}

@test "a trace that somebody else writes all the time gets no names, and it is said" {
	definition
	maketrace -n 100 t.db
	# a writer that holds the file longer than is waited for
	sqlite3 t.db "BEGIN IMMEDIATE" ".shell timeout 60 $build/devtrace events d.pleco --trace t.db 2>err; echo \$? >rc" "ROLLBACK"
	[ "$(cat rc)" = 1 ]
	[ "$(cat err)" = "devtrace: t.db: cannot add names: database is locked" ]
	[ "$(sqlite3 t.db 'SELECT count(*) FROM event')" = 0 ]
}
