package aot

import (
	"fmt"

	"healc/lang/types"
)

// operand is an argument or result of the checked C function: a heal_tensor.
type operand struct {
	name    string
	typ     types.Tensor
	written bool
	param   bool

	data, shape, strides string // values: addresses
	dense                string // a flag: row-major
	place                place
}

// checked writes the C function that takes an array of tensors and one of results, each with shape and strides, and
// checks everything before it calls the plan that suits: the variant for packed arguments when all are.
func (w *writer) checked(e *Entry, variant int, head string) {
	f := newEmitter()
	var ops []*operand
	for _, p := range e.Params {
		ops = append(ops, &operand{name: p.Name, typ: p.Type, written: p.Update, param: true})
	}
	for i, r := range e.Results {
		ops = append(ops, &operand{name: resultName(e, i), typ: r, written: true})
	}
	if len(e.Params) > 0 {
		w.there(f, "%args", e.Name+": there are no arguments")
	}
	if len(e.Results) > 0 {
		w.there(f, "%results", e.Name+": there are no results")
	}
	for i, o := range ops {
		from, at := "%args", i
		if !o.param {
			from, at = "%results", i-len(e.Params)
		}
		o.data, o.shape, o.strides = f.loadPtr(from, 3*at), f.loadPtr(from, 3*at+1), f.loadPtr(from, 3*at+2)
		if len(o.typ.Shape) > 0 {
			w.there(f, o.shape, fmt.Sprintf("%s: %s has no shape", e.Name, o.name))
		}
	}
	w.bind(f, e, ops)
	for _, o := range ops {
		w.layout(f, e, o)
	}
	var places []place
	for _, o := range ops {
		places = append(places, o.place)
	}
	w.apart(f, e, places)

	in, out := f.array(len(e.Params)), f.array(len(e.Results))
	for i := range e.Params {
		f.storePtr(in, i, ops[i].data)
	}
	if e.Ranks != nil {
		for _, o := range ops[:len(e.Params)] {
			f.unless(f.v("xor i1 %s, true", o.dense), func() {
				w.refuse(f, fmt.Sprintf("%s: %s is not row-major, and code for ranks takes no other strides", e.Name,
					o.name))
			})
		}
	}
	memory, finish := w.resultMemory(f, ops[len(e.Params):])
	for i, addr := range memory {
		f.storePtr(out, i, addr)
	}
	dims := f.array(len(e.Dims) + 16*len(e.Params))
	for i, d := range e.Dims {
		f.storeWord(dims, i, f.dims[d])
	}
	all := "true"
	for _, o := range ops[:len(e.Params)] {
		all = f.v("and i1 %s, %s", all, o.dense)
	}
	code := f.alloca("i32", 4)
	packed, any, after := f.label(), f.label(), f.label()
	if e.Strided == nil {
		all = "true"
	}
	f.branch(all, packed, any)
	f.at(packed)
	f.do("store i32 %s, ptr %s, align 4", w.callPlan(f, e, variant, dims, in, out), code)
	f.jump(after)
	f.at(any)
	if e.Strided != nil {
		at := len(e.Dims)
		for _, o := range ops[:len(e.Params)] {
			for k := range o.typ.Shape {
				f.storeWord(dims, at, f.loadWord(o.strides, k))
				at++
			}
		}
		f.do("store i32 %s, ptr %s, align 4", w.callPlan(f, e, variant+1, dims, in, out), code)
	}
	f.jump(after)
	f.at(after)
	result := f.v("load i32, ptr %s, align 4", code)
	finish(result)
	f.do("ret i32 %s", result)
	fmt.Fprintf(&w.b, "define %s(ptr %%args, ptr %%results) {\n%s%s}\n", head, f.head.String(), f.body.String())
}

// there refuses an address that is NULL.
func (w *writer) there(f *emitter, addr, message string) {
	f.unless(f.v("icmp eq ptr %s, null", addr), func() { w.refuse(f, message) })
}

