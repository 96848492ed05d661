package gpu

import (
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Ordered scatter]: a loop that updates elements at computed indices, one after the other, as scatter_add does,
//
//	loop %i { %p = ...; %x = ...; %old = load row[%p]; %new = add %old, %x; store row[%p], %new }
//
// needs its order only where two iterations update the same element. So a warp takes 32 iterations at a time: each
// thread computes %p and %x of one. Threads with the same index find each other (match.any). The first of them loads
// the element, combines it with the %x of the others in the order of their numbers, and stores it once. Then the warp
// goes on with the next 32.
//
// The four warps of a block share a row by the index: each goes through all iterations, and does those whose index is
// its own. A long loop that a kernel has beside nothing else is Note [Ordered scatter by lists], or, where the order
// gives the same sums, Note [Atomic scatter].

// scatterLoop is a loop of ordered scatter.
type scatterLoop struct {
	load   *kernel.Load // of the element
	store  *kernel.Store
	before []kernel.Stmt       // the statements that do not depend on the element
	chain  []kernel.Stmt       // and those that do
	feeds  []kernel.Ref        // values of before that the chain uses
	inside map[kernel.Ref]bool // the loop's variable, and what before defines
}

// scatterMatch is a scatterLoop as far as its statements were looked at.
type scatterMatch struct {
	scatterLoop
	k       *kernel.Kernel
	changed map[kernel.Ref]bool // depends on the element
}

// scatterOf recognises a loop of ordered scatter to work memory; nil is none.
func scatterOf(k *kernel.Kernel, s *kernel.Loop) *scatterLoop {
	if s.Parallel || len(s.Init) > 0 {
		return nil
	}
	m := &scatterMatch{k: k, changed: map[kernel.Ref]bool{}}
	m.inside = map[kernel.Ref]bool{s.Axis.Var: true}
	for _, st := range s.Body.Stmts {
		if m.store != nil || !m.add(st) {
			return nil // the store is the last statement
		}
	}
	if m.store == nil || !anyOf(refsOf(m.load.At), m.inside) {
		return nil
	}
	return &m.scatterLoop
}

// add takes the next statement of the loop; false says that the loop is no scatter.
func (m *scatterMatch) add(st kernel.Stmt) bool {
	switch st := st.(type) {
	case *kernel.Store:
		m.store = st
		return m.load != nil && st.Param == m.load.Param && m.k.Params[st.Param].Work &&
			sameAccess(st.At, m.load.At) && m.changed[st.Val]
	case *kernel.Load:
		if m.k.Params[st.Param].Work {
			if m.load != nil {
				return false
			}
			m.load = st
			m.changed[st.ID] = true
			return true
		}
		if anyOf(refsOf(st.At), m.changed) {
			return false
		}
		m.inside[st.ID] = true
	case *kernel.Let:
		if anyOf(st.In.Args[:], m.changed) {
			return m.link(st)
		}
		m.inside[st.ID] = true
	case *kernel.DimValue:
		m.inside[st.ID] = true
	case *kernel.If:
		if m.load != nil || touchesWork(m.k, st) {
			return false
		}
		for _, r := range st.IDs {
			m.inside[r] = true
		}
	case *kernel.Reduce:
		if m.load != nil || touchesWork(m.k, st) {
			return false
		}
		m.inside[st.ID] = true
	default:
		return false
	}
	m.before = append(m.before, st)
	return true
}

// link takes an instruction that depends on the element.
func (m *scatterMatch) link(st *kernel.Let) bool {
	if st.In.Op == scalar.Check {
		return false
	}
	m.changed[st.ID] = true
	m.chain = append(m.chain, st)
	for _, r := range st.In.Args {
		if r != scalar.None && m.inside[r] && !slices.Contains(m.feeds, r) {
			m.feeds = append(m.feeds, r)
		}
	}
	return true
}

// anyOf reports whether set has one of refs.
func anyOf(refs []kernel.Ref, set map[kernel.Ref]bool) bool {
	return slices.ContainsFunc(refs, func(r kernel.Ref) bool { return r != scalar.None && set[r] })
}

// touchesWork reports whether s reads work memory, or writes anything.
func touchesWork(k *kernel.Kernel, s kernel.Stmt) bool {
	found := false
	accessesOf(s, func(p int, _ kernel.Access, store bool) { found = found || store || k.Params[p].Work })
	return found
}

// sameAccess reports that two accesses are the same in every iteration.
func sameAccess(x, y kernel.Access) bool {
	return x.Offset.Equal(y.Offset) && slices.EqualFunc(x.Terms, y.Terms, func(a, b kernel.Term) bool {
		return a.Var == b.Var && a.Coef.Equal(b.Coef)
	})
}

