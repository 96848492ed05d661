package libllvm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"healc/internal/distro"
	"healc/runtime/dynlib"
)

// EnvPath is the environment variable that names the library to use instead of searching.
const EnvPath = "HEAL_LIBLLVM"

const (
	oldest = 15 // LLVM 14 does not know opaque pointers by default and lacks parts of the C API
	newest = 22
)

// versions is the order of the search. 19 is the version everything is tested with; then the newest first.
var versions = []int{19, 22, 21, 20, 18, 17, 16, 15}

// Versions are the versions that Open looks for, in order.
func Versions() []string {
	var out []string
	for _, v := range versions {
		out = append(out, strconv.Itoa(v))
	}
	return out
}

// MissingError says that no usable libLLVM was found. Its text is one line and has the command that installs
// one, where the distribution is known.
type MissingError struct {
	Path   string // the value of HEAL_LIBLLVM or the library that was refused; "" when the search found none
	Reason string // what is wrong with Path
}

func (e *MissingError) Error() string {
	if runtime.GOOS != "linux" && os.Getenv(EnvPath) == "" { // what would load the code is not there either
		return "unsupported: machine code is made and run on Linux, not on " + runtime.GOOS
	}
	with := ""
	if here := distro.Here(); here.Known() {
		with = " with `" + here.Install(here.Package(distro.LLVM)) + "`"
	}
	if e.Path == "" {
		return fmt.Sprintf("libLLVM %d to %d is not installed; install it%s, or name the library in %s",
			oldest, newest, with, EnvPath)
	}
	return fmt.Sprintf("libLLVM: cannot use %s: %s; install a usable one%s", e.Path, e.Reason, with)
}

var open = sync.OnceValues(func() (*Lib, error) { return find(os.Getenv(EnvPath)) })

// find opens the library named by the environment variable, or searches when that is empty.
func find(env string) (*Lib, error) {
	if env == "" {
		return search(candidates(runtime.GOARCH))
	}
	lib, err := OpenPath(env)
	var missing *MissingError
	if errors.As(err, &missing) {
		missing.Path = EnvPath + "=" + env
	}
	return lib, err
}

// Open returns the process's libLLVM; the first call finds and opens it. The library is never closed:
// LLVM keeps global state that does not survive that. The error is a *MissingError.
func Open() (*Lib, error) { return open() }

// search opens the first of paths that can be used. When none can, it tells about the first that exists.
func search(paths []string) (*Lib, error) {
	var refused *MissingError
	for _, path := range paths {
		// A look at the file first: dlopen of something absent costs more and its message says no more.
		if filepath.IsAbs(path) {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		lib, err := OpenPath(path)
		if err == nil {
			return lib, nil
		}
		var missing *MissingError
		if errors.As(err, &missing) && refused == nil && !dynlib.Absent(path, missing.Reason) {
			refused = missing
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, &MissingError{}
}

// candidates lists what to try, best first: by version, then the linker's path before the usual folders.
func candidates(goarch string) []string {
	multiarch := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[goarch]
	var paths []string
	for _, v := range versions {
		for _, dir := range []string{"", "/usr/lib/" + multiarch, fmt.Sprintf("/usr/lib/llvm-%d/lib", v),
			fmt.Sprintf("/usr/lib/llvm%d/lib", v), "/usr/lib64", fmt.Sprintf("/usr/lib64/llvm%d/lib", v), "/usr/lib",
			"/usr/local/lib"} {
			for _, name := range names(v) {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths
}

// names are the file names under which distributions install version v. The scheme changed with 18.1.
func names(v int) []string {
	if v >= 18 {
		return []string{fmt.Sprintf("libLLVM.so.%d.1", v), fmt.Sprintf("libLLVM-%d.so", v),
			fmt.Sprintf("libLLVM-%d.so.1", v)}
	}
	return []string{fmt.Sprintf("libLLVM-%d.so.1", v), fmt.Sprintf("libLLVM-%d.so", v)}
}

// OpenPath opens the library at path, a file or a name for the dynamic linker. Most callers want
// Open. The error is a *MissingError.
func OpenPath(path string) (*Lib, error) {
	runtime.LockOSThread() // the linker keeps the reason of a failure for the thread
	defer runtime.UnlockOSThread()
	// Local symbols allow two versions in one process. To open the library is most of the start of healc.
	dl, err := dynlib.Open(path, 0)
	if err != nil {
		// The linker's message repeats the path in front.
		return nil, &MissingError{path, strings.TrimPrefix(err.Error(), path+": ")}
	}
	lib := &Lib{name: path, dl: dl, initialised: map[string]bool{}}
	if lib.version, err = probe(dl); err == nil {
		err = lib.bind(dl)
	}
	if err != nil {
		// The error already tells what the user must know; a failing dlclose would add nothing.
		_ = dynlib.Close(dl)
		return nil, &MissingError{path, err.Error()}
	}
	lib.InstallFatalErrorHandler(fatalHandler())
	return lib, nil
}

// probe returns the version of the library dl, or an error when we cannot use it.
func probe(dl uintptr) (string, error) {
	if _, err := dynlib.Symbol(dl, "LLVMContextCreate"); err != nil {
		return "", errors.New("it is not libLLVM")
	}
	// Neither call exists in 14 and older; 15 has the second one only and cannot tell its minor version.
	if sym, err := dynlib.Symbol(dl, "LLVMGetVersion"); err == nil {
		var get func(major, minor, patch *uint32)
		purego.RegisterFunc(&get, sym)
		var major, minor, patch uint32
		get(&major, &minor, &patch)
		return fmt.Sprintf("%d.%d.%d", major, minor, patch), nil
	}
	if _, err := dynlib.Symbol(dl, "LLVMPointerTypeInContext"); err == nil {
		return "15", nil
	}
	return "", fmt.Errorf("it is older than LLVM %d", oldest)
}
