// Package identity tells this build of the compiler, and the processor it runs on, from others: machine code that is
// kept from one process to the next is good for the same build and the same processor only.
package identity

import (
	"crypto/sha256"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"healc/runtime/objload"
)

// Version is the version of the compiler.
const Version = "0.1.0"

// Build tells one build of this program from another. The checksums of its sources are not in a binary, so the binary's
// own size and time stand for them, and its beginning, where the Go linker puts a checksum: times are all the same in
// some packages and images.
var Build = sync.OnceValue(func() string {
	id := Version
	if info, ok := debug.ReadBuildInfo(); ok {
		id += " " + info.GoVersion + " " + info.Main.Version
	}
	if path, err := os.Executable(); err == nil {
		if st, err := os.Stat(path); err == nil {
			id += " " + strconv.FormatInt(st.Size(), 10) + " " + strconv.FormatInt(st.ModTime().UnixNano(), 10)
		}
		if f, err := os.Open(path); err == nil {
			head := make([]byte, 8<<10)
			n, _ := io.ReadFull(f, head)
			f.Close()
			sum := sha256.Sum256(head[:n])
			id += " " + string(sum[:])
		}
	}
	return id
})

// Host names the processor that code for "this machine" is made for.
var Host = sync.OnceValue(objload.HostID)
