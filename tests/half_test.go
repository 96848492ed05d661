package tests

import (
	"context"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/ways"
)

// TestHalf: every element-wise operation on f16 and bf16 is the one on f32, its result rounded once. Operations of one
// operand get all 2^16 values, the others as many random ones; the f32 side is the scalar program of the table.
func TestHalf(t *testing.T) {
	targets := []engine.Options{{Backend: heal.Interp}, {Backend: heal.CPU, Threads: 1}}
	if goruntime.GOARCH == "amd64" && !testing.Short() {
		for _, cpu := range []string{"x86-64", "x86-64-v3"} {
			targets = append(targets, engine.Options{Backend: heal.CPU, Threads: 1, Target: codegen.Target{CPU: cpu}})
		}
	}
	for _, half := range []types.DType{types.F16, types.BF16} {
		m, cases := halfModule(half)
		if len(cases) < 40 {
			t.Fatalf("only %d operations take %s", len(cases), half)
		}
		for i, opts := range targets {
			how := ways.Thorough(i, 2)
			if opts.Backend == heal.Interp {
				how = []ways.Way{ways.Full}
			}
			for _, w := range how {
				for _, o := range w.Options(t, opts) {
					code, err := engine.CompileIR(m, o)
					if err != nil {
						t.Fatal(err)
					}
					for _, c := range cases {
						c.check(t, code, half, o, w)
					}
					code.Close()
				}
			}
		}
	}
}

const halfInputs = 1 << 16

// halfCase is an operation with operands for it and its results.
type halfCase struct {
	name   string
	in     [][]uint64 // bits of the half type, one list an operand
	want   []uint64
	result types.DType
}

// halfModule has a function for each operation that takes operands of a half type alone, named after it.
func halfModule(half types.DType) (*ir.Module, []halfCase) {
	m := &ir.Module{Name: "half"}
	var cases []halfCase
	for _, d := range ir.Ops() {
		if d.Class != ir.Pointwise || d.Scalar == nil || len(d.Attrs) > 0 {
			continue
		}
		shape := types.Shape{types.Lit(halfInputs)}
		f, narrow := halfFunc(d, types.Tensor{Elem: half, Shape: shape})
		_, wide := halfFunc(d, types.Scalar(types.F32))
		if narrow == nil || wide == nil {
			continue
		}
		m.Funcs = append(m.Funcs, f)

		params := make([]types.DType, d.Arity)
		for i := range params {
			params[i] = types.F32
		}
		r, refs := scalar.NewRecorder(params...)
		r.Func.Results = []scalar.Ref{d.Scalar(scalar.Emitter{Sink: r}, wide, refs)}
		c := halfCase{name: d.Name, in: halfOperands(d.Arity), result: narrow.Results[0].Type.Elem}
		program := scalar.Compile(&r.Func)
		args := make([][]uint64, d.Arity)
		for k := range args {
			for _, x := range c.in[k] {
				args[k] = append(args[k], scalar.EvalInstr(scalar.Cast, types.F32, half, x))
			}
		}
		c.want = make([]uint64, halfInputs)
		if err := program.Run(args, [][]uint64{c.want}, halfInputs); err != nil {
			panic(err)
		}
		for i, x := range c.want {
			if c.result == half {
				c.want[i] = scalar.EvalInstr(scalar.Cast, half, types.F32, x)
			}
		}
		cases = append(cases, c)
	}
	return m, cases
}

// halfFunc is a function that applies d to its parameters, all of type t; the operation is nil where d does not
// take them.
func halfFunc(d *ir.OpDef, t types.Tensor) (*ir.Func, *ir.Op) {
	f := &ir.Func{Name: d.Name, Public: true, Body: &ir.Block{}}
	b := &ir.Builder{Block: f.Body}
	args, kinds := make([]*ir.Value, d.Arity), make([]types.Tensor, d.Arity)
	for i := range args {
		kinds[i] = t
		args[i] = f.Body.Param(string(rune('x'+i)), t, b.Span)
	}
	if _, err := d.Infer(kinds, d.MakeAttrs(ir.A{}), nil); err != nil {
		return nil, nil
	}
	op := b.EmitOp(d, ir.A{}, args, nil)
	f.Body.Yields = op.Results
	f.Results = []types.Tensor{op.Results[0].Type}
	return f, op
}

// halfOperands are all values for one operand, and random ones for more; every second is of an exponent near that
// of the other operand.
func halfOperands(arity int) [][]uint64 {
	r := rand.New(rand.NewPCG(16, uint64(arity)))
	in := make([][]uint64, arity)
	for k := range in {
		in[k] = make([]uint64, halfInputs)
		for i := range in[k] {
			switch {
			case arity == 1:
				in[k][i] = uint64(i)
			case k > 0 && i%2 == 0:
				in[k][i] = uint64(uint16(in[0][i]) + uint16(r.IntN(1<<13)) - 1<<12)
			default:
				in[k][i] = r.Uint64() & 0xffff
			}
		}
	}
	return in
}

func (c halfCase) check(t *testing.T, code *engine.Module, half types.DType, opts engine.Options, w ways.Way) {
	f, err := code.Func(c.name)
	if err != nil {
		t.Fatal(err)
	}
	var args []*tensor.Tensor
	for _, bits := range c.in {
		x, err := tensor.FromBits(half, []int64{halfInputs}, bits)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		args = append(args, x)
	}
	out, err := f.Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s %s: %v", half, c.name, err)
	}
	defer out.Close()
	for i, got := range out.Bits() {
		if got == c.want[i] || c.result == half && isNaN(half, got) && isNaN(half, c.want[i]) {
			continue
		}
		var x []string
		for k := range c.in {
			x = append(x, scalar.FormatBits(half, c.in[k][i]))
		}
		t.Errorf("%s %s, %s: %s%v = %s, want %s", opts.Backend, half, w, c.name, x, scalar.FormatBits(c.result, got),
			scalar.FormatBits(c.result, c.want[i]))
		return
	}
}

func isNaN(d types.DType, bits uint64) bool {
	limit := map[types.DType]uint64{types.F16: 0x7c00, types.BF16: 0x7f80}[d]
	return bits&0x7fff > limit
}
