package libllvm

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Identity tells, without opening it, which file Open would use: path, size and time of the library. Code
// that is cached on disk is keyed by it, so that a program whose code is cached never pays for dlopen. It
// is "linker" when the library is only found on the dynamic linker's own path.
var Identity = sync.OnceValue(func() string {
	if env := os.Getenv(EnvPath); env != "" {
		return describe(env)
	}
	for _, path := range candidates(runtime.GOARCH) {
		if filepath.IsAbs(path) {
			if id := describe(path); id != "" {
				return id
			}
		}
	}
	return "linker"
})

// describe returns path, size and time of a file, following links; "" when it does not exist.
func describe(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", path, st.Size(), st.ModTime().UnixNano())
}
