#include "textflag.h"

// How often a byte counts in the sum of running sums up to the end of its word.
DATA weights<>+0(SB)/8, $0x191a1b1c1d1e1f20
DATA weights<>+8(SB)/8, $0x1112131415161718
DATA weights<>+16(SB)/8, $0x090a0b0c0d0e0f10
DATA weights<>+24(SB)/8, $0x0102030405060708
GLOBL weights<>(SB), RODATA|NOPTR, $32

// func adlerAVX2(sums *[3][8]uint32, p []byte)
TEXT ·adlerAVX2(SB), NOSPLIT, $0-32
	MOVQ sums+0(FP), DI
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX

	VPXOR    Y0, Y0, Y0            // sums of bytes
	VPXOR    Y1, Y1, Y1            // sums of Y0 before each word
	VPXOR    Y2, Y2, Y2            // weighted sums of bytes
	VMOVDQU  weights<>(SB), Y3
	VPCMPEQW Y4, Y4, Y4
	VPSRLW   $15, Y4, Y4           // 1 in each 16 bits
	VPXOR    Y5, Y5, Y5

word:
	VMOVDQU    (SI), Y6
	VPADDD     Y0, Y1, Y1
	VPSADBW    Y5, Y6, Y7
	VPADDD     Y7, Y0, Y0
	VPMADDUBSW Y3, Y6, Y8
	VPMADDWD   Y4, Y8, Y8
	VPADDD     Y8, Y2, Y2
	ADDQ       $32, SI
	SUBQ       $32, CX
	JNZ        word

	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VZEROUPPER
	RET
