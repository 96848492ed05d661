package explain

import (
	"healc/cmd/healc/driver"
	"healc/passes"
	"healc/passes/fusion"
)

// Kept is what fusion leaves in memory between the kernels of a file's entries, and why, until stop says so. Of an
// entry that cannot be compiled there is nothing.
func Kept(e *driver.Emit, stop func() bool) ([]fusion.Kept, error) {
	kept := hearKept(e)
	err := e.Each(func(entry string, bind map[string]int64) error {
		if !stop() {
			_, _ = e.Module().Fused(entry, bind) // who compiles it hears why it cannot be
		}
		return nil
	})
	return *kept, err
}

// hearKept collects what fusion leaves in memory of the entries that are compiled from now on.
func hearKept(e *driver.Emit) *[]fusion.Kept {
	var kept []fusion.Kept
	show := passes.Options{}
	if p := e.Opts.Debug.Passes; p != nil {
		show = *p
	}
	show.Kept = func(k fusion.Kept) { kept = append(kept, k) }
	e.Opts.Debug.Passes = &show
	return &kept
}

// kept says why values are in memory between kernels.
func (x *explanation) kept(kept []fusion.Kept) {
	if len(kept) == 0 {
		return
	}
	x.line("")
	x.line("  kept in memory")
	for _, k := range kept {
		x.line("    %s: %s", k.Where(), k.Why)
	}
}
