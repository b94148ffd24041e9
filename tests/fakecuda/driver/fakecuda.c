// A libcuda.so.1 without a GPU, for tests: streams are queues (streams.h), device memory
// is host memory, kernels are the C functions below. It answers as the driver does and
// keeps a list of what a correct program never does (fakecuda_report).
//
// fakecuda_configure sets, as does the environment at the first call:
//   FAKECUDA_ORDER=prompt|late|SEED   when the streams run what is queued (streams.h)
//   PTXCPU_ORDER=0|1|2    blocks and threads of the PTX ascending, descending, random
//   FAKECUDA_FAIL=name:n:code  the n-th call of a function (or *) fails
//   FAKECUDA_MODE=stub|nodevice|oldptx|noregister|noreadonly|cubin
// Build with -DFAKECUDA_PTX and what ptxcpu makes of kernels.ptx to run that in their
// place, every access checked; with -DFAKECUDA_MISSING for a library without cuMemHostRegister_v2, with
// -DFAKECUDA_BATCH=1 or 2 for one with the CUDA 12.8 or 13 form of cuMemcpyBatchAsync.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef FAKECUDA_PTX
#include "ptxcpu_driver.h"
#endif

#define API __attribute__((visibility("default")))
typedef int32_t CUresult;
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

// ---- state, all under one lock ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char report[8192];
static char mode[64], fail_name[64];
static long fail_at, fail_seen;
static int walk; // order of blocks and threads of the PTX
static int fail_code, configured, initialised, capturing;
static void *captured; // the stream that is captured, if a test named one

struct range { u64 base, size; int kind; }; // 1 registered, 2 host allocated, 3 device
static struct range ranges[4096];
static int range_count;
static struct { char name[48]; long calls; } counts[96];
static int count_n;
static int retained, streams, events, modules, copies_batched;
static char context; // its address is the primary context
static __thread void *contexts[8]; // of the thread, a stack
static __thread int context_n;
#define current (context_n ? contexts[context_n - 1] : 0)
static __thread int thread_mode; // of capture

enum { EVENT = 0x45564e54, STREAM = 0x5354524d, MODULE = 0x4d4f4455 };
#include "streams.h"

static void violation(const char *fmt, ...) {
    size_t n = strlen(report);
    va_list a;
    va_start(a, fmt);
    vsnprintf(report + n, sizeof report - n, fmt, a);
    va_end(a);
    n = strlen(report);
    if (n + 1 < sizeof report) strcpy(report + n, "\n");
}

static void configure(const char *key, const char *value) {
    if (!value) value = "";
    if (!strcmp(key, "FAKECUDA_ORDER")) order_by(value);
    if (!strcmp(key, "PTXCPU_ORDER")) walk = atoi(value);
    if (!strcmp(key, "FAKECUDA_MODE")) snprintf(mode, sizeof mode, "%s", value);
    if (!strcmp(key, "FAKECUDA_FAIL")) {
        fail_name[0] = 0, fail_at = fail_seen = 0, fail_code = 999;
        sscanf(value, "%63[^:]:%ld:%d", fail_name, &fail_at, &fail_code);
    }
}

// enter counts a call and answers what it must fail with.
static int enter(const char *name, int context_needed, int unsafe) {
    if (!configured) {
        configured = 1;
        configure("FAKECUDA_ORDER", getenv("FAKECUDA_ORDER"));
        configure("FAKECUDA_MODE", getenv("FAKECUDA_MODE"));
        configure("FAKECUDA_FAIL", getenv("FAKECUDA_FAIL"));
    }
    int i = 0;
    while (i < count_n && strcmp(counts[i].name, name)) i++;
    if (i == count_n) snprintf(counts[count_n++].name, 48, "%s", name);
    counts[i].calls++;
    if (fail_at && (!strcmp(fail_name, "*") || !strcmp(fail_name, name)) && ++fail_seen == fail_at) return fail_code;
    if (!initialised && strcmp(name, "cuInit") && strcmp(name, "cuDriverGetVersion")) return 3;
    if (context_needed && (current != &context || !retained)) {
        violation("%s without the context on its thread", name);
        return 201;
    }
    if (unsafe && capturing && thread_mode != 2) {
        violation("%s breaks a capture", name);
        return 900;
    }
    return 0;
}
#define ENTER(name, context_needed, unsafe) \
    pthread_mutex_lock(&lock); \
    { int r_ = enter(name, context_needed, unsafe); if (r_) { pthread_mutex_unlock(&lock); return r_; } }
