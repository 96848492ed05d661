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
	if code, err := lib.Do("heal_use_cpu", 0); err != nil || code != aot.CodeArgument ||
		lib.LastError() != "there is no name of a processor" {
		t.Errorf("heal_use_cpu(NULL): code %d, %q, %v", code, lib.LastError(), err)
	}
}
