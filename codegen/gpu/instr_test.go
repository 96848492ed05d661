package gpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/gpu/ptxsim"
	"healc/codegen/gpu/ptxsim/machine"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// hard draws elements: the ends of the range, special floats, small numbers, any bits.
func hard(r *rand.Rand, d types.DType) uint64 {
	width := uint64(1)<<(d.Bits()-1)<<1 - 1
	switch {
	case d == types.Bool:
		return r.Uint64() & 1
	case d.IsFloat():
		special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1.5, 2.5, -2.5, math.Inf(1), math.Inf(-1), math.NaN(),
			65504, 65520, 1e-7, 5e-324, 1e-45, 3.4028235e38, 1e308, 2147483647, 2147483648, -2147483649, 9.3e18, 1.9e19,
			255.5, -0.9}
		if r.IntN(3) > 0 {
			return scalar.FloatBits(d, special[r.IntN(len(special))])
		}
		return r.Uint64() & width
	}
	edges := []uint64{0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, width, width - 1, width >> 1, width>>1 + 1, 1 << 24, 1<<24 +
		1, 1<<53 + 1, 1<<54 + 2}
	if r.IntN(3) > 0 {
		return edges[r.IntN(len(edges))] & width
	}
	return r.Uint64() & width
}

// TestInstructionsMatchTheEvaluator runs every scalar instruction on every type, in vectors and one by one, for the
// least and the latest processor, and compares with the evaluator, bit for bit.
func TestInstructionsMatchTheEvaluator(t *testing.T) {
	const n = 163 // pieces of 16, and what is left over
	m := &kernel.Module{Name: "instr", Plan: &abi.Program{}}
	var cases []scalar.Instr
	var operands [][]types.DType
	for op := scalar.Const + 2; op < scalar.Check; op++ {
		for _, d := range types.DTypes {
			for _, from := range types.DTypes {
				args := make([]types.DType, op.Info().Arity)
				in := scalar.Instr{Op: op, Type: d, Args: [3]scalar.Ref{scalar.None, scalar.None, scalar.None}}
				for i := range args {
					args[i], in.Args[i] = from, scalar.Ref(i)
				}
				if op == scalar.Select {
					args[0] = types.Bool
				}
				if scalar.VerifyInstr(in, func(r scalar.Ref) types.DType { return args[r] }) == nil {
					cases, operands = append(cases, in), append(operands, args)
				}
			}
		}
	}
	if len(cases) < 400 {
		t.Fatalf("only %d cases", len(cases))
	}
	at := kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: 0}}}
	shape := []abi.Extent{{Dim: types.Lit(n)}}
	for i, in := range cases {
		k := &kernel.Kernel{Name: fmt.Sprintf("k%d", i), Axes: []kernel.Axis{{Var: 0, Extent: shape[0]}},
			Types: []types.DType{types.I64}, Body: &kernel.Block{}}
		for j, d := range operands[i] {
			in.Args[j] = kernel.Ref(len(k.Types))
			k.Types = append(k.Types, d)
			k.Params = append(k.Params, kernel.Param{Name: fmt.Sprintf("x%d", j), DType: d, Shape: shape})
			k.Body.Stmts = append(k.Body.Stmts, &kernel.Load{ID: in.Args[j], Param: j, At: at})
		}
		id := kernel.Ref(len(k.Types))
		k.Types = append(k.Types, in.Type)
		k.Params = append(k.Params, kernel.Param{Name: "y", DType: in.Type, Out: true, Shape: shape})
		k.Body.Stmts = append(k.Body.Stmts, &kernel.Let{ID: id, In: in},
			&kernel.Store{Param: len(operands[i]), At: at, Val: id})
		m.Kernels = append(m.Kernels, k)
	}
	if err := kernel.Verify(m); err != nil {
		t.Fatal(err)
	}
	archs := []string{"sm_70", "sm_90"}
	if testing.Short() {
		archs = archs[:1]
	}
	for _, arch := range archs {
		ptx, err := gpu.Compile(m, codegen.Target{Kind: "gpu", CPU: arch}, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		mod, err := ptxsim.Parse("instr.ptx", string(ptx))
		if err != nil {
			t.Fatal(err)
		}
		dev := machine.NewDevice(machine.Options{})
		r := rand.New(rand.NewPCG(1, 1))
		for i, in := range cases {
			cols := make([][]uint64, len(operands[i]))
			var params []byte
			for j, d := range append(append([]types.DType{}, operands[i]...), in.Type) {
				raw := make([]byte, n*d.Bytes())
				addr, err := dev.Alloc(int64(len(raw)))
				if err != nil {
					t.Fatal(err)
				}
				params = binary.LittleEndian.AppendUint64(params, addr)
				if j == len(cols) {
					break
				}
				for x := range n {
					bits := hard(r, d)
					cols[j] = append(cols[j], bits)
					for b := range d.Bytes() {
						raw[x*d.Bytes()+b] = byte(bits >> (8 * b))
					}
				}
				if err := dev.Write(addr, raw); err != nil {
					t.Fatal(err)
				}
			}
			params = append(params, make([]byte, 16)...)
			l := m.Plan.Device.Kernels[fmt.Sprintf("k%d", i)].Launches[0]
			if err := dev.Launch(mod, l.Entry, [3]int{1, 1, 1}, [3]int{l.Threads, 1, 1}, 0, params); err != nil {
				t.Errorf("%s: %s %s of %v: %v", arch, in.Op, in.Type, operands[i], err)
				continue
			}
			size := in.Type.Bytes()
			raw := make([]byte, n*size)
			if err := dev.Read(binary.LittleEndian.Uint64(params[8*len(cols):]), raw); err != nil {
				t.Fatal(err)
			}
			for x := range n {
				args := make([]uint64, len(cols))
				for j := range cols {
					args[j] = cols[j][x]
				}
				var w [8]byte
				copy(w[:], raw[x*size:(x+1)*size])
				got := binary.LittleEndian.Uint64(w[:])
				want := scalar.EvalInstr(in.Op, in.Type, operands[i][len(cols)-1], args...)
				if in.Op == scalar.Bitcast && isNaN(operands[i][0], args[0]) {
					continue // which NaN it is nobody promises
				}
				if got != want && !(isNaN(in.Type, got) && isNaN(in.Type, want)) {
					t.Errorf("%s: %s %s of %v %#x: it gives %#x, the evaluator %#x", arch, in.Op, in.Type, operands[i],
						args, got, want)
					break
				}
			}
		}
	}
}
