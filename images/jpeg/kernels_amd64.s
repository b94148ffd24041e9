#include "textflag.h"
#include "constants_amd64.h"

// The kernels of idct.go, output.go and colour.go; see kernels_simd.go for what the
// callers check.

DATA round18<>+0(SB)/8, $0x0002000000020000
DATA round18<>+8(SB)/8, $0x0002000000020000
DATA round18<>+16(SB)/8, $0x0002000000020000
DATA round18<>+24(SB)/8, $0x0002000000020000
GLOBL round18<>(SB), RODATA|NOPTR, $32

DATA x80<>+0(SB)/8, $0x8080808080808080
DATA x80<>+8(SB)/8, $0x8080808080808080
DATA x80<>+16(SB)/8, $0x8080808080808080
DATA x80<>+24(SB)/8, $0x8080808080808080
GLOBL x80<>(SB), RODATA|NOPTR, $32

// Factors and constants of colours.
DATA k26345<>+0(SB)/8, $0x66e966e966e966e9
DATA k26345<>+8(SB)/8, $0x66e966e966e966e9
DATA k26345<>+16(SB)/8, $0x66e966e966e966e9
DATA k26345<>+24(SB)/8, $0x66e966e966e966e9
GLOBL k26345<>(SB), RODATA|NOPTR, $32

DATA k14942<>+0(SB)/8, $0xc5a2c5a2c5a2c5a2
DATA k14942<>+8(SB)/8, $0xc5a2c5a2c5a2c5a2
DATA k14942<>+16(SB)/8, $0xc5a2c5a2c5a2c5a2
DATA k14942<>+24(SB)/8, $0xc5a2c5a2c5a2c5a2
GLOBL k14942<>(SB), RODATA|NOPTR, $32

DATA one<>+0(SB)/8, $0x0001000100010001
DATA one<>+8(SB)/8, $0x0001000100010001
DATA one<>+16(SB)/8, $0x0001000100010001
DATA one<>+24(SB)/8, $0x0001000100010001
GLOBL one<>(SB), RODATA|NOPTR, $32

DATA green<>+0(SB)/8, $0x492ea7e6492ea7e6
DATA green<>+8(SB)/8, $0x492ea7e6492ea7e6
DATA green<>+16(SB)/8, $0x492ea7e6492ea7e6
DATA green<>+24(SB)/8, $0x492ea7e6492ea7e6
GLOBL green<>(SB), RODATA|NOPTR, $32

DATA mixr0<>+0(SB)/8, $0x8002808001808000
DATA mixr0<>+8(SB)/8, $0x0580800480800380
DATA mixr0<>+16(SB)/8, $0x8002808001808000
DATA mixr0<>+24(SB)/8, $0x0580800480800380
GLOBL mixr0<>(SB), RODATA|NOPTR, $32

DATA mixg0<>+0(SB)/8, $0x0280800180800080
DATA mixg0<>+8(SB)/8, $0x8080048080038080
DATA mixg0<>+16(SB)/8, $0x0280800180800080
DATA mixg0<>+24(SB)/8, $0x8080048080038080
GLOBL mixg0<>(SB), RODATA|NOPTR, $32

DATA mixb0<>+0(SB)/8, $0x8080018080008080
DATA mixb0<>+8(SB)/8, $0x8004808003808002
DATA mixb0<>+16(SB)/8, $0x8080018080008080
DATA mixb0<>+24(SB)/8, $0x8004808003808002
GLOBL mixb0<>(SB), RODATA|NOPTR, $32

DATA mixr1<>+0(SB)/8, $0x8080078080068080
DATA mixr1<>+8(SB)/8, $0x800a808009808008
DATA mixr1<>+16(SB)/8, $0x8080078080068080
DATA mixr1<>+24(SB)/8, $0x800a808009808008
GLOBL mixr1<>(SB), RODATA|NOPTR, $32

DATA mixg1<>+0(SB)/8, $0x8007808006808005
DATA mixg1<>+8(SB)/8, $0x0a80800980800880
DATA mixg1<>+16(SB)/8, $0x8007808006808005
DATA mixg1<>+24(SB)/8, $0x0a80800980800880
GLOBL mixg1<>(SB), RODATA|NOPTR, $32

