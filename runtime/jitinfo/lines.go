package jitinfo

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// WantsLines reports that the environment asks for something that shows lines of the source, for which code has to
// have them.
func WantsLines() bool {
	return slices.ContainsFunc(strings.Split(os.Getenv(Variable), ","), func(name string) bool {
		return name == jitDump || name == gdb
	})
}

// line says from which address on code is for a line of the source.
type line struct {
	addr uintptr
	file string
	line int
}

// linesIn reads the line table of an object whose sections have the addresses at which they lie; nil where there is
// none. Line 0, of instructions that are for several lines, counts as the line before.
func linesIn(object []byte) ([]line, error) {
	if len(object) == 0 {
		return nil, nil
	}
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	if f.Section(".debug_line") == nil {
		return nil, nil
	}
	text := f.Section(".text") // where LLVM puts all code, and what the addresses of the table are relative to
	if text == nil {
		return nil, nil
	}
	d, err := f.DWARF()
	if err != nil {
		return nil, err
	}
	var out []line
	for units := d.Reader(); ; units.SkipChildren() {
		unit, err := units.Next()
		if err != nil || unit == nil {
			slices.SortStableFunc(out, func(a, b line) int { return int(a.addr) - int(b.addr) })
			return out, err
		}
		table, err := d.LineReader(unit)
		if err != nil {
			return nil, err
		}
		for table != nil {
			var e dwarf.LineEntry
			if err := table.Next(&e); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if !e.EndSequence && e.Line > 0 {
				out = append(out, line{uintptr(text.Addr + e.Address), e.File.Name, e.Line})
			}
		}
	}
}

// within are the lines of a function.
func within(lines []line, f Function) []line {
	from, _ := slices.BinarySearchFunc(lines, f.Addr, func(l line, addr uintptr) int { return int(l.addr) - int(addr) })
	to, _ := slices.BinarySearchFunc(lines, f.Addr+f.Size,
		func(l line, addr uintptr) int { return int(l.addr) - int(addr) })
	return lines[from:to]
}
