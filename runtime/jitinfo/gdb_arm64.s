#include "textflag.h"

GLOBL __jit_debug_descriptor(SB), NOPTR, $24
DATA __jit_debug_descriptor+0(SB)/4, $1

// gdb has a breakpoint here.
TEXT __jit_debug_register_code(SB), NOSPLIT|NOFRAME, $0
	NOOP
	RET

// func debugDescriptor() *descriptor
TEXT ·debugDescriptor(SB), NOSPLIT, $0-8
	MOVD $__jit_debug_descriptor(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func debugRegister()
TEXT ·debugRegister(SB), NOSPLIT, $8-0
	CALL __jit_debug_register_code(SB)
	RET
