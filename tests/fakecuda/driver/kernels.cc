// kernels.cu compiled for the processor. It runs where there is no python3 to translate
// the PTX, and says what memory a launch touches. A tile's rows are found by all threads
// before the first one moves any: that is what the kernel's barrier does.
#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" float fake_widen_f16(uint16_t);
extern "C" uint16_t fake_narrow_f16(float);
#define widen_f16 fake_widen_f16
#define narrow_f16 fake_narrow_f16

#define __global__
#define __device__
#define __align__(n) alignas(n)

struct place3 { unsigned x; };
static thread_local place3 blockIdx, threadIdx, blockDim, gridDim;

template <class T> static T min(T a, T b) { return a < b ? a : b; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }
static float __int2float_rn(int x) { return (float)x; }
static float __fmul_rn(float a, float b) { volatile float c = a * b; return c; }
static float __fadd_rn(float a, float b) { volatile float c = a + b; return c; }
static float __uint_as_float(unsigned x) { float f; memcpy(&f, &x, 4); return f; }
static unsigned __float_as_uint(float f) { unsigned x; memcpy(&x, &f, 4); return x; }
static unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31)); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static int __clzll(long long x) { return __builtin_clzll(x); }
static void atomicXor(unsigned *p, unsigned v) { *p ^= v; }
static void atomicAdd(unsigned *p, unsigned v) { *p += v; }

#include "kernels.cu"

enum { BATCH, BATCH_CAST, READ16, SPIN, PIXELS, DENSE };

extern "C" const char *source_name(int f) {
    static const char *const names[] = {"batch", "batch_cast", "read16", "spin", "pixels", "dense"};
    return f < 6 ? names[f] : 0;
}
// source_params is the number of a kernel's parameters and the bytes of each.
extern "C" int source_params(int f, u64 *bytes) {
    *bytes = f <= BATCH_CAST ? sizeof(launch) : f == PIXELS ? sizeof(pictures) : f == DENSE ? sizeof(sparse) : 8;
    return f == READ16 ? 3 : 1;
}

template <bool CAST> static void run_batch(const launch &p, unsigned grid, unsigned threads) {
    static i64 rows[TILE];
    static u16 walk[TILE];
    if (small(p.f))
        for (u32 t = 0; t < threads; t++) write_down(p.f, walk, t, threads);
    for (u32 t = 0; t < grid * threads; t++) copy_sent(p, t, grid * threads);
    for (u32 b = 0; b < grid; b++)
        for (u32 i = b; i < p.tiles; i += grid) {
            const part t = part_of(p, i);
            for (u32 k = 0; k < threads; k++) find_rows(p, t, walk, rows, k, threads);
            for (u32 k = 0; k < threads; k++) move_rows<CAST>(p, t, rows, k, threads);
        }
}

static void run_pixels(const pictures &p) {
    static shares s;
    for (u32 image = 0; image < p.n; image++) {
        const tiling t = tiling_of(p, p.p[image]);
        for (u32 k = 0; k < t.count; k++) {
            side x, y;
            sides_of(p, t, k, &x, &y);
            for (u32 i = 0; i < ACROSS * DOWN; i++) find_coefficients(p, p.p[image], x, y, &s, i);
            for (u32 i = 0; i < ACROSS * DOWN; i++) make_pixels(p, image, x, y, &s, i);
        }
    }
}

static void run_dense(const sparse &p, unsigned threads) {
    for (u64 row = 0; row < p.rows; row++) {
        u64 lo, hi;
        bool wrong = !there(p, row, &lo, &hi);
        for (u32 t = 0; t < threads; t++) clear_row(p, row, t, threads);
        for (u32 t = 0; t < threads && !wrong; t++) wrong = wrong_columns(p, lo, hi, t, threads);
        for (u32 t = 0; t < threads && !wrong; t++) store_row(p, row, lo, hi, t, threads);
        if (wrong) atomicAdd((u32 *)p.found, 1);
    }
}

