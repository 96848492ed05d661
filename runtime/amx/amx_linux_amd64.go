package amx

import (
	"sync"
	"syscall"

	"golang.org/x/sys/cpu"
)

const (
	requestPermission = 0x1023 // of arch_prctl: ARCH_REQ_XCOMP_PERM
	tileData          = 18     // the state component of the tiles: XFEATURE_XTILEDATA
)

// Permitted reports that the processor has tiles and that this process may use them. The first call asks the system,
// see Note [Leave for tiles].
var Permitted = sync.OnceValue(func() bool {
	if !cpu.X86.HasAMXTile {
		return false
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
})
