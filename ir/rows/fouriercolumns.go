package rows

import (
	"healc/ir"
	"healc/ir/fourier"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Panels of columns]
//
// Lines that lie side by side are the columns of a matrix. A panel of as many as a line of the caches holds, or some,
// goes through all passes together, in vectors across it: each line of the caches is read once and written once, whole.
// Between the first pass and the last one, the panel is in near memory, in place: behind stages with the product s of
// their radices, number p of transform q is in row r*m + p, where r is q with its digits in the reverse order. Each of
// the transforms that a pass leaves goes through all others by itself, so that a panel that is larger than the nearest
// cache is there a part at a time; the loops go through the digits, so that the last pass knows where the result lies.
//
// Where the lines lie in order one behind the other, as those of a transposed matrix do, the panel is copied to near
// memory first, by squares that are transposed in registers. So is one of short lines along the last axis, which are no
// vectors themselves, and its result is copied back by such squares, as that of the first stages of long lines is (Note
// [Long lines] in package ops).

const (
	// PanelBytes are the bytes of neighbours in a panel at least, a line of the caches.
	PanelBytes = 64
	// panelLines are the lines at most, and panelNear the bytes of near memory that a panel of more than one takes at
	// most. Columns whose result is not in near memory are written by two lines where one takes no more.
	panelLines = 16
	panelNear  = 64 << 10
	// shortLine is the longest line along the last axis that goes in panels, and shortLines the lines of the caches
	// that these have at most.
	shortLine  = 32
	shortLines = 2
)

// across is the axis along which the lines of a panel lie side by side.
func across(t types.Tensor, axis int64) int64 {
	last := int64(t.Rank() - 1)
	if axis == last {
		return last - 1
	}
	return last
}

// FourierPanel is how many lines of an operation go together: many where they are short, which reads and writes long
// pieces of memory.
func FourierPanel(op *ir.Op) int64 { return panelAlong(op.Type(), op.Int("axis"), op.Int("rest")) }

func panelAlong(t types.Tensor, axis, rest int64) int64 {
	across := across(t, axis)
	if across < 0 {
		return 1
	}
	for _, d := range t.Shape[min(axis, across):] {
		if _, known := d.Const(); !known {
			return 1
		}
	}
	n, _ := t.Shape[axis].Const()
	columns, _ := t.Shape[across].Const()
	line := int64(PanelBytes / t.Elem.Bytes())
	near := 2 * n * PanelBytes
	lines := panelNear / near
	if across < axis && rest > 1 { // the result, too
		lines /= 2
	} else if near <= panelNear {
		lines = max(lines, 2)
	}
	lines = min(max(lines, 1), panelLines, (columns+line-1)/line)
	if across < axis && rest == 1 {
		if n == 1 || n > shortLine || columns < line {
			return 1
		}
		lines = min(lines, shortLines)
	}
	for k := lines; k > 0; k-- {
		if columns%(k*line) == 0 { // all panels are whole
			return k * line
		}
	}
	return lines * line
}

// FourierBlock is how many columns a block of the factors has for the first stages of a transform, of those that they
// leave: a panel, or one where a panel has others.
func FourierBlock(t types.Tensor, axis, rest int64) int64 {
	if across(t, axis) == axis-1 {
		return min(panelAlong(t, axis, rest), rest)
	}
	return 1
}

// fourierPanel is a panel that is transformed.
type fourierPanel struct {
	*fourierRow
	n      int64
	stages []fourier.Stage
	panel  int64 // the columns for which near memory has room
	width  int64 // those that there are
	near   parts
	result parts        // where the last pass writes: the result, or near memory that is copied to it
	first  []scalar.Ref // the index of the first column
	column scalar.Ref   // the place in the panel of the one that is transformed, whose index is at
}

