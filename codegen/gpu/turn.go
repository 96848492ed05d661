package gpu

import (
	"fmt"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Turned operands on devices]: an element-wise kernel writes neighbours along its last axis; an operand that lies
// along another one, as in a transpose, would be read one element from each line of memory. So a block of 256 threads
// goes by tiles of 32 by 32: first neighbouring threads read neighbours along the operand's axis, and put them into
// shared memory; then they read that across and do the kernel's body, as neighbours along the last axis. A row of the
// shared tile is one element longer than it has to be, so that a warp finds both its rows and its columns in different
// banks.

const (
	turnTile    = 32
	turnThreads = 256
	turnLeast   = 16 // of both axes
	turnMost    = 4  // operands
)

// turnPlan is how a kernel with turned operands is done.
type turnPlan struct {
	loads []*kernel.Load // the turned ones
	axis  int            // along which they lie
}

// planTurn decides whether k has turned operands; nil is no.
func planTurn(k *kernel.Kernel) *turnPlan {
	n := len(k.Axes)
	if n < 2 || k.Buffers() < len(k.Params) {
		return nil
	}
	last := k.Axes[n-1]
	if _, ok := llvm.CanVectorise(k, last.Var, k.Body.Stmts); !ok {
		return nil
	}
	for _, p := range k.Params {
		if p.InPlace || p.Work {
			return nil
		}
	}
	coefs := func(at kernel.Access) (out []types.Dim, ok bool) {
		out = make([]types.Dim, n)
		for i := range out {
			out[i] = types.Lit(0)
		}
		for _, t := range at.Terms {
			i := slices.IndexFunc(k.Axes, func(a kernel.Axis) bool { return a.Var == t.Var })
			if i < 0 {
				return nil, false
			}
			sum, err := out[i].Add(t.Coef)
			if err != nil {
				return nil, false
			}
			out[i] = sum
		}
		return out, true
	}
	p := &turnPlan{axis: -1}
	for _, s := range k.Body.Stmts {
		switch s := s.(type) {
		case *kernel.Store:
			if c, ok := coefs(s.At); !ok || !c[n-1].IsConst(1) {
				return nil
			}
		case *kernel.Load:
			c, ok := coefs(s.At)
			if !ok || c[n-1].IsConst(0) || c[n-1].IsConst(1) || len(p.loads) == turnMost {
				continue
			}
			axis := slices.IndexFunc(c[:n-1], func(d types.Dim) bool { return d.IsConst(1) })
			if axis >= 0 && (p.axis < 0 || p.axis == axis) {
				p.axis = axis
				p.loads = append(p.loads, s)
			}
		}
	}
	if p.axis < 0 {
		return nil
	}
	for _, i := range []int{p.axis, n - 1} {
		if c, known := count(k.Axes[i : i+1]); known && c < turnLeast {
			return nil
		}
	}
	return p
}

