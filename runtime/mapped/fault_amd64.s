//go:build linux

#include "textflag.h"

// Offsets in an entry.
#define entry_lo 0
#define entry_hi 8
#define entry_failed 16
#define entry_bytes 32

// Offsets in the information about a signal.
#define info_code 8
#define info_addr 16

#define bus_adrerr 2 // of info_code: there is nothing at the address

#define sys_mmap 9
#define prot_read 1
#define map_zeros 0x32 // MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS

// faultHandler(signal, info, context) maps zeros where a page of a range cannot be read; for anything else it is the
// handler that was there before.
GLOBL ·faultHandlerAddr(SB), NOPTR|RODATA, $8
DATA ·faultHandlerAddr(SB)/8, $faultHandler<>(SB)
TEXT faultHandler<>(SB), NOSPLIT|NOFRAME, $0
	CMPL info_code(SI), $bus_adrerr
	JNE  chain
	MOVQ info_addr(SI), R8
	LEAQ ·ranges(SB), R9
	MOVQ ·rangesUsed(SB), R10

next:
	DECQ R10
	JLT  chain
	MOVQ entry_lo(R9), AX
	TESTQ AX, AX
	JEQ  other
	CMPQ R8, AX
	JCS  other
	MOVQ entry_hi(R9), CX
	CMPQ R8, CX
	JCC  other
	CMPQ entry_lo(R9), AX
	JNE  other
	MOVQ $1, entry_failed(R9) // before anybody can see the zeros
	PUSHQ DI
	PUSHQ SI
	PUSHQ DX
	MOVQ R8, DI
	ANDQ ·pageMask(SB), DI
	MOVQ CX, SI
	SUBQ DI, SI
	MOVL $prot_read, DX
	MOVL $map_zeros, R10
	MOVQ $-1, R8
	XORL R9, R9
	MOVL $sys_mmap, AX
	SYSCALL
	POPQ DX
	POPQ SI
	POPQ DI
	CMPQ AX, $-4095
	JCC  chain // there is no memory for it
	RET

other:
	ADDQ $entry_bytes, R9
	JMP  next

chain:
	MOVQ ·chained(SB), AX
	JMP  AX
