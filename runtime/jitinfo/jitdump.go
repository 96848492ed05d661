//go:build linux

package jitinfo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"unsafe"
)

// Note [Jitdump]
//
// The form is that of tools/perf/Documentation/jitdump-specification.txt in the sources of Linux. perf record writes
// down that the process has mapped the file, executable; so perf inject --jit finds it, and makes an ELF file of each
// function. Times are those of CLOCK_MONOTONIC, for perf record -k mono.

// dump is a jitdump file.
type dump struct {
	file  *os.File
	index uint64 // of the next function
}

const (
	dumpMagic   = 0x4a695444 // "JiTD" in the order of bytes of the machine
	dumpVersion = 1
	dumpHeader  = 40
	codeLoad    = 0  // a kind of record
	loadHeader  = 56 // of such a record, before the name
	debugInfo   = 2  // a kind of record, which comes before the code that it is about
	debugHeader = 32 // of such a record, before the lines
	unwindInfo  = 4  // a kind of record, which comes before the code, too
	unwindHead  = 40 // of such a record, before the tables
)

// elfMachine are the numbers of processors in ELF files.
var elfMachine = map[string]uint32{"amd64": 62, "arm64": 183}

// newDump begins a file in a folder.
func newDump(folder string) (*dump, error) {
	file, err := create(filepath.Join(folder, fmt.Sprintf("jit-%d.dump", os.Getpid())))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, x := range []any{uint32(dumpMagic), uint32(dumpVersion), uint32(dumpHeader), elfMachine[goruntime.GOARCH],
		uint32(0), uint32(os.Getpid()), monotonic(), uint64(0)} {
		write(&b, x)
	}
	if _, err := file.Write(b.Bytes()); err != nil {
		file.Close()
		return nil, err
	}
	// The mapping stays as long as the process: it is the mark that perf looks for.
	if _, err := syscall.Mmap(int(file.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_EXEC,
		syscall.MAP_PRIVATE); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s cannot be mapped executable, which perf looks for: %w", file.Name(), err)
	}
	return &dump{file: file}, nil
}

// loaded writes one record for each function, and before it one with its lines and one with its unwind table.
func (d *dump) loaded(functions []Function, lines []line, table unwindTable) error {
	var b bytes.Buffer
	for _, f := range functions {
		if own := within(lines, f); len(own) > 0 {
			d.lines(&b, f, own)
		}
		if own := table.of(f); own != nil {
			d.unwinding(&b, own)
		}
		size := loadHeader + len(f.Name) + 1 + int(f.Size)
		for _, x := range []any{uint32(codeLoad), uint32(size), monotonic(), uint32(os.Getpid()),
			uint32(syscall.Gettid()), uint64(f.Addr), uint64(f.Addr), uint64(f.Size), d.index} {
			write(&b, x)
		}
		b.WriteString(f.Name)
		b.WriteByte(0)
		b.Write(f.machineCode())
		d.index++
	}
	_, err := d.file.Write(b.Bytes())
	return err
}

// lines writes the record with the lines of a function.
func (d *dump) lines(b *bytes.Buffer, f Function, lines []line) {
	var entries bytes.Buffer
	for _, l := range lines {
		for _, x := range []any{uint64(l.addr), int32(l.line), uint32(0)} {
			write(&entries, x)
		}
		entries.WriteString(l.file)
		entries.WriteByte(0)
	}
	for _, x := range []any{uint32(debugInfo), uint32(debugHeader + entries.Len()), monotonic(), uint64(f.Addr),
		uint64(len(lines))} {
		write(b, x)
	}
	b.Write(entries.Bytes())
}

// unwinding writes the record with the unwind table of a function, which is not in memory where perf looks for it.
func (d *dump) unwinding(b *bytes.Buffer, table []byte) {
	fill := -len(table) & 7
	for _, x := range []any{uint32(unwindInfo), uint32(unwindHead + len(table) + fill), monotonic(), uint64(len(table)),
		uint64(unwindIndex), uint64(0)} {
		write(b, x)
	}
	b.Write(append(table, make([]byte, fill)...))
}

func write(b *bytes.Buffer, x any) {
	if err := binary.Write(b, binary.NativeEndian, x); err != nil {
		panic("BUG: " + err.Error()) // a number of a size that is not fixed
	}
}

// monotonic is the time by CLOCK_MONOTONIC, in nanoseconds.
func monotonic() uint64 {
	const clockMonotonic = 1
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}
