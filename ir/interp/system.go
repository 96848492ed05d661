package interp

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// MemSystem is an ir.System in memory, for tests. The zero value is ready.
type MemSystem struct {
	Out   strings.Builder      // what was printed
	Files map[string]*ir.Array // what can be loaded, and what was saved
}

// Print implements ir.System.
func (s *MemSystem) Print(text string) error {
	s.Out.WriteString(text)
	return nil
}

// Format implements ir.System: nested lists on one line, "[[1, 2], [3, 4]]".
func (s *MemSystem) Format(a *ir.Array) (string, error) {
	if a.DType == types.String {
		return a.Str, nil
	}
	var b strings.Builder
	writeAxis(&b, a, 0, 0, len(a.Bits))
	return b.String(), nil
}

// writeAxis writes the elements [begin, end), which are those of one index on the axes before this one.
func writeAxis(b *strings.Builder, a *ir.Array, axis, begin, end int) {
	if axis == len(a.Shape) {
		b.WriteString(scalar.FormatBits(a.DType, a.Bits[begin]))
		return
	}
	b.WriteByte('[')
	n := int(a.Shape[axis])
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		run := (end - begin) / n
		writeAxis(b, a, axis+1, begin+i*run, begin+(i+1)*run)
	}
	b.WriteByte(']')
}

// LoadNpy implements ir.System.
func (s *MemSystem) LoadNpy(path string) (*ir.Array, error) {
	if a := s.Files[path]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("%s: no such file", path)
}

// SaveImage implements ir.System: what was saved can be loaded.
func (s *MemSystem) SaveImage(path, _ string, a *ir.Array) error { return s.SaveNpy(path, a) }

// SaveNpy implements ir.System.
func (s *MemSystem) SaveNpy(path string, a *ir.Array) error {
	if s.Files == nil {
		s.Files = map[string]*ir.Array{}
	}
	s.Files[path] = a
	return nil
}
