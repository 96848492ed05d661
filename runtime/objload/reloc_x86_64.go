package objload

import (
	"debug/elf"
	"encoding/binary"
	"math"
)

// x8664 applies the relocations of x86-64. Source: System V ABI, AMD64 supplement, section 4.4.1; S, A, P, G
// and L below are its letters.
type x8664 struct{}

func (x8664) needs(kind uint32) (slot, stub bool) {
	switch elf.R_X86_64(kind) {
	case elf.R_X86_64_GOTPCREL, elf.R_X86_64_GOTPCRELX, elf.R_X86_64_REX_GOTPCRELX:
		return true, false
	case elf.R_X86_64_PLT32:
		return false, true
	}
	return false, false
}

func (x8664) apply(l *layout, r *reloc) error {
	kind := elf.R_X86_64(r.kind)
	width := uint64(4)
	switch kind {
	case elf.R_X86_64_NONE:
		return nil
	case elf.R_X86_64_64, elf.R_X86_64_PC64, elf.R_X86_64_GOTOFF64:
		width = 8
	}
	field, p, err := l.field(r, width)
	if err != nil {
		return err
	}
	// Additions wrap around like the processor's.
	s, a := l.address(r.sym), uint64(r.addend)
	table := l.base + l.table
	var v uint64
	signed := true
	switch kind {
	case elf.R_X86_64_64: // S + A
		v = s + a
	case elf.R_X86_64_PC32, elf.R_X86_64_PC64: // S + A - P
		v = s + a - p
	case elf.R_X86_64_PLT32: // L + A - P
		v = l.callee(r.sym) + a - p
	case elf.R_X86_64_GOTPCREL, elf.R_X86_64_GOTPCRELX, elf.R_X86_64_REX_GOTPCRELX: // G + GOT + A - P
		v = l.base + l.slots[r.sym] + a - p
	case elf.R_X86_64_GOTPC32: // GOT + A - P
		v = table + a - p
	case elf.R_X86_64_GOTOFF64: // S + A - GOT
		v = s + a - table
	case elf.R_X86_64_32: // S + A, zero extended
		v, signed = s+a, false
	case elf.R_X86_64_32S: // S + A, sign extended
		v = s + a
	default:
		return errorf("unsupported relocation %v at %q+%d", kind, r.in.name, r.offs)
	}
	if width == 8 {
		binary.LittleEndian.PutUint64(field, v)
		return nil
	}
	if signed && int64(v) != int64(int32(v)) || !signed && v > math.MaxUint32 {
		return l.rangeError(r, kind)
	}
	binary.LittleEndian.PutUint32(field, uint32(v))
	return nil
}

// stub is `jmp *slot(%rip)`. Image offsets fit 32 bits, see maxImageBytes.
func (x8664) stub(code []byte, at, slot uint64) {
	const jmpLen = 6
	code[0], code[1] = 0xff, 0x25
	binary.LittleEndian.PutUint32(code[2:], uint32(slot-at-jmpLen))
	for i := jmpLen; i < len(code); i++ {
		code[i] = 0xcc // int3: never reached
	}
}
