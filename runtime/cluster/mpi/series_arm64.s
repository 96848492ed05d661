//go:build linux

#include "textflag.h"

// run(f *seriesFrame) by the C calling convention. A call is its function, 12 arguments and a result, of 8 bytes each.
GLOBL ·seriesAddr(SB), NOPTR|RODATA, $8
DATA ·seriesAddr(SB)/8, $run<>(SB)
TEXT run<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $64, RSP
	STP  (R19, R30), 32(RSP) // ours to keep; below are the last four arguments
	STP  (R20, R21), 48(RSP)
	MOVD R0, R20
	MOVD 0(R20), R19
	MOVD 8(R20), R21

next:
	LDP  72(R19), (R9, R10)
	STP  (R9, R10), 0(RSP)
	LDP  88(R19), (R9, R10)
	STP  (R9, R10), 16(RSP)
	LDP  8(R19), (R0, R1)
	LDP  24(R19), (R2, R3)
	LDP  40(R19), (R4, R5)
	LDP  56(R19), (R6, R7)
	MOVD 0(R19), R9
	BL   (R9)
	MOVW R0, R0
	MOVD R0, 104(R19)
	MOVD 16(R20), R9
	ADD  $1, R9, R9
	MOVD R9, 16(R20)
	ADD  $112, R19, R19
	SUB  $1, R21, R21
	CBZ  R21, done
	CBZ  R0, next

done:
	LDP  32(RSP), (R19, R30)
	LDP  48(RSP), (R20, R21)
	ADD  $64, RSP
	MOVD ZR, R0
	RET
