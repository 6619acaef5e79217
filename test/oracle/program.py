# SPDX-License-Identifier: MIT
"""Makes C programs that count their own calls, out of random pieces: oracle.h.

A piece is a function `piece_N` that main calls, and what it needs. Functions that are counted are
called f_ID (public_ID: by what resolves to it). Exactly counted is, for each of them, how often it was entered and how often it returned
(or left by a tail call); `loose` functions run in threads that go on across phases; of `no_exit`
functions the exits have no records (they leave by a jump through a register); `late` functions run
beside all that comes after them. Calls are counted by their callers too, but those of `jumped_to`
functions (tail calls) and those of stacks that a program switches (`switched`).
"""
import random


class Program:
    def __init__(self, rng, static=False, allow=None):
        self.rng = rng
        self.static = static
        self.next_id = 0
        self.c, self.cc, self.plugin = [], [], []
        self.pieces = []  # (name, source lines in main)
        self.loose, self.no_exit, self.in_plugin, self.late = set(), set(), set(), set()
        self.jumped_to, self.switched = set(), set()
        self.start = self.stop = ''
        self.uses = set()
        self.allow = allow

    def id(self):
        self.next_id += 1
        return self.next_id

    # a family of functions that call each other downwards; returns the name of the top
    def family(self, out, linkage=''):
        rng = self.rng
        below = []
        for _ in range(rng.randint(1, 5)):
            i = self.id()
            name = f'f_{i}'
            arguments = rng.randint(0, 3)
            params = ', '.join(f'long a{k}' for k in range(arguments)) or 'void'
            body = [f'IN({i});', f'long r = {rng.randint(1, 99)};']
            for k in range(arguments):
                body.append(f'r += a{k} * {rng.randint(1, 9)};')
            if below and rng.random() < .8:
                callee, n = rng.choice(below)
                args = ', '.join(str(rng.randint(0, 50)) for _ in range(n))
                turns = rng.choice([1, 1, 2, 3])
                if turns == 1:
                    body.append(f'r += BY({i}, {callee}({args}));')
                else:
                    body.append(f'for (int k = 0; k < {turns}; k++) r += BY({i}, {callee}({args}));')
            shape = rng.random()
            if shape < .2 and arguments:
                body.append(f'if (a0 & 1) {{ OUT({i}); return r ^ 5; }}')
            if shape > .8 and below:
                callee, n = rng.choice(below)
                args = ', '.join(['r & 15'] * n)
                body += [f'OUT({i});', f'return {callee}({args});']
                self.jumped_to.add(int(callee[2:]))
            else:
                body += [f'OUT({i});', 'return r;']
            out.append(f'{linkage}COUNTED long {name}({params})\n{{\n\t' + '\n\t'.join(body) + '\n}\n')
            if out is self.plugin:
                self.in_plugin.add(i)
            below.append((name, arguments))
        callee, n = below[-1]
        i = self.id()
        if out is self.plugin:
            self.in_plugin.add(i)
        args = ', '.join(['x'] * n)
        out.append(f'{linkage}COUNTED long f_{i}(long x)\n{{\n\tIN({i});\n\tlong r = x + BY({i}, {callee}({args}));\n'
                   f'\tOUT({i});\n\treturn r;\n}}\n')
        return f'f_{i}'

    def loops(self):
        top = self.family(self.c)
        self.piece(f'for (long i = 0; i < {self.rng.choice([1, 10, 300, 5000])}; i++) sum += {top}(i);')

    def recursion(self):
        i, j = self.id(), self.id()
        self.c.append(f'''COUNTED long f_{j}(long n);
COUNTED long f_{i}(long n)
{{
	IN({i});
	long r = n <= 0 ? 1 : BY({i}, f_{j}(n - 1)) + 1;
	OUT({i});
	return r;
}}
COUNTED long f_{j}(long n)
{{
	IN({j});
	long r = n <= 0 ? 2 : BY({j}, f_{i}(n - 1)) + (n % 7 ? 0 : BY({j}, f_{i}(n / 7)));
	OUT({j});
	return r;
}}
''')
        self.piece(f'sum += f_{i}({self.rng.choice([5, 100, 2000])});')

    def tails(self):
        rng = self.rng
        a, b, c, d = (self.id() for _ in range(4))
        self.c.append(f'''COUNTED long f_{b}(long n);
COUNTED long f_{a}(long n)
{{
	IN({a});
	if (n <= 0) {{
		OUT({a});
		return 1;
	}}
	OUT({a});
	return f_{b}(n - 1);
}}
COUNTED long f_{b}(long n)
{{
	IN({b});
	OUT({b});
	return f_{a}(n - 1);
}}
static long (*volatile table_{c}[2])(long) = {{f_{a}, f_{b}}};
COUNTED long f_{c}(long n)
{{
	IN({c});
	OUT({c});
	return table_{c}[n & 1](n & 7);
}}
COUNTED long f_{d}(long n)
{{
	IN({d});
	long r = BY({d}, f_{c}(n)) + f_{a}(n);
	OUT({d});
	return r;
}}
''')
        self.no_exit.add(c)
        self.jumped_to |= {a, b}
        self.piece(f'for (long i = 0; i < {rng.choice([3, 100])}; i++) sum += f_{d}(i);')

    def jumps(self):
        rng = self.rng
        a, b, c = (self.id() for _ in range(3))
        depth = rng.randint(0, 6)
        self.uses.add('setjmp.h')
        self.c.append(f'''static jmp_buf to_{a};
COUNTED long f_{a}(long n)
{{
	IN({a});
	if (n <= 0)
		longjmp(to_{a}, 1);
	long r = BY({a}, f_{a}(n - 1)) + 1;
	OUT({a});
	return r;
}}
COUNTED long f_{b}(long n)
{{
	IN({b});
	volatile long r = n;
	if (setjmp(to_{a}) == 0)
		r += BY({b}, f_{a}({depth}));
	OUT({b});
	return r;
}}
COUNTED long f_{c}(long n)
{{
	IN({c});
	long r = BY({c}, f_{b}(n)) * 2;
	OUT({c});
	return r;
}}
''')
        self.piece(f'for (long i = 0; i < {rng.choice([1, 50, 1000])}; i++) sum += f_{c}(i);')

    def exceptions(self):
        rng = self.rng
        a, b, c = (self.id() for _ in range(3))
        self.cc.append(f'''namespace {{ struct Guard_{a} {{ long *n; ~Guard_{a}() {{ ++*n; }} }}; }}
extern "C" COUNTED long f_{a}(long n, long *seen)
{{
	IN({a});
	Guard_{a} g{{seen}};
	if (n <= 0)
		throw n;
	long r = BY({a}, f_{a}(n - 1, seen)) + 1;
	OUT({a});
	return r;
}}
extern "C" COUNTED long f_{b}(long n)
{{
	IN({b});
	long seen = 0;
	try {{
		seen += BY({b}, f_{a}(n, &seen));
	}} catch (long x) {{
		seen += x + 3;
	}}
	OUT({b});
	return seen;
}}
extern "C" COUNTED long f_{c}(long n)
{{
	IN({c});
	long r = BY({c}, f_{b}(n & 7));
	OUT({c});
	return r;
}}
''')
        self.c.append(f'long f_{c}(long);\n')
        self.piece(f'for (long i = 0; i < {rng.choice([1, 20, 200])}; i++) sum += f_{c}(i);')

    def threads(self):
        rng = self.rng
        top = self.family(self.c)
        i = self.id()
        self.uses.add('pthread.h')
        at_once, rounds, turns = rng.choice([(1, 40, 20), (4, 25, 100), (16, 5, 50), (3, 2, 20000), (2, 200, 3)])
        ending = rng.choice(['OUT({0}); return (void *)r;'] * 2 + ['pthread_exit((void *)r);'])
        self.c.append(f'''COUNTED void *f_{i}(void *arg)
{{
	IN({i});
	long r = 0;
	for (long k = 0; k < {turns}; k++)
		r += BY({i}, {top}(k + (long)arg));
	{ending.format(i)}
}}
''')
        self.piece(f'''for (int round = 0; round < {rounds}; round++) {{
		pthread_t t[{at_once}];
		void *r;
		for (long k = 0; k < {at_once}; k++) pthread_create(&t[k], NULL, f_{i}, (void *)k);
		for (int k = 0; k < {at_once}; k++) {{ pthread_join(t[k], &r); sum += (long)r; }}
	}}''')

    def forks(self):
        rng = self.rng
        top = self.family(self.c)
        n, turns = rng.choice([(1, 100), (10, 20), (30, 3)])
        ending = rng.choice(['_exit(7)', 'exit(7)', 'raise(SIGKILL)', 'abort()'])
        self.uses |= {'sys/wait.h', 'signal.h', 'sys/resource.h', 'sys/syscall.h'}
        # past libc, which does not learn of the child then; chosen so that a seed's other choices stay as they were
        fork = random.Random(f'{top} {n} {turns} {ending}').choice(['fork()'] * 5 + ['(pid_t)syscall(SYS_fork)', '(pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L)'])
        grand = f'if (i % 3 == 0 && fork() == 0) {{ sum += {top}(99); _exit(0); }}' if rng.random() < .4 else ''
        self.piece(f'''fflush(stdout);
	for (int i = 0; i < {n}; i++) {{
		int status;
		pid_t child = {fork};
		if (child == 0) {{
			setrlimit(RLIMIT_CORE, &(struct rlimit){{0, 0}});
			for (long k = 0; k < {turns}; k++) sum += {top}(k);
			{grand}
			while (wait(NULL) > 0) ;
			{ending};
		}}
		waitpid(child, &status, 0);
		sum += status;
		{rng.choice(['', f'sum += {top}(i);'])}
	}}''')

    def vforks(self):
        rng = self.rng
        top = self.family(self.c)
        self.uses.add('sys/wait.h')
        then = rng.choice(['', 'execl("/bin/true", "true", (char *)0);'])
        self.piece(f'''for (int i = 0; i < {rng.choice([1, 8])}; i++) {{
		int status;
		pid_t child = vfork();
		if (child == 0) {{
			{top}(3);
			{then}
			_exit(0);
		}}
		waitpid(child, &status, 0);
		sum += status + {top}(i);
	}}''')

    def execs(self):
        rng = self.rng
        top = self.family(self.c)
        k = len(self.pieces)
        self.uses.add('sys/wait.h')
        self.start += f'''
	if (argc > 2 && atoi(argv[1]) == {k}) {{
		long left = atol(argv[2]);
		for (long i = 0; i < {rng.choice([1, 50])}; i++) sum += {top}(i);
		if (left > 0) {{
			char n[16];
			snprintf(n, sizeof(n), "%ld", left - 1);
			execl(oracle_again(), argv[0], argv[1], n, (char *)0);
		}}
		return (int)(sum & 63);
	}}'''
        self.uses.add('follow')
        self.piece(f'''for (int i = 0; i < {rng.choice([1, 3])}; i++) {{
		int status;
		pid_t child = {rng.choice(['fork', 'vfork'])}();
		if (child == 0) {{
			execl(oracle_again(), "again", "{k}", "{rng.choice([0, 2])}", (char *)0);
			_exit(97);
		}}
		waitpid(child, &status, 0);
		sum += status;
	}}''')

    def loads(self):
        rng = self.rng
        if self.static:
            return self.loops()
        top = self.family(self.plugin)
        first = self.id()
        self.in_plugin.add(first)
        construct = rng.random() < .5
        if construct:
            self.plugin.append(f'''COUNTED long f_{first}(void)
{{
	IN({first});
	OUT({first});
	return 1;
}}
__attribute__((constructor)) static void construct_{first}(void) {{ f_{first}(); }}
__attribute__((destructor)) static void destruct_{first}(void) {{ f_{first}(); }}
''')
        self.uses.add('dlfcn.h')
        rounds, turns = rng.choice([(1, 100), (30, 10), (200, 2), (5, 1000)])
        self.piece(f'''for (int i = 0; i < {rounds}; i++) {{
		void *h = dlopen(getenv("ORACLE_PLUGIN"), {rng.choice(['RTLD_NOW', 'RTLD_LAZY'])});
		long (*top)(long) = h ? (long (*)(long))dlsym(h, "{top}") : NULL;
		if (!top) {{ puts(dlerror()); return 96; }}
		for (long k = 0; k < {turns}; k++) sum += top(k);
		{rng.choice(['dlclose(h);'] * 3 + [''])}
	}}''')

    def signals(self):
        rng = self.rng
        top, base = self.family(self.c), self.family(self.c)
        i = self.id()
        self.uses |= {'signal.h', 'sys/time.h'}
        flags = rng.choice(['0', 'SA_NODEFER', 'SA_ONSTACK'])
        self.c.append(f'''static volatile long handled_{i};
COUNTED void f_{i}(int sig)
{{
	unsigned caller = oracle_caller; /* of the call that it came into */
	oracle_caller = 0;
	IN({i});
	handled_{i} = BY({i}, {top}(handled_{i} & 3));
	OUT({i});
	oracle_caller = caller;
}}
''')
        how = rng.random()
        if how < .5:
            work = f'for (long k = 0; k < {rng.choice([10, 1000])}; k++) {{ raise(SIGUSR1); sum += {base}(k); }}'
            sig = 'SIGUSR1'
        else:
            sig = 'SIGALRM'
            work = f'''setitimer(ITIMER_REAL, &(struct itimerval){{{{0, {rng.choice([97, 501])}}}, {{0, 100}}}}, NULL);
	for (long k = 0; k < {rng.choice([20000, 100000])}; k++) sum += {base}(k);
	setitimer(ITIMER_REAL, &(struct itimerval){{0}}, NULL);'''
        stack = '''static char other[65536];
	sigaltstack(&(stack_t){.ss_sp = other, .ss_size = sizeof(other)}, NULL);''' if flags == 'SA_ONSTACK' else ''
        self.piece(f'''{stack}
	sigaction({sig}, &(struct sigaction){{.sa_handler = f_{i}, .sa_flags = SA_RESTART | {flags}}}, NULL);
	{work}
	signal({sig}, SIG_IGN);''')

    def contexts(self):
        rng = self.rng
        first = self.next_id + 1
        top = self.family(self.c)
        i, j = self.id(), self.id()
        self.switched |= set(range(first, self.next_id + 1))
        self.uses.add('ucontext.h')
        self.c.append(f'''static ucontext_t main_{i}, other_{i};
static long got_{i};
COUNTED void f_{j}(long n)
{{
	IN({j});
	got_{i} += {top}(n);
	swapcontext(&other_{i}, &main_{i});
	got_{i} += {top}(n + 1);
	OUT({j});
}}
COUNTED void f_{i}(void)
{{
	IN({i});
	for (int k = 0; k < 10; k++)
		f_{j}(k);
	OUT({i});
}}
''')
        stack = rng.choice(['static char stack[65536];', 'char stack[65536];',
                            'char *stack = malloc(65536);'])
        self.piece(f'''{stack}
	getcontext(&other_{i});
	other_{i}.uc_stack.ss_sp = stack;
	other_{i}.uc_stack.ss_size = 65536;
	other_{i}.uc_link = &main_{i};
	makecontext(&other_{i}, f_{i}, 0);
	for (int k = 0; k < 11; k++)
		swapcontext(&main_{i}, &other_{i});
	sum += got_{i};''')

    def ifuncs(self):
        i, j = self.id(), self.id()
        self.c.append(f'''COUNTED static long f_{i}(long n)
{{
	IN({i});
	OUT({i});
	return n * 3;
}}
static long (*resolve_{i}(void))(long) {{ return f_{i}; }}
long public_{i}(long) __attribute__((ifunc("resolve_{i}")));
COUNTED long f_{j}(long n)
{{
	IN({j});
	long r = BY({j}, public_{i}(n)) + 1;
	OUT({j});
	return r;
}}
''')
        self.piece(f'for (long i = 0; i < 100; i++) sum += f_{j}(i);')

    def outlives(self):
        first = self.next_id + 1
        top = self.family(self.c)
        self.late |= set(range(first, self.next_id + 1))
        self.uses |= {'sys/wait.h', 'outlives', 'follow'}
        self.piece(f'''fflush(stdout);
	if (fork() == 0) {{
		if (fork() == 0) {{
			setsid();
			for (long k = 0; k < 10; k++) {{ usleep(10000); sum += {top}(k); }}
			_exit(0);
		}}
		_exit(0);
	}}
	wait(NULL);
	sum += {top}(1);''')

    def calls_libc(self):
        top = self.family(self.c)
        i = self.id()
        self.uses.add('string.h')
        self.c.append(f'''static int compare_{i}(const void *, const void *);
COUNTED int f_{i}(const void *a, const void *b)
{{
	IN({i});
	int r = compare_{i}(a, b);
	OUT({i});
	return r;
}}
static int compare_{i}(const void *a, const void *b) {{ return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b; }}
''')
        self.piece(f'''int array[500];
	char text[128], *copy;
	for (int i = 0; i < 500; i++) array[i] = (int)({top}(i) * 7919 % 1009);
	qsort(array, 500, sizeof(*array), f_{i});
	for (int i = 0; i < 500; i++) {{
		snprintf(text, sizeof(text), "%d %s", array[i], "text");
		copy = strdup(text);
		sum += (long)strlen(copy);
		free(copy);
	}}''')

    def background(self):
        """threads that go on across phases"""
        rng = self.rng
        if self.start_background:
            return self.loops()
        first = self.next_id + 1
        top = self.family(self.c)
        i = self.id()
        self.loose |= set(range(first, self.next_id + 1))
        self.uses.add('pthread.h')
        self.workers = rng.choice([1, 2, 4])
        pause = rng.choice(['', 'usleep(50);', 'sched_yield();'])
        self.uses.add('sched.h')
        most = rng.choice([1000, 50000])
        self.c.append(f'''static volatile int over;
COUNTED void *f_{i}(void *arg)
{{
	IN({i});
	long r = 0;
	for (long n = 0; !over; n++) {{
		if (n > {most}) usleep(1000); /* what takes long is not asked about */
		r += BY({i}, {top}(1));
		{pause}
	}}
	OUT({i});
	return (void *)r;
}}
''')
        self.start_background = f'''static pthread_t worker[{self.workers}];
	for (int k = 0; k < {self.workers}; k++) pthread_create(&worker[k], NULL, f_{i}, NULL);'''
        self.stop = f'over = 1;\n\tfor (int k = 0; k < {self.workers}; k++) pthread_join(worker[k], NULL);'

    start_background = ''
    workers = 0

    def piece(self, text):
        self.pieces.append(text)

    KINDS = ['loops', 'recursion', 'tails', 'jumps', 'exceptions', 'threads', 'forks', 'vforks', 'execs', 'loads',
             'signals', 'contexts', 'ifuncs', 'outlives', 'calls_libc', 'background']

    def make(self):
        """returns {file name: source}"""
        rng = self.rng
        kinds = [k for k in self.KINDS if not self.allow or k in self.allow]
        chosen = []
        while self.next_id < 180 and len(chosen) < rng.randint(2, 6):
            kind = rng.choice(kinds)
            chosen.append(kind)
            getattr(self, kind)()
        self.chosen = chosen
        if not self.pieces:
            self.loops()
        nested = self.id()  # a call that is open across phases
        body = []
        for k, text in enumerate(self.pieces):
            body.append(f'static int piece_{k}(int argc, char **argv)\n{{\n\t{text}\n\treturn 0;\n}}\n')
        phases = []
        for k in range(len(self.pieces)):
            phases.append(f'if ((bad = piece_{k}(argc, argv))) return bad;\n\toracle_barrier();')
        order = '\n\t'.join(phases)
        head = '\n'.join(f'#include <{u}>' for u in sorted(self.uses) if u.endswith('.h'))
        main = f'''/* made from a seed */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
{head}
#include "runtime.h"
static long sum;
{''.join(self.c)}
{''.join(body)}
COUNTED static int f_{nested}(int argc, char **argv)
{{
	int bad;
	IN({nested});
	{order}
	OUT({nested});
	return 0;
}}
int main(int argc, char **argv)
{{
	int bad;
	{self.start}
	{self.start_background}
	oracle_barrier();
	bad = f_{nested}(argc, argv);
	{self.stop}
	printf("%ld\\n", sum);
	return bad ? bad : 3;
}}
'''
        files = {'main.c': main}
        self.phases = 1 + len(self.pieces)
        if self.cc:
            files['more.cc'] = '#include "runtime.h"\n' + ''.join(self.cc)
        if self.plugin:
            files['plugin.c'] = '#include "runtime.h"\n' + ''.join(self.plugin)
        return files
