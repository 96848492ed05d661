// Package jitinfo tells profilers and debuggers about code in memory, which no file on disk has: a perf map, a jitdump
// and the interface of gdb. The environment variable Variable chooses; without it nothing is written.
//
// What comes in is the functions of a piece of code, with their addresses, and the object that it was loaded from.
package jitinfo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Variable names what is told, with commas between: map, jitdump, gdb.
const Variable = "HEAL_PERF"

// What there is.
const (
	perfMap = "map"     // /tmp/perf-PID.map
	jitDump = "jitdump" // jit-PID.dump in the folder for temporary files
	gdb     = "gdb"     // __jit_debug_descriptor
)

// Code is code in memory.
type Code struct {
	Functions []Function
	File      []byte // an ELF object whose sections have the addresses at which they lie
}

// Function is a function of some code. Name is for people.
type Function struct {
	Name       string
	Addr, Size uintptr
}

// machineCode are the bytes of a function.
func (f Function) machineCode() []byte {
	addr := f.Addr
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), f.Size) // mapped memory, which the collector does not move
}

// Listener is what is told about code.
type Listener struct {
	mu      sync.Mutex
	perfMap io.Writer
	dump    *dump
	gdb     bool
}

// Default is what the environment asks for, opened once; nil when it asks for nothing.
var Default = sync.OnceValues(func() (*Listener, error) { return open(os.Getenv(Variable), os.TempDir()) })

// open begins what names names. folder is that of the jitdump; perf looks for its maps in /tmp alone.
func open(names, folder string) (*Listener, error) {
	if names == "" {
		return nil, nil
	}
	l := &Listener{}
	for name := range strings.SplitSeq(names, ",") {
		var err error
		switch name {
		case perfMap:
			l.perfMap, err = create(fmt.Sprintf("/tmp/perf-%d.map", os.Getpid()))
		case jitDump:
			l.dump, err = newDump(folder)
		case gdb:
			err = gdbReason()
			l.gdb = err == nil
		default:
			err = errors.New("there are map, jitdump and gdb, with commas between")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", Variable, name, err)
		}
	}
	return l, nil
}

// create makes a file that nobody else has made: the folder is one where all may write.
func create(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that had this number
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Loaded tells about code that has been loaded, before it runs. forget is called before it is unloaded. The map and the
// jitdump have no word for that: what is loaded at the same place later counts.
func (l *Listener) Loaded(c Code) (forget func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.perfMap != nil {
		var text strings.Builder
		for _, f := range c.Functions {
			fmt.Fprintf(&text, "%x %x %s\n", f.Addr, f.Size, f.Name)
		}
		if _, err := io.WriteString(l.perfMap, text.String()); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", Variable, perfMap, err)
		}
	}
	if l.dump != nil {
		lines, err := linesIn(c.File)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: the lines of the source: %w", Variable, jitDump, err)
		}
		table, err := unwindTableOf(c.File)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: the unwind table: %w", Variable, jitDump, err)
		}
		if err := l.dump.loaded(c.Functions, lines, table); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", Variable, jitDump, err)
		}
	}
	if l.gdb {
		return registered(slices.Clone(c.File)), nil
	}
	return func() {}, nil
}
