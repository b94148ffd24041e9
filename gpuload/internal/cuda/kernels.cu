// Kernels of the loader. kernels.ptx is made from this file by ptx.py and holds its
// hash; the driver compiles it for the GPU at hand. Sources are device memory or
// pinned host memory. Results are bit for bit those of the same arithmetic on the host,
// except for which NaN a NaN becomes.
//
// The kernel batch makes a whole batch by one launch. A block takes a tile: some rows of
// the batch, and one of the slices that long rows are cut into. Its threads find the rows'
// numbers, each once, and then go through the columns. Rows are cut into pieces so that a
// few long rows occupy all threads; 2^log2 threads of one warp move a piece. In each thread
// four independent loads are on their way at a time, of 16 bytes where addresses and rows
// allow: reads over the link take microseconds.

typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

struct __align__(8) lane8 { u32 a, b; };
struct __align__(16) lane16 { u32 a, b, c, d; };

// The tests compile this file for the processor too, where a load is a load.
#ifdef __CUDA_ARCH__
__device__ inline u32 load(const u32 *p) {
    u32 v;
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
__device__ inline lane8 load(const lane8 *p) {
    lane8 v;
    asm volatile("ld.global.cs.v2.u32 {%0, %1}, [%2];" : "=r"(v.a), "=r"(v.b) : "l"(p));
    return v;
}
__device__ inline lane16 load(const lane16 *p) {
    lane16 v;
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.a), "=r"(v.b), "=r"(v.c), "=r"(v.d) : "l"(p));
    return v;
}
#else
template <class T> __device__ inline T load(const T *p) { return *p; }
#endif

__device__ inline u32 load(const u16 *p) { return *p; }
__device__ inline u32 load(const u8 *p) { return *p; }

// A permutation of [0, n): gpuload/order, type perm.
struct perm {
    u64 n, keys[6];
    u32 low, maskH, maskL, width; // bits of the lower half, masks of both, bits of n-1
};

struct divisor { u64 d, m; };

enum { TABLE, SEQUENCE, PERMUTED, BLOCKS, WINDOWS };

// How the numbers of a batch are found: gpuload/order, type Formula.
struct formula {
    u64 kind;
    u64 batch, global, first, stride; // row j has position first + j/batch*global + j%batch*stride
    perm p;                           // of samples, or of blocks
    u64 prefix;                       // of the keys of windows
    divisor streams, window, block;
    u64 share, more;                  // places of a stream; the first more streams have one more
    u64 at, last;                     // place and length of the last block
    u64 lane, lanes, span, base;      // of WINDOWS: first stream, distance of streams, places, first place
};

enum { BYTES, LANES4, LANES8, LANES16, CASTS };
enum { U8, I16, I32, F16, BF16, F32 };

struct column {
    u64 dst, src[2];
    u64 units, pieces, piece; // a row is units of a vector, in pieces
    u64 scale;                // of casts: channels scales, then channels shifts; or 0
    u32 channels, inner;      // element e is of channel e / inner % channels
    u32 kind, log2, from, to, each, pad; // each: elements of a unit, of casts
};

enum { TILE = 1024, COLUMNS = 42 };

struct launch {
    u64 size, rows, split;     // rows of the batch; those behind rows are zeros; from split on of the second source
    u64 first, held;           // rows of the first source, if some are of the second one wherever they are; else 0 and all
    u64 ids, indices, numbers; // of TABLE; samples to draw from, or 0; where samples are written, or 0
    u32 tile, slices, columns, tiles; // rows of a tile, slices, tiles of all
    u64 sent;                         // columns behind the others: units bytes that are copied as they are
    formula f;
    column c[COLUMNS];
};

