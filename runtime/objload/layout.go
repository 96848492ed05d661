package objload

import (
	"debug/elf"
	"encoding/binary"
)

// layout is an object with a place for everything. The image is
//
//	text sections, stubs | read-only sections, address table | data sections
//
// with every group beginning on a page of its own, so each can be protected alone.
//
// External functions may lie farther away than a call instruction reaches (2 GB on x86-64, 128 MB on
// AArch64), so calls to them go to a stub in the image, which jumps to the address in the table. The table
// is also the GOT: position-independent code reads addresses of symbols from it.
type layout struct {
	*object
	size  uint64             // of the image, a multiple of the page
	start [groupCount]uint64 // of the groups; group g ends where the next begins
	table uint64             // offset of the address table
	slots map[uint32]uint64  // symbol number to the offset of its entry there
	stubs map[uint32]uint64  // symbol number to the offset of its stub
	reloc relocator          // of the object's machine
	base  uint64             // address of the image; set by link
	mem   []byte             // the image; set by link
	found map[uint32]uint64  // addresses of undefined symbols; set by link
}

// relocator is what a machine contributes.
type relocator interface {
	// needs tells whether relocation kind reads the address table and whether it is a call that may go by a stub.
	needs(kind uint32) (slot, stub bool)
	// apply changes the bytes that r speaks of.
	apply(l *layout, r *reloc) error
	// stub writes a jump to the address held in the slot; at and slot are addresses.
	stub(code []byte, at, slot uint64)
}

const (
	slotSize = 8
	stubSize = 16
)

// newLayout places the sections of o; page is the system's page size.
func newLayout(o *object, page uint64) (*layout, error) {
	l := &layout{object: o, slots: map[uint32]uint64{}, stubs: map[uint32]uint64{}, found: map[uint32]uint64{}}
	switch o.machine {
	case elf.EM_X86_64:
		l.reloc = x8664{}
	case elf.EM_AARCH64:
		l.reloc = aarch64{}
	}
	var slots, stubs []uint32 // in the order of first use, so that the image does not depend on map order
	for i := range o.relocs {
		r := &o.relocs[i]
		slot, stub := l.reloc.needs(r.kind)
		if stub = stub && o.symbols[r.sym].place == undefined; stub {
			if _, known := l.stubs[r.sym]; !known {
				l.stubs[r.sym] = 0
				stubs = append(stubs, r.sym)
			}
		}
		if slot || stub {
			if _, known := l.slots[r.sym]; !known {
				l.slots[r.sym] = 0
				slots = append(slots, r.sym)
			}
		}
	}
	for g := range groupCount {
		l.size = alignUp(l.size, page)
		l.start[g] = l.size
		for _, s := range o.loaded {
			if s.group == g {
				s.offs = alignUp(l.size, s.align)
				l.size = s.offs + s.size
			}
		}
		switch g {
		case groupText:
			l.size = alignUp(l.size, stubSize)
			for _, sym := range stubs {
				l.stubs[sym] = l.size
				l.size += stubSize
			}
		case groupReadOnly:
			l.size = alignUp(l.size, slotSize)
			l.table = l.size
			for _, sym := range slots {
				l.slots[sym] = l.size
				l.size += slotSize
			}
		}
		if l.size > maxImageBytes {
			return nil, errorf("needs more than %d MB of memory", maxImageBytes>>20)
		}
	}
	l.size = max(alignUp(l.size, page), page) // an empty mapping is not allowed
	return l, nil
}

// alignUp rounds n up to a multiple of the power of two a.
func alignUp(n, a uint64) uint64 { return (n + a - 1) &^ (a - 1) }

// groupRange is the part of the image that group g occupies.
func (l *layout) groupRange(g group) (from, to uint64) {
	if g+1 < groupCount {
		return l.start[g], l.start[g+1]
	}
	return l.start[g], l.size
}

// link writes the image into mem, l.size zero bytes that will be run at address base.
func (l *layout) link(mem []byte, base uint64, resolve func(name string) (uintptr, error)) error {
	l.mem, l.base = mem, base
	for _, s := range l.loaded {
		copy(mem[s.offs:s.offs+s.size], s.data)
	}
	for i := range l.relocs {
		if err := l.find(l.relocs[i].sym, resolve); err != nil {
			return err
		}
	}
	for sym, offs := range l.slots {
		binary.LittleEndian.PutUint64(mem[offs:], l.address(sym))
	}
	for sym, offs := range l.stubs {
		l.reloc.stub(mem[offs:offs+stubSize], base+offs, base+l.slots[sym])
	}
	for i := range l.relocs {
		if err := l.reloc.apply(l, &l.relocs[i]); err != nil {
			return err
		}
	}
	return nil
}

// find looks the symbol up outside the object, if it is defined there.
func (l *layout) find(sym uint32, resolve func(name string) (uintptr, error)) error {
	s := &l.symbols[sym]
	if s.place != undefined {
		return nil
	}
	if _, known := l.found[sym]; known {
		return nil
	}
	addr, err := resolve(string(s.name))
	if err != nil && !s.weak {
		return errorf("undefined symbol %q: %v", s.name, err)
	}
	l.found[sym] = uint64(addr)
	return nil
}

// address is where the symbol is at run time.
func (l *layout) address(sym uint32) uint64 {
	switch s := &l.symbols[sym]; s.place {
	case inSection:
		return l.base + s.section.offs + s.value
	case absolute:
		return s.value
	case undefined:
		return l.found[sym]
	}
	panic("BUG: relocation against a symbol that parse refuses")
}

// callee is where a call of the symbol goes: its stub if it has one.
func (l *layout) callee(sym uint32) uint64 {
	if offs, ok := l.stubs[sym]; ok {
		return l.base + offs
	}
	return l.address(sym)
}

// field is the n bytes that r changes, and their address.
func (l *layout) field(r *reloc, n uint64) (bytes []byte, at uint64, err error) {
	if r.in.size < n || r.offs > r.in.size-n {
		return nil, 0, errorf("relocation at %q+%d reaches beyond the section", r.in.name, r.offs)
	}
	offs := r.in.offs + r.offs
	return l.mem[offs : offs+n], l.base + offs, nil
}

// rangeError is the error for a value that does not fit r's field.
func (l *layout) rangeError(r *reloc, kind any) error {
	return errorf("relocation %v at %q+%d: %q is out of reach; compile position-independent code", kind, r.in.name,
		r.offs, l.symbols[r.sym].name)
}
