package matmul

import (
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Tile registers]
//
// AMX has eight registers of 16 rows by 64 bytes. One instruction adds to the 16 by 16 sums of one the product of two
// others: 16 rows of 64 bytes of x, and 16 rows of y, in each of which the 4 bytes of a step lie side by side for 16
// columns. So the copies of Note [Fours of bytes] are what it reads, 16 steps at a time, with any signs. A tile of a
// product has up to two by two registers of sums, two of x and two of y.
//
// Rows of x that lie along the chains are read where they lie, if these are whole registers. The copy of others has its
// rows along the chains, wherever it is copied from, and zeros where chains end within 16 steps.
// What is read of y there does not matter, nor do rows of x that there are not. Registers have as many rows as a tile
// of the product, which is told anew where it gets lower.
//
// Sums go to memory from the registers. Where a row of the result ends within 16 columns they go through memory of the
// thread, as they do where something follows the chains.
//
// A kernel configures the registers before its first tile and releases them when it ends, see Note [Leave for tiles] in
// runtime/amx. It calls nothing in between that uses them.

// Numbers of registers: sums of row r and vector v are in 2*r + v.
const (
	amxX = 4
	amxY = 6
)

// amx calls an instruction of AMX. Numbers of registers are constants of 8 bits.
func (c *writer) amx(name string, args ...value.Value) {
	ts := make([]lt.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	c.Cur.NewCall(c.Intrinsic("llvm.x86."+name, lt.Void, ts...), args...)
}

func register(n int) value.Value { return constant.NewInt(lt.I8, int64(n)) }

// moveTile moves a register from or to rows at p that are far elements apart: name is tileloadd64 or tilestored64.
func (c *writer) moveTile(name string, n int, p, far value.Value) {
	bytes := c.Mul(far, build.Int(build.I64, int64(analysis.ArithmeticType(c.Acc).Bytes())))
	c.amx(name, register(n), c.Cur.NewBitCast(p, build.BytePtr), bytes)
}

// configure gives the registers the rows of a tile of h rows.
func (c *writer) configure(h int) {
	if !c.AMX {
		return
	}
	var config [64]byte
	config[0] = 1 // the palette
	rows := func(n, rows int) { config[16+2*n], config[48+n] = 64, byte(rows) }
	for r := range schedule.AMXSide {
		if left := h - r*schedule.AMXRows; left > 0 {
			for v := range c.Vecs {
				rows(schedule.AMXSide*r+v, min(left, schedule.AMXRows))
			}
			rows(amxX+r, min(left, schedule.AMXRows))
		}
	}
	for v := range c.Vecs {
		rows(amxY+v, schedule.AMXRows)
	}
	words := make([]constant.Constant, 16)
	for i := range words {
		b := config[4*i:]
		words[i] = build.Int(build.I32, int64(int32(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)))
	}
	if c.config == nil {
		c.config = c.Stack(build.I32, 16)
	}
	all := constant.NewVector(nil, words...)
	c.Cur.NewStore(all, c.Cur.NewBitCast(c.config, lt.NewPointer(build.Vector(build.I32, 16)))).Align = 64
	c.amx("ldtilecfg", c.Cur.NewBitCast(c.config, build.BytePtr))
}

// rowsInPlace is where the rows of x from row i on lie that registers read in place, at the start of a piece.
func (c *writer) rowsInPlace(i value.Value, k chain) value.Value {
	c.Env[c.RowVar()] = emit.Val{V: i}
	c.Env[c.Chains.Axis.Var] = emit.Val{V: c.Mul(k.at, build.Int(build.I64, int64(c.PerStep())))}
	p := c.Addr(c.X.Main.Param, c.AddressOf(c.X.Main.At).Base)
	return c.Cur.NewBitCast(p, lt.NewPointer(build.RegisterType(c.Acc)))
}

// amxTile computes a tile in registers of AMX.
func (t *tileGen) amxTile(k chain) {
	if k.first == nil {
		t.amxZero()
	} else {
		t.IfElse(k.first, func() []value.Value { t.amxZero(); return nil },
			func() []value.Value { t.amxSums(k, "tileloadd64"); return nil })
	}
	chains := func() []value.Value {
		t.For(build.Int(build.I64, 0), k.n, schedule.AMXRows, nil, func(kk value.Value, _ []value.Value) []value.Value {
			t.amxStepAlone(kk)
			return nil
		})
		return nil
	}
	if t.Halves() {
		t.IfElse(t.tiny(), func() []value.Value { t.tinyChains(k); return nil }, chains)
	} else {
		chains()
	}
	switch {
	case t.PlainStore:
		t.amxSums(k, "tilestored64")
	case k.last == nil:
		t.amxEpilogue()
	default:
		t.IfElse(k.last, func() []value.Value { t.amxEpilogue(); return nil },
			func() []value.Value { t.amxSums(k, "tilestored64"); return nil })
	}
}

// eachSum runs f for the registers of sums.
func (t *tileGen) eachSum(f func(n, r, v int)) {
	for r := 0; r*schedule.AMXRows < t.h; r++ {
		for v := range t.vecs {
			f(schedule.AMXSide*r+v, r, v)
		}
	}
}

func (t *tileGen) amxZero() {
	t.eachSum(func(n, _, _ int) { t.amx("tilezero", register(n)) })
}

// amxStep adds the 16 steps from step kk on to the sums; before is written before each product.
func (t *tileGen) amxStep(kk value.Value, before func(n, r, v int)) {
	reg := build.RegisterType(t.Acc)
	x := t.Cur.NewGetElementPtr(reg, t.x.base, kk)
	y := t.Cur.NewGetElementPtr(reg, t.y.base, t.Mul(kk, build.Int(build.I64, t.Panel)))
	signedX, signedY, _ := t.Bytes()
	sign := map[bool]string{true: "s", false: "u"}
	product := "tdpb" + sign[signedX] + sign[signedY] + "d"
	if t.Halves() {
		product = "tdpbf16ps"
	}
	t.eachSum(func(n, r, v int) {
		before(n, r, v)
		if v == 0 {
			t.moveTile("tileloadd64", amxX+r, t.offset(x, int64(r)*schedule.AMXRows*t.Far), build.Int(build.I64, t.Far))
		}
		if r == 0 {
			t.moveTile("tileloadd64", amxY+v, t.offset(y, int64(v*t.VecWidth)), build.Int(build.I64, t.Panel))
		}
		t.amx(product, register(n), register(amxX+r), register(amxY+v))
	})
}

func (t *tileGen) amxStepAlone(kk value.Value) { t.amxStep(kk, func(int, int, int) {}) }

// amxSums moves unfinished sums from or to where they wait, or finished ones to the result.
func (t *tileGen) amxSums(k chain, name string) {
	p, far := t.carryAt(k), t.carryStride()
	direct := func(v int) bool { return t.Apart || t.masks[v] == nil && t.rowsThere == nil }
	load, through := name == "tileloadd64", false
	for v := range t.vecs {
		through = through || !direct(v)
	}
	rows := func() { // through memory of the thread
		t.eachRow(func(r value.Value) {
			row := t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), p, t.Mul(r, far))
			mem := t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), t.scratch(), t.Mul(r,
				build.Int(build.I64, int64(t.vecs*t.VecWidth))))
			for v := range t.vecs {
				switch {
				case direct(v):
				case load:
					at := t.Cur.NewBitCast(t.offset(mem, int64(v*t.VecWidth)), lt.NewPointer(t.vectorType()))
					t.Cur.NewStore(t.loadVector(row, v, false), at).Align = lir.Align(4 * t.VecWidth)
				default:
					t.storeVector(t.loadVector(mem, v, true), row, v)
				}
			}
		})
	}
	if load && through {
		rows()
	}
	t.eachSum(func(n, r, v int) {
		if direct(v) {
			t.moveSum(name, n, r, v, p, far)
			return
		}
		t.scratchTile(name, n, r, v)
	})
	if !load && through {
		rows()
	}
}

