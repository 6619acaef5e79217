#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a random program that tells the truth about its calls (test/programs/truth.h).

usage: generate.py SEED c|c++

Its functions take and return values of every class, call each other directly, through pointers,
in loops and branches, end in tail calls, are left by longjmp (C) or exceptions past destructors
(C++), in two threads. How much it calls is bounded; what it prints depends on every value.
"""
import random
import sys

# name, C type, integer registers as an argument, how it is returned, value from a long x
TYPES = [
    ("c", "signed char", 1, "INTEGER", "(signed char)({x})"),
    ("h", "unsigned short", 1, "INTEGER", "(unsigned short)({x})"),
    ("i", "int", 1, "INTEGER", "(int)({x})"),
    ("l", "long", 1, "INTEGER", "(long)({x})"),
    ("p", "char *", 1, "INTEGER", "(char *)(intptr_t)({x})"),
    ("f", "float", 0, "VECTOR", "(float)(({x}) & 0xffff)"),
    ("d", "double", 0, "VECTOR", "(double)(({x}) & 0xffffffff)"),
    ("e", "long double", 0, None, "(long double)(({x}) & 0xffffff)"),
    ("t", "struct two", 2, "WIDE", "make_two({x})"),
    ("m", "struct mixed", None, "INTEGER_VECTOR", "make_mixed({x})"),
    ("b", "struct big", 0, None, "make_big({x})"),
    ("w", "__int128", 2, "WIDE", "((__int128)({x}) << 40)"),
]
BACK = {"p": "(long)(intptr_t)({v})", "t": "two_back({v})", "m": "mixed_back({v})",
        "b": "big_back({v})", "w": "(long)(({v}) >> 38)"}

HEAD = """\
#define TRUTH_MAIN
#include "truth.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

struct two { long a, b; };
struct mixed { long a; double d; };
struct big { long a[4]; };
TRUTH_INLINE struct two make_two(long x) { struct two t = {x, x ^ 0x55}; return t; }
TRUTH_INLINE struct mixed make_mixed(long x) { struct mixed m = {x * 3, (double)(x & 0xffff)}; return m; }
TRUTH_INLINE struct big make_big(long x) { struct big b = {{x, x + 1, x * 2, ~x}}; return b; }
TRUTH_INLINE long two_back(struct two t) { return t.a * 5 + t.b; }
TRUTH_INLINE long mixed_back(struct mixed m) { return m.a + (long)m.d; }
TRUTH_INLINE long big_back(struct big b) { return b.a[0] + b.a[1] * 3 + b.a[2] * 5 + b.a[3]; }

