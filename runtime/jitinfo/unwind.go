package jitinfo

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"unsafe"
)

// Note [Unwinding]
//
// The unwind tables of code in memory lie in memory, too, in the form of .eh_frame ("System V ABI, AMD64", and the
// Linux Standard Base): a record for each function (FDE), behind what several have in common (CIE). An ELF file that
// perf makes of one function gets the table of that function alone, at the first multiple of 8 behind its code, and an
// index with one entry (.eh_frame_hdr) behind that. Addresses in both are relative to where they stand.

// unwindTable is the .eh_frame of some code, as it lies in memory.
type unwindTable struct {
	addr uintptr
	data []byte
}

// unwindTableOf finds the table of an object whose sections have the addresses at which they lie; it is empty where
// there is none.
func unwindTableOf(object []byte) (unwindTable, error) {
	if len(object) == 0 {
		return unwindTable{}, nil
	}
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return unwindTable{}, err
	}
	s := f.Section(".eh_frame")
	if s == nil || s.Addr == 0 {
		return unwindTable{}, nil
	}
	addr := uintptr(s.Addr)
	return unwindTable{addr, unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), s.Size)}, nil // as in machineCode
}

const (
	unwindIndex  = 20 // bytes of an index with one entry
	relativeInts = 0x1b
)

// of is the table of one function, and the index of that behind it; nil where there is none, or in another form than
// LLVM writes. Both lie behind code of the function's size.
func (t unwindTable) of(f Function) []byte {
	order := binary.LittleEndian // of both processors
	for at := 0; at+8 <= len(t.data); {
		size := int(order.Uint32(t.data[at:]))
		if size == 0 || size == 0xffffffff || at+4+size > len(t.data) {
			return nil
		}
		record := t.data[at : at+4+size]
		back := int(order.Uint32(record[4:])) // from here to the CIE, 0 in one
		cie := at + 4 - back
		at += len(record)
		if back == 0 || len(record) < 16 || cie < 0 {
			continue
		}
		begin := int64(t.addr) + int64(at-len(record)+8)
		if uintptr(begin+int64(int32(order.Uint32(record[8:])))) != f.Addr {
			continue
		}
		common := t.data[cie : cie+4+int(order.Uint32(t.data[cie:]))]
		if !relative(common) {
			return nil
		}
		out := append(bytes.Clone(common), record...)
		fde := len(common)
		code := -int64((f.Size + 7) &^ 7) // from the table
		order.PutUint32(out[fde+4:], uint32(fde+4))
		order.PutUint32(out[fde+8:], uint32(code-int64(fde+8)))
		out = append(out, 0, 0, 0, 0) // the end
		index := int64(len(out))
		out = append(out, 1, relativeInts, 0x03, 0x3b) // the version, and the forms of what follows
		for _, x := range []int64{-(index + 4), 1, code - index, int64(fde) - index} {
			out = order.AppendUint32(out, uint32(x))
		}
		return out
	}
	return nil
}

// relative reports that addresses of a CIE are distances of 4 bytes, and that it has nothing else beside its rules:
// the version, "zR", and then numbers in LEB128 that are below 128.
func relative(cie []byte) bool {
	const head = 8
	return len(cie) > head+9 && cie[head] == 1 && string(cie[head+1:head+4]) == "zR\x00" && cie[head+7] == 1 &&
		cie[head+8] == relativeInts
}
