package manual

import (
	"bytes"
	"strings"
	"testing"
)

// TestFind: what newcomers look for is among the first five that are found.
func TestFind(t *testing.T) {
	for query, want := range map[string]string{
		"einsum":                   "no `einsum`: a product is `@`",
		"vmap":                     "tabulate(2, |a| +/(x[a]))",
		"gather_nd":                "positions broadcast, and pick together",
		"np.concatenate":           "concat((x, y), 1)",
		"unsqueeze":                "unsqueeze(x, axis)",
		"logsumexp":                "math.logsumexp",
		"cumulative sum":           "cumsum",
		"matrix multiply":          "x @ v",
		"dot product":              "linalg.dot",
		"sort in descending order": "flip(sort(v)",
		"top k":                    "topk",
		"random numbers":           "random",
		"standard deviation":       "stats.std",
		"average":                  "mean",
		"read a csv file":          "only NumPy's files are read",
		"while loop":               "iterate_until",
		"broadcasting":             "05-broadcasting.md",
		"batch norm":               "nn.layer_norm",
		"convolution":              "signal.conv1d",
		"solve linear equations":   "linalg.solve",
		"mldivide":                 "linalg.solve(m",
		"number of threads":        "threads",
		"gradient":                 "grad",
		"shape of a tensor":        "extents are names",
		"reduce_by_index":          "scatter_add",
		"save image png":           "save_png",
		"dtype cast astype":        "v as i32",
		"keepdims":                 "keep",
		"profiler perf gdb":        "Profilers and debuggers",
		"why did this not fuse":    "Find why two operations did not fuse",
		"which line is slow":       "Which line takes the time?",
		"what shape is this":       "extents are names",
		"gpu":                      "gpu.md",
		"fused multiply add":       "fma",
		"remainder of negative":    "mod",
	} {
		entries, most := Find(query)
		var b bytes.Buffer
		list(&b, entries[:min(len(entries), 5)])
		if most < 100 || !strings.Contains(b.String(), want) {
			t.Errorf("the first for %q are not about %q:\n%s", query, want, b.String())
		}
	}
	for _, query := range []string{"softmx", "qqqq", "the"} {
		if entries, most := Find(query); most >= 50 {
			t.Errorf("%q finds %v", query, entries[0])
		}
	}
}
