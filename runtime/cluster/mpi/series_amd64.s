//go:build linux

#include "textflag.h"

// run(f *seriesFrame) by the C calling convention. A call is its function, 12 arguments and a result, of 8 bytes each.
GLOBL ·seriesAddr(SB), NOPTR|RODATA, $8
DATA ·seriesAddr(SB)/8, $run<>(SB)
TEXT run<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX         // ours to keep, as are the next two
	PUSHQ R12
	PUSHQ R13
	SUBQ  $48, SP    // the last six arguments; the stack is aligned to 16 bytes
	MOVQ  DI, R12
	MOVQ  0(R12), BX
	MOVQ  8(R12), R13

next:
	MOVQ 56(BX), R10
	MOVQ R10, 0(SP)
	MOVQ 64(BX), R10
	MOVQ R10, 8(SP)
	MOVQ 72(BX), R10
	MOVQ R10, 16(SP)
	MOVQ 80(BX), R10
	MOVQ R10, 24(SP)
	MOVQ 88(BX), R10
	MOVQ R10, 32(SP)
	MOVQ 96(BX), R10
	MOVQ R10, 40(SP)
	MOVQ 8(BX), DI
	MOVQ 16(BX), SI
	MOVQ 24(BX), DX
	MOVQ 32(BX), CX
	MOVQ 40(BX), R8
	MOVQ 48(BX), R9
	MOVQ 0(BX), R11
	XORL AX, AX
	CALL R11
	MOVLQSX AX, AX
	MOVQ AX, 104(BX)
	INCQ 16(R12)
	ADDQ $112, BX
	DECQ R13
	JEQ  done
	TESTQ AX, AX
	JEQ  next

done:
	ADDQ $48, SP
	POPQ R13
	POPQ R12
	POPQ BX
	XORL AX, AX
	RET
