#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Commands of a distribution, as it builds them, each alone and with all functions of all that it executes and loads recorded: what
# they print and their status are the same, and `devtrace check' finds the trace sound. In a folder that is / of the distribution,
# with the static program in it as /bin/devtrace. As root.
# usage: stock.sh ROOT    Prints "ok" or "not ok" for each command; the status is 0 if all are ok.
set -uo pipefail
[ "$(id -u)" = 0 ] || { echo "stock.sh: only root can make a chroot" >&2; exit 2; }
[ -n "${DEVTRACE_UNSHARED-}" ] || DEVTRACE_UNSHARED=1 exec unshare -m "$0" "$@"
r=$(realpath "${1:?usage: stock.sh ROOT}") || exit 2
work=$(mktemp -d) || exit 1
trap 'umount "$r/proc" 2>/dev/null; umount -R "$r/dev" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
mountpoint -q "$r/proc" || mount -t proc proc "$r/proc" || exit 1
mount --rbind /dev "$r/dev" && mount --make-rslave "$r/dev" || exit 1
in_root() { chroot "$r" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp timeout 100 "$@" </dev/null; }
failed=0
while IFS= read -r command; do
	printf '%s\n' "$command" >"$r/tmp/command"
	rm -f "$r"/tmp/t.db*
	in_root sh /tmp/command >"$work/alone" 2>"$work/errors"
	alone=$?
	in_root devtrace record -f -F '*' -F 'lib*:*' -o /tmp/t.db sh /tmp/command >"$work/traced" 2>"$work/said"
	traced=$?
	{
		[ $alone = $traced ] || echo "status $alone, traced $traced"
		cmp "$work/alone" "$work/traced"
		grep -v '^devtrace: ' "$work/said" | diff "$work/errors" -
		in_root devtrace check /tmp/t.db | grep -v '^ ' | grep -v ': sound: '
	} >"$work/why" 2>&1
	if [ ! -s "$work/why" ]; then
		echo "ok - $command"
	else
		echo "not ok - $command"
		sed 's/^/# /' "$work/why" | tail -n 10
		failed=1
	fi
done <<'COMMANDS'
ls -laR /usr/share/perl5
find /usr -name '*.so*' -printf '%p %s\n'
sha256sum /bin/bash /usr/bin/perl
md5sum /bin/*
b2sum /usr/bin/perl
cksum -a sm3 /bin/bash
tar cf - /usr/share/perl5 | sha1sum
gzip -9c /usr/bin/perl | md5sum
xz -1c /bin/bash | md5sum
bzip2 -c /bin/bash | md5sum
sort -R --random-source=/bin/bash /etc/passwd
sort -k3 -n -t: /etc/passwd
awk -F: '{s+=$3; printf "%s %.3f\n", $1, $3/7} END {print s}' /etc/passwd
sed -n 's/\(.*\):x:/\U\1/p' /etc/passwd
grep -rE '[a-z]{3}(ing|ed)' /usr/share/perl5
perl -e 'my %h; for (1..30000) { $h{$_ % 997} .= chr(65+$_%26); } print join(",", map {"$_=".length $h{$_}} sort {$a<=>$b} keys %h), "\n"; printf "%.15g\n", sin(1)+exp(2)**0.5'
perl -MPOSIX -e 'print strftime("%Y", gmtime(0)), " ", floor(3.7), "\n"; eval { die {a=>1} }; print ref $@, "\n"; print "a1b22c333" =~ s/(\d+)/<$1>/gr, "\n"; my @p = map { my $p=fork; $p or exit $_; waitpid($p,0); $?>>8 } 1..5; print "@p\n"; local $SIG{ALRM}=sub{print "alarm\n"}; alarm 1; select undef,undef,undef,1.5;'
bash -c 'declare -A a; for i in {1..2000}; do a[$((i%37))]+=x; done; for k in "${!a[@]}"; do echo $k ${#a[$k]}; done | sort; echo $(( 3**20 )); printf "%q\n" "a b"; trap "echo usr1" USR1; kill -USR1 $$; wait; (exit 3); echo $?'
bash -c 'f() { local n=$1; [ $n -le 1 ] && echo 1 || echo $(( n * $(f $((n-1))) )); }; f 8; diff <(seq 10) <(seq 2 11); coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x'
dpkg -l
dpkg --compare-versions 1.2~rc1 lt 1.2
date -u -d @0 +%c
factor 18446744073709551557 600851475143
seq -f %.10g 0 0.1 10
numfmt --to=iec 123456789 1024
od -A d -t x8 /bin/true
base64 /bin/true
tr a-z A-Z </etc/passwd
dd if=/bin/bash bs=777 count=300 status=none | cksum
stat -c '%a %s %F' /bin/bash
du -s --apparent-size /usr/share
cp -a /usr/share/perl5 /tmp/cp; ls -R /tmp/cp | wc -l; rm -rf /tmp/cp
join /etc/passwd /etc/passwd
comm /etc/passwd /etc/group
env -i a=b env
timeout 1 sleep 5; echo $?
nice -n 5 nice
getent passwd root
iconv -f utf-8 -t utf-16le /etc/passwd
COMMANDS
exit $failed
