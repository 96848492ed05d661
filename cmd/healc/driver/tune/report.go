package tune

import (
	"fmt"
	"io"
	"strings"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/measure"
	"healc/codegen/target/profile"
)

// Text is the file of the profile: what was found, and in comments what was measured.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Measured by `healc tune`. No number here changes a result; without this file, or with %s=%s,\n"+
		"# the profile counts that it is like.\n", profile.Env, profile.Shipped)
	b.WriteString(profile.Head(r.Like, profile.Here()))
	fmt.Fprintf(&b, "measured = %s, healc %s, %s, %s, load average %s\n", r.Host.Time, r.Healc, r.Host.CPU,
		driver.Count(r.Host.Cores, "core"), r.Host.Load)
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "figure = %s\n", figure(f))
	}
	shipped := profile.Named(r.Like)
	line := func(name string) {
		f := profile.FieldNamed(name)
		if x := f.Get(r.Profile); x != f.Get(shipped) {
			b.WriteString(f.Line(x) + "\n")
		}
	}
	if r.Region != (Region{}) {
		fmt.Fprintf(&b, "\n# A region of threads costs %v; threads that sleep come after %v. An operation takes "+
			"%.3g ps, a byte %.3g ps, one that another thread has written %.3g ps more.\n", r.Region.Cost,
			r.Region.Wake, r.Region.Op, r.Region.Byte, r.Region.Moved)
		for _, f := range profile.Fields() {
			if f.Group() == "threads" {
				line(f.Name)
			}
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n# %s, by %s: %s\n", strings.Join(f.Fields, ", "), strings.Join(f.By, ", "), f.outcome())
		for _, name := range f.Fields {
			line(name)
		}
	}
	return b.String()
}

// outcome says what an experiment found.
func (f *Finding) outcome() string {
	if f.Skipped {
		return fmt.Sprintf("%d; there was no time left to measure it", f.From)
	}
	if f.Neutral {
		return fmt.Sprintf("%d; other values make the same code here", f.From)
	}
	tried := make([]string, len(f.Tried))
	for i, t := range f.Tried {
		tried[i] = fmt.Sprintf("%d takes %.3f", t.Value, t.Time)
	}
	text := fmt.Sprintf("beside %d, %s of the time", f.From, strings.Join(tried, ", "))
	if f.To != f.From {
		text += fmt.Sprintf("; again %d takes %.3f", f.To, 1/f.Gain)
	}
	return text
}

// figures is the form of a line about what the machine does.
const figures = "%d threads: reads %g GB/s, copies %g GB/s, f32 %g GFLOP/s, f64 %g GFLOP/s, i32 %g Gop/s"

// figure is such a line.
func figure(f measure.Figures) string {
	return fmt.Sprintf(strings.ReplaceAll(figures, "%g", "%.4g"), f.Threads, f.Read, f.Copy, f.F32, f.F64, f.I32)
}

// ParseFigure reads such a line, of a profile.
func ParseFigure(text string) (f measure.Figures, ok bool) {
	_, err := fmt.Sscanf(text, figures, &f.Threads, &f.Read, &f.Copy, &f.F32, &f.F64, &f.I32)
	return f, err == nil
}

// Print says what was found, for people.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s; load average %s\n", r.Host.CPU, driver.Count(r.Host.Cores, "core"), r.Host.Load)
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "  %s\n", figure(f))
	}
	shipped := profile.Named(r.Like)
	same := true
	for _, f := range profile.Fields() {
		x, usual := f.Get(r.Profile), f.Get(shipped)
		if x == usual {
			continue
		}
		same = false
		fmt.Fprintf(&b, "  %-26s %10d %s, not %d", f.Name, x, f.Unit, usual)
		for i := range r.Findings {
			if g := &r.Findings[i]; g.Fields[0] == f.Name && g.To != g.From {
				fmt.Fprintf(&b, ": %s %.2f times as fast", strings.Join(g.By, ", "), g.Gain)
			}
		}
		b.WriteString("\n")
	}
	skipped := 0
	for _, f := range r.Findings {
		if f.Skipped {
			skipped++
		}
	}
	if skipped > 0 {
		fmt.Fprintf(&b, "  there was no time left for %s of %d; --time gives more\n",
			driver.Count(skipped, "experiment"), len(r.Findings))
	}
	if same {
		fmt.Fprintf(&b, "  nothing is faster than what the profile %s has\n", r.Like)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Write writes the file of the profile; whoever reads it meanwhile finds the old one or the new one.
func (r *Report) Write(path string) error { return replace(path, []byte(r.Text())) }
