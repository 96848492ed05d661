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
	Supported bool      // false for a function that this version refuses with E0501
}

// Functions lists the functions of the language, sorted by name.
func Functions() []Function {
	var out []Function
	for name, b := range builtins() {
		out = append(out, Function{Name: name, Signature: b.signature(name), Op: b.op, Supported: true})
	}
	for name := range laterFunctions() {
		out = append(out, Function{Name: name, Signature: name + "(...)"})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// LookupFunction returns the function of the language called name.
func LookupFunction(name string) (Function, bool) {
	if b := builtins()[name]; b != nil {
		return Function{Name: name, Signature: b.signature(name), Op: b.op, Supported: true}, true
	}
	return Function{Name: name, Signature: name + "(...)"}, laterFunctions()[name]
}