// bind finds the values of the shape parameters from the shapes of arguments and results, as ir.BindDims does, and
// checks all extents.
func (w *writer) bind(f *emitter, e *Entry, ops []*operand) {
	for known, solve := -1, false; known < len(f.dims); solve = true {
		if solve {
			known = len(f.dims)
		}
		for _, o := range ops {
			for k, d := range o.typ.Shape {
				if _, plain := d.AsParam(); plain || solve {
					w.solve(f, e, o, k, d)
				}
			}
		}
	}
	for _, o := range ops {
		for k, d := range o.typ.Shape {
			n, want := f.loadWord(o.shape, k), f.dim(d)
			f.unless(f.v("icmp ne i64 %s, %s", n, want), func() {
				if _, literal := d.Const(); literal {
					w.refuse(f, fmt.Sprintf("%s: axis %d of %s has extent %%lld, and its type asks for %s", e.Name, k,
						o.name, d), n)
					return
				}
				w.refuse(f, fmt.Sprintf("%s: axis %d of %s has extent %%lld, but %s is %%lld", e.Name, k, o.name, d), n,
					want)
			})
		}
	}
}

// solve learns a shape parameter from extent d of axis k, when it is the only unknown one there and linear.
func (w *writer) solve(f *emitter, e *Entry, o *operand, k int, d types.Dim) {
	name, coef, rest, ok := unknown(d, f.dims)
	if !ok {
		return
	}
	n := f.loadWord(o.shape, k)
	value := n
	if !rest.IsConst(0) {
		value = f.v("sub i64 %s, %s", n, f.dim(rest))
	}
	if !coef.IsConst(1) {
		c := f.dim(coef)
		bad := func() {
			w.refuse(f, fmt.Sprintf("%s: axis %d of %s has extent %%lld, which is %s for no %s", e.Name, k, o.name, d,
				name), n)
		}
		f.unless(f.v("icmp eq i64 %s, 0", c), bad)
		f.unless(f.v("icmp ne i64 %s, 0", f.v("srem i64 %s, %s", value, c)), bad)
		value = f.v("sdiv i64 %s, %s", value, c)
	}
	f.unless(f.v("icmp ugt i64 %s, %d", value, types.MaxExtent), func() {
		w.refuse(f, fmt.Sprintf("%s: axis %d of %s has extent %%lld, which makes %s = %%lld", e.Name, k, o.name, name),
			n, value)
	})
	f.dims[name] = value
}

// unknown is types.Unknown with the names that have values.
func unknown(d types.Dim, known map[string]string) (name string, coef, rest types.Dim, ok bool) {
	return types.Unknown(d, func(v string) bool { _, has := known[v]; return has })
}

// undetermined is the first shape parameter of an entry that no shape determines, "" when there is none.
func (e *Entry) undetermined() string {
	known := map[string]string{}
	types := e.Results
	for _, p := range e.Params {
		types = append(types[:len(types):len(types)], p.Type)
	}
	for again := true; again; {
		again = false
		for _, t := range types {
			for _, d := range t.Shape {
				if name, _, _, ok := unknown(d, known); ok {
					known[name], again = name, true
				}
			}
		}
	}
	for _, d := range e.Dims {
		if _, ok := known[d]; !ok {
			return d
		}
	}
	return ""
}

// rowMajor is an array on the stack with the strides of a shape whose elements lie one after the other.
func (f *emitter) rowMajor(shape types.Shape) string {
	strides, stride := f.array(len(shape)), "1"
	for k := len(shape) - 1; k >= 0; k-- {
		f.storeWord(strides, k, stride)
		stride = f.v("mul i64 %s, %s", stride, f.dim(shape[k]))
	}
	return strides
}

