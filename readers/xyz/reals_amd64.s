#include "textflag.h"

// 16 times '0', 9, ' ' and '-'; tens, hundreds and ten thousands that digits are multiplied with.
DATA numbers<>+0(SB)/8, $0x3030303030303030
DATA numbers<>+8(SB)/8, $0x3030303030303030
DATA numbers<>+16(SB)/8, $0x0909090909090909
DATA numbers<>+24(SB)/8, $0x0909090909090909
DATA numbers<>+32(SB)/8, $0x2020202020202020
DATA numbers<>+40(SB)/8, $0x2020202020202020
DATA numbers<>+48(SB)/8, $0x2d2d2d2d2d2d2d2d
DATA numbers<>+56(SB)/8, $0x2d2d2d2d2d2d2d2d
DATA numbers<>+64(SB)/8, $0x010a010a010a010a
DATA numbers<>+72(SB)/8, $0x010a010a010a010a
DATA numbers<>+80(SB)/8, $0x0001006400010064
DATA numbers<>+88(SB)/8, $0x0001006400010064
DATA numbers<>+96(SB)/8, $0x0001271000012710
DATA numbers<>+104(SB)/8, $0x0001271000012710
DATA numbers<>+112(SB)/8, $100000000.0
GLOBL numbers<>(SB), RODATA|NOPTR, $120

// func fixedReals(dst, b *byte, n int) int
TEXT ·fixedReals(SB), NOSPLIT, $0-32
	MOVQ    dst+0(FP), DI
	MOVQ    b+8(FP), SI
	MOVQ    n+16(FP), CX
	VMOVDQU numbers<>+0(SB), X5
	VMOVDQU numbers<>+16(SB), X6
	VMOVDQU numbers<>+32(SB), X7
	VMOVDQU numbers<>+48(SB), X8
	VMOVDQU numbers<>+64(SB), X9
	VMOVDQU numbers<>+80(SB), X10
	VMOVDQU numbers<>+96(SB), X11
	VMOVSD  numbers<>+112(SB), X12

next:
	// The space, the sign and 7 digits; 8 digits behind the point.
	VMOVQ     (SI), X0
	VPINSRQ   $1, 9(SI), X0, X0
	VPSUBB    X5, X0, X1
	VPMINUB   X6, X1, X2
	VPCMPEQB  X1, X2, X2
	VPCMPEQB  X7, X0, X3
	VPCMPEQB  X8, X0, X4
	VPMOVMSKB X2, AX
	VPMOVMSKB X3, BX
	VPMOVMSKB X4, DX

	VPAND      X2, X1, X1
	VPMADDUBSW X9, X1, X1
	VPMADDWD   X10, X1, X1
	VPACKUSDW  X1, X1, X1
	VPMADDWD   X11, X1, X1
	VMOVQ      X1, R9

	// AX: bytes that are no digits. They must be the first ones, 7 at most, all of them spaces but for
	// a minus sign as the last one, which is not the first one.
	XORL  $0xffff, AX
	LEAL  1(AX), R10
	MOVL  R10, R11
	ANDL  AX, R10
	SHRL  $1, R11
	NOTL  R11
	ANDL  DX, R11
	ORL   R11, R10
	MOVL  BX, R11
	ORL   DX, R11
	XORL  AX, R11
	ORL   R11, R10
	SHRL  $7, AX
	ORL   AX, R10
	JNZ   end
	TESTL $1, BX
	JZ    end
	CMPB  8(SI), $'.'
	JNE   end
	CMPB  17(SI), $' '
	JHI   end

	MOVL      R9, R8
	SHRQ      $32, R9
	IMULQ     $100000000, R8
	ADDQ      R9, R8
	VXORPD    X0, X0, X0
	VCVTSI2SDQ R8, X0, X0
	VDIVSD    X12, X0, X0
	VMOVQ     X0, R8
	NEGL      DX
	SBBQ      DX, DX
	SHLQ      $63, DX
	ORQ       DX, R8
	MOVQ      R8, (DI)
	ADDQ      $17, SI
	ADDQ      $8, DI
	DECQ      CX
	JNZ       next

end:
	MOVQ n+16(FP), AX
	SUBQ CX, AX
	MOVQ AX, ret+24(FP)
	RET