#define LEAVE(code) do { int c_ = (code); pthread_mutex_unlock(&lock); return c_; } while (0)

static struct range *find(u64 at, u64 n, int host) {
    for (int i = 0; i < range_count; i++) {
        struct range *r = &ranges[i];
        if ((r->kind < 3) == host && at >= r->base && at - r->base < r->size && n <= r->size - (at - r->base)) return r;
    }
    return 0;
}
// covered tells whether all bytes are in registered memory, of one or more registrations.
static int covered(u64 at, u64 n) {
    while (n) {
        struct range *r = find(at, 1, 1);
        if (!r) r = find(at, 1, 0);
        if (!r) return 0;
        u64 m = r->base + r->size - at;
        if (m >= n) return 1;
        at += m, n -= m;
    }
    return 1;
}
static int add(u64 base, u64 size, int kind) {
    for (int i = 0; i < range_count; i++)
        if (base < ranges[i].base + ranges[i].size && ranges[i].base < base + size) return 712;
    if (range_count == 4096) return 2;
    ranges[range_count++] = (struct range){base, size, kind};
    return 0;
}
static u64 drop(u64 base, int kind) { // its size, or 0
    for (int i = 0; i < range_count; i++)
        if (ranges[i].base == base && ranges[i].kind == kind) {
            u64 n = ranges[i].size;
            ranges[i] = ranges[--range_count];
            return n;
        }
    return 0;
}

// ---- events and streams ----

static void run_kernel(struct op *o);
static void run_ptx(struct op *o);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void run_op(struct op *o) {
    switch (o->kind) {
    case COPY:
        // Host memory on either side must still be pinned when the copy happens.
        if (!covered(o->a, o->n) || !covered(o->b, o->n)) {
            violation("a copy of %llu bytes runs on memory that was given back", (unsigned long long)o->n);
            return;
        }
        memcpy((void *)o->a, (void *)o->b, o->n);
        break;
    case SET: memset((void *)o->a, o->f, o->n); break;
    case KERNEL: run_kernel(o); break;
    case RECORD: o->at = now(); break;
    case TOUCH:
        if (!o->b) break;
        if (covered(o->a, o->n)) memcpy((void *)o->b, (void *)o->a, o->n);
        else violation("a consumer's kernel reads memory that was given back");
        break;
    case WAIT: break;
    }
}

static u64 link_bytes;
static void count_link(struct op *o) {
    for (u32 i = 0; i < o->reads.n; i++)
        if (find(o->reads.at[i].lo, 1, 1)) link_bytes += o->reads.at[i].hi - o->reads.at[i].lo;
}

static struct event *event_of(void *h) {
    struct event *e = h;
    if (!e || e->magic != EVENT) {
        violation("use of an event that is none");
        return 0;
    }
    return e;
}

// ---- control from tests ----

