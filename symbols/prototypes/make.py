#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Makes the tables of prototypes, symbols/prototypes/*.def, anew from the headers of this system; `make
prototypes' also installs what this needs.

Functions and their types are read from the headers by clang, and only those are kept that the
library exports. What headers do not say stands in eight files beside this one, written by hand:
names.txt (the names of parameters that manual pages use), failures.txt (which results are
failures), sets.txt (which constants a parameter can have; their values are the compiler's),
structures.txt (what a pointer leads to), reads.txt (which texts functions are sure to read), outputs.txt (what they fill in), streams.txt (which
of their arguments are as many as a format or an array says), and libraries.txt (each library's files and headers).
"""
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

import clang.cindex as cindex
from clang.cindex import CursorKind, TypeKind

from tables import HERE, write

INTEGERS = {TypeKind.SHORT: 'i2', TypeKind.INT: 'i4', TypeKind.LONG: 'i8', TypeKind.LONGLONG: 'i8',
            TypeKind.UCHAR: 'u1', TypeKind.USHORT: 'u2', TypeKind.UINT: 'u4', TypeKind.ULONG: 'u8',
            TypeKind.ULONGLONG: 'u8', TypeKind.SCHAR: 'i1', TypeKind.CHAR_S: 'c', TypeKind.BOOL: 'b',
            TypeKind.FLOAT: 'f4', TypeKind.DOUBLE: 'f8', TypeKind.LONGDOUBLE: 'f10',
            TypeKind.WCHAR: 'i4', TypeKind.CHAR32: 'u4', TypeKind.CHAR16: 'u2', TypeKind.VOID: 'v'}


class Unknown(Exception):
    """A type whose place in a call is not described here."""


def lines_of(name):
    """The lines of a file beside this one, without comments; a line that begins with a blank
    continues the one before."""
    out = []
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        for line in f:
            line = '' if line[0] == '#' else line.rstrip()
            if line[:1] in (' ', '\t') and out:
                out[-1] += ' ' + line.strip()
            elif line:
                out.append(line)
    return out


class Sets:
    """The sets of constants: by name, their description and the texts of their members."""

    def __init__(self, macros=()):
        self.described = {}
        self.macros = frozenset(macros)

    def enumeration(self, declared):
        """Describes an enumeration type; returns its name, '' if it has none or is too large."""
        name = declared.spelling or declared.type.spelling
        name = re.sub(r'\W', '_', name.replace('enum ', ''))
        if not name or '(' in declared.type.spelling:
            return ''
        members = [c for c in declared.get_children() if c.kind == CursorKind.ENUM_CONSTANT_DECL]
        members = [c for c in members if not re.search('LAST|_N?LIMITS$', c.spelling) or len(members) < 4]
        if not members or len(members) > 400:
            return ''
        named = {}
        for c in members:  # programs write RLIMIT_RSS, which is a macro, for __RLIMIT_RSS
            public = c.spelling.lstrip('_')
            named.setdefault(public if public in self.macros else c.spelling, c.enum_value)
        self.described[name] = f'e:{name};' + ','.join(f'{n}={v}' for n, v in named.items())
        return name


def letter_of(t, sets, result=False):
    """The type as a signature has it, without a place."""
    c = t.get_canonical()
    if c.kind in INTEGERS:
        return INTEGERS[c.kind]
    if c.kind == TypeKind.POINTER:
        p = c.get_pointee()
        if p.get_canonical().kind == TypeKind.CHAR_S and (result or p.is_const_qualified()):
            return 's'
        return 'p'
    if c.kind in (TypeKind.INCOMPLETEARRAY, TypeKind.CONSTANTARRAY, TypeKind.FUNCTIONPROTO):
        return 'p'
    if c.kind == TypeKind.ENUM:
        declared = c.get_declaration()
        name = sets.enumeration(declared)
        kind = INTEGERS.get(declared.enum_type.get_canonical().kind, 'i4')
        return f'{kind}#{name}' if name else kind
    if c.kind == TypeKind.RECORD and c.get_size() == 8 and c.get_declaration().kind == CursorKind.UNION_DECL:
        return 'p'  # one of several pointers (struct sockaddr)
    if c.kind == TypeKind.RECORD and c.get_size() in (4, 8) and not result:
        fields = [f.type.get_canonical().kind for f in c.get_fields()]
        if all(k in INTEGERS and not INTEGERS[k].startswith('f') for k in fields):
            return 'a'  # in one integer register
    raise Unknown(t.spelling)


def parsed(source):
    unit = cindex.Index.create().parse('all.c', args=['-D_GNU_SOURCE', '-std=gnu11'],
                                       unsaved_files=[('all.c', source)])
    for d in unit.diagnostics:
        if d.severity >= cindex.Diagnostic.Error:
            sys.exit(f'{d.location.file}:{d.location.line}: {d.spelling}')
    return unit


def read_structures(unit, sets):
    """structures.txt: returns {FUNCTION.PARAMETER: structure}, and describes the structures."""
    uses = {}
    for line in lines_of('structures.txt'):
        name, _, tail = line.partition(' : ')
        uses.update({use: name for use in tail.split()})
        if name.startswith('text_'):
            sets.described[name] = f'l:text;{name[5:].replace("x", "*").replace("of", "/")}'
            continue
        if name.startswith('option_'):
            sets.described[name] = 'y:option;'
            continue
        if name.startswith('address_'):
            sets.described[name] = 'n:sockaddr;'
            continue
        if name.startswith('sockaddr'):
            sets.described[name] = f'n:sockaddr;{name[9:]}'
            continue
        found = [c for c in unit.cursor.get_children() if c.kind == CursorKind.STRUCT_DECL and
                 c.spelling == name and c.is_definition()]
        members = []
        for f in found[0].type.get_fields():
            try:
                kind = letter_of(f.type, Sets())
            except Unknown:
                kind = 'a'
            if (name, f.spelling) == ('epoll_event', 'events'):
                kind += '#epoll_events'
            members.append(f'{f.spelling}:{"u8" if kind == "p" and name == "epoll_event" else kind}@'
                           f'{found[0].type.get_offset(f.spelling)}')
        sets.described[name] = f'a:{name};' + ','.join(members)
    return uses


def functions_of(unit, sets):
    """All functions that a source declares: {name: (result, [(type, name)], variadic)}."""
    found = {}
    for c in unit.cursor.get_children():
        if c.kind != CursorKind.FUNCTION_DECL or c.type.kind != TypeKind.FUNCTIONPROTO:
            continue
        try:
            result = letter_of(c.result_type, sets, True)
            named = [(letter_of(a.type, sets), a.spelling.lstrip('_')) for a in c.get_arguments()]
        except Unknown:
            continue
        kept = found.get(c.spelling)
        # of several declarations, one that names its parameters
        if not kept or not all(n for _, n in kept[1]):
            found[c.spelling] = (result, named, c.type.is_function_variadic())
    return found


def exported(files):
    out = set()
    for name in files:
        path = subprocess.run(['gcc', '-print-file-name=' + name], capture_output=True, text=True,
                              check=True).stdout.strip()
        if path == name:
            sys.exit(f'{name} is not there: make prototypes installs it')
        listed = subprocess.run(['nm', '-D', '--defined-only', path], capture_output=True, text=True,
                                check=True).stdout
        out |= {line.split()[2].split('@')[0] for line in listed.splitlines() if len(line.split()) == 3}
    return out


def parse_known(text):
    """'i4 open(s path, i4 flags, u4 mode)' as functions_of() gives it."""
    result, name, inside = re.fullmatch(r'(\S+) (\w+)\((.*)\)', text).groups()
    given = [p for p in inside.split(', ') if p]
    return name, (result, [tuple(p.split()) for p in given if p != '...'], '...' in given)


def same_types(a, b):
    """Do two prototypes agree about sizes? A text is a pointer."""
    def size(t):
        return 'p8' if t[0] in 'ps' else t.split('#')[0][1:] or t
    return size(a[0]) == size(b[0]) and [size(t) for t, _ in a[1]][:len(b[1])] == \
        [size(t) for t, _ in b[1]][:len(a[1])]


def values_of(headers, names):
    """The values of constants, by compiling a program that prints them. What is not defined is left
    out, and said."""
    source = '#include <stdio.h>\n' + headers + 'int main(void) {\n' + ''.join(
        f'#ifdef {n}\nprintf("%s %lld\\n", "{n}", (long long)({n}));\n#endif\n' for n in names) + 'return 0; }\n'
    with tempfile.TemporaryDirectory() as d:
        with open(d + '/a.c', 'w', encoding='utf-8') as f:
            f.write(source)
        subprocess.run(['gcc', '-w', '-D_GNU_SOURCE', '-o', d + '/a', d + '/a.c'], check=True)
        printed = subprocess.run([d + '/a'], capture_output=True, text=True, check=True).stdout
    return {n: int(v) for n, v in (line.split() for line in printed.splitlines())}


def macros_of(headers):
    out = subprocess.run(['gcc', '-w', '-D_GNU_SOURCE', '-dM', '-E', '-x', 'c', '-'], input=headers,
                         capture_output=True, text=True, check=True).stdout
    return [line.split()[1] for line in out.splitlines() if '(' not in line.split()[1]]


def describe_set(kind, words, macros, value):
    """Describes a set. A word is a constant, CONSTANT/MASK, or a regular expression between /."""
    out, seen = [], set()
    for word in words:
        if word.startswith('/'):
            given = sorted((m for m in macros if re.fullmatch(word[1:-1], m) and m in value),
                           key=lambda m: (value[m], m))
            given = [(m, None) for m in given]
        else:
            name, _, mask = word.partition('/')
            if name not in value:
                print(f'{name} is not defined here', file=sys.stderr)
                continue
            given = [(name, mask or None)]
        for name, mask in given:
            v = value[name]
            if v in seen and kind != 'f' or (name in seen):
                continue
            seen |= {v, name}
            text = f'{name}={v}'
            if kind == 'x':
                text += '/18446744073709551615'
            elif mask:
                text += f'/{value[mask] if mask in value else int(mask, 0)}'
            out.append(text)
    return ','.join(out)


def describe_joined(words, macros, value):
    """Describes a set of kind j: each word is UPPER:CONSTANT or UPPER:/REGULAR EXPRESSION/."""
    out, seen = [], set()
    for word in words:
        upper, _, lower = word.partition(':')
        given = [lower] if lower[0] != '/' else sorted(
            (m for m in macros if re.fullmatch(lower[1:-1], m) and m in value), key=lambda m: (value[m], m))
        for name in given:
            v = value[upper] << 32 | value[name]
            if v not in seen:
                seen.add(v)
                out.append(f'{name}={v}')
    return ','.join(out)


def read_sets(headers, sets):
    """sets.txt: 'NAME KIND CONSTANT... : FUNCTION.PARAMETER...'. Returns {pattern: name}."""
    def words_in(word):
        return word.split(':')[-1]

    uses, macros = {}, sets.macros
    wanted, listed = set(), []
    for line in lines_of('sets.txt'):
        head, _, tail = line.partition(' : ')
        name, kind, *words = head.split()
        listed.append((name, kind, words))
        if kind[0] == 'j':
            wanted |= {w.split(':')[0] for w in words}
        for w in map(words_in, words):
            if w.startswith('/'):
                wanted |= {m for m in macros if re.fullmatch(w[1:-1], m)}
            else:
                wanted |= {p for p in w.split('/') if re.match(r'[A-Za-z_]', p)}
        for use in tail.split():
            uses[use] = name
    value = values_of(headers, sorted(wanted))
    for name, kind, words in listed:
        if kind[0] == 'j':
            sets.described[name] = f'j:{name};{kind[1:]},' + describe_joined(words, macros, value)
            continue
        body = describe_set(kind, words, macros, value)
        sets.described[name] = f'{"f" if kind == "x" else kind}:{name};{body}'
    return uses


def failure_rules():
    """failures.txt: 'LIBRARY FAILURE PATTERN...'. The last pattern that fits counts."""
    out = {}
    for line in lines_of('failures.txt'):
        library, what, *patterns = line.split()
        out.setdefault(library, []).append((what, patterns))
    return out


def failure_of(name, result, rules):
    """How the function fails, as a signature says it; '' if it is not known."""
    failure = ''
    for what, patterns in rules:
        for p in patterns:
            wanted, _, kinds = p.partition(':')
            if wanted.startswith('#'):
                fits = result.partition('#')[2] == wanted[1:]
            else:
                fits = fnmatch.fnmatchcase(name, wanted) and (not kinds or result[0] in kinds)
            if fits:
                failure = what
    return '' if failure == 'never' or result[0] in 'vf' else failure


def read_reads():
    """reads.txt: returns {FUNCTION.PARAMETER: what stands behind its '!'}."""
    uses = {}
    for line in lines_of('reads.txt'):
        kind, _, tail = line.partition(' : ')
        uses.update({use: kind for use in tail.split()})
    return uses


def read_streams():
    """streams.txt: returns {FUNCTION.PARAMETER: kind}; the PARAMETER of "..." is that."""
    uses = {}
    for line in lines_of('streams.txt'):
        kind, _, tail = line.partition(' : ')
        uses.update({use: kind for use in tail.split()})
    return uses


def stream_of(use, streams, parameters):
    """What stands behind a parameter that is a stream: "!p1", the number of its format, or "!t"."""
    kind = streams.get(use, '')
    if kind == 'p':
        kind += str(max(i for i, (t, _) in enumerate(parameters) if t == 's'))
    return kind and '!' + kind


def reads_of(use, structures, reads):
    """How a text is read when its function is entered, as symbols/prototype.c has it: "!a2"; '' if
    nothing is known. The length of a buffer bounds it, too."""
    structure = structures.get(use, '')
    bound = structure.partition('_')[2] if re.match('(text|address|option)_', structure) else ''
    kind = reads.get(use, 'n' + bound if bound else '')
    if bound and kind[1:] != bound:
        sys.exit(f'reads.txt: the bound of {use} is {bound}')
    return kind and '!' + kind


def read_outputs(sets):
    """outputs.txt: returns {FUNCTION.PARAMETER: what stands behind its '>'}, and describes structures."""
    uses = {}
    sets.described['wstatus'] = 'w:wstatus;'
    for line in lines_of('outputs.txt'):
        if line.startswith('='):
            name, members = line.split()[1:]
            sets.described[name] = f'a:{name};{members}'
            continue
        head, _, tail = line.partition(' : ')
        when, what, *offsets = head.split()
        filled = '.'.join([what] + offsets).replace('.+.', '+')
        uses.update({use: '>' + when + filled for use in tail.split()})
    return uses


def line_of(name, prototype, uses, structures, reads, outputs, streams, rules):
    result, parameters, variadic = prototype
    text = []
    for kind, parameter in parameters:
        parameter, _, condition = parameter.partition('?')
        used = uses.get(f'{name}.{parameter}') or uses.get(f'*.{parameter}') if '#' not in kind else None
        if used and kind[0] in 'iu' and kind != 'u8' or used and f'{name}.{parameter}' in uses:
            kind += '#' + used
        if kind in 'ps' and f'{name}.{parameter}' in structures:
            kind = '*' + structures[f'{name}.{parameter}']
        text.append(f'{kind} {parameter}' + reads_of(f'{name}.{parameter}', structures, reads) +
                    stream_of(f'{name}.{parameter}', streams, parameters) +
                    outputs.get(f'{name}.{parameter}', '') +
                    (condition and '?' + condition))
    used = next((s for p, s in uses.items() if p.endswith('()') and fnmatch.fnmatchcase(name, p[:-2])), None)
    if used and '#' not in result and result[0] in 'iu':
        result += '#' + used
    failure = failure_of(name, result, rules)
    if failure.startswith('signed'):  # a size that is negative when it is an error
        failure, result = failure[6:], 'i' + result[1:]
    if failure:
        result += '!' + failure
    if variadic:
        text.append('...' + stream_of(f'{name}....', streams, parameters))
    return f'{name}({",".join(text)}){result}'


def main():
    cindex.Config.set_library_file('/usr/lib/llvm-14/lib/libclang-14.so.1')
    all_headers, tables = '', {}
    known = dict(parse_known(line) for line in lines_of('names.txt'))
    libraries, rules, reads, streams = [], failure_rules(), read_reads(), read_streams()
    for line in lines_of('libraries.txt'):
        name, files, headers = (part.split() for part in line.split(':'))
        source = ''.join(f'#define {h[1:].replace("=", " ")}\n' if h[0] == '@' else f'#include <{h}>\n'
                         for h in headers)
        libraries.append((name[0], files, source))
        all_headers += source
    sets = Sets(macros_of(all_headers))
    uses = read_sets(all_headers, sets)
    own = {n: d for n, d in sets.described.items()}
    for name, files, source in libraries:
        unit = parsed(source)
        if name == 'libc':
            structures = read_structures(unit, sets)
            outputs = read_outputs(sets)
            own.update(sets.described)
        found = functions_of(unit, sets)
        names = exported(files)
        kept = {n: p for n, p in found.items() if n in names}
        for n in known:
            if n not in names:
                continue
            if n in kept and not same_types(known[n], kept[n]):
                print(f'names.txt: {n} is {kept[n]}', file=sys.stderr)
            else:  # the names are those of the manual, enumerations those of the header
                types = [t for t, _ in kept[n][1]] if n in kept else []
                named = [(types[i] if i < len(types) and '#' in types[i] else t, p)
                         for i, (t, p) in enumerate(known[n][1])]
                kept[n] = (known[n][0], named, known[n][2])
        # symbols/prototype.c looks for open64 as open too
        kept = {n: p for n, p in kept.items()
                if not (name == 'libc' and n.endswith('64') and n[:-2] in kept and same_types(p, kept[n[:-2]]))}
        tables[name] = [line_of(n, kept[n], uses, structures, reads, outputs, streams, rules.get(name, [])) for n in sorted(kept)]
        write(name + '.def', tables[name], f'Prototypes of {", ".join(files)}.')
        print(f'{name}: {len(kept)} functions', file=sys.stderr)
    sets.described.update(own)
    sets.described.update({'list': 'g:list;', 'array': 'g:array;', 'option': 'y:option;',
                           'sockaddr': 'n:sockaddr;'})
    used = {'list', 'array'} | set(re.findall(r'(?:[#*+]|>[+0.])(\w+)', '\n'.join(x for t in tables.values() for x in t)))
    used = {u for u in used if u in sets.described}
    used |= {u for n in used if sets.described[n].startswith('a:') for u in re.findall(r'#(\w+)', sets.described[n])}
    write('sets.def', [f'{n} {sets.described[n]}' for n in sorted(used)],
          'Enumerations and flags that the prototypes name.')
    for name in sorted(set(own) - used):
        print(f'sets.txt: {name} is not used', file=sys.stderr)


main()
