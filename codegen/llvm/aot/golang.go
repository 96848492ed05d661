package aot

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/format"
	"path"
	"reflect"
	"slices"
	"strings"

	"healc/codegen/llvm"
	"healc/codegen/llvm/aot/names"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// runtimePath is the import path of package runtime, whatever the path of the module that this program was built from.
var runtimePath = path.Dir(reflect.TypeFor[abi.Bundle]().PkgPath())

// Go is a Go package with a function for each entry, which carries the machine code with it and imports the packages
// runtime and runtime/tensor alone. Its name is that of the library (names.GoPackage).
func Go(l *Library) ([]byte, error) {
	bundle, err := Bundle(l)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(bundle)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	var b strings.Builder
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	processor := "arm64"
	if l.isX86(lib) {
		processor = "amd64"
	}
	fmt.Fprintf(&b, GoMark+"\n\n//go:build linux && %s\n\n", processor)
	fmt.Fprintf(&b, "// Package %s has compiled functions; they need neither healc nor libLLVM.\npackage %[1]s\n\n",
		names.GoPackage(l.Prefix))
	functions := ""
	for _, e := range l.Entries {
		functions += goFunction(e, names.Go(e.Name))
	}
	fmt.Fprintf(&b, "import (\n\t\"context\"\n\n\t%q\n", runtimePath)
	if strings.Contains(functions, "*tensor.Tensor") {
		fmt.Fprintf(&b, "\t%q\n", runtimePath+"/tensor")
	}
	b.WriteString(")\n\n" + functions)
	b.WriteString(
		"// Threads sets how many threads a call uses; 0 is HEAL_THREADS, or else one for each processor. Calls that " +
			"run may\n// go on with fewer.\nfunc Threads(n int) error { return code.SetThreads(n) }\n\n")
	fmt.Fprintf(&b, "var code = runtime.NewCompiled(%q)\n", base64.StdEncoding.EncodeToString(packed.Bytes()))
	return format.Source([]byte(b.String()))
}

// Bundle compiles the entries for every level.
func Bundle(l *Library) (*abi.Bundle, error) {
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	levels, took := l.levels(l.isX86(lib)), llvm.Locked(l.Took)
	bundle := &abi.Bundle{}
	if l.isX86(lib) && (l.Target.CPU != "" || l.Native) {
		if bundle.CPU, bundle.Needs = l.Target.CPU, levelOf(target.MachineOf(l.Target)); l.Native {
			bundle.CPU = "the processor of the machine where it was compiled"
		}
	}
	for _, level := range levels {
		name := level.Name
		if len(levels) == 1 {
			name = ""
		}
		bundle.Levels = append(bundle.Levels, name)
	}
	var texts []*llvm.Prepared
	var slots []*[]byte // for the objects of texts
	prepare := func(km *kernel.Module, sets map[string]tuned.Set) (abi.Code, error) {
		code := abi.Code{Plan: km.Plan}
		if len(km.Kernels) > 0 {
			code.Objects = make([][]byte, len(levels))
		}
		own, made := l.ownCode(km, sets, levels), make([]bool, len(levels))
		for i, level := range levels {
			for _, k := range km.Kernels {
				made[i] = made[i] || own[i][k.Name]
			}
			if i > 0 { // what is loaded in its place is of the level before, and not of another profile
				made[i] = made[i] || slices.Contains(made[below(levels, i)+1:i], true)
			}
			if !made[i] {
				continue
			}
			text, err := llvm.Prepare(km, level.target(l.Target), level.options(llvm.Options{Took: took, Tuned: sets,
				Unwind: true, Lines: l.Lines}))
			if err != nil {
				return code, err
			}
			texts, slots = append(texts, text), append(slots, &code.Objects[i])
		}
		return code, nil
	}
	for _, e := range l.Entries {
		f := abi.BundleFunc{Name: e.Name, Signature: e.Signature}
		for _, p := range e.Params {
			f.Params = append(f.Params, p.Name)
		}
		if f.Packed, err = prepare(e.Packed, e.Tuned); err != nil {
			return nil, err
		}
		if e.Strided != nil {
			code, err := prepare(e.Strided, nil)
			if err != nil {
				return nil, err
			}
			f.Strided = &code
		}
		bundle.Funcs = append(bundle.Funcs, f)
	}
	objects, err := compiled(texts)
	if err != nil {
		return nil, err
	}
	for i, slot := range slots {
		*slot = objects[i]
	}
	return bundle, nil
}