// fourierColumns writes panels: whole ones, and one of fewer columns where their number leaves that.
func fourierColumns(p ir.RowPull, op *ir.Op, at []scalar.Ref) {
	across := across(op.Type(), op.Int("axis"))
	columns, _ := op.Type().Shape[across].Const()
	r := &fourierPanel{fourierRow: &fourierRow{p: p, op: op}, panel: FourierPanel(op), first: at,
		near: parts{re: ir.NoMemory, im: ir.NoMemory}, result: parts{re: ir.ResultRow, im: ir.ResultRow + 1}}
	r.n, r.stages = fourierStages(op)
	passes := fourierPasses(r.stages, p.Shared())
	near := func() parts {
		m := p.Spare(op.Type().Elem, types.Lit(2*r.n*r.panel))
		return parts{re: m, im: m, behind: r.n * r.panel}
	}
	turned := across < op.Int("axis") && !p.Shared()
	copied := turned && op.Int("rest") == 1 || r.ordered()
	if len(passes) > 1 || copied {
		r.near = near()
	}
	if turned {
		r.result = near()
	}
	fewer := columns % r.panel
	switch {
	case columns < r.panel:
		r.write(fewer, passes, copied)
	case fewer == 0:
		r.write(r.panel, passes, copied)
	default:
		whole := p.E().Le(at[across], p.E().Int(types.I64, columns-r.panel))
		p.When(whole, func() { r.write(r.panel, passes, copied) })
		p.When(p.E().Not(whole), func() { r.write(fewer, passes, copied) })
	}
}

// ordered reports that the numbers of a column lie next to each other in an operand.
func (r *fourierPanel) ordered() bool {
	for i := range 2 {
		m, _ := r.p.Operand(r.op, i, func(j scalar.Ref) []scalar.Ref { return ir.Moved(r.first, r.op.Int("axis"), j) })
		if m != ir.NoMemory && !r.p.Shared() {
			return true
		}
	}
	return false
}

// write writes the passes over a panel of some columns.
func (r *fourierPanel) write(width int64, passes []fourierPass, copied bool) {
	zero := affine{p: r.p}
	r.width, r.from = width, parts{re: ir.NoMemory}
	if copied {
		r.to = r.near
		r.across(func() { r.each(r.n, zero, func(j affine) { r.store(j, 0, r.load(j, 0)) }) })
		r.from = r.near
	}
	if len(passes) == 0 { // columns of one number
		r.to = r.result
		r.across(func() { r.store(zero, 0, r.load(zero, 0)) })
	}
	r.run(passes, zero, zero)
	if r.result.re != ir.ResultRow {
		r.to = parts{re: ir.ResultRow, im: ir.ResultRow + 1}
		r.across(func() { r.each(r.n, zero, func(j affine) { r.store(j, 0, r.load(j, 0)) }) })
	}
}

// across writes what is done with each column.
func (r *fourierPanel) across(body func()) {
	r.p.Apart(types.Lit(r.width), 1, func(w scalar.Ref) { r.in(w, body) })
}

// in writes what is done with the column at a place in the panel.
func (r *fourierPanel) in(w scalar.Ref, body func()) {
	k := across(r.op.Type(), r.op.Int("axis"))
	r.column = w
	r.at = ir.Moved(r.first, k, r.p.E().Add(r.first[k], w))
	r.factors = fourierFactors(r.p, r.op, r.at)
	if b := FourierBlocks(r.op); b.Width == r.panel && k == r.op.Int("axis")-1 { // the panel is a block
		r.factors.at = func(row affine) affine {
			return affine{p: r.p}.and(b.Rows, r.first[k]).times(r.width, row).and(1, w)
		}
	}
	body()
}

// each writes what is done for each number below n, each but a lone one in a loop.
func (r *fourierPanel) each(n int64, zero affine, body func(i affine)) {
	if n == 1 {
		body(zero)
		return
	}
	r.p.Each(types.Lit(n), nil, func(i scalar.Ref, _ []scalar.Ref) []scalar.Ref {
		body(zero.and(1, i))
		return nil
	})
}

