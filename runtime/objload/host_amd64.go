//go:build linux

package objload

import (
	"debug/elf"
	"unsafe"
)

const hostMachine = elf.EM_X86_64

// syncCode has nothing to do: x86 keeps its instruction and data caches coherent.
func syncCode(unsafe.Pointer, uintptr) {}
