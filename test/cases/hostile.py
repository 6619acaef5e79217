# SPDX-License-Identifier: MIT
"""Makes trace files that are hostile. usage: hostile.py journal FILE VICTIM   a journal beside it that has VICTIM deleted
hostile.py snapshot FILE self|cycle|function|segments   every snapshot in what view has summed up becomes such a one
hostile.py pyramid FILE order|tracks   the head of that
hostile.py names FILE NAME   everything in it that has a name gets one that a terminal would obey, with NAME in it
hostile.py raw <TEXT   fails when there is in it what a terminal would obey"""
import ctypes, sqlite3, struct, sys

z = ctypes.CDLL("libzstd.so.1")
for f in ("ZSTD_compressBound", "ZSTD_compress", "ZSTD_decompress"):
    getattr(z, f).restype = ctypes.c_size_t
z.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong

def pack(b):
    out = ctypes.create_string_buffer(z.ZSTD_compressBound(ctypes.c_size_t(len(b))))
    n = z.ZSTD_compress(out, ctypes.c_size_t(len(out)), b, ctypes.c_size_t(len(b)), 1)
    return out.raw[:n]

def unpack(b):
    n = z.ZSTD_getFrameContentSize(b, ctypes.c_size_t(len(b)))
    out = ctypes.create_string_buffer(max(n, 1))
    z.ZSTD_decompress(out, ctypes.c_size_t(n), b, ctypes.c_size_t(len(b)))
    return out.raw[:n]

def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))

def varints(*all):
    return b"".join(map(varint, all))

def zigzag(d):
    return (d << 1 ^ d >> 63) & 0xffffffffffffffff

class Bytes:
    def __init__(self, b):
        self.b, self.at = b, 0
    def get(self):
        v = shift = 0
        while True:
            c = self.b[self.at]
            self.at += 1
            v |= (c & 127) << shift
            if c < 128:
                return v
            shift += 7

def snapshots(db):
    """The ids of the rows that are snapshots."""
    c = Bytes(unpack(db.execute("SELECT data FROM pyramid WHERE id=1").fetchone()[0]))
    c.get(), c.get()                       # magic, length
    head = [c.get() for i in range(11)]    # version, stamp, begin, end, records, tracks, regions, lates
    for i in range(7 * head[8]):
        c.get()
    regions = [[c.get() for i in range(6)] for i in range(head[9])]
    return [r[3] for r in regions if r[3]]

def frame(function, sp):
    return varints(1, 0, function, 1, 0, 0, zigzag(sp), 0, 0, 0, 0, 0, 0, 0)

def segment(n, below, frames, left=0):
    return varints(n, 0, below, 1, left) + frames

def thread(tid, segments, all):
    return varints(tid, 0, 5, 0, 0, 0, 0, 0, 0, 1, segments) + all

def snapshot(db, kind):
    tids = [t for t, in db.execute("SELECT DISTINCT tid FROM thread")]
    kernel = 0xffff800000001000 - (1 << 64)
    if kind == "self":       # of the kernel: the program's next record drops it, and goes to the one below
        one = segment(1, 1, frame(1, kernel)) + segment(1, 0, frame(1, 8))
        threads = [thread(t, 2, one) for t in tids]
    elif kind == "cycle":
        one = segment(1, 2, frame(1, kernel)) + segment(1, 1, frame(1, 8))
        threads = [thread(t, 2, one) for t in tids]
    elif kind == "function":
        threads = [thread(t, 1, segment(1, 0, frame(0xffffffff, 0x7fffffffffff))) for t in tids]
    elif kind == "segments":
        threads = [thread(1, 4000000, segment(0, 0, b"") * 4000000)]
    blob = pack(varints(0, 0, 0) + varints(1, len(threads)) + b"".join(threads))
    for i in snapshots(db):
        db.execute("UPDATE pyramid SET data=? WHERE id=?", (blob, i))

def pyramid(db, kind):
    head = unpack(db.execute("SELECT data FROM pyramid WHERE id=1").fetchone()[0])
    c = Bytes(head)
    c.get()
    n = c.get()
    front = head[:c.at + n]
    if kind == "order":      # blocks each of which begins before all that came before
        n = 1000000
        db.execute("WITH RECURSIVE n(i) AS (SELECT 10000000 UNION ALL SELECT i+1 FROM n LIMIT ?) "
                   "INSERT INTO pyramid SELECT i, NULL FROM n", (n,))
        lanes = varints(1, 0, 0, n) + varints(zigzag(10), zigzag(1 << 60), 0, 1) + varints(2, zigzag(-1), 0, 1) * (n - 1)
    elif kind == "tracks":   # one lane, of a track far away
        lanes = varints(1 << 20, 0, 0, 0)
    db.execute("UPDATE pyramid SET data=? WHERE id=1", (pack(front + lanes + b"\0"),))

def journal(path, victim):
    """Hot: with a head, no pages, and the name of the journal of several files, which is deleted when done."""
    b = open(path, "rb").read()
    page = struct.unpack(">H", b[16:18])[0]
    magic = bytes.fromhex("d9d505f920a163d7")
    name = victim.encode()
    head = magic + struct.pack(">5I", 0, 0x1234, len(b) // page, 512, page)
    tail = struct.pack(">I", 0x40000000 // page + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    open(path + "-journal", "wb").write(head.ljust(512, b"\0") + tail)

HARM = "\x1b]0;owned\x07\x1b[2J\nline\r\t\"'`id`'@m \u202eabc\u200f\x9b31m;&<script> ".encode() + b"\xff\xc0\xaf\xed\xa0\x80"

def names(db, name):
    harm = HARM + name.encode()
    db.execute("PRAGMA writable_schema=ON")
    for table, column in (("function", "name"), ("function", "file"), ("function", "signature"), ("thread", "name"),
                          ("event", "name"), ("event", "subsystem_name"), ("event", "description"), ("type", "text"),
                          ("process", "cmdline"), ("hold", "why"), ("unhooked", "name"), ("unhooked", "reason")):
        db.execute(f"UPDATE {table} SET {column} = CAST(? || ifnull({column}, '') AS TEXT)", (harm,))
    db.execute("UPDATE module SET path = CAST('/lib/' || ? || id AS TEXT)", (harm,))

def raw():
    text = sys.stdin.buffer.read().replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    bad = [c for c in text
           if c < " " and c not in "\n\t" or "\x7f" <= c < "\xa0" or "\u200b" <= c <= "\u200f" or
           "\u202a" <= c <= "\u202e" or "\ud800" <= c <= "\udfff"]
    bad += [line for line in text.split("\n") if line.startswith("line")]
    if bad:
        sys.exit("raw: " + ascii(sorted(set(bad))))

if sys.argv[1] == "raw":
    raw()
elif sys.argv[1] == "journal":
    journal(sys.argv[2], sys.argv[3])
else:
    with sqlite3.connect(sys.argv[2]) as db:
        globals()[sys.argv[1]](db, sys.argv[3])
    db.close()
