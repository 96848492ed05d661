package interp

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// hosts are the operations that talk to the outside world; TestHost and the calls of TestRun run them.
var hosts = map[string]bool{
	"call": true, "print": true, "print_str": true, "print_i32": true, "print_i64": true, "print_f32": true,
	"print_f64": true, "load_npy": true, "save_npy": true, "save_png": true,
	"save_pgm": true,
	"assert":   true, "str_len": true, "str_concat": true, "str_eq": true, "str_lt": true,
}

// forEachInstance calls check with random uses of every operation of the table.
func forEachInstance(t *testing.T, n int, check func(t *testing.T, in *instance)) {
	if testing.Short() {
		n /= 5
	}
	for _, d := range ir.Ops() {
		if hosts[d.Name] {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			rng := rand.New(rand.NewSource(int64(len(d.Name))))
			// of the first operand and of the last: one of them may have a type of its own
			seen := map[[2]types.DType]bool{}
			made := 0
			for try := 0; try < 30*n && made < n; try++ {
				if in := newGen(rng).instance(d); in != nil {
					check(t, in)
					made++
					if args := in.op.Args; len(args) > 0 {
						seen[[2]types.DType{args[0].Type.Elem, args[len(args)-1].Type.Elem}] = true
					}
				}
			}
			if made < n {
				t.Errorf("only %d instances", made)
			}
			if len(seen) < 2 && d.Arity != 0 && d.Name != "if" && d.Name != "fusion" && !ofOneType(d) {
				t.Errorf("only the element types %v were tried", seen)
			}
		})
	}
}

// ofOneType reports that the rule of an operation names the one element type that it takes.
func ofOneType(d *ir.OpDef) bool {
	rule := d.Constraints[0].Text
	return strings.HasSuffix(rule, "type, bool") || strings.HasSuffix(rule, "of type bool") ||
		strings.HasSuffix(rule, "type, i64") || strings.HasSuffix(rule, "type, f32")
}

func (in *instance) run() ([]*ir.Array, error) {
	m := &ir.Module{Funcs: []*ir.Func{in.f}}
	return RunDims(m, "f", in.dims, in.args, &MemSystem{})
}

// TestInferMatchesEval: the type that the rule gives is the type of what comes out.
func TestInferMatchesEval(t *testing.T) {
	forEachInstance(t, 60, func(t *testing.T, in *instance) {
		got, err := in.run()
		var failed *RuntimeError
		if errors.As(err, &failed) && (failed.Kind != 0 && in.op.MayFail() || failed.Kind == 0) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", in.f, err)
		}
		for i, a := range got {
			want := in.op.Results[i].Type
			shape := want.Shape
			for k, d := range shape {
				n, err := d.Eval(in.dims)
				if err != nil || len(a.Shape) != len(shape) || a.Shape[k] != n {
					t.Fatalf("%s gives %s with %v", in.f, a.Type(), in.dims)
				}
			}
			if a.DType != want.Elem || len(a.Shape) != len(shape) {
				t.Fatalf("%s gives %s", in.f, a.Type())
			}
			n := int64(1)
			for _, s := range a.Shape {
				n *= s
			}
			if n != a.Len() {
				t.Fatalf("%s gives %d elements for %s", in.f, a.Len(), a.Type())
			}
			for _, b := range a.Bits {
				if a.DType.Bits() < 64 && b>>a.DType.Bits() != 0 {
					t.Fatalf("%s gives the bits %x in %s", in.f, b, a.Type())
				}
			}
		}
	})
}

