// Package heal compiles and runs Heal programs from Go.
//
//	m, err := heal.Compile(src, heal.Options{})   // err is a *diag.List of diagnostics
//	f, err := m.Func("softmax")
//	y, err := f.Call(ctx, runtime.FromSlice([]float32{1, 2, 3}, 1, 3))
//	defer y.Close()
//	v, err := runtime.Slice[float32](y)           // no copy
//
// Results have the same bits on every backend and for any number of threads. A Module and its functions
// may be used by several goroutines at once. This package and cmd/healc are the only ones that know the
// whole pipeline; see ARCHITECTURE.md.
package heal
