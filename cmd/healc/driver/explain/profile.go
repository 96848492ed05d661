package explain

import (
	"fmt"
	"io"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
)

// Profile says which profile a processor has and by what it was chosen, and prints the numbers in it.
func Profile(w io.Writer, t codegen.Target) error {
	if t.CPU != "" {
		if err := llvm.CheckProcessor(t); err != nil {
			return err
		}
	}
	m := target.MachineOf(t)
	fmt.Fprintf(w, "profile %s, chosen by %s\n", m.Profile.Name, m.By)
	group := ""
	for _, f := range profile.Fields() {
		if f.Group() != group {
			group = f.Group()
			fmt.Fprintln(w)
		}
		power := ""
		if f.Power {
			power = ", a power of two"
		}
		_, err := fmt.Fprintf(w, "%-26s %10d %s (%d to %d%s): %s. docs/tuning/%s.md\n", f.Name, f.Get(m.Profile),
			f.Unit, f.Low, f.High, power, f.Trade, f.Page)
		if err != nil {
			return err
		}
	}
	return nil
}
