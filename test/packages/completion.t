#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Completion for bash, zsh and fish: the commands that cmd/main.c has, the options that the commands' tables for getopt have,
# values that the commands take, functions that nm knows. zsh and fish are asked if they are installed. TAP.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/test/packages
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export PATH=$root/build:/usr/bin:/bin HOME=$work XDG_RUNTIME_DIR=$work LC_ALL=C.UTF-8 TERM=xterm
n=0
result() { # STATUS NAME
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" && return
	echo "not ok $n - $2"
	sed 's/^/# /' "$work/log" | head -n 30
}
skip() { n=$((n + 1)) && echo "ok $n - $1 # SKIP $2"; }
make -s -C "$root" build/completion/devtrace.bash build/completion/_devtrace build/completion/devtrace.fish >"$work/log" 2>&1
result $? "the three files can be made"
cd "$work" || exit 1
in_bash() { bash "$here/complete.bash" "$root/build/completion/devtrace.bash" "$@"; }
in_zsh() { timeout 30 zsh -f "$here/complete.zsh" "$root/build/completion" "$@"; }
# fish can not be asked for the middle of a line
in_fish() { fish --no-config -c "source '$root/build/completion/devtrace.fish'; complete -C '$1'" | cut -f1; }
shells=(bash)
for s in zsh fish; do command -v $s >/dev/null && shells+=("$s"); done

sed -n '/^} command\[\] = {/,/^};/s/.*{"\([a-z]*\)", dt_cmd.*/\1/p' "$root/cmd/main.c" | sort >"$work/commands"
cat >prog.c <<'C'
int zebra_one(int n) { return n + 1; }
int zebra_two(int n) { return zebra_one(n) + 1; }
int main(int argc, char **argv) { return zebra_two(argc) - 3; }
C
gcc -O0 -o prog prog.c
nm prog | sed -n 's/.* T \(zebra.*\)/\1/p' | sort >"$work/zebras"
devtrace record -o some.db ./prog 2>/dev/null
cp some.db devtrace.db

# all shells read the same options, by the same program: for one of them each command is asked
for command in $(cat "$work/commands"); do
	case $command in record | attach) tables="$root/cmd/trace-options.c" ;; *) tables="$root/cmd/$command.c" ;; esac
	grep -ohE '\{"[a-z0-9][-a-z0-9]+", *(no|required|optional)_argument' "$tables" | sed -E 's/\{"(.*)".*/--\1/' | sort -u >"$work/wanted"
	# those of "devtrace PROG" only
	case $command in record | attach) sed -i -E '/^--(summary|failed|fields|units|color)$/d' "$work/wanted" ;; esac
	case $command in record) sed -i '/^--detach$/d' "$work/wanted" ;; attach) sed -i -E '/^--(follow|hosts|ssh|remote|push)$/d' "$work/wanted" ;; esac
	in_bash "devtrace $command --" | sort -u >"$work/got"
	comm -23 "$work/wanted" "$work/got" | sed "s/^/$command, not offered: /"
	# those that several commands have in common stand elsewhere: these are tried
	for option in $(comm -13 "$work/wanted" "$work/got"); do
		devtrace "$command" "$option" /nonexistent </dev/null 2>&1 | grep -q 'unrecognized option' && echo "$command, not taken: $option"
	done
done >"$work/log"
[ ! -s "$work/log" ]
result $? "the options that are offered are those that each command takes"

offers() { # NAME LINE WANTED-FILE: each shell offers that (and may offer more, where what is wanted begins with +)
	local shell wanted=${3#+}
	for shell in "${shells[@]}"; do
		in_"$shell" "$2" 2>&1 | sed 's/:[a-z ].*//; s|^--policy=||' | sort -u >"$work/got"
		if [ "$wanted" = "$3" ]; then diff "$wanted" "$work/got"; else comm -23 "$wanted" "$work/got" | grep .; fi >"$work/log" &&
			[ ! -s "$work/log" ] || [ ! -s "$work/log" ]
		result $? "$shell: $1"
	done
}
words() { printf '%s\n' "$@" | sort >"$work/words"; }
offers "the commands" "devtrace " "+$work/commands"
words --function
offers "an option" "devtrace record --fu" "$work/words"
words --failed
offers "an option without a command" "devtrace --fai" "$work/words"
words drop overwrite wait
offers "an option's values" "devtrace record -p " "$work/words"
offers "an option's values behind =" "devtrace record --policy=" "$work/words"
offers "functions of a trace" "devtrace calls -F zebra some.db -N zebra" "$work/zebras"
words some.db
offers "files" "devtrace calls so" "+$work/words"
sleep 60 &
sleeper=$!
words $sleeper
offers "processes" "devtrace attach $sleeper" "$work/words"
session=$(devtrace attach -d -s permanent $sleeper 2>/dev/null)
words permanent
offers "sessions" "devtrace ctl -s p" "$work/words"
[ -z "$session" ] || devtrace ctl -s permanent quit >/dev/null 2>&1
kill $sleeper

# the program stands behind the cursor
for shell in bash zsh; do
	case " ${shells[*]} " in *" $shell "*) ;; *) continue ;; esac
	in_$shell "devtrace record -F zebra" " ./prog" 2>&1 | sort -u | diff "$work/zebras" - >"$work/log"
	result $? "$shell: functions of the program"
	in_$shell "devtrace record -F prog:zebra" " ./prog" 2>&1 | sort -u | sed 's/^prog://' | diff "$work/zebras" - >"$work/log"
	result $? "$shell: functions of the program, with its name"
done
in_bash "devtrace record --function=zebra" " ./prog" | sed 's/^--function=//' | sort | diff "$work/zebras" - >"$work/log"
result $? "bash: functions behind ="
in_bash "devtrace record -F 'zebra" " ./prog" | sort | diff "$work/zebras" - >"$work/log"
result $? "bash: functions behind a quote"

# what is offered as a value is taken
for try in "report -s" "calls --units" "calls --color" "calls --fields" "diff -s" "hist -b" "count -s" "sum -s"; do
	read -r command option <<<"$try"
	for value in $(in_bash "devtrace $try "); do
		files=(some.db)
		[ "$command" != diff ] || files+=(some.db)
		[ "$value" != linear ] || value=linear:4
		case $command in sum) more=(-e count) ;; *) more=() ;; esac
		devtrace "$command" "${more[@]}" "$option" "$value" "${files[@]}" >/dev/null 2>err || grep -q 'no switches in this trace' err || { echo "$try $value: "; cat err; }
	done
done >"$work/log"
[ ! -s "$work/log" ]
result $? "values that are offered are taken"
for s in zsh fish; do
	case " ${shells[*]} " in *" $s "*) ;; *) skip "$s" "it is not installed" ;; esac
done
echo "1..$n"
