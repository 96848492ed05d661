package codegen

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"healc/internal/caught"
)

// Parallel calls do for 0 to n-1, on as many threads as Go uses, and returns when all calls have. The error is that of
// the least i whose call failed. A panic of do is one of Parallel's, a *caught.Panic, which has the stack of do.
func Parallel(n int, do func(i int) error) error {
	errs, panics := make([]error, n), make([]*caught.Panic, n)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			func() {
				defer func() {
					if value := recover(); value != nil {
						panics[i] = caught.By(value)
					}
				}()
				errs[i] = do(i)
			}()
		}
	}
	var wg sync.WaitGroup
	for range min(goruntime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	for i := range n {
		if panics[i] != nil {
			panic(panics[i])
		}
		if errs[i] != nil {
			return errs[i]
		}
	}
	return nil
}
