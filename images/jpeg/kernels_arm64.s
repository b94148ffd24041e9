#include "textflag.h"

// The kernels of idct.go, output.go and colour.go; see kernels_simd.go for what the callers
// check. Instructions that the assembler lacks are encoded by the macros below, whose
// operands are the numbers of registers, in its order: the result last. With q = HIGH they
// take the upper half of the narrow registers.

#define LOW 0
#define HIGH 1<<30

// Products of words with word i of register m (0 to 15), and sums of them.
#define BY(base, q, m, i, n, d) WORD $(base | q | (i>>2)<<11 | (i>>1&1)<<21 | (i&1)<<20 | m<<16 | n<<5 | d)
#define SMULL(q, m, i, n, d) BY(0x0f40a000, q, m, i, n, d)
#define SMLAL(q, m, i, n, d) BY(0x0f402000, q, m, i, n, d)

#define THREE(base, q, m, n, d) WORD $(base | q | m<<16 | n<<5 | d)
#define ADDS4(m, n, d) THREE(0x4ea08400, 0, m, n, d)
#define SUBS4(m, n, d) THREE(0x6ea08400, 0, m, n, d) // n - m
#define ADDHN(q, m, n, d) THREE(0x0e604000, q, m, n, d) // the upper halves of sums
#define SUBHN(q, m, n, d) THREE(0x0e606000, q, m, n, d)
#define UMULL(q, m, n, d) THREE(0x2e20c000, q, m, n, d) // of bytes
#define UMLAL(q, m, n, d) THREE(0x2e208000, q, m, n, d)
#define USUBL(q, m, n, d) THREE(0x2e202000, q, m, n, d)
#define UADDW(q, m, n, d) THREE(0x2e201000, q, m, n, d)

// Shifts; those of 32 bits to words, and of words to bytes (B).
#define TWO(base, q, imm, n, d) WORD $(base | q | (imm)<<16 | n<<5 | d)
#define SSHLL(q, by, n, d) TWO(0x0f00a400, q, 16+by, n, d)
#define SQSHRN(q, by, n, d) TWO(0x0f009400, q, 32-by, n, d)
#define RSHRN(q, by, n, d) TWO(0x0f008c00, q, 32-by, n, d)
#define SQSHRNB(q, by, n, d) TWO(0x0f009400, q, 16-by, n, d)
#define SHRNB(q, by, n, d) TWO(0x0f008400, q, 16-by, n, d)
#define RSHRNB(q, by, n, d) TWO(0x0f008c00, q, 16-by, n, d)
#define SQXTUN(q, n, d) WORD $(0x2e212800 | q | n<<5 | d)

// Sums of the constants in idct.go: 10703 4433 -10704 -6436 9633 6437 -4927 -7373, 4926
// -4176 -20995 4177.
DATA factors<>+0(SB)/8, $0xe6dcd630115129cf
DATA factors<>+8(SB)/8, $0xe333ecc1192525a1
DATA factors<>+16(SB)/8, $0x1051adfdefb0133e
DATA factors<>+24(SB)/8, $0
GLOBL factors<>(SB), RODATA|NOPTR, $32

// PASS transforms half of the columns of V16-V23 (words), as eight in idct.go does: V24 and
// V25 are i0 + i4 and i0 - i4, V26 and V27 are i7 + i3 and i5 + i1, V16 is what rounds. OUT
// makes the sum and the difference of two registers narrow.
#define PASS(q, OUT) \
	SMULL(q, 0, 0, 18, 2);      \
	SMLAL(q, 0, 1, 22, 2);      \
	SMULL(q, 0, 1, 18, 3);      \
	SMLAL(q, 0, 2, 22, 3);      \
	SSHLL(q, 13, 24, 4);        \
	SSHLL(q, 13, 25, 5);        \
	ADDS4(16, 4, 4);            \
	ADDS4(16, 5, 5);            \
	ADDS4(2, 4, 6);             \
	SUBS4(2, 4, 4);             \
	ADDS4(3, 5, 7);             \
	SUBS4(3, 5, 5);             \
	SMULL(q, 0, 3, 26, 8);      \
	SMLAL(q, 0, 4, 27, 8);      \
	SMULL(q, 0, 4, 26, 10);     \
	SMLAL(q, 0, 5, 27, 10);     \
	VMOV V8.B16, V9.B16;        \
	VMOV V10.B16, V11.B16;      \
	SMLAL(q, 0, 6, 23, 8);      \
	SMLAL(q, 0, 7, 17, 8);      \
	SMLAL(q, 1, 3, 19, 9);      \
	SMLAL(q, 1, 2, 21, 9);      \
	SMLAL(q, 1, 0, 17, 10);     \
	SMLAL(q, 0, 7, 23, 10);     \
	SMLAL(q, 1, 1, 21, 11);     \
	SMLAL(q, 1, 2, 19, 11);     \
	OUT(q, 10, 6, 12, 31);      \
	OUT(q, 9, 7, 13, 30);       \
	OUT(q, 11, 5, 14, 29);      \
	OUT(q, 8, 4, 15, 28)

