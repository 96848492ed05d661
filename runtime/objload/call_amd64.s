//go:build linux

#include "textflag.h"

// enter(f *frame) by the C calling convention: calls f.fn(f.args[0], ..., f.args[5]), keeps the result.
GLOBL ·enterAddr(SB), NOPTR|RODATA, $8
DATA ·enterAddr(SB)/8, $enter<>(SB)
TEXT enter<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX // ours to keep across the call; pushing it also aligns the stack to 16 bytes
	MOVQ  DI, BX
	MOVQ  0(BX), R11
	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  48(BX), R9
	XORL  AX, AX     // no floating-point arguments, should fn be variadic
	CALL  R11
	MOVQ  AX, 56(BX)
	POPQ  BX
	XORL  AX, AX
	RET

// onStack(bufs, dims, begin, end, err) calls the kernel of the deepCall that the last word of err has the address of, on
// its stack. What it keeps lies on the thread's.
GLOBL ·onStackAddr(SB), NOPTR|RODATA, $8
DATA ·onStackAddr(SB)/8, $onStack<>(SB)
TEXT onStack<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BP
	MOVQ  SP, BP
	MOVQ  24(R8), AX
	MOVQ  8(AX), SP
	MOVQ  0(AX), AX
	CALL  AX
	MOVQ  BP, SP
	POPQ  BP
	RET
