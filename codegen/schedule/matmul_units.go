package schedule

import (
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// Note [Units of products]
//
// Threads share out units, of which a product has a grid: the columns cut into some parts and the rows into some. Unit
// u is part u%inner of the one direction in part u/inner of the other, the outer one, and a call gets units that follow
// each other. So it has a few whole parts of the outer direction, which are computed as one piece of the result, and at
// its ends perhaps some units of one more each. One call for everything, on one thread, is as if there were no units.
//
// Two calls for parts of the columns each copy all rows of the left operand, if it is copied, and of the right one only
// their own columns; two for parts of the rows the other way round. So the outer direction is that of the operand whose
// copies would cost more, and its parts are narrow, so that the inner one is cut only where they are too few for an
// even share. When both operands are copied, neither should be cut into narrow strips: the parts are wider, and the
// inner direction is cut, too.
//
// A call that has some units of an outer part copies all of the operand that the part reads, as do calls for its other
// units. Where that takes long beside a unit, as in products in tile registers, calls begin at multiples of some units.
//
// Where guards leave out rows or columns (analysis.Guard), the parts are those of what is left, so that threads have an
// even share of it. What stands outside is not copied either.
//
// The grid follows from the kernel alone, not from the machine, because a library has one plan and code for several. A
// machine rounds to its panels and tiles.

// Grid is how many parts of the outer direction there are and how many of the inner in each of them; byRows when the
// outer one is the rows.
func (p *MatmulPlan) Grid() (outer, inner int64, byRows bool) {
	tuned := profile.Base().Plan
	width := int64(tuned.UnitBytes) / int64(analysis.ArithmeticType(p.Acc).Bytes())
	cols, rows := (p.Size.N+width-1)/width, max(p.Size.M/int64(tuned.UnitRows), 1)
	x, y := p.copies()
	wide := x && y
	switch {
	case cols == 1 || rows == 1:
		byRows = cols == 1
	case x != y:
		byRows = x
	default:
		byRows = p.Size.M > p.Size.N || !x && cols < int64(tuned.WideUnits) || x && p.partly()
	}
	if outer, inner = cols, rows; byRows {
		outer, inner = rows, cols
		if inner > 1 {
			inner = p.Size.N / width
		}
	}
	if wide {
		unit := int64(tuned.WideUnits)
		if byRows {
			unit *= width / int64(tuned.UnitRows)
		}
		outer = max((outer+unit/2)/unit, 1)
	}
	if outer > 4 {
		outer = (outer + 3) / 4 * 4 // halves and quarters of equal size
	}
	outer = min(outer, 1<<10)
	parts, even := int64(1), int64(tuned.EvenUnits)
	for parts*2 <= inner && outer*parts*min(p.Matrices(), even) < even {
		parts *= 2
	}
	return outer, parts, byRows
}

// partly reports that the product changes a part of a matrix in place, in steps that each go on from what is there. A
// thread keeps that where it has whole rows: beyond a part of a row the processor fetches what another thread writes.
func (p *MatmulPlan) partly() bool { return len(p.Guards()) > 0 }

// copies tells whether the operands are copied, on most machines; see Matmul.
func (p *MatmulPlan) copies() (x, y bool) {
	if p.Size.M == 1 {
		return false, false
	}
	size := int64(analysis.ArithmeticType(p.Acc).Bytes())
	along, _, ok := p.Strides(p.X, p.RowVar())
	wide := p.Size.N*size >= 4*int64(profile.Base().Plan.UnitBytes) && p.Size.K*size >= 512
	_, cast := p.CastAlong(p.X, p.RowVar()) // read as it lies by tile registers, and soon copied by others
	x = !ok || !p.InMemory(p.X) && !(cast && (p.bytes() || p.BF16())) || wide && along != 1
	_, across, ok := p.Strides(p.Y, p.Col.Var)
	y = !ok || across != 1 || !p.InMemory(p.Y) || p.Size.K*p.Size.N*size > 64<<10
	return x, y
}

// Granule is the number of columns of which parts are multiples.
func (p *MatmulPlan) Granule() int64 {
	if p.ByRows {
		return int64(profile.Base().Plan.UnitBytes) / int64(analysis.ArithmeticType(p.Acc).Bytes())
	}
	return p.Panel
}

// Units is the number of units that the threads share out.
func (p *MatmulPlan) Units() int64 {
	outer, inner, _ := p.Grid()
	return p.Matrices() * outer * inner
}

// UnitWork is the work of a unit in scalar operations, as the thread pool counts them (Launch.Work in runtime/abi). A
// step of a chain is one for each 4 bytes (docs/tuning/matrix-products.md).
func (p *MatmulPlan) UnitWork() int64 {
	steps := float64(p.Batch()) * float64(p.Size.M) * float64(p.Size.N) * float64(p.Size.K) / p.atOnce()
	return int64(max(min(steps*float64(analysis.ArithmeticType(p.Acc).Bytes())/4/float64(p.Units()), 1e15), 1))
}

// UnitAlign is the number of units at whose multiples calls begin: so many that copies take no more than half as long,
// at most a whole outer part, and half of all units. Where products in tile registers have their columns cut, each call
// copies all rows, or reads them, which takes no more than an eighth.
func (p *MatmulPlan) UnitAlign() int64 {
	outer, inner, byRows := p.Grid()
	part := p.Size.K * p.Size.N / outer
	if byRows {
		part = p.Size.K * p.Size.M / outer
	}
	if x, y := p.copies(); byRows && !x || !byRows && !y {
		part = 0
	}
	tuned := profile.Base().Plan
	units, copied := int64(1), part*int64(tuned.Copied)
	for units*2 <= min(inner, p.Units()/2) && units*p.UnitWork() < 2*copied {
		units *= 2
	}
	if byRows || !p.AMX {
		return units
	}
	again := 2 * p.Size.M * p.Size.K * int64(tuned.Copied)
	if x, _ := p.copies(); !x {
		bytes := int64(p.Kernel.Params[p.X.Main.Param].DType.Bytes())
		again = 8 * p.Size.M * p.Size.K * bytes * int64(tuned.ReadAgain)
	}
	for units*2 <= min(outer*inner, p.Units()/2) && units*p.UnitWork() < again {
		units *= 2
	}
	return units
}

// Left estimates how much of the work guards leave, of a product of which each step of a loop computes less than the
// one before: half of the rows or columns, on average, a third of both, and half again beside a diagonal.
func (p *MatmulPlan) Left() float64 {
	rows, columns, diagonal := p.guarded()
	left := 1.0
	switch {
	case rows && columns:
		left = 1.0 / 3
	case rows || columns:
		left = 1.0 / 2
	}
	if diagonal {
		left /= 2
	}
	return left
}

// BetweenThreads estimates the bytes that go between threads where several share a product that changes a part of a
// matrix in place, in steps that each go on from what is there (docs/tuning/threads.md). Between two steps one thread
// works on as many rows, or columns, or both, at the edge of that part as the chains are long: where another thread has
// changed them they come from its cache, and go back. What that thread makes are the operands of all, of which each
// gets its rows of the left and all of the right one. kept says that other kernels of the loop share out the matrix by
// rows, too, so that these stay where they are.
func (p *MatmulPlan) BetweenThreads(kept bool) int64 {
	rows, columns, _ := p.guarded()
	if !rows && !columns {
		return 0
	}
	n, m, k := float64(p.Size.N), float64(p.Size.M), float64(p.Size.K)
	edges := 0.0
	if rows && !kept {
		edges += 2 * k * n
	}
	if columns && !kept {
		edges += 2 * k * m
	}
	x, y := k*m/2, k*n
	if rows {
		x /= 2
	}
	if columns {
		y /= 2
	}
	return int64(min((edges+x+y)*float64(analysis.ArithmeticType(p.Acc).Bytes()), 1<<40))
}

// guarded tells by what guards leave out a part of the matrix.
func (p *MatmulPlan) guarded() (rows, columns, diagonal bool) {
	for _, g := range p.Guards() {
		switch g.Dep {
		case kernel.OnRow:
			rows = true
		case kernel.OnColumn:
			columns = true
		default:
			diagonal = true
		}
	}
	return rows, columns, diagonal
}

// atOnce is how many elements of the chains go in the time of one of a chain of vectors. By instructions alone, tile
// registers take eight times the steps of two vectors that are added in a cycle; loads leave them half of that.
func (p *MatmulPlan) atOnce() float64 {
	switch {
	case p.AMX:
		return 4 * float64(p.PerStep())
	case p.Fours:
		return float64(p.PerStep())
	}
	return 1
}
