# SPDX-License-Identifier: MIT
"""Random conditions on a table, as a script for `devtrace sql`: what it finds under each must be what
SQLite finds in a copy of all rows. usage: sql-conditions.py SEED NUMBER TABLE LAST_NS FIRST_TICK LAST_TICK THREADS"""
import random, sys
seed, n, table, last, ticks0, ticks1, threads = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:8])
r = random.Random(seed)
columns = {"calls": "id, parent, depth, thread, process, core, function, begin, end, duration, self, ended, timed, recursive, arguments, arg0, result, begin_ticks, end_ticks, flags",
           "records": "time, kind, thread, process, core, function, pc, sp, value0, value1, flags, ticks",
           "events": "time, kind, thread, process, core, subsystem, event, argument, text, ticks"}[table]
def ns(): return r.choice([0, -5, last, last + 9, r.randrange(last), r.randrange(last), r.randrange(last) + 0.5])
def tick(): return r.choice([0, -1, ticks0, ticks1, ticks0 + r.randrange(ticks1 - ticks0), ticks0 + r.randrange(ticks1 - ticks0)])
def time(name, value):
    op = r.choice(["<", "<=", ">", ">=", "=", "BETWEEN", "BETWEEN", "BETWEEN"])
    if op != "BETWEEN": return f"{name} {op} {value()}"
    a = value()
    return f"{name} BETWEEN {a} AND {a + r.choice([0, 10, 1000, 100000, last // 50, last])}"
def some_id(): return f"(SELECT id FROM whole WHERE id IS NOT NULL LIMIT 1 OFFSET {r.randrange(5000)})"
def odd_parent(): return f"(SELECT parent FROM whole WHERE id IS NULL AND parent IS NOT NULL LIMIT 1 OFFSET {r.randrange(9)})"
def condition():
    if table == "calls":
        kind = r.choice("bbbbeeebbeeTUtfFpihnN")
        if kind == "b": return time("begin", ns)
        if kind == "e": return time("end", ns)
        if kind == "T": return time("begin_ticks", tick)
        if kind == "U": return time("end_ticks", tick)
        if kind == "i": return f"id = {some_id()}"
        if kind == "h": return f"parent = {r.choice([some_id(), odd_parent()])}"
        if kind == "n": return r.choice(["begin IS NULL", "begin = NULL", "thread IS NULL", "parent IS NULL", "ended = 'open'", "id = 0", "id = -1", "parent = 77"])
    else:
        kind = r.choice("bbbTtfFpcnN")
        if kind == "b": return time("time", ns)
        if kind == "T": return time("ticks", tick)
        if kind == "c": return f"core = {r.choice([0, 1, 2, 65535, 70000, -1])}"
        if kind == "n": return r.choice(["time IS NULL", "time = NULL", "core IS NULL"])
    if kind == "t": return r.choice([f"thread = {1000 + r.randrange(threads)}", f"thread IN (1000, {1000 + r.randrange(threads)})", "thread = 5", "thread = '1001'", "thread = 1000.5"])
    if kind == "p": return r.choice(["process = 1000", "process = 1", "process = 'x'"])
    if table == "events": return r.choice(["kind = 'send'", "argument > 5"])
    if kind == "f": return f"function = 'function{r.randrange(300)}'"
    if kind == "F": return r.choice(["function GLOB 'function1*'", "function LIKE 'FUNCTION2_'", "function = 'FUNCTION22' COLLATE NOCASE", "function IN ('function40','function50','function260')"])
    return "1"
print(f"CREATE TEMP TABLE whole AS SELECT {columns} FROM {table};")
print("CREATE INDEX temp.by_id ON whole(%s);" % ("id" if table == "calls" else "ticks"))
# what never ended, some of it well before the end of the trace
before = last * 98 // 100
always = [f"ended = 'open' AND end < {before}", f"ended = 'open' AND end < {before} AND thread <> 1000", f"end BETWEEN {last * 2 // 3} AND {before} AND depth < 2",
          f"parent = {odd_parent()}", f"parent = {odd_parent()} AND begin IS NULL"]
cores = ["core = 0", "core = 1", "core = 0 AND core = 1", "core = 1 AND thread = 1000", "process = 1000 AND core = 0"]
for i in range(n):
    c = " AND ".join(condition() for _ in range(r.choice([1, 1, 2, 2, 3])))
    if table == "calls" and i < len(always): c = always[i]
    if table != "calls" and i < len(cores): c = cores[i]
    a, b = f"SELECT {columns} FROM {table} WHERE {c}", f"SELECT {columns} FROM whole WHERE {c}"
    q = c.replace("'", "''")
    print(f"CREATE TEMP TABLE a AS {a}; CREATE TEMP TABLE b AS {b};")
    print(f"SELECT '{q}', (SELECT count(*) FROM a) AS got, (SELECT count(*) FROM b) AS want, "
          f"(SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b)) AS wrong, "
          f"(SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a)) AS missing;")
    print("DROP TABLE a; DROP TABLE b;")
