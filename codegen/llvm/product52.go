package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// The multiply-adds of IFMA add for nothing. A sum of products of which each is an element by itself, added to 0, would
// take an addition more: so what a reduction adds is looked up here, and multiplied onto its sum.

// product52 is half of a product of 52 bits, or a sum of such.
type product52 struct {
	upper bool
	w     int
	x, y  value.Value
	z     *product52 // what it was added to; nil for 0
}

// noteProduct keeps what s computes of args.
func (g *gen) noteProduct(s *kernel.Let, args []value.Value) {
	z := g.products[args[2]]
	if !g.machine.IFMA || z == nil && !g.isZero(s.In.Args[2]) {
		return
	}
	g.products[g.env[s.ID].v] = &product52{s.In.Op == scalar.Mul52Hi, g.w, args[0], args[1], z}
}

// addProduct is acc and p.
func (g *gen) addProduct(acc value.Value, p *product52) value.Value {
	if p.z != nil {
		acc = g.addProduct(acc, p.z)
	}
	return g.mul52(p.upper, p.w, p.x, p.y, acc)
}