// layout finds the strides of an operand, row-major ones where none are given, and the memory it lies in.
func (w *writer) layout(f *emitter, e *Entry, o *operand) {
	n := len(o.typ.Shape)
	local := f.rowMajor(o.typ.Shape)
	implied := f.v("icmp eq ptr %s, null", o.strides)
	o.strides = f.v("select i1 %s, ptr %s, ptr %s", implied, local, o.strides)
	o.dense = "true"
	if n > 0 {
		o.dense = f.v("call i1 @heal.dense(ptr %s, ptr %s, i64 %d)", o.shape, o.strides, n)
	}
	// No elements have no place in memory: neither their strides nor their address says anything.
	empty := "false"
	for _, d := range o.typ.Shape {
		empty = f.v("or i1 %s, %s", empty, f.v("icmp eq i64 %s, 0", f.dim(d)))
	}
	if o.written {
		for k, d := range o.typ.Shape {
			several := f.v("icmp sgt i64 %s, 1", f.dim(d))
			still := f.v("icmp eq i64 %s, 0", f.loadWord(o.strides, k))
			shared := f.v("and i1 %s, %s", several, still)
			f.unless(f.v("and i1 %s, %s", shared, f.v("xor i1 %s, true", empty)), func() {
				w.refuse(f, fmt.Sprintf("%s: %s is written, and its elements along axis %d are one place in memory",
					e.Name, o.name, k))
			})
		}
	}
	low, high := f.array(1), f.array(1)
	f.do("call void @heal.span(ptr %s, ptr %s, i64 %d, i64 %d, ptr %s, ptr %s)", o.shape, o.strides, n,
		o.typ.Elem.Bytes(), low, high)
	at := f.v("select i1 %s, i64 0, i64 %s", empty, f.v("ptrtoint ptr %s to i64", o.data))
	o.place = place{name: o.name, written: o.written, low: f.v("add i64 %s, %s", at, f.loadWord(low, 0)),
		high: f.v("add i64 %s, %s", at, f.loadWord(high, 0))}
	null := f.v("icmp eq ptr %s, null", o.data)
	some := f.v("icmp ne i64 %s, %s", o.place.low, o.place.high)
	f.unless(f.v("and i1 %s, %s", null, some), func() {
		w.refuse(f, fmt.Sprintf("%s: %s has no address", e.Name, o.name))
	})
}

// resultMemory is where the plan writes results: into those that are row-major, and beside those that are not, from
// where finish copies them when the code it gets is CodeOK.
func (w *writer) resultMemory(f *emitter, results []*operand) (memory []string, finish func(code string)) {
	total := "0"
	var offsets []string
	for _, o := range results {
		bytes := fmt.Sprint(o.typ.Elem.Bytes())
		for _, d := range o.typ.Shape {
			bytes = f.v("mul i64 %s, %s", bytes, f.dim(d))
		}
		offsets = append(offsets, total)
		need := f.v("select i1 %s, i64 0, i64 %s", o.dense, bytes)
		up := f.v("and i64 %s, -64", f.v("add i64 %s, 63", need))
		total = f.v("add i64 %s, %s", total, up)
	}
	block := f.alloca("ptr", 8)
	f.do("store ptr null, ptr %s, align 8", block)
	take, after := f.label(), f.label()
	f.branch(f.v("icmp ne i64 %s, 0", total), take, after)
	f.at(take)
	got := f.v("call ptr @heal.take(i64 %s)", total)
	f.unless(f.v("icmp eq ptr %s, null", got), func() {
		f.do("ret i32 %s", f.v("call i32 @heal.memory(i64 %s)", total))
	})
	f.do("store ptr %s, ptr %s, align 8", got, block)
	f.jump(after)
	f.at(after)
	start := f.v("load ptr, ptr %s, align 8", block)
	for i, o := range results {
		aside := f.v("getelementptr i8, ptr %s, i64 %s", start, offsets[i])
		memory = append(memory, f.v("select i1 %s, ptr %s, ptr %s", o.dense, o.data, aside))
	}
	return memory, func(code string) {
		copyAll, end := f.label(), f.label()
		aside := f.v("icmp ne ptr %s, null", start)
		ok := f.v("icmp eq i32 %s, 0", code)
		f.branch(f.v("and i1 %s, %s", aside, ok), copyAll, end)
		f.at(copyAll)
		for i, o := range results {
			n := len(o.typ.Shape)
			if n == 0 {
				continue
			}
			local := f.rowMajor(o.typ.Shape)
			one, next := f.label(), f.label()
			f.branch(o.dense, next, one)
			f.at(one)
			f.do("call void @heal.copy(ptr %s, ptr %s, ptr %s, ptr %s, ptr %s, i64 %d, i64 %d)", o.data, o.strides,
				memory[i], local, o.shape, n, o.typ.Elem.Bytes())
			f.jump(next)
			f.at(next)
		}
		f.jump(end)
		f.at(end)
		f.do("call void @heal.give(ptr %s)", start)
	}
}