API void fakecuda_configure(const char *key, const char *value) {
    pthread_mutex_lock(&lock);
    configured = 1;
    configure(key, value);
    pthread_mutex_unlock(&lock);
}
// fakecuda_reset forgets counts, violations and settings, but nothing that is alive.
API void fakecuda_reset(void) {
    pthread_mutex_lock(&lock);
    report[0] = mode[0] = fail_name[0] = 0;
    walk = fail_at = fail_seen = capturing = count_n = copies_batched = link_bytes = 0, captured = 0;
    order_by("prompt");
    configured = 1;
    memset(counts, 0, sizeof counts);
    pthread_mutex_unlock(&lock);
}
API void fakecuda_report(char *out, u64 n) {
    pthread_mutex_lock(&lock);
    snprintf(out, n, "%s", report);
    pthread_mutex_unlock(&lock);
}
// fakecuda_alive says what was not given back.
API void fakecuda_alive(char *out, u64 n) {
    pthread_mutex_lock(&lock);
    int kinds[4] = {0};
    for (int i = 0; i < range_count; i++) kinds[ranges[i].kind]++;
    snprintf(out, n, "registered %d, host %d, device %d, streams %d, events %d, modules %d, contexts %d", kinds[1], kinds[2], kinds[3], streams, events, modules, retained);
    pthread_mutex_unlock(&lock);
}
// fakecuda_calls lists "name count" lines.
API void fakecuda_calls(char *out, u64 n) {
    pthread_mutex_lock(&lock);
    out[0] = 0;
    for (int i = 0; i < count_n; i++) {
        size_t k = strlen(out);
        snprintf(out + k, n - k, "%s %ld\n", counts[i].name, counts[i].calls);
    }
    pthread_mutex_unlock(&lock);
}
// fakecuda_capture begins (1) or ends (0) a graph capture in global mode.
API void fakecuda_capture(int on) {
    pthread_mutex_lock(&lock);
    capturing = on, captured = 0;
    pthread_mutex_unlock(&lock);
}
// fakecuda_capture_on begins one of a stream, which nobody else may use meanwhile.
API void fakecuda_capture_on(void *stream) {
    pthread_mutex_lock(&lock);
    capturing = 1, captured = stream;
    pthread_mutex_unlock(&lock);
}
API int fakecuda_batched(void) { return copies_batched; }
// fakecuda_link is the bytes of host memory that copies and kernels have read.
API u64 fakecuda_link(void) { return link_bytes; }
// fakecuda_touch queues a kernel of a consumer, which reads or writes memory.
API int fakecuda_touch(void *stream, u64 at, u64 n, int write) {
    pthread_mutex_lock(&lock);
    int r = push(stream, (struct op){.kind = TOUCH, .a = at, .n = n, .f = write});
    pthread_mutex_unlock(&lock);
    return r;
}
// fakecuda_read queues one that copies memory of the device to memory nobody else looks at.
API int fakecuda_read(void *stream, u64 at, u64 n, void *to) {
    pthread_mutex_lock(&lock);
    int r = push(stream, (struct op){.kind = TOUCH, .a = at, .b = (u64)to, .n = n});
    pthread_mutex_unlock(&lock);
    return r;
}
// fakecuda_finish waits for all streams.
API void fakecuda_finish(void) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < STREAMS; i++) waited(lanes[i].last);
    pthread_mutex_unlock(&lock);
}
// fakecuda_drop destroys a consumer's stream.
API void fakecuda_drop(struct stream *s) {
    pthread_mutex_lock(&lock);
    lanes[s->number].used = 0;
    s->magic = 0;
    streams--;
    pthread_mutex_unlock(&lock);
}
// fakecuda_stream makes a consumer's stream: 1 non-blocking, 0 blocking.
API void *fakecuda_stream(u32 flags) {
    pthread_mutex_lock(&lock);
    struct stream *s = calloc(1, sizeof *s);
    *s = (struct stream){.magic = STREAM, .flags = flags, .number = lane_make(flags)};
    streams++;
    pthread_mutex_unlock(&lock);
    return s;
}

// ---- the driver's functions ----

