package gpu

import (
	"fmt"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Transposed operands on devices]: an element-wise kernel writes neighbours along its last axis. An operand that
// is contiguous along another axis, as in a transpose, would be read one element from each line of memory. So a block
// of 256 threads does tiles of 32 by 32: first neighbouring threads read neighbours along the operand's axis and store
// them to shared memory; then neighbouring threads do the kernel's body for neighbours along the last axis, and read
// the tile across. A row of the shared tile has one element more than 32, so that both its rows and its columns lie in
// different banks.

const (
	transposeTile    = 32
	transposeThreads = 256
	// transposeMost is the most operands that go through shared memory.
	transposeMost = 4
)

// transposePlan is how a kernel with transposed operands is done.
type transposePlan struct {
	loads []*kernel.Load // the transposed ones
	axis  int            // along which they are contiguous
}

// planTranspose decides whether k has transposed operands; nil is no.
func planTranspose(k *kernel.Kernel, tune *profile.GPU) *transposePlan {
	n := len(k.Axes)
	if n < 2 || k.Buffers() < len(k.Params) {
		return nil
	}
	if _, ok := device.CanVectorise(k, k.Axes[n-1].Var, k.Body.Stmts); !ok {
		return nil
	}
	if slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.InPlace || p.Work }) {
		return nil
	}
	p := &transposePlan{axis: -1}
	for _, s := range k.Body.Stmts {
		switch s := s.(type) {
		case *kernel.Store:
			if c, ok := strides(k, s.At); !ok || !c[n-1].IsConst(1) {
				return nil
			}
		case *kernel.Load:
			c, ok := strides(k, s.At)
			if !ok || c[n-1].IsConst(0) || c[n-1].IsConst(1) || len(p.loads) == transposeMost {
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
		if c, known := count(k.Axes[i : i+1]); known && c < int64(tune.TransposeLeast) {
			return nil
		}
	}
	return p
}

// strides are the coefficients of an access for each axis of k; not ok is an access with other variables.
func strides(k *kernel.Kernel, at kernel.Access) (out []types.Dim, ok bool) {
	out = make([]types.Dim, len(k.Axes))
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

// transposition is the code of a thread of a kernel with transposed operands.
type transposition struct {
	*thread
	plan         *transposePlan
	down, across kernel.Axis   // of a tile: the operands' axis and the last one
	memory       []value.Value // the shared tiles of the operands
	near, far    value.Value   // the thread's place in a tile: neighbouring threads are neighbours in near

	beginDown, beginAcross value.Value // of the tile
}

// tileElement is an element of a tile that a thread does: its offsets from the begin of the tile, down and across, and
// its place in shared memory.
type tileElement struct{ i, j, at value.Value }

// transpose writes the entry of a kernel with transposed operands.
func (m *module) transpose(k *kernel.Kernel, p *transposePlan) abi.DeviceKernel {
	n := len(k.Axes)
	t := &transposition{thread: m.entry(k, "", transposeThreads), plan: p, down: k.Axes[p.axis], across: k.Axes[n-1]}
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
		work = append(work, abi.Extent{Dim: a.Extent.Dim, Div: transposeTile * max(a.Extent.Div, 1)})
		return t.quotient(t.Plus(length, ci(i64, transposeTile-1)), transposeTile)
	}
	tilesDown, tilesAcross := tiles(t.down), tiles(t.across)
	all := t.Times(tilesDown, tilesAcross)
	for _, a := range batch {
		all = t.Times(all, t.length(a))
	}
	for i, l := range p.loads {
		elem := storedType(device.RegisterType(k.Types[l.ID]))
		name := fmt.Sprintf("%s.turn%d", t.name, i)
		t.memory = append(t.memory, m.code.Shared(name, elem, transposeTile*(transposeTile+1)))
	}
	tid := t.zext(t.register("tid.x"))
	t.near, t.far = t.Block().NewAnd(tid, ci(i64, transposeTile-1)), t.Block().NewLShr(tid, ci(i64, 5))
	t.Count(t.zext(t.register("ctaid.x")), all, t.zext(t.register("nctaid.x")), nil,
		func(i value.Value, _ []value.Value) []value.Value {
			x, rest := t.divide(i, tilesAcross)
			y, b := t.divide(rest, tilesDown)
			t.setAxesOf(batch, b)
			t.beginAcross = t.Plus(t.Times(x, ci(i64, transposeTile)), ci(i64, t.across.Begin))
			t.beginDown = t.Plus(t.Times(y, ci(i64, transposeTile)), ci(i64, t.down.Begin))
			t.readTile()
			t.barrier()
			t.writeTile()
			t.barrier()
			return nil
		})
	t.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: t.name, Items: work, PerBlock: 1,
		Threads: transposeThreads}}}
}

