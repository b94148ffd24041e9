// kernels.cu compiled for the processor: every thread of every block runs alone, which
// is right for kernels whose threads share nothing.
#include <stdint.h>
#include <string.h>

extern "C" float fake_widen_f16(uint16_t);
extern "C" uint16_t fake_narrow_f16(float);
#define widen_f16 fake_widen_f16
#define narrow_f16 fake_narrow_f16

#define __global__
#define __device__ static
#define __align__(n) alignas(n)

struct place3 { unsigned x; };
static thread_local place3 blockIdx, threadIdx, blockDim, gridDim;

template <class T> static T min(T a, T b) { return a < b ? a : b; }
static float __int2float_rn(int x) { return (float)x; }
static float __fmul_rn(float a, float b) { volatile float c = a * b; return c; }
static float __fadd_rn(float a, float b) { volatile float c = a + b; return c; }
static float __uint_as_float(unsigned x) { float f; memcpy(&f, &x, 4); return f; }
static unsigned __float_as_uint(float f) { unsigned x; memcpy(&x, &f, 4); return x; }
static unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return (unsigned)(((uint64_t)hi << 32 | lo) >> (n & 31)); }
static void atomicXor(unsigned *p, unsigned v) { *p ^= v; }

#include "kernels.cu"

#define GATHER(k) [](u64 *p) { k(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]); }
#define CAST1(k) [](u64 *p) { k(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11]); }
#define CAST3(k) CAST1(k##_f16), CAST1(k##_bf16), CAST1(k##_f32)
static void (*const kernels[])(u64 *) = {
    GATHER(gather16), GATHER(gather8), GATHER(gather4), GATHER(gather1),
    [](u64 *p) { read16(p[0], p[1], p[2]); }, [](u64 *p) { spin(p[0]); },
    CAST3(cast_u8), CAST3(cast_i16), CAST3(cast_i32), CAST3(cast_f16), CAST3(cast_bf16), CAST3(cast_f32)};

extern "C" void run_source(int f, unsigned grid, unsigned block, uint64_t *p) {
    u64 params[16];
    memcpy(params, p, sizeof params);
    gridDim.x = grid, blockDim.x = block;
    for (unsigned b = 0; b < grid; b++)
        for (unsigned t = 0; t < block; t++) {
            blockIdx.x = b, threadIdx.x = t;
            kernels[f](params);
        }
}
