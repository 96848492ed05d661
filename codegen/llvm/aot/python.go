package aot

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"healc/codegen/llvm/aot/names"
	"healc/lang/types"
)

//go:embed module.py
var moduleText string

var numpyTypes = map[types.DType]string{
	types.Bool: "bool_", types.I8: "int8", types.I16: "int16", types.I32: "int32", types.I64: "int64",
	types.U8: "uint8", types.U16: "uint16", types.U32: "uint32", types.U64: "uint64",
	types.F16: "float16", types.BF16: "uint16", types.F32: "float32", types.F64: "float64",
	types.F8E4M3: "uint8", types.F8E5M2: "uint8", types.E8M0: "uint8",
	types.I4: "int8", types.F4E2M1: "uint8",
}

// dlpackTypes are the element types that are those of NumPy in memory, and have names of their own in DLPack.
var dlpackTypes = map[types.DType]string{
	types.BF16: "bfloat16", types.F8E4M3: "float8_e4m3fn", types.F8E5M2: "float8_e5m2", types.E8M0: "float8_e8m0fnu",
}

// elementType is the name of an element type in module.py.
func elementType(d types.DType) string { return cmp.Or(dlpackTypes[d], numpyTypes[d]) }

// Python is a Python module that calls a library by ctypes, on NumPy arrays without copies. file is the library's
// name, in the folder of the module.
func Python(l *Library, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"\"\"\"%s: the functions of %s, on arrays of NumPy and of what has DLPack, which are not copied.\n\n"+
			"bf16 is the bits in uint16, f8e4m3, f8e5m2, e8m0 and f4e2m1 are those in uint8, i4 is an int8. "+
			"Failures of the program are exceptions.\n\"\"\"\n", Mark, pythonText(file))
	b.WriteString("from __future__ import annotations as _annotations\n\n")
	b.WriteString(strings.NewReplacer("_FILE", pythonString(file), "_PREFIX_", l.Prefix+"_").Replace(moduleText))
	all := slices.Clone(names.PythonOwn)
	functions := ""
	for _, e := range l.Entries {
		functions += pythonFunction(l.Prefix, e)
		all = append(all, names.Python(e.Name))
	}
	b.WriteString("\n\n__all__ = [\n")
	for _, name := range all {
		fmt.Fprintf(&b, "    %q,\n", name)
	}
	b.WriteString("]\n" + functions)
	return b.String()
}

func pythonString(s string) string { return `"` + pythonText(s) + `"` }

// pythonText is text in a string of Python.
func pythonText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// pythonScalar converts a scalar argument, and says its type in Python.
func pythonScalar(name string, d types.DType) (convert, typ string) {
	switch {
	case d == types.Bool:
		return fmt.Sprintf("_bool(%q, %s)", name, name), "_b.bool"
	case d == types.F64:
		return fmt.Sprintf("_float(%q, %s, _c.c_double)", name, name), "_b.float"
	case d == types.F32:
		return fmt.Sprintf("_float(%q, %s, _c.c_float)", name, name), "_b.float"
	case d == types.F16:
		return fmt.Sprintf("_half(%q, %s)", name, name), "_b.float"
	}
	bits, low, kind := 8*d.Bytes(), "0", numpyTypes[d]
	high := fmt.Sprint(uint64(1)<<bits - 1)
	if bits == 64 {
		high = fmt.Sprint(uint64(math.MaxUint64))
	}
	if kind[0] == 'i' {
		low, high = fmt.Sprint(int64(-1)<<(bits-1)), fmt.Sprint(uint64(1)<<(bits-1)-1)
	}
	return fmt.Sprintf("_int(%q, %s, _c.c_%s, %s, %s)", name, name, kind, low, high), "_b.int"
}

