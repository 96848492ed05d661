package emit

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Access is how vectors of an access are read and written. The generator has one for processors and one for devices;
// schedules wrap it, to prefetch or to write past the caches.
type Access interface {
	// Vector reports that neighbours at an access are one vector, and its alignment.
	Vector(g *Func, d types.DType, at kernel.Access) (align lir.Align, ok bool)
	// Load reads the vector of neighbours that begins at element `first`, for iterations that go up or down (step).
	Load(g *Func, s *kernel.Load, first value.Value, step int64) value.Value
	// Store writes x, of the type of memory, to the neighbours that begin at element `first`.
	Store(g *Func, s *kernel.Store, x, first value.Value)
	// Strided reads elements that are step apart; nil says that they are read one by one.
	Strided(g *Func, param int, d types.DType, base value.Value, step int64) value.Value
}

// ProcessorAccess is that of processors, which do not mind where a vector begins.
type ProcessorAccess struct{}

func (ProcessorAccess) Vector(_ *Func, d types.DType, _ kernel.Access) (lir.Align, bool) {
	return elementAlign(d), true
}

func (a ProcessorAccess) Load(g *Func, s *kernel.Load, first value.Value, _ int64) value.Value {
	return g.loadNeighbours(s, first, elementAlign(g.Params[s.Param].DType))
}

func (a ProcessorAccess) Store(g *Func, s *kernel.Store, x, first value.Value) {
	g.storeNeighbours(s, x, first, elementAlign(g.Params[s.Param].DType))
}

func (ProcessorAccess) Strided(*Func, int, types.DType, value.Value, int64) value.Value { return nil }

// DeviceAccess is that of devices. They need the alignment of a vector, and LLVM 19 makes one access of 16 bytes out of
// sixteen i8 that are not aligned.
type DeviceAccess struct{}

// Vector finds the alignment from the constants of the access: a vector of iterations begins at a multiple of its
// width there, and backwards it ends at one.
func (DeviceAccess) Vector(g *Func, d types.DType, a kernel.Access) (lir.Align, bool) {
	whole := func(n types.Dim) bool {
		c, ok := n.Const()
		return ok && c%int64(g.Width) == 0
	}
	if !whole(a.Offset) {
		return elementAlign(d), false
	}
	for _, t := range a.Terms {
		if iota := g.Env[t.Var].Iota; iota && !t.Coef.IsConst(1) || !iota && !whole(t.Coef) {
			return elementAlign(d), false
		}
	}
	align := lir.Align(min(g.Width*d.Bytes(), abi.DeviceAlign))
	return align, align > elementAlign(d)
}

func (a DeviceAccess) Load(g *Func, s *kernel.Load, first value.Value, _ int64) value.Value {
	align, _ := a.Vector(g, g.Params[s.Param].DType, s.At)
	return g.loadNeighbours(s, first, align)
}

func (a DeviceAccess) Store(g *Func, s *kernel.Store, x, first value.Value) {
	align, _ := a.Vector(g, g.Params[s.Param].DType, s.At)
	g.storeNeighbours(s, x, first, align)
}

func (DeviceAccess) Strided(*Func, int, types.DType, value.Value, int64) value.Value { return nil }

// elementAlign is the alignment of an element in memory.
func elementAlign(d types.DType) lir.Align { return lir.Align(d.Bytes()) }

// VectorAddress is the address of a vector of neighbours of parameter param.
func (g *Func) VectorAddress(param int, first value.Value) value.Value {
	vt := build.Vector(build.MemoryType(g.Params[param].DType), g.Width)
	return g.Cur.NewBitCast(g.Addr(param, first), lt.NewPointer(vt))
}

// loadNeighbours loads a vector, or under a mask those elements that it allows.
func (g *Func) loadNeighbours(s *kernel.Load, first value.Value, align lir.Align) value.Value {
	t := build.Vector(build.MemoryType(g.Params[s.Param].DType), g.Width).(*lt.VectorType)
	p := g.VectorAddress(s.Param, first)
	if g.Mask == nil {
		l := g.Cur.NewLoad(t, p)
		l.Align = align
		return l
	}
	f := g.Intrinsic(fmt.Sprintf("llvm.masked.load.%[1]s.p0%[1]s", build.TypeSuffix(t)), t, p.Type(), build.I32,
		g.Mask.Type(), t)
	return g.Cur.NewCall(f, p, build.Int(build.I32, int64(align)), g.Mask, constant.NewZeroInitializer(t))
}

// storeNeighbours stores a vector, or under a mask those elements that it allows.
func (g *Func) storeNeighbours(s *kernel.Store, x, first value.Value, align lir.Align) {
	p := g.VectorAddress(s.Param, first)
	if g.Mask == nil {
		g.Cur.NewStore(x, p).Align = align
		return
	}
	t := build.TypeSuffix(x.Type())
	f := g.Intrinsic(fmt.Sprintf("llvm.masked.store.%[1]s.p0%[1]s", t), lt.Void, x.Type(), p.Type(), build.I32,
		g.Mask.Type())
	g.Cur.NewCall(f, x, p, build.Int(build.I32, int64(elementAlign(g.Params[s.Param].DType))), g.Mask)
}
