package ir

import (
	"fmt"

	"healc/lang/diag"
	"healc/lang/types"
)

// Builder appends operations to a block. Result types come from the table.
type Builder struct {
	Block *Block
	Span  diag.Span // given to the operations that follow
}

// A is shorthand for named attributes.
type A = map[string]any

// Emit appends an operation with one result and returns it. A broken type rule is a bug of the caller,
// which the checker should have found, and panics.
func (b *Builder) Emit(d *OpDef, attrs A, args ...*Value) *Value {
	return b.EmitOp(d, attrs, args, nil).Results[0]
}

// EmitOp appends an operation with regions or several results.
func (b *Builder) EmitOp(d *OpDef, attrs A, args []*Value, regions []*Block) *Op {
	op := &Op{Def: d, Args: args, Attrs: d.MakeAttrs(attrs), Regions: regions, Span: b.Span}
	ts, err := d.Infer(ArgTypes(args), op.Attrs, regions)
	if err != nil {
		panic(fmt.Sprintf("BUG: building %s of %v: %v", d.Name, ArgTypes(args), err))
	}
	op.SetResults(ts)
	b.Block.Ops = append(b.Block.Ops, op)
	return op
}

// SetResults gives op fresh results of the given types.
func (o *Op) SetResults(ts []types.Tensor) {
	o.Results = make([]*Value, len(ts))
	for i, t := range ts {
		o.Results[i] = &Value{Type: t, Def: o, Index: i, Span: o.Span}
	}
}

// ArgTypes lists the types of values.
func ArgTypes(args []*Value) []types.Tensor {
	ts := make([]types.Tensor, len(args))
	for i, a := range args {
		ts[i] = a.Type
	}
	return ts
}

// Param adds a parameter to the block.
func (b *Block) Param(name string, t types.Tensor, at diag.Span) *Value {
	v := &Value{Type: t, Index: len(b.Params), Name: name, Span: at}
	b.Params = append(b.Params, v)
	return v
}
