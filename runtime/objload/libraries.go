package objload

import (
	"fmt"
	"sync"

	"healc/runtime/dynlib"
)

// runtimeLibraries define what LLVM calls on its own or for an intrinsic: memcpy and memset, fmod and fmaf,
// and the compiler's helpers for 128-bit division and half floats.
var runtimeLibraries = []string{"libc.so.6", "libm.so.6", "libgcc_s.so.1"}

// handles opens the libraries when the first external symbol is looked for; most kernels have none.
var handles = sync.OnceValue(func() []uintptr {
	var hs []uintptr
	for _, name := range runtimeLibraries {
		// One that is absent is no error until a symbol of it is needed, and then the symbol is named.
		if h, err := dynlib.Open(name, 0); err == nil {
			hs = append(hs, h)
		}
	}
	return hs
})

// Libraries finds a function of the C library, the mathematical library or the compiler's runtime library.
func Libraries(name string) (uintptr, error) {
	for _, h := range handles() {
		if addr, err := dynlib.Symbol(h, name); err == nil {
			return addr, nil
		}
	}
	return 0, fmt.Errorf("not in %v", runtimeLibraries)
}