// turned writes the entry of a kernel with turned operands.
func (m *module) turned(k *kernel.Kernel, p *turnPlan) abi.DeviceKernel {
	t := m.entry(k, "", turnThreads)
	n := len(k.Axes)
	down, across := k.Axes[p.axis], k.Axes[n-1]
	var batch []kernel.Axis
	var work []abi.Extent
	for i, a := range k.Axes[:n-1] {
		if i != p.axis {
			batch = append(batch, a)
			work = append(work, items(&kernel.Kernel{Axes: []kernel.Axis{a}})...)
		}
	}
	tiles := func(a kernel.Axis) value.Value {
		length := t.length(a)
		work = append(work, abi.Extent{Dim: a.Extent.Dim, Div: turnTile * max(a.Extent.Div, 1)})
		return t.quotient(t.Plus(length, ci(i64, turnTile-1)), turnTile)
	}
	tilesDown, tilesAcross := tiles(down), tiles(across)
	all := t.Times(tilesDown, tilesAcross)
	for _, a := range batch {
		all = t.Times(all, t.length(a))
	}
	memory := make([]value.Value, len(p.loads))
	for i, l := range p.loads {
		elem := storedType(llvm.RegisterType(k.Types[l.ID]))
		memory[i] = m.code.Shared(fmt.Sprintf("%s.turn%d", t.name, i), elem, turnTile*(turnTile+1))
	}
	tid := t.wide(t.register("tid.x"))
	near, far := t.Block().NewAnd(tid, ci(i64, turnTile-1)), t.Block().NewLShr(tid, ci(i64, 5))
	// elements are those of a tile that a thread does, with neighbouring threads along one axis: their places from the
	// begin of the tile and in shared memory.
	type element struct{ i, j, at value.Value }
	elements := func(alongDown bool) (out []element) {
		for r := range int64(turnTile * turnTile / turnThreads) {
			i, j := t.Plus(far, ci(i64, r*turnThreads/turnTile)), value.Value(near)
			if alongDown {
				i, j = j, i
			}
			out = append(out, element{i, j, t.Plus(t.Times(j, ci(i64, turnTile+1)), i)})
		}
		return out
	}
	// inside defines the axes for an element and reports whether there is one.
	inside := func(e element, beginDown, beginAcross value.Value) value.Value {
		x, y := t.Plus(beginDown, e.i), t.Plus(beginAcross, e.j)
		t.Define(down.Var, x)
		t.Define(across.Var, y)
		b := t.Block()
		return b.NewAnd(b.NewICmp(enum.IPredSLT, x, t.Extent(down.Extent)),
			b.NewICmp(enum.IPredSLT, y, t.Extent(across.Extent)))
	}
	t.Count(t.wide(t.register("ctaid.x")), all, t.wide(t.register("nctaid.x")), nil,
		func(i value.Value, _ []value.Value) []value.Value {
			x, rest := t.divide(i, tilesAcross)
			y, b := t.divide(rest, tilesDown)
			t.axesAt(batch, b)
			beginAcross := t.Plus(t.Times(x, ci(i64, turnTile)), ci(i64, across.Begin))
			beginDown := t.Plus(t.Times(y, ci(i64, turnTile)), ci(i64, down.Begin))
			var fetched [][]value.Value // all on their way before the first is waited for
			for _, e := range elements(true) {
				var nothing []value.Value
				for _, l := range p.loads {
					nothing = append(nothing, constant.NewZeroInitializer(llvm.RegisterType(k.Types[l.ID])))
				}
				fetched = append(fetched, t.choose(inside(e, beginDown, beginAcross), func() (out []value.Value) {
					for _, l := range p.loads {
						t.Statements(nil, l)
						out = append(out, t.Value(l.ID))
					}
					return out
				}, nothing))
			}
			for r, e := range elements(true) {
				for i, x := range fetched[r] {
					elem := storedType(x.Type())
					t.Block().NewStore(t.toStored(x, elem), t.Block().NewGetElementPtr(elem, memory[i], e.at))
				}
			}
			t.meet()
			for _, e := range elements(false) {
				t.when(inside(e, beginDown, beginAcross), func() {
					t.Statements(func(s kernel.Stmt) bool {
						l, ok := s.(*kernel.Load)
						i := slices.Index(p.loads, l)
						if !ok || i < 0 {
							return false
						}
						register := llvm.RegisterType(k.Types[l.ID])
						elem := storedType(register)
						x := t.Block().NewLoad(elem, t.Block().NewGetElementPtr(elem, memory[i], e.at))
						t.Define(l.ID, t.ofStored(x, register))
						return true
					}, k.Body.Stmts...)
				})
			}
			t.meet()
			return nil
		})
	t.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: t.name, Items: work, PerBlock: 1,
		Threads: turnThreads}}}
}

// storedType is the type of a register's value in shared memory.
func storedType(t lt.Type) lt.Type {
	if t.Equal(i1) {
		return i8
	}
	return t
}

// meet waits for all threads of the block.
func (t *thread) meet() { t.Block().NewCall(t.Intrinsic("llvm.nvvm.barrier0", lt.Void)) }
