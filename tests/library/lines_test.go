package library

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
)

const linedSource = `import nn
fn other(x: f32) -> f32 = x * 2.0
pub fn softmax[M, N](x: f32[M, N]) -> f32[M, N] =
    nn.softmax(
        x + 1.0)
`

// TestLines: a library with lines has the same code as one without, and all code of its kernels has a place in the
// source: a line of the program, or one of the standard library that is inlined where the program calls it.
func TestLines(t *testing.T) {
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, triple := range []string{"", "aarch64-linux-gnu"} {
		if triple != "" && !lib.HasTarget(triple) {
			continue
		}
		l := libraryOf(t, "s", linedSource, "softmax")
		l.Target.Triple = triple
		if l.Target.CPU = "generic"; triple == "" {
			l.Target.CPU = plain
		}
		files := map[string][2]*elf.File{} // without and with lines
		for i, lines := range []bool{false, true} {
			l.Lines = lines
			objects, err := aot.Objects(l)
			if err != nil {
				t.Fatal(err)
			}
			joined, err := aot.Join(objects)
			if err != nil {
				t.Fatal(err)
			}
			made := map[string][]byte{"s.o": joined}
			if triple == "" {
				made["s.so"] = []byte(linked(t, l, objects, "s.so"))
			}
			for name, raw := range made {
				f, err := elf.NewFile(bytes.NewReader(raw))
				if err != nil {
					t.Fatal(err)
				}
				pair := files[name]
				pair[i] = f
				files[name] = pair
			}
		}
		for name, pair := range files {
			t.Run(triple+name, func(t *testing.T) {
				sameCode(t, pair[0], pair[1])
				if name == "s.so" { // in an object all sections begin at 0
					placed(t, pair[1])
				}
				linesOf(t, pair[1])
			})
		}
	}
}

// sameCode compares what is loaded of two files, of which the first has no tables for debuggers.
func sameCode(t *testing.T, without, with *elf.File) {
	t.Helper()
	loaded := func(f *elf.File) (out []string) {
		for _, s := range f.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS {
				continue
			}
			data, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %x %x", s.Name, s.Addr, data))
		}
		return out
	}
	if !slices.Equal(loaded(without), loaded(with)) {
		t.Error("what is loaded differs")
	}
	for _, s := range without.Sections {
		if strings.HasPrefix(s.Name, ".debug") {
			t.Errorf("there is a %s that nobody asked for", s.Name)
		}
	}
}

// rows calls row for each row of the line tables of a file that is not the last of its sequence.
func rows(t *testing.T, f *elf.File, row func(from, to uint64, file string, line int)) *dwarf.Data {
	t.Helper()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	for r := d.Reader(); ; {
		unit, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if unit == nil {
			return d
		}
		if unit.Tag != dwarf.TagCompileUnit {
			t.Fatalf("a unit begins with %v", unit.Tag)
		}
		lines, err := d.LineReader(unit)
		if err != nil || lines == nil {
			t.Fatal("a unit without lines", err)
		}
		var last *dwarf.LineEntry
		for {
			var e dwarf.LineEntry
			if err := lines.Next(&e); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if last != nil {
				row(last.Address, e.Address, path.Base(last.File.Name), last.Line)
			}
			if last = &e; e.EndSequence {
				last = nil
			}
		}
		r.SkipChildren()
	}
}

// placed checks that every byte of every kernel is in a row.
func placed(t *testing.T, f *elf.File) {
	t.Helper()
	covered := map[uint64]uint64{} // from where to where
	rows(t, f, func(from, to uint64, _ string, _ int) { covered[from] = max(covered[from], to) })
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	kernels := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || !kernelName.MatchString(s.Name) {
			continue
		}
		kernels++
		at := s.Value
		for at < s.Value+s.Size && covered[at] > at {
			at = covered[at]
		}
		if at < s.Value+s.Size {
			t.Errorf("%s has no line from byte %d of %d on", s.Name, at-s.Value, s.Size)
		}
	}
	if kernels == 0 {
		t.Error("there are no kernels")
	}
}

// linesOf checks which lines there are. Line 0 says that an instruction is for several.
func linesOf(t *testing.T, f *elf.File) {
	t.Helper()
	used := map[string]map[int]bool{}
	d := rows(t, f, func(_, _ uint64, file string, line int) {
		if used[file] == nil {
			used[file] = map[int]bool{}
		}
		used[file][line] = true
	})
	of := func(file string) []int {
		delete(used[file], 0)
		return slices.Sorted(maps.Keys(used[file]))
	}
	if got := of("s.heal"); !slices.Contains(got, 5) || slices.Contains(got, 2) || slices.Max(got) > 5 {
		t.Errorf("the lines of the program are %v", got)
	}
	if got := of("nn.heal"); len(got) < 2 || len(used) != 2 {
		t.Errorf("the lines of the library are %v, and the files %v", got, slices.Sorted(maps.Keys(used)))
	}
	// What stands in the library is in the place of the call.
	inlined := 0
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		if e.Tag != dwarf.TagInlinedSubroutine {
			continue
		}
		inlined++
		origin, _ := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		o := d.Reader()
		o.Seek(origin)
		if what, err := o.Next(); err != nil || what.Val(dwarf.AttrName) != "nn" {
			t.Errorf("%v is inlined, %v", what, err)
		}
		if line := e.Val(dwarf.AttrCallLine); line != int64(4) {
			t.Errorf("it is called in line %v", line)
		}
	}
	if inlined == 0 {
		t.Error("nothing is inlined")
	}
}
