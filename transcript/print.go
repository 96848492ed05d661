package transcript

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"healc/lang/types"
)

// Print writes a listing: one line an entry, with its index, the operations of a segment indented.
func (t *Transcript) Print(w io.Writer) error {
	depth, width := 0, len(strconv.Itoa(len(t.Entries)))
	for i, e := range t.Entries {
		if e.Kind == SegmentEnd {
			depth = max(depth-1, 0)
		}
		if _, err := fmt.Fprintf(w, "%*d  %s%s\n", width, i, strings.Repeat("  ", min(depth, 20)), e); err != nil {
			return err
		}
		if e.Kind == SegmentStart {
			depth++
		}
	}
	return nil
}

// String is the entry's line of a listing.
func (e Entry) String() string {
	switch e.Kind {
	case SegmentStart:
		return "segment " + strconv.Quote(e.Segment)
	case SegmentEnd:
		return "end"
	case Free:
		return "free " + e.Freed.String()
	case DeviceOp:
		return e.Op.String()
	}
	return "nothing"
}

// String is `%3: i64 = modmul_ttt(%1, %2, %0, %3)`.
func (o *Op) String() string {
	s := o.Name + "(" + argList(o.Args) + ")"
	switch o.Out.Kind {
	case None:
		return s
	case DeviceTensor:
		if o.Out.DType != types.Invalid {
			return o.Out.Name.String() + ": " + o.Out.DType.String() + " = " + s
		}
		return o.Out.Name.String() + " = " + s
	}
	return s + " -> " + o.Out.String()
}

func argList(args []Arg) string {
	var parts []string
	for _, a := range args {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, ", ")
}

// String is the argument in a listing.
func (a Arg) String() string {
	switch a.Kind {
	case DeviceTensor:
		return a.Name.String()
	case HostTensor:
		return "host " + a.Tensor.String()
	case Shape:
		return "[" + argList(a.List) + "]"
	case Int:
		if a.Number.IsFloat {
			return strconv.FormatFloat(a.Number.Float, 'g', -1, 64)
		}
		return strconv.FormatInt(a.Number.Int, 10)
	case TensorType:
		return a.DType.String()
	case Slice:
		s := bound(a.Slice.Start) + ":" + bound(a.Slice.Stop)
		if a.Slice.Step != nil {
			s += ":" + bound(a.Slice.Step)
		}
		return s
	case Ellipsis:
		return "..."
	}
	return "none"
}

func bound(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
