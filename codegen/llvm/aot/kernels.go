package aot

import (
	"fmt"
	"slices"
	"strings"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// Note [Shared kernels]
//
// Most kernels of an entry are the same for row-major arguments and for any others, because only those that read
// arguments know of strides, and entries of one library often have kernels in common. Such code is made once. Levels
// that differ from the one before in a feature that a kernel has no use for, or in a profile that writes it in the same
// way, have that one's code for it, too.

// variant is the code of an entry for packed arguments, or for any.
type variant struct {
	entry  *Entry
	number int
	km     *kernel.Module
	tuned  map[string]tuned.Set
	same   map[string]kernelOf // of kernels that are the same as one before: whose code they have
	own    []map[string]bool   // the kernels of which each level has code of its own
	frames map[string]int64    // what arrays of kernels take of the stack, at the level where it is most
}

// kernelOf is a kernel of a variant.
type kernelOf struct {
	v    *variant
	name string
}

// variants are those of all entries, in order.
func (l *Library) variants() []*variant {
	var all []*variant
	first := map[string]kernelOf{} // by what makes kernels the same
	for _, e := range l.Entries {
		for i, km := range e.modules() {
			v := &variant{entry: e, number: i, km: km, same: map[string]kernelOf{}, frames: map[string]int64{}}
			if km == e.Packed {
				v.tuned = e.Tuned
			}
			all = append(all, v)
			for _, k := range km.Kernels {
				calls := false
				kernel.Each(k.Body, func(*kernel.Call) { calls = true })
				if calls { // of functions of its module
					continue
				}
				text := fmt.Sprintf("%v\n%s", v.tuned[k.Name], transform.Identity(k))
				key := func(dims []string) string { return strings.Join(dims, ",") + "\n" + text }
				// What is the same as a kernel of packed arguments knows no strides, which come last.
				of, known := first[key(e.Dims)]
				if !known {
					of, known = first[key(km.Dims)]
				}
				if known {
					v.same[k.Name] = of
				} else {
					first[key(km.Dims)] = kernelOf{v, k.Name}
				}
			}
		}
	}
	return all
}

// symbol is the name of the code of a kernel at a level. It has the name of the library, so that the
// objects of two can be linked into one program.
func (w *writer) symbol(v *variant, k *kernel.Kernel, level int) string {
	of, shared := v.same[k.Name]
	if !shared {
		of = kernelOf{v, k.Name}
	}
	for !of.v.own[level][of.name] {
		level = below(w.levels, level)
	}
	return of.v.prefix(w.prefix, w.levels[level]) + of.name
}

// prefix is what the names of the kernels of a variant begin with at a level, such as heal.lib.softmax.avx512. or
// heal.lib.softmax.strided.avx512. for arguments of any strides: profilers and debuggers show it.
func (v *variant) prefix(library string, level Level) string {
	parts := []string{"heal", library, v.entry.Name}
	switch {
	case v.entry.Ranks != nil:
		r := v.entry.Ranks[v.number]
		parts = append(parts, fmt.Sprintf("rank%dof%d", r.Rank, r.Size))
	case v.number > 0:
		parts = append(parts, "strided")
	}
	if level.Name != "" {
		parts = append(parts, level.Name)
	}
	return strings.Join(parts, ".") + "."
}

// base is what the names of the functions of a variant begin with.
func (v *variant) base() string { return base(v.entry, v.number) }

func base(e *Entry, number int) string { return fmt.Sprintf("heal.of.%s.%d", e.Name, number) }

// kernelTables writes one table of kernels for each level that has code of its own, and the table of these.
func (w *writer) kernelTables(v *variant) {
	var tables []string
	before := ""
	for i := range w.levels {
		var kernels []string
		for _, k := range v.km.Kernels {
			name := w.symbol(v, k, i)
			if !w.declared[name] {
				fmt.Fprintf(&w.b, "declare hidden void @%q(ptr, ptr, i64, i64, ptr)\n", name)
				w.declared[name] = true
			}
			kernels = append(kernels, fmt.Sprintf("ptr @%q", name))
		}
		list := strings.Join(kernels, ", ")
		if i > 0 && list == before {
			tables = append(tables, tables[i-1])
			continue
		}
		before = list
		table := fmt.Sprintf("@%s.kernels.%d", v.base(), i)
		fmt.Fprintf(&w.b, "%s = internal constant [%d x ptr] [%s]\n", table, len(kernels), list)
		tables = append(tables, "ptr "+table)
	}
	fmt.Fprintf(&w.b, "@%s.kernels = internal constant [%d x ptr] [%s]\n", v.base(), len(tables),
		strings.Join(tables, ", "))
}

// kernels compiles the kernels of all variants, and what they call. Texts are generated level after level, because each
// writes into the plan how its kernels are cut, and compiled at the same time.
func (l *Library) kernels(all []*variant, levels []Level) ([][]byte, error) {
	took := llvm.Locked(l.Took)
	shared := make([]*llvm.Shared, len(levels))
	for k := range levels {
		shared[k] = llvm.NewShared(fmt.Sprintf("heal.%s.%d.", l.Prefix, k))
	}
	texts := make([][]*llvm.Prepared, len(all), len(all)+len(levels))
	err := codegen.Parallel(len(all), func(i int) error {
		v := all[i]
		v.own = l.ownCode(v.km, v.tuned, levels)
		for k, level := range levels {
			if len(v.km.Kernels) == 0 {
				break
			}
			elsewhere := map[string]bool{}
			for _, one := range v.km.Kernels {
				if _, same := v.same[one.Name]; same || !v.own[k][one.Name] {
					elsewhere[one.Name] = true
				}
			}
			if k > 0 && len(elsewhere) == len(v.km.Kernels) {
				continue
			}
			opts := llvm.Options{Prefix: v.prefix(l.Prefix, level), Took: took, Tuned: v.tuned, Elsewhere: elsewhere,
				Unwind: true, Lines: l.Lines,
				Frames: func(kernel string, bytes int64) { v.frames[kernel] = max(v.frames[kernel], bytes) }}
			if len(v.tuned) == 0 { // else numbers may differ
				opts.Shared = shared[k]
			}
			text, err := llvm.Prepare(v.km, level.target(l.Target), level.options(opts))
			if err != nil {
				return err
			}
			if len(elsewhere) < len(v.km.Kernels) {
				texts[i] = append(texts[i], text)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	most := int64(0) // of the stack for what is shared
	for k, level := range levels {
		opts := level.options(llvm.Options{Took: took, Unwind: true})
		called, frames := shared[k].Prepare(level.target(l.Target), opts)
		texts, most = append(texts, called), max(most, frames)
	}
	for _, v := range all {
		for name, of := range v.same {
			v.frames[name] = of.v.frames[of.name]
		}
	}
	for _, v := range all {
		for _, k := range v.km.Kernels {
			if calls(k) {
				v.frames[k.Name] += most
			}
		}
	}
	return compiled(slices.Concat(texts...))
}

// calls reports that a kernel may call functions that are shared.
func calls(k *kernel.Kernel) bool {
	found := false
	kernel.Each(k.Body, func(*kernel.Transform) { found = true })
	kernel.Each(k.Body, func(*kernel.Sort) { found = true })
	return found
}

// compiled are the objects of texts.
func compiled(texts []*llvm.Prepared) ([][]byte, error) {
	objects := make([][]byte, len(texts))
	err := codegen.Parallel(len(texts), func(i int) (err error) {
		objects[i], err = texts[i].Compile(libllvm.Object)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		text.TellStacks()
	}
	return objects, nil
}
