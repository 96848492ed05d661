package tune

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"healc/cmd/healc/driver"
	"healc/codegen/target/tuned"
)

// Print says what was found, for people.
func (r *ProgramReport) Print(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Functions {
		fmt.Fprintf(&b, "%s\n", f.Shown)
		if len(f.Kernels) == 0 {
			b.WriteString("  has no kernels\n")
		}
		for _, k := range f.Kernels {
			fmt.Fprintf(&b, "  %-16s %s\n", k.Entry.Name, k.outcome())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// outcome is what was found for a kernel.
func (k *MeasuredKernel) outcome() string {
	tried := len(k.Entry.Rejected)
	switch {
	case k.Left == Minor:
		return "takes too little of the time to be worth a measurement"
	case k.Left == Again:
		return "is one that was measured already, but for its numbers"
	case k.Left == Late:
		return "is not measured: there was no time left, and --time gives more"
	case k.Other == 0:
		return "no number makes other code of it"
	case len(k.Entry.Set) == 0:
		return fmt.Sprintf("nothing is faster than the profile, of %s (%s a call)", tries(tried, k.Other),
			driver.Nanoseconds(k.Entry.Time))
	}
	return fmt.Sprintf("%s: %.2f times as fast, of %s (%s a call)", k.Entry.Set, k.Gain, tries(tried, k.Other),
		driver.Nanoseconds(k.Entry.Time))
}

// tries says how many schedules were measured, and of how many.
func tries(measured, all int) string {
	text := driver.Count(measured, "schedule")
	if measured < all {
		text += fmt.Sprintf(" out of %d", all)
	}
	return text
}

// Onto adds what was found to a file, which others may have written meanwhile.
func (r *ProgramReport) Onto(file *tuned.File) {
	r.File = file.Clone()
	for _, f := range r.Functions {
		for _, k := range f.Kernels {
			r.File.Put(k.Entry)
		}
	}
}

// Write writes the tune file; whoever reads it meanwhile finds the old one or the new one.
func (r *ProgramReport) Write(path string) error { return replace(path, r.File.Text()) }

// replace writes a file in one step, and makes its folder.
func replace(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tune-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
