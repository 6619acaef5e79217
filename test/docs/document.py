# SPDX-License-Identifier: MIT
"""
The commands that documents print: Markdown, and manual pages. Used by console.py and commands.py.

What a document says about them, in remarks that no reader sees (<!-- ... --> in Markdown; lines that begin with
.\\" in a manual page):
  <!-- run
  SCRIPT
  -->                       is run, in the document's shell, and has to end with status 0: what commands that are
                            printed further down need, and commands that stand in the text of a paragraph or table
  <!-- not run: REASON -->  the commands of the block, paragraph or table behind it can not be run in a test
  <!-- may end with N ... -->  commands of the list behind it may end with these statuses, too
In a manual page: .\\" run: LINE (several lines make one script), .\\" not run: REASON, .\\" may end with N.

Blocks of a Markdown document:
  ```console   commands behind `$ ', and what they print (console.py)
  ```sh        a list of commands: each is run, and has to end with 0
  others       if there are commands in them, they are not run, and that has to be said
In a manual page the lines between .nf and .fi are a list of commands, if one of them is a command.
"""
import re
import shlex

# what shows that a line is a command, though not of devtrace's
OTHERS = re.compile(r"([a-z]*[$#] )?(\w+=\S* )*(make|gcc|g\+\+|clang|cmake|meson|\./configure|ssh|sqlite3|apt|insmod|redis-cli|readelf|git|pip|"
                    r"echo|cat|examples/\S+) (?![=|+])")

CONSOLE, LIST, OTHER, TEXT, SCRIPT = "console", "list", "other", "text", "script"


class Piece:
    """Some lines of a document. reason: why its commands are not run; may: statuses besides 0."""

    def __init__(self, kind, number, lines, reason=None, may=()):
        self.kind, self.number, self.lines, self.reason, self.may = kind, number, lines, reason, may


class Marks:
    """What remarks have said of the piece that comes next."""

    def __init__(self):
        self.reason, self.may = None, ()

    def remark(self, text):
        """Takes a remark of one line; returns whether it is a mark."""
        if m := re.fullmatch(r"not run: (.+)", text):
            self.reason = m[1]
        elif m := re.fullmatch(r"may end with ([\d ,]+)", text):
            self.may = tuple(int(n) for n in re.findall(r"\d+", m[1]))
        else:
            return False
        return True

    def take(self):
        marks = self.reason, self.may
        self.__init__()
        return marks


def markdown(lines):
    marks, i, n = Marks(), 0, len(lines)
    while i < n:
        line, begin = lines[i], i
        if m := re.fullmatch(r"```(\w*)", line):
            i = lines.index("```", i + 1)
            kind = {"console": CONSOLE, "sh": LIST}.get(m[1], OTHER)
            yield Piece(kind, begin + 2, lines[begin + 1:i], *marks.take())
            i += 1
        elif line == "<!-- run":
            i = lines.index("-->", i + 1)
            yield Piece(SCRIPT, begin + 2, lines[begin + 1:i])
            i += 1
        elif (m := re.fullmatch(r"<!-- (.*) -->", line)) and marks.remark(m[1]):
            i += 1
        elif line.startswith(("    ", "\t")) and (not i or not lines[i - 1].strip()):
            while i < n and (lines[i].startswith(("    ", "\t")) or not lines[i].strip()):
                i += 1
            yield Piece(OTHER, begin + 1, [x[4:] if x.startswith("    ") else x for x in lines[begin:i]], *marks.take())
        elif not line.strip():
            i += 1
        else:
            while i < n and lines[i].strip() and not lines[i].startswith(("```", "<!-- run")):
                i += 1
            yield Piece(TEXT, begin + 1, lines[begin:i], *marks.take())


def plain_roff(line):
    """A line of a manual page without its escapes."""
    for escape, text in (("\\-", "-"), ("\\(aq", "'"), ("\\(dq", '"'), ("\\(ha", "^"), ("\\(ti", "~"), ("\\&", ""), ("\\e", "\\")):
        line = line.replace(escape, text)
    return re.sub(r"\\f[A-Z]", "", line)


def manual(lines):
    marks, script, block, begin = Marks(), [], None, 0
    for number, line in enumerate(lines, 1):
        if m := re.fullmatch(r'\.\\" run: ?(.*)', line):
            begin = begin if script else number
            script.append(m[1])
            continue
        if script:
            yield Piece(SCRIPT, begin, script)
            script = []
        if (m := re.fullmatch(r'\.\\" (.*)', line)) and marks.remark(m[1]):
            continue
        if line == ".nf":
            block, begin = [], number + 1
        elif line == ".fi" and block is not None:
            ours = any(commands_in(x) or OTHERS.match(x) for x in block)
            yield Piece(LIST if ours else OTHER, begin, block, *marks.take())
            block = None
        elif block is not None:
            block.append(plain_roff(line) if line[:1] != "." else "")
        elif m := re.fullmatch(r"\.B (\"?)(devtrace .*)\1", line):
            yield Piece(TEXT, number, ["`" + plain_roff(m[2]) + "`"], *marks.take())


def pieces(path):
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    return list((markdown if path.endswith(".md") else manual)(lines))


def listed(piece):
    """Yields (line number, command) of a list of commands: remarks at the end are the shell's, too; a line that ends
    with a backslash, or one that is indented behind another one, goes on with it."""
    command, where = None, 0
    for number, line in enumerate(piece.lines, piece.number):
        if command is not None and (command.endswith("\\") or (line.startswith((" ", "\t")) and line.strip())):
            command += "\n" + line
            continue
        if command is not None:
            yield where, command
        command, where = (line, number) if line.strip() and not line.startswith("#") else (None, 0)
    if command is not None:
        yield where, command


def shown(piece):
    """Yields (line number, command, lines that are to be printed) of a console block."""
    command, where, out = None, 0, []
    for number, line in enumerate(piece.lines, piece.number):
        if (line + " ").startswith("> ") and command is not None and not out:
            command += "\n" + line[2:]
        elif line.startswith("$ "):
            if command is not None:
                yield where, command, out
            command, where, out = line[2:], number, []
        else:
            out.append(line)
    if command is not None:
        yield where, command, out


def commands_in(line):
    """The commands of devtrace's in a line for the shell, each as its words behind `devtrace'."""
    found = []
    for m in re.finditer(r"(?:^|[;|&(`]\s*|\$ |\b(?:ssh|do|then|time|timeout|xargs)\b[^;|&]* )devtrace(?=[ ]+[^\s:=|&;])", line):
        before, rest = line[:m.end()], line[m.end():]
        if before.count("'") % 2 or re.search(r"#[^'\"]*$", before):
            continue
        found.append(words_of(rest))
    return found


def words_of(rest):
    """The words up to the end of the command."""
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=";|&()<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words, depth = [], 0
    try:
        for word in lexer:
            if word == "#" or (word.startswith("#") and words):
                break
            if set(word) <= set("()"):
                depth += word.count("(") - word.count(")")
                if depth < 0:
                    break
            elif depth:
                continue
            elif word[0] in ";|&":
                break
            elif word[0] in "<>":
                next(lexer, None)
            else:
                words.append(word)
    except ValueError:  # a quote without its end: words of a text
        return rest.split()
    return words


def spans(piece):
    """Yields (line number, text) of what stands between backquotes in a text and is a command of devtrace's."""
    text = "\n".join(piece.lines)
    for m in re.finditer(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", text, re.S):
        if m[2].startswith("devtrace "):
            yield piece.number + text[:m.start()].count("\n"), re.sub(r"\s+", " ", m[2].replace("\\|", "|")).strip()
