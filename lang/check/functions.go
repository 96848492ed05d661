package check

import (
	"sort"

	"healc/ir"
)

// Function is a function of the language, for manuals and editors.
type Function struct {
	Name      string
	Signature string    // `sum(x, axis = ..., keep = ...)`
	Op        *ir.OpDef // of an element-wise function; else nil
}

// Functions lists the functions of the language, sorted by name.
func Functions() []Function {
	var out []Function
	for name, b := range frontEnd().Functions {
		out = append(out, Function{Name: name, Signature: b.Signature(name), Op: b.Op})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// LookupFunction returns the function of the language called name.
func LookupFunction(name string) (Function, bool) {
	b := frontEnd().Functions[name]
	if b == nil {
		return Function{}, false
	}
	return Function{Name: name, Signature: b.Signature(name), Op: b.Op}, true
}
