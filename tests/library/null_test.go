package library

import (
	"testing"

	"healc/codegen/llvm/aot"
)

// TestNull: an address that is NULL where there must be something is an error with a message.
func TestNull(t *testing.T) {
	_, lib, _ := source(t, parallelSource, "total")
	w := &words{memory: outside(8 * 16)}
	defer w.free()
	shape := w.add(0)
	noShape, empty := w.add(0, 0, 0), w.add(0, uint64(shape), 0)
	sum := w.add(0)
	result := w.add(uint64(sum), 0, 0)
	for _, c := range []struct {
		args, results uintptr
		want          string
	}{
		{0, result, "total: there are no arguments"},
		{empty, 0, "total: there are no results"},
		{noShape, result, "total: x has no shape"},
		{empty, result, ""},
	} {
		code, err := lib.Do("t_total_tensors", c.args, c.results)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want == "" && code != aot.CodeOK:
			t.Errorf("no elements: code %d, %s", code, lib.LastError())
		case c.want != "" && (code != aot.CodeArgument || lib.LastError() != c.want):
			t.Errorf("code %d, %q; want %q", code, lib.LastError(), c.want)
		}
	}
	if code, err := lib.Do(lib.Own("use_cpu"), 0); err != nil || code != aot.CodeArgument ||
		lib.LastError() != "there is no name of a processor" {
		t.Errorf("heal_use_cpu(NULL): code %d, %q, %v", code, lib.LastError(), err)
	}
}

// TestEmpty: results without elements may have any strides and lie anywhere, as those of other libraries do.
func TestEmpty(t *testing.T) {
	_, lib, _ := source(t, "pub fn f[M, N](x: f32[M, N]) -> f32[M, N] = x .* 2.0\n", "f")
	w := &words{memory: outside(8 * 64)}
	defer w.free()
	base := w.add(0, 0, 0, 0)
	minus := uint64(1<<64 - 1)
	for _, shape := range [][]uint64{{0, 3}, {3, 0}, {0, 0}} {
		for _, strides := range [][]uint64{{0, 1}, {9, 0}, {0, 0}, {3, 1}, {minus, 7}} {
			for _, at := range []uintptr{0, base, base + 4} {
				s, st := uint64(w.add(shape...)), uint64(w.add(strides...))
				arg := w.add(uint64(base), s, 0)
				code, err := lib.Do("t_f_tensors", arg, w.add(uint64(at), s, st))
				if err != nil || code != aot.CodeOK {
					t.Errorf("shape %v, strides %v: code %d, %s, %v", shape, strides, code, lib.LastError(), err)
				}
				w.at = 4
			}
		}
	}
	if code, err := lib.Do("t_f", 0, 3, base, base); err != nil || code != aot.CodeOK {
		t.Errorf("an empty result at the argument's address: code %d, %s, %v", code, lib.LastError(), err)
	}
	// With elements, strides of 0 are refused as before.
	s, still := uint64(w.add(2, 2)), uint64(w.add(0, 1))
	if code, err := lib.Do("t_f_tensors", w.add(uint64(base), s, 0), w.add(uint64(base)+64, s, still)); err != nil ||
		code != aot.CodeArgument {
		t.Errorf("one place for two elements: code %d, %v", code, err)
	}
}
