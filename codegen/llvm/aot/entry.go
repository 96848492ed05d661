package aot

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// callPlan calls the plan of a variant and returns the name of its code.
func (w *writer) callPlan(f *emitter, e *Entry, variant int, dims, in, out string) string {
	level := "0"
	if len(w.levels) > 1 {
		level = f.v("sext i32 %s to i64", f.v("load i32, ptr @heal.level, align 4"))
	}
	slot := f.v("getelementptr [%d x ptr], ptr @%s.kernels, i64 0, i64 %s", len(w.levels), base(e, variant), level)
	kernels := f.v("load ptr, ptr %s, align 8", slot)
	return f.v("call i32 @%s.0(ptr %s, ptr %s, ptr %s, ptr %s, i64 0)", base(e, variant), dims, in, out, kernels)
}

// byValue reports that a parameter is a C scalar.
func (p Param) byValue() bool { return p.Type.Rank() == 0 && !p.Update }

// memType is the LLVM type of an element, of a C argument too.
func memType(d types.DType) string {
	switch d {
	case types.F32:
		return "float"
	case types.F64:
		return "double"
	}
	return fmt.Sprintf("i%d", 8*d.Bytes())
}

// direct writes the C function that takes extents and addresses of row-major tensors, for a variant. head is how it
// is linked, its type and its name.
func (w *writer) direct(e *Entry, variant int, head string) {
	f := newEmitter()
	var sig []string
	for i, d := range e.Dims {
		sig = append(sig, fmt.Sprintf("i64 %%d%d", i))
		f.dims[d] = fmt.Sprintf("%%d%d", i)
	}
	in, out, dims := f.array(len(e.Params)), f.array(len(e.Results)), f.array(len(e.Dims))
	for i, d := range e.Dims {
		f.unless(f.v("icmp ugt i64 %%d%d, %d", i, types.MaxExtent), func() {
			w.refuse(f, fmt.Sprintf("%s: the extent %s is %%lld", e.Name, d), fmt.Sprintf("%%d%d", i))
		})
		f.storeWord(dims, i, f.dims[d])
	}
	var places []place
	for i, p := range e.Params {
		if p.byValue() {
			sig = append(sig, fmt.Sprintf("%s %%a%d", memType(p.Type.Elem), i))
			slot := f.alloca(memType(p.Type.Elem), 8)
			f.do("store %s %%a%d, ptr %s, align 8", memType(p.Type.Elem), i, slot)
			f.storePtr(in, i, slot)
			continue
		}
		addr := fmt.Sprintf("%%a%d", i)
		sig = append(sig, "ptr "+addr)
		f.storePtr(in, i, addr)
		places = append(places, f.dense(p.Name, p.Type, addr, p.Update))
	}
	for i, r := range e.Results {
		addr := fmt.Sprintf("%%r%d", i)
		sig = append(sig, "ptr "+addr)
		f.storePtr(out, i, addr)
		places = append(places, f.dense(resultName(e, i), r, addr, true))
	}
	w.apart(f, e, places)
	f.do("ret i32 %s", w.callPlan(f, e, variant, dims, in, out))
	fmt.Fprintf(&w.b, "define %s(%s) {\n%s%s}\n", head, strings.Join(sig, ", "), f.head.String(),
		f.body.String())
}

// refuse leaves a C function because an argument does not fit.
func (w *writer) refuse(f *emitter, format string, values ...string) {
	args := ""
	for _, v := range values {
		args += ", i64 " + v
	}
	f.v("call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %s%s)", w.text(format), args)
	f.do("ret i32 %d", CodeArgument)
}

// place is the memory of an argument: the addresses [low, high), which are values of type i64.
type place struct {
	name      string
	low, high string
	written   bool
}

// dense is the place of a row-major tensor.
func (f *emitter) dense(name string, t types.Tensor, addr string, written bool) place {
	bytes := fmt.Sprint(t.Elem.Bytes())
	for _, d := range t.Shape {
		bytes = f.v("mul i64 %s, %s", bytes, f.dim(d))
	}
	low := f.v("ptrtoint ptr %s to i64", addr)
	low = f.v("select i1 %s, i64 0, i64 %s", f.v("icmp eq i64 %s, 0", bytes), low) // no elements share no memory
	return place{name: name, low: low, high: f.v("add i64 %s, %s", low, bytes), written: written}
}

// apart checks that what the function writes is not part of another argument: kernels read and write in any order.
func (w *writer) apart(f *emitter, e *Entry, places []place) {
	for i, a := range places {
		for k, b := range places {
			if !a.written || k == i || b.written && k < i {
				continue
			}
			x := f.v("icmp slt i64 %s, %s", a.low, b.high)
			y := f.v("icmp slt i64 %s, %s", b.low, a.high)
			f.unless(f.v("and i1 %s, %s", x, y), func() {
				w.refuse(f, fmt.Sprintf("%s: %s is written and shares memory with %s", e.Name, a.name, b.name))
			})
		}
	}
}

// resultName is the name of a result in messages and in the header.
func resultName(e *Entry, i int) string {
	if len(e.Results) == 1 {
		return "result"
	}
	return fmt.Sprintf("result%d", i)
}