// run writes passes over transform q, which begins in a row. Each of those that a pass leaves goes through the others
// by itself, while it is near.
func (r *fourierPanel) run(passes []fourierPass, row, q affine) {
	if len(passes) == 0 {
		return
	}
	f, zero := passes[0], affine{p: r.p}
	if r.to = r.near; len(passes) == 1 {
		r.to = r.result
	}
	if r.p.Shared() {
		r.shared(f)
		r.from = r.to
		r.run(passes[1:], zero, zero)
		return
	}
	rest := f.rest()
	r.each(rest, zero, func(number affine) { r.across(func() { r.numbers(f, row, q, number) }) })
	r.from = r.to
	if len(passes) == 1 {
		return
	}
	second := max(f.second.Radix, 1)
	r.each(f.first.Radix, zero, func(k1 affine) {
		r.each(second, zero, func(k2 affine) {
			r.run(passes[1:], row.times(rest*second, k1).times(rest, k2),
				q.times(f.first.Before, k1).times(f.first.Before*f.first.Radix, k2))
		})
	})
}

// shared writes a pass whose numbers threads share.
func (r *fourierPanel) shared(f fourierPass) {
	zero := affine{p: r.p}
	before, rest := f.first.Before, f.rest()
	r.p.Apart(types.Lit(before*rest*r.width), 1, func(i scalar.Ref) {
		e := r.p.E()
		by := func(x scalar.Ref, n int64) (scalar.Ref, scalar.Ref) {
			return e.Div(x, e.Int(types.I64, n)), e.Rem(x, e.Int(types.I64, n))
		}
		i, w := by(i, r.width)
		block, number := by(i, rest)
		q, left := zero, block
		for k := len(r.stages) - 1; k >= 0; k-- { // the digits of the block, that of the last stage first
			if s := r.stages[k]; s.Before < before {
				var digit scalar.Ref
				left, digit = by(left, s.Radix)
				q = q.and(s.Before, digit)
			}
		}
		r.in(w, func() { r.numbers(f, zero.and(f.radix()*rest, block), q, zero.and(1, number)) })
	})
}

// numbers takes number p of what is left, for each part of the radix, of transform q, which begins in a row, through a
// pass.
func (r *fourierPanel) numbers(f fourierPass, row, q, p affine) {
	rest, second := f.rest(), max(f.second.Radix, 1)
	from := row.times(1, p)
	r.butterflies(f, p, func(j int64) number { return r.load(from, rest*j) }, func(k1, k2 int64, x number) {
		if r.to == r.near {
			r.store(from, rest*(k1*second+k2), x)
			return
		}
		r.store(q, f.first.Before*(k1+f.first.Radix*k2), x)
	})
}

// load is the number at an index of the column.
func (r *fourierPanel) load(i affine, plus int64) number {
	if r.from.re == ir.NoMemory {
		return r.fourierRow.load(i, plus)
	}
	at := r.place(r.from.re, i, plus)
	return number{Re: r.p.Read(r.from.re, at.ref(0)), Im: r.p.Read(r.from.im, at.ref(r.from.behind))}
}

func (r *fourierPanel) store(i affine, plus int64, x number) {
	r.p.Write(r.to.re, r.place(r.to.re, i, plus).ref(0), x.Re)
	r.p.Write(r.to.im, r.place(r.to.im, i, plus).ref(r.to.behind), x.Im)
}

// place is where the number at an index of the column lies in memory.
func (r *fourierPanel) place(m ir.Memory, i affine, plus int64) affine {
	along, across := r.panel, int64(1)
	if m != r.near.re && (m != r.result.re || m == ir.ResultRow) {
		along, across = r.p.Pitch(m)
	}
	at := affine{p: r.p, plus: (i.plus + plus) * along}
	for k, x := range i.of {
		at = at.and(along*i.by[k], x)
	}
	return at.and(across, r.column)
}