API CUresult cuInit(u32 flags) {
    ENTER("cuInit", 0, 0);
    if (flags) LEAVE(1);
    if (!strcmp(mode, "stub")) LEAVE(34);
    if (!strcmp(mode, "nodevice")) LEAVE(100);
    initialised = 1;
    LEAVE(0);
}
API CUresult cuDriverGetVersion(int32_t *v) { ENTER("cuDriverGetVersion", 0, 0); *v = !strcmp(mode, "oldptx") ? 10020 : 13000; LEAVE(0); }
API CUresult cuDeviceGetCount(int32_t *n) { ENTER("cuDeviceGetCount", 0, 0); *n = 1; LEAVE(0); }
API CUresult cuDeviceGet(int32_t *d, int32_t ordinal) { ENTER("cuDeviceGet", 0, 0); *d = 7; LEAVE(ordinal ? 101 : 0); }
static int device(int32_t d) { return d == 7 ? 0 : 101; }
API CUresult cuDeviceGetName(char *s, int32_t n, int32_t d) { ENTER("cuDeviceGetName", 0, 0); snprintf(s, n, "Fake GPU"); LEAVE(device(d)); }
API CUresult cuDeviceGetPCIBusId(char *s, int32_t n, int32_t d) { ENTER("cuDeviceGetPCIBusId", 0, 0); snprintf(s, n, "0000:FF:1F.7"); LEAVE(device(d)); }
API CUresult cuDeviceGetUuid_v2(char *s, int32_t d) { ENTER("cuDeviceGetUuid_v2", 0, 0); for (int i = 0; i < 16; i++) s[i] = i; LEAVE(device(d)); }
API CUresult cuDeviceTotalMem_v2(u64 *n, int32_t d) { ENTER("cuDeviceTotalMem_v2", 0, 0); *n = 1ull << 30; LEAVE(device(d)); }
API CUresult cuDeviceGetAttribute(int32_t *v, int32_t a, int32_t d) {
    ENTER("cuDeviceGetAttribute", 0, 0);
    static const int32_t table[][2] = {{16, 20}, {19, 1}, {40, 3}, {41, 1}, {75, 9}, {76, 0}, {91, 1}, {99, 1}, {113, 1}};
    *v = 0;
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) if (table[i][0] == a) *v = table[i][1];
    if (a == 113 && !strcmp(mode, "noreadonly")) *v = 0;
    LEAVE(a > 200 ? 1 : device(d));
}
API CUresult cuDevicePrimaryCtxRetain(void **c, int32_t d) { ENTER("cuDevicePrimaryCtxRetain", 0, 0); retained++; *c = &context; LEAVE(device(d)); }
API CUresult cuDevicePrimaryCtxRelease_v2(int32_t d) {
    ENTER("cuDevicePrimaryCtxRelease_v2", 0, 0);
    if (retained-- <= 0) violation("release of a context that is not retained");
    LEAVE(device(d));
}
API CUresult cuCtxSetCurrent(void *c) {
    ENTER("cuCtxSetCurrent", 0, 0);
    if (c && c != &context) LEAVE(201);
    if (!context_n) context_n = 1;
    contexts[context_n - 1] = c;
    LEAVE(0);
}
API CUresult cuCtxPushCurrent_v2(void *c) {
    ENTER("cuCtxPushCurrent_v2", 0, 0);
    if (c != &context || context_n == 8) LEAVE(201);
    contexts[context_n++] = c;
    LEAVE(0);
}
API CUresult cuCtxPopCurrent_v2(void **c) {
    ENTER("cuCtxPopCurrent_v2", 0, 0);
    if (!context_n) LEAVE(201);
    *c = contexts[--context_n];
    LEAVE(0);
}
API CUresult cuCtxGetCurrent(void **c) { ENTER("cuCtxGetCurrent", 0, 0); *c = current; LEAVE(0); }
API CUresult cuCtxSynchronize(void) {
    ENTER("cuCtxSynchronize", 1, 1);
    for (int i = 0; i < STREAMS; i++) waited(lanes[i].last);
    LEAVE(0);
}
API CUresult cuCtxGetStreamPriorityRange(int32_t *least, int32_t *greatest) { ENTER("cuCtxGetStreamPriorityRange", 1, 0); *least = 0; *greatest = -5; LEAVE(0); }
API CUresult cuMemGetInfo_v2(u64 *f, u64 *t) { ENTER("cuMemGetInfo_v2", 1, 0); *t = 1ull << 30; *f = *t; LEAVE(0); }

static int take(void **p, u64 n, int kind) {
    if (!n) return 1;
    u64 size = (n + 4095) & ~4095ull;
    void *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return 2;
    memset(m, 0xDB, n > 1 << 22 ? 1 << 22 : n);
    *p = m;
    return add((u64)m, kind == 3 ? n : size, kind);
}
static int give(u64 p, int kind) {
    for (int i = 0; i < range_count; i++)
        if (ranges[i].base == p && ranges[i].kind == kind) settle(p, ranges[i].size, "giving back");
    u64 n = drop(p, kind);
    if (!n) return 1;
    munmap((void *)p, (n + 4095) & ~4095ull);
    return 0;
}
API CUresult cuMemHostAlloc(void **p, u64 n, u32 flags) { ENTER("cuMemHostAlloc", 1, 1); LEAVE(flags > 7 ? 1 : take(p, n, 2)); }
API CUresult cuMemFreeHost(void *p) { ENTER("cuMemFreeHost", 1, 1); LEAVE(give((u64)p, 2)); }
#ifndef FAKECUDA_MISSING
API CUresult cuMemHostRegister_v2(void *p, u64 n, u32 flags) {
    ENTER("cuMemHostRegister_v2", 1, 1);
    if (!n || (u64)p % 4096 || n % 4096) LEAVE(1);
    if (!strcmp(mode, "noregister")) LEAVE(801);
    if ((flags & 8) && !strcmp(mode, "noreadonly")) LEAVE(801);
    LEAVE(add((u64)p, n, 1));
}
#endif
API CUresult cuMemHostUnregister(void *p) {
    ENTER("cuMemHostUnregister", 1, 1);
    for (int i = 0; i < range_count; i++)
        if (ranges[i].base == (u64)p && ranges[i].kind == 1) settle((u64)p, ranges[i].size, "unregistering");
    LEAVE(drop((u64)p, 1) ? 0 : 713);
}
API CUresult cuMemHostGetDevicePointer_v2(u64 *d, void *p, u32 flags) { ENTER("cuMemHostGetDevicePointer_v2", 1, 0); *d = (u64)p; LEAVE(flags || !find((u64)p, 1, 1) ? 1 : 0); }
API CUresult cuMemAlloc_v2(u64 *d, u64 n) { ENTER("cuMemAlloc_v2", 1, 1); LEAVE(take((void **)d, n, 3)); }
API CUresult cuMemFree_v2(u64 d) { ENTER("cuMemFree_v2", 1, 1); LEAVE(give(d, 3)); }