__device__ inline u64 mix64(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

__device__ inline u32 scatter(u32 x, u64 key) {
    u64 v = (x + key) * 0x9e3779b97f4a7c15ull;
    v = (v ^ v >> 29) * 0xbf58476d1ce4e5b9ull;
    return (u32)(v >> 32);
}

__device__ inline u64 rounds(const perm &p, u64 x) {
    u32 h = (u32)(x >> p.low), l = (u32)x & p.maskL;
#pragma unroll
    for (u32 i = 0; i < 6; i += 2) {
        h ^= scatter(l, p.keys[i]) & p.maskH;
        l ^= scatter(h, p.keys[i + 1]) & p.maskL;
    }
    return (u64)h << p.low | l;
}

// A permutation of few is written down, in walk: rounds may lead out of [0, n) often.
__device__ inline bool small(const formula &f) { return f.kind >= PERMUTED && f.p.width <= 10; }

__device__ inline void write_down(const formula &f, u16 *walk, u32 t, u32 threads) {
    for (u32 x = t; x < 1u << f.p.width; x += threads) walk[x] = (u16)rounds(f.p, x);
}

__device__ inline u64 permuted(const formula &f, const u16 *walk, u64 x) {
    if (small(f)) {
        do x = walk[x];
        while (x >= f.p.n);
        return x;
    }
    do x = rounds(f.p, x);
    while (x >= f.p.n);
    return x;
}

__device__ inline u64 quotient(const divisor &v, u64 x, u64 *rest) {
    u64 q = __umul64hi(x, v.m), r = x - q * v.d;
    while (r >= v.d) q++, r -= v.d;
    *rest = r;
    return q;
}

// The element at place x of the window k of a stream, which has n places.
__device__ inline u64 in_window(const formula &f, u64 stream, u64 k, u64 n, u64 x) {
    perm p;
    u64 key = mix64(f.prefix ^ mix64(stream + 0x9e3779b97f4a7c15ull));
    key = mix64(key ^ mix64(k + 0x9e3779b97f4a7c15ull));
    const u32 bits = n > 1 ? 64 - (u32)__clzll((i64)(n - 1)) : 0;
    p.width = bits < 6 ? 6 : bits;
    p.low = p.width / 2;
    p.maskH = (1u << (p.width - p.low)) - 1, p.maskL = (1u << p.low) - 1;
#pragma unroll
    for (u32 i = 0; i < 6; i++) {
        key += 0x9e3779b97f4a7c15ull;
        p.keys[i] = mix64(key);
    }
    do x = rounds(p, x);
    while (x >= n);
    return x;
}

// The item at a place, after the blocks are permuted.
__device__ inline u64 item_of(const formula &f, const u16 *walk, u64 x) {
    const bool before = x < f.at, inside = !before && x < f.at + f.last;
    u64 i, j = quotient(f.block, before ? x : inside ? f.at : x - f.last, &i);
    if (inside) i = x - f.at;
    else if (!before) j++;
    return permuted(f, walk, j) * f.block.d + i;
}

// Finds the row of the sources that row j of the batch is, and its sample.
__device__ inline u64 row_of(const launch &p, const u16 *walk, u64 j, u64 *sample) {
    const formula &f = p.f;
    if (f.kind == TABLE) return *sample = ((const u64 *)p.ids)[j];
    const u64 step = j / f.batch;
    u64 x = f.first + step * f.global + (j - step * f.batch) * f.stride;
    u64 row = 0;
    if (f.kind == PERMUTED) x = permuted(f, walk, x);
    if (f.kind >= BLOCKS) {
        u64 stream, within;
        const u64 place = quotient(f.streams, x, &stream), k = quotient(f.window, place, &within);
        const u64 from = k * f.window.d, left = f.share + (stream < f.more) - from;
        const u64 at = from + in_window(f, stream, k, left < f.window.d ? left : f.window.d, within);
        if (f.kind == WINDOWS) {
            row = at - f.base - (j < p.split ? 0 : f.span) + (stream - f.lane) / f.lanes * f.span;
            if (!p.numbers) return row;
        }
        x = item_of(f, walk, stream * f.share + (stream < f.more ? stream : f.more) + at);
    }
    if (p.indices) x = ((const u64 *)p.indices)[x];
    *sample = x;
    return f.kind == WINDOWS ? row : x;
}

// A tile of a launch: rows [lo, hi) of the batch, of the second source or of the first.
struct part { u64 lo, hi; u32 slice; bool second; };

__device__ inline part part_of(const launch &p, u32 i) {
    part t;
    u64 k = i / p.slices;
    t.slice = i % p.slices;
    const u64 first = (p.split + p.tile - 1) / p.tile;
    t.second = k >= first;
    t.lo = t.second ? p.split + (k - first) * p.tile : k * p.tile;
    t.hi = min(t.lo + p.tile, t.second ? p.size : p.split);
    return t;
}

__device__ inline void find_rows(const launch &p, const part &t, const u16 *walk, i64 *rows, u32 thread, u32 threads) {
#pragma unroll 1
    for (u32 i = thread; i < (u32)(t.hi - t.lo); i += threads) {
        const u64 j = t.lo + i;
        u64 sample = (u64)-1;
        rows[i] = j < p.rows ? (i64)row_of(p, walk, j, &sample) : -1;
        if (p.numbers && t.slice == 0) ((u64 *)p.numbers)[j] = sample;
    }
}

// Types of elements. f16 and bf16 are their bits.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

__device__ inline float widen(u8 x) { return (float)x; }
__device__ inline float widen(i16 x) { return (float)x; }
__device__ inline float widen(i32 x) { return __int2float_rn(x); }
__device__ inline float widen(float x) { return x; }
__device__ inline float widen(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ inline float widen(f16 x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
#else
    return widen_f16(x.bits);
#endif
}

__device__ inline void narrow(float x, float *y) { *y = x; }
__device__ inline void narrow(float x, f16 *y) {
#ifdef __CUDA_ARCH__
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y->bits) : "f"(x));
#else
    y->bits = narrow_f16(x);
#endif
}
__device__ inline void narrow(float x, bf16 *y) {
    const u32 b = __float_as_uint(x);
    y->bits = (b & 0x7fffffff) > 0x7f800000 ? 0x7fff : (u16)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

template <class T, u32 N> struct __align__(sizeof(T) * N) vec { T x[N]; };

template <u32 N, class T> __device__ inline void put(u64 dst, u64 unit, const float *x) {
    vec<T, N> out;
#pragma unroll
    for (u32 k = 0; k < N; k++) narrow(x[k], &out.x[k]);
    ((vec<T, N> *)dst)[unit] = out;
}

template <u32 N, class T> __device__ inline void widen_all(const T *in, float *x) {
#pragma unroll
    for (u32 k = 0; k < N; k++) x[k] = widen(in[k]);
}

// What is done with a unit, so many at once: it is stored, or its N elements are cast. Element e becomes
// x * scale[channel] + shift[channel], rounded twice; without scale it is only converted.
template <class W> struct plain {
    enum { AT_ONCE = 4 };
    __device__ static void store(const column &c, u64 dst, u64 unit, u32, const W &v, bool) { ((W *)dst)[unit] = v; }
};
template <class W, u32 N> struct cast {
    enum { AT_ONCE = 1 }; // registers
    __device__ static void store(const column &c, u64 dst, u64 unit, u32 of, const W &v, bool none) {
        float x[N];
        if (sizeof(W) == N) widen_all<N>((const u8 *)&v, x);
        else if (sizeof(W) == 4 * N && c.from == F32) widen_all<N>((const float *)&v, x);
        else if (sizeof(W) == 4 * N) widen_all<N>((const i32 *)&v, x);
        else if (c.from == I16) widen_all<N>((const i16 *)&v, x);
        else if (c.from == F16) widen_all<N>((const f16 *)&v, x);
        else widen_all<N>((const bf16 *)&v, x);
        if (c.scale) {
            const float *scale = (const float *)c.scale, *shift = scale + c.channels;
            const u32 e = of * N;
            u32 channel = e / c.inner, at = e - channel * c.inner;
            channel %= c.channels;
#pragma unroll
            for (u32 k = 0; k < N; k++) {
                x[k] = __fadd_rn(__fmul_rn(x[k], scale[channel]), shift[channel]);
                if (++at == c.inner) {
                    at = 0;
                    if (++channel == c.channels) channel = 0;
                }
            }
        }
#pragma unroll
        for (u32 k = 0; k < N; k++)
            if (none) x[k] = 0;
        if (c.to == F32) put<N, float>(dst, unit, x);
        else if (c.to == F16) put<N, f16>(dst, unit, x);
        else put<N, bf16>(dst, unit, x);
    }
};

// A unit of 16 bytes, of elements that four at a time are a P.
__device__ inline void next(lane16 *w, u32 *p) { *p = w->a, w->a = w->b, w->b = w->c, w->c = w->d; }
__device__ inline void next(lane16 *w, lane8 *p) { p->a = w->a, p->b = w->b, w->a = w->c, w->b = w->d; }
template <class P> struct cast16 {
    enum { AT_ONCE = 1 }; // registers
    __device__ static void store(const column &c, u64 dst, u64 unit, u32 of, const lane16 &v, bool none) {
        const u32 n = 16 / sizeof(P);
        lane16 w = v;
#pragma unroll 1
        for (u32 q = 0; q < n; q++) {
            P p;
            next(&w, &p);
            cast<P, 4>::store(c, dst, unit * n + q, of * n + q, p, none);
        }
    }
};

// Where rows are: held of them, from first on, are of a column's first source.
struct source {
    u64 first, held;
    __device__ u64 of(const column &c, i64 row) const { return c.src[(u64)row - first >= held]; }
};

// Moves pieces [lo, hi) of m rows to row at of the batch and those behind. Rows of one
// piece that few threads move are four at a time; of others four units are.
template <class W, class Do>
__device__ inline void move(const column &c, const source &s, u64 at, const i64 *rows, u32 m, u32 lo, u32 hi, u32 thread, u32 threads) {
    const u32 log2 = c.log2, width = 1u << log2, groups = threads >> log2, lane = thread & (width - 1), count = hi - lo;
    const bool four = c.pieces == 1 && c.units <= width;
    const u32 step = four ? groups : width, next_row = four ? groups : 0, next_unit = four ? 0 : width, items = m * count;
    const u64 next = four ? groups * c.units : width;
    for (u32 it = thread >> log2; it < items; it += four ? 4 * groups : groups) {
        const u32 i = count == 1 ? it : it / count;
        const u64 from = (u64)(lo + it - i * count) * c.piece;
        const u32 n = (u32)min(c.piece, c.units - from);
#pragma unroll 1
        for (u32 j = lane; j < n; j += 4 * width) {
            const u32 left = four ? m - i : n - j; // of the rows or units that come four at a time
            const u64 of = from + j, to = (at + i) * c.units + of;
            i64 r[4];
            W v[4];
            u32 none = 0;
#pragma unroll
            for (u32 k = 0; k < 4; k++) r[k] = k * step < left ? rows[i + k * next_row] : -1;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                v[k] = W();
                none |= (u32)(r[k] < 0) << k;
                if (r[k] >= 0) v[k] = load((const W *)s.of(c, r[k]) + ((u64)r[k] * c.units + of + k * next_unit));
            }
#pragma unroll Do::AT_ONCE
            for (u32 k = 0; k < 4; k++) {
                if (k * step < left) Do::store(c, c.dst, to + k * next, (u32)of + k * next_unit, v[0], none & 1);
                v[0] = v[1], v[1] = v[2], v[2] = v[3], none >>= 1;
            }
        }
    }
}

