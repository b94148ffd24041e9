// Kernels of the loader. kernels.ptx is made from this file by ptx.py and holds its
// hash; the driver compiles it for the GPU at hand. Sources are device memory or
// pinned host memory. Every parameter has 8 bytes. Results are bit for bit those of
// the same arithmetic on the host, except for which NaN a NaN becomes.
//
// An item is a piece of a row; a group of 2^log2 threads of one warp copies it. Rows
// are cut into pieces so that a few long rows occupy all groups. In each thread four
// independent loads are on their way at a time: reads over the link take
// microseconds. Row -1 is zeros.

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

struct group { u32 lane, width, first, stride; };

__device__ inline group place(u64 log2) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    group g = {threadIdx.x & ((1u << log2) - 1), 1u << log2, t >> log2, (gridDim.x * blockDim.x) >> log2};
    return g;
}

// Rows of size bytes that are a multiple of a lane T, all addresses aligned to it.
template <class T>
__device__ inline void gather_lanes(u64 dst, u64 src, u64 ids, u64 n, u64 size, u64 pieces, u64 piece, u64 log2) {
    const group g = place(log2);
    const i64 *id = (const i64 *)ids;
    const u32 items = (u32)(n * pieces), lanes = (u32)(piece / sizeof(T));
    const T zero = {0};
    if (pieces == 1 && lanes <= g.width) {
        for (u32 it = g.first; it < items; it += 4 * g.stride) {
            i64 r[4];
            T v[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) r[k] = it + k * g.stride < items ? id[it + k * g.stride] : -1;
#pragma unroll
            for (u32 k = 0; k < 4; k++) v[k] = r[k] >= 0 && g.lane < lanes ? load((const T *)(src + (u64)r[k] * size) + g.lane) : zero;
#pragma unroll
            for (u32 k = 0; k < 4; k++)
                if (it + k * g.stride < items && g.lane < lanes) *((T *)(dst + (u64)(it + k * g.stride) * size) + g.lane) = v[k];
        }
        return;
    }
    for (u32 it = g.first; it < items; it += g.stride) {
        const u32 row = it / (u32)pieces;
        const u64 from = (u64)(it % (u32)pieces) * piece;
        const u32 m = (u32)(min(piece, size - from) / sizeof(T));
        const i64 r = id[row];
        const T *s = (const T *)(src + (u64)r * size + from);
        T *d = (T *)(dst + (u64)row * size + from);
        for (u32 j = g.lane; j < m; j += 4 * g.width) {
            T v[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) v[k] = r >= 0 && j + k * g.width < m ? load(s + j + k * g.width) : zero;
#pragma unroll
            for (u32 k = 0; k < 4; k++)
                if (j + k * g.width < m) d[j + k * g.width] = v[k];
        }
    }
}

#define LANES(name, T) \
    extern "C" __global__ void name(u64 dst, u64 src, u64 ids, u64 n, u64 size, u64 pieces, u64 piece, u64 log2) { \
        gather_lanes<T>(dst, src, ids, n, size, pieces, piece, log2); \
    }
LANES(gather16, lane16)
LANES(gather8, lane8)
LANES(gather4, u32)