static int copy(u64 dst, u64 src, u64 n, void *stream, int to_host, int from_host) {
    if (!n) return 0;
    if (!find(dst, n, to_host)) {
        violation("copy of %llu bytes to what is not one %s", (unsigned long long)n, to_host ? "pinned range" : "allocation");
        return 1;
    }
    if (!find(src, n, from_host)) {
        violation("copy of %llu bytes from what is not one %s", (unsigned long long)n, from_host ? "pinned range" : "allocation");
        return 1;
    }
    return push(stream, (struct op){.kind = COPY, .a = dst, .b = src, .n = n});
}
API CUresult cuMemcpyHtoDAsync_v2(u64 d, const void *s, u64 n, void *st) { ENTER("cuMemcpyHtoDAsync_v2", 1, 0); LEAVE(copy(d, (u64)s, n, st, 0, 1)); }
API CUresult cuMemcpyDtoHAsync_v2(void *d, u64 s, u64 n, void *st) { ENTER("cuMemcpyDtoHAsync_v2", 1, 0); LEAVE(copy((u64)d, s, n, st, 1, 0)); }
API CUresult cuMemcpyDtoDAsync_v2(u64 d, u64 s, u64 n, void *st) { ENTER("cuMemcpyDtoDAsync_v2", 1, 0); LEAVE(copy(d, s, n, st, 0, 0)); }
API CUresult cuMemsetD8Async(u64 d, unsigned char v, u64 n, void *st) {
    ENTER("cuMemsetD8Async", 1, 0);
    if (!find(d, n, 0)) LEAVE(1);
    LEAVE(push(st, (struct op){.kind = SET, .a = d, .n = n, .f = v}));
}
#ifdef FAKECUDA_BATCH
struct attributes { int32_t order, src[2], dst[2]; u32 flags; };
static int batch(u64 *d, u64 *s, u64 *n, u64 count, struct attributes *a, u64 *first, u64 attributes, void *st) {
    if (!count || attributes != 1 || first[0] != 0 || a->order < 1 || a->order > 3 || (u64)st <= 2 || lane(st) < 0) {
        violation("batch copy: count %llu, attributes %llu, stream %p", (unsigned long long)count, (unsigned long long)attributes, st);
        return 1;
    }
    for (u64 i = 0; i < count; i++) {
        int r = copy(d[i], s[i], n[i], st, 0, 1);
        if (r) return r;
    }
    copies_batched += count;
    return 0;
}
#if FAKECUDA_BATCH == 1
API CUresult cuMemcpyBatchAsync(u64 *d, u64 *s, u64 *n, u64 count, struct attributes *a, u64 *first, u64 attributes, u64 *failed, void *st) {
    ENTER("cuMemcpyBatchAsync", 1, 0);
    if (failed == st) violation("batch copy: arguments of the other form");
    *failed = 0;
    LEAVE(batch(d, s, n, count, a, first, attributes, st));
}
#else
API CUresult cuMemcpyBatchAsync_v2(u64 *d, u64 *s, u64 *n, u64 count, struct attributes *a, u64 *first, u64 attributes, void *st) {
    ENTER("cuMemcpyBatchAsync_v2", 1, 0);
    LEAVE(batch(d, s, n, count, a, first, attributes, st));
}
#endif
#endif

