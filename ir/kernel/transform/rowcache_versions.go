package transform

import (
	"slices"

	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Row caching for any length]: where the length of a row is a shape parameter, nobody knows whether it fits where
// cached rows lie. So the kernel has two versions of its body, of which one is chosen when it runs (multiversioning):
//
//	%n = dim N
//	if %n <= 65536 { the body with cached rows } else { the body as it was }
//
// Rows that are longer are computed again, as they are with a length that is known. Devices have no such versions:
// their memory for rows is a tenth of that.

// unknownRows are the cached rows of a kernel whose lengths are not known.
type unknownRows struct {
	params  []int       // of the kernel
	lengths []types.Dim // without repetition
	bytes   int64       // of one element of each
}

// add notes a row of n elements of type t.
func (u *unknownRows) add(param int, n types.Dim, t types.DType) {
	u.params = append(u.params, param)
	u.bytes += int64(t.Bytes())
	if !slices.ContainsFunc(u.lengths, n.Equal) {
		u.lengths = append(u.lengths, n)
	}
}

// rowCacheVersions caches rows of k, among them some whose lengths are not known. It reports whether there are any of
// those; k is as it was when not.
func rowCacheVersions(k *kernel.Kernel) bool {
	short := *k
	short.Params = slices.Clone(k.Params)
	short.Body = k.Body.Clone()
	c := &rowCache{k: &short, unknown: &unknownRows{}}
	c.block(short.Body)
	if len(c.unknown.params) == 0 {
		return false
	}
	// Rows of known length are cached in either version, as other rows.
	long := short
	long.Body = k.Body
	known := &rowCache{k: &long, rows: c.rows, bytes: c.bytes}
	known.block(long.Body)
	most := (int64(profile.Base().Plan.CacheBytes) - known.bytes) / c.unknown.bytes
	for _, p := range c.unknown.params {
		long.Params[p].Shape = []abi.Extent{{Dim: types.Lit(most)}}
	}
	DeadCode(short.Body)
	DeadCode(long.Body)
	*k = long
	k.Body = c.unknown.choose(k, most, short.Body, long.Body)
	return true
}

// choose runs the body short where no row has more than most elements, and long otherwise.
func (u *unknownRows) choose(k *kernel.Kernel, most int64, short, long *kernel.Block) *kernel.Block {
	b := &kernel.Block{}
	define := func(t types.DType) kernel.Ref { return k.NewRef(t, 0) }
	let := func(op scalar.Op, t types.DType, imm uint64, args ...kernel.Ref) kernel.Ref {
		in := scalar.Instr{Op: op, Type: t, Imm: imm, Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}}
		copy(in.Args[:], args)
		id := define(in.Type)
		b.Stmts = append(b.Stmts, &kernel.Let{ID: id, In: in})
		return id
	}
	limit := let(scalar.Const, types.I64, uint64(most))
	fits := scalar.None
	for _, d := range u.lengths {
		n := define(types.I64)
		b.Stmts = append(b.Stmts, &kernel.DimValue{ID: n, Dim: d})
		one := let(scalar.Le, types.Bool, 0, n, limit)
		if fits == scalar.None {
			fits = one
		} else {
			fits = let(scalar.And, types.Bool, 0, fits, one)
		}
	}
	b.Stmts = append(b.Stmts, &kernel.If{Cond: fits, Then: short, Else: long})
	return b
}
