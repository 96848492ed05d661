package sorting

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/lang/types"
)

// Note [Sorting by parts]
//
// A kernel.Sort is a call of a function for the type of the elements. It is quicksort: of a part of the row, those
// below a pivot go to the lower end of its place in the data, the others to the spare memory, in the order in which
// they were; those of a vector by two instructions that put the chosen elements together (partition). The part that is
// cut lies in one of the two memories, or is the whole row where it comes from. What stays there may be written while
// it is read, since no more is written than was read; so whole vectors are stored, with anything behind the elements.
// Wherever the part was, the lower ones then are at the beginning of its place in the data, with as much spare memory
// as they take behind the upper ones, and the upper ones are in the spare memory, with their place in the data free:
// two parts that have nothing to do with each other. A part of up to 2*`rows` vectors is sorted in registers (Note
// [Networks]), and written to its place in the data.
//
// Where nothing is below the pivot it is the least element. Then those that equal it are taken out, which are sorted;
// so rows of few different elements take a time that is linear in their length. The pivot of a cut is the least element
// of the upper part, so that it is known to be the least when it is the pivot there again, before anything is cut. A
// pivot is a median of a few elements; where none of these is below it, what equals it is taken out before it is known
// to be the least.
// After twice as many cuts as halves would take it is instead the middle between the least element and the greatest, as
// numbers of their bits, so that no row needs more cuts after each other than a key has bits.
//
// Equal elements have the same bits, but for zeros and NaNs. NaNs are taken out first, in their order: of what is at
// most infinity they are the upper ones. Where there are both zeros, the first pivot is 0: those that equal it are
// taken out in their order, too.
//
// A part is left as it is if nobody asks for one of its ranks (kernel.Ranks).

// rows is how many vectors are sorted in registers: half of them, the others hold what is compared.
const rows = 16

// fits is how many elements of a part need no cut.
func (k kind) fits() int64 { return int64(2 * rows * k.w) }

// Register registers sorting.
func Register(r emit.Registry) { emit.Register(r, sort) }

// sort calls the function for a sort.
func sort(g *emit.Func, s *kernel.Sort) {
	d := g.Params[s.Data.Param].DType
	t := lt.NewPointer(build.MemoryType(d))
	var args []value.Value
	for _, l := range s.Lines() {
		p := g.Addr(l.Param, g.AddressOf(l.At).Base)
		if !p.Type().Equal(t) {
			p = g.Cur.NewBitCast(p, t)
		}
		args = append(args, p)
	}
	f := sortFunc(g.Module, d)
	if s.Positions {
		f = positionsFunc(g.Module)
	}
	args = append(args, g.Dim(s.Size))
	ranks := value.Value(constant.NewNull(lt.NewPointer(build.I64)))
	if len(s.Ranks) > 0 {
		ranks = g.Stack(build.I64, 2*len(s.Ranks))
	}
	for i, r := range s.Ranks {
		for j, x := range []kernel.Ref{r.First, r.End} {
			at := build.Int(build.I64, int64(2*i+j))
			g.Cur.NewStore(g.Uniform(x), g.Cur.NewGetElementPtr(build.I64, ranks, at))
		}
	}
	g.Cur.NewCall(f, append(args, ranks, build.Int(build.I64, int64(len(s.Ranks))))...)
}

// kind is the type of the elements of a row.
type kind struct {
	d types.DType
	t lt.Type
	w int // elements of a vector
}

// code writes a function.
type code struct {
	*emit.Func
	kind
}

func (k kind) vector() lt.Type { return build.Vector(k.t, k.w) }

// request is what a function for sorting is asked for: to sort n elements of the source into the data, with n elements
// of spare memory, as far as their ranks lie in one of `many` pairs of numbers, or all if these are none.
type request struct{ data, source, spare, n, ranks, many value.Value }

// sortFunc is the function for elements of type d, made once.
func sortFunc(m *emit.Module, d types.DType) *lir.Func {
	k := kind{d: d, t: build.MemoryType(d), w: m.Machine.VectorBits / d.Bits()}
	return k.function(m, "sort."+d.String(), func(m *emit.Module) { sortFunc(m, d) }, (*code).row)
}

// params are those of a request.
func (k kind) params() ([]*lir.Param, request) {
	var out []*lir.Param
	param := func(name string, t lt.Type) value.Value {
		x := lir.NewParam(name, t)
		if lt.IsPointer(t) {
			x.Attrs = append(x.Attrs, enum.ParamAttrNoCapture)
		}
		out = append(out, x)
		return x
	}
	p := lt.NewPointer(k.t)
	r := request{data: param("data", p), source: param("source", p), spare: param("spare", p),
		n: param("n", build.I64), ranks: param("ranks", lt.NewPointer(build.I64)), many: param("many", build.I64)}
	return out, r
}

// function is a function of a request, made once; kernels of several modules may share it, and then again makes it in
// its own.
func (k kind) function(m *emit.Module, name string, again func(m *emit.Module),
	body func(c *code, r request)) *lir.Func {
	params, r := k.params()
	fn, fresh := m.SharedFunc(name, lt.Void, params, again)
	if !fresh {
		return fn
	}
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	c := &code{Func: m.NewFunc(fn, nil), kind: k}
	body(c, r)
	c.Cur.NewRet(nil)
	c.Close()
	return fn
}

// helper is a function that the one for a type calls, made once. body gives its result, or nil.
func (k kind) helper(m *emit.Module, name string, result lt.Type, params []*lir.Param,
	body func(c *code) value.Value) *lir.Func {
	name = "sort." + k.d.String() + "." + name
	fn, fresh := m.OwnFunc(name, result, params...)
	if !fresh {
		return fn
	}
	fn.FuncAttrs = append(fn.FuncAttrs, enum.FuncAttrNoInline)
	c := &code{Func: m.NewFunc(fn, nil), kind: k}
	if x := body(c); x != nil {
		c.Cur.NewRet(x)
	} else {
		c.Cur.NewRet(nil)
	}
	c.Close()
	return fn
}

func (c *code) int(n int64) constant.Constant { return build.Int(build.I64, n) }

func (c *code) at(p, i value.Value) value.Value { return c.Cur.NewGetElementPtr(c.t, p, i) }
