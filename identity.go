package heal

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

// buildID tells one build of this program from another, for the key of cached code: the checksums of
// its sources are not in a binary, so the binary's own size and time stand for them, and its beginning, where the
// Go linker puts a checksum: times are all the same in some packages and images.
var buildID = sync.OnceValue(func() string {
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

// hostID names the processor that code for "this machine" is made for.
var hostID = sync.OnceValue(objload.HostID)
