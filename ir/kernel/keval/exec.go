package keval

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// place names an element of a parameter.
type place struct {
	param  int
	offset int64
}

// exec is the execution of a kernel, or of a scalar function.
type exec struct {
	r      *run
	bufs   []*memory
	params []kernel.Param
	types  []types.DType
	vals   []uint64
	fresh  map[place]bool // what this kernel has written
}

// kernel runs all iterations: the later half of the outermost axis first, because they are independent.
func (e *exec) kernel(k *kernel.Kernel, outer int64) {
	e.vals = make([]uint64, len(k.Types))
	iteration := func() {
		for _, m := range e.bufs[k.Buffers():] {
			m.forget()
		}
		e.block(k.Body)
	}
	if len(k.Axes) == 0 {
		iteration()
		return
	}
	if n := e.r.extent(k.Axes[0].Extent); n != outer {
		fail("kernel %s has %d outer iterations and is launched over %d", k.Name, n, outer)
	}
	half := outer / 2
	for _, part := range [][2]int64{{half, outer}, {0, half}} {
		for i := part[0]; i < part[1]; i++ {
			e.vals[k.Axes[0].Var] = uint64(i)
			e.axes(k.Axes[1:], iteration)
		}
	}
}

func (e *exec) axes(axes []kernel.Axis, f func()) {
	if len(axes) == 0 {
		f()
		return
	}
	for i := axes[0].Begin; i < e.r.extent(axes[0].Extent); i++ {
		e.vals[axes[0].Var] = uint64(i)
		e.axes(axes[1:], f)
	}
}

func (e *exec) block(b *kernel.Block) {
	for _, st := range b.Stmts {
		e.stmt(st)
	}
}

func (e *exec) offset(a kernel.Access) int64 {
	o := e.r.dim(a.Offset)
	for _, t := range a.Terms {
		o += e.r.dim(t.Coef) * int64(e.vals[t.Var])
	}
	return o
}

func (e *exec) copy(to, from []kernel.Ref) {
	vals := make([]uint64, len(from))
	for i, r := range from {
		vals[i] = e.vals[r]
	}
	for i, r := range to {
		e.vals[r] = vals[i]
	}
}

func (e *exec) stmt(st kernel.Stmt) {
	switch st := st.(type) {
	case *kernel.Let:
		e.let(st)
	case *kernel.DimValue:
		e.vals[st.ID] = uint64(e.r.dim(st.Dim))
	case *kernel.Load:
		e.vals[st.ID] = e.bufs[st.Param].get(e.offset(st.At))
	case *kernel.Store:
		o := e.offset(st.At)
		if at := (place{st.Param, o}); e.fresh[at] && !e.params[st.Param].Work && !e.params[st.Param].Local {
			fail("element %d is written twice", o)
		} else {
			e.fresh[at] = true
		}
		e.bufs[st.Param].set(o, e.vals[st.Val])
	case *kernel.Loop:
		e.copy(st.Vars, st.Init)
		e.axes([]kernel.Axis{st.Axis}, func() {
			e.block(st.Body)
			e.copy(st.Vars, st.Next)
		})
		e.copy(st.IDs, st.Vars)
	case *kernel.Iterate:
		e.iterate(st)
	case *kernel.Reduce:
		e.vals[st.ID] = e.reduce(st)
	case *kernel.If:
		arm, vals := st.Then, st.ThenVals
		if e.vals[st.Cond] == 0 {
			arm, vals = st.Else, st.ElseVals
		}
		e.block(arm)
		e.copy(st.IDs, vals)
	case *kernel.Call:
		e.call(st)
	case *kernel.Transform:
		e.transform(st)
	case *kernel.Sort:
		e.sort(st)
	default:
		fail("unknown statement %T", st)
	}
}

func (e *exec) iterate(st *kernel.Iterate) {
	n := int64(e.vals[st.Count])
	e.copy(st.Vars, st.Init)
	for i := int64(0); i < n; i++ {
		e.vals[st.Var] = uint64(i)
		e.block(st.Body)
		ends := st.Until != scalar.None && e.vals[st.Until] != 0 // Until may be one of Vars
		e.copy(st.Vars, st.Next)
		if ends {
			break
		}
	}
	e.copy(st.IDs, st.Vars)
}

func (e *exec) let(st *kernel.Let) {
	in := st.In
	switch in.Op {
	case scalar.Const:
		e.vals[st.ID] = in.Imm
		return
	case scalar.Check:
		if e.vals[in.Args[0]] != 0 {
			return
		}
		f := &Failure{Site: e.r.m.Sites[st.Site].With(e.r.dims)}
		for i, a := range in.Args[1:] {
			if a != scalar.None {
				f.Info[i] = int64(e.vals[a])
			}
		}
		panic(f)
	}
	var args []uint64
	src := in.Type
	for i, a := range in.Args {
		if a != scalar.None {
			args = append(args, e.vals[a])
			if i < 2 {
				src = e.types[a]
			}
		}
	}
	e.vals[st.ID] = scalar.EvalInstr(in.Op, in.Type, src, args...)
}

