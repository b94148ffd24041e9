// Streams of the stand-in driver: work is queued, and runs when CUDA permits it and a
// seed wants it. Part of fakecuda.c; everything here is called under its lock.
//
// A stream is prompt, and runs what it may at every call of the driver, or late, and
// runs only what somebody waits for, with all that this needs. FAKECUDA_ORDER chooses:
// prompt (the default), late, or a number, the seed of a mixture.
//
// Beside that, every operation has a vector clock: it joins the clocks of what it waits
// for and of what the host has waited for. Two operations that touch a byte, one of
// them writing, and of which neither is in the other's clock, are a violation in every
// schedule, whatever order they happened to run in. Host memory that an operation reads
// must keep its bytes until the host has waited for that operation: a sum over it is
// taken when the operation is queued, when it runs, and when the host waits.
//
// The host has one clock, not one for each thread: what one thread has waited for
// counts for all.

enum { STREAMS = 192, HOST = 0, LEGACY = 1, THREADS = 2, FIRST = THREADS + 24, HISTORY = 512 };

struct span { u64 lo, hi; };
struct spans { struct span *at; u32 n, room; };

enum op_kind { COPY, SET, KERNEL, RECORD, WAIT, TOUCH };
struct op {
    enum op_kind kind;
    u64 a, b, n;
    int f;
    u8 *params; // of a kernel
    u32 grid, block;
    void *call; // of a kernel's PTX
    int stream, prompt, done, refs;
    struct op **deps, *next; // next: of all, in the order of the calls
    int dep_count;
    u32 clock[STREAMS];
    struct spans reads, writes; // known when it has run
    u64 sum;                    // of the host memory that it reads
    struct spans host;          // that memory
    double at;
};
struct event { u32 magic; int flags, asked; u64 recorded; struct op *op; };
struct stream { u32 magic; int flags, number; };

static struct { int used, blocking, late, asked; u32 seq; struct op *last; } lanes[STREAMS];
static struct op *queue, **queue_tail = &queue, *history[HISTORY];
static int history_n, prompt_n; // prompt_n: operations of prompt streams that have not run
static u32 host_clock[STREAMS];
static u64 draws = 1;
static int order_late, order_mixed; // else prompt
static __thread int thread_number;
static int thread_numbers;

static void violation(const char *fmt, ...);
static void run_op(struct op *o);
static void count_link(struct op *o); // the host memory that it has read crossed the link
static void host_reads(struct op *o); // fills o->host
static void op_spans(struct op *o);   // fills o->reads and o->writes
static const char *op_name(const struct op *o);

static u32 draw(void) {
    draws += 0x9e3779b97f4a7c15ull;
    u64 z = draws;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (u32)(z >> 32);
}

static void order_by(const char *text) {
    order_late = !strcmp(text, "late");
    order_mixed = text[0] >= '0' && text[0] <= '9';
    if (order_mixed) draws = strtoull(text, 0, 10);
    for (int i = LEGACY; i < STREAMS; i++) lanes[i].late = order_late || (order_mixed && draw() & 1);
}

static void span_add(struct spans *s, u64 lo, u64 n) {
    if (!n) return;
    if (s->n && lo <= s->at[s->n - 1].hi && lo >= s->at[s->n - 1].lo) {
        if (lo + n > s->at[s->n - 1].hi) s->at[s->n - 1].hi = lo + n;
        return;
    }
    if (s->n == s->room) s->at = realloc(s->at, (s->room = s->room ? 2 * s->room : 4) * sizeof *s->at);
    s->at[s->n++] = (struct span){lo, lo + n};
}
static int span_order(const void *a, const void *b) {
    const struct span *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}
