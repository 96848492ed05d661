package ir

import (
	"strconv"
	"strings"

	"healc/lang/diag"
	"healc/lang/types"
)

// Cloner copies operations and blocks. Operands are replaced by what Values has for them, shape parameters
// by what Dims has; others stay. Results of copied operations and parameters of copied blocks are added
// to Values, so that code copied later finds them. Attribute values are shared where nothing in them
// changes: they are never altered in place.
//
// With a Call, the code is a function's that is put in the place of it: the spans of what is copied say so
// (diag.Span.Caller, diag.Span.Call).
type Cloner struct {
	Values map[*Value]*Value
	Dims   map[string]types.Dim
	Call   *diag.Span

	chains map[*diag.Span]*diag.Span // the Callers of copies, so that those of one place are one
}

// span is that of a copy.
func (c *Cloner) span(s diag.Span) diag.Span {
	if c.Call == nil {
		return s
	}
	if s.Call == nil {
		s.Call = c.Call
	}
	inner := s.Caller
	if s = s.CalledAt(c.Call); inner == nil {
		return s
	}
	if c.chains == nil {
		c.chains = map[*diag.Span]*diag.Span{}
	}
	if c.chains[inner] == nil {
		c.chains[inner] = s.Caller
	}
	s.Caller = c.chains[inner]
	return s
}

// NewCloner returns a cloner that replaces nothing yet.
func NewCloner() *Cloner { return &Cloner{Values: map[*Value]*Value{}} }

// Value returns what stands for v in the copy.
func (c *Cloner) Value(v *Value) *Value {
	if w, ok := c.Values[v]; ok {
		return w
	}
	return v
}

// ValueList returns what stands for each of vs in the copy.
func (c *Cloner) ValueList(vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		out[i] = c.Value(v)
	}
	return out
}

// Op returns a copy of op. Result types are substituted, not inferred anew. The error is a
// *types.OverflowError of the substitution.
func (c *Cloner) Op(op *Op) (*Op, error) {
	out := &Op{Def: op.Def, Args: c.ValueList(op.Args), Span: c.span(op.Span)}
	var err error
	if out.Attrs, err = c.Attrs(op.Attrs); err != nil {
		return nil, err
	}
	if len(op.Regions) > 0 {
		out.Regions = make([]*Block, len(op.Regions))
		for i, r := range op.Regions {
			if out.Regions[i], err = c.Block(r); err != nil {
				return nil, err
			}
		}
	}
	out.Results = make([]*Value, len(op.Results))
	for i, r := range op.Results {
		v := &Value{Def: out, Index: i, Name: r.Name, Span: c.span(r.Span)}
		if v.Type, err = c.Type(r.Type); err != nil {
			return nil, err
		}
		out.Results[i], c.Values[r] = v, v
	}
	return out, nil
}

// Block returns a copy of b with parameters of its own.
func (c *Cloner) Block(b *Block) (*Block, error) {
	out := &Block{}
	for _, p := range b.Params {
		t, err := c.Type(p.Type)
		if err != nil {
			return nil, err
		}
		c.Values[p] = out.Param(p.Name, t, c.span(p.Span))
	}
	if err := c.Append(out, b); err != nil {
		return nil, err
	}
	out.Yields = c.ValueList(b.Yields)
	return out, nil
}

// Append copies the operations of b to the end of to; Values must have b's parameters.
func (c *Cloner) Append(to, b *Block) error {
	for _, op := range b.Ops {
		cp, err := c.Op(op)
		if err != nil {
			return err
		}
		to.Ops = append(to.Ops, cp)
	}
	return nil
}

// Func returns a copy of f with shape parameters replaced; those that Dims names are left out of Func.Dims.
func (c *Cloner) Func(f *Func) (*Func, error) {
	out := &Func{Name: f.Name, Public: f.Public, IO: f.IO, Updates: f.Updates, Span: c.span(f.Span)}
	for _, d := range f.Dims {
		if _, bound := c.Dims[d]; !bound {
			out.Dims = append(out.Dims, d)
		}
	}
	var err error
	if out.Results, err = SubstTypes(f.Results, c.Dims); err != nil {
		return nil, err
	}
	out.Body, err = c.Block(f.Body)
	return out, err
}

// copyMark stands between the name of a function and the number of a copy; no name of a program has it.
const copyMark = "@"

// CopyName names copy n of a function, for code that is called from one place.
func CopyName(name string, n int) string { return name + copyMark + strconv.Itoa(n) }

// OriginalName is the name in the program of a function that may be a copy, or an instance of one.
func OriginalName(name string) string {
	name, copied, _ := strings.Cut(name, copyMark)
	return name + strings.TrimLeft(copied, "0123456789") // the extents of an instance stay
}

// Clone returns a copy of m that shares no block, operation or value with it.
func (m *Module) Clone() *Module {
	out := &Module{Name: m.Name, Funcs: make([]*Func, len(m.Funcs))}
	for i, f := range m.Funcs {
		g, err := NewCloner().Func(f)
		if err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		out.Funcs[i] = g
	}
	return out
}

// Type returns t with shape parameters replaced.
func (c *Cloner) Type(t types.Tensor) (types.Tensor, error) {
	s, err := t.Shape.Subst(c.Dims)
	return types.Tensor{Elem: t.Elem, Shape: s}, err
}

// Attrs returns attributes with shape parameters replaced.
func (c *Cloner) Attrs(attrs Attrs) (Attrs, error) {
	out := append(Attrs(nil), attrs...)
	if len(c.Dims) == 0 {
		return out, nil
	}
	for i, a := range out {
		var err error
		switch a := a.(type) {
		case types.Dim:
			out[i], err = a.Subst(c.Dims)
		case types.Shape:
			out[i], err = a.Subst(c.Dims)
		case []types.Tensor:
			out[i], err = SubstTypes(a, c.Dims)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SubstTypes returns ts with shape parameters replaced.
func SubstTypes(ts []types.Tensor, bind map[string]types.Dim) ([]types.Tensor, error) {
	out := make([]types.Tensor, len(ts))
	for i, t := range ts {
		s, err := t.Shape.Subst(bind)
		if err != nil {
			return nil, err
		}
		out[i] = types.Tensor{Elem: t.Elem, Shape: s}
	}
	return out, nil
}
