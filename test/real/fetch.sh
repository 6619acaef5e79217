#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Gets a Debian source package and prints the folder it is unpacked in.
#
# usage: test/real/fetch.sh PACKAGE      (a source package: lua5.4, libzstd, sqlite3, redis)
#
# The archive is whatever this machine installs its packages from: the deb entries of /etc/apt are
# read as deb-src entries by an apt with lists of its own, so that neither /etc/apt nor the system's
# package lists are touched and no root is needed. The cache is kept between runs:
#   ${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/devtrace}/apt        private apt state
#   .../src/PACKAGE       unpacked, with Debian's patches applied; complete if .../src/PACKAGE.done
set -euo pipefail

die() {
	echo "fetch.sh: $*" >&2
	exit 1
}

[ $# = 1 ] || { echo "usage: test/real/fetch.sh PACKAGE" >&2; exit 2; }
package=$1
cache=${DEVTRACE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/devtrace}
tree=$cache/src/$package

[ -e "$tree.done" ] && { echo "$tree"; exit 0; }
command -v dpkg-source >/dev/null || die "needs dpkg-source: apt-get install dpkg-dev"

# one fetch at a time; whoever waited may find the work done
mkdir -p "$cache/src" "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial"
exec 9>"$cache/fetch.lock"
flock 9
[ -e "$tree.done" ] && { echo "$tree"; exit 0; }

# apt's own settings (a proxy, say) without what they run after an update, which may need root
apt-config dump | grep -v -e '-Invoke' >"$cache/apt/apt.conf"
apt=(-q -o Dir::Etc::parts=/dev/null -o Dir::Etc::main=/dev/null
	-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$cache/apt/sources"
	-o Dir::State::Lists="$cache/apt/lists" -o Dir::Cache="$cache/apt/cache"
	-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3)
export APT_CONFIG=$cache/apt/apt.conf

# every deb entry as a deb-src entry
rm -rf "$cache/apt/sources" && mkdir -p "$cache/apt/sources"
for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ -r "$f" ] || continue
	sed -nE 's/^[[:space:]]*deb(-src)?([[:space:]])/deb-src\2/p' "$f" |
		sort -u >"$cache/apt/sources/$(basename "$f" .list).list"
done
for f in /etc/apt/sources.list.d/*.sources; do
	[ -r "$f" ] || continue
	sed -E 's/^Types:.*/Types: deb-src/I' "$f" >"$cache/apt/sources/$(basename "$f")"
done

download() { # [=VERSION]
	local work
	work=$(mktemp -d -p "$cache/src" "$package.XXXXXX")
	if (cd "$work" && apt-get "${apt[@]}" --only-source --download-only source "$package${1-}") \
		>"$cache/apt/log" 2>&1 && set -- "$work"/*.dsc && [ -e "$1" ] &&
		dpkg-source -q --no-check -x "$1" "$work/tree" >>"$cache/apt/log" 2>&1; then
		rm -rf "$tree"
		mv "$work/tree" "$tree"
		basename "$1" .dsc >"$tree.done" # name_version
		rm -rf "$work"
		return 0
	fi
	rm -rf "$work"
	return 1
}

# the lists may be absent or name a version that is gone: refresh them when the first try fails;
# an entry of someone else's without sources is not our matter, the download says whether it worked
if ! download; then
	apt-get "${apt[@]}" update >"$cache/apt/log" 2>&1 || true
	download || {
		# the newest may have been taken away while the lists still name it: those before it
		found=1
		for version in $(apt-cache "${apt[@]:1}" showsrc --only-source "$package" 2>/dev/null | sed -n 's/^Version: //p' | sort -rV); do
			download "=$version" && { found=0; break; }
		done
		[ "$found" = 0 ] || { cat "$cache/apt/log" >&2; die "cannot get the source of $package"; }
	}
fi
echo "$tree"
