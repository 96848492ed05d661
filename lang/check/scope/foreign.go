package scope

import (
	"fmt"
	"maps"
	"slices"

	"healc/lang/ast"
	"healc/lang/diag"
)

// ForeignTypes are types as other languages name them.
var ForeignTypes = map[string]string{
	"int": "i32", "uint": "u32", "long": "i64", "byte": "u8", "char": "i32", "isize": "i64", "usize": "u64",
	"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32",
	"uint64": "u64",
	"float":  "f32", "double": "f64", "half": "f16", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
	"float64": "f64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "e8m0", "fp8": "f8e4m3",
	"float4_e2m1fn": "f4e2m1", "fp4": "f4e2m1", "int4": "i4",
	"Float16": "f16", "Float32": "f32", "Float64": "f64", "Int": "i64", "Int8": "i8", "Int16": "i16", "Int32": "i32",
	"Int64": "i64", "UInt8": "u8", "UInt16": "u16", "UInt32": "u32", "UInt64": "u64", "Bool": "bool",
	"boolean": "bool", "str": "string", "String": "string", "void": "unit",
}

// ForeignNames are values and functions as NumPy, PyTorch, Futhark and C name them, and what one writes here, of
// tensors x and y, a vector v, positions idx and a condition c.
var ForeignNames = map[string]string{
	"True": "true", "False": "false",
	"dot": "+/(v .* v)", "mm": "x @ y", "inner": "+/(v .* v)", "vdot": "+/(v .* v)",
	"maximum": "max(x, y)", "minimum": "min(x, y)", "fmax": "max(x, y)", "fmin": "min(x, y)",
	"clip": "clamp(x, 0.0, 1.0)", "select": "where(c, x, y)",
	"add": "x .+ y", "subtract": "x .- y", "multiply": "x .* y", "divide": "x ./ y", "power": "x .^ y",
	"fmod": "x .% y", "remainder": "x .% y",
	"ln": "log(x)", "logf": "log(x)", "sqrtf": "sqrt(x)", "expf": "exp(x)", "sinf": "sin(x)", "cosf": "cos(x)",
	"powf": "pow(x, y)", "inf": "1.0 / 0.0", "nan": "0.0 / 0.0", "sorted": "sort(v)", "detach": "stop_gradient(x)",
	"absolute": "abs(x)", "fabs": "abs(x)", "rint": "round(x)", "negative": "neg(x)", "arcsin": "asin(x)",
	"arccos": "acos(x)", "arctan": "atan(x)", "arctan2": "atan2(x, y)",
	"isnan": "is_nan(x)", "isinf": "is_inf(x)", "isfinite": "is_finite(x)",
	"average": "mean(v)", "product": "prod(v)", "amax": "max/(x)", "amin": "min/(x)", "amean": "mean(x)",
	"reduce": "fold(0.0, |a, e| a + e, v)", "foldl": "fold(0.0, |a, e| a + e, v)",
	"concatenate": "concat((x, y), axis = 0)", "cat": "concat((x, y), axis = 0)", "vstack": "concat((x, y), axis = 0)",
	"hstack": "concat((x, y), axis = 1)",
	"ravel":  "flatten(x)", "expand_dims": "unsqueeze(x, 0)", "swapaxes": "moveaxis(x, 0, 1)",
	"broadcast_to": "expand(v, [2, 4])", "view": "reshape(x, [2, 8])",
	"gather": "take_along_axis(x, idx, axis = 0)", "take": "v[idx]", "index_select": "v[idx]",
	"arange": "iota(4)", "range": "iota(4)", "identity": "eye[f32, 4]()", "fill": "full[f32, 4, 4](1.0)",
	"zeros_like": "like(x, 0.0)", "ones_like": "like(x, 1.0)",
	"full_like": "like(x, 2.0)",
	"modadd":    "modsum(a, b, p)", "addmod": "modsum(a, b, p)", "submod": "modsub(a, b, p)",
	"mulmod": "modmul(a, b, p)",
	"powmod": "modpow(a, b, p)", "invmod": "modinv(a, p)",
	"cast": "x as f64", "astype": "x as f64",
	"println": "print(x)", "printf": "print(x)", "load": "load_npy[f32, 4](\"x.npy\")",
	"save":    "save_npy(\"x.npy\", x)",
	"imwrite": "save_png(\"x.png\", round(x * 255) as u8)",
	"imsave":  "save_png(\"x.png\", round(x * 255) as u8)",
}

// toText is how text is made of a value.
const toText = "no value becomes a string: `print(x)` prints any, and `++` joins strings"

