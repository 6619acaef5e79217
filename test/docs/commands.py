#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Whether the commands that documents print exist, and are run by a test.

usage: commands.py [--options] DOCUMENT...     TAP: a line for each document, and what is wrong with it
       --options: of these it is only asked whether their commands have these options

Each command of devtrace's, wherever it is printed, must have the options that it is given, by what its --help says; and
must be one that is run by console.py, in any of the documents, or stand in what is marked as not run, with the reason
(document.py). A command is not run if it says for what its words stand (PROG, FILE, `...'), or is only a name.
"""
import os
import re
import shutil
import subprocess
import sys

import document

DEVTRACE = os.path.join(os.environ.get("DEVTRACE_ROOT", "."), "build/devtrace")
OPTION = re.compile(r"(?<![\w-])(-\w|--[a-z][\w-]*)(\[?[= ]?\[?[A-Z'][\w|/.']*)?")


class Options:
    """What a command's --help says about its options."""

    def __init__(self, help_text):
        self.known, self.valued = set(), set()
        for line in help_text.splitlines():
            if not re.match(r"\s+-", line):
                continue
            head = re.split(r"\s{2,}", line.strip())[0]
            found = list(OPTION.finditer(head))
            for m in found:
                self.known.add(m[1])
            values = [m[2] for m in found if m[2]]
            if values and not values[0].startswith("["):
                self.valued.update(m[1] for m in found)

    def wrong(self, words, ends_at_program):
        """What of the words is no option of the command's; and the words that are no options."""
        bad, others, i = [], [], 0
        while i < len(words):
            word = words[i]
            i += 1
            if word == "--":
                return bad, others + words[i:]
            if not re.match(r"-\w|--\w", word) or re.match(r"-\d", word):
                others.append(word)
                if ends_at_program:
                    others += words[i:]
                    break
                continue
            if word.startswith("--"):
                name, equals, _ = word.partition("=")
                i += name in self.valued and not equals
            else:
                name = word[:2]
                while name not in self.valued and len(word) > 2 and "-" + word[2] in self.known and word[:2] in self.known:
                    word = "-" + word[2:]
                    name = word[:2]
                i += name in self.valued and len(word) == 2
            if name not in self.known:
                bad.append(name)
        return bad, others


def options_of():
    text = subprocess.run([DEVTRACE, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z]+) +\S", text, re.M)
    options = {}
    for name in names:
        said = subprocess.run([DEVTRACE, name, "--help"], capture_output=True, text=True, check=True).stdout
        options[name] = Options(said)
    # without a program it says what its options are
    options[""] = Options(subprocess.run([DEVTRACE, "-v"], capture_output=True, text=True, check=False).stderr)
    options[""].known |= {"--help", "--version"}
    return options


OPTIONS = options_of()


def wrong_with(words):
    """What is wrong with a command, given as its words behind `devtrace'; None: nothing."""
    words = [w for w in (w.strip("[]…").rstrip(",") if w[:1] in "[…" or w[-1:] in "]…" else w for w in words) if w]
    if not words:
        return None
    name = words[0] if words[0] in OPTIONS else ""
    bad, others = OPTIONS[name].wrong(words[1:] if name else words, name in ("", "record"))
    if bad:
        return f"devtrace {name} has no option {', '.join(bad)}"
    if not name and others and re.fullmatch(r"[a-z][\w-]*", others[0]) and not shutil.which(others[0]):
        return f"'{others[0]}' is neither a command of devtrace's nor a program"
    return None


def normal(command):
    return re.sub(r"\s+", " ", re.sub(r"\s#\s.*", "", command)).strip()


def is_form(span):
    """Whether a command in a text only says how commands look: of which nothing could be run."""
    words = document.words_of(span[len("devtrace"):])
    if re.search(r"\b(WORDS|FILE|NAME)\b", span) or (len(words) == 2 and words[0] == "ctl" and words[1].isalpha()):
        return True
    if len(words) == 1:
        return words[0] in OPTIONS or words[0].startswith("-") or words[0] == "PROG"
    return bool(re.search(r"(?<![\w'\"%])[A-Z]{3,}(?![\w'\"])|\.\.\.|…|[\[\]]|(?<=[ :])[A-Z](?= |$)", span)) or (
        words[0] in OPTIONS and all(re.match(r"--?\w", w) for w in words[1:]))


def run_in(paths):
    """All commands that console.py runs."""
    run = set()
    for path in paths:
        for piece in document.pieces(path):
            if piece.reason:
                continue
            if piece.kind == document.CONSOLE:
                run.update(normal(c) for _, c, _ in document.shown(piece))
            elif piece.kind == document.LIST:
                run.update(normal(c) for _, c in document.listed(piece))
            elif piece.kind == document.SCRIPT:
                run.update(normal(line) for line in piece.lines)
    return run


def faults(path, run, only_options):
    for piece in document.pieces(path):
        if piece.kind == document.TEXT:
            for number, span in document.spans(piece):
                for words in document.commands_in(span):
                    if why := wrong_with(words):
                        yield number, f"{span}: {why}"
                if not only_options and not piece.reason and not is_form(span) and not is_run(span, run):
                    yield number, f"{span}: it is not run, and nothing says why"
            continue
        ours = False
        for number, line in enumerate(piece.lines, piece.number):
            ours |= bool(document.OTHERS.match(line))
            for words in document.commands_in(line):
                ours = True
                if why := wrong_with(words):
                    yield number, f"{line.strip()}: {why}"
        if ours and piece.kind == document.OTHER and not piece.reason and not only_options:
            yield piece.number, f"{piece.lines[0]} ...: commands that are not run, and nothing says why"


def is_run(span, run):
    return any(span == c or re.search(r"(^|[\s;|&(])" + re.escape(span) + r"($|[\s;|&)])", c) for c in run)


def main():
    only_options = sys.argv[1:2] == ["--options"]
    paths = sys.argv[2:] if only_options else sys.argv[1:]
    run, failed = run_in(paths), 0
    for n, path in enumerate(paths, 1):
        found = list(faults(path, run, only_options))
        failed += bool(found)
        what = "the options of the commands in" if only_options else "the commands that are printed in"
        print(f"{'not ok' if found else 'ok'} {n} - {what} {path}: they exist" + ("" if only_options else ", and are run"))
        for number, text in found:
            print(f"# {path}:{number}: {text}")
    print(f"1..{len(paths)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
