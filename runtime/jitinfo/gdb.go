//go:build amd64 || arm64

package jitinfo

import (
	"sync"
	"unsafe"
)

// Note [GDB]
//
// The form is that of "JIT Compilation Interface" in the manual of gdb. gdb looks for __jit_debug_descriptor and
// __jit_debug_register_code in the symbol table of the program and stops there for a moment each time that code comes
// or goes. The assembler gives them these names, without a package's; a program that is linked with -ldflags=-s, or
// stripped, has no symbol table, and then gdb sees nothing. Only gdb follows the pointers, so what they point to is
// kept alive by entries.

// entry is struct jit_code_entry.
type entry struct {
	next, prev *entry
	file       *byte
	size       uint64
}

// descriptor is struct jit_descriptor.
type descriptor struct {
	version  uint32
	action   uint32
	relevant uintptr
	first    uintptr
}

// Actions.
const (
	noAction = iota
	register
	unregister
)

// debugDescriptor is __jit_debug_descriptor.
func debugDescriptor() *descriptor

// debugRegister calls __jit_debug_register_code.
func debugRegister()

var (
	entriesMu sync.Mutex
	entries   *entry // the newest one
)

func gdbReason() error { return nil }

// registered tells gdb about an object. forget takes that back.
func registered(file []byte) (forget func()) {
	entriesMu.Lock()
	defer entriesMu.Unlock()
	e := &entry{next: entries, file: unsafe.SliceData(file), size: uint64(len(file))}
	if entries != nil {
		entries.prev = e
	}
	entries = e
	tell(register, e)
	return sync.OnceFunc(func() {
		entriesMu.Lock()
		defer entriesMu.Unlock()
		if e.prev != nil {
			e.prev.next = e.next
		} else {
			entries = e.next
		}
		if e.next != nil {
			e.next.prev = e.prev
		}
		tell(unregister, e)
	})
}

func tell(action uint32, about *entry) {
	d := debugDescriptor()
	d.first, d.relevant, d.action = uintptr(unsafe.Pointer(entries)), uintptr(unsafe.Pointer(about)), action
	debugRegister()
	d.relevant, d.action = 0, noAction
}
