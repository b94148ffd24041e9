#include "textflag.h"

// The kernels of resize.go; see kernels_arm64.go for what the callers check. Instructions
// that the assembler lacks are encoded by macros, whose operands are the numbers of
// registers, in its order: the result last.

#define MLA(m, n, d) WORD $(0x4ea09400 | m<<16 | n<<5 | d)             // d += n * m, four times 32 bits
#define MLABY(m, i, n, d) WORD $(0x6f800000 | (i>>1)<<11 | (i&1)<<21 | m<<16 | n<<5 | d) // m: its number i
#define SSHR22(n, d) WORD $(0x4f2a0400 | n<<5 | d)
#define SQXTUN(n, d) WORD $(0x2e212800 | n<<5 | d) // words to bytes
#define SQXTUN2(n, d) WORD $(0x6e212800 | n<<5 | d)

// Pixels 0 to 3 of a register, each to four times 32 bits: red, green, blue, 0.
DATA spread<>+0(SB)/8, $0xffffff01ffffff00
DATA spread<>+8(SB)/8, $0xffffffffffffff02
DATA spread<>+16(SB)/8, $0xffffff04ffffff03
DATA spread<>+24(SB)/8, $0xffffffffffffff05
DATA spread<>+32(SB)/8, $0xffffff07ffffff06
DATA spread<>+40(SB)/8, $0xffffffffffffff08
DATA spread<>+48(SB)/8, $0xffffff0affffff09
DATA spread<>+56(SB)/8, $0xffffffffffffff0b
GLOBL spread<>(SB), RODATA|NOPTR, $64

// func acrossNEON(dst, src *byte, lo *int32, first int, weights *int32, out, taps int)
TEXT ·acrossNEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD lo+16(FP), R2
	MOVD first+24(FP), R3
	MOVD weights+32(FP), R4
	MOVD out+40(FP), R5
	MOVD taps+48(FP), R6
	ADD  R3<<1, R3, R3
	SUB  R3, R1        // pixel 0, which may lie before the memory
	MOVD $spread<>(SB), R7
	VLD1 (R7), [V28.B16, V29.B16, V30.B16, V31.B16]
	MOVD $1<<21, R7
	VDUP R7, V27.S4

output:
	MOVW.P 4(R2), R8
	ADD    R8<<1, R8, R8
	ADD    R1, R8
	MOVD   R6, R9
	VMOV   V27.B16, V0.B16
	VEOR   V1.B16, V1.B16, V1.B16
	SUBS   $4, R9
	BLT    rest

four:
	VLD1   (R8), [V2.B16]
	ADD    $12, R8
	VLD1.P 16(R4), [V3.S4]
	VTBL   V28.B16, [V2.B16], V4.B16
	VTBL   V29.B16, [V2.B16], V5.B16
	VTBL   V30.B16, [V2.B16], V6.B16
	VTBL   V31.B16, [V2.B16], V7.B16
	MLABY(3, 0, 4, 0)
	MLABY(3, 1, 5, 1)
	MLABY(3, 2, 6, 0)
	MLABY(3, 3, 7, 1)
	SUBS   $4, R9
	BGE    four

rest:
	ADDS $4, R9
	BEQ  store

one:
	FMOVS   (R8), F2
	ADD     $3, R8
	VLD1R.P 4(R4), [V3.S4]
	VTBL    V28.B16, [V2.B16], V4.B16
	MLA(3, 4, 0)
	SUBS    $1, R9
	BNE     one

store:
	VADD  V1.S4, V0.S4, V0.S4
	SSHR22(0, 0)
	VUZP1 V0.H8, V0.H8, V0.H8
	SQXTUN(0, 0)
	FMOVS F0, (R0)
	ADD   $3, R0
	SUB   $1, R5
	CBNZ  R5, output
	RET

// func downNEON(dst, src *byte, stride int, weights *int32, taps, turns int)
TEXT ·downNEON(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD stride+16(FP), R2
	MOVD weights+24(FP), R3
	MOVD taps+32(FP), R4
	MOVD turns+40(FP), R5
	MOVD $1<<21, R6
	VDUP R6, V27.S4

turns:
	MOVD R1, R7
	MOVD R3, R8
	MOVD R4, R9
	VMOV V27.B16, V0.B16
	VMOV V27.B16, V1.B16
	VMOV V27.B16, V2.B16
	VMOV V27.B16, V3.B16

taps:
	VLD1    (R7), [V4.B16]
	ADD     R2, R7
	VLD1R.P 4(R8), [V5.S4]
	VUXTL   V4.B8, V6.H8
	VUXTL2  V4.B16, V7.H8
	VUXTL   V6.H4, V16.S4
	VUXTL2  V6.H8, V17.S4
	VUXTL   V7.H4, V18.S4
	VUXTL2  V7.H8, V19.S4
	MLA(5, 16, 0)
	MLA(5, 17, 1)
	MLA(5, 18, 2)
	MLA(5, 19, 3)
	SUB     $1, R9
	CBNZ    R9, taps

	SSHR22(0, 0)
	SSHR22(1, 1)
	SSHR22(2, 2)
	SSHR22(3, 3)
	VUZP1  V1.H8, V0.H8, V0.H8
	VUZP1  V3.H8, V2.H8, V2.H8
	SQXTUN(0, 4)
	SQXTUN2(2, 4)
	VST1.P [V4.B16], 16(R0)
	ADD    $16, R1
	SUB    $1, R5
	CBNZ   R5, turns
	RET