static void span_sort(struct spans *s) {
    qsort(s->at, s->n, sizeof *s->at, span_order);
    u32 k = 0;
    for (u32 i = 1; i < s->n; i++) {
        if (s->at[i].lo <= s->at[k].hi) {
            if (s->at[i].hi > s->at[k].hi) s->at[k].hi = s->at[i].hi;
        } else s->at[++k] = s->at[i];
    }
    if (s->n) s->n = k + 1;
}
static u64 span_meet(const struct spans *a, const struct spans *b) { // a byte of both, or 0
    for (u32 i = 0, k = 0; i < a->n && k < b->n;) {
        u64 lo = a->at[i].lo > b->at[k].lo ? a->at[i].lo : b->at[k].lo;
        u64 hi = a->at[i].hi < b->at[k].hi ? a->at[i].hi : b->at[k].hi;
        if (lo < hi) return lo;
        if (a->at[i].hi < b->at[k].hi) i++; else k++;
    }
    return 0;
}
static u64 span_sum(const struct spans *s) {
    u64 h = 0xcbf29ce484222325ull;
    for (u32 i = 0; i < s->n; i++)
        for (u64 p = s->at[i].lo; p < s->at[i].hi;) {
            u64 w = 0, n = s->at[i].hi - p < 8 ? s->at[i].hi - p : 8;
            memcpy(&w, (void *)p, n);
            h = (h ^ w) * 0x100000001b3ull, h ^= h >> 29;
            p += n;
        }
    return h;
}

static void op_release(struct op *o) {
    if (!o || --o->refs) return;
    free(o->deps), free(o->reads.at), free(o->writes.at), free(o->host.at), free(o->params), free(o->call), free(o);
}
static struct op *op_hold(struct op *o) {
    if (o) o->refs++;
    return o;
}
static void clock_join(u32 *to, const u32 *from) {
    for (int i = 0; i < STREAMS; i++) if (from[i] > to[i]) to[i] = from[i];
}
// before tells whether a is ordered before what has the clock.
static int before(const struct op *a, const u32 *clock) { return a->clock[a->stream] <= clock[a->stream]; }

// kept tells whether the host memory that a read still has its bytes.
static void kept(struct op *o, const char *until) {
    if (o->host.n && span_sum(&o->host) != o->sum) {
        violation("host memory that %s reads was written %s", op_name(o), until);
        o->host.n = 0;
    }
}

// forget drops what every operation to come, and every one still queued, follows; and
// the oldest quarter in any case.
static void forget(void) {
    int k = 0;
    for (int i = 0; i < history_n; i++) {
        struct op *h = history[i];
        int drop = before(h, host_clock);
        for (struct op *o = queue; drop && o; o = o->next) drop = o->done || before(h, o->clock);
        if (drop || i < HISTORY / 4) op_release(h);
        else history[k++] = h;
    }
    history_n = k;
}

// remember compares what an operation touches with all that it is not ordered with.
static void remember(struct op *o) {
    op_spans(o);
    span_sort(&o->reads), span_sort(&o->writes);
    if (!o->reads.n && !o->writes.n) return;
    count_link(o);
    for (int i = 0; i < history_n; i++) {
        struct op *h = history[i];
        if (before(h, o->clock) || before(o, h->clock)) continue;
        u64 at = span_meet(&o->writes, &h->writes);
        if (!at) at = span_meet(&o->writes, &h->reads);
        if (!at) at = span_meet(&o->reads, &h->writes);
        if (at) violation("%s (stream %d) and %s (stream %d) touch byte %#llx: nothing orders them", op_name(h), h->stream, op_name(o), o->stream, (unsigned long long)at);
    }
    if (history_n == HISTORY) forget();
    history[history_n++] = op_hold(o);
}

static void run(struct op *o) { // with all that it needs
    if (o->done) return;
    for (int i = 0; i < o->dep_count; i++) run(o->deps[i]);
    kept(o, "before it ran");
    remember(o);
    run_op(o);
    o->done = 1;
    prompt_n -= o->prompt;
    for (int i = 0; i < o->dep_count; i++) op_release(o->deps[i]);
    free(o->deps);
    o->deps = 0, o->dep_count = 0;
}
static int may(const struct op *o) {
    for (int i = 0; i < o->dep_count; i++) if (!o->deps[i]->done) return 0;
    return 1;
}
static void prompt(void) { // prompt streams run what they may
    for (int again = prompt_n > 0; again;) {
        again = 0;
        for (struct op *o = queue; o; o = o->next)
            if (!o->done && o->prompt && may(o)) run(o), again = 1;
    }
    while (queue && queue->done) {
        struct op *o = queue;
        queue = o->next;
        if (!queue) queue_tail = &queue;
        op_release(o);
    }
}

