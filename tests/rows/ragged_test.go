package rows

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/tests/random"
	"healc/tests/ways"
)

// Reductions over several axes whose rows are no whole vectors, of every kind, in parts of a chunk and in many chunks
// (Note [Ragged rows] in codegen/llvm/reduce); and those over an axis in the middle, whose neighbours lie in order.

// raggedShapes have rows shorter than a vector, about as long as one, as 128 lanes and as a chunk, and any.
var raggedShapes = [][3]int64{{1, 1, 1}, {3, 2, 5}, {7, 3, 15}, {5, 1, 17}, {70, 2, 63}, {65, 2, 65}, {5, 3, 129},
	{33, 7, 129}, {3, 2, 127}, {3, 1, 4095}, {2, 2, 4097}, {130, 1, 37}, {2, 300, 33}}

var raggedTypes = []types.DType{types.F32, types.F64, types.I32, types.F16, types.F32, types.U8, types.I64}

func raggedSums() string {
	var b strings.Builder
	for i, s := range raggedShapes {
		for k := range 2 {
			t := raggedTypes[(i+k)%len(raggedTypes)]
			in := fmt.Sprintf("x: %s[%d, %d, %d]", t, s[0], s[1], s[2])
			fmt.Fprintf(&b, "pub fn sum_%s_%d(%s) -> %s[%d] = +/[axis=(0, 2)](x)\n", t, i, in, t, s[1])
			fmt.Fprintf(&b, "pub fn squares_%s_%d(%s) -> %s[%d] = +/[axis=(0, 2)](x .* x .- x)\n", t, i, in, t, s[1])
			fmt.Fprintf(&b, "pub fn prod_%s_%d(%s) -> %s[%d] = */[axis=(0, 2)](x)\n", t, i, in, t, s[1])
			fmt.Fprintf(&b, "pub fn max_%s_%d(%s) -> %s[%d] = max/[axis=(0, 2)](x)\n", t, i, in, t, s[1])
			fmt.Fprintf(&b, "pub fn columns_%s_%d(%s) -> %s[%d, %d] = +/[axis=1](x)\n", t, i, in, t, s[0], s[2])
		}
	}
	return b.String()
}

func TestRaggedRows(t *testing.T) {
	source := raggedSums()
	interp, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	for i, c := range []config{{"", 1, false}, {"haswell", 1, false}, {"x86-64", 2, false}} {
		if testing.Short() && i > 0 {
			break
		}
		target := codegen.Target{Kind: "cpu", CPU: c.cpu}
		var modules []*engine.Module
		for _, w := range ways.Thorough(i, 3) {
			for _, o := range w.Options(t, engine.Options{Threads: c.threads, Target: target}) {
				m, err := engine.Compile(source, o)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				modules = append(modules, m)
			}
		}
		for j, name := range interp.Names() {
			f, err := interp.Func(name)
			if err != nil {
				t.Fatal(err)
			}
			p := f.IR().Params()[0].Type
			shape := make([]int64, len(p.Shape))
			for k, d := range p.Shape {
				shape[k], _ = d.Const()
			}
			x := random.Data(rand.New(rand.NewPCG(uint64(i), uint64(j))), p.Elem, shape)
			want := outcome(t, interp, name, 1, x)
			for k, m := range modules {
				if d := random.Diff(want, outcome(t, m, name, 1, x)); d != "" {
					t.Errorf("%s of %v, %+v, way %d: %s", name, shape, c, k, d)
				}
			}
		}
	}
}
