//go:build linux

package objload

import (
	"debug/elf"
	"unsafe"
)

const hostMachine = elf.EM_AARCH64

// syncCode makes instructions written to the n bytes at p visible to instruction fetch on all cores.
//
//go:noescape
func syncCode(p unsafe.Pointer, n uintptr)

// askForTiles has nothing to do: tiles are of x86.
func askForTiles() {}
