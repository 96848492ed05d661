#include "textflag.h"

GLOBL __jit_debug_descriptor(SB), NOPTR, $24
DATA __jit_debug_descriptor+0(SB)/4, $1

// gdb has a breakpoint here.
TEXT __jit_debug_register_code(SB), NOSPLIT|NOFRAME, $0
	NOP
	RET

// func debugDescriptor() *descriptor
TEXT ·debugDescriptor(SB), NOSPLIT, $0-8
	LEAQ __jit_debug_descriptor(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func debugRegister()
TEXT ·debugRegister(SB), NOSPLIT, $8-0
	CALL __jit_debug_register_code(SB)
	RET