// fillOf is the store of a parallel loop that does nothing but set elements of work memory; nil for any other.
func fillOf(k *kernel.Kernel, s *kernel.Loop) *kernel.Store {
	if !s.Parallel || len(s.Body.Stmts) == 0 {
		return nil
	}
	last := len(s.Body.Stmts) - 1
	st, ok := s.Body.Stmts[last].(*kernel.Store)
	if !ok || !k.Params[st.Param].Work {
		return nil
	}
	for _, s := range s.Body.Stmts[:last] {
		if touchesWork(k, s) {
			return nil
		}
	}
	return st
}

// scatter does a loop of ordered scatter.
func (g *group) scatter(s *kernel.Loop, u *scatterLoop) {
	lane := value.Value(g.Block().NewAnd(g.member, ci(i32, warpSize-1)))
	warp := g.zext(g.Block().NewLShr(g.member, ci(i32, 5)))
	n, begin := g.length(s.Axis), ci(i64, s.Axis.Begin)
	nothing := []value.Value{constant.False, ci(i64, 0)}
	for _, r := range u.feeds {
		nothing = append(nothing, constant.NewZeroInitializer(device.RegisterType(g.k.Types[r])))
	}
	deep := int64(g.tune.ScatterAhead)
	g.Count(ci(i64, 0), n, ci(i64, warpSize*deep), nil, func(p value.Value, _ []value.Value) []value.Value {
		var ahead [][]value.Value
		for a := range deep {
			i := g.Plus(g.Plus(p, g.zext(lane)), ci(i64, a*warpSize))
			ahead = append(ahead, g.ifElse(g.Block().NewICmp(enum.IPredSLT, i, n), func() []value.Value {
				return g.guarded(s.Body, nothing, func() []value.Value {
					g.Define(s.Axis.Var, g.Plus(i, begin))
					g.Statements(nil, u.before...)
					at, mine := g.Offset(u.load.At), value.Value(constant.True)
					if g.plan.size > warpSize {
						of := g.Block().NewAnd(at, ci(i64, blockSize/warpSize-1))
						mine = g.Block().NewICmp(enum.IPredEQ, of, warp)
					}
					out := []value.Value{mine, at}
					for _, r := range u.feeds {
						out = append(out, g.Value(r))
					}
					return out
				})
			}, nothing))
		}
		for _, x := range ahead {
			mine, at, feeds := x[0], x[1], x[2:]
			any := g.Block().NewCall(g.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), mine)
			g.when(any, func() { g.applyInOrder(u, lane, mine, at, feeds) })
		}
		return nil
	})
}

// lowBits is the logarithm of a power of two.
func lowBits(n int64) (bits int64) {
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}

// applyInOrder updates the elements of a warp: each thread whose `mine` is true has one, number `at` of the buffer.
func (g *group) applyInOrder(u *scatterLoop, lane, mine, at value.Value, feeds []value.Value) {
	elem := device.RegisterType(g.k.Types[u.load.ID])
	b := g.Block()
	// A thread without an element takes a number that is no index and that no other thread has.
	alone := b.NewXor(g.zext(lane), ci(i64, -1))
	same := value.Value(b.NewCall(g.Intrinsic("llvm.nvvm.match.any.sync.i64", i32, i32, i64), ci(i32, -1),
		b.NewSelect(mine, at, alone)))
	lower := b.NewSub(b.NewShl(ci(i32, 1), lane), ci(i32, 1))
	first := b.NewAnd(mine, b.NewICmp(enum.IPredEQ, b.NewAnd(same, lower), ci(i32, 0)))
	old := g.ifElse(first, func() []value.Value {
		g.Statements(nil, &kernel.Load{ID: u.load.ID, Param: u.load.Param, At: g.element(at)})
		return []value.Value{g.Value(u.load.ID)}
	}, []value.Value{constant.NewZeroInitializer(elem)})[0]
	rest := g.Block().NewSelect(first, same, ci(i32, 0)) // of the threads whose value is still missing

	pre, head, body, exit := g.Block(), g.NewBlock(), g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	acc, left := head.NewPhi(lir.NewIncoming(old, pre)), head.NewPhi(lir.NewIncoming(rest, pre))
	some := head.NewICmp(enum.IPredNE, left, ci(i32, 0))
	any := head.NewCall(g.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), some)
	head.NewCondBr(any, body, exit)
	g.SetBlock(body)
	from := g.Block().NewAnd(g.Block().NewCall(g.Intrinsic("llvm.cttz.i32", i32, i32, i1), left, constant.False),
		ci(i32, warpSize-1))
	for i, r := range u.feeds {
		g.Define(r, g.shuffle("idx", feeds[i], from))
	}
	g.Define(u.load.ID, acc)
	g.Statements(nil, u.chain...)
	next := g.Block().NewSelect(some, g.Value(u.store.Val), acc)
	fewer := g.Block().NewAnd(left, g.Block().NewSub(left, ci(i32, 1)))
	acc.Incs = append(acc.Incs, lir.NewIncoming(next, g.Block()))
	left.Incs = append(left.Incs, lir.NewIncoming(fewer, g.Block()))
	g.Block().NewBr(head)
	g.SetBlock(exit)

	g.when(first, func() {
		g.Define(u.store.Val, acc)
		g.Statements(nil, &kernel.Store{Param: u.store.Param, At: g.element(at), Val: u.store.Val})
	})
	g.Block().NewCall(g.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
}

