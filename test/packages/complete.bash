# SPDX-License-Identifier: MIT
# usage: complete.bash SCRIPT LINE [BEHIND]    what the completion of bash offers where LINE ends, with BEHIND to the right of the
# cursor: the words taken apart and put together as bash does it at the prompt
# shellcheck source=/dev/null
. "$1" || exit 1
COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
COMP_LINE=$2${3-} COMP_POINT=${#2} COMP_WORDS=() COMP_CWORD=0
left=$2
while [[ $left =~ [^[:space:]] ]]; do
	left=${left#"${left%%[![:space:]]*}"}
	[[ $left =~ ^[=:]+ || $left =~ ^[^[:space:]=:]+ ]]
	COMP_WORDS+=("${BASH_REMATCH[0]}")
	left=${left#"${BASH_REMATCH[0]}"}
done
[[ $2 != *[[:space:]] ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
# shellcheck disable=SC2206 # words
COMP_WORDS+=(${3-})
_devtrace "${COMP_WORDS[0]}"
# readline puts them in the place of what follows the last = or :
last=${2##*[[:space:]]}
kept=
[[ ${COMP_WORDS[COMP_CWORD]} == *[!=:]* || $last != *[:=]* ]] || kept=$last
[[ -n $kept || $last != *[:=]* ]] || kept=${last%"${last##*[:=]}"}
[[ ${#COMPREPLY[@]} = 0 ]] || printf "%s\n" "${COMPREPLY[@]/#/$kept}"