// pythonFunction is the text of one function, from top to bottom.
func pythonFunction(prefix string, e *Entry) string {
	n := names.NewLocals(names.InPython)
	var params, head, arrays, lines []string
	for _, p := range e.Params {
		name := n.Take(p.Name)
		params = append(params, name)
		arrays = append(arrays, name)
		if p.byValue() {
			convert, typ := pythonScalar(name, p.Type.Elem)
			lines = append(lines, fmt.Sprintf("%s = %s", name, convert))
			head = append(head, name+": "+typ)
			continue
		}
		written, typ := "", "_npt.ArrayLike | _DLPack"
		if p.Update {
			written, typ = ", True", pythonArray(p.Type)+" | _DLPack"
		}
		head = append(head, name+": "+typ)
		lines = append(lines, fmt.Sprintf("%s = _array(%q, %s, _%s, %d%s)", name, name, name,
			elementType(p.Type.Elem), p.Type.Rank(), written))
	}
	dims, known := pythonDims(e, params, n)
	lines = append(lines, dims...)
	if len(e.Results) > 1 {
		lines = append(lines, fmt.Sprintf("out = _outs(out, %d)", len(e.Results)))
	}
	var results, give, kinds []string
	for i, r := range e.Results {
		shape, given := "()", "out"
		if len(e.Results) > 1 {
			given = fmt.Sprintf("out[%d]", i)
		}
		var extents []string
		for _, d := range r.Shape {
			extents = append(extents, fmt.Sprintf("_extent(%s)", pythonDim(d, known)))
		}
		if len(extents) > 0 {
			shape = "(" + strings.Join(extents, ", ") + ",)"
		}
		v := n.Take(resultName(e, i))
		lines = append(lines, fmt.Sprintf("%s = _result(%s, _%s, %s)", v, given, elementType(r.Elem),
			shape))
		results = append(results, v)
		if r.Rank() == 0 {
			give, kinds = append(give, v+"[()]"), append(kinds, "_np."+numpyTypes[r.Elem])
		} else {
			give = append(give, fmt.Sprintf("%s if %s is None else %[2]s", v, given))
			kinds = append(kinds, pythonArray(r))
		}
	}
	lines = append(lines, fmt.Sprintf("_call(_lib.%s, [%s], [%s])", names.C(prefix, e.Name)+names.Tensors,
		strings.Join(arrays, ", "), strings.Join(results, ", ")))
	typ := "None"
	if len(give) > 0 {
		lines = append(lines, "return "+strings.Join(give, ", "))
		out := pythonArray(e.Results[0]) + " | _DLPack"
		if typ = kinds[0]; len(give) > 1 {
			var outs []string
			for _, r := range e.Results {
				outs = append(outs, pythonArray(r)+" | _DLPack | None")
			}
			typ = "_b.tuple[" + strings.Join(kinds, ", ") + "]"
			out = "_b.tuple[" + strings.Join(outs, ", ") + "]"
		}
		head = append(head, "out: "+out+" | None = None")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\ndef %s(%s) -> %s:\n    %s\n", names.Python(e.Name), strings.Join(head, ", "), typ,
		pythonDoc(e))
	for _, l := range lines {
		b.WriteString("    " + l + "\n")
	}
	return b.String()
}

// pythonDims are the lines that find the shape parameters, as far as the arguments say, and their names. params are
// those of the arguments.
func pythonDims(e *Entry, params []string, n *names.Locals) (lines []string, known map[string]string) {
	known = map[string]string{}
	for again := true; again; {
		again = false
		for i, p := range e.Params {
			for k, d := range p.Type.Shape {
				name, coef, rest, ok := unknown(d, known)
				if !ok {
					continue
				}
				v := n.Take(name)
				value := fmt.Sprintf("%s.shape[%d]", params[i], k)
				if !rest.IsConst(0) {
					value = fmt.Sprintf("(%s - (%s))", value, pythonDim(rest, known))
				}
				if !coef.IsConst(1) {
					value = fmt.Sprintf("%s // (_extent(%s) or 1)", value, pythonDim(coef, known))
				}
				lines = append(lines, fmt.Sprintf("%s = %s", v, value))
				known[name], again = v, true
			}
		}
	}
	return lines, known
}

// pythonArray is the type of an array in annotations.
func pythonArray(t types.Tensor) string { return "_npt.NDArray[_np." + numpyTypes[t.Elem] + "]" }

func pythonDoc(e *Entry) string {
	doc := pythonText(e.Signature) + "."
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