// waited is called when the host knows that an operation is done.
static void waited(struct op *o) {
    if (!o) return;
    op_hold(o);
    run(o);
    for (int i = 0; i < history_n; i++)
        if (!before(history[i], host_clock) && before(history[i], o->clock)) kept(history[i], "before the host waited for it");
    clock_join(host_clock, o->clock);
    op_release(o);
    prompt();
}

static void depend(struct op *o, struct op *on) {
    if (!on) return;
    clock_join(o->clock, on->clock);
    if (on->done) return;
    o->deps = realloc(o->deps, (o->dep_count + 1) * sizeof *o->deps);
    o->deps[o->dep_count++] = op_hold(on);
}

// lane is the number of a stream's handle: 0 and 1 are the legacy default stream, 2 is
// that of the calling thread.
static int lane(void *h) {
    u64 n = (u64)h;
    if (n <= 1) return LEGACY;
    if (n == 2) {
        if (!thread_number) thread_number = thread_numbers++ % (FIRST - THREADS) + THREADS;
        return thread_number;
    }
    struct stream *s = h;
    if (s->magic != STREAM) {
        violation("use of a stream that is none");
        return -1;
    }
    return s->number;
}

// work is the lane of a stream that work is given to.
static int work(void *h) {
    if (captured && h == captured) {
        violation("work for a stream that is being captured");
        return -1;
    }
    return lane(h);
}

static struct op *append(int s, struct op proto, struct op *wait) {
    struct op *o = malloc(sizeof *o);
    *o = proto;
    o->stream = s, o->refs = 1;
    prompt_n += o->prompt = !lanes[s].late;
    depend(o, lanes[s].last);
    depend(o, wait);
    if (s == LEGACY) {
        for (int i = THREADS; i < STREAMS; i++) if (lanes[i].used && lanes[i].blocking) depend(o, lanes[i].last);
    } else if (lanes[s].blocking) depend(o, lanes[LEGACY].last);
    clock_join(o->clock, host_clock);
    o->clock[s] = ++lanes[s].seq, lanes[s].asked = 0;
    host_reads(o);
    span_sort(&o->host);
    if (o->host.n) o->sum = span_sum(&o->host);
    op_release(lanes[s].last);
    lanes[s].last = op_hold(o);
    *queue_tail = o, queue_tail = &o->next;
    return o;
}

static int push(void *h, struct op proto) {
    int s = work(h);
    if (s < 0) return 400;
    append(s, proto, 0);
    prompt();
    return 0;
}

static int lane_make(int flags) {
    for (int i = LEGACY; i < FIRST; i++) lanes[i].used = lanes[i].blocking = 1;
    for (int i = FIRST; i < STREAMS; i++)
        if (!lanes[i].used && (!lanes[i].last || before(lanes[i].last, host_clock))) {
            lanes[i].used = 1, lanes[i].blocking = !(flags & 1);
            lanes[i].late = order_late || (order_mixed && draw() & 1);
            return i;
        }
    return -1;
}


// answer is what a query gets: not yet, three times at most, and then it is run.
static int answer(struct op *o, int *asked) {
    if (!o) return 0;
    if (!o->done && (*asked)++ < 3) return 600;
    waited(o);
    return 0;
}

// settle runs everything that touches a piece of memory that is given back, and says
// so if the host has not waited for it.
static void settle(u64 lo, u64 n, const char *how) {
    struct span piece = {lo, lo + n};
    struct spans all = {&piece, 1, 1};
    for (struct op *o = queue; o; o = o->next) {
        if (o->done || before(o, host_clock)) continue;
        struct op probe = {.kind = o->kind, .a = o->a, .b = o->b, .n = o->n, .f = o->f, .params = o->params};
        op_spans(&probe);
        span_sort(&probe.reads), span_sort(&probe.writes);
        if (span_meet(&probe.reads, &all) || span_meet(&probe.writes, &all)) {
            violation("%s of memory that %s still has to touch", how, op_name(o));
            run(o);
        }
        free(probe.reads.at), free(probe.writes.at);
    }
    for (int i = 0; i < history_n; i++)
        if (!before(history[i], host_clock) && (span_meet(&history[i]->reads, &all) || span_meet(&history[i]->writes, &all)))
            violation("%s of memory that %s touches; the host has not waited for it", how, op_name(history[i]));
}