// Rows of any size at any address. Whole aligned words are loaded and shifted to
// where they belong; a word that holds a byte of a row is in the same page.
__device__ inline void move_bytes(const column &c, const source &of, u64 at, const i64 *rows, u32 count, u32 lo, u32 hi, u32 thread, u32 threads) {
    const u32 width = 1u << c.log2, groups = threads >> c.log2, lane = thread & (width - 1), each = hi - lo;
    for (u32 it = thread >> c.log2; it < count * each; it += groups) {
        const u32 i = it / each;
        const u64 from = (u64)(lo + it - i * each) * c.piece;
        const u32 m = (u32)min(c.piece, c.units - from);
        const i64 r = rows[i];
        u64 s = of.of(c, r) + (u64)r * c.units + from, d = c.dst + (at + i) * c.units + from;
        const u32 head = min((u32)(-d & 3), m);
#pragma unroll 1
        for (u32 j = lane; j < head; j += width) ((u8 *)d)[j] = r < 0 ? 0 : ((const u8 *)s)[j];
        s += head;
        d += head;
        const u32 words = (m - head) / 4, shift = (u32)(s & 3) * 8;
        const u32 *w = (const u32 *)(s & ~(u64)3);
#pragma unroll 1
        for (u32 j = lane; j < words; j += 4 * width) {
            u32 a[4], b[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const bool in = r >= 0 && j + k * width < words;
                a[k] = in ? load(w + j + k * width) : 0;
                b[k] = in && shift ? load(w + j + k * width + 1) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < 4; k++)
                if (j + k * width < words) ((u32 *)d)[j + k * width] = __funnelshift_r(a[k], b[k], shift);
        }
#pragma unroll 1
        for (u32 j = head + words * 4 + lane; j < m; j += width) ((u8 *)d)[j - head] = r < 0 ? 0 : ((const u8 *)s)[j - head];
    }
}

