#include "textflag.h"

// func prefetchRows(src unsafe.Pointer, rows *int64, n, size, lines int)
TEXT ·prefetchRows(SB), NOSPLIT, $0-40
	MOVQ src+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ size+24(FP), R8
	MOVQ lines+32(FP), R9

row:
	SUBQ  $1, CX
	JLT   done
	MOVQ  (DI), AX
	ADDQ  $8, DI
	IMULQ R8, AX
	ADDQ  SI, AX
	MOVQ  R9, DX

line:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	SUBQ       $1, DX
	JGT        line
	JMP        row

done:
	RET

// func copyLines(dst, src unsafe.Pointer, rows *int64, n, size, step, ahead int)
TEXT ·copyLines(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ rows+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ size+32(FP), R9
	MOVQ step+40(FP), BX
	MOVQ ahead+48(FP), R10
	LEAQ (R8)(CX*8), R11
	LEAQ (R8)(R10*8), R12

row:
	CMPQ  R8, R11
	JGE   done
	CMPQ  R12, R11
	JGE   fetched
	MOVQ  (R12), AX
	ADDQ  $8, R12
	IMULQ BX, AX
	ADDQ  SI, AX
	MOVQ  R9, DX

fetch:
	PREFETCHT0 (AX)
	ADDQ       $64, AX
	SUBQ       $64, DX
	JGT        fetch

fetched:
	MOVQ  (R8), AX
	ADDQ  $8, R8
	IMULQ BX, AX
	ADDQ  SI, AX
	MOVQ  R9, DX

move:
	MOVOU (AX), X0
	MOVOU 16(AX), X1
	MOVOU 32(AX), X2
	MOVOU 48(AX), X3
	MOVOU X0, (DI)
	MOVOU X1, 16(DI)
	MOVOU X2, 32(DI)
	MOVOU X3, 48(DI)
	ADDQ  $64, AX
	ADDQ  $64, DI
	SUBQ  $64, DX
	JGT   move
	JMP   row

done:
	RET

// func copyPast(dst, src unsafe.Pointer, n int)
TEXT ·copyPast(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

next:
	PREFETCHT0 1024(SI)
	MOVOU      (SI), X0
	MOVOU      16(SI), X1
	MOVOU      32(SI), X2
	MOVOU      48(SI), X3
	MOVNTO     X0, (DI)
	MOVNTO     X1, 16(DI)
	MOVNTO     X2, 32(DI)
	MOVNTO     X3, 48(DI)
	ADDQ       $64, SI
	ADDQ       $64, DI
	SUBQ       $64, CX
	JGT        next
	SFENCE
	RET