extern "C" void source_run(int f, unsigned grid, unsigned threads, const void *params) {
    const u64 *p = (const u64 *)params;
    switch (f) {
    case BATCH: run_batch<false>(*(const launch *)params, grid, threads); return;
    case BATCH_CAST: run_batch<true>(*(const launch *)params, grid, threads); return;
    case PIXELS: run_pixels(*(const pictures *)params); return;
    case DENSE: run_dense(*(const sparse *)params, threads); return;
    }
    gridDim.x = grid, blockDim.x = threads;
    for (unsigned b = 0; b < grid; b++)
        for (unsigned t = 0; t < threads; t++) {
            blockIdx.x = b, threadIdx.x = t;
            if (f == READ16) read16(p[0], p[1], p[2]);
        }
}

// source_ids is the host's table of rows that a launch reads.
extern "C" u64 source_ids(int f, const void *params, u64 *bytes) {
    const launch &p = *(const launch *)params;
    if (f > BATCH_CAST || p.f.kind != TABLE) return 0;
    *bytes = p.rows * 8;
    return p.ids;
}

// source_sent is the k-th piece of host memory that a launch copies.
extern "C" u64 source_sent(int f, const void *params, u32 k, u64 *bytes) {
    const launch &p = *(const launch *)params;
    if (f > BATCH_CAST || k >= p.sent) return 0;
    *bytes = p.c[p.columns + k].units;
    return p.c[p.columns + k].src[0];
}

// source_spans names the memory that a launch reads and writes.
extern "C" void source_spans(int f, const void *params, void *to, void (*add)(void *to, int write, u64 at, u64 n)) {
    const u64 *words = (const u64 *)params;
    if (f == READ16) add(to, 0, words[0], words[1]);
    if (f == PIXELS) {
        const pictures &p = *(const pictures *)params;
        static const u32 size[] = {1, 2, 4, 2, 2, 4};
        add(to, 1, p.out, (u64)p.n * p.width * p.height * p.channels * size[p.to]);
        for (u32 i = 0; i < p.n; i++) {
            const picture &q = p.p[i];
            if (q.at) add(to, 0, q.at, (u64)(q.height - 1) * q.row + (u64)(q.width - 1) * q.col + (u64)(p.channels - 1) * q.plane + 1);
        }
    }
    if (f == DENSE) {
        const sparse &p = *(const sparse *)params;
        add(to, 1, p.dst, p.rows * p.kept * p.size);
        add(to, 1, p.found, 4);
        add(to, 0, p.values, p.elements * p.size);
        add(to, 0, p.indices, p.elements << (p.index & 3));
        add(to, 0, p.offsets, (p.rows + 1) * 8);
        if (p.choice) add(to, 0, p.choice, p.width * 4);
    }
    if (f > BATCH_CAST) return;
    const launch &p = *(const launch *)params;
    static const u64 bytes[] = {1, 2, 4, 2, 2, 4}, lanes[] = {1, 4, 8, 16};
    static u16 walk[TILE];
    if (small(p.f)) write_down(p.f, walk, 0, 1);
    if (p.f.kind == TABLE) add(to, 0, p.ids, p.rows * 8);
    if (p.numbers) add(to, 1, p.numbers, p.size * 8);
    for (u32 k = 0; k < p.sent; k++) {
        const column &c = p.c[p.columns + k];
        add(to, 1, c.dst, c.units);
        add(to, 0, c.src[0], c.units);
    }
    for (u32 k = 0; k < p.columns; k++) {
        const column &c = p.c[k];
        u64 in = c.kind == CASTS ? bytes[c.from] * c.each : lanes[c.kind], out = c.kind == CASTS ? bytes[c.to] * c.each : in;
        add(to, 1, c.dst, p.size * c.units * out);
        if (c.scale) add(to, 0, c.scale, c.channels * 8);
        for (u64 j = 0; j < p.rows; j++) {
            u64 sample, row = row_of(p, walk, j, &sample);
            if (p.indices) add(to, 0, p.indices, 8);
            if ((i64)row >= 0) add(to, 0, c.src[j >= p.split || row - p.first >= p.held] + row * c.units * in, c.units * in);
        }
    }
}
