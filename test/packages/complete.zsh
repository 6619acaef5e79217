# SPDX-License-Identifier: MIT
# usage: zsh -f complete.zsh FOLDER LINE [BEHIND]    what zsh offers where LINE ends: a zsh at a terminal of its own is asked
zmodload zsh/zpty || exit 1
zpty shell zsh -f -i
send() { zpty -w shell "$1"; }
# everything that would be offered is printed between two marks
send "PS1= PS2= RPS1=; unsetopt zle_bracketed_paste; stty -echo; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
send 'zstyle ":completion:*" use-cache no; LISTMAX=0
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
	local -a __hits
	builtin compadd -O __hits "$@"
	(( ${#__hits} )) && print -rl -- "<"$^__hits">"
	builtin compadd "$@"
}
ask() { print; compstate[insert]= ; _main_complete; compstate[insert]= compstate[list]= ; print "<<END>>"; }
zle -C ask complete-word ask
bindkey "^X" ask
print READY'
local line
while zpty -r shell line "*"$'\n'; do [[ $line == *READY* ]] && break; done
zpty -w -n shell "$2${3-}"
[[ -z ${3-} ]] || repeat ${#3}; do zpty -w -n shell $'\x02'; done
zpty -w -n shell $'\x18'
while zpty -r shell line "*"$'\n'; do
	line=${line%%[$'\r\n']*}
	[[ $line == *"<<END>>"* ]] && break
	[[ $line == *"<"*">" ]] && print -r -- "${${line#*<}%>}"
done
zpty -d shell
