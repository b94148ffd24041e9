#include "textflag.h"

// func update(crc uint32, p *byte, n int, factors *[16]uint64) uint32
TEXT ·update(SB), NOSPLIT, $0-36
	MOVL crc+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	CMPQ CX, $256
	JLT  words

	// Four registers have the remainder of all bytes up to SI, as 256 bytes.
	MOVQ      factors+24(FP), DX
	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VMOVD     AX, X4
	VPXORQ    Z4, Z0, Z0
	ADDQ      $256, SI
	SUBQ      $512, CX
	JLT       together

	VBROADCASTI32X4 (DX), Z8

block:
	VPCLMULQDQ $0x00, Z8, Z0, Z4
	VPCLMULQDQ $0x11, Z8, Z0, Z0
	VPCLMULQDQ $0x00, Z8, Z1, Z5
	VPCLMULQDQ $0x11, Z8, Z1, Z1
	VPCLMULQDQ $0x00, Z8, Z2, Z6
	VPCLMULQDQ $0x11, Z8, Z2, Z2
	VPCLMULQDQ $0x00, Z8, Z3, Z7
	VPCLMULQDQ $0x11, Z8, Z3, Z3
	VPTERNLOGQ $0x96, (SI), Z4, Z0
	VPTERNLOGQ $0x96, 64(SI), Z5, Z1
	VPTERNLOGQ $0x96, 128(SI), Z6, Z2
	VPTERNLOGQ $0x96, 192(SI), Z7, Z3

	ADDQ $256, SI
	SUBQ $256, CX
	JGE  block

together:
	// The first three, moved by 192, 128 and 64 bytes, are added to the last one.
	VBROADCASTI32X4 16(DX), Z8
	VBROADCASTI32X4 32(DX), Z9
	VBROADCASTI32X4 48(DX), Z10
	VPCLMULQDQ      $0x00, Z8, Z0, Z4
	VPCLMULQDQ      $0x11, Z8, Z0, Z0
	VPCLMULQDQ      $0x00, Z9, Z1, Z5
	VPCLMULQDQ      $0x11, Z9, Z1, Z1
	VPCLMULQDQ      $0x00, Z10, Z2, Z6
	VPCLMULQDQ      $0x11, Z10, Z2, Z2
	VPTERNLOGQ      $0x96, Z0, Z4, Z3
	VPTERNLOGQ      $0x96, Z1, Z5, Z3
	VPTERNLOGQ      $0x96, Z2, Z6, Z3
	ADDQ            $192, CX
	JLT             lanes

quarter:
	VPCLMULQDQ $0x00, Z10, Z3, Z4
	VPCLMULQDQ $0x11, Z10, Z3, Z3
	VPTERNLOGQ $0x96, (SI), Z4, Z3

	ADDQ $64, SI
	SUBQ $64, CX
	JGE  quarter

lanes:
	// Of its four parts, the first three are moved by 48, 32 and 16 bytes and added to the last one.
	VMOVDQU64     64(DX), Z8
	VPCLMULQDQ    $0x00, Z8, Z3, Z4
	VPCLMULQDQ    $0x11, Z8, Z3, Z5
	VPXORQ        Z5, Z4, Z4
	VEXTRACTI32X4 $3, Z3, X5
	VEXTRACTI64X4 $1, Z4, Y6
	VPXOR         Y6, Y4, Y4
	VEXTRACTI128  $1, Y4, X6
	VPXOR         X6, X4, X4
	VPXOR         X5, X4, X4
	VMOVQ         X4, BX
	VPEXTRQ       $1, X4, DX
	VZEROUPPER
	XORL          AX, AX
	CRC32Q        BX, AX
	CRC32Q        DX, AX
	ADDQ          $64, CX

words:
	SUBQ $8, CX
	JLT  rest

word:
	CRC32Q (SI), AX
	ADDQ   $8, SI
	SUBQ   $8, CX
	JGE    word

rest:
	ADDQ $8, CX
	JEQ  done

byte:
	CRC32B (SI), AX
	INCQ   SI
	DECQ   CX
	JNE    byte

done:
	MOVL AX, ret+32(FP)
	RET
