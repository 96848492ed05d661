//go:build linux

#include "textflag.h"

// enter(f *frame) by the C calling convention: calls f.fn(f.args[0], ..., f.args[5]), keeps the result.
GLOBL ·enterAddr(SB), NOPTR|RODATA, $8
DATA ·enterAddr(SB)/8, $enter<>(SB)
TEXT enter<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $16, RSP
	STP  (R19, R30), 0(RSP)
	MOVD R0, R19
	MOVD 0(R19), R9
	LDP  8(R19), (R0, R1)
	LDP  24(R19), (R2, R3)
	LDP  40(R19), (R4, R5)
	BL   (R9)
	MOVD R0, 56(R19)
	LDP  0(RSP), (R19, R30)
	ADD  $16, RSP
	MOVD ZR, R0
	RET

// onStack(bufs, dims, begin, end, err) calls the kernel of the deepCall that the last word of err has the address of, on
// its stack. What it keeps lies on the thread's.
GLOBL ·onStackAddr(SB), NOPTR|RODATA, $8
DATA ·onStackAddr(SB)/8, $onStack<>(SB)
TEXT onStack<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $16, RSP
	STP  (R29, R30), 0(RSP)
	MOVD RSP, R29
	MOVD 24(R4), R9
	MOVD 8(R9), R10
	MOVD 0(R9), R9
	MOVD R10, RSP
	BL   (R9)
	MOVD R29, RSP
	LDP  0(RSP), (R29, R30)
	ADD  $16, RSP
	RET
