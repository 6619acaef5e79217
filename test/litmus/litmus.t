#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each claim about the order of memory that core/, target/ and session/ rely on, and the appends of processors whose
memory is weakly ordered, as a litmus test: what the model allows (RC11 for C, Arm's own for AArch64) never has the
claim broken. And each barrier is needed: with any one taken out that is marked by "// must", it can be broken.
usage: litmus.t [NAME...]"""
import glob
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
MUST = re.compile(r' *// must')
WEAKER = ((r'\batomic_thread_fence\(\w+\);', ''), (r'\bmemory_order_(release|acquire|acq_rel|seq_cst)\b', 'memory_order_relaxed'),
          (r'\bSTLR\b', 'STR'), (r'\bLDAR\b', 'LDR'), (r'\bSTLXR\b', 'STXR'), (r'\bLDAXR\b', 'LDXR'), (r'\bDMB \w+', 'NOP'),
          (r'\bCBZ \w+,\w+', 'NOP'))


def weaker(part):
    for strong, weak in WEAKER:
        text, n = re.subn(strong, weak, part, count=1)
        if n:
            return text
    return None


def variants(text):
    """The test as it is, and without each of what is marked: (what, text)."""
    pieces = MUST.split(text)
    yield None, ''.join(pieces)
    for i in range(len(pieces) - 1):
        # what a mark is behind: to the end of the line or of the column before
        at = max(pieces[i].rfind('\n'), pieces[i].rfind('|')) + 1
        part = weaker(pieces[i][at:])
        yield pieces[i][at:].strip(), None if part is None else ''.join(pieces[:i] + [pieces[i][:at] + part] + pieces[i + 1:])


def observed(herd, text):
    """'Never', 'Sometimes' or 'Always'; else what herd7 says."""
    with tempfile.NamedTemporaryFile('w', suffix='.litmus') as f:
        f.write(text)
        f.flush()
        model = ['-model', 'rc11.cat'] if text.startswith('C ') else []
        p = subprocess.run(herd + model + [f.name], capture_output=True, text=True, timeout=60)
    found = re.search(r'^Observation \S+ (\w+)', p.stdout, re.M)
    return found[1] if found else p.stdout + p.stderr


fetched = subprocess.run(['bash', here + '/fetch.sh'], capture_output=True, text=True)
if fetched.returncode:
    print('ok 1 # SKIP herd7 is not to be had: ' + fetched.stderr.strip().replace('\n', '; '))
    print('1..1')
    sys.exit(0)
herd = fetched.stdout.split()
n = failed = 0
for path in sorted(glob.glob(here + '/*.litmus')):
    name = os.path.basename(path)[:-len('.litmus')]
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        continue
    wrong, marked = [], 0
    for what, text in variants(open(path).read()):
        is_ = observed(herd, text) if text else 'nothing is known that is weaker'
        marked += what is not None
        if is_ != ('Sometimes' if what else 'Never'):
            wrong.append('%s: %s' % ('without "%s"' % what if what else 'as it is', is_))
    if not marked:
        wrong.append('no barrier is marked')
    n += 1
    failed += bool(wrong)
    print('%s %d %s: never broken, and each of %d barriers is needed' % ('not ok' if wrong else 'ok', n, name, marked))
    for line in wrong:
        print('# ' + line.replace('\n', '\n# '))
print('1..%d' % n)
sys.exit(failed != 0)