#define FIRST(q, odd, even, up, down) \
	ADDS4(odd, even, 2);   \
	SUBS4(odd, even, 3);   \
	SQSHRN(q, 11, 2, up);  \
	SQSHRN(q, 11, 3, down)

// 16 of the 18 bits: two are left.
#define SECOND(q, odd, even, up, down) \
	ADDHN(q, odd, even, up);  \
	SUBHN(q, odd, even, down)

// SUMS prepares PASS.
#define SUMS(ROUND) \
	VADD V20.H8, V16.H8, V24.H8;  \
	VSUB V20.H8, V16.H8, V25.H8;  \
	VADD V19.H8, V23.H8, V26.H8;  \
	VADD V17.H8, V21.H8, V27.H8;  \
	MOVD $ROUND, R5;              \
	VDUP R5, V16.S4

// func idctPairSIMD(in *[2][128]int16, a *byte, strideA int, b *byte, strideB int)
TEXT ·idctPairSIMD(SB), NOSPLIT, $0-40
	MOVD in+0(FP), R0
	MOVD a+8(FP), R1
	MOVD strideA+16(FP), R2
	MOVD $factors<>(SB), R3
	MOVD $2, R4
	VLD1 (R3), [V0.H8, V1.H8]

block:
	MOVD   R0, R6
	VLD1.P 64(R6), [V16.H8, V17.H8, V18.H8, V19.H8]
	VLD1   (R6), [V20.H8, V21.H8, V22.H8, V23.H8]
	VEOR   V2.B16, V2.B16, V2.B16
	VEOR   V3.B16, V3.B16, V3.B16
	VEOR   V4.B16, V4.B16, V4.B16
	VEOR   V5.B16, V5.B16, V5.B16
	VST1   [V2.H8, V3.H8, V4.H8, V5.H8], (R6)
	VST1   [V2.H8, V3.H8, V4.H8, V5.H8], (R0)
	ADD    $256, R0
	SUMS(1<<10)
	PASS(LOW, FIRST)
	PASS(HIGH, FIRST)

	// Transpose words.
	VTRN1 V13.H8, V12.H8, V2.H8
	VTRN2 V13.H8, V12.H8, V3.H8
	VTRN1 V15.H8, V14.H8, V4.H8
	VTRN2 V15.H8, V14.H8, V5.H8
	VTRN1 V29.H8, V28.H8, V6.H8
	VTRN2 V29.H8, V28.H8, V7.H8
	VTRN1 V31.H8, V30.H8, V8.H8
	VTRN2 V31.H8, V30.H8, V9.H8
	VTRN1 V4.S4, V2.S4, V10.S4
	VTRN2 V4.S4, V2.S4, V11.S4
	VTRN1 V5.S4, V3.S4, V12.S4
	VTRN2 V5.S4, V3.S4, V13.S4
	VTRN1 V8.S4, V6.S4, V14.S4
	VTRN2 V8.S4, V6.S4, V15.S4
	VTRN1 V9.S4, V7.S4, V28.S4
	VTRN2 V9.S4, V7.S4, V29.S4
	VTRN1 V14.D2, V10.D2, V16.D2
	VTRN2 V14.D2, V10.D2, V20.D2
	VTRN1 V28.D2, V12.D2, V17.D2
	VTRN2 V28.D2, V12.D2, V21.D2
	VTRN1 V15.D2, V11.D2, V18.D2
	VTRN2 V15.D2, V11.D2, V22.D2
	VTRN1 V29.D2, V13.D2, V19.D2
	VTRN2 V29.D2, V13.D2, V23.D2

	SUMS(1<<17)
	PASS(LOW, SECOND)
	PASS(HIGH, SECOND)

	// Transpose bytes: columns x and x+4 share a register.
	SQSHRNB(LOW, 2, 12, 2)
	SQSHRNB(LOW, 2, 13, 3)
	SQSHRNB(LOW, 2, 14, 4)
	SQSHRNB(LOW, 2, 15, 5)
	SQSHRNB(HIGH, 2, 28, 2)
	SQSHRNB(HIGH, 2, 29, 3)
	SQSHRNB(HIGH, 2, 30, 4)
	SQSHRNB(HIGH, 2, 31, 5)
	VTRN1 V3.B16, V2.B16, V6.B16
	VTRN2 V3.B16, V2.B16, V7.B16
	VTRN1 V5.B16, V4.B16, V8.B16
	VTRN2 V5.B16, V4.B16, V9.B16
	VTRN1 V8.H8, V6.H8, V10.H8
	VTRN2 V8.H8, V6.H8, V11.H8
	VTRN1 V9.H8, V7.H8, V12.H8
	VTRN2 V9.H8, V7.H8, V13.H8
	VUZP1 V12.S4, V10.S4, V2.S4
	VUZP1 V13.S4, V11.S4, V3.S4
	VUZP2 V12.S4, V10.S4, V4.S4
	VUZP2 V13.S4, V11.S4, V5.S4
	VMOVI $128, V6.B16
	VADD  V6.B16, V2.B16, V2.B16
	VADD  V6.B16, V3.B16, V3.B16
	VADD  V6.B16, V4.B16, V4.B16
	VADD  V6.B16, V5.B16, V5.B16
	VST1  [V2.B8], (R1)
	ADD   R2, R1
	VST1  V2.D[1], (R1)
	ADD   R2, R1
	VST1  [V3.B8], (R1)
	ADD   R2, R1
	VST1  V3.D[1], (R1)
	ADD   R2, R1
	VST1  [V4.B8], (R1)
	ADD   R2, R1
	VST1  V4.D[1], (R1)
	ADD   R2, R1
	VST1  [V5.B8], (R1)
	ADD   R2, R1
	VST1  V5.D[1], (R1)

	MOVD b+24(FP), R1
	MOVD strideB+32(FP), R2
	SUB  $1, R4
	CBNZ R4, block
	RET