static __thread int budget;
"""

JUMP = """\
struct armed { jmp_buf at; int depth; struct armed *outer; };
static __thread struct armed *armed;
"""

GUARD = """\
struct guard {
	long k;
	int depth;
	long *to;
	FN guard(long n, long *out) : k(n), depth(truth_depth), to(out) { ENTER(UNTOLD, ARG(n), UNTOLD); LEAVE(); }
	FN ~guard() { truth_depth = depth; ENTER(UNTOLD); *to += k; LEAVE(); }
};
static __thread int trying;
"""


class Program:
    def __init__(self, seed, cxx):
        self.r = random.Random(seed)
        self.cxx = cxx
        self.functions = []
        # Not both: a call that was jumped over is told from a caller by the stack pointer, and a
        # later call with arguments on the stack, from the frame that was jumped to, lies below it.
        self.jumps = self.r.random() < 0.6
        types = [t for t in TYPES if not self.jumps or t[0] not in "eb"]
        for n in range(self.r.randint(5, 14)):
            result = self.r.choice(types)
            left, params = 5 if result[0] == "b" else 6, []
            for _ in range(self.r.randint(0, 5)):
                t = self.r.choice(types)
                take = 1 if t[2] is None else t[2]
                if take <= left:  # the rest would be on the stack
                    left -= take
                    params.append(t)
            self.functions.append((f"f{n}", result, params))

    def constant(self):
        return self.r.choice(["x", f"x + {self.r.randint(-99, 99)}", f"x * {self.r.randint(2, 9)}",
                              f"x ^ {self.r.getrandbits(self.r.choice([6, 15, 31]))}"])

    def call(self, f):
        args = ", ".join(t[4].format(x=self.constant()) for t in f[2])
        if self.r.random() < 0.25:
            return f"(*(__typeof__(&{f[0]}) volatile *)&to_{f[0]})({args})"
        return f"{f[0]}({args})"

    def use(self, f):
        """x += value of a call of f"""
        back = BACK.get(f[1][0], "(long)({v})")
        return f"x += {back.format(v=self.call(f))};"

    def statement(self, depth=0):
        f = self.r.choice(self.functions)
        kind = self.r.randint(0, (9 if self.jumps else 7) if depth < 2 else 3)
        if kind <= 3:
            return [self.use(f)]
        if kind == 4:
            return [f"if (x & {1 << self.r.randint(0, 5)}) {{", *self.statement(depth + 1), "} else {",
                    *self.statement(depth + 1), "}"]
        if kind == 5:
            name = f"i{depth}"
            return [f"for (int {name} = 0; {name} < {self.r.randint(2, 4)}; {name}++) {{",
                    *self.statement(depth + 1), "}"]
        if kind == 6:
            lines = ["switch (x & 7) {"]
            for k in range(6):
                lines += [f"case {k}:", *self.statement(2), "break;"]
            return lines + ["default:", "x++;", "}"]
        if kind == 7:
            return [f"x += (long)many({self.r.randint(0, 5)}, 1, 2.5, 3l, x, 5.5);"]
        return self.leave(depth)

    def leave(self, depth):
        """A place to come back to around a statement, or a jump to the last such place."""
        back = self.r.random() < 0.5
        if self.cxx and back:
            return [f"{{ guard g({self.r.randint(1, 99)}, &sums); x += sums; ",
                    f"if (trying > 0 && (x & {self.r.choice([1, 3, 6])}) == 1) throw (int)(x & 255); }}"]
        if self.cxx:
            return ["{ int depth = truth_depth, before = trying++; try {", *self.statement(depth + 1),
                    "} catch (int v) { truth_depth = depth; x += v; } trying = before; }"]
        if back:
            return [f"if (armed && (x & {self.r.choice([1, 3, 6])}) == 1) longjmp(armed->at, 1);"]
        return ["{ struct armed a; a.depth = truth_depth; a.outer = armed; armed = &a;",
                "if (!setjmp(a.at)) {", *self.statement(depth + 1),
                "} else { x += 7; } truth_depth = a.depth; armed = a.outer; }"]

    def prototype(self, f):
        params = ", ".join(f"{t[1]} a{i}" for i, t in enumerate(f[2])) or "void"
        return f"FN {f[1][1]} {f[0]}({params})"

    def told(self, f):
        registers = ["UNTOLD"] if f[1][0] == "b" else []
        for i, t in enumerate(f[2]):
            if t[2] == 1:
                registers.append(f"ARG(a{i})")
            elif t[0] == "t" and len(registers) != 3:  # else one half of it is not recorded
                registers += [f"ARG(a{i}.a)", f"ARG(a{i}.b)"]
            elif t[0] in "tw":
                registers += ["UNTOLD", "UNTOLD"]
            elif t[0] == "m":  # one half in each kind of register
                registers.append("UNTOLD")
        return f"ENTER({', '.join(registers[:4])});" if registers else "ENTER0();"

    def result(self, f, x):
        value = f[1][4].format(x=x)
        how = f[1][3]
        if how is None:
            return f"RETURN_UNTOLD({value});"
        if how == "INTEGER":
            return f"RETURN({value});"
        return f"RETURN_AS(RESULT_{how}, {value});"

    def function(self, f):
        body = [self.told(f)]
        body.append(f"volatile long x = {self.r.randint(1, 1000)};")
        if self.cxx:
            body.append("long sums = 1;")
        for i, t in enumerate(f[2]):
            body.append(f"x += {BACK.get(t[0], '(long)({v})').format(v=f'a{i}')};")
        body.append(f"if (budget-- <= 0) {self.result(f, 'x')}")
        for _ in range(self.r.randint(1, 4)):
            body += self.statement()
        # a tail call of itself would become a loop
        same = [g for g in self.functions if g[1] is f[1] and g is not f]
        if same and self.r.random() < 0.4:
            body.append(f"RETURN_TAIL({self.call(self.r.choice(same))});")
        else:
            body.append(self.result(f, "x"))
        return [self.prototype(f), "{", *body, "}", ""]

    def text(self):
        out = [HEAD, GUARD if self.cxx else JUMP]
        out += [self.prototype(f) + ";" for f in self.functions]
        out += [f"static __typeof__(&{f[0]}) to_{f[0]} = {f[0]};" for f in self.functions]
        out += ["FN double many(int n, ...)", "{", "va_list ap; double s = 0;", "ENTER(ARG(n));",
                "va_start(ap, n);"]
        for k, t in enumerate(["int", "double", "long", "long", "double"]):
            out.append(f"if (n > {k}) s = s * 2 + (double)va_arg(ap, {t});")
        out += ["va_end(ap);", "RETURN_AS(RESULT_VECTOR, s);", "}", ""]
        for f in self.functions:
            out += self.function(f)
        out += ["FN void *run(void *arg)", "{", "long x = (long)arg;", "ENTER(ARG(arg));",
                "for (int i = 0; i < 5; i++) {", "budget = 400;"]
        for f in self.functions[:3]:
            out.append(self.use(f))
        out += ["}", "RETURN((void *)x);", "}", "", "int main(void)", "{",
                "pthread_t t; void *a, *b;", "truth_start();", "ENTER0();",
                "if (pthread_create(&t, NULL, run, (void *)3)) abort();", "a = run((void *)5);",
                "pthread_join(t, &b);", 'printf("%lx %lx\\n", (long)a, (long)b);', "RETURN(0);", "}"]
        return "\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("c", "c++"):
        sys.exit(__doc__)
    sys.stdout.write(Program(sys.argv[1] + sys.argv[2], sys.argv[2] == "c++").text())