API CUresult cuStreamCreateWithPriority(void **h, u32 flags, int32_t priority) {
    ENTER("cuStreamCreateWithPriority", 1, 1);
    if (!(flags & 1)) violation("a stream that waits for the default stream");
    (void)priority;
    int n = lane_make(flags);
    if (n < 0) LEAVE(2);
    struct stream *s = calloc(1, sizeof *s);
    *s = (struct stream){.magic = STREAM, .flags = flags, .number = n};
    streams++;
    *h = s;
    LEAVE(0);
}
// A stream may be destroyed with work queued; it still runs.
API CUresult cuStreamDestroy_v2(void *h) {
    ENTER("cuStreamDestroy_v2", 1, 1);
    struct stream *s = h;
    if ((u64)h <= 2 || lane(h) < 0) LEAVE(400);
    lanes[s->number].used = 0;
    s->magic = 0; // the memory stays, to notice later use
    streams--;
    LEAVE(0);
}
API CUresult cuStreamWaitEvent(void *h, void *he, u32 flags) {
    ENTER("cuStreamWaitEvent", 1, 0);
    struct event *e = event_of(he);
    int s = work(h);
    if (!e || flags || s < 0) LEAVE(400);
    if (!e->recorded) violation("wait for an event that was never recorded");
    append(s, (struct op){.kind = WAIT}, e->op);
    prompt();
    LEAVE(0);
}
API CUresult cuStreamQuery(void *h) {
    ENTER("cuStreamQuery", 1, 1);
    int s = lane(h);
    LEAVE(s < 0 ? 400 : answer(lanes[s].last, &lanes[s].asked));
}
API CUresult cuStreamSynchronize(void *h) {
    ENTER("cuStreamSynchronize", 1, 1);
    int s = work(h);
    if (s < 0) LEAVE(400);
    waited(lanes[s].last);
    LEAVE(0);
}
API CUresult cuStreamIsCapturing(void *h, int32_t *status) {
    ENTER("cuStreamIsCapturing", 1, 0);
    int s = lane(h);
    if (s < 0) LEAVE(400);
    if (s == LEGACY && captured && lanes[lane(captured)].blocking) LEAVE(906);
    *status = captured && h == captured;
    LEAVE(0);
}
API CUresult cuEventCreate(void **h, u32 flags) {
    ENTER("cuEventCreate", 1, 1);
    struct event *e = calloc(1, sizeof *e);
    e->magic = EVENT, e->flags = flags;
    events++;
    *h = e;
    LEAVE(0);
}
// An event may be destroyed before it is reached; waits that are queued still hold.
API CUresult cuEventDestroy_v2(void *h) {
    ENTER("cuEventDestroy_v2", 1, 1);
    struct event *e = event_of(h);
    if (!e) LEAVE(400);
    op_release(e->op);
    e->op = 0;
    e->magic = 0; // the memory stays, to notice later use
    events--;
    LEAVE(0);
}
API CUresult cuEventRecord(void *he, void *h) {
    ENTER("cuEventRecord", 1, 0);
    struct event *e = event_of(he);
    int s = work(h);
    if (!e || s < 0) LEAVE(400);
    struct op *o = append(s, (struct op){.kind = RECORD}, 0);
    op_release(e->op);
    e->op = op_hold(o), e->asked = 0, e->recorded++;
    prompt();
    LEAVE(0);
}
API CUresult cuEventQuery(void *h) {
    ENTER("cuEventQuery", 1, 1);
    struct event *e = event_of(h);
    LEAVE(!e ? 400 : answer(e->op, &e->asked));
}
API CUresult cuEventSynchronize(void *h) {
    ENTER("cuEventSynchronize", 1, 1);
    struct event *e = event_of(h);
    if (!e) LEAVE(400);
    waited(e->op);
    LEAVE(0);
}
API CUresult cuEventElapsedTime(float *ms, void *ha, void *hb) {
    ENTER("cuEventElapsedTime", 1, 0);
    struct event *a = event_of(ha), *b = event_of(hb);
    if (!a || !b || ((a->flags | b->flags) & 2)) LEAVE(400);
    if (!a->op || !b->op) LEAVE(400);
    if (!a->op->done || !b->op->done) LEAVE(600);
    *ms = b->op->at - a->op->at;
    LEAVE(0);
}

// ---- kernels ----