// TestElementMatchesEval: pulling every element of the result gives the same bits, and fails when and how
// evaluation does.
func TestElementMatchesEval(t *testing.T) {
	forEachInstance(t, 60, func(t *testing.T, in *instance) {
		if in.op.Def.Class == ir.Fused {
			return // its region is pulled by the lowering itself
		}
		want, wantErr := in.run()
		var failed *RuntimeError
		if errors.As(wantErr, &failed) && failed.Kind == 0 {
			return // refused for its shapes before it ran
		}
		values := make([]int64, len(in.f.Dims))
		for i, d := range in.f.Dims {
			values[i] = in.dims[d]
		}
		literal, err := instantiate(in.f, values)
		if err != nil {
			t.Fatal(err)
		}
		comparePull(t, literal, in, want, failed)
		comparePull(t, in.f, in, want, failed) // extents are only known at run time
	})
}

// comparePull pulls the results of f, which is in.f or a copy of it with literal extents.
func comparePull(t *testing.T, f *ir.Func, in *instance, want []*ir.Array, failed *RuntimeError) {
	t.Helper()
	for r, y := range f.Body.Yields {
		got, failure := pullAll(t, f, y, in)
		switch {
		case failure != nil && failed == nil:
			t.Fatalf("%s: pulling fails with %s, evaluation does not", f, failure.kind)
		case failure != nil:
			if failure.kind != failed.Kind {
				t.Fatalf("%s: pulling fails with %s, evaluation with %v", f, failure.kind, failed)
			}
			if msg := message(failure.kind, y.Def, failure.details); failure.kind == scalar.CheckIndex &&
				msg != failed.Message {
				t.Fatalf("%s: pulling says %q, evaluation %q", f, msg, failed.Message)
			}
		case failed != nil:
			// The second result of `if` does not divide, and the pass positions checks those that no element looks at.
			unread := in.op.Def.Positions != nil && failed.Kind == scalar.CheckIndex &&
				slices.ContainsFunc(in.op.Def.Positions(in.op), func(p ir.Position) bool {
					return !in.op.ReadsAll(p.Arg)
				})
			if (in.op.Def.Name != "if" || r == 0) && !unread {
				t.Fatalf("%s: evaluation fails with %v, pulling does not", f, failed)
			}
		default:
			for i := range got {
				if !sameBits(y.Type.Elem, got[i], want[r].Bits[i]) {
					t.Fatalf("%s with %v\nelement %d of result %d is %x pulled, %x evaluated", f, show(in.args), i, r,
						got[i], want[r].Bits[i])
				}
			}
		}
	}
}

// pullAll gives every element of v in row-major order.
func pullAll(t *testing.T, f *ir.Func, v *ir.Value, in *instance) (out []uint64, failure *pullFailure) {
	p := &puller{t: t, given: map[*ir.Value]*ir.Array{}, bound: map[*ir.Value]scalar.Ref{}, dims: in.dims}
	for i, param := range f.Params() {
		p.given[param] = in.args[i]
	}
	defer func() {
		if e := recover(); e != nil {
			f, ok := e.(pullFailure)
			if !ok {
				panic(e)
			}
			failure = &f
		}
	}()
	p.space(v.Type.Shape, func(at []scalar.Ref) {
		r := p.value(v, at)
		if p.types[r] != v.Type.Elem {
			t.Fatalf("%s: an element of %s is pulled as %s", f, v.Type, p.types[r])
		}
		out = append(out, p.bits[r])
		p.bits, p.types = p.bits[:0], p.types[:0] // nothing of this element is looked at again
	})
	return out, nil
}

// sameBits compares elements; any NaN equals any NaN.
func sameBits(t types.DType, a, b uint64) bool {
	if a == b {
		return true
	}
	if !t.IsFloat() {
		return false
	}
	x, y := scalar.FloatValue(t, a), scalar.FloatValue(t, b)
	return x != x && y != y
}

// TestFailuresAreDeclared: an operation that says it cannot fail does not.
func TestFailuresAreDeclared(t *testing.T) {
	forEachInstance(t, 60, func(t *testing.T, in *instance) {
		_, err := in.run()
		var failed *RuntimeError
		if errors.As(err, &failed) && failed.Kind != 0 && !in.op.MayFail() {
			t.Fatalf("%s: %v", in.f, err)
		}
	})
}
