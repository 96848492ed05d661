package gpu

import (
	"slices"

	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Element-wise kernels]: a kernel without loops computes each element by itself. A thread takes a vector of
// neighbours along the last axis, 16 bytes of the widest buffer, which it loads and stores at once. A check, such as
// that of the index of a gather, is one of the whole vector: where it fails, the thread leaves the number of the
// vector's first element, and the last launch repeats the vector's elements one by one to find the first that fails.
// Before that, axes whose elements are contiguous in all buffers are collapsed, so that most such kernels go through
// memory from one end to the other without a division.
//
// So is a row that is one parallel loop behind scalars without loops, as the last kernel of a softmax of long rows. The
// loop's axis becomes the last of the kernel's, and every thread computes the scalars of its row, which a group would
// compute once: that is for so few rows that a group each leaves the device idle.

// elementwisePlan is how an element-wise kernel is done.
type elementwisePlan struct {
	whole     *kernel.Kernel // with all of its axes
	k         *kernel.Kernel // with its axes collapsed
	invariant []kernel.Stmt  // statements that are the same for all elements
	width     int            // of a thread's vector along the last axis
	rows      *kernel.Axis   // the axis of the loop of a row that was opened; nil for none
	part      string         // of the entry's name
}

// batch is how many iterations of the kernel a failing check stands for: the first of so many, from its number on.
func (p *elementwisePlan) batch() int {
	if p.rows != nil {
		return 1
	}
	return p.width
}

// planElementwise decides whether k is element-wise; nil is no.
func planElementwise(k *kernel.Kernel, tune *profile.GPU) *elementwisePlan {
	if k.Buffers() < len(k.Params) {
		return nil
	}
	k, rows := openRows(k, tune)
	if len(k.Axes) == 0 {
		return nil
	}
	last := k.Axes[len(k.Axes)-1]
	before, body := device.Invariant(k)
	instrs, ok := device.CanVectoriseChecked(k, last.Var, body.Stmts)
	if !ok {
		return nil
	}
	rest := *k
	rest.Body = body
	p := &elementwisePlan{whole: k, k: collapseAxes(&rest), invariant: before, rows: rows}
	bytes := 1
	for _, b := range k.Params {
		bytes = max(bytes, b.DType.Bytes())
	}
	last = p.k.Axes[len(p.k.Axes)-1]
	n, known := count(p.k.Axes[len(p.k.Axes)-1:])
	for p.width = abi.DeviceAlign / bytes; p.width > 1; p.width /= 2 {
		whole := len(p.k.Axes) == 1 || known && n%int64(p.width) == 0
		if whole && last.Begin%int64(p.width) == 0 && p.width*instrs <= tune.VectorInstrs {
			break
		}
	}
	return p
}

// openRows returns k with the axis of its loop as the last one, and that axis, where k is a few long rows, each of them
// one parallel loop behind loads and scalars without checks; k itself otherwise. The number of a failing check is that
// of its row.
func openRows(k *kernel.Kernel, tune *profile.GPU) (opened *kernel.Kernel, axis *kernel.Axis) {
	if len(k.Body.Stmts) == 0 {
		return k, nil
	}
	end := len(k.Body.Stmts) - 1
	before := k.Body.Stmts[:end]
	loop, ok := k.Body.Stmts[end].(*kernel.Loop)
	if !ok || !loop.Parallel || loop.Axis.Extent.Div > 1 || loop.Axis.Begin > 0 ||
		checks(&kernel.Block{Stmts: before}) {
		return k, nil
	}
	rows, known := count(k.Axes)
	n, literal := count([]kernel.Axis{loop.Axis})
	if !known || rows >= int64(tune.BusyGroups) || literal && n <= int64(tune.WarpElements) {
		return k, nil
	}
	for _, s := range before {
		switch s := s.(type) {
		case *kernel.Let, *kernel.DimValue:
		case *kernel.Load:
			if k.Params[s.Param].Out { // another thread may have stored it already
				return k, nil
			}
		default:
			return k, nil
		}
	}
	out := *k
	out.Axes = append(slices.Clone(k.Axes), loop.Axis)
	out.Body = &kernel.Block{Stmts: append(slices.Clone(before), loop.Body.Stmts...)}
	return &out, &loop.Axis
}

