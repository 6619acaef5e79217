#!/bin/bash
# SPDX-License-Identifier: MIT
# Every command that a document or a manual page prints has the options that it is given, and is run by docs.t, unless the
# document says why it is not; and what is wrong is found.
root=$(realpath "${DEVTRACE_ROOT:-$PWD}")
cd "$root" || exit 1
export DEVTRACE_ROOT=$root PYTHONDONTWRITEBYTECODE=1
# pages that are made of documents have the same commands
mapfile -t users < <(ls README.md doc/*.md && grep -L '^\.\\" Made from' man/*.[1-8])
mapfile -t developers < <(ls CONTRIBUTING.md SECURITY.md CHANGELOG.md doc/dev/*.md 2>/dev/null)
tests=0
# is WHAT EXPECTED GOT
is() {
	tests=$((tests + 1))
	if [ "$2" = "$3" ]; then echo "ok $tests - $1"; else
		echo "not ok $tests - $1"
		diff <(echo "$2") <(echo "$3") | sed 's/^/# /'
	fi
}
is "commands in documents for users: they exist, and are run" "" "$(python3 test/docs/commands.py "${users[@]}" | grep '^#')"
is "commands in documents for developers: they exist" "" "$(python3 test/docs/commands.py --options "${developers[@]}" | grep '^#')"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/x.md" <<'M'
`devtrace calls --no-such t.db`, `devtrace report -s self`, `devtrace record -F`, `devtrace cat FILE`, `devtrace gibberisch`.

    devtrace ls | devtrace -Q ls

<!-- not run: no reason -->

    x=$(devtrace attach --backtrace='a b' -dFx -Z 1) # devtrace plot -Q

```sh
devtrace report -s self
cd x && devtrace hist --values 3
```
M
is "what is wrong with them is found" "1: devtrace calls --no-such t.db: devtrace calls has no option --no-such
1: devtrace calls --no-such t.db: it is not run, and nothing says why
1: devtrace gibberisch: 'gibberisch' is neither a command of devtrace's nor a program
1: devtrace gibberisch: it is not run, and nothing says why
3: devtrace ls | devtrace -Q ls: devtrace  has no option -Q
3: devtrace ls | devtrace -Q ls ...: commands that are not run, and nothing says why
7: x=\$(devtrace attach --backtrace='a b' -dFx -Z 1) # devtrace plot -Q: devtrace attach has no option -Z
11: cd x && devtrace hist --values 3: devtrace hist has no option --values" \
	"$(python3 test/docs/commands.py "$scratch/x.md" | sed -n "s|^# $scratch/x.md:||p")"

# what is printed around `...' is compared: of these only the good ones are as they are printed
cat >"$scratch/y.md" <<'M'
```console
$ printf '%s\n' a b one c one d # good
a
...
one
d
$ printf '%s\n' a b c # good
a
...
$ printf '%s\n' 'took 5 ms' 'x' 'y=0x12345' # good
took 7 us
x
y=...
$ printf '%s\n' a b one c # another line behind it
a
...
one
d
$ printf '%s\n' a b one c # another line in front of it
b
...
one
c
$ printf '%s\n' a one # good: the line may be the first one
...
a
...
$ printf '%s\n' a one c one d # one that is not right behind it
a
...
one
one
$ printf '%s\n' a b c d # lines below it
a
...
c
$ printf 'open(path=x) = -1\n' # the beginning of a line
open(file=...
```
M
is "what is not printed around '...' is found" "$(printf '%s\n' {1..9} | sed 's/^[1236]$/ok &/; t; s/^/not ok /')" \
	"$(python3 test/docs/console.py "$scratch/y.md" | sed -n 's/^\(\(not \)\?ok [0-9]*\) .*/\1/p')"
echo "1..$tests"