DATA mixb1<>+0(SB)/8, $0x0780800680800580
DATA mixb1<>+8(SB)/8, $0x8080098080088080
DATA mixb1<>+16(SB)/8, $0x0780800680800580
DATA mixb1<>+24(SB)/8, $0x8080098080088080
GLOBL mixb1<>(SB), RODATA|NOPTR, $32

DATA mixr2<>+0(SB)/8, $0x0d80800c80800b80
DATA mixr2<>+8(SB)/8, $0x80800f80800e8080
DATA mixr2<>+16(SB)/8, $0x0d80800c80800b80
DATA mixr2<>+24(SB)/8, $0x80800f80800e8080
GLOBL mixr2<>(SB), RODATA|NOPTR, $32

DATA mixg2<>+0(SB)/8, $0x80800c80800b8080
DATA mixg2<>+8(SB)/8, $0x800f80800e80800d
DATA mixg2<>+16(SB)/8, $0x80800c80800b8080
DATA mixg2<>+24(SB)/8, $0x800f80800e80800d
GLOBL mixg2<>(SB), RODATA|NOPTR, $32

DATA mixb2<>+0(SB)/8, $0x800c80800b80800a
DATA mixb2<>+8(SB)/8, $0x0f80800e80800d80
DATA mixb2<>+16(SB)/8, $0x800c80800b80800a
DATA mixb2<>+24(SB)/8, $0x0f80800e80800d80
GLOBL mixb2<>(SB), RODATA|NOPTR, $32

// Filters.
DATA w31<>+0(SB)/8, $0x0103010301030103
DATA w31<>+8(SB)/8, $0x0103010301030103
DATA w31<>+16(SB)/8, $0x0103010301030103
DATA w31<>+24(SB)/8, $0x0103010301030103
GLOBL w31<>(SB), RODATA|NOPTR, $32

DATA seven<>+0(SB)/8, $0x0007000700070007
DATA seven<>+8(SB)/8, $0x0007000700070007
DATA seven<>+16(SB)/8, $0x0007000700070007
DATA seven<>+24(SB)/8, $0x0007000700070007
GLOBL seven<>(SB), RODATA|NOPTR, $32

DATA eight<>+0(SB)/8, $0x0008000800080008
DATA eight<>+8(SB)/8, $0x0008000800080008
DATA eight<>+16(SB)/8, $0x0008000800080008
DATA eight<>+24(SB)/8, $0x0008000800080008
GLOBL eight<>(SB), RODATA|NOPTR, $32