// elementwise writes the entry of an element-wise kernel.
func (m *module) elementwise(p *elementwisePlan) abi.DeviceKernel {
	t := m.entry(p.k, p.part, m.threads())
	size := int64(t.size)
	number := func(element value.Value) value.Value {
		if p.rows != nil {
			_, element = t.divide(element, t.length(*p.rows))
		}
		return element
	}
	t.failAt(ci(i64, 0)) // an invariant check that fails does so in the first iteration
	t.Statements(nil, p.invariant...)
	axes, w := p.k.Axes, int64(p.width)
	last := axes[len(axes)-1]
	length := t.length(last)
	vectors := length // of the last axis
	if w > 1 {
		vectors = t.quotient(length, w)
	}
	all := vectors
	for _, a := range axes[:len(axes)-1] {
		all = t.Times(all, t.length(a))
	}
	first := t.globalThread()
	step := t.Block().NewMul(t.zext(t.register("nctaid.x")), ci(i64, size))
	t.Count(first, all, step, nil, func(i value.Value, _ []value.Value) []value.Value {
		x := i
		if len(axes) > 1 {
			var outer value.Value
			t.splits = true
			x, outer = t.divide(i, vectors)
			t.setAxesOf(axes[:len(axes)-1], outer)
			t.splits = false
		}
		x = t.Plus(t.Times(x, ci(i64, w)), ci(i64, last.Begin))
		t.failAt(number(t.Times(i, ci(i64, w)))) // every row is a whole number of vectors
		if w > 1 {
			t.Vector(p.width, last.Var, x, nil, p.k.Body.Stmts, scalar.None)
			return nil
		}
		t.Define(last.Var, x)
		t.Statements(nil, p.k.Body.Stmts...)
		return nil
	})
	if n, known := constantInt(length); w > 1 && !(known && n%w == 0) {
		done := t.Plus(t.Times(vectors, ci(i64, w)), ci(i64, last.Begin))
		end := t.Plus(length, ci(i64, last.Begin))
		// Every grid has more threads than there are elements left.
		t.Count(t.Plus(done, first), end, ci(i64, size), nil, func(x value.Value, _ []value.Value) []value.Value {
			t.failAt(number(t.Minus(x, ci(i64, last.Begin))))
			t.Define(last.Var, x)
			t.Statements(nil, p.k.Body.Stmts...)
			return nil
		})
	}
	t.Finish()
	return abi.DeviceKernel{Launches: []abi.DeviceLaunch{{Entry: t.name, Items: items(p.whole), PerBlock: size * w,
		Threads: t.size}}}
}

// quotient is n / d for a positive d.
func (t *thread) quotient(n value.Value, d int64) value.Value {
	if c, ok := constantInt(n); ok {
		return ci(i64, c/d)
	}
	return t.Block().NewSDiv(n, ci(i64, d))
}

// collapseAxes collapses neighbouring axes into one where all buffers are contiguous over both and nothing uses the
// value of one of them. The order of the iterations stays.
func collapseAxes(k *kernel.Kernel) *kernel.Kernel {
	for i := len(k.Axes) - 2; i >= 0; i-- {
		if joined := collapsePair(k, i); joined != nil {
			k = joined
		}
	}
	return k
}

// collapsePair collapses axes i and i+1, or returns nil.
func collapsePair(k *kernel.Kernel, i int) *kernel.Kernel {
	a, b := k.Axes[i], k.Axes[i+1]
	if a.Begin != 0 || b.Begin != 0 || a.Extent.Div > 1 || b.Extent.Div > 1 {
		return nil
	}
	extent, err := a.Extent.Dim.Mul(b.Extent.Dim)
	if err != nil {
		return nil
	}
	ok := true
	join := func(at kernel.Access) kernel.Access {
		out := kernel.Access{Offset: at.Offset}
		outer, inner := types.Lit(0), types.Lit(0)
		for _, t := range at.Terms {
			switch t.Var {
			case a.Var:
				sum, err := outer.Add(t.Coef)
				outer, ok = sum, ok && err == nil
			case b.Var:
				sum, err := inner.Add(t.Coef)
				inner, ok = sum, ok && err == nil
			default:
				out.Terms = append(out.Terms, t)
			}
		}
		far, err := inner.Mul(b.Extent.Dim)
		ok = ok && err == nil && far.Equal(outer)
		if !inner.IsConst(0) {
			out.Terms = append(out.Terms, kernel.Term{Coef: inner, Var: b.Var})
		}
		return out
	}
	single := func(refs ...kernel.Ref) {
		for _, r := range refs {
			ok = ok && r != a.Var && r != b.Var
		}
	}
	var block func(b *kernel.Block) *kernel.Block
	block = func(b *kernel.Block) *kernel.Block {
		out := &kernel.Block{}
		for _, s := range b.Stmts {
			switch s := s.(type) {
			case *kernel.Load:
				c := *s
				c.At = join(s.At)
				out.Stmts = append(out.Stmts, &c)
				continue
			case *kernel.Store:
				c := *s
				c.At = join(s.At)
				single(s.Val)
				out.Stmts = append(out.Stmts, &c)
				continue
			case *kernel.Let:
				single(s.In.Args[:]...)
			case *kernel.DimValue:
			case *kernel.If:
				c := *s
				single(s.ThenVals...)
				single(s.ElseVals...)
				c.Then, c.Else = block(s.Then), block(s.Else)
				out.Stmts = append(out.Stmts, &c)
				continue
			default:
				ok = false
			}
			out.Stmts = append(out.Stmts, s)
		}
		return out
	}
	c := *k
	c.Body = block(k.Body)
	if !ok {
		return nil
	}
	c.Axes = append(append([]kernel.Axis{}, k.Axes[:i]...), kernel.Axis{Var: b.Var, Extent: abi.Extent{Dim: extent}})
	c.Axes = append(c.Axes, k.Axes[i+2:]...)
	return &c
}
