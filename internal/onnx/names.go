package onnx

import (
	"fmt"
	"regexp"
	"strings"
)

// reserved are the names that values do not get: keywords, and every function of the language that a value would hide.
var reserved = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`fn pub const let mut if else match in as import test return true false
		bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 e8m0 i4 f4e2m1 unit string nat
		abs acos argmax argmin argsort asin atan cbrt ceil clamp concat cos cosh cumsum cumprod erf exp expand expm1 flip
		floor full gelu iota is_inf is_nan is_finite log log1p log2 max mean min neg ones pad permute_axes pow prod relu
		repeat require reshape round rsqrt scatter_add shl shr sigmoid sign silu sin sinh softplus sort split sqrt squeeze
		stack sum tabulate take_along_axis tan tanh transpose trunc unsqueeze var where zeros bnot band bor bxor all any
		one_hot eye by main map fold scan iterate print like roll flatten moveaxis`) {
		out[w] = true
	}
	return out
}()

// names gives names of the graph the form of identifiers, each its own.
type names struct{ used map[string]bool }

var (
	notInNames = regexp.MustCompile(`[^A-Za-z0-9]+`)
	suffixes   = regexp.MustCompile(`_output(_0)?$`)
)

// identifier is a name for what the graph calls by this name; other is what it begins with where the graph has a
// number.
func (n *names) identifier(name, other string) string {
	name = strings.Trim(notInNames.ReplaceAllString(name, "_"), "_")
	if short := suffixes.ReplaceAllString(name, ""); short != "" {
		name = short
	}
	if len(name) > 60 {
		name = strings.TrimLeft(name[len(name)-60:], "_")
	}
	if name == "" {
		name = other
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = other + "_" + name
	}
	return n.fresh(name)
}

// fresh is name, with a number behind it where that is used already.
func (n *names) fresh(name string) string {
	out := name
	for i := 2; n.used[out] || reserved[out]; i++ {
		out = fmt.Sprintf("%s_%d", name, i)
	}
	n.used[out] = true
	return out
}

// Identifier is a name of a function for a file.
func Identifier(name, other string) string {
	n := names{map[string]bool{}}
	return n.identifier(name, other)
}
