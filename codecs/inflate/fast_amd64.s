#include "go_asm.h"
#include "textflag.h"

// fastBMI2 is fastGo with other copies. The numbers below are masks and shifts of
// tables.go: 192 litCountMask, 256 litOther, 512 litEnd, 1536 litEnd|litInvalid,
// 64 distOther, 128 distInvalid.
//
// Registers:
//
//	BX  the next bits of the stream (acc)    CX  how many, in the low six bits (n)
//	SI  next input byte                      R10 largest SI to go on with
//	DI  next output byte                     R11 largest DI to go on with
//	R8  literal/length table                 R12 low byte of entries that go to eights
//	R9  distance table                       AX  literal/length entry, not yet dropped
//
// DX, R13, R14 and R15 are scratch.

// REFILL makes CX at least 56. Bits of BX above CX are right already or 0.
#define REFILL \
	MOVQ  (SI), R15    \
	SHLXQ CX, R15, R15 \
	ORQ   R15, BX      \
	MOVL  CX, R15      \
	SHRL  $3, R15      \
	ANDL  $7, R15      \
	ADDQ  $7, SI       \
	SUBQ  R15, SI      \
	ORL   $56, CX

// LOOKUP loads the entry of the next 11 bits.
#define LOOKUP \
	MOVL BX, AX            \
	ANDL $(1<<const_litBits-1), AX \
	MOVL (R8)(AX*4), AX

// DROP takes the bits of entry e from BX.
#define DROP(e) \
	SHRXQ e, BX, BX \
	SUBL  e, CX

// LITERALS stores the one to three literals of the entry in AX, and loads the next one.
#define LITERALS \
	DROP(AX)       \
	MOVL AX, R13   \
	LOOKUP         \
	MOVL R13, R14  \
	SHRL $8, R13   \
	SHRL $6, R14   \
	MOVL R13, (DI) \
	ANDL $3, R14   \
	ADDQ R14, DI

// EIGHT stores at i a literal of eight bits, the only one of its entry. The next lookup
// does not wait for this entry.
#define EIGHT(i) \
	SHRQ $8, BX     \
	MOVB AH, i(DI)  \
	LOOKUP

// func fastBMI2(lit *litTable, dist *distTable, out []byte, pos int, in []byte, ip int, acc, n, eights uint64) (newPos, newIP int, newAcc, newN uint64, why stopped)
TEXT ·fastBMI2(SB), NOSPLIT, $0-144
	MOVQ lit+0(FP), R8
	MOVQ dist+8(FP), R9
	MOVQ out_base+16(FP), DX
	MOVQ out_len+24(FP), R11
	MOVQ pos+40(FP), DI
	MOVQ acc+80(FP), BX
	MOVQ n+88(FP), CX
	MOVQ eights+96(FP), R12
	ADDQ DX, DI
	ADDQ DX, R11
	MOVQ in_base+48(FP), DX
	MOVQ in_len+56(FP), R10
	MOVQ ip+72(FP), SI
	SUBQ $const_fastOut, R11
	ADDQ DX, SI
	ADDQ DX, R10
	SUBQ $const_fastIn, R10

	REFILL
	LOOKUP
	CMPQ SI, R10
	JA   lack

	PCALIGN $32
loop:
	// At least 56 bits: four entries of 11 bits leave 12, enough for the next lookup.
	TESTB $192, AX
	JZ    other
	LITERALS
	TESTB $192, AX
	JZ    other
	LITERALS
	TESTB $192, AX
	JZ    other
	LITERALS
	TESTB $192, AX
	JZ    next
	LITERALS

next:
	REFILL
	CMPQ SI, R10
	JA   lack
	CMPQ DI, R11
	JA   lack
	CMPB AX, R12
	JNE  loop

eights:
	// Five of eight bits leave 16.
	EIGHT(0)
	CMPB AX, R12
	JNE  eights1
	EIGHT(1)
	CMPB AX, R12
	JNE  eights2
	EIGHT(2)
	CMPB AX, R12
	JNE  eights3
	EIGHT(3)
	CMPB AX, R12
	JNE  eights4
	EIGHT(4)
	ADDQ $5, DI
	SUBL $40, CX
	JMP  next
eights1:
	ADDQ $1, DI
	SUBL $8, CX
	JMP  next
eights2:
	ADDQ $2, DI
	SUBL $16, CX
	JMP  next
eights3:
	ADDQ $3, DI
	SUBL $24, CX
	JMP  next
eights4:
	ADDQ $4, DI
	SUBL $32, CX
	JMP  next

lack:
	XORL AX, AX
	JMP  done

other:
	// At least 34 bits.
	TESTL $256, AX
	JNZ   special

