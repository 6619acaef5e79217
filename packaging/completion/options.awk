# Reads the help of a command; prints a line for each option: name, argument, values, description, with tabs between.
# It becomes a part of the completions for bash, zsh and fish (packaging/packaging.mk), between single quotes: it has none.
function word(w) { return w ~ /^[a-z0-9]+$/ }
function values(text,    clause, piece, n, m, i, j, w, at, list) {
	gsub(/[(][^)]*[)]/, "", text)
	sub(/[.] .*/, "", text)
	n = split(text, clause, /;/)
	for (i = 1; i <= n; i++) {
		m = split(clause[i], piece, /,| or /)
		for (j = 1; j <= m; j++) {
			w = piece[j]
			if (at = index(w, ":")) {
				sub(/:.*/, "", w)
				gsub(/^ *(by )?| *$/, "", w)
				if (word(w)) j = m
				else w = substr(piece[j], at + 1)
			}
			gsub(/^ *(by )?| *$/, "", w)
			if (word(w) && index("," list ",", "," w ",") == 0) list = list (list == "" ? "" : ",") w
		}
	}
	return list
}
function tell(    part, n, i, name, argument, takes) {
	n = split(option, part, /, /)
	for (i = n; i > 0; i--)
		if (part[i] ~ /^-/ && match(part[i], /^-[-a-zA-Z0-9]+/)) {
			name[i] = substr(part[i], 1, RLENGTH)
			if (RLENGTH < length(part[i])) argument = substr(part[i], RLENGTH + 1)
			sub(/^[ =]/, "", argument)
			takes[i] = argument
		}
	for (i = 1; i <= n; i++)
		if (i in name)
			print name[i] "\t" takes[i] "\t" (takes[i] ~ /^(COLUMN|KEY|KIND|LIST|ORDER|POLICY|UNIT|WHEN)$/ ? values(text) : "") "\t" first
	option = ""
}
match($0, /[^ ]/) && RSTART <= 8 || !NF {
	at = RSTART
	if (option != "") tell()
	if ($1 ~ /^-/ && at > 2) {
		sub(/^ +/, "")
		option = $0; text = first = ""
		if (match($0, /  +/)) { option = substr($0, 1, RSTART - 1); text = first = substr($0, RSTART + RLENGTH) }
	}
	next
}
option != "" { sub(/^ +/, ""); if (first == "") first = $0; text = text " " $0 }
END { if (option != "") tell() }