// Colours: 26345 -14942 -22554 18734, as in kernels_amd64.s.
DATA colours<>+0(SB)/8, $0x492ea7e6c5a266e9
DATA colours<>+8(SB)/8, $0
GLOBL colours<>(SB), RODATA|NOPTR, $16

// HALF converts eight pixels: chroma less 128 in V4 and V5, luma in half of V1. Red, green
// and blue go to half of V16, V17, V18.
#define HALF(q) \
	SMULL(LOW, 0, 0, 5, 20);      \
	SMULL(HIGH, 0, 0, 5, 21);     \
	RSHRN(LOW, 16, 20, 22);       \
	RSHRN(HIGH, 16, 21, 22);      \
	VADD V5.H8, V22.H8, V22.H8;   \
	UADDW(q, 1, 22, 22);          \
	SQXTUN(q, 22, 16);            \
	SMULL(LOW, 0, 2, 4, 20);      \
	SMLAL(LOW, 0, 3, 5, 20);      \
	SMULL(HIGH, 0, 2, 4, 21);     \
	SMLAL(HIGH, 0, 3, 5, 21);     \
	RSHRN(LOW, 16, 20, 22);       \
	RSHRN(HIGH, 16, 21, 22);      \
	VSUB V5.H8, V22.H8, V22.H8;   \
	UADDW(q, 1, 22, 22);          \
	SQXTUN(q, 22, 17);            \
	SMULL(LOW, 0, 1, 4, 20);      \
	SMULL(HIGH, 0, 1, 4, 21);     \
	RSHRN(LOW, 16, 20, 22);       \
	RSHRN(HIGH, 16, 21, 22);      \
	VADD V4.H8, V22.H8, V22.H8;   \
	VADD V4.H8, V22.H8, V22.H8;   \
	UADDW(q, 1, 22, 22);          \
	SQXTUN(q, 22, 18)