// scratchTile moves a register from or to the memory of the epilogue.
func (t *tileGen) scratchTile(name string, n, r, v int) {
	far := int64(t.vecs * t.VecWidth)
	t.moveTile(name, n, t.offset(t.scratch(), int64(r)*schedule.AMXRows*far+int64(v*t.VecWidth)),
		build.Int(build.I64, far))
}

func (t *tileGen) amxEpilogue() {
	t.eachSum(func(n, r, v int) { t.scratchTile("tilestored64", n, r, v) })
	t.amxEpilogueOfScratch()
}

// amxEpilogueOfScratch is the epilogue for sums that are in the memory of scratch.
func (t *tileGen) amxEpilogueOfScratch() {
	if !t.roundsSum() {
		t.epilogueOfScratch()
		return
	}
	subnormal := t.Cur.NewICmp(enum.IPredNE, t.Cur.NewLoad(build.I32, t.leasts), build.Int(build.I32, 0))
	t.IfElse(subnormal, func() []value.Value { t.epilogueOfScratch(); return nil }, func() []value.Value {
		if st := t.storesRounded(); st != nil {
			t.storeRounded(st)
			return nil
		}
		t.Peephole = t.roundSum
		t.epilogueOfScratch()
		t.Peephole = nil
		return nil
	})
}