length:
	// 20 at most, then 14 are left for the lookup of the distance.
	BZHIQ   AX, BX, R13
	DROP(AX)
	MOVBLZX BX, DX
	MOVL    (R9)(DX*4), DX
	MOVL    AX, R14
	SHRL    $9, R14
	SHRXQ   R14, R13, R13
	SHRL    $16, AX
	ADDL    AX, R13        // R13: length
	REFILL
	TESTB   $64, DX
	JNZ     specialDistance

distance:
	// 28 bits at most.
	BZHIQ DX, BX, R14
	DROP(DX)
	LOOKUP
	MOVL  DX, R15
	SHRL  $8, R15
	SHRXQ R15, R14, R14
	SHRL  $16, DX
	ADDL  R14, DX          // DX: distance
	MOVQ  DI, R14
	SUBQ  out_base+16(FP), R14
	CMPQ  DX, R14
	JHI   tooFar
	MOVQ  DI, R14
	SUBQ  DX, R14          // R14: source
	REFILL

	VMOVDQU (R14), Y0
	VMOVDQU Y0, (DI)
	CMPL    R13, DX
	JA      overlap
	CMPL    R13, $32
	JA      far
	ADDQ    R13, DI
	CMPQ    SI, R10
	JA      lack
	CMPQ    DI, R11
	JBE     loop
	JMP     lack

far:
	LEAQ (DI)(R13*1), R15
far32:
	ADDQ    $32, R14
	ADDQ    $32, DI
	VMOVDQU (R14), Y0
	VMOVDQU Y0, (DI)
	SUBL    $32, R13
	CMPL    R13, $32
	JA      far32
	JMP     copied

overlap:
	CMPL DX, $32
	JAE  far
	LEAQ (DI)(R13*1), R15
	CMPL DX, $16
	JAE  middle
	CMPL DX, $1
	JNE  pattern
	VPBROADCASTB (R14), Y0
run:
	VMOVDQU Y0, (DI)
	ADDQ    $32, DI
	SUBL    $32, R13
	JA      run
	JMP     copied

pattern:
	// The bytes of a distance below 16, repeated to 32, can be stored again after
	// the largest multiple of it.
	VBROADCASTI128 (R14), Y0
	SHLL           $6, DX
	LEAQ           ·patterns(SB), R14
	ADDQ           R14, DX
	VPSHUFB        (DX), Y0, Y0
	MOVQ           32(DX), R14
repeat:
	VMOVDQU Y0, (DI)
	ADDQ    R14, DI
	SUBL    R14, R13
	JA      repeat
	JMP     copied

middle:
	// The first and the last 16 bytes make any distance from 16 to 31.
	VMOVDQU (R14), X0
	VMOVDQU -16(DI), X1
again:
	VMOVDQU X0, (DI)
	VMOVDQU X1, -16(DI)(DX*1)
	ADDQ    DX, DI
	SUBL    DX, R13
	JA      again

copied:
	MOVQ R15, DI
	CMPQ SI, R10
	JA   lack
	CMPQ DI, R11
	JBE  loop
	JMP  lack

special:
	TESTL $1536, AX
	JNZ   endOrInvalid
	MOVQ  BX, DX
	SHRQ  $11, DX
	MOVL  AX, R13
	SHRL  $12, R13
	ANDL  $15, R13
	ANDL  R13, DX
	SHRL  $16, AX
	ADDL  AX, DX
	ANDL  $4095, DX
	MOVL  (R8)(DX*4), AX
	TESTB $192, AX
	JNZ   longLiteral
	TESTL $256, AX
	JZ    length

endOrInvalid:
	TESTL $512, AX
	JZ    invalidLiteral
	DROP(AX)
	MOVL  $1, AX
	JMP   done

longLiteral:
	// 15 bits at most, then 19 are left.
	LITERALS
	JMP  next

specialDistance:
	TESTL $128, DX
	JNZ   invalidDistance
	MOVQ  BX, R14
	SHRQ  $8, R14
	MOVL  DX, R15
	SHRL  $8, R15
	MOVBLZX R15, R15
	ANDL  R15, R14
	SHRL  $16, DX
	ADDL  DX, R14
	ANDL  $1023, R14
	MOVL  (R9)(R14*4), DX
	TESTB $64, DX
	JZ    distance

invalidDistance:
	MOVL $3, AX
	JMP  done

invalidLiteral:
	MOVL $2, AX
	JMP  done

tooFar:
	MOVL $4, AX

done:
	VZEROUPPER
	SUBQ out_base+16(FP), DI
	MOVQ in_base+48(FP), DX
	SUBQ DX, SI
	MOVQ DI, newPos+104(FP)
	MOVQ SI, newIP+112(FP)
	MOVQ BX, newAcc+120(FP)
	MOVQ CX, newN+128(FP)
	MOVQ AX, why+136(FP)
	RET
