package heal

import (
	"os"
	"runtime/debug"
	"strconv"
	"sync"

	"healc/runtime/objload"
)

// Version is the version of the compiler.
const Version = "0.1.0"

// buildID tells one build of this program from another, for the key of cached code: the checksums of
// its sources are not in a binary, so the binary's own size and time stand for them.
var buildID = sync.OnceValue(func() string {
	id := Version
	if info, ok := debug.ReadBuildInfo(); ok {
		id += " " + info.GoVersion + " " + info.Main.Version
	}
	if path, err := os.Executable(); err == nil {
		if st, err := os.Stat(path); err == nil {
			id += " " + strconv.FormatInt(st.Size(), 10) + " " + strconv.FormatInt(st.ModTime().UnixNano(), 10)
		}
	}
	return id
})

// hostID names the processor that code for "this machine" is made for.
var hostID = sync.OnceValue(objload.HostID)
