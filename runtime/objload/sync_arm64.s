//go:build linux

#include "textflag.h"

// func syncCode(p unsafe.Pointer, n uintptr)
//
// Arm Architecture Reference Manual, B2.4.4: clean the data cache to the point of unification, invalidate
// the instruction cache, with barriers between. CTR_EL0 has the line sizes as logarithms of words.
TEXT ·syncCode(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R0, R1, R1 // end
	MRS  CTR_EL0, R2
	MOVD $4, R3

	UBFX $16, R2, $4, R4 // DminLine
	LSL  R4, R3, R4      // bytes per line
	SUB  $1, R4, R5
	BIC  R5, R0, R6

data:
	DC  CVAU, R6
	ADD R4, R6, R6
	CMP R1, R6
	BLO data
	DSB $11 // inner shareable

	AND $15, R2, R4 // IminLine
	LSL R4, R3, R4
	SUB $1, R4, R5
	BIC R5, R0, R6

code:
	WORD $0xd50b7526 // IC IVAU, X6; the assembler does not know it
	ADD  R4, R6, R6
	CMP R1, R6
	BLO code
	DSB $11
	ISB $15
	RET