#define MOVE(W, ...) move<W, __VA_ARGS__>(c, src, t.lo, rows, m, lo, hi, thread, threads)

template <bool CAST>
__device__ inline void move_rows(const launch &p, const part &t, const i64 *rows, u32 thread, u32 threads) {
    const u32 m = (u32)(t.hi - t.lo);
    for (u32 k = 0; k < p.columns; k++) {
        const column &c = p.c[k];
        // A slice has its share of the pieces of each column, of short ones perhaps none.
        const u32 lo = (u32)(c.pieces * t.slice / p.slices), hi = (u32)(c.pieces * (t.slice + 1) / p.slices);
        if (lo == hi) continue;
        const source src = {p.first, t.second ? 0 : p.held};
        switch (c.kind) {
        case LANES16: MOVE(lane16, plain<lane16>); break;
        case LANES8: MOVE(lane8, plain<lane8>); break;
        case LANES4: MOVE(u32, plain<u32>); break;
        case BYTES: move_bytes(c, src, t.lo, rows, m, lo, hi, thread, threads); break;
        default:
            if (!CAST) break;
            if (c.from == U8) {
                if (c.each == 16) MOVE(lane16, cast16<u32>);
                else if (c.each == 4) MOVE(u32, cast<u32, 4>);
                else MOVE(u8, cast<u8, 1>);
            } else if (c.from == I32 || c.from == F32) {
                if (c.each == 4) MOVE(lane16, cast<lane16, 4>);
                else MOVE(u32, cast<u32, 1>);
            } else {
                if (c.each == 8) MOVE(lane16, cast16<lane8>);
                else if (c.each == 4) MOVE(lane8, cast<lane8, 4>);
                else MOVE(u16, cast<u16, 1>);
            }
        }
    }
}

