package transcript

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"healc/runtime/tensor"
)

// Result is what a run gave.
type Result struct {
	Path    string // of the transcript, for messages
	Outputs []Output
	Steps   []Step
}

// Output is what one device_to_host gave. The tensor belongs to the result.
type Output struct {
	Entry    int // the index of the operation
	Name     Name
	Tensor   *tensor.Tensor
	Expected *tensor.Tensor // what was recorded, or nil; it belongs to the transcript
}

// Step is how long a part of a transcript took: a segment, what stands between two, or with NoFuse an
// operation.
type Step struct {
	Segment     string // the path of the segment, "" outside of all
	First, Last int    // the entries of its first and last operation
	Ops         int
	Op          string        // the name of the operation when it is only one
	Compile     time.Duration // 0 when the code was there
	Run         time.Duration
}

// Close frees the tensors.
func (r *Result) Close() {
	for _, o := range r.Outputs {
		o.Tensor.Close()
	}
}

// PrintTimes writes a table: for each segment, or part between two, how long its compilation and its execution took.
func (r *Result) PrintTimes(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "entries\toperations\tcompile ms\trun ms\t  segment")
	var sum Step
	line := func(entries string, s Step, name string) {
		fmt.Fprintf(tw, "%s\t%d\t%.3f\t%.3f\t  %s\n", entries, s.Ops, ms(s.Compile), ms(s.Run), name)
	}
	for _, s := range r.Steps {
		name := s.Segment
		if name == "" {
			name = "(none)"
		}
		if s.Op != "" {
			name += ": " + s.Op
		}
		line(fmt.Sprintf("%d-%d", s.First, s.Last), s, name)
		sum.Ops, sum.Compile, sum.Run = sum.Ops+s.Ops, sum.Compile+s.Compile, sum.Run+s.Run
	}
	line("all", sum, "")
	return tw.Flush()
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
