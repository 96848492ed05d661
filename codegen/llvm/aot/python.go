package aot

import (
	_ "embed"
	"fmt"
	"strings"

	"healc/lang/types"
)

//go:embed module.py
var pythonText string

var numpyTypes = map[types.DType]string{
	types.Bool: "bool_", types.I8: "int8", types.I16: "int16", types.I32: "int32", types.I64: "int64",
	types.U8: "uint8", types.U16: "uint16", types.U32: "uint32", types.U64: "uint64",
	types.F16: "float16", types.BF16: "uint16", types.F32: "float32", types.F64: "float64",
}

// pythonReserved are words that cannot name a parameter in Python, and the names that the functions use.
var pythonReserved = strings.Fields(
	`False None True and as assert async await break class continue def del elif else except finally for from
	global if import in is lambda nonlocal not or pass raise return try while with yield out`)

// Python is a Python module that calls a library by ctypes, on NumPy arrays without copies. file is the library's
// name, in the folder of the module.
func Python(l *Library, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"\"\"\"Made by healc: the functions of %s, on NumPy arrays, which are not copied.\n\n"+
			"bf16 is the bits in uint16. Failures of the program are exceptions.\n\"\"\"\n", file)
	b.WriteString(strings.Replace(pythonText, "_FILE", pythonString(file), 1))
	for _, e := range l.Entries {
		b.WriteString(pythonFunction(l.Prefix, e))
	}
	return b.String()
}

func pythonString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// pythonFunction is the text of one function, from top to bottom.
func pythonFunction(prefix string, e *Entry) string {
	n := names{}
	for _, w := range pythonReserved {
		n[w] = true
	}
	known := map[string]string{} // expressions of shape parameters
	var params, arrays, lines []string
	for _, p := range e.Params {
		name := n.take(p.Name)
		params = append(params, name)
		arrays = append(arrays, name)
		written := ""
		if p.Update {
			written = ", True"
		}
		lines = append(lines, fmt.Sprintf("%s = _array(%q, %s, _np.dtype(_np.%s), %d%s)", name, name, name,
			numpyTypes[p.Type.Elem], p.Type.Rank(), written))
	}
	// The shape parameters, as far as the arguments say; the library checks what is left.
	for again := true; again; {
		again = false
		for i, p := range e.Params {
			for k, d := range p.Type.Shape {
				name, coef, rest, ok := unknown(d, known)
				if !ok {
					continue
				}
				v := n.take(name)
				value := fmt.Sprintf("%s.shape[%d]", params[i], k)
				if !rest.IsConst(0) {
					value = fmt.Sprintf("(%s - (%s))", value, pythonDim(rest, known))
				}
				if !coef.IsConst(1) {
					value = fmt.Sprintf("%s // max(%s, 1)", value, pythonDim(coef, known))
				}
				lines = append(lines, fmt.Sprintf("%s = %s", v, value))
				known[name], again = v, true
			}
		}
	}
	var results []string
	for i, r := range e.Results {
		shape := "()"
		given := "out"
		if len(e.Results) > 1 {
			given = fmt.Sprintf("out and out[%d]", i)
		}
		var extents []string
		for _, d := range r.Shape {
			extents = append(extents, fmt.Sprintf("max(%s, 0)", pythonDim(d, known)))
		}
		if len(extents) > 0 {
			shape = "(" + strings.Join(extents, ", ") + ",)"
		}
		v := n.take(resultName(e, i))
		lines = append(lines, fmt.Sprintf("%s = _result(%s, _np.dtype(_np.%s), %s)", v, given, numpyTypes[r.Elem],
			shape))
		results = append(results, v)
	}
	lines = append(lines, fmt.Sprintf("_call(_lib.%s_tensors, [%s], [%s])", Symbol(prefix, e.Name),
		strings.Join(arrays, ", "), strings.Join(results, ", ")))
	var give []string
	for i, r := range results {
		if e.Results[i].Rank() == 0 {
			r += "[()]"
		}
		give = append(give, r)
	}
	if len(give) > 0 {
		lines = append(lines, "return "+strings.Join(give, ", "))
		params = append(params, "out=None")
	}
	var b strings.Builder
	name := strings.Trim(Identifier(e.Name), "_")
	for n := range pythonReserved {
		if pythonReserved[n] == name {
			name += "_"
		}
	}
	fmt.Fprintf(&b, "\n\ndef %s(%s):\n    %s\n", name, strings.Join(params, ", "), pythonDoc(e))
	for _, l := range lines {
		b.WriteString("    " + l + "\n")
	}
	return b.String()
}

func pythonDoc(e *Entry) string {
	doc := e.Signature + "."
	if len(e.Results) > 0 {
		doc += " The results go to `out` when it is given."
	}
	return `"""` + doc + `"""`
}

// pythonDim is the value of a dim whose parameters have expressions; one that has none stands for 0, which the
// library refuses.
func pythonDim(d types.Dim, known map[string]string) string {
	var parts []string
	for _, t := range d.Terms() {
		factors := []string{fmt.Sprint(t.Coef)}
		for _, v := range t.Vars {
			x, ok := known[v]
			if !ok {
				x = "0"
			}
			factors = append(factors, x)
		}
		if t.Coef == 1 && len(t.Vars) > 0 {
			factors = factors[1:]
		}
		parts = append(parts, strings.Join(factors, " * "))
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, " + ")
}