// storesRounded is the store of the rounded sums when nothing else follows the chains of a tile of two whole vectors.
func (t *tileGen) storesRounded() *kernel.Store {
	whole := t.vecs == 2 && t.masks[0] == nil && t.masks[1] == nil && t.h%roundedAtOnce == 0 && t.rowsThere == nil
	if len(t.After) != 2 || !whole {
		return nil
	}
	st, ok := t.After[1].(*kernel.Store)
	round, rounds := t.After[0].(*kernel.Let)
	if !ok || !rounds || !t.isRounding(round) || st.Val != round.ID || !t.OnAxes(st.At) {
		return nil
	}
	if unit, ok := analysis.Coef(st.At, t.Col.Var); !ok || unit != 1 {
		return nil
	}
	return st
}

// roundedAtOnce is how many rows are rounded together, and between two steps.
const roundedAtOnce = 4

// storeRounded rounds the sums of all rows and stores them.
func (t *tileGen) storeRounded(st *kernel.Store) {
	p, far := t.address(st.Param, st.At, chain{at: build.Int(build.I64, 0)}), t.rowStride(st.At)
	t.For(build.Int(build.I64, 0), build.Int(build.I64, int64(t.h)), roundedAtOnce, nil,
		func(r value.Value, _ []value.Value) []value.Value {
			t.storeRoundedRows(r, p, far)
			return nil
		})
}

// storeRoundedRows rounds two vectors of each of some rows from row r on, and stores them in rows from p on.
func (t *tileGen) storeRoundedRows(r, p, far value.Value) {
	vt, halves := t.vectorType(), build.Vector(lt.I16, 2*t.VecWidth)
	round := lir.NewInlineAsm(lt.NewPointer(lt.NewFunc(halves, vt, vt)), "vcvtne2ps2bf16 $1, $2, $0", "=v,v,v")
	for u := range roundedAtOnce {
		row := t.Add(r, build.Int(build.I64, int64(u)))
		from := t.Cur.NewGetElementPtr(build.RegisterType(t.Acc), t.scratch(),
			t.Mul(row, build.Int(build.I64, int64(2*t.VecWidth))))
		x := t.Cur.NewCall(round, t.loadVector(from, 0, true), t.loadVector(from, 1, true))
		to := t.Cur.NewGetElementPtr(lt.I16, p, t.Mul(row, far))
		t.Cur.NewStore(x, t.Cur.NewBitCast(to, lt.NewPointer(halves))).Align = 2
	}
}

// roundsSum reports that what follows the chains rounds their sum to bf16, and that an instruction does it. Of
// subnormals that makes 0, so it is for sums that are none (Note [Tiny bf16]).
func (t *tileGen) roundsSum() bool {
	rounds := func(st kernel.Stmt) bool {
		l, ok := st.(*kernel.Let)
		return ok && t.isRounding(l)
	}
	return t.Halves() && t.Machine.HalfRounds && t.Peephole == nil && slices.ContainsFunc(t.After, rounds)
}

func (t *tileGen) isRounding(s *kernel.Let) bool {
	return s.In.Op == scalar.Cast && s.In.Type == types.BF16 && s.In.Args[0] == t.Sum
}

// roundSum writes the rounding of vectors of sums as that instruction.
func (t *tileGen) roundSum(s *kernel.Let) bool {
	x := t.Env[t.Sum]
	if !t.isRounding(s) || !x.Wide || t.Width != schedule.AMXRows {
		return false
	}
	half := build.Vector(lt.I16, t.Width)
	round := lir.NewInlineAsm(lt.NewPointer(lt.NewFunc(half, x.V.Type())), "vcvtneps2bf16 $1, $0", "=v,v")
	bits := t.Cur.NewZExt(t.Cur.NewCall(round, x.V), build.Vector(build.I32, t.Width))
	t.Set(s.ID, t.Cur.NewBitCast(t.Cur.NewShl(bits, t.Splat(build.Int(build.I32, 16))),
		build.Vector(lt.Float, t.Width)), true)
	return true
}
