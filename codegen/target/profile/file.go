package profile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A measured profile is a file as those that healc has: it is like one of them, says by `identify` for which processor
// it was measured, and has the fields in which it differs. Fields of plans are not among them, since a plan is the same
// everywhere.

// fileMost is how long the file of a profile may be.
const fileMost = 1 << 20

// Read is the profile of a file for a processor. A file that was measured on another one is an error.
func Read(path string, p Processor) (*InForce, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, fileMost+1))
	if err != nil {
		return nil, err
	}
	if len(text) > fileMost {
		return nil, fmt.Errorf("%s has more than %d bytes, which no profile has", path, fileMost)
	}
	return parseMeasured(path, string(text), p)
}

// parseMeasured is the profile of a text, which path is shown for.
func parseMeasured(path, text string, p Processor) (*InForce, error) {
	s, err := parse(strings.TrimSuffix(path, ".profile"), text)
	if err != nil {
		return nil, err
	}
	if s.like == "" || Named(s.like) == nil {
		return nil, fmt.Errorf("%s: it has to be like one of the profiles %s", path, strings.Join(Order, ", "))
	}
	if len(s.identify) > 0 && p.Vendor != "" {
		here := false
		for _, id := range s.identify {
			here = here || id.is(p)
		}
		if !here {
			return nil, fmt.Errorf("%s was measured on another processor: this one is %s %d %d", path, p.Vendor,
				p.Family, p.Model)
		}
	}
	for _, f := range Fields() {
		if _, set := s.values[f.Name]; set && f.Fixed() {
			return nil, fmt.Errorf("%s: %s is the same for every processor, because a library has one plan for all "+
				"of them", path, f.Name)
		}
	}
	made, err := build(path, func(name string) *source {
		if name == path {
			return s
		}
		return embedded(name)
	}, 0)
	if err != nil {
		return nil, err
	}
	return &InForce{Profile: made, By: "its measurement", File: path, Measured: s.measured, Figures: s.figures}, nil
}

// Fixed reports that a field is that of `base` for every processor.
func (f Field) Fixed() bool {
	switch f.Group() {
	case "plan", "fusion", "effort":
		return true
	}
	return false
}

// OfKernels reports that a field decides how single kernels are written for a processor, so that one kernel may have
// another value than the next.
func (f Field) OfKernels() bool { return !f.Fixed() && f.Group() != "threads" && f.Group() != "gpu" }

// Line is the assignment of a value to the field, as it stands in a file.
func (f Field) Line(x int) string { return f.Name + " = " + strconv.Itoa(x) }

// Head are the lines by which a measured profile of a processor begins.
func Head(like string, p Processor) string {
	text := "like = " + like + "\n"
	if p.Vendor != "" && !strings.ContainsAny(p.Vendor, " \t#") {
		text += fmt.Sprintf("identify = %s %d %d\n", p.Vendor, p.Family, p.Model)
	}
	return text
}
