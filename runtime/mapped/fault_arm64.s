//go:build linux

#include "textflag.h"

// Offsets in an entry.
#define entry_hi 8
#define entry_failed 16
#define entry_bytes 32

// Offsets in the information about a signal.
#define info_code 8
#define info_addr 16

#define bus_adrerr 2 // of info_code: there is nothing at the address

#define sys_mmap 222
#define prot_read 1
#define map_zeros 0x32 // MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS

// faultHandler(signal, info, context) maps zeros where a page of a range cannot be read; for anything else it is the
// handler that was there before. The register g is as it was.
GLOBL ·faultHandlerAddr(SB), NOPTR|RODATA, $8
DATA ·faultHandlerAddr(SB)/8, $faultHandler<>(SB)
TEXT faultHandler<>(SB), NOSPLIT|NOFRAME, $0
	MOVW info_code(R1), R3
	CMPW $bus_adrerr, R3
	BNE  chain
	MOVD info_addr(R1), R4
	MOVD $·ranges(SB), R5
	MOVD ·rangesUsed(SB), R6

next:
	SUBS $1, R6, R6
	BLT  chain
	LDAR (R5), R7 // the start
	CBZ  R7, other
	CMP  R7, R4
	BLO  other
	ADD  $entry_hi, R5, R9
	LDAR (R9), R9
	CMP  R9, R4
	BHS  other
	LDAR (R5), R10
	CMP  R10, R7
	BNE  other
	MOVD $1, R10
	ADD  $entry_failed, R5, R11
	STLR R10, (R11) // before anybody can see the zeros
	MOVD R0, R12
	MOVD R1, R13
	MOVD R2, R14
	MOVD ·pageMask(SB), R0
	AND  R4, R0, R0
	SUB  R0, R9, R1
	MOVD $prot_read, R2
	MOVD $map_zeros, R3
	MOVD $-1, R4
	MOVD ZR, R5
	MOVD $sys_mmap, R8
	SVC
	MOVD $-4095, R3
	CMP  R3, R0
	BHS  full
	RET

other:
	ADD $entry_bytes, R5
	B   next

full: // there is no memory for it
	MOVD R12, R0
	MOVD R13, R1
	MOVD R14, R2

chain:
	MOVD ·chained(SB), R3
	JMP  (R3)
