#include "textflag.h"

// The kernels of resize.go; see kernels_amd64.go for what the callers check. A weight w is
// 2048 h + l; h and l are multiplied apart, and the sums are put together modulo 2^32.

// Two pixels to words: R R G G B B.
DATA two<>+0(SB)/8, $0x8004800180038000
DATA two<>+8(SB)/8, $0x8080808080058002
DATA two<>+16(SB)/8, $0x8004800180038000
DATA two<>+24(SB)/8, $0x8080808080058002
GLOBL two<>(SB), RODATA|NOPTR, $32

DATA half<>+0(SB)/8, $0x0020000000200000
DATA half<>+8(SB)/8, $0x0020000000200000
DATA half<>+16(SB)/8, $0x0020000000200000
DATA half<>+24(SB)/8, $0x0020000000200000
GLOBL half<>(SB), RODATA|NOPTR, $32

// func acrossAVX2(dst *byte, dstStride int, src *byte, srcStride int, lo *int32, first int, split *uint32, out, pairs int)
TEXT ·acrossAVX2(SB), NOSPLIT, $0-72
	MOVQ    dst+0(FP), DI
	MOVQ    dstStride+8(FP), R8
	MOVQ    src+16(FP), SI
	MOVQ    srcStride+24(FP), R9
	MOVQ    lo+32(FP), R10
	MOVQ    first+40(FP), AX
	MOVQ    split+48(FP), R11
	MOVQ    out+56(FP), CX
	MOVQ    pairs+64(FP), R12
	LEAQ    (AX)(AX*2), AX
	SUBQ    AX, SI // pixel 0, which may lie before the memory
	LEAQ    (R9)(R9*2), R13
	LEAQ    (R8)(R8*2), BX
	VMOVDQU two<>(SB), Y15
	VMOVDQU half<>(SB), Y14

output:
	MOVLQSX (R10), AX
	LEAQ    (AX)(AX*2), AX
	ADDQ    SI, AX
	MOVQ    R12, DX
	VMOVDQA Y14, Y0
	VMOVDQA Y14, Y1
	VPXOR   Y2, Y2, Y2
	VPXOR   Y3, Y3, Y3

taps:
	VPBROADCASTD (R11), Y8
	VPBROADCASTD 4(R11), Y9
	VMOVDQU      (AX), X4
	VINSERTI128  $1, (AX)(R9*1), Y4, Y4
	VMOVDQU      (AX)(R9*2), X5
	VINSERTI128  $1, (AX)(R13*1), Y5, Y5
	VPSHUFB      Y15, Y4, Y4
	VPSHUFB      Y15, Y5, Y5
	VPMADDWD     Y8, Y4, Y6
	VPMADDWD     Y8, Y5, Y7
	VPMADDWD     Y9, Y4, Y4
	VPMADDWD     Y9, Y5, Y5
	VPADDD       Y6, Y2, Y2
	VPADDD       Y7, Y3, Y3
	VPADDD       Y4, Y0, Y0
	VPADDD       Y5, Y1, Y1
	ADDQ         $6, AX
	ADDQ         $8, R11
	DECQ         DX
	JNZ          taps

	VPSLLD       $11, Y2, Y2
	VPSLLD       $11, Y3, Y3
	VPADDD       Y2, Y0, Y0
	VPADDD       Y3, Y1, Y1
	VPSRAD       $22, Y0, Y0
	VPSRAD       $22, Y1, Y1
	VPACKSSDW    Y1, Y0, Y0
	VPACKUSWB    Y0, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VMOVD        X0, (DI)
	VPEXTRD      $1, X0, (DI)(R8*2)
	VMOVD        X1, (DI)(R8*1)
	VPEXTRD      $1, X1, (DI)(BX*1)
	ADDQ         $3, DI
	ADDQ         $4, R10
	DECQ         CX
	JNZ          output
	VZEROUPPER
	RET

// PART adds two taps of eight bytes, pairs of words in V, to the sums in L and H.
#define PART(V, L, H) \
	VPMADDWD Y12, V, Y14; \
	VPADDD   Y14, H, H;   \
	VPMADDWD Y13, V, V;   \
	VPADDD   V, L, L

#define SUM(L, H) \
	VPSLLD $11, H, H; \
	VPADDD H, L, L;   \
	VPSRAD $22, L, L

// func downAVX2(dst, src *byte, stride int, split *uint32, pairs, turns int)
TEXT ·downAVX2(SB), NOSPLIT, $0-48
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  stride+16(FP), R9
	MOVQ  split+24(FP), R11
	MOVQ  pairs+32(FP), R12
	MOVQ  turns+40(FP), CX
	VPXOR Y15, Y15, Y15

turns:
	MOVQ    SI, AX
	MOVQ    R11, BX
	MOVQ    R12, DX
	VMOVDQU half<>(SB), Y0
	VMOVDQA Y0, Y1
	VMOVDQA Y0, Y2
	VMOVDQA Y0, Y3
	VPXOR   Y4, Y4, Y4
	VPXOR   Y5, Y5, Y5
	VPXOR   Y6, Y6, Y6
	VPXOR   Y7, Y7, Y7

taps:
	VPBROADCASTD (BX), Y12
	VPBROADCASTD 4(BX), Y13
	VMOVDQU      (AX), Y8
	VMOVDQU      (AX)(R9*1), Y9
	VPUNPCKLBW   Y9, Y8, Y10
	VPUNPCKHBW   Y9, Y8, Y11
	VPUNPCKLBW   Y15, Y10, Y8
	VPUNPCKHBW   Y15, Y10, Y9
	VPUNPCKLBW   Y15, Y11, Y10
	VPUNPCKHBW   Y15, Y11, Y11
	PART(Y8, Y0, Y4)
	PART(Y9, Y1, Y5)
	PART(Y10, Y2, Y6)
	PART(Y11, Y3, Y7)
	LEAQ         (AX)(R9*2), AX
	ADDQ         $8, BX
	DECQ         DX
	JNZ          taps

	SUM(Y0, Y4)
	SUM(Y1, Y5)
	SUM(Y2, Y6)
	SUM(Y3, Y7)
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKUSWB Y2, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       turns
	VZEROUPPER
	RET