// Rows of any size at any address. Whole aligned words are loaded and shifted to
// where they belong; a word that holds a byte of a row is in the same page.
extern "C" __global__ void gather1(u64 dst, u64 src, u64 ids, u64 n, u64 size, u64 pieces, u64 piece, u64 log2) {
    const group g = place(log2);
    const u32 items = (u32)(n * pieces);
    for (u32 it = g.first; it < items; it += g.stride) {
        const u32 row = it / (u32)pieces;
        const u64 from = (u64)(it % (u32)pieces) * piece;
        const u32 m = (u32)min(piece, size - from);
        const i64 r = ((const i64 *)ids)[row];
        u64 s = src + (u64)r * size + from, d = dst + (u64)row * size + from;
        const u32 head = min((u32)(-d & 3), m);
        for (u32 j = g.lane; j < head; j += g.width) ((u8 *)d)[j] = r < 0 ? 0 : ((const u8 *)s)[j];
        s += head;
        d += head;
        const u32 words = (m - head) / 4, shift = (u32)(s & 3) * 8;
        const u32 *w = (const u32 *)(s & ~(u64)3);
        for (u32 j = g.lane; j < words; j += 4 * g.width) {
            u32 a[4], b[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const bool in = r >= 0 && j + k * g.width < words;
                a[k] = in ? load(w + j + k * g.width) : 0;
                b[k] = in && shift ? load(w + j + k * g.width + 1) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < 4; k++)
                if (j + k * g.width < words) ((u32 *)d)[j + k * g.width] = __funnelshift_r(a[k], b[k], shift);
        }
        for (u32 j = head + words * 4 + g.lane; j < m; j += g.width) ((u8 *)d)[j - head] = r < 0 ? 0 : ((const u8 *)s)[j - head];
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

// Element e of a row belongs to channel e / inner % channels, and becomes
// x * scale[channel] + shift[channel], rounded twice. Without scale it is only
// converted. Rows are elems elements, a multiple of N.
template <class S, class D, u32 N>
__device__ inline void cast_rows(u64 dst, u64 src, u64 ids, u64 n, u64 elems, u64 pieces, u64 piece, u64 log2, u64 scale, u64 shift, u64 channels, u64 inner) {
    const group g = place(log2);
    const u32 items = (u32)(n * pieces);
    const float *sc = (const float *)scale, *sh = (const float *)shift;
    const float a0 = sc ? sc[0] : 0, b0 = sc ? sh[0] : 0;
    for (u32 it = g.first; it < items; it += g.stride) {
        const u32 row = it / (u32)pieces;
        const u64 from = (u64)(it % (u32)pieces) * piece;
        const u32 m = (u32)(min(piece, elems - from) / N);
        const i64 r = ((const i64 *)ids)[row];
        const vec<S, N> *s = (const vec<S, N> *)((const S *)src + (u64)r * elems + from);
        vec<D, N> *d = (vec<D, N> *)((D *)dst + (u64)row * elems + from);
#pragma unroll 1
        for (u32 j = g.lane; j < m; j += g.width) {
            vec<D, N> out;
            if (r < 0) {
#pragma unroll
                for (u32 k = 0; k < N; k++) narrow(0.0f, &out.x[k]);
            } else {
                const vec<S, N> in = s[j];
#pragma unroll
                for (u32 k = 0; k < N; k++) {
                    float x = widen(in.x[k]);
                    if (sc) {
                        float a = a0, b = b0;
                        if (channels > 1) {
                            const u32 c = (u32)(from + j * N + k) / (u32)inner % (u32)channels;
                            a = sc[c], b = sh[c];
                        }
                        x = __fadd_rn(__fmul_rn(x, a), b);
                    }
                    narrow(x, &out.x[k]);
                }
            }
            d[j] = out;
        }
    }
}

#define CAST(name, S, D) \
    extern "C" __global__ void name(u64 dst, u64 src, u64 ids, u64 n, u64 elems, u64 pieces, u64 piece, u64 log2, u64 scale, u64 shift, u64 channels, u64 inner) { \
        if (elems % 4 == 0 && src % (4 * sizeof(S)) == 0 && dst % (4 * sizeof(D)) == 0) \
            cast_rows<S, D, 4>(dst, src, ids, n, elems, pieces, piece, log2, scale, shift, channels, inner); \
        else \
            cast_rows<S, D, 1>(dst, src, ids, n, elems, pieces, piece, log2, scale, shift, channels, inner); \
    }
#define CASTS(name, S) CAST(name##_f16, S, f16) CAST(name##_bf16, S, bf16) CAST(name##_f32, S, float)
CASTS(cast_u8, u8)
CASTS(cast_i16, i16)
CASTS(cast_i32, i32)
CASTS(cast_f16, f16)
CASTS(cast_bf16, bf16)
CASTS(cast_f32, float)

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