// PASS transforms the columns of Y0-Y7, rows of words of two blocks (one in each half), as
// eight in idct.go does. The outputs 0-7 are in Y8, Y9, Y10, Y11, Y12, Y4, Y2, Y0.
#define PASS(ROUND, SHIFT) \
	VPUNPCKLWD Y6, Y2, Y8;                   \
	VPUNPCKHWD Y6, Y2, Y9;                   \
	VPMADDWD   t3<>(SB), Y8, Y10;            \
	VPMADDWD   t3<>(SB), Y9, Y11;            \
	VPMADDWD   t2<>(SB), Y8, Y8;             \
	VPMADDWD   t2<>(SB), Y9, Y9;             \
	VPADDW     Y4, Y0, Y2;                   \
	VPSUBW     Y4, Y0, Y6;                   \
	VPXOR      Y4, Y4, Y4;                   \
	VPUNPCKLWD Y2, Y4, Y12;                  \
	VPUNPCKHWD Y2, Y4, Y13;                  \
	VPUNPCKLWD Y6, Y4, Y14;                  \
	VPUNPCKHWD Y6, Y4, Y15;                  \
	VPSRAD     $3, Y12, Y12;                 \
	VPSRAD     $3, Y13, Y13;                 \
	VPSRAD     $3, Y14, Y14;                 \
	VPSRAD     $3, Y15, Y15;                 \
	VMOVDQU    ROUND<>(SB), Y4;              \
	VPADDD     Y4, Y12, Y12;                 \
	VPADDD     Y4, Y13, Y13;                 \
	VPADDD     Y4, Y14, Y14;                 \
	VPADDD     Y4, Y15, Y15;                 \
	VPADDD     Y10, Y12, Y0;                 \
	VPADDD     Y11, Y13, Y2;                 \
	VPSUBD     Y10, Y12, Y12;                \
	VPSUBD     Y11, Y13, Y13;                \
	VPADDD     Y8, Y14, Y4;                  \
	VPADDD     Y9, Y15, Y6;                  \
	VPSUBD     Y8, Y14, Y14;                 \
	VPSUBD     Y9, Y15, Y15;                 \
	VMOVDQU    Y14, 0(SP);                   \
	VMOVDQU    Y15, 32(SP);                  \
	VMOVDQU    Y12, 64(SP);                  \
	VMOVDQU    Y13, 96(SP);                  \
	VPADDW     Y3, Y7, Y8;                   \
	VPADDW     Y1, Y5, Y9;                   \
	VPUNPCKLWD Y9, Y8, Y10;                  \
	VPUNPCKHWD Y9, Y8, Y11;                  \
	VPMADDWD   z3<>(SB), Y10, Y8;            \
	VPMADDWD   z3<>(SB), Y11, Y9;            \
	VPMADDWD   z4<>(SB), Y10, Y10;           \
	VPMADDWD   z4<>(SB), Y11, Y11;           \
	VPUNPCKLWD Y1, Y7, Y12;                  \
	VPUNPCKHWD Y1, Y7, Y13;                  \
	VPUNPCKLWD Y3, Y5, Y14;                  \
	VPUNPCKHWD Y3, Y5, Y15;                  \
	VPMADDWD   a7<>(SB), Y12, Y1;            \
	VPMADDWD   a7<>(SB), Y13, Y7;            \
	VPMADDWD   d1<>(SB), Y12, Y12;           \
	VPMADDWD   d1<>(SB), Y13, Y13;           \
	VPMADDWD   b5<>(SB), Y14, Y3;            \
	VPMADDWD   b5<>(SB), Y15, Y5;            \
	VPMADDWD   c3<>(SB), Y14, Y14;           \
	VPMADDWD   c3<>(SB), Y15, Y15;           \
	VPADDD     Y8, Y1, Y1;                   \
	VPADDD     Y9, Y7, Y7;                   \
	VPADDD     Y10, Y12, Y12;                \
	VPADDD     Y11, Y13, Y13;                \
	VPADDD     Y10, Y3, Y3;                  \
	VPADDD     Y11, Y5, Y5;                  \
	VPADDD     Y8, Y14, Y14;                 \
	VPADDD     Y9, Y15, Y15;                 \
	VPADDD     Y12, Y0, Y8;                  \
	VPADDD     Y13, Y2, Y9;                  \
	VPSUBD     Y12, Y0, Y0;                  \
	VPSUBD     Y13, Y2, Y2;                  \
	VPSRAD     SHIFT, Y8, Y8;                \
	VPSRAD     SHIFT, Y9, Y9;                \
	VPSRAD     SHIFT, Y0, Y0;                \
	VPSRAD     SHIFT, Y2, Y2;                \
	VPACKSSDW  Y9, Y8, Y8;                   \
	VPACKSSDW  Y2, Y0, Y0;                   \
	VPADDD     Y14, Y4, Y9;                  \
	VPADDD     Y15, Y6, Y10;                 \
	VPSUBD     Y14, Y4, Y4;                  \
	VPSUBD     Y15, Y6, Y6;                  \
	VPSRAD     SHIFT, Y9, Y9;                \
	VPSRAD     SHIFT, Y10, Y10;              \
	VPSRAD     SHIFT, Y4, Y4;                \
	VPSRAD     SHIFT, Y6, Y6;                \
	VPACKSSDW  Y10, Y9, Y9;                  \
	VPACKSSDW  Y6, Y4, Y2;                   \
	VMOVDQU    0(SP), Y12;                   \
	VMOVDQU    32(SP), Y13;                  \
	VPADDD     Y3, Y12, Y10;                 \
	VPADDD     Y5, Y13, Y11;                 \
	VPSUBD     Y3, Y12, Y12;                 \
	VPSUBD     Y5, Y13, Y13;                 \
	VPSRAD     SHIFT, Y10, Y10;              \
	VPSRAD     SHIFT, Y11, Y11;              \
	VPSRAD     SHIFT, Y12, Y12;              \
	VPSRAD     SHIFT, Y13, Y13;              \
	VPACKSSDW  Y11, Y10, Y10;                \
	VPACKSSDW  Y13, Y12, Y4;                 \
	VMOVDQU    64(SP), Y12;                  \
	VMOVDQU    96(SP), Y13;                  \
	VPADDD     Y1, Y12, Y11;                 \
	VPADDD     Y7, Y13, Y14;                 \
	VPSUBD     Y1, Y12, Y12;                 \
	VPSUBD     Y7, Y13, Y13;                 \
	VPSRAD     SHIFT, Y11, Y11;              \
	VPSRAD     SHIFT, Y14, Y14;              \
	VPSRAD     SHIFT, Y12, Y12;              \
	VPSRAD     SHIFT, Y13, Y13;              \
	VPACKSSDW  Y14, Y11, Y11;                \
	VPACKSSDW  Y13, Y12, Y12