// foreignAdvice is for names of other languages that no single form stands for.
var foreignAdvice = map[string]string{
	"str": toText, "String": toText, "string": toText, "repr": toText, "format": toText, "sprintf": toText,
	"to_string": toText, "Sprintf": toText,
	"einsum": "write `x @ y` for a product of matrices; any other sum of products is " +
		"`tabulate(M, N, |i, j| +/(x[i, ..] * y[j, ..]))`",
	"tensordot": "write `x @ y` for a product of matrices; any other sum of products is " +
		"`tabulate(M, N, |i, j| +/(x[i, ..] * y[j, ..]))`",
	"load_csv": readText, "read_csv": readText, "loadtxt": readText, "genfromtxt": readText, "readdlm": readText,
	"vmap":    overRows,
	"pmap":    overRows,
	"jit":     "every function is compiled: call it as it is",
	"None":    noNull,
	"null":    noNull,
	"nil":     noNull,
	"nullptr": noNull,
	"nothing": noNull,
	"newaxis": "`unsqueeze(x, 1)` adds an axis of extent 1 at position 1",
	"item":    "an element is taken by its index: `x[0]`; a reduction such as `+/(x)` gives a scalar",
	"size":    extent, "length": extent, "shape": extent, "numel": extent, "ndims": extent, "ndim": extent,
	"dim":        extent,
	"fori_loop":  "`iterate(10, x, |s| s * 2.0)` applies a function again and again; the positions are those of `fold`",
	"while_loop": "`iterate_until` goes on until a condition holds; `healc doc iterate_until` shows it",
	"backward":   "a derivative is that of a function: `grad(f)(x)`",
	"rand":       drawn, "randn": drawn, "uniform": drawn, "randint": drawn, "normal": drawn,
	"inv": "write `import linalg` at the top of the file and `linalg.inverse(a)`; " +
		"`linalg.solve(a, b)` is more exact",
	"topk": "`sort(x)` is in increasing order: the largest 3 are `sort(x)[-3..]`, their positions `argsort(x)[-3..]`",
	"pi":   "write `import math` at the top of the file and `math.PI as f32`",
	"end":  "the last element is `x[-1]`; a slice without a bound, `x[2..]`, goes to the end",
	"self": "there are no methods: a function takes all its values as parameters",
}

const (
	extent = "extents are part of the type: `fn f[N](x: f32[N])` binds `N`, which is a value, too"
	drawn  = "write `import random` at the top of the file; `random.uniform[f32, 8](random.key(7))` draws, " +
		"`random.normal` does so with that distribution"
	readText = "only NumPy's files are read: save the table with `numpy.save` and write " +
		"`load_npy[f32, 4](\"x.npy\")`, with its type and shape"
	overRows = "`map(f, x)` goes over the elements of a tensor, `tabulate(M, |i| f(x[i, ..]))` over its rows"
	noNull   = "every value is there: return a flag beside it, as in `(false, 0.0)`"
)

// NewAxis reports the name by which NumPy and PyTorch add an axis in an index.
func NewAxis(name string) bool { return name == "None" || name == "newaxis" || name == "nothing" }

// foreignModules are modules as programs of others import them.
var foreignModules = map[string]bool{"np": true, "numpy": true, "scipy": true, "jnp": true, "jax": true, "lax": true,
	"torch": true, "tf": true, "F": true}

// ForeignParams are parameters as NumPy and PyTorch name them.
var ForeignParams = map[string]string{"dim": "axis", "dims": "axis", "axes": "axis", "keepdim": "keep",
	"keepdims": "keep"}

// ForeignName is a name of another language, and what one writes here: a form in backticks, or advice.
type ForeignName struct{ Name, Here string }

// AllForeignNames lists the names of values, functions and types of other languages, sorted.
func AllForeignNames() []ForeignName {
	all := maps.Clone(foreignAdvice)
	for name, form := range ForeignNames {
		all[name] = "`" + form + "`"
	}
	for name, t := range ForeignTypes {
		if all[name] == "" {
			all[name] = "the type `" + t + "`"
		}
	}
	var out []ForeignName
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, ForeignName{name, all[name]})
	}
	return out
}

// elsewhere is the advice for a name that is not declared, but is known: to the library, or to those who come from
// another language; or "".
func (c *Scope) elsewhere(name string) string {
	if form, ok := ForeignNames[name]; ok {
		return fmt.Sprintf("write `%s`", form)
	}
	if advice, ok := foreignAdvice[name]; ok {
		return advice
	}
	modules := c.modulesWith(name)
	for _, imported := range slices.Sorted(maps.Keys(c.Mod.Imports)) {
		if m := c.Mod.Imports[imported]; m != nil && m.Library && slices.Contains(modules, m.Name) {
			return fmt.Sprintf("write `%s.%s`", imported, name)
		}
	}
	if len(modules) > 0 {
		return fmt.Sprintf("write `import %s` at the top of the file and `%s.%s`", modules[0], modules[0], name)
	}
	return ""
}

// modulesWith lists the modules of the library that export name.
func (c *Scope) modulesWith(name string) []string {
	if c.Importer != nil && c.exporters == nil {
		c.exporters = exporters(c.Importer, c.Mod.Tree.Source)
	}
	return c.exporters[name]
}

// exporters has the modules of the library that export a function, by its name.
func exporters(importer Importer, from *diag.File) map[string][]string {
	out := map[string][]string{}
	for _, module := range importer.Modules() {
		found, err := importer.Import(from, &ast.ImportDecl{Path: module})
		if err != nil {
			continue
		}
		for _, d := range found.Tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Pub {
				out[f.Name.Name] = append(out[f.Name.Name], module)
			}
		}
	}
	return out
}

// ToText is the advice for who wants the text of a value.
func (c *Scope) ToText() string { return toText }