// func yccToRGBSIMD(dst, y, cb, cr *byte, turns int)
TEXT ·yccToRGBSIMD(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  y+8(FP), R1
	MOVD  cb+16(FP), R2
	MOVD  cr+24(FP), R3
	MOVD  turns+32(FP), R4
	MOVD  $colours<>(SB), R5
	VLD1  (R5), [V0.H8]
	VMOVI $128, V19.B16
	LSL   $1, R4

colour:
	VLD1.P 16(R1), [V1.B16]
	VLD1.P 16(R2), [V2.B16]
	VLD1.P 16(R3), [V3.B16]
	USUBL(LOW, 19, 2, 4)
	USUBL(LOW, 19, 3, 5)
	HALF(LOW)
	USUBL(HIGH, 19, 2, 4)
	USUBL(HIGH, 19, 3, 5)
	HALF(HIGH)
	VST3.P [V16.B16, V17.B16, V18.B16], 48(R0)
	SUB    $1, R4
	CBNZ   R4, colour
	RET

// TRIPLE is three times the bytes of M and once those of S, in words.
#define TRIPLE(M, S, lo, hi) \
	UMULL(LOW, 31, M, lo);   \
	UMULL(HIGH, 31, M, hi);  \
	UADDW(LOW, S, lo, lo);   \
	UADDW(HIGH, S, hi, hi)

// func upH2V1SIMD(dst, src *byte, turns int)
TEXT ·upH2V1SIMD(SB), NOSPLIT, $0-24
	MOVD  dst+0(FP), R0
	MOVD  src+8(FP), R1
	MOVD  turns+16(FP), R4
	VMOVI $3, V31.B16
	VMOVI $1, V30.B16
	LSL   $1, R4

double:
	ADD    $1, R1, R2
	ADD    $2, R1, R3
	VLD1.P 16(R1), [V0.B16]
	VLD1   (R2), [V1.B16]
	VLD1   (R3), [V2.B16]
	TRIPLE(1, 0, 4, 5)
	TRIPLE(1, 2, 6, 7)
	UADDW(LOW, 30, 4, 4)
	UADDW(LOW, 30, 5, 5)
	SHRNB(LOW, 2, 4, 16)
	SHRNB(HIGH, 2, 5, 16)
	RSHRNB(LOW, 2, 6, 17)
	RSHRNB(HIGH, 2, 7, 17)
	VST2.P [V16.B16, V17.B16], 32(R0)
	SUB    $1, R4
	CBNZ   R4, double
	RET

// func upH1V2SIMD(dst, near, far *byte, turns int, bias int)
TEXT ·upH1V2SIMD(SB), NOSPLIT, $0-40
	MOVD  dst+0(FP), R0
	MOVD  near+8(FP), R1
	MOVD  far+16(FP), R2
	MOVD  turns+24(FP), R4
	MOVD  bias+32(FP), R5
	VMOVI $3, V31.B16
	VDUP  R5, V30.B16
	LSL   $1, R4

between:
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R2), [V1.B16]
	TRIPLE(0, 1, 4, 5)
	UADDW(LOW, 30, 4, 4)
	UADDW(LOW, 30, 5, 5)
	SHRNB(LOW, 2, 4, 16)
	SHRNB(HIGH, 2, 5, 16)
	VST1.P [V16.B16], 16(R0)
	SUB    $1, R4
	CBNZ   R4, between
	RET

// func upH2V2SIMD(dst, near, far *byte, turns int)
TEXT ·upH2V2SIMD(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  near+8(FP), R1
	MOVD  far+16(FP), R2
	MOVD  turns+24(FP), R4
	VMOVI $3, V31.B16
	VMOVI $7, V30.B16
	LSL   $1, R4

both:
	ADD    $1, R1, R5
	ADD    $1, R2, R6
	ADD    $2, R1, R7
	ADD    $2, R2, R8
	VLD1.P 16(R1), [V0.B16]
	VLD1.P 16(R2), [V1.B16]
	VLD1   (R5), [V2.B16]
	VLD1   (R6), [V3.B16]
	VLD1   (R7), [V18.B16]
	VLD1   (R8), [V19.B16]
	TRIPLE(0, 1, 4, 5)
	TRIPLE(18, 19, 6, 7)
	TRIPLE(2, 3, 20, 21)
	VADD V20.H8, V20.H8, V22.H8
	VADD V21.H8, V21.H8, V23.H8
	VADD V22.H8, V20.H8, V20.H8
	VADD V23.H8, V21.H8, V21.H8
	VADD V20.H8, V4.H8, V4.H8
	VADD V21.H8, V5.H8, V5.H8
	VADD V20.H8, V6.H8, V6.H8
	VADD V21.H8, V7.H8, V7.H8
	UADDW(LOW, 30, 6, 6)
	UADDW(LOW, 30, 7, 7)
	RSHRNB(LOW, 4, 4, 16)
	RSHRNB(HIGH, 4, 5, 16)
	SHRNB(LOW, 4, 6, 17)
	SHRNB(HIGH, 4, 7, 17)
	VST2.P [V16.B16, V17.B16], 32(R0)
	SUB    $1, R4
	CBNZ   R4, both
	RET
