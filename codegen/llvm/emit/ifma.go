package emit

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// The multiply-adds of IFMA add for nothing. A sum of products of which each is an element by itself, added to 0, would
// take an addition more: so the term that a reduction adds is looked up here, and multiplied onto its sum.

// product52 is half of a product of 52 bits, or a sum of such.
type product52 struct {
	upper bool
	w     int
	x, y  value.Value
	z     *product52 // the sum that it was added to; nil for 0
}

// noteProduct keeps the product that s computes from args.
func (g *Func) noteProduct(s *kernel.Let, args []value.Value) {
	z := g.Products[args[2]]
	if !g.Machine.IFMA || z == nil && !g.IsZero(s.In.Args[2]) {
		return
	}
	g.Products[g.Env[s.ID].V] = &product52{s.In.Op == scalar.Mul52Hi, g.Width, args[0], args[1], z}
}

// AddProduct is acc and p.
func (g *Func) AddProduct(acc value.Value, p *product52) value.Value {
	if p.z != nil {
		acc = g.AddProduct(acc, p.z)
	}
	return g.mul52(p.upper, p.w, p.x, p.y, acc)
}
