package tuned

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// Key is what an entry is found by.
type Key struct {
	Kernel    string `json:"kernel"`    // a hash of what it does, whatever its extents are
	Shape     string `json:"shape"`     // its extents, to the next power of two
	Processor string `json:"processor"` // see ProcessorOf
}

// compare orders keys.
func (k Key) compare(o Key) int {
	return cmp.Or(strings.Compare(k.Kernel, o.Kernel), strings.Compare(k.Shape, o.Shape),
		strings.Compare(k.Processor, o.Processor))
}

// KeyOf is the key of a kernel. Two kernels that have the same one may differ in numbers, and then one has the schedule
// that was measured for the other, which changes no result.
func KeyOf(k *kernel.Kernel, processor string) Key {
	plain := *k
	plain.Params = slices.Clone(k.Params)
	for i := range plain.Params {
		plain.Params[i].Elems = nil // accesses have the strides
	}
	sum := sha256.Sum256([]byte(sizeless(transform.Identity(&plain))))
	return Key{Kernel: hex.EncodeToString(sum[:8]), Shape: shapeOf(k), Processor: processor}
}

// ProcessorOf is the processor of a target as entries name it: what this machine's says of itself, or the name by which
// another one is asked for.
func ProcessorOf(t codegen.Target) string {
	if t.Triple == "" && t.CPU == "" {
		return profile.Here().ID()
	}
	return strings.Trim(t.Triple+" "+t.CPU, " ")
}

// small is from what on a number of a kernel counts as an extent. What is less decides about the code.
const small = 16

// sizeless is the text of a kernel with a number in place of each extent: those that are equal have the same one. Sites
// of errors are left out, which depend on what else is in the program.
func sizeless(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	known := map[string]int{}
	for i := 0; i < len(text); {
		if !digit(text[i]) || i > 0 && inWord(text[:i]) {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && digit(text[end]) {
			end++
		}
		number := text[i:end]
		if end+1 < len(text) && text[end] == '.' && digit(text[end+1]) { // of a float
			b.WriteString(text[i : end+1])
			i = end + 1
			continue
		}
		i = end
		switch n, err := strconv.ParseUint(number, 10, 64); {
		case strings.HasSuffix(b.String()[max(0, b.Len()-len(" site ")):], " site "):
		case err == nil && n < small:
			b.WriteString(number)
		default:
			if known[number] == 0 {
				known[number] = len(known) + 1
			}
			b.WriteString("#" + strconv.Itoa(known[number]))
		}
	}
	return b.String()
}

// inWord reports that a digit behind a text belongs to a name, or to what stands behind the point of a float.
func inWord(before string) bool {
	c := before[len(before)-1]
	if c == '.' {
		return !strings.HasSuffix(before, "..") // of a range
	}
	return c == '%' || c == '_' || digit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// shapeOf is the extents of a kernel's buffers, each to the next power of two, in the order in which the kernel has
// them. Extents that are not known stand there as they are.
func shapeOf(k *kernel.Kernel) string {
	var all []string
	for _, p := range k.Params[:k.Buffers()] {
		axes := make([]string, len(p.Shape))
		for i, e := range p.Shape {
			n, known := e.Dim.Const()
			if known {
				d := max(e.Div, 1)
				axes[i] = strconv.FormatInt(rounded((n+d-1)/d), 10)
			} else {
				axes[i] = kernel.FormatExtent(e)
			}
		}
		all = append(all, cmp.Or(strings.Join(axes, "x"), "1"))
	}
	return strings.Join(all, " ")
}

// rounded is the power of two that is next to n by their quotient; n where it is small.
func rounded(n int64) int64 {
	if n < small {
		return n
	}
	low := int64(small)
	for low*2 <= n {
		low *= 2
	}
	if float64(n)*float64(n) > 2*float64(low)*float64(low) {
		return 2 * low
	}
	return low
}