// goTypes are the Go types of scalars; those of 16-bit floats and of types that are only stored stay tensors.
var goTypes = map[types.DType]string{
	types.Bool: "bool", types.I8: "int8", types.I16: "int16", types.I32: "int32", types.I64: "int64",
	types.U8: "uint8", types.U16: "uint16", types.U32: "uint32", types.U64: "uint64", types.F32: "float32",
	types.F64: "float64",
}

// goFunction is a function, and a second one with places for the results where there are tensors among them.
func goFunction(e *Entry, name string) string {
	text := goForm(e, name, false)
	if slices.ContainsFunc(e.Results, isGoTensor) {
		text += goForm(e, name+names.Into, true)
	}
	return text
}

// isGoTensor reports that a result is a tensor in Go.
func isGoTensor(r types.Tensor) bool { return r.Rank() > 0 || goTypes[r.Elem] == "" }

// goForm is one of the two functions. Scalars go in and out by tensors that are lent for the call, so that it allocates
// nothing but the tensors that it returns.
func goForm(e *Entry, name string, into bool) string {
	n := names.NewLocals(names.InGo)
	var params, args, before []string
	for i, p := range e.Params {
		v := n.Take(p.Name)
		scalar := goTypes[p.Type.Elem]
		if !p.byValue() || scalar == "" {
			params, args = append(params, v+" *tensor.Tensor"), append(args, v)
			continue
		}
		t := n.Take(fmt.Sprintf("t%d", i))
		params, args = append(params, v+" "+scalar), append(args, t)
		before = append(before, fmt.Sprintf("%s := runtime.LendScalar(%s)\ndefer runtime.ReturnScalar[%s](%s)\n", t, v,
			scalar, t))
	}
	into = into || !slices.ContainsFunc(e.Results, isGoTensor) // there is nothing that it could make
	var results, places, placeParams, give, zero []string
	after := ""
	for i, r := range e.Results {
		scalar := goTypes[r.Elem]
		v := fmt.Sprintf("out[%d]", i)
		switch {
		case isGoTensor(r) && into:
			if v = "out"; len(e.Results) > 1 {
				v = n.Take(fmt.Sprintf("out%d", i))
			}
			places, placeParams = append(places, v), append(placeParams, v+" *tensor.Tensor")
			continue
		case isGoTensor(r):
			results, give, zero = append(results, "*tensor.Tensor"), append(give, v), append(zero, "nil")
			continue
		}
		none := "0"
		if scalar == "bool" {
			none = "false"
		}
		results, zero = append(results, scalar), append(zero, none)
		s := n.Take(fmt.Sprintf("s%d", i))
		if into {
			before = append(before, fmt.Sprintf("%s := runtime.LendScalar(%s(%s))\n", s, scalar, none))
			places, give = append(places, s), append(give, fmt.Sprintf("runtime.ReturnScalar[%s](%s)", scalar, s))
			continue
		}
		after += fmt.Sprintf("%s := runtime.TakeScalar[%s](%s)\n", s, scalar, v)
		give = append(give, s)
	}
	var b strings.Builder
	if base, ok := strings.CutSuffix(name, names.Into); ok && len(placeParams) > 0 {
		fmt.Fprintf(&b, "// %s is %s with its tensors written into those that are given, of the same types and "+
			"shapes.\n"+
			"// A second call with the same shapes allocates nothing. After an error their contents are undefined.\n",
			name, base)
	} else {
		fmt.Fprintf(&b, "// %s is %s.\n// ", name, e.Signature)
		if !into {
			b.WriteString("Tensors that it returns belong to the caller. ")
		}
		b.WriteString("A failure of the program is a *runtime.RuntimeError.\n")
	}
	fmt.Fprintf(&b, "func %s(%s) (%s) {\n%s", name,
		strings.Join(slices.Concat([]string{"ctx context.Context"}, placeParams, params), ", "),
		strings.Join(append(results, "error"), ", "), strings.Join(before, ""))
	list := strings.Join(append([]string{""}, args...), ", ")
	switch {
	case !into:
		fmt.Fprintf(&b, "out, err := code.Call(ctx, %q%s)\n", e.Name, list)
	case len(places) == 0:
		fmt.Fprintf(&b, "err := code.CallInto(ctx, %q, nil%s)\n", e.Name, list)
	default:
		fmt.Fprintf(&b, "err := code.CallInto(ctx, %q, []*tensor.Tensor{%s}%s)\n", e.Name, strings.Join(places, ", "),
			list)
	}
	if len(give) == 0 {
		b.WriteString("return err\n}\n\n")
		return b.String()
	}
	fmt.Fprintf(&b, "if err != nil {\nreturn %s\n}\n%sreturn %s\n}\n\n", strings.Join(append(zero, "err"), ", "), after,
		strings.Join(append(give, "nil"), ", "))
	return b.String()
}
