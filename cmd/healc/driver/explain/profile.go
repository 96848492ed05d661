package explain

import (
	"fmt"
	"io"
	"strings"

	"healc"
	"healc/cmd/healc/driver"
	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
)

// Profile says which profile a processor or a device has and by what it was chosen, and prints the numbers in it.
func Profile(w io.Writer, t codegen.Target) error {
	var chosen *profile.Profile
	var by string
	device := t.Kind == heal.GPU
	if device {
		arch := t.CPU
		if arch == "" {
			arch = gpu.DefaultArch
		}
		if !gpu.Known(arch) {
			return &driver.UsageError{Message: "there is no device `" + arch + "`",
				Help: "code is made for " + strings.Join(gpu.Names(), ", ")}
		}
		chosen, by = profile.For(profile.Processor{Name: arch})
	} else {
		if t.CPU != "" {
			if err := llvm.CheckProcessor(t); err != nil {
				return err
			}
		}
		m := target.MachineOf(t)
		chosen, by = m.Profile, m.By
	}
	fmt.Fprintf(w, "profile %s, chosen by %s\n", chosen.Name, by)
	if here := profile.Host(); chosen == here.Profile && here.Measured != "" {
		fmt.Fprintf(w, "measured %s\n", here.Measured)
	}
	group := ""
	for _, f := range profile.Fields() {
		if (f.Group() == "gpu") != device {
			continue
		}
		if f.Group() != group {
			group = f.Group()
			fmt.Fprintln(w)
		}
		power := ""
		if f.Power {
			power = ", a power of two"
		}
		_, err := fmt.Fprintf(w, "%-26s %10d %s (%d to %d%s): %s. docs/tuning/%s.md\n", f.Name, f.Get(chosen),
			f.Unit, f.Low, f.High, power, f.Trade, f.Page)
		if err != nil {
			return err
		}
	}
	return nil
}