// element is the access of an element by its number in a buffer.
func (g *group) element(at value.Value) kernel.Access {
	g.Define(g.elementRef, at)
	return kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: g.elementRef}}}
}

// scatterKernel is a kernel that does nothing but initialise a buffer and scatter to it. It is two launches, one for
// each.
type scatterKernel struct {
	fill *kernel.Loop // nil: the elements are there
	init *kernel.Store
	loop *kernel.Loop
	of   *scatterLoop

	early []*kernel.Load // of the iteration, which only its number decides
	late  []kernel.Stmt  // the statements of the iteration without these and without the element
}

// scatterAlone recognises such a kernel; nil is another one.
func scatterAlone(k *kernel.Kernel) *scatterKernel {
	p := &scatterKernel{}
	if k.Buffers() < len(k.Params) || !p.block(k, k.Body, true) || p.loop == nil {
		return nil
	}
	u, a := p.of, p.loop.Axis
	if a.Begin != 0 || a.Extent.Div > 1 || p.fill != nil && p.init.Param != u.store.Param {
		return nil
	}
	for _, s := range u.before {
		l, is := s.(*kernel.Load)
		computed := func(r kernel.Ref) bool { return r != a.Var && u.inside[r] }
		if is && !slices.ContainsFunc(refsOf(l.At), computed) {
			p.early = append(p.early, l)
			continue
		}
		p.late = append(p.late, s)
	}
	return p
}

// block looks at the statements of b, top ones of the kernel or in an arm; false says that the kernel does something
// else.
func (p *scatterKernel) block(k *kernel.Kernel, b *kernel.Block, top bool) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return false
			}
		case *kernel.DimValue:
		case *kernel.Load:
			if k.Params[s.Param].Out {
				return false
			}
		case *kernel.If:
			if len(s.IDs) > 0 || !p.block(k, s.Then, false) || !p.block(k, s.Else, false) {
				return false
			}
		case *kernel.Loop:
			if p.loop != nil {
				return false
			}
			if u := scatterOf(k, s); u != nil {
				p.loop, p.of = s, u
				continue
			}
			st := fillOf(k, s)
			if st == nil || p.fill != nil || !top || checks(s.Body) {
				return false
			}
			p.fill, p.init = s, st
		default:
			return false
		}
	}
	return true
}

// rowSize is the number of elements of a row, and what counts them in the access of the loop; 0 where it is not known.
func (p *scatterKernel) rowSize() (size int64, index kernel.Ref) {
	if p.fill == nil || p.fill.Axis.Begin != 0 {
		return 0, scalar.None
	}
	n, known := count([]kernel.Axis{p.fill.Axis})
	at, from := p.of.load.At, p.init.At
	if !known || !at.Offset.Equal(from.Offset) || len(at.Terms) != len(from.Terms) {
		return 0, scalar.None
	}
	index = scalar.None
	for i, t := range at.Terms {
		switch f := from.Terms[i]; {
		case !t.Coef.Equal(f.Coef):
			return 0, scalar.None
		case f.Var == p.fill.Axis.Var && index == scalar.None:
			index = t.Var
		case f.Var != t.Var:
			return 0, scalar.None
		}
	}
	if index == scalar.None {
		return 0, scalar.None
	}
	return n, index
}

// fillElements writes the entry that initialises the elements, if k does that.
func (m *module) fillElements(k *kernel.Kernel, s *scatterKernel) abi.DeviceKernel {
	if s.fill == nil {
		return abi.DeviceKernel{}
	}
	fill := fillKernel(k, s)
	if p := planTranspose(fill, m.tune); p != nil {
		return m.transpose(fill, p)
	}
	if p := planElementwise(fill, m.tune); p != nil {
		return m.elementwise(p)
	}
	return m.fallback(fill)
}

// fillKernel is the kernel that initialises the elements, an iteration for each, neighbours by neighbours.
func fillKernel(k *kernel.Kernel, p *scatterKernel) *kernel.Kernel {
	fill := *k
	fill.Name += ".fill"
	fill.Params = slices.Clone(k.Params)
	fill.Params[p.init.Param].Work = false // it is only written here
	fill.Body = &kernel.Block{}
	for _, s := range k.Body.Stmts {
		switch s.(type) {
		case *kernel.Let, *kernel.DimValue, *kernel.Load:
			fill.Body.Stmts = append(fill.Body.Stmts, s)
		}
	}
	fill.Body.Stmts = append(fill.Body.Stmts, p.fill.Body.Stmts...)
	at := len(k.Axes)
	for _, t := range p.init.At.Terms {
		if at > 0 && t.Var == k.Axes[at-1].Var && t.Coef.IsConst(1) {
			at-- // its neighbours are those of the last axis
			break
		}
	}
	fill.Axes = slices.Insert(slices.Clone(k.Axes), at, p.fill.Axis)
	return &fill
}
