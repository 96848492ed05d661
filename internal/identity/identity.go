// Package identity tells this build of the compiler, and the processor it runs on, from others: machine code that is
// kept from one process to the next is good for the same build and the same processor only.
package identity

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"reflect"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"

	"healc/runtime/objload"
)

// next is the version that these sources become.
const next = "0.1.0"

// Version is the version of the compiler: that of the module where it was built as a release, as by
// `go install PATH/cmd/healc@v1.2.3` or from a tag, and otherwise the one that these sources become.
var Version = version()

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return next
	}
	type here struct{}
	module := path.Dir(path.Dir(reflect.TypeFor[here]().PkgPath())) // whatever it is called
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && released.MatchString(m.Version) {
			return m.Version[1:]
		}
	}
	return next
}

// released is the version of a module that is a release, as Go writes it: not "(devel)", no commit between two, and
// nothing changed since.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+(\.\d+)?)?$`)

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
		sum := headOf(path)
		id += " " + string(sum[:])
	}
	return id
})

// Source tells the sources that this program was built of from others. It is the same for copies of a binary.
var Source = sync.OnceValue(func() string {
	id := Version
	if info, ok := debug.ReadBuildInfo(); ok {
		id += " " + info.GoVersion + " " + info.Main.Version
	}
	if path, err := os.Executable(); err == nil {
		id += fmt.Sprintf(", binary of %d bytes, %.6x", sizeOf(path), headOf(path))
	}
	return id
})

// sizeOf is the size of a file, 0 where it cannot be had.
func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// headOf is a checksum of the beginning of a file, where the Go linker puts one of the whole.
func headOf(path string) (sum [sha256.Size]byte) {
	f, err := os.Open(path)
	if err != nil {
		return sum
	}
	defer f.Close()
	head := make([]byte, 8<<10)
	n, _ := io.ReadFull(f, head)
	return sha256.Sum256(head[:n])
}

// Host names the processor that code for "this machine" is made for.
var Host = sync.OnceValue(objload.HostID)