// elements are the elements of a tile that a thread does, with neighbouring threads along one of the axes.
func (t *transposition) elements(alongDown bool) (out []tileElement) {
	for r := range int64(transposeTile * transposeTile / transposeThreads) {
		i, j := t.Plus(t.far, ci(i64, r*transposeThreads/transposeTile)), t.near
		if alongDown {
			i, j = j, i
		}
		out = append(out, tileElement{i, j, t.Plus(t.Times(j, ci(i64, transposeTile+1)), i)})
	}
	return out
}

// inside defines the axes for an element, and reports whether it is one of the kernel.
func (t *transposition) inside(e tileElement) value.Value {
	x, y := t.Plus(t.beginDown, e.i), t.Plus(t.beginAcross, e.j)
	t.Define(t.down.Var, x)
	t.Define(t.across.Var, y)
	b := t.Block()
	return b.NewAnd(b.NewICmp(enum.IPredSLT, x, t.Extent(t.down.Extent)),
		b.NewICmp(enum.IPredSLT, y, t.Extent(t.across.Extent)))
}

// readTile copies the operands' tile to shared memory. All loads are issued before the first of them is waited for.
func (t *transposition) readTile() {
	var loaded [][]value.Value
	for _, e := range t.elements(true) {
		var nothing []value.Value
		for _, l := range t.plan.loads {
			nothing = append(nothing, constant.NewZeroInitializer(device.RegisterType(t.k.Types[l.ID])))
		}
		loaded = append(loaded, t.ifElse(t.inside(e), func() (out []value.Value) {
			for _, l := range t.plan.loads {
				t.Statements(nil, l)
				out = append(out, t.Value(l.ID))
			}
			return out
		}, nothing))
	}
	for r, e := range t.elements(true) {
		for i, x := range loaded[r] {
			elem := storedType(x.Type())
			t.Block().NewStore(t.toStored(x, elem), t.Block().NewGetElementPtr(elem, t.memory[i], e.at))
		}
	}
}

// writeTile does the kernel's body for a tile, with the operands from shared memory.
func (t *transposition) writeTile() {
	for _, e := range t.elements(false) {
		t.when(t.inside(e), func() {
			t.Statements(func(s kernel.Stmt) bool {
				l, ok := s.(*kernel.Load)
				i := slices.Index(t.plan.loads, l)
				if !ok || i < 0 {
					return false
				}
				register := device.RegisterType(t.k.Types[l.ID])
				elem := storedType(register)
				x := t.Block().NewLoad(elem, t.Block().NewGetElementPtr(elem, t.memory[i], e.at))
				t.Define(l.ID, t.ofStored(x, register))
				return true
			}, t.k.Body.Stmts...)
		})
	}
}

// storedType is the type of a register's value in shared memory.
func storedType(t lt.Type) lt.Type {
	if t.Equal(i1) {
		return i8
	}
	return t
}

// barrier waits for all threads of the block.
func (t *thread) barrier() { t.Block().NewCall(t.Intrinsic("llvm.nvvm.barrier0", lt.Void)) }
