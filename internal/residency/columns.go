package residency

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// ColumnMajor says which results are declared column-major and have axes to turn over; nil is none.
func (m *Memory) ColumnMajor() []bool { return m.columns }

// TurnedOver is a function that calls the one that has this memory, and turns the axes of its column-major results
// over, with what it declares.
func (m *Memory) TurnedOver() (*ir.Func, *Memory) {
	of := m.of
	g := &ir.Func{Name: of.Name + ".columns", Dims: of.Dims, Body: &ir.Block{}, Span: of.Span}
	memory := &Memory{of: g, params: m.params, stay: m.stay, off: m.off,
		shards: m.shards.turnedOver(m.results, m.columns)}
	var dims types.Shape
	for _, d := range of.Dims {
		dims = append(dims, types.Param(d))
	}
	for _, p := range of.Params() {
		g.Body.Param(p.Name, p.Type, p.Span)
	}
	b := ir.Builder{Block: g.Body, Span: of.Span}
	call := b.EmitOp(ops.Call, ir.A{"callee": of.Name, "dims": dims, "results": of.Results}, g.Params(), nil)
	for i, r := range call.Results {
		if m.columns[i] {
			perm := make([]int64, r.Type.Rank())
			for k := range perm {
				perm[k] = int64(len(perm) - 1 - k)
			}
			r = b.Emit(ops.Permute, ir.A{"perm": perm}, r)
		}
		g.Body.Yields = append(g.Body.Yields, r)
		g.Results = append(g.Results, r.Type)
		declared := r.Type
		declared.Place = m.results[i].Place
		memory.results = append(memory.results, declared)
	}
	return g, memory
}
