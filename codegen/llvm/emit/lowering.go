package emit

import (
	"fmt"
	"reflect"

	"healc/ir/kernel"
)

// Translate writes the code of a statement. after are the statements behind it in its block; it returns those of them
// whose code it has written, too.
type Translate func(g *Func, s kernel.Stmt, after []kernel.Stmt) (taken []kernel.Stmt)

// Registry has the translation of each kind of statement. Statements of a single iteration are registered here. Loops,
// branches and reductions, whose code depends on the code around them, are registered by the packages that write them.
type Registry map[reflect.Type]Translate

// Register gives statements of type S their translation.
func Register[S kernel.Stmt](r Registry, f func(g *Func, s S)) {
	RegisterWithRest(r, func(g *Func, s S, _ []kernel.Stmt) []kernel.Stmt {
		f(g, s)
		return nil
	})
}

// RegisterWithRest is Register for a translation that may take statements after s with it.
func RegisterWithRest[S kernel.Stmt](r Registry, f func(g *Func, s S, after []kernel.Stmt) []kernel.Stmt) {
	r[reflect.TypeFor[S]()] = func(g *Func, s kernel.Stmt, after []kernel.Stmt) []kernel.Stmt {
		return f(g, s.(S), after)
	}
}

// RegisterScalars registers the statements of one iteration.
func RegisterScalars(r Registry) {
	Register(r, (*Func).Let)
	Register(r, func(g *Func, s *kernel.DimValue) { g.Set(s.ID, g.Dim(s.Dim), false) })
	Register(r, (*Func).load)
	Register(r, (*Func).Store)
	Register(r, (*Func).iterate)
	Register(r, (*Func).scalarCall)
}

// Block translates statements in order.
func (g *Func) Block(b *kernel.Block) {
	done := map[kernel.Stmt]bool{}
	if g.Lined != nil {
		defer func(outer spot) {
			g.stamp()
			g.Lined.now = outer
		}(g.Lined.now)
	}
	for i, s := range b.Stmts {
		if g.Lined != nil {
			g.atStatement(s)
		}
		if done[s] || g.Intercept != nil && g.Intercept(s) {
			continue
		}
		translate := g.Registry[reflect.TypeOf(s)]
		if translate == nil {
			panic(fmt.Sprintf("BUG: no translation of %T", s))
		}
		for _, t := range translate(g, s, b.Stmts[i+1:]) {
			done[t] = true
		}
	}
}

// State returns the data that feature T keeps about a function while its code is written: the same for each call, empty
// at first. So a feature that few kernels have is known to its own files alone.
func State[T any](g *Func) *T {
	key := reflect.TypeFor[T]()
	if s, ok := g.Features[key]; ok {
		return s.(*T)
	}
	s := new(T)
	g.Features[key] = s
	return s
}
