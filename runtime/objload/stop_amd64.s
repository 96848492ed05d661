//go:build linux

#include "textflag.h"

// Offsets in a slot.
#define slot_thread 0
#define slot_stack 8
#define slot_lo 16
#define slot_hi 24
#define slot_wanted 32
#define slot_bytes 64

// Offsets in the ucontext of a signal.
#define context_sp 160
#define context_ip 168
#define context_flags 176

#define sys_gettid 186
#define sys_rt_sigreturn 15

// enterStoppable(f *stoppableFrame) is enter for a kernel that may be left. What a caller expects to find again lies on
// the stack where the slot says.
GLOBL ·enterStoppableAddr(SB), NOPTR|RODATA, $8
DATA ·enterStoppableAddr(SB)/8, $enterStoppable<>(SB)
TEXT enterStoppable<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	PUSHQ BP
	PUSHQ R12
	PUSHQ R13
	PUSHQ R14
	PUSHQ R15
	PUSHQ DI // and aligns the stack
	MOVQ  DI, BX
	MOVQ  64(BX), R12
	MOVL  $sys_gettid, AX
	SYSCALL
	MOVQ  AX, slot_thread(R12)
	MOVQ  0(BX), AX
	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  32(BX), CX
	MOVQ  40(BX), R8
	MOVQ  SP, slot_stack(R12) // from here on it may be left
	CALL  AX
	JMP   leave<>(SB)

// leave goes on where the kernel returns.
TEXT leave<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ  0(SP), DI
	MOVQ  64(DI), CX
	MOVQ  $0, slot_stack(CX)
	SFENCE // for stores past the caches, when it was left
	CMPQ  slot_wanted(CX), $2
	JNE   finished
	CMPL  ·tiles(SB), $0
	JEQ   finished
	BYTE  $0xc4; BYTE $0xe2; BYTE $0x78; BYTE $0x49; BYTE $0xc0 // TILERELEASE

finished:
	MOVQ  8(SP), R15
	MOVQ  16(SP), R14
	MOVQ  24(SP), R13
	MOVQ  32(SP), R12
	MOVQ  40(SP), AX
	XCHGQ BP, AX
	MOVQ  48(SP), BX
	ADDQ  $56, SP
	XORL  AX, AX
	RET

// stopHandler(signal, info, context) makes a thread in a kernel that is to end go on in leave.
GLOBL ·stopHandlerAddr(SB), NOPTR|RODATA, $8
DATA ·stopHandlerAddr(SB)/8, $stopHandler<>(SB)
TEXT stopHandler<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ DX, R8
	MOVL $sys_gettid, AX
	SYSCALL
	MOVQ context_ip(R8), SI
	LEAQ ·slots(SB), R9
	MOVQ ·slotsUsed(SB), R10

next:
	DECQ R10
	JLT  done
	CMPQ slot_thread(R9), AX
	JNE  other
	CMPQ slot_wanted(R9), $1
	JNE  other
	MOVQ slot_stack(R9), CX
	TESTQ CX, CX
	JEQ  other
	CMPQ SI, slot_lo(R9)
	JCS  other
	CMPQ SI, slot_hi(R9)
	JCC  other
	MOVQ CX, context_sp(R8)
	LEAQ leave<>(SB), DX
	MOVQ DX, context_ip(R8)
	ANDQ $~0x400, context_flags(R8) // the direction of string instructions
	MOVQ $2, slot_wanted(R9)

done:
	RET

other:
	ADDQ $slot_bytes, R9
	JMP  next

// stopReturn ends the handler.
GLOBL ·stopReturnAddr(SB), NOPTR|RODATA, $8
DATA ·stopReturnAddr(SB)/8, $stopReturn<>(SB)
TEXT stopReturn<>(SB), NOSPLIT|NOFRAME, $0
	MOVL $sys_rt_sigreturn, AX
	SYSCALL
	INT  $3