// Copies what the host has gathered. All threads of the launch share it.
__device__ inline void copy_sent(const launch &p, u32 thread, u32 threads) {
    for (u32 k = 0; k < p.sent; k++) {
        const column &c = p.c[p.columns + k];
        const lane16 *from = (const lane16 *)c.src[0];
        lane16 *to = (lane16 *)c.dst;
        const u64 units = c.units / 16;
#pragma unroll 1
        for (u64 j = thread; j < units; j += 4 * (u64)threads) {
            lane16 v[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                if (j + i * (u64)threads < units) v[i] = load(from + j + i * (u64)threads);
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                if (j + i * (u64)threads < units) to[j + i * (u64)threads] = v[i];
        }
        if (thread < c.units % 16) ((u8 *)(to + units))[thread] = ((const u8 *)(from + units))[thread];
    }
}

#ifdef __CUDA_ARCH__
template <bool CAST> __device__ inline void make_batch(const launch &p) {
    __shared__ i64 rows[TILE];
    __shared__ u16 walk[TILE];
    copy_sent(p, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
    if (small(p.f)) {
        write_down(p.f, walk, threadIdx.x, blockDim.x);
        __syncthreads();
    }
    for (u32 i = blockIdx.x; i < p.tiles; i += gridDim.x) {
        const part t = part_of(p, i);
        find_rows(p, t, walk, rows, threadIdx.x, blockDim.x);
        __syncthreads();
        move_rows<CAST>(p, t, rows, threadIdx.x, blockDim.x);
        __syncthreads();
    }
}

// Casts take registers, so a batch without them has a kernel of its own.
extern "C" __global__ void __launch_bounds__(256, 3) batch(const launch p) { make_batch<false>(p); }
extern "C" __global__ void __launch_bounds__(256, 3) batch_cast(const launch p) { make_batch<true>(p); }
#endif

// Images of a batch: a part of each is resized, mirrored, and stored as bytes or cast. A thread makes
// a pixel. Sums are those of Pillow's resize (bilinear, over all pixels that one of the result covers),
// to the bit: coefficients have 22 bits, and rows are rounded to bytes before columns are summed up.
struct picture {
    u64 at;               // 0: zeros are stored
    u32 row, col, plane;  // bytes from one row, pixel, channel to the next
    u32 width, height;
    float x0, y0, x1, y1; // the part
    u32 mirrored;
};

enum { PICTURES = 84, COEFFICIENTS = 4096, ACROSS = 32, DOWN = 8 };

struct pictures {
    u64 out;                                             // images of channels, height, width; or height, width, channels
    u32 width, height, channels, last, to, each, scaled; // last: channels are; each: blocks of an image
    float scale[3], shift[3];
    u32 n; // images
    picture p[PICTURES];
};

// One side of a tile: its first pixel, how many, and the most coefficients of each.
struct side { u32 lo, count, most; };

// What the threads of a tile share, columns before rows: by pixel of a side the first of the source, how
// many, and their coefficients.
struct shares {
    u32 first[ACROSS + DOWN], taps[ACROSS + DOWN];
    i32 k[COEFFICIENTS];
};

__device__ inline double step_of(float lo, float hi, u32 size) { return (double)(hi - lo) / size; }
__device__ inline u32 most_taps(double step) { return 2 * (u32)ceil(step < 1 ? 1 : step) + 1; }

__device__ inline double weight(u32 x, double center, double near) {
    const double w = 1 - fabs(((double)x - center + 0.5) * near);
    return w > 0 ? w : 0;
}

// Finds coefficients for pixel i of a side, of a source of size pixels.
__device__ inline void find_taps(shares *s, u32 at, i32 *k, const side &d, float lo, double step, u32 size, u32 i) {
    const double reach = step < 1 ? 1 : step, near = 1 / reach, center = lo + (d.lo + i + 0.5) * step;
    const double from = center - reach + 0.5, to = center + reach + 0.5;
    const u32 a = from < 0 ? 0 : (u32)from, b = to > size ? size : (u32)to;
    double all = 0;
#pragma unroll 1
    for (u32 x = a; x < b; x++) all += weight(x, center, near);
#pragma unroll 1
    for (u32 x = a; x < b; x++) k[i * d.most + x - a] = (i32)(0.5 + weight(x, center, near) / all * (1 << 22));
    s->first[at + i] = a, s->taps[at + i] = b - a;
}

// An image in tiles whose coefficients have room.
struct tiling { u32 w, h, nx, ny, across, count; };

__device__ inline tiling tiling_of(const pictures &p, const picture &q) {
    tiling t = {ACROSS, DOWN, most_taps(step_of(q.x0, q.x1, p.width)), most_taps(step_of(q.y0, q.y1, p.height))};
    while (t.w * t.nx + t.h * t.ny > COEFFICIENTS)
        if (t.h == 1 || (t.w > 1 && t.w * t.nx > t.h * t.ny)) t.w /= 2;
        else t.h /= 2;
    t.across = (p.width + t.w - 1) / t.w;
    t.count = t.across * ((p.height + t.h - 1) / t.h);
    return t;
}

__device__ inline void sides_of(const pictures &p, const tiling &t, u32 k, side *x, side *y) {
    x->lo = k % t.across * t.w, y->lo = k / t.across * t.h;
    x->count = min(t.w, p.width - x->lo), y->count = min(t.h, p.height - y->lo);
    x->most = t.nx, y->most = t.ny;
}

__device__ inline void find_coefficients(const pictures &p, const picture &q, const side &x, const side &y, shares *s, u32 thread) {
    const bool row = thread >= x.count;
    if (thread >= x.count + y.count) return;
    find_taps(s, row ? x.count : 0, row ? s->k + x.count * x.most : s->k, row ? y : x, row ? q.y0 : q.x0,
              row ? step_of(q.y0, q.y1, p.height) : step_of(q.x0, q.x1, p.width), row ? q.height : q.width, row ? thread - x.count : thread);
}

__device__ inline i32 byte_of(i32 sum) { return min(max(sum >> 22, 0), 255); }

__device__ inline void store_pixel(const pictures &p, u64 at, u32 c, i32 v, bool none) {
    if (p.to == U8) {
        ((u8 *)p.out)[at] = (u8)v;
        return;
    }
    float x = (float)v;
    if (p.scaled) x = __fadd_rn(__fmul_rn(x, p.scale[c]), p.shift[c]);
    if (none) x = 0;
    if (p.to == F32) ((float *)p.out)[at] = x;
    else if (p.to == F16) narrow(x, (f16 *)p.out + at);
    else narrow(x, (bf16 *)p.out + at);
}

template <u32 C>
__device__ inline void make_pixel(const pictures &p, u32 image, const side &x, const side &y, const shares *s, u32 thread) {
    const picture &q = p.p[image];
    const u32 i = thread % x.count, j = thread / x.count;
    if (j >= y.count) return;
    i32 all[C];
#pragma unroll
    for (u32 c = 0; c < C; c++) all[c] = 1 << 21;
    if (q.at) {
        const i32 *kx = s->k + i * x.most, *ky = s->k + x.count * x.most + j * y.most;
        const u32 across = s->taps[i], down = s->taps[x.count + j];
        const u8 *row = (const u8 *)(q.at + (u64)s->first[x.count + j] * q.row + (u64)s->first[i] * q.col);
#pragma unroll 1
        for (u32 b = 0; b < down; b++, row += q.row) {
            i32 sum[C];
#pragma unroll
            for (u32 c = 0; c < C; c++) sum[c] = 1 << 21;
            const u8 *at = row;
            for (u32 a = 0; a < across; a++, at += q.col)
#pragma unroll
                for (u32 c = 0; c < C; c++) sum[c] += kx[a] * (i32)at[(u64)c * q.plane];
#pragma unroll
            for (u32 c = 0; c < C; c++) all[c] += ky[b] * byte_of(sum[c]);
        }
    }
    const u32 line = y.lo + j, column = q.mirrored ? p.width - 1 - x.lo - i : x.lo + i;
#pragma unroll
    for (u32 c = 0; c < C; c++) {
        const u64 at = p.last ? (((u64)image * p.height + line) * p.width + column) * C + c : (((u64)image * C + c) * p.height + line) * p.width + column;
        store_pixel(p, at, c, byte_of(all[c]), !q.at);
    }
}

__device__ inline void make_pixels(const pictures &p, u32 image, const side &x, const side &y, const shares *s, u32 thread) {
    if (p.channels == 1) make_pixel<1>(p, image, x, y, s, thread);
    else make_pixel<3>(p, image, x, y, s, thread);
}

#ifdef __CUDA_ARCH__
extern "C" __global__ void __launch_bounds__(ACROSS * DOWN) pixels(const pictures p) {
    __shared__ shares s;
    const u32 image = blockIdx.x / p.each;
    const tiling t = tiling_of(p, p.p[image]);
#pragma unroll 1
    for (u32 k = blockIdx.x % p.each; k < t.count; k += p.each) {
        side x, y;
        sides_of(p, t, k, &x, &y);
        find_coefficients(p, p.p[image], x, y, &s, threadIdx.x);
        __syncthreads();
        make_pixels(p, image, x, y, &s, threadIdx.x);
        __syncthreads();
    }
}
#endif

// Rows of a sparse matrix, made dense. Row r has the elements offsets[r] to offsets[r+1] of values
// and indices. A block takes a row: its threads look whether all numbers of columns are below width
// and rise, and clear the row. Then they store its values, each where choice says (-1: nowhere), or at
// its own column. A row that is not so stays zeros, and is counted in found.
struct sparse {
    u64 dst, values, indices, offsets, choice, found;
    u64 rows, elements, width, kept;
    u32 size, index; // bytes of a value; the type of an index: SIGNED, and the binary logarithm of its bytes
};

enum { SIGNED = 4 };

__device__ inline u64 index_of(const sparse &p, u64 i) {
    switch (p.index) {
    case 0: return ((const u8 *)p.indices)[i];
    case 1: return ((const u16 *)p.indices)[i];
    case 2: return ((const u32 *)p.indices)[i];
    case SIGNED: return (u64)(i64)((const signed char *)p.indices)[i];
    case SIGNED + 1: return (u64)(i64)((const i16 *)p.indices)[i];
    case SIGNED + 2: return (u64)(i64)((const i32 *)p.indices)[i];
    }
    return ((const u64 *)p.indices)[i];
}

// Whether a row is within the elements.
__device__ inline bool there(const sparse &p, u64 row, u64 *lo, u64 *hi) {
    *lo = ((const u64 *)p.offsets)[row], *hi = ((const u64 *)p.offsets)[row + 1];
    return *lo <= *hi && *hi <= p.elements;
}

__device__ inline bool wrong_columns(const sparse &p, u64 lo, u64 hi, u32 thread, u32 threads) {
    bool wrong = false;
    for (u64 i = lo + thread; i < hi; i += threads) {
        const u64 c = index_of(p, i);
        wrong |= c >= p.width || i > lo && index_of(p, i - 1) >= c;
    }
    return wrong;
}

template <class T> __device__ inline void clear_units(u64 dst, u64 bytes, T zero, u32 thread, u32 threads) {
    for (u64 i = thread; i < bytes / sizeof(T); i += threads) ((T *)dst)[i] = zero;
}

__device__ inline void clear_row(const sparse &p, u64 row, u32 thread, u32 threads) {
    const u64 bytes = p.kept * p.size, dst = p.dst + row * bytes;
    const lane16 zeros = {0, 0, 0, 0};
    if ((dst | bytes) % 16 == 0) clear_units(dst, bytes, zeros, thread, threads);
    else if ((dst | bytes) % 4 == 0) clear_units(dst, bytes, (u32)0, thread, threads);
    else clear_units(dst, bytes, (u8)0, thread, threads);
}

template <class T> __device__ inline void store_values(const sparse &p, u64 row, u64 lo, u64 hi, u32 thread, u32 threads) {
    T *to = (T *)p.dst + row * p.kept;
    for (u64 i = lo + thread; i < hi; i += threads) {
        u64 c = index_of(p, i);
        if (p.choice) {
            const i32 k = ((const i32 *)p.choice)[c];
            if (k < 0) continue;
            c = k;
        }
        to[c] = ((const T *)p.values)[i];
    }
}

__device__ inline void store_row(const sparse &p, u64 row, u64 lo, u64 hi, u32 thread, u32 threads) {
    switch (p.size) {
    case 1: store_values<u8>(p, row, lo, hi, thread, threads); return;
    case 2: store_values<u16>(p, row, lo, hi, thread, threads); return;
    case 4: store_values<u32>(p, row, lo, hi, thread, threads); return;
    }
    store_values<u64>(p, row, lo, hi, thread, threads);
}

#ifdef __CUDA_ARCH__
extern "C" __global__ void __launch_bounds__(256) dense(const sparse p) {
#pragma unroll 1
    for (u64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
        u64 lo, hi;
        bool wrong = !there(p, row, &lo, &hi);
        clear_row(p, row, threadIdx.x, blockDim.x);
        wrong = wrong || wrong_columns(p, lo, hi, threadIdx.x, blockDim.x);
        if (!__syncthreads_or(wrong)) store_row(p, row, lo, hi, threadIdx.x, blockDim.x);
        else if (threadIdx.x == 0) atomicAdd((u32 *)p.found, 1);
    }
}
#endif

// Reads size bytes, a multiple of 16, and leaves almost nothing: how fast can a
// kernel read?
extern "C" __global__ void read16(u64 src, u64 size, u64 sink) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    const lane16 *s = (const lane16 *)src;
    const u64 lanes = size / 16;
    const lane16 zero = {0};
    u32 sum = 0;
    for (u64 j = t; j < lanes; j += 4 * (u64)all) {
        lane16 v[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) v[k] = j + k * (u64)all < lanes ? load(s + j + k * (u64)all) : zero;
#pragma unroll
        for (u32 k = 0; k < 4; k++) sum ^= v[k].a ^ v[k].b ^ v[k].c ^ v[k].d;
    }
    if (sum) atomicXor((u32 *)sink, sum);
}

// Takes so many nanoseconds: a training step's stand-in.
extern "C" __global__ void spin(u64 ns) {
#ifdef __CUDA_ARCH__
    u64 from, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - from < ns);
#endif
}
