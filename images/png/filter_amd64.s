#include "textflag.h"

// func subAVX(dst, src *byte, n, bpp int)
TEXT ·subAVX(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ bpp+24(FP), DX
	VPXOR X0, X0, X0       // left

pixel:
	VMOVD  (SI), X1
	VPADDB X1, X0, X0
	VMOVD  X0, (DI)
	ADDQ   DX, SI
	ADDQ   DX, DI
	DECQ   CX
	JNZ    pixel
	RET

// func averageAVX(dst, src, above *byte, n, bpp int)
TEXT ·averageAVX(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ above+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ bpp+32(FP), DX
	VPXOR    X0, X0, X0    // left
	VPCMPEQB X5, X5, X5
	VPABSB   X5, X5        // 1 in each byte

pixel:
	VMOVD  (R8), X2
	VMOVD  (SI), X1
	VPXOR  X2, X0, X3
	VPAVGB X2, X0, X0      // rounded up
	VPAND  X5, X3, X3
	VPSUBB X3, X0, X0
	VPADDB X1, X0, X0
	VMOVD  X0, (DI)
	ADDQ   DX, SI
	ADDQ   DX, DI
	ADDQ   DX, R8
	DECQ   CX
	JNZ    pixel
	RET

// func paethAVX(dst, src, above *byte, n, bpp int)
TEXT ·paethAVX(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ above+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ bpp+32(FP), DX
	VPXOR X0, X0, X0       // a, left, as words
	VPXOR X2, X2, X2       // c, above left
	VPXOR X7, X7, X7

pixel:
	VMOVD      (R8), X1
	VMOVD      (SI), X3
	VPUNPCKLBW X7, X1, X1  // b, above
	VPUNPCKLBW X7, X3, X3
	VPSUBW     X2, X1, X4  // b - c
	VPSUBW     X2, X4, X5  // b - 2c
	VPABSW     X4, X4      // pa
	VPSUBW     X2, X0, X6
	VPADDW     X5, X0, X5
	VPABSW     X6, X6      // pb
	VPABSW     X5, X5      // pc
	VPCMPGTW   X5, X6, X8  // pb > pc
	VPMINSW    X5, X6, X6
	VPCMPGTW   X6, X4, X4  // pa > min(pb, pc)
	VPBLENDVB  X8, X2, X1, X8
	VPBLENDVB  X4, X8, X0, X0
	VPADDB     X3, X0, X0
	VMOVDQA    X1, X2
	VPACKUSWB  X0, X0, X9
	VMOVD      X9, (DI)
	ADDQ       DX, SI
	ADDQ       DX, DI
	ADDQ       DX, R8
	DECQ       CX
	JNZ        pixel
	RET
