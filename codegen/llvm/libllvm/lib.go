package libllvm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"healc/runtime/dynlib"
)

// Lib is an open libLLVM. Its methods may be called from several goroutines.
type Lib struct {
	api
	name    string // as given to dlopen
	version string
	dl      uintptr

	mu          sync.Mutex
	initialised map[string]bool // by LLVM's name of the target, such as X86; false: the library lacks it
	host        struct {
		once                  sync.Once
		triple, cpu, features string
	}
}

// Version is the library's version, such as "19.1.7". Version 15 cannot tell more than "15".
func (l *Lib) Version() string { return l.version }

// Path is the file of the library, as far as the system tells; else the name it was opened by.
func (l *Lib) Path() string {
	if strings.Contains(l.name, "/") {
		return l.name
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return l.name
	}
	want, _ := filepath.EvalSymlinks(l.name)
	if want == "" {
		want = l.name
	}
	for line := range strings.Lines(string(maps)) {
		i := strings.IndexByte(line, '/')
		if i < 0 {
			continue
		}
		if path := strings.TrimSpace(line[i:]); filepath.Base(path) == filepath.Base(want) {
			return path
		}
	}
	return l.name
}

// HostTriple is the triple of this machine, such as "x86_64-pc-linux-gnu".
func (l *Lib) HostTriple() string {
	l.readHost()
	return l.host.triple
}

// HostCPU is LLVM's name of this machine's processor, such as "znver4", and its features in LLVM's form,
// such as "+avx2,-avx512f". They are the defaults of Compile for the host's triple.
func (l *Lib) HostCPU() (name, features string) {
	l.readHost()
	return l.host.cpu, l.host.features
}

func (l *Lib) readHost() {
	l.host.once.Do(func() {
		l.host.triple = l.take(l.GetDefaultTargetTriple())
		l.host.cpu = l.take(l.GetHostCPUName())
		l.host.features = l.take(l.GetHostCPUFeatures())
	})
}

// HasTarget reports whether the library can generate code for triple.
func (l *Lib) HasTarget(triple string) bool { return l.initTarget(triple) == nil }

// targetName maps the architecture of a triple to LLVM's name of the target.
func targetName(triple string) (string, bool) {
	arch, _, _ := strings.Cut(triple, "-")
	switch arch {
	case "x86_64", "amd64":
		return "X86", true
	case "aarch64", "arm64":
		return "AArch64", true
	case "nvptx64":
		return "NVPTX", true
	}
	return "", false
}

// initTarget registers the target of triple with LLVM, once. Only the targets that are used are
// registered: each costs time.
func (l *Lib) initTarget(triple string) error {
	name, ok := targetName(triple)
	if !ok {
		return fmt.Errorf("unsupported target %q: heal compiles for x86_64, aarch64 and nvptx64", triple)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	present, known := l.initialised[name]
	if !known {
		present = l.register(name)
		l.initialised[name] = present
	}
	if !present {
		return fmt.Errorf("unsupported target %q: %s was built without the target %s", triple, l.name, name)
	}
	return nil
}

// register calls LLVMInitialize<name><part> for every part of a target and reports whether the library has it.
func (l *Lib) register(name string) bool {
	for _, part := range []string{"TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"} {
		sym, err := dynlib.Symbol(l.dl, "LLVMInitialize"+name+part)
		if err != nil {
			if part == "AsmParser" { // NVPTX has none; it is needed for inline assembly only
				continue
			}
			return false
		}
		purego.SyscallN(sym)
	}
	return true
}
