# SPDX-License-Identifier: MIT
"""Damages a trace file where it has structure: cells of tables, keys of tables, columns of chunks and numbers of
pyramids and snapshots, each compressed again. usage: files.py BASE FIRST N FOLDER   writes FOLDER/SEED.db for N seeds"""
import ctypes, random, re, shutil, sqlite3, struct, sys

z = ctypes.CDLL("libzstd.so.1")
size_t = ctypes.c_size_t
for f in ("ZSTD_compressBound", "ZSTD_compress", "ZSTD_decompress", "ZSTD_findFrameCompressedSize"):
    getattr(z, f).restype = size_t
z.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
EXTREMES = [0, 1, 2, 3, 7, 255, 256, 65535, 65536, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40,
            (1 << 48) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 65536]

def pack(b):
    out = ctypes.create_string_buffer(z.ZSTD_compressBound(size_t(len(b))))
    return out.raw[:z.ZSTD_compress(out, size_t(len(out)), b, size_t(len(b)), 1)]

def unpack(b):
    n = z.ZSTD_getFrameContentSize(b, size_t(len(b)))
    if n > 1 << 26:
        return b""
    out = ctypes.create_string_buffer(max(n, 1))
    z.ZSTD_decompress(out, size_t(n), b, size_t(len(b)))
    return out.raw[:n]

def frames(b):
    all = []
    while b:
        n = z.ZSTD_findFrameCompressedSize(b, size_t(len(b)))
        if n > len(b):
            break
        all.append(unpack(b[:n]))
        b = b[n:]
    return all

def numbers(b):
    out, v, shift = [], 0, 0
    for c in b:
        v |= (c & 127) << shift
        shift += 7
        if c < 128:
            out.append(v)
            v = shift = 0
    return out

def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))

def another(r, v):
    return r.choice([r.choice(EXTREMES), r.choice(EXTREMES), v + 1, max(v - 1, 0), v ^ 1 << r.randrange(64),
                     r.randrange(1 << r.randrange(1, 64))]) & 0xffffffffffffffff

def signed(v):
    return v - (1 << 64) if v >> 63 else v

