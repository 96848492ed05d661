package ir_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/types"
)

// Every property that Verify lists is broken once, in a module that was right before.
func TestVerify(t *testing.T) {
	const text = `module "m"

func @f[M, N](%x: f32[N], %n: i32) -> f32[N] {
  %0: f32 = const {value = f32 1.0}
  %1: f32[N] = broadcast %0 {shape = [N]}
  %2: f32[N] = add %x, %1
  %3: f32[N] = fusion %2 ^(%p: f32[N]) {
    %4: f32[N] = exp %p
    yield %4
  }
  %5: f32[N] = call %3 {callee = "g", dims = [N], results = [f32[N]]}
  return %5
}

func @g[K](%x: f32[K]) -> f32[K] {
  return %x
}

io func @h(%x: f32) -> () {
  print %x
  return
}
`
	op := func(m *ir.Module, i int) *ir.Op { return m.Funcs[0].Body.Ops[i] }
	for _, c := range []struct {
		name, want string
		damage     func(m *ir.Module)
	}{
		{"function twice", "function @f is defined twice", func(m *ir.Module) { m.Funcs[1].Name = "f" }},
		{"shape parameter twice", "shape parameter N is there twice", func(m *ir.Module) { m.Funcs[0].Dims[0] = "N" }},
		{"value twice", "a value is defined twice", func(m *ir.Module) { op(m, 2).Results = op(m, 1).Results }},
		{"operation twice", "a value is defined twice", func(m *ir.Module) {
			m.Funcs[0].Body.Ops = append(m.Funcs[0].Body.Ops, op(m, 0))
		}},
		{"index of a parameter", "parameter 1 does not know its place", func(m *ir.Module) {
			m.Funcs[0].Params()[1].Index = 7
		}},
		{"definition of a result", "result 0 does not know its place", func(m *ir.Module) {
			op(m, 0).Result().Def = op(m, 1)
		}},
		{"use before definition", "operand 1 is not defined here", func(m *ir.Module) {
			ops := m.Funcs[0].Body.Ops
			ops[1], ops[2] = ops[2], ops[1]
		}},
		{"yield of another function", "value 0 is not defined here", func(m *ir.Module) {
			m.Funcs[0].Body.Yields[0] = m.Funcs[1].Params()[0]
		}},
		{"use from inside a region", "value 0 is not defined here", func(m *ir.Module) {
			m.Funcs[0].Body.Yields[0] = op(m, 3).Regions[0].Ops[0].Result()
		}},
		{"capture of a fusion", "operand 0 is not defined here", func(m *ir.Module) {
			op(m, 3).Regions[0].Ops[0].Args[0] = m.Funcs[0].Params()[0]
		}},
		{"block in itself", "a block is inside itself", func(m *ir.Module) { op(m, 3).Regions[0] = m.Funcs[0].Body }},
		{"not in the table", "the operation is not in the table", func(m *ir.Module) {
			op(m, 2).Def = &ir.OpDef{Name: "add"}
		}},
		{"operands", "add takes 2 operands", func(m *ir.Module) { op(m, 2).Args = op(m, 2).Args[:1] }},
		{"regions", "region", func(m *ir.Module) { op(m, 3).Regions = nil }},
		{"attribute missing", "shape of broadcast is missing", func(m *ir.Module) { op(m, 1).Attrs[0] = nil }},
		{"attribute kind", "wrong kind", func(m *ir.Module) { op(m, 1).Attrs[0] = int64(3) }},
		{"constant", "has 1 elements, not 2", func(m *ir.Module) {
			op(m, 0).Attrs[0].(*ir.Array).Bits = make([]uint64,
				2)
		}},
		{"result type", "add gives (f32[N]), not (f64[N])", func(m *ir.Module) {
			op(m, 2).Result().Type.Elem = types.F64
		}},
		{"extent too large", "extent 4294967296 is not from 0", func(m *ir.Module) {
			m.Funcs[1].Params()[0].Type = types.Of(types.F32, 1<<32)
		}},
		{"negative extent", "extent -1 is not from 0", func(m *ir.Module) {
			m.Funcs[1].Params()[0].Type = types.Of(types.F32, -1)
		}},
		{"unknown shape parameter", "Q is no shape parameter", func(m *ir.Module) {
			m.Funcs[1].Params()[0].Type.Shape = types.Shape{types.Param("Q")}
		}},
		{"type of no value", "invalid is no type of a value", func(m *ir.Module) {
			m.Funcs[1].Params()[0].Type = types.Tensor{}
		}},
		{"returned type", "returns (f32[N]), the function has (f32)", func(m *ir.Module) {
			m.Funcs[0].Results[0] = types.Scalar(types.F32)
		}},
		{"callee", "there is no function @k", func(m *ir.Module) { op(m, 4).Attrs[0] = "k" }},
		{"bound parameters", "has 1 shape parameters and 0 are bound", func(m *ir.Module) {
			op(m, 4).Attrs[1] = types.Shape{}
		}},
		{"argument of a call", "@g takes (f32[M]), not (f32[N])", func(m *ir.Module) {
			op(m, 4).Attrs[1] = types.Shape{types.Param("M")}
		}},
		{"result of a call", "@g returns (f32[N]), not (f64[N])", func(m *ir.Module) {
			r := types.Tensor{Elem: types.F64, Shape: types.Shape{types.Param("N")}}
			op(m, 4).Attrs[2] = []types.Tensor{r}
		}},
		{"effect", "an effect in a function that is not io", func(m *ir.Module) { m.Funcs[2].IO = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(t, text)
			if err := ir.Verify(m); err != nil {
				t.Fatal(err)
			}
			c.damage(m)
			err := ir.Verify(m)
			var v *ir.VerifyError
			if !errors.As(err, &v) || !strings.Contains(v.Text, c.want) || !strings.Contains(v.Text, "// ^ error: ") {
				t.Errorf("no %q in: %v", c.want, err)
			}
		})
	}
}

