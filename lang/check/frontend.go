package check

import (
	"sync"

	"healc/lang/check/builtins"
	"healc/lang/check/grad"
	"healc/lang/check/indexing"
	"healc/lang/check/infer"
	"healc/lang/check/operators"
)

// forms are the expressions with signs of their own. An expression is of one form: the order says what is asked first.
var forms = []infer.Form{
	{Name: "operator", Examples: []string{"x .+ x", "-x", "x as f64"}, Typed: operators.Form},
	{Name: "index", Examples: []string{"x[1, ..]", "0..4"}, Typed: indexing.Form},
	{Name: "reduction", Examples: []string{"+/x", "(|a, e| a + e)/x"}, Typed: builtins.Reduction},
}

// transforms are the functions that are made of functions, in the order in which they are tried: the first that reads
// an expression has it.
var transforms = []infer.TransformForm{
	{Name: "derivative", Read: grad.Read,
		Examples: []string{"grad(f)", "vjp(f, wrt = w)", "custom_vjp(f, rule)", "checkpoint(f)"}},
}

// frontEnd is the language. It is made when it is asked for: not every command of healc checks a program.
var frontEnd = sync.OnceValue(func() *infer.Language {
	l := &infer.Language{Functions: map[string]*infer.Builtin{}, Forms: forms, Transforms: transforms,
		Assign: indexing.Assign, Arithmetic: operators.IsArithmetic}
	l.Add(builtins.Functions()...)
	l.Add(grad.Functions())
	return l
})
