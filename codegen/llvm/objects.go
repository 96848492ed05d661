package llvm

import (
	goruntime "runtime"
	"sync"
	"time"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
)

// Note [Parallel code generation]
//
// The kernels of a program have nothing to do with each other, and a context of LLVM is used by one thread at a time,
// so that kernels are compiled on all cores, some of them as one LLVM module each. A module costs little by itself
// (docs/tuning/compile-effort.md), and cutting finer than one for each core lets the cores end together.

// Objects compiles a kernel module to one or several objects, each of which has some of the kernels. The times that
// Options.Took gets are those of all threads, added up.
func Objects(km *kernel.Module, t codegen.Target, opts Options) ([][]byte, error) {
	var parts []*kernel.Module
	var efforts []Effort // of each part
	for _, e := range []Effort{Full, Quick, Least} {
		same := *km
		same.Kernels = nil
		for _, k := range km.Kernels {
			if opts.Efforts == nil && opts.Effort == e || opts.Efforts != nil && opts.Efforts[k.Name] == e {
				same.Kernels = append(same.Kernels, k)
			}
		}
		n := goruntime.GOMAXPROCS(0) * profile.Base().Effort.Objects
		if e == Least {
			least := profile.Base().Effort.Kernels
			// A thread that uses LLVM for the first time spends more on that than such kernels take.
			n = min(n, (n*len(same.Kernels)+least-1)/least)
		}
		for _, part := range cut(&same, n) {
			parts, efforts = append(parts, part), append(efforts, e)
		}
	}
	go libllvm.Open() // while the text is generated
	opts.Took = Locked(opts.Took)
	objects := make([][]byte, len(parts))
	err := codegen.Parallel(len(parts), func(i int) (err error) {
		one := opts
		one.Effort = efforts[i]
		objects[i], err = CompileWith(parts[i], t, libllvm.Object, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return objects, nil
}

// Locked is a function for Options.Took that several threads may call; nil for nil.
func Locked(took func(stage string, d time.Duration)) func(stage string, d time.Duration) {
	if took == nil {
		return nil
	}
	var mu sync.Mutex
	return func(stage string, d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		took(stage, d)
	}
}

// cut makes up to n modules of the kernels of one, with about as many values each, in the order of the kernels.
func cut(km *kernel.Module, n int) []*kernel.Module {
	total := 0
	for _, k := range km.Kernels {
		total += len(k.Types)
	}
	var parts []*kernel.Module
	sum := 0
	for i, k := range km.Kernels {
		if i == 0 || sum*n >= total*len(parts) {
			part := *km
			part.Kernels = nil
			parts = append(parts, &part)
		}
		last := parts[len(parts)-1]
		last.Kernels = append(last.Kernels, k)
		sum += len(k.Types)
	}
	return parts
}
