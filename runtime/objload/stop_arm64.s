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
#define context_sp 432
#define context_pc 440

#define sys_gettid 178

// enterStoppable(f *stoppableFrame) is enter for a kernel that may be left. What a caller expects to find again lies on
// the stack where the slot says.
GLOBL ·enterStoppableAddr(SB), NOPTR|RODATA, $8
DATA ·enterStoppableAddr(SB)/8, $enterStoppable<>(SB)
TEXT enterStoppable<>(SB), NOSPLIT|NOFRAME, $0
	SUB   $176, RSP
	STP   (R19, R20), 0(RSP)
	STP   (R21, R22), 16(RSP)
	STP   (R23, R24), 32(RSP)
	STP   (R25, R26), 48(RSP)
	STP   (R27, g), 64(RSP)
	STP   (R29, R30), 80(RSP)
	FSTPD (F8, F9), 96(RSP)
	FSTPD (F10, F11), 112(RSP)
	FSTPD (F12, F13), 128(RSP)
	FSTPD (F14, F15), 144(RSP)
	MOVD  R0, 160(RSP)
	MOVD  R0, R19
	MOVD  64(R19), R20
	MOVD  $sys_gettid, R8
	SVC
	MOVD  R0, slot_thread(R20)
	MOVD  0(R19), R9
	LDP   8(R19), (R0, R1)
	LDP   24(R19), (R2, R3)
	MOVD  40(R19), R4
	MOVD  RSP, R10
	ADD   $slot_stack, R20, R11
	STLR  R10, (R11) // from here on it may be left
	BL    (R9)
	B     leave<>(SB)

// leave goes on where the kernel returns.
TEXT leave<>(SB), NOSPLIT|NOFRAME, $0
	MOVD  160(RSP), R0
	MOVD  64(R0), R1
	MOVD  ZR, slot_stack(R1)
	LDP   0(RSP), (R19, R20)
	LDP   16(RSP), (R21, R22)
	LDP   32(RSP), (R23, R24)
	LDP   48(RSP), (R25, R26)
	LDP   64(RSP), (R27, g)
	LDP   80(RSP), (R29, R30)
	FLDPD 96(RSP), (F8, F9)
	FLDPD 112(RSP), (F10, F11)
	FLDPD 128(RSP), (F12, F13)
	FLDPD 144(RSP), (F14, F15)
	ADD   $176, RSP
	MOVD  ZR, R0
	RET

// stopHandler(signal, info, context) makes a thread in a kernel that is to end go on in leave.
GLOBL ·stopHandlerAddr(SB), NOPTR|RODATA, $8
DATA ·stopHandlerAddr(SB)/8, $stopHandler<>(SB)
TEXT stopHandler<>(SB), NOSPLIT|NOFRAME, $0
	MOVD R2, R9
	MOVD $sys_gettid, R8
	SVC
	MOVD context_pc(R9), R1
	MOVD $·slots(SB), R10
	MOVD ·slotsUsed(SB), R11

next:
	SUBS $1, R11, R11
	BLT  done
	MOVD slot_thread(R10), R2
	CMP  R2, R0
	BNE  other
	MOVD slot_wanted(R10), R2
	CMP  $1, R2
	BNE  other
	MOVD slot_stack(R10), R3
	CBZ  R3, other
	MOVD slot_lo(R10), R2
	CMP  R2, R1
	BLO  other
	MOVD slot_hi(R10), R2
	CMP  R2, R1
	BHS  other
	MOVD R3, context_sp(R9)
	MOVD $leave<>(SB), R2
	MOVD R2, context_pc(R9)
	MOVD $2, R2
	MOVD R2, slot_wanted(R10)

done:
	RET

other:
	ADD $slot_bytes, R10
	B   next

// The system returns from handlers by itself.
GLOBL ·stopReturnAddr(SB), NOPTR|RODATA, $8
DATA ·stopReturnAddr(SB)/8, $0
