package emit

import "github.com/llir/llvm/ir/value"

// Lanes is for how many iterations at once code is written. The zero Lanes is code for one.
type Lanes struct {
	Width int         // iterations of the vectorised axis, 0 in scalar code
	Mask  value.Value // of the lanes that load and store; nil when all do, see Note [Tails] in codegen/llvm/loops
	// Scalarise writes the iterations of the current vector one by one, for a check that fails.
	Scalarise func()
	finished  value.Value // in a loop that may end early: the iterations for which it has, or nil
}

// In writes code for lanes, and goes on with those before.
func (g *Func) In(l Lanes, write func()) {
	outer := g.Lanes
	g.Lanes = l
	write()
	g.Lanes = outer
}

// InVectors writes code for w iterations at once.
func (g *Func) InVectors(w int, write func()) {
	l := g.Lanes
	l.Width = w
	g.In(l, write)
}

// Masked writes code whose loads and stores are those of the lanes of a mask.
func (g *Func) Masked(mask value.Value, write func()) {
	l := g.Lanes
	l.Mask = mask
	g.In(l, write)
}

// SplatTo copies x into every element of a vector of w.
func (g *Func) SplatTo(x value.Value, w int) (v value.Value) {
	g.InVectors(w, func() { v = g.Splat(x) })
	return v
}
