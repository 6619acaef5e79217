# SPDX-License-Identifier: MIT
# Sourced by tests that need packages of another release of Debian than this machine's.

# unpacked FOLDER RELEASE PACKAGE...: has the packages unpacked in FOLDER/root, by an apt with lists of its own, which nobody
# else sees; of the processor ARCHITECTURE, if that is set (Debian's name); once, however many ask at the same time. False:
# they are not to be had, FOLDER/log says why. =PACKAGE stands for the first package that PACKAGE depends on: the newest kernel.
# ONLY: a pattern of the files that are unpacked; all if it is not set.
unpacked() {
	local folder=$1 release=$2
	shift 2
	[ ! -e "$folder/done" ] || return 0
	mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/root"
	(
		flock 9
		[ ! -e "$folder/done" ] || exit 0
		apt=(-q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
			-o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o Dir::State::status=/dev/null
			-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3)
		[ -z "${ARCHITECTURE-}" ] || apt+=(-o APT::Architecture="$ARCHITECTURE" -o APT::Architectures="$ARCHITECTURE")
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main" \
			>"$folder/sources.list"
		cd "$folder" && rm -f ./*.deb && apt-get "${apt[@]}" update || exit 1
		local package packages=()
		for package; do
			[[ $package != =* ]] || package=$(apt-cache "${apt[@]/#-q/-qq}" depends --no-recommends "${package#=}" | awk '$1 == "Depends:" {print $2; exit}')
			packages+=("$package")
		done
		apt-get "${apt[@]}" download "${packages[@]}" || exit 1
		for deb in ./*.deb; do
			if [ -n "${ONLY-}" ]; then
				dpkg --fsys-tarfile "$deb" | tar x -C root --wildcards "$ONLY" || exit 1
			else
				dpkg -x "$deb" root || exit 1
			fi
		done
		rm -rf ./*.deb lists cache
		touch done
	) >"$folder/log" 2>&1 9>"$folder/lock"
}