// func idctPairSIMD(in *[2][128]int16, a *byte, strideA int, b *byte, strideB int)
TEXT ·idctPairSIMD(SB), NOSPLIT, $128-40
	MOVQ in+0(FP), SI
	MOVQ a+8(FP), DI
	MOVQ strideA+16(FP), R8
	MOVQ b+24(FP), DX
	MOVQ strideB+32(FP), R9
	VMOVDQU     0(SI), X0
	VINSERTI128 $1, 256(SI), Y0, Y0
	VMOVDQU     16(SI), X1
	VINSERTI128 $1, 272(SI), Y1, Y1
	VMOVDQU     32(SI), X2
	VINSERTI128 $1, 288(SI), Y2, Y2
	VMOVDQU     48(SI), X3
	VINSERTI128 $1, 304(SI), Y3, Y3
	VMOVDQU     64(SI), X4
	VINSERTI128 $1, 320(SI), Y4, Y4
	VMOVDQU     80(SI), X5
	VINSERTI128 $1, 336(SI), Y5, Y5
	VMOVDQU     96(SI), X6
	VINSERTI128 $1, 352(SI), Y6, Y6
	VMOVDQU     112(SI), X7
	VINSERTI128 $1, 368(SI), Y7, Y7
	VPXOR Y8, Y8, Y8
	VMOVDQU Y8, 0(SI)
	VMOVDQU Y8, 32(SI)
	VMOVDQU Y8, 64(SI)
	VMOVDQU Y8, 96(SI)
	VMOVDQU Y8, 256(SI)
	VMOVDQU Y8, 288(SI)
	VMOVDQU Y8, 320(SI)
	VMOVDQU Y8, 352(SI)
	PASS(round11, $11)

	// Transpose words.
	VPUNPCKLWD  Y9, Y8, Y1
	VPUNPCKHWD  Y9, Y8, Y3
	VPUNPCKLWD  Y11, Y10, Y5
	VPUNPCKHWD  Y11, Y10, Y6
	VPUNPCKLWD  Y4, Y12, Y7
	VPUNPCKHWD  Y4, Y12, Y13
	VPUNPCKLWD  Y0, Y2, Y14
	VPUNPCKHWD  Y0, Y2, Y15
	VPUNPCKLDQ  Y5, Y1, Y8
	VPUNPCKHDQ  Y5, Y1, Y9
	VPUNPCKLDQ  Y6, Y3, Y10
	VPUNPCKHDQ  Y6, Y3, Y11
	VPUNPCKLDQ  Y14, Y7, Y12
	VPUNPCKHDQ  Y14, Y7, Y14
	VPUNPCKLDQ  Y15, Y13, Y7
	VPUNPCKHDQ  Y15, Y13, Y15
	VPUNPCKLQDQ Y12, Y8, Y0
	VPUNPCKHQDQ Y12, Y8, Y1
	VPUNPCKLQDQ Y14, Y9, Y2
	VPUNPCKHQDQ Y14, Y9, Y3
	VPUNPCKLQDQ Y7, Y10, Y4
	VPUNPCKHQDQ Y7, Y10, Y5
	VPUNPCKLQDQ Y15, Y11, Y6
	VPUNPCKHQDQ Y15, Y11, Y7

	PASS(round18, $18)

	// Transpose bytes.
	VPACKSSWB  Y10, Y8, Y1
	VPACKSSWB  Y11, Y9, Y3
	VPACKSSWB  Y2, Y12, Y5
	VPACKSSWB  Y0, Y4, Y6
	VPUNPCKLBW Y3, Y1, Y8
	VPUNPCKHBW Y3, Y1, Y9
	VPUNPCKLBW Y6, Y5, Y10
	VPUNPCKHBW Y6, Y5, Y11
	VPUNPCKLWD Y9, Y8, Y1
	VPUNPCKHWD Y9, Y8, Y3
	VPUNPCKLWD Y11, Y10, Y5
	VPUNPCKHWD Y11, Y10, Y6
	VPUNPCKLDQ Y5, Y1, Y8
	VPUNPCKHDQ Y5, Y1, Y9
	VPUNPCKLDQ Y6, Y3, Y10
	VPUNPCKHDQ Y6, Y3, Y11
	VMOVDQU    x80<>(SB), Y0
	VPADDB     Y0, Y8, Y8
	VPADDB     Y0, Y9, Y9
	VPADDB     Y0, Y10, Y10
	VPADDB     Y0, Y11, Y11

	VMOVQ        X8, (DI)
	VMOVHPS      X8, (DI)(R8*1)
	LEAQ         (DI)(R8*2), DI
	VMOVQ        X9, (DI)
	VMOVHPS      X9, (DI)(R8*1)
	LEAQ         (DI)(R8*2), DI
	VMOVQ        X10, (DI)
	VMOVHPS      X10, (DI)(R8*1)
	LEAQ         (DI)(R8*2), DI
	VMOVQ        X11, (DI)
	VMOVHPS      X11, (DI)(R8*1)
	VEXTRACTI128 $1, Y8, X8
	VEXTRACTI128 $1, Y9, X9
	VEXTRACTI128 $1, Y10, X10
	VEXTRACTI128 $1, Y11, X11
	VMOVQ        X8, (DX)
	VMOVHPS      X8, (DX)(R9*1)
	LEAQ         (DX)(R9*2), DX
	VMOVQ        X9, (DX)
	VMOVHPS      X9, (DX)(R9*1)
	LEAQ         (DX)(R9*2), DX
	VMOVQ        X10, (DX)
	VMOVHPS      X10, (DX)(R9*1)
	LEAQ         (DX)(R9*2), DX
	VMOVQ        X11, (DX)
	VMOVHPS      X11, (DX)(R9*1)
	VZEROUPPER
	RET

