//go:build linux

package objload

import (
	"debug/elf"
	"sync/atomic"
	"unsafe"

	"healc/runtime/amx"
)

const hostMachine = elf.EM_X86_64

// syncCode has nothing to do: x86 keeps its instruction and data caches coherent.
func syncCode(unsafe.Pointer, uintptr) {}

// tiles is 1 where kernels may have tiles: one that is left does not release them itself (stop_amd64.s).
var tiles uint32

// askForTiles asks for what code needs that may be of another process, see Note [Leave for tiles] in runtime/amx.
func askForTiles() {
	if amx.Permitted() {
		atomic.StoreUint32(&tiles, 1)
	}
}
