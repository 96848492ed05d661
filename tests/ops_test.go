package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/ops"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/ways"
)

// noExample says why an operation has no example: no program can spell it.
var noExample = map[string]string{
	"fusion":      "passes/fusion makes it; tests/golden/ops/fusion.txtar shows it",
	"resume_loop": "passes/checkpoint makes it, for --checkpoint; tests/golden/ops/resume_loop.txtar shows it",
	"keep_loop":   "passes/checkpoint makes it, for --checkpoint; tests/golden/ops/keep_loop.txtar shows it",
}

// TestExamples runs the example of every operation on the interpreter and, compiled in one way a day, on the CPU. The
// operands of most are literals, which are folded when the program is compiled; TestExampleOperands computes with them.
func TestExamples(t *testing.T) {
	with := map[string]bool{}
	for _, x := range ir.Examples() {
		with[x.Op.Name] = true
		t.Run(x.Op.Name, func(t *testing.T) { holds(t, x.Program(), x.Op) })
	}
	for _, d := range ir.Ops() {
		if with[d.Name] == (noExample[d.Name] != "") {
			t.Errorf("operation %s: there has to be an example, or a reason in noExample", d.Name)
		}
	}
}

// TestExampleOperands runs the examples of element-wise operations with operands that come through an `if`
// whose condition is not known before the program runs, so that the operation itself is what runs.
func TestExampleOperands(t *testing.T) {
	for _, x := range ir.Examples() {
		if x.Op.Class != ir.Pointwise || x.Op.Decls != "" || x.Op.Surface == "" { // no program can spell the last
			continue
		}
		t.Run(x.Op.Name, func(t *testing.T) {
			left, right, ok := strings.Cut(x.Expr, " == ")
			if x.Op == ops.Eq {
				left, right, ok = x.Expr, "true", true
			}
			if !ok {
				t.Fatalf("%s is no `expr == expr`", x.Expr)
			}
			// `hide` is called with literals and is not inlined, for it recurses.
			source := "fn hide(n: i32) -> i32 = if n < 1 { n } else { hide(n - 1) }\n\n" +
				"fn example() -> bool = &&/((" + hideLiterals(left) + ") == " + right + ")\n"
			holds(t, source, x.Op)
		})
	}
}

// hideLiterals writes `where(hide(1) == 0, l, l)` for each array literal l that is not inside another, and
// for the first number when there is no array. The brackets behind the name of bitcast hold a type.
func hideLiterals(expr string) string {
	var b strings.Builder
	depth, start, skipped, seen := 0, 0, -1, false
	hide := func(l string) string { return "where(hide(1) == 0, " + l + ", " + l + ")" }
	for i, c := range expr {
		if strings.HasSuffix(expr[:i], "bitcast") {
			skipped = i + strings.IndexByte(expr[i:], ']')
		}
		switch {
		case i <= skipped:
		case c == '[':
			if depth == 0 {
				start = i
			}
			depth++
		case c == ']':
			depth--
			if depth == 0 {
				b.WriteString(hide(expr[start : i+1]))
				seen = true
				continue
			}
		}
		if depth == 0 {
			b.WriteRune(c)
		}
	}
	if seen {
		return b.String()
	}
	open, end := strings.IndexByte(expr, '('), strings.IndexAny(expr, ",)")
	if open < 0 || end < open {
		return expr
	}
	return expr[:open+1] + hide(expr[open+1:end]) + expr[end:]
}

// holds runs `example` of a program that uses d on the interpreter and the CPU, and requires that it gives true.
func holds(t *testing.T, source string, d *ir.OpDef) {
	t.Helper()
	example := func(backend string) func(engine.Options) error {
		return func(o engine.Options) error {
			o.Backend, o.Threads = backend, 1
			o.System = inFolder{&runtime.OS{Out: &strings.Builder{}}, t.TempDir()}
			m, err := engine.Compile(source, o)
			if err != nil {
				return err
			}
			defer m.Close()
			if !uses(m.IR(), d) && strings.Contains(source, "hide(") {
				return fmt.Errorf("the operation is not used\n%s", m.IR())
			}
			f, err := m.Func("example")
			if err != nil {
				return err
			}
			res, err := f.Call(context.Background())
			if err != nil {
				return fmt.Errorf("%s: %w", backend, err)
			}
			defer res.Close()
			if got := res.Bits(); len(got) != 1 || got[0] != 1 {
				return fmt.Errorf("does not hold on %s", backend)
			}
			return nil
		}
	}
	if err := example(heal.Interp)(engine.Options{}); err != nil {
		t.Errorf("%v\n%s", err, source)
	}
	for _, w := range ways.Drawn(source) {
		if err := w.Run(t, engine.Options{}, example(heal.CPU)); err != nil {
			t.Errorf("%v\n%s", err, source)
		}
	}
}

// uses reports whether the module has the operation.
func uses(m *ir.Module, d *ir.OpDef) bool {
	found := false
	for _, f := range m.Funcs {
		ir.Walk(f.Body, func(op *ir.Op) { found = found || op.Def == d })
	}
	return found
}

// inFolder is a System whose files lie in a folder.
type inFolder struct {
	runtime.System
	dir string
}

func (s inFolder) LoadNpy(path string) (*tensor.Tensor, error) {
	return s.System.LoadNpy(s.dir + "/" + path)
}

func (s inFolder) SaveImage(path string, form tensorfile.Image, x *tensor.Tensor) error {
	return runtime.SaveImage(s.System, s.dir+"/"+path, form, x)
}

func (s inFolder) SaveNpy(path string, x *tensor.Tensor) error {
	return s.System.SaveNpy(s.dir+"/"+path, x)
}
