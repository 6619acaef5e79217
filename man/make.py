#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Makes manual pages of documents, so that what is installed explains itself: `make manual' writes them, and
test/docs/pages.t asks that they are as they would be made.

usage: make.py [--check]      writes man/*.5 and man/*.7; --check: prints the names of those that are not up to date
"""
import os
import re
import sys

# document: name, section, what it is
PAGES = {
    "language": ("devtrace-ctl", 5, "the language in which a session or the kernel's device is told what to trace"),
    "format": ("devtrace-trace", 5, "the trace file, and the other formats of devtrace"),
    "sql": ("devtrace-sql", 5, "the tables of a trace for questions in SQL"),
    "json": ("devtrace-json", 5, "the fields of what --json prints"),
    "installing": ("devtrace-installing", 7, "installing devtrace, packages, completion, a session that stays"),
    "timeline": ("devtrace-timeline", 7, "the time line of a trace in a browser"),
    "analysis": ("devtrace-analysis", 7, "reading a trace: who calls whom, what became slower, what waited"),
    "remote": ("devtrace-remote", 7, "tracing a program on another host"),
    "machines": ("devtrace-machines", 7, "the traces of several machines as one, with bounds of the error"),
    "events": ("devtrace-own-events", 7, "events that a program records of its own"),
    "kernel": ("devtrace-kernel", 7, "tracing the kernel"),
    "start": ("devtrace-start", 7, "ten minutes with devtrace"),
    "python": ("devtrace-python", 7, "traces in Python"),
    "answers": ("devtrace-answers", 7, "which command answers which question"),
    "building": ("devtrace-building", 7, "building a program with sleds, and devtrace itself"),
    "sleds": ("devtrace-sleds", 7, "what devtrace-as adds to a program"),
    "probes": ("devtrace-probes", 7, "how functions are traced without a rebuild"),
    "protocol": ("devtrace-protocol", 5, "what is said at a session's socket"),
    "security": ("devtrace-security", 7, "who may do what, and what is trusted"),
    "versions": ("devtrace-versions", 7, "what stays as it is from version to version"),
    "glossary": ("devtrace-glossary", 7, "the words that devtrace's commands and pages use"),
}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    return text


def guard(line):
    return "\\&" + line if line[:1] in ".'" else line


class Maker:
    def __init__(self, name):
        self.document, self.seen = name, set()
        self.page, self.section, self.what = PAGES[name]
        self.out = []

    def link(self, text, target):
        path, _, _ = target.partition("#")
        name = os.path.basename(path)[:-3] if path.endswith(".md") else None
        if not path or re.match(r"[a-z]+:", path):
            return text if not path or path == text else f"{text} ({target})"
        if m := re.fullmatch(r"\.\./man/([\w-]+)\.(\d)", path):
            self.seen.add((m[1], m[2]))
            return f"{text} ({m[1]}({m[2]}))" if text != m[1] else f"{m[1]}({m[2]})"
        if name in PAGES and os.path.dirname(path) == "":
            page, section, _ = PAGES[name]
            if name != self.document:
                self.seen.add((page, str(section)))
            return f"{page}({section})" if text in (path, name) else f"{text} ({page}({section}))"
        return f"{text}" if text in (path, os.path.basename(path)) else f"{text} ({os.path.normpath(os.path.join('doc', path))})"

    def named(self, m):
        """A document that is named in a text, without a link."""
        name = m[1]
        if os.path.exists(f"{ROOT}/doc/dev/{name}.md"):
            return f"doc/dev/{name}.md"
        return self.link(f"{name}.md", f"{name}.md") if name in PAGES else m[0]

    def inline(self, text):
        """A line of text with fonts; code is bold, as commands are in manual pages."""
        out, at = [], 0
        text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", lambda m: f"(Picture: {m[1]}.)", text)
        text = re.sub(r"(?<!`)\[([^\]`]*|`[^`]*`)\]\(([^)\s]+)\)", lambda m: self.link(m[1], m[2]), text)
        text = re.sub(r"(?<![\w/])(?:doc/)?(?:dev/)?([a-z]+)\.md\b", self.named, text)
        for m in re.finditer(r"(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*|(?<![\w*])\*(?! )([^*]+?)\*(?!\w)", text):
            out.append(self.roman(text[at:m.start()]))
            if m[2]:
                out.append("\\fB" + escape(m[2].strip() if m[1] != "`" else m[2]) + "\\fR")
            elif m[3]:
                out.append("\\fB" + escape(m[3].replace("`", "")) + "\\fR")
            else:
                out.append("\\fI" + escape(m[4].replace("`", "")) + "\\fR")
            at = m.end()
        out.append(self.roman(text[at:]))
        return "".join(out)

    def roman(self, text):
        return escape(text)

    def text(self, lines):
        for line in lines:
            if line.strip():
                self.out.append(guard(self.inline(line.strip())))

    def code(self, lines):
        self.out += [".PP", ".RS 4", ".nf"] + [guard(escape(x)) for x in lines] + [".fi", ".RE"]

    def table(self, lines):
        rows = [[c.strip().replace("\0", "|") for c in re.split(r"\|", re.sub(r"\\\|", "\0", line.strip().strip("|")))] for line in lines]
        # a bar within code is no column
        rows = [self.joined(r, len(rows[0])) for r in rows]
        head, rows = rows[0], rows[2:]
        for row in rows:
            if row[0]:
                self.out += [".TP", guard(self.inline(row[0]))]
            else:
                self.out += [".IP"]
            first = True
            for name, cell in zip(head[1:], row[1:]):
                if not cell:
                    continue
                if not first:
                    self.out.append(".br")
                first = False
                shown = f"{name}: {cell}" if name and len(head) > 2 else cell
                self.out.append(guard(self.inline(shown)))
            if first:
                self.out.append("\\&")

    @staticmethod
    def joined(row, n):
        while len(row) > n:
            for i, cell in enumerate(row):
                if cell.count("`") % 2:
                    row = row[:i] + [cell + "|" + row[i + 1]] + row[i + 2:]
                    break
            else:
                break
        return row

    def listed(self, lines):
        item = []
        for line in lines + ["- "]:
            if m := re.match(r"( *)([-*]|\d+\.) (.*)|( *)- $", line):
                if item:
                    self.out.append(".IP \\(bu 2")
                    self.text(item)
                item = [m[3] or ""]
            else:
                item.append(line)

    def body(self, lines):
        i, n = 0, len(lines)
        while i < n:
            line, begin = lines[i], i
            if line.startswith("```"):
                i = lines.index("```", i + 1)
                self.code(lines[begin + 1:i])
                i += 1
            elif line.startswith("<!--"):
                while "-->" not in lines[i]:
                    i += 1
                i += 1
            elif m := re.match(r"(#+) (.*)", line):
                if len(m[1]) > 1:
                    title = re.sub(r"[`*]", "", m[2])
                    self.out.append((".SH " if len(m[1]) == 2 else ".SS ") + escape(title.upper() if len(m[1]) == 2 else title))
                i += 1
            elif not line.strip():
                i += 1
            elif line.startswith("    ") and (not i or not lines[i - 1].strip()):
                while i < n and (lines[i].startswith("    ") or not lines[i].strip()):
                    i += 1
                block = [x[4:] for x in lines[begin:i]]
                while not block[-1]:
                    block.pop()
                self.code(block)
            elif line.lstrip().startswith("|"):
                while i < n and lines[i].lstrip().startswith("|"):
                    i += 1
                self.table(lines[begin:i])
            else:
                is_list = re.match(r" *([-*]|\d+\.) ", line)
                while i < n and lines[i].strip() and not lines[i].startswith(("```", "<!--", "#")) and (
                        not lines[i].lstrip().startswith("|")) and (i == begin or is_list or not re.match(r"([-*]|\d+\.) ", lines[i])):
                    i += 1
                if is_list:
                    self.listed(lines[begin:i])
                else:
                    self.out.append(".PP")
                    self.text(lines[begin:i])

    def make(self):
        with open(f"{ROOT}/doc/{self.document}.md", encoding="utf-8") as f:
            lines = f.read().split("\n")
        self.body(lines)
        kind = {5: "File Formats", 7: "Miscellaneous"}[self.section]
        head = ['.\\" SPDX-License-Identifier: MIT', f'.\\" Made from doc/{self.document}.md by man/make.py: change that.',
                f'.TH {self.page.upper()} {self.section} "" devtrace "{kind}"', ".SH NAME",
                f"{escape(self.page)} \\- {escape(self.what)}", ".SH DESCRIPTION"]
        also = sorted({("devtrace", "1")} | self.seen)
        tail = [".SH SEE ALSO"] + [f".BR {escape(p)} ({s}){',' if (p, s) != also[-1] else ''}" for p, s in also]
        return "\n".join(head + self.out + tail) + "\n"


# what a terminal without UTF-8 shows in their place
INSTEAD = {"\u00b5": ("mc", "u"), "\u2026": ("u2026", "..."), "\u2500": ("u2500", "-"), "\u2514": ("u2514", "`"), "\u251c": ("u251C", "|")}


def with_fallbacks(text):
    """The page, with what stands for characters that its terminal may not have."""
    lines = [f".fchar \\[{name}] {plain}" for char, (name, plain) in INSTEAD.items() if char in text]
    return text.replace("\n.SH NAME\n", "\n" + "".join(line + "\n" for line in lines) + ".SH NAME\n", 1)


def main():
    for document, (page, section, _) in PAGES.items():
        path = f"{ROOT}/man/{page}.{section}"
        text = with_fallbacks(Maker(document).make())
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == text:
            continue
        if sys.argv[1:] == ["--check"]:
            print(os.path.relpath(path, ROOT))
        else:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)


main()
