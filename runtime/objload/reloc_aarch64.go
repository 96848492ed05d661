package objload

import (
	"debug/elf"
	"encoding/binary"
	"math"
)

// aarch64 applies the relocations of AArch64. Source: ELF for the Arm 64-bit Architecture (AAELF64), section
// 5.7; S, A, P and G below are its letters. Instructions are 32-bit words; a relocation replaces bits of
// the word that hold an immediate.
type aarch64 struct{}

func (aarch64) needs(kind uint32) (slot, stub bool) {
	switch elf.R_AARCH64(kind) {
	case elf.R_AARCH64_ADR_GOT_PAGE, elf.R_AARCH64_LD64_GOT_LO12_NC:
		return true, false
	case elf.R_AARCH64_CALL26, elf.R_AARCH64_JUMP26:
		return false, true
	}
	return false, false
}

// page is the 4 KB page that ADRP counts in, whatever the system's page size is.
func page(addr uint64) uint64 { return addr &^ 0xfff }

func (m aarch64) apply(l *layout, r *reloc) error {
	kind := elf.R_AARCH64(r.kind)
	if kind == elf.R_AARCH64_NONE || kind == elf.R_AARCH64_NULL {
		return nil
	}
	width := uint64(4)
	if kind == elf.R_AARCH64_ABS64 || kind == elf.R_AARCH64_PREL64 {
		width = 8
	}
	field, p, err := l.field(r, width)
	if err != nil {
		return err
	}
	v := l.address(r.sym) + uint64(r.addend) // S + A
	switch kind {
	case elf.R_AARCH64_ABS64:
		binary.LittleEndian.PutUint64(field, v)
		return nil
	case elf.R_AARCH64_PREL64:
		binary.LittleEndian.PutUint64(field, v-p)
		return nil
	case elf.R_AARCH64_ABS32, elf.R_AARCH64_PREL32:
		if kind == elf.R_AARCH64_PREL32 {
			v -= p
		}
		// The ABI allows what fits either as signed or as unsigned.
		if int64(v) < math.MinInt32 || int64(v) > math.MaxUint32 {
			return l.rangeError(r, kind)
		}
		binary.LittleEndian.PutUint32(field, uint32(v))
		return nil
	}
	if p%4 != 0 {
		return errorf("relocation %v at %q+%d is not at an instruction", kind, r.in.name, r.offs)
	}
	word := binary.LittleEndian.Uint32(field)
	word, ok, err := m.instruction(l, r, word, p, v)
	if err != nil {
		return err
	}
	if !ok {
		return l.rangeError(r, kind)
	}
	binary.LittleEndian.PutUint32(field, word)
	return nil
}

// instruction puts the value of r into word, which lies at p; v is S + A. ok is false when it does not fit.
func (aarch64) instruction(l *layout, r *reloc, word uint32, p, v uint64) (_ uint32, ok bool, err error) {
	kind := elf.R_AARCH64(r.kind)
	switch kind {
	case elf.R_AARCH64_CALL26, elf.R_AARCH64_JUMP26:
		word, ok = branch(word, l.callee(r.sym)+uint64(r.addend)-p, 0, 26)
	case elf.R_AARCH64_CONDBR19, elf.R_AARCH64_LD_PREL_LO19:
		word, ok = branch(word, v-p, 5, 19)
	case elf.R_AARCH64_TSTBR14:
		word, ok = branch(word, v-p, 5, 14)
	case elf.R_AARCH64_ADR_PREL_LO21:
		word, ok = adr(word, int64(v-p))
	case elf.R_AARCH64_ADR_PREL_PG_HI21:
		word, ok = adr(word, int64(page(v)-page(p))>>12)
	case elf.R_AARCH64_ADR_PREL_PG_HI21_NC:
		word, _ = adr(word, int64(page(v)-page(p))>>12)
		ok = true
	case elf.R_AARCH64_ADR_GOT_PAGE:
		word, ok = adr(word, int64(page(l.base+l.slots[r.sym]+uint64(r.addend))-page(p))>>12)
	case elf.R_AARCH64_LD64_GOT_LO12_NC:
		word, ok = low12(word, l.base+l.slots[r.sym]+uint64(r.addend), 3)
	case elf.R_AARCH64_ADD_ABS_LO12_NC, elf.R_AARCH64_LDST8_ABS_LO12_NC:
		word, ok = low12(word, v, 0)
	case elf.R_AARCH64_LDST16_ABS_LO12_NC:
		word, ok = low12(word, v, 1)
	case elf.R_AARCH64_LDST32_ABS_LO12_NC:
		word, ok = low12(word, v, 2)
	case elf.R_AARCH64_LDST64_ABS_LO12_NC:
		word, ok = low12(word, v, 3)
	case elf.R_AARCH64_LDST128_ABS_LO12_NC:
		word, ok = low12(word, v, 4)
	case elf.R_AARCH64_MOVW_UABS_G0_NC:
		word, ok = bits(word, uint32(v&0xffff), 5, 16), true
	case elf.R_AARCH64_MOVW_UABS_G1_NC:
		word, ok = bits(word, uint32(v>>16&0xffff), 5, 16), true
	case elf.R_AARCH64_MOVW_UABS_G2_NC:
		word, ok = bits(word, uint32(v>>32&0xffff), 5, 16), true
	case elf.R_AARCH64_MOVW_UABS_G3:
		word, ok = bits(word, uint32(v>>48), 5, 16), true
	default:
		return 0, false, errorf("unsupported relocation %v at %q+%d", kind, r.in.name, r.offs)
	}
	return word, ok, nil
}

// bits replaces n bits of word from bit at by the low bits of v.
func bits(word, v uint32, at, n uint) uint32 {
	mask := uint32(1)<<n - 1
	return word&^(mask<<at) | v&mask<<at
}

// branch puts a distance in bytes, a multiple of 4, into n bits of word.
func branch(word uint32, distance uint64, at, n uint) (uint32, bool) {
	d := int64(distance)
	limit := int64(1) << (n + 1) // n bits, signed, in units of 4 bytes
	if d%4 != 0 || d < -limit || d >= limit {
		return word, false
	}
	return bits(word, uint32(d>>2), at, n), true
}

// adr puts a signed 21-bit value into the two fields of ADR and ADRP.
func adr(word uint32, v int64) (uint32, bool) {
	ok := v >= -1<<20 && v < 1<<20
	word = bits(word, uint32(v), 29, 2)
	return bits(word, uint32(v>>2), 5, 19), ok
}

// low12 puts the low 12 bits of addr, in units of 1<<scale bytes, into ADD or a load or store.
func low12(word uint32, addr uint64, scale uint) (uint32, bool) {
	low := uint32(addr & 0xfff)
	return bits(word, low>>scale, 10, 12), low&(1<<scale-1) == 0
}

// stub is `adrp x16, slot; ldr x17, [x16, slot]; br x17`; x16 and x17 are the registers that the ABI
// leaves to such stubs.
func (aarch64) stub(code []byte, at, slot uint64) {
	const adrpX16, ldrX17, brX17, trap = 0x90000010, 0xf9400211, 0xd61f0220, 0xd4200000
	// Neither can fail: the image is smaller than the reach of ADRP and slots are aligned.
	load, _ := adr(adrpX16, int64(page(slot)-page(at))>>12)
	entry, _ := low12(ldrX17, slot, 3)
	for i, word := range []uint32{load, entry, brX17, trap} {
		binary.LittleEndian.PutUint32(code[4*i:], word)
	}
}
