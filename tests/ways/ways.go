// Package ways says how programs of suites are compiled: with each effort, for the shapes of a call and for any, loaded
// from the cache and not. What one way gets wrong, a suite that compiles its programs in another one does not see:
// programs that run once get other code than libraries do.
//
// A case is compiled in one way a day, another one on the next, and in all of them in the long tests. HEAL_TEST_WAY
// names the way for all cases.
package ways

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"testing"

	"healc/codegen/llvm"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/tests/sample"
)

// Env is the environment variable that names a way.
const Env = "HEAL_TEST_WAY"

// Way is how a program is compiled.
type Way struct {
	Name     string
	Once     bool // it runs once: code that runs briefly gets the least effort
	Vectors  bool // of these, it gets vector code
	AnyShape bool // as libraries have it
	Cached   bool // what runs is loaded from the cache
}

// Those that compile what runs. The kinds of effort are least, full and quick.
var (
	Least    = Way{Name: "least", Once: true}
	Full     = Way{Name: "full"}
	Quick    = Way{Name: "quick", Once: true, Vectors: true}
	AnyShape = Way{Name: "anyshape", AnyShape: true}
)

// All are the ways.
var All = []Way{
	Least, Full, Quick, AnyShape,
	{Name: "least,cached", Once: true, Cached: true},
	{Name: "full,cached", Cached: true},
	{Name: "quick,cached", Once: true, Vectors: true, Cached: true},
	{Name: "anyshape,cached", AnyShape: true, Cached: true},
}

// named is the way of Env, nil where it is not set.
func named() []Way {
	name := os.Getenv(Env)
	if name == "" {
		return nil
	}
	for _, w := range All {
		if w.Name == name {
			return []Way{w}
		}
	}
	panic(fmt.Sprintf("%s=%s is no way to compile", Env, name))
}

// Each are the ways of case number i: one of All, with the same chance, or all of them in the long tests.
func Each(i int) []Way {
	switch ways := named(); {
	case ways != nil:
		return ways
	case sample.All():
		return All
	}
	return All[i%len(All) : i%len(All)+1]
}

// Drawn are the ways of a case with this text: one of All, which the text and the day draw, so that it is independent
// of all that the cases of a suite take in turns.
func Drawn(text string) []Way {
	h := fnv.New32a()
	fmt.Fprintln(h, sample.Day(), text)
	return Each(int(h.Sum32() % uint32(len(All))))
}

// Usual are the ways of case number i of a suite whose programs are many and small: on a day, one of so many is
// compiled in another way than Least, which costs the least.
func Usual(i, of int) []Way { return mostly(Least, i, of) }

// Thorough are the ways of case number i of a suite that is about the code of Full: on a day, one of so many is
// compiled in another way.
func Thorough(i, of int) []Way { return mostly(Full, i, of) }

func mostly(usual Way, i, of int) []Way {
	if named() != nil || sample.All() {
		return Each(i)
	}
	turn := i + sample.Day()
	if turn%of > 0 {
		return []Way{usual}
	}
	others := slices.DeleteFunc(slices.Clone(All), func(w Way) bool { return w == usual })
	return others[(i/of+turn/of)%len(others):][:1]
}

// memo has what libLLVM made of a text, which is the same each time: several cases of a suite come to the same kernel.
var memo llvm.Memo

// Set makes o compile in this way, where o has the cache of the suite.
func (w Way) Set(o *engine.Options) {
	o.Debug.Memo = &memo
	o.Once, o.Debug.Vectors, o.Debug.AnyShape = w.Once, w.Vectors, w.AnyShape
	if !w.Cached {
		o.Cache = nil
	}
}

// Options are o for this way, once for each time that a program has to be compiled: a second time where what runs is
// loaded from the cache, which is one of its own then.
func (w Way) Options(t testing.TB, o engine.Options) []engine.Options {
	if w.Cached {
		o.Cache = &cache.Cache{Dir: t.TempDir()}
	}
	w.Set(&o)
	if w.Cached {
		return []engine.Options{o, o}
	}
	return []engine.Options{o}
}

// Run calls f with each of the Options. It stops at the first error.
func (w Way) Run(t testing.TB, o engine.Options, f func(o engine.Options) error) error {
	for _, o := range w.Options(t, o) {
		if err := f(o); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

// String is the variable that names the way for all cases.
func (w Way) String() string { return Env + "=" + w.Name }