func (e *exec) call(st *kernel.Call) {
	f := e.r.funcs[st.Func]
	if f == nil {
		fail("there is no function %s", st.Func)
	}
	if e.r.nested >= abi.MaxCallDepth {
		panic(&Failure{Site: e.r.m.Sites[f.Site]})
	}
	e.r.nested++
	in := &exec{r: e.r, types: f.Types, vals: make([]uint64, len(f.Types))}
	for i, a := range st.Args {
		in.vals[i] = e.vals[a]
	}
	in.block(f.Body)
	for i, r := range f.Vals {
		e.vals[st.IDs[i]] = in.vals[r]
	}
	e.r.nested--
}

// reduce evaluates all elements, and then combines them by language.md section 9.
func (e *exec) reduce(st *kernel.Reduce) uint64 {
	var x []uint64
	begin, end, i := int64(0), int64(1)<<62, int64(0)
	if st.Chunk != scalar.None {
		begin = int64(e.vals[st.Chunk]) * st.Order.Chunk()
		end = begin + st.Order.Chunk()
	}
	e.axes(st.Axes, func() {
		if i++; i > begin && i <= end {
			e.block(st.Body)
			x = append(x, e.vals[st.Val])
		}
	})
	if st.Chunk != scalar.None && len(x) == 0 {
		fail("chunk %d of %d elements is empty", e.vals[st.Chunk], i)
	}
	if st.Kind == ir.ReduceArgMax || st.Kind == ir.ReduceArgMin {
		return uint64(begin) + e.position(st, x)
	}
	if len(x) == 0 {
		id, ok := st.Kind.Identity(st.Type)
		if !ok {
			fail("%s of nothing", st.Kind)
		}
		return id
	}
	combine := func(a, b uint64) uint64 {
		op := map[ir.ReduceKind]scalar.Op{
			ir.ReduceSum: scalar.Add, ir.ReduceProd: scalar.Mul, ir.ReduceMax: scalar.Max,
			ir.ReduceMin: scalar.Min, ir.ReduceAnd: scalar.And, ir.ReduceOr: scalar.Or,
		}[st.Kind]
		return scalar.EvalInstr(op, st.Type, st.Type, a, b)
	}
	switch st.Order {
	case kernel.Lanes:
		return byLanes(x, combine)
	case kernel.Columns:
		var sums []uint64
		for ; len(x) > 0; x = x[min(len(x), 256):] {
			sums = append(sums, leftFold(x[:min(len(x), 256)], combine))
		}
		return byLanes(sums, combine)
	}
	return leftFold(x, combine)
}

func leftFold(x []uint64, combine func(a, b uint64) uint64) uint64 {
	sum := x[0]
	for _, v := range x[1:] {
		sum = combine(sum, v)
	}
	return sum
}

// byLanes cuts x into chunks of 4096; in each, 128 lanes fold every 128th element, and then the lanes fold in
// halves. The results are reduced in the same way until one is left.
func byLanes(x []uint64, combine func(a, b uint64) uint64) uint64 {
	for len(x) > 1 {
		var sums []uint64
		for ; len(x) > 0; x = x[min(len(x), 4096):] {
			chunk := x[:min(len(x), 4096)]
			lanes := append([]uint64{}, chunk[:min(len(chunk), kernel.NumLanes)]...)
			for i := len(lanes); i < len(chunk); i++ {
				lanes[i%kernel.NumLanes] = combine(lanes[i%kernel.NumLanes], chunk[i])
			}
			for w := kernel.NumLanes / 2; w > 0; w /= 2 {
				for j := 0; j < w && j+w < len(lanes); j++ {
					lanes[j] = combine(lanes[j], lanes[j+w])
				}
				lanes = lanes[:min(len(lanes), w)]
			}
			sums = append(sums, lanes[0])
		}
		x = sums
	}
	return x[0]
}

// position is the position of the first extreme; the first NaN counts as one.
func (e *exec) position(st *kernel.Reduce, x []uint64) uint64 {
	if len(x) == 0 {
		fail("the position of an extreme of nothing")
	}
	test := func(op scalar.Op, a, b uint64) bool { return scalar.EvalInstr(op, types.Bool, st.Type, a, b) != 0 }
	best := 0
	for i, v := range x {
		switch {
		case test(scalar.Ne, x[best], x[best]):
			return uint64(best)
		case test(scalar.Ne, v, v):
			return uint64(i)
		case st.Kind == ir.ReduceArgMax && test(scalar.Lt, x[best], v), st.Kind == ir.ReduceArgMin &&
			test(scalar.Lt, v, x[best]):
			best = i
		}
	}
	return uint64(best)
}