static float widen_f16(uint16_t h) {
    u32 e = h >> 10 & 31, m = h & 1023;
    float f = e == 0 ? ldexpf(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexpf(m | 1024, (int)e - 25);
    return h >> 15 ? -f : f;
}
static uint16_t narrow_f16(float f) {
    u32 b;
    memcpy(&b, &f, 4);
    uint16_t sign = b >> 16 & 0x8000;
    double a = fabs((double)f);
    if (isnan(f)) return 0x7fff;
    if (a >= 65520) return sign | 0x7c00;
    int e;
    frexp(a, &e);
    if (a == 0 || e < -13) return sign | (uint16_t)nearbyint(ldexp(a, 24)); // subnormal; may carry into the first normal
    return sign | (uint16_t)(((e + 13) << 10) + (int)nearbyint(ldexp(a, 11 - e)));
}
// kernels.cc, which has kernels.cu
const char *source_name(int f);
int source_params(int f, u64 *bytes);
void source_run(int f, u32 grid, u32 block, const void *params);
u64 source_ids(int f, const void *params, u64 *bytes);
u64 source_sent(int f, const void *params, u32 k, u64 *bytes);
void source_spans(int f, const void *params, void *to, void (*add)(void *to, int write, u64 at, u64 n));
float fake_widen_f16(uint16_t h) { return widen_f16(h); }
uint16_t fake_narrow_f16(float f) { return narrow_f16(f); }

static void run_kernel(struct op *o) {
    const char *name = source_name(o->f);
    if (!strcmp(name, "spin")) { // its clock would not take the time
        usleep(*(u64 *)o->params / 1000);
        return;
    }
    for (u32 i = 0; i < o->writes.n; i++)
        if (!find(o->writes.at[i].lo, o->writes.at[i].hi - o->writes.at[i].lo, 0) && !covered(o->writes.at[i].lo, o->writes.at[i].hi - o->writes.at[i].lo)) {
            violation("%s writes outside of memory it may write", name);
            return;
        }
    for (u32 i = 0; i < o->reads.n; i++)
        if (!covered(o->reads.at[i].lo, o->reads.at[i].hi - o->reads.at[i].lo)) {
            violation("%s reads outside of memory it may read", name);
            return;
        }
    if (o->call) run_ptx(o);
    else source_run(o->f, o->grid, o->block, o->params);
}

#ifdef FAKECUDA_PTX
// reachable tells a kernel what memory an address is in. Kernels write device memory alone.
static int reachable(void *user, u64 address, ptxcpu_region *found) {
    (void)user;
    struct range *r = find(address, 1, 1);
    if (!r) r = find(address, 1, 0);
    if (r) *found = (ptxcpu_region){r->base, r->base + r->size, r->kind == 3 ? PTXCPU_WRITE : 0, 0, 0};
    return r != 0;
}
static int ptx_runs;
API int fakecuda_ptx_runs(void) { return ptx_runs; }
static void run_ptx(struct op *o) {
    char why[600];
    ptx_runs++;
    if (ptxcpu_make(o->call, reachable, 0, walk, why, sizeof why)) violation("%s", why);
    o->call = 0;
}
#else
static void run_ptx(struct op *o) { (void)o; }
#endif

// ---- what operations touch ----

static const char *op_name(const struct op *o) {
    static const char *const names[] = {"copy", "set", "", "record", "wait", "a consumer's kernel"};
    return o->kind == KERNEL ? source_name(o->f) : names[o->kind];
}
static void add_span(void *to, int write, u64 at, u64 n) {
    struct op *o = to;
    span_add(write ? &o->writes : &o->reads, at, n);
}
static void op_spans(struct op *o) {
    switch (o->kind) {
    case COPY: span_add(&o->writes, o->a, o->n); span_add(&o->reads, o->b, o->n); break;
    case SET: span_add(&o->writes, o->a, o->n); break;
    case TOUCH: span_add(o->f ? &o->writes : &o->reads, o->a, o->n); break;
    case KERNEL: {
        u64 n, ids = source_ids(o->f, o->params, &n);
        if (!ids || covered(ids, n)) source_spans(o->f, o->params, o, add_span);
        break;
    }
    default: break;
    }
}
// host_reads is the host memory that an operation will read, as far as the call tells.
// More than 4 MiB of it is not watched.
static void host_reads(struct op *o) {
    u64 n, ids;
    if (o->kind == COPY && o->n <= 4 << 20 && find(o->b, o->n, 1)) span_add(&o->host, o->b, o->n);
    if (o->kind == KERNEL && (ids = source_ids(o->f, o->params, &n)) && find(ids, n, 1)) span_add(&o->host, ids, n);
    if (o->kind == KERNEL)
        for (u32 k = 0; (ids = source_sent(o->f, o->params, k, &n)); k++)
            if (n && find(ids, n, 1)) span_add(&o->host, ids, n);
}

struct module { u32 magic; char *text; };
static int load(void **h, const char *image) {
    int major = 0, minor = 0, binary = !memcmp(image, "\177ELF", 4);
    if (binary) { // one is taken on trust: what runs is the PTX
        if (strcmp(mode, "cubin")) return 209;
        image = "";
    }
    const char *v = binary ? ".version 7.0" : strstr(image, ".version ");
    if (!v || sscanf(v, ".version %d.%d", &major, &minor) != 2 || (!binary && !strstr(image, ".target sm_"))) return 218;
    if (!strcmp(mode, "oldptx") && major >= 7) return 222;
#ifdef FAKECUDA_PTX
    if (!binary && ptxcpu_hash(image) != ptxcpu_source()) violation("a module that is not the PTX this library was made from");
#endif
    struct module *m = calloc(1, sizeof *m);
    m->magic = MODULE, m->text = strdup(image);
    modules++;
    *h = m;
    return 0;
}
API CUresult cuModuleLoadData(void **h, const void *image) { ENTER("cuModuleLoadData", 1, 1); LEAVE(load(h, image)); }
API CUresult cuModuleLoadDataEx(void **h, const void *image, u32 n, int32_t *opts, void **vals) {
    ENTER("cuModuleLoadDataEx", 1, 1);
    int r = load(h, image);
    if (r) for (u32 i = 0; i + 1 < n; i++)
        if (opts[i] == 5 && opts[i + 1] == 6) snprintf(vals[i], (size_t)vals[i + 1], "ptxas fatal: unsupported version");
    LEAVE(r);
}
API CUresult cuModuleUnload(void *h) {
    ENTER("cuModuleUnload", 1, 1);
    struct module *m = h;
    if (m->magic != MODULE) LEAVE(400);
    m->magic = 0;
    free(m->text);
    modules--;
    LEAVE(0);
}
API CUresult cuModuleGetFunction(void **f, void *h, const char *name) {
    ENTER("cuModuleGetFunction", 1, 0);
    struct module *m = h;
    char entry[96];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (m->magic != MODULE || (m->text[0] && !strstr(m->text, entry))) LEAVE(500);
    for (int i = 0; source_name(i); i++) if (!strcmp(source_name(i), name)) { *f = (void *)(u64)(i + 1); LEAVE(0); }
    LEAVE(500);
}
API CUresult cuLaunchKernel(void *f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void *st, void **params, void **extra) {
    ENTER("cuLaunchKernel", 1, 0);
    int i = (int)(u64)f - 1;
    if (i < 0 || !source_name(i) || !gx || gy != 1 || gz != 1 || !bx || bx * by * bz > 1024 || shared || extra) {
        violation("launch of kernel %d with grid %u %u %u, block %u %u %u, shared %u, extra %p", i, gx, gy, gz, bx, by, bz, shared, (void *)extra);
        LEAVE(1);
    }
    u64 bytes;
    int count = source_params(i, &bytes);
    struct op o = {.kind = KERNEL, .f = i, .params = malloc(count * bytes), .grid = gx, .block = bx};
    for (int k = 0; k < count; k++) memcpy(o.params + k * bytes, params[k], bytes);
#ifdef FAKECUDA_PTX
    o.call = ptxcpu_take(source_name(i), (u32[]){gx, gy, gz}, (u32[]){bx, by, bz}, shared, params);
    if (!o.call) LEAVE(500);
#endif
    LEAVE(push(st, o));
}
API CUresult cuLaunchHostFunc(void *st, void (*fn)(void *), void *arg) { (void)st, (void)fn, (void)arg; ENTER("cuLaunchHostFunc", 1, 0); LEAVE(801); }
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int32_t *n, void *f, int32_t block, u64 smem) { (void)f, (void)smem; ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor", 1, 0); *n = 2048 / block; LEAVE(0); }
API CUresult cuThreadExchangeStreamCaptureMode(int32_t *m) {
    ENTER("cuThreadExchangeStreamCaptureMode", 0, 0);
    int old = thread_mode;
    thread_mode = *m;
    *m = old;
    LEAVE(0);
}
API CUresult cuPointerGetAttribute(void *out, int32_t attr, u64 p) {
    ENTER("cuPointerGetAttribute", 1, 0);
    if (attr != 2 && attr != 9) LEAVE(1);
    int host = find(p, 1, 1) != 0;
    if (!host && !find(p, 1, 0)) LEAVE(1);
    *(u32 *)out = attr == 2 ? 2 - host : 0; // kind of memory, number of the device
    LEAVE(0);
}
API CUresult cuGetProcAddress_v2(const char *name, void **fn, int32_t version, u64 flags, int32_t *status) { (void)name, (void)fn, (void)version, (void)flags, (void)status; ENTER("cuGetProcAddress_v2", 0, 0); LEAVE(801); }
API CUresult cuGetErrorName(int32_t n, const char **s) {
    static const struct { int n; const char *s; } table[] = {{1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {34, "CUDA_ERROR_STUB_LIBRARY"}, {100, "CUDA_ERROR_NO_DEVICE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"}, {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {801, "CUDA_ERROR_NOT_SUPPORTED"}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) if (table[i].n == n) { *s = table[i].s; return 0; }
    *s = "CUDA_ERROR_UNKNOWN";
    return 0;
}
API CUresult cuGetErrorString(int32_t n, const char **s) { (void)n; *s = "fake"; return 0; }