// All errors are shown, each under its line.
func TestVerifyCollects(t *testing.T) {
	m := parse(t, `module "m"

func @f(%x: f32) -> f32 {
  %0: f32 = neg %x
  %1: f32 = neg %0
  return %1
}
`)
	m.Funcs[0].Body.Ops[0].Result().Type.Elem = types.F64
	m.Funcs[0].Results[0] = types.Scalar(types.I8)
	want := `the IR is not valid (3 errors)
func @f(%x: f32) -> i8 {
  %0: f64 = neg %x
  // ^ error: neg gives (f32), not (f64)
  %1: f32 = neg %0
  // ^ error: neg gives (f64), not (f32)
  return %1
  // ^ error: returns (f32), the function has (i8)
}
`
	if err := ir.Verify(m); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestUsesReplaceCaptures(t *testing.T) {
	m := parse(t, `module "m"

func @f(%x: f32, %y: f32, %c: bool) -> f32 {
  %0: f32 = add %x, %x
  %1: f32 = if %c ^() {
    %2: f32 = mul %0, %x
    yield %2
  } ^() {
    yield %x
  }
  return %1
}
`)
	f := m.Funcs[0]
	x, y := f.Params()[0], f.Params()[1]
	if n := len(ir.Uses(f.Body)[x]); n != 4 {
		t.Errorf("%d uses of %%x", n)
	}
	arm := f.Body.Ops[1].Regions[0]
	ir.WalkBlocks(f.Body, func(b *ir.Block) {
		if got := (ir.Captured{}).Of(b); !slices.Equal(got, ir.Captures(b)) {
			t.Errorf("captured are %v, not %v", got, ir.Captures(b))
		}
	})
	if got := ir.Captures(arm); len(got) != 2 || got[0] != f.Body.Ops[0].Result() || got[1] != x {
		t.Errorf("captures %v", got)
	}
	ir.Replace(f.Body, map[*ir.Value]*ir.Value{x: f.Body.Ops[0].Result(), f.Body.Ops[0].Result(): y})
	if u := ir.Uses(f.Body); len(u[x]) != 0 || len(u[y]) != 5 {
		t.Errorf("%d and %d uses after replacing:\n%s", len(u[x]), len(u[y]), m)
	}
	if names := ir.Names(f); names[y] != "%y" || names[f.Body.Ops[1].Result()] != "%1" {
		t.Errorf("names %v", names)
	}
}

func TestCloneSubstitutes(t *testing.T) {
	m := parse(t, canonical)
	c := ir.NewCloner()
	c.Dims = map[string]types.Dim{"M": types.Lit(4)}
	g, err := c.Func(m.Func("row_sums"))
	if err != nil {
		t.Fatal(err)
	}
	if text := g.String(); strings.Contains(text, "M") || !strings.HasPrefix(text,
		"pub func @row_sums[N](%x: f32[4, N]) -> f32[4] {") {
		t.Errorf("got:\n%s", text)
	}
	if err := ir.Verify(&ir.Module{Funcs: []*ir.Func{g}}); err != nil {
		t.Error(err)
	}
	if err := ir.Verify(m); err != nil || m.String() != canonical {
		t.Errorf("the original has changed: %v", err)
	}
	c = ir.NewCloner()
	c.Dims = map[string]types.Dim{"M": types.Lit(1 << 62), "N": types.Lit(4)}
	if _, err := c.Func(m.Func("poly")); err == nil {
		t.Error("an overflow is not reported")
	}
}