// HALF converts 16 pixels: luma LUMA, chroma less 128 in U and V, all words. Red goes to
// R, green to G, blue to LUMA. Y12-Y15 are lost.
#define HALF(LUMA, U, V, R, G, LO, HI) \
	VPADDW     V, V, Y12;                \
	VPMULHW    k26345<>(SB), Y12, Y12;   \
	VPADDW     one<>(SB), Y12, Y12;      \
	VPSRAW     $1, Y12, Y12;             \
	VPADDW     V, LUMA, R;               \
	VPADDW     Y12, R, R;                \
	VPUNPCKLWD V, U, LO;                 \
	VPUNPCKHWD V, U, HI;                 \
	VPMADDWD   green<>(SB), LO, LO;      \
	VPMADDWD   green<>(SB), HI, HI;      \
	VPADDD     half16<>(SB), LO, LO;     \
	VPADDD     half16<>(SB), HI, HI;     \
	VPSRAD     $16, LO, LO;              \
	VPSRAD     $16, HI, HI;              \
	VPACKSSDW  HI, LO, LO;               \
	VPSUBW     V, LUMA, G;               \
	VPADDW     LO, G, G;                 \
	VPADDW     U, U, U;                  \
	VPMULHW    k14942<>(SB), U, Y12;     \
	VPADDW     one<>(SB), Y12, Y12;      \
	VPSRAW     $1, Y12, Y12;             \
	VPADDW     U, LUMA, LUMA;            \
	VPADDW     Y12, LUMA, LUMA

