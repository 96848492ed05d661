package llvm

import (
	"fmt"
	"reflect"

	"healc/ir/kernel"
)

// Translate writes the code of a statement. after are the statements behind it in its block; it returns those of them
// whose code it has written, too.
type Translate func(g *gen, s kernel.Stmt, after []kernel.Stmt) (taken []kernel.Stmt)

// Registry has the translation of each kind of statement. What stands in kernel IR for one iteration alone is
// registered here; loops, branches and reductions, whose code depends on what is around them, by the packages that
// write them.
type Registry map[reflect.Type]Translate

// register gives statements of type S their translation.
func register[S kernel.Stmt](r Registry, f func(g *gen, s S)) {
	registerWithRest(r, func(g *gen, s S, _ []kernel.Stmt) []kernel.Stmt {
		f(g, s)
		return nil
	})
}

// registerWithRest is register for a translation that may take statements after s with it.
func registerWithRest[S kernel.Stmt](r Registry, f func(g *gen, s S, after []kernel.Stmt) []kernel.Stmt) {
	r[reflect.TypeFor[S]()] = func(g *gen, s kernel.Stmt, after []kernel.Stmt) []kernel.Stmt {
		return f(g, s.(S), after)
	}
}

// registerScalars registers the statements of one iteration.
func registerScalars(r Registry) {
	register(r, (*gen).let)
	register(r, func(g *gen, s *kernel.DimValue) { g.set(s.ID, g.dim(s.Dim), false) })
	register(r, (*gen).load)
	register(r, (*gen).store)
	register(r, (*gen).iterate)
	register(r, (*gen).scalarCall)
}

// block translates statements in order.
func (g *gen) block(b *kernel.Block) {
	done := map[kernel.Stmt]bool{}
	if g.lined != nil {
		defer func(outer spot) {
			g.stamp()
			g.lined.now = outer
		}(g.lined.now)
	}
	for i, s := range b.Stmts {
		if g.lined != nil {
			g.atStatement(s)
		}
		if done[s] || g.statement != nil && g.statement(s) {
			continue
		}
		translate := g.registry[reflect.TypeOf(s)]
		if translate == nil {
			panic(fmt.Sprintf("BUG: no translation of %T", s))
		}
		for _, t := range translate(g, s, b.Stmts[i+1:]) {
			done[t] = true
		}
	}
}

// state returns what feature T keeps of a function while its code is written: the same for each call, empty at first.
// So a feature that few kernels have is known to its own files alone.
func state[T any](g *gen) *T {
	key := reflect.TypeFor[T]()
	if s, ok := g.features[key]; ok {
		return s.(*T)
	}
	s := new(T)
	g.features[key] = s
	return s
}
