package llvm

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Access is how vectors of an access are read and written. The generator has one for processors and one for devices;
// schedules wrap it, to prefetch or to write past the caches.
type Access interface {
	// Vector reports that neighbours at an access are one vector, and its alignment.
	Vector(g *gen, d types.DType, at kernel.Access) (align lir.Align, ok bool)
	// Load reads the vector of neighbours that begins at element `first`, for iterations that go up or down (step).
	Load(g *gen, s *kernel.Load, first value.Value, step int64) value.Value
	// Store writes x, of the type of memory, to the neighbours that begin at element `first`.
	Store(g *gen, s *kernel.Store, x, first value.Value)
	// Strided reads elements that are step apart; nil says that they are read one by one.
	Strided(g *gen, param int, d types.DType, base value.Value, step int64) value.Value
}

// processorAccess is that of processors, which do not mind where a vector begins.
type processorAccess struct{}

func (processorAccess) Vector(_ *gen, d types.DType, _ kernel.Access) (lir.Align, bool) {
	return elementAlign(d), true
}

func (a processorAccess) Load(g *gen, s *kernel.Load, first value.Value, _ int64) value.Value {
	return g.loadNeighbours(s, first, elementAlign(g.params[s.Param].DType))
}

func (a processorAccess) Store(g *gen, s *kernel.Store, x, first value.Value) {
	g.storeNeighbours(s, x, first, elementAlign(g.params[s.Param].DType))
}

func (processorAccess) Strided(*gen, int, types.DType, value.Value, int64) value.Value { return nil }

// deviceAccess is that of devices. They need the alignment of a vector, and LLVM 19 makes one access of 16 bytes out of
// sixteen i8 that are not aligned.
type deviceAccess struct{}

// Vector finds the alignment from the constants of the access: a vector of iterations begins at a multiple of its
// width there, and backwards it ends at one.
func (deviceAccess) Vector(g *gen, d types.DType, a kernel.Access) (lir.Align, bool) {
	whole := func(n types.Dim) bool {
		c, ok := n.Const()
		return ok && c%int64(g.w) == 0
	}
	if !whole(a.Offset) {
		return elementAlign(d), false
	}
	for _, t := range a.Terms {
		if iota := g.env[t.Var].iota; iota && !t.Coef.IsConst(1) || !iota && !whole(t.Coef) {
			return elementAlign(d), false
		}
	}
	align := lir.Align(min(g.w*d.Bytes(), abi.DeviceAlign))
	return align, align > elementAlign(d)
}

func (a deviceAccess) Load(g *gen, s *kernel.Load, first value.Value, _ int64) value.Value {
	align, _ := a.Vector(g, g.params[s.Param].DType, s.At)
	return g.loadNeighbours(s, first, align)
}

func (a deviceAccess) Store(g *gen, s *kernel.Store, x, first value.Value) {
	align, _ := a.Vector(g, g.params[s.Param].DType, s.At)
	g.storeNeighbours(s, x, first, align)
}

func (deviceAccess) Strided(*gen, int, types.DType, value.Value, int64) value.Value { return nil }

// elementAlign is the alignment of an element in memory.
func elementAlign(d types.DType) lir.Align { return lir.Align(d.Bytes()) }

// vectorAddress is the address of a vector of neighbours of parameter param.
func (g *gen) vectorAddress(param int, first value.Value) value.Value {
	vt := vec(memType(g.params[param].DType), g.w)
	return g.cur.NewBitCast(g.addr(param, first), lt.NewPointer(vt))
}

// loadNeighbours loads a vector, or under a mask those elements that it allows.
func (g *gen) loadNeighbours(s *kernel.Load, first value.Value, align lir.Align) value.Value {
	t := vec(memType(g.params[s.Param].DType), g.w).(*lt.VectorType)
	p := g.vectorAddress(s.Param, first)
	if g.mask == nil {
		l := g.cur.NewLoad(t, p)
		l.Align = align
		return l
	}
	f := g.intrinsic(fmt.Sprintf("llvm.masked.load.%[1]s.p0%[1]s", typeSuffix(t)), t, p.Type(), i32, g.mask.Type(), t)
	return g.cur.NewCall(f, p, ci(i32, int64(align)), g.mask, constant.NewZeroInitializer(t))
}

// storeNeighbours stores a vector, or under a mask those elements that it allows.
func (g *gen) storeNeighbours(s *kernel.Store, x, first value.Value, align lir.Align) {
	p := g.vectorAddress(s.Param, first)
	if g.mask == nil {
		g.cur.NewStore(x, p).Align = align
		return
	}
	t := typeSuffix(x.Type())
	f := g.intrinsic(fmt.Sprintf("llvm.masked.store.%[1]s.p0%[1]s", t), lt.Void, x.Type(), p.Type(), i32, g.mask.Type())
	g.cur.NewCall(f, x, p, ci(i32, int64(elementAlign(g.params[s.Param].DType))), g.mask)
}
