package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/measure"
	"healc/internal/regular"
)

// Read reads what `healc bench --json` wrote.
func Read(path string) (*Report, error) {
	text, err := regular.Read(path, regular.MaxSource)
	if err != nil {
		return nil, driver.NoFile(path, err)
	}
	r := &Report{}
	err = json.Unmarshal(text, r)
	for _, x := range r.Results {
		if err == nil && (len(x.Times) == 0 || x.Function == "") {
			err = fmt.Errorf("a result has no times")
		}
	}
	if err == nil && len(r.Results) == 0 {
		err = fmt.Errorf("it has no results")
	}
	if err != nil {
		return nil, &driver.UsageError{Message: fmt.Sprintf("%s is no result of `healc bench --json`: %v", path, err)}
	}
	return r, nil
}

// Write writes the report as JSON.
func (r *Report) Write(path string) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	return err
}

// Print writes the report for people; old, when it is not nil, is what it is compared with.
func (r *Report) Print(w io.Writer, old *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s; healc %s; load average %s\n", r.Host.CPU, driver.Count(r.Host.Cores, "core"), r.Healc,
		r.Host.Load)
	last := ""
	for i := range r.Results {
		x := &r.Results[i]
		if x.Function != last {
			fmt.Fprintf(&b, "\n%s\n", x.Function)
			last = x.Function
		}
		t := x.Times
		fmt.Fprintf(&b, "  %-10s median %s, middle half %s to %s, %s\n", driver.Count(x.Threads, "thread"),
			Duration(t.Median()), Duration(t.Quantile(0.25)), Duration(t.Quantile(0.75)),
			driver.Count(len(t), "sample"))
		fmt.Fprintf(&b, "             %s", rate(x.Bytes, t.Median(), "GB/s"))
		if x.Ops > 0 {
			fmt.Fprintf(&b, ", %s", rate(x.Ops, t.Median(), "G operations/s"))
		}
		fmt.Fprintf(&b, ", %.2f of the limit of %s (%s)\n", x.Limit/t.Median(), Duration(x.Limit), x.Bound)
		if old != nil {
			fmt.Fprintf(&b, "             %s\n", x.against(old))
		}
	}
	b.WriteString("\n")
	for _, m := range r.Limits {
		fmt.Fprintf(&b,
			"this machine, %s: reads %.1f GB/s, copies %.1f GB/s; multiplies and adds %.1f G f32/s, %.1f G f64/s, "+
				"%.1f G i32/s\n",
			driver.Count(m.Threads, "thread"), m.Read, m.Copy, m.F32, m.F64, m.I32)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// significant is the p-value below which a difference counts.
const significant = 0.01

// against compares with the result of an earlier report for the same function, arguments and threads.
func (x *Result) against(old *Report) string {
	for i := range old.Results {
		y := &old.Results[i]
		if y.Function != x.Function || y.Threads != x.Threads {
			continue
		}
		p := measure.MannWhitney(x.Times.Blocks(30), y.Times.Blocks(30))
		was, is := y.Times.Median(), x.Times.Median()
		switch {
		case p >= significant:
			return fmt.Sprintf("was %s: no significant difference (p = %.2g)", Duration(was), p)
		case is < was:
			return fmt.Sprintf("was %s: faster, %.3f times the time (p = %.2g)", Duration(was), is/was, p)
		default:
			return fmt.Sprintf("was %s: slower, %.3f times the time (p = %.2g)", Duration(was), is/was, p)
		}
	}
	return "not in what it is compared with"
}

// rate is an amount over seconds, in units of 1e9.
func rate(amount, seconds float64, unit string) string {
	return fmt.Sprintf("%.3g %s", amount/seconds/1e9, unit)
}

// Duration prints seconds with four digits, in ns, us, ms or s.
func Duration(s float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}} {
		if s >= u.size {
			return fmt.Sprintf("%.4g %s", s/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.4g ns", s*1e9)
}