// func yccToRGBSIMD(dst, y, cb, cr *byte, turns int)
TEXT ·yccToRGBSIMD(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ cb+16(FP), R8
	MOVQ cr+24(FP), R9
	MOVQ turns+32(FP), CX

colour:
	VPXOR      Y15, Y15, Y15
	VMOVDQU    w128<>(SB), Y14
	VMOVDQU    (SI), Y0
	VMOVDQU    (R8), Y2
	VMOVDQU    (R9), Y4
	VPUNPCKHBW Y15, Y0, Y1
	VPUNPCKLBW Y15, Y0, Y0
	VPUNPCKHBW Y15, Y2, Y3
	VPUNPCKLBW Y15, Y2, Y2
	VPUNPCKHBW Y15, Y4, Y5
	VPUNPCKLBW Y15, Y4, Y4
	VPSUBW     Y14, Y2, Y2
	VPSUBW     Y14, Y3, Y3
	VPSUBW     Y14, Y4, Y4
	VPSUBW     Y14, Y5, Y5
	HALF(Y0, Y2, Y4, Y6, Y8, Y13, Y14)
	HALF(Y1, Y3, Y5, Y7, Y9, Y13, Y14)
	VPACKUSWB  Y7, Y6, Y6
	VPACKUSWB  Y9, Y8, Y8
	VPACKUSWB  Y1, Y0, Y0

	VPSHUFB      mixr0<>(SB), Y6, Y1
	VPSHUFB      mixg0<>(SB), Y8, Y2
	VPSHUFB      mixb0<>(SB), Y0, Y3
	VPOR         Y2, Y1, Y1
	VPOR         Y3, Y1, Y1
	VPSHUFB      mixr1<>(SB), Y6, Y2
	VPSHUFB      mixg1<>(SB), Y8, Y3
	VPSHUFB      mixb1<>(SB), Y0, Y4
	VPOR         Y3, Y2, Y2
	VPOR         Y4, Y2, Y2
	VPSHUFB      mixr2<>(SB), Y6, Y3
	VPSHUFB      mixg2<>(SB), Y8, Y4
	VPSHUFB      mixb2<>(SB), Y0, Y5
	VPOR         Y4, Y3, Y3
	VPOR         Y5, Y3, Y3
	VMOVDQU      X1, (DI)
	VMOVDQU      X2, 16(DI)
	VMOVDQU      X3, 32(DI)
	VEXTRACTI128 $1, Y1, 48(DI)
	VEXTRACTI128 $1, Y2, 64(DI)
	VEXTRACTI128 $1, Y3, 80(DI)

	ADDQ $32, SI
	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $96, DI
	DECQ CX
	JNZ  colour
	VZEROUPPER
	RET

// STORE writes pairs of bytes: of the words of Y0 and Y2 (first and second of samples in
// the lower halves), of Y1 and Y3 (those in the upper ones).
#define STORE \
	VPSLLW       $8, Y2, Y2;     \
	VPSLLW       $8, Y3, Y3;     \
	VPOR         Y2, Y0, Y0;     \
	VPOR         Y3, Y1, Y1;     \
	VMOVDQU      X0, (DI);       \
	VMOVDQU      X1, 16(DI);     \
	VEXTRACTI128 $1, Y0, 32(DI); \
	VEXTRACTI128 $1, Y1, 48(DI)

// SUMS is three parts of the bytes of A and one of those of B.
#define SUMS(A, B, LO, HI) \
	VPUNPCKLBW B, A, LO;     \
	VPUNPCKHBW B, A, HI;     \
	VPMADDUBSW Y15, LO, LO;  \
	VPMADDUBSW Y15, HI, HI

// func upH2V1SIMD(dst, src *byte, turns int)
TEXT ·upH2V1SIMD(SB), NOSPLIT, $0-24
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVQ    turns+16(FP), CX
	VMOVDQU w31<>(SB), Y15
	VMOVDQU one<>(SB), Y14
	VMOVDQU two<>(SB), Y13

double:
	VMOVDQU (SI), Y4
	VMOVDQU 1(SI), Y5
	VMOVDQU 2(SI), Y6
	SUMS(Y5, Y4, Y0, Y1)
	SUMS(Y5, Y6, Y2, Y3)
	VPADDW  Y14, Y0, Y0
	VPADDW  Y14, Y1, Y1
	VPADDW  Y13, Y2, Y2
	VPADDW  Y13, Y3, Y3
	VPSRLW  $2, Y0, Y0
	VPSRLW  $2, Y1, Y1
	VPSRLW  $2, Y2, Y2
	VPSRLW  $2, Y3, Y3
	STORE
	ADDQ    $32, SI
	ADDQ    $64, DI
	DECQ    CX
	JNZ     double
	VZEROUPPER
	RET

// func upH1V2SIMD(dst, near, far *byte, turns int, bias int)
TEXT ·upH1V2SIMD(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         near+8(FP), SI
	MOVQ         far+16(FP), R8
	MOVQ         turns+24(FP), CX
	MOVQ         bias+32(FP), AX
	VMOVQ        AX, X14
	VPBROADCASTW X14, Y14
	VMOVDQU      w31<>(SB), Y15

between:
	VMOVDQU   (SI), Y4
	VMOVDQU   (R8), Y5
	SUMS(Y4, Y5, Y0, Y1)
	VPADDW    Y14, Y0, Y0
	VPADDW    Y14, Y1, Y1
	VPSRLW    $2, Y0, Y0
	VPSRLW    $2, Y1, Y1
	VPACKUSWB Y1, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $32, R8
	ADDQ      $32, DI
	DECQ      CX
	JNZ       between
	VZEROUPPER
	RET

// func upH2V2SIMD(dst, near, far *byte, turns int)
TEXT ·upH2V2SIMD(SB), NOSPLIT, $0-32
	MOVQ    dst+0(FP), DI
	MOVQ    near+8(FP), SI
	MOVQ    far+16(FP), R8
	MOVQ    turns+24(FP), CX
	VMOVDQU w31<>(SB), Y15
	VMOVDQU eight<>(SB), Y14
	VMOVDQU seven<>(SB), Y13

both:
	VMOVDQU (SI), Y8
	VMOVDQU (R8), Y9
	SUMS(Y8, Y9, Y0, Y1)
	VMOVDQU 2(SI), Y8
	VMOVDQU 2(R8), Y9
	SUMS(Y8, Y9, Y2, Y3)
	VMOVDQU 1(SI), Y8
	VMOVDQU 1(R8), Y9
	SUMS(Y8, Y9, Y4, Y5)
	VPADDW  Y4, Y4, Y6
	VPADDW  Y5, Y5, Y7
	VPADDW  Y6, Y4, Y4
	VPADDW  Y7, Y5, Y5
	VPADDW  Y14, Y0, Y0
	VPADDW  Y14, Y1, Y1
	VPADDW  Y13, Y2, Y2
	VPADDW  Y13, Y3, Y3
	VPADDW  Y4, Y0, Y0
	VPADDW  Y5, Y1, Y1
	VPADDW  Y4, Y2, Y2
	VPADDW  Y5, Y3, Y3
	VPSRLW  $4, Y0, Y0
	VPSRLW  $4, Y1, Y1
	VPSRLW  $4, Y2, Y2
	VPSRLW  $4, Y3, Y3
	STORE
	ADDQ    $32, SI
	ADDQ    $32, R8
	ADDQ    $64, DI
	DECQ    CX
	JNZ     both
	VZEROUPPER
	RET