def tables(db):
    return [t for t, in db.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'")]

def cell(db, r):
    table = r.choice(["chunk", "loss", "site", r.choice(tables(db)), r.choice(tables(db))])
    columns = [c[1] for c in db.execute(f"PRAGMA table_info({table})")]
    rows = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    if not rows:
        return
    column, at = r.choice(columns), r.randrange(rows)
    keys = [c[1] for c in db.execute(f"PRAGMA table_info({table})") if c[5]] or ["rowid"]
    key = db.execute(f"SELECT {','.join(keys)}, {column} FROM {table} LIMIT 1 OFFSET {at}").fetchone()
    old = key[-1] if isinstance(key[-1], int) else 7
    new = r.choice([signed(another(r, old)), signed(another(r, old)), signed(another(r, old)), None, "word", "", 1e300,
                    b"\0\xff", "9" * 30, "\x1b[2J\n" * r.randrange(9)])
    where = " AND ".join(f"{k} IS ?" for k in keys)
    some = r.random() < 0.2
    db.execute(f"UPDATE OR IGNORE {table} SET {column}=?" + ("" if some else f" WHERE {where}"),
               (new,) if some else (new, *key[:-1]))

def keyless(db, r):
    table = r.choice(["loss", "loss", "chunk", "thread", r.choice(tables(db))])
    if table == "sqlite_sequence":
        return
    sql = db.execute("SELECT sql FROM sqlite_schema WHERE name=? AND type='table'", (table,)).fetchone()[0]
    bare = re.sub(r",\s*(PRIMARY KEY|UNIQUE)\([^)]*\)|PRIMARY KEY|WITHOUT ROWID", "", sql)
    bare = re.sub(r"CREATE TABLE \"?\w+\"?", "CREATE TABLE fuzzed", bare)
    index = [s for s, in db.execute("SELECT sql FROM sqlite_schema WHERE tbl_name=? AND type='index' AND sql NOT NULL", (table,))]
    db.execute(bare)
    for i in range(r.choice([0, 1, 2, 2])):
        db.execute(f"INSERT INTO fuzzed SELECT * FROM {table}")
    db.execute(f"DROP TABLE {table}")
    db.execute(f"ALTER TABLE fuzzed RENAME TO {table}")
    for s in index:
        try:
            db.execute(s.replace("UNIQUE", ""))
        except sqlite3.Error:
            pass

def some_bytes(b, r):
    b = bytearray(b)
    for i in range(r.choice([1, 1, 3, 30])):
        if b:
            b[r.randrange(len(b))] = r.choice([0, 1, 255, 127, 128, r.randrange(256)])
    return bytes(b)

def chunk(db, r):
    ids = [i for i, in db.execute("SELECT id FROM chunk")]
    if not ids:
        return
    i, (column, size) = r.choice(ids), r.choice([("events", 32), ("events", 32), ("vals", 8)])
    blob = db.execute(f"SELECT {column} FROM chunk WHERE id=?", (i,)).fetchone()[0]
    if not isinstance(blob, bytes) or len(blob) < size:
        return
    head, all = bytearray(blob[:size]), frames(blob[size:])
    if r.random() < 0.2 or not all:
        at = 4 * r.randrange(size // 4)
        struct.pack_into("<I", head, at, another(r, struct.unpack_from("<I", head, at)[0]) & 0xffffffff)
    else:
        k = r.randrange(len(all))
        if r.random() < 0.5 and len(all[k]) >= 8:
            b, at = bytearray(all[k]), 4 * r.randrange(len(all[k]) // 4 - 1)
            struct.pack_into("<Q", b, at, another(r, struct.unpack_from("<Q", b, at)[0]))
            all[k] = bytes(b)
        else:
            all[k] = some_bytes(all[k], r)
    db.execute(f"UPDATE chunk SET {column}=? WHERE id=?", (bytes(head) + b"".join(map(pack, all)), i))

def pyramid(db, r):
    if "pyramid" not in tables(db):
        return
    ids = [i for i, in db.execute("SELECT id FROM pyramid ORDER BY id")]
    # snapshots are long, and few: what is in the head tells of all
    long = [i for i, in db.execute("SELECT id FROM pyramid ORDER BY length(data) DESC LIMIT 12")]
    if not ids:
        return
    i = r.choice([1, 1, r.choice(long), r.choice(long), r.choice(ids)])
    blob = db.execute("SELECT data FROM pyramid WHERE id=?", (i,)).fetchone()
    if not blob or not isinstance(blob[0], bytes):
        return
    all = numbers(unpack(blob[0]))
    for k in range(r.choice([1, 1, 1, 2, 5])):
        if all:
            # where counts are: often the first ones
            at = min(r.randrange(len(all)), r.randrange(len(all)), r.choice([60, len(all) - 1]))
            all[at] = another(r, all[at])
    if r.random() < 0.1:
        del all[r.randrange(len(all) + 1):]
    db.execute("UPDATE pyramid SET data=? WHERE id=?", (pack(b"".join(map(varint, all))), i))

def zigzag(d):
    return (d << 1 ^ d >> 63) & 0xffffffffffffffff

def snapshot(db, r):
    """Puts made up ones in the place of all: threads and segments as there may be, and as there may not."""
    if "pyramid" not in tables(db):
        return
    head = numbers(unpack(db.execute("SELECT data FROM pyramid WHERE id=1").fetchone()[0]))[2:]
    regions = head[11 + 7 * head[8]:][:6 * head[9]]
    tids = [t for t, in db.execute("SELECT tid FROM thread")] + [7]
    functions = db.execute("SELECT count(*) FROM function").fetchone()[0]
    harm = r.choice([0, 0.02, 0.2])
    def some(v):
        return another(r, v) if r.random() < harm else v
    def frame(sp):
        return [some(v) for v in (r.randrange(1 << 20), 0, r.randrange(functions + 1), r.randrange(9), 0, zigzag(r.randrange(-9, 99)),
                                  zigzag(sp), 0, 0, 0, r.randrange(3), r.randrange(functions), 0, 0)]
    def segment(segments):
        n = r.choice([1, 1, 2, 3, 3, 0])
        out = [some(v) for v in (n, r.randrange(9), r.randrange(segments + 1), 1, r.choice([0, 0, 0, 1, 2, 3]))]
        top = r.choice([8, 0x7ffd00000000 + 16 * r.randrange(1 << 16), 0x7ffd00000000, 0xffff800000001000 - (1 << 64)])
        for i in range(n):
            out += frame(-16 * r.randrange(4) if i else top)
        return out
    def thread(tid):
        n = r.choice([0, 1, 2, 2, 3, 5])
        out = [tid] + [some(v) for v in (r.choice([0, 0, 0, 1]), r.randrange(1000), 0, 0, 0, r.choice([0, 0, 0x7ffd00000000]), 0, 0,
                                         r.randrange(n + 1), n)]
        for i in range(n):
            out += segment(n)
        return out
    for id in regions[3::6]:
        all = [0, 0, 0, 1 << 20, len(tids)]
        for tid in tids:
            all += thread(tid)
        db.execute("UPDATE pyramid SET data=? WHERE id=?", (pack(b"".join(map(varint, all))), id))

def stamp(db):
    """Keeps the pyramid one of this trace, when what it is told by has changed."""
    row = db.execute("SELECT data FROM pyramid WHERE id=1").fetchone() if "pyramid" in tables(db) else None
    if not row or not isinstance(row[0], bytes):
        return
    all = numbers(unpack(row[0]))
    now = db.execute("SELECT ifnull(sum(records),0), count(*), ifnull(max(max_ticks),0) FROM chunk").fetchone()
    if len(all) > 6:
        for k in range(3):
            if isinstance(now[k], int) and now[k] >= 0:
                all[3 + k] = now[k]
        db.execute("UPDATE pyramid SET data=? WHERE id=1", (pack(b"".join(map(varint, all))),))

def damage(path, seed):
    r = random.Random(seed)
    db = sqlite3.connect(path)
    for i in range(r.choice([1, 1, 2, 4])):
        try:
            r.choice([cell, cell, keyless, chunk, chunk, pyramid, pyramid, snapshot, snapshot])(db, r)
        except (sqlite3.Error, OverflowError, IndexError):
            pass
    try:
        if r.random() < 0.8:
            stamp(db)
    except (sqlite3.Error, OverflowError):
        pass
    db.commit()
    db.close()

if __name__ == "__main__":
    base, first, n, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    for seed in range(first, first + n):
        path = f"{folder}/{seed}.db"
        shutil.copyfile(base, path)
        damage(path, seed)
